// What a device process does with the frames that it gets. Internal to the process.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "engine/base/channel.hpp"
#include "engine/device/device.hpp"
#include "engine/device/device_protocol.hpp"
#include "engine/device/executor.hpp"
#include "engine/device/ring.hpp"

namespace kiln::device {

// The reading thread never waits for the device, so that a cancellation is seen at once: launches are asynchronous, and
// everything that may block (load, map, read, their opposites) runs on one other thread, in order; allocations, which
// clear memory, on a second one. The removal of something in use is put off until the last launch that uses it is done.
class Server {
 public:
  explicit Server(std::unique_ptr<Device> device) : device_(std::move(device)) {}
  // Serves until the socket ends. The process then ends without undoing anything: launches may be running.
  Status serve();

 private:
  // A kernel, buffer, event or plan of the device under the client's id.
  struct Item {
    std::uint64_t local = 0;
    int uses = 0;                               // launches in flight, plans
    std::optional<RemoveOrder> removal;         // waits for uses == 0
  };
  using Items = std::map<std::uint64_t, Item>;
  struct Running {
    LaunchId local = 0;
    KernelId kernel = 0;
    std::vector<BufferId> buffers;
    std::vector<EventId> events;
    PlanId plan = 0;                            // its run, in place of the above
  };
  struct Ring {
    std::unique_ptr<RingConsumer> consumer;
    std::vector<PlanId> plans;                  // that it may run; uses of theirs
  };
  struct PlanUses {
    std::vector<KernelId> kernels;
    std::vector<BufferId> buffers;
  };

  Status handle(Frame frame);
  Status handle_memory(const Frame& frame);
  Status handle_plans(Frame& frame);
  // Does what brings a new item under the client's id; answers with what `work` adds to the payload.
  void bring(Items Server::* items, std::uint64_t request, std::uint64_t id,
             const std::function<Result<std::uint64_t>(Bytes& payload)>& work);
  void load(const LoadOrder& order);
  void map(const MapOrder& order, const std::vector<UniqueFd>& fds);
  void read(const ReadOrder& order, const std::vector<UniqueFd>& fds);
  void make_plan(PlanOrder order);
  Status resolve_plan(PlanOrder& order, PlanUses& uses);  // with the lock held; counts the uses, also of one that fails
  void release_all(const PlanUses& uses);                 // with the lock held
  void run_plan(const RunOrder& order);
  void make_ring(const RingOrder& order, std::vector<UniqueFd>& fds);
  Status attach_to_ring(const AttachOrder& order);
  void drop_ring(const RemoveOrder& order);
  bool knows(Items Server::* items, std::uint64_t id);
  void remove(Items Server::* items, const RemoveOrder& order);
  void remove_now(Items Server::* items, const RemoveOrder& order, std::uint64_t local);
  void launch(LaunchOrder order);
  Result<KernelId> resolve(LaunchOrder& order);  // with the lock held; counts the uses
  Status resolve_events(LaunchSettings& settings, std::vector<EventId>& used);
  void launched(LaunchId launch, Result<LaunchReport> report);
  void release(Items Server::* items, std::uint64_t id);  // with the lock held
  void cancel(LaunchId launch);
  Status send(DeviceFrame kind, ByteView payload);
  // Its end says `freed`.
  std::shared_ptr<const void> until_free(std::uint64_t request);
  void done(std::uint64_t request, Status status, Bytes payload = {});
  void later(std::function<void()> work) { executor_.add(std::move(work)); }

  std::unique_ptr<Device> device_;
  std::mutex send_mutex_;
  std::mutex mutex_;
  Items kernels_, buffers_, events_, plans_;
  std::map<PlanId, PlanUses> plan_uses_;
  std::map<LaunchId, Running> running_;
  std::map<RingId, Ring> rings_;
  Executor executor_, allocations_;   // last
};

}  // namespace kiln::device
