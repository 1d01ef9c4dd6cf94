// What the library exports beside HIP (control.hpp).
#include "engine/emulator/hip/calls.hpp"

using namespace kiln;
using namespace kiln::emulator;

namespace {

std::shared_ptr<Stream> stream_of(void* handle) {
  const auto runtime = Runtime::get();
  return runtime ? (*runtime)->stream(static_cast<hip::Stream>(handle), call_state().device) : nullptr;
}

}  // namespace

KILN_EXPORT int kiln_emulator_set_option(const char* name, const char* value) {
  if (name == nullptr) {
    Runtime::reset_options();
    return hip::success;
  }
  if (value == nullptr) return hip::invalid_value;
  const auto status = Runtime::set_option(name, value);
  return status ? hip::success : failed(status.error());
}

KILN_EXPORT std::size_t kiln_emulator_message(char* text, std::size_t bytes) {
  return give_text(call_state().message, text, bytes);
}

KILN_EXPORT std::size_t kiln_emulator_stream_report(void* stream, char* text, std::size_t bytes) {
  const auto found = stream_of(stream);
  return give_text(found != nullptr ? found->report() : std::string(), text, bytes);
}

KILN_EXPORT std::size_t kiln_emulator_report(char* text, std::size_t bytes) {
  const auto runtime = Runtime::get();
  return give_text(runtime ? (*runtime)->report() : runtime.error().message, text, bytes);
}

KILN_EXPORT std::size_t kiln_emulator_profiles(char* json, std::size_t bytes) {
  const auto runtime = Runtime::get();
  return give_text(runtime ? (*runtime)->profiles() : "[]", json, bytes);
}

KILN_EXPORT void kiln_emulator_clear() {
  if (const auto runtime = Runtime::get()) (*runtime)->clear();
  call_state().last = hip::success;
}

KILN_EXPORT void kiln_emulator_cancel(void* stream) { kiln_emulator_cancel_behind(stream, 0); }

KILN_EXPORT void kiln_emulator_cancel_behind(void* stream, std::size_t count) {
  if (const auto found = stream_of(stream)) found->cancel_behind(count);
}

KILN_EXPORT std::size_t kiln_emulator_submitted(void* stream) {
  const auto found = stream_of(stream);
  return found == nullptr ? 0 : found->submitted();
}
