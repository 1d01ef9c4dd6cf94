// The execution core: what every covered instruction does to a wave. A shared library of its own, built once per
// instruction set of the host (kiln-emulator-core-v3: AVX2, F16C, FMA; -v4: AVX-512), loaded by the machine: code that
// is compiled for a wider machine must never be chosen by the linker for a narrower one.
//
// Which file does what: bind.cpp the lookup; scalar*.cpp SOP*, SMEM; vector*.cpp VOP1, VOP2, VOP3, VOPC, VOP3P with
// SDWA and DPP; memory*.cpp FLAT, GLOBAL, SCRATCH, MUBUF, MTBUF; lds*.cpp DS; matrix*.cpp MFMA; run.cpp the loop. Each
// family offers
//   const Row* find_<family>(std::string_view name)
// from a sorted table; bind.cpp asks by format.
#pragma once

#include <cstdint>

#include "engine/emulator/core/wave.hpp"

namespace kiln::emulator {

struct Core {
  const char* instruction_set;                       // "x86-64-v4"
  // Fills execute, operation and the sources' values. False: the family does not cover this instruction of the target;
  // then `execute` is one that stops the wave with FaultKind::not_covered, so that code around it can still run.
  bool (*bind)(Instruction& instruction, Family family);
  // Executes until the status is not `running` or `instructions` have been executed.
  void (*run)(Wave& wave, std::uint64_t instructions);
};

// The one exported symbol: "kiln_emulator_core".
using CoreEntry = const Core* (*)();

}  // namespace kiln::emulator
