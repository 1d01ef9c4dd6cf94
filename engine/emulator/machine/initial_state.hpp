// The registers that a wave starts with. Source: LLVM's AMDGPUUsage, "Initial Kernel Execution State", "Kernel
// Descriptor" (bit positions), "Preloaded Kernel Arguments".
#pragma once

#include <cstdint>

#include "engine/base/result.hpp"
#include "engine/emulator/core/wave.hpp"
#include "engine/emulator/machine/kernel_arguments.hpp"

namespace kiln::emulator {

// What all waves of a launch have in common.
struct InitialState {
  std::uint32_t scalar[128] = {};
  bool written[128] = {};                // which of them are set
  int system_first = 0;                  // where block ids begin
  bool block_id[3] = {}, block_info = false, wave_offset = false;
  int wave_offset_at = -1;               // scalar index, -1 none
  int item_ids = 1;                      // 1: x, 2: x and y, 3: all; packed into v0
  std::uint32_t mode = 0;
  std::uint8_t wave = 64;
  std::uint8_t priority = 0;
  std::uint32_t vector_rows = 0, accumulation_rows = 0;  // registers that the kernel asked for
  std::uint64_t entry = 0;               // past the prologue for loaders that do not preload arguments
  bool architected_scratch = false;      // the card knows where a wave's private memory is
  bool scratch_registers = false;        // and says so in FLAT_SCRATCH; RDNA3 has a hardware register for it instead
  std::uint32_t private_bytes = 0;       // a lane
};

// `scratch`: address of the launch's private memory, `scratch_bytes` of it in all. Errors: corrupt, unsupported.
Result<InitialState> initial_state(const Kernel& kernel, Family family, const LaunchMemory& memory,
                                   std::uint64_t scratch, std::uint64_t scratch_bytes);

// Registers of one wave of block `id`; `index`: of the wave in its block; `scratch_offset`: of its private memory in
// the launch's. Vector registers keep what they held, but for v0: the caller clears them first. EXEC covers the threads
// that the block has.
void set_registers(Wave& wave, const InitialState& state, const Geometry& geometry, const std::uint32_t id[3],
                   std::uint32_t index, std::uint64_t scratch, std::uint64_t scratch_offset);

}  // namespace kiln::emulator
