#include "engine/emulator/core/register_checks.hpp"

#include <string_view>

#include "engine/emulator/core/checks.hpp"

namespace kiln::emulator {
namespace {

using u64 = std::uint64_t;

constexpr int scalar_numbers = 1000;  // where scalar registers begin in a fault's address

// How many registers from the destination's first on an instruction writes, at most. Too many only hides a read of a
// register that was never written.
int registers_written(const Instruction& instruction) {
  const std::string_view name = instruction.name;
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  if (instruction.format == Format::mai) return has("32x32") ? 32 : 16;
  if (instruction.format == Format::smem) return has("x16") ? 16 : has("x8") ? 8 : 4;
  if (has("x4") || has("xyzw") || has("b128") || has("read2") || has("qsad") || has("wrxchg2")) return 4;
  if (has("x3") || has("xyz") || has("b96")) return 3;
  const bool memory = instruction.format >= Format::ds;
  if (memory || has("64") || has("_pk_")) return 2;
  return instruction.format <= Format::sopp ? 2 : 1;
}

bool spills(const Instruction& instruction) {
  return instruction.format == Format::scratch || instruction.format == Format::mubuf;
}

bool stop(Wave& wave, const Instruction& instruction, int lane, int number) {
  Fault fault;
  fault.kind = FaultKind::uninitialised_register;
  fault.instruction = instruction.index;
  fault.lane = lane;
  fault.address = static_cast<u64>(number);
  fault.bytes = 4;
  wave.stop(fault);
  return false;
}

bool check_source(Wave& wave, const Instruction& instruction, const Source& source, const u64* vectors,
                  const std::uint8_t* scalars) {
  if (source.kind == Source::Kind::vector && vectors) {
    const u64 missing = wave.exec() & ~vectors[source.index];
    if (missing != 0) return stop(wave, instruction, __builtin_ctzll(missing), source.index);
  }
  const bool program_register = source.index < code::vcc || source.index == code::m0;
  if (source.kind == Source::Kind::scalar && scalars && program_register && !scalars[source.index]) {
    return stop(wave, instruction, -1, scalar_numbers + source.index);
  }
  return true;
}

// Lanes that an instruction may write although they are switched off.
bool ignores_exec(const Instruction& instruction) {
  const std::string_view name = instruction.name;
  return instruction.format == Format::mai || name == "v_writelane_b32" || name.starts_with("v_swap");
}

}  // namespace

bool check_registers(Wave& wave, const Instruction& instruction) {
  const CheckState* checks = wave.group->checks;
  if (!checks) return true;
  u64* vectors = checks->vector_written ? checks->vector_written + u64(wave.index) * vector_registers : nullptr;
  std::uint8_t* scalars = checks->scalar_written ? checks->scalar_written + u64(wave.index) * 128 : nullptr;
  if (!spills(instruction)) {
    for (const Source& source : instruction.src) {
      // An undefined value that is only moved or merged into lanes is no use of it; the compiler does that.
      if (ignores_exec(instruction) && instruction.format != Format::mai) break;
      if (!check_source(wave, instruction, source, vectors, scalars)) return false;
    }
  }
  const int count = registers_written(instruction);
  const auto mark = [&](const Source& result) {
    for (int n = 0; n < count; ++n) {
      const int index = result.index + n;
      if (result.kind == Source::Kind::vector && vectors && index < vector_registers) {
        vectors[index] |= ignores_exec(instruction) ? ~u64(0) : wave.exec();
      }
      if (result.kind == Source::Kind::scalar && scalars && index < 128) scalars[index] = 1;
    }
  };
  mark(instruction.dst);
  mark(instruction.scalar_dst);
  if (std::string_view(instruction.name).starts_with("v_swap")) mark(instruction.src[0]);
  if (instruction.format == Format::smem) mark(instruction.src[1]);
  return true;
}

}  // namespace kiln::emulator
