#include "engine/device/hip/hip_lane.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace kiln::device::hip {
namespace {

constexpr auto alone_limit = std::chrono::seconds(10);

}  // namespace

Status Gate::enter(const Order& order) {
  std::unique_lock lock(mutex_);
  const bool alone = order.settings.alone();
  const auto free = [&] { return order.cancelled.load() || (!alone_ && (!alone || running_ == 0)); };
  // Nobody queues behind one who wants to be alone: what runs may be a launch that waits for ever.
  if (!alone) changed_.wait(lock, free);
  else if (!changed_.wait_for(lock, alone_limit, free))
    return Error(ErrorCode::busy, "other launches run on the card, and one that is profiled or sets switches runs alone", true);
  if (order.cancelled.load()) return Error(ErrorCode::cancelled, "the launch was cancelled");
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
    if (running_ != nullptr) stop(*running_);
    wake_.notify_all();
  }
  thread_.join();
}

void Lane::submit(OrderPtr order) {
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(order));
  wake_.notify_all();
}

bool Lane::idle() {
  const std::lock_guard lock(mutex_);
  return queue_.empty() && running_ == nullptr;
}

bool Lane::holds(std::uint64_t stream) {
  const std::lock_guard lock(mutex_);
  const auto of_it = [&](const OrderPtr& order) { return order->settings.stream == stream; };
  return (running_ != nullptr && of_it(running_)) || std::any_of(queue_.begin(), queue_.end(), of_it);
}

bool Lane::may_run_longer_than(std::chrono::milliseconds limit) {
  const std::lock_guard lock(mutex_);
  return running_ != nullptr &&
         (!running_->waits.empty() || std::chrono::steady_clock::now() - running_since_ > limit);
}

bool Lane::cancel(LaunchId launch) {
  OrderPtr waiting;
  {
    const std::lock_guard lock(mutex_);
    if (running_ != nullptr && running_->id == launch) {
      stop(*running_);
      return true;
    }
    const auto found = std::find_if(queue_.begin(), queue_.end(),
                                    [&](const auto& order) { return order->id == launch; });
    if (found == queue_.end()) return false;
    waiting = std::move(*found);
    queue_.erase(found);
  }
  waiting->done(Error(ErrorCode::cancelled, "the launch was cancelled"));
  return true;
}

void Lane::stop(Order& order) {
  order.cancelled.store(true);
  if (table_.cancel != nullptr && stream_ != nullptr) table_.cancel(stream_);
  gate_.look_again();
}

Status Lane::open() {
  if (stream_ != nullptr) return ok();
  Stream stream = nullptr;
  KILN_CHECK(table_.check(table_.hipSetDevice(ordinal_), "hipSetDevice"));
  if (begin_ == nullptr) KILN_CHECK(table_.check(table_.hipEventCreate(&begin_), "hipEventCreate"));
  if (end_ == nullptr) KILN_CHECK(table_.check(table_.hipEventCreate(&end_), "hipEventCreate"));
  KILN_CHECK(table_.check(table_.hipStreamCreateWithFlags(&stream, stream_non_blocking), "hipStreamCreateWithFlags"));
  const std::lock_guard lock(mutex_);
  stream_ = stream;
  return ok();
}

Result<LaunchReport> Lane::run(const Order& order) {
  KILN_CHECK(open());
  if (order.settings.alone() && !order.waits.empty())
    return Error(ErrorCode::unsupported, "a launch that is profiled or sets switches runs alone: it cannot wait for events");
  KILN_CHECK(gate_.enter(order));
  Result<LaunchReport> report = [&]() -> Result<LaunchReport> {
    if (order.settings.alone()) return run_alone(order);
    KILN_TRY(const double duration, run_grids(order));
    LaunchReport plain;
    plain.duration_ms = duration;
    return plain;
  }();
  // Before the gate opens: the report of the fault is the process's too.
  if (!report) report = explain(std::move(report).error());
  gate_.leave(order);
  return report;
}

