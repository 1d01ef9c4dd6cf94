#include <kiln/kernel.hpp>
#pragma clang fp contract(off)

namespace kiln {

extern "C" KILN_KERNEL(256) void reduce_0(const void* __restrict__ p0, void* __restrict__ p1) {
  KILN_LDS(lds, 1024);
  const u32 thread = thread_id();
  const u32 lane = thread % 64u, wave = uniform(thread / 64u);
  const i32 bz = i32(block_id_z());
  const i32 bx = i32(block_id_x());
  const i32 by = i32(block_id_y());
  const u32 l_1 = lane * 2u + wave * 198u;
  const buffer b_4 = make_buffer(p0, 25740u);
  const u32 l_39 = lane * 4u + wave * 256u;
  const u32 l_40 = lane * 4u;
  const u32 l_41 = lane * 2u;
  const buffer b_43 = make_buffer(p1, 198u);
  f32 r0[1];
  f32 r1[16];
  f16 r2[16];
  f16 r4[1];
  // @body/0 /launches/0/body/2
  r0[0] = 0x0p+0f;
  // @body/1 /launches/0/body/3/body/4
  const i32 e_0 = 130;
  #pragma clang loop unroll(disable)
  for (i32 v0 = 0; v0 < e_0; v0 += 64) {
    // @body/1/for/0 /launches/0/body/3/body/0
    {
      const i32 i_2 = v0 + (i32)(wave);
      const i32 i_3 = (bx * 64) + (i32)(lane);
      const u32 u_5 = (u32)(((v0 * 198) + ((bx * 64) * 2)));
      const bool m_7 = (u32)(i_2) < 130u && (u32)(i_3) < 99u;
      const f16 x_6 = load_buffer<f16>(b_4, u_5, m_7 ? l_1 : buffer_outside);
      r2[0] = x_6;
      const bool m_9 = (u32)(i_2 + 4) < 130u && (u32)(i_3) < 99u;
      const f16 x_8 = load_buffer<f16>(b_4, u_5, m_9 ? l_1 + 792u : buffer_outside);
      r2[1] = x_8;
      const bool m_11 = (u32)(i_2 + 8) < 130u && (u32)(i_3) < 99u;
      const f16 x_10 = load_buffer<f16>(b_4, u_5, m_11 ? l_1 + 1584u : buffer_outside);
      r2[2] = x_10;
      const bool m_13 = (u32)(i_2 + 12) < 130u && (u32)(i_3) < 99u;
      const f16 x_12 = load_buffer<f16>(b_4, u_5, m_13 ? l_1 + 2376u : buffer_outside);
      r2[3] = x_12;
      const bool m_15 = (u32)(i_2 + 16) < 130u && (u32)(i_3) < 99u;
      const f16 x_14 = load_buffer<f16>(b_4, u_5, m_15 ? l_1 + 3168u : buffer_outside);
      r2[4] = x_14;
      const bool m_17 = (u32)(i_2 + 20) < 130u && (u32)(i_3) < 99u;
      const f16 x_16 = load_buffer<f16>(b_4, u_5, m_17 ? l_1 + 3960u : buffer_outside);
      r2[5] = x_16;
      const bool m_19 = (u32)(i_2 + 24) < 130u && (u32)(i_3) < 99u;
      const f16 x_18 = load_buffer<f16>(b_4, u_5, m_19 ? l_1 + 4752u : buffer_outside);
      r2[6] = x_18;
      const bool m_21 = (u32)(i_2 + 28) < 130u && (u32)(i_3) < 99u;
      const f16 x_20 = load_buffer<f16>(b_4, u_5, m_21 ? l_1 + 5544u : buffer_outside);
      r2[7] = x_20;
      const bool m_23 = (u32)(i_2 + 32) < 130u && (u32)(i_3) < 99u;
      const f16 x_22 = load_buffer<f16>(b_4, u_5, m_23 ? l_1 + 6336u : buffer_outside);
      r2[8] = x_22;
      const bool m_25 = (u32)(i_2 + 36) < 130u && (u32)(i_3) < 99u;
      const f16 x_24 = load_buffer<f16>(b_4, u_5, m_25 ? l_1 + 7128u : buffer_outside);
      r2[9] = x_24;
      const bool m_27 = (u32)(i_2 + 40) < 130u && (u32)(i_3) < 99u;
      const f16 x_26 = load_buffer<f16>(b_4, u_5, m_27 ? l_1 + 7920u : buffer_outside);
      r2[10] = x_26;
      const bool m_29 = (u32)(i_2 + 44) < 130u && (u32)(i_3) < 99u;
      const f16 x_28 = load_buffer<f16>(b_4, u_5, m_29 ? l_1 + 8712u : buffer_outside);
      r2[11] = x_28;
      const bool m_31 = (u32)(i_2 + 48) < 130u && (u32)(i_3) < 99u;
      const f16 x_30 = load_buffer<f16>(b_4, u_5, m_31 ? l_1 + 9504u : buffer_outside);
      r2[12] = x_30;
      const bool m_33 = (u32)(i_2 + 52) < 130u && (u32)(i_3) < 99u;
      const f16 x_32 = load_buffer<f16>(b_4, u_5, m_33 ? l_1 + 10296u : buffer_outside);
      r2[13] = x_32;
      const bool m_35 = (u32)(i_2 + 56) < 130u && (u32)(i_3) < 99u;
      const f16 x_34 = load_buffer<f16>(b_4, u_5, m_35 ? l_1 + 11088u : buffer_outside);
      r2[14] = x_34;
      const bool m_37 = (u32)(i_2 + 60) < 130u && (u32)(i_3) < 99u;
      const f16 x_36 = load_buffer<f16>(b_4, u_5, m_37 ? l_1 + 11880u : buffer_outside);
      r2[15] = x_36;
    }
    // @body/1/for/1 /launches/0/body/3/body/0
    {
      r1[0] = (f32)(r2[0]);
      r1[1] = (f32)(r2[1]);
      r1[2] = (f32)(r2[2]);
      r1[3] = (f32)(r2[3]);
      r1[4] = (f32)(r2[4]);
      r1[5] = (f32)(r2[5]);
      r1[6] = (f32)(r2[6]);
      r1[7] = (f32)(r2[7]);
      r1[8] = (f32)(r2[8]);
      r1[9] = (f32)(r2[9]);
      r1[10] = (f32)(r2[10]);
      r1[11] = (f32)(r2[11]);
      r1[12] = (f32)(r2[12]);
      r1[13] = (f32)(r2[13]);
      r1[14] = (f32)(r2[14]);
      r1[15] = (f32)(r2[15]);
    }
    // @body/1/for/2 /launches/0/body/3/body/4
    barrier();
    // @body/1/for/3 /launches/0/body/3/body/4
    {
      f32 y_38 = ((((r1[0] + r1[1]) + (r1[2] + r1[3])) + ((r1[4] + r1[5]) + (r1[6] + r1[7]))) + (((r1[8] + r1[9]) + (r1[10] + r1[11])) + ((r1[12] + r1[13]) + (r1[14] + r1[15]))));
      store_lds<f32>(lds, l_39, (f32)(y_38));
      barrier();
      y_38 = load_lds<f32>(lds, l_40);
      y_38 = (y_38 + load_lds<f32>(lds, l_40 + 256u));
      y_38 = (y_38 + load_lds<f32>(lds, l_40 + 512u));
      y_38 = (y_38 + load_lds<f32>(lds, l_40 + 768u));
      r0[0] = (r0[0] + y_38);
    }
  }
  // @body/2 /launches/0/body/5
  {
    r4[0] = (f16)(r0[0]);
  }
  // @body/3 /launches/0/body/5
  {
    const i32 i_42 = (bx * 64) + (i32)(lane);
    const u32 u_44 = (u32)(((bx * 64) * 2));
    const bool m_45 = (u32)(i_42) < 99u;
    store_buffer<f16>(b_43, u_44, m_45 ? l_41 : buffer_outside, r4[0]);
  }
}

}  // namespace kiln
