#include "engine/device/hip/table.hpp"

#include <dlfcn.h>

#include <cstring>
#include <vector>

namespace kiln::device::hip {
namespace {

constexpr const char* libraries[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"};
// Newest first: where a function has several versions, the newest one has the layout of declarations.hpp.
constexpr const char* versions[] = {"hip_6.5", "hip_6.0", "hip_5.1", "hip_4.3", "hip_4.2"};

void* find(void* library, const char* name) {
  for (const char* version : versions)
    if (void* const found = dlvsym(library, name, version)) return found;
  return dlsym(library, name);
}

ErrorCode code_of(Code code) {
  switch (code) {
    case out_of_memory: return ErrorCode::out_of_memory;
    case no_binary_for_gpu: return ErrorCode::unsupported;
    case invalid_image: return ErrorCode::corrupt;
    case no_device:
    case invalid_device: return ErrorCode::unknown_target;
    case illegal_address:
    case launch_out_of_resources:
    case launch_timeout:
    case launch_failure: return ErrorCode::launch_failed;
    case not_supported: return ErrorCode::unsupported;
    case invalid_value:
    case invalid_handle:
    case not_found: return ErrorCode::invalid_argument;
    default: return ErrorCode::launch_failed;
  }
}

}  // namespace

std::string cause_of(const char* call, Code code) {
  const auto is = [&](const char* name) { return std::strcmp(call, name) == 0; };
  if (is("hipIpcGetMemHandle")) {
    if (code == invalid_value || code == invalid_device_pointer)
      return "memory of a virtual-memory pool has no IPC handle: export a dma-buf descriptor instead; and the "
             "environment variable HSA_ENABLE_IPC_MODE_LEGACY=1 breaks the export";
    return "the environment variable HSA_ENABLE_IPC_MODE_LEGACY=1 breaks the export: unset it in the exporting process";
  }
  if (is("hipIpcOpenMemHandle") || is("hipIpcOpenEventHandle"))
    return "a handle of this very process cannot be opened; the owner must still run and hold the memory; in "
           "containers both sides need shared IPC, PID and network namespaces; HSA_ENABLE_IPC_MODE_LEGACY must be the "
           "same on both";
  if ((is("hipStreamSynchronize") || is("hipEventSynchronize")) && code == operating_system)
    return "the process that was to record an event which the launch waited for has ended";
  if ((is("hipInit") || is("hipGetDeviceCount")) && (code == no_device || code == not_initialized))
    return "no AMD card is visible: are /dev/kfd and /dev/dri there and may this user open them (groups render, "
           "video), and does HIP_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES hide it";
  if (code == no_binary_for_gpu) return "the object was compiled for another card or other features (xnack, sramecc)";
  if (is("hipHostRegister")) return "the limit on locked memory (ulimit -l) may be too low";
  return "";
}

Status Table::check(Code code, const char* call) const {
  if (code == success) return ok();
  std::string message = std::string(call) + ": " + hipGetErrorName(code) + " (" + hipGetErrorString(code) + ")";
  Error error(code_of(code), message);
  if (this->message != nullptr) {
    char words[512];
    if (this->message(words, sizeof words) > 0) error.context.emplace_back(words);
  }
  if (const std::string cause = cause_of(call, code); !cause.empty()) error.context.push_back("known cause: " + cause);
  return error;
}

namespace {

// AMD's library by name, or the one at `path`; `which` it is.
Result<void*> open_library(const std::string& path, std::string& which) {
  if (!path.empty()) {
    which = path;
    if (void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    return Error(ErrorCode::not_found, "no HIP runtime could be loaded: " + std::string(dlerror()));
  }
  std::string tried;
  std::vector<std::string> reasons;
  for (const char* const name : libraries) {
    which = name;
    if (void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
    tried += (tried.empty() ? "" : ", ") + std::string(name);
    reasons.emplace_back(dlerror());
  }
  Error error(ErrorCode::not_found,
              "no AMD card can be used: HIP's runtime is not installed (tried " + tried +
              "); install it (Debian: libamdhip64-5, ROCm: hip-runtime-amd), or use an emulated card, such as "
              "emu:gfx942");
  error.context = std::move(reasons);
  return error;
}

}  // namespace

Result<Table> load_table(const std::string& path) {
  Table table;
  KILN_TRY(void* const library, open_library(path, table.path));
  std::string missing;
  const auto take = [&](auto& function, const char* name, bool needed) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(find(library, name));
    if (function == nullptr && needed) missing += (missing.empty() ? "" : ", ") + std::string(name);
  };
#define KILN_TAKE(name, parameters) take(table.name, #name, true);
  KILN_HIP_FUNCTIONS(KILN_TAKE)
#undef KILN_TAKE
#define KILN_TAKE(name, parameters) take(table.name, #name, false);
  KILN_HIP_OPTIONAL_FUNCTIONS(KILN_TAKE)
#undef KILN_TAKE
  take(table.hipGetErrorName, "hipGetErrorName", true);
  take(table.hipGetErrorString, "hipGetErrorString", true);
  take(table.report, "kiln_emulator_report", false);
  take(table.stream_report, "kiln_emulator_stream_report", false);
  take(table.message, "kiln_emulator_message", false);
  take(table.cancel, "kiln_emulator_cancel", false);
  take(table.cancel_behind, "kiln_emulator_cancel_behind", false);
  take(table.submitted, "kiln_emulator_submitted", false);
  take(table.set_switch, "kiln_emulator_set_option", false);
  take(table.profiles, "kiln_emulator_profiles", false);
  take(table.clear, "kiln_emulator_clear", false);
  if (table.hipGetDevicePropertiesR0600 == nullptr && table.hipGetDeviceProperties == nullptr)
    missing += (missing.empty() ? "" : ", ") + std::string("hipGetDeviceProperties");
  if (!missing.empty()) return Error(ErrorCode::unsupported, table.path + " lacks " + missing);
  return table;
}

}  // namespace kiln::device::hip
