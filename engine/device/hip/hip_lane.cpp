#include "engine/device/hip/hip_lane.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace kiln::device::hip {
namespace {

constexpr auto alone_limit = std::chrono::seconds(10);
// More launches of a stream wait here without being known to the card, and are not told to be enqueued.
constexpr std::size_t flights_max = 256;

Error cancelled_launch() { return Error(ErrorCode::cancelled, "the launch was cancelled"); }
Error passed_over() { return Error(ErrorCode::cancelled, "an earlier launch of the stream failed or was stopped"); }

void end_unsubmitted(Order& order, Error why) {
  order.let_go();
  order.done(std::move(why));
}

// Takes the order out of where it waits; null where it does not.
template <class Orders> OrderPtr take(Orders& orders, LaunchId launch) {
  const auto found = std::find_if(orders.begin(), orders.end(), [&](const OrderPtr& one) { return one->id == launch; });
  if (found == orders.end()) return nullptr;
  auto order = std::move(*found);
  orders.erase(found);
  return order;
}

}  // namespace

void Order::let_go() {
  uses.clear();
  workspaces.clear();
  waits.clear();
  record.reset();
  kernel.reset();
}

Status Gate::enter(const Order& order) {
  std::unique_lock lock(mutex_);
  const bool alone = order.settings.alone();
  const auto free = [&] { return order.cancelled.load() || (!alone_ && (!alone || running_ == 0)); };
  // Nobody queues behind one who wants to be alone: what runs may be a launch that waits for ever.
  if (!alone) changed_.wait(lock, free);
  else if (!changed_.wait_for(lock, alone_limit, free))
    return Error(ErrorCode::busy,
                 "other launches run on the card, and one that is profiled or sets switches runs alone", true);
  if (order.cancelled.load()) return cancelled_launch();
  ++running_;
  alone_ = alone;
  return ok();
}

void Gate::leave(const Order& order) {
  const std::lock_guard lock(mutex_);
  --running_;
  if (order.settings.alone()) alone_ = false;
  changed_.notify_all();
}

void Gate::look_again() {
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

Lane::~Lane() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    for (const auto& flight : flights_) {
      flight->order->cancelled.store(true);
      stop(*flight);
    }
    wake_.notify_all();
  }
  gate_.look_again();
  feeder_.join();
  finisher_.join();
  for (const auto& order : queue_) end_unsubmitted(*order, cancelled_launch());
  for (const auto event : spare_events_) (void)table_.hipEventDestroy(event);
  if (stream_ != nullptr) (void)table_.hipStreamDestroy(stream_);
}

void Lane::submit(OrderPtr order) {
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(order));
  wake_.notify_all();
}

bool Lane::idle() {
  const std::lock_guard lock(mutex_);
  return queue_.empty() && flights_.empty();
}

bool Lane::holds(std::uint64_t stream) {
  const std::lock_guard lock(mutex_);
  const auto of_it = [&](const OrderPtr& order) { return order->settings.stream == stream; };
  return std::any_of(flights_.begin(), flights_.end(), [&](const auto& flight) { return of_it(flight->order); }) ||
         std::any_of(queue_.begin(), queue_.end(), of_it);
}

bool Lane::may_run_longer_than(std::chrono::milliseconds limit) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(flights_.begin(), flights_.end(), [](const auto& flight) { return !flight->over; });
  if (found == flights_.end()) return false;
  const Flight& front = **found;
  const bool begun = front.ready && (front.begin == nullptr || table_.hipEventQuery(front.begin) != not_ready);
  return (front.waits && !begun) || std::chrono::steady_clock::now() - front.since > limit;
}

bool Lane::cancel(LaunchId launch) {
  OrderPtr waiting;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& flight : flights_) {
      if (waiting == nullptr) waiting = take(flight->behind_it, launch);
      if (flight->order->id != launch) continue;
      if (flight->over) return true;
      flight->order->cancelled.store(true);
      stop(*flight);
      if (table_.cancel_behind != nullptr) take_behind(*flight);
      gate_.look_again();
      return true;
    }
    if (waiting == nullptr) waiting = take(queue_, launch);
    if (waiting == nullptr) return false;
  }
  end_unsubmitted(*waiting, cancelled_launch());
  return true;
}

