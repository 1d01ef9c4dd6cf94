// RDNA3's encodings: the fields that the decoder reads against LLVM's text for every opcode of every format with random
// fields, known instructions, and words that are none.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>

#include "engine/emulator/isa/buffer_formats_gfx11.hpp"
#include "engine/emulator/isa/decoder.hpp"
#include "tests/support/emulator/small_wave.hpp"
#include "tests/unit/emulator/decoder_comparison.hpp"

namespace kiln::emulator {
namespace {

constexpr const char* target = "gfx1100";
using u32 = std::uint32_t;

// Machine code with all opcodes of all formats; the fields are random, of kinds that are valid more often than not.
class Sweep {
 public:
  explicit Sweep(unsigned seed) : random_(seed) {}

  std::vector<u32> round() {
    words_.clear();
    scalar();
    vector_short();
    vector_long();
    dual();
    memory();
    return words_;
  }

 private:
  u32 below(u32 limit) { return static_cast<u32>(random_() % limit); }
  u32 rarely(u32 mask) { return below(3) == 0 ? static_cast<u32>(random_()) & mask : 0; }
  u32 any() { return static_cast<u32>(random_()); }
  u32 scalar_code() {
    const u32 kind = below(6);
    return kind == 0 ? below(256) : kind == 1 ? 128 + below(120) : kind == 2 ? 104 + below(24) : below(102) & ~3u;
  }
  u32 vector_code() {
    const u32 kind = below(5);
    if (kind == 2 && below(4) == 0) return 255;
    return kind == 0 ? below(106) & ~1u : kind == 1 ? 128 + below(81) : 256 + below(256);
  }
  // Three dwords and no-operations up to the next, so that what follows does not depend on the length.
  void put(u32 first, u32 second, u32 third) {
    words_.insert(words_.end(), {first, second, third});
    words_.insert(words_.end(), 4, 0xbf800000);
  }
  void put(u32 first, u32 second) { put(first, second, any()); }

  void scalar() {
    for (u32 i = 0; i < 256; ++i) put(0xbe800000 | below(50) * 2 << 16 | i << 8 | scalar_code(), any());
    for (u32 i = 0; i < 96; ++i)
      put(0x80000000 | i << 23 | below(50) * 2 << 16 | scalar_code() << 8 | scalar_code(), any());
    for (u32 i = 0; i < 28; ++i) put(0xb0000000 | i << 23 | below(50) * 2 << 16 | below(65536), any());
    for (u32 i = 0; i < 64; ++i) put(0xbf000000 | i << 16 | scalar_code() << 8 | scalar_code(), any());
    for (u32 i = 0; i < 128; ++i) put(0xbf800000 | i << 16 | below(below(2) != 0 ? 65536 : 64), any());
    for (u32 i = 0; i < 64; ++i) {
      const u32 first = i << 18 | rarely(3) << 13 | below(12) * 8 << 6 | below(25) * 2;
      const u32 offset = below(3) != 0 ? 124 : below(106);
      put(0xf4000000 | first, below(below(2) != 0 ? 0x200000 : 100) | offset << 25);
    }
  }

  u32 dpp16() {
    const u32 controls[] = {below(256), 0x100 | below(16), 0x110 | below(16), 0x120 | below(16),
                            0x140 | below(2), 0x150 | below(16), 0x160 | below(16)};
    return below(256) | controls[below(7)] << 8 | rarely(3) << 18 | rarely(15) << 20 | below(256) << 24;
  }
  // The source code and the word behind the encoding: a register, a literal, DPP16, DPP8.
  u32 first_source(u32& word) {
    const u32 kind = below(8);
    word = kind == 2 ? dpp16() : any();
    return kind == 2 ? 250 : kind == 3 ? 255 : kind == 4 ? 233 + below(2) : kind == 5 ? below(256) : vector_code();
  }
  void put_short(u32 first, bool second_source) {
    u32 word = 0;
    const u32 source = first_source(word);
    if (second_source) first |= below(256) << 9;
    put(first | source, word);
  }
  void vector_short() {
    for (u32 i = 0; i < 256; ++i) put_short(0x7e000000 | below(256) << 17 | i << 9, false);
    for (u32 i = 0; i < 62; ++i) put_short(i << 25 | below(256) << 17, true);
    for (u32 i = 0; i < 256; ++i) put_short(0x7c000000 | i << 17, true);
  }

