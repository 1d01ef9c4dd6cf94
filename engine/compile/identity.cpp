// The identity of a compiler process: build ids of everything executable that it has mapped.
#include <elf.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <set>
#include <sstream>

#include "engine/base/fd.hpp"
#include "engine/base/hash.hpp"
#include "engine/base/os.hpp"
#include "engine/compile/compiler.hpp"

namespace kiln::compile {
namespace {

constexpr std::uint32_t format = 1;
constexpr std::size_t object_bytes_max = std::size_t(1) << 30;
constexpr std::size_t notes_bytes_max = std::size_t(1) << 20;

// Bytes [offset, offset + size) of a file, or nothing when it is shorter.
std::optional<Bytes> read_at(int fd, std::uint64_t offset, std::size_t size) {
  Bytes bytes(size);
  for (std::size_t done = 0; done < size;) {
    const auto n = os::pread(fd, bytes.data() + done, size - done, static_cast<off_t>(offset + done));
    if (n <= 0) return std::nullopt;
    done += static_cast<std::size_t>(n);
  }
  return bytes;
}

template <class T>
std::optional<T> read_struct(int fd, std::uint64_t offset) {
  const auto bytes = read_at(fd, offset, sizeof(T));
  if (!bytes) return std::nullopt;
  T value;
  std::memcpy(&value, bytes->data(), sizeof value);
  return value;
}

constexpr std::size_t aligned4(std::size_t n) { return (n + 3) & ~std::size_t(3); }

// The GNU build id among the notes of one PT_NOTE segment, "" when there is none.
std::string build_id_of_notes(ByteView notes) {
  while (notes.size() >= sizeof(Elf64_Nhdr)) {
    Elf64_Nhdr head;
    std::memcpy(&head, notes.data(), sizeof head);
    const std::size_t name = sizeof head, value = name + aligned4(head.n_namesz);
    const std::size_t end = value + aligned4(head.n_descsz);
    if (value > notes.size() || value + head.n_descsz > notes.size()) return "";
    if (head.n_type == NT_GNU_BUILD_ID && text(notes.subspan(name, head.n_namesz)) == std::string_view("GNU\0", 4))
      return to_hex(notes.subspan(value, head.n_descsz));
    if (end >= notes.size()) return "";
    notes = notes.subspan(end);
  }
  return "";
}

std::string build_id_of(int fd) {
  const auto head = read_struct<Elf64_Ehdr>(fd, 0);
  if (!head || std::memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_ident[EI_CLASS] != ELFCLASS64) return "";
  for (int i = 0; i < head->e_phnum; ++i) {
    const auto segment = read_struct<Elf64_Phdr>(fd, head->e_phoff + std::uint64_t(i) * head->e_phentsize);
    if (!segment) return "";
    if (segment->p_type != PT_NOTE || segment->p_filesz > notes_bytes_max) continue;
    const auto notes = read_at(fd, segment->p_offset, segment->p_filesz);
    if (!notes) return "";
    if (auto id = build_id_of_notes(*notes); !id.empty()) return id;
  }
  return "";
}

// Paths of the files with an executable mapping in this process, sorted. A file that was replaced since shows as
// "PATH (deleted)". Device and inode there are not compared with stat's: overlayfs and btrfs show others.
Result<std::set<std::string>> mapped_files() {
  UniqueFd maps(os::openat(AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC));
  if (!maps) return errno_error(errno, "cannot read /proc/self/maps");
  std::string all;
  char chunk[16384];
  for (ssize_t n; (n = os::read(maps.get(), chunk, sizeof chunk)) != 0;) {
    if (n < 0) return errno_error(errno, "cannot read /proc/self/maps");
    all.append(chunk, static_cast<std::size_t>(n));
  }
  std::set<std::string> files;
  std::istringstream lines(all);
  for (std::string line; std::getline(lines, line);) {
    char permissions[8] = {};
    unsigned long long inode = 0;
    int path_at = 0;
    if (std::sscanf(line.c_str(), "%*s %7s %*s %*s %llu %n", permissions, &inode, &path_at) < 2) continue;
    const auto at = static_cast<std::size_t>(path_at);
    if (permissions[2] != 'x' || inode == 0 || at >= line.size() || line[at] != '/') continue;
    files.insert(line.substr(at));
  }
  return files;
}

Result<CompilerFile> describe_file(const std::string& path) {
  UniqueFd fd(os::openat(AT_FDCWD, path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return errno_error(errno, "a file of the compiler is gone or was replaced while it ran: " + path);
  struct stat status {};
  if (os::fstat(fd.get(), &status) != 0) return errno_error(errno, "cannot look at " + path);
  CompilerFile file;
  file.path = path;
  file.device = status.st_dev;
  file.inode = status.st_ino;
  file.size = static_cast<std::uint64_t>(status.st_size);
  file.ctime_ns = std::int64_t(status.st_ctim.tv_sec) * 1'000'000'000 + status.st_ctim.tv_nsec;
  file.build_id = build_id_of(fd.get());
  if (file.build_id.empty()) {
    KILN_TRY(const auto bytes, read_all(fd.get(), object_bytes_max));
    file.build_id = "sha256:" + to_hex(sha256(bytes));
  }
  return file;
}

}  // namespace

Digest Identity::digest() const {
  std::vector<std::string> ids;
  for (const auto& file : files) ids.push_back(file.build_id);
  std::sort(ids.begin(), ids.end());
  Writer w;
  w.string("kiln-compiler/1");
  w.list(ids, [](Writer& out, const std::string& id) { out.string(id); });
  return sha256(w.data());
}

Bytes encode(const Identity& identity) {
  Writer w;
  w.u32(format);
  w.string(identity.description);
  w.list(identity.files, [](Writer& out, const CompilerFile& file) {
    out.string(file.path);
    out.string(file.build_id);
    out.u64(file.device);
    out.u64(file.inode);
    out.u64(file.size);
    out.i64(file.ctime_ns);
  });
  return w.take();
}

Result<Identity> decode_identity(ByteView bytes) {
  Reader r(bytes);
  if (r.u32() != format) return Error(ErrorCode::corrupt, "a compiler's identity of another format");
  Identity identity;
  identity.description = r.string();
  identity.files = r.list<CompilerFile>([](Reader& in) {
    CompilerFile file;
    file.path = in.string();
    file.build_id = in.string();
    file.device = in.u64();
    file.inode = in.u64();
    file.size = in.u64();
    file.ctime_ns = in.i64();
    return file;
  });
  KILN_CHECK(r.finish());
  if (identity.files.empty()) return Error(ErrorCode::corrupt, "a compiler's identity without files");
  return identity;
}

Result<Identity> mapped_identity(std::string description) {
  KILN_TRY(const auto mapped, mapped_files());
  Identity identity;
  identity.description = std::move(description);
  for (const auto& path : mapped) {
    KILN_TRY(auto described, describe_file(path));
    identity.files.push_back(std::move(described));
  }
  return identity;
}

}  // namespace kiln::compile
