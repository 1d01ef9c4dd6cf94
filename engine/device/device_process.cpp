// The client of a device process: starts it, restores its state when it had to be started again, and keeps the books.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "engine/base/channel.hpp"
#include "engine/base/error_encoding.hpp"
#include "engine/base/os.hpp"
#include "engine/base/process.hpp"
#include "engine/device/device.hpp"
#include "engine/device/device_protocol.hpp"

namespace kiln::device {
namespace {

constexpr auto start_limit = std::chrono::seconds(60);
constexpr auto call_limit = std::chrono::seconds(120);  // loading links code; a process that takes longer is stuck
constexpr auto send_limit = std::chrono::seconds(20);
constexpr auto reap_limit = std::chrono::milliseconds(500);

// A removal whose item went with its process has succeeded.
Status gone(Status removed) {
  if (!removed && (removed.error().code == ErrorCode::device_lost || removed.error().code == ErrorCode::not_found))
    return {};
  return removed;
}

// One thread, the keeper, starts the process (PDEATHSIG follows the thread), reads its frames and buries it; another
// calls back, so that a callback may call the device again.
class DeviceProcess final : public Device {
 public:
  explicit DeviceProcess(DeviceProcessOptions options)
      : options_(std::move(options)), wake_keeper_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        caller_([this] { call_back(); }), keeper_([this] { keep(); }) {}
  ~DeviceProcess() override;
  Result<DeviceInfo> info() override;
  Result<KernelId> load(const compile::Metadata& metadata, ByteView object) override;
  Status unload(KernelId kernel) override;
  Result<BufferId> map(int fd, std::uint64_t offset, std::uint64_t size, bool writable) override;
  Status unmap(BufferId buffer) override;
  LaunchId launch(KernelId kernel, std::vector<LaunchArgument> arguments, std::uint64_t stream,
                  LaunchDone done) override;
  void cancel(LaunchId launch) override;

 private:
  struct Buffer {
    UniqueFd fd;
    MapOrder order;
  };
  struct Call {  // one request that waits for `done`
    std::optional<Status> status;
    std::function<void()> keep_books;  // run with the lock held when it succeeded, before anything later can happen
  };
  struct Launch {
    LaunchDone done;
    Deadline answer;  // set by cancel
  };
  enum class State { down, starting, up };
  using Socket = std::shared_ptr<UniqueFd>;

  // The callers' side.
  Result<Socket> ensure_up(std::unique_lock<std::mutex>& lock);
  Status call(DeviceFrame kind, std::uint64_t request, const Bytes& payload, std::span<const int> fds,
              std::function<void()> keep_books);
  void send(const Socket& socket, DeviceFrame kind, ByteView payload, std::span<const int> fds = {});
  void wake_keeper();
  // The keeper's side.
  void keep();
  Result<Socket> start();
  Result<Frame> answer_to(const Socket& socket, DeviceFrame kind, ByteView payload, std::span<const int> fds,
                          Deadline deadline);
  void restore(const Socket& socket);
  void read_until_end(const Socket& socket);
  bool overdue_cancellation(int& wait_ms);
  Status handle(const Frame& frame);
  void bury();
  std::string reap();
  // The caller's side.
  void complete(LaunchDone done, Result<LaunchReport> report);  // with the lock held
  void call_back();

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
  std::map<KernelId, LoadOrder> kernels_;
  std::map<BufferId, Buffer> buffers_;
  std::map<std::uint64_t, std::shared_ptr<Call>> calls_;
  std::map<LaunchId, Launch> launches_;
  std::mutex send_mutex_;              // one writer at a time
  UniqueFd wake_keeper_;
  std::deque<std::function<void()>> completions_;
  bool no_more_completions_ = false;
  std::condition_variable completed_;
  std::thread caller_, keeper_;        // last: they use everything above
};

DeviceProcess::~DeviceProcess() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    killed_because_ = "it is being shut down";
    child_.kill(SIGKILL);
    changed_.notify_all();
  }
  wake_keeper();
  keeper_.join();
  {
    const std::lock_guard lock(mutex_);
    no_more_completions_ = true;
    completed_.notify_all();
  }
  caller_.join();
}

void DeviceProcess::wake_keeper() {
  const std::uint64_t one = 1;
  (void)os::write(wake_keeper_.get(), &one, sizeof one);
}

