#include "engine/emulator/core/memory_atomic.hpp"

#include <bit>

#include "engine/emulator/core/rounding.hpp"
#include "engine/emulator/core/scalar.hpp"

namespace kiln::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

float as_float(u32 bits) { return std::bit_cast<float>(bits); }
double as_double(u64 bits) { return std::bit_cast<double>(bits); }
u32 bits_of(float value) { return std::bit_cast<u32>(value); }
u64 bits_of(double value) { return std::bit_cast<u64>(value); }

u32 without_denormal(u32 bits) { return (bits & 0x7f800000) == 0 ? bits & 0x80000000 : bits; }

u32 add_f32(u32 memory, u32 data, u32) { return bits_of(as_float(memory) + as_float(data)); }
// MI200's caches add without denormals.
u32 add_f32_flush(u32 memory, u32 data, u32) {
  return without_denormal(add_f32(without_denormal(memory), without_denormal(data), 0));
}

u32 add_f16(u32 a, u32 b) {
  const float sum = _cvtsh_ss(static_cast<unsigned short>(a)) + _cvtsh_ss(static_cast<unsigned short>(b));
  return _cvtss_sh(sum, _MM_FROUND_TO_NEAREST_INT);  // f32 has the bits that make a second rounding harmless
}
u32 pk_add_f16(u32 memory, u32 data, u32) {
  return add_f16(memory & 0xffff, data & 0xffff) | add_f16(memory >> 16, data >> 16) << 16;
}

