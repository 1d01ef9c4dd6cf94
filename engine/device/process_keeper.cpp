// The thread that starts a device process, listens to it, judges it and buries it.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "engine/base/error_encoding.hpp"
#include "engine/base/os.hpp"
#include "engine/device/device_process.hpp"

namespace kiln::device {
namespace {

constexpr auto start_limit = std::chrono::seconds(60);
constexpr auto restore_limit = std::chrono::seconds(120);
constexpr auto frame_limit = std::chrono::seconds(20);  // from a frame's first byte to its last
constexpr auto reap_limit = std::chrono::milliseconds(500);
constexpr int silent_beats_max = 10;  // so many looks in a row that found nothing said: one alone may be our own sleep
constexpr std::size_t launches_named_max = 8;

}  // namespace

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
    ponged_ = pinged_;
    silent_beats_ = 0;
    watching_ = false;
    beat_ = {};
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
    const bool incomplete = why.ends_with("exit status 127");  // the loader's: a library is missing
    return Error(ErrorCode::device_lost, "the device process could not be started: " + why, !incomplete);
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

// Gives the new process the kernels, buffers, events and plans of the old one. What it does not take stays in `missing_`: the next launch
// that uses it tries again, and says why if it fails. A process that ends meanwhile is noticed by the reading that follows.
void DeviceProcess::restore(const Socket& socket) {
  std::vector<std::uint64_t> ids;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, item] : items_)
      if (!item.own()) ids.push_back(id);
    missing_ = {ids.begin(), ids.end()};
  }
  const auto deadline = Deadline::after(restore_limit);
  for (const auto id : ids) {
    const auto order = restoring(id);
    if (!order) continue;
    const auto status = answer_to(socket, *order, deadline);
    if (!status && status.error().code == ErrorCode::device_lost) return;
    const std::lock_guard lock(mutex_);
    if (status) missing_.erase(id);
  }
}

// What the process says to the order; device_lost when it says nothing that can be understood.
Status DeviceProcess::answer_to(const Socket& socket, const Restoring& order, Deadline deadline) {
  const Error lost(ErrorCode::device_lost, "the device process does not answer");
  if (!send_frame(socket->get(), static_cast<std::uint8_t>(order.kind), order.payload, order.fds(), deadline)) return lost;
  auto frame = receive_frame(socket->get(), deadline);
  while (frame && frame->kind == static_cast<std::uint8_t>(DeviceFrame::freed)) {
    if (!handle(*frame)) return lost;
    frame = receive_frame(socket->get(), deadline);
  }
  if (!frame || frame->kind != static_cast<std::uint8_t>(DeviceFrame::done)) return lost;
  auto report = decode_done(frame->payload);
  return report && report->request == order.request ? std::move(report->status) : Status(lost);
}

// Answers the cancelled launches that the process says nothing about; when the next one is due.
Deadline DeviceProcess::answer_overdue() {
  Deadline next;
  for (auto& [id, launch] : launches_) {
    if (launch.answer.passed()) {
      launch.answer = {};
      complete(launch, cancelled_launch());
    }
    next = next.earlier(launch.answer);
  }
  return next;
}

// Whether the process has said nothing for too many beats, though there was something to answer.
bool DeviceProcess::silent(const Socket& socket) {
  if (!watching_ || !(beat_.never() || beat_.passed())) return false;
  const bool first = beat_.never();
  if (!first && calls_.empty() && launches_.empty()) {
    watching_ = false;
    beat_ = {};
    return false;
  }
  beat_ = Deadline::after(std::max(options_.hung_limit / silent_beats_max, std::chrono::milliseconds(1)));
  if (first || pinged_ == ponged_) ping(socket);
  else ++silent_beats_;
  return silent_beats_ >= silent_beats_max;
}

// Whether the process is beyond help: it does not answer, or a launch goes on long after it was told to stop. Else how
// long to wait for the next that there is to do (-1: no limit).
bool DeviceProcess::must_end(const Socket& socket, int& wait_ms) {
  const std::lock_guard lock(mutex_);
  Deadline next = answer_overdue();
  for (const auto& [id, launch] : launches_) {
    next = next.earlier(launch.end);
    if (!launch.end.passed()) continue;
    killed_because_ = "a cancelled launch did not end";
    end_note_ = note_of_end(killed_because_ + ": " + describe(id, launch));
    return true;
  }
  if (silent(socket)) {
    killed_because_ = "it did not answer";
    end_note_ = note_of_end(killed_because_ + " for " + std::to_string(options_.hung_limit.count()) + " ms");
    return true;
  }
  wait_ms = next.earlier(beat_).left_ms();
  return false;
}

std::string DeviceProcess::describe(LaunchId id, const Launch& launch) const {
  std::string name = std::to_string(launch.item);
  const auto item = items_.find(launch.item);
  const bool is_plan = item != items_.end() && item->second.kind == Item::Kind::plan;
  if (const auto* load = item == items_.end() ? nullptr : std::get_if<LoadOrder>(&item->second.order))
    if (const auto metadata = compile::decode_metadata(load->metadata)) name += " (" + metadata->program + ")";
  return "launch " + std::to_string(id) + " of stream " + std::to_string(launch.stream) +
         (is_plan ? ", plan " : ", kernel ") + name;
}

