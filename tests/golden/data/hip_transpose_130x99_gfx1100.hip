#include <kiln/kernel.hpp>
#pragma clang fp contract(off)

namespace kiln {

extern "C" KILN_KERNEL(256) void transpose_0(const void* __restrict__ p0, void* __restrict__ p1) {
  KILN_LDS(lds, 4096);
  const u32 thread = thread_id();
  const u32 lane = thread % 32u, wave = uniform(thread / 32u);
  const i32 bz = i32(block_id_z());
  const i32 bx = i32(block_id_x());
  const i32 by = i32(block_id_y());
  const u32 l_0 = lane * 4u + wave * 396u;
  const buffer b_3 = make_buffer(p0, 51480u);
  const u32 l_13 = wave * 128u;
  const u32 l_14 = (lane * 4u) ^ ((wave >> 1) * 8u);
  const u32 a_15 = l_13 + l_14;
  const u32 a_16 = l_13 + (l_14 ^ 32u);
  const u32 a_17 = l_13 + (l_14 ^ 64u);
  const u32 a_18 = l_13 + (l_14 ^ 96u);
  const u32 l_19 = (lane >> 4) + wave * 2u;
  const u32 l_20 = (lane & 15u) * 2u;
  const u32 l_29 = (lane & 15u) * 8u + (lane >> 4) * 520u + wave * 1040u;
  const buffer b_32 = make_buffer(p1, 51480u);
  f32 r0[4];
  vec<f32, 2> r2[2];
  // @body/0 /launches/0/body/2
  {
    const i32 i_1 = (32 * by) + (i32)(wave);
    const i32 i_2 = (32 * bx) + (i32)(lane);
    const u32 u_4 = (u32)((((32 * by) * 396) + ((32 * bx) * 4)));
    const bool m_6 = (u32)(i_1) < 130u && (u32)(i_2) < 99u;
    const f32 x_5 = load_buffer<f32>(b_3, u_4, m_6 ? l_0 : buffer_outside);
    r0[0] = x_5;
    const bool m_8 = (u32)(i_1 + 8) < 130u && (u32)(i_2) < 99u;
    const f32 x_7 = load_buffer<f32>(b_3, u_4, m_8 ? l_0 + 3168u : buffer_outside);
    r0[1] = x_7;
    const bool m_10 = (u32)(i_1 + 16) < 130u && (u32)(i_2) < 99u;
    const f32 x_9 = load_buffer<f32>(b_3, u_4, m_10 ? l_0 + 6336u : buffer_outside);
    r0[2] = x_9;
    const bool m_12 = (u32)(i_1 + 24) < 130u && (u32)(i_2) < 99u;
    const f32 x_11 = load_buffer<f32>(b_3, u_4, m_12 ? l_0 + 9504u : buffer_outside);
    r0[3] = x_11;
  }
  // @body/1 /launches/0/body/2
  {
    store_lds<f32>(lds, a_15, r0[0]);
    store_lds<f32>(lds, a_16 + 1024u, r0[1]);
    store_lds<f32>(lds, a_17 + 2048u, r0[2]);
    store_lds<f32>(lds, a_18 + 3072u, r0[3]);
  }
  // @body/2 /launches/0/body/3
  barrier();
  // @body/3 /launches/0/body/3
  {
    const u32 w_21 = (u32)((i32)(l_20));
    const f32 x_22 = load_lds<f32>(lds, (w_21 * 128u + ((u32)((i32)(l_19)) * 4u ^ ((w_21 >> 1 & 1u) * 8u) ^ ((w_21 >> 2 & 1u) * 16u) ^ ((w_21 >> 3 & 1u) * 32u) ^ ((w_21 >> 4 & 1u) * 64u))));
    r2[0][0] = x_22;
  }
  {
    const u32 w_23 = (u32)((i32)(l_20 + 1u));
    const f32 x_24 = load_lds<f32>(lds, (w_23 * 128u + ((u32)((i32)(l_19)) * 4u ^ ((w_23 >> 1 & 1u) * 8u) ^ ((w_23 >> 2 & 1u) * 16u) ^ ((w_23 >> 3 & 1u) * 32u) ^ ((w_23 >> 4 & 1u) * 64u))));
    r2[0][1] = x_24;
  }
  {
    const u32 w_25 = (u32)((i32)(l_20));
    const f32 x_26 = load_lds<f32>(lds, (w_25 * 128u + ((u32)((i32)(l_19 + 16u)) * 4u ^ ((w_25 >> 1 & 1u) * 8u) ^ ((w_25 >> 2 & 1u) * 16u) ^ ((w_25 >> 3 & 1u) * 32u) ^ ((w_25 >> 4 & 1u) * 64u))));
    r2[1][0] = x_26;
  }
  {
    const u32 w_27 = (u32)((i32)(l_20 + 1u));
    const f32 x_28 = load_lds<f32>(lds, (w_27 * 128u + ((u32)((i32)(l_19 + 16u)) * 4u ^ ((w_27 >> 1 & 1u) * 8u) ^ ((w_27 >> 2 & 1u) * 16u) ^ ((w_27 >> 3 & 1u) * 32u) ^ ((w_27 >> 4 & 1u) * 64u))));
    r2[1][1] = x_28;
  }
  // @body/4 /launches/0/body/4
  {
    const i32 i_30 = (32 * bx) + (i32)(l_19);
    const i32 i_31 = (32 * by) + (i32)(l_20);
    const u32 u_33 = (u32)((((32 * bx) * 520) + ((32 * by) * 4)));
    const bool m_34 = (u32)(i_30) < 99u && (u32)(i_31) < 130u;
    store_buffer<vec<f32, 2>>(b_32, u_33, m_34 ? l_29 : buffer_outside, r2[0]);
    const bool m_35 = (u32)(i_30 + 16) < 99u && (u32)(i_31) < 130u;
    store_buffer<vec<f32, 2>>(b_32, u_33, m_35 ? l_29 + 8320u : buffer_outside, r2[1]);
  }
}

}  // namespace kiln
