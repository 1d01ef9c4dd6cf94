// One wave of an emulated card in a test's hands: assembly in, registers and memory out. For known-answer tests.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/base/result.hpp"
#include "engine/emulator/core/wave.hpp"

namespace kiln::emulator_test {

// Machine code of `assembly` (LLVM's assembler) for a processor like "gfx942". Errors: with the assembler's message.
Result<Bytes> assemble(const std::string& assembly, const std::string& processor);

class SmallWave {
 public:
  // A wave of 64 lanes (gfx11: 32), all active, in a work group of its own with `lds_bytes` of LDS (zeroed) and one
  // allocation of `memory_bytes` of device memory (zeroed). MODE is what HIP's launches start with (0xf0 | ieee |
  // dx10).
  explicit SmallWave(const std::string& processor, std::size_t lds_bytes = 65536, std::size_t memory_bytes = 65536);
  ~SmallWave();
  SmallWave(const SmallWave&) = delete;

  std::uint32_t& v(int index, int lane);
  std::uint32_t& a(int index, int lane);   // accumulation registers
  std::uint32_t& s(int index);             // by operand code: vcc 106, m0 124, exec 126
  void set_v64(int index, int lane, std::uint64_t value);
  std::uint64_t v64(int index, int lane);
  float vf(int index, int lane);           // the register's bits as f32
  void set_vf(int index, int lane, float value);
  void set_s64(int index, std::uint64_t value);
  std::uint64_t s64(int index);
  void set_exec(std::uint64_t mask);

  emulator::Wave& wave();
  std::uint8_t* lds();
  std::uint8_t* memory();                  // its address is what kernels see
  std::uint64_t address() { return reinterpret_cast<std::uint64_t>(memory()); }
  emulator::InstructionCounts& counts();   // of the last run, per instruction

  // Assembles the text and an s_endpgm, decodes, binds with the widest core that this machine runs (environment
  // KILN_EMULATOR_CORE=v3 for the other), executes at most a million instructions. A status of `ended` is success;
  // every other one comes with wave().fault. Text that does not assemble fails the calling test.
  emulator::WaveStatus run(const std::string& assembly);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kiln::emulator_test
