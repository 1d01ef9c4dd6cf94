#include <kiln/kernel.hpp>
#pragma clang fp contract(off)

namespace kiln {

extern "C" KILN_KERNEL(256) void softmax_0(const void* __restrict__ p0, void* __restrict__ p1) {
  const u32 thread = thread_id();
  const u32 lane = thread % 64u, wave = uniform(thread / 64u);
  const i32 bz = i32(block_id_z());
  const i32 bx = i32(block_id_x());
  const i32 by = i32(block_id_y());
  const u32 l_0 = lane * 16u + wave * 4000u;
  const u32 l_2 = lane * 4u;
  const buffer b_18 = make_buffer(p1, 132000u);
  f32 r0[1];
  f32 r1[1];
  f32 r2[1];
  vec<f32, 4> r3[4];
  f32 r4[1];
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
    const i32 i_1 = (4 * bx) + (i32)(wave);
    const i32 i_3 = v0 + (i32)(l_2);
    const i64 u_4 = (((4 * bx) * 4000) + (v0 * 4));
    const bool m_6 = (u32)(i_1) < 33u && (u32)(i_3) < 1000u;
    vec<f32, 4> x_5 = load_global<vec<f32, 4>, 16>(p0, 0, m_6 ? (i64)(u_4) + (i64)(l_0) : 0l);
    if (!m_6) x_5 = vec<f32, 4>((-__builtin_inff()));
    r3[0] = x_5;
    const bool m_8 = (u32)(i_1) < 33u && (u32)(i_3 + 256) < 1000u;
    vec<f32, 4> x_7 = load_global<vec<f32, 4>, 16>(p0, 0, m_8 ? (i64)(u_4) + (i64)(l_0 + 1024u) : 0l);
    if (!m_8) x_7 = vec<f32, 4>((-__builtin_inff()));
    r3[1] = x_7;
    const bool m_10 = (u32)(i_1) < 33u && (u32)(i_3 + 512) < 1000u;
    vec<f32, 4> x_9 = load_global<vec<f32, 4>, 16>(p0, 0, m_10 ? (i64)(u_4) + (i64)(l_0 + 2048u) : 0l);
    if (!m_10) x_9 = vec<f32, 4>((-__builtin_inff()));
    r3[2] = x_9;
    const bool m_12 = (u32)(i_1) < 33u && (u32)(i_3 + 768) < 1000u;
    vec<f32, 4> x_11 = load_global<vec<f32, 4>, 16>(p0, 0, m_12 ? (i64)(u_4) + (i64)(l_0 + 3072u) : 0l);
    if (!m_12) x_11 = vec<f32, 4>((-__builtin_inff()));
    r3[3] = x_11;
  }
  // @body/5 /launches/0/body/8/body/1
  {
    f32 y_13 = r3[0][0];
    bool n_14 = false;
    y_13 = chain_max(y_13, r3[0][1]);
    y_13 = chain_max(y_13, r3[0][2]);
    y_13 = chain_max(y_13, r3[0][3]);
    y_13 = chain_max(y_13, r3[1][0]);
    y_13 = chain_max(y_13, r3[1][1]);
    y_13 = chain_max(y_13, r3[1][2]);
    y_13 = chain_max(y_13, r3[1][3]);
    y_13 = chain_max(y_13, r3[2][0]);
    y_13 = chain_max(y_13, r3[2][1]);
    y_13 = chain_max(y_13, r3[2][2]);
    y_13 = chain_max(y_13, r3[2][3]);
    y_13 = chain_max(y_13, r3[3][0]);
    y_13 = chain_max(y_13, r3[3][1]);
    y_13 = chain_max(y_13, r3[3][2]);
    y_13 = chain_max(y_13, r3[3][3]);
    n_14 |= chain_nan(r3[0][0], r3[0][1]);
    n_14 |= chain_nan(r3[0][2], r3[0][3]);
    n_14 |= chain_nan(r3[1][0], r3[1][1]);
    n_14 |= chain_nan(r3[1][2], r3[1][3]);
    n_14 |= chain_nan(r3[2][0], r3[2][1]);
    n_14 |= chain_nan(r3[2][2], r3[2][3]);
    n_14 |= chain_nan(r3[3][0], r3[3][1]);
    n_14 |= chain_nan(r3[3][2], r3[3][3]);
    y_13 = chain_end(y_13, n_14);
    y_13 = maximum<f32>(y_13, exchange<1>(y_13, lane));
    y_13 = maximum<f32>(y_13, exchange<2>(y_13, lane));
    y_13 = maximum<f32>(y_13, exchange<4>(y_13, lane));
    y_13 = maximum<f32>(y_13, exchange<8>(y_13, lane));
    y_13 = maximum<f32>(y_13, exchange<16>(y_13, lane));
    y_13 = maximum<f32>(y_13, exchange<32>(y_13, lane));
    r0[0] = maximum<f32>(r0[0], y_13);
  }
  // @body/6 /launches/0/body/8/body/2
  {
    r4[0] = pick<f32>((r0[0] == (-__builtin_inff())), 0x0p+0f, r0[0]);
  }
  // @body/7 /launches/0/body/8/body/3
  {
    r2[0] = pick<f32>((r2[0] != 0x0p+0f), (r2[0] * exp2_f32(((r1[0] - r4[0]) * 0x1.715476p+0f))), 0x0p+0f);
  }
  // @body/8 /launches/0/body/8/body/4
  {
    r1[0] = r4[0];
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
    f32 y_15 = ((((r3[0][0] + r3[0][1]) + (r3[0][2] + r3[0][3])) + ((r3[1][0] + r3[1][1]) + (r3[1][2] + r3[1][3]))) + (((r3[2][0] + r3[2][1]) + (r3[2][2] + r3[2][3])) + ((r3[3][0] + r3[3][1]) + (r3[3][2] + r3[3][3]))));
    y_15 = (y_15 + exchange<1>(y_15, lane));
    y_15 = (y_15 + exchange<2>(y_15, lane));
    y_15 = (y_15 + exchange<4>(y_15, lane));
    y_15 = (y_15 + exchange<8>(y_15, lane));
    y_15 = (y_15 + exchange<16>(y_15, lane));
    y_15 = (y_15 + exchange<32>(y_15, lane));
    r2[0] = (r2[0] + y_15);
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
    const i32 i_16 = (4 * bx) + (i32)(wave);
    const i32 i_17 = 0 + (i32)(l_2);
    const u32 u_19 = (u32)(((4 * bx) * 4000));
    const bool m_20 = (u32)(i_16) < 33u && (u32)(i_17) < 1000u;
    store_buffer<vec<f32, 4>>(b_18, u_19, m_20 ? l_0 : buffer_outside, r3[0]);
    const bool m_21 = (u32)(i_16) < 33u && (u32)(i_17 + 256) < 1000u;
    store_buffer<vec<f32, 4>>(b_18, u_19, m_21 ? l_0 + 1024u : buffer_outside, r3[1]);
    const bool m_22 = (u32)(i_16) < 33u && (u32)(i_17 + 512) < 1000u;
    store_buffer<vec<f32, 4>>(b_18, u_19, m_22 ? l_0 + 2048u : buffer_outside, r3[2]);
    const bool m_23 = (u32)(i_16) < 33u && (u32)(i_17 + 768) < 1000u;
    store_buffer<vec<f32, 4>>(b_18, u_19, m_23 ? l_0 + 3072u : buffer_outside, r3[3]);
  }
}

}  // namespace kiln
