// What a launch puts into memory for its kernel: arguments, the dispatch packet, a queue. Layouts: LLVM's AMDGPUUsage,
// "Kernel Descriptor", "Hidden arguments"; HSA's runtime specification, "AQL kernel dispatch packet"; amd_queue_t.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/base/result.hpp"
#include "engine/emulator/machine/object.hpp"

namespace kiln::emulator {

// Where LDS and private memory lie in the flat address space: the bases that the real driver uses.
inline constexpr std::uint64_t shared_aperture = std::uint64_t(1) << 48, private_aperture = std::uint64_t(2) << 48;

using Kernel = ObjectKernel;

// Private memory of a lane: what the descriptor says and, where the kernel calls what the compiler could not see
// through, a stack beside.
std::uint32_t private_bytes_of(const Kernel& kernel);

struct Geometry {
  std::uint32_t blocks[3] = {1, 1, 1};
  std::uint32_t threads[3] = {1, 1, 1};
  std::uint32_t dynamic_lds = 0;
};

// The explicit arguments in their places, from one pointer an argument or from one buffer. Hidden ones are zero.
// `pointers` has one for each explicit argument; nobody can check that. Errors: invalid_argument.
Result<Bytes> gather_arguments(const Kernel& kernel, void* const* pointers);
Result<Bytes> gather_arguments(const Kernel& kernel, ByteView buffer);

// Of what hidden arguments point to; 0: nothing.
struct HiddenAddresses {
  std::uint64_t hostcall_buffer = 0, printf_buffer = 0, grid_barrier = 0;
};
// What a kernel may ask for by a hidden argument that the emulated card leaves 0, in words: "malloc and free on the
// device (hidden_heap_v1)". Empty: all that it asks for is there.
std::string absent_services(const Kernel& kernel);

// The memory itself: kept while the launch runs.
class LaunchMemory {
 public:
  // `arguments` as gather_arguments gives it. Errors: out_of_memory.
  static Result<std::unique_ptr<LaunchMemory>> make(const Kernel& kernel, const Geometry& geometry, Bytes arguments,
                                                    const HiddenAddresses& hidden = {});
  ~LaunchMemory();
  LaunchMemory(const LaunchMemory&) = delete;
  [[nodiscard]] std::uint64_t begin() const { return begin_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t packet() const { return begin_; }
  [[nodiscard]] std::uint64_t queue() const { return begin_ + 256; }
  [[nodiscard]] std::uint64_t arguments() const { return begin_ + 512; }
  // Dword `index` of the arguments; 0 beyond them.
  [[nodiscard]] std::uint32_t argument_dword(std::uint32_t index) const;

 private:
  LaunchMemory() = default;
  std::uint64_t begin_ = 0, bytes_ = 0, mapped_ = 0;
  std::uint32_t argument_bytes_ = 0;
};

}  // namespace kiln::emulator