// ---- callers ------------------------------------------------------------------------------------------------------

Result<DeviceProcess::Socket> DeviceProcess::ensure_up(std::unique_lock<std::mutex>& lock) {
  if (state_ != State::up && !closing_) {
    const auto before = attempts_;
    wanted_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return closing_ || attempts_ != before; });
  }
  if (closing_) return Error(ErrorCode::device_lost, "the device is being shut down");
  if (state_ != State::up)
    return start_error_ ? *start_error_ : Error(ErrorCode::device_lost, "the device process ended", true);
  return socket_;
}

void DeviceProcess::send(const Socket& socket, DeviceFrame kind, ByteView payload, std::span<const int> fds) {
  Status sent;
  {
    const std::lock_guard lock(send_mutex_);
    sent = send_frame(socket->get(), static_cast<std::uint8_t>(kind), payload, fds, Deadline::after(send_limit));
  }
  if (sent || sent.error().code == ErrorCode::device_lost) return;  // the keeper sees its end
  const std::lock_guard lock(mutex_);
  if (socket_ != socket) return;
  killed_because_ = "it stopped reading requests";
  child_.kill(SIGKILL);
}

Status DeviceProcess::call(DeviceFrame kind, std::uint64_t request, const Bytes& payload, std::span<const int> fds,
                           std::function<void()> keep_books) {
  auto call = std::make_shared<Call>();
  call->keep_books = std::move(keep_books);
  std::unique_lock lock(mutex_);
  KILN_TRY(const auto socket, ensure_up(lock));
  calls_[request] = call;
  lock.unlock();
  send(socket, kind, payload, fds);
  lock.lock();
  const auto answered = [&] { return call->status.has_value(); };
  if (!changed_.wait_for(lock, call_limit, answered)) {
    if (socket_ == socket) {
      killed_because_ = "it did not answer a request for 120 s";
      child_.kill(SIGKILL);
    }
    changed_.wait(lock, answered);  // the keeper fails what is in flight
  }
  return *call->status;
}

Result<DeviceInfo> DeviceProcess::info() {
  std::unique_lock lock(mutex_);
  if (attempts_ == 0 || info_.name.empty()) KILN_CHECK(ensure_up(lock));
  return info_;
}

Result<KernelId> DeviceProcess::load(const compile::Metadata& metadata, ByteView object) {
  LoadOrder order;
  {
    const std::lock_guard lock(mutex_);
    order.request = next_id_++;
    order.kernel = next_id_++;
  }
  order.metadata = compile::encode(metadata);
  order.object.assign(object.begin(), object.end());
  const auto payload = encode(order);
  KILN_CHECK(call(DeviceFrame::load, order.request, payload, {}, [&] { kernels_[order.kernel] = order; }));
  return order.kernel;
}

Status DeviceProcess::unload(KernelId kernel) {
  RemoveOrder order{0, kernel};
  {
    const std::lock_guard lock(mutex_);
    if (kernels_.erase(kernel) == 0) return Error(ErrorCode::not_found, "no such kernel on the device");
    if (state_ == State::down) return {};
    order.request = next_id_++;
  }
  return gone(call(DeviceFrame::unload, order.request, encode(order), {}, {}));
}

Result<BufferId> DeviceProcess::map(int fd, std::uint64_t offset, std::uint64_t size, bool writable) {
  UniqueFd kept(os::duplicate(fd, 0));
  if (!kept) return errno_error(errno, "cannot keep the buffer's descriptor");
  MapOrder order{0, 0, offset, size, writable};
  {
    const std::lock_guard lock(mutex_);
    order.request = next_id_++;
    order.buffer = next_id_++;
  }
  KILN_CHECK(call(DeviceFrame::map, order.request, encode(order), std::span(&fd, 1),
                  [&] { buffers_[order.buffer] = {std::move(kept), order}; }));
  return order.buffer;
}

Status DeviceProcess::unmap(BufferId buffer) {
  RemoveOrder order{0, buffer};
  {
    const std::lock_guard lock(mutex_);
    if (buffers_.erase(buffer) == 0) return Error(ErrorCode::not_found, "no such buffer on the device");
    if (state_ == State::down) return {};
    order.request = next_id_++;
  }
  return gone(call(DeviceFrame::unmap, order.request, encode(order), {}, {}));
}

