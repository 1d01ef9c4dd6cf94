#include <kiln/kernel.hpp>
#pragma clang fp contract(off)

namespace kiln {

extern "C" KILN_KERNEL(256) void softmax_0(const void* __restrict__ p0, void* __restrict__ p1) {
  KILN_LDS(lds, 64);
  const u32 thread = thread_id();
  const u32 lane = thread % 32u, wave = uniform(thread / 32u);
  const i32 bz = i32(block_id_z());
  const i32 bx = i32(block_id_x());
  const i32 by = i32(block_id_y());
  const u32 l_0 = lane * 16u + (wave & 3u) * 4000u + (wave >> 2) * 512u;
  const u32 l_1 = (wave & 3u);
  const u32 l_3 = lane * 4u + (wave >> 2) * 128u;
  const u32 l_16 = wave * 4u;
  const u32 l_17 = (wave & 3u) * 4u;
  const buffer b_21 = make_buffer(p1, 132000u);
  f32 r0[1];
  f32 r1[1];
  f32 r2[1];
  vec<f32, 4> r3[4];
  f32 r5[1];
  // @body/0 /launches/0/body/5
  r0[0] = (-__builtin_inff());
  // @body/1 /launches/0/body/6
  r1[0] = 0x0p+0f;
  // @body/2 /launches/0/body/7
  r2[0] = 0x0p+0f;
  // @body/3 /launches/0/body/8
  const i32 v0 = 0;
  // @body/4 /launches/0/body/8/body/0
  {
    const i32 i_2 = (4 * bx) + (i32)(l_1);
    const i32 i_4 = v0 + (i32)(l_3);
    const i64 u_5 = (((4 * bx) * 4000) + (v0 * 4));
    const bool m_7 = (u32)(i_2) < 33u && (u32)(i_4) < 1000u;
    vec<f32, 4> x_6 = load_global<vec<f32, 4>, 16>(p0, 0, m_7 ? (i64)(u_5) + (i64)(l_0) : 0l);
    if (!m_7) x_6 = vec<f32, 4>((-__builtin_inff()));
    r3[0] = x_6;
    const bool m_9 = (u32)(i_2) < 33u && (u32)(i_4 + 256) < 1000u;
    vec<f32, 4> x_8 = load_global<vec<f32, 4>, 16>(p0, 0, m_9 ? (i64)(u_5) + (i64)(l_0 + 1024u) : 0l);
    if (!m_9) x_8 = vec<f32, 4>((-__builtin_inff()));
    r3[1] = x_8;
    const bool m_11 = (u32)(i_2) < 33u && (u32)(i_4 + 512) < 1000u;
    vec<f32, 4> x_10 = load_global<vec<f32, 4>, 16>(p0, 0, m_11 ? (i64)(u_5) + (i64)(l_0 + 2048u) : 0l);
    if (!m_11) x_10 = vec<f32, 4>((-__builtin_inff()));
    r3[2] = x_10;
    const bool m_13 = (u32)(i_2) < 33u && (u32)(i_4 + 768) < 1000u;
    vec<f32, 4> x_12 = load_global<vec<f32, 4>, 16>(p0, 0, m_13 ? (i64)(u_5) + (i64)(l_0 + 3072u) : 0l);
    if (!m_13) x_12 = vec<f32, 4>((-__builtin_inff()));
    r3[3] = x_12;
  }
  // @body/5 /launches/0/body/8/body/1
  {
    f32 y_14 = r3[0][0];
    bool n_15 = false;
    y_14 = chain_max(y_14, r3[0][1]);
    y_14 = chain_max(y_14, r3[0][2]);
    y_14 = chain_max(y_14, r3[0][3]);
    y_14 = chain_max(y_14, r3[1][0]);
    y_14 = chain_max(y_14, r3[1][1]);
    y_14 = chain_max(y_14, r3[1][2]);
    y_14 = chain_max(y_14, r3[1][3]);
    y_14 = chain_max(y_14, r3[2][0]);
    y_14 = chain_max(y_14, r3[2][1]);
    y_14 = chain_max(y_14, r3[2][2]);
    y_14 = chain_max(y_14, r3[2][3]);
    y_14 = chain_max(y_14, r3[3][0]);
    y_14 = chain_max(y_14, r3[3][1]);
    y_14 = chain_max(y_14, r3[3][2]);
    y_14 = chain_max(y_14, r3[3][3]);
    n_15 |= chain_nan(r3[0][0], r3[0][1]);
    n_15 |= chain_nan(r3[0][2], r3[0][3]);
    n_15 |= chain_nan(r3[1][0], r3[1][1]);
    n_15 |= chain_nan(r3[1][2], r3[1][3]);
    n_15 |= chain_nan(r3[2][0], r3[2][1]);
    n_15 |= chain_nan(r3[2][2], r3[2][3]);
    n_15 |= chain_nan(r3[3][0], r3[3][1]);
    n_15 |= chain_nan(r3[3][2], r3[3][3]);
    y_14 = chain_end(y_14, n_15);
    y_14 = maximum<f32>(y_14, exchange<1>(y_14, lane));
    y_14 = maximum<f32>(y_14, exchange<2>(y_14, lane));
    y_14 = maximum<f32>(y_14, exchange<4>(y_14, lane));
    y_14 = maximum<f32>(y_14, exchange<8>(y_14, lane));
    y_14 = maximum<f32>(y_14, exchange<16>(y_14, lane));
    store_lds<f32>(lds, l_16, (f32)(y_14));
    barrier();
    y_14 = load_lds<f32>(lds, l_17);
    y_14 = maximum<f32>(y_14, load_lds<f32>(lds, l_17 + 16u));
    r0[0] = maximum<f32>(r0[0], y_14);
  }
  // @body/6 /launches/0/body/8/body/2
  {
    r5[0] = pick<f32>((r0[0] == (-__builtin_inff())), 0x0p+0f, r0[0]);
  }
  // @body/7 /launches/0/body/8/body/3
  {
    r2[0] = pick<f32>((r2[0] != 0x0p+0f), (r2[0] * exp2_f32(((r1[0] - r5[0]) * 0x1.715476p+0f))), 0x0p+0f);
  }
  // @body/8 /launches/0/body/8/body/4
  {
    r1[0] = r5[0];
  }
  // @body/9 /launches/0/body/8/body/5
  {
    r3[0][0] = exp2_f32(((r3[0][0] - r1[0]) * 0x1.715476p+0f));
  }
  {
    r3[0][1] = exp2_f32(((r3[0][1] - r1[0]) * 0x1.715476p+0f));
  }
  {
    r3[0][2] = exp2_f32(((r3[0][2] - r1[0]) * 0x1.715476p+0f));
  }
  {
    r3[0][3] = exp2_f32(((r3[0][3] - r1[0]) * 0x1.715476p+0f));
  }
  {
    r3[1][0] = exp2_f32(((r3[1][0] - r1[0]) * 0x1.715476p+0f));
  }
  {
    r3[1][1] = exp2_f32(((r3[1][1] - r1[0]) * 0x1.715476p+0f));
  }
  {
    r3[1][2] = exp2_f32(((r3[1][2] - r1[0]) * 0x1.715476p+0f));
  }
  {
    r3[1][3] = exp2_f32(((r3[1][3] - r1[0]) * 0x1.715476p+0f));
  }
  {
    r3[2][0] = exp2_f32(((r3[2][0] - r1[0]) * 0x1.715476p+0f));
  }
  {
    r3[2][1] = exp2_f32(((r3[2][1] - r1[0]) * 0x1.715476p+0f));
  }
  {
    r3[2][2] = exp2_f32(((r3[2][2] - r1[0]) * 0x1.715476p+0f));
  }
  {
    r3[2][3] = exp2_f32(((r3[2][3] - r1[0]) * 0x1.715476p+0f));
  }
  {
    r3[3][0] = exp2_f32(((r3[3][0] - r1[0]) * 0x1.715476p+0f));
  }
  {
    r3[3][1] = exp2_f32(((r3[3][1] - r1[0]) * 0x1.715476p+0f));
  }
  {
    r3[3][2] = exp2_f32(((r3[3][2] - r1[0]) * 0x1.715476p+0f));
  }
  {
    r3[3][3] = exp2_f32(((r3[3][3] - r1[0]) * 0x1.715476p+0f));
  }
  // @body/10 /launches/0/body/8/body/6
  {
    f32 y_18 = ((((r3[0][0] + r3[0][1]) + (r3[0][2] + r3[0][3])) + ((r3[1][0] + r3[1][1]) + (r3[1][2] + r3[1][3]))) + (((r3[2][0] + r3[2][1]) + (r3[2][2] + r3[2][3])) + ((r3[3][0] + r3[3][1]) + (r3[3][2] + r3[3][3]))));
    y_18 = (y_18 + exchange<1>(y_18, lane));
    y_18 = (y_18 + exchange<2>(y_18, lane));
    y_18 = (y_18 + exchange<4>(y_18, lane));
    y_18 = (y_18 + exchange<8>(y_18, lane));
    y_18 = (y_18 + exchange<16>(y_18, lane));
    store_lds<f32>(lds, l_16 + 32u, (f32)(y_18));
    barrier();
    y_18 = load_lds<f32>(lds, l_17 + 32u);
    y_18 = (y_18 + load_lds<f32>(lds, l_17 + 48u));
    r2[0] = (r2[0] + y_18);
  }
  // @body/11 /launches/0/body/9/then/0
  {
    r3[0][0] = (r3[0][0] / r2[0]);
  }
  {
    r3[0][1] = (r3[0][1] / r2[0]);
  }
  {
    r3[0][2] = (r3[0][2] / r2[0]);
  }
  {
    r3[0][3] = (r3[0][3] / r2[0]);
  }
  {
    r3[1][0] = (r3[1][0] / r2[0]);
  }
  {
    r3[1][1] = (r3[1][1] / r2[0]);
  }
  {
    r3[1][2] = (r3[1][2] / r2[0]);
  }
  {
    r3[1][3] = (r3[1][3] / r2[0]);
  }
  {
    r3[2][0] = (r3[2][0] / r2[0]);
  }
  {
    r3[2][1] = (r3[2][1] / r2[0]);
  }
  {
    r3[2][2] = (r3[2][2] / r2[0]);
  }
  {
    r3[2][3] = (r3[2][3] / r2[0]);
  }
  {
    r3[3][0] = (r3[3][0] / r2[0]);
  }
  {
    r3[3][1] = (r3[3][1] / r2[0]);
  }
  {
    r3[3][2] = (r3[3][2] / r2[0]);
  }
  {
    r3[3][3] = (r3[3][3] / r2[0]);
  }
  // @body/12 /launches/0/body/9/then/1
  {
    const i32 i_19 = (4 * bx) + (i32)(l_1);
    const i32 i_20 = 0 + (i32)(l_3);
    const u32 u_22 = (u32)(((4 * bx) * 4000));
    const bool m_23 = (u32)(i_19) < 33u && (u32)(i_20) < 1000u;
    store_buffer<vec<f32, 4>>(b_21, u_22, m_23 ? l_0 : buffer_outside, r3[0]);
    const bool m_24 = (u32)(i_19) < 33u && (u32)(i_20 + 256) < 1000u;
    store_buffer<vec<f32, 4>>(b_21, u_22, m_24 ? l_0 + 1024u : buffer_outside, r3[1]);
    const bool m_25 = (u32)(i_19) < 33u && (u32)(i_20 + 512) < 1000u;
    store_buffer<vec<f32, 4>>(b_21, u_22, m_25 ? l_0 + 2048u : buffer_outside, r3[2]);
    const bool m_26 = (u32)(i_19) < 33u && (u32)(i_20 + 768) < 1000u;
    store_buffer<vec<f32, 4>>(b_21, u_22, m_26 ? l_0 + 3072u : buffer_outside, r3[3]);
  }
}

}  // namespace kiln
