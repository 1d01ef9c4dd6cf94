// The reader of code objects on a real object and on damaged ones. The worker's reports against LLVM's own tools: see
// hip_worker_test.cpp.
#include "engine/compile/code_object.hpp"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace kiln::compile {
namespace {

// A little ELF file with one note section, one text section, and a symbol table; MessagePack by hand.
class ObjectBuilder {
 public:
  static std::string text(const std::string& value) {
    return std::string(1, static_cast<char>(0xa0 | value.size())) + value;
  }
  static std::string number(std::uint16_t value) {
    return std::string{'\xcd', static_cast<char>(value >> 8), static_cast<char>(value & 255)};
  }
  static std::string map_of(int count) { return std::string(1, static_cast<char>(0x80 | count)); }
  static std::string list_of(int count) { return std::string(1, static_cast<char>(0x90 | count)); }

  static std::string metadata(bool with_agprs) {
    std::string arg =
        map_of(3) + text(".offset") + number(8) + text(".size") + number(4) + text(".value_kind") + text("by_value");
    std::string kernel = map_of(with_agprs ? 10 : 9);
    if (with_agprs) kernel += text(".agpr_count") + number(32);
    kernel += text(".args") + list_of(1) + arg + text(".group_segment_fixed_size") + number(4096) +
              text(".kernarg_segment_size") + number(12) + text(".name") + text("k") + text(".sgpr_count") +
              number(20) + text(".symbol") + text("k.kd") + text(".vgpr_count") + number(100) +
              text(".vgpr_spill_count") + number(3) + text(".wavefront_size") + number(64);
    return map_of(2) + text("amdhsa.kernels") + list_of(1) + kernel + text("amdhsa.target") + std::string("\xd9\x1a") +
           "amdgcn-amd-amdhsa--gfx90aabc";
  }

  static Bytes object(const std::string& metadata, std::uint32_t flags = 0x54c) {
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_machine = 224;
    header.e_flags = flags;
    const std::uint32_t head[3] = {7, static_cast<std::uint32_t>(metadata.size()), 32};
    std::string note(reinterpret_cast<const char*>(head), sizeof head);
    note += std::string("AMDGPU\0\0", 8) + metadata;
    note.resize((note.size() + 7) / 8 * 8);
    const std::string code(16, '\x90'), names("\0k\0", 3);
    Elf64_Sym symbols[2] = {};
    symbols[1] = {1, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 2, 0x1000, 16};
    std::string bytes(sizeof header, '\0');
    Elf64_Shdr sections[5] = {};
    const auto add = [&](int index, unsigned type, const std::string& content, std::uint64_t address) {
      sections[index].sh_type = type;
      sections[index].sh_offset = bytes.size();
      sections[index].sh_size = content.size();
      sections[index].sh_addr = address;
      bytes += content;
      bytes.resize((bytes.size() + 7) / 8 * 8);
    };
    add(1, SHT_NOTE, note, 0);
    add(2, SHT_PROGBITS, code, 0x1000);
    add(3, SHT_STRTAB, names, 0);
    add(4, SHT_SYMTAB, std::string(reinterpret_cast<const char*>(symbols), sizeof symbols), 0);
    sections[4].sh_link = 3;
    header.e_shoff = bytes.size();
    header.e_shnum = 5;
    header.e_shentsize = sizeof(Elf64_Shdr);
    std::memcpy(bytes.data(), &header, sizeof header);
    bytes.append(reinterpret_cast<const char*>(sections), sizeof sections);
    return {bytes.begin(), bytes.end()};
  }
};

TEST(CodeObject, ReadsKernelsAndFunctions) {
  const auto object = read_code_object(ObjectBuilder::object(ObjectBuilder::metadata(true)));
  ASSERT_TRUE(object) << to_text(object.error());
  EXPECT_EQ(object->elf_flags, 0x54cu);
  ASSERT_EQ(object->kernels.size(), 1u);
  const auto& kernel = object->kernels[0];
  EXPECT_EQ(kernel.name, "k");
  EXPECT_EQ(kernel.symbol, "k.kd");
  EXPECT_EQ(kernel.resources.vgprs, 100);
  EXPECT_EQ(kernel.resources.agprs, 32);
  EXPECT_EQ(kernel.resources.sgprs, 20);
  EXPECT_EQ(kernel.resources.vgpr_spills, 3);
  EXPECT_EQ(kernel.resources.sgpr_spills, 0);
  EXPECT_EQ(kernel.resources.lds_bytes, 4096);
  EXPECT_EQ(kernel.resources.kernarg_bytes, 12);
  EXPECT_EQ(kernel.wave, 64);
  ASSERT_EQ(kernel.arguments.size(), 1u);
  EXPECT_EQ(kernel.arguments[0].kind, "by_value");
  EXPECT_EQ(kernel.arguments[0].offset, 8);
  ASSERT_EQ(object->functions.size(), 1u);
  EXPECT_EQ(object->functions[0].name, "k");
  EXPECT_EQ(object->functions[0].size, 16u);
}

TEST(CodeObject, AgprsAreZeroWhereTheNoteHasNone) {
  const auto object = read_code_object(ObjectBuilder::object(ObjectBuilder::metadata(false)));
  ASSERT_TRUE(object) << to_text(object.error());
  EXPECT_EQ(object->kernels[0].resources.agprs, 0);
}

TEST(CodeObject, FlagsOfAnotherTargetAreRefused) {
  const auto object = read_code_object(ObjectBuilder::object(ObjectBuilder::metadata(true), 0x54c));
  const auto right = target::parse_target("gfx942"), wrong = target::parse_target("gfx942:sramecc+:xnack-");
  ASSERT_TRUE(object && right && wrong);
  EXPECT_TRUE(check_code_object(*object, *right));
  const auto refused = check_code_object(*object, *wrong);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("0xe4c"), std::string::npos) << refused.error().message;
}

TEST(CodeObject, EveryCutIsAnError) {
  const Bytes whole = ObjectBuilder::object(ObjectBuilder::metadata(true));
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(read_code_object(ByteView(whole).first(size))) << size;
}

TEST(CodeObject, DamagedBytesNeverCrash) {
  const Bytes whole = ObjectBuilder::object(ObjectBuilder::metadata(true));
  for (std::uint32_t seed = 0; seed < 20000; ++seed) {
    std::mt19937 random(seed);
    Bytes damaged = whole;
    for (unsigned i = 0; i <= random() % 4; ++i)
      damaged[random() % damaged.size()] = static_cast<std::uint8_t>(random());
    (void)read_code_object(damaged);
  }
}

TEST(CodeObject, DeepMetadataIsRefused) {
  std::string deep(100000, '\x91');
  const auto object = read_code_object(ObjectBuilder::object(deep));
  ASSERT_FALSE(object);
  EXPECT_EQ(object.error().code, ErrorCode::corrupt);
  EXPECT_FALSE(read_code_object(ObjectBuilder::object(std::string("\xdd\xff\xff\xff\xff", 5))))
      << "a list of 2^32 items";
}

}  // namespace
}  // namespace kiln::compile
