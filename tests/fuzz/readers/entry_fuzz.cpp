// The bytes of a cache entry: as they are, and with the checksum that lets them pass.
#include <algorithm>
#include <cstring>

#include "cache/entry.hpp"
#include "tests/fuzz/readers/fuzz_check.hpp"

using namespace kiln;

namespace {

void read_entry(ByteView bytes) {
  jit::Key key;
  if (bytes.size() >= 48) std::copy_n(bytes.begin() + 16, key.digest.size(), key.digest.begin());
  const auto entry = cache::decode_entry(key, bytes);
  if (!entry) return;
  const auto again = cache::encode_entry(key, entry->metadata, entry->object);
  FUZZ_CHECK(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, data + size);
  read_entry(bytes);
  if (size < cache::entry_checksum_bytes) return 0;
  const auto sum = checksum64(ByteView(bytes).first(size - cache::entry_checksum_bytes));
  std::memcpy(bytes.data() + size - sizeof sum, &sum, sizeof sum);
  read_entry(bytes);
  return 0;
}