void Lane::take_behind(Flight& flight) {
  if (!flight.records) return;
  const auto stays = [&](const OrderPtr& order) {
    return order->record == nullptr || order->settings.stream != flight.order->settings.stream;
  };
  const auto first = std::stable_partition(queue_.begin(), queue_.end(), stays);
  std::move(first, queue_.end(), std::back_inserter(flight.behind_it));
  queue_.erase(first, queue_.end());
}

// What lies behind it on the stream is not run either.
void Lane::stop(const Flight& flight) {
  // A real card ends a launch between its grids.
  if (table_.cancel_behind == nullptr || stream_ == nullptr || !flight.given || flight.over) return;
  broken_ = true;
  table_.cancel_behind(stream_, *flight.given);
}

bool Lane::may_follow(const Order& order) const {
  if (flights_.empty()) return true;
  const auto& before = flights_.back()->order->settings;
  return !broken_ && flights_.size() < flights_max && order.record != nullptr && flights_.back()->records &&
         !order.settings.alone() && !before.alone() && order.settings.stream == before.stream;
}

// ---- giving launches to the card -----------------------------------------------------------------------------------

void Lane::feed() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return closing_ || (!queue_.empty() && may_follow(*queue_.front())); });
    if (closing_) return;
    const auto& next = queue_.front();
    const bool waits = !next->waits.empty(), records = next->record != nullptr;
    const auto flight = std::make_shared<Flight>(Flight{next, waits, records, std::chrono::steady_clock::now()});
    queue_.pop_front();
    flights_.push_back(flight);
    lock.unlock();
    start(*flight);
    lock.lock();
    flight->ready = true;
    if (flight->report && !*flight->report) broken_ = true;
    wake_.notify_all();
  }
}

void Lane::start(Flight& flight) {
  const Order& order = *flight.order;
  const auto submitted = [&]() -> Status {
    KILN_CHECK(open());
    if (order.settings.alone() && !order.waits.empty())
      return Error(ErrorCode::unsupported,
                   "a launch that is profiled or sets switches runs alone: it cannot wait for events");
    KILN_CHECK(gate_.enter(order));
    flight.entered = true;
    KILN_CHECK(take_events(flight));
    if (order.settings.alone()) return ok();
    KILN_CHECK(submit_grids(flight));
    if (order.settings.enqueued) order.settings.enqueued();
    return ok();
  }();
  if (!submitted) flight.report = submitted.error();
  else if (order.settings.alone()) flight.report = run_alone(flight);
}

Status Lane::open() {
  if (stream_ != nullptr) return ok();
  Stream stream = nullptr;
  KILN_CHECK(table_.check(table_.hipSetDevice(ordinal_), "hipSetDevice"));
  KILN_CHECK(table_.check(table_.hipStreamCreateWithFlags(&stream, stream_non_blocking), "hipStreamCreateWithFlags"));
  const std::lock_guard lock(mutex_);
  stream_ = stream;
  return ok();
}

Status Lane::take_events(Flight& flight) {
  for (Event* const event : {&flight.begin, &flight.end}) {
    {
      const std::lock_guard lock(mutex_);
      if (!spare_events_.empty()) {
        *event = spare_events_.back();
        spare_events_.pop_back();
      }
    }
    if (*event == nullptr) KILN_CHECK(table_.check(table_.hipEventCreate(event), "hipEventCreate"));
  }
  return ok();
}

void Lane::stop_late(const Flight& flight) {
  if (!flight.order->cancelled.load()) return;
  const std::lock_guard lock(mutex_);
  stop(flight);
}

