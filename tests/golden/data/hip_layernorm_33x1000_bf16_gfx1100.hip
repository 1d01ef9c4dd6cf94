#include <kiln/kernel.hpp>
#pragma clang fp contract(off)

namespace kiln {

extern "C" KILN_KERNEL(256) void layernorm_0(const void* __restrict__ p0, const void* __restrict__ p1, const void* __restrict__ p2, void* __restrict__ p3) {
  KILN_LDS(lds, 64);
  const u32 thread = thread_id();
  const u32 lane = thread % 32u, wave = uniform(thread / 32u);
  const i32 bz = i32(block_id_z());
  const i32 bx = i32(block_id_x());
  const i32 by = i32(block_id_y());
  const u32 l_0 = lane * 16u + (wave & 3u) * 2000u + (wave >> 2) * 512u;
  const u32 l_1 = (wave & 3u);
  const u32 l_3 = lane * 8u + (wave >> 2) * 256u;
  const buffer b_5 = make_buffer(p0, 66000u);
  const u32 l_12 = wave * 4u;
  const u32 l_13 = (wave & 3u) * 4u;
  const u32 l_15 = lane * 16u + (wave >> 2) * 512u;
  const buffer b_17 = make_buffer(p1, 2000u);
  const buffer b_24 = make_buffer(p2, 2000u);
  const buffer b_32 = make_buffer(p3, 66000u);
  f32 r0[1];
  vec<f32, 4> r1[4];
  vec<bf16, 4> r2[4];
  f32 r4[1];
  vec<f32, 4> r5[4];
  vec<f32, 4> r7[4];
  vec<bf16, 4> r8[4];
  vec<bf16, 4> r9[4];
  vec<bf16, 4> r10[4];
  // @body/0 /launches/0/body/5
  r0[0] = 0x0p+0f;
  // @body/1 /launches/0/body/6
  const i32 v0 = 0;
  // @body/2 /launches/0/body/6/body/0
  {
    const i32 i_2 = (4 * bx) + (i32)(l_1);
    const i32 i_4 = v0 + (i32)(l_3);
    const u32 u_6 = (u32)((((4 * bx) * 2000) + (v0 * 2)));
    const bool m_8 = (u32)(i_2) < 33u && (u32)(i_4) < 1000u;
    const vec<bf16, 8> x_7 = load_buffer<vec<bf16, 8>>(b_5, u_6, m_8 ? l_0 : buffer_outside);
    r2[0] = __builtin_shufflevector(x_7, x_7, 0, 1, 2, 3);
    r2[1] = __builtin_shufflevector(x_7, x_7, 4, 5, 6, 7);
    const bool m_10 = (u32)(i_2) < 33u && (u32)(i_4 + 512) < 1000u;
    const vec<bf16, 8> x_9 = load_buffer<vec<bf16, 8>>(b_5, u_6, m_10 ? l_0 + 1024u : buffer_outside);
    r2[2] = __builtin_shufflevector(x_9, x_9, 0, 1, 2, 3);
    r2[3] = __builtin_shufflevector(x_9, x_9, 4, 5, 6, 7);
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
    f32 y_11 = ((((r1[0][0] + r1[0][1]) + (r1[0][2] + r1[0][3])) + ((r1[1][0] + r1[1][1]) + (r1[1][2] + r1[1][3]))) + (((r1[2][0] + r1[2][1]) + (r1[2][2] + r1[2][3])) + ((r1[3][0] + r1[3][1]) + (r1[3][2] + r1[3][3]))));
    y_11 = (y_11 + exchange<1>(y_11, lane));
    y_11 = (y_11 + exchange<2>(y_11, lane));
    y_11 = (y_11 + exchange<4>(y_11, lane));
    y_11 = (y_11 + exchange<8>(y_11, lane));
    y_11 = (y_11 + exchange<16>(y_11, lane));
    store_lds<f32>(lds, l_12, (f32)(y_11));
    barrier();
    y_11 = load_lds<f32>(lds, l_13);
    y_11 = (y_11 + load_lds<f32>(lds, l_13 + 16u));
    r0[0] = (r0[0] + y_11);
  }
  // @body/5 /launches/0/body/7
  {
    r0[0] = (r0[0] / 0x1.f4p+9f);
  }
  // @body/6 /launches/0/body/8
  r4[0] = 0x0p+0f;
  // @body/7 /launches/0/body/9
  const i32 v2 = 0;
  // @body/8 /launches/0/body/9/body/1
  {
    r5[0][0] = pick<f32>(((v2 + (i32)(l_3)) < 1000), ((r1[0][0] - r0[0]) * (r1[0][0] - r0[0])), 0x0p+0f);
  }
  {
    r5[0][1] = pick<f32>(((v2 + (i32)(l_3 + 1u)) < 1000), ((r1[0][1] - r0[0]) * (r1[0][1] - r0[0])), 0x0p+0f);
  }
  {
    r5[0][2] = pick<f32>(((v2 + (i32)(l_3 + 2u)) < 1000), ((r1[0][2] - r0[0]) * (r1[0][2] - r0[0])), 0x0p+0f);
  }
  {
    r5[0][3] = pick<f32>(((v2 + (i32)(l_3 + 3u)) < 1000), ((r1[0][3] - r0[0]) * (r1[0][3] - r0[0])), 0x0p+0f);
  }
  {
    r5[1][0] = pick<f32>(((v2 + (i32)(l_3 + 4u)) < 1000), ((r1[1][0] - r0[0]) * (r1[1][0] - r0[0])), 0x0p+0f);
  }
  {
    r5[1][1] = pick<f32>(((v2 + (i32)(l_3 + 5u)) < 1000), ((r1[1][1] - r0[0]) * (r1[1][1] - r0[0])), 0x0p+0f);
  }
  {
    r5[1][2] = pick<f32>(((v2 + (i32)(l_3 + 6u)) < 1000), ((r1[1][2] - r0[0]) * (r1[1][2] - r0[0])), 0x0p+0f);
  }
  {
    r5[1][3] = pick<f32>(((v2 + (i32)(l_3 + 7u)) < 1000), ((r1[1][3] - r0[0]) * (r1[1][3] - r0[0])), 0x0p+0f);
  }
  {
    r5[2][0] = pick<f32>(((v2 + (i32)(l_3 + 512u)) < 1000), ((r1[2][0] - r0[0]) * (r1[2][0] - r0[0])), 0x0p+0f);
  }
  {
    r5[2][1] = pick<f32>(((v2 + (i32)(l_3 + 513u)) < 1000), ((r1[2][1] - r0[0]) * (r1[2][1] - r0[0])), 0x0p+0f);
  }
  {
    r5[2][2] = pick<f32>(((v2 + (i32)(l_3 + 514u)) < 1000), ((r1[2][2] - r0[0]) * (r1[2][2] - r0[0])), 0x0p+0f);
  }
  {
    r5[2][3] = pick<f32>(((v2 + (i32)(l_3 + 515u)) < 1000), ((r1[2][3] - r0[0]) * (r1[2][3] - r0[0])), 0x0p+0f);
  }
  {
    r5[3][0] = pick<f32>(((v2 + (i32)(l_3 + 516u)) < 1000), ((r1[3][0] - r0[0]) * (r1[3][0] - r0[0])), 0x0p+0f);
  }
  {
    r5[3][1] = pick<f32>(((v2 + (i32)(l_3 + 517u)) < 1000), ((r1[3][1] - r0[0]) * (r1[3][1] - r0[0])), 0x0p+0f);
  }
  {
    r5[3][2] = pick<f32>(((v2 + (i32)(l_3 + 518u)) < 1000), ((r1[3][2] - r0[0]) * (r1[3][2] - r0[0])), 0x0p+0f);
  }
  {
    r5[3][3] = pick<f32>(((v2 + (i32)(l_3 + 519u)) < 1000), ((r1[3][3] - r0[0]) * (r1[3][3] - r0[0])), 0x0p+0f);
  }
  // @body/9 /launches/0/body/9/body/2
  {
    f32 y_14 = ((((r5[0][0] + r5[0][1]) + (r5[0][2] + r5[0][3])) + ((r5[1][0] + r5[1][1]) + (r5[1][2] + r5[1][3]))) + (((r5[2][0] + r5[2][1]) + (r5[2][2] + r5[2][3])) + ((r5[3][0] + r5[3][1]) + (r5[3][2] + r5[3][3]))));
    y_14 = (y_14 + exchange<1>(y_14, lane));
    y_14 = (y_14 + exchange<2>(y_14, lane));
    y_14 = (y_14 + exchange<4>(y_14, lane));
    y_14 = (y_14 + exchange<8>(y_14, lane));
    y_14 = (y_14 + exchange<16>(y_14, lane));
    store_lds<f32>(lds, l_12 + 32u, (f32)(y_14));
    barrier();
    y_14 = load_lds<f32>(lds, l_13 + 32u);
    y_14 = (y_14 + load_lds<f32>(lds, l_13 + 48u));
    r4[0] = (r4[0] + y_14);
  }
  // @body/10 /launches/0/body/10
  {
    r4[0] = rsqrt_f32(((r4[0] / 0x1.f4p+9f) + 0x1.4f8b58p-17f));
  }
  // @body/11 /launches/0/body/11
  const i32 v6 = 0;
  // @body/12 /launches/0/body/11/body/1
  {
    const i32 i_16 = v6 + (i32)(l_3);
    const u32 u_18 = (u32)((v6 * 2));
    const bool m_20 = (u32)(i_16) < 1000u;
    const vec<bf16, 8> x_19 = load_buffer<vec<bf16, 8>>(b_17, u_18, m_20 ? l_15 : buffer_outside);
    r8[0] = __builtin_shufflevector(x_19, x_19, 0, 1, 2, 3);
    r8[1] = __builtin_shufflevector(x_19, x_19, 4, 5, 6, 7);
    const bool m_22 = (u32)(i_16 + 512) < 1000u;
    const vec<bf16, 8> x_21 = load_buffer<vec<bf16, 8>>(b_17, u_18, m_22 ? l_15 + 1024u : buffer_outside);
    r8[2] = __builtin_shufflevector(x_21, x_21, 0, 1, 2, 3);
    r8[3] = __builtin_shufflevector(x_21, x_21, 4, 5, 6, 7);
  }
  // @body/13 /launches/0/body/11/body/1
  {
    r7[0][0] = from_bf16(r8[0][0]);
    r7[0][1] = from_bf16(r8[0][1]);
    r7[0][2] = from_bf16(r8[0][2]);
    r7[0][3] = from_bf16(r8[0][3]);
    r7[1][0] = from_bf16(r8[1][0]);
    r7[1][1] = from_bf16(r8[1][1]);
    r7[1][2] = from_bf16(r8[1][2]);
    r7[1][3] = from_bf16(r8[1][3]);
    r7[2][0] = from_bf16(r8[2][0]);
    r7[2][1] = from_bf16(r8[2][1]);
    r7[2][2] = from_bf16(r8[2][2]);
    r7[2][3] = from_bf16(r8[2][3]);
    r7[3][0] = from_bf16(r8[3][0]);
    r7[3][1] = from_bf16(r8[3][1]);
    r7[3][2] = from_bf16(r8[3][2]);
    r7[3][3] = from_bf16(r8[3][3]);
  }
  // @body/14 /launches/0/body/11/body/2
  {
    r1[0][0] = (((r1[0][0] - r0[0]) * r4[0]) * r7[0][0]);
  }
  {
    r1[0][1] = (((r1[0][1] - r0[0]) * r4[0]) * r7[0][1]);
  }
  {
    r1[0][2] = (((r1[0][2] - r0[0]) * r4[0]) * r7[0][2]);
  }
  {
    r1[0][3] = (((r1[0][3] - r0[0]) * r4[0]) * r7[0][3]);
  }
  {
    r1[1][0] = (((r1[1][0] - r0[0]) * r4[0]) * r7[1][0]);
  }
  {
    r1[1][1] = (((r1[1][1] - r0[0]) * r4[0]) * r7[1][1]);
  }
  {
    r1[1][2] = (((r1[1][2] - r0[0]) * r4[0]) * r7[1][2]);
  }
  {
    r1[1][3] = (((r1[1][3] - r0[0]) * r4[0]) * r7[1][3]);
  }
  {
    r1[2][0] = (((r1[2][0] - r0[0]) * r4[0]) * r7[2][0]);
  }
  {
    r1[2][1] = (((r1[2][1] - r0[0]) * r4[0]) * r7[2][1]);
  }
  {
    r1[2][2] = (((r1[2][2] - r0[0]) * r4[0]) * r7[2][2]);
  }
  {
    r1[2][3] = (((r1[2][3] - r0[0]) * r4[0]) * r7[2][3]);
  }
  {
    r1[3][0] = (((r1[3][0] - r0[0]) * r4[0]) * r7[3][0]);
  }
  {
    r1[3][1] = (((r1[3][1] - r0[0]) * r4[0]) * r7[3][1]);
  }
  {
    r1[3][2] = (((r1[3][2] - r0[0]) * r4[0]) * r7[3][2]);
  }
  {
    r1[3][3] = (((r1[3][3] - r0[0]) * r4[0]) * r7[3][3]);
  }
  // @body/15 /launches/0/body/11/body/3/then/0
  {
    const i32 i_23 = v6 + (i32)(l_3);
    const u32 u_25 = (u32)((v6 * 2));
    const bool m_27 = (u32)(i_23) < 1000u;
    const vec<bf16, 8> x_26 = load_buffer<vec<bf16, 8>>(b_24, u_25, m_27 ? l_15 : buffer_outside);
    r9[0] = __builtin_shufflevector(x_26, x_26, 0, 1, 2, 3);
    r9[1] = __builtin_shufflevector(x_26, x_26, 4, 5, 6, 7);
    const bool m_29 = (u32)(i_23 + 512) < 1000u;
    const vec<bf16, 8> x_28 = load_buffer<vec<bf16, 8>>(b_24, u_25, m_29 ? l_15 + 1024u : buffer_outside);
    r9[2] = __builtin_shufflevector(x_28, x_28, 0, 1, 2, 3);
    r9[3] = __builtin_shufflevector(x_28, x_28, 4, 5, 6, 7);
  }
  // @body/16 /launches/0/body/11/body/3/then/0
  {
    r7[0][0] = from_bf16(r9[0][0]);
    r7[0][1] = from_bf16(r9[0][1]);
    r7[0][2] = from_bf16(r9[0][2]);
    r7[0][3] = from_bf16(r9[0][3]);
    r7[1][0] = from_bf16(r9[1][0]);
    r7[1][1] = from_bf16(r9[1][1]);
    r7[1][2] = from_bf16(r9[1][2]);
    r7[1][3] = from_bf16(r9[1][3]);
    r7[2][0] = from_bf16(r9[2][0]);
    r7[2][1] = from_bf16(r9[2][1]);
    r7[2][2] = from_bf16(r9[2][2]);
    r7[2][3] = from_bf16(r9[2][3]);
    r7[3][0] = from_bf16(r9[3][0]);
    r7[3][1] = from_bf16(r9[3][1]);
    r7[3][2] = from_bf16(r9[3][2]);
    r7[3][3] = from_bf16(r9[3][3]);
  }
  // @body/17 /launches/0/body/11/body/3/then/1
  {
    r1[0][0] = (r1[0][0] + r7[0][0]);
  }
  {
    r1[0][1] = (r1[0][1] + r7[0][1]);
  }
  {
    r1[0][2] = (r1[0][2] + r7[0][2]);
  }
  {
    r1[0][3] = (r1[0][3] + r7[0][3]);
  }
  {
    r1[1][0] = (r1[1][0] + r7[1][0]);
  }
  {
    r1[1][1] = (r1[1][1] + r7[1][1]);
  }
  {
    r1[1][2] = (r1[1][2] + r7[1][2]);
  }
  {
    r1[1][3] = (r1[1][3] + r7[1][3]);
  }
  {
    r1[2][0] = (r1[2][0] + r7[2][0]);
  }
  {
    r1[2][1] = (r1[2][1] + r7[2][1]);
  }
  {
    r1[2][2] = (r1[2][2] + r7[2][2]);
  }
  {
    r1[2][3] = (r1[2][3] + r7[2][3]);
  }
  {
    r1[3][0] = (r1[3][0] + r7[3][0]);
  }
  {
    r1[3][1] = (r1[3][1] + r7[3][1]);
  }
  {
    r1[3][2] = (r1[3][2] + r7[3][2]);
  }
  {
    r1[3][3] = (r1[3][3] + r7[3][3]);
  }
  // @body/18 /launches/0/body/11/body/4
  {
    r10[0][0] = to_bf16((f32)(r1[0][0]));
    r10[0][1] = to_bf16((f32)(r1[0][1]));
    r10[0][2] = to_bf16((f32)(r1[0][2]));
    r10[0][3] = to_bf16((f32)(r1[0][3]));
    r10[1][0] = to_bf16((f32)(r1[1][0]));
    r10[1][1] = to_bf16((f32)(r1[1][1]));
    r10[1][2] = to_bf16((f32)(r1[1][2]));
    r10[1][3] = to_bf16((f32)(r1[1][3]));
    r10[2][0] = to_bf16((f32)(r1[2][0]));
    r10[2][1] = to_bf16((f32)(r1[2][1]));
    r10[2][2] = to_bf16((f32)(r1[2][2]));
    r10[2][3] = to_bf16((f32)(r1[2][3]));
    r10[3][0] = to_bf16((f32)(r1[3][0]));
    r10[3][1] = to_bf16((f32)(r1[3][1]));
    r10[3][2] = to_bf16((f32)(r1[3][2]));
    r10[3][3] = to_bf16((f32)(r1[3][3]));
  }
  // @body/19 /launches/0/body/11/body/4
  {
    const i32 i_30 = (4 * bx) + (i32)(l_1);
    const i32 i_31 = v6 + (i32)(l_3);
    const u32 u_33 = (u32)((((4 * bx) * 2000) + (v6 * 2)));
    const bool m_34 = (u32)(i_30) < 33u && (u32)(i_31) < 1000u;
    store_buffer<vec<bf16, 8>>(b_32, u_33, m_34 ? l_0 : buffer_outside, vec<bf16, 8>{r10[0][0], r10[0][1], r10[0][2], r10[0][3], r10[1][0], r10[1][1], r10[1][2], r10[1][3]});
    const bool m_35 = (u32)(i_30) < 33u && (u32)(i_31 + 512) < 1000u;
    store_buffer<vec<bf16, 8>>(b_32, u_33, m_35 ? l_0 + 1024u : buffer_outside, vec<bf16, 8>{r10[2][0], r10[2][1], r10[2][2], r10[2][3], r10[3][0], r10[3][1], r10[3][2], r10[3][3]});
  }
}

}  // namespace kiln
