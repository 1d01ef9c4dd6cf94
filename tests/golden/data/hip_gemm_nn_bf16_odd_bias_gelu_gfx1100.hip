#include <kiln/kernel.hpp>
#pragma clang fp contract(off)

namespace kiln {

extern "C" KILN_KERNEL(256) void gemm_0(const void* __restrict__ p0, const void* __restrict__ p1, const void* __restrict__ p2, void* __restrict__ p3) {
  KILN_LDS(lds, 8192);
  const u32 thread = thread_id();
  const u32 lane = thread % 32u, wave = uniform(thread / 32u);
  const i32 bz = i32(block_id_z());
  const u32 dealt = block_id_x() + block_id_y() * 5u;
  const u32 grouped = dealt / 25u, within = dealt % 25u;
  const u32 first_row = grouped * 5u;
  const i32 bx = i32(within / 5u), by = i32(first_row + within % 5u);
  const u32 l_0 = lane * 2u + wave * 258u;
  const buffer b_1 = make_buffer(p0, 77400u);
  const u32 l_11 = lane * 2u + (wave & 3u) * 4112u + (wave >> 2) * 64u;
  const u32 l_12 = lane + (wave >> 2) * 32u;
  const buffer b_14 = make_buffer(p1, 66306u);
  const u32 l_26 = wave * 64u;
  const u32 l_27 = (lane * 2u) ^ ((wave >> 1) * 16u);
  const u32 a_28 = l_26 + l_27;
  const u32 l_29 = lane * 64u + (wave >> 2) * 2048u;
  const u32 l_30 = (((lane >> 1) & 3u) * 16u) ^ ((wave & 3u) * 16u);
  const u32 a_31 = l_29 + l_30;
  const u32 l_54 = (lane & 15u) * 64u + (wave >> 2) * 2048u;
  const u32 l_55 = ((lane >> 1) & 3u) * 16u;
  const u32 a_56 = l_54 + l_55;
  const u32 a_57 = l_54 + (l_55 ^ 16u);
  const u32 l_62 = (lane & 15u) * 64u + (wave & 3u) * 1024u;
  const u32 a_63 = l_62 + l_55;
  const u32 a_64 = l_62 + (l_55 ^ 16u);
  const u32 a_67 = l_54 + (l_55 ^ 32u);
  const u32 a_68 = l_54 + (l_55 ^ 48u);
  const u32 a_73 = l_62 + (l_55 ^ 32u);
  const u32 a_74 = l_62 + (l_55 ^ 48u);
  const u32 l_77 = (lane >> 4) * 2u + (wave & 3u) * 32u;
  const buffer b_78 = make_buffer(p2, 514u);
  const u32 l_88 = (lane & 15u) + (wave >> 2) * 32u;
  const u32 l_89 = (lane >> 4) + (wave & 3u) * 16u;
  const u32 l_90 = (lane & 15u) * 514u + (lane >> 4) * 2u + (wave & 3u) * 32u + (wave >> 2) * 16448u;
  const buffer b_93 = make_buffer(p3, 154200u);
  vec<f32, 8> r0[2];
  bf16 r1[8];
  bf16 r2[8];
  vec<bf16, 16> r5[2];
  vec<bf16, 16> r6[1];
  vec<bf16, 16> r7[2];
  vec<bf16, 16> r8[1];
  f32 r9[8];
  bf16 r10[8];
  vec<bf16, 8> r11[2];
  r0[0] = vec<f32, 8>(0x0p+0f);
  r0[1] = vec<f32, 8>(0x0p+0f);
  {
    const u32 u_2 = (u32)(((by * 64) * 258));
    const bf16 x_3 = load_buffer<bf16>(b_1, u_2, l_0);
    r1[0] = x_3;
    const bf16 x_4 = load_buffer<bf16>(b_1, u_2, l_0 + 2064u);
    r1[1] = x_4;
    const bf16 x_5 = load_buffer<bf16>(b_1, u_2, l_0 + 4128u);
    r1[2] = x_5;
    const bf16 x_6 = load_buffer<bf16>(b_1, u_2, l_0 + 6192u);
    r1[3] = x_6;
    const bf16 x_7 = load_buffer<bf16>(b_1, u_2, l_0 + 8256u);
    r1[4] = x_7;
    const bf16 x_8 = load_buffer<bf16>(b_1, u_2, l_0 + 10320u);
    r1[5] = x_8;
    const bf16 x_9 = load_buffer<bf16>(b_1, u_2, l_0 + 12384u);
    r1[6] = x_9;
    const bf16 x_10 = load_buffer<bf16>(b_1, u_2, l_0 + 14448u);
    r1[7] = x_10;
  }
  {
    const i32 i_13 = (bx * 64) + (i32)(l_12);
    const u32 u_15 = (u32)(((bx * 64) * 2));
    const bool m_17 = (u32)(i_13) < 257u;
    const bf16 x_16 = load_buffer<bf16>(b_14, u_15, m_17 ? l_11 : buffer_outside);
    r2[0] = x_16;
    const bf16 x_18 = load_buffer<bf16>(b_14, u_15, m_17 ? l_11 + 514u : buffer_outside);
    r2[1] = x_18;
    const bf16 x_19 = load_buffer<bf16>(b_14, u_15, m_17 ? l_11 + 1028u : buffer_outside);
    r2[2] = x_19;
    const bf16 x_20 = load_buffer<bf16>(b_14, u_15, m_17 ? l_11 + 1542u : buffer_outside);
    r2[3] = x_20;
    const bf16 x_21 = load_buffer<bf16>(b_14, u_15, m_17 ? l_11 + 2056u : buffer_outside);
    r2[4] = x_21;
    const bf16 x_22 = load_buffer<bf16>(b_14, u_15, m_17 ? l_11 + 2570u : buffer_outside);
    r2[5] = x_22;
    const bf16 x_23 = load_buffer<bf16>(b_14, u_15, m_17 ? l_11 + 3084u : buffer_outside);
    r2[6] = x_23;
    const bf16 x_24 = load_buffer<bf16>(b_14, u_15, m_17 ? l_11 + 3598u : buffer_outside);
    r2[7] = x_24;
  }
  const i32 e_25 = 129;
  #pragma clang loop unroll(disable)
  for (i32 v0 = 0; v0 < e_25; v0 += 32) {
    barrier();
    {
      store_lds<bf16>(lds, a_28, r1[0]);
      store_lds<bf16>(lds, a_28 + 512u, r1[1]);
      store_lds<bf16>(lds, a_28 + 1024u, r1[2]);
      store_lds<bf16>(lds, a_28 + 1536u, r1[3]);
      store_lds<bf16>(lds, a_28 + 2048u, r1[4]);
      store_lds<bf16>(lds, a_28 + 2560u, r1[5]);
      store_lds<bf16>(lds, a_28 + 3072u, r1[6]);
      store_lds<bf16>(lds, a_28 + 3584u, r1[7]);
    }
    {
      store_lds<vec<bf16, 8>>(lds, a_31 + 4096u, vec<bf16, 8>{r2[0], r2[1], r2[2], r2[3], r2[4], r2[5], r2[6], r2[7]});
    }
    barrier();
    const i32 v6 = smaller<i32>((v0 + 32), 128);
    {
      const i32 i_32 = v6 + (i32)(lane);
      const u32 u_33 = (u32)((((by * 64) * 258) + (v6 * 2)));
      const bool m_35 = (u32)(i_32) < 129u;
      const bf16 x_34 = load_buffer<bf16>(b_1, u_33, m_35 ? l_0 : buffer_outside);
      r1[0] = x_34;
      const bf16 x_36 = load_buffer<bf16>(b_1, u_33, m_35 ? l_0 + 2064u : buffer_outside);
      r1[1] = x_36;
      const bf16 x_37 = load_buffer<bf16>(b_1, u_33, m_35 ? l_0 + 4128u : buffer_outside);
      r1[2] = x_37;
      const bf16 x_38 = load_buffer<bf16>(b_1, u_33, m_35 ? l_0 + 6192u : buffer_outside);
      r1[3] = x_38;
      const bf16 x_39 = load_buffer<bf16>(b_1, u_33, m_35 ? l_0 + 8256u : buffer_outside);
      r1[4] = x_39;
      const bf16 x_40 = load_buffer<bf16>(b_1, u_33, m_35 ? l_0 + 10320u : buffer_outside);
      r1[5] = x_40;
      const bf16 x_41 = load_buffer<bf16>(b_1, u_33, m_35 ? l_0 + 12384u : buffer_outside);
      r1[6] = x_41;
      const bf16 x_42 = load_buffer<bf16>(b_1, u_33, m_35 ? l_0 + 14448u : buffer_outside);
      r1[7] = x_42;
    }
    {
      const i32 i_43 = (bx * 64) + (i32)(l_12);
      const u32 u_44 = (u32)(((v6 * 514) + ((bx * 64) * 2)));
      const bool m_46 = (u32)(i_43) < 257u;
      const bf16 x_45 = load_buffer<bf16>(b_14, u_44, m_46 ? l_11 : buffer_outside);
      r2[0] = x_45;
      const bf16 x_47 = load_buffer<bf16>(b_14, u_44, m_46 ? l_11 + 514u : buffer_outside);
      r2[1] = x_47;
      const bf16 x_48 = load_buffer<bf16>(b_14, u_44, m_46 ? l_11 + 1028u : buffer_outside);
      r2[2] = x_48;
      const bf16 x_49 = load_buffer<bf16>(b_14, u_44, m_46 ? l_11 + 1542u : buffer_outside);
      r2[3] = x_49;
      const bf16 x_50 = load_buffer<bf16>(b_14, u_44, m_46 ? l_11 + 2056u : buffer_outside);
      r2[4] = x_50;
      const bf16 x_51 = load_buffer<bf16>(b_14, u_44, m_46 ? l_11 + 2570u : buffer_outside);
      r2[5] = x_51;
      const bf16 x_52 = load_buffer<bf16>(b_14, u_44, m_46 ? l_11 + 3084u : buffer_outside);
      r2[6] = x_52;
      const bf16 x_53 = load_buffer<bf16>(b_14, u_44, m_46 ? l_11 + 3598u : buffer_outside);
      r2[7] = x_53;
    }
    KILN_SCHED_FENCE(0);
    {
      const vec<bf16, 8> x_58 = load_lds<vec<bf16, 8>>(lds, a_56);
      r5[0][0] = x_58[0];
      r5[0][1] = x_58[1];
      r5[0][2] = x_58[2];
      r5[0][3] = x_58[3];
      r5[0][4] = x_58[4];
      r5[0][5] = x_58[5];
      r5[0][6] = x_58[6];
      r5[0][7] = x_58[7];
      const vec<bf16, 8> x_59 = load_lds<vec<bf16, 8>>(lds, a_57);
      r5[0][8] = x_59[0];
      r5[0][9] = x_59[1];
      r5[0][10] = x_59[2];
      r5[0][11] = x_59[3];
      r5[0][12] = x_59[4];
      r5[0][13] = x_59[5];
      r5[0][14] = x_59[6];
      r5[0][15] = x_59[7];
      const vec<bf16, 8> x_60 = load_lds<vec<bf16, 8>>(lds, a_56 + 1024u);
      r5[1][0] = x_60[0];
      r5[1][1] = x_60[1];
      r5[1][2] = x_60[2];
      r5[1][3] = x_60[3];
      r5[1][4] = x_60[4];
      r5[1][5] = x_60[5];
      r5[1][6] = x_60[6];
      r5[1][7] = x_60[7];
      const vec<bf16, 8> x_61 = load_lds<vec<bf16, 8>>(lds, a_57 + 1024u);
      r5[1][8] = x_61[0];
      r5[1][9] = x_61[1];
      r5[1][10] = x_61[2];
      r5[1][11] = x_61[3];
      r5[1][12] = x_61[4];
      r5[1][13] = x_61[5];
      r5[1][14] = x_61[6];
      r5[1][15] = x_61[7];
    }
    {
      const vec<bf16, 8> x_65 = load_lds<vec<bf16, 8>>(lds, a_63 + 4096u);
      r6[0][0] = x_65[0];
      r6[0][1] = x_65[1];
      r6[0][2] = x_65[2];
      r6[0][3] = x_65[3];
      r6[0][4] = x_65[4];
      r6[0][5] = x_65[5];
      r6[0][6] = x_65[6];
      r6[0][7] = x_65[7];
      const vec<bf16, 8> x_66 = load_lds<vec<bf16, 8>>(lds, a_64 + 4096u);
      r6[0][8] = x_66[0];
      r6[0][9] = x_66[1];
      r6[0][10] = x_66[2];
      r6[0][11] = x_66[3];
      r6[0][12] = x_66[4];
      r6[0][13] = x_66[5];
      r6[0][14] = x_66[6];
      r6[0][15] = x_66[7];
    }
    {
      const vec<bf16, 8> x_69 = load_lds<vec<bf16, 8>>(lds, a_67);
      r7[0][0] = x_69[0];
      r7[0][1] = x_69[1];
      r7[0][2] = x_69[2];
      r7[0][3] = x_69[3];
      r7[0][4] = x_69[4];
      r7[0][5] = x_69[5];
      r7[0][6] = x_69[6];
      r7[0][7] = x_69[7];
      const vec<bf16, 8> x_70 = load_lds<vec<bf16, 8>>(lds, a_68);
      r7[0][8] = x_70[0];
      r7[0][9] = x_70[1];
      r7[0][10] = x_70[2];
      r7[0][11] = x_70[3];
      r7[0][12] = x_70[4];
      r7[0][13] = x_70[5];
      r7[0][14] = x_70[6];
      r7[0][15] = x_70[7];
      const vec<bf16, 8> x_71 = load_lds<vec<bf16, 8>>(lds, a_67 + 1024u);
      r7[1][0] = x_71[0];
      r7[1][1] = x_71[1];
      r7[1][2] = x_71[2];
      r7[1][3] = x_71[3];
      r7[1][4] = x_71[4];
      r7[1][5] = x_71[5];
      r7[1][6] = x_71[6];
      r7[1][7] = x_71[7];
      const vec<bf16, 8> x_72 = load_lds<vec<bf16, 8>>(lds, a_68 + 1024u);
      r7[1][8] = x_72[0];
      r7[1][9] = x_72[1];
      r7[1][10] = x_72[2];
      r7[1][11] = x_72[3];
      r7[1][12] = x_72[4];
      r7[1][13] = x_72[5];
      r7[1][14] = x_72[6];
      r7[1][15] = x_72[7];
    }
    {
      const vec<bf16, 8> x_75 = load_lds<vec<bf16, 8>>(lds, a_73 + 4096u);
      r8[0][0] = x_75[0];
      r8[0][1] = x_75[1];
      r8[0][2] = x_75[2];
      r8[0][3] = x_75[3];
      r8[0][4] = x_75[4];
      r8[0][5] = x_75[5];
      r8[0][6] = x_75[6];
      r8[0][7] = x_75[7];
      const vec<bf16, 8> x_76 = load_lds<vec<bf16, 8>>(lds, a_74 + 4096u);
      r8[0][8] = x_76[0];
      r8[0][9] = x_76[1];
      r8[0][10] = x_76[2];
      r8[0][11] = x_76[3];
      r8[0][12] = x_76[4];
      r8[0][13] = x_76[5];
      r8[0][14] = x_76[6];
      r8[0][15] = x_76[7];
    }
    KILN_SCHED_FENCE(0);
    r0[0] = wmma_f32_16x16x16_bf16_w32(r6[0], r5[0], r0[0]);
    r0[1] = wmma_f32_16x16x16_bf16_w32(r6[0], r5[1], r0[1]);
    r0[0] = wmma_f32_16x16x16_bf16_w32(r8[0], r7[0], r0[0]);
    r0[1] = wmma_f32_16x16x16_bf16_w32(r8[0], r7[1], r0[1]);
  }
  {
    const u32 u_79 = (u32)(((bx * 64) * 2));
    const bf16 x_80 = load_buffer<bf16>(b_78, u_79, l_77);
    r10[0] = x_80;
    const bf16 x_81 = load_buffer<bf16>(b_78, u_79, l_77 + 4u);
    r10[1] = x_81;
    const bf16 x_82 = load_buffer<bf16>(b_78, u_79, l_77 + 8u);
    r10[2] = x_82;
    const bf16 x_83 = load_buffer<bf16>(b_78, u_79, l_77 + 12u);
    r10[3] = x_83;
    const bf16 x_84 = load_buffer<bf16>(b_78, u_79, l_77 + 16u);
    r10[4] = x_84;
    const bf16 x_85 = load_buffer<bf16>(b_78, u_79, l_77 + 20u);
    r10[5] = x_85;
    const bf16 x_86 = load_buffer<bf16>(b_78, u_79, l_77 + 24u);
    r10[6] = x_86;
    const bf16 x_87 = load_buffer<bf16>(b_78, u_79, l_77 + 28u);
    r10[7] = x_87;
  }
  {
    r9[0] = from_bf16(r10[0]);
    r9[1] = from_bf16(r10[1]);
    r9[2] = from_bf16(r10[2]);
    r9[3] = from_bf16(r10[3]);
    r9[4] = from_bf16(r10[4]);
    r9[5] = from_bf16(r10[5]);
    r9[6] = from_bf16(r10[6]);
    r9[7] = from_bf16(r10[7]);
  }
  {
    r0[0][0] = (r0[0][0] + r9[0]);
  }
  {
    r0[0][1] = (r0[0][1] + r9[1]);
  }
  {
    r0[0][2] = (r0[0][2] + r9[2]);
  }
  {
    r0[0][3] = (r0[0][3] + r9[3]);
  }
  {
    r0[0][4] = (r0[0][4] + r9[4]);
  }
  {
    r0[0][5] = (r0[0][5] + r9[5]);
  }
  {
    r0[0][6] = (r0[0][6] + r9[6]);
  }
  {
    r0[0][7] = (r0[0][7] + r9[7]);
  }
  {
    r0[1][0] = (r0[1][0] + r9[0]);
  }
  {
    r0[1][1] = (r0[1][1] + r9[1]);
  }
  {
    r0[1][2] = (r0[1][2] + r9[2]);
  }
  {
    r0[1][3] = (r0[1][3] + r9[3]);
  }
  {
    r0[1][4] = (r0[1][4] + r9[4]);
  }
  {
    r0[1][5] = (r0[1][5] + r9[5]);
  }
  {
    r0[1][6] = (r0[1][6] + r9[6]);
  }
  {
    r0[1][7] = (r0[1][7] + r9[7]);
  }
  {
    const f32 v5 = r0[0][0];
    r0[0][0] = ((0x1p-1f * v5) * (0x1p+0f + erf_f32((v5 * 0x1.6a09e6p-1f))));
  }
  {
    const f32 v5 = r0[0][1];
    r0[0][1] = ((0x1p-1f * v5) * (0x1p+0f + erf_f32((v5 * 0x1.6a09e6p-1f))));
  }
  {
    const f32 v5 = r0[0][2];
    r0[0][2] = ((0x1p-1f * v5) * (0x1p+0f + erf_f32((v5 * 0x1.6a09e6p-1f))));
  }
  {
    const f32 v5 = r0[0][3];
    r0[0][3] = ((0x1p-1f * v5) * (0x1p+0f + erf_f32((v5 * 0x1.6a09e6p-1f))));
  }
  {
    const f32 v5 = r0[0][4];
    r0[0][4] = ((0x1p-1f * v5) * (0x1p+0f + erf_f32((v5 * 0x1.6a09e6p-1f))));
  }
  {
    const f32 v5 = r0[0][5];
    r0[0][5] = ((0x1p-1f * v5) * (0x1p+0f + erf_f32((v5 * 0x1.6a09e6p-1f))));
  }
  {
    const f32 v5 = r0[0][6];
    r0[0][6] = ((0x1p-1f * v5) * (0x1p+0f + erf_f32((v5 * 0x1.6a09e6p-1f))));
  }
  {
    const f32 v5 = r0[0][7];
    r0[0][7] = ((0x1p-1f * v5) * (0x1p+0f + erf_f32((v5 * 0x1.6a09e6p-1f))));
  }
  {
    const f32 v5 = r0[1][0];
    r0[1][0] = ((0x1p-1f * v5) * (0x1p+0f + erf_f32((v5 * 0x1.6a09e6p-1f))));
  }
  {
    const f32 v5 = r0[1][1];
    r0[1][1] = ((0x1p-1f * v5) * (0x1p+0f + erf_f32((v5 * 0x1.6a09e6p-1f))));
  }
  {
    const f32 v5 = r0[1][2];
    r0[1][2] = ((0x1p-1f * v5) * (0x1p+0f + erf_f32((v5 * 0x1.6a09e6p-1f))));
  }
  {
    const f32 v5 = r0[1][3];
    r0[1][3] = ((0x1p-1f * v5) * (0x1p+0f + erf_f32((v5 * 0x1.6a09e6p-1f))));
  }
  {
    const f32 v5 = r0[1][4];
    r0[1][4] = ((0x1p-1f * v5) * (0x1p+0f + erf_f32((v5 * 0x1.6a09e6p-1f))));
  }
  {
    const f32 v5 = r0[1][5];
    r0[1][5] = ((0x1p-1f * v5) * (0x1p+0f + erf_f32((v5 * 0x1.6a09e6p-1f))));
  }
  {
    const f32 v5 = r0[1][6];
    r0[1][6] = ((0x1p-1f * v5) * (0x1p+0f + erf_f32((v5 * 0x1.6a09e6p-1f))));
  }
  {
    const f32 v5 = r0[1][7];
    r0[1][7] = ((0x1p-1f * v5) * (0x1p+0f + erf_f32((v5 * 0x1.6a09e6p-1f))));
  }
  {
    r11[0][0] = to_bf16((f32)(r0[0][0]));
    r11[0][1] = to_bf16((f32)(r0[0][1]));
    r11[0][2] = to_bf16((f32)(r0[0][2]));
    r11[0][3] = to_bf16((f32)(r0[0][3]));
    r11[0][4] = to_bf16((f32)(r0[0][4]));
    r11[0][5] = to_bf16((f32)(r0[0][5]));
    r11[0][6] = to_bf16((f32)(r0[0][6]));
    r11[0][7] = to_bf16((f32)(r0[0][7]));
    r11[1][0] = to_bf16((f32)(r0[1][0]));
    r11[1][1] = to_bf16((f32)(r0[1][1]));
    r11[1][2] = to_bf16((f32)(r0[1][2]));
    r11[1][3] = to_bf16((f32)(r0[1][3]));
    r11[1][4] = to_bf16((f32)(r0[1][4]));
    r11[1][5] = to_bf16((f32)(r0[1][5]));
    r11[1][6] = to_bf16((f32)(r0[1][6]));
    r11[1][7] = to_bf16((f32)(r0[1][7]));
  }
  {
    const i32 i_91 = (by * 64) + (i32)(l_88);
    const i32 i_92 = (bx * 64) + (i32)(l_89);
    const u32 u_94 = (u32)((((by * 64) * 514) + ((bx * 64) * 2)));
    const bool m_95 = (u32)(i_91) < 300u && (u32)(i_92) < 257u;
    store_buffer<bf16>(b_93, u_94, m_95 ? l_90 : buffer_outside, r11[0][0]);
    const bool m_96 = (u32)(i_91) < 300u && (u32)(i_92 + 2) < 257u;
    store_buffer<bf16>(b_93, u_94, m_96 ? l_90 + 4u : buffer_outside, r11[0][1]);
    const bool m_97 = (u32)(i_91) < 300u && (u32)(i_92 + 4) < 257u;
    store_buffer<bf16>(b_93, u_94, m_97 ? l_90 + 8u : buffer_outside, r11[0][2]);
    const bool m_98 = (u32)(i_91) < 300u && (u32)(i_92 + 6) < 257u;
    store_buffer<bf16>(b_93, u_94, m_98 ? l_90 + 12u : buffer_outside, r11[0][3]);
    const bool m_99 = (u32)(i_91) < 300u && (u32)(i_92 + 8) < 257u;
    store_buffer<bf16>(b_93, u_94, m_99 ? l_90 + 16u : buffer_outside, r11[0][4]);
    const bool m_100 = (u32)(i_91) < 300u && (u32)(i_92 + 10) < 257u;
    store_buffer<bf16>(b_93, u_94, m_100 ? l_90 + 20u : buffer_outside, r11[0][5]);
    const bool m_101 = (u32)(i_91) < 300u && (u32)(i_92 + 12) < 257u;
    store_buffer<bf16>(b_93, u_94, m_101 ? l_90 + 24u : buffer_outside, r11[0][6]);
    const bool m_102 = (u32)(i_91) < 300u && (u32)(i_92 + 14) < 257u;
    store_buffer<bf16>(b_93, u_94, m_102 ? l_90 + 28u : buffer_outside, r11[0][7]);
    const bool m_103 = (u32)(i_91 + 16) < 300u && (u32)(i_92) < 257u;
    store_buffer<bf16>(b_93, u_94, m_103 ? l_90 + 8224u : buffer_outside, r11[1][0]);
    const bool m_104 = (u32)(i_91 + 16) < 300u && (u32)(i_92 + 2) < 257u;
    store_buffer<bf16>(b_93, u_94, m_104 ? l_90 + 8228u : buffer_outside, r11[1][1]);
    const bool m_105 = (u32)(i_91 + 16) < 300u && (u32)(i_92 + 4) < 257u;
    store_buffer<bf16>(b_93, u_94, m_105 ? l_90 + 8232u : buffer_outside, r11[1][2]);
    const bool m_106 = (u32)(i_91 + 16) < 300u && (u32)(i_92 + 6) < 257u;
    store_buffer<bf16>(b_93, u_94, m_106 ? l_90 + 8236u : buffer_outside, r11[1][3]);
    const bool m_107 = (u32)(i_91 + 16) < 300u && (u32)(i_92 + 8) < 257u;
    store_buffer<bf16>(b_93, u_94, m_107 ? l_90 + 8240u : buffer_outside, r11[1][4]);
    const bool m_108 = (u32)(i_91 + 16) < 300u && (u32)(i_92 + 10) < 257u;
    store_buffer<bf16>(b_93, u_94, m_108 ? l_90 + 8244u : buffer_outside, r11[1][5]);
    const bool m_109 = (u32)(i_91 + 16) < 300u && (u32)(i_92 + 12) < 257u;
    store_buffer<bf16>(b_93, u_94, m_109 ? l_90 + 8248u : buffer_outside, r11[1][6]);
    const bool m_110 = (u32)(i_91 + 16) < 300u && (u32)(i_92 + 14) < 257u;
    store_buffer<bf16>(b_93, u_94, m_110 ? l_90 + 8252u : buffer_outside, r11[1][7]);
  }
}

}  // namespace kiln