LaunchId DeviceProcess::launch(KernelId kernel, std::vector<LaunchArgument> arguments, std::uint64_t stream,
                               LaunchDone done) {
  LaunchOrder order{0, kernel, stream, std::move(arguments)};
  std::unique_lock lock(mutex_);
  order.launch = next_id_++;
  auto socket = ensure_up(lock);
  if (!socket) {
    lock.unlock();
    done(std::move(socket).error());
    return order.launch;
  }
  launches_[order.launch].done = std::move(done);
  lock.unlock();
  send(*socket, DeviceFrame::launch, encode(order));
  return order.launch;
}

void DeviceProcess::cancel(LaunchId launch) {
  Socket socket;
  {
    const std::lock_guard lock(mutex_);
    const auto it = launches_.find(launch);
    if (it == launches_.end() || state_ != State::up) return;
    it->second.answer = it->second.answer.earlier(Deadline::after(options_.cancel_limit));
    socket = socket_;
  }
  wake_keeper();
  Writer w;
  w.u64(launch);
  send(socket, DeviceFrame::cancel, w.data());
}

// ---- the keeper ---------------------------------------------------------------------------------------------------

void DeviceProcess::keep() {
  for (;;) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return wanted_ || closing_; });
    if (closing_) return;
    wanted_ = false;
    state_ = State::starting;
    lock.unlock();
    auto socket = start();
    if (socket) restore(*socket);
    lock.lock();
    ++attempts_;
    state_ = socket ? State::up : State::down;
    start_error_.reset();
    if (socket) socket_ = *socket; else start_error_ = socket.error();
    changed_.notify_all();
    lock.unlock();
    if (!socket) continue;
    read_until_end(*socket);
    bury();
  }
}

Result<DeviceProcess::Socket> DeviceProcess::start() {
  KILN_TRY(auto sockets, socket_pair());
  SpawnOptions spawn;
  spawn.command = options_.command;
  spawn.environment = options_.environment;
  spawn.descriptors = {{sockets.second.get(), device_descriptor}};
  spawn.log_path = options_.log_path;
  KILN_TRY(auto child, ChildProcess::spawn(spawn));
  sockets.second.reset();
  const auto fail = [&](const std::string& why) {
    const std::lock_guard lock(mutex_);
    return Error(ErrorCode::device_lost, "the device process could not be started: " + why, true);
  };
  {
    const std::lock_guard lock(mutex_);
    child_ = std::move(child);
    killed_because_.clear();
    if (closing_) child_.kill(SIGKILL);
  }
  auto hello = receive_frame(sockets.first.get(), Deadline::after(start_limit));
  if (!hello) return fail(reap());
  if (hello->kind == static_cast<std::uint8_t>(DeviceFrame::failed)) {
    Reader r(hello->payload);
    auto error = read_error(r);
    reap();
    return error;
  }
  auto info = decode_info(hello->payload);
  if (!info || hello->kind != static_cast<std::uint8_t>(DeviceFrame::ready))
    return fail("it did not introduce itself; " + reap());
  const std::lock_guard lock(mutex_);
  info_ = std::move(*info);
  return std::make_shared<UniqueFd>(std::move(sockets.first));
}

// Gives the new process the kernels and buffers of the old one. What cannot be restored fails its launches there, with
// not_found; a process that ends meanwhile is noticed by the reading that follows.
void DeviceProcess::restore(const Socket& socket) {
  std::vector<LoadOrder> kernels;
  std::vector<std::pair<MapOrder, UniqueFd>> buffers;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, order] : kernels_) kernels.push_back(order);
    for (const auto& [id, buffer] : buffers_)
      if (auto fd = buffer.fd.duplicate()) buffers.emplace_back(buffer.order, std::move(*fd));
  }
  const auto deadline = Deadline::after(call_limit);
  for (const auto& order : kernels)
    if (!answer_to(socket, DeviceFrame::load, encode(order), {}, deadline)) return;
  for (const auto& [order, fd] : buffers) {
    const int number = fd.get();
    if (!answer_to(socket, DeviceFrame::map, encode(order), std::span(&number, 1), deadline)) return;
  }
}

Result<Frame> DeviceProcess::answer_to(const Socket& socket, DeviceFrame kind, ByteView payload,
                                       std::span<const int> fds, Deadline deadline) {
  KILN_CHECK(send_frame(socket->get(), static_cast<std::uint8_t>(kind), payload, fds, deadline));
  return receive_frame(socket->get(), deadline);
}

