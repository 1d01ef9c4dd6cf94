// v_cmp_<condition>_<type>, v_cmpx_<condition>_<type>, and the classes of floats.
#include "engine/emulator/core/float_half.hpp"
#include "engine/emulator/core/vector_loops.hpp"
#include "engine/emulator/core/vector_minmax.hpp"

namespace kiln::emulator {
namespace {

using u32 = std::uint32_t;
using Conditions = Compute[8];   // never, <, ==, <=, >, ordered and unequal (integers: unequal), >=, ordered (always)

template <bool value>
void constant(Lanes& l) {
  l.mask_out = value ? ~std::uint64_t{0} : 0;
}

template <class T>
inline bool less(T a, T b) { return a < b; }
template <class T>
inline bool equal(T a, T b) { return a == b; }
template <class T>
inline bool less_equal(T a, T b) { return a <= b; }
template <class T>
inline bool greater(T a, T b) { return a > b; }
template <class T>
inline bool greater_equal(T a, T b) { return a >= b; }
template <class T>
inline bool unequal(T a, T b) { return a != b; }
// Of floats: NaN is neither.
template <class T>
inline bool less_greater(T a, T b) { return (a < b) | (a > b); }
template <class T>
inline bool ordered(T a, T b) { return (a == a) & (b == b); }

template <class T>
constexpr Conditions integer_conditions = {constant<false>,        loop<less<T>>,    loop<equal<T>>,
                                           loop<less_equal<T>>,    loop<greater<T>>, loop<unequal<T>>,
                                           loop<greater_equal<T>>, constant<true>};
template <class T>
constexpr Conditions float_conditions = {constant<false>,        loop<less<T>>,    loop<equal<T>>,
                                         loop<less_equal<T>>,    loop<greater<T>>, loop<less_greater<T>>,
                                         loop<greater_equal<T>>, loop<ordered<T>>};

// f16 compare as f32.
template <bool (*f)(float, float)>
void half(Lanes& l) {
  alignas(64) float a[lanes], b[lanes];
  alignas(64) u32 hit[lanes];
  widen_low(l.a, a);
  widen_low(l.b, b);
  for (int i = 0; i < lanes; ++i) hit[i] = f(a[i], b[i]) ? ~0u : 0u;
  l.mask_out = pack_mask(hit);
}
constexpr Conditions half_conditions = {
    constant<false>,      half<less<float>>,         half<equal<float>>,         half<less_equal<float>>,
    half<greater<float>>, half<less_greater<float>>, half<greater_equal<float>>, half<ordered<float>>};

// Bit of the class: 0 signalling NaN, 1 quiet NaN, 2 -infinity, 3 -normal, 4 -denormal, 5 -0, 6 +0, 7 +denormal,
// 8 +normal, 9 +infinity.
template <class F>
inline int class_of(typename F::Bits x) {
  const auto magnitude = static_cast<typename F::Bits>(x & static_cast<typename F::Bits>(~F::sign));
  const bool negative = (x & F::sign) != 0;
  if (magnitude > F::infinity) return (x & F::quiet) != 0 ? 1 : 0;
  const int distance = magnitude == F::infinity ? 3 : (magnitude & F::infinity) != 0 ? 2 : magnitude != 0 ? 1 : 0;
  return negative ? 5 - distance : 6 + distance;
}
template <class F>
constexpr Compute class_loop = loop<([](typename F::Bits a, u32 b) { return (b >> class_of<F>(a) & 1) != 0; })>;

// The conditions' names by place: the low half plain, the upper half of floats complements.
constexpr std::string_view float_names[16] = {"f", "lt", "eq", "le", "gt", "lg", "ge", "o",
                                              "u", "nge", "nlg", "ngt", "nle", "neq", "nlt", "tru"};
constexpr std::string_view integer_names[8] = {"f", "lt", "eq", "le", "gt", "ne", "ge", "t"};
// Which plain condition a complemented one is the complement of.
constexpr int complement_of[8] = {7, 6, 5, 4, 3, 2, 1, 0};

struct CompareType {
  std::string_view name;
  Type type;
  const Conditions* conditions;
  bool is_float;
};
constexpr CompareType types[] = {
    {"f16", Type::f16, &half_conditions, true},
    {"f32", Type::f32, &float_conditions<float>, true},
    {"f64", Type::f64, &float_conditions<double>, true},
    {"i16", Type::i16, &integer_conditions<std::int16_t>, false},
    {"u16", Type::u16, &integer_conditions<std::uint16_t>, false},
    {"i32", Type::i32, &integer_conditions<std::int32_t>, false},
    {"u32", Type::u32, &integer_conditions<u32>, false},
    {"i64", Type::i64, &integer_conditions<std::int64_t>, false},
    {"u64", Type::u64, &integer_conditions<std::uint64_t>, false},
};
constexpr int type_count = sizeof types / sizeof types[0];

// By type, condition, and whether EXEC is written; [16]: the class.
struct CompareRows {
  VectorRow rows[type_count][17][2] = {};
  constexpr CompareRows() {
    constexpr Compute classes[3] = {class_loop<Format16>, class_loop<Format32>, class_loop<Format64>};
    for (int t = 0; t < type_count; ++t) {
      for (int which = 0; which < 2; ++which) {
        const u32 flags = compares | (which == 1 ? u32{writes_exec} : 0u);
        for (int c = 0; c < (types[t].is_float ? 16 : 8); ++c) {
          VectorRow row{"", (*types[t].conditions)[c < 8 ? c : complement_of[c - 8]], Type::none, types[t].type,
                        types[t].type};
          row.flags = flags | (types[t].is_float ? u32{floats} : 0u) | (c >= 8 ? u32{inverts} : 0u);
          rows[t][c][which] = usual_mode(row);
        }
        if (t < 3)
          // f16's classes stand in 16 bits, of which RDNA can take the upper half of a register.
          rows[t][16][which] = usual_mode(
              {"", classes[t], Type::none, types[t].type, t == 0 ? Type::u16 : Type::b32, Type::none, flags});
      }
    }
  }
};
constexpr CompareRows table;

}  // namespace

const VectorRow* find_compare(std::string_view name) {
  int which = 0;
  if (name.starts_with("v_cmpx_")) {
    which = 1;
  } else if (!name.starts_with("v_cmp_")) {
    return nullptr;
  }
  name.remove_prefix(which == 1 ? 7 : 6);
  if (name.size() < 5 || name[name.size() - 4] != '_') return nullptr;
  const std::string_view condition = name.substr(0, name.size() - 4), type = name.substr(name.size() - 3);
  for (int t = 0; t < type_count; ++t) {
    if (types[t].name != type) continue;
    if (condition == "class") return types[t].is_float ? &table.rows[t][16][which] : nullptr;
    if (types[t].is_float && condition == "t") return &table.rows[t][15][which];  // RDNA's "tru"
    for (int c = 0; c < (types[t].is_float ? 16 : 8); ++c) {
      if ((types[t].is_float ? float_names[c] : integer_names[c]) == condition) return &table.rows[t][c][which];
    }
  }
  return nullptr;
}

}  // namespace kiln::emulator
