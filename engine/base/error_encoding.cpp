#include "engine/base/error_encoding.hpp"

#include <algorithm>

namespace kiln {
namespace {

constexpr std::size_t text_bytes_max = std::size_t(1) << 20;
constexpr std::size_t entries_max = 4096;

void write_text(Writer& w, std::string_view text) { w.string(text.substr(0, text_bytes_max)); }

void write_diagnostic(Writer& w, const Diagnostic& d) {
  w.enumeration(d.severity);
  for (const auto* text : {&d.pointer, &d.message, &d.expected, &d.found, &d.hint, &d.source}) write_text(w, *text);
  w.boolean(d.offset.has_value());
  if (d.offset) w.u64(*d.offset);
  w.u64(d.length);
}

Diagnostic read_diagnostic(Reader& r) {
  Diagnostic d;
  d.severity = r.enumeration(Severity::note);
  for (auto* text : {&d.pointer, &d.message, &d.expected, &d.found, &d.hint, &d.source}) *text = r.string();
  if (r.boolean()) d.offset = r.u64();
  d.length = r.u64();
  return d;
}

}  // namespace

void write_error(Writer& w, const Error& error) {
  w.enumeration(error.code);
  w.boolean(error.retryable);
  write_text(w, error.message);
  w.count(std::min(error.context.size(), entries_max));
  for (std::size_t i = 0; i < error.context.size() && i < entries_max; ++i) write_text(w, error.context[i]);
  w.count(std::min(error.diagnostics.size(), entries_max));
  for (std::size_t i = 0; i < error.diagnostics.size() && i < entries_max; ++i)
    write_diagnostic(w, error.diagnostics[i]);
}

Error read_error(Reader& r) {
  Error error;
  error.code = r.enumeration(static_cast<ErrorCode>(error_code_count - 1));
  error.retryable = r.boolean();
  error.message = r.string();
  error.context = r.list<std::string>([](Reader& reader) { return reader.string(); });
  error.diagnostics = r.list<Diagnostic>([](Reader& reader) { return read_diagnostic(reader); });
  if (!r.ok()) return Error();
  return error;
}

void write_status(Writer& w, const Status& status) {
  w.boolean(status.has_value());
  if (!status) write_error(w, status.error());
}

Status read_status(Reader& r) {
  const bool good = r.boolean();
  if (!r.ok()) return Error(ErrorCode::corrupt, "a status cut short");
  if (good) return {};
  auto error = read_error(r);
  if (!r.ok()) return Error(ErrorCode::corrupt, "an error cut short or out of range");
  return error;
}

}  // namespace kiln
