#include "api/server/connection.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/dispatch.hpp>
#include <cerrno>
#include <cstring>

namespace kiln::server {

using protocol::Json;
using protocol::Request;
using service::Reply;

namespace {

constexpr std::size_t fds_per_message = 64;  // of answers

// The line of a result that is text already.
std::string text_line(const Json& id, const std::string& result) {
  std::string line = "{\"id\":" + protocol::dump(id) + ",\"jsonrpc\":\"2.0\",\"result\":";
  line.reserve(line.size() + result.size() + 2);
  return line.append(result).append("}\n");
}

Json result_of(Reply&& reply) {
  return reply.text.empty() ? std::move(*reply.result) : Json::parse(reply.text, nullptr, false);
}

}  // namespace

Connection::Connection(Socket socket, service::ConnectionId id, service::Peer peer, const protocol::Limits& limits,
                       service::Service& service, ConnectionOwner& owner)
    : socket_(std::move(socket)), id_(id), peer_(peer), limits_(limits), service_(service), owner_(owner),
      stall_timer_(socket_.get_executor()), fds_timer_(socket_.get_executor()),
      pending_timer_(socket_.get_executor()), splitter_(limits.line_bytes_max) {
  socket_.non_blocking(true);
}

void Connection::start() {
  service_.connected(id_, peer_);
  wait_readable();
}

void Connection::close(const std::string& reason) {
  if (closed_) return;
  closed_ = true;
  if (!reason.empty()) owner_.log("c" + std::to_string(id_) + " (pid " + std::to_string(peer_.pid) + ") closed: " + reason);
  service::empty_connection(socket_.native_handle());
  boost::system::error_code ignored;
  socket_.close(ignored);
  stall_timer_.cancel();
  fds_timer_.cancel();
  pending_timer_.cancel();
  fds_.clear();
  pending_.clear();
  output_.clear();
  service_.disconnected(id_);
  owner_.closed(id_);
}

// ---- reading --------------------------------------------------------------------------------------------------------

void Connection::wait_readable() {
  if (closed_ || !reading_) return;
  socket_.async_wait(Socket::wait_read, [self = shared_from_this()](const boost::system::error_code& error) {
    if (!error) self->read_some();
  });
}

void Connection::read_some() {
  std::string bytes;
  if (closed_ || !receive(bytes)) return;
  if (!bytes.empty()) take_lines(bytes);
  wait_readable();
}

// One recvmsg. False when the connection was closed.
bool Connection::receive(std::string& bytes) {
  char buffer[64 << 10];
  auto received = service::receive(socket_.native_handle(), buffer);
  if (received.bytes < 0) {
    if (received.error_number == EAGAIN || received.error_number == EINTR) return true;
    close(std::string("receive failed: ") + std::strerror(received.error_number));
    return false;
  }
  for (auto& fd : received.fds) fds_.emplace_back(std::move(fd), Clock::now());
  if (received.cut_off) {
    close("out of file descriptors: those that it sent were cut off");
    return false;
  }
  if (fds_.size() > limits_.fds_queued_max) { close("more than " + std::to_string(limits_.fds_queued_max) + " descriptors queued"); return false; }
  if (!fds_.empty()) watch_fds();
  if (received.bytes == 0) {  // half-close: what was read is answered, the last line also without its end
    if (!splitter_.rest().empty()) take_lines("\n");
    if (closed_) return false;
    reading_ = false;
    end_if_done();
    if (!closed_) watch_hangup();
    return false;
  }
  bytes.assign(buffer, std::size_t(received.bytes));
  return true;
}

// After the client's end of file its calls go on until it hangs up altogether. The wait sees only later changes, so look once too.
void Connection::watch_hangup() {
  socket_.async_wait(Socket::wait_error, [self = shared_from_this()](const boost::system::error_code& error) {
    if (!error) self->close("");
  });
  pollfd now{socket_.native_handle(), 0, 0};
  if (::poll(&now, 1, 0) > 0 && (now.revents & (POLLHUP | POLLERR))) close("");
}

void Connection::take_lines(std::string_view bytes) {
  std::vector<std::string> lines;
  const bool fits = splitter_.feed(bytes, lines);
  for (const auto& line : lines) {
    take_line(line);
    if (closed_) return;
  }
  if (!fits) close("a line over " + std::to_string(limits_.line_bytes_max) + " bytes");
}

void Connection::take_line(const std::string& text) {
  auto line = protocol::parse_line(text, limits_);
  std::shared_ptr<Batch> batch;
  if (line.batch) {
    batch = std::make_shared<Batch>();
    batch->waiting = 1;  // this loop's own share, so that early replies do not end the batch
    for (const auto& item : line.items) {
      const auto* request = std::get_if<Request>(&item);
      if (!request || !request->notification) ++batch->waiting;
    }
  }
  for (auto& item : line.items) {
    take_item(std::move(item), batch);
    if (closed_) return;
  }
  if (batch) batch_reply(batch, nullptr, {});
}

void Connection::take_item(protocol::Item item, const std::shared_ptr<Batch>& batch) {
  if (auto* request = std::get_if<Request>(&item)) return take_request(std::move(*request), batch);
  auto& bad = std::get<protocol::BadRequest>(item);
  (void)claim_fds(bad.fds);  // its descriptors go with it
  answer(bad.id, bad.error, batch);
}

void Connection::take_request(Request request, const std::shared_ptr<Batch>& batch) {
  auto fds = claim_fds(request.fds);
  if (request.method == "$/cancel") {
    if (const auto it = request.params.find("id"); it != request.params.end() && !cancel_pending(*it)) service_.cancel(id_, *it);
    if (!request.notification) answer(request.id, Error(ErrorCode::protocol_error, "$/cancel is a notification: send it without an id"), batch);
    return;
  }
  if (!fds) {
    if (!request.notification) answer(request.id, fds.error(), batch);
    return;
  }
  if (pending_.size() >= limits_.batch_max) {
    if (!request.notification)
      answer(request.id, Error(ErrorCode::busy, "more than " + std::to_string(limits_.requests_in_flight_max) + " requests in flight and " +
                               std::to_string(limits_.batch_max) + " waiting on this connection", true), batch);
    return;
  }
  Deadline deadline;
  if (request.deadline_ms >= 0) deadline = Deadline::after(std::chrono::milliseconds(request.deadline_ms));
  pending_.push_back({std::move(request), std::move(*fds), batch, deadline});
  start_pending();
  if (!pending_.empty()) watch_pending();
}

// Whether the id is that of a request that waits; it is answered and waits no more.
bool Connection::cancel_pending(const Json& id) {
  const auto it = std::find_if(pending_.begin(), pending_.end(),
                               [&](const Pending& p) { return !p.request.notification && p.request.id == id; });
  if (it == pending_.end()) return false;
  const auto batch = it->batch;
  pending_.erase(it);
  answer(id, Error(ErrorCode::cancelled, "cancelled"), batch);
  return true;
}

// Answers requests whose deadline passes while they wait.
void Connection::watch_pending() {
  Deadline next;
  std::deque<Pending> late;
  std::erase_if(pending_, [&](Pending& p) {
    if (!p.deadline.passed()) { next = next.earlier(p.deadline); return false; }
    late.push_back(std::move(p));
    return true;
  });
  for (const auto& p : late)
    if (!p.request.notification)
      answer(p.request.id, Error(ErrorCode::deadline_exceeded, "the request's deadline passed while " +
                                 std::to_string(limits_.requests_in_flight_max) + " others were in flight", true), p.batch);
  if (closed_ || next.never()) return;
  pending_timer_.expires_after(std::chrono::milliseconds(next.left_ms()));
  pending_timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (!error && !self->closed_) self->watch_pending();
  });
}

