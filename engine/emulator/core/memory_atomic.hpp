// Atomic operations of device memory and of LDS: what they make of the memory's value, and how that is done atomically.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/emulator/core/wave.hpp"

namespace kiln::emulator {

// One of the two functions is set. `data`, `second`: the instruction's data in the order of the memory formats
// (compare-and-swap: new value, compared value).
struct AtomicOperation {
  std::string_view name;                 // "add", "add_x2", "add_f32": the part of the mnemonic behind "atomic_"
  std::uint32_t (*apply32)(std::uint32_t memory, std::uint32_t data, std::uint32_t second) = nullptr;
  std::uint64_t (*apply64)(std::uint64_t memory, std::uint64_t data, std::uint64_t second) = nullptr;
  bool compares = false;                 // the data is a pair
  bool floating = false;
  bool flushes = false;                  // in LDS: f32 arithmetic, denormals by MODE
};

// The operation of device memory with that name on that target; null if there is none.
const AtomicOperation* find_atomic(std::string_view name, Family family);
// The operation of LDS: "add_u32", "cmpst_b32", "pk_add_f16": the part behind "ds_" without "rtn_".
const AtomicOperation* find_lds_atomic(std::string_view name, Family family);

// Other work groups run on other threads of the host at the same time.
inline std::uint32_t update(std::uint32_t* memory, const AtomicOperation& operation, std::uint32_t data,
                            std::uint32_t second) {
  std::uint32_t before = __atomic_load_n(memory, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(memory, &before, operation.apply32(before, data, second), false, __ATOMIC_SEQ_CST,
                                      __ATOMIC_RELAXED)) {
  }
  return before;
}
inline std::uint64_t update(std::uint64_t* memory, const AtomicOperation& operation, std::uint64_t data,
                            std::uint64_t second) {
  std::uint64_t before = __atomic_load_n(memory, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(memory, &before, operation.apply64(before, data, second), false, __ATOMIC_SEQ_CST,
                                      __ATOMIC_RELAXED)) {
  }
  return before;
}

}  // namespace kiln::emulator