// Everything from the first wait to the event behind the last copy.
Status Lane::submit_grids(Flight& flight) {
  const Order& order = *flight.order;
  if (table_.submitted != nullptr) {
    const std::lock_guard lock(mutex_);
    flight.given = table_.submitted(stream_);
  }
  for (const auto& event : order.waits)
    KILN_CHECK(table_.check(table_.hipStreamWaitEvent(stream_, event->get(), 0), "hipStreamWaitEvent"));
  stop_late(flight);
  for (const auto& use : order.uses) KILN_CHECK(use.buffer->copy_in(stream_, use.offset, use.bytes));
  KILN_CHECK(table_.check(table_.hipEventRecord(flight.begin, stream_), "hipEventRecord"));
  for (const auto& workspace : order.workspaces) {   // zeroed, or at least nothing that another launch has left
    if (workspace->bytes == 0) continue;
    KILN_CHECK(table_.check(table_.hipMemsetAsync(workspace->pointer, 0, workspace->bytes, stream_), "hipMemsetAsync"));
  }
  for (std::size_t i = 0; i < order.kernel->launches() && !order.cancelled.load(); ++i) {
    KILN_CHECK(order.kernel->submit(i, order.sizes->grids[i], order.values, stream_));
    stop_late(flight);
  }
  KILN_CHECK(table_.check(table_.hipEventRecord(flight.end, stream_), "hipEventRecord"));
  bool copies = false;
  for (const auto& use : order.uses) {
    if (!use.written) continue;
    copies = copies || use.buffer->staged();
    KILN_CHECK(use.buffer->copy_out(stream_, use.offset, use.bytes));
  }
  if (copies) {
    KILN_CHECK(table_.check(table_.hipEventCreateWithFlags(&flight.last, event_disable_timing),
                            "hipEventCreateWithFlags"));
    KILN_CHECK(table_.check(table_.hipEventRecord(flight.last, stream_), "hipEventRecord"));
  }
  if (order.record != nullptr)
    KILN_CHECK(table_.check(table_.hipEventRecord(order.record->get(), stream_), "hipEventRecord"));
  return ok();
}

Result<double> Lane::wait_for(const Flight& flight) const {
  const Event last = flight.last != nullptr ? flight.last : flight.end;
  KILN_CHECK(table_.check(table_.hipEventSynchronize(last), "hipEventSynchronize"));
  float milliseconds = 0;
  KILN_CHECK(table_.check(table_.hipEventElapsedTime(&milliseconds, flight.begin, flight.end), "hipEventElapsedTime"));
  return static_cast<double>(milliseconds);
}

// Not on the stream: a copy to memory that the card does not know would hold up whoever submits it.
Result<LaunchReport> Lane::wait_and_read(const Flight& flight) const {
  LaunchReport report;
  KILN_TRY(report.duration_ms, wait_for(flight));
  const Order& order = *flight.order;
  const int which = order.kernel->records();
  if (which < 0) return report;
  const auto& workspace = *order.workspaces[static_cast<std::size_t>(which)];
  report.records.resize(workspace.bytes);
  KILN_CHECK(table_.check(table_.hipSetDevice(ordinal_), "hipSetDevice"));
  KILN_CHECK(table_.check(table_.hipMemcpyDtoH(report.records.data(), workspace.pointer, workspace.bytes),
                          "hipMemcpyDtoH"));
  return report;
}

// With the order's switches set, and its counters read.
Result<LaunchReport> Lane::run_alone(Flight& flight) {
  const Order& order = *flight.order;
  if (!table_.emulated())
    return Error(ErrorCode::unsupported, "a real card counts through rocprofv3 and has no switches; an emulated card "
                                         "does: device emu:gfx942");
  const auto set = [&](const std::string& name, const std::string& value) {
    return table_.check(table_.set_switch(name.c_str(), value.c_str()), "kiln_emulator_set_option");
  };
  table_.clear();
  Status status;
  for (const auto& [name, value] : order.settings.switches)
    if (status) status = set(name, value);
  if (status && order.settings.profile) status = set("profile", "1");
  if (status) status = submit_grids(flight);
  if (status && order.settings.enqueued) order.settings.enqueued();
  Result<LaunchReport> report = LaunchReport{};
  if (!status) {
    report = std::move(status).error();
  } else {
    report = wait_and_read(flight);
  }
  if (report && order.settings.profile) {
    std::string& text = report->profiles;
    text.resize(table_.profiles(nullptr, 0) + 1);
    text.resize(std::min(text.size(), table_.profiles(text.data(), text.size())));
  }
  (void)table_.set_switch(nullptr, nullptr);
  return report;
}

