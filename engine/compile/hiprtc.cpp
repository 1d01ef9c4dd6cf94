#include "engine/compile/hiprtc.hpp"

#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>

#include <algorithm>

#include "engine/base/fd.hpp"

namespace kiln::compile {
namespace {

constexpr std::size_t header_bytes_max = 1 << 20;

template <class Function> bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

// "libhiprtc.so.6.4.43484" -> "6.4"; the version call answers 9.0 for HIP 6.4 and is no identity.
std::string version_of(const std::string& path) {
  const auto at = path.rfind(".so.");
  if (at == std::string::npos) return "";
  std::string version = path.substr(at + 4);
  const auto first = version.find('.');
  if (first == std::string::npos) return version;
  return version.substr(0, version.find('.', first + 1));
}

std::string describe(void* function, const std::string& name) {
  Dl_info info{};
  char resolved[PATH_MAX];
  if (dladdr(function, &info) == 0 || info.dli_fname == nullptr || realpath(info.dli_fname, resolved) == nullptr)
    return "hipRTC (" + name + ")";
  return "hipRTC " + version_of(resolved) + " (" + name + ")";
}

// Destroys the program at the end of a scope.
struct ProgramGuard {
  void* program = nullptr;
  int (*destroy)(void**) = nullptr;
  ~ProgramGuard() { if (program) destroy(&program); }
};

}  // namespace

Result<std::vector<DeviceHeader>> read_device_headers(const std::string& include_folder) {
  const std::string folder = include_folder + "/kiln";
  DIR* listing = opendir(folder.c_str());
  if (listing == nullptr) return errno_error(errno, "device headers in " + folder);
  std::vector<std::string> names;
  while (const dirent* entry = readdir(listing)) {
    const std::string name = entry->d_name;
    if (name.size() > 4 && name.ends_with(".hpp")) names.push_back(name);
  }
  closedir(listing);
  std::sort(names.begin(), names.end());
  if (names.empty()) return Error(ErrorCode::not_found, "no device headers in " + folder);
  std::vector<DeviceHeader> headers;
  for (const auto& name : names) {
    KILN_TRY(const Bytes bytes, read_file(folder + "/" + name, header_bytes_max));
    headers.push_back({"kiln/" + name, std::string(text(bytes))});
  }
  return headers;
}

Result<Hiprtc> Hiprtc::load() {
  Error refused(ErrorCode::no_compiler, "no hipRTC: install one with `kiln toolchain install`, or use ROCm's");
  for (const char* name : {"libhiprtc.so.7", "libhiprtc.so.6", "libamdhip64.so.5"}) {
    void* library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) {
      refused.context.push_back(dlerror());
      continue;
    }
    Hiprtc rtc;
    const bool complete =
        find(library, "hiprtcCreateProgram", rtc.create_) && find(library, "hiprtcCompileProgram", rtc.compile_) &&
        find(library, "hiprtcDestroyProgram", rtc.destroy_) &&
        find(library, "hiprtcGetProgramLogSize", rtc.log_size_) && find(library, "hiprtcGetProgramLog", rtc.log_) &&
        find(library, "hiprtcGetCodeSize", rtc.code_size_) && find(library, "hiprtcGetCode", rtc.code_) &&
        find(library, "hiprtcGetErrorString", rtc.error_);
    if (!complete) {
      refused.context.push_back(std::string(name) + " lacks hipRTC's functions");
      continue;
    }
    rtc.description_ = describe(reinterpret_cast<void*>(rtc.create_), name);
    return rtc;
  }
  return refused;
}

Result<Hiprtc::Output> Hiprtc::compile(const std::string& text, const std::vector<DeviceHeader>& headers,
                                       const std::vector<std::string>& options, const std::string& name) {
  std::vector<const char*> names, texts, flags;
  for (const auto& header : headers) {
    names.push_back(header.name.c_str());
    texts.push_back(header.text.c_str());
  }
  for (const auto& option : options) flags.push_back(option.c_str());
  ProgramGuard guard{nullptr, destroy_};
  if (const int code = create_(&guard.program, text.c_str(), name.c_str(), static_cast<int>(names.size()), texts.data(),
                               names.data());
      code != 0) {
    guard.program = nullptr;
    return Error(ErrorCode::compile_failed, std::string("hipRTC takes no program: ") + error_(code));
  }
  const int code = compile_(guard.program, static_cast<int>(flags.size()), flags.data());
  Output output;
  std::size_t size = 0;
  if (log_size_(guard.program, &size) == 0 && size > 1) {
    output.log.resize(size);
    if (log_(guard.program, output.log.data()) != 0) output.log.clear();
    output.log.resize(std::min(output.log.find('\0'), output.log.size()));
  }
  if (code != 0) {
    const bool silent = output.log.empty();
    Error error(ErrorCode::compile_failed, std::string("hipRTC: ") + error_(code) +
                                               (silent ? "; no log: is there a writable temporary folder?" : ""));
    if (!silent) error.context.push_back(output.log);
    return error;
  }
  if (code_size_(guard.program, &size) != 0 || size == 0)
    return Error(ErrorCode::compile_failed, "hipRTC made no code object");
  output.object.resize(size);
  if (code_(guard.program, reinterpret_cast<char*>(output.object.data())) != 0)
    return Error(ErrorCode::compile_failed, "hipRTC gave no code object");
  return output;
}

std::vector<std::string> hip_options(const target::Target& target) {
  std::vector<std::string> options = {"--offload-arch=" + target.full, "-O3", "-std=c++20", "-ffp-contract=off",
                                      "-fno-fast-math",
                                      // For profiles; the code is the same without.
                                      "-gline-tables-only"};
  // With registers of 16 bits LLVM 21 (hipRTC 6.4.3) loses upper halves: of two vectors of f16 {a, b}, {c, d} it makes
  // {a, d} where {b, d} is meant, in loops that exchange pairs, as flash_attention's. Found by the emulated card.
  if (target.family == target::Family::rdna) {
    for (const char* option : {"-Xclang", "-target-feature", "-Xclang", "-real-true16"}) options.emplace_back(option);
  }
  return options;
}

}  // namespace kiln::compile
