// Calls of a kernel to its host, by which HIP's printf and assert speak: one buffer of packets a launch, in memory that
// the kernel writes. Layout and protocol are those of AMD's device libraries (ockl) and of its runtime, as of ROCm 4 to
// 7 (the variant of 2026 with phases instead of stacks is another one, which no release's compiler makes by default):
//
//   buffer   u64 address of the headers, of the payloads, of the doorbell's signal; u64 top of the free stack, of the
//            ready stack; u64 index mask
//   header   u64 next, u64 lanes that ask, u32 service, u32 control (bit 0: it waits for an answer)       24 bytes
//   payload  64 lanes of 8 u64                                                                          4096 bytes
//
// Links are a packet's index below the mask and, above, a tag that changes whenever it is given back; 0 is no packet. A
// wave pops a free packet, fills it, pushes it on the ready stack, adds 1 to the signal, stores to the signal's
// mailbox, sends an interrupt, and sleeps until control's bit 0 is clear. It is answered there and then, when it gives
// way, so that what is printed depends on the order of waves alone. Of what lies in the buffer nothing is believed but
// links, below the mask, lanes and their words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/base/result.hpp"
#include "engine/emulator/machine/hostcall_memory.hpp"
#include "engine/emulator/machine/hostcall_output.hpp"

namespace kiln::emulator {

// What ends a launch; numbers are Fault::address of FaultKind::host_call.
enum class HostCallFault : std::uint8_t {
  none,
  packet_twice,        // the ready stack goes in circles
  no_request,          // … or holds a packet that waits for nothing
  host_function, device_memory, unknown_service,
  no_message,          // words for a message that was not begun
  message_too_long, too_many_messages,
};
// "its stack of requests goes in circles".
const char* describe(HostCallFault fault);

class HostCalls {
 public:
  // `output` outlives it.
  explicit HostCalls(PrintedOutput& output) : output_(output) {}
  HostCalls(const HostCalls&) = delete;
  // For at most `packets` waves under way at once. Errors: out_of_memory.
  Status open(std::uint64_t packets);
  [[nodiscard]] const HostPages& memory() const { return memory_; }

  struct Answer {
    std::size_t packets = 0;           // that were answered
    HostCallFault fault = HostCallFault::none;
    std::string error_text;            // the first message to stderr that was completed
  };
  // Answers all packets that wait; fewer where the launch is cancelled meanwhile. Any thread.
  Answer serve();

 private:
  using Words = std::vector<std::uint64_t>;
  HostCallFault take(std::uint64_t first, Words& indices) const;
  HostCallFault answer(std::uint64_t index, Answer& answer);
  HostCallFault print(std::uint64_t* words, Answer& answer);
  std::uint64_t finish(const Words& message, Answer& answer);

  PrintedOutput& output_;
  HostPages memory_;
  std::uint64_t packets_ = 0, mask_ = 0, headers_ = 0, payloads_ = 0;   // headers_, payloads_: offsets
  std::mutex mutex_;                   // guards what follows, and output_
  std::unordered_map<std::uint64_t, Words> messages_;   // begun, not ended
  std::uint64_t next_message_ = 1, message_words_ = 0;
};

}  // namespace kiln::emulator
