#include <kiln/kernel.hpp>
#pragma clang fp contract(off)

namespace kiln {

extern "C" KILN_KERNEL(256) void rmsnorm_0(const void* __restrict__ p0, const void* __restrict__ p1, void* __restrict__ p2) {
  KILN_LDS(lds, 32);
  const u32 thread = thread_id();
  const u32 lane = thread % 32u, wave = uniform(thread / 32u);
  const i32 bz = i32(block_id_z());
  const i32 bx = i32(block_id_x());
  const i32 by = i32(block_id_y());
  const u32 l_0 = lane * 16u + (wave & 3u) * 4000u + (wave >> 2) * 512u;
  const u32 l_1 = (wave & 3u);
  const u32 l_3 = lane * 4u + (wave >> 2) * 128u;
  const buffer b_5 = make_buffer(p0, 132000u);
  const u32 l_16 = wave * 4u;
  const u32 l_17 = (wave & 3u) * 4u;
  const u32 l_18 = lane * 16u + (wave >> 2) * 512u;
  const buffer b_20 = make_buffer(p1, 4000u);
  const buffer b_32 = make_buffer(p2, 132000u);
  f32 r0[1];
  vec<f32, 4> r1[4];
  vec<f32, 4> r2[4];
  vec<f32, 4> r4[4];
  // @body/0 /launches/0/body/4
  r0[0] = 0x0p+0f;
  // @body/1 /launches/0/body/5
  const i32 v0 = 0;
  // @body/2 /launches/0/body/5/body/0
  {
    const i32 i_2 = (4 * bx) + (i32)(l_1);
    const i32 i_4 = v0 + (i32)(l_3);
    const u32 u_6 = (u32)((((4 * bx) * 4000) + (v0 * 4)));
    const bool m_8 = (u32)(i_2) < 33u && (u32)(i_4) < 1000u;
    const vec<f32, 4> x_7 = load_buffer<vec<f32, 4>>(b_5, u_6, m_8 ? l_0 : buffer_outside);
    r1[0] = x_7;
    const bool m_10 = (u32)(i_2) < 33u && (u32)(i_4 + 256) < 1000u;
    const vec<f32, 4> x_9 = load_buffer<vec<f32, 4>>(b_5, u_6, m_10 ? l_0 + 1024u : buffer_outside);
    r1[1] = x_9;
    const bool m_12 = (u32)(i_2) < 33u && (u32)(i_4 + 512) < 1000u;
    const vec<f32, 4> x_11 = load_buffer<vec<f32, 4>>(b_5, u_6, m_12 ? l_0 + 2048u : buffer_outside);
    r1[2] = x_11;
    const bool m_14 = (u32)(i_2) < 33u && (u32)(i_4 + 768) < 1000u;
    const vec<f32, 4> x_13 = load_buffer<vec<f32, 4>>(b_5, u_6, m_14 ? l_0 + 3072u : buffer_outside);
    r1[3] = x_13;
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
    f32 y_15 = ((((r2[0][0] + r2[0][1]) + (r2[0][2] + r2[0][3])) + ((r2[1][0] + r2[1][1]) + (r2[1][2] + r2[1][3]))) + (((r2[2][0] + r2[2][1]) + (r2[2][2] + r2[2][3])) + ((r2[3][0] + r2[3][1]) + (r2[3][2] + r2[3][3]))));
    y_15 = (y_15 + exchange<1>(y_15, lane));
    y_15 = (y_15 + exchange<2>(y_15, lane));
    y_15 = (y_15 + exchange<4>(y_15, lane));
    y_15 = (y_15 + exchange<8>(y_15, lane));
    y_15 = (y_15 + exchange<16>(y_15, lane));
    store_lds<f32>(lds, l_16, (f32)(y_15));
    barrier();
    y_15 = load_lds<f32>(lds, l_17);
    y_15 = (y_15 + load_lds<f32>(lds, l_17 + 16u));
    r0[0] = (r0[0] + y_15);
  }
  // @body/5 /launches/0/body/6
  {
    r0[0] = rsqrt_f32(((r0[0] / 0x1.f4p+9f) + 0x1.4f8b58p-17f));
  }
  // @body/6 /launches/0/body/7
  const i32 v4 = 0;
  // @body/7 /launches/0/body/7/body/1
  {
    const i32 i_19 = v4 + (i32)(l_3);
    const u32 u_21 = (u32)((v4 * 4));
    const bool m_23 = (u32)(i_19) < 1000u;
    const vec<f32, 4> x_22 = load_buffer<vec<f32, 4>>(b_20, u_21, m_23 ? l_18 : buffer_outside);
    r4[0] = x_22;
    const bool m_25 = (u32)(i_19 + 256) < 1000u;
    const vec<f32, 4> x_24 = load_buffer<vec<f32, 4>>(b_20, u_21, m_25 ? l_18 + 1024u : buffer_outside);
    r4[1] = x_24;
    const bool m_27 = (u32)(i_19 + 512) < 1000u;
    const vec<f32, 4> x_26 = load_buffer<vec<f32, 4>>(b_20, u_21, m_27 ? l_18 + 2048u : buffer_outside);
    r4[2] = x_26;
    const bool m_29 = (u32)(i_19 + 768) < 1000u;
    const vec<f32, 4> x_28 = load_buffer<vec<f32, 4>>(b_20, u_21, m_29 ? l_18 + 3072u : buffer_outside);
    r4[3] = x_28;
  }
  // @body/8 /launches/0/body/7/body/2
  {
    r1[0][0] = ((r1[0][0] * r0[0]) * r4[0][0]);
  }
  {
    r1[0][1] = ((r1[0][1] * r0[0]) * r4[0][1]);
  }
  {
    r1[0][2] = ((r1[0][2] * r0[0]) * r4[0][2]);
  }
  {
    r1[0][3] = ((r1[0][3] * r0[0]) * r4[0][3]);
  }
  {
    r1[1][0] = ((r1[1][0] * r0[0]) * r4[1][0]);
  }
  {
    r1[1][1] = ((r1[1][1] * r0[0]) * r4[1][1]);
  }
  {
    r1[1][2] = ((r1[1][2] * r0[0]) * r4[1][2]);
  }
  {
    r1[1][3] = ((r1[1][3] * r0[0]) * r4[1][3]);
  }
  {
    r1[2][0] = ((r1[2][0] * r0[0]) * r4[2][0]);
  }
  {
    r1[2][1] = ((r1[2][1] * r0[0]) * r4[2][1]);
  }
  {
    r1[2][2] = ((r1[2][2] * r0[0]) * r4[2][2]);
  }
  {
    r1[2][3] = ((r1[2][3] * r0[0]) * r4[2][3]);
  }
  {
    r1[3][0] = ((r1[3][0] * r0[0]) * r4[3][0]);
  }
  {
    r1[3][1] = ((r1[3][1] * r0[0]) * r4[3][1]);
  }
  {
    r1[3][2] = ((r1[3][2] * r0[0]) * r4[3][2]);
  }
  {
    r1[3][3] = ((r1[3][3] * r0[0]) * r4[3][3]);
  }
  // @body/9 /launches/0/body/7/body/3
  {
    const i32 i_30 = (4 * bx) + (i32)(l_1);
    const i32 i_31 = v4 + (i32)(l_3);
    const u32 u_33 = (u32)((((4 * bx) * 4000) + (v4 * 4)));
    const bool m_34 = (u32)(i_30) < 33u && (u32)(i_31) < 1000u;
    store_buffer<vec<f32, 4>>(b_32, u_33, m_34 ? l_0 : buffer_outside, r1[0]);
    const bool m_35 = (u32)(i_30) < 33u && (u32)(i_31 + 256) < 1000u;
    store_buffer<vec<f32, 4>>(b_32, u_33, m_35 ? l_0 + 1024u : buffer_outside, r1[1]);
    const bool m_36 = (u32)(i_30) < 33u && (u32)(i_31 + 512) < 1000u;
    store_buffer<vec<f32, 4>>(b_32, u_33, m_36 ? l_0 + 2048u : buffer_outside, r1[2]);
    const bool m_37 = (u32)(i_30) < 33u && (u32)(i_31 + 768) < 1000u;
    store_buffer<vec<f32, 4>>(b_32, u_33, m_37 ? l_0 + 3072u : buffer_outside, r1[3]);
  }
}

}  // namespace kiln
