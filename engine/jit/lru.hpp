// A map that keeps the `capacity` entries used last. Not thread-safe.
#pragma once

#include <cstddef>
#include <list>
#include <unordered_map>
#include <utility>
#include <vector>

namespace kiln::jit {

template <class K, class V, class Hash>
class Lru {
 public:
  explicit Lru(std::size_t capacity) : capacity_(capacity > 0 ? capacity : 1) {}
  // The value, marked as used; null when it is not there. Valid until the next change.
  V* find(const K& key) {
    const auto it = index_.find(key);
    if (it == index_.end()) return nullptr;
    items_.splice(items_.begin(), items_, it->second);
    return &it->second->second;
  }
  void put(const K& key, V value) {
    if (V* there = find(key)) {
      *there = std::move(value);
      return;
    }
    items_.emplace_front(key, std::move(value));
    index_[key] = items_.begin();
    if (items_.size() <= capacity_) return;
    index_.erase(items_.back().first);
    items_.pop_back();
  }
  bool erase(const K& key) {
    const auto it = index_.find(key);
    if (it == index_.end()) return false;
    items_.erase(it->second);
    index_.erase(it);
    return true;
  }
  [[nodiscard]] std::size_t size() const { return items_.size(); }
  // Most recently used first.
  [[nodiscard]] std::vector<V> values() const {
    std::vector<V> list;
    for (const auto& item : items_) list.push_back(item.second);
    return list;
  }

 private:
  std::size_t capacity_;
  std::list<std::pair<K, V>> items_;
  std::unordered_map<K, typename std::list<std::pair<K, V>>::iterator, Hash> index_;
};

}  // namespace kiln::jit
