#include "engine/emulator/machine/initial_state.hpp"

#include <algorithm>
#include <cstring>

namespace kiln::emulator {
namespace {

constexpr std::uint32_t unset = 0xffffffffu;   // NaN, and no address: what a kernel forgets to set shows
constexpr std::uint64_t preload_prologue_bytes = 256;

// kernel_code_properties.
enum : std::uint16_t {
  private_segment_buffer = 1, dispatch_ptr = 2, queue_ptr = 4, kernarg_segment_ptr = 8, dispatch_id = 16,
  flat_scratch_init = 32, private_segment_size = 64, wavefront_size32 = 1024,
};

std::uint32_t bits(std::uint32_t value, int first, int count) { return (value >> first) & ((1u << count) - 1); }

// The user SGPRs in their order, one after the other.
class UserRegisters {
 public:
  explicit UserRegisters(InitialState& state) : state_(state) {}
  void add(std::uint32_t value) {
    if (next < 100) {
      state_.scalar[next] = value;
      state_.written[next] = true;
    }
    ++next;
  }
  void add64(std::uint64_t value) {
    add(static_cast<std::uint32_t>(value));
    add(static_cast<std::uint32_t>(value >> 32));
  }
  int next = 0;

 private:
  InitialState& state_;
};

// The private segment's buffer resource: swizzled by lane in elements of 4 bytes, index stride 64, the lane's number
// added. (Newer cards know no other element size; the field is where older ones had it.)
void add_private_buffer(UserRegisters& user, std::uint64_t scratch, std::uint64_t bytes) {
  user.add(static_cast<std::uint32_t>(scratch));
  user.add(static_cast<std::uint32_t>(scratch >> 32 & 0xffff) | 1u << 31);
  user.add(static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, 0xffffffffu)));
  user.add(1u << 23 | 3u << 21 | 1u << 19);
}

void set_vector_rows(InitialState& state, const Kernel& kernel, Family family) {
  const std::uint32_t granules = bits(kernel.rsrc1, 0, 6) + 1;
  if (family == Family::gfx11) {
    state.vector_rows = std::min<std::uint32_t>(256, granules * 8);
    return;
  }
  // One file: `granules` times 8 registers, of which the accumulation registers begin at (accum_offset + 1) * 4.
  const std::uint32_t all = std::min<std::uint32_t>(512, granules * 8);
  const std::uint32_t vector = std::min<std::uint32_t>(256, (bits(kernel.rsrc3, 0, 6) + 1) * 4);
  state.vector_rows = std::min(all, vector);
  state.accumulation_rows = std::min<std::uint32_t>(256, all > vector ? all - vector : 0);
}

}  // namespace

