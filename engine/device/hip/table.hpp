// HIP's functions, from a library that is loaded at run time: AMD's runtime, or the emulated card.
#pragma once

#include <string>

#include "engine/base/result.hpp"
#include "engine/device/hip/declarations.hpp"

namespace kiln::device::hip {

struct Table {
#define KILN_MEMBER(name, parameters) Code(*name) parameters = nullptr;
  KILN_HIP_FUNCTIONS(KILN_MEMBER)
  KILN_HIP_OPTIONAL_FUNCTIONS(KILN_MEMBER)   // null where the library lacks it
#undef KILN_MEMBER
  const char* (*hipGetErrorName)(Code) = nullptr;
  const char* (*hipGetErrorString)(Code) = nullptr;
  // Of the emulated card only (engine/emulator/hip/control.hpp).
  std::size_t (*report)(char*, std::size_t) = nullptr;
  std::size_t (*stream_report)(void*, char*, std::size_t) = nullptr;
  std::size_t (*message)(char*, std::size_t) = nullptr;
  void (*cancel)(void*) = nullptr;
  void (*cancel_behind)(void*, std::size_t) = nullptr;
  std::size_t (*submitted)(void*) = nullptr;
  int (*set_switch)(const char*, const char*) = nullptr;
  std::size_t (*profiles)(char*, std::size_t) = nullptr;
  void (*clear)() = nullptr;
  std::string path;                          // of the library, as it was asked for

  [[nodiscard]] bool emulated() const { return report != nullptr; }
  // Success, or an error that names the call, HIP's error and, where one is known, the cause.
  [[nodiscard]] Status check(Code code, const char* call) const;
};

// Loads `path`, or libamdhip64.so.7, .6, .5 where it is empty. Functions are looked up in the versions that the library
// has given them before the unversioned name: one of HIP 6 also exports old layouts. The library stays loaded. Errors:
// not_found (what was tried, with the loader's words and what to install), unsupported (a function that Kiln needs is
// missing).
Result<Table> load_table(const std::string& path);

// What is known to be behind a failing call, "" where nothing is.
std::string cause_of(const char* call, Code code);

}  // namespace kiln::device::hip
