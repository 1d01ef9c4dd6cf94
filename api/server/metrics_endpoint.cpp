#include "api/server/metrics_endpoint.hpp"

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <sys/socket.h>

#include <string_view>

#include "engine/base/hash.hpp"

namespace kiln::server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using Protocol = asio::generic::stream_protocol;
using Response = http::response<http::string_body>;
using Request = http::request<http::empty_body>;

constexpr std::size_t exchanges_max = 16;
constexpr std::uint32_t head_bytes_max = 8 << 10;
constexpr auto time_max = std::chrono::seconds(5);

std::string_view text_of(beast::string_view text) { return {text.data(), text.size()}; }

bool is_token(std::string_view said, std::string_view token) {
  return equal_in_constant_time(sha256(view(said)), sha256(view(token)));
}

// The value of `token` among the parameters of a request's target.
std::string_view token_of(std::string_view target) {
  auto rest = target.substr(std::min(target.find('?'), target.size()));
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const auto one = rest.substr(0, rest.find('&'));
    if (one.starts_with("token=")) return one.substr(6);
    rest.remove_prefix(one.size());
  }
  return {};
}

Response answer_to(const Request& request, const MetricsOptions& options) {
  Response response{http::status::ok, 11};
  response.set(http::field::content_type, "text/plain; charset=utf-8");
  response.set(http::field::cache_control, "no-store");
  response.keep_alive(false);
  const auto refuse = [&](http::status status, std::string why) {
    response.result(status);
    response.body() = std::move(why) + "\n";
  };
  const auto target = text_of(request.target());
  const auto bearer = text_of(request[http::field::authorization]);
  const bool known_bearer = bearer.starts_with("Bearer ") && is_token(bearer.substr(7), options.token);
  if (!options.host.empty() && text_of(request[http::field::host]) != options.host &&
      text_of(request[http::field::host]) != "localhost" + options.host.substr(options.host.find(':'))) {
    refuse(http::status::misdirected_request, "this is not the host that was asked for");
  } else if (!options.token.empty() && !known_bearer && !is_token(token_of(target), options.token)) {
    refuse(http::status::unauthorized, "the daemon's token is missing or wrong");
    response.set(http::field::www_authenticate, "Bearer");
  } else if (request.method() != http::verb::get) {
    refuse(http::status::method_not_allowed, "GET alone is served");
    response.set(http::field::allow, "GET");
  } else if (target.substr(0, target.find('?')) != "/metrics") {
    refuse(http::status::not_found, "there is /metrics");
  } else {
    response.set(http::field::content_type, options.content_type);
    response.body() = options.text();
  }
  response.prepare_payload();
  return response;
}

// One connection: a request, an answer.
class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(Protocol::socket socket, std::shared_ptr<const MetricsOptions> options)
      : stream_(std::move(socket)), options_(std::move(options)) {}

  void start() {
    parser_.header_limit(head_bytes_max);
    parser_.body_limit(0);
    stream_.expires_after(time_max);
    http::async_read(stream_, buffer_, parser_, [self = shared_from_this()](const boost::system::error_code& error, std::size_t) {
      self->received(error);
    });
  }

 private:
  void received(const boost::system::error_code& error) {
    if (error == http::error::end_of_stream || error == beast::error::timeout || !stream_.socket().is_open()) return;
    if (error) {
      response_ = Response{http::status::bad_request, 11};
      response_.keep_alive(false);
      response_.body() = "this is no request: " + error.message() + "\n";
      response_.prepare_payload();
    } else {
      response_ = answer_to(parser_.get(), *options_);
    }
    stream_.expires_after(time_max);
    http::async_write(stream_, response_, [self = shared_from_this()](const boost::system::error_code&, std::size_t) {
      boost::system::error_code ignored;
      self->stream_.socket().shutdown(Protocol::socket::shutdown_send, ignored);
    });
  }

  beast::basic_stream<Protocol> stream_;
  const std::shared_ptr<const MetricsOptions> options_;
  beast::flat_buffer buffer_;
  http::request_parser<http::empty_body> parser_;
  Response response_;
};

class Endpoint final : public MetricsEndpoint {
 public:
  Endpoint(asio::io_context& io, UniqueFd listener, MetricsOptions options)
      : retry_(io), acceptor_(io), options_(std::make_shared<const MetricsOptions>(std::move(options))) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size);
    acceptor_.assign(Protocol(address.ss_family, 0), listener.release());
  }

  void start() override {
    acceptor_.async_accept([this](const boost::system::error_code& error, Protocol::socket socket) {
      if (error == asio::error::operation_aborted) return;
      if (error) return start_later();
      std::erase_if(exchanges_, [](const auto& exchange) { return exchange.expired(); });
      const bool admitted = !options_->admit || options_->admit(socket.native_handle());
      if (admitted && exchanges_.size() < exchanges_max) {
        const auto exchange = std::make_shared<Exchange>(std::move(socket), options_);
        exchanges_.push_back(exchange);
        exchange->start();
      }
      start();
    });
  }

  void stop() override {
    boost::system::error_code ignored;
    acceptor_.close(ignored);
    retry_.cancel();
  }

 private:
  void start_later() {  // out of descriptors, say
    retry_.expires_after(std::chrono::milliseconds(100));
    retry_.async_wait([this](const boost::system::error_code& error) { if (!error) start(); });
  }

  asio::steady_timer retry_;
  asio::basic_socket_acceptor<Protocol> acceptor_;
  const std::shared_ptr<const MetricsOptions> options_;
  std::vector<std::weak_ptr<Exchange>> exchanges_;
};

}  // namespace

std::unique_ptr<MetricsEndpoint> MetricsEndpoint::create(asio::io_context& io, UniqueFd listener, MetricsOptions options) {
  return std::make_unique<Endpoint>(io, std::move(listener), std::move(options));
}

}  // namespace kiln::server
