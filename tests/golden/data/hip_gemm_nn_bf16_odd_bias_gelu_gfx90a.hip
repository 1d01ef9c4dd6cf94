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
  const buffer b_1 = make_buffer(p0, 77400u);
  const u32 l_19 = lane * 2u + wave * 4112u;
  const buffer b_21 = make_buffer(p1, 66306u);
  const u32 l_41 = wave * 128u;
  const u32 l_42 = (lane * 2u) ^ (wave * 16u);
  const u32 a_43 = l_41 + l_42;
  const u32 a_44 = l_41 + (l_42 ^ 64u);
  const u32 l_45 = lane * 128u;
  const u32 l_46 = ((lane & 7u) * 16u) ^ (wave * 16u);
  const u32 a_47 = l_45 + l_46;
  const u32 a_48 = l_45 + (l_46 ^ 64u);
  const u32 l_87 = (lane & 31u) * 128u + (wave >> 1) * 4096u;
  const u32 l_88 = ((lane & 7u) * 16u) ^ ((lane >> 5) * 16u);
  const u32 a_89 = l_87 + l_88;
  const u32 l_91 = (lane & 31u) * 128u + (wave & 1u) * 4096u;
  const u32 a_92 = l_91 + l_88;
  const u32 a_94 = l_87 + (l_88 ^ 32u);
  const u32 a_96 = l_91 + (l_88 ^ 32u);
  const u32 a_98 = l_87 + (l_88 ^ 64u);
  const u32 a_100 = l_91 + (l_88 ^ 64u);
  const u32 a_102 = l_87 + (l_88 ^ 96u);
  const u32 a_104 = l_91 + (l_88 ^ 96u);
  const u32 l_106 = (lane >> 5) * 8u + (wave & 1u) * 64u;
  const buffer b_107 = make_buffer(p2, 514u);
  const u32 l_125 = (lane & 31u) + (wave >> 1) * 32u;
  const u32 l_126 = (lane >> 5) * 4u + (wave & 1u) * 32u;
  const u32 l_127 = (lane & 31u) * 514u + (lane >> 5) * 8u + (wave & 1u) * 64u + (wave >> 1) * 16448u;
  const buffer b_130 = make_buffer(p3, 154200u);
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
  r0[0] = vec<f32, 16>(0x0p+0f);
  {
    const u32 u_2 = (u32)(((by * 64) * 258));
    const bf16 x_3 = load_buffer<bf16>(b_1, u_2, l_0);
    r1[0] = x_3;
    const bf16 x_4 = load_buffer<bf16>(b_1, u_2, l_0 + 1032u);
    r1[1] = x_4;
    const bf16 x_5 = load_buffer<bf16>(b_1, u_2, l_0 + 2064u);
    r1[2] = x_5;
    const bf16 x_6 = load_buffer<bf16>(b_1, u_2, l_0 + 3096u);
    r1[3] = x_6;
    const bf16 x_7 = load_buffer<bf16>(b_1, u_2, l_0 + 4128u);
    r1[4] = x_7;
    const bf16 x_8 = load_buffer<bf16>(b_1, u_2, l_0 + 5160u);
    r1[5] = x_8;
    const bf16 x_9 = load_buffer<bf16>(b_1, u_2, l_0 + 6192u);
    r1[6] = x_9;
    const bf16 x_10 = load_buffer<bf16>(b_1, u_2, l_0 + 7224u);
    r1[7] = x_10;
    const bf16 x_11 = load_buffer<bf16>(b_1, u_2, l_0 + 8256u);
    r1[8] = x_11;
    const bf16 x_12 = load_buffer<bf16>(b_1, u_2, l_0 + 9288u);
    r1[9] = x_12;
    const bf16 x_13 = load_buffer<bf16>(b_1, u_2, l_0 + 10320u);
    r1[10] = x_13;
    const bf16 x_14 = load_buffer<bf16>(b_1, u_2, l_0 + 11352u);
    r1[11] = x_14;
    const bf16 x_15 = load_buffer<bf16>(b_1, u_2, l_0 + 12384u);
    r1[12] = x_15;
    const bf16 x_16 = load_buffer<bf16>(b_1, u_2, l_0 + 13416u);
    r1[13] = x_16;
    const bf16 x_17 = load_buffer<bf16>(b_1, u_2, l_0 + 14448u);
    r1[14] = x_17;
    const bf16 x_18 = load_buffer<bf16>(b_1, u_2, l_0 + 15480u);
    r1[15] = x_18;
  }
  {
    const i32 i_20 = (bx * 64) + (i32)(lane);
    const u32 u_22 = (u32)(((bx * 64) * 2));
    const bool m_24 = (u32)(i_20) < 257u;
    const bf16 x_23 = load_buffer<bf16>(b_21, u_22, m_24 ? l_19 : buffer_outside);
    r2[0] = x_23;
    const bf16 x_25 = load_buffer<bf16>(b_21, u_22, m_24 ? l_19 + 514u : buffer_outside);
    r2[1] = x_25;
    const bf16 x_26 = load_buffer<bf16>(b_21, u_22, m_24 ? l_19 + 1028u : buffer_outside);
    r2[2] = x_26;
    const bf16 x_27 = load_buffer<bf16>(b_21, u_22, m_24 ? l_19 + 1542u : buffer_outside);
    r2[3] = x_27;
    const bf16 x_28 = load_buffer<bf16>(b_21, u_22, m_24 ? l_19 + 2056u : buffer_outside);
    r2[4] = x_28;
    const bf16 x_29 = load_buffer<bf16>(b_21, u_22, m_24 ? l_19 + 2570u : buffer_outside);
    r2[5] = x_29;
    const bf16 x_30 = load_buffer<bf16>(b_21, u_22, m_24 ? l_19 + 3084u : buffer_outside);
    r2[6] = x_30;
    const bf16 x_31 = load_buffer<bf16>(b_21, u_22, m_24 ? l_19 + 3598u : buffer_outside);
    r2[7] = x_31;
    const bf16 x_32 = load_buffer<bf16>(b_21, u_22, m_24 ? l_19 + 16448u : buffer_outside);
    r2[8] = x_32;
    const bf16 x_33 = load_buffer<bf16>(b_21, u_22, m_24 ? l_19 + 16962u : buffer_outside);
    r2[9] = x_33;
    const bf16 x_34 = load_buffer<bf16>(b_21, u_22, m_24 ? l_19 + 17476u : buffer_outside);
    r2[10] = x_34;
    const bf16 x_35 = load_buffer<bf16>(b_21, u_22, m_24 ? l_19 + 17990u : buffer_outside);
    r2[11] = x_35;
    const bf16 x_36 = load_buffer<bf16>(b_21, u_22, m_24 ? l_19 + 18504u : buffer_outside);
    r2[12] = x_36;
    const bf16 x_37 = load_buffer<bf16>(b_21, u_22, m_24 ? l_19 + 19018u : buffer_outside);
    r2[13] = x_37;
    const bf16 x_38 = load_buffer<bf16>(b_21, u_22, m_24 ? l_19 + 19532u : buffer_outside);
    r2[14] = x_38;
    const bf16 x_39 = load_buffer<bf16>(b_21, u_22, m_24 ? l_19 + 20046u : buffer_outside);
    r2[15] = x_39;
  }
  const i32 e_40 = 129;
  #pragma clang loop unroll(disable)
  for (i32 v0 = 0; v0 < e_40; v0 += 64) {
    barrier();
    {
      store_lds<bf16>(lds, a_43, r1[0]);
      store_lds<bf16>(lds, a_44 + 512u, r1[1]);
      store_lds<bf16>(lds, a_43 + 1024u, r1[2]);
      store_lds<bf16>(lds, a_44 + 1536u, r1[3]);
      store_lds<bf16>(lds, a_43 + 2048u, r1[4]);
      store_lds<bf16>(lds, a_44 + 2560u, r1[5]);
      store_lds<bf16>(lds, a_43 + 3072u, r1[6]);
      store_lds<bf16>(lds, a_44 + 3584u, r1[7]);
      store_lds<bf16>(lds, a_43 + 4096u, r1[8]);
      store_lds<bf16>(lds, a_44 + 4608u, r1[9]);
      store_lds<bf16>(lds, a_43 + 5120u, r1[10]);
      store_lds<bf16>(lds, a_44 + 5632u, r1[11]);
      store_lds<bf16>(lds, a_43 + 6144u, r1[12]);
      store_lds<bf16>(lds, a_44 + 6656u, r1[13]);
      store_lds<bf16>(lds, a_43 + 7168u, r1[14]);
      store_lds<bf16>(lds, a_44 + 7680u, r1[15]);
    }
    {
      store_lds<vec<bf16, 8>>(lds, a_47 + 8192u, vec<bf16, 8>{r2[0], r2[1], r2[2], r2[3], r2[4], r2[5], r2[6], r2[7]});
      store_lds<vec<bf16, 8>>(lds, a_48 + 8192u, vec<bf16, 8>{r2[8], r2[9], r2[10], r2[11], r2[12], r2[13], r2[14], r2[15]});
    }
    barrier();
    const i32 v6 = smaller<i32>((v0 + 64), 128);
    {
      const i32 i_49 = v6 + (i32)(lane);
      const u32 u_50 = (u32)((((by * 64) * 258) + (v6 * 2)));
      const bool m_52 = (u32)(i_49) < 129u;
      const bf16 x_51 = load_buffer<bf16>(b_1, u_50, m_52 ? l_0 : buffer_outside);
      r1[0] = x_51;
      const bf16 x_53 = load_buffer<bf16>(b_1, u_50, m_52 ? l_0 + 1032u : buffer_outside);
      r1[1] = x_53;
      const bf16 x_54 = load_buffer<bf16>(b_1, u_50, m_52 ? l_0 + 2064u : buffer_outside);
      r1[2] = x_54;
      const bf16 x_55 = load_buffer<bf16>(b_1, u_50, m_52 ? l_0 + 3096u : buffer_outside);
      r1[3] = x_55;
      const bf16 x_56 = load_buffer<bf16>(b_1, u_50, m_52 ? l_0 + 4128u : buffer_outside);
      r1[4] = x_56;
      const bf16 x_57 = load_buffer<bf16>(b_1, u_50, m_52 ? l_0 + 5160u : buffer_outside);
      r1[5] = x_57;
      const bf16 x_58 = load_buffer<bf16>(b_1, u_50, m_52 ? l_0 + 6192u : buffer_outside);
      r1[6] = x_58;
      const bf16 x_59 = load_buffer<bf16>(b_1, u_50, m_52 ? l_0 + 7224u : buffer_outside);
      r1[7] = x_59;
      const bf16 x_60 = load_buffer<bf16>(b_1, u_50, m_52 ? l_0 + 8256u : buffer_outside);
      r1[8] = x_60;
      const bf16 x_61 = load_buffer<bf16>(b_1, u_50, m_52 ? l_0 + 9288u : buffer_outside);
      r1[9] = x_61;
      const bf16 x_62 = load_buffer<bf16>(b_1, u_50, m_52 ? l_0 + 10320u : buffer_outside);
      r1[10] = x_62;
      const bf16 x_63 = load_buffer<bf16>(b_1, u_50, m_52 ? l_0 + 11352u : buffer_outside);
      r1[11] = x_63;
      const bf16 x_64 = load_buffer<bf16>(b_1, u_50, m_52 ? l_0 + 12384u : buffer_outside);
      r1[12] = x_64;
      const bf16 x_65 = load_buffer<bf16>(b_1, u_50, m_52 ? l_0 + 13416u : buffer_outside);
      r1[13] = x_65;
      const bf16 x_66 = load_buffer<bf16>(b_1, u_50, m_52 ? l_0 + 14448u : buffer_outside);
      r1[14] = x_66;
      const bf16 x_67 = load_buffer<bf16>(b_1, u_50, m_52 ? l_0 + 15480u : buffer_outside);
      r1[15] = x_67;
    }
    {
      const i32 i_68 = (bx * 64) + (i32)(lane);
      const u32 u_69 = (u32)(((v6 * 514) + ((bx * 64) * 2)));
      const bool m_71 = (u32)(i_68) < 257u;
      const bf16 x_70 = load_buffer<bf16>(b_21, u_69, m_71 ? l_19 : buffer_outside);
      r2[0] = x_70;
      const bf16 x_72 = load_buffer<bf16>(b_21, u_69, m_71 ? l_19 + 514u : buffer_outside);
      r2[1] = x_72;
      const bf16 x_73 = load_buffer<bf16>(b_21, u_69, m_71 ? l_19 + 1028u : buffer_outside);
      r2[2] = x_73;
      const bf16 x_74 = load_buffer<bf16>(b_21, u_69, m_71 ? l_19 + 1542u : buffer_outside);
      r2[3] = x_74;
      const bf16 x_75 = load_buffer<bf16>(b_21, u_69, m_71 ? l_19 + 2056u : buffer_outside);
      r2[4] = x_75;
      const bf16 x_76 = load_buffer<bf16>(b_21, u_69, m_71 ? l_19 + 2570u : buffer_outside);
      r2[5] = x_76;
      const bf16 x_77 = load_buffer<bf16>(b_21, u_69, m_71 ? l_19 + 3084u : buffer_outside);
      r2[6] = x_77;
      const bf16 x_78 = load_buffer<bf16>(b_21, u_69, m_71 ? l_19 + 3598u : buffer_outside);
      r2[7] = x_78;
      const bf16 x_79 = load_buffer<bf16>(b_21, u_69, m_71 ? l_19 + 16448u : buffer_outside);
      r2[8] = x_79;
      const bf16 x_80 = load_buffer<bf16>(b_21, u_69, m_71 ? l_19 + 16962u : buffer_outside);
      r2[9] = x_80;
      const bf16 x_81 = load_buffer<bf16>(b_21, u_69, m_71 ? l_19 + 17476u : buffer_outside);
      r2[10] = x_81;
      const bf16 x_82 = load_buffer<bf16>(b_21, u_69, m_71 ? l_19 + 17990u : buffer_outside);
      r2[11] = x_82;
      const bf16 x_83 = load_buffer<bf16>(b_21, u_69, m_71 ? l_19 + 18504u : buffer_outside);
      r2[12] = x_83;
      const bf16 x_84 = load_buffer<bf16>(b_21, u_69, m_71 ? l_19 + 19018u : buffer_outside);
      r2[13] = x_84;
      const bf16 x_85 = load_buffer<bf16>(b_21, u_69, m_71 ? l_19 + 19532u : buffer_outside);
      r2[14] = x_85;
      const bf16 x_86 = load_buffer<bf16>(b_21, u_69, m_71 ? l_19 + 20046u : buffer_outside);
      r2[15] = x_86;
    }
    KILN_SCHED_FENCE(0);
    {
      const vec<bf16, 8> x_90 = load_lds<vec<bf16, 8>>(lds, a_89);
      r5[0] = __builtin_shufflevector(x_90, x_90, 0, 1, 2, 3);
      r5[1] = __builtin_shufflevector(x_90, x_90, 4, 5, 6, 7);
    }
    {
      const vec<bf16, 8> x_93 = load_lds<vec<bf16, 8>>(lds, a_92 + 8192u);
      r6[0] = __builtin_shufflevector(x_93, x_93, 0, 1, 2, 3);
      r6[1] = __builtin_shufflevector(x_93, x_93, 4, 5, 6, 7);
    }
    {
      const vec<bf16, 8> x_95 = load_lds<vec<bf16, 8>>(lds, a_94);
      r7[0] = __builtin_shufflevector(x_95, x_95, 0, 1, 2, 3);
      r7[1] = __builtin_shufflevector(x_95, x_95, 4, 5, 6, 7);
    }
    {
      const vec<bf16, 8> x_97 = load_lds<vec<bf16, 8>>(lds, a_96 + 8192u);
      r8[0] = __builtin_shufflevector(x_97, x_97, 0, 1, 2, 3);
      r8[1] = __builtin_shufflevector(x_97, x_97, 4, 5, 6, 7);
    }
    KILN_SCHED_FENCE(0);
    r0[0] = mfma_f32_32x32x8bf16_1k(r6[0], r5[0], r0[0]);
    r0[0] = mfma_f32_32x32x8bf16_1k(r6[1], r5[1], r0[0]);
    {
      const vec<bf16, 8> x_99 = load_lds<vec<bf16, 8>>(lds, a_98);
      r5[0] = __builtin_shufflevector(x_99, x_99, 0, 1, 2, 3);
      r5[1] = __builtin_shufflevector(x_99, x_99, 4, 5, 6, 7);
    }
    {
      const vec<bf16, 8> x_101 = load_lds<vec<bf16, 8>>(lds, a_100 + 8192u);
      r6[0] = __builtin_shufflevector(x_101, x_101, 0, 1, 2, 3);
      r6[1] = __builtin_shufflevector(x_101, x_101, 4, 5, 6, 7);
    }
    KILN_SCHED_FENCE(0);
    r0[0] = mfma_f32_32x32x8bf16_1k(r8[0], r7[0], r0[0]);
    r0[0] = mfma_f32_32x32x8bf16_1k(r8[1], r7[1], r0[0]);
    {
      const vec<bf16, 8> x_103 = load_lds<vec<bf16, 8>>(lds, a_102);
      r7[0] = __builtin_shufflevector(x_103, x_103, 0, 1, 2, 3);
      r7[1] = __builtin_shufflevector(x_103, x_103, 4, 5, 6, 7);
    }
    {
      const vec<bf16, 8> x_105 = load_lds<vec<bf16, 8>>(lds, a_104 + 8192u);
      r8[0] = __builtin_shufflevector(x_105, x_105, 0, 1, 2, 3);
      r8[1] = __builtin_shufflevector(x_105, x_105, 4, 5, 6, 7);
    }
    KILN_SCHED_FENCE(0);
    r0[0] = mfma_f32_32x32x8bf16_1k(r6[0], r5[0], r0[0]);
    r0[0] = mfma_f32_32x32x8bf16_1k(r6[1], r5[1], r0[0]);
    r0[0] = mfma_f32_32x32x8bf16_1k(r8[0], r7[0], r0[0]);
    r0[0] = mfma_f32_32x32x8bf16_1k(r8[1], r7[1], r0[0]);
  }
  {
    const u32 u_108 = (u32)(((bx * 64) * 2));
    const bf16 x_109 = load_buffer<bf16>(b_107, u_108, l_106);
    r10[0][0] = x_109;
    const bf16 x_110 = load_buffer<bf16>(b_107, u_108, l_106 + 2u);
    r10[0][1] = x_110;
    const bf16 x_111 = load_buffer<bf16>(b_107, u_108, l_106 + 4u);
    r10[0][2] = x_111;
    const bf16 x_112 = load_buffer<bf16>(b_107, u_108, l_106 + 6u);
    r10[0][3] = x_112;
    const bf16 x_113 = load_buffer<bf16>(b_107, u_108, l_106 + 16u);
    r10[1][0] = x_113;
    const bf16 x_114 = load_buffer<bf16>(b_107, u_108, l_106 + 18u);
    r10[1][1] = x_114;
    const bf16 x_115 = load_buffer<bf16>(b_107, u_108, l_106 + 20u);
    r10[1][2] = x_115;
    const bf16 x_116 = load_buffer<bf16>(b_107, u_108, l_106 + 22u);
    r10[1][3] = x_116;
    const bf16 x_117 = load_buffer<bf16>(b_107, u_108, l_106 + 32u);
    r10[2][0] = x_117;
    const bf16 x_118 = load_buffer<bf16>(b_107, u_108, l_106 + 34u);
    r10[2][1] = x_118;
    const bf16 x_119 = load_buffer<bf16>(b_107, u_108, l_106 + 36u);
    r10[2][2] = x_119;
    const bf16 x_120 = load_buffer<bf16>(b_107, u_108, l_106 + 38u);
    r10[2][3] = x_120;
    const bf16 x_121 = load_buffer<bf16>(b_107, u_108, l_106 + 48u);
    r10[3][0] = x_121;
    const bf16 x_122 = load_buffer<bf16>(b_107, u_108, l_106 + 50u);
    r10[3][1] = x_122;
    const bf16 x_123 = load_buffer<bf16>(b_107, u_108, l_106 + 52u);
    r10[3][2] = x_123;
    const bf16 x_124 = load_buffer<bf16>(b_107, u_108, l_106 + 54u);
    r10[3][3] = x_124;
  }
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
  {
    const i32 i_128 = (by * 64) + (i32)(l_125);
    const i32 i_129 = (bx * 64) + (i32)(l_126);
    const u32 u_131 = (u32)((((by * 64) * 514) + ((bx * 64) * 2)));
    const bool m_132 = (u32)(i_128) < 300u && (u32)(i_129) < 257u;
    store_buffer<bf16>(b_130, u_131, m_132 ? l_127 : buffer_outside, r11[0][0]);
    const bool m_133 = (u32)(i_128) < 300u && (u32)(i_129 + 1) < 257u;
    store_buffer<bf16>(b_130, u_131, m_133 ? l_127 + 2u : buffer_outside, r11[0][1]);
    const bool m_134 = (u32)(i_128) < 300u && (u32)(i_129 + 2) < 257u;
    store_buffer<bf16>(b_130, u_131, m_134 ? l_127 + 4u : buffer_outside, r11[0][2]);
    const bool m_135 = (u32)(i_128) < 300u && (u32)(i_129 + 3) < 257u;
    store_buffer<bf16>(b_130, u_131, m_135 ? l_127 + 6u : buffer_outside, r11[0][3]);
    const bool m_136 = (u32)(i_128) < 300u && (u32)(i_129 + 8) < 257u;
    store_buffer<bf16>(b_130, u_131, m_136 ? l_127 + 16u : buffer_outside, r11[0][4]);
    const bool m_137 = (u32)(i_128) < 300u && (u32)(i_129 + 9) < 257u;
    store_buffer<bf16>(b_130, u_131, m_137 ? l_127 + 18u : buffer_outside, r11[0][5]);
    const bool m_138 = (u32)(i_128) < 300u && (u32)(i_129 + 10) < 257u;
    store_buffer<bf16>(b_130, u_131, m_138 ? l_127 + 20u : buffer_outside, r11[0][6]);
    const bool m_139 = (u32)(i_128) < 300u && (u32)(i_129 + 11) < 257u;
    store_buffer<bf16>(b_130, u_131, m_139 ? l_127 + 22u : buffer_outside, r11[0][7]);
    const bool m_140 = (u32)(i_128) < 300u && (u32)(i_129 + 16) < 257u;
    store_buffer<bf16>(b_130, u_131, m_140 ? l_127 + 32u : buffer_outside, r11[0][8]);
    const bool m_141 = (u32)(i_128) < 300u && (u32)(i_129 + 17) < 257u;
    store_buffer<bf16>(b_130, u_131, m_141 ? l_127 + 34u : buffer_outside, r11[0][9]);
    const bool m_142 = (u32)(i_128) < 300u && (u32)(i_129 + 18) < 257u;
    store_buffer<bf16>(b_130, u_131, m_142 ? l_127 + 36u : buffer_outside, r11[0][10]);
    const bool m_143 = (u32)(i_128) < 300u && (u32)(i_129 + 19) < 257u;
    store_buffer<bf16>(b_130, u_131, m_143 ? l_127 + 38u : buffer_outside, r11[0][11]);
    const bool m_144 = (u32)(i_128) < 300u && (u32)(i_129 + 24) < 257u;
    store_buffer<bf16>(b_130, u_131, m_144 ? l_127 + 48u : buffer_outside, r11[0][12]);
    const bool m_145 = (u32)(i_128) < 300u && (u32)(i_129 + 25) < 257u;
    store_buffer<bf16>(b_130, u_131, m_145 ? l_127 + 50u : buffer_outside, r11[0][13]);
    const bool m_146 = (u32)(i_128) < 300u && (u32)(i_129 + 26) < 257u;
    store_buffer<bf16>(b_130, u_131, m_146 ? l_127 + 52u : buffer_outside, r11[0][14]);
    const bool m_147 = (u32)(i_128) < 300u && (u32)(i_129 + 27) < 257u;
    store_buffer<bf16>(b_130, u_131, m_147 ? l_127 + 54u : buffer_outside, r11[0][15]);
  }
}

}  // namespace kiln
