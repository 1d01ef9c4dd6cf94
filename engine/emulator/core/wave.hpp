// What the execution core works on: waves, their work group, and the tables of a launch. Plain data shared between the
// machine (which owns and fills it) and the core's builds for several instruction sets of the host; so no member
// function that a build could compile differently touches floating point, and no container crosses the border.
#pragma once

#include <cstdint>
#include <cstring>

#include "engine/emulator/isa/instruction.hpp"

namespace kiln::emulator {

inline constexpr int lanes = 64;
inline constexpr int vector_registers = 512;   // 256 architectural, 256 accumulation

enum class Family : std::uint8_t { gfx90a, gfx942, gfx950, gfx11 };

// [begin, end) of one allocation as kernels address it (the host's own address).
struct MemoryRange {
  std::uint64_t begin = 0, end = 0;
  bool writable = true;
};
// Sorted by address, disjoint; does not change while a launch runs.
struct MemoryMap {
  const MemoryRange* ranges = nullptr;
  std::uint64_t count = 0;
};

enum class WaveStatus : std::uint8_t { running, barrier, ended, faulted, sleeping };

enum class FaultKind : std::uint8_t {
  none,
  out_of_range,        // address, lane, bytes
  read_only,           // a store to memory that is mapped read-only
  lds_out_of_range,    // only where the target's rule is not "reads 0, write dropped" (see core/memory)
  register_index,      // address: the register, by an index; bytes, scalar, registers
  misaligned,
  not_covered,         // the instruction's name, encoding and address say what
  bad_program_counter,
  trap,                // s_trap; value: its number
  host_call,           // a call to the host that it refuses; address: why (machine/hostcall.hpp)
  budget,              // more instructions than the launch allows
  lds_race, global_race, uninitialised_lds, uninitialised_register, divergent_barrier,
};
struct Fault {
  FaultKind kind = FaultKind::none;
  std::uint32_t instruction = 0;       // index
  std::int32_t lane = -1;
  std::uint64_t address = 0;           // of memory, or a byte offset in LDS, or a register
  std::uint32_t bytes = 0;
  bool store = false;
  bool scalar = false;                 // register_index: of the scalar file
  std::uint32_t registers = 0;         // register_index: how many there are, from 0 on
  std::uint32_t other_instruction = 0; // races: the access before
  std::int32_t other_wave = -1;
  std::int32_t other_lane = -1;        // global races of two lanes of one instruction
  std::uint64_t other_group = ~std::uint64_t(0);  // global races: number of the other work group, ~0: the same one
};

// Per-instruction counts of one host thread; arrays of `instructions` elements, summed by the machine afterwards. Only
// `executed` is always there; the rest is null unless the launch is profiled.
struct InstructionCounts {
  std::uint64_t* executed = nullptr;         // by waves
  std::uint64_t* lds_cycles = nullptr;       // sum over the bank phases with an active lane of what they took
  std::uint64_t* lds_conflicts = nullptr;    // of it, beyond one cycle a phase
  std::uint64_t* bytes = nullptr;            // moved to or from device memory by active lanes
  std::uint64_t* segments = nullptr;         // distinct 64-byte segments touched, summed over executions
};

// The 128-byte lines of device memory that a work group touches, each once an instruction, in the order in which it
// does: what the model of the card's L2 is fed with. The core appends, the machine owns (machine/cache_model.hpp).
inline constexpr std::uint64_t line_bytes = 128;
struct LineLog {
  std::uint64_t* lines = nullptr;            // addresses divided by line_bytes
  std::uint64_t count = 0, capacity = 0;
  // Makes room for `lanes * 2` more, maybe by taking what is there. False: nothing more is recorded.
  bool (*make_room)(LineLog& log) = nullptr;
};

struct CheckState;  // core/checks.hpp: shadow state of races and uninitialised reads; null: off

struct WorkGroup {
  Wave* waves = nullptr;
  std::uint32_t wave_count = 0;
  std::uint8_t* lds = nullptr;               // 16-byte aligned, `lds_bytes` and 64 bytes of slack that nothing reads
  std::uint32_t lds_bytes = 0;
  std::uint32_t id[3] = {};
  CheckState* checks = nullptr;
  LineLog* lines = nullptr;                  // null: not recorded
};

// One launch on one host thread.
struct Execution {
  const Instruction* code = nullptr;
  std::uint32_t instructions = 0;
  std::uint64_t code_begin = 0;              // address of the first byte
  const std::uint32_t* index_of = nullptr;   // dword offset from code_begin -> index, ~0u inside an instruction
  std::uint64_t code_bytes = 0;
  MemoryMap memory;
  InstructionCounts counts;
  Family family = Family::gfx942;
  std::uint64_t shared_base = 0, private_base = 0;  // apertures: [base, base + 4 GiB)
  bool profiled = false;
};

struct alignas(64) Wave {
  std::uint32_t (*vector)[lanes] = nullptr;  // [vector_registers]; rows are 256-byte aligned
  std::uint32_t scalar[128] = {};            // by operand code: vcc 106, m0 124, null 125 (reads 0), exec 126
  bool scc = false;
  WaveStatus status = WaveStatus::running;
  std::uint8_t size = 64;                    // 32: the upper half of exec stays 0
  std::uint8_t priority = 0;
  std::uint32_t mode = 0;                    // MODE register: 0..3 round, 4..7 denormals, 8 dx10_clamp, 9 ieee …
  std::uint32_t index = 0;                   // in the work group
  std::uint32_t next = 0;                    // index of the instruction to execute; past the end is a fault
  std::uint64_t executed = 0;                // instructions so far
  std::uint8_t* scratch = nullptr;           // this wave's private memory, swizzled: dword d of lane l at (d*size+l)*4
  std::uint32_t scratch_bytes = 0;           // a lane
  WorkGroup* group = nullptr;
  Execution* execution = nullptr;
  MemoryRange last_range;                    // the range that the last access fell into
  Fault fault;

  [[nodiscard]] std::uint64_t scalar64(int code) const {
    std::uint64_t value;
    std::memcpy(&value, &scalar[code], 8);
    return value;
  }
  void set_scalar64(int code, std::uint64_t value) { std::memcpy(&scalar[code], &value, 8); }
  [[nodiscard]] std::uint64_t exec() const { return scalar64(code::exec); }
  // Ends the wave with a fault; the first one stays.
  void stop(const Fault& what) {
    if (status == WaveStatus::faulted) return;
    fault = what;
    status = WaveStatus::faulted;
  }
};

}  // namespace kiln::emulator
