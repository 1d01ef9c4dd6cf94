#include "engine/ir/target/target.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace kiln::target {
namespace {

Target parsed(const std::string& text) {
  auto target = parse_target(text);
  EXPECT_TRUE(target.has_value()) << text;
  return target ? *target : Target{};
}

// Values that clang 22 writes for these targets; gfx942's are the design's.
TEST(Target, ElfFlags) {
  EXPECT_EQ(parsed("gfx942").elf_flags, 0x54Cu);
  EXPECT_EQ(parsed("gfx942:sramecc+:xnack-").elf_flags, 0xE4Cu);
  EXPECT_EQ(parsed("gfx950").elf_flags, 0x54Fu);
  EXPECT_EQ(parsed("gfx90a").elf_flags, 0x53Fu);
  EXPECT_EQ(parsed("gfx90a:xnack+").elf_flags, 0x73Fu);
  EXPECT_EQ(parsed("gfx1100").elf_flags, 0x41u);
}

TEST(Target, FeaturesComeOutInOneOrder) {
  EXPECT_EQ(parsed("gfx942:xnack-:sramecc+").full, "gfx942:sramecc+:xnack-");
  EXPECT_EQ(parsed("gfx90a:xnack+").full, "gfx90a:xnack+");
  EXPECT_EQ(parsed("gfx950").full, "gfx950");
}

TEST(Target, Traits) {
  EXPECT_EQ(parsed("gfx942").wave, 64);
  EXPECT_EQ(parsed("gfx942").lds_bytes, 65536);
  EXPECT_EQ(parsed("gfx950").lds_bytes, 163840);
  EXPECT_EQ(parsed("gfx1100").wave, 32);
  EXPECT_EQ(parsed("gfx1100").family, Family::rdna);
}

TEST(Target, UnknownOnesAreRefusedWithTheNearest) {
  for (const char* text : {"", ":", "gfx", "gfx942:", "gfx942:sramecc", "gfx942:foo+", "gfx942:xnack+:xnack+",
                           "gfx1100:xnack+", "host:", "host:sse",
                           "host:avx2+avx512bf16", "host:avx512+", "host:avx512:avx2", "GFX942", "gfx942 "}) {
    const auto target = parse_target(text);
    ASSERT_FALSE(target) << text;
    EXPECT_EQ(target.error().code, ErrorCode::unknown_target) << text;
    EXPECT_NE(target.error().message.find("gfx90a, gfx942, gfx950, gfx1100, host"), std::string::npos)
        << target.error().message;
  }
  EXPECT_NE(parse_target("gfx924").error().message.find("did you mean 'gfx942'"), std::string::npos);
  EXPECT_NE(parse_target("hosst").error().message.find("did you mean 'host'"), std::string::npos);
  EXPECT_EQ(parse_target(std::string(1 << 20, 'x')).error().code, ErrorCode::unknown_target);
}

TEST(Target, HostLevels) {
  const auto narrow = parsed("host:avx2"), wide = parsed("host:avx512+avx512bf16");
  EXPECT_EQ(narrow.full, "host:avx2+f16c+fma");
  EXPECT_EQ(narrow.wave, 8);
  EXPECT_EQ(wide.full, "host:avx512+avx512bf16+f16c+fma");
  EXPECT_EQ(wide.wave, 16);
  EXPECT_EQ(parsed(wide.full).full, wide.full);
  EXPECT_TRUE(std::is_sorted(wide.host_features.begin(), wide.host_features.end()));
  EXPECT_TRUE(serves(narrow, wide));
  EXPECT_FALSE(serves(wide, narrow));
  EXPECT_FALSE(wide.matrix_for(DType::bf16, DType::f32).empty());
  EXPECT_FALSE(wide.matrix_for(DType::i8, DType::i32).empty());
  EXPECT_TRUE(wide.bank_rule(LdsOperation::read, 4).phases.empty());
}

TEST(Target, HostMeansThisMachine) {
  const auto target = parse_target("host");
  if (!target) GTEST_SKIP() << target.error().message;
  EXPECT_TRUE(host_can_run(*target));
  EXPECT_EQ(parsed(target->full).full, target->full);
  EXPECT_FALSE(host_can_run(parsed("gfx942")));
}

TEST(Target, AnObjectServesDevicesThatNameItsFeatures) {
  const auto any = parsed("gfx942"), exact = parsed("gfx942:sramecc+:xnack-");
  EXPECT_TRUE(serves(any, exact));
  EXPECT_TRUE(serves(exact, exact));
  EXPECT_FALSE(serves(exact, any));
  EXPECT_FALSE(serves(parsed("gfx942:xnack+"), exact));
  EXPECT_FALSE(serves(parsed("gfx950"), exact));
}

TEST(Target, KnownOnesParse) {
  for (const auto& name : known_targets()) {
    const bool fixed = name != "host";  // what "host" is depends on the machine
    EXPECT_TRUE(!fixed || parse_target(name)) << name;
  }
}

// Each wave's lanes are in exactly one phase of every rule.
TEST(BankRules, PhasesCoverTheWave) {
  for (const char* name : {"gfx90a", "gfx942", "gfx950", "gfx1100"}) {
    const auto target = parsed(name);
    for (const auto operation : {LdsOperation::read, LdsOperation::write, LdsOperation::read2}) {
      for (const int bytes : {1, 2, 4, 8, 12, 16}) {
        std::multiset<int> lanes;
        for (const auto& phase : target.bank_rule(operation, bytes).phases) lanes.insert(phase.begin(), phase.end());
        EXPECT_EQ(lanes.size(), static_cast<std::size_t>(target.wave)) << name << " " << bytes;
        EXPECT_EQ(std::set<int>(lanes.begin(), lanes.end()).size(), lanes.size()) << name << " " << bytes;
      }
    }
  }
}

// Rows of the design's table, by number of banks, number of phases, and whether the rule was inferred.
TEST(BankRules, TableRows) {
  struct Row { const char* target; LdsOperation operation; int bytes, banks; std::size_t phases; bool inferred; };
  const auto read = LdsOperation::read, write = LdsOperation::write;
  for (const Row& row : {Row{"gfx942", read, 4, 32, 2, false}, Row{"gfx942", write, 4, 32, 2, false},
                         Row{"gfx942", read, 8, 32, 4, false},
                         Row{"gfx942", write, 8, 32, 4, false}, Row{"gfx942", read, 12, 32, 8, false},
                             Row{"gfx942", read, 16, 32, 8, false},
                             Row{"gfx942", write, 16, 32, 8, false},
                                 Row{"gfx942", LdsOperation::read2, 16, 32, 4, false},
                                 Row{"gfx90a", read, 16, 32, 8, true}, Row{"gfx90a", write, 4, 32, 2, true},
                         Row{"gfx950", read, 16, 64, 4, false}, Row{"gfx950", read, 8, 64, 2, false},
                             Row{"gfx950", read, 12, 32, 8, false},
                             Row{"gfx950", write, 8, 32, 4, false}, Row{"gfx950", write, 4, 32, 2, true},
                                 Row{"gfx950", write, 16, 32, 8, true},
                                 Row{"gfx1100", read, 4, 32, 1, true}, Row{"gfx1100", read, 8, 32, 2, true},
                                     Row{"gfx1100", write, 16, 32, 4, true}}) {
    const auto rule = parsed(row.target).bank_rule(row.operation, row.bytes);
    EXPECT_EQ(rule.banks, row.banks) << row.target << " " << row.bytes;
    EXPECT_EQ(rule.phases.size(), row.phases) << row.target << " " << row.bytes;
    EXPECT_EQ(rule.inferred, row.inferred) << row.target << " " << row.bytes;
  }
  EXPECT_EQ(parsed("gfx942").bank_rule(LdsOperation::read2, 16).parts, 2);
}

// ---- lane maps against AMD's matrix instruction calculator (data/matrix_layouts.txt names its source) ----

struct Published {
  std::string target, name;
  int m = 0, n = 0, k = 0, cycles = 0;
  std::map<char, std::vector<std::vector<std::pair<int, int>>>> lanes;  // A, B, D: a list of row, column for each lane
};

std::vector<Published> published() {
  std::ifstream file(KILN_SOURCE_DIR "/tests/unit/kernel/data/matrix_layouts.txt");
  EXPECT_TRUE(file.good());
  std::vector<Published> list;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string first;
    words >> first;
    if (first == "instruction") {
      auto& one = list.emplace_back();
      words >> one.target >> one.name >> one.m >> one.n >> one.k >> one.cycles;
    } else if (first != "#") {
      auto& items = list.back().lanes[first[0]].emplace_back();
      for (int row = 0, column = 0; words >> row >> column;) items.emplace_back(row, column);
    }
  }
  return list;
}

