#include "engine/emulator/machine/launch.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <mutex>
#include <numeric>
#include <string_view>

#include "engine/emulator/machine/cache_model.hpp"
#include "engine/emulator/machine/initial_state.hpp"
#include "engine/emulator/machine/pages.hpp"
#include "engine/emulator/machine/work_group.hpp"

namespace kiln::emulator {
namespace {

constexpr std::uint64_t quantum = 1 << 18;       // instructions between looks at the budget
// Instructions until a work group lets another one run: it may be waiting for that one. Once one has run out of
// patience the others are believed sooner, down to the least: groups that wait for each other take turns, as on a card.
constexpr std::uint64_t patience_at_first = 16 << 20, patience_least = 1 << 11;
constexpr std::uint32_t resident_max = 1024;     // work groups under way at once
constexpr std::uint32_t yield_rounds = 64;       // looks at waiting work groups until other host threads get a turn
constexpr std::uint64_t scratch_bytes_max = std::uint64_t(4) << 30;
constexpr std::uint32_t private_bytes_max = 1 << 20;

// Idle groups keep their registers' memory between launches, which is the larger part of a small launch's cost.
class GroupPool {
 public:
  std::unique_ptr<RunningGroup> take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::make_unique<RunningGroup>();
    auto group = std::move(idle_.back());
    idle_.pop_back();
    return group;
  }
  void give(std::unique_ptr<RunningGroup> group) {
    const std::lock_guard lock(mutex_);
    if (idle_.size() < 64) idle_.push_back(std::move(group));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<RunningGroup>> idle_;
};
GroupPool& group_pool() {
  static GroupPool* const pool = new GroupPool;  // launches may run while the process ends
  return *pool;
}

// The counts of one host thread.
struct ThreadCounts {
  explicit ThreadCounts(std::uint32_t instructions, bool profiled) : values(instructions * (profiled ? 5u : 1u)) {
    counts.executed = values.data();
    if (!profiled) return;
    counts.lds_cycles = values.data() + instructions;
    counts.lds_conflicts = values.data() + instructions * 2u;
    counts.bytes = values.data() + instructions * 3u;
    counts.segments = values.data() + instructions * 4u;
  }
  std::vector<std::uint64_t> values;
  InstructionCounts counts;
};

class Launch {
 public:
  explicit Launch(const LaunchOrder& order) : order_(order) {}
  Result<LaunchResult> run();

 private:
  using Resident = std::deque<std::unique_ptr<RunningGroup>>;
  Status prepare();
  Status start_services();
  void build_map();
  Status watch_memory();
  std::vector<NamedRange> names() const;
  void work(int thread);
  bool start_group(int thread, Resident& resident, Execution& execution);
  bool stopped() const {
    return stop_.load(std::memory_order_relaxed) || (races_ && !races_->failure().empty()) ||
           (order_.cancelled != nullptr && order_.cancelled->load(std::memory_order_relaxed));
  }
  void failed(RunningGroup& group);
  std::shared_ptr<const Profile> profile(std::uint64_t waves, double duration_ms) const;
  void add_cache(Profile& profile) const;

  const LaunchOrder& order_;
  std::unique_ptr<LaunchMemory> memory_;
  InitialState state_;
  GroupPlan plan_;
  Execution execution_;
  std::vector<Allocation> allocations_;
  std::vector<MemoryRange> ranges_;
  std::uint64_t groups_ = 0, step_ = 1, start_ = 0;
  int threads_ = 1;
  std::uint32_t resident_per_thread_ = 1;
  Pages scratch_;
  std::uint64_t group_scratch_ = 0;
  std::unique_ptr<CacheModel> cache_;      // of profiled launches
  std::unique_ptr<HostServices> services_;
  std::unique_ptr<GlobalRaces> races_;     // one thread's: work groups are run one after the other then

