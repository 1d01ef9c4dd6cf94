#include <kiln/kernel.hpp>
#pragma clang fp contract(off)

namespace kiln {

extern "C" KILN_KERNEL(256) void rmsnorm_0(const void* __restrict__ p0, const void* __restrict__ p1, void* __restrict__ p2) {
  const u32 thread = thread_id();
  const u32 lane = thread % 64u, wave = uniform(thread / 64u);
  const i32 bz = i32(block_id_z());
  const i32 bx = i32(block_id_x());
  const i32 by = i32(block_id_y());
  const u32 l_0 = lane * 16u + wave * 4000u;
  const u32 l_1 = lane * 4u;
  const buffer b_3 = make_buffer(p0, 132000u);
  const u32 l_14 = lane * 16u;
  const buffer b_16 = make_buffer(p1, 4000u);
  const buffer b_28 = make_buffer(p2, 132000u);
  f32 r0[1];
  vec<f32, 4> r1[4];
  vec<f32, 4> r2[4];
  vec<f32, 4> r3[4];
  r0[0] = 0x0p+0f;
  const i32 v0 = 0;
  {
    const i32 i_2 = v0 + (i32)(l_1);
    const u32 u_4 = (u32)((((bx * 4) * 4000) + (v0 * 4)));
    const bool m_6 = (u32)(i_2) < 1000u;
    const vec<f32, 4> x_5 = load_buffer<vec<f32, 4>>(b_3, u_4, m_6 ? l_0 : buffer_outside);
    r1[0] = x_5;
    const bool m_8 = (u32)(i_2 + 256) < 1000u;
    const vec<f32, 4> x_7 = load_buffer<vec<f32, 4>>(b_3, u_4, m_8 ? l_0 + 1024u : buffer_outside);
    r1[1] = x_7;
    const bool m_10 = (u32)(i_2 + 512) < 1000u;
    const vec<f32, 4> x_9 = load_buffer<vec<f32, 4>>(b_3, u_4, m_10 ? l_0 + 2048u : buffer_outside);
    r1[2] = x_9;
    const bool m_12 = (u32)(i_2 + 768) < 1000u;
    const vec<f32, 4> x_11 = load_buffer<vec<f32, 4>>(b_3, u_4, m_12 ? l_0 + 3072u : buffer_outside);
    r1[3] = x_11;
  }
  {
    r2[0][0] = (r1[0][0] * r1[0][0]);
  }
  {
    r2[0][1] = (r1[0][1] * r1[0][1]);
  }
  {
    r2[0][2] = (r1[0][2] * r1[0][2]);
  }
  {
    r2[0][3] = (r1[0][3] * r1[0][3]);
  }
  {
    r2[1][0] = (r1[1][0] * r1[1][0]);
  }
  {
    r2[1][1] = (r1[1][1] * r1[1][1]);
  }
  {
    r2[1][2] = (r1[1][2] * r1[1][2]);
  }
  {
    r2[1][3] = (r1[1][3] * r1[1][3]);
  }
  {
    r2[2][0] = (r1[2][0] * r1[2][0]);
  }
  {
    r2[2][1] = (r1[2][1] * r1[2][1]);
  }
  {
    r2[2][2] = (r1[2][2] * r1[2][2]);
  }
  {
    r2[2][3] = (r1[2][3] * r1[2][3]);
  }
  {
    r2[3][0] = (r1[3][0] * r1[3][0]);
  }
  {
    r2[3][1] = (r1[3][1] * r1[3][1]);
  }
  {
    r2[3][2] = (r1[3][2] * r1[3][2]);
  }
  {
    r2[3][3] = (r1[3][3] * r1[3][3]);
  }
  {
    f32 y_13 = ((((r2[0][0] + r2[0][1]) + (r2[0][2] + r2[0][3])) + ((r2[1][0] + r2[1][1]) + (r2[1][2] + r2[1][3]))) + (((r2[2][0] + r2[2][1]) + (r2[2][2] + r2[2][3])) + ((r2[3][0] + r2[3][1]) + (r2[3][2] + r2[3][3]))));
    y_13 = (y_13 + exchange<1>(y_13, lane));
    y_13 = (y_13 + exchange<2>(y_13, lane));
    y_13 = (y_13 + exchange<4>(y_13, lane));
    y_13 = (y_13 + exchange<8>(y_13, lane));
    y_13 = (y_13 + exchange<16>(y_13, lane));
    y_13 = (y_13 + exchange<32>(y_13, lane));
    r0[0] = (r0[0] + y_13);
  }
  {
    r0[0] = rsqrt_f32(((r0[0] / 0x1.f4p+9f) + 0x1.4f8b58p-17f));
  }
  const i32 v4 = 0;
  {
    const i32 i_15 = v4 + (i32)(l_1);
    const u32 u_17 = (u32)((v4 * 4));
    const bool m_19 = (u32)(i_15) < 1000u;
    const vec<f32, 4> x_18 = load_buffer<vec<f32, 4>>(b_16, u_17, m_19 ? l_14 : buffer_outside);
    r3[0] = x_18;
    const bool m_21 = (u32)(i_15 + 256) < 1000u;
    const vec<f32, 4> x_20 = load_buffer<vec<f32, 4>>(b_16, u_17, m_21 ? l_14 + 1024u : buffer_outside);
    r3[1] = x_20;
    const bool m_23 = (u32)(i_15 + 512) < 1000u;
    const vec<f32, 4> x_22 = load_buffer<vec<f32, 4>>(b_16, u_17, m_23 ? l_14 + 2048u : buffer_outside);
    r3[2] = x_22;
    const bool m_25 = (u32)(i_15 + 768) < 1000u;
    const vec<f32, 4> x_24 = load_buffer<vec<f32, 4>>(b_16, u_17, m_25 ? l_14 + 3072u : buffer_outside);
    r3[3] = x_24;
  }
  {
    r1[0][0] = ((r1[0][0] * r0[0]) * r3[0][0]);
  }
  {
    r1[0][1] = ((r1[0][1] * r0[0]) * r3[0][1]);
  }
  {
    r1[0][2] = ((r1[0][2] * r0[0]) * r3[0][2]);
  }
  {
    r1[0][3] = ((r1[0][3] * r0[0]) * r3[0][3]);
  }
  {
    r1[1][0] = ((r1[1][0] * r0[0]) * r3[1][0]);
  }
  {
    r1[1][1] = ((r1[1][1] * r0[0]) * r3[1][1]);
  }
  {
    r1[1][2] = ((r1[1][2] * r0[0]) * r3[1][2]);
  }
  {
    r1[1][3] = ((r1[1][3] * r0[0]) * r3[1][3]);
  }
  {
    r1[2][0] = ((r1[2][0] * r0[0]) * r3[2][0]);
  }
  {
    r1[2][1] = ((r1[2][1] * r0[0]) * r3[2][1]);
  }
  {
    r1[2][2] = ((r1[2][2] * r0[0]) * r3[2][2]);
  }
  {
    r1[2][3] = ((r1[2][3] * r0[0]) * r3[2][3]);
  }
  {
    r1[3][0] = ((r1[3][0] * r0[0]) * r3[3][0]);
  }
  {
    r1[3][1] = ((r1[3][1] * r0[0]) * r3[3][1]);
  }
  {
    r1[3][2] = ((r1[3][2] * r0[0]) * r3[3][2]);
  }
  {
    r1[3][3] = ((r1[3][3] * r0[0]) * r3[3][3]);
  }
  {
    const i32 i_26 = (bx * 4) + (i32)(wave);
    const i32 i_27 = v4 + (i32)(l_1);
    const u32 u_29 = (u32)((((bx * 4) * 4000) + (v4 * 4)));
    const bool m_30 = (u32)(i_26) < 33u && (u32)(i_27) < 1000u;
    store_buffer<vec<f32, 4>>(b_28, u_29, m_30 ? l_0 : buffer_outside, r1[0]);
    const bool m_31 = (u32)(i_26) < 33u && (u32)(i_27 + 256) < 1000u;
    store_buffer<vec<f32, 4>>(b_28, u_29, m_31 ? l_0 + 1024u : buffer_outside, r1[1]);
    const bool m_32 = (u32)(i_26) < 33u && (u32)(i_27 + 512) < 1000u;
    store_buffer<vec<f32, 4>>(b_28, u_29, m_32 ? l_0 + 2048u : buffer_outside, r1[2]);
    const bool m_33 = (u32)(i_26) < 33u && (u32)(i_27 + 768) < 1000u;
    store_buffer<vec<f32, 4>>(b_28, u_29, m_33 ? l_0 + 3072u : buffer_outside, r1[3]);
  }
}

}  // namespace kiln
