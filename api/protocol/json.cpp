#include "api/protocol/json.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "engine/base/bytes.hpp"

namespace kiln::protocol {
namespace {

constexpr std::size_t source_bytes_told = 1024;  // of an expression; a longer one is found by its pointer

// Builds the value while it counts; the first violation stops the parse.
class LimitedReader : public nlohmann::json_sax<Json> {
 public:
  explicit LimitedReader(const Limits& limits) : limits_(limits) {}
  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(std::int64_t value) override {
    if (value < -integer_magnitude_max) return fail("integer out of range", "a magnitude below 2^53");
    return put(value);
  }
  bool number_unsigned(std::uint64_t value) override {
    if (value > std::uint64_t(integer_magnitude_max)) return fail("integer out of range", "a magnitude below 2^53");
    return put(std::int64_t(value));
  }
  bool number_float(double value, const std::string& source) override {
    if (!std::isfinite(value)) return fail("number out of range: " + source, "a finite number");
    if (source.find_first_of(".eE") == std::string::npos) return fail("integer out of range", "a magnitude below 2^53");
    return put(value);
  }
  bool string(std::string& value) override { return put(std::move(value)); }
  bool binary(Json::binary_t&) override { return fail("binary value", "JSON"); }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_array() override { return close(); }
  bool key(std::string& name) override {
    const auto [member, fresh] = stack_.back()->get_ref<Json::object_t&>().try_emplace(std::move(name));
    if (!fresh) return fail("duplicate key \"" + member->first.substr(0, 100) + "\"", "each key once");
    member_ = &member->second;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& e) override {
    std::string message = e.what();
    if (const auto at = message.find("syntax error"); at != std::string::npos) message = message.substr(at);
    fail(message, "");
    offset_ = position > 0 ? position - 1 : 0;
    return false;
  }

  [[nodiscard]] Error error() const {
    Diagnostic d;
    d.message = make_valid_utf8(message_.substr(0, 300));
    d.expected = expected_;
    d.offset = offset_;
    Error error(ErrorCode::parse_error, "not a JSON value that is accepted: " + d.message);
    error.diagnostics.push_back(std::move(d));
    return error;
  }
  Json take() { return std::move(root_); }

 private:
  bool fail(std::string message, std::string expected) {
    if (message_.empty()) { message_ = std::move(message); expected_ = std::move(expected); }
    return false;
  }
  bool count() {
    if (++nodes_ > limits_.nodes_max) return fail("too many values", "at most " + std::to_string(limits_.nodes_max));
    return true;
  }
  bool put(Json value) { return count() && place(std::move(value)) != nullptr; }
  Json* place(Json value) {
    if (stack_.empty()) { root_ = std::move(value); return &root_; }
    Json& parent = *stack_.back();
    if (parent.is_array()) { parent.push_back(std::move(value)); return &parent.back(); }
    *member_ = std::move(value);
    return member_;
  }
  bool open(Json container) {
    if (stack_.size() >= limits_.depth_max) return fail("nested too deeply", "at most " + std::to_string(limits_.depth_max) + " levels");
    if (!count()) return false;
    stack_.push_back(place(std::move(container)));
    return true;
  }
  bool close() { stack_.pop_back(); return true; }

  const Limits& limits_;
  Json root_;
  std::vector<Json*> stack_;
  Json* member_ = nullptr;  // of the object on top: where the value of the key just read goes
  std::string message_, expected_;
  std::size_t nodes_ = 0;
  std::optional<std::size_t> offset_;
};

std::string short_text(const Json& value) {
  std::string text = dump(value);
  return text.size() > 80 ? text.substr(0, 77) + "..." : text;
}

std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t up = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = up;
    }
  }
  return row[b.size()];
}

std::vector<std::string> text_list(const Json& value) {
  std::vector<std::string> list;
  if (value.is_array())
    for (const auto& item : value)
      if (item.is_string()) list.push_back(item.get<std::string>());
  return list;
}

std::string text_field(const Json& object, const char* name) {
  const auto it = object.find(name);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

// Messages are one line, whatever names of the client's they quote.
std::string one_line(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) { out += c; continue; }
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\u%04x", static_cast<unsigned>(c));
    out += escaped;
  }
  return out;
}

Diagnostic diagnostic_from_json(const Json& value) {
  Diagnostic d;
  if (!value.is_object()) return d;
  const auto severity = text_field(value, "severity");
  d.severity = severity == "warning" ? Severity::warning : severity == "note" ? Severity::note : Severity::error;
  d.pointer = text_field(value, "pointer");
  d.message = text_field(value, "message");
  d.expected = text_field(value, "expected");
  d.found = text_field(value, "found");
  d.hint = text_field(value, "hint");
  d.source = text_field(value, "source");
  if (const auto it = value.find("offset"); it != value.end() && it->is_number_integer()) d.offset = it->get<std::size_t>();
  if (const auto it = value.find("length"); it != value.end() && it->is_number_integer()) d.length = it->get<std::size_t>();
  return d;
}

}  // namespace

Result<Json> parse_json(std::string_view text, const Limits& limits) {
  LimitedReader reader(limits);
  if (!Json::sax_parse(text.begin(), text.end(), &reader)) return reader.error();
  return reader.take();
}

std::string dump(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

int rpc_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::parse_error: return -32700;
    case ErrorCode::protocol_error: return -32600;
    case ErrorCode::method_not_found: return -32601;
    case ErrorCode::invalid_argument: return -32602;
    case ErrorCode::internal: return -32603;
    default: return -32000 - static_cast<int>(code);
  }
}

