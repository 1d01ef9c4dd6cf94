// kiln-compile-hip with a real hipRTC (the private prefix that `kiln toolchain install` makes, or ROCm's): every
// built-in for every AMD target; what the worker reports equals what LLVM's own tools say of the same object.
#include <gtest/gtest.h>

#include <fstream>
#include <future>
#include <map>
#include <regex>
#include <sstream>

#include "engine/base/fd.hpp"
#include "engine/base/paths.hpp"
#include "engine/compile/toolchain.hpp"
#include "engine/compile/worker_pool.hpp"
#include "engine/ir/tile/program.hpp"
#include "engine/specialize/specialize.hpp"
#include "tests/differential/host/random_program.hpp"
#include "tests/support/temporary_folder.hpp"

namespace kiln::compile {
namespace {

std::string output_of(const std::string& command) {
  std::string output;
  FILE* pipe = popen(command.c_str(), "r");
  char buffer[4096];
  for (std::size_t n = 0; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) output.append(buffer, n);
  pclose(pipe);
  return output;
}

class HipWorker : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const auto environment = process_environment();
    ASSERT_TRUE(environment);
    const auto folder = toolchains_folder(*environment);
    ASSERT_TRUE(folder);
    std::vector<std::string> command = {std::string(KILN_BIN_DIR) + "/kiln-compile-hip"};
    const auto toolchains = list_toolchains(folder->path);
    if (!toolchains.empty()) command = through_toolchain(toolchains[0], command[0]);
    command.insert(command.end(), {"--include", std::string(KILN_SOURCE_DIR) + "/kernels/include"});
    PoolOptions options;
    options.commands = {{"hip", command, ""}};
    options.workers_max = 2;
    options.environment = environment->all;
    pool_ = WorkerPool::create(options).release();
  }
  static void TearDownTestSuite() { delete pool_; }

  static Result<Compiled> compile(const std::string& name, const std::map<std::string, std::string>& set,
                                  const std::string& target_text) {
    KILN_TRY(const auto bytes, read_file(std::string(KILN_SOURCE_DIR) + "/kernels/programs/" + name + ".json"));
    return compile_text(text(bytes), set, target_text);
  }
  static Result<Compiled> compile_text(std::string_view json, const std::map<std::string, std::string>& set,
                                       const std::string& target_text) {
    KILN_TRY(const auto program, tile::read_program(json));
    KILN_TRY(const auto target, target::parse_target(target_text));
    Budget budget(10000000);
    KILN_TRY(const auto bound, specialize::specialize(program, {set, {}, {}}, target, budget));
    std::promise<Result<Compiled>> promise;
    pool_->compile(bound, "key", 0, {}, {}, [&](Result<Compiled> result) { promise.set_value(std::move(result)); });
    return promise.get_future().get();
  }

  // Lines "  .vgpr_count:     18" of the object's notes, summed over its kernels.
  std::int64_t noted(const std::string& notes, const std::string& field) {
    std::int64_t sum = 0;
    std::istringstream lines(notes);
    for (std::string line; std::getline(lines, line);) {
      const auto at = line.find(field + ":");
      if (at != std::string::npos) sum += std::stoll(line.substr(at + field.size() + 1));
    }
    return sum;
  }

