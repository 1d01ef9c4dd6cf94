// Step 7, first part: where LDS storages lie. Lifetimes are ranges of statement numbers; a storage that carries a value
// around a loop, or into or out of it, lives for the whole of the loop.
#include <algorithm>

#include "engine/lower/amd/finish.hpp"

namespace kiln::lower::amd {
namespace {

struct Loop { int begin = 0, end = 0; };
struct Use { int at = 0; bool whole_write = false; std::vector<int> loops; bool conditional = false; };
struct Life { int begin = 0, end = -1; };

class Lifetimes {
 public:
  explicit Lifetimes(const kernel::Launch& launch) : launch_(launch), uses_(launch.storages.size()) {
    for (const auto& role : launch.roles) walk(role.body);
  }

  Life of(int storage) const {
    const auto& uses = uses_[storage];
    if (uses.empty()) return {};
    Life life{uses.front().at, uses.back().at};
    for (bool changed = true; changed;) {
      changed = false;
      for (int loop = 0; loop < static_cast<int>(loops_.size()); ++loop) {
        if (!carried(uses, loop)) continue;
        const Loop& range = loops_[loop];
        if (life.begin <= range.begin && life.end >= range.end) continue;
        life = {std::min(life.begin, range.begin), std::max(life.end, range.end)};
        changed = true;
      }
    }
    return life;
  }

 private:
  // The value is alive across the loop's edge: used inside and outside, or first used inside other than by writing all
  // of it.
  static bool carried(const std::vector<Use>& uses, int loop) {
    bool inside = false, outside = false, first_is_write = true;
    for (const Use& use : uses) {
      const bool in = std::find(use.loops.begin(), use.loops.end(), loop) != use.loops.end();
      if (in && !inside) first_is_write = use.whole_write && !use.conditional && use.loops.back() == loop;
      inside = inside || in;
      outside = outside || !in;
    }
    return inside && (outside || !first_is_write);
  }

  void walk(const kernel::Body& body) {
    for (const auto& stmt : body) {
      const int at = next_++;
      const Touches touches = touches_of(launch_, stmt);
      for (const int id : touches.lds_written) uses_[id].push_back({at, !touches.partial_write, open_,
          conditions_ > 0});
      for (const int id : touches.lds_read) uses_[id].push_back({at, false, open_, conditions_ > 0});
      if (const auto* loop = std::get_if<kernel::For>(&stmt.node)) {
        const int number = static_cast<int>(loops_.size());
        loops_.push_back({at, at});
        open_.push_back(number);
        walk(loop->body);
        open_.pop_back();
        loops_[number].end = next_++;
      } else if (const auto* branch = std::get_if<kernel::If>(&stmt.node)) {
        ++conditions_;
        walk(branch->then);
        walk(branch->otherwise);
        --conditions_;
      }
    }
  }

  const kernel::Launch& launch_;
  std::vector<std::vector<Use>> uses_;
  std::vector<Loop> loops_;
  std::vector<int> open_;
  int next_ = 0, conditions_ = 0;
};

std::int64_t size_of(const kernel::Storage& storage) { return storage.stages * storage.stage_bytes(); }

}  // namespace

std::int64_t allocate_lds(kernel::Launch& launch, std::int64_t share_above) {
  std::vector<int> ids;
  std::int64_t apart = 0;
  for (int id = 0; id < static_cast<int>(launch.storages.size()); ++id) {
    auto& storage = launch.storages[id];
    if (storage.kind != kernel::Storage::Kind::lds) continue;
    storage.offset_bytes = apart;
    apart += size_of(storage);
    ids.push_back(id);
  }
  launch.lds_bytes = apart;
  if (apart <= share_above) return 0;
  const Lifetimes lifetimes(launch);
  std::stable_sort(ids.begin(), ids.end(), [&](int a, int b) {
      return size_of(launch.storages[a]) > size_of(launch.storages[b]); });
  std::vector<int> placed;
  std::int64_t total = 0;
  for (const int id : ids) {
    auto& storage = launch.storages[id];
    const Life life = lifetimes.of(id);
    std::vector<std::pair<std::int64_t, std::int64_t>> taken;
    for (const int other : placed) {
      const Life its = lifetimes.of(other);
      if (its.end < life.begin || life.end < its.begin) continue;
      const auto& at = launch.storages[other];
      taken.emplace_back(at.offset_bytes, at.offset_bytes + size_of(at));
    }
    std::sort(taken.begin(), taken.end());
    std::int64_t offset = 0;
    for (const auto& [begin, end] : taken) {
      if (begin - offset >= size_of(storage)) break;
      offset = std::max(offset, end);
    }
    storage.offset_bytes = offset;
    total = std::max(total, offset + size_of(storage));
    placed.push_back(id);
  }
  launch.lds_bytes = total;
  return apart - total;
}

}  // namespace kiln::lower::amd
