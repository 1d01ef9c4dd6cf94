// A tier in a Redis server: GET and SET of strings. hiredis makes the commands and reads the answers; connecting,
// sending and receiving are done here, since all of a request together has to end in time.
#include <hiredis/hiredis.h>

#include <cerrno>
#include <vector>

#include "cache/tiers/curl.hpp"
#include "cache/tiers/redis_reply.hpp"
#include "cache/tiers/transport.hpp"
#include "engine/base/os.hpp"

namespace kiln::cache {
namespace {

// The server has closed the connection: an idle one may have been for long.
Error closed(const std::string& how) { return Error(ErrorCode::io_error, "the connection was closed: " + how, true); }

// One request's allowance.
struct Allowance {
  Deadline deadline;
  int interrupt = -1;
};

// Waits until the socket is ready for `events`.
Status wait_for(int socket, short events, const Allowance& allowance) {
  for (;;) {
    pollfd entries[2] = {{socket, events, 0}, {allowance.interrupt, POLLIN, 0}};
    const int ready = os::poll(entries, allowance.interrupt >= 0 ? 2 : 1, allowance.deadline.left_ms());
    if (ready < 0 && errno != EINTR) return errno_error(errno, "wait for the server");
    if (allowance.deadline.passed())
      return Error(ErrorCode::deadline_exceeded, "the server gave no whole answer in time");
    if (ready > 0 && entries[1].revents != 0) return Error(ErrorCode::cancelled, "no longer wanted");
    if (ready > 0 && entries[0].revents != 0) return {};
  }
}

// A connection to a Redis server. After any error it is of no use.
class Connection {
 public:
  static Result<std::unique_ptr<Connection>> open(const TierUrl& url, const Allowance& allowance);
  Result<RedisReply> call(const std::vector<std::string_view>& words, const Allowance& allowance);

 private:
  explicit Connection(std::unique_ptr<Curl> curl) : curl_(std::move(curl)), socket_(curl_->socket()) {}
  Status expect_ok(const std::vector<std::string_view>& words, const Allowance& allowance);
  Status send(ByteView bytes, const Allowance& allowance);
  Result<RedisReply> receive(const Allowance& allowance);

