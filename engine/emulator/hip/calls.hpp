// The frame of every HIP function: finds the runtime, turns errors into HIP's, remembers them for the thread.
#pragma once

#include <new>
#include <string>
#include <utility>

#include "engine/emulator/hip/control.hpp"
#include "engine/emulator/hip/runtime.hpp"

// What this library defines must agree with what callers declare.
namespace kiln::device::hip {
extern "C" {
#define KILN_DECLARE(name, parameters) __attribute__((visibility("default"))) Code name parameters;
KILN_HIP_FUNCTIONS(KILN_DECLARE)
KILN_HIP_OPTIONAL_FUNCTIONS(KILN_DECLARE)
#undef KILN_DECLARE
}
}  // namespace kiln::device::hip

namespace kiln::emulator {

// Of the calling thread.
struct CallState {
  int device = 0;
  hip::Code last = hip::success;
  std::string message;
};
CallState& call_state();

hip::Code code_of(ErrorCode code);
// Remembers the error's words; its HIP error.
hip::Code failed(const Error& error);
hip::Code failed(hip::Code code, std::string message);

// body(Runtime&) -> hip::Code. not_ready is an answer, not an error.
template <class Body> hip::Code call(Body&& body) noexcept {
  hip::Code code;
  try {
    auto runtime = Runtime::get();
    code = runtime ? body(**runtime) : failed(hip::no_device, runtime.error().message);
  } catch (const std::bad_alloc&) {
    code = hip::out_of_memory;
  } catch (...) {
    code = hip::unknown;
  }
  if (code != hip::success && code != hip::not_ready) call_state().last = code;
  return code;
}

// body(Runtime&, std::shared_ptr<Stream>) with the stream that `handle` names on the thread's device.
template <class Body> hip::Code call_on(hip::Stream handle, Body&& body) noexcept {
  return call([&](Runtime& runtime) -> hip::Code {
    auto stream = runtime.stream(handle, call_state().device);
    if (stream == nullptr) return failed(hip::invalid_handle, "no such stream");
    return body(runtime, std::move(stream));
  });
}

// Copies text for a C caller; see control.hpp.
std::size_t give_text(const std::string& text, char* into, std::size_t bytes);

}  // namespace kiln::emulator
