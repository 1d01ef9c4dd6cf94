#include "engine/reference/process.hpp"

#include <signal.h>

#include <algorithm>
#include <cerrno>

#include "engine/base/channel.hpp"
#include "engine/base/os.hpp"
#include "engine/reference/messages.hpp"

namespace kiln::reference {
namespace {

constexpr int socket_in_child = 3;
constexpr int cancel_poll_ms = 20;
// The interpreter looks at the deadline itself and answers with where it was; it is killed when it does not.
constexpr std::chrono::milliseconds grace{500};

Deadline later(const Deadline& deadline) {
  return deadline.never() ? deadline : Deadline::after(std::chrono::milliseconds(deadline.left_ms()) + grace);
}

}  // namespace

Result<ReferenceProcess> ReferenceProcess::start(ReferenceOptions options) {
  ReferenceProcess process;
  process.options_ = std::move(options);
  if (process.options_.command.empty()) process.options_.command = {executable_folder() + "/kiln-reference"};
  KILN_CHECK(process.spawn());
  return process;
}

Status ReferenceProcess::spawn() {
  KILN_TRY(auto pair, socket_pair());
  SpawnOptions spawn;
  spawn.command = options_.command;
  spawn.environment = options_.environment;
  spawn.descriptors = {{pair.second.get(), socket_in_child}};
  spawn.log_path = options_.log_path;
  spawn.address_space_bytes_max = options_.address_space_bytes_max;
  spawn.die_with_parent = false;  // it would die with the calling thread; it ends when its socket closes instead
  KILN_TRY(child_, ChildProcess::spawn(spawn));
  socket_ = std::move(pair.first);
  return {};
}

void ReferenceProcess::stop() {
  socket_.reset();
  child_ = ChildProcess();
}

Error ReferenceProcess::death() {
  child_.kill(SIGKILL);  // it closed its socket or misbehaved: whatever it still is, it ends here
  const auto how = child_.ended(true);
  stop();
  return Error(ErrorCode::worker_died, "the interpreter's process ended: " + how.value_or("unknown"), true);
}

Result<RunReply> ReferenceProcess::run(const RunRequest& request, Deadline deadline, CancelToken cancel) {
  if (!child_.running() || child_.ended(false)) {
    stop();
    KILN_CHECK(spawn());
  }
  std::vector<int> fds;
  const auto payload = encode_request(request, deadline.left_ms(), fds);
  if (fds.size() > attached_fds_max) return Error(ErrorCode::resource_limit, "over 1024 descriptors in one request");
  const auto limit = later(deadline);
  Status sent;
  for (std::size_t i = 0; i < fds.size() && sent; i += frame_fds_max) {
    const auto part = std::span<const int>(fds).subspan(i, std::min(frame_fds_max, fds.size() - i));
    sent = send_frame(socket_.get(), static_cast<std::uint8_t>(MessageKind::attach), {}, part, limit);
  }
  if (sent) sent = send_frame(socket_.get(), static_cast<std::uint8_t>(MessageKind::run), payload, {}, limit);
  if (!sent) {
    if (sent.error().code == ErrorCode::device_lost) return death();
    stop();
    return std::move(sent).error();
  }
  return wait_for_reply(limit, cancel);
}

Result<RunReply> ReferenceProcess::wait_for_reply(Deadline deadline, const CancelToken& cancel) {
  for (;;) {
    pollfd entry{socket_.get(), POLLIN, 0};
    const int left = deadline.left_ms();
    const int ready = os::poll(&entry, 1, left < 0 ? cancel_poll_ms : std::min(left, cancel_poll_ms));
    if (ready > 0) break;
    if (ready < 0 && errno != EINTR) return errno_error(errno, "cannot wait for the interpreter's process");
    if (cancel.cancelled()) {
      stop();
      return Error(ErrorCode::cancelled, "cancelled");
    }
    if (deadline.passed()) {
      stop();
      return Error(ErrorCode::deadline_exceeded, "the interpreter did not end before the deadline", true);
    }
  }
  auto frame = receive_frame(socket_.get(), Deadline::after(std::chrono::seconds(10)));
  if (!frame || frame->kind != static_cast<std::uint8_t>(MessageKind::done)) return death();
  return decode_reply(frame->payload);
}

}  // namespace kiln::reference
