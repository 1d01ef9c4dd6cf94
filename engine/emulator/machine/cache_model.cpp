#include "engine/emulator/machine/cache_model.hpp"

#include <algorithm>
#include <utility>

namespace kiln::emulator {
namespace {

constexpr std::uint64_t first_room = 512;                      // lines of a log that begins
constexpr std::uint64_t held_max = std::uint64_t(1) << 27;     // 1 GiB
constexpr std::uint64_t page = 4096;

}  // namespace

CacheShape CacheShape::of(std::uint64_t l2_bytes, int xccs) {
  CacheShape shape;
  shape.sets = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, l2_bytes / line_bytes / shape.ways));
  shape.caches = static_cast<std::uint32_t>(std::max(1, xccs));
  return shape;
}

bool Cache::touch(std::uint64_t line) {
  std::uint64_t* const tags = tags_.data() + line % sets_ * ways_;
  std::uint64_t* const found = std::find(tags, tags + ways_, line);
  const bool hit = found != tags + ways_;
  std::move_backward(tags, hit ? found : tags + ways_ - 1, hit ? found + 1 : tags + ways_);
  tags[0] = line;
  return hit;
}

struct CacheModel::GroupLines : LineLog {
  CacheModel* model = nullptr;
  std::uint64_t turn = 0;
  std::vector<std::uint64_t> lines;
  bool finished = false;
};

CacheModel::CacheModel(const CacheShape& shape, std::vector<MemoryRange> memory, MemoryRange left_out)
    : left_out_(left_out), caches_(shape.caches, Cache(shape.sets, shape.ways)) {
  memory_.reserve(memory.size());
  for (const auto& range : memory) memory_.push_back({range, 0, false});
}
CacheModel::~CacheModel() = default;

LineLog* CacheModel::begin(std::uint64_t turn) {
  auto group = std::make_unique<GroupLines>();
  group->model = this;
  group->turn = turn;
  group->make_room = &CacheModel::make_room;
  LineLog* const log = group.get();
  const std::lock_guard lock(mutex_);
  groups_.emplace(turn, std::move(group));
  return log;
}

bool CacheModel::make_room(LineLog& log) {
  GroupLines& group = static_cast<GroupLines&>(log);
  CacheModel& model = *group.model;
  if (model.gave_up()) {
    log.count = 0;
    return false;
  }
  // The first of the groups under way needs to keep nothing, however long it runs.
  if (log.capacity != 0 && model.front_.load(std::memory_order_acquire) == group.turn) {
    const std::lock_guard lock(model.mutex_);
    model.consume(group);
    return true;
  }
  const std::uint64_t more = log.capacity == 0 ? first_room : log.capacity;
  if (model.held_.fetch_add(more, std::memory_order_relaxed) + more > held_max) {
    model.gave_up_.store(true, std::memory_order_relaxed);
    log.count = 0;
    return false;
  }
  group.lines.resize(log.capacity + more);
  log.lines = group.lines.data();
  log.capacity += more;
  return true;
}

// False: private memory, or none of the launch's.
bool CacheModel::card_line(std::uint64_t line, std::uint64_t& found) {
  const std::uint64_t first = line * line_bytes, last = first + line_bytes - 1;
  const auto holds = [&](const Place& place) { return place.range.begin <= last && place.range.end > first; };
  if (last_place_ >= memory_.size() || !holds(memory_[last_place_])) {
    const auto after = std::upper_bound(memory_.begin(), memory_.end(), last,
                                        [](std::uint64_t at, const Place& place) { return at < place.range.begin; });
    if (after == memory_.begin() || !holds(*(after - 1))) return false;
    last_place_ = static_cast<std::size_t>(after - memory_.begin()) - 1;
  }
  Place& place = memory_[last_place_];
  if (place.range.begin < left_out_.end && place.range.end > left_out_.begin) return false;
  const std::uint64_t begin = place.range.begin / page * page, end = (place.range.end + page - 1) / page * page;
  if (!place.known) {
    place.known = true;
    place.first_line = next_line_;
    next_line_ += (end - begin) / line_bytes;
  }
  found = place.first_line + line - begin / line_bytes;
  return true;
}

void CacheModel::consume(GroupLines& group) {
  Cache& cache = caches_[group.turn % caches_.size()];
  for (std::uint64_t i = 0; i < group.count; ++i) {
    std::uint64_t line;
    if (card_line(group.lines[i], line)) ++(cache.touch(line) ? counts_.hits : counts_.misses);
  }
  group.count = 0;
}

void CacheModel::consume_finished() {
  for (auto first = groups_.begin(); first != groups_.end(); first = groups_.begin()) {
    GroupLines& group = *first->second;
    if (group.turn != front_.load(std::memory_order_relaxed) || !group.finished) return;
    consume(group);
    held_.fetch_sub(group.capacity, std::memory_order_relaxed);
    groups_.erase(first);
    front_.fetch_add(1, std::memory_order_release);
  }
}

void CacheModel::finish(std::uint64_t turn) {
  const std::lock_guard lock(mutex_);
  if (const auto found = groups_.find(turn); found != groups_.end()) found->second->finished = true;
  consume_finished();
}

CacheModel::Counts CacheModel::counts() {
  const std::lock_guard lock(mutex_);
  for (auto& [turn, group] : groups_) consume(*group);
  groups_.clear();
  return counts_;
}

std::string describe(const CacheShape& shape) {
  const std::uint64_t bytes = std::uint64_t(shape.sets) * shape.ways * line_bytes;
  const auto size = bytes >= 1 << 20 && bytes % (1 << 20) == 0 ? std::to_string(bytes >> 20) + " MiB"
                                                               : std::to_string(bytes) + " bytes";
  const std::string ways = std::to_string(shape.ways);
  const std::string one = size + " of 128-byte lines, " + ways + " ways, least recently used goes";
  const std::string rest = "no cache in front of it, every wave instruction asks once for each line";
  if (shape.caches == 1) return "a model, not a count: " + one + "; work groups one after the other; " + rest;
  return "a model, not a count: " + std::to_string(shape.caches) + " XCDs with " + one +
         "; work groups are dealt to them in turn, those of one XCD run one after the other; " + rest;
}

}  // namespace kiln::emulator