Result<std::vector<service::ClientFd>> Connection::claim_fds(int count) {
  if (std::size_t(count) > fds_.size())
    return Error(ErrorCode::invalid_argument, "the request names " + std::to_string(count) + " descriptors, " + std::to_string(fds_.size()) +
                 " came with it or before it");
  std::vector<service::ClientFd> claimed;
  for (int i = 0; i < count; ++i) {
    claimed.push_back(std::move(fds_.front().first));
    fds_.pop_front();
  }
  return claimed;
}

void Connection::watch_fds() {
  if (watching_fds_) return;
  watching_fds_ = true;
  fds_timer_.expires_after(std::chrono::milliseconds(limits_.fds_unclaimed_ms_max));
  fds_timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    self->watching_fds_ = false;
    if (error || self->closed_ || self->fds_.empty()) return;
    const auto age = Clock::now() - self->fds_.front().second;
    if (age >= std::chrono::milliseconds(self->limits_.fds_unclaimed_ms_max)) return self->close("descriptors that no request took");
    self->watch_fds();
  });
}

// ---- requests -------------------------------------------------------------------------------------------------------

// Replies may come from within dispatch: the loop that is running goes on with what they let start.
void Connection::start_pending() {
  if (starting_) return;
  starting_ = true;
  while (!closed_ && !pending_.empty() && in_flight_ < limits_.requests_in_flight_max) {
    auto next = std::move(pending_.front());
    pending_.pop_front();
    dispatch(std::move(next));
  }
  starting_ = false;
}

