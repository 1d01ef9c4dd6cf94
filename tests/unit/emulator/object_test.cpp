// Loading code objects: real ones, the rules about targets, and damaged bytes.
#include "engine/emulator/machine/object.hpp"

#include <elf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>

#include "engine/base/fd.hpp"

namespace kiln::emulator {
namespace {

Bytes corpus(const std::string& name) {
  const auto bytes = read_file(std::string(KILN_SOURCE_DIR) + "/tests/unit/emulator/corpus/" + name);
  EXPECT_TRUE(bytes) << to_text(bytes.error());
  return bytes ? *bytes : Bytes{};
}

template <class T> T value_at(std::uint64_t address) {
  T value;
  std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);  // NOLINT: an address in the image
  return value;
}

bool inside(const LoadedObject& object, std::uint64_t address, std::uint64_t bytes, bool writable) {
  for (const auto& segment : object.segments) {
    if (address >= segment.address && address + bytes <= segment.address + segment.bytes)
      return segment.writable == writable;
  }
  return false;
}

// ---- what is read --------------------------------------------------------------------------------------------------
class ObjectKernels : public testing::TestWithParam<const char*> {};

TEST_P(ObjectKernels, DescriptorsMetadataAndCode) {
  const auto object = load_object(corpus("launch_" + std::string(GetParam()) + ".co"), GetParam());
  ASSERT_TRUE(object) << to_text(object.error());
  ASSERT_GE(object->kernels.size(), 10u);
  const auto& scale = object->kernels.at("scale_add");
  EXPECT_EQ(scale.kernarg_bytes, 24u);
  ASSERT_EQ(scale.arguments.size(), 4u);
  EXPECT_EQ(scale.arguments[0].kind, "global_buffer");
  EXPECT_EQ(scale.arguments[2].offset, 16);
  EXPECT_EQ(scale.arguments[3].size, 4);
  EXPECT_EQ(scale.wave, 64u);
  EXPECT_FALSE(scale.dynamic_stack);
  EXPECT_EQ(object->kernels.at("reverse").lds_bytes, 1024u);
  EXPECT_EQ(object->kernels.at("reverse").threads_max, 256u);
  EXPECT_EQ(object->kernels.at("unwritten").threads_max, 64u);
  EXPECT_EQ(object->kernels.at("private_memory").private_bytes, 164u);
  EXPECT_EQ(object->kernels.at("whereabouts").arguments.back().kind.substr(0, 7), "hidden_");
  for (const auto& [name, kernel] : object->kernels) {
    SCOPED_TRACE(name);
    EXPECT_EQ(name, kernel.name);
    EXPECT_TRUE(inside(*object, kernel.descriptor, 64, false));
    EXPECT_EQ(kernel.entry % 256, 0u);
    const auto index = object->code.index_of.at((kernel.entry - object->code.begin) / 4);
    ASSERT_LT(index, object->code.instructions.size());
    // Up to its end a kernel consists of instructions.
    for (std::uint32_t i = index;; ++i) {
      ASSERT_LT(i, object->code.instructions.size());
      ASSERT_NE(object->code.instructions[i].opcode, 0xffff) << object->code.instructions[i].address - kernel.entry;
      const std::string instruction = object->code.instructions[i].name;
      if (instruction == "s_endpgm" || instruction == "s_trap") break;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Targets, ObjectKernels, testing::Values("gfx90a", "gfx942", "gfx950"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Object, VariablesAndRelocations) {
  const auto object = load_object(corpus("variables_gfx942.co"), "gfx942:sramecc+:xnack-");
  ASSERT_TRUE(object) << to_text(object.error());
  const auto& variables = object->variables;
  ASSERT_EQ(variables.size(), 4u);
  EXPECT_EQ(variables.at("counter").bytes, 4u);
  EXPECT_EQ(variables.at("cleared").bytes, 256u);
  for (const auto& [name, variable] : variables)
    EXPECT_TRUE(inside(*object, variable.address, variable.bytes, true)) << name;
  EXPECT_EQ(value_at<std::uint32_t>(variables.at("counter").address), 5u);
  EXPECT_EQ(value_at<std::uint64_t>(variables.at("to_counter").address), variables.at("counter").address);
  EXPECT_EQ(value_at<std::uint32_t>(value_at<std::uint64_t>(variables.at("to_hidden").address)), 3u);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(value_at<std::uint32_t>(variables.at("cleared").address + 4 * i), 0u);
  EXPECT_EQ(object->kernels.at("preloaded").preload_dwords, 4);  // a pointer and two numbers
  EXPECT_EQ(object->kernels.at("preloaded").preload_offset, 0);
}

TEST(Object, TwoCopiesDoNotShare) {
  const Bytes bytes = corpus("variables_gfx942.co");
  auto first = load_object(bytes, "gfx942"), second = load_object(bytes, "gfx942");
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->variables.at("counter").address, second->variables.at("counter").address);
  LoadedObject moved = std::move(*first);
  EXPECT_EQ(value_at<std::uint32_t>(moved.variables.at("counter").address), 5u);
}

TEST(Object, FunctionsByAddress) {
  const auto object = load_object(corpus("variables_gfx942.co"), "gfx942");
  ASSERT_TRUE(object) << to_text(object.error());
  const auto& functions = object->functions;
  ASSERT_EQ(functions.size(), 2u);
  EXPECT_EQ(functions[0].name, "preloaded");
  EXPECT_EQ(functions[0].address, object->kernels.at("preloaded").entry);
  EXPECT_EQ(functions[0].bytes, 488u);
  EXPECT_EQ(functions[1].name, "__clang_ocl_kern_imp_preloaded");
  EXPECT_EQ(functions[1].address, functions[0].address + 488);
  const auto stripped = load_object(corpus("launch_gfx942.co"), "gfx942");
  ASSERT_TRUE(stripped) << to_text(stripped.error());
  EXPECT_EQ(stripped->functions.size(), 24u);   // those that are exported
}

// ---- whom it is for ------------------------------------------------------------------------------------------------
constexpr std::uint32_t any = 0x54c, sramecc_on_xnack_off = 0xe4c, xnack_on = 0x74c;

struct TargetCase {
  std::uint32_t flags;
  const char* card;
  bool serves;
};
TEST(Object, TargetRules) {
  Bytes bytes = corpus("variables_gfx942.co");
  for (const TargetCase& c : {
           TargetCase{any, "gfx942", true}, {any, "gfx942:sramecc+:xnack-", true},
           {any, "gfx942:sramecc-:xnack+", true},
           {any, "gfx90a", false}, {any, "gfx950:sramecc+:xnack-", false},
           {sramecc_on_xnack_off, "gfx942:sramecc+:xnack-", true}, {sramecc_on_xnack_off, "gfx942", false},
           {sramecc_on_xnack_off, "gfx942:sramecc+:xnack+", false},
           {sramecc_on_xnack_off, "gfx942:sramecc-:xnack-", false},
           {xnack_on, "gfx942:sramecc+:xnack+", true}, {xnack_on, "gfx942:sramecc+:xnack-", false},
           {0x53f, "gfx942", false}, {0x541, "gfx942", false}, {0x5ff, "gfx942", false}}) {
    std::memcpy(bytes.data() + offsetof(Elf64_Ehdr, e_flags), &c.flags, 4);
    const auto object = load_object(bytes, c.card);
    EXPECT_EQ(object.has_value(), c.serves) << std::hex << c.flags << " on " << c.card;
    if (!object) {
      EXPECT_EQ(object.error().code, ErrorCode::unsupported) << to_text(object.error());
    }
  }
}

// ---- damage --------------------------------------------------------------------------------------------------------
// An object whose headers can be changed.
class Damaged {
 public:
  Bytes bytes = corpus("variables_gfx942.co");

  Elf64_Ehdr& header() { return *reinterpret_cast<Elf64_Ehdr*>(bytes.data()); }
  // The `number`th loaded segment; in this object: 0 read-only data, 1 code, 2 relocated pointers, 3 variables.
  Elf64_Phdr& load(int number) {
    auto* segments = reinterpret_cast<Elf64_Phdr*>(bytes.data() + header().e_phoff);
    for (int i = 0;; ++i)
      if (segments[i].p_type == PT_LOAD && number-- == 0) return segments[i];
  }
  Elf64_Shdr& section(std::uint32_t type) {
    auto* sections = reinterpret_cast<Elf64_Shdr*>(bytes.data() + header().e_shoff);
    for (int i = 0;; ++i)
      if (sections[i].sh_type == type) return sections[i];
  }
  Elf64_Rela& relocation(int number) {
    return reinterpret_cast<Elf64_Rela*>(bytes.data() + section(SHT_RELA).sh_offset)[number];
  }
  Elf64_Sym& symbol(const std::string& name) {
    const auto& table = section(SHT_DYNSYM);
    const auto* sections = reinterpret_cast<const Elf64_Shdr*>(bytes.data() + header().e_shoff);
    auto* symbols = reinterpret_cast<Elf64_Sym*>(bytes.data() + table.sh_offset);
    for (int i = 0;; ++i) {
      const auto at = sections[table.sh_link].sh_offset + symbols[i].st_name;
      if (reinterpret_cast<const char*>(bytes.data() + at) == name) return symbols[i];
    }
  }
  // The kernel descriptor's bytes: the read-only segment starts at the file's start, addresses are offsets there.
  std::uint8_t* descriptor() { return bytes.data() + symbol("preloaded.kd").st_value; }
};

struct DamageCase {
  const char* name;
  ErrorCode code;
  const char* message;
  std::function<void(Damaged&)> change;
};
class ObjectDamage : public testing::TestWithParam<DamageCase> {};

TEST_P(ObjectDamage, IsNamed) {
  Damaged object;
  GetParam().change(object);
  const auto loaded = load_object(object.bytes, "gfx942:sramecc+:xnack-");
  ASSERT_FALSE(loaded);
  EXPECT_EQ(error_name(loaded.error().code), std::string(error_name(GetParam().code))) << to_text(loaded.error());
  EXPECT_NE(loaded.error().message.find(GetParam().message), std::string::npos) << loaded.error().message;
}

using enum ErrorCode;
const DamageCase damage[] = {
    {"NoElf", corrupt, "no ELF file", [](Damaged& o) { o.bytes[0] = 0; }},
    {"Empty", corrupt, "no ELF file", [](Damaged& o) { o.bytes.clear(); }},
    {"NotLinked", corrupt, "not linked", [](Damaged& o) { o.header().e_type = ET_REL; }},
    {"OldVersion", unsupported, "versions 4, 5 and 6", [](Damaged& o) { o.header().e_ident[EI_ABIVERSION] = 1; }},
    {"HeadersOutside", corrupt, "program headers", [](Damaged& o) { o.header().e_phoff = o.bytes.size() - 8; }},
    {"HeadersFarOutside", corrupt, "program headers", [](Damaged& o) { o.header().e_phoff = ~std::uint64_t{0}; }},
    {"SegmentOutside", corrupt, "a segment lies outside", [](Damaged& o) { o.load(1).p_offset = 1 << 20; }},
    {"SegmentCut", corrupt, "larger in the file", [](Damaged& o) { o.load(1).p_memsz = 16; }},
    {"SegmentsOverlap", corrupt, "overlap", [](Damaged& o) { o.load(2).p_vaddr = o.load(1).p_vaddr + 64; }},
    {"SegmentHuge", resource_limit, "segment of", [](Damaged& o) { o.load(3).p_memsz = std::uint64_t{1} << 40; }},
    {"SegmentWraps", resource_limit, "", [](Damaged& o) { o.load(3).p_vaddr = ~std::uint64_t{0} - 8; }},
    {"ImageHuge", resource_limit, "spans", [](Damaged& o) { o.load(3).p_vaddr = std::uint64_t{1} << 41; }},
    {"OddAlignment", unsupported, "alignment", [](Damaged& o) { o.load(1).p_align = 3000; }},
    {"NothingLoaded", corrupt, "nothing in it is loaded",
     [](Damaged& o) { for (int i = 0; i < 4; ++i) o.load(0).p_type = PT_NULL; }},
    {"NoCode", corrupt, "no executable segment", [](Damaged& o) { o.load(1).p_flags = PF_R; }},
    {"TwoCodes", unsupported, "more than one executable", [](Damaged& o) { o.load(0).p_flags = PF_R | PF_X; }},
    {"RelocationOutside", corrupt, "a relocation outside", [](Damaged& o) { o.relocation(0).r_offset = 1 << 20; }},
    {"RelocationAcrossTheEnd", corrupt, "a relocation outside",
     [](Damaged& o) { o.relocation(0).r_offset = o.load(3).p_vaddr + o.load(3).p_memsz - 4; }},
    {"RelocationOfAnotherType", unsupported, "type 9", [](Damaged& o) { o.relocation(1).r_info = ELF64_R_INFO(2, 9); }},
    {"RelocationWithoutSymbol", corrupt, "symbol that does not exist",
     [](Damaged& o) { o.relocation(1).r_info = ELF64_R_INFO(900, 3); }},
    {"SymbolUndefined", unsupported, "\"counter\", which nothing defines",
     [](Damaged& o) { o.symbol("counter").st_shndx = SHN_UNDEF; }},
    {"VariableOutside", corrupt, "\"cleared\" lies outside", [](Damaged& o) { o.symbol("cleared").st_size = 1 << 20; }},
    {"SymbolsCut", corrupt, "the symbol table lies outside",
     [](Damaged& o) { o.section(SHT_DYNSYM).sh_size = o.bytes.size(); }},
    {"DescriptorOutside", corrupt, "outside the image",
     [](Damaged& o) { o.symbol("preloaded.kd").st_value = 1 << 20; }},
    {"DescriptorNotAligned", corrupt, "not aligned", [](Damaged& o) { o.symbol("preloaded.kd").st_value -= 4; }},
    {"DescriptorMissing", corrupt, "no descriptor",
     [](Damaged& o) { o.symbol("preloaded.kd").st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC); }},
    {"EntryOutside", corrupt, "starts where no instruction is", [](Damaged& o) { o.descriptor()[20] = 0x7f; }},
    {"EntryBetween", corrupt, "starts where no instruction is", [](Damaged& o) { o.descriptor()[16] |= 2; }},
    {"WaveOfAnotherSize", corrupt, "another wave size", [](Damaged& o) { o.descriptor()[57] |= 4; }},
    {"ArgumentsHuge", corrupt, "its arguments take", [](Damaged& o) { o.descriptor()[11] = 0x7f; }},
};
INSTANTIATE_TEST_SUITE_P(Each, ObjectDamage, testing::ValuesIn(damage),
                         [](const auto& info) { return std::string(info.param.name); });

// They are for reports alone.
TEST(Object, FunctionsThatAreDamagedAreLeftOut) {
  const std::pair<std::size_t, std::function<void(Damaged&, Elf64_Sym&)>> cases[] = {
      {2, [](Damaged&, Elf64_Sym&) {}},
      {1, [](Damaged&, Elf64_Sym& one) { one.st_shndx = SHN_ABS, one.st_value = 1 << 20; }},
      {1, [](Damaged&, Elf64_Sym& one) { one.st_shndx = SHN_ABS, one.st_value = ~std::uint64_t{0}; }},
      {1, [](Damaged&, Elf64_Sym& one) { one.st_name = 1 << 20; }},
      {1, [](Damaged&, Elf64_Sym& one) { one.st_name = 0; }},
      {1, [](Damaged& o, Elf64_Sym& one) { one.st_value = o.symbol("preloaded").st_value; }},
      {1, [](Damaged& o, Elf64_Sym&) {
         const std::string name = "__clang_ocl_kern_imp_preloaded";
         *std::search(o.bytes.begin(), o.bytes.end(), name.begin(), name.end()) = '\n';
       }},
  };
  for (std::size_t n = 0; n < std::size(cases); ++n) {
    Damaged object;
    object.section(SHT_SYMTAB).sh_type = SHT_PROGBITS;   // the exported ones are read then
    cases[n].second(object, object.symbol("__clang_ocl_kern_imp_preloaded"));
    const auto loaded = load_object(object.bytes, "gfx942");
    ASSERT_TRUE(loaded) << n << " " << to_text(loaded.error());
    EXPECT_EQ(loaded->functions.size(), cases[n].first) << n;
  }
}

// Whatever the damage: an error or an object whose addresses lie in its image, never a crash.
TEST(Object, SurvivesRandomDamage) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const Bytes originals[] = {corpus("variables_gfx942.co"), corpus("launch_gfx942.co")};
  for (int round = 0; round < 600; ++round) {
    Bytes bytes = originals[round % 2];
    const int flips = 1 + static_cast<int>(random() % 12);
    for (int i = 0; i < flips; ++i) {
      // Half of it in the headers, which are small.
      const auto range = random() % 2 == 0 ? std::min<std::size_t>(1024, bytes.size()) : bytes.size();
      bytes[random() % range] ^= static_cast<std::uint8_t>(1u << random() % 8);
    }
    if (random() % 8 == 0) bytes.resize(random() % bytes.size());
    const auto object = load_object(bytes, "gfx942:sramecc+:xnack-");
    if (!object) continue;
    for (const auto& [name, kernel] : object->kernels)
      ASSERT_LT(kernel.entry - object->code.begin, object->code_bytes) << name;
    for (const auto& [name, variable] : object->variables) {
      const bool found = inside(*object, variable.address, variable.bytes, true) ||
                         inside(*object, variable.address, variable.bytes, false);
      ASSERT_TRUE(found || variable.bytes == 0) << name;
    }
  }
}

}  // namespace
}  // namespace kiln::emulator
