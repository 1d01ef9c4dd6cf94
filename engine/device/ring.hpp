// The device process's side of a submission ring (PROTOCOL.md, "Submission ring"; engine/base/ring_memory.hpp): runs of
// plans that a client asks for by memory alone. The client is not trusted: whatever it writes, whenever, costs its own
// ring and nothing else.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "engine/base/ring_memory.hpp"
#include "engine/device/device.hpp"

namespace kiln::device {

// Takes submissions in order and runs one after the other, as a stream of its own, on a thread of its own: awake for
// a moment behind the last one, then asleep at the doorbell. It ends when the client's end of the doorbell does, and
// where the counts in memory are none that a client of this protocol writes.
class RingConsumer {
 public:
  // `stream`: of its launches. Errors: of RingMemory::map.
  static Result<std::unique_ptr<RingConsumer>> start(Device& device, int memory, UniqueFd bell, std::uint32_t slots,
                                                     std::uint64_t stream);
  RingConsumer(const RingConsumer&) = delete;
  ~RingConsumer();   // stops the run in flight, and waits for its end
  // From now on submissions may name the device's `plan` by `number`; it is to stay as long as the ring.
  void attach(std::uint64_t number, PlanId plan);

 private:
  RingConsumer(Device& device, RingMemory memory, UniqueFd bell, std::uint64_t stream)
      : device_(device), memory_(std::move(memory)), bell_(std::move(bell)), stream_(stream) {}
  void consume();
  bool take_next();      // false: the ring has ended, or nothing is to be taken now (`idle_`)
  bool sleep();          // until there is something; false: the ring has ended
  [[nodiscard]] bool something() const;
  void complete(const Completion& completion);
  Completion run(const Submission& submission);
  Result<LaunchReport> run_plan(PlanId plan);

  Device& device_;
  RingMemory memory_;
  const UniqueFd bell_;
  const std::uint64_t stream_;
  std::uint32_t taken_ = 0, completed_ = 0;   // its own counts: what stands in memory is for the client
  bool idle_ = false;
  std::atomic<std::uint8_t> stop_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint64_t, PlanId> plans_;
  std::thread thread_;                        // last
};

}  // namespace kiln::device
