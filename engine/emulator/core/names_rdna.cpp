#include "engine/emulator/core/names_rdna.hpp"

#include "engine/emulator/core/scalar.hpp"

namespace kiln::emulator {
namespace {

struct Pair {
  std::string_view name, cdna;
};

constexpr Pair scalar_pairs[] = {
    {"s_ctz_i32_b32", "s_ff1_i32_b32"},
    {"s_ctz_i32_b64", "s_ff1_i32_b64"},
    {"s_clz_i32_u32", "s_flbit_i32_b32"},
    {"s_clz_i32_u64", "s_flbit_i32_b64"},
    {"s_cls_i32", "s_flbit_i32"},
    {"s_cls_i32_i64", "s_flbit_i32_i64"},
    {"s_and_not1_b32", "s_andn2_b32"},
    {"s_and_not1_b64", "s_andn2_b64"},
    {"s_or_not1_b32", "s_orn2_b32"},
    {"s_or_not1_b64", "s_orn2_b64"},
    {"s_and_not0_saveexec_b64", "s_andn1_saveexec_b64"},
    {"s_or_not0_saveexec_b64", "s_orn1_saveexec_b64"},
    {"s_and_not1_saveexec_b64", "s_andn2_saveexec_b64"},
    {"s_or_not1_saveexec_b64", "s_orn2_saveexec_b64"},
    {"s_and_not0_wrexec_b64", "s_andn1_wrexec_b64"},
    {"s_and_not1_wrexec_b64", "s_andn2_wrexec_b64"},
    {"s_load_b32", "s_load_dword"},
    {"s_load_b64", "s_load_dwordx2"},
    {"s_load_b128", "s_load_dwordx4"},
    {"s_load_b256", "s_load_dwordx8"},
    {"s_load_b512", "s_load_dwordx16"},
    {"s_buffer_load_b32", "s_buffer_load_dword"},
    {"s_buffer_load_b64", "s_buffer_load_dwordx2"},
    {"s_buffer_load_b128", "s_buffer_load_dwordx4"},
    {"s_buffer_load_b256", "s_buffer_load_dwordx8"},
    {"s_buffer_load_b512", "s_buffer_load_dwordx16"},
    {"s_gl1_inv", "s_dcache_inv"},
};

constexpr Pair vector_pairs[] = {
    {"v_add_nc_u32", "v_add_u32"},
    {"v_sub_nc_u32", "v_sub_u32"},
    {"v_subrev_nc_u32", "v_subrev_u32"},
    {"v_add_nc_i32", "v_add_i32"},
    {"v_sub_nc_i32", "v_sub_i32"},
    {"v_add_nc_u16", "v_add_u16"},
    {"v_sub_nc_u16", "v_sub_u16"},
    {"v_add_nc_i16", "v_add_i16"},
    {"v_sub_nc_i16", "v_sub_i16"},
    {"v_add_co_ci_u32", "v_addc_co_u32"},
    {"v_sub_co_ci_u32", "v_subb_co_u32"},
    {"v_subrev_co_ci_u32", "v_subbrev_co_u32"},
    {"v_clz_i32_u32", "v_ffbh_u32"},
    {"v_ctz_i32_b32", "v_ffbl_b32"},
    {"v_cls_i32", "v_ffbh_i32"},
    {"v_cvt_nearest_i32_f32", "v_cvt_rpi_i32_f32"},
    {"v_cvt_floor_i32_f32", "v_cvt_flr_i32_f32"},
    {"v_cvt_pk_rtz_f16_f32", "v_cvt_pkrtz_f16_f32"},
    {"v_cvt_pk_norm_i16_f32", "v_cvt_pknorm_i16_f32"},
    {"v_cvt_pk_norm_u16_f32", "v_cvt_pknorm_u16_f32"},
    {"v_cvt_pk_norm_i16_f16", "v_cvt_pknorm_i16_f16"},
    {"v_cvt_pk_norm_u16_f16", "v_cvt_pknorm_u16_f16"},
    {"v_mul_dx9_zero_f32", "v_mul_legacy_f32"},
    {"v_fmamk_f16", "v_fma_f16"},
    {"v_fmaak_f16", "v_fma_f16"},
    {"v_dot2acc_f32_f16", "v_dot2c_f32_f16"},
};

constexpr Pair memory_pairs[] = {
    {"load_u8", "load_ubyte"},
    {"load_i8", "load_sbyte"},
    {"load_u16", "load_ushort"},
    {"load_i16", "load_sshort"},
    {"load_b32", "load_dword"},
    {"load_b64", "load_dwordx2"},
    {"load_b96", "load_dwordx3"},
    {"load_b128", "load_dwordx4"},
    {"load_d16_u8", "load_ubyte_d16"},
    {"load_d16_hi_u8", "load_ubyte_d16_hi"},
    {"load_d16_i8", "load_sbyte_d16"},
    {"load_d16_hi_i8", "load_sbyte_d16_hi"},
    {"load_d16_b16", "load_short_d16"},
    {"load_d16_hi_b16", "load_short_d16_hi"},
    {"store_b8", "store_byte"},
    {"store_d16_hi_b8", "store_byte_d16_hi"},
    {"store_b16", "store_short"},
    {"store_d16_hi_b16", "store_short_d16_hi"},
    {"store_b32", "store_dword"},
    {"store_b64", "store_dwordx2"},
    {"store_b96", "store_dwordx3"},
    {"store_b128", "store_dwordx4"},
    {"load_d16_format_x", "load_format_d16_x"},
    {"load_d16_format_xy", "load_format_d16_xy"},
    {"load_d16_format_xyz", "load_format_d16_xyz"},
    {"load_d16_format_xyzw", "load_format_d16_xyzw"},
    {"load_d16_hi_format_x", "load_format_d16_hi_x"},
    {"store_d16_format_x", "store_format_d16_x"},
    {"store_d16_format_xy", "store_format_d16_xy"},
    {"store_d16_format_xyz", "store_format_d16_xyz"},
    {"store_d16_format_xyzw", "store_format_d16_xyzw"},
    {"store_d16_hi_format_x", "store_format_d16_hi_x"},
    {"atomic_swap_b32", "atomic_swap"},
    {"atomic_swap_b64", "atomic_swap_x2"},
    {"atomic_cmpswap_b32", "atomic_cmpswap"},
    {"atomic_cmpswap_b64", "atomic_cmpswap_x2"},
    {"atomic_add_u32", "atomic_add"},
    {"atomic_add_u64", "atomic_add_x2"},
    {"atomic_sub_u32", "atomic_sub"},
    {"atomic_sub_u64", "atomic_sub_x2"},
    {"atomic_min_i32", "atomic_smin"},
    {"atomic_min_i64", "atomic_smin_x2"},
    {"atomic_min_u32", "atomic_umin"},
    {"atomic_min_u64", "atomic_umin_x2"},
    {"atomic_max_i32", "atomic_smax"},
    {"atomic_max_i64", "atomic_smax_x2"},
    {"atomic_max_u32", "atomic_umax"},
    {"atomic_max_u64", "atomic_umax_x2"},
    {"atomic_and_b32", "atomic_and"},
    {"atomic_and_b64", "atomic_and_x2"},
    {"atomic_or_b32", "atomic_or"},
    {"atomic_or_b64", "atomic_or_x2"},
    {"atomic_xor_b32", "atomic_xor"},
    {"atomic_xor_b64", "atomic_xor_x2"},
    {"atomic_inc_u32", "atomic_inc"},
    {"atomic_inc_u64", "atomic_inc_x2"},
    {"atomic_dec_u32", "atomic_dec"},
    {"atomic_dec_u64", "atomic_dec_x2"},
    {"gl0_inv", "inv"},
    {"gl1_inv", "inv"},
};

constexpr Pair lds_pairs[] = {
    {"load_u8", "read_u8"},
    {"load_i8", "read_i8"},
    {"load_u16", "read_u16"},
    {"load_i16", "read_i16"},
    {"load_b32", "read_b32"},
    {"load_b64", "read_b64"},
    {"load_b96", "read_b96"},
    {"load_b128", "read_b128"},
    {"load_u8_d16", "read_u8_d16"},
    {"load_u8_d16_hi", "read_u8_d16_hi"},
    {"load_i8_d16", "read_i8_d16"},
    {"load_i8_d16_hi", "read_i8_d16_hi"},
    {"load_u16_d16", "read_u16_d16"},
    {"load_u16_d16_hi", "read_u16_d16_hi"},
    {"load_2addr_b32", "read2_b32"},
    {"load_2addr_b64", "read2_b64"},
    {"load_2addr_stride64_b32", "read2st64_b32"},
    {"load_2addr_stride64_b64", "read2st64_b64"},
    {"load_addtid_b32", "read_addtid_b32"},
    {"store_b8", "write_b8"},
    {"store_b16", "write_b16"},
    {"store_b32", "write_b32"},
    {"store_b64", "write_b64"},
    {"store_b96", "write_b96"},
    {"store_b128", "write_b128"},
    {"store_b8_d16_hi", "write_b8_d16_hi"},
    {"store_b16_d16_hi", "write_b16_d16_hi"},
    {"store_2addr_b32", "write2_b32"},
    {"store_2addr_b64", "write2_b64"},
    {"store_2addr_stride64_b32", "write2st64_b32"},
    {"store_2addr_stride64_b64", "write2st64_b64"},
    {"store_addtid_b32", "write_addtid_b32"},
    {"storexchg_rtn_b32", "wrxchg_rtn_b32"},
    {"storexchg_rtn_b64", "wrxchg_rtn_b64"},
    {"storexchg_2addr_rtn_b32", "wrxchg2_rtn_b32"},
    {"storexchg_2addr_rtn_b64", "wrxchg2_rtn_b64"},
    {"storexchg_2addr_stride64_rtn_b32", "wrxchg2st64_rtn_b32"},
    {"storexchg_2addr_stride64_rtn_b64", "wrxchg2st64_rtn_b64"},
};

constexpr SortedTable scalar_table(scalar_pairs);
constexpr SortedTable vector_table(vector_pairs);
constexpr SortedTable memory_table(memory_pairs);
constexpr SortedTable lds_table(lds_pairs);

template <class Table>
std::string_view translated(const Table& table, std::string_view name) {
  const Pair* pair = table.find(name);
  return pair ? pair->cdna : name;
}

}  // namespace

std::string_view scalar_name_rdna(std::string_view name) { return translated(scalar_table, name); }
std::string_view vector_name_rdna(std::string_view name) { return translated(vector_table, name); }
std::string_view memory_name_rdna(std::string_view rest) { return translated(memory_table, rest); }
std::string_view lds_name_rdna(std::string_view rest) { return translated(lds_table, rest); }

}  // namespace kiln::emulator