// ---- waiting for them ----------------------------------------------------------------------------------------------

void Lane::finish() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return (closing_ && flights_.empty()) || (!flights_.empty() && flights_.front()->ready); });
    if (flights_.empty()) return;
    const auto flight = flights_.front();
    lock.unlock();
    auto report = outcome(*flight);
    end(flight, std::move(report));
    lock.lock();
  }
}

// Waits for the front one, before the gate opens. What was submitted behind one that failed was passed over.
Result<LaunchReport> Lane::outcome(Flight& flight) {
  if (!flight.report) {
    flight.report = wait_and_read(flight);
  }
  if (*flight.report) return std::move(*flight.report);
  auto error = std::move(*flight.report).error();
  const std::lock_guard lock(mutex_);
  if (failed_) return passed_over();
  return explain(std::move(error));
}

void Lane::end(const FlightPtr& flight, Result<LaunchReport> report) {
  Order& order = *flight->order;
  bool give_up = false;
  {
    const std::lock_guard lock(mutex_);
    flight->over = true;   // whoever cancels it from now on stops nothing
    const bool stopped = order.cancelled.load();
    // Not what comes later, nor what came after it was stopped: that was asked for by somebody who may know.
    if (!report && !stopped && !failed_) take_behind(*flight);
    if (!report || (stopped && table_.cancel != nullptr)) broken_ = failed_ = true;
    if (stopped) report = cancelled_launch();
    give_up = broken_ && flights_.size() == 1;
  }
  // What was submitted still uses the buffers, which are let go next.
  if (give_up) give_up_stream(flight->waits);
  give_back_events(*flight);
  if (flight->entered) gate_.leave(order);
  order.let_go();
  {
    const std::lock_guard lock(mutex_);
    flights_.pop_front();
    if (!flights_.empty()) flights_.front()->since = std::chrono::steady_clock::now();
    if (give_up) broken_ = failed_ = false;
    wake_.notify_all();
  }
  order.done(std::move(report));
  for (const auto& one : flight->behind_it) end_unsubmitted(*one, passed_over());
}

// The error sticks to it. Nothing is submitted meanwhile: the last launch is still there, and the stream is broken.
void Lane::give_up_stream(bool waited) {
  Stream broken = nullptr;
  {
    const std::lock_guard lock(mutex_);
    broken = std::exchange(stream_, nullptr);
  }
  if (broken == nullptr) return;
  // What was submitted before a failure may wait for an event for ever.
  if (table_.cancel != nullptr) table_.cancel(broken);
  if (table_.cancel != nullptr || !waited) (void)table_.hipStreamSynchronize(broken);
  (void)table_.hipStreamDestroy(broken);
}

void Lane::give_back_events(const Flight& flight) {
  if (flight.last != nullptr) (void)table_.hipEventDestroy(flight.last);
  const std::lock_guard lock(mutex_);
  for (const auto event : {flight.begin, flight.end})
    if (event != nullptr) spare_events_.push_back(event);
}

// With the emulated card's report, whose first line says what happened.
Error Lane::explain(Error error) const {
  if (table_.stream_report == nullptr || stream_ == nullptr || error.code != ErrorCode::launch_failed) return error;
  std::string text(table_.stream_report(stream_, nullptr, 0), '\0');
  if (text.empty()) return error;
  text.resize(std::min(text.size(), table_.stream_report(stream_, text.data(), text.size() + 1)));
  const auto end = text.find('\n');
  Error told(ErrorCode::launch_failed, text.substr(0, end));
  for (std::size_t at = end; at != std::string::npos;) {
    const auto next = text.find('\n', at + 1);
    const auto line = text.substr(at + 1, next == std::string::npos ? next : next - at - 1);
    told.context.push_back(line.substr(std::min(line.size(), line.find_first_not_of(' '))));
    at = next;
  }
  return told;
}

}  // namespace kiln::device::hip
