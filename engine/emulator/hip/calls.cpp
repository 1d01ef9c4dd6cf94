#include "engine/emulator/hip/calls.hpp"

#include <algorithm>
#include <cstring>

namespace kiln::emulator {

CallState& call_state() {
  static thread_local CallState state;
  return state;
}

hip::Code code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::out_of_memory: return hip::out_of_memory;
    case ErrorCode::resource_limit: return hip::invalid_configuration;
    case ErrorCode::corrupt: return hip::invalid_image;
    case ErrorCode::unsupported: return hip::no_binary_for_gpu;
    case ErrorCode::busy: return hip::already_registered;
    case ErrorCode::not_found: return hip::not_found;
    case ErrorCode::permission_denied:
    case ErrorCode::io_error: return hip::operating_system;
    default: return hip::invalid_value;
  }
}

hip::Code failed(const Error& error) {
  call_state().message = error.message;
  return code_of(error.code);
}

hip::Code failed(hip::Code code, std::string message) {
  call_state().message = std::move(message);
  return code;
}

std::size_t give_text(const std::string& text, char* into, std::size_t bytes) {
  if (into != nullptr && bytes > 0) {
    const std::size_t copied = std::min(text.size(), bytes - 1);
    std::memcpy(into, text.data(), copied);
    into[copied] = '\0';
  }
  return text.size();
}

}  // namespace kiln::emulator
