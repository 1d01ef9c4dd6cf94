// The built-in programs, run by the interpreter, against plain formulas in double: what they compute is what their
// names say.
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "engine/base/half.hpp"
#include "engine/ir/tile/builtins.hpp"
#include "engine/reference/interpreter.hpp"
#include "engine/specialize/specialize.hpp"

namespace kiln::test {
namespace {

using Numbers = std::vector<double>;

double read_number(DType type, const std::uint8_t* at) {
  switch (type) {
    case DType::f32: {
      float v;
      std::memcpy(&v, at, 4);
      return v;
    }
    case DType::f16: {
      std::uint16_t v;
      std::memcpy(&v, at, 2);
      return f16_to_f32(v);
    }
    case DType::bf16: {
      std::uint16_t v;
      std::memcpy(&v, at, 2);
      return bf16_to_f32(v);
    }
    case DType::i8: return static_cast<std::int8_t>(*at);
    case DType::i32: {
      std::int32_t v;
      std::memcpy(&v, at, 4);
      return v;
    }
    default: return std::numeric_limits<double>::quiet_NaN();
  }
}

void write_number(DType type, std::uint8_t* at, double value) {
  switch (type) {
    case DType::f32: {
      const auto v = static_cast<float>(value);
      std::memcpy(at, &v, 4);
      break;
    }
    case DType::f16: {
      const auto v = f64_to_f16(value);
      std::memcpy(at, &v, 2);
      break;
    }
    case DType::bf16: {
      const auto v = f64_to_bf16(value);
      std::memcpy(at, &v, 2);
      break;
    }
    case DType::i8: *at = static_cast<std::uint8_t>(static_cast<std::int8_t>(value)); break;
    case DType::i32: {
      const auto v = static_cast<std::int32_t>(value);
      std::memcpy(at, &v, 4);
      break;
    }
    default: break;
  }
}

// One run of a built-in: seeded normal inputs, outputs of NaN bytes, results by name as doubles.
class BuiltinRun {
 public:
  BuiltinRun(const std::string& name, const std::map<std::string, std::string>& set,
             const std::string& target = "gfx942") {
    const auto program = tile::load_builtin(KILN_SOURCE_DIR "/kernels/programs", name);
    const auto parsed = target::parse_target(target);
    EXPECT_TRUE(program && parsed);
    specialize::Bindings bindings;
    bindings.set = set;
    Budget budget(10'000'000);
    const auto bound = specialize::specialize(*program, bindings, *parsed, budget);
    EXPECT_TRUE(bound) << to_text(bound.error());
    std::mt19937 random(7);
    std::normal_distribution<double> normal;
    std::vector<std::vector<std::uint8_t>> memory;
    for (const auto& tensor : bound->tensors) {
      const std::size_t bytes = static_cast<std::size_t>(dtype_bytes(tensor.dtype));
      const std::size_t count = static_cast<std::size_t>(tensor.elements_span());
      memory.emplace_back(count * bytes, 0xff);
      if (tensor.access == Access::write) continue;
      for (std::size_t i = 0; i < count; ++i)
        write_number(tensor.dtype, &memory.back()[i * bytes],
                     tensor.scalar               ? 0.25
                     : tensor.dtype == DType::i8 ? std::round(20 * normal(random))
                                                 : normal(random));
    }
    std::vector<reference::Argument> arguments;
    for (auto& bytes : memory) arguments.push_back({bytes.data(), bytes.size()});
    const auto status = reference::run(*bound, arguments);
    EXPECT_TRUE(status) << to_text(status.error());
    for (std::size_t t = 0; t < memory.size(); ++t) {
      const auto& tensor = bound->tensors[t];
      Numbers& numbers = values_[tensor.name];
      for (std::size_t i = 0; i < memory[t].size(); i += static_cast<std::size_t>(dtype_bytes(tensor.dtype)))
        numbers.push_back(read_number(tensor.dtype, &memory[t][i]));
    }
  }
  const Numbers& operator[](const std::string& name) const { return values_.at(name); }

