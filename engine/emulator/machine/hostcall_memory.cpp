#include "engine/emulator/machine/hostcall_memory.hpp"

#include <sys/mman.h>

#include "engine/base/os.hpp"

namespace kiln::emulator {

Status HostPages::map(std::uint64_t bytes, const char* what) {
  constexpr std::uint64_t page = 4096;
  reset();
  const std::uint64_t size = (bytes + page - 1) / page * page;
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* const mapping = os::mmap(nullptr, size, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (mapping == MAP_FAILED) return Error(ErrorCode::out_of_memory, std::string("no memory for ") + what);
  begin_ = reinterpret_cast<std::uint64_t>(mapping);
  bytes_ = bytes;
  mapped_ = size;
  return ok();
}

void HostPages::reset() {
  if (mapped_ != 0) os::munmap(reinterpret_cast<void*>(begin_), mapped_);   // NOLINT: an address of our own mapping
  begin_ = bytes_ = mapped_ = 0;
}

}  // namespace kiln::emulator