  std::atomic<std::uint64_t> next_{0}, started_{0}, executed_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;                       // guards what follows
  std::vector<std::unique_ptr<ThreadCounts>> counts_;
  std::optional<FaultReport> fault_;
  std::uint64_t fault_group_ = ~std::uint64_t(0);
};

Status Launch::prepare() {
  const auto& geometry = order_.geometry;
  const auto& kernel = *order_.kernel;
  const auto& code = *order_.code;
  groups_ = std::uint64_t(geometry.blocks[0]) * geometry.blocks[1] * geometry.blocks[2];
  const Options& options = order_.options;
  const bool serial = options.order == Options::Order::serial || options.check_global_races ||
                      (options.order == Options::Order::automatic && options.seed == 0 &&
                       (code.order_matters || HostServices::prints_to_buffer(kernel)));
  threads_ = static_cast<int>(std::min<std::uint64_t>(serial ? 1 : order_.workers->threads(), groups_));
  resident_per_thread_ = std::max(1u, resident_max / static_cast<std::uint32_t>(threads_));
  KILN_CHECK(start_services());
  KILN_TRY(memory_, LaunchMemory::make(kernel, geometry, order_.arguments, services_->addresses()));
  // Registers first without scratch: how many lanes a wave has decides how much there must be.
  KILN_TRY(state_, initial_state(kernel, order_.card->family, *memory_, 0, 0));
  const std::uint32_t threads = geometry.threads[0] * geometry.threads[1] * geometry.threads[2];
  plan_.waves = (threads + state_.wave - 1) / state_.wave;
  plan_.wave_scratch_bytes = std::uint64_t((private_bytes_of(kernel) + 3) / 4 * 4) * state_.wave;
  group_scratch_ = plan_.wave_scratch_bytes * plan_.waves;
  if (group_scratch_ > 0) {
    const std::uint64_t fit = scratch_bytes_max / group_scratch_ / static_cast<std::uint64_t>(threads_);
    if (fit == 0) return Error(ErrorCode::out_of_memory, "too little memory for the threads' private memory");
    resident_per_thread_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(resident_per_thread_, fit));
    const std::uint64_t slots = std::uint64_t(threads_) * resident_per_thread_;
    // One thread may have them all under way, and its slots are `threads_` apart.
    const std::uint64_t bytes = group_scratch_ * std::min(slots, groups_ * static_cast<unsigned>(threads_));
    if (!scratch_.reserve(bytes)) return Error(ErrorCode::out_of_memory, "no memory for the threads' private memory");
    KILN_TRY(state_, initial_state(kernel, order_.card->family, *memory_,
                                   reinterpret_cast<std::uint64_t>(scratch_.data()), bytes));
  }
  const std::uint64_t offset = state_.entry - code.begin;
  if (state_.entry % 4 != 0 || offset >= code.bytes || code.index_of[offset / 4] >= code.instructions)
    return Error(ErrorCode::corrupt, "kernel " + kernel.name + " does not begin at an instruction");
  plan_.core = order_.core;
  plan_.state = &state_;
  plan_.options = &order_.options;
  plan_.cancelled = order_.cancelled;
  plan_.geometry = geometry;
  plan_.lds_bytes = kernel.lds_bytes + geometry.dynamic_lds;
  plan_.first = code.index_of[offset / 4];
  if (options.seed != 0 && groups_ > 1) {
    start_ = mixed(options.seed) % groups_;
    step_ = 1 + mixed(options.seed + 1) % (groups_ - 1);
    while (std::gcd(step_, groups_) != 1) step_ = step_ % groups_ + 1;
  }
  build_map();
  KILN_CHECK(watch_memory());
  execution_.code = code.code;
  execution_.instructions = code.instructions;
  execution_.code_begin = code.begin;
  execution_.index_of = code.index_of;
  execution_.code_bytes = code.bytes;
  execution_.memory = {ranges_.data(), ranges_.size()};
  execution_.family = order_.card->family;
  execution_.shared_base = shared_aperture;
  execution_.private_base = private_aperture;
  execution_.profiled = options.profile;
  if (options.profile) {
    const auto begin = reinterpret_cast<std::uint64_t>(scratch_.data());
    cache_ = std::make_unique<CacheModel>(CacheShape::of(static_cast<std::uint64_t>(order_.card->l2_bytes),
                                                         order_.card->xccs),
                                          ranges_, MemoryRange{begin, begin + scratch_.bytes(), true});
  }
  return ok();
}

Status Launch::start_services() {
  const auto& geometry = order_.geometry;
  const Options& options = order_.options;
  const std::uint64_t threads = std::uint64_t(geometry.threads[0]) * geometry.threads[1] * geometry.threads[2];
  const std::uint64_t groups = std::min(groups_, std::uint64_t(resident_per_thread_) * static_cast<unsigned>(threads_));
  PrintSink sink = order_.print;
  if (!sink && HostServices::prints(*order_.kernel)) {
    KILN_TRY(sink, standard_sink(options.print_file));
  }
  KILN_TRY(services_, HostServices::make(*order_.kernel, geometry, groups * ((threads + 31) / 32),
                                         {std::move(sink), options.print_bytes, order_.code->print_formats,
                                          order_.cancelled}));
  plan_.services = services_.get();
  return ok();
}

// What a kernel may touch, by address. Names are made for a report only: there may be thousands of allocations.
void Launch::build_map() {
  allocations_ = order_.memory->allocations();
  for (const auto& one : allocations_) ranges_.push_back({one.begin, one.end(), one.writable});
  for (const auto& one : order_.code->ranges) ranges_.push_back({one.begin, one.end, false});
  for (const auto& one : order_.code->writable_ranges) ranges_.push_back({one.begin, one.end, true});
  ranges_.push_back({memory_->begin(), memory_->begin() + memory_->bytes(), false});
  for (const auto& one : services_->shared()) ranges_.push_back(one.range);
  if (group_scratch_ > 0) {
    const auto begin = reinterpret_cast<std::uint64_t>(scratch_.data());
    ranges_.push_back({begin, begin + scratch_.bytes(), true});
  }
  std::sort(ranges_.begin(), ranges_.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
}

Status Launch::watch_memory() {
  if (!order_.options.check_global_races) return ok();
  if (!GlobalRaces::fits(order_.geometry, plan_.waves))
    return Error(ErrorCode::unsupported, "races on global memory are not checked in launches of 2^32 waves and more");
  std::vector<MemoryRange> watched;
  for (const auto& one : allocations_) watched.push_back({one.begin, one.end(), one.writable});
  for (const auto& one : order_.code->writable_ranges) watched.push_back({one.begin, one.end, true});
  watched.push_back(services_->grid_barrier());
  std::erase_if(watched, [](const auto& range) { return !range.writable || range.begin >= range.end; });
  std::sort(watched.begin(), watched.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  races_ = std::make_unique<GlobalRaces>(std::move(watched), order_.geometry, plan_.waves, order_.card->family,
                                         order_.cancelled);
  plan_.races = races_.get();
  return ok();
}

std::vector<NamedRange> Launch::names() const {
  std::vector<NamedRange> all;
  for (const auto& one : allocations_) {
    const char* kind = one.kind == MemoryKind::device     ? "-byte allocation"
                       : one.kind == MemoryKind::imported ? "-byte allocation of another process"
                                                          : "-byte range of host memory";
    all.push_back({one.begin, one.end(), "a " + std::to_string(one.bytes) + kind});
  }
  all.insert(all.end(), order_.code->ranges.begin(), order_.code->ranges.end());
  all.insert(all.end(), order_.code->writable_ranges.begin(), order_.code->writable_ranges.end());
  all.push_back({memory_->begin(), memory_->begin() + memory_->bytes(), "the launch's arguments"});
  for (const auto& one : services_->shared()) all.push_back({one.range.begin, one.range.end, one.name});
  if (group_scratch_ > 0) {
    const auto begin = reinterpret_cast<std::uint64_t>(scratch_.data());
    all.push_back({begin, begin + scratch_.bytes(), "the threads' private memory"});
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  return all;
}

bool Launch::start_group(int thread, Resident& resident, Execution& execution) {
  const std::uint64_t turn = next_.fetch_add(1, std::memory_order_relaxed);
  if (turn >= groups_) return false;
  const std::uint64_t linear = step_ == 1 ? (start_ + turn) % groups_
                                          : static_cast<std::uint64_t>(
                                                (start_ + static_cast<unsigned __int128>(turn) * step_) % groups_);
  const auto& blocks = order_.geometry.blocks;
  const std::uint32_t id[3] = {static_cast<std::uint32_t>(linear % blocks[0]),
                               static_cast<std::uint32_t>(linear / blocks[0] % blocks[1]),
                               static_cast<std::uint32_t>(linear / blocks[0] / blocks[1])};
  auto group = group_pool().take();
  if (!group->prepare(plan_)) return false;
  // Slots of one thread: 0, 1, … as they are free.
  std::uint32_t slot = 0;
  while (std::any_of(resident.begin(), resident.end(), [&](const auto& other) { return other->slot == slot; })) ++slot;
  group->slot = slot;
  const std::uint64_t place = std::uint64_t(slot) * static_cast<unsigned>(threads_) + static_cast<unsigned>(thread);
  group->begin(plan_, execution, id, linear, reinterpret_cast<std::uint64_t>(scratch_.data()), place * group_scratch_);
  group->turn = turn;
  if (cache_) group->record(cache_->begin(turn));
  started_.fetch_add(1, std::memory_order_relaxed);
  resident.push_front(std::move(group));
  return true;
}

void Launch::work(int thread) {
  auto counts = std::make_unique<ThreadCounts>(order_.code->instructions, order_.options.profile);
  Execution execution = execution_;
  execution.counts = counts->counts;
  Resident resident;
  bool more = true, next_one = true;       // whether there are groups to begin; whether to begin one now
  std::uint32_t waiting = 0;               // groups in a row that waited
  std::uint64_t patience = patience_at_first;
  while (!stopped()) {
    if (more && next_one && resident.size() < resident_per_thread_) more = start_group(thread, resident, execution);
    next_one = false;
    if (resident.empty()) break;
    RunningGroup& group = *resident.front();
    std::uint64_t executed = 0;
    const std::uint64_t budget = order_.options.budget, before = executed_.load(std::memory_order_relaxed);
    const std::uint64_t left = budget > before ? budget - before : 1;
    const Progress progress = group.advance(plan_, std::min({quantum, patience, left}), executed);
    const std::uint64_t total = executed_.fetch_add(executed, std::memory_order_relaxed) + executed;
    if (progress == Progress::faulted) {
      failed(group);
      break;
    }
    if (progress == Progress::finished) {
      if (cache_) cache_->finish(group.turn);
      group_pool().give(std::move(resident.front()));
      resident.pop_front();
      next_one = resident.empty();
      waiting = 0;
      continue;
    }
    if (total >= budget) {
      Fault fault;
      fault.kind = FaultKind::budget;
      fault.instruction = group.current().next;
      group.current().stop(fault);
      failed(group);
      break;
    }
    group.spent += executed;
    if (progress == Progress::quantum) {
      if (group.spent < patience) continue;
      patience = std::max(patience_least, patience / 4);
    }
    group.spent = 0;
    // It may wait for a group that has not begun, or for one of another thread.
    waiting = progress == Progress::waiting ? waiting + 1 : 0;
    next_one = more;
    if (resident.size() > 1 || !more) {
      std::rotate(resident.begin(), resident.begin() + 1, resident.end());
      // Not every time: on a busy machine each may cost a time slice, and a loop that waits in vain should use its
      // budget up before long.
      if (waiting > resident.size() && waiting % yield_rounds == 0) sched_yield();
    }
  }
  for (auto& group : resident) group_pool().give(std::move(group));
  const std::lock_guard lock(mutex_);
  counts_.push_back(std::move(counts));
}

void Launch::failed(RunningGroup& group) {
  stop_.store(true, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  if (fault_ && fault_group_ <= group.linear()) return;
  const auto ranges = names();
  FaultPlace place;
  place.kernel = order_.kernel;
  place.geometry = &order_.geometry;
  place.assembly = order_.code->assembly;
  place.code = order_.code->code;
  place.instructions = order_.code->instructions;
  place.ranges = &ranges;
  place.functions = order_.code->functions;
  place.printed = services_->error_text(group.linear(), group.current().index);
  fault_ = report_fault(place, group.current());
  fault_group_ = group.linear();
}

std::shared_ptr<const Profile> Launch::profile(std::uint64_t waves, double duration_ms) const {
  const auto& code = *order_.code;
  ThreadCounts sum(code.instructions, true);
  for (const auto& one : counts_)
    for (std::size_t i = 0; i < one->values.size(); ++i) sum.values[i] += one->values[i];
  auto profile = std::make_shared<Profile>();
  profile->kernel = order_.kernel->name;
  profile->target = order_.card->target.full;
  std::copy(std::begin(order_.geometry.blocks), std::end(order_.geometry.blocks), profile->blocks);
  std::copy(std::begin(order_.geometry.threads), std::end(order_.geometry.threads), profile->threads);
  profile->lds_bytes = plan_.lds_bytes;
  profile->waves = waves;
  profile->instructions = executed_.load();
  profile->duration_ms = duration_ms;
  profile->traffic = true;
  profile->counters = count(code.code, code.instructions, sum.counts, waves, order_.card->family, true);
  add_cache(*profile);
  for (std::uint32_t i = 0; i < code.instructions; ++i) {
    if (sum.counts.executed[i] == 0) continue;
    profile->rows.push_back({code.code[i].address - order_.kernel->entry,
                             i < code.assembly->size() ? (*code.assembly)[i] : code.code[i].name,
                             sum.counts.executed[i],
                             sum.counts.lds_cycles[i], sum.counts.lds_conflicts[i], sum.counts.bytes[i],
                             sum.counts.segments[i]});
  }
  return profile;
}

void Launch::add_cache(Profile& profile) const {
  const auto counts = cache_->counts();
  CacheShape shape = CacheShape::of(static_cast<std::uint64_t>(order_.card->l2_bytes), order_.card->xccs);
  ModelledCache cache;
  cache.text = describe(shape);
  cache.bytes = std::uint64_t(shape.sets) * shape.ways * line_bytes;
  cache.ways = shape.ways;
  cache.caches = shape.caches;
  cache.complete = !cache_->gave_up();
  cache.hits = counts.hits;
  cache.misses = counts.misses;
  add_modelled(profile, cache, order_.card->family);
}

Result<LaunchResult> Launch::run() {
  KILN_CHECK(check_launch(*order_.kernel, order_.geometry, *order_.card));
  KILN_CHECK(prepare());
  const auto begin = std::chrono::steady_clock::now();
  order_.workers->run(threads_, [this](int thread) { work(thread); });
  LaunchResult result;
  result.duration_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  result.waves = started_.load() * plan_.waves;
  result.instructions = executed_.load();
  if (races_) result.order_steps = races_->steps();
  if (order_.options.profile) result.profile = profile(result.waves, result.duration_ms);
  const auto printed = services_->finish(fault_.has_value());
  result.fault = std::move(fault_);
  result.cancelled = !result.fault && order_.cancelled != nullptr && order_.cancelled->load();
  if (races_ && !races_->failure().empty() && !result.fault)
    return Error(ErrorCode::out_of_memory, races_->failure());
  if (!result.fault && !result.cancelled) KILN_CHECK(printed);
  if (!result.fault && !result.cancelled && started_.load() < groups_)
    return Error(ErrorCode::out_of_memory, "no memory for a work group's registers");
  return result;
}

}  // namespace

bool order_may_matter(const Instruction* code, std::uint32_t instructions) {
  for (std::uint32_t i = 0; i < instructions; ++i) {
    if (code[i].format != Format::flat && code[i].format != Format::global && code[i].format != Format::mubuf) continue;
    const std::string_view name = code[i].name;
    const bool adds = name.find("_atomic_add_f") != std::string_view::npos ||
                      name.find("_atomic_pk_add") != std::string_view::npos ||
                      name.find("_atomic_fadd") != std::string_view::npos ||
                      name.find("_atomic_cmpswap") != std::string_view::npos;
    if (adds) return true;
  }
  return false;
}

Status check_launch(const Kernel& kernel, const Geometry& geometry, const Card& card) {
  const auto& [blocks, threads, dynamic_lds] = geometry;
  std::uint64_t total = 1;
  for (int i = 0; i < 3; ++i) {
    if (blocks[i] == 0 || threads[i] == 0)
      return Error(ErrorCode::invalid_argument, "a launch of nothing: an extent is 0");
    if (threads[i] > 1024 || std::uint64_t(blocks[i]) * threads[i] > 0xffffffffu)
      return Error(ErrorCode::invalid_argument, "a launch wider than 2^32 threads, or of more than 1024 in one block");
    total *= threads[i];
  }
  if (total > 1024 || total > kernel.threads_max) {
    return Error(ErrorCode::resource_limit, kernel.name + " was compiled for at most " +
                                                std::to_string(std::min<std::uint32_t>(1024, kernel.threads_max)) +
                                                " threads a block, " + std::to_string(total) + " asked");
  }
  const std::uint64_t lds = std::uint64_t(kernel.lds_bytes) + dynamic_lds;
  if (lds > static_cast<std::uint64_t>(card.target.lds_bytes)) {
    return Error(ErrorCode::resource_limit, kernel.name + " needs " + std::to_string(lds) +
                 " bytes of LDS a block, the card has " +
                                                std::to_string(card.target.lds_bytes));
  }
  if (private_bytes_of(kernel) > private_bytes_max)
    return Error(ErrorCode::resource_limit, kernel.name + " needs more than 1 MiB of private memory a thread");
  return ok();
}

Result<LaunchResult> run_launch(const LaunchOrder& order) { return Launch(order).run(); }

}  // namespace kiln::emulator
