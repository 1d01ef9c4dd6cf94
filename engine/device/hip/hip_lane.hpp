// A queue of a card and what it runs. Internal to the HIP device.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "engine/device/device.hpp"
#include "engine/device/hip/hip_buffer.hpp"
#include "engine/device/hip/hip_kernel.hpp"
#include "engine/device/hip/ipc_memory.hpp"
#include "engine/device/hip/workspace.hpp"

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
  std::vector<std::shared_ptr<const Workspace>> workspaces;
  std::vector<Bytes> values;                  // of the tensors, the workspaces and the symbols
  LaunchSizesPtr sizes;
  LaunchSettings settings;
  std::vector<std::shared_ptr<const CardEvent>> waits;
  std::shared_ptr<const CardEvent> record;
  std::atomic<bool> cancelled{false};
  LaunchDone done;

  // Before anybody hears of its end: buffers may be unmapped then.
  void let_go();
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

// A queue of the card, with a thread that feeds it and one that waits for what it was fed. Launches that record an event
// are submitted while earlier ones of their stream, which do too, still run: the card orders them. Where one of them fails
// or is stopped, the card passes over those that were submitted behind it, and they are reported as cancelled. Others are
// submitted when the queue is empty, so that each fails alone. What waits to be submitted behind one that fails, or
// that the card stops, is reported as cancelled too.
class Lane {
 public:
  // The references outlive it.
  Lane(const Table& table, int ordinal, Gate& gate)
      : table_(table), ordinal_(ordinal), gate_(gate), feeder_([this] { feed(); }), finisher_([this] { finish(); }) {}
  ~Lane();   // what it still has is cancelled
  void submit(OrderPtr order);
  [[nodiscard]] bool idle();
  [[nodiscard]] bool holds(std::uint64_t stream);   // a launch of that stream, waiting or running
  // The front launch has been that for longer, or waits for events: it may run for ever.
  [[nodiscard]] bool may_run_longer_than(std::chrono::milliseconds limit);
  // Whether the launch is here. One that waits is done at once, by this thread.
  bool cancel(LaunchId launch);

 private:
  // An order that the card has, or is just given.
  struct Flight {
    OrderPtr order;
    const bool waits, records;                              // for events, one: the order lets them go earlier
    std::chrono::steady_clock::time_point since;            // when it became the front one
    Event begin = nullptr, end = nullptr, last = nullptr;   // around the grids; behind everything (may be `end`)
    std::optional<std::size_t> given;                       // how much the emulated stream had been given before
    bool entered = false;                                   // the gate
    bool ready = false;                                     // the feeder has submitted it, or failed at that
    bool over = false;                                      // the card is done with it
    std::vector<OrderPtr> behind_it;                        // of its stream, to be cancelled when it has ended
    std::optional<Result<LaunchReport>> report;             // known before the card is waited for
  };
  using FlightPtr = std::shared_ptr<Flight>;

  void feed();
  [[nodiscard]] bool may_follow(const Order& order) const;   // with the lock held: whether it may be submitted now
  void start(Flight& flight);                                // the feeder's: submits it
  Status open();
  Status take_events(Flight& flight);
  Status submit_grids(Flight& flight);
  Result<LaunchReport> run_alone(Flight& flight);
  Result<double> wait_for(const Flight& flight) const;       // milliseconds that the card took
  Result<LaunchReport> wait_and_read(const Flight& flight) const;  // with the records of its prints and asserts
  // A cancellation that came before something was submitted has found nothing to stop.
  void stop_late(const Flight& flight);
  void stop(const Flight& flight);                           // with the lock held

  void finish();
  Result<LaunchReport> outcome(Flight& flight);
  void end(const FlightPtr& flight, Result<LaunchReport> report);
  void take_behind(Flight& flight);                          // with the lock held: what waits behind it on its stream
  void give_up_stream(bool waited);                          // whether its last launch waited for events
  void give_back_events(const Flight& flight);
  [[nodiscard]] Error explain(Error error) const;

  const Table& table_;
  const int ordinal_;
  Gate& gate_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<OrderPtr> queue_;
  std::deque<FlightPtr> flights_;             // the front one runs
  bool closing_ = false;
  bool broken_ = false;                       // a launch failed or was stopped: the stream takes no other one
  bool failed_ = false;                       // and that was reported: later errors of the stream are its consequences
  Stream stream_ = nullptr;                   // made at first use, again after a failure; the mutex guards changes
  std::vector<Event> spare_events_;
  std::thread feeder_, finisher_;             // last
};

}  // namespace kiln::device::hip
