// The last page of a device allocation's memfd, right behind the memory's pages: so the memory itself begins at the
// file's start, where those who get the descriptor alone look for it.
#pragma once

#include <cstdint>

namespace kiln::emulator {

inline constexpr char memory_magic[8] = {'k', 'i', 'l', 'n', 'm', 'e', 'm', '1'};

struct MemoryHeader {
  char magic[8] = {};
  std::uint8_t nonce[16] = {};
  std::uint64_t bytes = 0;   // of the allocation
};

}  // namespace kiln::emulator