void Connection::dispatch(Pending next) {
  ++in_flight_;
  service::Call call;
  call.connection = id_;
  call.fds = std::move(next.fds);
  call.deadline = next.deadline;
  const Json id = next.request.id;
  const bool notification = next.request.notification;
  const auto answered = std::make_shared<bool>(false);  // of the server's thread
  call.progress = notification ? [](Json) {} : progress_sender(id, answered);
  call.reply = [self = shared_from_this(), id, notification, batch = std::move(next.batch), answered](Reply reply) {
    auto shared = std::make_shared<Reply>(std::move(reply));
    asio::dispatch(self->socket_.get_executor(), [self, id, notification, batch, answered, shared] {
      *answered = true;
      self->finish(id, notification, std::move(*shared), batch);
    });
  };
  call.takes_text = true;
  call.request = std::move(next.request);
  service_.call(std::move(call));
}

// At most 10 notifications a second a call; the first one passes.
std::function<void(Json)> Connection::progress_sender(const Json& id, std::shared_ptr<const bool> answered) {
  auto last = std::make_shared<std::atomic<std::int64_t>>(0);
  return [self = shared_from_this(), id, last, answered = std::move(answered)](Json value) {
    const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now().time_since_epoch()).count();
    auto before = last->load();
    if (now - before < 100 || !last->compare_exchange_strong(before, now)) return;
    value["id"] = id;
    auto line = std::make_shared<std::string>(protocol::notification_line("$/progress", std::move(value)));
    asio::dispatch(self->socket_.get_executor(), [self, line, answered] {
      if (!*answered) self->send(std::move(*line), {});
    });
  };
}

void Connection::finish(const Json& id, bool notification, Reply reply, const std::shared_ptr<Batch>& batch) {
  --in_flight_;
  if (closed_) return;
  if (!notification) {
    if (!reply.result && reply.error_data.is_object()) answer_with_data(id, std::move(reply), batch);
    else if (!reply.result) answer(id, reply.result.error(), batch);
    else if (!reply.text.empty() && !batch) send(text_line(id, reply.text), std::move(reply.fds));
    else if (batch) batch_reply(batch, protocol::result_object(id, result_of(std::move(reply))), std::move(reply.fds));
    else send(protocol::result_line(id, std::move(*reply.result)), std::move(reply.fds));
  }
  start_pending();
  end_if_done();
}

