#include <kiln/kernel.hpp>
#pragma clang fp contract(off)

namespace kiln {

extern "C" KILN_KERNEL(256) void layernorm_0(const void* __restrict__ p0, const void* __restrict__ p1, const void* __restrict__ p2, void* __restrict__ p3) {
  const u32 thread = thread_id();
  const u32 lane = thread % 64u, wave = uniform(thread / 64u);
  const i32 bz = i32(block_id_z());
  const i32 bx = i32(block_id_x());
  const i32 by = i32(block_id_y());
  const u32 l_0 = lane * 16u + wave * 2000u;
  const u32 l_2 = lane * 8u;
  const buffer b_4 = make_buffer(p0, 66000u);
  const u32 l_12 = lane * 16u;
  const buffer b_14 = make_buffer(p1, 2000u);
  const buffer b_21 = make_buffer(p2, 2000u);
  const buffer b_29 = make_buffer(p3, 66000u);
  f32 r0[1];
  vec<f32, 4> r1[4];
  vec<bf16, 4> r2[4];
  f32 r3[1];
  vec<f32, 4> r4[4];
  vec<f32, 4> r5[4];
  vec<bf16, 4> r6[4];
  vec<bf16, 4> r7[4];
  vec<bf16, 4> r8[4];
  // @body/0 /launches/0/body/5
  r0[0] = 0x0p+0f;
  // @body/1 /launches/0/body/6
  const i32 v0 = 0;
  // @body/2 /launches/0/body/6/body/0
  {
    const i32 i_1 = (4 * bx) + (i32)(wave);
    const i32 i_3 = v0 + (i32)(l_2);
    const u32 u_5 = (u32)((((4 * bx) * 2000) + (v0 * 2)));
    const bool m_7 = (u32)(i_1) < 33u && (u32)(i_3) < 1000u;
    const vec<bf16, 8> x_6 = load_buffer<vec<bf16, 8>>(b_4, u_5, m_7 ? l_0 : buffer_outside);
    r2[0] = __builtin_shufflevector(x_6, x_6, 0, 1, 2, 3);
    r2[1] = __builtin_shufflevector(x_6, x_6, 4, 5, 6, 7);
    const bool m_9 = (u32)(i_1) < 33u && (u32)(i_3 + 512) < 1000u;
    const vec<bf16, 8> x_8 = load_buffer<vec<bf16, 8>>(b_4, u_5, m_9 ? l_0 + 1024u : buffer_outside);
    r2[2] = __builtin_shufflevector(x_8, x_8, 0, 1, 2, 3);
    r2[3] = __builtin_shufflevector(x_8, x_8, 4, 5, 6, 7);
  }
  // @body/3 /launches/0/body/6/body/0
  {
    r1[0][0] = from_bf16(r2[0][0]);
    r1[0][1] = from_bf16(r2[0][1]);
    r1[0][2] = from_bf16(r2[0][2]);
    r1[0][3] = from_bf16(r2[0][3]);
    r1[1][0] = from_bf16(r2[1][0]);
    r1[1][1] = from_bf16(r2[1][1]);
    r1[1][2] = from_bf16(r2[1][2]);
    r1[1][3] = from_bf16(r2[1][3]);
    r1[2][0] = from_bf16(r2[2][0]);
    r1[2][1] = from_bf16(r2[2][1]);
    r1[2][2] = from_bf16(r2[2][2]);
    r1[2][3] = from_bf16(r2[2][3]);
    r1[3][0] = from_bf16(r2[3][0]);
    r1[3][1] = from_bf16(r2[3][1]);
    r1[3][2] = from_bf16(r2[3][2]);
    r1[3][3] = from_bf16(r2[3][3]);
  }
  // @body/4 /launches/0/body/6/body/1
  {
    f32 y_10 = ((((r1[0][0] + r1[0][1]) + (r1[0][2] + r1[0][3])) + ((r1[1][0] + r1[1][1]) + (r1[1][2] + r1[1][3]))) + (((r1[2][0] + r1[2][1]) + (r1[2][2] + r1[2][3])) + ((r1[3][0] + r1[3][1]) + (r1[3][2] + r1[3][3]))));
    y_10 = (y_10 + exchange<1>(y_10, lane));
    y_10 = (y_10 + exchange<2>(y_10, lane));
    y_10 = (y_10 + exchange<4>(y_10, lane));
    y_10 = (y_10 + exchange<8>(y_10, lane));
    y_10 = (y_10 + exchange<16>(y_10, lane));
    y_10 = (y_10 + exchange<32>(y_10, lane));
    r0[0] = (r0[0] + y_10);
  }
  // @body/5 /launches/0/body/7
  {
    r0[0] = (r0[0] / 0x1.f4p+9f);
  }
  // @body/6 /launches/0/body/8
  r3[0] = 0x0p+0f;
  // @body/7 /launches/0/body/9
  const i32 v2 = 0;
  // @body/8 /launches/0/body/9/body/1
  {
    r4[0][0] = pick<f32>(((v2 + (i32)(l_2)) < 1000), ((r1[0][0] - r0[0]) * (r1[0][0] - r0[0])), 0x0p+0f);
  }
  {
    r4[0][1] = pick<f32>(((v2 + (i32)(l_2 + 1u)) < 1000), ((r1[0][1] - r0[0]) * (r1[0][1] - r0[0])), 0x0p+0f);
  }
  {
    r4[0][2] = pick<f32>(((v2 + (i32)(l_2 + 2u)) < 1000), ((r1[0][2] - r0[0]) * (r1[0][2] - r0[0])), 0x0p+0f);
  }
  {
    r4[0][3] = pick<f32>(((v2 + (i32)(l_2 + 3u)) < 1000), ((r1[0][3] - r0[0]) * (r1[0][3] - r0[0])), 0x0p+0f);
  }
  {
    r4[1][0] = pick<f32>(((v2 + (i32)(l_2 + 4u)) < 1000), ((r1[1][0] - r0[0]) * (r1[1][0] - r0[0])), 0x0p+0f);
  }
  {
    r4[1][1] = pick<f32>(((v2 + (i32)(l_2 + 5u)) < 1000), ((r1[1][1] - r0[0]) * (r1[1][1] - r0[0])), 0x0p+0f);
  }
  {
    r4[1][2] = pick<f32>(((v2 + (i32)(l_2 + 6u)) < 1000), ((r1[1][2] - r0[0]) * (r1[1][2] - r0[0])), 0x0p+0f);
  }
  {
    r4[1][3] = pick<f32>(((v2 + (i32)(l_2 + 7u)) < 1000), ((r1[1][3] - r0[0]) * (r1[1][3] - r0[0])), 0x0p+0f);
  }
  {
    r4[2][0] = pick<f32>(((v2 + (i32)(l_2 + 512u)) < 1000), ((r1[2][0] - r0[0]) * (r1[2][0] - r0[0])), 0x0p+0f);
  }
  {
    r4[2][1] = pick<f32>(((v2 + (i32)(l_2 + 513u)) < 1000), ((r1[2][1] - r0[0]) * (r1[2][1] - r0[0])), 0x0p+0f);
  }
  {
    r4[2][2] = pick<f32>(((v2 + (i32)(l_2 + 514u)) < 1000), ((r1[2][2] - r0[0]) * (r1[2][2] - r0[0])), 0x0p+0f);
  }
  {
    r4[2][3] = pick<f32>(((v2 + (i32)(l_2 + 515u)) < 1000), ((r1[2][3] - r0[0]) * (r1[2][3] - r0[0])), 0x0p+0f);
  }
  {
    r4[3][0] = pick<f32>(((v2 + (i32)(l_2 + 516u)) < 1000), ((r1[3][0] - r0[0]) * (r1[3][0] - r0[0])), 0x0p+0f);
  }
  {
    r4[3][1] = pick<f32>(((v2 + (i32)(l_2 + 517u)) < 1000), ((r1[3][1] - r0[0]) * (r1[3][1] - r0[0])), 0x0p+0f);
  }
  {
    r4[3][2] = pick<f32>(((v2 + (i32)(l_2 + 518u)) < 1000), ((r1[3][2] - r0[0]) * (r1[3][2] - r0[0])), 0x0p+0f);
  }
  {
    r4[3][3] = pick<f32>(((v2 + (i32)(l_2 + 519u)) < 1000), ((r1[3][3] - r0[0]) * (r1[3][3] - r0[0])), 0x0p+0f);
  }
  // @body/9 /launches/0/body/9/body/2
  {
    f32 y_11 = ((((r4[0][0] + r4[0][1]) + (r4[0][2] + r4[0][3])) + ((r4[1][0] + r4[1][1]) + (r4[1][2] + r4[1][3]))) + (((r4[2][0] + r4[2][1]) + (r4[2][2] + r4[2][3])) + ((r4[3][0] + r4[3][1]) + (r4[3][2] + r4[3][3]))));
    y_11 = (y_11 + exchange<1>(y_11, lane));
    y_11 = (y_11 + exchange<2>(y_11, lane));
    y_11 = (y_11 + exchange<4>(y_11, lane));
    y_11 = (y_11 + exchange<8>(y_11, lane));
    y_11 = (y_11 + exchange<16>(y_11, lane));
    y_11 = (y_11 + exchange<32>(y_11, lane));
    r3[0] = (r3[0] + y_11);
  }
  // @body/10 /launches/0/body/10
  {
    r3[0] = rsqrt_f32(((r3[0] / 0x1.f4p+9f) + 0x1.4f8b58p-17f));
  }
  // @body/11 /launches/0/body/11
  const i32 v6 = 0;
  // @body/12 /launches/0/body/11/body/1
  {
    const i32 i_13 = v6 + (i32)(l_2);
    const u32 u_15 = (u32)((v6 * 2));
    const bool m_17 = (u32)(i_13) < 1000u;
    const vec<bf16, 8> x_16 = load_buffer<vec<bf16, 8>>(b_14, u_15, m_17 ? l_12 : buffer_outside);
    r6[0] = __builtin_shufflevector(x_16, x_16, 0, 1, 2, 3);
    r6[1] = __builtin_shufflevector(x_16, x_16, 4, 5, 6, 7);
    const bool m_19 = (u32)(i_13 + 512) < 1000u;
    const vec<bf16, 8> x_18 = load_buffer<vec<bf16, 8>>(b_14, u_15, m_19 ? l_12 + 1024u : buffer_outside);
    r6[2] = __builtin_shufflevector(x_18, x_18, 0, 1, 2, 3);
    r6[3] = __builtin_shufflevector(x_18, x_18, 4, 5, 6, 7);
  }
  // @body/13 /launches/0/body/11/body/1
  {
    r5[0][0] = from_bf16(r6[0][0]);
    r5[0][1] = from_bf16(r6[0][1]);
    r5[0][2] = from_bf16(r6[0][2]);
    r5[0][3] = from_bf16(r6[0][3]);
    r5[1][0] = from_bf16(r6[1][0]);
    r5[1][1] = from_bf16(r6[1][1]);
    r5[1][2] = from_bf16(r6[1][2]);
    r5[1][3] = from_bf16(r6[1][3]);
    r5[2][0] = from_bf16(r6[2][0]);
    r5[2][1] = from_bf16(r6[2][1]);
    r5[2][2] = from_bf16(r6[2][2]);
    r5[2][3] = from_bf16(r6[2][3]);
    r5[3][0] = from_bf16(r6[3][0]);
    r5[3][1] = from_bf16(r6[3][1]);
    r5[3][2] = from_bf16(r6[3][2]);
    r5[3][3] = from_bf16(r6[3][3]);
  }
  // @body/14 /launches/0/body/11/body/2
  {
    r1[0][0] = (((r1[0][0] - r0[0]) * r3[0]) * r5[0][0]);
  }
  {
    r1[0][1] = (((r1[0][1] - r0[0]) * r3[0]) * r5[0][1]);
  }
  {
    r1[0][2] = (((r1[0][2] - r0[0]) * r3[0]) * r5[0][2]);
  }
  {
    r1[0][3] = (((r1[0][3] - r0[0]) * r3[0]) * r5[0][3]);
  }
  {
    r1[1][0] = (((r1[1][0] - r0[0]) * r3[0]) * r5[1][0]);
  }
  {
    r1[1][1] = (((r1[1][1] - r0[0]) * r3[0]) * r5[1][1]);
  }
  {
    r1[1][2] = (((r1[1][2] - r0[0]) * r3[0]) * r5[1][2]);
  }
  {
    r1[1][3] = (((r1[1][3] - r0[0]) * r3[0]) * r5[1][3]);
  }
  {
    r1[2][0] = (((r1[2][0] - r0[0]) * r3[0]) * r5[2][0]);
  }
  {
    r1[2][1] = (((r1[2][1] - r0[0]) * r3[0]) * r5[2][1]);
  }
  {
    r1[2][2] = (((r1[2][2] - r0[0]) * r3[0]) * r5[2][2]);
  }
  {
    r1[2][3] = (((r1[2][3] - r0[0]) * r3[0]) * r5[2][3]);
  }
  {
    r1[3][0] = (((r1[3][0] - r0[0]) * r3[0]) * r5[3][0]);
  }
  {
    r1[3][1] = (((r1[3][1] - r0[0]) * r3[0]) * r5[3][1]);
  }
  {
    r1[3][2] = (((r1[3][2] - r0[0]) * r3[0]) * r5[3][2]);
  }
  {
    r1[3][3] = (((r1[3][3] - r0[0]) * r3[0]) * r5[3][3]);
  }
  // @body/15 /launches/0/body/11/body/3/then/0
  {
    const i32 i_20 = v6 + (i32)(l_2);
    const u32 u_22 = (u32)((v6 * 2));
    const bool m_24 = (u32)(i_20) < 1000u;
    const vec<bf16, 8> x_23 = load_buffer<vec<bf16, 8>>(b_21, u_22, m_24 ? l_12 : buffer_outside);
    r7[0] = __builtin_shufflevector(x_23, x_23, 0, 1, 2, 3);
    r7[1] = __builtin_shufflevector(x_23, x_23, 4, 5, 6, 7);
    const bool m_26 = (u32)(i_20 + 512) < 1000u;
    const vec<bf16, 8> x_25 = load_buffer<vec<bf16, 8>>(b_21, u_22, m_26 ? l_12 + 1024u : buffer_outside);
    r7[2] = __builtin_shufflevector(x_25, x_25, 0, 1, 2, 3);
    r7[3] = __builtin_shufflevector(x_25, x_25, 4, 5, 6, 7);
  }
  // @body/16 /launches/0/body/11/body/3/then/0
  {
    r5[0][0] = from_bf16(r7[0][0]);
    r5[0][1] = from_bf16(r7[0][1]);
    r5[0][2] = from_bf16(r7[0][2]);
    r5[0][3] = from_bf16(r7[0][3]);
    r5[1][0] = from_bf16(r7[1][0]);
    r5[1][1] = from_bf16(r7[1][1]);
    r5[1][2] = from_bf16(r7[1][2]);
    r5[1][3] = from_bf16(r7[1][3]);
    r5[2][0] = from_bf16(r7[2][0]);
    r5[2][1] = from_bf16(r7[2][1]);
    r5[2][2] = from_bf16(r7[2][2]);
    r5[2][3] = from_bf16(r7[2][3]);
    r5[3][0] = from_bf16(r7[3][0]);
    r5[3][1] = from_bf16(r7[3][1]);
    r5[3][2] = from_bf16(r7[3][2]);
    r5[3][3] = from_bf16(r7[3][3]);
  }
  // @body/17 /launches/0/body/11/body/3/then/1
  {
    r1[0][0] = (r1[0][0] + r5[0][0]);
  }
  {
    r1[0][1] = (r1[0][1] + r5[0][1]);
  }
  {
    r1[0][2] = (r1[0][2] + r5[0][2]);
  }
  {
    r1[0][3] = (r1[0][3] + r5[0][3]);
  }
  {
    r1[1][0] = (r1[1][0] + r5[1][0]);
  }
  {
    r1[1][1] = (r1[1][1] + r5[1][1]);
  }
  {
    r1[1][2] = (r1[1][2] + r5[1][2]);
  }
  {
    r1[1][3] = (r1[1][3] + r5[1][3]);
  }
  {
    r1[2][0] = (r1[2][0] + r5[2][0]);
  }
  {
    r1[2][1] = (r1[2][1] + r5[2][1]);
  }
  {
    r1[2][2] = (r1[2][2] + r5[2][2]);
  }
  {
    r1[2][3] = (r1[2][3] + r5[2][3]);
  }
  {
    r1[3][0] = (r1[3][0] + r5[3][0]);
  }
  {
    r1[3][1] = (r1[3][1] + r5[3][1]);
  }
  {
    r1[3][2] = (r1[3][2] + r5[3][2]);
  }
  {
    r1[3][3] = (r1[3][3] + r5[3][3]);
  }
  // @body/18 /launches/0/body/11/body/4
  {
    r8[0][0] = to_bf16((f32)(r1[0][0]));
    r8[0][1] = to_bf16((f32)(r1[0][1]));
    r8[0][2] = to_bf16((f32)(r1[0][2]));
    r8[0][3] = to_bf16((f32)(r1[0][3]));
    r8[1][0] = to_bf16((f32)(r1[1][0]));
    r8[1][1] = to_bf16((f32)(r1[1][1]));
    r8[1][2] = to_bf16((f32)(r1[1][2]));
    r8[1][3] = to_bf16((f32)(r1[1][3]));
    r8[2][0] = to_bf16((f32)(r1[2][0]));
    r8[2][1] = to_bf16((f32)(r1[2][1]));
    r8[2][2] = to_bf16((f32)(r1[2][2]));
    r8[2][3] = to_bf16((f32)(r1[2][3]));
    r8[3][0] = to_bf16((f32)(r1[3][0]));
    r8[3][1] = to_bf16((f32)(r1[3][1]));
    r8[3][2] = to_bf16((f32)(r1[3][2]));
    r8[3][3] = to_bf16((f32)(r1[3][3]));
  }
  // @body/19 /launches/0/body/11/body/4
  {
    const i32 i_27 = (4 * bx) + (i32)(wave);
    const i32 i_28 = v6 + (i32)(l_2);
    const u32 u_30 = (u32)((((4 * bx) * 2000) + (v6 * 2)));
    const bool m_31 = (u32)(i_27) < 33u && (u32)(i_28) < 1000u;
    store_buffer<vec<bf16, 8>>(b_29, u_30, m_31 ? l_0 : buffer_outside, vec<bf16, 8>{r8[0][0], r8[0][1], r8[0][2], r8[0][3], r8[1][0], r8[1][1], r8[1][2], r8[1][3]});
    const bool m_32 = (u32)(i_27) < 33u && (u32)(i_28 + 512) < 1000u;
    store_buffer<vec<bf16, 8>>(b_29, u_30, m_32 ? l_0 + 1024u : buffer_outside, vec<bf16, 8>{r8[2][0], r8[2][1], r8[2][2], r8[2][3], r8[3][0], r8[3][1], r8[3][2], r8[3][3]});
  }
}

}  // namespace kiln
