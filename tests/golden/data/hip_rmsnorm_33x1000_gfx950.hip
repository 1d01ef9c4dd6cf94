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
  const u32 l_2 = lane * 4u;
  const buffer b_4 = make_buffer(p0, 132000u);
  const u32 l_15 = lane * 16u;
  const buffer b_17 = make_buffer(p1, 4000u);
  const buffer b_29 = make_buffer(p2, 132000u);
  f32 r0[1];
  vec<f32, 4> r1[4];
  vec<f32, 4> r2[4];
  vec<f32, 4> r3[4];
  // @body/0 /launches/0/body/4
  r0[0] = 0x0p+0f;
  // @body/1 /launches/0/body/5
  const i32 v0 = 0;
  // @body/2 /launches/0/body/5/body/0
  {
    const i32 i_1 = (4 * bx) + (i32)(wave);
    const i32 i_3 = v0 + (i32)(l_2);
    const u32 u_5 = (u32)((((4 * bx) * 4000) + (v0 * 4)));
    const bool m_7 = (u32)(i_1) < 33u && (u32)(i_3) < 1000u;
    const vec<f32, 4> x_6 = load_buffer<vec<f32, 4>>(b_4, u_5, m_7 ? l_0 : buffer_outside);
    r1[0] = x_6;
    const bool m_9 = (u32)(i_1) < 33u && (u32)(i_3 + 256) < 1000u;
    const vec<f32, 4> x_8 = load_buffer<vec<f32, 4>>(b_4, u_5, m_9 ? l_0 + 1024u : buffer_outside);
    r1[1] = x_8;
    const bool m_11 = (u32)(i_1) < 33u && (u32)(i_3 + 512) < 1000u;
    const vec<f32, 4> x_10 = load_buffer<vec<f32, 4>>(b_4, u_5, m_11 ? l_0 + 2048u : buffer_outside);
    r1[2] = x_10;
    const bool m_13 = (u32)(i_1) < 33u && (u32)(i_3 + 768) < 1000u;
    const vec<f32, 4> x_12 = load_buffer<vec<f32, 4>>(b_4, u_5, m_13 ? l_0 + 3072u : buffer_outside);
    r1[3] = x_12;
  }
  // @body/3 /launches/0/body/5/body/1
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
  // @body/4 /launches/0/body/5/body/2
  {
    f32 y_14 = ((((r2[0][0] + r2[0][1]) + (r2[0][2] + r2[0][3])) + ((r2[1][0] + r2[1][1]) + (r2[1][2] + r2[1][3]))) + (((r2[2][0] + r2[2][1]) + (r2[2][2] + r2[2][3])) + ((r2[3][0] + r2[3][1]) + (r2[3][2] + r2[3][3]))));
    y_14 = (y_14 + exchange<1>(y_14, lane));
    y_14 = (y_14 + exchange<2>(y_14, lane));
    y_14 = (y_14 + exchange<4>(y_14, lane));
    y_14 = (y_14 + exchange<8>(y_14, lane));
    y_14 = (y_14 + exchange<16>(y_14, lane));
    y_14 = (y_14 + exchange<32>(y_14, lane));
    r0[0] = (r0[0] + y_14);
  }
  // @body/5 /launches/0/body/6
  {
    r0[0] = rsqrt_f32(((r0[0] / 0x1.f4p+9f) + 0x1.4f8b58p-17f));
  }
  // @body/6 /launches/0/body/7
  const i32 v4 = 0;
  // @body/7 /launches/0/body/7/body/1
  {
    const i32 i_16 = v4 + (i32)(l_2);
    const u32 u_18 = (u32)((v4 * 4));
    const bool m_20 = (u32)(i_16) < 1000u;
    const vec<f32, 4> x_19 = load_buffer<vec<f32, 4>>(b_17, u_18, m_20 ? l_15 : buffer_outside);
    r3[0] = x_19;
    const bool m_22 = (u32)(i_16 + 256) < 1000u;
    const vec<f32, 4> x_21 = load_buffer<vec<f32, 4>>(b_17, u_18, m_22 ? l_15 + 1024u : buffer_outside);
    r3[1] = x_21;
    const bool m_24 = (u32)(i_16 + 512) < 1000u;
    const vec<f32, 4> x_23 = load_buffer<vec<f32, 4>>(b_17, u_18, m_24 ? l_15 + 2048u : buffer_outside);
    r3[2] = x_23;
    const bool m_26 = (u32)(i_16 + 768) < 1000u;
    const vec<f32, 4> x_25 = load_buffer<vec<f32, 4>>(b_17, u_18, m_26 ? l_15 + 3072u : buffer_outside);
    r3[3] = x_25;
  }
  // @body/8 /launches/0/body/7/body/2
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
  // @body/9 /launches/0/body/7/body/3
  {
    const i32 i_27 = (4 * bx) + (i32)(wave);
    const i32 i_28 = v4 + (i32)(l_2);
    const u32 u_30 = (u32)((((4 * bx) * 4000) + (v4 * 4)));
    const bool m_31 = (u32)(i_27) < 33u && (u32)(i_28) < 1000u;
    store_buffer<vec<f32, 4>>(b_29, u_30, m_31 ? l_0 : buffer_outside, r1[0]);
    const bool m_32 = (u32)(i_27) < 33u && (u32)(i_28 + 256) < 1000u;
    store_buffer<vec<f32, 4>>(b_29, u_30, m_32 ? l_0 + 1024u : buffer_outside, r1[1]);
    const bool m_33 = (u32)(i_27) < 33u && (u32)(i_28 + 512) < 1000u;
    store_buffer<vec<f32, 4>>(b_29, u_30, m_33 ? l_0 + 2048u : buffer_outside, r1[2]);
    const bool m_34 = (u32)(i_27) < 33u && (u32)(i_28 + 768) < 1000u;
    store_buffer<vec<f32, 4>>(b_29, u_30, m_34 ? l_0 + 3072u : buffer_outside, r1[3]);
  }
}

}  // namespace kiln
