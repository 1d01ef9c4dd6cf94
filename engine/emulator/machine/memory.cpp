#include "engine/emulator/machine/memory.hpp"

#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "engine/base/os.hpp"
#include "engine/emulator/machine/memory_header.hpp"

namespace kiln::emulator {
namespace {

constexpr std::uint64_t page = 4096, gap = 2 << 20;
constexpr std::uint64_t allocation_max = std::uint64_t(1) << 44;

std::uint64_t rounded_up(std::uint64_t value) { return (value + page - 1) / page * page; }

std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

Error unknown(const char* what) { return Error(ErrorCode::invalid_argument, std::string("not the start of ") + what); }

std::uint64_t header_place(std::uint64_t bytes) { return rounded_up(bytes); }

// Whether this process has all of [begin, end) mapped readable, and whether all of it writable.
struct Protection {
  bool readable = false, writable = false;
};
Protection protection_of(std::uint64_t begin, std::uint64_t end) {
  Protection found{true, true};
  std::FILE* maps = std::fopen("/proc/self/maps", "re");
  if (maps == nullptr) return {};
  char line[512];
  std::uint64_t covered = begin;
  bool whole_line = true;
  while (covered < end && std::fgets(line, sizeof line, maps) != nullptr) {
    const bool starts = whole_line;
    whole_line = std::strchr(line, '\n') != nullptr;
    unsigned long from = 0, to = 0;
    char access[8] = {};
    if (!starts || std::sscanf(line, "%lx-%lx %7s", &from, &to, access) != 3 || to <= covered) continue;
    if (from > covered) break;
    found.readable = found.readable && access[0] == 'r';
    found.writable = found.writable && access[1] == 'w';
    covered = to;
  }
  std::fclose(maps);
  if (covered < end) return {};
  return found;
}

}  // namespace

Memory::~Memory() {
  for (auto& [begin, entry] : entries_) unmap(entry);
}

void Memory::unmap(Entry& entry) {
  if (entry.fd.valid()) {
    // Whoever still holds the handle, or races with a reuse of the descriptor's number, is told that it is gone.
    const MemoryHeader none{};
    (void)os::pwrite(entry.fd.get(), &none, sizeof none, static_cast<off_t>(header_place(entry.allocation.bytes)));
  }
  if (entry.mapping != nullptr) os::munmap(entry.mapping, entry.mapping_bytes);
  entry.mapping = nullptr;
}

Status Memory::map(Entry& entry, std::uint64_t bytes, int fd, std::uint64_t offset) {
  const std::uint64_t size = rounded_up(bytes);
  void* const place = os::mmap(nullptr, size + gap, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED)
    return Error(ErrorCode::out_of_memory, "mapping " + std::to_string(bytes) + " bytes: " + std::strerror(errno));
  entry.mapping = place;
  entry.mapping_bytes = size + gap;
  const int flags = MAP_FIXED | (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED);
  if (os::mmap(place, size, PROT_READ | PROT_WRITE, flags, fd, static_cast<off_t>(offset)) != MAP_FAILED) return ok();
  const int error = errno;
  os::munmap(place, entry.mapping_bytes);
  entry.mapping = nullptr;
  return Error(ErrorCode::out_of_memory, "mapping " + std::to_string(bytes) + " bytes: " + std::strerror(error));
}

Memory::Entries::const_iterator Memory::at(std::uint64_t address) const {
  auto next = entries_.upper_bound(address);
  if (next == entries_.begin()) return entries_.end();
  --next;
  return address - next->first < next->second.allocation.bytes ? next : entries_.end();
}

bool Memory::overlaps(std::uint64_t begin, std::uint64_t bytes) const {
  const auto next = entries_.lower_bound(begin);
  return at(begin) != entries_.end() || (next != entries_.end() && next->first - begin < bytes);
}

Result<void*> Memory::allocate(std::uint64_t bytes, int device) {
  if (bytes == 0) return Error(ErrorCode::invalid_argument, "an allocation of 0 bytes");
  const std::lock_guard lock(mutex_);
  if (bytes > allocation_max || bytes > bytes_max_ - std::min(used_, bytes_max_)) {
    return Error(ErrorCode::out_of_memory, std::to_string(bytes) + " bytes asked, " +
                                               std::to_string(bytes_max_ - std::min(used_, bytes_max_)) +
                                               " left on the emulated card");
  }
  Entry entry;
  KILN_TRY(entry.fd, create_memfd("kiln-emulated-device-memory", header_place(bytes) + page));
  MemoryHeader header;
  std::memcpy(header.magic, memory_magic, sizeof header.magic);
  header.bytes = bytes;
  if (::getrandom(header.nonce, sizeof header.nonce, 0) != sizeof header.nonce)
    return errno_error(errno, "random bytes for device memory");
  std::memcpy(entry.nonce.data(), header.nonce, sizeof header.nonce);
  if (os::pwrite(entry.fd.get(), &header, sizeof header, static_cast<off_t>(header_place(bytes))) != sizeof header)
    return errno_error(errno, "writing the header of device memory");
  if (os::add_seals(entry.fd.get(), F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return errno_error(errno, "sealing device memory");
  KILN_CHECK(map(entry, bytes, entry.fd.get(), 0));
  void* const pointer = entry.mapping;
  entry.allocation = {address_of(pointer), bytes, MemoryKind::device, true, device};
  used_ += bytes;
  forget_stale(address_of(pointer), entry.mapping_bytes);
  entries_.emplace(address_of(pointer), std::move(entry));
  return pointer;
}

Result<void*> Memory::allocate_host(std::uint64_t bytes) {
  if (bytes == 0 || bytes > allocation_max) return Error(ErrorCode::invalid_argument, "an allocation of that size");
  Entry entry;
  KILN_CHECK(map(entry, bytes, -1, 0));
  void* const pointer = entry.mapping;
  entry.allocation = {address_of(pointer), bytes, MemoryKind::host, true, 0};
  const std::lock_guard lock(mutex_);
  forget_stale(address_of(pointer), entry.mapping_bytes);
  entries_.emplace(address_of(pointer), std::move(entry));
  return pointer;
}

void Memory::forget_stale(std::uint64_t begin, std::uint64_t bytes) {
  for (auto next = entries_.begin(); next != entries_.end();) {
    const auto& known = next->second.allocation;
    const bool stale = known.begin < begin + bytes && begin < known.end();
    next = stale ? entries_.erase(next) : std::next(next);
  }
}

Status Memory::remove(void* pointer, MemoryKind kind, const char* what) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(address_of(pointer));
  if (found == entries_.end() || found->second.allocation.kind != kind) return unknown(what);
  if (kind == MemoryKind::device) used_ -= found->second.allocation.bytes;
  unmap(found->second);
  entries_.erase(found);
  return ok();
}

Status Memory::release(void* pointer) { return remove(pointer, MemoryKind::device, "device memory"); }
Status Memory::release_host(void* pointer) { return remove(pointer, MemoryKind::host, "host memory of the card's"); }
Status Memory::unregister_host(void* pointer) {
  return remove(pointer, MemoryKind::registered, "registered host memory");
}

Status Memory::register_host(void* pointer, std::uint64_t bytes, bool read_only) {
  const std::uint64_t begin = address_of(pointer);
  if (pointer == nullptr || bytes == 0 || bytes > allocation_max || begin + bytes < begin)
    return Error(ErrorCode::invalid_argument, "no range of memory");
  const auto protection = protection_of(begin, begin + bytes);
  if (!protection.readable) return Error(ErrorCode::invalid_argument, "the range is not mapped in this process");
  Entry entry;
  entry.allocation = {begin, bytes, MemoryKind::registered, protection.writable && !read_only, 0};
  const std::lock_guard lock(mutex_);
  if (overlaps(begin, bytes)) return Error(ErrorCode::busy, "the range overlaps memory that the card knows already");
  entries_.emplace(begin, std::move(entry));
  return ok();
}

std::optional<Allocation> Memory::find(std::uint64_t address) const {
  const std::lock_guard lock(mutex_);
  const auto found = at(address);
  if (found == entries_.end()) return std::nullopt;
  return found->second.allocation;
}

std::vector<Allocation> Memory::allocations() const {
  const std::lock_guard lock(mutex_);
  std::vector<Allocation> all;
  all.reserve(entries_.size() + 8);
  for (const auto& [begin, entry] : entries_) all.push_back(entry.allocation);
  return all;
}

std::uint64_t Memory::used_bytes() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

}  // namespace kiln::emulator
