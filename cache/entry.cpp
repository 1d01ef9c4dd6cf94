#include "cache/entry.hpp"

#include <algorithm>

namespace kiln::cache {
namespace {

constexpr std::array<std::uint8_t, 8> magic = {'K', 'I', 'L', 'N', 'E', 'N', 'T', 0x1a};

std::uint64_t word_at(ByteView bytes, std::size_t offset) {
  std::uint64_t word;
  std::memcpy(&word, bytes.data() + offset, sizeof word);
  return word;
}

}  // namespace

const char* defect_text(Defect defect) {
  switch (defect) {
    case Defect::short_entry: return "the entry is cut short";
    case Defect::long_entry: return "bytes follow the entry";
    case Defect::wrong_magic: return "this is no cache entry";
    case Defect::other_version: return "the entry has another format version";
    case Defect::wrong_key: return "the entry belongs to another key";
    case Defect::wrong_checksum: return "the checksum is wrong";
  }
  return "defective";
}

jit::Key note_key(const std::string& name) { return {sha256(view("note:" + name))}; }

Bytes encode_entry(const jit::Key& key, ByteView metadata, ByteView object) {
  Bytes bytes(entry_bytes(metadata.size(), object.size()));
  auto* at = bytes.data();
  const auto put = [&at](const void* data, std::size_t size) {
    if (size > 0) std::memcpy(at, data, size);
    at += size;
  };
  const std::uint32_t version = entry_format_version, flags = 0;
  const std::uint64_t metadata_bytes = metadata.size(), object_bytes = object.size();
  put(magic.data(), magic.size());
  put(&version, sizeof version);
  put(&flags, sizeof flags);
  put(key.digest.data(), key.digest.size());
  put(&metadata_bytes, sizeof metadata_bytes);
  put(&object_bytes, sizeof object_bytes);
  put(metadata.data(), metadata.size());
  put(object.data(), object.size());
  const auto checksum = checksum64(ByteView(bytes).first(bytes.size() - entry_checksum_bytes));
  put(&checksum, sizeof checksum);
  return bytes;
}

tl::expected<jit::StoredObject, Defect> decode_entry(const jit::Key& key, ByteView bytes) {
  if (bytes.size() < entry_header_bytes + entry_checksum_bytes) return tl::unexpected(Defect::short_entry);
  if (!std::equal(magic.begin(), magic.end(), bytes.begin())) return tl::unexpected(Defect::wrong_magic);
  const std::uint64_t version_and_flags = word_at(bytes, 8);
  if (version_and_flags != entry_format_version) return tl::unexpected(Defect::other_version);
  const std::uint64_t metadata_bytes = word_at(bytes, 48), object_bytes = word_at(bytes, 56);
  const std::uint64_t room = bytes.size() - entry_header_bytes - entry_checksum_bytes;
  if (metadata_bytes > room || object_bytes > room - metadata_bytes) return tl::unexpected(Defect::short_entry);
  if (metadata_bytes + object_bytes < room) return tl::unexpected(Defect::long_entry);
  const auto covered = bytes.first(bytes.size() - entry_checksum_bytes);
  if (word_at(bytes, covered.size()) != checksum64(covered)) return tl::unexpected(Defect::wrong_checksum);
  if (!std::equal(key.digest.begin(), key.digest.end(), bytes.begin() + 16)) return tl::unexpected(Defect::wrong_key);
  jit::StoredObject entry;
  entry.key = key;
  const auto metadata = bytes.subspan(entry_header_bytes, metadata_bytes);
  const auto object = bytes.subspan(entry_header_bytes + metadata_bytes, object_bytes);
  entry.metadata.assign(metadata.begin(), metadata.end());
  entry.object.assign(object.begin(), object.end());
  return entry;
}

}  // namespace kiln::cache
