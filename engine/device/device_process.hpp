// The client of a device process: starts it, restores its state when it had to be started again, keeps the books, and
// sees to it that whoever waits is answered when the process does not answer.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <variant>

#include "engine/base/channel.hpp"
#include "engine/base/process.hpp"
#include "engine/device/completions.hpp"
#include "engine/device/device.hpp"
#include "engine/device/device_protocol.hpp"
#include "engine/device/frame_sender.hpp"

namespace kiln::device {

// One thread, the keeper, starts the process (PDEATHSIG follows the thread), reads its frames and buries it. The process
// reads its orders at once whatever it runs, so that a ping behind an order is answered when the order is known to it:
// silence means that it hangs, and a cancelled launch that is still there at the answer is one that runs.
class DeviceProcess final : public Device {
 public:
  explicit DeviceProcess(DeviceProcessOptions options);
  ~DeviceProcess() override;
  Result<DeviceInfo> info() override;
  Result<KernelId> load(const compile::Metadata& metadata, ByteView object) override;
  Status unload(KernelId kernel) override;
  Result<BufferId> map(int fd, std::uint64_t offset, std::uint64_t size, bool writable) override;
  using Device::unmap;
  using UntilFree = std::shared_ptr<const void>;
  Status unmap(BufferId buffer, UntilFree until_free) override;
  Result<BufferId> open_memory(const IpcHandle& handle, std::uint64_t offset, std::uint64_t size,
                               UntilFree until_free) override;
  Result<BufferId> import_memory(int fd, std::uint64_t offset, std::uint64_t size, UntilFree until_free) override;
  Result<AllocatedBuffer> allocate(std::uint64_t size, UntilFree until_free) override;
  Status read(BufferId buffer, std::uint64_t offset, std::uint64_t bytes, int fd) override;
  Result<EventId> open_event(const IpcHandle& handle) override;
  Result<MadeEvent> make_event() override;
  Status close_event(EventId event) override;
  LaunchId launch(KernelId kernel, std::vector<LaunchArgument> arguments, LaunchSettings settings,
                  LaunchDone done) override;
  Result<PlanId> make_plan(const std::vector<PlanStep>& steps) override;
  LaunchId run_plan(PlanId plan, std::uint64_t stream, LaunchDone done) override;
  Status drop_plan(PlanId plan) override;
  Result<RingId> make_ring(int memory, UniqueFd bell, std::uint32_t slots, std::uint64_t stream) override;
  Status attach_to_ring(RingId ring, std::uint64_t number, PlanId plan) override;
  Status drop_ring(RingId ring) override;
  void cancel(LaunchId launch) override;

 private:
  // A kernel, buffer, event or plan as the process was given it, without the request's number.
  struct Item {
    enum class Kind : std::uint8_t { kernel, buffer, event, plan } kind = Kind::kernel;
    DeviceFrame frame = DeviceFrame::load;
    std::variant<LoadOrder, MapOrder, MemoryOrder, EventOrder, PlanOrder> order;
    UniqueFd fd;               // of a mapping
    // The process's own memory and events end with it.
    [[nodiscard]] bool own() const { return frame == DeviceFrame::allocate || frame == DeviceFrame::make_event; }
  };
  struct Request {  // before it is sent
    DeviceFrame kind = DeviceFrame::load;
    std::uint64_t number = 0;
    Bytes payload;
    UniqueFd fd;
    std::function<void()> keep_books;  // see Call
    UntilFree until_free;              // of the frames that are answered by `freed`, else null
    UniqueFd bell;                     // of a ring
  };
  struct Call {  // one request that waits for `done`
    std::optional<Status> status;
    Bytes payload;
    std::function<void()> keep_books;  // run with the lock held when it succeeded, before anything later can happen
  };
  struct Launch {
    std::uint64_t item = 0;     // its kernel or plan
    std::uint64_t stream = 0;
    bool records = false;       // an event: the card may have it behind others of its stream
    std::function<void()> enqueued;
    LaunchDone done;            // null when it was called without waiting for the process
    std::uint64_t told = 0;     // the ping behind its cancellation, 0: not cancelled
    Deadline answer;            // when it is answered though the process says nothing
    Deadline end;               // when it must have ended: set when it runs and was told to stop
  };
  // What a launch, a reading or a plan's run needs of the process, in the order in which it has to be restored.
  struct Needs {
    std::vector<std::uint64_t> kernels, memory, events, plan;
    void add(const std::vector<LaunchArgument>& arguments);
  };
  struct Restoring {  // a kernel, buffer, event or plan, for a process that does not have it
    DeviceFrame kind = DeviceFrame::load;
    std::uint64_t request = 0;
    Bytes payload;
    UniqueFd fd;  // of a mapping
    [[nodiscard]] std::span<const int> fds() const { return fd ? std::span(&number, 1) : std::span<const int>(); }
    int number = -1;
  };
  Result<Restoring> restoring(std::uint64_t id);
  static Bytes payload_of(const Item& item, std::uint64_t request);
  enum class State { down, starting, up };
  using Socket = SharedSocket;

