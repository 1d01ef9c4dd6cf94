// 16-bit integer operations and those that pack or saturate into small integers.
#include "engine/emulator/core/vector_loops.hpp"

namespace kiln::emulator {
namespace {

using u16 = std::uint16_t;
using i16 = std::int16_t;
using u32 = std::uint32_t;
using i32 = std::int32_t;
constexpr Type H = Type::u16, J = Type::i16, B = Type::b16, U = Type::u32, I = Type::i32, N = Type::none;

inline u16 wrap(i32 x) { return static_cast<u16>(x); }
inline u16 clamp_u16(std::int64_t x) { return x < 0 ? 0 : x > 0xffff ? 0xffff : static_cast<u16>(x); }
inline u16 clamp_i16(std::int64_t x) {
  return static_cast<u16>(x < -32768 ? -32768 : x > 32767 ? 32767 : static_cast<i16>(x));
}
inline u32 clamp_byte_u(i32 x) { return x < 0 ? 0u : x > 255 ? 255u : static_cast<u32>(x); }
inline u32 clamp_byte_i(i32 x) { return static_cast<u32>(x < -128 ? -128 : x > 127 ? 127 : x) & 0xffu; }

template <class T>
inline T least(T a, T b) { return a < b ? a : b; }
template <class T>
inline T most(T a, T b) { return a > b ? a : b; }
template <class T>
inline T median(T a, T b, T c) { return most(least(a, b), least(most(a, b), c)); }

constexpr VectorRow rows[] = {
    {"v_add_u16", loop<([](u16 a, u16 b) { return wrap(a + b); })>, H, H, H, N},
    {"v_sub_u16", loop<([](u16 a, u16 b) { return wrap(a - b); })>, H, H, H, N},
    {"v_subrev_u16", loop<([](u16 a, u16 b) { return wrap(b - a); })>, H, H, H, N},
    {"v_add_u16", loop<([](u16 a, u16 b) { return clamp_u16(a + b); })>, H, H, H, N, saturates},
    {"v_sub_u16", loop<([](u16 a, u16 b) { return clamp_u16(a - b); })>, H, H, H, N, saturates},
    {"v_subrev_u16", loop<([](u16 a, u16 b) { return clamp_u16(b - a); })>, H, H, H, N, saturates},
    {"v_add_i16", loop<([](i16 a, i16 b) { return wrap(a + b); })>, J, J, J, N, keeps_high},
    {"v_sub_i16", loop<([](i16 a, i16 b) { return wrap(a - b); })>, J, J, J, N, keeps_high},
    {"v_add_i16", loop<([](i16 a, i16 b) { return clamp_i16(a + b); })>, J, J, J, N, keeps_high | saturates},
    {"v_sub_i16", loop<([](i16 a, i16 b) { return clamp_i16(a - b); })>, J, J, J, N, keeps_high | saturates},
    {"v_mul_lo_u16", loop<([](u16 a, u16 b) { return static_cast<u16>(u32{a} * b); })>, H, H, H, N},
    {"v_mad_u16", loop<([](u16 a, u16 b, u16 c) { return static_cast<u16>(u32{a} * b + c); })>, H, H, H, H, keeps_high},
    {"v_mad_i16", loop<([](u16 a, u16 b, u16 c) { return static_cast<u16>(u32{a} * b + c); })>, J, J, J, J, keeps_high},
    {"v_mad_u16", loop<([](u16 a, u16 b, u16 c) { return clamp_u16(std::int64_t{a} * b + c); })>, H, H, H, H,
     keeps_high | saturates},
    {"v_mad_i16", loop<([](i16 a, i16 b, i16 c) { return clamp_i16(std::int64_t{a} * b + c); })>, J, J, J, J,
     keeps_high | saturates},
    {"v_mad_legacy_u16", loop<([](u16 a, u16 b, u16 c) { return static_cast<u16>(u32{a} * b + c); })>, H, H, H, H},
    {"v_mad_legacy_i16", loop<([](u16 a, u16 b, u16 c) { return static_cast<u16>(u32{a} * b + c); })>, J, J, J, J},
    {"v_lshlrev_b16", loop<([](u16 a, u16 b) { return static_cast<u16>(u32{b} << (a & 15)); })>, B, H, B, N},
    {"v_lshrrev_b16", loop<([](u16 a, u16 b) { return static_cast<u16>(b >> (a & 15)); })>, B, H, B, N},
    {"v_ashrrev_i16", loop<([](u16 a, i16 b) { return static_cast<u16>(b >> (a & 15)); })>, J, H, J, N},
    {"v_min_u16", loop<([](u16 a, u16 b) { return least(a, b); })>, H, H, H, N},
    {"v_max_u16", loop<([](u16 a, u16 b) { return most(a, b); })>, H, H, H, N},
    {"v_min_i16", loop<([](i16 a, i16 b) { return least(a, b); })>, J, J, J, N},
    {"v_max_i16", loop<([](i16 a, i16 b) { return most(a, b); })>, J, J, J, N},
    {"v_min3_u16", loop<([](u16 a, u16 b, u16 c) { return least(least(a, b), c); })>, H, H, H, H, keeps_high},
    {"v_max3_u16", loop<([](u16 a, u16 b, u16 c) { return most(most(a, b), c); })>, H, H, H, H, keeps_high},
    {"v_med3_u16", loop<([](u16 a, u16 b, u16 c) { return median(a, b, c); })>, H, H, H, H, keeps_high},
    {"v_min3_i16", loop<([](i16 a, i16 b, i16 c) { return least(least(a, b), c); })>, J, J, J, J, keeps_high},
    {"v_max3_i16", loop<([](i16 a, i16 b, i16 c) { return most(most(a, b), c); })>, J, J, J, J, keeps_high},
    {"v_med3_i16", loop<([](i16 a, i16 b, i16 c) { return median(a, b, c); })>, J, J, J, J, keeps_high},
    {"v_pack_b32_f16", loop<([](u32 a, u32 b) { return (a & 0xffffu) | b << 16; })>, U, Type::f16, Type::f16, N},
    {"v_sat_pk_u8_i16",
     loop<([](u32 a) { return clamp_byte_u(static_cast<i16>(a)) | clamp_byte_u(static_cast<i16>(a >> 16)) << 8; })>, U,
     U, N, N},
    {"v_cvt_pk_u16_u32", loop<([](u32 a, u32 b) { return u32{clamp_u16(a)} | u32{clamp_u16(b)} << 16; })>, U, U, U, N},
    {"v_cvt_pk_i16_i32", loop<([](i32 a, i32 b) { return u32{clamp_i16(a)} | u32{clamp_i16(b)} << 16; })>, U, I, I, N},
    // The other half of the destination stays, as for all 16-bit results that came late.
    {"v_ashr_pk_i8_i32", loop<([](i32 a, i32 b, u32 c) {
       return static_cast<u16>(clamp_byte_i(a >> (c & 31)) | clamp_byte_i(b >> (c & 31)) << 8);
     })>,
     B, I, I, U, keeps_high, on_gfx950},
    {"v_ashr_pk_u8_i32", loop<([](i32 a, i32 b, u32 c) {
       return static_cast<u16>(clamp_byte_u(a >> (c & 31)) | clamp_byte_u(b >> (c & 31)) << 8);
     })>,
     B, I, I, U, keeps_high, on_gfx950},
};
constexpr SortedRows sorted(rows);

}  // namespace

const VectorTable vector_integer16_table = sorted.table();

}  // namespace kiln::emulator
