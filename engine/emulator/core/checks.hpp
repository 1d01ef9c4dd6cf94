// Shadow state of the checking switches. Null members are switched off. The core updates and reads it; what it finds
// stops the wave with a Fault of the matching kind (the machine decides whether a launch goes on after it).
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

// One instruction's access to device memory, for the check of races on it.
enum class GlobalUse : std::uint8_t { load, store, atomic };
struct GlobalAccess {
  const std::uint64_t* at = nullptr;        // [lanes]
  std::uint64_t active = 0;                 // lanes that take part
  std::uint32_t bytes = 0;                  // of a lane
  GlobalUse use = GlobalUse::load;
  // Stores: the registers that hold the data and how far it is shifted in them; null: the values are not known.
  const std::uint32_t (*rows)[lanes] = nullptr;
  std::uint8_t shift = 0;
};

struct CheckState {
  std::uint32_t epoch = 1;
  LdsAccess* lds = nullptr;                 // [lds_bytes]: races
  std::uint8_t* lds_written = nullptr;      // [lds_bytes]: 1 where the work group wrote: uninitialised reads
  // Per wave, [wave_count * vector_registers]: bit l: lane l was written. Null: registers are not checked.
  std::uint64_t* vector_written = nullptr;
  // Per wave, [wave_count * 128]: 1 where written.
  std::uint8_t* scalar_written = nullptr;
  // Races on device memory, before the access is done; kept by the machine (machine/global_races.hpp), called with
  // addresses that are mapped. False: the wave has stopped.
  bool (*global)(void* state, Wave& wave, const Instruction& instruction, const GlobalAccess& access) = nullptr;
  void* global_state = nullptr;
};

}  // namespace kiln::emulator