Json diagnostic_json(const Diagnostic& d) {
  Json value{{"severity", d.severity == Severity::error ? "error" : d.severity == Severity::warning ? "warning" : "note"},
             {"pointer", d.pointer}, {"message", one_line(d.message)}};
  if (!d.expected.empty()) value["expected"] = d.expected;
  if (!d.found.empty()) value["found"] = d.found;
  if (!d.hint.empty()) value["hint"] = d.hint;
  if (!d.source.empty() && d.source.size() <= source_bytes_told) value["source"] = d.source;
  if (d.offset) { value["offset"] = *d.offset; value["length"] = d.length; }
  return value;
}

Json error_json(const Error& error) {
  Json diagnostics = Json::array();
  for (const auto& d : error.diagnostics) diagnostics.push_back(diagnostic_json(d));
  Json data{{"code", error_name(error.code)}, {"context", error.context}, {"diagnostics", std::move(diagnostics)},
            {"retryable", error.retryable}};
  return Json{{"code", rpc_code(error.code)}, {"message", one_line(error.message)}, {"data", std::move(data)}};
}

Error error_from_json(const Json& value) {
  Error error(ErrorCode::protocol_error, "the daemon answered with an error that cannot be read");
  if (!value.is_object()) return error;
  error.message = text_field(value, "message");
  const auto it = value.find("data");
  if (it == value.end() || !it->is_object()) return error;
  const auto name = text_field(*it, "code");
  for (int i = 0; i < error_code_count; ++i)
    if (name == error_name(static_cast<ErrorCode>(i))) error.code = static_cast<ErrorCode>(i);
  error.context = text_list(it->value("context", Json::array()));
  if (const auto d = it->find("diagnostics"); d != it->end() && d->is_array())
    for (const auto& item : *d) error.diagnostics.push_back(diagnostic_from_json(item));
  if (const auto r = it->find("retryable"); r != it->end() && r->is_boolean()) error.retryable = r->get<bool>();
  return error;
}

const Json* Fields::find(const std::string& name) const {
  if (!object_.is_object()) return nullptr;
  const auto it = object_.find(name);
  return it == object_.end() ? nullptr : &*it;
}

bool Fields::has(const std::string& name) const { return find(name) != nullptr; }

Error Fields::error(const std::string& name, const std::string& expected) const {
  const Json* value = find(name);
  Diagnostic d;
  d.pointer = pointer(name);
  d.expected = expected;
  d.found = value ? short_text(*value) : "nothing";
  d.message = value ? "wrong value" : "missing field";
  Error error(ErrorCode::invalid_argument, d.pointer + ": expected " + d.expected + ", found " + d.found);
  error.diagnostics.push_back(std::move(d));
  return error;
}

Result<std::string> Fields::text(const std::string& name) const {
  const Json* value = find(name);
  if (!value || !value->is_string()) return error(name, "a string");
  return value->get<std::string>();
}

Result<std::string> Fields::text_or(const std::string& name, std::string fallback) const {
  if (!has(name)) return fallback;
  return text(name);
}

Result<std::int64_t> Fields::integer(const std::string& name, std::int64_t min, std::int64_t max) const {
  const Json* value = find(name);
  const auto fits = value && value->is_number_integer() && value->get<std::int64_t>() >= min && value->get<std::int64_t>() <= max;
  if (!fits) return error(name, "an integer from " + std::to_string(min) + " to " + std::to_string(max));
  return value->get<std::int64_t>();
}

Result<std::int64_t> Fields::integer_or(const std::string& name, std::int64_t fallback, std::int64_t min, std::int64_t max) const {
  if (!has(name)) return fallback;
  return integer(name, min, max);
}

Result<bool> Fields::boolean_or(const std::string& name, bool fallback) const {
  const Json* value = find(name);
  if (!value) return fallback;
  if (!value->is_boolean()) return error(name, "true or false");
  return value->get<bool>();
}

Result<const Json*> Fields::array(const std::string& name, std::size_t count_max) const {
  const Json* value = find(name);
  if (!value || !value->is_array() || value->size() > count_max)
    return error(name, "an array of at most " + std::to_string(count_max) + " values");
  return value;
}

Result<const Json*> Fields::object(const std::string& name) const {
  const Json* value = find(name);
  if (!value || !value->is_object()) return error(name, "an object");
  return value;
}

Status Fields::only(std::initializer_list<const char*> known) const {
  if (!object_.is_object())
    return Error(ErrorCode::invalid_argument, (pointer_.empty() ? "" : pointer_ + ": ") + "expected an object, found " + short_text(object_));
  for (const auto& [name, value] : object_.items()) {
    if (std::any_of(known.begin(), known.end(), [&](const char* k) { return name == k; })) continue;
    Diagnostic d;
    d.pointer = pointer(name.substr(0, 100));
    d.message = "unknown field";
    for (const char* k : known) d.expected += (d.expected.empty() ? "one of " : ", ") + std::string(k);
    const auto nearest = std::min_element(known.begin(), known.end(), [&](const char* a, const char* b) {
      return edit_distance(name.substr(0, 100), a) < edit_distance(name.substr(0, 100), b);
    });
    if (nearest != known.end() && edit_distance(name.substr(0, 100), *nearest) <= 3) d.hint = "did you mean " + std::string(*nearest) + "?";
    Error error(ErrorCode::invalid_argument, d.pointer + ": unknown field; expected " + d.expected);
    error.diagnostics.push_back(std::move(d));
    return error;
  }
  return {};
}

}  // namespace kiln::protocol
