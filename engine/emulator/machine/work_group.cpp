#include "engine/emulator/machine/work_group.hpp"

#include <emmintrin.h>

#include <algorithm>
#include <cstring>

namespace kiln::emulator {
namespace {

constexpr std::uint64_t slice = 1 << 16;       // instructions until a wave that neither waits nor ends gives way
// Instructions between looks at the cancellation. Some matrix instructions take microseconds, checked ones more.
constexpr std::uint64_t look = 4096, checked_look = 256;
constexpr std::size_t row_bytes = lanes * sizeof(std::uint32_t);
// Waves' files do not lie a power of two apart: their same registers would compete for the same cache sets.
constexpr std::size_t file_bytes = vector_registers * row_bytes + 5 * row_bytes;
constexpr int unset_byte = 0xff;               // NaN in every format, an address nowhere

// All bits set, in rows of 256 bytes. Registers are a few kilobytes, for which the C library's way of filling memory
// takes longer to start than all of this.
void unset_rows(std::uint8_t* first, std::uint32_t rows) {
  const __m128i ones = _mm_set1_epi8(static_cast<char>(unset_byte));
  for (std::uint32_t row = 0; row < rows; ++row) {
    auto* const to = reinterpret_cast<__m128i*>(first + row * row_bytes);
    for (std::size_t i = 0; i < row_bytes / sizeof *to; ++i) _mm_store_si128(to + i, ones);
    asm volatile("" ::: "memory");  // or the compiler finds out that it could call the C library
  }
}

}  // namespace

bool RunningGroup::prepare(const GroupPlan& plan) {
  if (waves_.size() < plan.waves) waves_ = std::vector<Wave>(plan.waves);
  order_.resize(plan.waves);
  const Options& options = *plan.options;
  const std::size_t lds = std::size_t(plan.lds_bytes) + 64;
  return registers_.reserve(plan.waves * file_bytes) && lds_.reserve(lds) &&
         (!options.check_races || race_shadow_.reserve(lds * sizeof(LdsAccess))) &&
         (!options.check_uninitialised_lds || written_shadow_.reserve(lds)) &&
         (!options.check_uninitialised_registers ||
          (vector_shadow_.reserve(plan.waves * vector_registers * sizeof(std::uint64_t)) &&
           scalar_shadow_.reserve(plan.waves * 128u)));
}

void RunningGroup::begin(const GroupPlan& plan, Execution& execution, const std::uint32_t id[3], std::uint64_t linear,
                         std::uint64_t scratch_address, std::uint64_t scratch_offset) {
  linear_ = linear;
  random_ = plan.options->seed == 0 ? 0 : mixed(plan.options->seed ^ mixed(linear));
  current_ = 0;
  spent = 0;
  group_ = {};
  group_.waves = waves_.data();
  group_.wave_count = plan.waves;
  group_.lds = lds_.data();
  group_.lds_bytes = plan.lds_bytes;
  std::copy(id, id + 3, group_.id);
  std::memset(lds_.data(), unset_byte, plan.lds_bytes);
  begin_checks(plan);
  for (std::uint32_t i = 0; i < plan.waves; ++i) {
    order_[i] = i;
    begin_wave(plan, execution, i, scratch_address, scratch_offset + i * plan.wave_scratch_bytes);
  }
}

void RunningGroup::begin_wave(const GroupPlan& plan, Execution& execution, std::uint32_t index,
                              std::uint64_t scratch_address, std::uint64_t scratch_offset) {
  Wave& wave = waves_[index];
  const InitialState& state = *plan.state;
  std::uint8_t* const file = registers_.data() + index * file_bytes;
  wave.vector = reinterpret_cast<std::uint32_t(*)[lanes]>(file);
  unset_rows(file, state.vector_rows);
  unset_rows(file + 256 * row_bytes, state.accumulation_rows);
  set_registers(wave, state, plan.geometry, group_.id, index, scratch_address, scratch_offset);
  wave.next = plan.first;
  wave.group = &group_;
  wave.execution = &execution;
  wave.scratch_bytes = state.private_bytes;
  wave.scratch = state.private_bytes == 0 ? nullptr : reinterpret_cast<std::uint8_t*>(scratch_address + scratch_offset);
  if (wave.scratch != nullptr) std::memset(wave.scratch, unset_byte, plan.wave_scratch_bytes);
  if (checks_.vector_written != nullptr) checks_.vector_written[index * vector_registers] = wave.exec();
  if (checks_.scalar_written != nullptr) {
    std::uint8_t* const written = checks_.scalar_written + index * 128;
    for (int i = 0; i < 128; ++i) written[i] = state.written[i];
    int next = state.system_first;
    for (const bool present : state.block_id) next += present;
    next += state.block_info;
    for (int i = state.system_first; i < next; ++i) written[i] = 1;
    if (state.wave_offset_at >= 0) written[state.wave_offset_at] = 1;
    if (state.scratch_registers) written[code::flat_scratch] = written[code::flat_scratch + 1] = 1;
    written[code::null] = written[code::exec] = written[code::exec + 1] = 1;
  }
}

void RunningGroup::begin_checks(const GroupPlan& plan) {
  checks_ = {};
  const Options& options = *plan.options;
  if (options.check_races) {
    checks_.lds = reinterpret_cast<LdsAccess*>(race_shadow_.data());
    std::fill(checks_.lds, checks_.lds + plan.lds_bytes, LdsAccess{});
  }
  if (options.check_uninitialised_lds) {
    checks_.lds_written = written_shadow_.data();
    std::memset(checks_.lds_written, 0, plan.lds_bytes);
  }
  if (options.check_uninitialised_registers) {
    checks_.vector_written = reinterpret_cast<std::uint64_t*>(vector_shadow_.data());
    std::memset(vector_shadow_.data(), 0, plan.waves * vector_registers * sizeof(std::uint64_t));
    checks_.scalar_written = scalar_shadow_.data();
    std::memset(checks_.scalar_written, 0, plan.waves * 128u);
  }
  if (plan.races != nullptr) {
    checks_.global = &GlobalRaces::check;
    checks_.global_state = plan.races;
  }
  const bool any = checks_.lds != nullptr || checks_.lds_written != nullptr || checks_.vector_written != nullptr ||
                   checks_.global != nullptr;
  if (any || options.check_barriers || options.check_bounds) group_.checks = &checks_;
}

void RunningGroup::order_waves(const GroupPlan& plan) {
  if (plan.options->seed == 0) return;
  for (std::size_t i = order_.size(); i > 1; --i) {
    random_ = mixed(random_);
    std::swap(order_[i - 1], order_[random_ % i]);
  }
}

// All waves have arrived or ended. False: the check for barriers that some have ended without has stopped the group.
bool RunningGroup::release_barrier(const GroupPlan& plan) {
  const auto waiting = [](const Wave& wave) { return wave.status == WaveStatus::barrier; };
  Wave* const begin = waves_.data();
  Wave* const end = begin + plan.waves;
  if (plan.options->check_barriers && !std::all_of(begin, end, waiting)) {
    Wave& wave = *std::find_if(begin, end, waiting);
    current_ = static_cast<std::uint32_t>(&wave - begin);
    Fault fault;
    fault.kind = FaultKind::divergent_barrier;
    fault.instruction = wave.next == 0 ? 0 : wave.next - 1;
    const Wave* const ended = std::find_if(begin, end, [&](const Wave& one) { return !waiting(one); });
    fault.other_wave = static_cast<std::int32_t>(ended - begin);
    fault.other_instruction = ended->next == 0 ? 0 : ended->next - 1;
    wave.stop(fault);
    return false;
  }
  ++checks_.epoch;
  if (plan.races != nullptr) plan.races->passed_barrier(linear_);
  for (Wave* wave = begin; wave != end; ++wave)
    if (waiting(*wave)) wave->status = WaveStatus::running;
  return true;
}

// One wave's turn. False: the launch was cancelled during it.
bool RunningGroup::run_turn(const GroupPlan& plan, Wave& wave, std::uint64_t instructions) {
  const std::uint64_t piece = plan.races != nullptr ? checked_look : look, end = wave.executed + instructions;
  while (wave.status == WaveStatus::running && wave.executed < end) {
    if (plan.cancelled != nullptr && plan.cancelled->load(std::memory_order_relaxed)) return false;
    plan.core->run(wave, std::min(piece, end - wave.executed));
  }
  return true;
}

Progress RunningGroup::advance(const GroupPlan& plan, std::uint64_t instructions, std::uint64_t& executed) {
  std::uint64_t left = instructions;
  for (;;) {
    bool ran = false, asleep = true, waits = false;
    order_waves(plan);
    for (std::size_t place = 0; place < order_.size(); ++place) {
      const std::uint32_t index = order_[place];
      Wave& wave = waves_[index];
      if (wave.status == WaveStatus::sleeping) wave.status = WaveStatus::running;
      waits = waits || wave.status == WaveStatus::barrier;
      if (wave.status != WaveStatus::running) continue;
      current_ = index;
      const std::uint64_t before = wave.executed;
      // A shuffled schedule changes waves often and anywhere.
      const bool goes_on = run_turn(plan, wave, std::min(random_ == 0 ? slice : 1 + (random_ >> index) % 97, left));
      const std::uint64_t done = wave.executed - before;
      executed += done;
      left -= std::min(left, done);
      if (!goes_on) return Progress::quantum;
      if (wave.status == WaveStatus::faulted) return Progress::faulted;
      const bool gives_way = wave.status == WaveStatus::sleeping && plan.services != nullptr;
      if (gives_way && !plan.services->serve(wave, linear_)) return Progress::faulted;
      if (left == 0) {   // the next one is first next time: one that waits in a loop must not starve the others
        std::rotate(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(place) + 1, order_.end());
        return Progress::quantum;
      }
      ran = true;
      asleep = asleep && wave.status == WaveStatus::sleeping;
      waits = waits || wave.status == WaveStatus::barrier;
    }
    if (!ran) {
      if (!waits) return Progress::finished;
      if (!release_barrier(plan)) return Progress::faulted;
      continue;
    }
    if (asleep) return Progress::waiting;
  }
}

}  // namespace kiln::emulator
