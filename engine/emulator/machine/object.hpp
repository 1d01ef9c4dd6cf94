// A code object in memory: its image, code, kernels and variables. The bytes may be hostile: every offset is checked,
// and what is wrong is named. Formats: the ELF specification; LLVM's AMDGPUUsage, "Code Object", "Relocation Records",
// "Kernel Descriptor".
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/base/result.hpp"
#include "engine/compile/metadata.hpp"
#include "engine/emulator/isa/decoder.hpp"

namespace kiln::emulator {

// The object's segments in host memory, page-aligned and zero where the file says nothing. Kernels see the host's
// addresses. Owns the mapping.
class ObjectImage {
 public:
  // `alignment`: a power of two, at least a page. Errors: out_of_memory.
  static Result<ObjectImage> map(std::uint64_t bytes, std::uint64_t alignment);
  ObjectImage() = default;
  ~ObjectImage();
  ObjectImage(ObjectImage&& other) noexcept;
  ObjectImage& operator=(ObjectImage&& other) noexcept;
  [[nodiscard]] std::uint8_t* begin() const { return begin_; }

 private:
  std::uint8_t* begin_ = nullptr;
  void* mapping_ = nullptr;
  std::uint64_t mapping_bytes_ = 0;
};

// What a launch needs of a kernel. Fields named in quotes are the descriptor's.
struct ObjectKernel {
  std::string name;                          // as a host program asks for it
  std::uint64_t descriptor = 0;              // address of its 64 bytes
  std::uint64_t entry = 0;                   // address of the first instruction ("kernel_code_entry_byte_offset")
  std::uint32_t lds_bytes = 0;               // "group_segment_fixed_size"
  std::uint32_t private_bytes = 0;           // "private_segment_fixed_size", a lane
  std::uint32_t kernarg_bytes = 0;           // "kernarg_size"; the metadata's where that is larger
  std::uint32_t rsrc1 = 0, rsrc2 = 0, rsrc3 = 0;  // "compute_pgm_rsrc1" …
  std::uint16_t properties = 0;              // "kernel_code_properties"
  std::uint16_t preload_dwords = 0;          // "kernarg_preload_spec_length"
  std::uint16_t preload_offset = 0;          // "kernarg_preload_spec_offset", in dwords
  bool dynamic_stack = false;                // "uses_dynamic_stack"
  std::uint32_t threads_max = 1024, wave = 64;    // metadata
  std::vector<compile::KernelArgument> arguments; // metadata, explicit and hidden ones, in its order
};

struct ObjectSegment {
  std::uint64_t address = 0, bytes = 0;
  bool writable = false, executable = false;
};
struct ObjectVariable {
  std::uint64_t address = 0, bytes = 0;
};

// A function of the code, kernels among them, by its symbol.
struct ObjectFunction {
  std::uint64_t address = 0, bytes = 0;      // bytes: 0 where the object does not say
  std::string name;                          // as in the object: mangled; cut off where it is long
};

struct LoadedObject {
  ObjectImage image;
  std::vector<ObjectSegment> segments;       // by address, disjoint, inside the image
  Code code;                                 // of the one executable segment; not bound
  std::uint64_t code_bytes = 0;
  std::map<std::string, ObjectKernel> kernels;
  std::map<std::string, ObjectVariable> variables;  // exported ones
  std::vector<std::string> print_formats;    // "amdhsa.printf"
  std::vector<ObjectFunction> functions;     // by address, each address once; at most 20000
};

// For a card that reports `isa`, "gfx942:sramecc+:xnack-". Errors: corrupt; unsupported (another target or features
// that the card does not have, an old code object version, a relocation or a symbol that only a linker could resolve);
// resource_limit (an image of more than 1 GiB); out_of_memory.
Result<LoadedObject> load_object(ByteView bytes, const std::string& isa);

}  // namespace kiln::emulator