Result<InitialState> initial_state(const Kernel& kernel, Family family, const LaunchMemory& memory,
                                   std::uint64_t scratch, std::uint64_t scratch_bytes) {
  InitialState state;
  std::fill(std::begin(state.scalar), std::end(state.scalar), unset);
  const std::uint16_t properties = kernel.properties;
  state.wave = (properties & wavefront_size32) != 0 ? 32 : 64;
  if (family != Family::gfx11 && state.wave == 32)
    return Error(ErrorCode::corrupt, "kernel " + kernel.name + " asks for waves of 32 on a card that has none");
  if (family == Family::gfx11 && state.wave == 64)
    return Error(ErrorCode::unsupported, "kernel " + kernel.name +
                 " is compiled for waves of 64 lanes; the emulated RDNA3 card runs those of 32");
  state.architected_scratch = family != Family::gfx90a;
  state.scratch_registers = state.architected_scratch && family != Family::gfx11;
  UserRegisters user(state);
  if (properties & private_segment_buffer) add_private_buffer(user, scratch, scratch_bytes);
  if (properties & dispatch_ptr) user.add64(memory.packet());
  if (properties & queue_ptr) user.add64(memory.queue());
  if (properties & kernarg_segment_ptr) user.add64(memory.arguments());
  if (properties & dispatch_id) user.add64(0);
  if (properties & flat_scratch_init) user.add64(scratch);
  if (properties & private_segment_size) user.add(private_bytes_of(kernel));
  state.entry = kernel.entry;
  if (kernel.preload_dwords > 0) {
    state.entry += preload_prologue_bytes;
    for (std::uint32_t i = 0; i < kernel.preload_dwords; ++i)
      user.add(memory.argument_dword(kernel.preload_offset + i));
  }
  // The count may be higher than what is enabled: the rest is not set.
  state.system_first = static_cast<int>(bits(kernel.rsrc2, 1, 5));
  if (user.next > state.system_first || user.next > 32)
    return Error(ErrorCode::corrupt, "kernel " + kernel.name + " enables more user registers than it counts");
  int next = state.system_first;
  for (int i = 0; i < 3; ++i) next += state.block_id[i] = bits(kernel.rsrc2, 7 + i, 1) != 0;
  next += state.block_info = bits(kernel.rsrc2, 10, 1) != 0;
  state.wave_offset = bits(kernel.rsrc2, 0, 1) != 0;
  if (state.wave_offset && !state.architected_scratch) state.wave_offset_at = next;
  state.item_ids = static_cast<int>(std::min<std::uint32_t>(bits(kernel.rsrc2, 11, 2), 2)) + 1;
  state.mode = bits(kernel.rsrc1, 12, 8) | bits(kernel.rsrc1, 21, 1) << 8 | bits(kernel.rsrc1, 23, 1) << 9 |
               bits(kernel.rsrc1, 26, 1) << 23;
  state.priority = static_cast<std::uint8_t>(bits(kernel.rsrc1, 10, 2));
  state.private_bytes = private_bytes_of(kernel);
  state.scalar[code::vcc] = state.scalar[code::vcc + 1] = 0;
  state.scalar[code::null] = 0;
  for (int i = code::trap_temps; i < code::trap_temps + 16; ++i) state.scalar[i] = 0;
  set_vector_rows(state, kernel, family);
  return state;
}

void set_registers(Wave& wave, const InitialState& state, const Geometry& geometry, const std::uint32_t id[3],
                   std::uint32_t index, std::uint64_t scratch, std::uint64_t scratch_offset) {
  std::memcpy(wave.scalar, state.scalar, sizeof wave.scalar);
  wave.scc = false;
  wave.status = WaveStatus::running;
  wave.size = state.wave;
  wave.priority = state.priority;
  wave.mode = state.mode;
  wave.index = index;
  wave.executed = 0;
  wave.fault = {};
  wave.last_range = {};
  int next = state.system_first;
  for (int i = 0; i < 3; ++i)
    if (state.block_id[i]) wave.scalar[next++] = id[i];
  const std::uint32_t threads = geometry.threads[0] * geometry.threads[1] * geometry.threads[2];
  const std::uint32_t waves = (threads + state.wave - 1) / state.wave;
  // First wave in bit 31, the wave's number in its block in bits 6..11, how many there are in bits 0..5.
  if (state.block_info) wave.scalar[next++] = (index == 0 ? 1u << 31 : 0) | (index & 63) << 6 | (waves & 63);
  if (state.wave_offset_at >= 0) wave.scalar[state.wave_offset_at] = static_cast<std::uint32_t>(scratch_offset);
  if (state.scratch_registers) wave.set_scalar64(code::flat_scratch, scratch + scratch_offset);
  const std::uint32_t first = index * state.wave;
  const std::uint32_t present = std::min<std::uint32_t>(state.wave, threads - first);
  wave.set_scalar64(code::exec, present == 64 ? ~std::uint64_t(0) : (std::uint64_t(1) << present) - 1);
  if (geometry.threads[1] * geometry.threads[2] == 1) {
    for (std::uint32_t lane = 0; lane < state.wave; ++lane) wave.vector[0][lane] = first + lane;
    return;
  }
  std::uint32_t x = first % geometry.threads[0], y = first / geometry.threads[0] % geometry.threads[1],
                z = first / geometry.threads[0] / geometry.threads[1];
  for (std::uint32_t lane = 0; lane < state.wave; ++lane) {
    wave.vector[0][lane] = x | (state.item_ids > 1 ? y << 10 : 0) | (state.item_ids > 2 ? z << 20 : 0);
    if (++x == geometry.threads[0]) {
      x = 0;
      if (++y == geometry.threads[1]) y = 0, ++z;
    }
  }
}

}  // namespace kiln::emulator