void Connection::answer_with_data(const Json& id, Reply reply, const std::shared_ptr<Batch>& batch) {
  auto object = protocol::error_object(id, reply.result.error());
  object["error"]["data"].update(reply.error_data);
  if (batch) batch_reply(batch, std::move(object), std::move(reply.fds));
  else send(protocol::dump(object) + "\n", std::move(reply.fds));
}

void Connection::answer(const Json& id, const Error& error, const std::shared_ptr<Batch>& batch) {
  if (batch) batch_reply(batch, protocol::error_object(id, error), {});
  else send(protocol::error_line(id, error), {});
}

void Connection::batch_reply(const std::shared_ptr<Batch>& batch, Json reply, std::vector<UniqueFd> fds) {
  if (!reply.is_null()) batch->replies.push_back(std::move(reply));
  for (auto& fd : fds) batch->fds.push_back(std::move(fd));
  if (--batch->waiting > 0 || batch->replies.empty()) return;
  send(protocol::dump(batch->replies) + "\n", std::move(batch->fds));
}

// ---- writing --------------------------------------------------------------------------------------------------------

void Connection::send(std::string bytes, std::vector<UniqueFd> fds) {
  if (closed_) return;
  // One answer may be larger than the limit; what counts is what an earlier one left unsent.
  if (output_bytes_ > limits_.output_bytes_max) return close("the client does not read: unsent output over the limit");
  if (output_.empty()) progressed_ = Clock::now();
  output_bytes_ += bytes.size();
  output_.push_back({std::move(bytes), 0, std::move(fds)});
  if (!writing_) write_some();
}

void Connection::write_some() {
  while (!output_.empty()) {
    Output& next = output_.front();
    const auto sent = send_part(next);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN) return wait_writable();
      return close(errno == EPIPE || errno == ECONNRESET ? "" : std::string("send failed: ") + std::strerror(errno));
    }
    progressed_ = Clock::now();
    next.sent += std::size_t(sent);
    output_bytes_ -= std::size_t(sent);
    if (next.sent == next.bytes.size()) output_.pop_front();
  }
  end_if_done();
}

// One sendmsg, what it returned. Descriptors go with the first byte of what is sent: of a batch with more of them than one
// message takes, each message but the last carries one byte of the line.
long Connection::send_part(Output& next) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * fds_per_message)];
  const auto count = std::min(next.fds.size() - next.fds_sent, fds_per_message);
  const bool more = next.fds_sent + count < next.fds.size();
  iovec vector{next.bytes.data() + next.sent, more ? 1 : next.bytes.size() - next.sent};
  msghdr message{};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  if (count > 0) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
    cmsghdr* c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int) * count);
    for (std::size_t i = 0; i < count; ++i) {
      const int fd = next.fds[next.fds_sent + i].get();
      std::memcpy(CMSG_DATA(c) + i * sizeof(int), &fd, sizeof fd);
    }
  }
  const auto sent = ::sendmsg(socket_.native_handle(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent > 0) next.fds_sent += count;
  return sent;
}

void Connection::wait_writable() {
  writing_ = true;
  watch_stall();
  socket_.async_wait(Socket::wait_write, [self = shared_from_this()](const boost::system::error_code& error) {
    self->writing_ = false;
    if (!error && !self->closed_) self->write_some();
  });
}

void Connection::watch_stall() {
  stall_timer_.expires_after(std::chrono::milliseconds(limits_.output_stall_ms_max));
  stall_timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (error || self->closed_ || self->output_.empty()) return;
    if (Clock::now() - self->progressed_ >= std::chrono::milliseconds(self->limits_.output_stall_ms_max))
      return self->close("the client does not read: no progress for " + std::to_string(self->limits_.output_stall_ms_max) + " ms");
    self->watch_stall();
  });
}

void Connection::end_if_done() {
  if (!reading_ && !closed_ && in_flight_ == 0 && pending_.empty() && output_.empty()) close("");
}

}  // namespace kiln::server
