// bundle_maker IN OUT OBJECT: the bundle IN again, as OUT, with the content of OBJECT as every entry's code object and
// all checksums right: what only one who means it can make.
#include <fcntl.h>

#include <algorithm>
#include <cstdio>

#include "cache/bundle.hpp"
#include "cache/entry.hpp"

namespace {

kiln::Status make(const char* in, const char* out, const char* object_path) {
  using namespace kiln;
  UniqueFd from(::open(in, O_RDONLY | O_CLOEXEC)), to(::open(out, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!from || !to) return Error(ErrorCode::io_error, "cannot open the bundles");
  KILN_TRY(const auto object, read_file(object_path));
  KILN_TRY(const auto bundle, cache::Bundle::open(std::move(from), in, {}));
  cache::BundleWriter writer(to.get());
  for (const auto& item : bundle->entries()) {
    KILN_TRY(const auto entry, bundle->read(item.key));
    KILN_CHECK(writer.add(item.key, entry->metadata, object));
  }
  std::vector<std::string> names{"compiler-hip", "compiler-host"};
  std::sort(names.begin(), names.end(),
            [](const auto& a, const auto& b) { return cache::note_key(a) < cache::note_key(b); });
  for (const auto& name : names) {
    KILN_TRY(const auto note, bundle->read_note(name));
    if (note) KILN_CHECK(writer.add_note(name, *note));
  }
  KILN_CHECK(writer.finish({}));
  return ok();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return std::fprintf(stderr, "bundle_maker IN OUT OBJECT\n"), 2;
  const auto made = make(argv[1], argv[2], argv[3]);
  if (!made) std::fprintf(stderr, "%s\n", kiln::to_text(made.error()).c_str());
  return made ? 0 : 1;
}
