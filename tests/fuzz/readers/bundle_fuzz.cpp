// A bundle's file: as it is, and with the checksum that lets its index pass.
#include <unistd.h>

#include <cstring>

#include "cache/bundle.hpp"
#include "tests/fuzz/readers/fuzz_check.hpp"

using namespace kiln;

namespace {

void read_bundle(ByteView bytes) {
  auto file = create_memfd("bundle", bytes.size());
  FUZZ_CHECK(file && (bytes.empty() || ::pwrite(file->get(), bytes.data(), bytes.size(), 0) == ssize_t(bytes.size())));
  const auto bundle = cache::Bundle::open(std::move(*file), "bundle", {});
  if (!bundle) return;
  for (const auto& item : (*bundle)->entries()) {
    FUZZ_CHECK(item.offset <= bytes.size() && item.size <= bytes.size() - item.offset);
    const auto entry = (*bundle)->read(item.key);
    FUZZ_CHECK(!entry || !*entry || (*entry)->key == item.key);
  }
  (void)(*bundle)->read_note("compiler-hip");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, data + size);
  read_bundle(bytes);
  std::uint64_t index = 0;
  if (size < cache::bundle_header_bytes + sizeof(Digest)) return 0;
  std::memcpy(&index, data + 32, sizeof index);
  if (index > size - sizeof(Digest)) return 0;
  const auto end = size - sizeof(Digest);
  Bytes covered(bytes.begin(), bytes.begin() + cache::bundle_header_bytes);
  covered.insert(covered.end(), bytes.begin() + std::ptrdiff_t(index), bytes.begin() + std::ptrdiff_t(end));
  const auto sum = sha256(covered);
  std::copy(sum.begin(), sum.end(), bytes.begin() + std::ptrdiff_t(end));
  read_bundle(bytes);
  return 0;
}
