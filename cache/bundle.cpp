#include "cache/bundle.hpp"

#include <algorithm>
#include <cerrno>

#include "cache/entry.hpp"
#include "cache/folder.hpp"
#include "engine/base/os.hpp"

namespace kiln::cache {
namespace {

constexpr std::array<std::uint8_t, 8> magic = {'K', 'I', 'L', 'N', 'B', 'U', 'N', 0x1a};
constexpr std::uint32_t flag_vouched = 1;  // an HMAC follows the checksum
constexpr std::size_t digest_bytes = sizeof(Digest);

struct Header {
  std::array<std::uint8_t, 8> magic;
  std::uint32_t version, flags;
  std::uint64_t entries, notes, index_offset;
  std::array<std::uint8_t, 24> unused;
};
static_assert(sizeof(Header) == bundle_header_bytes);

struct Record {
  Digest key;
  std::uint64_t offset, size;
  Digest sha256;
};
static_assert(sizeof(Record) == bundle_record_bytes);

Error corrupt(const std::string& what) { return Error(ErrorCode::corrupt, what); }

Result<Bytes> read_at(int fd, std::uint64_t offset, std::size_t size) {
  Bytes bytes(size);
  for (std::size_t done = 0; done < size;) {
    const auto n = os::pread(fd, bytes.data() + done, size - done, static_cast<off_t>(offset + done));
    if (n < 0) return errno_error(errno, "cannot read");
    if (n == 0) return corrupt("the file became shorter while it was read");
    done += static_cast<std::size_t>(n);
  }
  return bytes;
}

void append_records(Bytes& bytes, const std::vector<BundleItem>& items) {
  for (const auto& item : items) {
    const Record record{item.key.digest, item.offset, item.size, item.sha256};
    const auto* at = reinterpret_cast<const std::uint8_t*>(&record);
    bytes.insert(bytes.end(), at, at + sizeof record);
  }
}

}  // namespace

// ---- writing --------------------------------------------------------------------------------------------------------

Status BundleWriter::write(ByteView bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const auto n = os::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0) return errno_error(errno, "cannot write the bundle");
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
  return {};
}

Status BundleWriter::append(const jit::Key& key, ByteView metadata, ByteView object, std::vector<BundleItem>& items) {
  KILN_ASSERT(items.empty() || items.back().key < key);
  const auto encoded = encode_entry(key, metadata, object);
  KILN_CHECK(write(encoded, end_));
  items.push_back({key, end_, encoded.size(), sha256(encoded)});
  end_ += encoded.size();
  return {};
}

Status BundleWriter::add(const jit::Key& key, ByteView metadata, ByteView object) {
  KILN_ASSERT(notes_.empty());
  if (entries_.size() == bundle_entries_max)
    return Error(ErrorCode::resource_limit, "a bundle holds at most 1048576 entries");
  return append(key, metadata, object, entries_);
}

Status BundleWriter::add_note(const std::string& name, ByteView bytes) {
  if (notes_.size() == bundle_notes_max) return Error(ErrorCode::resource_limit, "a bundle holds at most 1024 notes");
  return append(note_key(name), {}, bytes, notes_);
}

Result<std::uint64_t> BundleWriter::finish(const TrustKey& trust) {
  const Header header{magic,         bundle_format_version, trust.is_set() ? flag_vouched : 0, entries_.size(),
                      notes_.size(), end_,                  {}};
  const auto* at = reinterpret_cast<const std::uint8_t*>(&header);
  Bytes covered(at, at + sizeof header);
  append_records(covered, entries_);
  append_records(covered, notes_);
  const auto checksum = sha256(covered);
  Bytes tail(covered.begin() + sizeof header, covered.end());
  tail.insert(tail.end(), checksum.begin(), checksum.end());
  if (const auto mac = trust.sign(checksum)) tail.insert(tail.end(), mac->begin(), mac->end());
  KILN_CHECK(write(tail, end_));
  KILN_CHECK(write(ByteView(covered).first(sizeof header), 0));
  return end_ + tail.size();
}

// ---- reading --------------------------------------------------------------------------------------------------------

Result<std::shared_ptr<const Bundle>> Bundle::open(UniqueFd fd, const std::string& name, const TrustKey& trust) {
  const auto named = [&](Error error) {
    error.message = name + ": " + error.message;
    return error;
  };
  struct stat status {};
  if (os::fstat(fd.get(), &status) != 0) return named(errno_error(errno, "cannot stat"));
  if (!S_ISREG(status.st_mode)) return named(Error(ErrorCode::invalid_argument, "no regular file"));
  const std::shared_ptr<Bundle> bundle(new Bundle(std::move(fd)));
  if (auto read = bundle->read_index(trust, status); !read) return named(std::move(read).error());
  if (!bundle->trusted_) bundle->trusted_ = named(bundle->trusted_.error());
  return std::shared_ptr<const Bundle>(bundle);
}

