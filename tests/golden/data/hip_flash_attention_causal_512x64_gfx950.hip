#include <kiln/kernel.hpp>
#pragma clang fp contract(off)

namespace kiln {

extern "C" KILN_KERNEL_WAVES(128, 2) void flash_attention_0(const void* __restrict__ p0, const void* __restrict__ p1, const void* __restrict__ p2, void* __restrict__ p3) {
  KILN_LDS(lds, 24576);
  const u32 thread = thread_id();
  const u32 lane = thread % 64u, wave = uniform(thread / 64u);
  const i32 bz = i32(block_id_z());
  const i32 bx = i32(block_id_x());
  const i32 by = i32(block_id_y());
  const u32 l_0 = lane * 16u + wave * 1024u;
  const buffer b_1 = make_buffer(p0, 524288u);
  const u32 l_7 = (lane >> 3) * 128u + wave * 1024u;
  const u32 l_8 = ((lane & 7u) * 16u) ^ ((lane >> 4) * 16u) ^ (wave * 64u);
  const u32 a_9 = l_7 + l_8;
  const u32 l_10 = (lane & 31u) * 128u + wave * 4096u;
  const u32 l_11 = (((lane >> 1) & 7u) * 16u) ^ ((lane >> 5) * 16u);
  const u32 a_12 = l_10 + l_11;
  const u32 a_14 = l_10 + (l_11 ^ 32u);
  const u32 a_16 = l_10 + (l_11 ^ 64u);
  const u32 a_18 = l_10 + (l_11 ^ 96u);
  const buffer b_20 = make_buffer(p1, 262144u);
  const u32 l_26 = (lane & 3u) * 16u + (lane >> 2) * 512u + wave * 64u;
  const buffer b_27 = make_buffer(p2, 262144u);
  const u32 l_34 = (lane & 3u) * 1024u + wave * 4096u;
  const u32 l_35 = ((lane & 3u) * 32u) ^ ((lane >> 2) * 8u);
  const u32 a_36 = l_34 + l_35;
  const u32 a_37 = l_34 + (l_35 ^ 8u);
  const u32 a_38 = l_34 + (l_35 ^ 16u);
  const u32 a_39 = l_34 + (l_35 ^ 24u);
  const u32 l_50 = (lane & 31u) * 128u;
  const u32 a_51 = l_50 + l_11;
  const u32 a_54 = l_50 + (l_11 ^ 32u);
  const u32 a_57 = l_50 + (l_11 ^ 64u);
  const u32 a_60 = l_50 + (l_11 ^ 96u);
  const u32 l_63 = (lane & 31u) + wave * 32u;
  const u32 l_64 = (lane >> 5) * 4u;
  const u32 l_68 = (((lane >> 1) & 15u) * 8u) ^ ((lane >> 5) * 8u);
  const u32 a_69 = l_50 + l_68;
  const u32 a_70 = l_50 + (l_68 ^ 16u);
  const u32 a_75 = l_50 + (l_68 ^ 32u);
  const u32 a_76 = l_50 + (l_68 ^ 48u);
  const u32 a_81 = l_50 + (l_68 ^ 64u);
  const u32 a_82 = l_50 + (l_68 ^ 80u);
  const u32 a_87 = l_50 + (l_68 ^ 96u);
  const u32 a_88 = l_50 + (l_68 ^ 112u);
  const u32 l_93 = (lane & 31u) * 128u + (lane >> 5) * 8u + wave * 4096u;
  f32 r0[1];
  f32 r1[1];
  vec<f32, 16> r2[2];
  vec<f16, 8> r3[4];
  vec<f16, 8> r5[1];
  vec<f16, 8> r6[1];
  vec<f16, 8> r7[1];
  vec<f16, 8> r8[1];
  vec<f16, 8> r9[4];
  vec<f16, 8> r10[4];
  vec<f32, 16> r13[2];
  vec<f16, 8> r14[2];
  vec<f16, 8> r15[2];
  f32 r16[1];
  f32 r17[1];
  f32 r18[1];
  vec<f16, 8> r19[4];
  vec<f16, 8> r20[2];
  vec<f16, 8> r21[2];
  vec<f16, 16> r22[2];
  // @body/0 /launches/0/body/11
  r0[0] = (-__builtin_inff());
  // @body/1 /launches/0/body/12
  r1[0] = 0x0p+0f;
  // @body/2 /launches/0/body/13
  r2[0] = vec<f32, 16>(0x0p+0f);
  r2[1] = vec<f32, 16>(0x0p+0f);
  // @body/3 /launches/0/body/14
  {
    const u32 u_2 = (u32)((((bz * 262144) + (by * 65536)) + ((64 * bx) * 128)));
    const vec<f16, 8> x_3 = load_buffer<vec<f16, 8>>(b_1, u_2, l_0);
    r3[0] = x_3;
    const vec<f16, 8> x_4 = load_buffer<vec<f16, 8>>(b_1, u_2, l_0 + 2048u);
    r3[1] = x_4;
    const vec<f16, 8> x_5 = load_buffer<vec<f16, 8>>(b_1, u_2, l_0 + 4096u);
    r3[2] = x_5;
    const vec<f16, 8> x_6 = load_buffer<vec<f16, 8>>(b_1, u_2, l_0 + 6144u);
    r3[3] = x_6;
  }
  // @body/4 /launches/0/body/14
  {
    store_lds<vec<f16, 8>>(lds, a_9, r3[0]);
    store_lds<vec<f16, 8>>(lds, a_9 + 2048u, r3[1]);
    store_lds<vec<f16, 8>>(lds, a_9 + 4096u, r3[2]);
    store_lds<vec<f16, 8>>(lds, a_9 + 6144u, r3[3]);
  }
  // @body/5 /launches/0/body/15
  barrier();
  // @body/6 /launches/0/body/15
  {
    const vec<f16, 8> x_13 = load_lds<vec<f16, 8>>(lds, a_12);
    r5[0] = x_13;
  }
  // @body/7 /launches/0/body/15
  {
    const vec<f16, 8> x_15 = load_lds<vec<f16, 8>>(lds, a_14);
    r6[0] = x_15;
  }
  // @body/8 /launches/0/body/15
  {
    const vec<f16, 8> x_17 = load_lds<vec<f16, 8>>(lds, a_16);
    r7[0] = x_17;
  }
  // @body/9 /launches/0/body/15
  {
    const vec<f16, 8> x_19 = load_lds<vec<f16, 8>>(lds, a_18);
    r8[0] = x_19;
  }
  // @body/10 /launches/0/body/15/body/0
  {
    const u32 u_21 = (u32)(((bz * 131072) + ((i32)((u32)(by) / 2u) * 65536)));
    const vec<f16, 8> x_22 = load_buffer<vec<f16, 8>>(b_20, u_21, l_0);
    r9[0] = x_22;
    const vec<f16, 8> x_23 = load_buffer<vec<f16, 8>>(b_20, u_21, l_0 + 2048u);
    r9[1] = x_23;
    const vec<f16, 8> x_24 = load_buffer<vec<f16, 8>>(b_20, u_21, l_0 + 4096u);
    r9[2] = x_24;
    const vec<f16, 8> x_25 = load_buffer<vec<f16, 8>>(b_20, u_21, l_0 + 6144u);
    r9[3] = x_25;
  }
  // @body/11 /launches/0/body/15/body/1
  {
    const u32 u_28 = (u32)(((bz * 131072) + ((i32)((u32)(by) / 2u) * 65536)));
    const vec<f16, 8> x_29 = load_buffer<vec<f16, 8>>(b_27, u_28, l_26);
    r10[0] = x_29;
    const vec<f16, 8> x_30 = load_buffer<vec<f16, 8>>(b_27, u_28, l_26 + 128u);
    r10[1] = x_30;
    const vec<f16, 8> x_31 = load_buffer<vec<f16, 8>>(b_27, u_28, l_26 + 256u);
    r10[2] = x_31;
    const vec<f16, 8> x_32 = load_buffer<vec<f16, 8>>(b_27, u_28, l_26 + 384u);
    r10[3] = x_32;
  }
  // @body/12 /launches/0/body/15/body/13
  const i32 e_33 = ((64 * bx) + 64);
  #pragma clang loop unroll(disable)
  for (i32 v0 = 0; v0 < e_33; v0 += 64) {
    // @body/12/for/0 /launches/0/body/15/body/0
    barrier();
    // @body/12/for/1 /launches/0/body/15/body/0
    {
      store_lds<vec<f16, 8>>(lds, a_9 + 8192u, r9[0]);
      store_lds<vec<f16, 8>>(lds, a_9 + 10240u, r9[1]);
      store_lds<vec<f16, 8>>(lds, a_9 + 12288u, r9[2]);
      store_lds<vec<f16, 8>>(lds, a_9 + 14336u, r9[3]);
    }
    // @body/12/for/2 /launches/0/body/15/body/1
    {
      store_lds<vec<f16, 4>>(lds, a_36 + 16384u, vec<f16, 4>{f16(r10[0][0]), f16(r10[1][0]), f16(r10[2][0]), f16(r10[3][0])});
      store_lds<vec<f16, 4>>(lds, a_36 + 16512u, vec<f16, 4>{f16(r10[0][1]), f16(r10[1][1]), f16(r10[2][1]), f16(r10[3][1])});
      store_lds<vec<f16, 4>>(lds, a_37 + 16640u, vec<f16, 4>{f16(r10[0][2]), f16(r10[1][2]), f16(r10[2][2]), f16(r10[3][2])});
      store_lds<vec<f16, 4>>(lds, a_37 + 16768u, vec<f16, 4>{f16(r10[0][3]), f16(r10[1][3]), f16(r10[2][3]), f16(r10[3][3])});
      store_lds<vec<f16, 4>>(lds, a_38 + 16896u, vec<f16, 4>{f16(r10[0][4]), f16(r10[1][4]), f16(r10[2][4]), f16(r10[3][4])});
      store_lds<vec<f16, 4>>(lds, a_38 + 17024u, vec<f16, 4>{f16(r10[0][5]), f16(r10[1][5]), f16(r10[2][5]), f16(r10[3][5])});
      store_lds<vec<f16, 4>>(lds, a_39 + 17152u, vec<f16, 4>{f16(r10[0][6]), f16(r10[1][6]), f16(r10[2][6]), f16(r10[3][6])});
      store_lds<vec<f16, 4>>(lds, a_39 + 17280u, vec<f16, 4>{f16(r10[0][7]), f16(r10[1][7]), f16(r10[2][7]), f16(r10[3][7])});
    }
    // @body/12/for/3 /launches/0/body/15/body/2
    barrier();
    // @body/12/for/4 /launches/0/body/15/body/1
    const i32 v13 = smaller<i32>((v0 + 64), ((i32)((u32)((((64 * bx) + 64) - 1)) / 64u) * 64));
    // @body/12/for/5 /launches/0/body/15/body/0
    {
      const u32 u_40 = (u32)((((bz * 131072) + ((i32)((u32)(by) / 2u) * 65536)) + (v13 * 128)));
      const vec<f16, 8> x_41 = load_buffer<vec<f16, 8>>(b_20, u_40, l_0);
      r9[0] = x_41;
      const vec<f16, 8> x_42 = load_buffer<vec<f16, 8>>(b_20, u_40, l_0 + 2048u);
      r9[1] = x_42;
      const vec<f16, 8> x_43 = load_buffer<vec<f16, 8>>(b_20, u_40, l_0 + 4096u);
      r9[2] = x_43;
      const vec<f16, 8> x_44 = load_buffer<vec<f16, 8>>(b_20, u_40, l_0 + 6144u);
      r9[3] = x_44;
    }
    // @body/12/for/6 /launches/0/body/15/body/1
    {
      const u32 u_45 = (u32)((((bz * 131072) + ((i32)((u32)(by) / 2u) * 65536)) + (v13 * 128)));
      const vec<f16, 8> x_46 = load_buffer<vec<f16, 8>>(b_27, u_45, l_26);
      r10[0] = x_46;
      const vec<f16, 8> x_47 = load_buffer<vec<f16, 8>>(b_27, u_45, l_26 + 128u);
      r10[1] = x_47;
      const vec<f16, 8> x_48 = load_buffer<vec<f16, 8>>(b_27, u_45, l_26 + 256u);
      r10[2] = x_48;
      const vec<f16, 8> x_49 = load_buffer<vec<f16, 8>>(b_27, u_45, l_26 + 384u);
      r10[3] = x_49;
    }
    // @body/12/for/7 /launches/0/body/15/body/1
    KILN_SCHED_FENCE(0);
    // @body/12/for/8 /launches/0/body/15/body/2
    {
      const vec<f16, 8> x_52 = load_lds<vec<f16, 8>>(lds, a_51 + 8192u);
      r14[0] = x_52;
      const vec<f16, 8> x_53 = load_lds<vec<f16, 8>>(lds, a_51 + 12288u);
      r14[1] = x_53;
    }
    // @body/12/for/9 /launches/0/body/15/body/2
    {
      const vec<f16, 8> x_55 = load_lds<vec<f16, 8>>(lds, a_54 + 8192u);
      r15[0] = x_55;
      const vec<f16, 8> x_56 = load_lds<vec<f16, 8>>(lds, a_54 + 12288u);
      r15[1] = x_56;
    }
    // @body/12/for/10 /launches/0/body/15/body/2
    KILN_SCHED_FENCE(0);
    // @body/12/for/11 /launches/0/body/15/body/2
    r13[0] = mfma_f32_32x32x16_f16(r14[0], r5[0], vec<f32, 16>(0));
    r13[1] = mfma_f32_32x32x16_f16(r14[1], r5[0], vec<f32, 16>(0));
    // @body/12/for/12 /launches/0/body/15/body/2
    {
      const vec<f16, 8> x_58 = load_lds<vec<f16, 8>>(lds, a_57 + 8192u);
      r14[0] = x_58;
      const vec<f16, 8> x_59 = load_lds<vec<f16, 8>>(lds, a_57 + 12288u);
      r14[1] = x_59;
    }
    // @body/12/for/13 /launches/0/body/15/body/2
    KILN_SCHED_FENCE(0);
    // @body/12/for/14 /launches/0/body/15/body/2
    r13[0] = mfma_f32_32x32x16_f16(r15[0], r6[0], r13[0]);
    r13[1] = mfma_f32_32x32x16_f16(r15[1], r6[0], r13[1]);
    // @body/12/for/15 /launches/0/body/15/body/2
    {
      const vec<f16, 8> x_61 = load_lds<vec<f16, 8>>(lds, a_60 + 8192u);
      r15[0] = x_61;
      const vec<f16, 8> x_62 = load_lds<vec<f16, 8>>(lds, a_60 + 12288u);
      r15[1] = x_62;
    }
    // @body/12/for/16 /launches/0/body/15/body/2
    KILN_SCHED_FENCE(0);
    // @body/12/for/17 /launches/0/body/15/body/2
    r13[0] = mfma_f32_32x32x16_f16(r14[0], r7[0], r13[0]);
    r13[1] = mfma_f32_32x32x16_f16(r14[1], r7[0], r13[1]);
    // @body/12/for/18 /launches/0/body/15/body/2
    r13[0] = mfma_f32_32x32x16_f16(r15[0], r8[0], r13[0]);
    r13[1] = mfma_f32_32x32x16_f16(r15[1], r8[0], r13[1]);
    // @body/12/for/19 /launches/0/body/15/body/3
    {
      r13[0][0] = pick<f32>(((v0 + (i32)(l_64)) <= ((64 * bx) + (i32)(l_63))), (r13[0][0] * 0x1.715476p-3f), (-__builtin_inff()));
    }
    {
      r13[0][1] = pick<f32>(((v0 + (i32)(l_64 + 1u)) <= ((64 * bx) + (i32)(l_63))), (r13[0][1] * 0x1.715476p-3f), (-__builtin_inff()));
    }
    {
      r13[0][2] = pick<f32>(((v0 + (i32)(l_64 + 2u)) <= ((64 * bx) + (i32)(l_63))), (r13[0][2] * 0x1.715476p-3f), (-__builtin_inff()));
    }
    {
      r13[0][3] = pick<f32>(((v0 + (i32)(l_64 + 3u)) <= ((64 * bx) + (i32)(l_63))), (r13[0][3] * 0x1.715476p-3f), (-__builtin_inff()));
    }
    {
      r13[0][4] = pick<f32>(((v0 + (i32)(l_64 + 8u)) <= ((64 * bx) + (i32)(l_63))), (r13[0][4] * 0x1.715476p-3f), (-__builtin_inff()));
    }
    {
      r13[0][5] = pick<f32>(((v0 + (i32)(l_64 + 9u)) <= ((64 * bx) + (i32)(l_63))), (r13[0][5] * 0x1.715476p-3f), (-__builtin_inff()));
    }
    {
      r13[0][6] = pick<f32>(((v0 + (i32)(l_64 + 10u)) <= ((64 * bx) + (i32)(l_63))), (r13[0][6] * 0x1.715476p-3f), (-__builtin_inff()));
    }
    {
      r13[0][7] = pick<f32>(((v0 + (i32)(l_64 + 11u)) <= ((64 * bx) + (i32)(l_63))), (r13[0][7] * 0x1.715476p-3f), (-__builtin_inff()));
    }
    {
      r13[0][8] = pick<f32>(((v0 + (i32)(l_64 + 16u)) <= ((64 * bx) + (i32)(l_63))), (r13[0][8] * 0x1.715476p-3f), (-__builtin_inff()));
    }
    {
      r13[0][9] = pick<f32>(((v0 + (i32)(l_64 + 17u)) <= ((64 * bx) + (i32)(l_63))), (r13[0][9] * 0x1.715476p-3f), (-__builtin_inff()));
    }
    {
      r13[0][10] = pick<f32>(((v0 + (i32)(l_64 + 18u)) <= ((64 * bx) + (i32)(l_63))), (r13[0][10] * 0x1.715476p-3f), (-__builtin_inff()));
    }
    {
      r13[0][11] = pick<f32>(((v0 + (i32)(l_64 + 19u)) <= ((64 * bx) + (i32)(l_63))), (r13[0][11] * 0x1.715476p-3f), (-__builtin_inff()));
    }
    {
      r13[0][12] = pick<f32>(((v0 + (i32)(l_64 + 24u)) <= ((64 * bx) + (i32)(l_63))), (r13[0][12] * 0x1.715476p-3f), (-__builtin_inff()));
    }
    {
      r13[0][13] = pick<f32>(((v0 + (i32)(l_64 + 25u)) <= ((64 * bx) + (i32)(l_63))), (r13[0][13] * 0x1.715476p-3f), (-__builtin_inff()));
    }
    {
      r13[0][14] = pick<f32>(((v0 + (i32)(l_64 + 26u)) <= ((64 * bx) + (i32)(l_63))), (r13[0][14] * 0x1.715476p-3f), (-__builtin_inff()));
    }
    {
      r13[0][15] = pick<f32>(((v0 + (i32)(l_64 + 27u)) <= ((64 * bx) + (i32)(l_63))), (r13[0][15] * 0x1.715476p-3f), (-__builtin_inff()));
    }
    {
      r13[1][0] = pick<f32>(((v0 + (i32)(l_64 + 32u)) <= ((64 * bx) + (i32)(l_63))), (r13[1][0] * 0x1.715476p-3f), (-__builtin_inff()));
    }
    {
      r13[1][1] = pick<f32>(((v0 + (i32)(l_64 + 33u)) <= ((64 * bx) + (i32)(l_63))), (r13[1][1] * 0x1.715476p-3f), (-__builtin_inff()));
    }
    {
      r13[1][2] = pick<f32>(((v0 + (i32)(l_64 + 34u)) <= ((64 * bx) + (i32)(l_63))), (r13[1][2] * 0x1.715476p-3f), (-__builtin_inff()));
    }
    {
      r13[1][3] = pick<f32>(((v0 + (i32)(l_64 + 35u)) <= ((64 * bx) + (i32)(l_63))), (r13[1][3] * 0x1.715476p-3f), (-__builtin_inff()));
    }
    {
      r13[1][4] = pick<f32>(((v0 + (i32)(l_64 + 40u)) <= ((64 * bx) + (i32)(l_63))), (r13[1][4] * 0x1.715476p-3f), (-__builtin_inff()));
    }
    {
      r13[1][5] = pick<f32>(((v0 + (i32)(l_64 + 41u)) <= ((64 * bx) + (i32)(l_63))), (r13[1][5] * 0x1.715476p-3f), (-__builtin_inff()));
    }
    {
      r13[1][6] = pick<f32>(((v0 + (i32)(l_64 + 42u)) <= ((64 * bx) + (i32)(l_63))), (r13[1][6] * 0x1.715476p-3f), (-__builtin_inff()));
    }
    {
      r13[1][7] = pick<f32>(((v0 + (i32)(l_64 + 43u)) <= ((64 * bx) + (i32)(l_63))), (r13[1][7] * 0x1.715476p-3f), (-__builtin_inff()));
    }
    {
      r13[1][8] = pick<f32>(((v0 + (i32)(l_64 + 48u)) <= ((64 * bx) + (i32)(l_63))), (r13[1][8] * 0x1.715476p-3f), (-__builtin_inff()));
    }
    {
      r13[1][9] = pick<f32>(((v0 + (i32)(l_64 + 49u)) <= ((64 * bx) + (i32)(l_63))), (r13[1][9] * 0x1.715476p-3f), (-__builtin_inff()));
    }
    {
      r13[1][10] = pick<f32>(((v0 + (i32)(l_64 + 50u)) <= ((64 * bx) + (i32)(l_63))), (r13[1][10] * 0x1.715476p-3f), (-__builtin_inff()));
    }
    {
      r13[1][11] = pick<f32>(((v0 + (i32)(l_64 + 51u)) <= ((64 * bx) + (i32)(l_63))), (r13[1][11] * 0x1.715476p-3f), (-__builtin_inff()));
    }
    {
      r13[1][12] = pick<f32>(((v0 + (i32)(l_64 + 56u)) <= ((64 * bx) + (i32)(l_63))), (r13[1][12] * 0x1.715476p-3f), (-__builtin_inff()));
    }
    {
      r13[1][13] = pick<f32>(((v0 + (i32)(l_64 + 57u)) <= ((64 * bx) + (i32)(l_63))), (r13[1][13] * 0x1.715476p-3f), (-__builtin_inff()));
    }
    {
      r13[1][14] = pick<f32>(((v0 + (i32)(l_64 + 58u)) <= ((64 * bx) + (i32)(l_63))), (r13[1][14] * 0x1.715476p-3f), (-__builtin_inff()));
    }
    {
      r13[1][15] = pick<f32>(((v0 + (i32)(l_64 + 59u)) <= ((64 * bx) + (i32)(l_63))), (r13[1][15] * 0x1.715476p-3f), (-__builtin_inff()));
    }
    // @body/12/for/20 /launches/0/body/15/body/4
    {
      r16[0] = r0[0];
    }
    // @body/12/for/21 /launches/0/body/15/body/5
    {
      f32 y_65 = r13[0][0];
      bool n_66 = false;
      y_65 = chain_max(y_65, r13[0][1]);
      y_65 = chain_max(y_65, r13[0][2]);
      y_65 = chain_max(y_65, r13[0][3]);
      y_65 = chain_max(y_65, r13[0][4]);
      y_65 = chain_max(y_65, r13[0][5]);
      y_65 = chain_max(y_65, r13[0][6]);
      y_65 = chain_max(y_65, r13[0][7]);
      y_65 = chain_max(y_65, r13[0][8]);
      y_65 = chain_max(y_65, r13[0][9]);
      y_65 = chain_max(y_65, r13[0][10]);
      y_65 = chain_max(y_65, r13[0][11]);
      y_65 = chain_max(y_65, r13[0][12]);
      y_65 = chain_max(y_65, r13[0][13]);
      y_65 = chain_max(y_65, r13[0][14]);
      y_65 = chain_max(y_65, r13[0][15]);
      y_65 = chain_max(y_65, r13[1][0]);
      y_65 = chain_max(y_65, r13[1][1]);
      y_65 = chain_max(y_65, r13[1][2]);
      y_65 = chain_max(y_65, r13[1][3]);
      y_65 = chain_max(y_65, r13[1][4]);
      y_65 = chain_max(y_65, r13[1][5]);
      y_65 = chain_max(y_65, r13[1][6]);
      y_65 = chain_max(y_65, r13[1][7]);
      y_65 = chain_max(y_65, r13[1][8]);
      y_65 = chain_max(y_65, r13[1][9]);
      y_65 = chain_max(y_65, r13[1][10]);
      y_65 = chain_max(y_65, r13[1][11]);
      y_65 = chain_max(y_65, r13[1][12]);
      y_65 = chain_max(y_65, r13[1][13]);
      y_65 = chain_max(y_65, r13[1][14]);
      y_65 = chain_max(y_65, r13[1][15]);
      n_66 |= chain_nan(r13[0][0], r13[0][1]);
      n_66 |= chain_nan(r13[0][2], r13[0][3]);
      n_66 |= chain_nan(r13[0][4], r13[0][5]);
      n_66 |= chain_nan(r13[0][6], r13[0][7]);
      n_66 |= chain_nan(r13[0][8], r13[0][9]);
      n_66 |= chain_nan(r13[0][10], r13[0][11]);
      n_66 |= chain_nan(r13[0][12], r13[0][13]);
      n_66 |= chain_nan(r13[0][14], r13[0][15]);
      n_66 |= chain_nan(r13[1][0], r13[1][1]);
      n_66 |= chain_nan(r13[1][2], r13[1][3]);
      n_66 |= chain_nan(r13[1][4], r13[1][5]);
      n_66 |= chain_nan(r13[1][6], r13[1][7]);
      n_66 |= chain_nan(r13[1][8], r13[1][9]);
      n_66 |= chain_nan(r13[1][10], r13[1][11]);
      n_66 |= chain_nan(r13[1][12], r13[1][13]);
      n_66 |= chain_nan(r13[1][14], r13[1][15]);
      y_65 = chain_end(y_65, n_66);
      y_65 = maximum<f32>(y_65, exchange<32>(y_65, lane));
      r0[0] = maximum<f32>(r0[0], y_65);
    }
    // @body/12/for/22 /launches/0/body/15/body/6
    {
      r17[0] = pick<f32>((r0[0] == (-__builtin_inff())), 0x0p+0f, r0[0]);
    }
    // @body/12/for/23 /launches/0/body/15/body/7
    {
      r18[0] = exp2_f32((r16[0] - r17[0]));
    }
    // @body/12/for/24 /launches/0/body/15/body/8
    {
      r1[0] = (r1[0] * r18[0]);
    }
    // @body/12/for/25 /launches/0/body/15/body/9
    {
      r13[0][0] = exp2_f32((r13[0][0] - r17[0]));
    }
    {
      r13[0][1] = exp2_f32((r13[0][1] - r17[0]));
    }
    {
      r13[0][2] = exp2_f32((r13[0][2] - r17[0]));
    }
    {
      r13[0][3] = exp2_f32((r13[0][3] - r17[0]));
    }
    {
      r13[0][4] = exp2_f32((r13[0][4] - r17[0]));
    }
    {
      r13[0][5] = exp2_f32((r13[0][5] - r17[0]));
    }
    {
      r13[0][6] = exp2_f32((r13[0][6] - r17[0]));
    }
    {
      r13[0][7] = exp2_f32((r13[0][7] - r17[0]));
    }
    {
      r13[0][8] = exp2_f32((r13[0][8] - r17[0]));
    }
    {
      r13[0][9] = exp2_f32((r13[0][9] - r17[0]));
    }
    {
      r13[0][10] = exp2_f32((r13[0][10] - r17[0]));
    }
    {
      r13[0][11] = exp2_f32((r13[0][11] - r17[0]));
    }
    {
      r13[0][12] = exp2_f32((r13[0][12] - r17[0]));
    }
    {
      r13[0][13] = exp2_f32((r13[0][13] - r17[0]));
    }
    {
      r13[0][14] = exp2_f32((r13[0][14] - r17[0]));
    }
    {
      r13[0][15] = exp2_f32((r13[0][15] - r17[0]));
    }
    {
      r13[1][0] = exp2_f32((r13[1][0] - r17[0]));
    }
    {
      r13[1][1] = exp2_f32((r13[1][1] - r17[0]));
    }
    {
      r13[1][2] = exp2_f32((r13[1][2] - r17[0]));
    }
    {
      r13[1][3] = exp2_f32((r13[1][3] - r17[0]));
    }
    {
      r13[1][4] = exp2_f32((r13[1][4] - r17[0]));
    }
    {
      r13[1][5] = exp2_f32((r13[1][5] - r17[0]));
    }
    {
      r13[1][6] = exp2_f32((r13[1][6] - r17[0]));
    }
    {
      r13[1][7] = exp2_f32((r13[1][7] - r17[0]));
    }
    {
      r13[1][8] = exp2_f32((r13[1][8] - r17[0]));
    }
    {
      r13[1][9] = exp2_f32((r13[1][9] - r17[0]));
    }
    {
      r13[1][10] = exp2_f32((r13[1][10] - r17[0]));
    }
    {
      r13[1][11] = exp2_f32((r13[1][11] - r17[0]));
    }
    {
      r13[1][12] = exp2_f32((r13[1][12] - r17[0]));
    }
    {
      r13[1][13] = exp2_f32((r13[1][13] - r17[0]));
    }
    {
      r13[1][14] = exp2_f32((r13[1][14] - r17[0]));
    }
    {
      r13[1][15] = exp2_f32((r13[1][15] - r17[0]));
    }
    // @body/12/for/26 /launches/0/body/15/body/10
    {
      f32 y_67 = (((((r13[0][0] + r13[0][1]) + (r13[0][2] + r13[0][3])) + ((r13[0][4] + r13[0][5]) + (r13[0][6] + r13[0][7]))) + (((r13[0][8] + r13[0][9]) + (r13[0][10] + r13[0][11])) + ((r13[0][12] + r13[0][13]) + (r13[0][14] + r13[0][15])))) + ((((r13[1][0] + r13[1][1]) + (r13[1][2] + r13[1][3])) + ((r13[1][4] + r13[1][5]) + (r13[1][6] + r13[1][7]))) + (((r13[1][8] + r13[1][9]) + (r13[1][10] + r13[1][11])) + ((r13[1][12] + r13[1][13]) + (r13[1][14] + r13[1][15])))));
      y_67 = (y_67 + exchange<32>(y_67, lane));
      r1[0] = (r1[0] + y_67);
    }
    // @body/12/for/27 /launches/0/body/15/body/11
    {
      r2[0][0] = (r2[0][0] * r18[0]);
    }
    {
      r2[0][1] = (r2[0][1] * r18[0]);
    }
    {
      r2[0][2] = (r2[0][2] * r18[0]);
    }
    {
      r2[0][3] = (r2[0][3] * r18[0]);
    }
    {
      r2[0][4] = (r2[0][4] * r18[0]);
    }
    {
      r2[0][5] = (r2[0][5] * r18[0]);
    }
    {
      r2[0][6] = (r2[0][6] * r18[0]);
    }
    {
      r2[0][7] = (r2[0][7] * r18[0]);
    }
    {
      r2[0][8] = (r2[0][8] * r18[0]);
    }
    {
      r2[0][9] = (r2[0][9] * r18[0]);
    }
    {
      r2[0][10] = (r2[0][10] * r18[0]);
    }
    {
      r2[0][11] = (r2[0][11] * r18[0]);
    }
    {
      r2[0][12] = (r2[0][12] * r18[0]);
    }
    {
      r2[0][13] = (r2[0][13] * r18[0]);
    }
    {
      r2[0][14] = (r2[0][14] * r18[0]);
    }
    {
      r2[0][15] = (r2[0][15] * r18[0]);
    }
    {
      r2[1][0] = (r2[1][0] * r18[0]);
    }
    {
      r2[1][1] = (r2[1][1] * r18[0]);
    }
    {
      r2[1][2] = (r2[1][2] * r18[0]);
    }
    {
      r2[1][3] = (r2[1][3] * r18[0]);
    }
    {
      r2[1][4] = (r2[1][4] * r18[0]);
    }
    {
      r2[1][5] = (r2[1][5] * r18[0]);
    }
    {
      r2[1][6] = (r2[1][6] * r18[0]);
    }
    {
      r2[1][7] = (r2[1][7] * r18[0]);
    }
    {
      r2[1][8] = (r2[1][8] * r18[0]);
    }
    {
      r2[1][9] = (r2[1][9] * r18[0]);
    }
    {
      r2[1][10] = (r2[1][10] * r18[0]);
    }
    {
      r2[1][11] = (r2[1][11] * r18[0]);
    }
    {
      r2[1][12] = (r2[1][12] * r18[0]);
    }
    {
      r2[1][13] = (r2[1][13] * r18[0]);
    }
    {
      r2[1][14] = (r2[1][14] * r18[0]);
    }
    {
      r2[1][15] = (r2[1][15] * r18[0]);
    }
    // @body/12/for/28 /launches/0/body/15/body/12
    {
      r19[0][0] = (f16)(r13[0][0]);
      r19[0][1] = (f16)(r13[0][1]);
      r19[0][2] = (f16)(r13[0][2]);
      r19[0][3] = (f16)(r13[0][3]);
      r19[0][4] = (f16)(r13[0][4]);
      r19[0][5] = (f16)(r13[0][5]);
      r19[0][6] = (f16)(r13[0][6]);
      r19[0][7] = (f16)(r13[0][7]);
      r19[1][0] = (f16)(r13[0][8]);
      r19[1][1] = (f16)(r13[0][9]);
      r19[1][2] = (f16)(r13[0][10]);
      r19[1][3] = (f16)(r13[0][11]);
      r19[1][4] = (f16)(r13[0][12]);
      r19[1][5] = (f16)(r13[0][13]);
      r19[1][6] = (f16)(r13[0][14]);
      r19[1][7] = (f16)(r13[0][15]);
      r19[2][0] = (f16)(r13[1][0]);
      r19[2][1] = (f16)(r13[1][1]);
      r19[2][2] = (f16)(r13[1][2]);
      r19[2][3] = (f16)(r13[1][3]);
      r19[2][4] = (f16)(r13[1][4]);
      r19[2][5] = (f16)(r13[1][5]);
      r19[2][6] = (f16)(r13[1][6]);
      r19[2][7] = (f16)(r13[1][7]);
      r19[3][0] = (f16)(r13[1][8]);
      r19[3][1] = (f16)(r13[1][9]);
      r19[3][2] = (f16)(r13[1][10]);
      r19[3][3] = (f16)(r13[1][11]);
      r19[3][4] = (f16)(r13[1][12]);
      r19[3][5] = (f16)(r13[1][13]);
      r19[3][6] = (f16)(r13[1][14]);
      r19[3][7] = (f16)(r13[1][15]);
    }
    // @body/12/for/29 /launches/0/body/15/body/13
    {
      const vec<f16, 4> x_71 = load_lds<vec<f16, 4>>(lds, a_69 + 16384u);
      r20[0][0] = x_71[0];
      r20[0][1] = x_71[1];
      r20[0][2] = x_71[2];
      r20[0][3] = x_71[3];
      const vec<f16, 4> x_72 = load_lds<vec<f16, 4>>(lds, a_70 + 16384u);
      r20[0][4] = x_72[0];
      r20[0][5] = x_72[1];
      r20[0][6] = x_72[2];
      r20[0][7] = x_72[3];
      const vec<f16, 4> x_73 = load_lds<vec<f16, 4>>(lds, a_69 + 20480u);
      r20[1][0] = x_73[0];
      r20[1][1] = x_73[1];
      r20[1][2] = x_73[2];
      r20[1][3] = x_73[3];
      const vec<f16, 4> x_74 = load_lds<vec<f16, 4>>(lds, a_70 + 20480u);
      r20[1][4] = x_74[0];
      r20[1][5] = x_74[1];
      r20[1][6] = x_74[2];
      r20[1][7] = x_74[3];
    }
    // @body/12/for/30 /launches/0/body/15/body/13
    {
      const vec<f16, 4> x_77 = load_lds<vec<f16, 4>>(lds, a_75 + 16384u);
      r21[0][0] = x_77[0];
      r21[0][1] = x_77[1];
      r21[0][2] = x_77[2];
      r21[0][3] = x_77[3];
      const vec<f16, 4> x_78 = load_lds<vec<f16, 4>>(lds, a_76 + 16384u);
      r21[0][4] = x_78[0];
      r21[0][5] = x_78[1];
      r21[0][6] = x_78[2];
      r21[0][7] = x_78[3];
      const vec<f16, 4> x_79 = load_lds<vec<f16, 4>>(lds, a_75 + 20480u);
      r21[1][0] = x_79[0];
      r21[1][1] = x_79[1];
      r21[1][2] = x_79[2];
      r21[1][3] = x_79[3];
      const vec<f16, 4> x_80 = load_lds<vec<f16, 4>>(lds, a_76 + 20480u);
      r21[1][4] = x_80[0];
      r21[1][5] = x_80[1];
      r21[1][6] = x_80[2];
      r21[1][7] = x_80[3];
    }
    // @body/12/for/31 /launches/0/body/15/body/13
    KILN_SCHED_FENCE(0);
    // @body/12/for/32 /launches/0/body/15/body/13
    r2[0] = mfma_f32_32x32x16_f16(r20[0], r19[0], r2[0]);
    r2[1] = mfma_f32_32x32x16_f16(r20[1], r19[0], r2[1]);
    // @body/12/for/33 /launches/0/body/15/body/13
    {
      const vec<f16, 4> x_83 = load_lds<vec<f16, 4>>(lds, a_81 + 16384u);
      r20[0][0] = x_83[0];
      r20[0][1] = x_83[1];
      r20[0][2] = x_83[2];
      r20[0][3] = x_83[3];
      const vec<f16, 4> x_84 = load_lds<vec<f16, 4>>(lds, a_82 + 16384u);
      r20[0][4] = x_84[0];
      r20[0][5] = x_84[1];
      r20[0][6] = x_84[2];
      r20[0][7] = x_84[3];
      const vec<f16, 4> x_85 = load_lds<vec<f16, 4>>(lds, a_81 + 20480u);
      r20[1][0] = x_85[0];
      r20[1][1] = x_85[1];
      r20[1][2] = x_85[2];
      r20[1][3] = x_85[3];
      const vec<f16, 4> x_86 = load_lds<vec<f16, 4>>(lds, a_82 + 20480u);
      r20[1][4] = x_86[0];
      r20[1][5] = x_86[1];
      r20[1][6] = x_86[2];
      r20[1][7] = x_86[3];
    }
    // @body/12/for/34 /launches/0/body/15/body/13
    KILN_SCHED_FENCE(0);
    // @body/12/for/35 /launches/0/body/15/body/13
    r2[0] = mfma_f32_32x32x16_f16(r21[0], r19[1], r2[0]);
    r2[1] = mfma_f32_32x32x16_f16(r21[1], r19[1], r2[1]);
    // @body/12/for/36 /launches/0/body/15/body/13
    {
      const vec<f16, 4> x_89 = load_lds<vec<f16, 4>>(lds, a_87 + 16384u);
      r21[0][0] = x_89[0];
      r21[0][1] = x_89[1];
      r21[0][2] = x_89[2];
      r21[0][3] = x_89[3];
      const vec<f16, 4> x_90 = load_lds<vec<f16, 4>>(lds, a_88 + 16384u);
      r21[0][4] = x_90[0];
      r21[0][5] = x_90[1];
      r21[0][6] = x_90[2];
      r21[0][7] = x_90[3];
      const vec<f16, 4> x_91 = load_lds<vec<f16, 4>>(lds, a_87 + 20480u);
      r21[1][0] = x_91[0];
      r21[1][1] = x_91[1];
      r21[1][2] = x_91[2];
      r21[1][3] = x_91[3];
      const vec<f16, 4> x_92 = load_lds<vec<f16, 4>>(lds, a_88 + 20480u);
      r21[1][4] = x_92[0];
      r21[1][5] = x_92[1];
      r21[1][6] = x_92[2];
      r21[1][7] = x_92[3];
    }
    // @body/12/for/37 /launches/0/body/15/body/13
    KILN_SCHED_FENCE(0);
    // @body/12/for/38 /launches/0/body/15/body/13
    r2[0] = mfma_f32_32x32x16_f16(r20[0], r19[2], r2[0]);
    r2[1] = mfma_f32_32x32x16_f16(r20[1], r19[2], r2[1]);
    // @body/12/for/39 /launches/0/body/15/body/13
    r2[0] = mfma_f32_32x32x16_f16(r21[0], r19[3], r2[0]);
    r2[1] = mfma_f32_32x32x16_f16(r21[1], r19[3], r2[1]);
  }
  // @body/13 /launches/0/body/16
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
    r2[0][4] = pick<f32>((r1[0] == 0x0p+0f), 0x0p+0f, (r2[0][4] / r1[0]));
  }
  {
    r2[0][5] = pick<f32>((r1[0] == 0x0p+0f), 0x0p+0f, (r2[0][5] / r1[0]));
  }
  {
    r2[0][6] = pick<f32>((r1[0] == 0x0p+0f), 0x0p+0f, (r2[0][6] / r1[0]));
  }
  {
    r2[0][7] = pick<f32>((r1[0] == 0x0p+0f), 0x0p+0f, (r2[0][7] / r1[0]));
  }
  {
    r2[0][8] = pick<f32>((r1[0] == 0x0p+0f), 0x0p+0f, (r2[0][8] / r1[0]));
  }
  {
    r2[0][9] = pick<f32>((r1[0] == 0x0p+0f), 0x0p+0f, (r2[0][9] / r1[0]));
  }
  {
    r2[0][10] = pick<f32>((r1[0] == 0x0p+0f), 0x0p+0f, (r2[0][10] / r1[0]));
  }
  {
    r2[0][11] = pick<f32>((r1[0] == 0x0p+0f), 0x0p+0f, (r2[0][11] / r1[0]));
  }
  {
    r2[0][12] = pick<f32>((r1[0] == 0x0p+0f), 0x0p+0f, (r2[0][12] / r1[0]));
  }
  {
    r2[0][13] = pick<f32>((r1[0] == 0x0p+0f), 0x0p+0f, (r2[0][13] / r1[0]));
  }
  {
    r2[0][14] = pick<f32>((r1[0] == 0x0p+0f), 0x0p+0f, (r2[0][14] / r1[0]));
  }
  {
    r2[0][15] = pick<f32>((r1[0] == 0x0p+0f), 0x0p+0f, (r2[0][15] / r1[0]));
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
    r2[1][4] = pick<f32>((r1[0] == 0x0p+0f), 0x0p+0f, (r2[1][4] / r1[0]));
  }
  {
    r2[1][5] = pick<f32>((r1[0] == 0x0p+0f), 0x0p+0f, (r2[1][5] / r1[0]));
  }
  {
    r2[1][6] = pick<f32>((r1[0] == 0x0p+0f), 0x0p+0f, (r2[1][6] / r1[0]));
  }
  {
    r2[1][7] = pick<f32>((r1[0] == 0x0p+0f), 0x0p+0f, (r2[1][7] / r1[0]));
  }
  {
    r2[1][8] = pick<f32>((r1[0] == 0x0p+0f), 0x0p+0f, (r2[1][8] / r1[0]));
  }
  {
    r2[1][9] = pick<f32>((r1[0] == 0x0p+0f), 0x0p+0f, (r2[1][9] / r1[0]));
  }
  {
    r2[1][10] = pick<f32>((r1[0] == 0x0p+0f), 0x0p+0f, (r2[1][10] / r1[0]));
  }
  {
    r2[1][11] = pick<f32>((r1[0] == 0x0p+0f), 0x0p+0f, (r2[1][11] / r1[0]));
  }
  {
    r2[1][12] = pick<f32>((r1[0] == 0x0p+0f), 0x0p+0f, (r2[1][12] / r1[0]));
  }
  {
    r2[1][13] = pick<f32>((r1[0] == 0x0p+0f), 0x0p+0f, (r2[1][13] / r1[0]));
  }
  {
    r2[1][14] = pick<f32>((r1[0] == 0x0p+0f), 0x0p+0f, (r2[1][14] / r1[0]));
  }
  {
    r2[1][15] = pick<f32>((r1[0] == 0x0p+0f), 0x0p+0f, (r2[1][15] / r1[0]));
  }
  // @body/14 /launches/0/body/17
  {
    r22[0][0] = (f16)(r2[0][0]);
    r22[0][1] = (f16)(r2[0][1]);
    r22[0][2] = (f16)(r2[0][2]);
    r22[0][3] = (f16)(r2[0][3]);
    r22[0][4] = (f16)(r2[0][4]);
    r22[0][5] = (f16)(r2[0][5]);
    r22[0][6] = (f16)(r2[0][6]);
    r22[0][7] = (f16)(r2[0][7]);
    r22[0][8] = (f16)(r2[0][8]);
    r22[0][9] = (f16)(r2[0][9]);
    r22[0][10] = (f16)(r2[0][10]);
    r22[0][11] = (f16)(r2[0][11]);
    r22[0][12] = (f16)(r2[0][12]);
    r22[0][13] = (f16)(r2[0][13]);
    r22[0][14] = (f16)(r2[0][14]);
    r22[0][15] = (f16)(r2[0][15]);
    r22[1][0] = (f16)(r2[1][0]);
    r22[1][1] = (f16)(r2[1][1]);
    r22[1][2] = (f16)(r2[1][2]);
    r22[1][3] = (f16)(r2[1][3]);
    r22[1][4] = (f16)(r2[1][4]);
    r22[1][5] = (f16)(r2[1][5]);
    r22[1][6] = (f16)(r2[1][6]);
    r22[1][7] = (f16)(r2[1][7]);
    r22[1][8] = (f16)(r2[1][8]);
    r22[1][9] = (f16)(r2[1][9]);
    r22[1][10] = (f16)(r2[1][10]);
    r22[1][11] = (f16)(r2[1][11]);
    r22[1][12] = (f16)(r2[1][12]);
    r22[1][13] = (f16)(r2[1][13]);
    r22[1][14] = (f16)(r2[1][14]);
    r22[1][15] = (f16)(r2[1][15]);
  }
  // @body/15 /launches/0/body/17
  {
    const i64 u_94 = (((bz * 262144) + (by * 65536)) + ((64 * bx) * 128));
    store_global<vec<f16, 4>, 8>(p3, u_94, l_93, __builtin_shufflevector(r22[0], r22[0], 0, 1, 2, 3));
    store_global<vec<f16, 4>, 8>(p3, u_94, l_93 + 16u, __builtin_shufflevector(r22[0], r22[0], 4, 5, 6, 7));
    store_global<vec<f16, 4>, 8>(p3, u_94, l_93 + 32u, __builtin_shufflevector(r22[0], r22[0], 8, 9, 10, 11));
    store_global<vec<f16, 4>, 8>(p3, u_94, l_93 + 48u, __builtin_shufflevector(r22[0], r22[0], 12, 13, 14, 15));
    store_global<vec<f16, 4>, 8>(p3, u_94, l_93 + 64u, __builtin_shufflevector(r22[1], r22[1], 0, 1, 2, 3));
    store_global<vec<f16, 4>, 8>(p3, u_94, l_93 + 80u, __builtin_shufflevector(r22[1], r22[1], 4, 5, 6, 7));
    store_global<vec<f16, 4>, 8>(p3, u_94, l_93 + 96u, __builtin_shufflevector(r22[1], r22[1], 8, 9, 10, 11));
    store_global<vec<f16, 4>, 8>(p3, u_94, l_93 + 112u, __builtin_shufflevector(r22[1], r22[1], 12, 13, 14, 15));
  }
}

}  // namespace kiln
