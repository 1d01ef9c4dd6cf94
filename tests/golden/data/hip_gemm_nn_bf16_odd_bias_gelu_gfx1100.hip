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
  const buffer b_2 = make_buffer(p0, 77400u);
  const u32 l_20 = lane * 2u + (wave & 3u) * 4112u + (wave >> 2) * 64u;
  const u32 l_21 = lane + (wave >> 2) * 32u;
  const buffer b_23 = make_buffer(p1, 66306u);
  const u32 l_35 = wave * 64u;
  const u32 l_36 = (lane * 2u) ^ ((wave >> 1) * 16u);
  const u32 a_37 = l_35 + l_36;
  const u32 l_38 = lane * 64u + (wave >> 2) * 2048u;
  const u32 l_39 = (((lane >> 1) & 3u) * 16u) ^ ((wave & 3u) * 16u);
  const u32 a_40 = l_38 + l_39;
  const u32 l_60 = (wave & 3u) * 8u;
  const u32 l_80 = (lane & 15u) * 64u + (wave >> 2) * 2048u;
  const u32 l_81 = ((lane >> 1) & 3u) * 16u;
  const u32 a_82 = l_80 + l_81;
  const u32 a_83 = l_80 + (l_81 ^ 16u);
  const u32 l_88 = (lane & 15u) * 64u + (wave & 3u) * 1024u;
  const u32 a_89 = l_88 + l_81;
  const u32 a_90 = l_88 + (l_81 ^ 16u);
  const u32 a_93 = l_80 + (l_81 ^ 32u);
  const u32 a_94 = l_80 + (l_81 ^ 48u);
  const u32 a_99 = l_88 + (l_81 ^ 32u);
  const u32 a_100 = l_88 + (l_81 ^ 48u);
  const u32 l_103 = (lane >> 4) * 2u + (wave & 3u) * 32u;
  const u32 l_104 = (lane >> 4) + (wave & 3u) * 16u;
  const buffer b_106 = make_buffer(p2, 514u);
  const u32 l_124 = (lane & 15u) + (wave >> 2) * 32u;
  const u32 l_125 = (lane & 15u) * 514u + (lane >> 4) * 2u + (wave & 3u) * 32u + (wave >> 2) * 16448u;
  const buffer b_128 = make_buffer(p3, 154200u);
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
  // @body/0 /launches/0/body/3
  r0[0] = vec<f32, 8>(0x0p+0f);
  r0[1] = vec<f32, 8>(0x0p+0f);
  // @body/1 /launches/0/body/4/body/0
  {
    const i32 i_1 = (by * 64) + (i32)(wave);
    const u32 u_3 = (u32)(((by * 64) * 258));
    const bool m_5 = (u32)(i_1) < 300u;
    const bf16 x_4 = load_buffer<bf16>(b_2, u_3, m_5 ? l_0 : buffer_outside);
    r1[0] = x_4;
    const bool m_7 = (u32)(i_1 + 8) < 300u;
    const bf16 x_6 = load_buffer<bf16>(b_2, u_3, m_7 ? l_0 + 2064u : buffer_outside);
    r1[1] = x_6;
    const bool m_9 = (u32)(i_1 + 16) < 300u;
    const bf16 x_8 = load_buffer<bf16>(b_2, u_3, m_9 ? l_0 + 4128u : buffer_outside);
    r1[2] = x_8;
    const bool m_11 = (u32)(i_1 + 24) < 300u;
    const bf16 x_10 = load_buffer<bf16>(b_2, u_3, m_11 ? l_0 + 6192u : buffer_outside);
    r1[3] = x_10;
    const bool m_13 = (u32)(i_1 + 32) < 300u;
    const bf16 x_12 = load_buffer<bf16>(b_2, u_3, m_13 ? l_0 + 8256u : buffer_outside);
    r1[4] = x_12;
    const bool m_15 = (u32)(i_1 + 40) < 300u;
    const bf16 x_14 = load_buffer<bf16>(b_2, u_3, m_15 ? l_0 + 10320u : buffer_outside);
    r1[5] = x_14;
    const bool m_17 = (u32)(i_1 + 48) < 300u;
    const bf16 x_16 = load_buffer<bf16>(b_2, u_3, m_17 ? l_0 + 12384u : buffer_outside);
    r1[6] = x_16;
    const bool m_19 = (u32)(i_1 + 56) < 300u;
    const bf16 x_18 = load_buffer<bf16>(b_2, u_3, m_19 ? l_0 + 14448u : buffer_outside);
    r1[7] = x_18;
  }
  // @body/2 /launches/0/body/4/body/1
  {
    const i32 i_22 = (bx * 64) + (i32)(l_21);
    const u32 u_24 = (u32)(((bx * 64) * 2));
    const bool m_26 = (u32)(i_22) < 257u;
    const bf16 x_25 = load_buffer<bf16>(b_23, u_24, m_26 ? l_20 : buffer_outside);
    r2[0] = x_25;
    const bf16 x_27 = load_buffer<bf16>(b_23, u_24, m_26 ? l_20 + 514u : buffer_outside);
    r2[1] = x_27;
    const bf16 x_28 = load_buffer<bf16>(b_23, u_24, m_26 ? l_20 + 1028u : buffer_outside);
    r2[2] = x_28;
    const bf16 x_29 = load_buffer<bf16>(b_23, u_24, m_26 ? l_20 + 1542u : buffer_outside);
    r2[3] = x_29;
    const bf16 x_30 = load_buffer<bf16>(b_23, u_24, m_26 ? l_20 + 2056u : buffer_outside);
    r2[4] = x_30;
    const bf16 x_31 = load_buffer<bf16>(b_23, u_24, m_26 ? l_20 + 2570u : buffer_outside);
    r2[5] = x_31;
    const bf16 x_32 = load_buffer<bf16>(b_23, u_24, m_26 ? l_20 + 3084u : buffer_outside);
    r2[6] = x_32;
    const bf16 x_33 = load_buffer<bf16>(b_23, u_24, m_26 ? l_20 + 3598u : buffer_outside);
    r2[7] = x_33;
  }
  // @body/3 /launches/0/body/4/body/2
  const i32 e_34 = 129;
  #pragma clang loop unroll(disable)
  for (i32 v0 = 0; v0 < e_34; v0 += 32) {
    // @body/3/for/0 /launches/0/body/4/body/0
    barrier();
    // @body/3/for/1 /launches/0/body/4/body/0
    {
      store_lds<bf16>(lds, a_37, r1[0]);
      store_lds<bf16>(lds, a_37 + 512u, r1[1]);
      store_lds<bf16>(lds, a_37 + 1024u, r1[2]);
      store_lds<bf16>(lds, a_37 + 1536u, r1[3]);
      store_lds<bf16>(lds, a_37 + 2048u, r1[4]);
      store_lds<bf16>(lds, a_37 + 2560u, r1[5]);
      store_lds<bf16>(lds, a_37 + 3072u, r1[6]);
      store_lds<bf16>(lds, a_37 + 3584u, r1[7]);
    }
    // @body/3/for/2 /launches/0/body/4/body/1
    {
      store_lds<vec<bf16, 8>>(lds, a_40 + 4096u, vec<bf16, 8>{r2[0], r2[1], r2[2], r2[3], r2[4], r2[5], r2[6], r2[7]});
    }
    // @body/3/for/3 /launches/0/body/4/body/2
    barrier();
    // @body/3/for/4 /launches/0/body/4/body/1
    const i32 v6 = smaller<i32>((v0 + 32), 128);
    // @body/3/for/5 /launches/0/body/4/body/0
    {
      const i32 i_41 = (by * 64) + (i32)(wave);
      const i32 i_42 = v6 + (i32)(lane);
      const u32 u_43 = (u32)((((by * 64) * 258) + (v6 * 2)));
      const bool m_45 = (u32)(i_41) < 300u && (u32)(i_42) < 129u;
      const bf16 x_44 = load_buffer<bf16>(b_2, u_43, m_45 ? l_0 : buffer_outside);
      r1[0] = x_44;
      const bool m_47 = (u32)(i_41 + 8) < 300u && (u32)(i_42) < 129u;
      const bf16 x_46 = load_buffer<bf16>(b_2, u_43, m_47 ? l_0 + 2064u : buffer_outside);
      r1[1] = x_46;
      const bool m_49 = (u32)(i_41 + 16) < 300u && (u32)(i_42) < 129u;
      const bf16 x_48 = load_buffer<bf16>(b_2, u_43, m_49 ? l_0 + 4128u : buffer_outside);
      r1[2] = x_48;
      const bool m_51 = (u32)(i_41 + 24) < 300u && (u32)(i_42) < 129u;
      const bf16 x_50 = load_buffer<bf16>(b_2, u_43, m_51 ? l_0 + 6192u : buffer_outside);
      r1[3] = x_50;
      const bool m_53 = (u32)(i_41 + 32) < 300u && (u32)(i_42) < 129u;
      const bf16 x_52 = load_buffer<bf16>(b_2, u_43, m_53 ? l_0 + 8256u : buffer_outside);
      r1[4] = x_52;
      const bool m_55 = (u32)(i_41 + 40) < 300u && (u32)(i_42) < 129u;
      const bf16 x_54 = load_buffer<bf16>(b_2, u_43, m_55 ? l_0 + 10320u : buffer_outside);
      r1[5] = x_54;
      const bool m_57 = (u32)(i_41 + 48) < 300u && (u32)(i_42) < 129u;
      const bf16 x_56 = load_buffer<bf16>(b_2, u_43, m_57 ? l_0 + 12384u : buffer_outside);
      r1[6] = x_56;
      const bool m_59 = (u32)(i_41 + 56) < 300u && (u32)(i_42) < 129u;
      const bf16 x_58 = load_buffer<bf16>(b_2, u_43, m_59 ? l_0 + 14448u : buffer_outside);
      r1[7] = x_58;
    }
    // @body/3/for/6 /launches/0/body/4/body/1
    {
      const i32 i_61 = v6 + (i32)(l_60);
      const i32 i_62 = (bx * 64) + (i32)(l_21);
      const u32 u_63 = (u32)(((v6 * 514) + ((bx * 64) * 2)));
      const bool m_65 = (u32)(i_61) < 129u && (u32)(i_62) < 257u;
      const bf16 x_64 = load_buffer<bf16>(b_23, u_63, m_65 ? l_20 : buffer_outside);
      r2[0] = x_64;
      const bool m_67 = (u32)(i_61 + 1) < 129u && (u32)(i_62) < 257u;
      const bf16 x_66 = load_buffer<bf16>(b_23, u_63, m_67 ? l_20 + 514u : buffer_outside);
      r2[1] = x_66;
      const bool m_69 = (u32)(i_61 + 2) < 129u && (u32)(i_62) < 257u;
      const bf16 x_68 = load_buffer<bf16>(b_23, u_63, m_69 ? l_20 + 1028u : buffer_outside);
      r2[2] = x_68;
      const bool m_71 = (u32)(i_61 + 3) < 129u && (u32)(i_62) < 257u;
      const bf16 x_70 = load_buffer<bf16>(b_23, u_63, m_71 ? l_20 + 1542u : buffer_outside);
      r2[3] = x_70;
      const bool m_73 = (u32)(i_61 + 4) < 129u && (u32)(i_62) < 257u;
      const bf16 x_72 = load_buffer<bf16>(b_23, u_63, m_73 ? l_20 + 2056u : buffer_outside);
      r2[4] = x_72;
      const bool m_75 = (u32)(i_61 + 5) < 129u && (u32)(i_62) < 257u;
      const bf16 x_74 = load_buffer<bf16>(b_23, u_63, m_75 ? l_20 + 2570u : buffer_outside);
      r2[5] = x_74;
      const bool m_77 = (u32)(i_61 + 6) < 129u && (u32)(i_62) < 257u;
      const bf16 x_76 = load_buffer<bf16>(b_23, u_63, m_77 ? l_20 + 3084u : buffer_outside);
      r2[6] = x_76;
      const bool m_79 = (u32)(i_61 + 7) < 129u && (u32)(i_62) < 257u;
      const bf16 x_78 = load_buffer<bf16>(b_23, u_63, m_79 ? l_20 + 3598u : buffer_outside);
      r2[7] = x_78;
    }
    // @body/3/for/7 /launches/0/body/4/body/1
    KILN_SCHED_FENCE(0);
    // @body/3/for/8 /launches/0/body/4/body/2
    {
      const vec<bf16, 8> x_84 = load_lds<vec<bf16, 8>>(lds, a_82);
      r5[0][0] = x_84[0];
      r5[0][1] = x_84[1];
      r5[0][2] = x_84[2];
      r5[0][3] = x_84[3];
      r5[0][4] = x_84[4];
      r5[0][5] = x_84[5];
      r5[0][6] = x_84[6];
      r5[0][7] = x_84[7];
      const vec<bf16, 8> x_85 = load_lds<vec<bf16, 8>>(lds, a_83);
      r5[0][8] = x_85[0];
      r5[0][9] = x_85[1];
      r5[0][10] = x_85[2];
      r5[0][11] = x_85[3];
      r5[0][12] = x_85[4];
      r5[0][13] = x_85[5];
      r5[0][14] = x_85[6];
      r5[0][15] = x_85[7];
      const vec<bf16, 8> x_86 = load_lds<vec<bf16, 8>>(lds, a_82 + 1024u);
      r5[1][0] = x_86[0];
      r5[1][1] = x_86[1];
      r5[1][2] = x_86[2];
      r5[1][3] = x_86[3];
      r5[1][4] = x_86[4];
      r5[1][5] = x_86[5];
      r5[1][6] = x_86[6];
      r5[1][7] = x_86[7];
      const vec<bf16, 8> x_87 = load_lds<vec<bf16, 8>>(lds, a_83 + 1024u);
      r5[1][8] = x_87[0];
      r5[1][9] = x_87[1];
      r5[1][10] = x_87[2];
      r5[1][11] = x_87[3];
      r5[1][12] = x_87[4];
      r5[1][13] = x_87[5];
      r5[1][14] = x_87[6];
      r5[1][15] = x_87[7];
    }
    // @body/3/for/9 /launches/0/body/4/body/2
    {
      const vec<bf16, 8> x_91 = load_lds<vec<bf16, 8>>(lds, a_89 + 4096u);
      r6[0][0] = x_91[0];
      r6[0][1] = x_91[1];
      r6[0][2] = x_91[2];
      r6[0][3] = x_91[3];
      r6[0][4] = x_91[4];
      r6[0][5] = x_91[5];
      r6[0][6] = x_91[6];
      r6[0][7] = x_91[7];
      const vec<bf16, 8> x_92 = load_lds<vec<bf16, 8>>(lds, a_90 + 4096u);
      r6[0][8] = x_92[0];
      r6[0][9] = x_92[1];
      r6[0][10] = x_92[2];
      r6[0][11] = x_92[3];
      r6[0][12] = x_92[4];
      r6[0][13] = x_92[5];
      r6[0][14] = x_92[6];
      r6[0][15] = x_92[7];
    }
    // @body/3/for/10 /launches/0/body/4/body/2
    {
      const vec<bf16, 8> x_95 = load_lds<vec<bf16, 8>>(lds, a_93);
      r7[0][0] = x_95[0];
      r7[0][1] = x_95[1];
      r7[0][2] = x_95[2];
      r7[0][3] = x_95[3];
      r7[0][4] = x_95[4];
      r7[0][5] = x_95[5];
      r7[0][6] = x_95[6];
      r7[0][7] = x_95[7];
      const vec<bf16, 8> x_96 = load_lds<vec<bf16, 8>>(lds, a_94);
      r7[0][8] = x_96[0];
      r7[0][9] = x_96[1];
      r7[0][10] = x_96[2];
      r7[0][11] = x_96[3];
      r7[0][12] = x_96[4];
      r7[0][13] = x_96[5];
      r7[0][14] = x_96[6];
      r7[0][15] = x_96[7];
      const vec<bf16, 8> x_97 = load_lds<vec<bf16, 8>>(lds, a_93 + 1024u);
      r7[1][0] = x_97[0];
      r7[1][1] = x_97[1];
      r7[1][2] = x_97[2];
      r7[1][3] = x_97[3];
      r7[1][4] = x_97[4];
      r7[1][5] = x_97[5];
      r7[1][6] = x_97[6];
      r7[1][7] = x_97[7];
      const vec<bf16, 8> x_98 = load_lds<vec<bf16, 8>>(lds, a_94 + 1024u);
      r7[1][8] = x_98[0];
      r7[1][9] = x_98[1];
      r7[1][10] = x_98[2];
      r7[1][11] = x_98[3];
      r7[1][12] = x_98[4];
      r7[1][13] = x_98[5];
      r7[1][14] = x_98[6];
      r7[1][15] = x_98[7];
    }
    // @body/3/for/11 /launches/0/body/4/body/2
    {
      const vec<bf16, 8> x_101 = load_lds<vec<bf16, 8>>(lds, a_99 + 4096u);
      r8[0][0] = x_101[0];
      r8[0][1] = x_101[1];
      r8[0][2] = x_101[2];
      r8[0][3] = x_101[3];
      r8[0][4] = x_101[4];
      r8[0][5] = x_101[5];
      r8[0][6] = x_101[6];
      r8[0][7] = x_101[7];
      const vec<bf16, 8> x_102 = load_lds<vec<bf16, 8>>(lds, a_100 + 4096u);
      r8[0][8] = x_102[0];
      r8[0][9] = x_102[1];
      r8[0][10] = x_102[2];
      r8[0][11] = x_102[3];
      r8[0][12] = x_102[4];
      r8[0][13] = x_102[5];
      r8[0][14] = x_102[6];
      r8[0][15] = x_102[7];
    }
    // @body/3/for/12 /launches/0/body/4/body/2
    KILN_SCHED_FENCE(0);
    // @body/3/for/13 /launches/0/body/4/body/2
    r0[0] = wmma_f32_16x16x16_bf16_w32(r6[0], r5[0], r0[0]);
    r0[1] = wmma_f32_16x16x16_bf16_w32(r6[0], r5[1], r0[1]);
    // @body/3/for/14 /launches/0/body/4/body/2
    r0[0] = wmma_f32_16x16x16_bf16_w32(r8[0], r7[0], r0[0]);
    r0[1] = wmma_f32_16x16x16_bf16_w32(r8[0], r7[1], r0[1]);
  }
  // @body/4 /launches/0/body/6
  {
    const i32 i_105 = (bx * 64) + (i32)(l_104);
    const u32 u_107 = (u32)(((bx * 64) * 2));
    const bool m_109 = (u32)(i_105) < 257u;
    const bf16 x_108 = load_buffer<bf16>(b_106, u_107, m_109 ? l_103 : buffer_outside);
    r10[0] = x_108;
    const bool m_111 = (u32)(i_105 + 2) < 257u;
    const bf16 x_110 = load_buffer<bf16>(b_106, u_107, m_111 ? l_103 + 4u : buffer_outside);
    r10[1] = x_110;
    const bool m_113 = (u32)(i_105 + 4) < 257u;
    const bf16 x_112 = load_buffer<bf16>(b_106, u_107, m_113 ? l_103 + 8u : buffer_outside);
    r10[2] = x_112;
    const bool m_115 = (u32)(i_105 + 6) < 257u;
    const bf16 x_114 = load_buffer<bf16>(b_106, u_107, m_115 ? l_103 + 12u : buffer_outside);
    r10[3] = x_114;
    const bool m_117 = (u32)(i_105 + 8) < 257u;
    const bf16 x_116 = load_buffer<bf16>(b_106, u_107, m_117 ? l_103 + 16u : buffer_outside);
    r10[4] = x_116;
    const bool m_119 = (u32)(i_105 + 10) < 257u;
    const bf16 x_118 = load_buffer<bf16>(b_106, u_107, m_119 ? l_103 + 20u : buffer_outside);
    r10[5] = x_118;
    const bool m_121 = (u32)(i_105 + 12) < 257u;
    const bf16 x_120 = load_buffer<bf16>(b_106, u_107, m_121 ? l_103 + 24u : buffer_outside);
    r10[6] = x_120;
    const bool m_123 = (u32)(i_105 + 14) < 257u;
    const bf16 x_122 = load_buffer<bf16>(b_106, u_107, m_123 ? l_103 + 28u : buffer_outside);
    r10[7] = x_122;
  }
  // @body/5 /launches/0/body/6
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
  // @body/6 /launches/0/body/7
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
  // @body/7 /launches/0/body/8
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
  // @body/8 /launches/0/body/9
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
  // @body/9 /launches/0/body/9
  {
    const i32 i_126 = (by * 64) + (i32)(l_124);
    const i32 i_127 = (bx * 64) + (i32)(l_104);
    const u32 u_129 = (u32)((((by * 64) * 514) + ((bx * 64) * 2)));
    const bool m_130 = (u32)(i_126) < 300u && (u32)(i_127) < 257u;
    store_buffer<bf16>(b_128, u_129, m_130 ? l_125 : buffer_outside, r11[0][0]);
    const bool m_131 = (u32)(i_126) < 300u && (u32)(i_127 + 2) < 257u;
    store_buffer<bf16>(b_128, u_129, m_131 ? l_125 + 4u : buffer_outside, r11[0][1]);
    const bool m_132 = (u32)(i_126) < 300u && (u32)(i_127 + 4) < 257u;
    store_buffer<bf16>(b_128, u_129, m_132 ? l_125 + 8u : buffer_outside, r11[0][2]);
    const bool m_133 = (u32)(i_126) < 300u && (u32)(i_127 + 6) < 257u;
    store_buffer<bf16>(b_128, u_129, m_133 ? l_125 + 12u : buffer_outside, r11[0][3]);
    const bool m_134 = (u32)(i_126) < 300u && (u32)(i_127 + 8) < 257u;
    store_buffer<bf16>(b_128, u_129, m_134 ? l_125 + 16u : buffer_outside, r11[0][4]);
    const bool m_135 = (u32)(i_126) < 300u && (u32)(i_127 + 10) < 257u;
    store_buffer<bf16>(b_128, u_129, m_135 ? l_125 + 20u : buffer_outside, r11[0][5]);
    const bool m_136 = (u32)(i_126) < 300u && (u32)(i_127 + 12) < 257u;
    store_buffer<bf16>(b_128, u_129, m_136 ? l_125 + 24u : buffer_outside, r11[0][6]);
    const bool m_137 = (u32)(i_126) < 300u && (u32)(i_127 + 14) < 257u;
    store_buffer<bf16>(b_128, u_129, m_137 ? l_125 + 28u : buffer_outside, r11[0][7]);
    const bool m_138 = (u32)(i_126 + 16) < 300u && (u32)(i_127) < 257u;
    store_buffer<bf16>(b_128, u_129, m_138 ? l_125 + 8224u : buffer_outside, r11[1][0]);
    const bool m_139 = (u32)(i_126 + 16) < 300u && (u32)(i_127 + 2) < 257u;
    store_buffer<bf16>(b_128, u_129, m_139 ? l_125 + 8228u : buffer_outside, r11[1][1]);
    const bool m_140 = (u32)(i_126 + 16) < 300u && (u32)(i_127 + 4) < 257u;
    store_buffer<bf16>(b_128, u_129, m_140 ? l_125 + 8232u : buffer_outside, r11[1][2]);
    const bool m_141 = (u32)(i_126 + 16) < 300u && (u32)(i_127 + 6) < 257u;
    store_buffer<bf16>(b_128, u_129, m_141 ? l_125 + 8236u : buffer_outside, r11[1][3]);
    const bool m_142 = (u32)(i_126 + 16) < 300u && (u32)(i_127 + 8) < 257u;
    store_buffer<bf16>(b_128, u_129, m_142 ? l_125 + 8240u : buffer_outside, r11[1][4]);
    const bool m_143 = (u32)(i_126 + 16) < 300u && (u32)(i_127 + 10) < 257u;
    store_buffer<bf16>(b_128, u_129, m_143 ? l_125 + 8244u : buffer_outside, r11[1][5]);
    const bool m_144 = (u32)(i_126 + 16) < 300u && (u32)(i_127 + 12) < 257u;
    store_buffer<bf16>(b_128, u_129, m_144 ? l_125 + 8248u : buffer_outside, r11[1][6]);
    const bool m_145 = (u32)(i_126 + 16) < 300u && (u32)(i_127 + 14) < 257u;
    store_buffer<bf16>(b_128, u_129, m_145 ? l_125 + 8252u : buffer_outside, r11[1][7]);
  }
}

}  // namespace kiln
