// Emitted HIP text, executed on the CPU (tests/support/hip_fibers), against the interpreter: every built-in, every AMD target,
// sizes that are no multiple of anything.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <sstream>

#include "engine/base/fd.hpp"
#include "engine/emit/emit.hpp"
#include "engine/ir/bound/arithmetic.hpp"
#include "engine/lower/lower.hpp"
#include "engine/reference/interpreter.hpp"
#include "engine/specialize/specialize.hpp"
#include "tests/support/hip_fibers/hip_fibers.hpp"

namespace kiln::test {
namespace {

using Settings = std::map<std::string, std::string>;

Result<bound::Program> bind(const std::string& name, const Settings& set, const target::Target& target) {
  KILN_TRY(const auto bytes, read_file(std::string(KILN_SOURCE_DIR) + "/kernels/programs/" + name + ".json"));
  KILN_TRY(const auto program, tile::read_program(text(bytes)));
  specialize::Bindings bindings;
  bindings.set = set;
  Budget budget(10000000);
  return specialize::specialize(program, bindings, target, budget);
}

std::vector<Bytes> random_arguments(const bound::Program& program, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<Bytes> arguments;
  for (const auto& tensor : program.tensors) {
    const std::size_t size = tensor.scalar ? dtype_bytes(tensor.dtype) : tensor.bytes(), width = dtype_bytes(tensor.dtype);
    Bytes bytes(size, 0xff);  // outputs: NaN in every float type
    const auto store = bound::store_function(tensor.dtype);
    for (std::size_t at = 0; tensor.access != Access::write && at + width <= size; at += width) {
      const double real = bound::round_real(tensor.dtype, normal(random));
      const auto whole = static_cast<std::int64_t>(random() % 17) - (is_signed(tensor.dtype) ? 8 : 0);
      store(bytes.data() + at, is_float(tensor.dtype) ? bound::real_value(real) : bound::integer_value(bound::wrap_integer(tensor.dtype, whole)));
    }
    arguments.push_back(std::move(bytes));
  }
  return arguments;
}

std::string wrong_elements(const bound::Program& program, const std::vector<Bytes>& got, const std::vector<Bytes>& want,
                           const std::vector<std::vector<double>>& scale) {
  std::ostringstream out;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto& tensor = program.tensors[i];
    if (tensor.access == Access::read) {
      if (got[i] != want[i]) out << tensor.name << " was written\n";
      continue;
    }
    const auto result = reference::compare(tensor.dtype, got[i], want[i], scale[i], reference::tolerance_of(program));
    if (result.wrong == 0) continue;
    out << tensor.name << ": " << result.wrong << " of " << result.elements << " wrong, first at " << result.first_wrong << ", largest error "
        << result.error_max << " (tolerance " << result.tolerance_at_max << ")\n";
  }
  return out.str();
}

// "" when text and interpreter agree. Every lowering candidate up to `attempts` is tried.
std::string differences(const std::string& name, const Settings& set, const std::string& target_name, std::uint64_t seed, int attempts = 1) {
  const auto target = target::parse_target(target_name);
  if (!target) return to_text(target.error());
  const auto program = bind(name, set, *target);
  if (!program) return to_text(program.error());
  const auto arguments = random_arguments(*program, seed);
  auto want = arguments;
  std::vector<reference::Argument> by_reference;
  for (auto& bytes : want) by_reference.push_back({bytes.data(), bytes.size()});
  std::vector<std::vector<double>> scale;
  reference::RunOptions options;
  options.check_races = false;
  if (auto status = reference::run(*program, by_reference, options, &scale); !status) return "interpreter: " + to_text(status.error());
  for (int attempt = 0; attempt < attempts; ++attempt) {
    Budget budget(10000000);
    const auto lowered = lower::lower(*program, *target, attempt, budget);
    if (!lowered && attempt > 0 && lowered.error().code == ErrorCode::not_found) break;
    if (!lowered) return "lowering: " + to_text(lowered.error());
    const auto text = emit::emit_hip(lowered->program, *target);
    if (!text) return "emitter: " + to_text(text.error());
    auto module = HipModule::compile(*text, lowered->program, *target, KILN_SOURCE_DIR);
    if (!module) return to_text(module.error());
    auto got = arguments;
    std::vector<std::span<std::uint8_t>> spans(got.begin(), got.end());
    if (auto status = module->run(spans, seed); !status) return "candidate " + std::to_string(attempt) + ": " + to_text(status.error());
    if (const auto wrong = wrong_elements(*program, got, want, scale); !wrong.empty()) return "candidate " + std::to_string(attempt) + ": " + wrong;
  }
  return "";
}

class HipText : public testing::TestWithParam<std::string> {
 protected:
  void agree(const std::string& name, const Settings& set, int attempts = 1) {
    const std::uint64_t seed = std::random_device()();
    std::string settings;
    for (const auto& [key, value] : set) settings += " " + key + "=" + value;
    EXPECT_EQ(differences(name, set, GetParam(), seed, attempts), "") << name << settings << " target " << GetParam() << " seed " << seed;
  }
};

TEST_P(HipText, GemmF16) { agree("gemm", {{"M", "100"}, {"N", "57"}, {"K", "129"}}); }
TEST_P(HipText, GemmF16Aligned) { agree("gemm", {{"M", "128"}, {"N", "128"}, {"K", "192"}, {"transpose_b", "true"}, {"BM", "64"}, {"BN", "64"}}, 4); }
TEST_P(HipText, GemmBf16Transposed) { agree("gemm", {{"M", "65"}, {"N", "80"}, {"K", "72"}, {"dtype", "bf16"}, {"transpose_a", "true"}, {"transpose_b", "true"}}); }
TEST_P(HipText, GemmF32) { agree("gemm", {{"M", "70"}, {"N", "50"}, {"K", "33"}, {"dtype", "f32"}, {"transpose_a", "true"}}); }
TEST_P(HipText, GemmI8) { agree("gemm", {{"M", "70"}, {"N", "48"}, {"K", "80"}, {"dtype", "i8"}}); }
TEST_P(HipText, GemmBiasGelu) { agree("gemm", {{"M", "40"}, {"N", "90"}, {"K", "64"}, {"bias", "true"}, {"activation", "gelu"}}); }
TEST_P(HipText, GemmOfOneElement) { agree("gemm", {{"M", "1"}, {"N", "1"}, {"K", "1"}}); }
TEST_P(HipText, SoftmaxF32) { agree("softmax", {{"M", "5"}, {"N", "1000"}}); }
TEST_P(HipText, SoftmaxBf16) { agree("softmax", {{"M", "3"}, {"N", "77"}, {"dtype", "bf16"}}); }
TEST_P(HipText, RmsnormF32) { agree("rmsnorm", {{"M", "7"}, {"N", "1000"}}); }
TEST_P(HipText, RmsnormF16) { agree("rmsnorm", {{"M", "3"}, {"N", "256"}, {"dtype", "f16"}}); }
TEST_P(HipText, AttentionF16) { agree("flash_attention", {{"B", "1"}, {"H", "2"}, {"HKV", "1"}, {"S", "129"}, {"SK", "129"}, {"D", "64"}}); }
TEST_P(HipText, AttentionCausalBf16) {
  agree("flash_attention", {{"B", "1"}, {"H", "2"}, {"HKV", "2"}, {"S", "100"}, {"SK", "100"}, {"D", "64"}, {"dtype", "bf16"}, {"causal", "true"}}, 4);
}
TEST_P(HipText, AttentionF32) { agree("flash_attention", {{"B", "1"}, {"H", "1"}, {"HKV", "1"}, {"S", "40"}, {"SK", "70"}, {"D", "32"}, {"dtype", "f32"}}); }

INSTANTIATE_TEST_SUITE_P(Targets, HipText, testing::Values("gfx90a", "gfx942", "gfx950", "gfx1100"), [](const auto& info) { return info.param; });

}  // namespace
}  // namespace kiln::test
