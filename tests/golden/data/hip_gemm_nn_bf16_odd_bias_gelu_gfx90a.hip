#include <kiln/kernel.hpp>
#pragma clang fp contract(off)

namespace kiln {

extern "C" KILN_KERNEL_WAVES(256, 2) void gemm_0(const void* __restrict__ p0, const void* __restrict__ p1, const void* __restrict__ p2, void* __restrict__ p3) {
  KILN_LDS(lds, 16384);
  const u32 thread = thread_id();
  const u32 lane = thread % 64u, wave = uniform(thread / 64u);
  const i32 bz = i32(block_id_z());
  const u32 dealt = block_id_x() + block_id_y() * 5u;
  const u32 grouped = dealt / 25u, within = dealt % 25u;
  const u32 first_row = grouped * 5u;
  const i32 bx = i32(within / 5u), by = i32(first_row + within % 5u);
  const u32 l_0 = lane * 2u + wave * 258u;
  const buffer b_2 = make_buffer(p0, 77400u);
  const u32 l_36 = lane * 2u + wave * 4112u;
  const buffer b_38 = make_buffer(p1, 66306u);
  const u32 l_58 = wave * 128u;
  const u32 l_59 = (lane * 2u) ^ (wave * 16u);
  const u32 a_60 = l_58 + l_59;
  const u32 a_61 = l_58 + (l_59 ^ 64u);
  const u32 l_62 = lane * 128u;
  const u32 l_63 = ((lane & 7u) * 16u) ^ (wave * 16u);
  const u32 a_64 = l_62 + l_63;
  const u32 a_65 = l_62 + (l_63 ^ 64u);
  const u32 l_101 = wave * 8u;
  const u32 l_137 = (lane & 31u) * 128u + (wave >> 1) * 4096u;
  const u32 l_138 = ((lane & 7u) * 16u) ^ ((lane >> 5) * 16u);
  const u32 a_139 = l_137 + l_138;
  const u32 l_141 = (lane & 31u) * 128u + (wave & 1u) * 4096u;
  const u32 a_142 = l_141 + l_138;
  const u32 a_144 = l_137 + (l_138 ^ 32u);
  const u32 a_146 = l_141 + (l_138 ^ 32u);
  const u32 a_148 = l_137 + (l_138 ^ 64u);
  const u32 a_150 = l_141 + (l_138 ^ 64u);
  const u32 a_152 = l_137 + (l_138 ^ 96u);
  const u32 a_154 = l_141 + (l_138 ^ 96u);
  const u32 l_156 = (lane >> 5) * 8u + (wave & 1u) * 64u;
  const u32 l_157 = (lane >> 5) * 4u + (wave & 1u) * 32u;
  const buffer b_159 = make_buffer(p2, 514u);
  const u32 l_193 = (lane & 31u) + (wave >> 1) * 32u;
  const u32 l_194 = (lane & 31u) * 514u + (lane >> 5) * 8u + (wave & 1u) * 64u + (wave >> 1) * 16448u;
  const buffer b_197 = make_buffer(p3, 154200u);
  vec<f32, 16> r0[1];
  bf16 r1[16];
  bf16 r2[16];
  vec<bf16, 4> r5[2];
  vec<bf16, 4> r6[2];
  vec<bf16, 4> r7[2];
  vec<bf16, 4> r8[2];
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
      store_lds<bf16>(lds, a_60 + 1024u, r1[2]);
      store_lds<bf16>(lds, a_61 + 1536u, r1[3]);
      store_lds<bf16>(lds, a_60 + 2048u, r1[4]);
      store_lds<bf16>(lds, a_61 + 2560u, r1[5]);
      store_lds<bf16>(lds, a_60 + 3072u, r1[6]);
      store_lds<bf16>(lds, a_61 + 3584u, r1[7]);
      store_lds<bf16>(lds, a_60 + 4096u, r1[8]);
      store_lds<bf16>(lds, a_61 + 4608u, r1[9]);
      store_lds<bf16>(lds, a_60 + 5120u, r1[10]);
      store_lds<bf16>(lds, a_61 + 5632u, r1[11]);
      store_lds<bf16>(lds, a_60 + 6144u, r1[12]);
      store_lds<bf16>(lds, a_61 + 6656u, r1[13]);
      store_lds<bf16>(lds, a_60 + 7168u, r1[14]);
      store_lds<bf16>(lds, a_61 + 7680u, r1[15]);
    }
    // @body/3/for/2 /launches/0/body/4/body/1
    {
      store_lds<vec<bf16, 8>>(lds, a_64 + 8192u, vec<bf16, 8>{r2[0], r2[1], r2[2], r2[3], r2[4], r2[5], r2[6], r2[7]});
      store_lds<vec<bf16, 8>>(lds, a_65 + 8192u, vec<bf16, 8>{r2[8], r2[9], r2[10], r2[11], r2[12], r2[13], r2[14], r2[15]});
    }
    // @body/3/for/3 /launches/0/body/4/body/2
    barrier();
    // @body/3/for/4 /launches/0/body/4/body/1
    const i32 v6 = smaller<i32>((v0 + 64), 128);
    // @body/3/for/5 /launches/0/body/4/body/0
    {
      const i32 i_66 = (by * 64) + (i32)(wave);
      const i32 i_67 = v6 + (i32)(lane);
      const u32 u_68 = (u32)((((by * 64) * 258) + (v6 * 2)));
      const bool m_70 = (u32)(i_66) < 300u && (u32)(i_67) < 129u;
      const bf16 x_69 = load_buffer<bf16>(b_2, u_68, m_70 ? l_0 : buffer_outside);
      r1[0] = x_69;
      const bool m_72 = (u32)(i_66 + 4) < 300u && (u32)(i_67) < 129u;
      const bf16 x_71 = load_buffer<bf16>(b_2, u_68, m_72 ? l_0 + 1032u : buffer_outside);
      r1[1] = x_71;
      const bool m_74 = (u32)(i_66 + 8) < 300u && (u32)(i_67) < 129u;
      const bf16 x_73 = load_buffer<bf16>(b_2, u_68, m_74 ? l_0 + 2064u : buffer_outside);
      r1[2] = x_73;
      const bool m_76 = (u32)(i_66 + 12) < 300u && (u32)(i_67) < 129u;
      const bf16 x_75 = load_buffer<bf16>(b_2, u_68, m_76 ? l_0 + 3096u : buffer_outside);
      r1[3] = x_75;
      const bool m_78 = (u32)(i_66 + 16) < 300u && (u32)(i_67) < 129u;
      const bf16 x_77 = load_buffer<bf16>(b_2, u_68, m_78 ? l_0 + 4128u : buffer_outside);
      r1[4] = x_77;
      const bool m_80 = (u32)(i_66 + 20) < 300u && (u32)(i_67) < 129u;
      const bf16 x_79 = load_buffer<bf16>(b_2, u_68, m_80 ? l_0 + 5160u : buffer_outside);
      r1[5] = x_79;
      const bool m_82 = (u32)(i_66 + 24) < 300u && (u32)(i_67) < 129u;
      const bf16 x_81 = load_buffer<bf16>(b_2, u_68, m_82 ? l_0 + 6192u : buffer_outside);
      r1[6] = x_81;
      const bool m_84 = (u32)(i_66 + 28) < 300u && (u32)(i_67) < 129u;
      const bf16 x_83 = load_buffer<bf16>(b_2, u_68, m_84 ? l_0 + 7224u : buffer_outside);
      r1[7] = x_83;
      const bool m_86 = (u32)(i_66 + 32) < 300u && (u32)(i_67) < 129u;
      const bf16 x_85 = load_buffer<bf16>(b_2, u_68, m_86 ? l_0 + 8256u : buffer_outside);
      r1[8] = x_85;
      const bool m_88 = (u32)(i_66 + 36) < 300u && (u32)(i_67) < 129u;
      const bf16 x_87 = load_buffer<bf16>(b_2, u_68, m_88 ? l_0 + 9288u : buffer_outside);
      r1[9] = x_87;
      const bool m_90 = (u32)(i_66 + 40) < 300u && (u32)(i_67) < 129u;
      const bf16 x_89 = load_buffer<bf16>(b_2, u_68, m_90 ? l_0 + 10320u : buffer_outside);
      r1[10] = x_89;
      const bool m_92 = (u32)(i_66 + 44) < 300u && (u32)(i_67) < 129u;
      const bf16 x_91 = load_buffer<bf16>(b_2, u_68, m_92 ? l_0 + 11352u : buffer_outside);
      r1[11] = x_91;
      const bool m_94 = (u32)(i_66 + 48) < 300u && (u32)(i_67) < 129u;
      const bf16 x_93 = load_buffer<bf16>(b_2, u_68, m_94 ? l_0 + 12384u : buffer_outside);
      r1[12] = x_93;
      const bool m_96 = (u32)(i_66 + 52) < 300u && (u32)(i_67) < 129u;
      const bf16 x_95 = load_buffer<bf16>(b_2, u_68, m_96 ? l_0 + 13416u : buffer_outside);
      r1[13] = x_95;
      const bool m_98 = (u32)(i_66 + 56) < 300u && (u32)(i_67) < 129u;
      const bf16 x_97 = load_buffer<bf16>(b_2, u_68, m_98 ? l_0 + 14448u : buffer_outside);
      r1[14] = x_97;
      const bool m_100 = (u32)(i_66 + 60) < 300u && (u32)(i_67) < 129u;
      const bf16 x_99 = load_buffer<bf16>(b_2, u_68, m_100 ? l_0 + 15480u : buffer_outside);
      r1[15] = x_99;
    }
    // @body/3/for/6 /launches/0/body/4/body/1
    {
      const i32 i_102 = v6 + (i32)(l_101);
      const i32 i_103 = (bx * 64) + (i32)(lane);
      const u32 u_104 = (u32)(((v6 * 514) + ((bx * 64) * 2)));
      const bool m_106 = (u32)(i_102) < 129u && (u32)(i_103) < 257u;
      const bf16 x_105 = load_buffer<bf16>(b_38, u_104, m_106 ? l_36 : buffer_outside);
      r2[0] = x_105;
      const bool m_108 = (u32)(i_102 + 1) < 129u && (u32)(i_103) < 257u;
      const bf16 x_107 = load_buffer<bf16>(b_38, u_104, m_108 ? l_36 + 514u : buffer_outside);
      r2[1] = x_107;
      const bool m_110 = (u32)(i_102 + 2) < 129u && (u32)(i_103) < 257u;
      const bf16 x_109 = load_buffer<bf16>(b_38, u_104, m_110 ? l_36 + 1028u : buffer_outside);
      r2[2] = x_109;
      const bool m_112 = (u32)(i_102 + 3) < 129u && (u32)(i_103) < 257u;
      const bf16 x_111 = load_buffer<bf16>(b_38, u_104, m_112 ? l_36 + 1542u : buffer_outside);
      r2[3] = x_111;
      const bool m_114 = (u32)(i_102 + 4) < 129u && (u32)(i_103) < 257u;
      const bf16 x_113 = load_buffer<bf16>(b_38, u_104, m_114 ? l_36 + 2056u : buffer_outside);
      r2[4] = x_113;
      const bool m_116 = (u32)(i_102 + 5) < 129u && (u32)(i_103) < 257u;
      const bf16 x_115 = load_buffer<bf16>(b_38, u_104, m_116 ? l_36 + 2570u : buffer_outside);
      r2[5] = x_115;
      const bool m_118 = (u32)(i_102 + 6) < 129u && (u32)(i_103) < 257u;
      const bf16 x_117 = load_buffer<bf16>(b_38, u_104, m_118 ? l_36 + 3084u : buffer_outside);
      r2[6] = x_117;
      const bool m_120 = (u32)(i_102 + 7) < 129u && (u32)(i_103) < 257u;
      const bf16 x_119 = load_buffer<bf16>(b_38, u_104, m_120 ? l_36 + 3598u : buffer_outside);
      r2[7] = x_119;
      const bool m_122 = (u32)(i_102 + 32) < 129u && (u32)(i_103) < 257u;
      const bf16 x_121 = load_buffer<bf16>(b_38, u_104, m_122 ? l_36 + 16448u : buffer_outside);
      r2[8] = x_121;
      const bool m_124 = (u32)(i_102 + 33) < 129u && (u32)(i_103) < 257u;
      const bf16 x_123 = load_buffer<bf16>(b_38, u_104, m_124 ? l_36 + 16962u : buffer_outside);
      r2[9] = x_123;
      const bool m_126 = (u32)(i_102 + 34) < 129u && (u32)(i_103) < 257u;
      const bf16 x_125 = load_buffer<bf16>(b_38, u_104, m_126 ? l_36 + 17476u : buffer_outside);
      r2[10] = x_125;
      const bool m_128 = (u32)(i_102 + 35) < 129u && (u32)(i_103) < 257u;
      const bf16 x_127 = load_buffer<bf16>(b_38, u_104, m_128 ? l_36 + 17990u : buffer_outside);
      r2[11] = x_127;
      const bool m_130 = (u32)(i_102 + 36) < 129u && (u32)(i_103) < 257u;
      const bf16 x_129 = load_buffer<bf16>(b_38, u_104, m_130 ? l_36 + 18504u : buffer_outside);
      r2[12] = x_129;
      const bool m_132 = (u32)(i_102 + 37) < 129u && (u32)(i_103) < 257u;
      const bf16 x_131 = load_buffer<bf16>(b_38, u_104, m_132 ? l_36 + 19018u : buffer_outside);
      r2[13] = x_131;
      const bool m_134 = (u32)(i_102 + 38) < 129u && (u32)(i_103) < 257u;
      const bf16 x_133 = load_buffer<bf16>(b_38, u_104, m_134 ? l_36 + 19532u : buffer_outside);
      r2[14] = x_133;
      const bool m_136 = (u32)(i_102 + 39) < 129u && (u32)(i_103) < 257u;
      const bf16 x_135 = load_buffer<bf16>(b_38, u_104, m_136 ? l_36 + 20046u : buffer_outside);
      r2[15] = x_135;
    }
    // @body/3/for/7 /launches/0/body/4/body/1
    KILN_SCHED_FENCE(0);
    // @body/3/for/8 /launches/0/body/4/body/2
    {
      const vec<bf16, 8> x_140 = load_lds<vec<bf16, 8>>(lds, a_139);
      r5[0] = __builtin_shufflevector(x_140, x_140, 0, 1, 2, 3);
      r5[1] = __builtin_shufflevector(x_140, x_140, 4, 5, 6, 7);
    }
    // @body/3/for/9 /launches/0/body/4/body/2
    {
      const vec<bf16, 8> x_143 = load_lds<vec<bf16, 8>>(lds, a_142 + 8192u);
      r6[0] = __builtin_shufflevector(x_143, x_143, 0, 1, 2, 3);
      r6[1] = __builtin_shufflevector(x_143, x_143, 4, 5, 6, 7);
    }
    // @body/3/for/10 /launches/0/body/4/body/2
    {
      const vec<bf16, 8> x_145 = load_lds<vec<bf16, 8>>(lds, a_144);
      r7[0] = __builtin_shufflevector(x_145, x_145, 0, 1, 2, 3);
      r7[1] = __builtin_shufflevector(x_145, x_145, 4, 5, 6, 7);
    }
    // @body/3/for/11 /launches/0/body/4/body/2
    {
      const vec<bf16, 8> x_147 = load_lds<vec<bf16, 8>>(lds, a_146 + 8192u);
      r8[0] = __builtin_shufflevector(x_147, x_147, 0, 1, 2, 3);
      r8[1] = __builtin_shufflevector(x_147, x_147, 4, 5, 6, 7);
    }
    // @body/3/for/12 /launches/0/body/4/body/2
    KILN_SCHED_FENCE(0);
    // @body/3/for/13 /launches/0/body/4/body/2
    r0[0] = mfma_f32_32x32x8bf16_1k(r6[0], r5[0], r0[0]);
    r0[0] = mfma_f32_32x32x8bf16_1k(r6[1], r5[1], r0[0]);
    // @body/3/for/14 /launches/0/body/4/body/2
    {
      const vec<bf16, 8> x_149 = load_lds<vec<bf16, 8>>(lds, a_148);
      r5[0] = __builtin_shufflevector(x_149, x_149, 0, 1, 2, 3);
      r5[1] = __builtin_shufflevector(x_149, x_149, 4, 5, 6, 7);
    }
    // @body/3/for/15 /launches/0/body/4/body/2
    {
      const vec<bf16, 8> x_151 = load_lds<vec<bf16, 8>>(lds, a_150 + 8192u);
      r6[0] = __builtin_shufflevector(x_151, x_151, 0, 1, 2, 3);
      r6[1] = __builtin_shufflevector(x_151, x_151, 4, 5, 6, 7);
    }
    // @body/3/for/16 /launches/0/body/4/body/2
    KILN_SCHED_FENCE(0);
    // @body/3/for/17 /launches/0/body/4/body/2
    r0[0] = mfma_f32_32x32x8bf16_1k(r8[0], r7[0], r0[0]);
    r0[0] = mfma_f32_32x32x8bf16_1k(r8[1], r7[1], r0[0]);
    // @body/3/for/18 /launches/0/body/4/body/2
    {
      const vec<bf16, 8> x_153 = load_lds<vec<bf16, 8>>(lds, a_152);
      r7[0] = __builtin_shufflevector(x_153, x_153, 0, 1, 2, 3);
      r7[1] = __builtin_shufflevector(x_153, x_153, 4, 5, 6, 7);
    }
    // @body/3/for/19 /launches/0/body/4/body/2
    {
      const vec<bf16, 8> x_155 = load_lds<vec<bf16, 8>>(lds, a_154 + 8192u);
      r8[0] = __builtin_shufflevector(x_155, x_155, 0, 1, 2, 3);
      r8[1] = __builtin_shufflevector(x_155, x_155, 4, 5, 6, 7);
    }
    // @body/3/for/20 /launches/0/body/4/body/2
    KILN_SCHED_FENCE(0);
    // @body/3/for/21 /launches/0/body/4/body/2
    r0[0] = mfma_f32_32x32x8bf16_1k(r6[0], r5[0], r0[0]);
    r0[0] = mfma_f32_32x32x8bf16_1k(r6[1], r5[1], r0[0]);
    // @body/3/for/22 /launches/0/body/4/body/2
    r0[0] = mfma_f32_32x32x8bf16_1k(r8[0], r7[0], r0[0]);
    r0[0] = mfma_f32_32x32x8bf16_1k(r8[1], r7[1], r0[0]);
  }
  // @body/4 /launches/0/body/6
  {
    const i32 i_158 = (bx * 64) + (i32)(l_157);
    const u32 u_160 = (u32)(((bx * 64) * 2));
    const bool m_162 = (u32)(i_158) < 257u;
    const bf16 x_161 = load_buffer<bf16>(b_159, u_160, m_162 ? l_156 : buffer_outside);
    r10[0][0] = x_161;
    const bool m_164 = (u32)(i_158 + 1) < 257u;
    const bf16 x_163 = load_buffer<bf16>(b_159, u_160, m_164 ? l_156 + 2u : buffer_outside);
    r10[0][1] = x_163;
    const bool m_166 = (u32)(i_158 + 2) < 257u;
    const bf16 x_165 = load_buffer<bf16>(b_159, u_160, m_166 ? l_156 + 4u : buffer_outside);
    r10[0][2] = x_165;
    const bool m_168 = (u32)(i_158 + 3) < 257u;
    const bf16 x_167 = load_buffer<bf16>(b_159, u_160, m_168 ? l_156 + 6u : buffer_outside);
    r10[0][3] = x_167;
    const bool m_170 = (u32)(i_158 + 8) < 257u;
    const bf16 x_169 = load_buffer<bf16>(b_159, u_160, m_170 ? l_156 + 16u : buffer_outside);
    r10[1][0] = x_169;
    const bool m_172 = (u32)(i_158 + 9) < 257u;
    const bf16 x_171 = load_buffer<bf16>(b_159, u_160, m_172 ? l_156 + 18u : buffer_outside);
    r10[1][1] = x_171;
    const bool m_174 = (u32)(i_158 + 10) < 257u;
    const bf16 x_173 = load_buffer<bf16>(b_159, u_160, m_174 ? l_156 + 20u : buffer_outside);
    r10[1][2] = x_173;
    const bool m_176 = (u32)(i_158 + 11) < 257u;
    const bf16 x_175 = load_buffer<bf16>(b_159, u_160, m_176 ? l_156 + 22u : buffer_outside);
    r10[1][3] = x_175;
    const bool m_178 = (u32)(i_158 + 16) < 257u;
    const bf16 x_177 = load_buffer<bf16>(b_159, u_160, m_178 ? l_156 + 32u : buffer_outside);
    r10[2][0] = x_177;
    const bool m_180 = (u32)(i_158 + 17) < 257u;
    const bf16 x_179 = load_buffer<bf16>(b_159, u_160, m_180 ? l_156 + 34u : buffer_outside);
    r10[2][1] = x_179;
    const bool m_182 = (u32)(i_158 + 18) < 257u;
    const bf16 x_181 = load_buffer<bf16>(b_159, u_160, m_182 ? l_156 + 36u : buffer_outside);
    r10[2][2] = x_181;
    const bool m_184 = (u32)(i_158 + 19) < 257u;
    const bf16 x_183 = load_buffer<bf16>(b_159, u_160, m_184 ? l_156 + 38u : buffer_outside);
    r10[2][3] = x_183;
    const bool m_186 = (u32)(i_158 + 24) < 257u;
    const bf16 x_185 = load_buffer<bf16>(b_159, u_160, m_186 ? l_156 + 48u : buffer_outside);
    r10[3][0] = x_185;
    const bool m_188 = (u32)(i_158 + 25) < 257u;
    const bf16 x_187 = load_buffer<bf16>(b_159, u_160, m_188 ? l_156 + 50u : buffer_outside);
    r10[3][1] = x_187;
    const bool m_190 = (u32)(i_158 + 26) < 257u;
    const bf16 x_189 = load_buffer<bf16>(b_159, u_160, m_190 ? l_156 + 52u : buffer_outside);
    r10[3][2] = x_189;
    const bool m_192 = (u32)(i_158 + 27) < 257u;
    const bf16 x_191 = load_buffer<bf16>(b_159, u_160, m_192 ? l_156 + 54u : buffer_outside);
    r10[3][3] = x_191;
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
    const i32 i_195 = (by * 64) + (i32)(l_193);
    const i32 i_196 = (bx * 64) + (i32)(l_157);
    const u32 u_198 = (u32)((((by * 64) * 514) + ((bx * 64) * 2)));
    const bool m_199 = (u32)(i_195) < 300u && (u32)(i_196) < 257u;
    store_buffer<bf16>(b_197, u_198, m_199 ? l_194 : buffer_outside, r11[0][0]);
    const bool m_200 = (u32)(i_195) < 300u && (u32)(i_196 + 1) < 257u;
    store_buffer<bf16>(b_197, u_198, m_200 ? l_194 + 2u : buffer_outside, r11[0][1]);
    const bool m_201 = (u32)(i_195) < 300u && (u32)(i_196 + 2) < 257u;
    store_buffer<bf16>(b_197, u_198, m_201 ? l_194 + 4u : buffer_outside, r11[0][2]);
    const bool m_202 = (u32)(i_195) < 300u && (u32)(i_196 + 3) < 257u;
    store_buffer<bf16>(b_197, u_198, m_202 ? l_194 + 6u : buffer_outside, r11[0][3]);
    const bool m_203 = (u32)(i_195) < 300u && (u32)(i_196 + 8) < 257u;
    store_buffer<bf16>(b_197, u_198, m_203 ? l_194 + 16u : buffer_outside, r11[0][4]);
    const bool m_204 = (u32)(i_195) < 300u && (u32)(i_196 + 9) < 257u;
    store_buffer<bf16>(b_197, u_198, m_204 ? l_194 + 18u : buffer_outside, r11[0][5]);
    const bool m_205 = (u32)(i_195) < 300u && (u32)(i_196 + 10) < 257u;
    store_buffer<bf16>(b_197, u_198, m_205 ? l_194 + 20u : buffer_outside, r11[0][6]);
    const bool m_206 = (u32)(i_195) < 300u && (u32)(i_196 + 11) < 257u;
    store_buffer<bf16>(b_197, u_198, m_206 ? l_194 + 22u : buffer_outside, r11[0][7]);
    const bool m_207 = (u32)(i_195) < 300u && (u32)(i_196 + 16) < 257u;
    store_buffer<bf16>(b_197, u_198, m_207 ? l_194 + 32u : buffer_outside, r11[0][8]);
    const bool m_208 = (u32)(i_195) < 300u && (u32)(i_196 + 17) < 257u;
    store_buffer<bf16>(b_197, u_198, m_208 ? l_194 + 34u : buffer_outside, r11[0][9]);
    const bool m_209 = (u32)(i_195) < 300u && (u32)(i_196 + 18) < 257u;
    store_buffer<bf16>(b_197, u_198, m_209 ? l_194 + 36u : buffer_outside, r11[0][10]);
    const bool m_210 = (u32)(i_195) < 300u && (u32)(i_196 + 19) < 257u;
    store_buffer<bf16>(b_197, u_198, m_210 ? l_194 + 38u : buffer_outside, r11[0][11]);
    const bool m_211 = (u32)(i_195) < 300u && (u32)(i_196 + 24) < 257u;
    store_buffer<bf16>(b_197, u_198, m_211 ? l_194 + 48u : buffer_outside, r11[0][12]);
    const bool m_212 = (u32)(i_195) < 300u && (u32)(i_196 + 25) < 257u;
    store_buffer<bf16>(b_197, u_198, m_212 ? l_194 + 50u : buffer_outside, r11[0][13]);
    const bool m_213 = (u32)(i_195) < 300u && (u32)(i_196 + 26) < 257u;
    store_buffer<bf16>(b_197, u_198, m_213 ? l_194 + 52u : buffer_outside, r11[0][14]);
    const bool m_214 = (u32)(i_195) < 300u && (u32)(i_196 + 27) < 257u;
    store_buffer<bf16>(b_197, u_198, m_214 ? l_194 + 54u : buffer_outside, r11[0][15]);
  }
}

}  // namespace kiln
