// Element types and memory spaces, shared by tile programs, bound programs and kernel programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kiln {

// Append only: the numbers are part of the encoding that keys hash.
enum class DType : std::uint8_t {
  f64, f32, f16, bf16,
  f8e4m3fn, f8e4m3fnuz, f8e5m2, f8e5m2fnuz, f4e2m1, f6e2m3, f6e3m2, e8m0,
  i64, i32, i16, i8, i4,
  u64, u32, u16, u8, u4,
  boolean,
  index,  // mathematical integers of index expressions; never an element type
};
inline constexpr DType dtype_last = DType::index;

const char* dtype_name(DType type);                          // "f16"
std::optional<DType> dtype_from_name(std::string_view name); // element types only, not "index"
int dtype_bits(DType type);                                  // 16 for f16; 8 for boolean (one byte in memory); 64 for index
inline int dtype_bytes(DType type) { return (dtype_bits(type) + 7) / 8; }
bool is_float(DType type);
bool is_integer(DType type);                                 // i*, u* and index; not boolean
bool is_signed(DType type);                                  // floats and i*, index
// What this version has elements of: f64 to f8e5m2fnuz, i8..i64, u8..u64, boolean. The others: a "not yet" diagnostic.
bool is_supported(DType type);

enum class Space : std::uint8_t { shared, fragment, local };
const char* space_name(Space space);
enum class Access : std::uint8_t { read, write, readwrite };
const char* access_name(Access access);

// A requested layout of a shared tile. `automatic`: lowering chooses.
struct LayoutSpec {
  enum class Kind : std::uint8_t { automatic, row_major, pad, swizzle } kind = Kind::automatic;
  std::int64_t pad_bytes = 0;      // pad: bytes added to each row
  std::int64_t chunk_bytes = 0;    // swizzle: the unit that moves (8 or 16 bytes); the chunk's index is XORed with
  std::int64_t row_divisor = 1;    // (row / row_divisor) % rows_mod, all powers of two
  std::int64_t rows_mod = 1;
  bool operator==(const LayoutSpec&) const = default;
};
std::string layout_spec_text(const LayoutSpec& spec);        // "auto", "row_major", "pad:8", "swizzle:16,1,8"
std::optional<LayoutSpec> layout_spec_from_text(std::string_view text);

}  // namespace kiln
