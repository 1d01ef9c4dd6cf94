// The other kind of printf: kernels only write what they print into a buffer, and the host reads it when the launch has
// ended. OpenCL's, and HIP's with -mprintf-kind=buffered. Formats: LLVM's AMDGPUUsage, "amdhsa.printf", and what its
// compiler emits; AMD's runtime.
//
//   buffer   u32 bytes that are used, u32 bytes that follow; then what was printed, piece by piece
//   OpenCL   u32 number of the format, then the arguments by the sizes that the metadata has, each padded to 4
//   HIP      u32 control: bit 0 stderr, bit 1 a constant format, from bit 2 on the piece's bytes; then the format's
//            hash, 8 bytes, or the format itself, padded to 8; then the arguments, 8 bytes each, strings in place,
//            padded to 8
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/base/result.hpp"
#include "engine/emulator/machine/hostcall_memory.hpp"
#include "engine/emulator/machine/hostcall_output.hpp"

namespace kiln::emulator {

// The entries of an object's "amdhsa.printf".
class PrintFormats {
 public:
  struct Sized {
    std::string text;
    std::vector<std::uint32_t> sizes;      // of the arguments, bytes
  };
  // What is malformed is left out: a kernel that uses it is told then.
  explicit PrintFormats(const std::vector<std::string>& entries);
  // Whether kernels write OpenCL's pieces; else they write HIP's.
  [[nodiscard]] bool sized() const { return !by_number_.empty(); }
  [[nodiscard]] const Sized* by_number(std::uint32_t number) const;        // null: there is none
  [[nodiscard]] const std::string* by_hash(std::uint64_t hash) const;

 private:
  std::map<std::uint32_t, Sized> by_number_;
  std::map<std::uint64_t, std::string> by_hash_;
};

class PrintBuffer {
 public:
  // Errors: out_of_memory.
  Status open();
  [[nodiscard]] const HostPages& memory() const { return memory_; }
  // Prints what is in it, after the launch, until `output` drops it. Errors: corrupt, for a buffer that no right kernel
  // leaves.
  Status print(const PrintFormats& formats, PrintedOutput& output) const;

 private:
  HostPages memory_;
};

}  // namespace kiln::emulator