// A line for the log: why, and whose launches are lost with it.
std::string DeviceProcess::note_of_end(const std::string& why) const {
  std::string lost;
  std::size_t named = 0;
  for (const auto& [id, launch] : launches_)
    if (named++ < launches_named_max) lost += (lost.empty() ? "" : "; ") + describe(id, launch);
  if (named > launches_named_max) lost += "; and " + std::to_string(named - launches_named_max) + " more";
  return "kiln: device process " + std::to_string(child_.pid()) + " is ended: " + why +
         "; in flight: " + (lost.empty() ? "no launch" : lost) + "\n";
}

void DeviceProcess::write_note() {
  const auto note = std::exchange(end_note_, {});
  if (note.empty()) return;
  UniqueFd log;
  if (!options_.log_path.empty())
    log = UniqueFd(os::openat(AT_FDCWD, options_.log_path.c_str(),
                              O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  (void)write_all(log ? log.get() : STDERR_FILENO, view(note));  // a log that cannot be written changes nothing else
}

void DeviceProcess::read_until_end(const Socket& socket) {
  for (;;) {
    int wait_ms = -1;
    if (must_end(socket, wait_ms)) return;
    pollfd entries[2] = {{socket->get(), POLLIN, 0}, {wake_keeper_.get(), POLLIN, 0}};
    if (os::poll(entries, 2, wait_ms) <= 0) continue;
    if (entries[1].revents) {
      std::uint64_t count;
      (void)os::read(wake_keeper_.get(), &count, sizeof count);
      const std::lock_guard lock(mutex_);
      if (closing_) return;
    }
    if (!entries[0].revents) continue;
    auto frame = receive_frame(socket->get(), Deadline::after(frame_limit));
    if (frame && handle(*frame)) continue;
    const std::lock_guard lock(mutex_);
    if (frame) killed_because_ = "it sent damaged frames";
    else if (sender_.stuck()) killed_because_ = "it stopped reading requests";
    return;
  }
}

Status DeviceProcess::handle(const Frame& frame) {
  const std::lock_guard lock(mutex_);
  silent_beats_ = 0;
  switch (static_cast<DeviceFrame>(frame.kind)) {
    case DeviceFrame::done: return handle_done(frame.payload);
    case DeviceFrame::launched: return handle_launched(frame.payload);
    case DeviceFrame::enqueued: return handle_enqueued(frame.payload);
    case DeviceFrame::pong: return handle_pong(frame.payload);
    case DeviceFrame::freed: return handle_freed(frame.payload);
    default: return Error(ErrorCode::protocol_error, "unknown frame");
  }
}

Status DeviceProcess::handle_done(ByteView payload) {
  KILN_TRY(auto report, decode_done(payload));
  const auto it = calls_.find(report.request);
  if (it == calls_.end()) return {};
  if (report.status && it->second->keep_books) it->second->keep_books();
  it->second->status = std::move(report.status);
  it->second->payload = std::move(report.payload);
  calls_.erase(it);
  changed_.notify_all();
  return {};
}

Status DeviceProcess::handle_launched(ByteView payload) {
  KILN_TRY(auto report, decode_launched(payload));
  const auto it = launches_.find(report.launch);
  if (it == launches_.end()) return {};
  complete(it->second, std::move(report.report));
  launches_.erase(it);
  begin_endings();
  return {};
}

Status DeviceProcess::handle_enqueued(ByteView payload) {
  Reader r(payload);
  const auto it = launches_.find(r.u64());
  KILN_CHECK(r.finish());
  if (it != launches_.end() && it->second.enqueued) completions_.add(std::exchange(it->second.enqueued, nullptr));
  return {};
}

// The process knows what was sent before the ping: a launch that it was told to stop and has not answered runs.
Status DeviceProcess::handle_pong(ByteView payload) {
  Reader r(payload);
  const auto serial = r.u64();
  KILN_CHECK(r.finish());
  ponged_ = std::max(ponged_, std::min(serial, pinged_));
  begin_endings();
  changed_.notify_all();
  return {};
}

// A launch that the card has behind others of its stream cannot end before they do: its time begins when they have.
void DeviceProcess::begin_endings() {
  std::set<std::uint64_t> held_up;   // streams with a launch that goes on
  for (auto& [id, launch] : launches_) {
    const bool told = launch.told != 0 && launch.told <= ponged_;
    if (told) launch.answer = {};
    const bool must_end = told && !(launch.records && held_up.contains(launch.stream));
    if (launch.records) held_up.insert(launch.stream);
    if (must_end && launch.end.never()) launch.end = Deadline::after(options_.cancel_limit);
  }
}

Status DeviceProcess::handle_freed(ByteView payload) {
  Reader r(payload);
  const auto request = r.u64();
  KILN_CHECK(r.finish());
  until_free_.erase(request);
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
  write_note();
  const std::lock_guard lock(mutex_);
  state_ = State::down;
  socket_.reset();
  for (auto& [id, launch] : launches_) complete(launch, launch.told != 0 ? cancelled_launch() : error);
  launches_.clear();
  for (auto& [id, call] : calls_) call->status = Status(error);
  calls_.clear();
  until_free_.clear();
  for (const auto& [id, item] : items_)
    if (item.own()) lost_.insert(id);
  changed_.notify_all();
}

}  // namespace kiln::device
