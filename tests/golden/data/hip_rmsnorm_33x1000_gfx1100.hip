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
  const u32 l_1 = lane * 4u + (wave >> 2) * 128u;
  const buffer b_3 = make_buffer(p0, 132000u);
  const u32 l_13 = (wave & 3u);
  const u32 l_15 = wave * 4u;
  const u32 l_16 = (wave & 3u) * 4u;
  const u32 l_17 = lane * 16u + (wave >> 2) * 512u;
  const buffer b_19 = make_buffer(p1, 4000u);
  const buffer b_31 = make_buffer(p2, 132000u);
  f32 r0[1];
  vec<f32, 4> r1[4];
  vec<f32, 4> r2[4];
  vec<f32, 4> r4[4];
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
    f32 y_14 = ((((r2[0][0] + r2[0][1]) + (r2[0][2] + r2[0][3])) + ((r2[1][0] + r2[1][1]) + (r2[1][2] + r2[1][3]))) + (((r2[2][0] + r2[2][1]) + (r2[2][2] + r2[2][3])) + ((r2[3][0] + r2[3][1]) + (r2[3][2] + r2[3][3]))));
    y_14 = (y_14 + exchange<1>(y_14, lane));
    y_14 = (y_14 + exchange<2>(y_14, lane));
    y_14 = (y_14 + exchange<4>(y_14, lane));
    y_14 = (y_14 + exchange<8>(y_14, lane));
    y_14 = (y_14 + exchange<16>(y_14, lane));
    store_lds<f32>(lds, l_15, (f32)(y_14));
    barrier();
    y_14 = load_lds<f32>(lds, l_16);
    y_14 = (y_14 + load_lds<f32>(lds, l_16 + 16u));
    r0[0] = (r0[0] + y_14);
  }
  {
    r0[0] = rsqrt_f32(((r0[0] / 0x1.f4p+9f) + 0x1.4f8b58p-17f));
  }
  const i32 v4 = 0;
  {
    const i32 i_18 = v4 + (i32)(l_1);
    const u32 u_20 = (u32)((v4 * 4));
    const bool m_22 = (u32)(i_18) < 1000u;
    const vec<f32, 4> x_21 = load_buffer<vec<f32, 4>>(b_19, u_20, m_22 ? l_17 : buffer_outside);
    r4[0] = x_21;
    const bool m_24 = (u32)(i_18 + 256) < 1000u;
    const vec<f32, 4> x_23 = load_buffer<vec<f32, 4>>(b_19, u_20, m_24 ? l_17 + 1024u : buffer_outside);
    r4[1] = x_23;
    const bool m_26 = (u32)(i_18 + 512) < 1000u;
    const vec<f32, 4> x_25 = load_buffer<vec<f32, 4>>(b_19, u_20, m_26 ? l_17 + 2048u : buffer_outside);
    r4[2] = x_25;
    const bool m_28 = (u32)(i_18 + 768) < 1000u;
    const vec<f32, 4> x_27 = load_buffer<vec<f32, 4>>(b_19, u_20, m_28 ? l_17 + 3072u : buffer_outside);
    r4[3] = x_27;
  }
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
  {
    const i32 i_29 = (bx * 4) + (i32)(l_13);
    const i32 i_30 = v4 + (i32)(l_1);
    const u32 u_32 = (u32)((((bx * 4) * 4000) + (v4 * 4)));
    const bool m_33 = (u32)(i_29) < 33u && (u32)(i_30) < 1000u;
    store_buffer<vec<f32, 4>>(b_31, u_32, m_33 ? l_0 : buffer_outside, r1[0]);
    const bool m_34 = (u32)(i_29) < 33u && (u32)(i_30 + 256) < 1000u;
    store_buffer<vec<f32, 4>>(b_31, u_32, m_34 ? l_0 + 1024u : buffer_outside, r1[1]);
    const bool m_35 = (u32)(i_29) < 33u && (u32)(i_30 + 512) < 1000u;
    store_buffer<vec<f32, 4>>(b_31, u_32, m_35 ? l_0 + 2048u : buffer_outside, r1[2]);
    const bool m_36 = (u32)(i_29) < 33u && (u32)(i_30 + 768) < 1000u;
    store_buffer<vec<f32, 4>>(b_31, u_32, m_36 ? l_0 + 3072u : buffer_outside, r1[3]);
  }
}

}  // namespace kiln
