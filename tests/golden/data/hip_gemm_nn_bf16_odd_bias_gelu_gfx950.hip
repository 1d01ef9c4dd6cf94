#include <kiln/kernel.hpp>
#pragma clang fp contract(off)

namespace kiln {

extern "C" KILN_KERNEL_WAVES(256, 2) void gemm_0(const void* __restrict__ p0, const void* __restrict__ p1, const void* __restrict__ p2, void* __restrict__ p3) {
  KILN_LDS(lds, 16384);
  const u32 thread = thread_id();
  const u32 lane = thread % 64u, wave = uniform(thread / 64u);
  const i32 bz = i32(block_id_z());
  const u32 dealt = block_id_x() + block_id_y() * 5u;
  const u32 xcd = dealt % 8u, turn = dealt / 8u;
  const u32 linear = xcd * 3u + smaller<u32>(xcd, 1u) + turn;
  const u32 grouped = linear / 25u, within = linear % 25u;
  const u32 first_row = grouped * 5u;
  const i32 bx = i32(within / 5u), by = i32(first_row + within % 5u);
  const u32 l_0 = lane * 2u + wave * 258u;
  const buffer b_2 = make_buffer(p0, 77400u);
  const u32 l_36 = lane * 2u + wave * 4112u;
  const buffer b_38 = make_buffer(p1, 66306u);
  const u32 l_58 = wave * 128u;
  const u32 l_59 = (lane * 2u) ^ ((wave >> 1) * 16u);
  const u32 a_60 = l_58 + l_59;
  const u32 a_61 = l_58 + (l_59 ^ 32u);
  const u32 a_62 = l_58 + (l_59 ^ 64u);
  const u32 a_63 = l_58 + (l_59 ^ 96u);
  const u32 l_64 = lane * 128u;
  const u32 l_65 = ((lane & 7u) * 16u) ^ ((lane >> 3) * 16u) ^ (wave * 16u);
  const u32 a_66 = l_64 + l_65;
  const u32 a_67 = l_64 + (l_65 ^ 64u);
  const u32 l_103 = wave * 8u;
  const u32 l_139 = (lane & 31u) * 128u + (wave >> 1) * 4096u;
  const u32 l_140 = (((lane >> 1) & 7u) * 16u) ^ ((lane >> 5) * 16u);
  const u32 a_141 = l_139 + l_140;
  const u32 l_143 = (lane & 31u) * 128u + (wave & 1u) * 4096u;
  const u32 l_144 = ((lane & 7u) * 16u) ^ (((lane >> 3) & 3u) * 16u) ^ ((lane >> 5) * 16u) ^ ((wave & 1u) * 64u);
  const u32 a_145 = l_143 + l_144;
  const u32 a_147 = l_139 + (l_140 ^ 32u);
  const u32 a_149 = l_143 + (l_144 ^ 32u);
  const u32 a_151 = l_139 + (l_140 ^ 64u);
  const u32 a_153 = l_143 + (l_144 ^ 64u);
  const u32 a_155 = l_139 + (l_140 ^ 96u);
  const u32 a_157 = l_143 + (l_144 ^ 96u);
  const u32 l_159 = (lane >> 5) * 8u + (wave & 1u) * 64u;
  const u32 l_160 = (lane >> 5) * 4u + (wave & 1u) * 32u;
  const buffer b_162 = make_buffer(p2, 514u);
  const u32 l_196 = (lane & 31u) + (wave >> 1) * 32u;
  const u32 l_197 = (lane & 31u) * 514u + (lane >> 5) * 8u + (wave & 1u) * 64u + (wave >> 1) * 16448u;
  const buffer b_200 = make_buffer(p3, 154200u);
  vec<f32, 16> r0[1];
  bf16 r1[16];
  bf16 r2[16];
  vec<bf16, 8> r5[1];
  vec<bf16, 8> r6[1];
  vec<bf16, 8> r7[1];
  vec<bf16, 8> r8[1];
  vec<f32, 4> r9[4];
  vec<bf16, 4> r10[4];
  vec<bf16, 16> r11[1];
  // @body/0 /launches/0/body/3
  r0[0] = vec<f32, 16>(0x0p+0f);
  // @body/1 /launches/0/body/4/body/0
  {
    const i32 i_1 = (by * 64) + (i32)(wave);
    const u32 u_3 = (u32)(((by * 64) * 258));
    const bool m_5 = (u32)(i_1) < 300u;
    const bf16 x_4 = load_buffer<bf16>(b_2, u_3, m_5 ? l_0 : buffer_outside);
    r1[0] = x_4;
    const bool m_7 = (u32)(i_1 + 4) < 300u;
    const bf16 x_6 = load_buffer<bf16>(b_2, u_3, m_7 ? l_0 + 1032u : buffer_outside);
    r1[1] = x_6;
    const bool m_9 = (u32)(i_1 + 8) < 300u;
    const bf16 x_8 = load_buffer<bf16>(b_2, u_3, m_9 ? l_0 + 2064u : buffer_outside);
    r1[2] = x_8;
    const bool m_11 = (u32)(i_1 + 12) < 300u;
    const bf16 x_10 = load_buffer<bf16>(b_2, u_3, m_11 ? l_0 + 3096u : buffer_outside);
    r1[3] = x_10;
    const bool m_13 = (u32)(i_1 + 16) < 300u;
    const bf16 x_12 = load_buffer<bf16>(b_2, u_3, m_13 ? l_0 + 4128u : buffer_outside);
    r1[4] = x_12;
    const bool m_15 = (u32)(i_1 + 20) < 300u;
    const bf16 x_14 = load_buffer<bf16>(b_2, u_3, m_15 ? l_0 + 5160u : buffer_outside);
    r1[5] = x_14;
    const bool m_17 = (u32)(i_1 + 24) < 300u;
    const bf16 x_16 = load_buffer<bf16>(b_2, u_3, m_17 ? l_0 + 6192u : buffer_outside);
    r1[6] = x_16;
    const bool m_19 = (u32)(i_1 + 28) < 300u;
    const bf16 x_18 = load_buffer<bf16>(b_2, u_3, m_19 ? l_0 + 7224u : buffer_outside);
    r1[7] = x_18;
    const bool m_21 = (u32)(i_1 + 32) < 300u;
    const bf16 x_20 = load_buffer<bf16>(b_2, u_3, m_21 ? l_0 + 8256u : buffer_outside);
    r1[8] = x_20;
    const bool m_23 = (u32)(i_1 + 36) < 300u;
    const bf16 x_22 = load_buffer<bf16>(b_2, u_3, m_23 ? l_0 + 9288u : buffer_outside);
    r1[9] = x_22;
    const bool m_25 = (u32)(i_1 + 40) < 300u;
    const bf16 x_24 = load_buffer<bf16>(b_2, u_3, m_25 ? l_0 + 10320u : buffer_outside);
    r1[10] = x_24;
    const bool m_27 = (u32)(i_1 + 44) < 300u;
    const bf16 x_26 = load_buffer<bf16>(b_2, u_3, m_27 ? l_0 + 11352u : buffer_outside);
    r1[11] = x_26;
    const bool m_29 = (u32)(i_1 + 48) < 300u;
    const bf16 x_28 = load_buffer<bf16>(b_2, u_3, m_29 ? l_0 + 12384u : buffer_outside);
    r1[12] = x_28;
    const bool m_31 = (u32)(i_1 + 52) < 300u;
    const bf16 x_30 = load_buffer<bf16>(b_2, u_3, m_31 ? l_0 + 13416u : buffer_outside);
    r1[13] = x_30;
    const bool m_33 = (u32)(i_1 + 56) < 300u;
    const bf16 x_32 = load_buffer<bf16>(b_2, u_3, m_33 ? l_0 + 14448u : buffer_outside);
    r1[14] = x_32;
    const bool m_35 = (u32)(i_1 + 60) < 300u;
    const bf16 x_34 = load_buffer<bf16>(b_2, u_3, m_35 ? l_0 + 15480u : buffer_outside);
    r1[15] = x_34;
  }
  // @body/2 /launches/0/body/4/body/1
  {
    const i32 i_37 = (bx * 64) + (i32)(lane);
    const u32 u_39 = (u32)(((bx * 64) * 2));
    const bool m_41 = (u32)(i_37) < 257u;
    const bf16 x_40 = load_buffer<bf16>(b_38, u_39, m_41 ? l_36 : buffer_outside);
    r2[0] = x_40;
    const bf16 x_42 = load_buffer<bf16>(b_38, u_39, m_41 ? l_36 + 514u : buffer_outside);
    r2[1] = x_42;
    const bf16 x_43 = load_buffer<bf16>(b_38, u_39, m_41 ? l_36 + 1028u : buffer_outside);
    r2[2] = x_43;
    const bf16 x_44 = load_buffer<bf16>(b_38, u_39, m_41 ? l_36 + 1542u : buffer_outside);
    r2[3] = x_44;
    const bf16 x_45 = load_buffer<bf16>(b_38, u_39, m_41 ? l_36 + 2056u : buffer_outside);
    r2[4] = x_45;
    const bf16 x_46 = load_buffer<bf16>(b_38, u_39, m_41 ? l_36 + 2570u : buffer_outside);
    r2[5] = x_46;
    const bf16 x_47 = load_buffer<bf16>(b_38, u_39, m_41 ? l_36 + 3084u : buffer_outside);
    r2[6] = x_47;
    const bf16 x_48 = load_buffer<bf16>(b_38, u_39, m_41 ? l_36 + 3598u : buffer_outside);
    r2[7] = x_48;
    const bf16 x_49 = load_buffer<bf16>(b_38, u_39, m_41 ? l_36 + 16448u : buffer_outside);
    r2[8] = x_49;
    const bf16 x_50 = load_buffer<bf16>(b_38, u_39, m_41 ? l_36 + 16962u : buffer_outside);
    r2[9] = x_50;
    const bf16 x_51 = load_buffer<bf16>(b_38, u_39, m_41 ? l_36 + 17476u : buffer_outside);
    r2[10] = x_51;
    const bf16 x_52 = load_buffer<bf16>(b_38, u_39, m_41 ? l_36 + 17990u : buffer_outside);
    r2[11] = x_52;
    const bf16 x_53 = load_buffer<bf16>(b_38, u_39, m_41 ? l_36 + 18504u : buffer_outside);
    r2[12] = x_53;
    const bf16 x_54 = load_buffer<bf16>(b_38, u_39, m_41 ? l_36 + 19018u : buffer_outside);
    r2[13] = x_54;
    const bf16 x_55 = load_buffer<bf16>(b_38, u_39, m_41 ? l_36 + 19532u : buffer_outside);
    r2[14] = x_55;
    const bf16 x_56 = load_buffer<bf16>(b_38, u_39, m_41 ? l_36 + 20046u : buffer_outside);
    r2[15] = x_56;
  }
  // @body/3 /launches/0/body/4/body/2
  const i32 e_57 = 129;
  #pragma clang loop unroll(disable)
  for (i32 v0 = 0; v0 < e_57; v0 += 64) {
    // @body/3/for/0 /launches/0/body/4/body/0
    barrier();
    // @body/3/for/1 /launches/0/body/4/body/0
    {
      store_lds<bf16>(lds, a_60, r1[0]);
      store_lds<bf16>(lds, a_61 + 512u, r1[1]);
      store_lds<bf16>(lds, a_62 + 1024u, r1[2]);
      store_lds<bf16>(lds, a_63 + 1536u, r1[3]);
      store_lds<bf16>(lds, a_60 + 2048u, r1[4]);
      store_lds<bf16>(lds, a_61 + 2560u, r1[5]);
      store_lds<bf16>(lds, a_62 + 3072u, r1[6]);
      store_lds<bf16>(lds, a_63 + 3584u, r1[7]);
      store_lds<bf16>(lds, a_60 + 4096u, r1[8]);
      store_lds<bf16>(lds, a_61 + 4608u, r1[9]);
      store_lds<bf16>(lds, a_62 + 5120u, r1[10]);
      store_lds<bf16>(lds, a_63 + 5632u, r1[11]);
      store_lds<bf16>(lds, a_60 + 6144u, r1[12]);
      store_lds<bf16>(lds, a_61 + 6656u, r1[13]);
      store_lds<bf16>(lds, a_62 + 7168u, r1[14]);
      store_lds<bf16>(lds, a_63 + 7680u, r1[15]);
    }
    // @body/3/for/2 /launches/0/body/4/body/1
    {
      store_lds<vec<bf16, 8>>(lds, a_66 + 8192u, vec<bf16, 8>{r2[0], r2[1], r2[2], r2[3], r2[4], r2[5], r2[6], r2[7]});
      store_lds<vec<bf16, 8>>(lds, a_67 + 8192u, vec<bf16, 8>{r2[8], r2[9], r2[10], r2[11], r2[12], r2[13], r2[14], r2[15]});
    }
    // @body/3/for/3 /launches/0/body/4/body/2
    barrier();
    // @body/3/for/4 /launches/0/body/4/body/1
    const i32 v6 = smaller<i32>((v0 + 64), 128);
    // @body/3/for/5 /launches/0/body/4/body/0
    {
      const i32 i_68 = (by * 64) + (i32)(wave);
      const i32 i_69 = v6 + (i32)(lane);
      const u32 u_70 = (u32)((((by * 64) * 258) + (v6 * 2)));
      const bool m_72 = (u32)(i_68) < 300u && (u32)(i_69) < 129u;
      const bf16 x_71 = load_buffer<bf16>(b_2, u_70, m_72 ? l_0 : buffer_outside);
      r1[0] = x_71;
      const bool m_74 = (u32)(i_68 + 4) < 300u && (u32)(i_69) < 129u;
      const bf16 x_73 = load_buffer<bf16>(b_2, u_70, m_74 ? l_0 + 1032u : buffer_outside);
      r1[1] = x_73;
      const bool m_76 = (u32)(i_68 + 8) < 300u && (u32)(i_69) < 129u;
      const bf16 x_75 = load_buffer<bf16>(b_2, u_70, m_76 ? l_0 + 2064u : buffer_outside);
      r1[2] = x_75;
      const bool m_78 = (u32)(i_68 + 12) < 300u && (u32)(i_69) < 129u;
      const bf16 x_77 = load_buffer<bf16>(b_2, u_70, m_78 ? l_0 + 3096u : buffer_outside);
      r1[3] = x_77;
      const bool m_80 = (u32)(i_68 + 16) < 300u && (u32)(i_69) < 129u;
      const bf16 x_79 = load_buffer<bf16>(b_2, u_70, m_80 ? l_0 + 4128u : buffer_outside);
      r1[4] = x_79;
      const bool m_82 = (u32)(i_68 + 20) < 300u && (u32)(i_69) < 129u;
      const bf16 x_81 = load_buffer<bf16>(b_2, u_70, m_82 ? l_0 + 5160u : buffer_outside);
      r1[5] = x_81;
      const bool m_84 = (u32)(i_68 + 24) < 300u && (u32)(i_69) < 129u;
      const bf16 x_83 = load_buffer<bf16>(b_2, u_70, m_84 ? l_0 + 6192u : buffer_outside);
      r1[6] = x_83;
      const bool m_86 = (u32)(i_68 + 28) < 300u && (u32)(i_69) < 129u;
      const bf16 x_85 = load_buffer<bf16>(b_2, u_70, m_86 ? l_0 + 7224u : buffer_outside);
      r1[7] = x_85;
      const bool m_88 = (u32)(i_68 + 32) < 300u && (u32)(i_69) < 129u;
      const bf16 x_87 = load_buffer<bf16>(b_2, u_70, m_88 ? l_0 + 8256u : buffer_outside);
      r1[8] = x_87;
      const bool m_90 = (u32)(i_68 + 36) < 300u && (u32)(i_69) < 129u;
      const bf16 x_89 = load_buffer<bf16>(b_2, u_70, m_90 ? l_0 + 9288u : buffer_outside);
      r1[9] = x_89;
      const bool m_92 = (u32)(i_68 + 40) < 300u && (u32)(i_69) < 129u;
      const bf16 x_91 = load_buffer<bf16>(b_2, u_70, m_92 ? l_0 + 10320u : buffer_outside);
      r1[10] = x_91;
      const bool m_94 = (u32)(i_68 + 44) < 300u && (u32)(i_69) < 129u;
      const bf16 x_93 = load_buffer<bf16>(b_2, u_70, m_94 ? l_0 + 11352u : buffer_outside);
      r1[11] = x_93;
      const bool m_96 = (u32)(i_68 + 48) < 300u && (u32)(i_69) < 129u;
      const bf16 x_95 = load_buffer<bf16>(b_2, u_70, m_96 ? l_0 + 12384u : buffer_outside);
      r1[12] = x_95;
      const bool m_98 = (u32)(i_68 + 52) < 300u && (u32)(i_69) < 129u;
      const bf16 x_97 = load_buffer<bf16>(b_2, u_70, m_98 ? l_0 + 13416u : buffer_outside);
      r1[13] = x_97;
      const bool m_100 = (u32)(i_68 + 56) < 300u && (u32)(i_69) < 129u;
      const bf16 x_99 = load_buffer<bf16>(b_2, u_70, m_100 ? l_0 + 14448u : buffer_outside);
      r1[14] = x_99;
      const bool m_102 = (u32)(i_68 + 60) < 300u && (u32)(i_69) < 129u;
      const bf16 x_101 = load_buffer<bf16>(b_2, u_70, m_102 ? l_0 + 15480u : buffer_outside);
      r1[15] = x_101;
    }
    // @body/3/for/6 /launches/0/body/4/body/1
    {
      const i32 i_104 = v6 + (i32)(l_103);
      const i32 i_105 = (bx * 64) + (i32)(lane);
      const u32 u_106 = (u32)(((v6 * 514) + ((bx * 64) * 2)));
      const bool m_108 = (u32)(i_104) < 129u && (u32)(i_105) < 257u;
      const bf16 x_107 = load_buffer<bf16>(b_38, u_106, m_108 ? l_36 : buffer_outside);
      r2[0] = x_107;
      const bool m_110 = (u32)(i_104 + 1) < 129u && (u32)(i_105) < 257u;
      const bf16 x_109 = load_buffer<bf16>(b_38, u_106, m_110 ? l_36 + 514u : buffer_outside);
      r2[1] = x_109;
      const bool m_112 = (u32)(i_104 + 2) < 129u && (u32)(i_105) < 257u;
      const bf16 x_111 = load_buffer<bf16>(b_38, u_106, m_112 ? l_36 + 1028u : buffer_outside);
      r2[2] = x_111;
      const bool m_114 = (u32)(i_104 + 3) < 129u && (u32)(i_105) < 257u;
      const bf16 x_113 = load_buffer<bf16>(b_38, u_106, m_114 ? l_36 + 1542u : buffer_outside);
      r2[3] = x_113;
      const bool m_116 = (u32)(i_104 + 4) < 129u && (u32)(i_105) < 257u;
      const bf16 x_115 = load_buffer<bf16>(b_38, u_106, m_116 ? l_36 + 2056u : buffer_outside);
      r2[4] = x_115;
      const bool m_118 = (u32)(i_104 + 5) < 129u && (u32)(i_105) < 257u;
      const bf16 x_117 = load_buffer<bf16>(b_38, u_106, m_118 ? l_36 + 2570u : buffer_outside);
      r2[5] = x_117;
      const bool m_120 = (u32)(i_104 + 6) < 129u && (u32)(i_105) < 257u;
      const bf16 x_119 = load_buffer<bf16>(b_38, u_106, m_120 ? l_36 + 3084u : buffer_outside);
      r2[6] = x_119;
      const bool m_122 = (u32)(i_104 + 7) < 129u && (u32)(i_105) < 257u;
      const bf16 x_121 = load_buffer<bf16>(b_38, u_106, m_122 ? l_36 + 3598u : buffer_outside);
      r2[7] = x_121;
      const bool m_124 = (u32)(i_104 + 32) < 129u && (u32)(i_105) < 257u;
      const bf16 x_123 = load_buffer<bf16>(b_38, u_106, m_124 ? l_36 + 16448u : buffer_outside);
      r2[8] = x_123;
      const bool m_126 = (u32)(i_104 + 33) < 129u && (u32)(i_105) < 257u;
      const bf16 x_125 = load_buffer<bf16>(b_38, u_106, m_126 ? l_36 + 16962u : buffer_outside);
      r2[9] = x_125;
      const bool m_128 = (u32)(i_104 + 34) < 129u && (u32)(i_105) < 257u;
      const bf16 x_127 = load_buffer<bf16>(b_38, u_106, m_128 ? l_36 + 17476u : buffer_outside);
      r2[10] = x_127;
      const bool m_130 = (u32)(i_104 + 35) < 129u && (u32)(i_105) < 257u;
      const bf16 x_129 = load_buffer<bf16>(b_38, u_106, m_130 ? l_36 + 17990u : buffer_outside);
      r2[11] = x_129;
      const bool m_132 = (u32)(i_104 + 36) < 129u && (u32)(i_105) < 257u;
      const bf16 x_131 = load_buffer<bf16>(b_38, u_106, m_132 ? l_36 + 18504u : buffer_outside);
      r2[12] = x_131;
      const bool m_134 = (u32)(i_104 + 37) < 129u && (u32)(i_105) < 257u;
      const bf16 x_133 = load_buffer<bf16>(b_38, u_106, m_134 ? l_36 + 19018u : buffer_outside);
      r2[13] = x_133;
      const bool m_136 = (u32)(i_104 + 38) < 129u && (u32)(i_105) < 257u;
      const bf16 x_135 = load_buffer<bf16>(b_38, u_106, m_136 ? l_36 + 19532u : buffer_outside);
      r2[14] = x_135;
      const bool m_138 = (u32)(i_104 + 39) < 129u && (u32)(i_105) < 257u;
      const bf16 x_137 = load_buffer<bf16>(b_38, u_106, m_138 ? l_36 + 20046u : buffer_outside);
      r2[15] = x_137;
    }
    // @body/3/for/7 /launches/0/body/4/body/1
    KILN_SCHED_FENCE(0);
    // @body/3/for/8 /launches/0/body/4/body/2
    {
      const vec<bf16, 8> x_142 = load_lds<vec<bf16, 8>>(lds, a_141);
      r5[0] = x_142;
    }
    // @body/3/for/9 /launches/0/body/4/body/2
    {
      const vec<bf16, 8> x_146 = load_lds<vec<bf16, 8>>(lds, a_145 + 8192u);
      r6[0] = x_146;
    }
    // @body/3/for/10 /launches/0/body/4/body/2
    {
      const vec<bf16, 8> x_148 = load_lds<vec<bf16, 8>>(lds, a_147);
      r7[0] = x_148;
    }
    // @body/3/for/11 /launches/0/body/4/body/2
    {
      const vec<bf16, 8> x_150 = load_lds<vec<bf16, 8>>(lds, a_149 + 8192u);
      r8[0] = x_150;
    }
    // @body/3/for/12 /launches/0/body/4/body/2
    KILN_SCHED_FENCE(0);
    // @body/3/for/13 /launches/0/body/4/body/2
    r0[0] = mfma_f32_32x32x16_bf16(r6[0], r5[0], r0[0]);
    // @body/3/for/14 /launches/0/body/4/body/2
    {
      const vec<bf16, 8> x_152 = load_lds<vec<bf16, 8>>(lds, a_151);
      r5[0] = x_152;
    }
    // @body/3/for/15 /launches/0/body/4/body/2
    {
      const vec<bf16, 8> x_154 = load_lds<vec<bf16, 8>>(lds, a_153 + 8192u);
      r6[0] = x_154;
    }
    // @body/3/for/16 /launches/0/body/4/body/2
    KILN_SCHED_FENCE(0);
    // @body/3/for/17 /launches/0/body/4/body/2
    r0[0] = mfma_f32_32x32x16_bf16(r8[0], r7[0], r0[0]);
    // @body/3/for/18 /launches/0/body/4/body/2
    {
      const vec<bf16, 8> x_156 = load_lds<vec<bf16, 8>>(lds, a_155);
      r7[0] = x_156;
    }
    // @body/3/for/19 /launches/0/body/4/body/2
    {
      const vec<bf16, 8> x_158 = load_lds<vec<bf16, 8>>(lds, a_157 + 8192u);
      r8[0] = x_158;
    }
    // @body/3/for/20 /launches/0/body/4/body/2
    KILN_SCHED_FENCE(0);
    // @body/3/for/21 /launches/0/body/4/body/2
    r0[0] = mfma_f32_32x32x16_bf16(r6[0], r5[0], r0[0]);
    // @body/3/for/22 /launches/0/body/4/body/2
    r0[0] = mfma_f32_32x32x16_bf16(r8[0], r7[0], r0[0]);
  }
  // @body/4 /launches/0/body/6
  {
    const i32 i_161 = (bx * 64) + (i32)(l_160);
    const u32 u_163 = (u32)(((bx * 64) * 2));
    const bool m_165 = (u32)(i_161) < 257u;
    const bf16 x_164 = load_buffer<bf16>(b_162, u_163, m_165 ? l_159 : buffer_outside);
    r10[0][0] = x_164;
    const bool m_167 = (u32)(i_161 + 1) < 257u;
    const bf16 x_166 = load_buffer<bf16>(b_162, u_163, m_167 ? l_159 + 2u : buffer_outside);
    r10[0][1] = x_166;
    const bool m_169 = (u32)(i_161 + 2) < 257u;
    const bf16 x_168 = load_buffer<bf16>(b_162, u_163, m_169 ? l_159 + 4u : buffer_outside);
    r10[0][2] = x_168;
    const bool m_171 = (u32)(i_161 + 3) < 257u;
    const bf16 x_170 = load_buffer<bf16>(b_162, u_163, m_171 ? l_159 + 6u : buffer_outside);
    r10[0][3] = x_170;
    const bool m_173 = (u32)(i_161 + 8) < 257u;
    const bf16 x_172 = load_buffer<bf16>(b_162, u_163, m_173 ? l_159 + 16u : buffer_outside);
    r10[1][0] = x_172;
    const bool m_175 = (u32)(i_161 + 9) < 257u;
    const bf16 x_174 = load_buffer<bf16>(b_162, u_163, m_175 ? l_159 + 18u : buffer_outside);
    r10[1][1] = x_174;
    const bool m_177 = (u32)(i_161 + 10) < 257u;
    const bf16 x_176 = load_buffer<bf16>(b_162, u_163, m_177 ? l_159 + 20u : buffer_outside);
    r10[1][2] = x_176;
    const bool m_179 = (u32)(i_161 + 11) < 257u;
    const bf16 x_178 = load_buffer<bf16>(b_162, u_163, m_179 ? l_159 + 22u : buffer_outside);
    r10[1][3] = x_178;
    const bool m_181 = (u32)(i_161 + 16) < 257u;
    const bf16 x_180 = load_buffer<bf16>(b_162, u_163, m_181 ? l_159 + 32u : buffer_outside);
    r10[2][0] = x_180;
    const bool m_183 = (u32)(i_161 + 17) < 257u;
    const bf16 x_182 = load_buffer<bf16>(b_162, u_163, m_183 ? l_159 + 34u : buffer_outside);
    r10[2][1] = x_182;
    const bool m_185 = (u32)(i_161 + 18) < 257u;
    const bf16 x_184 = load_buffer<bf16>(b_162, u_163, m_185 ? l_159 + 36u : buffer_outside);
    r10[2][2] = x_184;
    const bool m_187 = (u32)(i_161 + 19) < 257u;
    const bf16 x_186 = load_buffer<bf16>(b_162, u_163, m_187 ? l_159 + 38u : buffer_outside);
    r10[2][3] = x_186;
    const bool m_189 = (u32)(i_161 + 24) < 257u;
    const bf16 x_188 = load_buffer<bf16>(b_162, u_163, m_189 ? l_159 + 48u : buffer_outside);
    r10[3][0] = x_188;
    const bool m_191 = (u32)(i_161 + 25) < 257u;
    const bf16 x_190 = load_buffer<bf16>(b_162, u_163, m_191 ? l_159 + 50u : buffer_outside);
    r10[3][1] = x_190;
    const bool m_193 = (u32)(i_161 + 26) < 257u;
    const bf16 x_192 = load_buffer<bf16>(b_162, u_163, m_193 ? l_159 + 52u : buffer_outside);
    r10[3][2] = x_192;
    const bool m_195 = (u32)(i_161 + 27) < 257u;
    const bf16 x_194 = load_buffer<bf16>(b_162, u_163, m_195 ? l_159 + 54u : buffer_outside);
    r10[3][3] = x_194;
  }
  // @body/5 /launches/0/body/6
  {
    r9[0][0] = from_bf16(r10[0][0]);
    r9[0][1] = from_bf16(r10[0][1]);
    r9[0][2] = from_bf16(r10[0][2]);
    r9[0][3] = from_bf16(r10[0][3]);
    r9[1][0] = from_bf16(r10[1][0]);
    r9[1][1] = from_bf16(r10[1][1]);
    r9[1][2] = from_bf16(r10[1][2]);
    r9[1][3] = from_bf16(r10[1][3]);
    r9[2][0] = from_bf16(r10[2][0]);
    r9[2][1] = from_bf16(r10[2][1]);
    r9[2][2] = from_bf16(r10[2][2]);
    r9[2][3] = from_bf16(r10[2][3]);
    r9[3][0] = from_bf16(r10[3][0]);
    r9[3][1] = from_bf16(r10[3][1]);
    r9[3][2] = from_bf16(r10[3][2]);
    r9[3][3] = from_bf16(r10[3][3]);
  }
  // @body/6 /launches/0/body/7
  {
    r0[0][0] = (r0[0][0] + r9[0][0]);
  }
  {
    r0[0][1] = (r0[0][1] + r9[0][1]);
  }
  {
    r0[0][2] = (r0[0][2] + r9[0][2]);
  }
  {
    r0[0][3] = (r0[0][3] + r9[0][3]);
  }
  {
    r0[0][4] = (r0[0][4] + r9[1][0]);
  }
  {
    r0[0][5] = (r0[0][5] + r9[1][1]);
  }
  {
    r0[0][6] = (r0[0][6] + r9[1][2]);
  }
  {
    r0[0][7] = (r0[0][7] + r9[1][3]);
  }
  {
    r0[0][8] = (r0[0][8] + r9[2][0]);
  }
  {
    r0[0][9] = (r0[0][9] + r9[2][1]);
  }
  {
    r0[0][10] = (r0[0][10] + r9[2][2]);
  }
  {
    r0[0][11] = (r0[0][11] + r9[2][3]);
  }
  {
    r0[0][12] = (r0[0][12] + r9[3][0]);
  }
  {
    r0[0][13] = (r0[0][13] + r9[3][1]);
  }
  {
    r0[0][14] = (r0[0][14] + r9[3][2]);
  }
  {
    r0[0][15] = (r0[0][15] + r9[3][3]);
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
    const f32 v5 = r0[0][8];
    r0[0][8] = ((0x1p-1f * v5) * (0x1p+0f + erf_f32((v5 * 0x1.6a09e6p-1f))));
  }
  {
    const f32 v5 = r0[0][9];
    r0[0][9] = ((0x1p-1f * v5) * (0x1p+0f + erf_f32((v5 * 0x1.6a09e6p-1f))));
  }
  {
    const f32 v5 = r0[0][10];
    r0[0][10] = ((0x1p-1f * v5) * (0x1p+0f + erf_f32((v5 * 0x1.6a09e6p-1f))));
  }
  {
    const f32 v5 = r0[0][11];
    r0[0][11] = ((0x1p-1f * v5) * (0x1p+0f + erf_f32((v5 * 0x1.6a09e6p-1f))));
  }
  {
    const f32 v5 = r0[0][12];
    r0[0][12] = ((0x1p-1f * v5) * (0x1p+0f + erf_f32((v5 * 0x1.6a09e6p-1f))));
  }
  {
    const f32 v5 = r0[0][13];
    r0[0][13] = ((0x1p-1f * v5) * (0x1p+0f + erf_f32((v5 * 0x1.6a09e6p-1f))));
  }
  {
    const f32 v5 = r0[0][14];
    r0[0][14] = ((0x1p-1f * v5) * (0x1p+0f + erf_f32((v5 * 0x1.6a09e6p-1f))));
  }
  {
    const f32 v5 = r0[0][15];
    r0[0][15] = ((0x1p-1f * v5) * (0x1p+0f + erf_f32((v5 * 0x1.6a09e6p-1f))));
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
    r11[0][8] = to_bf16((f32)(r0[0][8]));
    r11[0][9] = to_bf16((f32)(r0[0][9]));
    r11[0][10] = to_bf16((f32)(r0[0][10]));
    r11[0][11] = to_bf16((f32)(r0[0][11]));
    r11[0][12] = to_bf16((f32)(r0[0][12]));
    r11[0][13] = to_bf16((f32)(r0[0][13]));
    r11[0][14] = to_bf16((f32)(r0[0][14]));
    r11[0][15] = to_bf16((f32)(r0[0][15]));
  }
  // @body/9 /launches/0/body/9
  {
    const i32 i_198 = (by * 64) + (i32)(l_196);
    const i32 i_199 = (bx * 64) + (i32)(l_160);
    const u32 u_201 = (u32)((((by * 64) * 514) + ((bx * 64) * 2)));
    const bool m_202 = (u32)(i_198) < 300u && (u32)(i_199) < 257u;
    store_buffer<bf16>(b_200, u_201, m_202 ? l_197 : buffer_outside, r11[0][0]);
    const bool m_203 = (u32)(i_198) < 300u && (u32)(i_199 + 1) < 257u;
    store_buffer<bf16>(b_200, u_201, m_203 ? l_197 + 2u : buffer_outside, r11[0][1]);
    const bool m_204 = (u32)(i_198) < 300u && (u32)(i_199 + 2) < 257u;
    store_buffer<bf16>(b_200, u_201, m_204 ? l_197 + 4u : buffer_outside, r11[0][2]);
    const bool m_205 = (u32)(i_198) < 300u && (u32)(i_199 + 3) < 257u;
    store_buffer<bf16>(b_200, u_201, m_205 ? l_197 + 6u : buffer_outside, r11[0][3]);
    const bool m_206 = (u32)(i_198) < 300u && (u32)(i_199 + 8) < 257u;
    store_buffer<bf16>(b_200, u_201, m_206 ? l_197 + 16u : buffer_outside, r11[0][4]);
    const bool m_207 = (u32)(i_198) < 300u && (u32)(i_199 + 9) < 257u;
    store_buffer<bf16>(b_200, u_201, m_207 ? l_197 + 18u : buffer_outside, r11[0][5]);
    const bool m_208 = (u32)(i_198) < 300u && (u32)(i_199 + 10) < 257u;
    store_buffer<bf16>(b_200, u_201, m_208 ? l_197 + 20u : buffer_outside, r11[0][6]);
    const bool m_209 = (u32)(i_198) < 300u && (u32)(i_199 + 11) < 257u;
    store_buffer<bf16>(b_200, u_201, m_209 ? l_197 + 22u : buffer_outside, r11[0][7]);
    const bool m_210 = (u32)(i_198) < 300u && (u32)(i_199 + 16) < 257u;
    store_buffer<bf16>(b_200, u_201, m_210 ? l_197 + 32u : buffer_outside, r11[0][8]);
    const bool m_211 = (u32)(i_198) < 300u && (u32)(i_199 + 17) < 257u;
    store_buffer<bf16>(b_200, u_201, m_211 ? l_197 + 34u : buffer_outside, r11[0][9]);
    const bool m_212 = (u32)(i_198) < 300u && (u32)(i_199 + 18) < 257u;
    store_buffer<bf16>(b_200, u_201, m_212 ? l_197 + 36u : buffer_outside, r11[0][10]);
    const bool m_213 = (u32)(i_198) < 300u && (u32)(i_199 + 19) < 257u;
    store_buffer<bf16>(b_200, u_201, m_213 ? l_197 + 38u : buffer_outside, r11[0][11]);
    const bool m_214 = (u32)(i_198) < 300u && (u32)(i_199 + 24) < 257u;
    store_buffer<bf16>(b_200, u_201, m_214 ? l_197 + 48u : buffer_outside, r11[0][12]);
    const bool m_215 = (u32)(i_198) < 300u && (u32)(i_199 + 25) < 257u;
    store_buffer<bf16>(b_200, u_201, m_215 ? l_197 + 50u : buffer_outside, r11[0][13]);
    const bool m_216 = (u32)(i_198) < 300u && (u32)(i_199 + 26) < 257u;
    store_buffer<bf16>(b_200, u_201, m_216 ? l_197 + 52u : buffer_outside, r11[0][14]);
    const bool m_217 = (u32)(i_198) < 300u && (u32)(i_199 + 27) < 257u;
    store_buffer<bf16>(b_200, u_201, m_217 ? l_197 + 54u : buffer_outside, r11[0][15]);
  }
}

}  // namespace kiln
