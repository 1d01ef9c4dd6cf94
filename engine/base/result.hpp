// Result<T>: a value or an Error. The only way in which a failure of the world (disk, device, peer, time) or of a user's
// program is reported between functions; exceptions never cross a file.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "engine/base/diagnostics.hpp"

namespace kiln {

// One list for everything; api/protocol maps each to a JSON-RPC code, the Python package to an exception (a test checks
// that both maps are total). Append only; names appear on the wire (error_name).
enum class ErrorCode {
  invalid_argument,   // a request's field is wrong
  parse_error,        // text is no JSON, no expression …
  program_invalid,    // diagnostics about a tile program, or bindings that it cannot take
  not_found,          // no such program, kernel, buffer, file
  unsupported,        // well formed, but not built yet or not possible on this target
  unknown_target,     // no such target or device
  resource_limit,     // a documented limit was reached
  out_of_memory,
  io_error,
  disk_full,
  permission_denied,
  corrupt,            // bytes on disk or from a peer are damaged
  deadline_exceeded,
  cancelled,
  worker_died,        // a compile worker ended; the message says by what
  compile_failed,     // the compiler refused; context holds its log
  no_compiler,        // no worker for this target could be started
  device_lost,        // a device process ended with launches in flight
  launch_failed,
  must_hit,           // must_hit was asked and the kernel is not in the cache
  busy,
  protocol_error,
  method_not_found,
  not_running,        // no daemon
  internal,           // a bug of ours that did not need to abort
  assertion_failed,   // an assert of the program did not hold; diagnostics say which, and in which blocks
};
inline constexpr int error_code_count = static_cast<int>(ErrorCode::assertion_failed) + 1;

// The code's name as on the wire: "invalid_argument". Static storage.
const char* error_name(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string message;                  // one line, no internal names or paths of other clients
  std::vector<std::string> context;     // outermost last; compiler logs, causes
  std::vector<Diagnostic> diagnostics;  // for program_invalid and parse_error
  bool retryable = false;               // the same request may succeed later

  Error() = default;
  Error(ErrorCode code, std::string message, bool retryable = false)
      : code(code), message(std::move(message)), retryable(retryable) {}
  Error&& with(std::string more) && { context.push_back(std::move(more)); return std::move(*this); }
};

// Several lines: name, message, context, diagnostics.
std::string to_text(const Error& error);
// io_error, disk_full, permission_denied, not_found … by errno; message "what: strerror".
Error errno_error(int error_number, const std::string& what);

template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
  Result(Error error) : tl::expected<T, Error>(tl::unexpect, std::move(error)) {}
};
using Status = Result<void>;
inline Status ok() { return Status(); }
inline Error program_error(std::string message, std::vector<Diagnostic> diagnostics) {
  Error error(ErrorCode::program_invalid, std::move(message));
  error.diagnostics = std::move(diagnostics);
  return error;
}

}  // namespace kiln

// KILN_TRY(auto x, f()): x is the value, or the error is returned.  KILN_CHECK(f()): for Status and ignored values.
#define KILN_CONCAT_(a, b) a##b
#define KILN_CONCAT(a, b) KILN_CONCAT_(a, b)
#define KILN_TRY_(result, declaration, expression)                   \
  auto result = (expression);                                        \
  if (!result) return ::kiln::Error(std::move(result).error());      \
  declaration = std::move(*result)
#define KILN_TRY(declaration, ...) KILN_TRY_(KILN_CONCAT(kiln_result_, __LINE__), declaration, (__VA_ARGS__))
#define KILN_CHECK(...)                                                          \
  do {                                                                           \
    if (auto kiln_status_ = (__VA_ARGS__); !kiln_status_)                        \
      return ::kiln::Error(std::move(kiln_status_).error());                     \
  } while (false)
// A broken invariant of ours: aborts, in every build type.
#define KILN_ASSERT(condition) \
  ((condition) ? void(0) : ::kiln::assertion_failed(#condition, __FILE__, __LINE__))
namespace kiln {
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line);
}
