// Fibers: stacks that one thread switches between. x86-64 System V.
#pragma once

#include <cstddef>
#include <functional>

namespace kiln::test {

class Fiber {
 public:
  static constexpr std::size_t stack_bytes = 256 << 10;
  Fiber();
  Fiber(const Fiber&) = delete;
  ~Fiber();
  // Prepares to run `entry` from its beginning.
  void reset(std::function<void()> entry);
  // From outside: runs it until it yields or ends.
  void resume();
  // From inside: back to whoever resumed.
  void yield();
  [[nodiscard]] bool done() const { return done_; }

 private:
  static void start(Fiber* fiber);
  void* stack_ = nullptr;
  void *own_ = nullptr, *outside_ = nullptr;  // stack pointers
  void *sanitizer_own_ = nullptr, *sanitizer_outside_ = nullptr;
  std::function<void()> entry_;
  bool done_ = true;
};

}  // namespace kiln::test
