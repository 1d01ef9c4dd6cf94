// Choices that are the same on every machine for the same seed.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>

namespace kiln::test {

class Choice {
 public:
  explicit Choice(std::uint64_t seed) : random_(seed) {}
  std::uint64_t bits() { return random_(); }
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
  bool one_in(std::uint32_t n) { return below(n) == 0; }
  template <class T> const T& of(std::initializer_list<T> list) { return list.begin()[below(list.size())]; }
  template <class List> const auto& in(const List& list) {
    return list[below(static_cast<std::uint32_t>(std::size(list)))];
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace kiln::test