  void expect_llvm_agrees(const Compiled& compiled) {
    const std::string path = folder_ / "object";
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(compiled.object.data()),
               static_cast<std::streamsize>(compiled.object.size()));
    const std::string notes = output_of("llvm-readelf-22 --notes " + path),
                      code = output_of("llvm-objdump-22 -d --no-show-raw-insn " + path);
    ASSERT_EQ(compiled.metadata.launches.size(), 1u);
    const Resources& r = compiled.metadata.launches[0].resources;
    EXPECT_GT(r.vgprs, 0);
    EXPECT_EQ(r.vgprs, noted(notes, ".vgpr_count"));
    EXPECT_EQ(r.agprs, noted(notes, ".agpr_count"));
    EXPECT_EQ(r.sgprs, noted(notes, ".sgpr_count"));
    EXPECT_EQ(r.vgpr_spills, noted(notes, ".vgpr_spill_count"));
    EXPECT_EQ(r.sgpr_spills, noted(notes, ".sgpr_spill_count"));
    EXPECT_EQ(r.lds_bytes, noted(notes, ".group_segment_fixed_size"));
    EXPECT_EQ(r.scratch_bytes, noted(notes, ".private_segment_fixed_size"));
    EXPECT_EQ(r.kernarg_bytes, noted(notes, ".kernarg_segment_size"));
    const std::regex matrix("\n\\s*(v_mfma|v_smfmac|v_wmma)");
    EXPECT_EQ(r.matrix_instructions,
              std::distance(std::sregex_iterator(code.begin(), code.end(), matrix), std::sregex_iterator()));
    const std::string header = output_of("llvm-readelf-22 -h " + path);
    std::ostringstream flags;
    flags << "0x" << std::hex << compiled.metadata.elf_flags;
    EXPECT_NE(header.find(flags.str()), std::string::npos) << header;
  }

  static WorkerPool* pool_;
  test::TemporaryFolder folder_;
};
WorkerPool* HipWorker::pool_ = nullptr;

class HipWorkerTargets : public HipWorker, public testing::WithParamInterface<std::string> {};

TEST_P(HipWorkerTargets, GemmAtItsDefaultTile) {
  for (const char* type : {"f16", "bf16"}) {
    const auto compiled = compile("gemm", {{"M", "4096"}, {"N", "4096"}, {"K", "4096"}, {"dtype", type}}, GetParam());
    ASSERT_TRUE(compiled) << to_text(compiled.error());
    expect_llvm_agrees(*compiled);
    const auto& r = compiled->metadata.launches[0].resources;
    EXPECT_GT(r.matrix_instructions, 0);
    EXPECT_EQ(r.vgpr_spills + r.sgpr_spills + r.scratch_bytes, 0);
    EXPECT_GE(r.waves_per_simd, 1);
    EXPECT_EQ(compiled->metadata.launches[0].arguments.size(), 3u) << "no hidden arguments";
  }
}

TEST_P(HipWorkerTargets, Attention) {
  const auto compiled = compile(
      "flash_attention", {{"B", "2"}, {"H", "4"}, {"HKV", "4"}, {"S", "512"}, {"SK", "512"}, {"D", "64"}}, GetParam());
  ASSERT_TRUE(compiled) << to_text(compiled.error());
  expect_llvm_agrees(*compiled);
  const auto& r = compiled->metadata.launches[0].resources;
  EXPECT_GT(r.matrix_instructions, 0);
  EXPECT_EQ(r.vgpr_spills + r.sgpr_spills + r.scratch_bytes, 0);
}

TEST_P(HipWorkerTargets, RowwisePrograms) {
  for (const char* name : {"softmax", "rmsnorm", "layernorm"}) {
    const auto compiled = compile(name, {{"M", "33"}, {"N", "1000"}}, GetParam());
    ASSERT_TRUE(compiled) << to_text(compiled.error());
    expect_llvm_agrees(*compiled);
    EXPECT_EQ(compiled->metadata.launches[0].resources.scratch_bytes, 0);
  }
}

// Twelve random programs; KILN_SEED and KILN_PROGRAMS choose others.
TEST_P(HipWorkerTargets, RandomPrograms) {
  const auto number = [](const char* name, std::uint64_t otherwise) {
    const char* const given = std::getenv(name);
    return given == nullptr ? otherwise : std::strtoull(given, nullptr, 10);
  };
  const std::uint64_t first = number("KILN_SEED", 1), count = number("KILN_PROGRAMS", 12);
  std::uint64_t refused = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    test::RandomProgram made = test::random_program(seed);
    made.set["BM"] = seed % 2 ? "32" : "64";  // tiles that a block's lanes can share out
    made.set["BN"] = seed % 3 ? "64" : "16";
    made.set["BK"] = seed % 4 < 2 ? "16" : "32";
    if (const auto at = made.text.find("\"threads\": \"1\""); at != std::string::npos)
      made.text.replace(at, 14, "\"threads\": \"128\"");
    const auto compiled = compile_text(made.text, made.set, GetParam());
    if (!compiled && compiled.error().code == ErrorCode::unsupported) ++refused;
    else
      EXPECT_TRUE(compiled) << "repeat with KILN_SEED=" << seed << " KILN_PROGRAMS=1\n"
                            << to_text(compiled.error()) << made.text;
  }
  EXPECT_LE(refused, count / 4) << "too many programs are not built for AMD targets";
}