// Rounded to the nearest even. The f64 sum is exact as far as that matters (where it is not, the larger operand is the
// result); rounding it to odd in f32 keeps what the second rounding needs.
u32 add_bf16(u32 a, u32 b) {
  const double sum = double(as_float(a << 16)) + double(as_float(b << 16));
  const float nearest = static_cast<float>(sum);
  u32 bits = bits_of(nearest);
  if ((bits & 0x7fffffff) > 0x7f800000) return bits >> 16 | 0x40;
  if ((bits & 0x7f800000) != 0x7f800000 && double(nearest) != sum) {
    const bool away = (double(nearest) > sum) == (sum > 0);  // towards zero, with the last bit set
    bits = (away ? bits - 1 : bits) | 1;
  }
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
u32 pk_add_bf16(u32 memory, u32 data, u32) {
  return add_bf16(memory & 0xffff, data & 0xffff) | add_bf16(memory >> 16, data >> 16) << 16;
}

u32 min_f32(u32 memory, u32 data, u32) { return as_float(data) < as_float(memory) ? data : memory; }
u32 max_f32(u32 memory, u32 data, u32) { return as_float(data) > as_float(memory) ? data : memory; }
u64 min_f64(u64 memory, u64 data, u64) { return as_double(data) < as_double(memory) ? data : memory; }
u64 max_f64(u64 memory, u64 data, u64) { return as_double(data) > as_double(memory) ? data : memory; }
u64 add_f64(u64 memory, u64 data, u64) { return bits_of(as_double(memory) + as_double(data)); }

template <class T> T swap(T, T data, T) { return data; }
template <class T> T compare_swap(T memory, T data, T compared) { return memory == compared ? data : memory; }
template <class T> T add(T memory, T data, T) { return memory + data; }
template <class T> T sub(T memory, T data, T) { return memory - data; }
template <class T> T reverse_sub(T memory, T data, T) { return data - memory; }
template <class T, class S> T min(T memory, T data, T) { return S(data) < S(memory) ? data : memory; }
template <class T, class S> T max(T memory, T data, T) { return S(data) > S(memory) ? data : memory; }
template <class T> T bit_and(T memory, T data, T) { return memory & data; }
template <class T> T bit_or(T memory, T data, T) { return memory | data; }
template <class T> T bit_xor(T memory, T data, T) { return memory ^ data; }
template <class T> T increment(T memory, T data, T) { return memory >= data ? 0 : memory + 1; }
template <class T> T decrement(T memory, T data, T) { return memory == 0 || memory > data ? data : memory - 1; }

// LDS only; the compared value comes first there.
template <class T> T compare_store(T memory, T compared, T data) { return memory == compared ? data : memory; }
u32 compare_store_f32(u32 memory, u32 compared, u32 data) {
  return as_float(memory) == as_float(compared) ? data : memory;
}
u64 compare_store_f64(u64 memory, u64 compared, u64 data) {
  return as_double(memory) == as_double(compared) ? data : memory;
}
// RDNA3's LDS compares in the order of the memory formats.
u32 compare_swap_f32(u32 memory, u32 data, u32 compared) {
  return as_float(memory) == as_float(compared) ? data : memory;
}
u64 compare_swap_f64(u64 memory, u64 data, u64 compared) {
  return as_double(memory) == as_double(compared) ? data : memory;
}
u32 clamped_sub(u32 memory, u32 data, u32) { return memory < data ? 0 : memory - data; }
template <class T> T masked_or(T memory, T mask, T data) { return (memory & ~mask) | data; }
u32 wrap(u32 memory, u32 limit, u32 added) { return memory >= limit ? memory - limit : memory + added; }

struct Row {
  std::string_view name;
  AtomicOperation operation;
  Targets targets = targets_all;
};

#define KILN_BOTH(name, function)                                      \
  {name, {name, function<u32>, nullptr}}, {                            \
    name "_x2", { name "_x2", nullptr, function<u64> }                 \
  }
#define KILN_BOTH_SIGNED(name, function, s32, s64)                     \
  {name, {name, function<u32, s32>, nullptr}}, {                       \
    name "_x2", { name "_x2", nullptr, function<u64, s64> }            \
  }

constexpr Row memory_rows[] = {
    KILN_BOTH("swap", swap),
    {"cmpswap", {"cmpswap", compare_swap<u32>, nullptr, true}},
    {"cmpswap_x2", {"cmpswap_x2", nullptr, compare_swap<u64>, true}},
    KILN_BOTH("add", add),
    KILN_BOTH("sub", sub),
    KILN_BOTH_SIGNED("smin", min, i32, i64),
    KILN_BOTH_SIGNED("umin", min, u32, u64),
    KILN_BOTH_SIGNED("smax", max, i32, i64),
    KILN_BOTH_SIGNED("umax", max, u32, u64),
    KILN_BOTH("and", bit_and),
    KILN_BOTH("or", bit_or),
    KILN_BOTH("xor", bit_xor),
    KILN_BOTH("inc", increment),
    KILN_BOTH("dec", decrement),
    {"add_f32", {"add_f32", add_f32, nullptr, false, true}, targets_cdna3 | target_gfx11},
    {"min_f32", {"min_f32", min_f32, nullptr, false, true}, target_gfx11},
    {"max_f32", {"max_f32", max_f32, nullptr, false, true}, target_gfx11},
    {"cmpswap_f32", {"cmpswap_f32", compare_swap_f32, nullptr, true, true}, target_gfx11},
    {"csub_u32", {"csub_u32", clamped_sub, nullptr}, target_gfx11},
    {"add_f32_gfx90a", {"add_f32", add_f32_flush, nullptr, false, true}, target_gfx90a},
    {"pk_add_f16", {"pk_add_f16", pk_add_f16, nullptr, false, true}, targets_cdna},
    {"pk_add_bf16", {"pk_add_bf16", pk_add_bf16, nullptr, false, true}, targets_cdna3},
    {"add_f64", {"add_f64", nullptr, add_f64, false, true}},
    {"min_f64", {"min_f64", nullptr, min_f64, false, true}},
    {"max_f64", {"max_f64", nullptr, max_f64, false, true}},
};
constexpr SortedTable memory_table(memory_rows);

#define KILN_LDS(name32, name64, function)                  \
  {name32, {name32, function<u32>, nullptr}}, {             \
    name64, { name64, nullptr, function<u64> }              \
  }
#define KILN_LDS_PAIR(name32, name64, function)             \
  {name32, {name32, function<u32>, nullptr, true}}, {       \
    name64, { name64, nullptr, function<u64>, true }        \
  }

constexpr Row lds_rows[] = {
    KILN_LDS("add_u32", "add_u64", add),
    KILN_LDS("sub_u32", "sub_u64", sub),
    KILN_LDS("rsub_u32", "rsub_u64", reverse_sub),
    KILN_LDS("inc_u32", "inc_u64", increment),
    KILN_LDS("dec_u32", "dec_u64", decrement),
    {"min_i32", {"min_i32", min<u32, i32>, nullptr}},
    {"max_i32", {"max_i32", max<u32, i32>, nullptr}},
    {"min_u32", {"min_u32", min<u32, u32>, nullptr}},
    {"max_u32", {"max_u32", max<u32, u32>, nullptr}},
    {"min_i64", {"min_i64", nullptr, min<u64, i64>}},
    {"max_i64", {"max_i64", nullptr, max<u64, i64>}},
    {"min_u64", {"min_u64", nullptr, min<u64, u64>}},
    {"max_u64", {"max_u64", nullptr, max<u64, u64>}},
    KILN_LDS("and_b32", "and_b64", bit_and),
    KILN_LDS("or_b32", "or_b64", bit_or),
    KILN_LDS("xor_b32", "xor_b64", bit_xor),
    KILN_LDS("wrxchg_b32", "wrxchg_b64", swap),
    KILN_LDS_PAIR("mskor_b32", "mskor_b64", masked_or),
    KILN_LDS_PAIR("cmpst_b32", "cmpst_b64", compare_store),
    {"cmpst_f32", {"cmpst_f32", compare_store_f32, nullptr, true, true}},
    {"cmpst_f64", {"cmpst_f64", nullptr, compare_store_f64, true, true}},
    {"cmpstore_b32", {"cmpstore_b32", compare_swap<u32>, nullptr, true}, target_gfx11},
    {"cmpstore_b64", {"cmpstore_b64", nullptr, compare_swap<u64>, true}, target_gfx11},
    {"cmpstore_f32", {"cmpstore_f32", compare_swap_f32, nullptr, true, true}, target_gfx11},
    {"cmpstore_f64", {"cmpstore_f64", nullptr, compare_swap_f64, true, true}, target_gfx11},
    {"wrap_b32", {"wrap_b32", wrap, nullptr, true}},
    {"add_f32", {"add_f32", add_f32, nullptr, false, true, true}},
    {"min_f32", {"min_f32", min_f32, nullptr, false, true, true}},
    {"max_f32", {"max_f32", max_f32, nullptr, false, true, true}},
    {"add_f64", {"add_f64", nullptr, add_f64, false, true}},
    {"min_f64", {"min_f64", nullptr, min_f64, false, true}},
    {"max_f64", {"max_f64", nullptr, max_f64, false, true}},
    {"pk_add_f16", {"pk_add_f16", pk_add_f16, nullptr, false, true}, targets_cdna3},
    {"pk_add_bf16", {"pk_add_bf16", pk_add_bf16, nullptr, false, true}, targets_cdna3},
};
constexpr SortedTable lds_table(lds_rows);

}  // namespace

const AtomicOperation* find_atomic(std::string_view name, Family family) {
  if (name == "add_f32" && family == Family::gfx90a) name = "add_f32_gfx90a";
  const Row* row = memory_table.find(name);
  return row && has_target(row->targets, family) ? &row->operation : nullptr;
}

const AtomicOperation* find_lds_atomic(std::string_view name, Family family) {
  const Row* row = lds_table.find(name);
  return row && has_target(row->targets, family) ? &row->operation : nullptr;
}

}  // namespace kiln::emulator