// Whether a cancelled launch went on for too long; else how long to wait for the next that might (-1: no limit).
bool DeviceProcess::overdue_cancellation(int& wait_ms) {
  const std::lock_guard lock(mutex_);
  Deadline next;
  for (const auto& [id, launch] : launches_) next = next.earlier(launch.answer);
  wait_ms = next.left_ms();
  if (next.passed()) killed_because_ = "a cancelled launch did not end";
  return next.passed();
}

void DeviceProcess::read_until_end(const Socket& socket) {
  for (;;) {
    int wait_ms = -1;
    if (overdue_cancellation(wait_ms)) return;
    pollfd entries[2] = {{socket->get(), POLLIN, 0}, {wake_keeper_.get(), POLLIN, 0}};
    if (os::poll(entries, 2, wait_ms) <= 0) continue;
    if (entries[1].revents) {
      std::uint64_t count;
      (void)os::read(wake_keeper_.get(), &count, sizeof count);
      const std::lock_guard lock(mutex_);
      if (closing_) return;
    }
    if (!entries[0].revents) continue;
    auto frame = receive_frame(socket->get(), Deadline::after(send_limit));
    if (!frame) return;
    if (handle(*frame)) continue;
    const std::lock_guard lock(mutex_);
    killed_because_ = "it sent damaged frames";
    return;
  }
}

Status DeviceProcess::handle(const Frame& frame) {
  if (frame.kind == static_cast<std::uint8_t>(DeviceFrame::done)) {
    KILN_TRY(auto report, decode_done(frame.payload));
    const std::lock_guard lock(mutex_);
    const auto it = calls_.find(report.request);
    if (it == calls_.end()) return {};
    if (report.status && it->second->keep_books) it->second->keep_books();
    it->second->status = std::move(report.status);
    calls_.erase(it);
    changed_.notify_all();
    return {};
  }
  if (frame.kind != static_cast<std::uint8_t>(DeviceFrame::launched))
    return Error(ErrorCode::protocol_error, "unknown frame");
  KILN_TRY(auto report, decode_launched(frame.payload));
  const std::lock_guard lock(mutex_);
  const auto it = launches_.find(report.launch);
  if (it == launches_.end()) return {};
  complete(std::move(it->second.done), std::move(report.report));
  launches_.erase(it);
  return {};
}

// Reaps the process, killing it if it is still there after a moment; what ended it, in words.
std::string DeviceProcess::reap() {
  const auto until = Deadline::after(reap_limit);
  std::unique_lock lock(mutex_);
  std::optional<std::string> how;
  while (killed_because_.empty() && !(how = child_.ended(false)) && !until.passed())
    changed_.wait_for(lock, std::chrono::milliseconds(1));
  child_.kill(SIGKILL);
  if (!how) how = child_.ended(true);
  if (!killed_because_.empty()) return "it was killed: " + killed_because_;
  return how.value_or("ended");
}

void DeviceProcess::bury() {
  const Error error(ErrorCode::device_lost, "the device process ended: " + reap(), true);
  const std::lock_guard lock(mutex_);
  state_ = State::down;
  socket_.reset();
  for (auto& [id, launch] : launches_) complete(std::move(launch.done), error);
  launches_.clear();
  for (auto& [id, call] : calls_) call->status = Status(error);
  calls_.clear();
  changed_.notify_all();
}

void DeviceProcess::complete(LaunchDone done, Result<LaunchReport> report) {
  completions_.push_back([done = std::move(done), report = std::move(report)]() mutable { done(std::move(report)); });
  completed_.notify_all();
}

void DeviceProcess::call_back() {
  std::unique_lock lock(mutex_);
  for (;;) {
    completed_.wait(lock, [&] { return no_more_completions_ || !completions_.empty(); });
    if (completions_.empty()) return;
    auto completion = std::move(completions_.front());
    completions_.pop_front();
    lock.unlock();
    completion();
    completion = nullptr;  // what it held may call back into this device when it goes: not under the lock
    lock.lock();
  }
}

}  // namespace

std::unique_ptr<Device> start_device_process(DeviceProcessOptions options) {
  return std::make_unique<DeviceProcess>(std::move(options));
}

}  // namespace kiln::device
