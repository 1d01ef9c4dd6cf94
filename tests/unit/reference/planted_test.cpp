// Mistakes planted in tile programs (planted/*.json): each is found and located, by the verifier when the program is
// bound or by the interpreter when it runs. And the built-in programs, which have none, against formulas written down
// here.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "engine/base/fd.hpp"
#include "engine/ir/tile/builtins.hpp"
#include "engine/specialize/specialize.hpp"
#include "tests/unit/reference/builder.hpp"

namespace kiln::test {
namespace {

Result<bound::Program> bind_program(const tile::Program& program, const std::map<std::string, std::string>& settings,
                                    const std::string& target = "gfx942") {
  KILN_TRY(const auto parsed, target::parse_target(target));
  specialize::Bindings bindings;
  bindings.set = settings;
  Budget budget(50'000'000);
  return specialize::specialize(program, bindings, parsed, budget);
}

std::map<std::string, std::string> settings_of(const nlohmann::json& sizes) {
  std::map<std::string, std::string> settings;
  for (const auto& [name, value] : sizes.items()) settings[name] = std::to_string(value.get<std::int64_t>());
  return settings;
}

void fill_arguments(Buffers& buffers, const bound::Program& program, const nlohmann::json& scalars) {
  for (std::size_t t = 0; t < program.tensors.size(); ++t) {
    const auto& tensor = program.tensors[t];
    if (tensor.scalar) buffers.set(static_cast<int>(t), 0, scalars.at(tensor.name).get<double>());
  }
}

class Planted : public testing::TestWithParam<std::string> {};

TEST_P(Planted, IsFoundAndLocated) {
  const auto bytes = read_file(std::string(KILN_SOURCE_DIR) + "/tests/unit/reference/planted/" + GetParam() + ".json");
  ASSERT_TRUE(bytes);
  const auto document = nlohmann::json::parse(text(*bytes));
  const auto& expect = document.at("expect");
  const auto read = tile::read_program(document.at("program").dump());
  ASSERT_TRUE(read) << to_text(read.error());
  const auto program = bind_program(*read, settings_of(document.at("sizes")));
  std::optional<Error> error;
  if (expect.at("by") == "verifier") {
    ASSERT_FALSE(program) << "nothing was found: " << document.at("why");
    error = program.error();
  } else {
    ASSERT_TRUE(program) << to_text(program.error());
    Buffers buffers(*program);
    fill_arguments(buffers, *program, document.at("scalars"));
    const auto status = buffers.run();
    ASSERT_FALSE(status) << "nothing was found: " << document.at("why");
    error = status.error();
  }
  EXPECT_EQ(error->code, ErrorCode::program_invalid);
  ASSERT_EQ(error->diagnostics.size(), 1u) << to_text(*error);
  EXPECT_EQ(error->diagnostics[0].pointer, expect.at("pointer").get<std::string>()) << to_text(*error);
  EXPECT_NE(error->diagnostics[0].message.find(expect.at("message").get<std::string>()), std::string::npos)
      << to_text(*error);
  EXPECT_FALSE(error->diagnostics[0].expected.empty() && error->diagnostics[0].hint.empty()) << to_text(*error);
}

std::vector<std::string> planted_names() {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(KILN_SOURCE_DIR) + "/tests/unit/reference/planted"))
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}
INSTANTIATE_TEST_SUITE_P(Mistakes, Planted, testing::ValuesIn(planted_names()),
                         [](const auto& test) { return test.param; });

TEST(PlantedSet, HasAtLeastTen) { EXPECT_GE(planted_names().size(), 10u); }

// ---- built-ins ----------------------------------------------------------------------------------------------------
struct Builtin {
  bound::Program program;
  std::unique_ptr<Buffers> buffers;
  std::vector<std::vector<double>> scale;

  // Binds for `target`, fills the inputs with normals and the outputs with NaN, runs.
  Builtin(const std::string& name, const std::map<std::string, std::string>& settings,
          const std::string& target = "gfx942") {
    const auto read = tile::load_builtin(KILN_SOURCE_DIR "/kernels/programs", name);
    EXPECT_TRUE(read) << to_text(read.error());
    auto bound = bind_program(*read, settings, target);
    if (!bound) {
      ADD_FAILURE() << to_text(bound.error());
      return;
    }
    program = std::move(*bound);
    buffers = std::make_unique<Buffers>(program);
    std::mt19937 random(2024);
    std::normal_distribution<double> normal;
    for (std::size_t t = 0; t < program.tensors.size(); ++t) {
      const auto& tensor = program.tensors[t];
      for (std::int64_t i = 0; i < tensor.elements_span(); ++i)
        buffers->set(static_cast<int>(t), static_cast<std::size_t>(i),
                     tensor.access == Access::write ? std::numeric_limits<double>::quiet_NaN()
                     : is_float(tensor.dtype)       ? normal(random)
                                                    : 10 * normal(random));
    }
    const auto status = buffers->run({}, &scale);
    EXPECT_TRUE(status) << name << ": " << text_of(status);
  }
  // Compares an output with what a formula gives, by the program's own tolerance.
  void expect(int tensor, const std::vector<double>& want) {
    const auto type = program.tensors[tensor].dtype;
    Bytes bytes(want.size() * dtype_bytes(type));
    for (std::size_t i = 0; i < want.size(); ++i)
      bound::store_function(type)(bytes.data() + i * dtype_bytes(type),
                                  is_float(type) ? bound::real_value(bound::round_real(type, want[i]))
                                                 : bound::integer_value(static_cast<std::int64_t>(want[i])));
    const auto spec = reference::tolerance_of(program);
    const auto result = reference::compare(type, bytes, buffers->bytes(tensor), scale[tensor], spec);
    EXPECT_EQ(result.wrong, 0u) << program.name << ": first at " << result.first_wrong << ", error " << result.error_max
                                << " of " << result.tolerance_at_max;
    EXPECT_EQ(result.elements, want.size());
  }
};