Status Bundle::read_index(const TrustKey& trust, const struct stat& status) {
  const auto file_bytes = static_cast<std::uint64_t>(status.st_size);
  if (file_bytes < bundle_header_bytes + digest_bytes) return corrupt("this is no bundle: too short");
  KILN_TRY(auto covered, read_at(fd_.get(), 0, bundle_header_bytes));
  Header header;
  std::memcpy(&header, covered.data(), sizeof header);
  if (header.magic != magic) return corrupt("this is no bundle");
  if (header.version != bundle_format_version || (header.flags & ~flag_vouched) != 0)
    return Error(ErrorCode::unsupported, "a bundle of format version " + std::to_string(header.version) + ", flags " +
                                             std::to_string(header.flags) + ": this release reads version 1");
  if (header.entries > bundle_entries_max || header.notes > bundle_notes_max)
    return corrupt("the bundle has an impossible number of entries");
  const std::uint64_t records = (header.entries + header.notes) * bundle_record_bytes;
  const std::uint64_t tail = records + digest_bytes + (header.flags & flag_vouched ? digest_bytes : 0);
  if (tail > file_bytes - bundle_header_bytes || header.index_offset != file_bytes - tail)
    return corrupt("the bundle is cut short, or bytes follow it");
  KILN_TRY(const auto rest, read_at(fd_.get(), header.index_offset, tail));
  covered.insert(covered.end(), rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(records));
  Digest checksum, mac{};
  std::memcpy(checksum.data(), rest.data() + records, digest_bytes);
  if (sha256(covered) != checksum) return corrupt("the bundle's checksum is wrong");
  if (header.flags & flag_vouched) std::memcpy(mac.data(), rest.data() + records + digest_bytes, digest_bytes);
  KILN_CHECK(read_records(ByteView(covered).subspan(bundle_header_bytes), header.entries, header.index_offset));
  trusted_ = check_owner(status, "the bundle");
  if (trusted_ || trust.vouches_for(checksum, mac)) return trusted_ = Status(), ok();
  trusted_.error().message += !(header.flags & flag_vouched) ? ", and it has no HMAC"
                              : trust.is_set()               ? ", and its HMAC is of another key"
                                                             : ", and no trust_key is set to check its HMAC by";
  return {};
}

// Items lie one behind the other, in the order of their records and without gaps: so none is outside or in another.
Status Bundle::read_records(ByteView records, std::uint64_t entries, std::uint64_t index_offset) {
  std::uint64_t end = bundle_header_bytes;
  for (std::size_t i = 0; i * bundle_record_bytes < records.size(); ++i) {
    Record record;
    std::memcpy(&record, records.data() + i * bundle_record_bytes, sizeof record);
    auto& items = i < entries ? entries_ : notes_;
    const jit::Key key{record.key};
    if (!items.empty() && !(items.back().key < key)) return corrupt("the bundle's index is not in order");
    if (record.offset != end || record.size > index_offset - end || record.size > entry_file_bytes_max ||
        record.size < entry_bytes(0, 0))
      return corrupt("the bundle's index has an entry where none can be");
    end += record.size;
    items.push_back({key, record.offset, record.size, record.sha256});
  }
  if (end != index_offset) return corrupt("the bundle has bytes that belong to no entry");
  return {};
}

Result<std::optional<jit::StoredObject>> Bundle::read_item(const std::vector<BundleItem>& items,
                                                           const jit::Key& key) const {
  const auto at = std::lower_bound(items.begin(), items.end(), key,
                                   [](const BundleItem& item, const jit::Key& k) { return item.key < k; });
  if (at == items.end() || at->key != key) return std::optional<jit::StoredObject>();
  KILN_TRY(const auto bytes, read_at(fd_.get(), at->offset, at->size));
  if (sha256(bytes) != at->sha256) return corrupt("the entry is not the one that the bundle's index has");
  auto entry = decode_entry(key, bytes);
  if (!entry) return corrupt(defect_text(entry.error()));
  return std::optional<jit::StoredObject>(std::move(*entry));
}

Result<std::optional<jit::StoredObject>> Bundle::read(const jit::Key& key) const { return read_item(entries_, key); }

Result<std::optional<Bytes>> Bundle::read_note(const std::string& name) const {
  KILN_TRY(auto note, read_item(notes_, note_key(name)));
  if (!note) return std::optional<Bytes>();
  return std::optional<Bytes>(std::move(note->object));
}

}  // namespace kiln::cache
