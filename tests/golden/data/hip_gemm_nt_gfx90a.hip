#include <kiln/kernel.hpp>
#pragma clang fp contract(off)

namespace kiln {

extern "C" KILN_KERNEL_WAVES(256, 2) void gemm_0(const void* __restrict__ p0, const void* __restrict__ p1, void* __restrict__ p2) {
  KILN_LDS(lds, 32768);
  const u32 thread = thread_id();
  const u32 lane = thread % 64u, wave = uniform(thread / 64u);
  const i32 bz = i32(block_id_z());
  const u32 dealt = block_id_x() + block_id_y() * 32u;
  const u32 grouped = dealt / 256u, within = dealt % 256u;
  const u32 first_row = grouped * 8u;
  const i32 bx = i32(within / 8u), by = i32(first_row + within % 8u);
  const u32 l_0 = (lane & 7u) * 16u + (lane >> 3) * 8192u + wave * 65536u;
  const buffer b_1 = make_buffer(p0, 33554432u);
  const buffer b_7 = make_buffer(p1, 33554432u);
  const u32 l_14 = (lane >> 3) * 128u + wave * 1024u;
  const u32 l_15 = ((lane & 7u) * 16u) ^ ((lane >> 3) * 16u);
  const u32 a_16 = l_14 + l_15;
  const u32 l_27 = (lane & 31u) * 128u + (wave >> 1) * 8192u;
  const u32 l_28 = ((lane & 7u) * 16u) ^ ((lane >> 5) * 16u);
  const u32 a_29 = l_27 + l_28;
  const u32 l_32 = (lane & 31u) * 128u + (wave & 1u) * 8192u;
  const u32 a_33 = l_32 + l_28;
  const u32 a_36 = l_27 + (l_28 ^ 32u);
  const u32 a_39 = l_32 + (l_28 ^ 32u);
  const u32 a_42 = l_27 + (l_28 ^ 64u);
  const u32 a_45 = l_32 + (l_28 ^ 64u);
  const u32 a_48 = l_27 + (l_28 ^ 96u);
  const u32 a_51 = l_32 + (l_28 ^ 96u);
  const u32 l_54 = (lane & 31u) * 8192u + (lane >> 5) * 8u + (wave & 1u) * 128u + (wave >> 1) * 524288u;
  vec<f32, 16> r0[4];
  vec<f16, 8> r1[4];
  vec<f16, 8> r2[4];
  vec<f16, 4> r5[4];
  vec<f16, 4> r6[4];
  vec<f16, 4> r7[4];
  vec<f16, 4> r8[4];
  vec<f16, 16> r9[4];
  // @body/0 /launches/0/body/3
  r0[0] = vec<f32, 16>(0x0p+0f);
  r0[1] = vec<f32, 16>(0x0p+0f);
  r0[2] = vec<f32, 16>(0x0p+0f);
  r0[3] = vec<f32, 16>(0x0p+0f);
  // @body/1 /launches/0/body/4/body/0
  {
    const u32 u_2 = (u32)(((by * 128) * 8192));
    const vec<f16, 8> x_3 = load_buffer<vec<f16, 8>>(b_1, u_2, l_0);
    r1[0] = x_3;
    const vec<f16, 8> x_4 = load_buffer<vec<f16, 8>>(b_1, u_2, l_0 + 262144u);
    r1[1] = x_4;
    const vec<f16, 8> x_5 = load_buffer<vec<f16, 8>>(b_1, u_2, l_0 + 524288u);
    r1[2] = x_5;
    const vec<f16, 8> x_6 = load_buffer<vec<f16, 8>>(b_1, u_2, l_0 + 786432u);
    r1[3] = x_6;
  }
  // @body/2 /launches/0/body/4/body/1
  {
    const u32 u_8 = (u32)(((bx * 128) * 8192));
    const vec<f16, 8> x_9 = load_buffer<vec<f16, 8>>(b_7, u_8, l_0);
    r2[0] = x_9;
    const vec<f16, 8> x_10 = load_buffer<vec<f16, 8>>(b_7, u_8, l_0 + 262144u);
    r2[1] = x_10;
    const vec<f16, 8> x_11 = load_buffer<vec<f16, 8>>(b_7, u_8, l_0 + 524288u);
    r2[2] = x_11;
    const vec<f16, 8> x_12 = load_buffer<vec<f16, 8>>(b_7, u_8, l_0 + 786432u);
    r2[3] = x_12;
  }
  // @body/3 /launches/0/body/4/body/2
  const i32 e_13 = 4096;
  #pragma clang loop unroll(disable)
  for (i32 v0 = 0; v0 < e_13; v0 += 64) {
    // @body/3/for/0 /launches/0/body/4/body/0
    barrier();
    // @body/3/for/1 /launches/0/body/4/body/0
    {
      store_lds<vec<f16, 8>>(lds, a_16, r1[0]);
      store_lds<vec<f16, 8>>(lds, a_16 + 4096u, r1[1]);
      store_lds<vec<f16, 8>>(lds, a_16 + 8192u, r1[2]);
      store_lds<vec<f16, 8>>(lds, a_16 + 12288u, r1[3]);
    }
    // @body/3/for/2 /launches/0/body/4/body/1
    {
      store_lds<vec<f16, 8>>(lds, a_16 + 16384u, r2[0]);
      store_lds<vec<f16, 8>>(lds, a_16 + 20480u, r2[1]);
      store_lds<vec<f16, 8>>(lds, a_16 + 24576u, r2[2]);
      store_lds<vec<f16, 8>>(lds, a_16 + 28672u, r2[3]);
    }
    // @body/3/for/3 /launches/0/body/4/body/2
    barrier();
    // @body/3/for/4 /launches/0/body/4/body/1
    const i32 v1 = smaller<i32>((v0 + 64), 4032);
    // @body/3/for/5 /launches/0/body/4/body/0
    {
      const u32 u_17 = (u32)((((by * 128) * 8192) + (v1 * 2)));
      const vec<f16, 8> x_18 = load_buffer<vec<f16, 8>>(b_1, u_17, l_0);
      r1[0] = x_18;
      const vec<f16, 8> x_19 = load_buffer<vec<f16, 8>>(b_1, u_17, l_0 + 262144u);
      r1[1] = x_19;
      const vec<f16, 8> x_20 = load_buffer<vec<f16, 8>>(b_1, u_17, l_0 + 524288u);
      r1[2] = x_20;
      const vec<f16, 8> x_21 = load_buffer<vec<f16, 8>>(b_1, u_17, l_0 + 786432u);
      r1[3] = x_21;
    }
    // @body/3/for/6 /launches/0/body/4/body/1
    {
      const u32 u_22 = (u32)((((bx * 128) * 8192) + (v1 * 2)));
      const vec<f16, 8> x_23 = load_buffer<vec<f16, 8>>(b_7, u_22, l_0);
      r2[0] = x_23;
      const vec<f16, 8> x_24 = load_buffer<vec<f16, 8>>(b_7, u_22, l_0 + 262144u);
      r2[1] = x_24;
      const vec<f16, 8> x_25 = load_buffer<vec<f16, 8>>(b_7, u_22, l_0 + 524288u);
      r2[2] = x_25;
      const vec<f16, 8> x_26 = load_buffer<vec<f16, 8>>(b_7, u_22, l_0 + 786432u);
      r2[3] = x_26;
    }
    // @body/3/for/7 /launches/0/body/4/body/1
    KILN_SCHED_FENCE(0);
    // @body/3/for/8 /launches/0/body/4/body/2
    {
      const vec<f16, 8> x_30 = load_lds<vec<f16, 8>>(lds, a_29);
      r5[0] = __builtin_shufflevector(x_30, x_30, 0, 1, 2, 3);
      r5[1] = __builtin_shufflevector(x_30, x_30, 4, 5, 6, 7);
      const vec<f16, 8> x_31 = load_lds<vec<f16, 8>>(lds, a_29 + 4096u);
      r5[2] = __builtin_shufflevector(x_31, x_31, 0, 1, 2, 3);
      r5[3] = __builtin_shufflevector(x_31, x_31, 4, 5, 6, 7);
    }
    // @body/3/for/9 /launches/0/body/4/body/2
    {
      const vec<f16, 8> x_34 = load_lds<vec<f16, 8>>(lds, a_33 + 16384u);
      r6[0] = __builtin_shufflevector(x_34, x_34, 0, 1, 2, 3);
      r6[1] = __builtin_shufflevector(x_34, x_34, 4, 5, 6, 7);
      const vec<f16, 8> x_35 = load_lds<vec<f16, 8>>(lds, a_33 + 20480u);
      r6[2] = __builtin_shufflevector(x_35, x_35, 0, 1, 2, 3);
      r6[3] = __builtin_shufflevector(x_35, x_35, 4, 5, 6, 7);
    }
    // @body/3/for/10 /launches/0/body/4/body/2
    {
      const vec<f16, 8> x_37 = load_lds<vec<f16, 8>>(lds, a_36);
      r7[0] = __builtin_shufflevector(x_37, x_37, 0, 1, 2, 3);
      r7[1] = __builtin_shufflevector(x_37, x_37, 4, 5, 6, 7);
      const vec<f16, 8> x_38 = load_lds<vec<f16, 8>>(lds, a_36 + 4096u);
      r7[2] = __builtin_shufflevector(x_38, x_38, 0, 1, 2, 3);
      r7[3] = __builtin_shufflevector(x_38, x_38, 4, 5, 6, 7);
    }
    // @body/3/for/11 /launches/0/body/4/body/2
    {
      const vec<f16, 8> x_40 = load_lds<vec<f16, 8>>(lds, a_39 + 16384u);
      r8[0] = __builtin_shufflevector(x_40, x_40, 0, 1, 2, 3);
      r8[1] = __builtin_shufflevector(x_40, x_40, 4, 5, 6, 7);
      const vec<f16, 8> x_41 = load_lds<vec<f16, 8>>(lds, a_39 + 20480u);
      r8[2] = __builtin_shufflevector(x_41, x_41, 0, 1, 2, 3);
      r8[3] = __builtin_shufflevector(x_41, x_41, 4, 5, 6, 7);
    }
    // @body/3/for/12 /launches/0/body/4/body/2
    KILN_SCHED_FENCE(0);
    // @body/3/for/13 /launches/0/body/4/body/2
    r0[0] = mfma_f32_32x32x8f16(r6[0], r5[0], r0[0]);
    r0[1] = mfma_f32_32x32x8f16(r6[2], r5[0], r0[1]);
    r0[2] = mfma_f32_32x32x8f16(r6[0], r5[2], r0[2]);
    r0[3] = mfma_f32_32x32x8f16(r6[2], r5[2], r0[3]);
    r0[0] = mfma_f32_32x32x8f16(r6[1], r5[1], r0[0]);
    r0[1] = mfma_f32_32x32x8f16(r6[3], r5[1], r0[1]);
    r0[2] = mfma_f32_32x32x8f16(r6[1], r5[3], r0[2]);
    r0[3] = mfma_f32_32x32x8f16(r6[3], r5[3], r0[3]);
    // @body/3/for/14 /launches/0/body/4/body/2
    {
      const vec<f16, 8> x_43 = load_lds<vec<f16, 8>>(lds, a_42);
      r5[0] = __builtin_shufflevector(x_43, x_43, 0, 1, 2, 3);
      r5[1] = __builtin_shufflevector(x_43, x_43, 4, 5, 6, 7);
      const vec<f16, 8> x_44 = load_lds<vec<f16, 8>>(lds, a_42 + 4096u);
      r5[2] = __builtin_shufflevector(x_44, x_44, 0, 1, 2, 3);
      r5[3] = __builtin_shufflevector(x_44, x_44, 4, 5, 6, 7);
    }
    // @body/3/for/15 /launches/0/body/4/body/2
    {
      const vec<f16, 8> x_46 = load_lds<vec<f16, 8>>(lds, a_45 + 16384u);
      r6[0] = __builtin_shufflevector(x_46, x_46, 0, 1, 2, 3);
      r6[1] = __builtin_shufflevector(x_46, x_46, 4, 5, 6, 7);
      const vec<f16, 8> x_47 = load_lds<vec<f16, 8>>(lds, a_45 + 20480u);
      r6[2] = __builtin_shufflevector(x_47, x_47, 0, 1, 2, 3);
      r6[3] = __builtin_shufflevector(x_47, x_47, 4, 5, 6, 7);
    }
    // @body/3/for/16 /launches/0/body/4/body/2
    KILN_SCHED_FENCE(0);
    // @body/3/for/17 /launches/0/body/4/body/2
    r0[0] = mfma_f32_32x32x8f16(r8[0], r7[0], r0[0]);
    r0[1] = mfma_f32_32x32x8f16(r8[2], r7[0], r0[1]);
    r0[2] = mfma_f32_32x32x8f16(r8[0], r7[2], r0[2]);
    r0[3] = mfma_f32_32x32x8f16(r8[2], r7[2], r0[3]);
    r0[0] = mfma_f32_32x32x8f16(r8[1], r7[1], r0[0]);
    r0[1] = mfma_f32_32x32x8f16(r8[3], r7[1], r0[1]);
    r0[2] = mfma_f32_32x32x8f16(r8[1], r7[3], r0[2]);
    r0[3] = mfma_f32_32x32x8f16(r8[3], r7[3], r0[3]);
    // @body/3/for/18 /launches/0/body/4/body/2
    {
      const vec<f16, 8> x_49 = load_lds<vec<f16, 8>>(lds, a_48);
      r7[0] = __builtin_shufflevector(x_49, x_49, 0, 1, 2, 3);
      r7[1] = __builtin_shufflevector(x_49, x_49, 4, 5, 6, 7);
      const vec<f16, 8> x_50 = load_lds<vec<f16, 8>>(lds, a_48 + 4096u);
      r7[2] = __builtin_shufflevector(x_50, x_50, 0, 1, 2, 3);
      r7[3] = __builtin_shufflevector(x_50, x_50, 4, 5, 6, 7);
    }
    // @body/3/for/19 /launches/0/body/4/body/2
    {
      const vec<f16, 8> x_52 = load_lds<vec<f16, 8>>(lds, a_51 + 16384u);
      r8[0] = __builtin_shufflevector(x_52, x_52, 0, 1, 2, 3);
      r8[1] = __builtin_shufflevector(x_52, x_52, 4, 5, 6, 7);
      const vec<f16, 8> x_53 = load_lds<vec<f16, 8>>(lds, a_51 + 20480u);
      r8[2] = __builtin_shufflevector(x_53, x_53, 0, 1, 2, 3);
      r8[3] = __builtin_shufflevector(x_53, x_53, 4, 5, 6, 7);
    }
    // @body/3/for/20 /launches/0/body/4/body/2
    KILN_SCHED_FENCE(0);
    // @body/3/for/21 /launches/0/body/4/body/2
    r0[0] = mfma_f32_32x32x8f16(r6[0], r5[0], r0[0]);
    r0[1] = mfma_f32_32x32x8f16(r6[2], r5[0], r0[1]);
    r0[2] = mfma_f32_32x32x8f16(r6[0], r5[2], r0[2]);
    r0[3] = mfma_f32_32x32x8f16(r6[2], r5[2], r0[3]);
    r0[0] = mfma_f32_32x32x8f16(r6[1], r5[1], r0[0]);
    r0[1] = mfma_f32_32x32x8f16(r6[3], r5[1], r0[1]);
    r0[2] = mfma_f32_32x32x8f16(r6[1], r5[3], r0[2]);
    r0[3] = mfma_f32_32x32x8f16(r6[3], r5[3], r0[3]);
    // @body/3/for/22 /launches/0/body/4/body/2
    r0[0] = mfma_f32_32x32x8f16(r8[0], r7[0], r0[0]);
    r0[1] = mfma_f32_32x32x8f16(r8[2], r7[0], r0[1]);
    r0[2] = mfma_f32_32x32x8f16(r8[0], r7[2], r0[2]);
    r0[3] = mfma_f32_32x32x8f16(r8[2], r7[2], r0[3]);
    r0[0] = mfma_f32_32x32x8f16(r8[1], r7[1], r0[0]);
    r0[1] = mfma_f32_32x32x8f16(r8[3], r7[1], r0[1]);
    r0[2] = mfma_f32_32x32x8f16(r8[1], r7[3], r0[2]);
    r0[3] = mfma_f32_32x32x8f16(r8[3], r7[3], r0[3]);
  }
  // @body/4 /launches/0/body/9
  {
    r9[0][0] = (f16)(r0[0][0]);
    r9[0][1] = (f16)(r0[0][1]);
    r9[0][2] = (f16)(r0[0][2]);
    r9[0][3] = (f16)(r0[0][3]);
    r9[0][4] = (f16)(r0[0][4]);
    r9[0][5] = (f16)(r0[0][5]);
    r9[0][6] = (f16)(r0[0][6]);
    r9[0][7] = (f16)(r0[0][7]);
    r9[0][8] = (f16)(r0[0][8]);
    r9[0][9] = (f16)(r0[0][9]);
    r9[0][10] = (f16)(r0[0][10]);
    r9[0][11] = (f16)(r0[0][11]);
    r9[0][12] = (f16)(r0[0][12]);
    r9[0][13] = (f16)(r0[0][13]);
    r9[0][14] = (f16)(r0[0][14]);
    r9[0][15] = (f16)(r0[0][15]);
    r9[1][0] = (f16)(r0[1][0]);
    r9[1][1] = (f16)(r0[1][1]);
    r9[1][2] = (f16)(r0[1][2]);
    r9[1][3] = (f16)(r0[1][3]);
    r9[1][4] = (f16)(r0[1][4]);
    r9[1][5] = (f16)(r0[1][5]);
    r9[1][6] = (f16)(r0[1][6]);
    r9[1][7] = (f16)(r0[1][7]);
    r9[1][8] = (f16)(r0[1][8]);
    r9[1][9] = (f16)(r0[1][9]);
    r9[1][10] = (f16)(r0[1][10]);
    r9[1][11] = (f16)(r0[1][11]);
    r9[1][12] = (f16)(r0[1][12]);
    r9[1][13] = (f16)(r0[1][13]);
    r9[1][14] = (f16)(r0[1][14]);
    r9[1][15] = (f16)(r0[1][15]);
    r9[2][0] = (f16)(r0[2][0]);
    r9[2][1] = (f16)(r0[2][1]);
    r9[2][2] = (f16)(r0[2][2]);
    r9[2][3] = (f16)(r0[2][3]);
    r9[2][4] = (f16)(r0[2][4]);
    r9[2][5] = (f16)(r0[2][5]);
    r9[2][6] = (f16)(r0[2][6]);
    r9[2][7] = (f16)(r0[2][7]);
    r9[2][8] = (f16)(r0[2][8]);
    r9[2][9] = (f16)(r0[2][9]);
    r9[2][10] = (f16)(r0[2][10]);
    r9[2][11] = (f16)(r0[2][11]);
    r9[2][12] = (f16)(r0[2][12]);
    r9[2][13] = (f16)(r0[2][13]);
    r9[2][14] = (f16)(r0[2][14]);
    r9[2][15] = (f16)(r0[2][15]);
    r9[3][0] = (f16)(r0[3][0]);
    r9[3][1] = (f16)(r0[3][1]);
    r9[3][2] = (f16)(r0[3][2]);
    r9[3][3] = (f16)(r0[3][3]);
    r9[3][4] = (f16)(r0[3][4]);
    r9[3][5] = (f16)(r0[3][5]);
    r9[3][6] = (f16)(r0[3][6]);
    r9[3][7] = (f16)(r0[3][7]);
    r9[3][8] = (f16)(r0[3][8]);
    r9[3][9] = (f16)(r0[3][9]);
    r9[3][10] = (f16)(r0[3][10]);
    r9[3][11] = (f16)(r0[3][11]);
    r9[3][12] = (f16)(r0[3][12]);
    r9[3][13] = (f16)(r0[3][13]);
    r9[3][14] = (f16)(r0[3][14]);
    r9[3][15] = (f16)(r0[3][15]);
  }
  // @body/5 /launches/0/body/9
  {
    const i64 u_55 = (((by * 128) * 8192) + ((bx * 128) * 2));
    store_global<vec<f16, 4>, 8>(p2, u_55, l_54, __builtin_shufflevector(r9[0], r9[0], 0, 1, 2, 3));
    store_global<vec<f16, 4>, 8>(p2, u_55, l_54 + 16u, __builtin_shufflevector(r9[0], r9[0], 4, 5, 6, 7));
    store_global<vec<f16, 4>, 8>(p2, u_55, l_54 + 32u, __builtin_shufflevector(r9[0], r9[0], 8, 9, 10, 11));
    store_global<vec<f16, 4>, 8>(p2, u_55, l_54 + 48u, __builtin_shufflevector(r9[0], r9[0], 12, 13, 14, 15));
    store_global<vec<f16, 4>, 8>(p2, u_55, l_54 + 64u, __builtin_shufflevector(r9[1], r9[1], 0, 1, 2, 3));
    store_global<vec<f16, 4>, 8>(p2, u_55, l_54 + 80u, __builtin_shufflevector(r9[1], r9[1], 4, 5, 6, 7));
    store_global<vec<f16, 4>, 8>(p2, u_55, l_54 + 96u, __builtin_shufflevector(r9[1], r9[1], 8, 9, 10, 11));
    store_global<vec<f16, 4>, 8>(p2, u_55, l_54 + 112u, __builtin_shufflevector(r9[1], r9[1], 12, 13, 14, 15));
    store_global<vec<f16, 4>, 8>(p2, u_55, l_54 + 262144u, __builtin_shufflevector(r9[2], r9[2], 0, 1, 2, 3));
    store_global<vec<f16, 4>, 8>(p2, u_55, l_54 + 262160u, __builtin_shufflevector(r9[2], r9[2], 4, 5, 6, 7));
    store_global<vec<f16, 4>, 8>(p2, u_55, l_54 + 262176u, __builtin_shufflevector(r9[2], r9[2], 8, 9, 10, 11));
    store_global<vec<f16, 4>, 8>(p2, u_55, l_54 + 262192u, __builtin_shufflevector(r9[2], r9[2], 12, 13, 14, 15));
    store_global<vec<f16, 4>, 8>(p2, u_55, l_54 + 262208u, __builtin_shufflevector(r9[3], r9[3], 0, 1, 2, 3));
    store_global<vec<f16, 4>, 8>(p2, u_55, l_54 + 262224u, __builtin_shufflevector(r9[3], r9[3], 4, 5, 6, 7));
    store_global<vec<f16, 4>, 8>(p2, u_55, l_54 + 262240u, __builtin_shufflevector(r9[3], r9[3], 8, 9, 10, 11));
    store_global<vec<f16, 4>, 8>(p2, u_55, l_54 + 262256u, __builtin_shufflevector(r9[3], r9[3], 12, 13, 14, 15));
  }
}

}  // namespace kiln
