// The decoder: fields of chosen encodings against values read off AMD's documents by hand, and the structure of decoded
// code. That all fields are right for all instructions: decoder_text_test.cpp.
#include "engine/emulator/isa/decoder.hpp"

#include <gtest/gtest.h>

#include <random>

#include "tests/support/emulator/small_wave.hpp"

namespace kiln::emulator {
namespace {

using emulator_test::assemble;
using Kind = Source::Kind;

Code decoded(const std::string& assembly, const std::string& processor, std::uint64_t address = 0x1000) {
  const auto bytes = assemble(assembly, processor);
  if (!bytes) {
    ADD_FAILURE() << to_text(bytes.error());
    return {};
  }
  auto code = decode(*bytes, address, processor);
  if (!code) {
    ADD_FAILURE() << to_text(code.error());
    return {};
  }
  return std::move(*code);
}

// The one instruction that the text is.
Instruction one(const std::string& assembly, const std::string& processor = "gfx942") {
  const Code code = decoded(assembly, processor);
  if (code.instructions.size() != 1) {
    ADD_FAILURE() << assembly << ": " << code.instructions.size() << " instructions";
    return {};
  }
  Instruction instruction = code.instructions[0];
  static std::deque<std::string> names;  // outlive the code
  instruction.name = names.emplace_back(instruction.name).c_str();
  return instruction;
}

void expect_source(const Source& source, Kind kind, int index) {
  EXPECT_EQ(static_cast<int>(source.kind), static_cast<int>(kind));
  EXPECT_EQ(source.index, index);
}
void expect_vector(const Source& source, int index) { expect_source(source, Kind::vector, index); }
void expect_scalar(const Source& source, int index) { expect_source(source, Kind::scalar, index); }

TEST(DecoderFields, ScalarArithmetic) {
  const auto add = one("s_add_u32 s3, 0x12345678, vcc_hi");
  EXPECT_STREQ(add.name, "s_add_u32");
  EXPECT_EQ(add.format, Format::sop2);
  EXPECT_EQ(add.opcode, 0);
  EXPECT_EQ(add.bytes, 8);
  expect_scalar(add.dst, 3);
  expect_source(add.src[0], Kind::literal, 0);
  EXPECT_EQ(add.src[0].literal, 0x12345678u);
  expect_scalar(add.src[1], 107);
  const auto move = one("s_mov_b64 exec, -1");
  EXPECT_EQ(move.format, Format::sop1);
  expect_scalar(move.dst, code::exec);
  expect_source(move.src[0], Kind::constant, 193);
  const auto compare = one("s_cmp_lt_i32 s7, 0.5");
  EXPECT_EQ(compare.format, Format::sopc);
  expect_scalar(compare.src[0], 7);
  expect_source(compare.src[1], Kind::constant, 240);
  expect_source(one("s_mov_b64 s[0:1], src_shared_base").src[0], Kind::special, code::shared_base);
  EXPECT_EQ(one("s_getpc_b64 s[4:5]").src[0].kind, Kind::none);
  EXPECT_EQ(one("s_setpc_b64 s[4:5]").dst.kind, Kind::none);
}

TEST(DecoderFields, ScalarImmediates) {
  const auto move = one("s_movk_i32 s9, 0x8000");
  EXPECT_EQ(move.format, Format::sopk);
  EXPECT_EQ(move.immediate, 0x8000);
  expect_scalar(move.dst, 9);
  EXPECT_EQ(move.src[0].kind, Kind::none);
  const auto compare = one("s_cmpk_eq_u32 s9, 0x1");
  expect_scalar(compare.src[0], 9);
  const auto set = one("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 0xff");
  EXPECT_EQ(set.bytes, 8);
  EXPECT_EQ(set.immediate, 1 | 4 << 6 | 3 << 11);
  EXPECT_EQ(set.src[0].literal, 0xffu);
  EXPECT_EQ(one("s_waitcnt vmcnt(5) lgkmcnt(0)").immediate, 0x0075);
  EXPECT_EQ(one("s_sleep 3").immediate, 3);
}

TEST(DecoderFields, ScalarMemory) {
  const auto load = one("s_load_dwordx4 s[8:11], s[4:5], -0x10 glc");
  EXPECT_EQ(load.format, Format::smem);
  expect_scalar(load.dst, 8);
  expect_scalar(load.src[2], 4);
  EXPECT_EQ(load.offset, -16);
  EXPECT_TRUE(load.glc);
  EXPECT_FALSE(load.scalar_base);
  const auto both = one("s_load_dword s8, s[4:5], s6 offset:0x20");
  EXPECT_TRUE(both.scalar_base);
  expect_scalar(both.src[3], 6);
  EXPECT_EQ(both.offset, 0x20);
  const auto by_register = one("s_buffer_load_dwordx2 s[8:9], s[12:15], m0");
  EXPECT_TRUE(by_register.scalar_base);
  expect_scalar(by_register.src[2], 12);
  expect_scalar(by_register.src[3], code::m0);
  const auto clock = one("s_memtime s[2:3]");
  expect_scalar(clock.dst, 2);
  EXPECT_EQ(clock.src[2].kind, Kind::none);
  const auto store = one("s_store_dword s8, s[4:5], 0x4", "gfx90a");
  expect_scalar(store.src[1], 8);
  EXPECT_EQ(store.dst.kind, Kind::none);
}

TEST(DecoderFields, VectorShortForms) {
  const auto move = one("v_mov_b32 v7, 0x3f000001");
  EXPECT_STREQ(move.name, "v_mov_b32");
  EXPECT_EQ(move.format, Format::vop1);
  expect_vector(move.dst, 7);
  EXPECT_EQ(move.src[0].literal, 0x3f000001u);
  const auto madmk = one("v_fmamk_f32 v1, v2, 0x42f60000, v3");
  EXPECT_EQ(madmk.src[1].literal, 0x42f60000u);
  expect_vector(madmk.src[2], 3);
  const auto madak = one("v_fmaak_f32 v1, v2, v3, 0x42f60000");
  expect_vector(madak.src[0], 2);
  EXPECT_EQ(madak.src[2].literal, 0x42f60000u);
  const auto select = one("v_cndmask_b32_e32 v1, v2, v3, vcc");
  expect_scalar(select.src[2], code::vcc);
  const auto carry = one("v_addc_co_u32_e32 v1, vcc, v2, v3, vcc");
  expect_scalar(carry.scalar_dst, code::vcc);
  expect_scalar(carry.src[2], code::vcc);
  const auto compare = one("v_cmp_lt_f32_e32 vcc, s4, v5");
  EXPECT_EQ(compare.format, Format::vopc);
  EXPECT_EQ(compare.dst.kind, Kind::none);
  expect_scalar(compare.scalar_dst, code::vcc);
  const auto first = one("v_readfirstlane_b32 s11, v12");
  expect_scalar(first.dst, 11);
  const auto accumulation = one("v_accvgpr_mov_b32 a5, a6");
  expect_vector(accumulation.dst, 256 + 5);
  expect_vector(accumulation.src[0], 256 + 6);
}

TEST(DecoderFields, Sdwa) {
  const auto add = one("v_add_f32_sdwa v0, -v1, |s2| clamp mul:4 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE "
                       "src0_sel:BYTE_2 src1_sel:WORD_0");
  EXPECT_STREQ(add.name, "v_add_f32");
  EXPECT_EQ(add.format, Format::vop2);
  EXPECT_TRUE(add.sdwa.used);
  EXPECT_EQ(add.sdwa.destination_select, 5);
  EXPECT_EQ(add.sdwa.destination_unused, 2);
  EXPECT_EQ(add.sdwa.source_select[0], 2);
  EXPECT_EQ(add.sdwa.source_select[1], 4);
  EXPECT_EQ(add.neg, 1);
  EXPECT_EQ(add.abs, 2);
  EXPECT_TRUE(add.clamp);
  EXPECT_EQ(add.omod, 2);
  expect_vector(add.src[0], 1);
  expect_scalar(add.src[1], 2);
  const auto integer = one("v_add_u32_sdwa v0, sext(v1), v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_0 "
                           "src1_sel:DWORD");
  EXPECT_TRUE(integer.sdwa.sign_extend[0]);
  EXPECT_FALSE(integer.sdwa.sign_extend[1]);
  const auto compare = one("v_cmp_eq_u32_sdwa s[6:7], v1, v2 src0_sel:WORD_1 src1_sel:DWORD");
  expect_scalar(compare.scalar_dst, 6);
}

TEST(DecoderFields, Dpp) {
  const auto move = one("v_mov_b32_dpp v0, v1 row_shr:3 row_mask:0xa bank_mask:0x5 bound_ctrl:0");
  EXPECT_STREQ(move.name, "v_mov_b32");
  EXPECT_TRUE(move.dpp.used);
  EXPECT_EQ(move.dpp.control, 0x113);
  EXPECT_EQ(move.dpp.row_mask, 10);
  EXPECT_EQ(move.dpp.bank_mask, 5);
  EXPECT_TRUE(move.dpp.bound_control);
  const auto add = one("v_add_f32_dpp v0, -v1, |v2| quad_perm:[3,2,1,0] row_mask:0xf bank_mask:0xf");
  EXPECT_EQ(add.dpp.control, 0x1b);
  EXPECT_EQ(add.neg, 1);
  EXPECT_EQ(add.abs, 2);
  EXPECT_FALSE(add.dpp.bound_control);
}

TEST(DecoderFields, Vop3) {
  const auto fma = one("v_fma_f32 v0, -v1, |s2|, -|1.0| clamp div:2");
  EXPECT_EQ(fma.format, Format::vop3);
  EXPECT_EQ(fma.opcode, 0x1cb);
  EXPECT_EQ(fma.neg, 5);
  EXPECT_EQ(fma.abs, 6);
  EXPECT_TRUE(fma.clamp);
  EXPECT_EQ(fma.omod, 3);
  expect_source(fma.src[2], Kind::constant, 242);
  const auto half = one("v_fma_f16 v0, v1, v2, v3 op_sel:[0,1,0,1]");
  EXPECT_EQ(half.op_sel, 0b1010);
  const auto compare = one("v_cmp_gt_i32_e64 s[10:11], v1, v2");
  expect_scalar(compare.scalar_dst, 10);
  EXPECT_EQ(compare.dst.kind, Kind::none);
  EXPECT_EQ(compare.src[2].kind, Kind::none);
  const auto carry = one("v_addc_co_u32_e64 v1, s[2:3], v4, v5, s[6:7]");
  expect_vector(carry.dst, 1);
  expect_scalar(carry.scalar_dst, 2);
  expect_scalar(carry.src[2], 6);
  const auto wide = one("v_mad_u64_u32 v[0:1], s[2:3], v4, s5, v[6:7]");
  expect_scalar(wide.scalar_dst, 2);
  expect_vector(wide.src[2], 6);
  const auto lane = one("v_readlane_b32 s3, v4, m0");
  expect_scalar(lane.dst, 3);
  expect_scalar(lane.src[1], code::m0);
  const auto bits = one("v_bitop3_b32 v0, v1, v2, v3 bitop3:0x6a", "gfx950");
  EXPECT_EQ(bits.immediate, 0x6a);
  EXPECT_EQ(bits.abs | bits.neg | bits.omod, 0);
}

TEST(DecoderFields, Packed) {
  const auto fma = one(
      "v_pk_fma_f16 v0, v1, v2, v3 op_sel:[1,0,0] op_sel_hi:[0,1,1] neg_lo:[0,1,0] neg_hi:[0,0,1] clamp");
  EXPECT_EQ(fma.format, Format::vop3p);
  EXPECT_EQ(fma.op_sel, 1);
  EXPECT_EQ(fma.op_sel_hi, 6);
  EXPECT_EQ(fma.neg, 2);
  EXPECT_EQ(fma.neg_hi, 4);
  EXPECT_TRUE(fma.clamp);
  const auto plain = one("v_pk_add_f32 v[0:1], v[2:3], v[4:5]");
  EXPECT_EQ(plain.op_sel_hi & 3, 3);
  EXPECT_EQ(plain.src[2].kind, Kind::none);
  const auto mixed = one("v_fma_mix_f32 v0, -v1, |v2|, v3 op_sel:[0,1,0] op_sel_hi:[1,1,0]");
  EXPECT_EQ(mixed.neg, 1);
  EXPECT_EQ(mixed.abs, 2);
  EXPECT_EQ(mixed.neg_hi, 0);
  EXPECT_EQ(mixed.op_sel, 2);
  EXPECT_EQ(mixed.op_sel_hi, 3);
}

TEST(DecoderFields, Matrix) {
  const auto dense = one("v_mfma_f32_32x32x8_f16 a[0:15], v[2:3], a[4:5], a[16:31] cbsz:2 abid:1 blgp:3");
  EXPECT_EQ(dense.format, Format::mai);
  expect_vector(dense.dst, 256);
  expect_vector(dense.src[0], 2);
  expect_vector(dense.src[1], 256 + 4);
  expect_vector(dense.src[2], 256 + 16);
  EXPECT_EQ(dense.cbsz, 2);
  EXPECT_EQ(dense.abid, 1);
  EXPECT_EQ(dense.blgp, 3);
  expect_source(one("v_mfma_f32_32x32x8_f16 v[0:15], v[2:3], v[4:5], 0").src[2], Kind::constant, 128);
  const auto sparse = one("v_smfmac_f32_16x16x32_f16 a[0:3], v[4:5], v[6:9], v10 abid:2");
  expect_vector(sparse.dst, 256);
  expect_vector(sparse.src[2], 10);  // the index is never an accumulation register
  const auto read = one("v_accvgpr_read_b32 v1, a2");
  expect_vector(read.dst, 1);
  expect_vector(read.src[0], 256 + 2);
  const auto write = one("v_accvgpr_write_b32 a1, v2");
  expect_vector(write.dst, 256 + 1);
  expect_vector(write.src[0], 2);
}

TEST(DecoderFields, ScaledMatrix) {
  const auto scaled = one("v_mfma_scale_f32_16x16x128_f8f6f4 a[0:3], v[4:11], v[12:17], a[0:3], v20, v21 "
                          "op_sel:[1,0,0] op_sel_hi:[0,1,0] cbsz:0 blgp:2", "gfx950");
  EXPECT_STREQ(scaled.name, "v_mfma_scale_f32_16x16x128_f8f6f4");
  EXPECT_EQ(scaled.bytes, 16);
  EXPECT_EQ(scaled.format, Format::mai);
  expect_vector(scaled.dst, 256);
  expect_vector(scaled.src[0], 4);
  expect_vector(scaled.src[1], 12);
  expect_vector(scaled.scale[0], 20);
  expect_vector(scaled.scale[1], 21);
  EXPECT_EQ(scaled.op_sel, 1);
  EXPECT_EQ(scaled.op_sel_hi, 2);
  EXPECT_EQ(scaled.blgp, 2);
  EXPECT_EQ(one("v_mfma_f32_16x16x128_f8f6f4 a[0:3], v[4:11], v[12:19], a[0:3]", "gfx950").scale[0].kind, Kind::none);
}

TEST(DecoderFields, Lds) {
  const auto read = one("ds_read_b64 a[2:3], v1 offset:65528");
  EXPECT_EQ(read.format, Format::ds);
  expect_vector(read.dst, 256 + 2);
  expect_vector(read.src[0], 1);
  EXPECT_EQ(read.src[1].kind, Kind::none);
  EXPECT_EQ(read.offset, 65528);
  const auto write = one("ds_write2_b32 v1, v2, v3 offset0:4 offset1:9");
  EXPECT_EQ(write.dst.kind, Kind::none);
  expect_vector(write.src[1], 2);
  expect_vector(write.src[3], 3);
  EXPECT_EQ(write.offset, 4 | 9 << 8);
  const auto swap = one("ds_cmpst_rtn_b32 v0, v1, v2, v3");
  expect_vector(swap.dst, 0);
  expect_vector(swap.src[1], 2);
  expect_vector(swap.src[3], 3);
  const auto permute = one("ds_bpermute_b32 v0, v1, v2 offset:4");
  expect_vector(permute.dst, 0);
  expect_vector(permute.src[0], 1);
  expect_vector(permute.src[1], 2);
}

TEST(DecoderFields, Flat) {
  const auto flat = one("flat_store_dwordx2 v[2:3], a[4:5] offset:4095 sc1");
  EXPECT_EQ(flat.format, Format::flat);
  expect_vector(flat.src[0], 2);
  expect_vector(flat.src[1], 256 + 4);
  EXPECT_EQ(flat.offset, 4095);
  EXPECT_TRUE(flat.dlc);
  const auto global = one("global_load_dword v0, v1, s[2:3] offset:-4096 sc0 nt");
  EXPECT_EQ(global.format, Format::global);
  EXPECT_TRUE(global.scalar_base);
  expect_scalar(global.src[2], 2);
  EXPECT_EQ(global.offset, -4096);
  EXPECT_TRUE(global.glc && global.slc);
  const auto atomic = one("global_atomic_add_f32 v[2:3], v4, off");
  EXPECT_EQ(atomic.dst.kind, Kind::none);
  EXPECT_FALSE(atomic.scalar_base);
  expect_vector(one("global_atomic_add v0, v[2:3], v4, off sc0").dst, 0);
  const auto direct = one("global_load_lds_dword v[2:3], off");
  EXPECT_TRUE(direct.lds);
  EXPECT_EQ(direct.dst.kind, Kind::none);
  EXPECT_TRUE(one("global_load_dword v[2:3], off lds", "gfx90a").lds);
}

TEST(DecoderFields, Scratch) {
  const auto by_vector = one("scratch_load_dword v0, v1, off offset:16");
  EXPECT_EQ(by_vector.format, Format::scratch);
  EXPECT_TRUE(by_vector.vector_address);
  EXPECT_FALSE(by_vector.scalar_base);
  const auto both = one("scratch_load_dword v0, v1, s2");
  EXPECT_TRUE(both.vector_address && both.scalar_base);
  const auto neither = one("scratch_store_dword off, v1, off offset:4");
  EXPECT_FALSE(neither.vector_address || neither.scalar_base);
  EXPECT_FALSE(one("scratch_load_dword v0, off, s2", "gfx90a").vector_address);
  EXPECT_TRUE(one("scratch_load_dword v0, v2, off", "gfx90a").vector_address);
}

TEST(DecoderFields, Buffers) {
  const auto load = one("buffer_load_dwordx4 a[0:3], v4, s[8:11], s5 offen offset:4095 sc1");
  EXPECT_EQ(load.format, Format::mubuf);
  expect_vector(load.dst, 256);
  expect_vector(load.src[0], 4);
  expect_scalar(load.src[2], 8);
  expect_scalar(load.src[3], 5);
  EXPECT_TRUE(load.offen && load.dlc && !load.idxen);
  EXPECT_EQ(load.offset, 4095);
  const auto direct = one("buffer_load_dword v4, s[8:11], 0 offen lds");
  EXPECT_TRUE(direct.lds);
  EXPECT_EQ(direct.dst.kind, Kind::none);
  expect_source(direct.src[3], Kind::constant, 128);
  const auto atomic = one("buffer_atomic_add v0, off, s[8:11], 0 sc0");
  expect_vector(atomic.dst, 0);
  expect_vector(atomic.src[1], 0);
  EXPECT_FALSE(atomic.vector_address);
  const auto typed = one(
      "tbuffer_load_format_x v0, v1, s[8:11], 0 format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT] idxen");
  EXPECT_EQ(typed.format, Format::mtbuf);
  EXPECT_EQ(typed.data_format, 4);
  EXPECT_EQ(typed.number_format, 7);
  const auto control = one("buffer_wbl2 sc0 sc1");
  EXPECT_EQ(control.src[2].kind, Kind::none);
  EXPECT_TRUE(control.glc && control.dlc);
}

TEST(Decoder, AddressesAndBranches) {
  const Code code = decoded(R"(
    begin: v_mov_b32 v0, 0x12345678
    s_cbranch_scc0 end
    s_branch begin
    s_call_b64 s[0:1], begin
    end: s_endpgm)", "gfx942", 0x10000);
  ASSERT_EQ(code.instructions.size(), 5u);
  EXPECT_EQ(code.begin, 0x10000u);
  EXPECT_EQ(code.index_of, (std::vector<std::uint32_t>{0, ~0u, 1, 2, 3, 4}));
  EXPECT_EQ(code.instructions[1].address, 0x10008u);
  EXPECT_EQ(code.instructions[1].target, 4u);
  EXPECT_EQ(code.instructions[2].target, 0u);
  EXPECT_EQ(code.instructions[3].target, 0u);
  for (std::uint32_t i = 0; i < 5; ++i) EXPECT_EQ(code.instructions[i].following, i + 1);
  EXPECT_EQ(code.text[0], "v_mov_b32_e32 v0, 0x12345678");
}

TEST(Decoder, BranchesToNowhereLeaveTheCode) {
  const Code code = decoded(
      "s_branch 0x7fff\ns_branch 0x8000\ns_branch 0\nv_mov_b32 v0, 0x12345678\ns_branch 0xfffe", "gfx942");
  ASSERT_EQ(code.instructions.size(), 5u);
  EXPECT_EQ(code.instructions[0].target, 5u);
  EXPECT_EQ(code.instructions[1].target, 5u);
  EXPECT_EQ(code.instructions[2].target, 3u);
  EXPECT_EQ(code.instructions[4].target, 5u) << "into the literal";
}

TEST(Decoder, DataAmongCodeIsSkippedDwordByDword) {
  const Code code = decoded(".long 0xffffffff, 0xd3fffff0\ns_endpgm", "gfx942");
  ASSERT_EQ(code.instructions.size(), 3u);
  EXPECT_STREQ(code.instructions[0].name, "(undecodable)");
  EXPECT_EQ(code.instructions[0].words[0], 0xffffffffu);
  EXPECT_STREQ(code.instructions[2].name, "s_endpgm");
}

// A scalar pair that is not aligned, a vector register where a scalar must be, a tuple beyond the last register, the
// reserved bit of FLAT's offset, the global data share: no card defines what they do.
TEST(Decoder, WhatNoCardDefinesIsNoInstruction) {
  for (const std::uint64_t words : {0x00000000be820103ull, 0x00020d04d2890004ull, 0x020004ffd3b100ffull,
                                    0x00000002dc501000ull, 0x00000002d86d0000ull}) {
    std::uint8_t bytes[8];
    std::memcpy(bytes, &words, sizeof bytes);
    const auto code = decode(bytes, 0, "gfx942");
    ASSERT_TRUE(code);
    EXPECT_STREQ(code->instructions[0].name, "(undecodable)") << std::hex << words << " " << code->text[0];
  }
}

TEST(Decoder, RefusesWhatItCannotDecode) {
  const Bytes odd(6), word(4);
  EXPECT_EQ(decode(odd, 0, "gfx942").error().code, ErrorCode::corrupt);
  EXPECT_EQ(decode(word, 0, "gfx803").error().code, ErrorCode::unsupported);
  EXPECT_TRUE(decode(word, 0, "gfx942:sramecc+:xnack-"));
  EXPECT_TRUE(decode({}, 0, "gfx90a"));
}

// LLVM's disassembler crashes on encodings that the formats reserve; the decoder must not.
TEST(Decoder, SurvivesRandomWords) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  constexpr std::uint32_t formats[] = {0xbe800000, 0xbf000000, 0xb0000000, 0xc0000000, 0x7e000000,
                                       0x7c000000, 0xd0000000, 0xd2000000, 0xd3800000, 0xd3ac0000,
                                       0xd8000000, 0xdc000000, 0xe0000000, 0xe8000000};
  for (const char* processor : {"gfx90a", "gfx942", "gfx950"}) {
    std::vector<std::uint32_t> words(50000);
    for (auto& word : words) {
      word = random();
      const auto kind = random() % 32;
      if (kind < std::size(formats)) word = formats[kind] | (word & 0x01ffffff);
      if (random() % 4 == 0) word = (word & ~511u) | (249 + random() % 7);
    }
    const auto code = decode({reinterpret_cast<const std::uint8_t*>(words.data()), words.size() * 4}, 0, processor);
    ASSERT_TRUE(code);
    std::size_t dwords = 0;
    for (const auto& instruction : code->instructions) dwords += instruction.bytes / 4;
    EXPECT_EQ(dwords, words.size());
  }
}

// Every vector opcode with a literal, which some have besides a constant of their own.
TEST(Decoder, SurvivesLiteralsBesideConstants) {
  for (const char* processor : {"gfx90a", "gfx942", "gfx950", "gfx1100"}) {
    std::vector<std::uint32_t> words;
    for (std::uint32_t opcode = 0; opcode < 64; ++opcode)
      for (const std::uint32_t value : {0u, 1u, 0xffu, 0x3c00u, 0xffffffffu, 0x3f800000u})
        words.insert(words.end(), {opcode << 25 | 6u << 17 | 5u << 9 | 0xff, value, value});
    const auto code = decode({reinterpret_cast<const std::uint8_t*>(words.data()), words.size() * 4}, 0, processor);
    ASSERT_TRUE(code) << processor;
    std::size_t dwords = 0;
    for (const auto& instruction : code->instructions) dwords += instruction.bytes / 4;
    EXPECT_EQ(dwords, words.size()) << processor;
  }
}

}  // namespace
}  // namespace kiln::emulator
