#include <kiln/kernel.hpp>
#pragma clang fp contract(off)

namespace kiln {

extern "C" KILN_KERNEL_WAVES(256, 2) void flash_attention_0(const void* __restrict__ p0, const void* __restrict__ p1, const void* __restrict__ p2, void* __restrict__ p3) {
  KILN_LDS(lds, 24576);
  const u32 thread = thread_id();
  const u32 lane = thread % 64u, wave = uniform(thread / 64u);
  const i32 bz = i32(block_id_z());
  const i32 bx = i32(block_id_x());
  const i32 by = i32(block_id_y());
  const u32 l_0 = lane * 16u + wave * 1024u;
  const buffer b_1 = make_buffer(p0, 524288u);
  const u32 l_5 = (lane >> 3) * 128u + wave * 1024u;
  const u32 l_6 = ((lane & 7u) * 16u) ^ ((lane >> 3) * 16u);
  const u32 a_7 = l_5 + l_6;
  const u32 l_8 = (lane & 15u) * 128u + wave * 2048u;
  const u32 l_9 = ((lane & 7u) * 16u) ^ ((lane >> 4) * 16u);
  const u32 a_10 = l_8 + l_9;
  const u32 a_12 = l_8 + (l_9 ^ 64u);
  const buffer b_14 = make_buffer(p1, 262144u);
  const u32 l_18 = (lane & 7u) * 16u + (lane >> 3) * 256u + wave * 2048u;
  const buffer b_19 = make_buffer(p2, 262144u);
  const u32 l_24 = (lane & 7u) * 1024u;
  const u32 l_25 = ((lane & 1u) * 64u) ^ (((lane >> 1) & 3u) * 16u) ^ ((lane >> 3) * 4u) ^ (wave * 32u);
  const u32 a_26 = l_24 + l_25;
  const u32 a_27 = l_24 + (l_25 ^ 8u);
  const u32 a_28 = l_24 + (l_25 ^ 16u);
  const u32 a_29 = l_24 + (l_25 ^ 24u);
  const u32 a_30 = l_24 + (l_25 ^ 32u);
  const u32 a_31 = l_24 + (l_25 ^ 40u);
  const u32 a_32 = l_24 + (l_25 ^ 48u);
  const u32 a_33 = l_24 + (l_25 ^ 56u);
  const u32 l_40 = (lane & 15u) * 128u;
  const u32 a_41 = l_40 + l_9;
  const u32 a_46 = l_40 + (l_9 ^ 64u);
  const u32 l_51 = (lane & 15u) + wave * 16u;
  const u32 l_52 = (lane >> 4) * 4u;
  const u32 l_56 = ((lane & 15u) * 8u) ^ ((lane >> 4) * 8u);
  const u32 a_57 = l_40 + l_56;
  const u32 a_58 = l_40 + (l_56 ^ 16u);
  const u32 a_59 = l_40 + (l_56 ^ 32u);
  const u32 a_60 = l_40 + (l_56 ^ 48u);
  const u32 a_69 = l_40 + (l_56 ^ 64u);
  const u32 a_70 = l_40 + (l_56 ^ 80u);
  const u32 a_71 = l_40 + (l_56 ^ 96u);
  const u32 a_72 = l_40 + (l_56 ^ 112u);
  const u32 l_81 = (lane & 15u) * 128u + (lane >> 4) * 8u + wave * 2048u;
  f32 r0[1];
  f32 r1[1];
  vec<f32, 4> r2[4];
  vec<f16, 8> r3[2];
  vec<f16, 4> r5[2];
  vec<f16, 4> r6[2];
  vec<f16, 8> r7[2];
  vec<f16, 8> r8[2];
  vec<f32, 4> r11[4];
  vec<f16, 4> r12[8];
  vec<f16, 4> r13[8];
  f32 r14[1];
  f32 r15[1];
  f32 r16[1];
  vec<f16, 4> r17[4];
  vec<f16, 4> r18[4];
  vec<f16, 4> r19[4];
  vec<f16, 4> r20[4];
  // @body/0 /launches/0/body/11
  r0[0] = (-__builtin_inff());
  // @body/1 /launches/0/body/12
  r1[0] = 0x0p+0f;
  // @body/2 /launches/0/body/13
  r2[0] = vec<f32, 4>(0x0p+0f);
  r2[1] = vec<f32, 4>(0x0p+0f);
  r2[2] = vec<f32, 4>(0x0p+0f);
  r2[3] = vec<f32, 4>(0x0p+0f);
  // @body/3 /launches/0/body/14
  {
    const u32 u_2 = (u32)((((bz * 262144) + (by * 65536)) + ((64 * bx) * 128)));
    const vec<f16, 8> x_3 = load_buffer<vec<f16, 8>>(b_1, u_2, l_0);
    r3[0] = x_3;
    const vec<f16, 8> x_4 = load_buffer<vec<f16, 8>>(b_1, u_2, l_0 + 4096u);
    r3[1] = x_4;
  }
  // @body/4 /launches/0/body/14
  {
    store_lds<vec<f16, 8>>(lds, a_7, r3[0]);
    store_lds<vec<f16, 8>>(lds, a_7 + 4096u, r3[1]);
  }
  // @body/5 /launches/0/body/15
  barrier();
  // @body/6 /launches/0/body/15
  {
    const vec<f16, 8> x_11 = load_lds<vec<f16, 8>>(lds, a_10);
    r5[0] = __builtin_shufflevector(x_11, x_11, 0, 1, 2, 3);
    r5[1] = __builtin_shufflevector(x_11, x_11, 4, 5, 6, 7);
  }
  // @body/7 /launches/0/body/15
  {
    const vec<f16, 8> x_13 = load_lds<vec<f16, 8>>(lds, a_12);
    r6[0] = __builtin_shufflevector(x_13, x_13, 0, 1, 2, 3);
    r6[1] = __builtin_shufflevector(x_13, x_13, 4, 5, 6, 7);
  }
  // @body/8 /launches/0/body/15/body/0
  {
    const u32 u_15 = (u32)(((bz * 131072) + ((i32)((u32)(by) / 2u) * 65536)));
    const vec<f16, 8> x_16 = load_buffer<vec<f16, 8>>(b_14, u_15, l_0);
    r7[0] = x_16;
    const vec<f16, 8> x_17 = load_buffer<vec<f16, 8>>(b_14, u_15, l_0 + 4096u);
    r7[1] = x_17;
  }
  // @body/9 /launches/0/body/15/body/1
  {
    const u32 u_20 = (u32)(((bz * 131072) + ((i32)((u32)(by) / 2u) * 65536)));
    const vec<f16, 8> x_21 = load_buffer<vec<f16, 8>>(b_19, u_20, l_18);
    r8[0] = x_21;
    const vec<f16, 8> x_22 = load_buffer<vec<f16, 8>>(b_19, u_20, l_18 + 128u);
    r8[1] = x_22;
  }
  // @body/10 /launches/0/body/15/body/13
  const i32 e_23 = ((64 * bx) + 64);
  #pragma clang loop unroll(disable)
  for (i32 v0 = 0; v0 < e_23; v0 += 64) {
    // @body/10/for/0 /launches/0/body/15/body/0
    barrier();
    // @body/10/for/1 /launches/0/body/15/body/0
    {
      store_lds<vec<f16, 8>>(lds, a_7 + 8192u, r7[0]);
      store_lds<vec<f16, 8>>(lds, a_7 + 12288u, r7[1]);
    }
    // @body/10/for/2 /launches/0/body/15/body/1
    {
      store_lds<vec<f16, 2>>(lds, a_26 + 16384u, vec<f16, 2>{f16(r8[0][0]), f16(r8[1][0])});
      store_lds<vec<f16, 2>>(lds, a_27 + 16512u, vec<f16, 2>{f16(r8[0][1]), f16(r8[1][1])});
      store_lds<vec<f16, 2>>(lds, a_28 + 16640u, vec<f16, 2>{f16(r8[0][2]), f16(r8[1][2])});
      store_lds<vec<f16, 2>>(lds, a_29 + 16768u, vec<f16, 2>{f16(r8[0][3]), f16(r8[1][3])});
      store_lds<vec<f16, 2>>(lds, a_30 + 16896u, vec<f16, 2>{f16(r8[0][4]), f16(r8[1][4])});
      store_lds<vec<f16, 2>>(lds, a_31 + 17024u, vec<f16, 2>{f16(r8[0][5]), f16(r8[1][5])});
      store_lds<vec<f16, 2>>(lds, a_32 + 17152u, vec<f16, 2>{f16(r8[0][6]), f16(r8[1][6])});
      store_lds<vec<f16, 2>>(lds, a_33 + 17280u, vec<f16, 2>{f16(r8[0][7]), f16(r8[1][7])});
    }
    // @body/10/for/3 /launches/0/body/15/body/2
    barrier();
    // @body/10/for/4 /launches/0/body/15/body/1
    const i32 v13 = smaller<i32>((v0 + 64), ((i32)((u32)((((64 * bx) + 64) - 1)) / 64u) * 64));
    // @body/10/for/5 /launches/0/body/15/body/0
    {
      const u32 u_34 = (u32)((((bz * 131072) + ((i32)((u32)(by) / 2u) * 65536)) + (v13 * 128)));
      const vec<f16, 8> x_35 = load_buffer<vec<f16, 8>>(b_14, u_34, l_0);
      r7[0] = x_35;
      const vec<f16, 8> x_36 = load_buffer<vec<f16, 8>>(b_14, u_34, l_0 + 4096u);
      r7[1] = x_36;
    }
    // @body/10/for/6 /launches/0/body/15/body/1
    {
      const u32 u_37 = (u32)((((bz * 131072) + ((i32)((u32)(by) / 2u) * 65536)) + (v13 * 128)));
      const vec<f16, 8> x_38 = load_buffer<vec<f16, 8>>(b_19, u_37, l_18);
      r8[0] = x_38;
      const vec<f16, 8> x_39 = load_buffer<vec<f16, 8>>(b_19, u_37, l_18 + 128u);
      r8[1] = x_39;
    }
    // @body/10/for/7 /launches/0/body/15/body/1
    KILN_SCHED_FENCE(0);
    // @body/10/for/8 /launches/0/body/15/body/2
    {
      const vec<f16, 8> x_42 = load_lds<vec<f16, 8>>(lds, a_41 + 8192u);
      r12[0] = __builtin_shufflevector(x_42, x_42, 0, 1, 2, 3);
      r12[1] = __builtin_shufflevector(x_42, x_42, 4, 5, 6, 7);
      const vec<f16, 8> x_43 = load_lds<vec<f16, 8>>(lds, a_41 + 10240u);
      r12[2] = __builtin_shufflevector(x_43, x_43, 0, 1, 2, 3);
      r12[3] = __builtin_shufflevector(x_43, x_43, 4, 5, 6, 7);
      const vec<f16, 8> x_44 = load_lds<vec<f16, 8>>(lds, a_41 + 12288u);
      r12[4] = __builtin_shufflevector(x_44, x_44, 0, 1, 2, 3);
      r12[5] = __builtin_shufflevector(x_44, x_44, 4, 5, 6, 7);
      const vec<f16, 8> x_45 = load_lds<vec<f16, 8>>(lds, a_41 + 14336u);
      r12[6] = __builtin_shufflevector(x_45, x_45, 0, 1, 2, 3);
      r12[7] = __builtin_shufflevector(x_45, x_45, 4, 5, 6, 7);
    }
    // @body/10/for/9 /launches/0/body/15/body/2
    {
      const vec<f16, 8> x_47 = load_lds<vec<f16, 8>>(lds, a_46 + 8192u);
      r13[0] = __builtin_shufflevector(x_47, x_47, 0, 1, 2, 3);
      r13[1] = __builtin_shufflevector(x_47, x_47, 4, 5, 6, 7);
      const vec<f16, 8> x_48 = load_lds<vec<f16, 8>>(lds, a_46 + 10240u);
      r13[2] = __builtin_shufflevector(x_48, x_48, 0, 1, 2, 3);
      r13[3] = __builtin_shufflevector(x_48, x_48, 4, 5, 6, 7);
      const vec<f16, 8> x_49 = load_lds<vec<f16, 8>>(lds, a_46 + 12288u);
      r13[4] = __builtin_shufflevector(x_49, x_49, 0, 1, 2, 3);
      r13[5] = __builtin_shufflevector(x_49, x_49, 4, 5, 6, 7);
      const vec<f16, 8> x_50 = load_lds<vec<f16, 8>>(lds, a_46 + 14336u);
      r13[6] = __builtin_shufflevector(x_50, x_50, 0, 1, 2, 3);
      r13[7] = __builtin_shufflevector(x_50, x_50, 4, 5, 6, 7);
    }
    // @body/10/for/10 /launches/0/body/15/body/2
    KILN_SCHED_FENCE(0);
    // @body/10/for/11 /launches/0/body/15/body/2
    r11[0] = mfma_f32_16x16x16f16(r12[0], r5[0], vec<f32, 4>(0));
    r11[1] = mfma_f32_16x16x16f16(r12[2], r5[0], vec<f32, 4>(0));
    r11[2] = mfma_f32_16x16x16f16(r12[4], r5[0], vec<f32, 4>(0));
    r11[3] = mfma_f32_16x16x16f16(r12[6], r5[0], vec<f32, 4>(0));
    r11[0] = mfma_f32_16x16x16f16(r12[1], r5[1], r11[0]);
    r11[1] = mfma_f32_16x16x16f16(r12[3], r5[1], r11[1]);
    r11[2] = mfma_f32_16x16x16f16(r12[5], r5[1], r11[2]);
    r11[3] = mfma_f32_16x16x16f16(r12[7], r5[1], r11[3]);
    // @body/10/for/12 /launches/0/body/15/body/2
    r11[0] = mfma_f32_16x16x16f16(r13[0], r6[0], r11[0]);
    r11[1] = mfma_f32_16x16x16f16(r13[2], r6[0], r11[1]);
    r11[2] = mfma_f32_16x16x16f16(r13[4], r6[0], r11[2]);
    r11[3] = mfma_f32_16x16x16f16(r13[6], r6[0], r11[3]);
    r11[0] = mfma_f32_16x16x16f16(r13[1], r6[1], r11[0]);
    r11[1] = mfma_f32_16x16x16f16(r13[3], r6[1], r11[1]);
    r11[2] = mfma_f32_16x16x16f16(r13[5], r6[1], r11[2]);
    r11[3] = mfma_f32_16x16x16f16(r13[7], r6[1], r11[3]);
    // @body/10/for/13 /launches/0/body/15/body/3
    {
      r11[0][0] = pick<f32>(((v0 + (i32)(l_52)) <= ((64 * bx) + (i32)(l_51))), (r11[0][0] * 0x1.715476p-3f), (-__builtin_inff()));
    }
    {
      r11[0][1] = pick<f32>(((v0 + (i32)(l_52 + 1u)) <= ((64 * bx) + (i32)(l_51))), (r11[0][1] * 0x1.715476p-3f), (-__builtin_inff()));
    }
    {
      r11[0][2] = pick<f32>(((v0 + (i32)(l_52 + 2u)) <= ((64 * bx) + (i32)(l_51))), (r11[0][2] * 0x1.715476p-3f), (-__builtin_inff()));
    }
    {
      r11[0][3] = pick<f32>(((v0 + (i32)(l_52 + 3u)) <= ((64 * bx) + (i32)(l_51))), (r11[0][3] * 0x1.715476p-3f), (-__builtin_inff()));
    }
    {
      r11[1][0] = pick<f32>(((v0 + (i32)(l_52 + 16u)) <= ((64 * bx) + (i32)(l_51))), (r11[1][0] * 0x1.715476p-3f), (-__builtin_inff()));
    }
    {
      r11[1][1] = pick<f32>(((v0 + (i32)(l_52 + 17u)) <= ((64 * bx) + (i32)(l_51))), (r11[1][1] * 0x1.715476p-3f), (-__builtin_inff()));
    }
    {
      r11[1][2] = pick<f32>(((v0 + (i32)(l_52 + 18u)) <= ((64 * bx) + (i32)(l_51))), (r11[1][2] * 0x1.715476p-3f), (-__builtin_inff()));
    }
    {
      r11[1][3] = pick<f32>(((v0 + (i32)(l_52 + 19u)) <= ((64 * bx) + (i32)(l_51))), (r11[1][3] * 0x1.715476p-3f), (-__builtin_inff()));
    }
    {
      r11[2][0] = pick<f32>(((v0 + (i32)(l_52 + 32u)) <= ((64 * bx) + (i32)(l_51))), (r11[2][0] * 0x1.715476p-3f), (-__builtin_inff()));
    }
    {
      r11[2][1] = pick<f32>(((v0 + (i32)(l_52 + 33u)) <= ((64 * bx) + (i32)(l_51))), (r11[2][1] * 0x1.715476p-3f), (-__builtin_inff()));
    }
    {
      r11[2][2] = pick<f32>(((v0 + (i32)(l_52 + 34u)) <= ((64 * bx) + (i32)(l_51))), (r11[2][2] * 0x1.715476p-3f), (-__builtin_inff()));
    }
    {
      r11[2][3] = pick<f32>(((v0 + (i32)(l_52 + 35u)) <= ((64 * bx) + (i32)(l_51))), (r11[2][3] * 0x1.715476p-3f), (-__builtin_inff()));
    }
    {
      r11[3][0] = pick<f32>(((v0 + (i32)(l_52 + 48u)) <= ((64 * bx) + (i32)(l_51))), (r11[3][0] * 0x1.715476p-3f), (-__builtin_inff()));
    }
    {
      r11[3][1] = pick<f32>(((v0 + (i32)(l_52 + 49u)) <= ((64 * bx) + (i32)(l_51))), (r11[3][1] * 0x1.715476p-3f), (-__builtin_inff()));
    }
    {
      r11[3][2] = pick<f32>(((v0 + (i32)(l_52 + 50u)) <= ((64 * bx) + (i32)(l_51))), (r11[3][2] * 0x1.715476p-3f), (-__builtin_inff()));
    }
    {
      r11[3][3] = pick<f32>(((v0 + (i32)(l_52 + 51u)) <= ((64 * bx) + (i32)(l_51))), (r11[3][3] * 0x1.715476p-3f), (-__builtin_inff()));
    }
    // @body/10/for/14 /launches/0/body/15/body/4
    {
      r14[0] = r0[0];
    }
    // @body/10/for/15 /launches/0/body/15/body/5
    {
      f32 y_53 = r11[0][0];
      bool n_54 = false;
      y_53 = chain_max(y_53, r11[0][1]);
      y_53 = chain_max(y_53, r11[0][2]);
      y_53 = chain_max(y_53, r11[0][3]);
      y_53 = chain_max(y_53, r11[1][0]);
      y_53 = chain_max(y_53, r11[1][1]);
      y_53 = chain_max(y_53, r11[1][2]);
      y_53 = chain_max(y_53, r11[1][3]);
      y_53 = chain_max(y_53, r11[2][0]);
      y_53 = chain_max(y_53, r11[2][1]);
      y_53 = chain_max(y_53, r11[2][2]);
      y_53 = chain_max(y_53, r11[2][3]);
      y_53 = chain_max(y_53, r11[3][0]);
      y_53 = chain_max(y_53, r11[3][1]);
      y_53 = chain_max(y_53, r11[3][2]);
      y_53 = chain_max(y_53, r11[3][3]);
      n_54 |= chain_nan(r11[0][0], r11[0][1]);
      n_54 |= chain_nan(r11[0][2], r11[0][3]);
      n_54 |= chain_nan(r11[1][0], r11[1][1]);
      n_54 |= chain_nan(r11[1][2], r11[1][3]);
      n_54 |= chain_nan(r11[2][0], r11[2][1]);
      n_54 |= chain_nan(r11[2][2], r11[2][3]);
      n_54 |= chain_nan(r11[3][0], r11[3][1]);
      n_54 |= chain_nan(r11[3][2], r11[3][3]);
      y_53 = chain_end(y_53, n_54);
      y_53 = maximum<f32>(y_53, exchange<16>(y_53, lane));
      y_53 = maximum<f32>(y_53, exchange<32>(y_53, lane));
      r0[0] = maximum<f32>(r0[0], y_53);
    }
    // @body/10/for/16 /launches/0/body/15/body/6
    {
      r15[0] = pick<f32>((r0[0] == (-__builtin_inff())), 0x0p+0f, r0[0]);
    }
    // @body/10/for/17 /launches/0/body/15/body/7
    {
      r16[0] = exp2_f32((r14[0] - r15[0]));
    }
    // @body/10/for/18 /launches/0/body/15/body/8
    {
      r1[0] = (r1[0] * r16[0]);
    }
    // @body/10/for/19 /launches/0/body/15/body/9
    {
      r11[0][0] = exp2_f32((r11[0][0] - r15[0]));
    }
    {
      r11[0][1] = exp2_f32((r11[0][1] - r15[0]));
    }
    {
      r11[0][2] = exp2_f32((r11[0][2] - r15[0]));
    }
    {
      r11[0][3] = exp2_f32((r11[0][3] - r15[0]));
    }
    {
      r11[1][0] = exp2_f32((r11[1][0] - r15[0]));
    }
    {
      r11[1][1] = exp2_f32((r11[1][1] - r15[0]));
    }
    {
      r11[1][2] = exp2_f32((r11[1][2] - r15[0]));
    }
    {
      r11[1][3] = exp2_f32((r11[1][3] - r15[0]));
    }
    {
      r11[2][0] = exp2_f32((r11[2][0] - r15[0]));
    }
    {
      r11[2][1] = exp2_f32((r11[2][1] - r15[0]));
    }
    {
      r11[2][2] = exp2_f32((r11[2][2] - r15[0]));
    }
    {
      r11[2][3] = exp2_f32((r11[2][3] - r15[0]));
    }
    {
      r11[3][0] = exp2_f32((r11[3][0] - r15[0]));
    }
    {
      r11[3][1] = exp2_f32((r11[3][1] - r15[0]));
    }
    {
      r11[3][2] = exp2_f32((r11[3][2] - r15[0]));
    }
    {
      r11[3][3] = exp2_f32((r11[3][3] - r15[0]));
    }
    // @body/10/for/20 /launches/0/body/15/body/10
    {
      f32 y_55 = ((((r11[0][0] + r11[0][1]) + (r11[0][2] + r11[0][3])) + ((r11[1][0] + r11[1][1]) + (r11[1][2] + r11[1][3]))) + (((r11[2][0] + r11[2][1]) + (r11[2][2] + r11[2][3])) + ((r11[3][0] + r11[3][1]) + (r11[3][2] + r11[3][3]))));
      y_55 = (y_55 + exchange<16>(y_55, lane));
      y_55 = (y_55 + exchange<32>(y_55, lane));
      r1[0] = (r1[0] + y_55);
    }
    // @body/10/for/21 /launches/0/body/15/body/11
    {
      r2[0][0] = (r2[0][0] * r16[0]);
    }
    {
      r2[0][1] = (r2[0][1] * r16[0]);
    }
    {
      r2[0][2] = (r2[0][2] * r16[0]);
    }
    {
      r2[0][3] = (r2[0][3] * r16[0]);
    }
    {
      r2[1][0] = (r2[1][0] * r16[0]);
    }
    {
      r2[1][1] = (r2[1][1] * r16[0]);
    }
    {
      r2[1][2] = (r2[1][2] * r16[0]);
    }
    {
      r2[1][3] = (r2[1][3] * r16[0]);
    }
    {
      r2[2][0] = (r2[2][0] * r16[0]);
    }
    {
      r2[2][1] = (r2[2][1] * r16[0]);
    }
    {
      r2[2][2] = (r2[2][2] * r16[0]);
    }
    {
      r2[2][3] = (r2[2][3] * r16[0]);
    }
    {
      r2[3][0] = (r2[3][0] * r16[0]);
    }
    {
      r2[3][1] = (r2[3][1] * r16[0]);
    }
    {
      r2[3][2] = (r2[3][2] * r16[0]);
    }
    {
      r2[3][3] = (r2[3][3] * r16[0]);
    }
    // @body/10/for/22 /launches/0/body/15/body/12
    {
      r17[0][0] = (f16)(r11[0][0]);
      r17[0][1] = (f16)(r11[0][1]);
      r17[0][2] = (f16)(r11[0][2]);
      r17[0][3] = (f16)(r11[0][3]);
      r17[1][0] = (f16)(r11[1][0]);
      r17[1][1] = (f16)(r11[1][1]);
      r17[1][2] = (f16)(r11[1][2]);
      r17[1][3] = (f16)(r11[1][3]);
      r17[2][0] = (f16)(r11[2][0]);
      r17[2][1] = (f16)(r11[2][1]);
      r17[2][2] = (f16)(r11[2][2]);
      r17[2][3] = (f16)(r11[2][3]);
      r17[3][0] = (f16)(r11[3][0]);
      r17[3][1] = (f16)(r11[3][1]);
      r17[3][2] = (f16)(r11[3][2]);
      r17[3][3] = (f16)(r11[3][3]);
    }
    // @body/10/for/23 /launches/0/body/15/body/13
    {
      const vec<f16, 4> x_61 = load_lds<vec<f16, 4>>(lds, a_57 + 16384u);
      r18[0] = x_61;
      const vec<f16, 4> x_62 = load_lds<vec<f16, 4>>(lds, a_58 + 18432u);
      r18[1] = x_62;
      const vec<f16, 4> x_63 = load_lds<vec<f16, 4>>(lds, a_59 + 20480u);
      r18[2] = x_63;
      const vec<f16, 4> x_64 = load_lds<vec<f16, 4>>(lds, a_60 + 22528u);
      r18[3] = x_64;
    }
    // @body/10/for/24 /launches/0/body/15/body/13
    {
      const vec<f16, 4> x_65 = load_lds<vec<f16, 4>>(lds, a_59 + 16384u);
      r19[0] = x_65;
      const vec<f16, 4> x_66 = load_lds<vec<f16, 4>>(lds, a_60 + 18432u);
      r19[1] = x_66;
      const vec<f16, 4> x_67 = load_lds<vec<f16, 4>>(lds, a_57 + 20480u);
      r19[2] = x_67;
      const vec<f16, 4> x_68 = load_lds<vec<f16, 4>>(lds, a_58 + 22528u);
      r19[3] = x_68;
    }
    // @body/10/for/25 /launches/0/body/15/body/13
    KILN_SCHED_FENCE(0);
    // @body/10/for/26 /launches/0/body/15/body/13
    r2[0] = mfma_f32_16x16x16f16(r18[0], r17[0], r2[0]);
    r2[1] = mfma_f32_16x16x16f16(r18[1], r17[0], r2[1]);
    r2[2] = mfma_f32_16x16x16f16(r18[2], r17[0], r2[2]);
    r2[3] = mfma_f32_16x16x16f16(r18[3], r17[0], r2[3]);
    // @body/10/for/27 /launches/0/body/15/body/13
    {
      const vec<f16, 4> x_73 = load_lds<vec<f16, 4>>(lds, a_69 + 16384u);
      r18[0] = x_73;
      const vec<f16, 4> x_74 = load_lds<vec<f16, 4>>(lds, a_70 + 18432u);
      r18[1] = x_74;
      const vec<f16, 4> x_75 = load_lds<vec<f16, 4>>(lds, a_71 + 20480u);
      r18[2] = x_75;
      const vec<f16, 4> x_76 = load_lds<vec<f16, 4>>(lds, a_72 + 22528u);
      r18[3] = x_76;
    }
    // @body/10/for/28 /launches/0/body/15/body/13
    KILN_SCHED_FENCE(0);
    // @body/10/for/29 /launches/0/body/15/body/13
    r2[0] = mfma_f32_16x16x16f16(r19[0], r17[1], r2[0]);
    r2[1] = mfma_f32_16x16x16f16(r19[1], r17[1], r2[1]);
    r2[2] = mfma_f32_16x16x16f16(r19[2], r17[1], r2[2]);
    r2[3] = mfma_f32_16x16x16f16(r19[3], r17[1], r2[3]);
    // @body/10/for/30 /launches/0/body/15/body/13
    {
      const vec<f16, 4> x_77 = load_lds<vec<f16, 4>>(lds, a_71 + 16384u);
      r19[0] = x_77;
      const vec<f16, 4> x_78 = load_lds<vec<f16, 4>>(lds, a_72 + 18432u);
      r19[1] = x_78;
      const vec<f16, 4> x_79 = load_lds<vec<f16, 4>>(lds, a_69 + 20480u);
      r19[2] = x_79;
      const vec<f16, 4> x_80 = load_lds<vec<f16, 4>>(lds, a_70 + 22528u);
      r19[3] = x_80;
    }
    // @body/10/for/31 /launches/0/body/15/body/13
    KILN_SCHED_FENCE(0);
    // @body/10/for/32 /launches/0/body/15/body/13
    r2[0] = mfma_f32_16x16x16f16(r18[0], r17[2], r2[0]);
    r2[1] = mfma_f32_16x16x16f16(r18[1], r17[2], r2[1]);
    r2[2] = mfma_f32_16x16x16f16(r18[2], r17[2], r2[2]);
    r2[3] = mfma_f32_16x16x16f16(r18[3], r17[2], r2[3]);
    // @body/10/for/33 /launches/0/body/15/body/13
    r2[0] = mfma_f32_16x16x16f16(r19[0], r17[3], r2[0]);
    r2[1] = mfma_f32_16x16x16f16(r19[1], r17[3], r2[1]);
    r2[2] = mfma_f32_16x16x16f16(r19[2], r17[3], r2[2]);
    r2[3] = mfma_f32_16x16x16f16(r19[3], r17[3], r2[3]);
  }
  // @body/11 /launches/0/body/16
  {
    r2[0][0] = pick<f32>((r1[0] == 0x0p+0f), 0x0p+0f, (r2[0][0] / r1[0]));
  }
  {
    r2[0][1] = pick<f32>((r1[0] == 0x0p+0f), 0x0p+0f, (r2[0][1] / r1[0]));
  }
  {
    r2[0][2] = pick<f32>((r1[0] == 0x0p+0f), 0x0p+0f, (r2[0][2] / r1[0]));
  }
  {
    r2[0][3] = pick<f32>((r1[0] == 0x0p+0f), 0x0p+0f, (r2[0][3] / r1[0]));
  }
  {
    r2[1][0] = pick<f32>((r1[0] == 0x0p+0f), 0x0p+0f, (r2[1][0] / r1[0]));
  }
  {
    r2[1][1] = pick<f32>((r1[0] == 0x0p+0f), 0x0p+0f, (r2[1][1] / r1[0]));
  }
  {
    r2[1][2] = pick<f32>((r1[0] == 0x0p+0f), 0x0p+0f, (r2[1][2] / r1[0]));
  }
  {
    r2[1][3] = pick<f32>((r1[0] == 0x0p+0f), 0x0p+0f, (r2[1][3] / r1[0]));
  }
  {
    r2[2][0] = pick<f32>((r1[0] == 0x0p+0f), 0x0p+0f, (r2[2][0] / r1[0]));
  }
  {
    r2[2][1] = pick<f32>((r1[0] == 0x0p+0f), 0x0p+0f, (r2[2][1] / r1[0]));
  }
  {
    r2[2][2] = pick<f32>((r1[0] == 0x0p+0f), 0x0p+0f, (r2[2][2] / r1[0]));
  }
  {
    r2[2][3] = pick<f32>((r1[0] == 0x0p+0f), 0x0p+0f, (r2[2][3] / r1[0]));
  }
  {
    r2[3][0] = pick<f32>((r1[0] == 0x0p+0f), 0x0p+0f, (r2[3][0] / r1[0]));
  }
  {
    r2[3][1] = pick<f32>((r1[0] == 0x0p+0f), 0x0p+0f, (r2[3][1] / r1[0]));
  }
  {
    r2[3][2] = pick<f32>((r1[0] == 0x0p+0f), 0x0p+0f, (r2[3][2] / r1[0]));
  }
  {
    r2[3][3] = pick<f32>((r1[0] == 0x0p+0f), 0x0p+0f, (r2[3][3] / r1[0]));
  }
  // @body/12 /launches/0/body/17
  {
    r20[0][0] = (f16)(r2[0][0]);
    r20[0][1] = (f16)(r2[0][1]);
    r20[0][2] = (f16)(r2[0][2]);
    r20[0][3] = (f16)(r2[0][3]);
    r20[1][0] = (f16)(r2[1][0]);
    r20[1][1] = (f16)(r2[1][1]);
    r20[1][2] = (f16)(r2[1][2]);
    r20[1][3] = (f16)(r2[1][3]);
    r20[2][0] = (f16)(r2[2][0]);
    r20[2][1] = (f16)(r2[2][1]);
    r20[2][2] = (f16)(r2[2][2]);
    r20[2][3] = (f16)(r2[2][3]);
    r20[3][0] = (f16)(r2[3][0]);
    r20[3][1] = (f16)(r2[3][1]);
    r20[3][2] = (f16)(r2[3][2]);
    r20[3][3] = (f16)(r2[3][3]);
  }
  // @body/13 /launches/0/body/17
  {
    const i64 u_82 = (((bz * 262144) + (by * 65536)) + ((64 * bx) * 128));
    store_global<vec<f16, 4>, 8>(p3, u_82, l_81, r20[0]);
    store_global<vec<f16, 4>, 8>(p3, u_82, l_81 + 32u, r20[1]);
    store_global<vec<f16, 4>, 8>(p3, u_82, l_81 + 64u, r20[2]);
    store_global<vec<f16, 4>, 8>(p3, u_82, l_81 + 96u, r20[3]);
  }
}

}  // namespace kiln