INSTANTIATE_TEST_SUITE_P(Targets, HipWorkerTargets, testing::Values("gfx90a", "gfx942", "gfx950", "gfx1100"),
                         [](const auto& info) { return info.param; });

TEST_F(HipWorker, FeaturesAreInTheFlags) {
  const auto compiled = compile("softmax", {{"M", "4"}, {"N", "64"}}, "gfx942:sramecc+:xnack-");
  ASSERT_TRUE(compiled) << to_text(compiled.error());
  EXPECT_EQ(compiled->metadata.elf_flags, 0xe4cu);
  const auto plain = compile("softmax", {{"M", "4"}, {"N", "64"}}, "gfx942");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->metadata.elf_flags, 0x54cu);
}

// The instructions of the loop that holds the first matrix instruction: from the target of the backward branch to the
// branch.
std::vector<std::string> main_loop(const std::string& disassembly) {
  std::vector<std::pair<std::uint64_t, std::string>> lines;
  std::istringstream stream(disassembly);
  for (std::string line; std::getline(stream, line);) {
    const auto comment = line.find("// ");
    if (comment == std::string::npos) continue;
    const auto begin = line.find_first_not_of(" \t");
    lines.emplace_back(std::stoull(line.substr(comment + 3), nullptr, 16),
                       line.substr(begin, line.find_last_not_of(" \t", comment - 1) + 1 - begin));
  }
  for (std::size_t end = 0; end < lines.size(); ++end) {
    const std::string& text = lines[end].second;
    if (!text.starts_with("s_cbranch")) continue;
    const auto offset = static_cast<std::int16_t>(std::stoul(text.substr(text.rfind(' ') + 1)));
    const std::uint64_t to = lines[end].first + 4 + 4 * static_cast<std::int64_t>(offset);
    if (to > lines[end].first) continue;
    std::vector<std::string> loop;
    bool matrix = false;
    for (std::size_t i = 0; i <= end; ++i) {
      if (lines[i].first < to) continue;
      loop.push_back(lines[i].second);
      matrix = matrix || lines[i].second.starts_with("v_mfma");
    }
    if (matrix) return loop;
  }
  return {};
}

TEST_F(HipWorker, NextTilesLoadsPrecedeTheFirstMatrixInstruction) {
  for (const char* transpose : {"false", "true"}) {
    const auto compiled =
        compile("gemm", {{"M", "4096"}, {"N", "4096"}, {"K", "4096"}, {"transpose_b", transpose}}, "gfx942");
    ASSERT_TRUE(compiled) << to_text(compiled.error());
    const std::string path = folder_ / "object";
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(compiled->object.data()),
               static_cast<std::streamsize>(compiled->object.size()));
    const auto loop = main_loop(output_of("llvm-objdump-22 -d --no-show-raw-insn " + path));
    ASSERT_FALSE(loop.empty());
    std::size_t first_load = loop.size(), last_load = 0, first_matrix = loop.size();
    int loads = 0;
    for (std::size_t i = 0; i < loop.size(); ++i) {
      if (loop[i].starts_with("buffer_load") || loop[i].starts_with("global_load")) {
        first_load = std::min(first_load, i);
        last_load = i;
        ++loads;
      }
      if (loop[i].starts_with("v_mfma")) first_matrix = std::min(first_matrix, i);
    }
    EXPECT_GE(loads, 4);
    EXPECT_LT(last_load, first_matrix) << "transpose_b " << transpose;
    for (std::size_t i = first_load; i < first_matrix; ++i)
      EXPECT_EQ(loop[i].find("vmcnt(0)"), std::string::npos) << loop[i];
  }
}

}  // namespace
}  // namespace kiln::compile
