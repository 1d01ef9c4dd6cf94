#include "engine/emulator/machine/core_loader.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <vector>

namespace kiln::emulator {
namespace {

// What x86-64-v3 and -v4 stand for (System V ABI, "Micro-architecture levels"), as far as the cores' code uses it.
std::string missing(bool v4) {
  std::string names;
  const auto need = [&](bool present, const char* name) {
    if (!present) names += (names.empty() ? "" : ", ") + std::string(name);
  };
  __builtin_cpu_init();
  need(__builtin_cpu_supports("avx2"), "AVX2");
  need(__builtin_cpu_supports("bmi"), "BMI1");
  need(__builtin_cpu_supports("bmi2"), "BMI2");
  need(__builtin_cpu_supports("fma"), "FMA");
  need(__builtin_cpu_supports("f16c"), "F16C");
  if (v4) {
    need(__builtin_cpu_supports("avx512f"), "AVX-512F");
    need(__builtin_cpu_supports("avx512bw"), "AVX-512BW");
    need(__builtin_cpu_supports("avx512cd"), "AVX-512CD");
    need(__builtin_cpu_supports("avx512dq"), "AVX-512DQ");
    need(__builtin_cpu_supports("avx512vl"), "AVX-512VL");
  }
  return names;
}

std::vector<std::string> folders(const std::string& folder) {
  if (!folder.empty()) return {folder};
  std::string here = "/proc/self/exe";
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&load_core), &info) != 0 && info.dli_fname != nullptr) here = info.dli_fname;
  char path[4096];
  // A program that was started by a relative path and has changed its folder: the kernel knows better.
  if (here.find('/') != 0) here = "/proc/self/exe";
  if (const auto size = ::readlink(here.c_str(), path, sizeof path - 1); size > 0 && path[0] == '/')
    here.assign(path, static_cast<std::size_t>(size));
  const std::string base = here.substr(0, here.rfind('/'));
  return {base, base + "/..", base + "/../lib/kiln"};
}

}  // namespace

Result<const Core*> load_core(const std::string& level, const std::string& folder) {
  const bool v4 = level == "v4" || (level.empty() && missing(true).empty());
  if (const std::string lacks = missing(v4); !lacks.empty()) {
    return Error(ErrorCode::unsupported, "the emulated card needs a processor with more: this one lacks " + lacks);
  }
  const std::string name = std::string("libkiln-emulator-core-") + (v4 ? "v4" : "v3") + ".so";
  std::string tried;
  for (const auto& place : folders(folder)) {
    const std::string path = place + "/" + name;
    if (::access(path.c_str(), R_OK) != 0) {
      tried += (tried.empty() ? "" : ", ") + place;
      continue;
    }
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return Error(ErrorCode::corrupt, std::string("the emulated card's core: ") + dlerror());
    const auto entry = reinterpret_cast<CoreEntry>(dlsym(library, "kiln_emulator_core"));
    if (entry == nullptr) return Error(ErrorCode::corrupt, "the emulated card's core has no entry: " + path);
    return entry();
  }
  return Error(ErrorCode::not_found, "the emulated card's core " + name + " is in none of " + tried);
}

}  // namespace kiln::emulator