  void vector_long() {
    for (u32 i = 0; i < 0x380; ++i) {
      u32 word = 0;
      const u32 first = first_source(word), third = below(2) != 0 ? vector_code() : 0;
      const bool moved = first == 233 || first == 234 || first == 250;  // DPP: the second is a vector register then
      const u32 second = moved ? 256 + below(256) : below(4) == 0 ? below(106) : vector_code();
      put(0xd4000000 | i << 16 | rarely(255) << 8 | (below(4) != 0 ? below(53) * 2 : below(256)),
          first | second << 9 | third << 18 | rarely(31) << 27, word);
    }
    for (u32 i = 0; i < 256; ++i) {
      u32 word = 0;
      const u32 first = below(2) != 0 ? first_source(word) : 256 + below(248);
      const u32 third = below(3) == 0 ? 128 : vector_code();
      const bool moved = first == 233 || first == 234 || first == 250;
      const u32 second = moved ? 256 + below(256) : vector_code();
      put(0xcc000000 | (i & 127) << 16 | (below(2) != 0 ? 0x4000 : rarely(255) << 8) | below(248),
          first | second << 9 | third << 18 | (below(2) != 0 ? 3 : below(32)) << 27, word);
    }
  }

  // Banks of the sources and destinations must differ, or LLVM refuses.
  void dual() {
    for (u32 x = 0; x < 16; ++x) {
      for (u32 y = 0; y < 20; ++y) {
        const u32 literal = below(4);
        const u32 first_x = literal == 0 ? 255 : 256 + below(64) * 4;
        const u32 first_y = literal == 1 ? 255 : 257 + below(63) * 4;
        const u32 second_x = x == 8 ? 0 : below(64) * 4 + 2, second_y = y == 8 ? 0 : below(64) * 4 + 3;
        put(0xc8000000 | x << 22 | y << 17 | second_x << 9 | first_x,
            below(256) << 24 | below(128) << 17 | second_y << 9 | first_y);
      }
    }
  }

  u32 some_register() { return below(2) != 0 ? below(128) * 2 : 0; }
  void memory() {
    for (u32 i = 0; i < 256; ++i)
      put(0xd8000000 | i << 18 | rarely(0xffff) | rarely(1) << 17,
          some_register() | some_register() << 8 | some_register() << 16 | some_register() << 24);
    for (u32 i = 0; i < 384; ++i) {
      const u32 segment = i / 128, base = segment == 0 ? 124 : below(2) != 0 ? 124 : below(50) * 2;
      put(0xdc000000 | segment << 16 | (i & 127) << 18 | rarely(segment == 0 ? 0xfff : 0x1fff) | rarely(7) << 13,
          some_register() | some_register() << 8 | base << 16 | (segment == 1 ? below(2) << 23 : 0) |
              some_register() << 24);
    }
    for (u32 i = 0; i < 144; ++i) {
      const u32 scalar_offset = below(2) != 0 ? 128 + below(64) : below(2) != 0 ? 124 : below(100);
      const u32 registers = below(256) | some_register() << 8 | below(25) << 16 | rarely(3) << 22 | scalar_offset << 24;
      const u32 first = rarely(0xfff) | rarely(7) << 12 | (i < 128 ? i << 18 : (i - 128) << 15 | below(64) << 19);
      put((i < 128 ? 0xe0000000 : 0xe8000000) | first, registers);
    }
  }

