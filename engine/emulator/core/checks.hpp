// Shadow state of the checking switches. Null members are switched off. The core updates and reads it; what it finds stops
// the wave with a Fault of the matching kind (the machine decides whether a launch goes on after it).
#pragma once

#include <cstdint>

#include "engine/emulator/core/wave.hpp"

namespace kiln::emulator {

// Who touched a byte of LDS since the last barrier of the work group. `epoch` is the group's number of barriers passed:
// an access by another wave in the same epoch, one of the two a store, is a race.
struct LdsAccess {
  std::uint32_t store_epoch = 0, load_epoch = 0;     // 0: never; epochs count from 1
  std::int16_t store_wave = -1, load_wave = -1;      // load_wave -2: several
  std::uint32_t store_instruction = 0, load_instruction = 0;
};

struct CheckState {
  std::uint32_t epoch = 1;
  LdsAccess* lds = nullptr;                 // [lds_bytes]: races
  std::uint8_t* lds_written = nullptr;      // [lds_bytes]: 1 where the work group wrote: uninitialised reads
  // Per wave, [wave_count * vector_registers]: bit l: lane l was written. Null: registers are not checked.
  std::uint64_t* vector_written = nullptr;
  // Per wave, [wave_count * 128]: 1 where written.
  std::uint8_t* scalar_written = nullptr;
};

}  // namespace kiln::emulator
