#include "engine/capture/capture.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "engine/base/error_encoding.hpp"
#include "engine/capture/compression.hpp"

namespace kiln::capture {
namespace {

constexpr std::string_view magic = "KILNCAP\n";
constexpr std::uint64_t prefix_bytes = 32, digest_bytes = 32;
constexpr std::size_t texts_max = 4096;

// A run of bytes in the file, as the header names it.
struct Stored {
  std::uint64_t offset = 0, bytes = 0;
};

template <class V, class F> void write_map(Writer& w, const std::map<std::string, V>& map, F&& value) {
  w.count(map.size());
  for (const auto& [name, v] : map) {
    w.string(name);
    value(v);
  }
}
template <class V, class F> void read_map(Reader& r, std::map<std::string, V>& map, F&& value) {
  const auto n = r.count(5);
  if (n > texts_max) return r.fail();
  for (std::size_t i = 0; i < n && r.ok(); ++i) {
    auto name = r.string();
    if (!map.emplace(std::move(name), value()).second) r.fail();
  }
}

void write_contents(Writer& w, const Contents& c, const Stored& stored) {
  w.enumeration(c.kind);
  if (c.kind == Contents::Kind::none) return;
  w.u64(c.bytes);
  for (const auto byte : c.sha256) w.u8(byte);
  if (c.kind == Contents::Kind::seed) w.u64(c.seed);
  if (c.kind == Contents::Kind::bytes) { w.u64(stored.offset); w.u64(stored.bytes); }
}

struct HeaderReader {
  Reader reader;
  ByteView file;
  std::uint64_t at = prefix_bytes, end = 0;  // runs of bytes follow each other from here to the header

