#include "tests/support/hip_fibers/fiber.hpp"

#include <sys/mman.h>

#include <cstdint>

#include "engine/base/result.hpp"

// Saves the callee-saved registers on the current stack, gives its pointer to *from, and goes on where `to` stopped.
extern "C" void kiln_switch_stacks(void** from, void* to);
asm(R"(
.text
.globl kiln_switch_stacks
.hidden kiln_switch_stacks
.type kiln_switch_stacks, @function
kiln_switch_stacks:
  push %rbp
  push %rbx
  push %r12
  push %r13
  push %r14
  push %r15
  mov %rsp, (%rdi)
  mov %rsi, %rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbx
  pop %rbp
  ret
.size kiln_switch_stacks, .-kiln_switch_stacks

.globl kiln_enter_fiber
.hidden kiln_enter_fiber
.type kiln_enter_fiber, @function
kiln_enter_fiber:
  mov %r12, %rdi
  call *%r13
  ud2
.size kiln_enter_fiber, .-kiln_enter_fiber
)");
extern "C" void kiln_enter_fiber();

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace kiln::test {
namespace {

// ThreadSanitizer keeps a state for each stack and wants to be told of switches.
void* sanitizer_current() {
#if defined(__SANITIZE_THREAD__)
  return __tsan_get_current_fiber();
#else
  return nullptr;
#endif
}
void sanitizer_switch([[maybe_unused]] void* to) {
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(to, 0);
#endif
}
void* sanitizer_create() {
#if defined(__SANITIZE_THREAD__)
  return __tsan_create_fiber(0);
#else
  return nullptr;
#endif
}
void sanitizer_destroy([[maybe_unused]] void* state) {
#if defined(__SANITIZE_THREAD__)
  __tsan_destroy_fiber(state);
#endif
}

}  // namespace

Fiber::Fiber() {
  stack_ = mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  KILN_ASSERT(stack_ != MAP_FAILED);
  sanitizer_own_ = sanitizer_create();
}
Fiber::~Fiber() {
  sanitizer_destroy(sanitizer_own_);
  munmap(stack_, stack_bytes);
}

void Fiber::reset(std::function<void()> entry) {
  entry_ = std::move(entry);
  done_ = false;
  auto* top = reinterpret_cast<std::uintptr_t*>(static_cast<char*>(stack_) + stack_bytes);
  *--top = 0;                                                  // keep the stack aligned at the call
  *--top = 0;
  *--top = reinterpret_cast<std::uintptr_t>(&kiln_enter_fiber);  // where the first switch returns to
  *--top = 0;                                                  // rbp
  *--top = 0;                                                  // rbx
  *--top = reinterpret_cast<std::uintptr_t>(this);             // r12
  *--top = reinterpret_cast<std::uintptr_t>(&Fiber::start);    // r13
  *--top = 0;                                                  // r14
  *--top = 0;                                                  // r15
  own_ = top;
}

void Fiber::resume() {
  sanitizer_outside_ = sanitizer_current();
  sanitizer_switch(sanitizer_own_);
  kiln_switch_stacks(&outside_, own_);
}
void Fiber::yield() {
  sanitizer_switch(sanitizer_outside_);
  kiln_switch_stacks(&own_, outside_);
}

void Fiber::start(Fiber* fiber) {
  fiber->entry_();
  fiber->done_ = true;
  fiber->yield();
  KILN_ASSERT(false);
}

}  // namespace kiln::test
