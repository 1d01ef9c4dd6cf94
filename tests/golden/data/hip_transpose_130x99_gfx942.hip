#include <kiln/kernel.hpp>
#pragma clang fp contract(off)

namespace kiln {

extern "C" KILN_KERNEL(256) void transpose_0(const void* __restrict__ p0, void* __restrict__ p1) {
  KILN_LDS(lds, 4096);
  const u32 thread = thread_id();
  const u32 lane = thread % 64u, wave = uniform(thread / 64u);
  const i32 bz = i32(block_id_z());
  const i32 bx = i32(block_id_x());
  const i32 by = i32(block_id_y());
  const u32 l_0 = (lane & 31u) * 4u + (lane >> 5) * 396u + wave * 792u;
  const u32 l_1 = (lane >> 5) + wave * 2u;
  const u32 l_3 = (lane & 31u);
  const buffer b_5 = make_buffer(p0, 51480u);
  const u32 l_15 = (lane >> 5) * 128u + wave * 256u;
  const u32 l_16 = ((lane & 31u) * 4u) ^ (wave * 8u);
  const u32 a_17 = l_15 + l_16;
  const u32 a_18 = l_15 + (l_16 ^ 32u);
  const u32 a_19 = l_15 + (l_16 ^ 64u);
  const u32 a_20 = l_15 + (l_16 ^ 96u);
  const u32 l_21 = (lane >> 4) + wave * 4u;
  const u32 l_22 = (lane & 15u) * 2u;
  const u32 l_31 = (lane & 15u) * 8u + (lane >> 4) * 520u + wave * 2080u;
  const buffer b_34 = make_buffer(p1, 51480u);
  f32 r0[4];
  vec<f32, 2> r2[2];
  // @body/0 /launches/0/body/2
  {
    const i32 i_2 = (32 * by) + (i32)(l_1);
    const i32 i_4 = (32 * bx) + (i32)(l_3);
    const u32 u_6 = (u32)((((32 * by) * 396) + ((32 * bx) * 4)));
    const bool m_8 = (u32)(i_2) < 130u && (u32)(i_4) < 99u;
    const f32 x_7 = load_buffer<f32>(b_5, u_6, m_8 ? l_0 : buffer_outside);
    r0[0] = x_7;
    const bool m_10 = (u32)(i_2 + 8) < 130u && (u32)(i_4) < 99u;
    const f32 x_9 = load_buffer<f32>(b_5, u_6, m_10 ? l_0 + 3168u : buffer_outside);
    r0[1] = x_9;
    const bool m_12 = (u32)(i_2 + 16) < 130u && (u32)(i_4) < 99u;
    const f32 x_11 = load_buffer<f32>(b_5, u_6, m_12 ? l_0 + 6336u : buffer_outside);
    r0[2] = x_11;
    const bool m_14 = (u32)(i_2 + 24) < 130u && (u32)(i_4) < 99u;
    const f32 x_13 = load_buffer<f32>(b_5, u_6, m_14 ? l_0 + 9504u : buffer_outside);
    r0[3] = x_13;
  }
  // @body/1 /launches/0/body/2
  {
    store_lds<f32>(lds, a_17, r0[0]);
    store_lds<f32>(lds, a_18 + 1024u, r0[1]);
    store_lds<f32>(lds, a_19 + 2048u, r0[2]);
    store_lds<f32>(lds, a_20 + 3072u, r0[3]);
  }
  // @body/2 /launches/0/body/3
  barrier();
  // @body/3 /launches/0/body/3
  {
    const u32 w_23 = (u32)((i32)(l_22));
    const f32 x_24 = load_lds<f32>(lds, (w_23 * 128u + ((u32)((i32)(l_21)) * 4u ^ ((w_23 >> 1 & 1u) * 8u) ^ ((w_23 >> 2 & 1u) * 16u) ^ ((w_23 >> 3 & 1u) * 32u) ^ ((w_23 >> 4 & 1u) * 64u))));
    r2[0][0] = x_24;
  }
  {
    const u32 w_25 = (u32)((i32)(l_22 + 1u));
    const f32 x_26 = load_lds<f32>(lds, (w_25 * 128u + ((u32)((i32)(l_21)) * 4u ^ ((w_25 >> 1 & 1u) * 8u) ^ ((w_25 >> 2 & 1u) * 16u) ^ ((w_25 >> 3 & 1u) * 32u) ^ ((w_25 >> 4 & 1u) * 64u))));
    r2[0][1] = x_26;
  }
  {
    const u32 w_27 = (u32)((i32)(l_22));
    const f32 x_28 = load_lds<f32>(lds, (w_27 * 128u + ((u32)((i32)(l_21 + 16u)) * 4u ^ ((w_27 >> 1 & 1u) * 8u) ^ ((w_27 >> 2 & 1u) * 16u) ^ ((w_27 >> 3 & 1u) * 32u) ^ ((w_27 >> 4 & 1u) * 64u))));
    r2[1][0] = x_28;
  }
  {
    const u32 w_29 = (u32)((i32)(l_22 + 1u));
    const f32 x_30 = load_lds<f32>(lds, (w_29 * 128u + ((u32)((i32)(l_21 + 16u)) * 4u ^ ((w_29 >> 1 & 1u) * 8u) ^ ((w_29 >> 2 & 1u) * 16u) ^ ((w_29 >> 3 & 1u) * 32u) ^ ((w_29 >> 4 & 1u) * 64u))));
    r2[1][1] = x_30;
  }
  // @body/4 /launches/0/body/4
  {
    const i32 i_32 = (32 * bx) + (i32)(l_21);
    const i32 i_33 = (32 * by) + (i32)(l_22);
    const u32 u_35 = (u32)((((32 * bx) * 520) + ((32 * by) * 4)));
    const bool m_36 = (u32)(i_32) < 99u && (u32)(i_33) < 130u;
    store_buffer<vec<f32, 2>>(b_34, u_35, m_36 ? l_31 : buffer_outside, r2[0]);
    const bool m_37 = (u32)(i_32 + 16) < 99u && (u32)(i_33) < 130u;
    store_buffer<vec<f32, 2>>(b_34, u_35, m_37 ? l_31 + 8320u : buffer_outside, r2[1]);
  }
}

}  // namespace kiln