TEST(MatrixInstructions, LaneMapsAreThePublishedOnes) {
  const auto list = published();
  ASSERT_EQ(list.size(), 19u);
  for (const auto& one : list) {
    SCOPED_TRACE(one.target + " " + one.name);
    const auto target = parsed(one.target);
    const auto* instruction = target.matrix_named(one.name);
    ASSERT_NE(instruction, nullptr);
    EXPECT_EQ(std::tie(instruction->m, instruction->n, instruction->k, instruction->cycles),
              std::tie(one.m, one.n, one.k, one.cycles));
    ASSERT_EQ(one.lanes.at('A').size(), static_cast<std::size_t>(target.wave));
    for (int lane = 0; lane < target.wave; ++lane) {
      const auto &a = one.lanes.at('A')[lane], &b = one.lanes.at('B')[lane], &d = one.lanes.at('D')[lane];
      ASSERT_EQ(a.size(), static_cast<std::size_t>(instruction->operand_elements));
      ASSERT_EQ(d.size(), static_cast<std::size_t>(instruction->result_elements));
      for (int e = 0; e < instruction->operand_elements; ++e) {
        EXPECT_EQ(a[e], std::pair(instruction->operand_row(lane), instruction->operand_k(lane, e)));
        EXPECT_EQ(b[e], std::pair(instruction->operand_k(lane, e), instruction->operand_row(lane)));
      }
      for (int r = 0; r < instruction->result_elements; ++r) {
        EXPECT_EQ(d[r], std::pair(instruction->result_row(lane, r), instruction->result_column(lane, r)));
      }
    }
  }
}

TEST(MatrixInstructions, EveryTargetHasWhatItsUnitTakes) {
  for (const char* name : {"gfx90a", "gfx942", "gfx950"}) {
    const auto target = parsed(name);
    for (const auto type : {DType::f16, DType::bf16, DType::f32}) {
      EXPECT_GE(target.matrix_for(type, DType::f32).size(), 2u) << name;
    }
    EXPECT_GE(target.matrix_for(DType::i8, DType::i32).size(), 2u) << name;
    EXPECT_TRUE(target.matrix_for(DType::f64, DType::f64).empty());
  }
  EXPECT_EQ(parsed("gfx90a").matrix_for(DType::bf16, DType::f32).front()->builtin,
            "__builtin_amdgcn_mfma_f32_32x32x8bf16_1k");
  EXPECT_EQ(parsed("gfx950").matrix_for(DType::f16, DType::f32).front()->name, "v_mfma_f32_32x32x16_f16");
  EXPECT_EQ(parsed("gfx1100").matrix_for(DType::i8, DType::i32).front()->name, "v_wmma_i32_16x16x16_iu8");
  EXPECT_TRUE(parsed("gfx1100").matrix_for(DType::f32, DType::f32).empty());
}

}  // namespace
}  // namespace kiln::target
