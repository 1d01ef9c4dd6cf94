// Streams and events: queues of work on host threads.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/device/hip/declarations.hpp"

namespace kiln::emulator {

namespace hip = device::hip;

// One queue; its work runs in order on a thread of its own, which ends with the stream, after all of its work.
class Stream {
 public:
  using Work = std::function<hip::Code()>;
  struct Mark {                          // "everything that was submitted to the stream until now"
    std::shared_ptr<Stream> stream;
    std::uint64_t ticket = 0;
  };

  Stream(int device, bool blocking) : device_(device), blocking_(blocking), thread_([this] { serve(); }) {}
  ~Stream();
  Stream(const Stream&) = delete;
  [[nodiscard]] int device() const { return device_; }
  [[nodiscard]] bool blocking() const { return blocking_; }   // takes turns with the default stream

  // Appends work that begins after `after`. An error of it sticks to the stream, and later work is passed over, but for
  // what is submitted with `always`: others wait for that.
  void submit(Work work, std::vector<Mark> after, bool always = false);
  [[nodiscard]] std::uint64_t submitted() const;
  void wait_for(std::uint64_t ticket) const;
  // The error that sticks, success otherwise; not_ready while work is left.
  [[nodiscard]] hip::Code query() const;
  hip::Code synchronize() const;
  [[nodiscard]] hip::Code error() const;
  void clear_error();
  // What the first launch that failed had to say, "" while none has.
  [[nodiscard]] std::string report() const;
  void keep_report(const std::string& text);
  // The error that sticks to the stream whose thread calls, by the work that it has done; success on other threads.
  static hip::Code error_here();
  // What was submitted by now, but for the first `count` items: launches stop, see cancelled().
  void cancel_behind(std::uint64_t count);
  [[nodiscard]] const std::atomic<bool>& cancelled() const { return cancelled_; }

 private:
  struct Item {
    Work work;
    std::vector<Mark> after;
    bool always = false;
  };
  void serve();
  [[nodiscard]] bool next_is_cancelled() const {
    return completed_ >= cancelled_from_ && completed_ < cancelled_until_;
  }

  const int device_;
  const bool blocking_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::deque<Item> queue_;
  std::uint64_t submitted_ = 0, completed_ = 0;
  std::uint64_t cancelled_from_ = 0, cancelled_until_ = 0;   // items of those numbers
  std::atomic<bool> cancelled_{false};   // of the item that runs
  hip::Code error_ = hip::success;
  std::string report_;
  bool closing_ = false;
  std::thread thread_;                   // last: it uses everything above
};

// The state of an event that several processes share, in device memory of its own.
struct SharedEvent {
  std::atomic<std::uint32_t> recorded, completed;   // numbers of records; completed is waited on (futex)
  std::atomic<std::int32_t> pid;                    // who recorded last
  std::atomic<std::uint64_t> start_time;
};

class Event {
 public:
  explicit Event(unsigned flags) : flags_(flags) {}
  // For several processes; `release` gives the shared state back.
  Event(unsigned flags, SharedEvent* shared, std::function<void()> release)
      : flags_(flags), shared_(shared), release_(std::move(release)) {}
  ~Event() {
    if (release_) release_();
  }
  Event(const Event&) = delete;

  [[nodiscard]] bool timed() const { return (flags_ & hip::event_disable_timing) == 0; }
  [[nodiscard]] bool interprocess() const { return (flags_ & hip::event_interprocess) != 0; }
  [[nodiscard]] SharedEvent* shared() const { return shared_; }
  // What a stream runs to complete the record that begins here.
  Stream::Work record();
  // Waits for the last record before this call; at once where there is none. operating_system: its process has ended;
  // launch_failure: `cancelled` became true, which it looks at fifty times a second. Who waits without a stream (null)
  // is told the error that stuck to the recording stream, of this process, by then.
  using Waiter = std::function<hip::Code(const std::atomic<bool>* cancelled)>;
  [[nodiscard]] Waiter waiter() const;
  // not_ready, or as who waits without a stream is told.
  [[nodiscard]] hip::Code query() const;
  // Both recorded, complete and timed.
  static hip::Code elapsed(const Event& from, const Event& to, float& milliseconds);

 private:
  struct Record {
    std::mutex mutex;
    std::condition_variable changed;
    bool done = false;
    hip::Code error = hip::success;      // of the stream when the record was complete
    std::chrono::steady_clock::time_point time;
  };
  [[nodiscard]] std::shared_ptr<Record> last() const;

  const unsigned flags_;
  SharedEvent* const shared_ = nullptr;
  const std::function<void()> release_;
  mutable std::mutex mutex_;
  std::shared_ptr<Record> last_;
};

}  // namespace kiln::emulator