  // The next run must be here: none overlaps another, none is left out.
  ByteView run(Stored s) {
    if (!reader.ok() || s.offset != at || s.bytes > end - at) { reader.fail(); return {}; }
    at += s.bytes;
    return file.subspan(std::size_t(s.offset), std::size_t(s.bytes));
  }
  ByteView run() {
    Stored s;
    s.offset = reader.u64();
    s.bytes = reader.u64();
    return run(s);
  }
  Contents contents() {
    Contents c;
    c.kind = reader.enumeration(Contents::Kind::hash_only);
    if (c.kind == Contents::Kind::none) return c;
    c.bytes = reader.u64();
    for (auto& byte : c.sha256) byte = reader.u8();
    if (c.kind == Contents::Kind::seed) c.seed = reader.u64();
    if (c.kind == Contents::Kind::bytes) c.stored = run();
    return c;
  }
};

void write_outcome(Writer& w, const Outcome& o) {
  w.enumeration(o.kind);
  if (o.kind == Outcome::Kind::failed) write_error(w, o.error);
  w.boolean(o.counted);
  write_map(w, o.counters, [&](std::uint64_t v) { w.u64(v); });
}

Outcome read_outcome(Reader& r) {
  Outcome o;
  o.kind = r.enumeration(Outcome::Kind::wrong);
  if (o.kind == Outcome::Kind::failed) o.error = read_error(r);
  o.counted = r.boolean();
  read_map(r, o.counters, [&] { return r.u64(); });
  return o;
}

void write_texts(Writer& w, const Capture& c) {
  w.string(c.program);
  write_map(w, c.set, [&](const std::string& v) { w.string(v); });
  write_map(w, c.layouts, [&](const std::string& v) { w.string(v); });
  write_map(w, c.align, [&](std::int64_t v) { w.i64(v); });
  w.string(c.target);
  w.string(c.key);
  w.string(c.purpose);
  w.string(c.device);
  w.list(c.switches, [](Writer& out, const auto& s) { out.string(s.first); out.string(s.second); });
  for (const auto* text : {&c.origin.build, &c.origin.compiler, &c.origin.system, &c.origin.processor, &c.origin.device,
                           &c.origin.device_target, &c.note})
    w.string(*text);
}

void read_texts(Reader& r, Capture& c) {
  c.program = r.string();
  read_map(r, c.set, [&] { return r.string(); });
  read_map(r, c.layouts, [&] { return r.string(); });
  read_map(r, c.align, [&] { return r.i64(); });
  c.target = r.string();
  c.key = r.string();
  c.purpose = r.string();
  c.device = r.string();
  c.switches = r.list<std::pair<std::string, std::string>>([](Reader& in) {
    auto name = in.string();
    return std::pair(std::move(name), in.string());
  });
  for (auto* text : {&c.origin.build, &c.origin.compiler, &c.origin.system, &c.origin.processor, &c.origin.device,
                     &c.origin.device_target, &c.note})
    *text = r.string();
}

Error damaged(const std::string& where, const std::string& what) {
  Error error(ErrorCode::corrupt, where + ": " + what);
  Diagnostic d;
  d.pointer = where;
  d.message = what;
  error.diagnostics.push_back(std::move(d));
  return error;
}

// What the header says of an argument fits the kernel's own description of it.
Status check_argument(const compile::TensorInfo& info, const Argument& a, const Outcome& outcome, const std::string& where) {
  if (info.scalar) {
    if (a.scalar.size() != std::size_t(dtype_bytes(info.dtype))) return damaged(where, "a scalar of " + std::to_string(a.scalar.size()) + " bytes");
    if (a.before.kind != Contents::Kind::none || a.after.kind != Contents::Kind::none) return damaged(where, "a scalar with memory");
    return ok();
  }
  if (!a.scalar.empty()) return damaged(where, "a tensor with a scalar's value");
  if (a.before.kind != Contents::Kind::bytes && a.before.kind != Contents::Kind::seed) return damaged(where + "/before", "nothing to begin with");
  const auto bytes = info.bytes.value();
  if (bytes < 0 || a.before.bytes != std::uint64_t(bytes))
    return damaged(where + "/before",
                   std::to_string(a.before.bytes) + " bytes, the kernel takes " + std::to_string(bytes));
  const bool results = info.access != Access::read && outcome.kind != Outcome::Kind::failed;
  if (results != (a.after.kind != Contents::Kind::none) || a.after.kind == Contents::Kind::seed)
    return damaged(where + "/after", results ? "no result of a written tensor" : "a result where there is none");
  if (results && a.after.bytes != a.before.bytes) return damaged(where + "/after", "of another size than before the launch");
  return ok();
}

Status check_capture(const Capture& c) {
  const auto& tensors = c.metadata.tensors;
  // A capture is of known sizes: dynamic symbols are scalars in it.
  if (!c.metadata.symbols.empty()) return damaged("/metadata", "dynamic symbols without a value");
  if (tensors.size() != c.arguments.size() || tensors.size() > tensors_max)
    return damaged("/arguments", std::to_string(c.arguments.size()) + " of them, the kernel takes " + std::to_string(tensors.size()));
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    KILN_CHECK(check_argument(tensors[i], c.arguments[i], c.outcome, "/arguments/" + std::to_string(i)));
    if (c.arguments[i].before.bytes > tensor_bytes_max - total)
      return Error(ErrorCode::resource_limit, "the captured tensors hold more than " + std::to_string(tensor_bytes_max) + " bytes");
    total += c.arguments[i].before.bytes;
  }
  for (const auto& [name, value] : c.switches)
    if (name != "check" && name != "seed" && name != "order" && name != "budget") return damaged("/switches", "no switch is called " + name.substr(0, 40));
  return ok();
}

Result<Capture> read_header(ByteView file, std::uint64_t header_at, std::uint64_t header_bytes) {
  HeaderReader h{Reader(file.subspan(std::size_t(header_at), std::size_t(header_bytes))), file, prefix_bytes, header_at};
  Capture c;
  read_texts(h.reader, c);
  c.outcome = read_outcome(h.reader);
  const auto metadata = h.run();
  const auto object = h.run();
  const auto object_bytes = h.reader.u64();
  const auto count = h.reader.count(4);
  for (std::size_t i = 0; i < count && h.reader.ok(); ++i) {
    Argument a;
    const auto scalar = h.reader.bytes();
    a.scalar.assign(scalar.begin(), scalar.end());
    a.before = h.contents();
    a.after = h.contents();
    c.arguments.push_back(std::move(a));
  }
  if (!h.reader.finish() || h.at != header_at)
    return damaged("the header at byte " + std::to_string(header_at), "a value is cut short, out of range, or names bytes that are not its own");
  if (object_bytes > object_bytes_max) return Error(ErrorCode::resource_limit, "the captured object has " + std::to_string(object_bytes) + " bytes");
  auto known = compile::decode_metadata(metadata);
  if (!known) return damaged("/metadata", known.error().message);
  c.metadata = std::move(*known);
  auto bytes = decompress(object, object_bytes);
  if (!bytes) return damaged("/object", bytes.error().message);
  c.object = std::move(*bytes);
  KILN_CHECK(check_capture(c));
  return c;
}

// Appends the bytes, or finds that a seed makes them.
Status write_contents_of(int fd, std::uint64_t& at, const Source& source, const compile::TensorInfo& info, Contents& c, Stored& stored) {
  c.bytes = source.bytes.size();
  c.sha256 = sha256(source.bytes);
  if (source.seed) {
    Bytes made(source.bytes.size());
    generate(info.dtype, info.access != Access::write, *source.seed, made);
    if (std::equal(made.begin(), made.end(), source.bytes.begin())) {
      c.kind = Contents::Kind::seed;
      c.seed = *source.seed;
      return ok();
    }
  }
  c.kind = Contents::Kind::bytes;
  stored.offset = at;
  KILN_TRY(stored.bytes, compress_to(fd, source.bytes));
  at += stored.bytes;
  return ok();
}

// The arguments with their bytes, in the header's order: each one's before, then its after.
Status write_arguments(int fd, std::uint64_t& at, const Capture& capture, const std::vector<Source>& before,
                       const std::vector<std::optional<ByteView>>& after, Writer& header) {
  std::uint64_t total = 0, results = 0;
  for (const auto& source : before) total += source.bytes.size();
  for (const auto& bytes : after) results += bytes ? bytes->size() : 0;
  if (total > tensor_bytes_max || capture.arguments.size() > tensors_max)
    return Error(ErrorCode::resource_limit, "a launch on " + std::to_string(total) + " bytes is too large for a capture, whose limit is " + std::to_string(tensor_bytes_max));
  header.count(capture.arguments.size());
  for (std::size_t i = 0; i < capture.arguments.size(); ++i) {
    const auto& info = capture.metadata.tensors[i];
    header.bytes(capture.arguments[i].scalar);
    Contents was, is;
    Stored was_stored, is_stored;
    if (!info.scalar) KILN_CHECK(write_contents_of(fd, at, before[i], info, was, was_stored));
    if (after[i] && results <= outputs_bytes_max) {
      KILN_CHECK(write_contents_of(fd, at, {*after[i], {}}, info, is, is_stored));
    } else if (after[i]) {
      is = {Contents::Kind::hash_only, after[i]->size(), sha256(*after[i]), 0, {}};
    }
    write_contents(header, was, was_stored);
    write_contents(header, is, is_stored);
  }
  return ok();
}

Status finish_file(int fd, std::uint64_t header_at, ByteView header) {
  if (header.size() > header_bytes_max) return Error(ErrorCode::resource_limit, "a capture's header is too large");
  KILN_CHECK(write_all(fd, header));
  Writer prefix;
  for (const char c : magic) prefix.u8(std::uint8_t(c));
  prefix.u32(format_version);
  prefix.u32(0);
  prefix.u64(header_at);
  prefix.u64(header.size());
  if (::pwrite(fd, prefix.data().data(), prefix_bytes, 0) != ssize_t(prefix_bytes)) return errno_error(errno, "write a capture");
  const auto bytes = std::size_t(header_at + header.size());
  Digest digest;
  {
    KILN_TRY(const auto mapping, Mapping::map(fd, bytes, false));
    digest = sha256(mapping.bytes());
  }
  KILN_CHECK(write_all(fd, digest));
  if (::fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0) return errno_error(errno, "seal a capture");
  return ok();
}

Result<Bytes> contents_of(const Contents& c, const compile::TensorInfo& info, const std::string& where) {
  if (c.kind == Contents::Kind::none || c.kind == Contents::Kind::hash_only)
    return Error(ErrorCode::unsupported, where + ": the capture holds no bytes of it");
  Bytes bytes;
  if (c.kind == Contents::Kind::seed) {
    bytes.resize(std::size_t(c.bytes));
    generate(info.dtype, info.access != Access::write, c.seed, bytes);
    if (sha256(bytes) != c.sha256)
      return Error(ErrorCode::unsupported, where + ": the seed makes other values in this build than where it was captured");
    return bytes;
  }
  auto read = decompress(c.stored, c.bytes);
  if (!read) return damaged(where, read.error().message);
  if (sha256(*read) != c.sha256) return damaged(where, "its SHA-256 is another one");
  return read;
}

}  // namespace

