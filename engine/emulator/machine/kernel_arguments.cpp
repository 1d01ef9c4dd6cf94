#include "engine/emulator/machine/kernel_arguments.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "engine/base/os.hpp"

namespace kiln::emulator {
namespace {

constexpr std::int64_t argument_bytes_max = 1 << 20;
constexpr std::uint64_t page = 4096;
constexpr std::uint32_t stack_bytes = 16384;

template <class T> void put(std::uint8_t* at, std::size_t offset, T value) {
  std::memcpy(at + offset, &value, sizeof value);
}

bool is_hidden(const compile::KernelArgument& argument) { return argument.kind.starts_with("hidden_"); }

// Bytes of the argument segment: what the descriptor says or, where that is 0 (some assembly), what the arguments need.
Result<std::size_t> segment_bytes(const Kernel& kernel) {
  std::int64_t bytes = kernel.kernarg_bytes;
  for (const auto& argument : kernel.arguments) {
    if (argument.offset < 0 || argument.size < 0 || argument.offset > argument_bytes_max ||
        argument.size > argument_bytes_max) {
      return Error(ErrorCode::corrupt, "kernel " + kernel.name + " has an argument at an impossible place");
    }
    bytes = std::max(bytes, argument.offset + argument.size);
  }
  if (bytes > argument_bytes_max)
    return Error(ErrorCode::corrupt, "kernel " + kernel.name + " asks for more than 1 MiB of arguments");
  return static_cast<std::size_t>(bytes);
}

std::uint64_t hidden_value(const std::string& kind, const Geometry& geometry, std::uint64_t queue,
                           const HiddenAddresses& hidden) {
  const auto axis = [&](const char* name) {
    const std::size_t size = std::strlen(name);
    return kind.size() == size + 1 && kind.compare(0, size, name) == 0 ? kind[size] - 'x' : -1;
  };
  if (const int a = axis("hidden_block_count_"); a >= 0 && a < 3) return geometry.blocks[a];
  if (const int a = axis("hidden_group_size_"); a >= 0 && a < 3) return geometry.threads[a];
  // hidden_remainder_*, hidden_global_offset_*: launches are of whole blocks and begin at 0.
  if (kind == "hidden_grid_dims") return 3;   // HIP's launches always say three
  if (kind == "hidden_private_base") return private_aperture >> 32;
  if (kind == "hidden_shared_base") return shared_aperture >> 32;
  if (kind == "hidden_queue_ptr") return queue;
  if (kind == "hidden_dynamic_lds_size") return geometry.dynamic_lds;
  if (kind == "hidden_hostcall_buffer") return hidden.hostcall_buffer;
  if (kind == "hidden_printf_buffer") return hidden.printf_buffer;
  if (kind == "hidden_multigrid_sync_arg") return hidden.grid_barrier;
  return 0;  // absent_services says what that means
}

void fill_packet(std::uint8_t* packet, const Kernel& kernel, const Geometry& geometry, std::uint64_t arguments) {
  put<std::uint16_t>(packet, 0, 2);           // header: kernel dispatch
  put<std::uint16_t>(packet, 2, 3);           // dimensions
  for (int i = 0; i < 3; ++i) {
    put<std::uint16_t>(packet, 4 + 2 * i, static_cast<std::uint16_t>(geometry.threads[i]));
    put<std::uint32_t>(packet, 12 + 4 * i, geometry.blocks[i] * geometry.threads[i]);
  }
  put<std::uint32_t>(packet, 24, private_bytes_of(kernel));
  put<std::uint32_t>(packet, 28, kernel.lds_bytes + geometry.dynamic_lds);
  put<std::uint64_t>(packet, 32, kernel.descriptor);
  put<std::uint64_t>(packet, 40, arguments);
}

}  // namespace

std::uint32_t private_bytes_of(const Kernel& kernel) {
  const std::uint32_t stack = kernel.dynamic_stack ? stack_bytes : 0;
  return kernel.private_bytes > ~stack ? ~0u : kernel.private_bytes + stack;
}

Result<Bytes> gather_arguments(const Kernel& kernel, void* const* pointers) {
  KILN_TRY(const auto size, segment_bytes(kernel));
  Bytes bytes(size);
  std::size_t given = 0;
  for (const auto& argument : kernel.arguments) {
    if (is_hidden(argument)) continue;
    if (pointers == nullptr || pointers[given] == nullptr)
      return Error(ErrorCode::invalid_argument, kernel.name + ": argument " + std::to_string(given) + " is missing");
    std::memcpy(bytes.data() + argument.offset, pointers[given], static_cast<std::size_t>(argument.size));
    ++given;
  }
  return bytes;
}

Result<Bytes> gather_arguments(const Kernel& kernel, ByteView buffer) {
  KILN_TRY(const auto size, segment_bytes(kernel));
  std::size_t needed = 0;
  for (const auto& argument : kernel.arguments)
    if (!is_hidden(argument)) needed = std::max(needed, static_cast<std::size_t>(argument.offset + argument.size));
  if (buffer.size() < needed) {
    return Error(ErrorCode::invalid_argument, kernel.name + " takes " + std::to_string(needed) +
                                                  " bytes of arguments, " + std::to_string(buffer.size()) + " given");
  }
  Bytes bytes(size);
  if (!bytes.empty()) std::memcpy(bytes.data(), buffer.data(), std::min(size, buffer.size()));
  return bytes;
}

std::string absent_services(const Kernel& kernel) {
  constexpr std::pair<const char*, const char*> known[] = {
      {"hidden_heap_v1", "malloc and free on the device"},
      {"hidden_default_queue", "launches of kernels by kernels"},
      {"hidden_completion_action", "events of launches by kernels"},
  };
  std::string all;
  for (const auto& [kind, service] : known) {
    const bool asked = std::any_of(kernel.arguments.begin(), kernel.arguments.end(),
                                   [&, name = kind](const auto& argument) { return argument.kind == name; });
    if (asked) all += std::string(all.empty() ? "" : ", ") + service + " (" + kind + ")";
  }
  return all;
}

Result<std::unique_ptr<LaunchMemory>> LaunchMemory::make(const Kernel& kernel, const Geometry& geometry,
                                                         Bytes arguments, const HiddenAddresses& hidden) {
  std::unique_ptr<LaunchMemory> memory(new LaunchMemory);
  // Compilers read kernel arguments in wider loads than needed, up to 64 bytes.
  memory->bytes_ = 512 + (arguments.size() + 63) / 64 * 64;
  memory->mapped_ = (memory->bytes_ + page - 1) / page * page;
  void* mapping = os::mmap(nullptr, memory->mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return Error(ErrorCode::out_of_memory, "no memory for a launch's arguments");
  memory->begin_ = reinterpret_cast<std::uint64_t>(mapping);
  memory->argument_bytes_ = static_cast<std::uint32_t>(arguments.size());
  for (const auto& argument : kernel.arguments) {
    if (!is_hidden(argument) || argument.offset < 0 || argument.size < 0) continue;
    const auto offset = static_cast<std::size_t>(argument.offset), size = static_cast<std::size_t>(argument.size);
    if (offset > arguments.size() || size > arguments.size() - offset) continue;
    const std::uint64_t value = hidden_value(argument.kind, geometry, memory->queue(), hidden);
    if (size <= 8) std::memcpy(arguments.data() + offset, &value, size);
  }
  auto* const bytes = static_cast<std::uint8_t*>(mapping);
  fill_packet(bytes, kernel, geometry, memory->arguments());
  // amd_queue_t, of which kernels of older code objects read the apertures.
  put<std::uint32_t>(bytes + 256, 0x40, static_cast<std::uint32_t>(shared_aperture >> 32));
  put<std::uint32_t>(bytes + 256, 0x44, static_cast<std::uint32_t>(private_aperture >> 32));
  if (!arguments.empty()) std::memcpy(bytes + 512, arguments.data(), arguments.size());
  return memory;
}

LaunchMemory::~LaunchMemory() {
  if (mapped_ != 0) os::munmap(reinterpret_cast<void*>(begin_), mapped_);
}

std::uint32_t LaunchMemory::argument_dword(std::uint32_t index) const {
  std::uint32_t value = 0;
  const std::uint64_t at = std::uint64_t(index) * 4;
  if (at + 4 <= bytes_ - 512) std::memcpy(&value, reinterpret_cast<const void*>(arguments() + at), sizeof value);
  return value;
}

}  // namespace kiln::emulator
