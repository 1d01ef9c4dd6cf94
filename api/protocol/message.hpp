// JSON-RPC 2.0 messages, no sockets: lines in, requests out; replies in, lines out.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/protocol/json.hpp"

namespace kiln::protocol {

inline constexpr int version_major = 1, version_minor = 0;

// One request of a line. `id` is null for a notification (no reply is sent).
struct Request {
  Json id;                 // string, integer or null
  bool notification = false;
  std::string method;
  Json params;             // an object, possibly empty
  int fds = 0;             // "fds": descriptors that it takes from the connection's queue
  std::int64_t deadline_ms = -1;  // from params, -1: none
};
// A request that could not be understood: the error reply to send, with the id if one could be read.
struct BadRequest { Json id; Error error; int fds = 0; };
using Item = std::variant<Request, BadRequest>;
// A line: one request, or a batch whose replies travel as one array.
struct Line { bool batch = false; std::vector<Item> items; };

// Parses one line (without its newline). Never fails: what is wrong becomes a BadRequest.
Line parse_line(std::string_view line, const Limits& limits);

// Lines with their newline.
std::string result_line(const Json& id, Json result);
std::string error_line(const Json& id, const Error& error);
std::string notification_line(const std::string& method, Json params);
Json result_object(const Json& id, Json result);
Json error_object(const Json& id, const Error& error);

// Splits a byte stream into lines with a bound. Feed bytes, take lines.
class LineSplitter {
 public:
  explicit LineSplitter(std::size_t line_bytes_max) : max_(line_bytes_max) {}
  // False when a line grew over the limit: the connection is to be dropped.
  bool feed(std::string_view bytes, std::vector<std::string>& lines);
  [[nodiscard]] std::string_view rest() const { return buffer_; }

 private:
  std::string buffer_;
  std::size_t max_;
};

}  // namespace kiln::protocol