// With the order's switches set, and its counters read.
Result<LaunchReport> Lane::run_alone(const Order& order) {
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
  Result<LaunchReport> report = LaunchReport{};
  if (!status) {
    report = std::move(status).error();
  } else if (auto duration = run_grids(order); !duration) {
    report = std::move(duration).error();
  } else {
    report->duration_ms = *duration;
  }
  if (report && order.settings.profile) {
    std::string& text = report->profiles;
    text.resize(table_.profiles(nullptr, 0) + 1);
    text.resize(std::min(text.size(), table_.profiles(text.data(), text.size())));
  }
  (void)table_.set_switch(nullptr, nullptr);
  return report;
}

void Lane::stop_late(const Order& order) const {
  if (order.cancelled.load() && table_.cancel != nullptr) table_.cancel(stream_);
}

// Everything from the first wait to the event behind the last copy.
Status Lane::submit_grids(const Order& order) {
  for (const auto& event : order.waits)
    KILN_CHECK(table_.check(table_.hipStreamWaitEvent(stream_, event->get(), 0), "hipStreamWaitEvent"));
  stop_late(order);
  for (const auto& use : order.uses) KILN_CHECK(use.buffer->copy_in(stream_, use.offset, use.bytes));
  KILN_CHECK(table_.check(table_.hipEventRecord(begin_, stream_), "hipEventRecord"));
  for (std::size_t i = 0; i < order.kernel->launches() && !order.cancelled.load(); ++i) {
    KILN_CHECK(order.kernel->submit(i, order.values, stream_));
    stop_late(order);
  }
  KILN_CHECK(table_.check(table_.hipEventRecord(end_, stream_), "hipEventRecord"));
  for (const auto& use : order.uses)
    if (use.written) KILN_CHECK(use.buffer->copy_out(stream_, use.offset, use.bytes));
  if (order.record != nullptr)
    KILN_CHECK(table_.check(table_.hipEventRecord(order.record->get(), stream_), "hipEventRecord"));
  return ok();
}

// Milliseconds that the card took.
Result<double> Lane::run_grids(const Order& order) {
  KILN_CHECK(submit_grids(order));
  if (order.settings.enqueued) order.settings.enqueued();
  KILN_CHECK(table_.check(table_.hipStreamSynchronize(stream_), "hipStreamSynchronize"));
  float milliseconds = 0;
  KILN_CHECK(table_.check(table_.hipEventElapsedTime(&milliseconds, begin_, end_), "hipEventElapsedTime"));
  return static_cast<double>(milliseconds);
}

// With the emulated card's report, whose first line says what happened.
Error Lane::explain(Error error) const {
  if (table_.report == nullptr || error.code != ErrorCode::launch_failed) return error;
  std::string text(table_.report(nullptr, 0), '\0');
  if (text.empty()) return error;
  text.resize(std::min(text.size(), table_.report(text.data(), text.size() + 1)));
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

void Lane::serve() {
  for (;;) {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [&] { return closing_ || !queue_.empty(); });
    if (closing_) return;
    running_ = std::move(queue_.front());
    running_since_ = std::chrono::steady_clock::now();
    queue_.pop_front();
    const OrderPtr order = running_;
    lock.unlock();
    auto report = run(*order);
    lock.lock();
    running_ = nullptr;
    const Stream broken = report ? nullptr : stream_;
    if (!report) stream_ = nullptr;   // the error sticks to it
    lock.unlock();
    if (broken != nullptr) {
      // What was submitted before the failure may wait for an event for ever.
      if (table_.cancel != nullptr) table_.cancel(broken);
      // What was submitted still uses the buffers, which are let go next.
      if (table_.cancel != nullptr || order->waits.empty()) (void)table_.hipStreamSynchronize(broken);
      (void)table_.hipStreamDestroy(broken);
    }
    if (order->cancelled.load()) report = Error(ErrorCode::cancelled, "the launch was cancelled");
    // The buffers are let go before anybody hears of it: they may be unmapped then.
    order->uses.clear();
    order->waits.clear();
    order->record.reset();
    order->kernel.reset();
    order->done(std::move(report));
  }
}

}  // namespace kiln::device::hip
