// One client connection: a state machine between a Unix socket and the service. Lives on the server's thread only; replies that
// come from other threads are posted there.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/protocol/message.hpp"
#include "api/service/service.hpp"

namespace kiln::server {

namespace asio = boost::asio;

class Connection;
// What a connection needs of its server.
class ConnectionOwner {
 public:
  virtual ~ConnectionOwner() = default;
  virtual void closed(service::ConnectionId id) = 0;
  virtual void log(const std::string& line) = 0;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Socket = asio::local::stream_protocol::socket;
  Connection(Socket socket, service::ConnectionId id, service::Peer peer, const protocol::Limits& limits,
             service::Service& service, ConnectionOwner& owner);
  void start();
  void close(const std::string& reason);
  [[nodiscard]] std::size_t in_flight() const { return in_flight_; }
  [[nodiscard]] const service::Peer& peer() const { return peer_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Output {
    std::string bytes;
    std::size_t sent = 0;
    std::vector<UniqueFd> fds;
    std::size_t fds_sent = 0;
  };
  // Replies of one batch are gathered and sent as one array.
  struct Batch {
    protocol::Json replies = protocol::Json::array();
    std::size_t waiting = 0;
    std::vector<UniqueFd> fds;
  };

  // A request that was read and waits until fewer are in flight.
  struct Pending {
    protocol::Request request;
    std::vector<service::ClientFd> fds;
    std::shared_ptr<Batch> batch;
    Deadline deadline;
  };

  void wait_readable();
  void read_some();
  bool receive(std::string& bytes);
  void watch_hangup();
  void take_lines(std::string_view bytes);
  void take_line(const std::string& line);
  void take_item(protocol::Item item, const std::shared_ptr<Batch>& batch);
  void take_request(protocol::Request request, const std::shared_ptr<Batch>& batch);
  Result<std::vector<service::ClientFd>> claim_fds(int count);
  bool cancel_pending(const protocol::Json& id);
  void watch_pending();
  void start_pending();
  std::function<void(protocol::Json)> progress_sender(const protocol::Json& id, std::shared_ptr<const bool> answered);
  void dispatch(Pending next);
  void finish(const protocol::Json& id, bool notification, service::Reply reply, const std::shared_ptr<Batch>& batch);
  void answer_with_data(const protocol::Json& id, service::Reply reply, const std::shared_ptr<Batch>& batch);
  void answer(const protocol::Json& id, const Error& error, const std::shared_ptr<Batch>& batch);
  void batch_reply(const std::shared_ptr<Batch>& batch, protocol::Json reply, std::vector<UniqueFd> fds);
  void send(std::string bytes, std::vector<UniqueFd> fds);
  void write_some();
  long send_part(Output& next);
  void wait_writable();
  void watch_stall();
  void watch_fds();
  void end_if_done();


  Socket socket_;
  service::ConnectionId id_;
  service::Peer peer_;
  const protocol::Limits& limits_;
  service::Service& service_;
  ConnectionOwner& owner_;
  asio::steady_timer stall_timer_, fds_timer_, pending_timer_;
  protocol::LineSplitter splitter_;
  std::deque<std::pair<service::ClientFd, Clock::time_point>> fds_;
  std::deque<Pending> pending_;
  std::deque<Output> output_;
  std::size_t output_bytes_ = 0, in_flight_ = 0;
  Clock::time_point progressed_;
  bool reading_ = true, writing_ = false, closed_ = false, watching_fds_ = false, starting_ = false;
};

}  // namespace kiln::server
