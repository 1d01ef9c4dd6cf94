// What compiled HIP programs register before main: their device code, and which of their functions and variables stand
// for what in it. Modules are loaded at first use, for each card. Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "engine/base/result.hpp"
#include "engine/device/hip/declarations.hpp"

namespace kiln::emulator {

namespace hip = device::hip;

// hipErrorInvalidSymbol, hipErrorInvalidDeviceFunction.
inline constexpr hip::Code invalid_symbol = 13, invalid_device_function = 98;

class Registry {
 public:
  struct Binary {
    const void* image = nullptr;                  // clang's offload bundle
    std::map<int, hip::Module> modules;           // by device
  };
  // Of the process, never destroyed: programs unregister while it ends.
  static Registry& get();

  Binary* add(const void* image);
  void add_function(Binary* binary, const void* host, const char* name);
  void add_variable(Binary* binary, const void* host, const char* name);
  void remove(Binary* binary);

  // The function that `host` stands for, on a device. invalid_device_function for what nobody registered; errors of
  // loading as hipModuleLoadData gives them.
  hip::Code function(const void* host, int device, hip::Function& function);
  // The device's copy of a variable, likewise; invalid_symbol.
  hip::Code variable(const void* host, int device, void*& address, std::size_t& bytes);

 private:
  struct Entry {
    Binary* binary = nullptr;
    std::string name;
    std::map<int, hip::Function> functions;
  };
  hip::Code module(Binary& binary, int device, hip::Module& module);

  std::mutex mutex_;
  std::map<Binary*, std::unique_ptr<Binary>> binaries_;
  std::map<const void*, Entry> functions_, variables_;
};

}  // namespace kiln::emulator
