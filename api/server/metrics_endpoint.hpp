// Metrics over HTTP: GET /metrics on a Unix socket, and on a port of the loopback where that is asked for. Lives on the
// server's thread only.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>

#include "engine/base/fd.hpp"

namespace kiln::server {

struct MetricsOptions {
  std::function<std::string()> text;              // the metrics; called on the server's thread
  std::string content_type;
  std::function<bool(int socket)> admit;          // whether the peer of a Unix socket is served; null: everybody
  std::string token;                              // not empty: what a request has to bear
  std::string host;                               // not empty: what its Host has to be: "127.0.0.1:9400", or localhost's
};

// One listening socket. Connections are served side by side, at most 16 of them, one request each, within 5 s.
class MetricsEndpoint {
 public:
  virtual ~MetricsEndpoint() = default;           // before the io_context
  static std::unique_ptr<MetricsEndpoint> create(boost::asio::io_context& io, UniqueFd listener, MetricsOptions options);
  virtual void start() = 0;
  virtual void stop() = 0;
};

}  // namespace kiln::server
