#include "tests/support/emulator/small_wave.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "engine/emulator/isa/decoder.hpp"
#include "engine/emulator/machine/core_loader.hpp"

namespace kiln::emulator_test {
namespace {

using namespace emulator;  // NOLINT: this file is about its types

constexpr std::uint64_t instructions_max = 1000000;
constexpr std::uint32_t scratch_lane_bytes = 4096, lds_slack = 64;

const Core* core() {
  static const Core* const loaded = []() -> const Core* {
    const char* level = std::getenv("KILN_EMULATOR_CORE");
    auto found = load_core(level != nullptr ? level : "", KILN_CORE_DIR);
    if (!found) ADD_FAILURE() << to_text(found.error());
    return found ? *found : nullptr;
  }();
  return loaded;
}

// Zeroed memory, aligned as registers, LDS and device allocations are.
class AlignedMemory {
 public:
  AlignedMemory(std::size_t bytes, std::size_t alignment) : bytes_(std::max<std::size_t>(bytes, 1)) {
    const std::size_t rounded = (bytes_ + alignment - 1) / alignment * alignment;
    data_.reset(static_cast<std::uint8_t*>(std::aligned_alloc(alignment, rounded)));
    std::memset(data_.get(), 0, rounded);
  }
  std::uint8_t* get() { return data_.get(); }

 private:
  struct Free {
    void operator()(std::uint8_t* memory) const { std::free(memory); }  // NOLINT: aligned_alloc's partner
  };
  std::size_t bytes_;
  std::unique_ptr<std::uint8_t, Free> data_;
};

}  // namespace

struct SmallWave::State {
  State(const std::string& processor, std::size_t lds_bytes, std::size_t memory_bytes)
      : processor(processor),
        memory_bytes(memory_bytes),
        registers(sizeof(std::uint32_t) * lanes * vector_registers, 4096),
        lds(lds_bytes + lds_slack, 64),
        memory(memory_bytes, 4096),
        scratch(std::size_t{scratch_lane_bytes} * lanes, 4096) {}

  // The map holds the memory and, not writable, the code, which kernels may read.
  void map_memory(const Bytes& code) {
    const auto at = reinterpret_cast<std::uint64_t>(memory.get());
    const auto code_at = reinterpret_cast<std::uint64_t>(code.data());
    ranges = {{at, at + memory_bytes, true}, {code_at, code_at + code.size(), false}};
    std::sort(ranges.begin(), ranges.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
    execution.memory = {ranges.data(), ranges.size()};
    wave.last_range = {};
  }
  void clear_counts(std::size_t instructions) {
    std::uint64_t** arrays[] = {&execution.counts.executed, &execution.counts.lds_cycles,
                                &execution.counts.lds_conflicts, &execution.counts.bytes, &execution.counts.segments};
    counts.assign(instructions * std::size(arrays), 0);
    for (std::size_t i = 0; i < std::size(arrays); ++i) *arrays[i] = counts.data() + i * instructions;
  }

  std::string processor;
  std::size_t memory_bytes;
  AlignedMemory registers, lds, memory, scratch;
  Wave wave;
  WorkGroup group;
  Execution execution;
  Bytes bytes;  // of the last run's code; its address is the code's
  Code code;
  std::vector<MemoryRange> ranges;
  std::vector<std::uint64_t> counts;
};

SmallWave::SmallWave(const std::string& processor, std::size_t lds_bytes, std::size_t memory_bytes)
    : state_(std::make_unique<State>(processor, lds_bytes, memory_bytes)) {
  State& state = *state_;
  const bool narrow = processor.starts_with("gfx11");
  state.wave.vector = reinterpret_cast<std::uint32_t(*)[lanes]>(state.registers.get());
  state.wave.size = narrow ? 32 : 64;
  state.wave.mode = 0x3f0;
  state.wave.scratch = state.scratch.get();
  state.wave.scratch_bytes = scratch_lane_bytes;
  state.wave.group = &state.group;
  state.wave.execution = &state.execution;
  state.group.waves = &state.wave;
  state.group.wave_count = 1;
  state.group.lds = state.lds.get();
  state.group.lds_bytes = static_cast<std::uint32_t>(lds_bytes);
  state.execution.shared_base = std::uint64_t{1} << 48;
  state.execution.private_base = std::uint64_t{2} << 48;
  state.execution.profiled = true;
  set_exec(narrow ? 0xffffffff : ~std::uint64_t{0});
}
SmallWave::~SmallWave() = default;

std::uint32_t& SmallWave::v(int index, int lane) { return state_->wave.vector[index][lane]; }
std::uint32_t& SmallWave::a(int index, int lane) { return state_->wave.vector[256 + index][lane]; }
std::uint32_t& SmallWave::s(int index) { return state_->wave.scalar[index]; }
void SmallWave::set_v64(int index, int lane, std::uint64_t value) {
  v(index, lane) = static_cast<std::uint32_t>(value);
  v(index + 1, lane) = static_cast<std::uint32_t>(value >> 32);
}
std::uint64_t SmallWave::v64(int index, int lane) {
  return v(index, lane) | static_cast<std::uint64_t>(v(index + 1, lane)) << 32;
}
float SmallWave::vf(int index, int lane) {
  float value;
  std::memcpy(&value, &v(index, lane), sizeof value);
  return value;
}
void SmallWave::set_vf(int index, int lane, float value) { std::memcpy(&v(index, lane), &value, sizeof value); }
void SmallWave::set_s64(int index, std::uint64_t value) { state_->wave.set_scalar64(index, value); }
std::uint64_t SmallWave::s64(int index) { return state_->wave.scalar64(index); }
void SmallWave::set_exec(std::uint64_t mask) { set_s64(code::exec, mask); }

Wave& SmallWave::wave() { return state_->wave; }
std::uint8_t* SmallWave::lds() { return state_->lds.get(); }
std::uint8_t* SmallWave::memory() { return state_->memory.get(); }
InstructionCounts& SmallWave::counts() { return state_->execution.counts; }

WaveStatus SmallWave::run(const std::string& assembly) {
  State& state = *state_;
  const auto fail = [&](const std::string& what) {
    ADD_FAILURE() << what << "\n" << assembly;
    return WaveStatus::faulted;
  };
  auto family = family_of(state.processor);
  auto bytes = assemble(assembly + "\ns_endpgm\n", state.processor);
  if (!family || !bytes) return fail(to_text(!family ? family.error() : bytes.error()));
  state.bytes = std::move(*bytes);
  auto code = decode(state.bytes, reinterpret_cast<std::uint64_t>(state.bytes.data()), state.processor);
  if (!code) return fail(to_text(code.error()));
  if (core() == nullptr) return fail("no execution core");
  state.code = std::move(*code);
  // What the core does not cover stops the wave when it is executed, with a fault that says so.
  for (auto& instruction : state.code.instructions) core()->bind(instruction, *family);
  Execution& execution = state.execution;
  execution.family = *family;
  execution.code = state.code.instructions.data();
  execution.instructions = static_cast<std::uint32_t>(state.code.instructions.size());
  execution.code_begin = state.code.begin;
  execution.code_bytes = state.bytes.size();
  execution.index_of = state.code.index_of.data();
  state.map_memory(state.bytes);
  state.clear_counts(state.code.instructions.size());
  state.wave.status = WaveStatus::running;
  state.wave.fault = {};
  state.wave.next = 0;
  core()->run(state.wave, instructions_max);
  return state.wave.status;
}

}  // namespace kiln::emulator_test
