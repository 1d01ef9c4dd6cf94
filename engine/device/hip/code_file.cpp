#include "engine/device/hip/code_file.hpp"

#include <cstring>
#include <string>

namespace kiln::device::hip {
namespace {

constexpr std::string_view bundle_magic = "__CLANG_OFFLOAD_BUNDLE__", elf_magic = "\x7f" "ELF";
constexpr std::uint64_t entries_max = 4096, id_bytes_max = 256;

bool number_at(ByteView file, std::uint64_t at, std::uint64_t& value) {
  if (at > file.size() || file.size() - at < sizeof value) return false;
  std::memcpy(&value, file.data() + at, sizeof value);
  return true;
}

}  // namespace

// Format: clang's documentation, "Clang Offload Bundler", "Bundled Binary File Layout".
Result<ByteView> find_code_object(ByteView file, const target::Target& target) {
  const auto begins = [&](std::string_view magic) { return text(file).starts_with(magic); };
  if (begins(elf_magic)) return file;
  if (begins("CCOB"))
    return Error(ErrorCode::unsupported, "a compressed bundle: compile with --no-offload-compress");
  if (!begins(bundle_magic)) return Error(ErrorCode::corrupt, "neither a code object nor a bundle of them");
  const Error cut(ErrorCode::corrupt, "a bundle that is cut short");
  std::uint64_t at = bundle_magic.size(), count = 0;
  if (!number_at(file, at, count)) return cut;
  if (count > entries_max) return Error(ErrorCode::corrupt, "a bundle with an impossible count");
  at += sizeof count;
  std::string seen;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t offset = 0, size = 0, id_bytes = 0;
    if (!number_at(file, at, offset) || !number_at(file, at + 8, size) || !number_at(file, at + 16, id_bytes)) return cut;
    at += 24;
    if (id_bytes > id_bytes_max || id_bytes > file.size() - at) return cut;
    const std::string id(text(file.subspan(at, id_bytes)));
    at += id_bytes;
    const auto gfx = id.find("gfx");
    if (gfx == std::string::npos) continue;
    const std::string name = id.substr(gfx);
    const auto made_for = target::parse_target(name);
    if (made_for && target::serves(*made_for, target)) {
      if (offset > file.size() || size > file.size() - offset) return cut;
      return file.subspan(offset, size);
    }
    seen += (seen.empty() ? "" : ", ") + name;
  }
  return Error(ErrorCode::unsupported,
               "the bundle has code for " + (seen.empty() ? "no card" : seen) + ", none for " + target.full);
}

}  // namespace kiln::device::hip
