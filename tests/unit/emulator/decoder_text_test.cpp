// The fields that the decoder reads against LLVM's disassembler: every opcode of every format with random fields, and
// code that clang makes.
#include <elf.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <set>

#include "engine/base/fd.hpp"
#include "engine/emulator/isa/decoder.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/unit/emulator/decoder_comparison.hpp"

namespace kiln::emulator {
namespace {

// ---- every opcode --------------------------------------------------------------------------------------------------
// Machine code with all opcodes of all formats; the fields are random, of kinds that are valid more often than not.
class Sweep {
 public:
  Sweep(unsigned seed, std::string isa) : random_(seed), isa_(std::move(isa)) {}

  std::vector<std::uint32_t> round() {
    words_.clear();
    scalar();
    vector_short();
    vector_long();
    memory();
    if (isa_ == "gfx950") scaled();
    return words_;
  }

 private:
  using u32 = std::uint32_t;
  u32 below(u32 limit) { return static_cast<u32>(random_() % limit); }
  u32 rarely(u32 mask) { return below(3) == 0 ? static_cast<u32>(random_()) & mask : 0; }
  u32 scalar_code() {
    const u32 kind = below(5);
    return kind == 0 ? below(256) : kind == 1 ? 128 + below(120) : below(102) & ~3u;
  }
  u32 vector_code() {
    const u32 kind = below(4);
    return kind == 0 ? below(102) & ~1u : kind == 1 ? 128 + below(81) : 256 + below(256);
  }
  // Two dwords and no-operations up to the next, so that what follows does not depend on the length.
  void put(u32 first, u32 second) {
    words_.insert(words_.end(), {first, second});
    words_.insert(words_.end(), 4, 0xbf800000);
  }

  void scalar() {
    for (u32 i = 0; i < 256; ++i) put(0xbe800000 | below(50) * 2 << 16 | i << 8 | scalar_code(), random_());
    for (u32 i = 0; i < 96; ++i)
      put(0x80000000 | i << 23 | below(50) * 2 << 16 | scalar_code() << 8 | scalar_code(), random_());
    for (u32 i = 0; i < 32; ++i) put(0xb0000000 | i << 23 | below(50) * 2 << 16 | below(65536), random_());
    for (u32 i = 0; i < 128; ++i) put(0xbf000000 | i << 16 | scalar_code() << 8 | scalar_code(), random_());
    for (u32 i = 0; i < 128; ++i) put(0xbf800000 | i << 16 | below(below(2) != 0 ? 65536 : 64), random_());
    for (u32 i = 0; i < 256; ++i) {
      const u32 first = i << 18 | below(4) << 16 | rarely(1) << 14 | below(12) * 8 << 6 | below(25) * 2;
      put(0xc0000000 | first, below(below(2) != 0 ? 0x200000 : 100) | rarely(63) << 25);
    }
  }

  u32 sdwa() {
    u32 word = below(256) | below(7) << 16 | rarely(7) << 19 | below(7) << 24 | rarely(7) << 27;
    word |= below(2) != 0 ? rarely(127) << 8 | rarely(1) << 15 : below(7) << 8 | below(3) << 11 | rarely(7) << 13;
    if (below(3) == 0) word = (word & ~255u) | 1u << 23 | (below(2) != 0 ? below(102) : 128 + below(80));
    return word | rarely(1) << 31;
  }
  u32 dpp() {
    const u32 controls[] = {below(256), 0x100 | below(16), 0x110 | below(16), 0x120 | below(16),
                            0x130 | below(4) * 4, 0x140 | below(4), 0x150 | below(16)};
    return below(256) | controls[below(7)] << 8 | rarely(1) << 19 | rarely(15) << 20 | below(256) << 24;
  }
  void put_short(u32 first, bool second_source) {
    const u32 kind = below(8);
    const u32 source = kind < 2 ? 249 : kind == 2 ? 250 : kind == 3 ? 255 : kind == 4 ? below(256) : vector_code();
    if (second_source) first |= (source == 249 && below(2) != 0 ? below(102) : below(256)) << 9;
    put(first | source, source == 249 ? sdwa() : source == 250 ? dpp() : static_cast<u32>(random_()));
  }
  void vector_short() {
    for (u32 i = 0; i < 256; ++i) put_short(0x7e000000 | below(256) << 17 | i << 9, false);
    for (u32 i = 0; i < 62; ++i) put_short(i << 25 | below(256) << 17, true);
    for (u32 i = 0; i < 256; ++i) put_short(0x7c000000 | i << 17, true);
  }

  void vector_long() {
    for (u32 i = 0; i < 0x380; ++i) {
      const u32 third = below(2) != 0 ? vector_code() : 0;
      put(0xd0000000 | i << 16 | rarely(255) << 8 | (below(4) != 0 ? below(45) * 2 : below(256)),
          vector_code() | vector_code() << 9 | third << 18 | rarely(31) << 27);
    }
    for (u32 i = 0; i < 512; ++i) {
      const u32 even = i < 256 ? ~1u : ~0u, third = below(3) == 0 ? 128 : vector_code();
      put(0xd3800000 | (i & 127) << 16 | rarely(255) << 8 | (below(256) & even),
          (vector_code() & even) | (vector_code() & even) << 9 | (third & even) << 18 | below(32) << 27);
    }
  }