 private:
  std::map<std::string, Numbers> values_;
};

void expect_near(const Numbers& got, const Numbers& want, double relative, double absolute) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_LE(std::abs(got[i] - want[i]), relative * std::max(1.0, std::abs(want[i])) + absolute)
        << "element " << i << ": " << got[i] << " instead of " << want[i];
}

double roundoff(const std::string& dtype) {
  return dtype == "f32" ? 0x1p-24 : dtype == "f16" ? 0x1p-11 : dtype == "bf16" ? 0x1p-8 : 0;
}

TEST(Builtins, GemmIsTheProduct) {
  const int m = 37, n = 41, k = 67;
  for (const std::string dtype : {"f32", "f16", "bf16", "i8"}) {
    for (int flags = 0; flags < 8; ++flags) {
      const bool ta = flags & 1, tb = flags & 2, rich = flags & 4;
      std::map<std::string, std::string> set{{"M", "37"}, {"N", "41"}, {"K", "67"}, {"dtype", dtype}, {"BK", "32"}};
      set["transpose_a"] = ta ? "true" : "false";
      set["transpose_b"] = tb ? "true" : "false";
      set["bias"] = rich ? "true" : "false";
      if (rich && dtype != "i8") set["activation"] = "gelu";
      const BuiltinRun run("gemm", set);
      Numbers want;
      for (int i = 0; i < m; ++i) {
        for (int j = 0; j < n; ++j) {
          double sum = rich ? run["Bias"][j] : 0;
          for (int l = 0; l < k; ++l)
            sum += run["A"][ta ? l * m + i : i * k + l] * run["B"][tb ? j * k + l : l * n + j];
          want.push_back(rich && dtype != "i8" ? 0.5 * sum * (1 + std::erf(sum / std::sqrt(2.0))) : sum);
        }
      }
      expect_near(run["C"], want, roundoff(dtype), dtype == "i8" ? 0 : 1e-4);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Builtins, FlashAttentionIsAttention) {
  struct Case {
    int b, h, hkv, s, sk, d;
    bool causal, scaled;
  };
  for (const Case c : {Case{1, 2, 2, 40, 40, 32, false, false},
                       {2, 4, 2, 33, 70, 16, true, false},
                       {1, 2, 1, 50, 20, 20, true, true}}) {
    for (const std::string dtype : {"f32", "f16", "bf16"}) {
      const auto text = [](int v) { return std::to_string(v); };
      const BuiltinRun run("flash_attention", {{"B", text(c.b)},
                                               {"H", text(c.h)},
                                               {"HKV", text(c.hkv)},
                                               {"S", text(c.s)},
                                               {"SK", text(c.sk)},
                                               {"D", text(c.d)},
                                               {"dtype", dtype},
                                               {"causal", c.causal ? "true" : "false"},
                                               {"custom_scale", c.scaled ? "true" : "false"},
                                               {"BM", "16"},
                                               {"BN", "16"}});
      const double scale = c.scaled ? 0.25 : 1 / std::sqrt(double(c.d));
      Numbers want;
      for (int b = 0; b < c.b; ++b)
        for (int h = 0; h < c.h; ++h)
          for (int i = 0; i < c.s; ++i) {
            const int kv = (b * c.hkv + h / (c.h / c.hkv)) * c.sk;
            const int keys = c.causal ? std::min(c.sk, i + c.sk - c.s + 1) : c.sk;
            Numbers p;
            double most = -std::numeric_limits<double>::infinity(), sum = 0;
            for (int j = 0; j < keys; ++j) {
              double dot = 0;
              for (int d = 0; d < c.d; ++d)
                dot += run["Q"][((b * c.h + h) * c.s + i) * c.d + d] * run["K"][(kv + j) * c.d + d];
              p.push_back(dot * scale);
              most = std::max(most, p.back());
            }
            for (auto& x : p) sum += x = std::exp(x - most);
            for (int d = 0; d < c.d; ++d) {
              double out = 0;
              for (int j = 0; j < keys; ++j) out += p[j] / sum * run["V"][(kv + j) * c.d + d];
              want.push_back(out);  // rows that see no key give 0
            }
          }
      expect_near(run["O"], want, 4 * roundoff(dtype), 1e-5);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Builtins, SoftmaxAndRmsnormOfAnyWidth) {
  for (const int n : {1, 63, 64, 100, 257}) {
    for (const std::string dtype : {"f32", "f16", "bf16"}) {
      const std::map<std::string, std::string> set{
          {"M", "5"}, {"N", std::to_string(n)}, {"dtype", dtype}, {"BN", "64"}};
      const BuiltinRun softmax("softmax", set), norm("rmsnorm", set);
      Numbers want_softmax, want_norm;
      for (int i = 0; i < 5; ++i) {
        double most = -std::numeric_limits<double>::infinity(), sum = 0, squares = 0;
        for (int j = 0; j < n; ++j) most = std::max(most, softmax["X"][i * n + j]);
        for (int j = 0; j < n; ++j) sum += std::exp(softmax["X"][i * n + j] - most);
        for (int j = 0; j < n; ++j) squares += norm["X"][i * n + j] * norm["X"][i * n + j];
        for (int j = 0; j < n; ++j) {
          want_softmax.push_back(std::exp(softmax["X"][i * n + j] - most) / sum);
          want_norm.push_back(norm["X"][i * n + j] / std::sqrt(squares / n + 1e-5) * norm["Weight"][j]);
        }
      }
      expect_near(softmax["Y"], want_softmax, 4 * roundoff(dtype), 1e-5);
      expect_near(norm["Y"], want_norm, 4 * roundoff(dtype), 1e-5);
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace kiln::test
