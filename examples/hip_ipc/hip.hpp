// HIP without its headers: functions by name from the runtime library, whichever version is there.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>

[[noreturn]] inline void fail(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(1);
}

struct Handle {  // hipIpcMemHandle_t, hipIpcEventHandle_t
  unsigned char bytes[64];
  std::string hex() const {
    std::string text;
    for (const unsigned byte : bytes) text += {"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
    return text;
  }
};

inline void* hip_function(const char* name) {
  static void* const library = [] {
    for (const char* file : {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"})
      if (void* const found = dlopen(file, RTLD_NOW)) return found;
    fail(dlerror());
  }();
  void* const function = dlsym(library, name);
  return function ? function : (fail(std::string("libamdhip64 has no ") + name), nullptr);
}

// Calls one; ends the program when it fails. The arguments' types must be the function's.
template <class... T>
void hip(const char* name, T... arguments) {
  const int code = reinterpret_cast<int (*)(T...)>(hip_function(name))(arguments...);
  if (code != 0) fail(std::string(name) + ": " + reinterpret_cast<const char* (*)(int)>(hip_function("hipGetErrorString"))(code));
}
