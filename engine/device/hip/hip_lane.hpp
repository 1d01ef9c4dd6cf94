// A queue of a card and what it runs. Internal to the HIP device.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/device/device.hpp"
#include "engine/device/hip/hip_buffer.hpp"
#include "engine/device/hip/hip_kernel.hpp"
#include "engine/device/hip/ipc_memory.hpp"

namespace kiln::device::hip {

// One launch from submission to completion; its grids run one after the other.
struct Order {
  struct Use {
    std::shared_ptr<const Buffer> buffer;
    std::uint64_t offset = 0, bytes = 0;
    bool written = false;
  };
  LaunchId id = 0;
  std::shared_ptr<const Kernel> kernel;
  std::vector<Use> uses;
  std::vector<Bytes> values;
  LaunchSettings settings;
  std::vector<std::shared_ptr<const CardEvent>> waits;
  std::shared_ptr<const CardEvent> record;
  std::atomic<bool> cancelled{false};
  LaunchDone done;
};
using OrderPtr = std::shared_ptr<Order>;

// The emulated card's switches are its process's: launches that set them run while no other launch of the process does.
class Gate {
 public:
  // Waits for the right to run, one that wants to be alone not for long. Errors: cancelled, busy.
  Status enter(const Order& order);
  void leave(const Order& order);
  void look_again();   // an order was cancelled

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int running_ = 0;
  bool alone_ = false;
};

// A queue of the card with the thread that feeds it and waits for it.
class Lane {
 public:
  // The references outlive it.
  Lane(const Table& table, int ordinal, Gate& gate)
      : table_(table), ordinal_(ordinal), gate_(gate), thread_([this] { serve(); }) {}
  ~Lane();
  void submit(OrderPtr order);
  [[nodiscard]] bool idle();
  [[nodiscard]] bool holds(std::uint64_t stream);   // a launch of that stream, waiting or running
  // A launch that has run for longer than that, or has events to wait for: it may run for ever.
  [[nodiscard]] bool may_run_longer_than(std::chrono::milliseconds limit);
  // Whether the launch is here. One that waits is done at once, by this thread.
  bool cancel(LaunchId launch);

 private:
  void serve();
  Status open();
  Result<LaunchReport> run(const Order& order);
  Result<LaunchReport> run_alone(const Order& order);
  Result<double> run_grids(const Order& order);
  Status submit_grids(const Order& order);
  // A cancellation that came before something was submitted has found nothing to stop.
  void stop_late(const Order& order) const;
  [[nodiscard]] Error explain(Error error) const;
  void stop(Order& order);   // with the lock held

  const Table& table_;
  const int ordinal_;
  Gate& gate_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<OrderPtr> queue_;
  OrderPtr running_;
  std::chrono::steady_clock::time_point running_since_;
  bool closing_ = false;
  Stream stream_ = nullptr;                   // made at first use, again after a failure; the mutex guards changes
  Event begin_ = nullptr, end_ = nullptr;     // the thread's
  std::thread thread_;                        // last
};

}  // namespace kiln::device::hip