  u32 some_register() { return below(2) != 0 ? below(128) * 2 : 0; }
  void memory() {
    for (u32 i = 0; i < 256; ++i)
      put(0xd8000000 | i << 17 | rarely(0xffff) | rarely(1) << 16 | rarely(1) << 25,
          some_register() | some_register() << 8 | some_register() << 16 | some_register() << 24);
    for (u32 i = 0; i < 384; ++i) {
      const u32 segment = i / 128, base = segment == 0 ? 0 : below(2) != 0 ? 0x7f : below(50) * 2;
      put(0xdc000000 | segment << 14 | (i & 127) << 18 | rarely(segment == 0 ? 0xfff : 0x1fff) | rarely(1) << 13 |
              rarely(7) << 16 | rarely(1) << 25,
          some_register() | some_register() << 8 | base << 16 | rarely(1) << 23 | some_register() << 24);
    }
    for (u32 i = 0; i < 144; ++i) {
      const u32 scalar_offset = below(2) != 0 ? 128 + below(64) : below(100);
      const u32 registers = below(256) | some_register() << 8 | below(25) << 16 | scalar_offset << 24;
      const u32 first = rarely(0xfff) | (i < 128 ? i << 18 | below(16) << 12 | rarely(3) << 16
                                                 : (i - 128) << 15 | below(8) << 12 | below(128) << 19);
      put((i < 128 ? 0xe0000000 : 0xe8000000) | first, registers | (i < 128 ? rarely(1) << 23 : rarely(7) << 21));
    }
  }

  // VOP3PX: the scales, then the matrix operation.
  void scaled() {
    const auto even = [&] { return 256 + below(120) * 2; };
    for (int i = 0; i < 60; ++i) {
      const u32 operation = (0x2d + below(2)) << 16 | below(5) << 8 | 1u << 11 | below(2) << 15 | below(56) * 2;
      words_.insert(words_.end(), {0xd3ac0000 | below(4) << 11, vector_code() | vector_code() << 9 | below(4) << 27,
                                   0xd3800000 | operation,
                                   even() | even() << 9 | even() << 18 | below(4) << 27 | below(5) << 29});
      words_.insert(words_.end(), 4, 0xbf800000);
    }
  }

  std::mt19937 random_;
  std::string isa_;
  std::vector<u32> words_;
};

class DecoderText : public testing::TestWithParam<const char*> {};

TEST_P(DecoderText, EveryOpcodeEqualsLlvms) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Sweep sweep(seed, GetParam());
  std::set<std::string> names;
  for (int i = 0; i < 24 && !HasFailure(); ++i) {
    const auto words = sweep.round();
    const ByteView code(reinterpret_cast<const std::uint8_t*>(words.data()), words.size() * 4);
    names.merge(expect_llvm_operands(code, GetParam()));
  }
  EXPECT_GT(names.size(), 1000u) << "too few of the instructions were met";
}

// ---- clang's code --------------------------------------------------------------------------------------------------
Bytes section_of(const Bytes& object, std::string_view wanted) {
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(object.data());
  const auto* sections = reinterpret_cast<const Elf64_Shdr*>(object.data() + header->e_shoff);
  for (int i = 0; i < header->e_shnum; ++i) {
    const std::size_t name_at = sections[header->e_shstrndx].sh_offset + sections[i].sh_name;
    const char* name = reinterpret_cast<const char*>(object.data()) + name_at;
    const auto begin = object.begin() + static_cast<std::ptrdiff_t>(sections[i].sh_offset);
    if (name == wanted) return Bytes(begin, begin + static_cast<std::ptrdiff_t>(sections[i].sh_size));
  }
  return {};
}

TEST_P(DecoderText, CompiledCodeEqualsLlvms) {
  if (std::system("clang-22 --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no clang-22";
  const test::TemporaryFolder folder;
  const std::string source = std::string(KILN_SOURCE_DIR) + "/tests/unit/emulator/corpus/instructions.cl";
  for (const char* level : {"-O0", "-O3"}) {
    const std::string object = folder / "object.o";
    ASSERT_EQ(std::system(("clang-22 -x cl -cl-std=CL2.0 --target=amdgcn-amd-amdhsa -mcpu=" + std::string(GetParam()) +
                           " -nogpulib -nogpuinc -w -c " + level + " -o " + object + " " + source).c_str()), 0);
    const auto bytes = read_file(object);
    ASSERT_TRUE(bytes);
    const Bytes code = section_of(*bytes, ".text");
    ASSERT_GT(code.size(), 1000u);
    expect_llvm_operands(code, GetParam());
    const auto decoded = decode(code, 0, GetParam());
    for (const auto& instruction : decoded->instructions)
      EXPECT_NE(instruction.opcode, 0xffff) << std::hex << instruction.address << ": " << instruction.words[0];
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, DecoderText, testing::Values("gfx90a", "gfx942", "gfx950"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace kiln::emulator
