#include "api/protocol/message.hpp"

namespace kiln::protocol {
namespace {

bool usable_id(const Json& id, const Limits& limits) {
  if (id.is_null() || id.is_number_integer()) return true;
  return id.is_string() && id.get_ref<const std::string&>().size() <= limits.id_bytes_max;
}

// The descriptors that even a wrong request announced, so that they do not shift to the next one.
int announced_fds(const Json& value, const Limits& limits) {
  const auto it = value.find("fds");
  if (it == value.end() || !it->is_number_integer()) return 0;
  const auto n = it->get<std::int64_t>();
  return n > 0 && n <= std::int64_t(limits.fds_queued_max) ? int(n) : 0;
}

Result<Request> read_request(Json& value, const Limits& limits) {
  const Fields fields(value, "");
  KILN_CHECK(fields.only({"jsonrpc", "id", "method", "params", "fds"}));
  Request request;
  KILN_TRY(const auto version, fields.text("jsonrpc"));
  if (version != "2.0") return fields.error("jsonrpc", "\"2.0\"");
  KILN_TRY(request.method, fields.text("method"));
  if (const Json* id = fields.find("id")) {
    if (id->is_null() || !usable_id(*id, limits)) return fields.error("id", "a string of at most " + std::to_string(limits.id_bytes_max) + " bytes or an integer");
    request.id = *id;
  } else {
    request.notification = true;
  }
  KILN_TRY(const auto fds, fields.integer_or("fds", 0, 0, std::int64_t(limits.fds_queued_max)));
  request.fds = int(fds);
  if (Json* params = const_cast<Json*>(fields.find("params"))) {
    if (!params->is_object()) return fields.error("params", "an object (parameters are by name)");
    request.params = std::move(*params);
  } else {
    request.params = Json::object();
  }
  KILN_TRY(request.deadline_ms, Fields(request.params, "/params").integer_or("deadline_ms", -1, 0, 1000000000));
  return request;
}

Item read_item(Json& value, const Limits& limits) {
  if (!value.is_object()) return BadRequest{nullptr, Error(ErrorCode::protocol_error, "a request is an object"), 0};
  auto request = read_request(value, limits);
  if (request) return std::move(*request);
  Json id = nullptr;
  if (const auto it = value.find("id"); it != value.end() && usable_id(*it, limits)) id = *it;
  Error error = std::move(request).error();
  error.code = ErrorCode::protocol_error;
  return BadRequest{std::move(id), std::move(error), announced_fds(value, limits)};
}

}  // namespace

Line parse_line(std::string_view line, const Limits& limits) {
  auto value = parse_json(line, limits);
  Line result;
  if (!value) {
    result.items.push_back(BadRequest{nullptr, std::move(value).error(), 0});
    return result;
  }
  if (!value->is_array()) {
    result.items.push_back(read_item(*value, limits));
    return result;
  }
  if (value->empty() || value->size() > limits.batch_max) {
    result.items.push_back(BadRequest{nullptr, Error(ErrorCode::protocol_error,
        "a batch holds 1 to " + std::to_string(limits.batch_max) + " requests, found " + std::to_string(value->size())), 0});
    return result;
  }
  result.batch = true;
  for (auto& item : *value) result.items.push_back(read_item(item, limits));
  return result;
}

Json result_object(const Json& id, Json result) {
  return Json{{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}};
}

Json error_object(const Json& id, const Error& error) {
  return Json{{"jsonrpc", "2.0"}, {"id", id}, {"error", error_json(error)}};
}

std::string result_line(const Json& id, Json result) { return dump(result_object(id, std::move(result))) + "\n"; }
std::string error_line(const Json& id, const Error& error) { return dump(error_object(id, error)) + "\n"; }

std::string notification_line(const std::string& method, Json params) {
  return dump(Json{{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}}) + "\n";
}

bool LineSplitter::feed(std::string_view bytes, std::vector<std::string>& lines) {
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    const auto part = bytes.substr(0, end);
    if (buffer_.size() + part.size() > max_) return false;
    buffer_.append(part);
    if (end == std::string_view::npos) return true;
    if (!buffer_.empty() && buffer_.back() == '\r') buffer_.pop_back();
    if (buffer_.find_first_not_of(" \t") != std::string::npos) lines.push_back(std::move(buffer_));
    buffer_.clear();
    bytes.remove_prefix(end + 1);
  }
  return true;
}

}  // namespace kiln::protocol
