// What the families of the execution core offer each other and bind.cpp.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/emulator/core/wave.hpp"

namespace kiln::emulator {

// Each looks the instruction's name up and fills `execute`, `operation` and the sources' values. False: not covered by
// this family of instructions, or not on this target; the instruction is then left as it was.
bool bind_scalar(Instruction& instruction, Family family);   // sop1, sop2, sopk, sopc, sopp, smem
bool bind_vector(Instruction& instruction, Family family);   // vop1, vop2, vopc, vop3, vop3p
bool bind_dual(Instruction& instruction, Family family);     // vopd
bool bind_matrix(Instruction& instruction, Family family);   // mai
bool bind_wmma(Instruction& instruction, Family family);     // RDNA3: v_wmma of vop3p
bool bind_memory(Instruction& instruction, Family family);   // flat, global, scratch, mubuf, mtbuf
bool bind_lds(Instruction& instruction, Family family);      // ds

// Binds an instruction of RDNA3 by the family that `by_format` chooses, and sees to what all families need there:
// `null` as a source, and that nothing writes the upper half of EXEC, which waves of 32 lanes do not have.
bool bind_rdna(Instruction& instruction, bool (*by_format)(Instruction&, Family));

// How an operation reads a source; decides what an inline constant or a literal means.
enum class Type : std::uint8_t {
  none, b32, i32, u32, b64, i64, u64, b16, i16, u16, f16, bf16, f32, f64, pk16, pkf16, pkbf16, pkf32, pkb32
};

// The 64 bits that `source` (a constant or a literal) means as `type`. Inline integers are sign-extended to the type;
// inline floats are that float in the type's format (in integer types: the f32 bits; b64 and 64-bit integers: the f64
// bits); literals are zero- or sign-extended for integers, the upper half for f64. Packed types of 16 bits:
// inline integers are sign-extended to 32 bits, inline floats stand in the low half, a literal is as it stands; op_sel
// is the caller's.
std::uint64_t constant_value(const Source& source, Type type);

// A scalar source as 32 or 64 bits: registers, constants by their `value`, specials. code::null reads 0.
std::uint32_t read_scalar32(const Wave& wave, const Source& source);
std::uint64_t read_scalar64(const Wave& wave, const Source& source);

// Memory of a wave, checked. Finds the range of the launch's map that holds [address, address + bytes), null if none.
const MemoryRange* find_range(Wave& wave, std::uint64_t address, std::uint64_t bytes);
// Reads for SMEM: bytes from device memory at `address`, which the access names for faults. False: the wave has
// stopped.
bool read_scalar_memory(Wave& wave, const Instruction& instruction, std::uint64_t address, void* into,
                        std::uint32_t bytes);

// Index of the instruction at `address`, ~0u where none starts.
std::uint32_t index_at(const Execution& execution, std::uint64_t address);
// Stops the wave with FaultKind::not_covered at this instruction; what unbound instructions execute.
void execute_not_covered(Wave& wave, const Instruction& instruction);

}  // namespace kiln::emulator
