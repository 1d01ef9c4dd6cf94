// What the mnemonics of FLAT, GLOBAL, SCRATCH and MUBUF have in common behind their prefix.
#pragma once

#include <string_view>

#include "engine/emulator/core/memory_transfer.hpp"
#include "engine/emulator/core/scalar.hpp"

namespace kiln::emulator {

enum class Move : std::uint8_t { load, store, load_lds };

struct MoveRow {
  std::string_view name;  // "load_dwordx2"
  Move move;
  Transfer transfer;
  Targets targets = targets_all;
};

// The row of "load_dword" etc., null if the target has none. `load_lds_…` is how GLOBAL and SCRATCH spell it; MUBUF
// says it by a bit and has the loads' names.
const MoveRow* find_move(std::string_view name, Family family);

// Binds one of the format families; `rest`: the name behind the prefix.
bool bind_flat(Instruction& instruction, std::string_view rest, Family family);     // FLAT, GLOBAL
bool bind_scratch(Instruction& instruction, std::string_view rest, Family family);
bool bind_buffer(Instruction& instruction, std::string_view rest, Family family);   // MUBUF but the formats
bool bind_format(Instruction& instruction, std::string_view rest, Family family);   // MUBUF's and MTBUF's formats

// Loads of the lanes into LDS: lane l's data at M0 + the instruction's offset + l times its bytes (at least 4).
// Requires: filled and checked addresses. Lanes of `zero` write 0.
void load_to_lds(Wave& wave, const Instruction& instruction, const Addresses& addresses, const Transfer& transfer,
                 std::uint64_t zero);

// Whether the addresses of the lanes that take part are multiples of `bytes`, as atomics want it. False: the wave has
// stopped.
bool check_alignment(Wave& wave, const Instruction& instruction, const Addresses& addresses, std::uint32_t bytes);

// Atomics of device memory on the lanes that take part. Requires: nothing checked yet.
struct AtomicOperation;
void execute_atomic_lanes(Wave& wave, const Instruction& instruction, Addresses& addresses,
                          const AtomicOperation& operation);
// The same on memory of the host that is known to be there. Requires: filled.
void execute_atomic_host(Wave& wave, const Instruction& instruction, const Addresses& addresses,
                         const AtomicOperation& operation);
// Whether data and result registers of such an instruction exist.
bool atomic_fits(const Instruction& instruction, const AtomicOperation& operation);

}  // namespace kiln::emulator
