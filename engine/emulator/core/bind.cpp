// The library's one symbol, and the lookup of what executes an instruction.
#include "engine/emulator/core/core.hpp"
#include "engine/emulator/core/families.hpp"

namespace kiln::emulator {

void run_wave(Wave& wave, std::uint64_t instructions);  // run.cpp

void execute_not_covered(Wave& wave, const Instruction& instruction) {
  Fault fault;
  fault.kind = FaultKind::not_covered;
  fault.instruction = instruction.index;
  fault.address = instruction.address;
  fault.bytes = instruction.bytes;
  wave.stop(fault);
}

namespace {

bool bind_by_format(Instruction& instruction, Family family) {
  switch (instruction.format) {
    case Format::sop1:
    case Format::sop2:
    case Format::sopk:
    case Format::sopc:
    case Format::sopp:
    case Format::smem: return bind_scalar(instruction, family);
    case Format::vop1:
    case Format::vop2:
    case Format::vopc:
    case Format::vop3: return bind_vector(instruction, family);
    case Format::vop3p: return bind_vector(instruction, family) || bind_wmma(instruction, family);
    case Format::vopd: return bind_dual(instruction, family);
    case Format::mai: return bind_matrix(instruction, family);
    case Format::ds: return bind_lds(instruction, family);
    case Format::flat:
    case Format::global:
    case Format::scratch:
    case Format::mubuf:
    case Format::mtbuf: return bind_memory(instruction, family);
  }
  return false;
}

bool bind(Instruction& instruction, Family family) {
  const bool covered = family == Family::gfx11 ? bind_rdna(instruction, bind_by_format)
                                               : bind_by_format(instruction, family);
  if (!covered) {
    instruction.execute = execute_not_covered;
    instruction.operation = nullptr;
  }
  return covered;
}

#ifdef __AVX512F__
constexpr const char* instruction_set = "x86-64-v4";
#else
constexpr const char* instruction_set = "x86-64-v3";
#endif

constexpr Core core{instruction_set, bind, run_wave};

}  // namespace
}  // namespace kiln::emulator

extern "C" __attribute__((visibility("default"))) const kiln::emulator::Core* kiln_emulator_core() {
  return &kiln::emulator::core;
}