  std::mt19937 random_;
  std::vector<u32> words_;
};

TEST(DecoderGfx11, EveryOpcodeEqualsLlvms) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Sweep sweep(seed);
  std::set<std::string> names;
  for (int i = 0; i < 24 && !HasFailure(); ++i) {
    const auto words = sweep.round();
    const ByteView code(reinterpret_cast<const std::uint8_t*>(words.data()), words.size() * 4);
    names.merge(expect_llvm_operands(code, target));
  }
  EXPECT_GT(names.size(), 850u) << "too few of the instructions were met";
}

// ---- known instructions --------------------------------------------------------------------------------------------
Instruction one(const std::string& assembly) {
  const auto bytes = emulator_test::assemble(assembly, target);
  if (!bytes) {
    ADD_FAILURE() << to_text(bytes.error());
    return {};
  }
  static std::vector<Code> kept;  // names live as long as the code
  auto code = decode(*bytes, 0, target);
  if (!code || code->instructions.size() != 1) {
    ADD_FAILURE() << assembly;
    return {};
  }
  kept.push_back(std::move(*code));
  return kept.back().instructions[0];
}
using Kind = Source::Kind;
void expect_operand(const Source& source, Kind kind, int index) {
  EXPECT_EQ(source.kind, kind);
  EXPECT_EQ(source.index, index);
}

TEST(DecoderGfx11, NullAndM0HaveCdnasCodes) {
  const auto move = one("s_mov_b32 m0, null");
  expect_operand(move.dst, Kind::scalar, code::m0);
  expect_operand(move.src[0], Kind::scalar, code::null);
  EXPECT_EQ(move.words[0] >> 16 & 127, 125u) << "RDNA3's own code of m0";
  expect_operand(one("s_mov_b32 s104, s105").src[0], Kind::scalar, 105);
  expect_operand(one("s_mov_b64 s[2:3], src_private_base").src[0], Kind::special, code::private_base);
}

TEST(DecoderGfx11, HalvesOfRegisters) {
  const auto add = one("v_add_f16 v2.h, v1.l, v3.h");
  EXPECT_EQ(add.format, Format::vop2);
  expect_operand(add.dst, Kind::vector, 2);
  expect_operand(add.src[0], Kind::vector, 1);
  expect_operand(add.src[1], Kind::vector, 3);
  EXPECT_EQ(add.op_sel, 0b1010);
  // A whole register where the other operand is a half.
  const auto convert = one("v_cvt_f16_f32 v2.h, v200");
  expect_operand(convert.src[0], Kind::vector, 200);
  EXPECT_EQ(convert.op_sel, 0b1000);
  const auto wide = one("v_fma_f16 v200.h, v130.h, v3.l, v5.h");
  expect_operand(wide.dst, Kind::vector, 200);
  expect_operand(wide.src[0], Kind::vector, 130);
  EXPECT_EQ(wide.op_sel, 0b1101);
}

TEST(DecoderGfx11, LiteralsInLongForms) {
  const auto fused = one("v_fma_f32 v0, v1, 0x12345678, s3");
  EXPECT_EQ(fused.bytes, 12);
  EXPECT_EQ(fused.src[1].kind, Kind::literal);
  EXPECT_EQ(fused.src[1].literal, 0x12345678u);
  expect_operand(fused.src[2], Kind::scalar, 3);
  EXPECT_EQ(one("v_pk_add_f16 v0, v1, 0x40003c00").src[1].literal, 0x40003c00u);
}

TEST(DecoderGfx11, MasksOfOneRegister) {
  const auto compare = one("v_cmp_lt_f32_e64 s5, v1, v2");
  expect_operand(compare.scalar_dst, Kind::scalar, 5);
  EXPECT_EQ(one("v_cmpx_lt_f32 v1, v2").scalar_dst.kind, Kind::none);
  EXPECT_EQ(one("v_cmpx_lt_f32_e64 v1, v2").scalar_dst.kind, Kind::none);
  expect_operand(one("v_cmp_lt_f32_e64 null, v1, v2").scalar_dst, Kind::scalar, code::null);
  expect_operand(one("v_cndmask_b32 v0, v1, v2, vcc_lo").src[2], Kind::scalar, code::vcc);
  const auto carry = one("v_add_co_ci_u32_e64 v0, s7, v1, v2, s9");
  expect_operand(carry.scalar_dst, Kind::scalar, 7);
  expect_operand(carry.src[2], Kind::scalar, 9);
}

TEST(DecoderGfx11, MovesBetweenLanes) {
  const auto eight = one("v_mov_b32_dpp v0, v1 dpp8:[7,6,5,4,3,2,1,0] fi:1");
  EXPECT_TRUE(eight.dpp.used && eight.dpp.is_dpp8 && eight.dpp.fetch_inactive);
  EXPECT_EQ(eight.dpp.lanes8, 0b000001010011100101110111u);
  const auto sixteen = one("v_add_f32_e64_dpp v0, -v1, |v2| row_xmask:3 row_mask:0x3 bank_mask:0xf bound_ctrl:1");
  EXPECT_EQ(sixteen.dpp.control, 0x163);
  EXPECT_EQ(sixteen.dpp.row_mask, 3);
  EXPECT_TRUE(sixteen.dpp.bound_control);
  EXPECT_EQ(sixteen.neg, 1);
  EXPECT_EQ(sixteen.abs, 2);
  const auto permute = one("v_permlanex16_b32 v0, v1, s2, s3 op_sel:[1,0]");
  EXPECT_TRUE(permute.dpp.fetch_inactive && !permute.dpp.bound_control && permute.op_sel == 0);
}

TEST(DecoderGfx11, TwoOperationsInOne) {
  const auto dual = one("v_dual_fmaak_f32 v2, v4, v3, 0x42 :: v_dual_lshlrev_b32 v7, 0x42, v8");
  EXPECT_EQ(dual.format, Format::vopd);
  EXPECT_EQ(dual.bytes, 12);
  EXPECT_EQ(dual.opcode, 1 | 17 << 4);
  expect_operand(dual.dst, Kind::vector, 2);
  expect_operand(dual.src[0], Kind::vector, 4);
  expect_operand(dual.src[1], Kind::vector, 3);
  EXPECT_EQ(dual.src[2].literal, 0x42u);
  expect_operand(dual.scalar_dst, Kind::vector, 7);
  EXPECT_EQ(dual.scale[0].literal, 0x42u);
  expect_operand(dual.scale[1], Kind::vector, 8);
  EXPECT_EQ(one("v_dual_mov_b32 v2, v4 :: v_dual_mov_b32 v7, v5").src[1].kind, Kind::none);
}

TEST(DecoderGfx11, Memory) {
  const auto scalar = one("s_load_b64 s[8:9], s[4:5], s7 offset:-0x10");
  EXPECT_EQ(scalar.offset, -16);
  EXPECT_TRUE(scalar.scalar_base);
  expect_operand(scalar.src[3], Kind::scalar, 7);
  EXPECT_FALSE(one("s_load_b64 s[8:9], s[4:5], 0x8").scalar_base);
  const auto global = one("global_atomic_add_u32 v0, v2, v4, s[6:7] offset:-4096 glc");
  EXPECT_EQ(global.format, Format::global);
  EXPECT_EQ(global.offset, -4096);
  EXPECT_TRUE(global.glc && global.scalar_base);
  expect_operand(global.dst, Kind::vector, 0);
  EXPECT_EQ(one("global_atomic_add_u32 v2, v4, s[6:7]").dst.kind, Kind::none);
  const auto scratch = one("scratch_store_b32 off, v1, s2 offset:8");
  EXPECT_FALSE(scratch.vector_address);
  EXPECT_TRUE(scratch.scalar_base);
  const auto buffer = one("buffer_load_b128 v[4:7], v[2:3], s[8:11], s5 idxen offen offset:4095 glc slc dlc");
  EXPECT_TRUE(buffer.offen && buffer.idxen && buffer.glc && buffer.slc && buffer.dlc);
  EXPECT_EQ(buffer.offset, 4095);
  expect_operand(buffer.src[2], Kind::scalar, 8);
  const auto swap = one("ds_cmpstore_rtn_b32 v0, v1, v2, v3 offset:12");
  expect_operand(swap.src[1], Kind::vector, 2);
  expect_operand(swap.src[3], Kind::vector, 3);
  const auto typed = one("tbuffer_load_format_x v4, off, s[8:11], 0 format:[BUF_FMT_16_16_FLOAT]");
  EXPECT_EQ(typed.data_format, 5);
  EXPECT_EQ(typed.number_format, 7);
}

TEST(DecoderGfx11, BranchesAndCalls) {
  const auto bytes = emulator_test::assemble(
      "begin: v_fma_f32 v0, v1, 0x12345678, v2\ns_cbranch_vccz begin\ns_call_b64 s[0:1], end\nend: s_endpgm", target);
  ASSERT_TRUE(bytes);
  const auto code = decode(*bytes, 0x1000, target);
  ASSERT_TRUE(code);
  ASSERT_EQ(code->instructions.size(), 4u);
  EXPECT_EQ(code->instructions[1].target, 0u);
  EXPECT_EQ(code->instructions[2].target, 3u);
}

// The global data share, images, exports, the zero word, interpolation: no instructions of compute.
TEST(DecoderGfx11, WhatIsNotComputeIsNoInstruction) {
  for (const std::uint64_t words : {0x00000000d8020000ull, 0x00000000f8000000ull, 0x0000000000000000ull,
                                    0x00000000cd000000ull, 0x00000000f0000000ull}) {
    std::uint8_t bytes[8];
    std::memcpy(bytes, &words, sizeof bytes);
    const auto code = decode(bytes, 0, target);
    ASSERT_TRUE(code);
    EXPECT_STREQ(code->instructions[0].name, "(undecodable)") << std::hex << words << " " << code->text[0];
  }
}

TEST(DecoderGfx11, SurvivesRandomWords) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  constexpr u32 formats[] = {0xbe800000, 0xbf000000, 0xb0000000, 0xf4000000, 0x7e000000, 0x7c000000, 0xd4000000,
                             0xd6000000, 0xcc000000, 0xc8000000, 0xd8000000, 0xdc000000, 0xe0000000, 0xe8000000,
                             0xf0000000, 0xf8000000, 0xcd000000};
  std::vector<u32> words(100000);
  for (auto& word : words) {
    word = random();
    const auto kind = random() % 32;
    if (kind < std::size(formats)) word = formats[kind] | (word & 0x01ffffff);
    if (random() % 4 == 0) word = (word & ~511u) | (233 + random() % 23);
  }
  const auto code = decode({reinterpret_cast<const std::uint8_t*>(words.data()), words.size() * 4}, 0, target);
  ASSERT_TRUE(code);
  std::size_t dwords = 0;
  for (const auto& instruction : code->instructions) dwords += instruction.bytes / 4;
  EXPECT_EQ(dwords, words.size());
}

TEST(DecoderGfx11, BufferFormats) {
  struct Row {
    u32 format;
    int data, number;
  };
  for (const Row& row : {Row{1, 1, 0}, Row{6, 1, 5}, Row{7, 2, 0}, Row{13, 2, 7}, Row{20, 4, 4}, Row{22, 4, 7},
                         Row{29, 5, 7}, Row{30, 6, 7}, Row{31, 7, 7}, Row{32, 8, 0}, Row{35, 8, 5}, Row{36, 9, 0},
                         Row{42, 10, 0}, Row{48, 11, 4}, Row{50, 11, 7}, Row{57, 12, 7}, Row{60, 13, 7}, Row{61, 14, 4},
                         Row{0, 0, 0}, Row{100, 0, 0}}) {
    const BufferFormat format = buffer_format_gfx11(row.format);
    EXPECT_EQ(format.data, row.data) << row.format;
    EXPECT_EQ(format.number, row.number) << row.format;
  }
}

}  // namespace
}  // namespace kiln::emulator
