#include "engine/base/result.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

namespace kiln {

const char* error_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument: return "invalid_argument";
    case ErrorCode::parse_error: return "parse_error";
    case ErrorCode::program_invalid: return "program_invalid";
    case ErrorCode::not_found: return "not_found";
    case ErrorCode::unsupported: return "unsupported";
    case ErrorCode::unknown_target: return "unknown_target";
    case ErrorCode::resource_limit: return "resource_limit";
    case ErrorCode::out_of_memory: return "out_of_memory";
    case ErrorCode::io_error: return "io_error";
    case ErrorCode::disk_full: return "disk_full";
    case ErrorCode::permission_denied: return "permission_denied";
    case ErrorCode::corrupt: return "corrupt";
    case ErrorCode::deadline_exceeded: return "deadline_exceeded";
    case ErrorCode::cancelled: return "cancelled";
    case ErrorCode::worker_died: return "worker_died";
    case ErrorCode::compile_failed: return "compile_failed";
    case ErrorCode::no_compiler: return "no_compiler";
    case ErrorCode::device_lost: return "device_lost";
    case ErrorCode::launch_failed: return "launch_failed";
    case ErrorCode::must_hit: return "must_hit";
    case ErrorCode::busy: return "busy";
    case ErrorCode::protocol_error: return "protocol_error";
    case ErrorCode::method_not_found: return "method_not_found";
    case ErrorCode::not_running: return "not_running";
    case ErrorCode::internal: return "internal";
    case ErrorCode::assertion_failed: return "assertion_failed";
  }
  return "internal";
}

std::string to_text(const Error& error) {
  std::string text = std::string(error_name(error.code)) + ": " + error.message;
  for (const auto& line : error.context) text += "\n  " + line;
  for (const auto& diagnostic : error.diagnostics) text += "\n" + to_text(diagnostic);
  return text;
}

namespace {

ErrorCode code_of_errno(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR: return ErrorCode::not_found;
    case ENOSPC:
    case EDQUOT: return ErrorCode::disk_full;
    case EACCES:
    case EPERM:
    case EROFS: return ErrorCode::permission_denied;
    case ENOMEM: return ErrorCode::out_of_memory;
    case EMFILE:
    case ENFILE: return ErrorCode::resource_limit;
    case EAGAIN:
    case EBUSY: return ErrorCode::busy;
    case ETIMEDOUT: return ErrorCode::deadline_exceeded;
    case ECONNREFUSED: return ErrorCode::not_running;
    default: return ErrorCode::io_error;
  }
}

}  // namespace

Error errno_error(int error_number, const std::string& what) {
  const auto code = code_of_errno(error_number);
  const bool retryable =
      code == ErrorCode::busy || code == ErrorCode::resource_limit || code == ErrorCode::deadline_exceeded;
  return Error(code, what + ": " + std::generic_category().message(error_number), retryable);
}

void assertion_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "kiln: broken invariant: %s (%s:%d)\n", condition, file, line);
  std::fflush(stderr);
  std::abort();
}

}  // namespace kiln
