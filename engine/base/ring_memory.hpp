// The memory of a submission ring, as PROTOCOL.md, "Submission ring", lays it out: one page of words, then the entries
// of both directions. Whoever maps it may find anything there at any time: each value is read once, and checked by who
// reads it.
#pragma once

#include <cstdint>

#include "engine/base/fd.hpp"

namespace kiln {

inline constexpr std::uint32_t ring_magic = 0x474e524b;  // "KRNG"
inline constexpr std::uint32_t ring_version = 1;
inline constexpr std::uint32_t ring_slots_max = 4096;

// Offsets of words of 32 bits. Those of one writer share a cache line.
enum class RingWord : std::uint32_t {
  magic = 0, version = 4, slots = 8, submissions = 12, completions = 16,   // by the daemon, before anybody else
  submitted = 64, read = 68, client_sleeps = 72,                           // by the client
  taken = 128, completed = 132, consumer_sleeps = 136                      // by the consumer
};
enum class RunStatus : std::int32_t {
  done = 0, not_found = 1, cancelled = 2, device_lost = 3, launch_failed = 4, failed = 5
};
struct Submission {
  std::uint64_t serial = 0, plan = 0;
};
struct Completion {
  std::uint64_t serial = 0, duration_ns = 0;
  RunStatus status = RunStatus::done;
};

// One mapping of a ring. Words and entries may be used by one thread a writer; nothing here waits.
class RingMemory {
 public:
  static std::size_t bytes(std::uint32_t slots) { return header_bytes + 2 * std::size_t(slots) * entry_bytes; }
  // A memfd that cannot be resized, with the header's words. `slots`: a power of two, 2 to ring_slots_max.
  static Result<UniqueFd> create(std::uint32_t slots);
  // Maps it; `slots` is what its maker says. Errors: io_error, invalid_argument (a file of another size, or one that
  // may shrink).
  static Result<RingMemory> map(int fd, std::uint32_t slots);

  [[nodiscard]] std::uint32_t slots() const { return slots_; }
  [[nodiscard]] std::uint32_t load(RingWord word) const { return __atomic_load_n(at(word), __ATOMIC_ACQUIRE); }
  void store(RingWord word, std::uint32_t value) { __atomic_store_n(at(word), value, __ATOMIC_RELEASE); }
  // Between a store of one's own and a load of what the other side stores: one of the two sees the other's.
  static void fence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
  [[nodiscard]] Submission submission(std::uint32_t number) const;
  void put(std::uint32_t number, const Submission& value);
  [[nodiscard]] Completion completion(std::uint32_t number) const;
  void put(std::uint32_t number, const Completion& value);

 private:
  static constexpr std::size_t header_bytes = 4096, entry_bytes = 32;
  RingMemory(Mapping mapping, std::uint32_t slots) : mapping_(std::move(mapping)), slots_(slots) {}
  [[nodiscard]] std::uint32_t* at(RingWord word) const {
    return reinterpret_cast<std::uint32_t*>(mapping_.data() + static_cast<std::uint32_t>(word));
  }
  // The entry's words of 64 bits.
  [[nodiscard]] std::uint64_t* entry(bool completions, std::uint32_t number) const;

  Mapping mapping_;
  std::uint32_t slots_ = 0;
};

// The doorbell: each side holds one end of a stream socket, and its end is the ring's end.
// Rings it, without waiting: a byte that has no room finds others there.
void ring_bell(int socket);
// Takes what was rung; false: the other end is gone.
bool take_rings(int socket);

}  // namespace kiln