double gelu(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }

TEST(Builtins, Gemm) {
  for (const std::string dtype : {"f32", "f16", "bf16", "i8"})
    for (const bool ta : {false, true})
      for (const bool tb : {false, true}) {
        const std::int64_t m = 70, n = 65, k = 43;
        const bool real = dtype != "i8", bias = real && ta, activation = real && tb;
        Builtin run("gemm", {{"M", "70"},
                             {"N", "65"},
                             {"K", "43"},
                             {"dtype", dtype},
                             {"transpose_a", ta ? "true" : "false"},
                             {"transpose_b", tb ? "true" : "false"},
                             {"bias", bias ? "true" : "false"},
                             {"activation", activation ? "gelu" : "none"}});
        ASSERT_TRUE(run.buffers);
        const auto a = run.buffers->all(0), b = run.buffers->all(1), extra = run.buffers->all(2);
        std::vector<double> want;
        for (std::int64_t i = 0; i < m; ++i)
          for (std::int64_t j = 0; j < n; ++j) {
            double sum = 0;
            for (std::int64_t x = 0; x < k; ++x) sum += a[ta ? x * m + i : i * k + x] * b[tb ? j * k + x : x * n + j];
            if (bias) sum += extra[j];
            want.push_back(activation ? gelu(sum) : sum);
          }
        run.expect(bias ? 3 : 2, want);
      }
}

void expect_attention(Builtin& run, bool causal, std::int64_t batch, std::int64_t heads, std::int64_t kv,
                      std::int64_t s, std::int64_t sk, std::int64_t d) {
  ASSERT_TRUE(run.buffers);
  const auto q = run.buffers->all(0), k = run.buffers->all(1), v = run.buffers->all(2);
  std::vector<double> want(batch * heads * s * d);
  for (std::int64_t bh = 0; bh < batch * heads; ++bh)
    for (std::int64_t i = 0; i < s; ++i) {
      const std::int64_t g = bh / heads * kv + bh % heads / (heads / kv);
      double total = 0;
      for (std::int64_t j = 0; j < sk; ++j) {
        if (causal && j > i + sk - s) continue;
        double dot = 0;
        for (std::int64_t x = 0; x < d; ++x) dot += q[(bh * s + i) * d + x] * k[(g * sk + j) * d + x];
        const double weight = std::exp(dot / std::sqrt(static_cast<double>(d)));
        total += weight;
        for (std::int64_t x = 0; x < d; ++x) want[(bh * s + i) * d + x] += weight * v[(g * sk + j) * d + x];
      }
      for (std::int64_t x = 0; x < d; ++x) want[(bh * s + i) * d + x] /= total;
    }
  run.expect(3, want);
  EXPECT_EQ(reference::tolerance_of(run.program).k, 0);
}

TEST(Builtins, FlashAttention) {
  for (const std::string dtype : {"f32", "f16", "bf16"})
    for (const bool causal : {false, true}) {
      Builtin run("flash_attention", {{"B", "2"},
                                      {"H", "4"},
                                      {"HKV", "2"},
                                      {"S", "37"},
                                      {"SK", "70"},
                                      {"D", "20"},
                                      {"dtype", dtype},
                                      {"causal", causal ? "true" : "false"}});
      expect_attention(run, causal, 2, 4, 2, 37, 70, 20);
    }
}

TEST(Builtins, Softmax) {
  for (const std::string dtype : {"f32", "f16", "bf16"}) {
    Builtin run("softmax", {{"M", "9"}, {"N", "1500"}, {"dtype", dtype}});
    ASSERT_TRUE(run.buffers);
    auto want = run.buffers->all(0);
    for (std::size_t row = 0; row < want.size(); row += 1500) {
      double total = 0;
      for (std::size_t j = row; j < row + 1500; ++j) total += want[j] = std::exp(want[j]);
      for (std::size_t j = row; j < row + 1500; ++j) want[j] /= total;
    }
    run.expect(1, want);
  }
}

TEST(Builtins, RmsNorm) {
  for (const std::string dtype : {"f32", "f16", "bf16"})
    for (const std::int64_t n : {100, 1100}) {
      Builtin run("rmsnorm", {{"M", "33"}, {"N", std::to_string(n)}, {"dtype", dtype}}, "host");
      ASSERT_TRUE(run.buffers);
      auto want = run.buffers->all(0);
      const auto weight = run.buffers->all(1);
      for (std::size_t row = 0; row < want.size(); row += n) {
        double squares = 0;
        for (std::size_t j = row; j < row + n; ++j) squares += want[j] * want[j];
        for (std::size_t j = row; j < row + n; ++j)
          want[j] *= weight[j - row] / std::sqrt(squares / static_cast<double>(n) + 1e-5);
      }
      run.expect(2, want);
    }
}

}  // namespace
}  // namespace kiln::test