  // The callers' side.
  Result<Socket> ensure_up(std::unique_lock<std::mutex>& lock);
  // `needs` is asked with the lock held, and only where something is missing.
  Result<Socket> ensure_restored(std::unique_lock<std::mutex>& lock, const std::function<Needs()>& needs);
  Needs plan_needs(PlanId plan) const;                    // with the lock held
  LaunchId begin_launch(std::unique_lock<std::mutex>& lock, LaunchId id, Launch launch, Result<Socket> socket,
                        DeviceFrame frame, const std::function<Bytes()>& payload);
  Status bring_back(std::uint64_t id);
  // Numbers the item and gives it to the process, whose payload it answers; the item's id.
  Result<std::uint64_t> bring(Item item, UntilFree until_free = nullptr, Bytes* payload = nullptr);
  Result<BufferId> bring_mapping(int fd, const MapOrder& order, UntilFree until_free);
  Status take_away(std::uint64_t id, Item::Kind kind, DeviceFrame frame, UntilFree until_free = nullptr);
  Status check_not_lost(const Needs& needs) const;        // with the lock held
  Result<std::shared_ptr<Call>> begin_call(std::unique_lock<std::mutex>& lock, Request request);
  // A process that does not answer within `limit` is ended, `why`.
  Result<Bytes> call(Request request, std::chrono::milliseconds limit, const char* why);
  Result<Bytes> call(Request request);
  Status remove(Request request);
  void send(const Socket& socket, DeviceFrame kind, Bytes payload, std::vector<UniqueFd> fds = {},
            LaunchId launch = 0) {
    sender_.send(socket, static_cast<std::uint8_t>(kind), std::move(payload), std::move(fds), launch);
  }
  std::uint64_t ping(const Socket& socket);  // with the lock held
  void watch();                              // with the lock held: something is in flight
  void wake_keeper();
  // The keeper's side.
  void keep();
  Result<Socket> start();
  Status answer_to(const Socket& socket, const Restoring& order, Deadline deadline);
  void restore(const Socket& socket);
  void read_until_end(const Socket& socket);
  bool must_end(const Socket& socket, int& wait_ms);
  void write_note();
  Deadline answer_overdue();      // with the lock held
  bool silent(const Socket& socket);  // with the lock held
  Status handle(const Frame& frame);
  Status handle_done(ByteView payload);
  Status handle_launched(ByteView payload);
  Status handle_enqueued(ByteView payload);
  Status handle_pong(ByteView payload);
  Status handle_freed(ByteView payload);
  // With the lock held: from now on those launches that were told to stop and that nothing before them holds up have to end.
  void begin_endings();
  void bury();
  std::string reap();
  static Error cancelled_launch();
  // With the lock held.
  void complete(Launch& launch, Result<LaunchReport> report);
  std::string describe(LaunchId id, const Launch& launch) const;
  std::string note_of_end(const std::string& why) const;

  const DeviceProcessOptions options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::down;
  bool wanted_ = false, closing_ = false;
  std::uint64_t attempts_ = 0;         // starts that succeeded or failed
  std::optional<Error> start_error_;   // of the last attempt
  std::uint64_t next_id_ = 1;          // of kernels, buffers, launches and requests alike
  DeviceInfo info_;
  Socket socket_;
  ChildProcess child_;
  std::string killed_because_;         // when it was us
  std::map<std::uint64_t, Item> items_;
  std::set<std::uint64_t> missing_;    // items that this process could not be given
  std::set<std::uint64_t> lost_;       // an earlier process's own items
  std::map<std::uint64_t, std::shared_ptr<Call>> calls_;
  std::map<std::uint64_t, UntilFree> until_free_;  // by request: of memory that the process still has
  std::map<LaunchId, Launch> launches_;
  std::uint64_t pinged_ = 0, ponged_ = 0;  // serials of the last ping and the last answer
  bool watching_ = false;              // the keeper looks at every beat whether the process answers
  Deadline beat_;
  int silent_beats_ = 0;
  std::string end_note_;               // the keeper's
  UniqueFd wake_keeper_;
  FrameSender sender_;
  Completions completions_;
  std::thread keeper_;                 // last: it uses everything above
};

}  // namespace kiln::device
