// Every matrix instruction of gfx90a and gfx942, with operands placed as AMD's calculator says (matrix_layouts.txt).
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "tests/unit/emulator/matrix_case.hpp"

namespace kiln::emulator_test {
namespace {

struct Item {
  int row = 0, column = 0, block = 0;
};
using Table = std::vector<std::vector<Item>>;  // by lane and item

struct Published {
  std::map<int, Table> tables;
  std::vector<MatrixCase> cases;
};

using Inverse = std::map<std::tuple<int, int, int>, Place>;
Inverse inverse(const Table& table) {
  Inverse places;
  for (std::size_t lane = 0; lane < table.size(); ++lane) {
    for (std::size_t item = 0; item < table[lane].size(); ++item) {
      const Item& each = table[lane][item];
      places[{each.row, each.column, each.block}] = {static_cast<int>(lane), static_cast<int>(item)};
    }
  }
  return places;
}

std::string type_of(const std::string& published, const std::string& name) {
  if (published == "FP32") return name.find("xf32") != std::string::npos ? "xf32" : "f32";
  if (published == "FP8") return "fp8_fnuz";
  if (published == "BF8") return "bf8_fnuz";
  static const std::map<std::string, std::string> types = {
      {"FP16", "f16"}, {"BF16", "bf16"}, {"FP64", "f64"}, {"int8", "i8"}, {"int32", "i32"}};
  return types.at(published);
}

MatrixCase read_case(std::istringstream& words, const std::map<int, Table>& tables) {
  MatrixCase one;
  std::string a_type, b_type, d_type;
  int a = 0, b = 0, d = 0;
  words >> one.processor >> one.name >> one.size >> one.depth >> one.blocks;
  words >> a_type >> b_type >> d_type >> a >> b >> d;
  one.sparse = one.name.find("smfmac") != std::string::npos;
  one.a_type = type_of(a_type, one.name);
  one.b_type = type_of(b_type, one.name);
  one.d_type = d_type == "FP32" ? "f32" : type_of(d_type, one.name);
  one.a_elements = static_cast<int>(tables.at(a)[0].size()) * (one.sparse ? 2 : 1);
  one.b_elements = static_cast<int>(tables.at(b)[0].size());
  one.d_elements = static_cast<int>(tables.at(d)[0].size());
  const Inverse of_a = inverse(tables.at(a)), of_b = inverse(tables.at(b)), of_d = inverse(tables.at(d));
  if (one.sparse) {
    one.a = [of_a](int row, int held, int block) {
      const Place pair = of_a.at({row, held / 2 * 4, block});
      return Place{pair.lane, pair.element * 2 + held % 2};
    };
  } else {
    one.a = [of_a](int row, int k, int block) { return of_a.at({row, k, block}); };
  }
  one.b = [of_b](int k, int column, int block) { return of_b.at({k, column, block}); };
  one.d = [of_d](int row, int column, int block) { return of_d.at({row, column, block}); };
  return one;
}

const Published& published() {
  static const Published all = [] {
    Published read;
    std::ifstream file(KILN_SOURCE_DIR "/tests/unit/emulator/matrix_layouts.txt");
    EXPECT_TRUE(file.good());
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::string first;
      words >> first;
      if (first == "table") {
        int number = 0;
        words >> number;
        Table& table = read.tables[number];
        for (int lane = 0; lane < 64 && std::getline(file, line); ++lane) {
          auto& items = table.emplace_back();
          std::istringstream entries(line);
          char dot = 0;
          for (Item item; entries >> item.row >> dot >> item.column >> dot >> item.block;) items.push_back(item);
        }
      } else if (first == "instruction") {
        read.cases.push_back(read_case(words, read.tables));
      }
    }
    return read;
  }();
  return all;
}

const MatrixCase& named(const std::string& processor, const std::string& name) {
  for (const auto& one : published().cases) {
    if (one.processor == processor && one.name == name) return one;
  }
  ADD_FAILURE() << name;
  return published().cases.front();
}

TEST(MatrixLayouts, EveryInstructionOfGfx90aAndGfx942) {
  ASSERT_EQ(published().cases.size(), 73u);
  std::uint32_t seed = 1;
  for (const auto& one : published().cases) expect_product(one, {}, seed++);
}

TEST(MatrixLayouts, Gfx950KeepsThoseOfGfx942) {
  std::uint32_t seed = 1000;
  for (MatrixCase one : published().cases) {
    if (one.processor != "gfx942" || one.a_type == "xf32") continue;
    one.processor = "gfx950";
    for (std::string* type : {&one.a_type, &one.b_type}) {
      if (type->ends_with("_fnuz")) type->resize(3);  // OCP's formats
    }
    expect_product(one, {}, seed++);
  }
}

TEST(MatrixLayouts, AccumulationRegisters) {
  std::uint32_t seed = 2000;
  for (const char* name : {"v_mfma_f32_32x32x8f16", "v_mfma_f32_16x16x1f32", "v_mfma_f64_16x16x4f64",
                           "v_mfma_i32_32x32x4i8"}) {
    for (const char* files : {"vva", "ava", "vav", "aaa"}) {
      MatrixOptions options;
      options.a_file = files[0];
      options.b_file = files[1];
      options.d_file = files[2];
      expect_product(named("gfx90a", name), options, seed++);
    }
  }
  MatrixOptions sparse;
  sparse.a_file = sparse.d_file = 'a';
  expect_product(named("gfx942", "v_smfmac_f32_32x32x16_bf16"), sparse, seed++);
}

TEST(MatrixLayouts, InlineConstantsAsTheAddend) {
  const struct {
    const char *name, *text;
    double value;
  } rows[] = {{"v_mfma_f32_32x32x8_f16", "0", 0},        {"v_mfma_f32_16x16x16_bf16", "1.0", 1},
              {"v_mfma_f32_4x4x1_16b_f32", "-4.0", -4},  {"v_mfma_f32_32x32x1_2b_f32", "0.5", 0.5},
              {"v_mfma_i32_32x32x16_i8", "-16", -16},    {"v_mfma_i32_4x4x4_16b_i8", "64", 64},
              {"v_mfma_f64_16x16x4_f64", "2.0", 2},      {"v_mfma_f64_4x4x4_4b_f64", "-0.5", -0.5}};
  std::uint32_t seed = 3000;
  for (const auto& row : rows) {
    MatrixOptions options;
    options.constant = row.text;
    options.constant_value = row.value;
    expect_product(named("gfx942", row.name), options, seed++);
  }
}

// CBSZ: one block's A for each 2^CBSZ blocks; ABID: which of them.
TEST(MatrixLayouts, BroadcastOfBlocks) {
  std::uint32_t seed = 4000;
  for (const auto& one : published().cases) {
    for (int cbsz = 1; one.blocks > 1 && one.d_type != "f64" && 1 << cbsz <= one.blocks; ++cbsz) {
      for (const int abid : {0, (1 << cbsz) - 1}) {
        MatrixOptions options;
        options.modifiers = "cbsz:" + std::to_string(cbsz) + " abid:" + std::to_string(abid);
        const int group = 1 << cbsz;
        options.a_block = [group, abid](int block) { return block / group * group + abid; };
        expect_product(one, options, seed++);
      }
    }
  }
}

TEST(MatrixLayouts, LaneGroupsOfB) {
  const std::function<int(int)> of[] = {
      [](int lane) { return lane; },
      [](int lane) { return lane & 31; },            // the first 32 lanes for all
      [](int lane) { return (lane & 31) + 32; },     // the second 32
      [](int lane) { return (lane + 16) & 63; },     // all moved down by 16
      [](int lane) { return lane & 15; },            // one of the four 16 for all
      [](int lane) { return (lane & 15) + 16; },
      [](int lane) { return (lane & 15) + 32; },
      [](int lane) { return (lane & 15) + 48; }};
  std::uint32_t seed = 5000;
  for (const char* name : {"v_mfma_f32_32x32x1f32", "v_mfma_f32_16x16x4f16", "v_mfma_f32_4x4x2bf16",
                           "v_mfma_f32_32x32x8bf16_1k", "v_mfma_i32_16x16x4i8"}) {
    for (int blgp = 1; blgp < 8; ++blgp) {
      MatrixOptions options;
      options.modifiers = "blgp:" + std::to_string(blgp);
      options.b_lane = of[blgp];
      expect_product(named("gfx90a", name), options, seed++);
    }
  }
}

// gfx942: an 8-bit set of indices for 16-bit elements, of 16 bits for 8-bit ones; CBSZ other than 0 means the first.
TEST(MatrixLayouts, SetsOfSparseIndices) {
  std::uint32_t seed = 6000;
  for (const auto& one : published().cases) {
    if (!one.sparse) continue;
    const int sets = 16 / one.a_elements;
    for (int set = 1; set < sets; ++set) {
      MatrixOptions options;
      options.index_set = set;
      options.modifiers = "abid:" + std::to_string(set);
      expect_product(one, options, seed++);
      options.index_set = 0;
      options.modifiers = "cbsz:1 abid:" + std::to_string(set);
      expect_product(one, options, seed++);
    }
  }
}

}  // namespace
}  // namespace kiln::emulator_test
