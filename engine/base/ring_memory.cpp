#include "engine/base/ring_memory.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "engine/base/os.hpp"

namespace kiln {

Result<UniqueFd> RingMemory::create(std::uint32_t slots) {
  KILN_TRY(auto fd, create_memfd("kiln-ring", bytes(slots)));
  KILN_TRY(const auto mapping, Mapping::map(fd.get(), bytes(slots), true));
  const auto write = [&](RingWord word, std::uint32_t value) {
    std::memcpy(mapping.data() + static_cast<std::uint32_t>(word), &value, sizeof value);
  };
  write(RingWord::magic, ring_magic);
  write(RingWord::version, ring_version);
  write(RingWord::slots, slots);
  write(RingWord::submissions, header_bytes);
  write(RingWord::completions, static_cast<std::uint32_t>(header_bytes + slots * entry_bytes));
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return errno_error(errno, "seal a ring");
  return fd;
}

Result<RingMemory> RingMemory::map(int fd, std::uint32_t slots) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) return errno_error(errno, "look at a ring");
  const int seals = ::fcntl(fd, F_GET_SEALS);
  const bool fits = slots >= 2 && slots <= ring_slots_max && (slots & (slots - 1)) == 0;
  if (!fits || seals < 0 || (seals & F_SEAL_SHRINK) == 0 || std::size_t(info.st_size) != bytes(slots))
    return Error(ErrorCode::invalid_argument, "the descriptor is no ring of " + std::to_string(slots) + " slots");
  KILN_TRY(auto mapping, Mapping::map(fd, bytes(slots), true));
  return RingMemory(std::move(mapping), slots);
}

std::uint64_t* RingMemory::entry(bool completions, std::uint32_t number) const {
  const std::size_t place = (completions ? slots_ : 0) + (number & (slots_ - 1));
  return reinterpret_cast<std::uint64_t*>(mapping_.data() + header_bytes + place * entry_bytes);
}

Submission RingMemory::submission(std::uint32_t number) const {
  const auto* from = entry(false, number);
  return {__atomic_load_n(from, __ATOMIC_RELAXED), __atomic_load_n(from + 1, __ATOMIC_RELAXED)};
}

void RingMemory::put(std::uint32_t number, const Submission& value) {
  auto* to = entry(false, number);
  __atomic_store_n(to, value.serial, __ATOMIC_RELAXED);
  __atomic_store_n(to + 1, value.plan, __ATOMIC_RELAXED);
}

Completion RingMemory::completion(std::uint32_t number) const {
  const auto* from = entry(true, number);
  return {__atomic_load_n(from, __ATOMIC_RELAXED), __atomic_load_n(from + 1, __ATOMIC_RELAXED),
          static_cast<RunStatus>(__atomic_load_n(from + 2, __ATOMIC_RELAXED))};
}

void RingMemory::put(std::uint32_t number, const Completion& value) {
  auto* to = entry(true, number);
  __atomic_store_n(to, value.serial, __ATOMIC_RELAXED);
  __atomic_store_n(to + 1, value.duration_ns, __ATOMIC_RELAXED);
  __atomic_store_n(to + 2, static_cast<std::uint64_t>(value.status), __ATOMIC_RELAXED);
}

void ring_bell(int socket) {
  const char one = 1;
  (void)::send(socket, &one, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

bool take_rings(int socket) {
  char bytes[256];
  for (;;) {
    const auto got = ::recv(socket, bytes, sizeof bytes, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) return false;
    if (got < 0 && errno == EAGAIN) return true;
    if (got > 0 && std::size_t(got) < sizeof bytes) return true;
  }
}

}  // namespace kiln