Result<UniqueFd> write_capture(const Capture& capture, const std::vector<Source>& before, const std::vector<std::optional<ByteView>>& after) {
  KILN_ASSERT(capture.arguments.size() == capture.metadata.tensors.size() && before.size() == capture.arguments.size() && after.size() == before.size());
  KILN_TRY(auto fd, create_memfd("kiln-capture", prefix_bytes));
  if (::lseek(fd.get(), off_t(prefix_bytes), SEEK_SET) < 0) return errno_error(errno, "write a capture");
  std::uint64_t at = prefix_bytes;
  Writer header;
  write_texts(header, capture);
  write_outcome(header, capture.outcome);
  const auto metadata = compile::encode(capture.metadata);
  header.u64(at);
  header.u64(metadata.size());
  KILN_CHECK(write_all(fd.get(), metadata));
  at += metadata.size();
  KILN_TRY(const auto object, compress_to(fd.get(), capture.object));
  header.u64(at);
  header.u64(object);
  header.u64(capture.object.size());
  at += object;
  KILN_CHECK(write_arguments(fd.get(), at, capture, before, after, header));
  KILN_CHECK(finish_file(fd.get(), at, header.data()));
  return fd;
}

Result<CaptureFile> CaptureFile::open(int fd) {
  constexpr std::uint64_t file_bytes_max = tensor_bytes_max + outputs_bytes_max + object_bytes_max + header_bytes_max;
  CaptureFile read;
  // A copy: whoever changes the file meanwhile changes nothing of what was checked.
  KILN_TRY(auto bytes, read_all(fd, std::size_t(file_bytes_max)));
  read.file_ = std::make_shared<Bytes>(std::move(bytes));
  const ByteView file(*read.file_);
  if (file.size() < prefix_bytes + digest_bytes) return damaged("byte " + std::to_string(file.size()), "the file ends here, before a capture could");
  if (text(file.first(magic.size())) != magic) return damaged("byte 0", "this is no capture of Kiln's");
  Reader prefix(file.subspan(magic.size(), prefix_bytes - magic.size()));
  const auto version = prefix.u32();
  if (version != format_version) return Error(ErrorCode::unsupported, "byte 8: a capture of version " + std::to_string(version) + "; this build reads " + std::to_string(format_version));
  if (prefix.u32() != 0) return damaged("byte 12", "not zero");
  const auto header_at = prefix.u64(), header_bytes = prefix.u64();
  const auto body = file.size() - digest_bytes;
  if (header_at < prefix_bytes || header_at > body) return damaged("byte 16", "the header's offset lies outside of the file");
  if (header_bytes != body - header_at || header_bytes > header_bytes_max)
    return damaged("byte 24", "the header has " + std::to_string(header_bytes) + " bytes, the file " + std::to_string(body - header_at) + " for it: cut short or added to");
  const auto digest = sha256(file.first(body));
  if (!std::equal(digest.begin(), digest.end(), file.begin() + std::ptrdiff_t(body)))
    return damaged("byte " + std::to_string(body), "the SHA-256 over the bytes before is another one: the file is damaged");
  KILN_TRY(read.capture_, read_header(file, header_at, header_bytes));
  return read;
}

Result<CaptureFile> CaptureFile::open_path(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return errno_error(errno, "open " + path);
  auto read = open(fd.get());
  if (!read) {
    auto error = std::move(read).error();
    error.message = path + ": " + error.message;
    return error;
  }
  return read;
}

Result<Bytes> CaptureFile::before(std::size_t index) const {
  return contents_of(capture_.arguments[index].before, capture_.metadata.tensors[index], "/arguments/" + std::to_string(index) + "/before");
}
Result<Bytes> CaptureFile::after(std::size_t index) const {
  return contents_of(capture_.arguments[index].after, capture_.metadata.tensors[index], "/arguments/" + std::to_string(index) + "/after");
}

}  // namespace kiln::capture
