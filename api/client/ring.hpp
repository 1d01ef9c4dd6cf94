// The C++ client's side of a submission ring (PROTOCOL.md, "Submission ring"): runs of plans without a message.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "api/client/client.hpp"
#include "engine/base/ring_memory.hpp"

namespace kiln::client {

// Where there is no ring, for a plan that a ring does not take, and when it has ended with its device's process or its
// daemon, the same runs go over the client's socket. Not thread-safe; the client lives longer, in the same process.
class Ring {
 public:
  // Errors: of the request; not of a daemon that has no rings.
  static Result<std::unique_ptr<Ring>> create(Client& client, const std::string& device, std::uint32_t slots = 256);
  ~Ring();
  Ring(const Ring&) = delete;
  // Runs the plan, an id of plan.create by this client, and waits for its end; milliseconds that it took on the device.
  // Errors: plan.run's; device_lost, retryable, where it is not known whether it ran.
  Result<double> run(std::int64_t plan);
  // Whether runs go by memory.
  [[nodiscard]] bool ended() const { return !memory_; }

 private:
  explicit Ring(Client& client) : client_(client) {}
  // The number that submissions name the plan by; nothing: the ring does not take it.
  Result<std::optional<std::uint64_t>> number_of(std::int64_t plan);
  Result<double> run_over_socket(std::int64_t plan);
  // False: the ring has ended.
  bool wait_for_completion();
  void submit(std::uint64_t plan);
  Completion take();
  void ring_if_asleep();

  Client& client_;
  std::int64_t id_ = 0;
  std::optional<RingMemory> memory_;   // none: it has ended, or never was
  UniqueFd bell_;
  std::uint32_t submitted_ = 0, read_ = 0;
  std::uint64_t serial_ = 0;
  std::map<std::int64_t, std::optional<std::uint64_t>> numbers_;
};

}  // namespace kiln::client