  std::unique_ptr<Curl> curl_;  // owns the socket
  int socket_;
};

Result<std::unique_ptr<Connection>> Connection::open(const TierUrl& url, const Allowance& allowance) {
  KILN_TRY(auto curl, Curl::create());
  const bool local = url.kind == TierUrl::Kind::redis_unix;
  curl->begin(local ? "http://localhost/" : "http://" + url.host + ":" + std::to_string(url.port) + "/");
  if (local) curl->set(CURLOPT_UNIX_SOCKET_PATH, url.path.c_str());
  curl->set(CURLOPT_CONNECT_ONLY, 1L);
  auto connected = curl->run(allowance.deadline, allowance.interrupt);
  if (!connected && local && connected.error().code == ErrorCode::io_error)  // libcurl names another place
    return Error(ErrorCode::io_error, "cannot connect to the socket " + url.path);
  KILN_CHECK(std::move(connected));
  std::unique_ptr<Connection> connection(new Connection(std::move(curl)));
  if (connection->socket_ < 0) return Error(ErrorCode::io_error, "there is no connection");
  if (!url.user.empty()) KILN_CHECK(connection->expect_ok({"AUTH", url.user, url.password}, allowance));
  else if (!url.password.empty()) KILN_CHECK(connection->expect_ok({"AUTH", url.password}, allowance));
  if (url.database != 0) KILN_CHECK(connection->expect_ok({"SELECT", std::to_string(url.database)}, allowance));
  return connection;
}

Status Connection::expect_ok(const std::vector<std::string_view>& words, const Allowance& allowance) {
  KILN_TRY(const auto reply, call(words, allowance));
  if (reply.kind == RedisReply::Kind::status) return {};
  const bool told = reply.kind == RedisReply::Kind::error;
  const std::string why = told ? make_valid_utf8(text(reply.bytes)) : "another answer than OK";
  return Error(ErrorCode::permission_denied, std::string(words[0]) + " was refused: " + why);
}

Result<RedisReply> Connection::call(const std::vector<std::string_view>& words, const Allowance& allowance) {
  std::vector<const char*> starts;
  std::vector<std::size_t> sizes;
  for (const auto word : words) {
    starts.push_back(word.data());
    sizes.push_back(word.size());
  }
  char* command = nullptr;
  const int size = redisFormatCommandArgv(&command, int(words.size()), starts.data(), sizes.data());
  if (size < 0) return Error(ErrorCode::resource_limit, "no memory for a command of Redis", true);
  const std::unique_ptr<char, void (*)(char*)> owner(command, redisFreeCommand);
  KILN_CHECK(send(view({command, std::size_t(size)}), allowance));
  return receive(allowance);
}

Status Connection::send(ByteView bytes, const Allowance& allowance) {
  while (!bytes.empty()) {
    KILN_CHECK(wait_for(socket_, POLLOUT, allowance));
    iovec part{const_cast<std::uint8_t*>(bytes.data()), bytes.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    const auto sent = os::sendmsg(socket_, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EAGAIN) continue;
    if (sent < 0) return closed(errno_error(errno, "send").message);
    bytes = bytes.subspan(std::size_t(sent));
  }
  return {};
}

Result<RedisReply> Connection::receive(const Allowance& allowance) {
  RedisReplyReader reader(tier_value_bytes_max);
  std::vector<std::uint8_t> buffer(64 << 10);
  for (;;) {
    KILN_CHECK(wait_for(socket_, POLLIN, allowance));
    iovec part{buffer.data(), buffer.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    const auto got = os::recvmsg(socket_, &message, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) continue;
    if (got < 0) return closed(errno_error(errno, "receive").message);
    if (got == 0) return closed("end of file");
    KILN_TRY(auto reply, reader.feed(ByteView(buffer).first(std::size_t(got))));
    if (reply) return std::move(*reply);
  }
}

class RedisTransport final : public Transport {
 public:
  explicit RedisTransport(TierUrl url) : url_(std::move(url)) {}

  Result<std::optional<Bytes>> get(const std::string& name, Deadline deadline, int interrupt) override {
    const auto key = url_.prefix + name;
    KILN_TRY(auto reply, call({"GET", key}, {deadline, interrupt}));
    if (reply.kind == RedisReply::Kind::value) return std::optional(std::move(reply.bytes));
    if (reply.kind == RedisReply::Kind::absent) return std::optional<Bytes>();
    return refused("GET", reply);
  }

  Status put(const std::string& name, ByteView value, Deadline deadline) override {
    const auto key = url_.prefix + name;
    KILN_TRY(const auto reply, call({"SET", key, text(value)}, {deadline, -1}));
    return reply.kind == RedisReply::Kind::status ? ok() : Status(refused("SET", reply));
  }

 private:
  // Over the connection that is there. One that was closed while it was idle is made anew, once.
  Result<RedisReply> call(const std::vector<std::string_view>& words, const Allowance& allowance) {
    for (bool kept = connection_ != nullptr;; kept = false) {
      if (!connection_) {
        KILN_TRY(connection_, Connection::open(url_, allowance));
      }
      auto reply = connection_->call(words, allowance);
      if (reply) return reply;
      connection_.reset();
      if (!kept || !reply.error().retryable) return reply;
    }
  }
  static Error refused(const std::string& command, const RedisReply& reply) {
    const auto words = reply.bytes.empty() ? std::string("another kind of answer") : make_valid_utf8(text(reply.bytes));
    return Error(ErrorCode::permission_denied, command + " was refused: " + words);
  }

  const TierUrl url_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace

Result<std::unique_ptr<Transport>> open_redis(const TierUrl& url) {
  KILN_TRY(const auto* library, CurlLibrary::load());
  (void)library;
  return std::unique_ptr<Transport>(new RedisTransport(url));
}

}  // namespace kiln::cache
