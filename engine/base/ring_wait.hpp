// How both ends of a submission ring wait: awake for a moment, then asleep at the doorbell.
#pragma once

#include <chrono>

namespace kiln {

inline constexpr auto ring_awake = std::chrono::microseconds(50);  // behind the last submission, or one's own
inline constexpr int ring_looks_a_clock = 8;                       // at the memory, between two looks at the clock

// Between two looks: spares the processor's other thread.
inline void pause_a_little() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace kiln
