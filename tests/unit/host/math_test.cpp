// Kiln's own elementary functions across the types' whole ranges, against the C library's double functions.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/base/half.hpp"
#include "tests/support/host_runner.hpp"

namespace kiln::test {
namespace {

std::string program_text(const std::string& type, const std::string& value) {
  return R"json({"kiln": "tile/1", "name": "apply", "symbols": ["N"],
    "params": [{"name": "X", "dtype": ")json" +
         type + R"json(", "shape": ["N"], "access": "read"},
               {"name": "Y", "dtype": ")json" +
         type + R"json(", "shape": ["N"], "access": "write"}],
    "launches": [{"grid": ["ceildiv(N, 1024)"], "threads": "1", "body": [
      {"op": "alloc", "name": "t", "space": "fragment", "dtype": ")json" +
         type + R"json(", "shape": ["1024"]},
      {"op": "copy", "from": "X[bid.x * 1024:]", "to": "t"},
      {"op": "map", "index": ["i"], "extent": ["1024"], "body": [{"set": "t[i]", "value": ")json" +
         value + R"json("}]},
      {"op": "copy", "from": "t", "to": "Y[bid.x * 1024:]"}]}]})json";
}

template <class T>
std::vector<T> apply_on_host(const std::string& type, const std::string& value, const std::vector<T>& x,
                             const std::string& target) {
  const auto program = bind_text(program_text(type, value), {{"N", std::to_string(x.size())}}, target);
  if (!program) {
    ADD_FAILURE() << to_text(program.error());
    return x;
  }
  HostRunner runner(2);
  Bytes bytes(x.size() * sizeof(T));
  std::memcpy(bytes.data(), x.data(), bytes.size());
  const auto out = runner.run_once(*program, {bytes, Bytes(bytes.size(), 0xff)});
  if (!out) {
    ADD_FAILURE() << to_text(out.error());
    return x;
  }
  std::vector<T> y(x.size());
  std::memcpy(y.data(), (*out)[1].data(), bytes.size());
  return y;
}

std::vector<float> floats() {
  std::vector<float> x = {0.0f,   -0.0f,   1.0f,    -1.0f,   INFINITY, -INFINITY,   NAN,        88.7f,  88.8f,
                          -87.4f, -103.9f, -104.1f, 127.99f, 128.0f,   -149.0f,     -150.1f,    1e-45f, 1e-40f,
                          0.625f, 0.9277f, 4.0f,    9.0f,    20.0f,    0.70710677f, 1.4142135f, 3.4e38f};
  for (std::uint64_t bits = 0; bits < (std::uint64_t(1) << 32); bits += 8191)
    x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  for (int i = -40000; i <= 40000; ++i) x.push_back(static_cast<float>(i) * 0.0031f);
  // Where sin or cos is small.
  for (int i = 1; i <= 20000; ++i) x.push_back(static_cast<float>(i * 1.5707963267948966));
  return x;
}

// Distance in units of the last place of the exact result's neighbourhood; overflow and underflow are ordinary.
double ulps(float got, double want) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : 1e9;
  if (std::isnan(got)) return 1e9;
  const auto rounded = static_cast<float>(want);
  if (got == rounded) return 0;
  if (std::isinf(rounded) || std::isinf(got)) return std::fabs(want) > 3.402e38 && std::fabs(got) > 3.402e38f ? 1 : 1e9;
  const double spacing = std::ldexp(1.0, std::max(std::ilogb(want == 0 ? 1e-45 : want), -126) - 23);
  return std::fabs(static_cast<double>(got) - want) / spacing;
}

double sigmoid(double v) { return v < 0 ? std::exp(v) / (1 + std::exp(v)) : 1 / (1 + std::exp(-v)); }

struct Function {
  const char* expression;
  double (*exact)(double);
  double ulps_max;
};

class MathF32 : public testing::TestWithParam<std::string> {};

TEST_P(MathF32, StaysWithinItsBound) {
  const Function functions[] = {
      {"exp(t[i])", [](double v) { return std::exp(v); }, 2},
      {"exp2(t[i])", [](double v) { return std::exp2(v); }, 2},
      {"log(t[i])", [](double v) { return std::log(v); }, 2},
      {"log2(t[i])", [](double v) { return std::log2(v); }, 2},
      {"log1p(t[i])", [](double v) { return std::log1p(v); }, 2},
      {"expm1(t[i])", [](double v) { return std::expm1(v); }, 2},
      {"tanh(t[i])", [](double v) { return std::tanh(v); }, 4},
      {"erf(t[i])", [](double v) { return std::erf(v); }, 4},
      {"sigmoid(t[i])", sigmoid, 4},
      {"sin(t[i])", [](double v) { return std::sin(v); }, 2},
      {"cos(t[i])", [](double v) { return std::cos(v); }, 2},
      {"rsqrt(t[i])", [](double v) { return 1 / std::sqrt(v); }, 2},
      {"sqrt(t[i])", [](double v) { return std::sqrt(v); }, 0.5},
      {"pow(abs(t[i]), 0.75)", [](double v) { return std::pow(std::fabs(v), 0.75); }, 2},
      {"pow(t[i], 3.0)", [](double v) { return std::pow(v, 3.0); }, 2},
  };
  const auto x = floats();
  for (const auto& function : functions) {
    const auto y = apply_on_host("f32", function.expression, x, GetParam());
    double worst = 0, worst_at = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double error = ulps(y[i], function.exact(x[i]));
      if (error > worst) worst = error, worst_at = x[i];
    }
    EXPECT_LE(worst, function.ulps_max) << function.expression << " at " << worst_at << " gives "
                                        << apply_on_host("f32", function.expression,
                                                         std::vector<float>{static_cast<float>(worst_at)},
                                                         GetParam())[0];
  }
}
INSTANTIATE_TEST_SUITE_P(Targets, MathF32, testing::Values("host", "host:avx2"));

class MathF64 : public testing::TestWithParam<std::string> {};

TEST_P(MathF64, StaysWithinItsBound) {
  const Function functions[] = {
      {"exp(t[i])", [](double v) { return std::exp(v); }, 2},
      {"exp2(t[i])", [](double v) { return std::exp2(v); }, 2},
      {"log(t[i])", [](double v) { return std::log(v); }, 2},
      {"expm1(t[i])", [](double v) { return std::expm1(v); }, 4},
      {"tanh(t[i])", [](double v) { return std::tanh(v); }, 4},
      {"sigmoid(t[i])", sigmoid, 4},
      // The C library's own double functions are up to 8 units off at the last of the arguments below.
      {"sin(t[i])", [](double v) { return static_cast<double>(std::sin(static_cast<long double>(v))); }, 2},
      {"cos(t[i])", [](double v) { return static_cast<double>(std::cos(static_cast<long double>(v))); }, 2},
  };
  std::vector<double> x = {0.0,    -0.0,   INFINITY, -INFINITY, NAN,   709.7,      709.8,
                           -745.1, -745.2, 1e-310,   5e-324,    1e300, 0.70710678, 1.41421357};
  for (int i = -30000; i <= 30000; ++i)
    x.push_back(i * 0.0251), x.push_back(i * 1.3e-6), x.push_back(std::ldexp(1.37, i / 30));
  x.push_back(6381956970095103.0 * std::ldexp(1.0, 797));  // of all of f64 the nearest to a multiple of pi / 2
  for (int i = 1; i <= 30000; ++i)
    x.push_back(i * 1.5707963267948966), x.push_back(std::ldexp(1.0 + i * 1.1e-5, i % 1024));
  for (const auto& function : functions) {
    const auto y = apply_on_host("f64", function.expression, x, GetParam());
    double worst = 0, worst_at = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double want = function.exact(x[i]);
      double error = 0;
      if (std::isnan(want) != std::isnan(y[i]))
        error = 1e9;
      else if (!std::isnan(want) && y[i] != want) {
        if (std::isinf(want) || std::isinf(y[i]))
          error = 1e9;
        else
          error = std::fabs(y[i] - want) / std::ldexp(1.0, std::max(std::ilogb(want == 0 ? 5e-324 : want), -1022) - 52);
      }
      if (error > worst) worst = error, worst_at = x[i];
    }
    EXPECT_LE(worst, function.ulps_max) << function.expression << " at " << worst_at;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, MathF64, testing::Values("host", "host:avx2"));

TEST(MathF16, SineAndCosineRoundOnce) {
  std::vector<std::uint16_t> x(1 << 16);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::uint16_t>(i);
  for (const bool sine : {true, false}) {
    const auto y = apply_on_host("f16", sine ? "sin(t[i])" : "cos(t[i])", x, "host");
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double at = f16_to_f32(x[i]), want = sine ? std::sin(at) : std::cos(at);
      const double got = f16_to_f32(y[i]);
      if (std::isnan(want)) EXPECT_TRUE(std::isnan(got)) << at;
      else ASSERT_LE(std::fabs(got - want), std::max(std::fabs(want), 0x1p-14) * 0x1.02p-11) << at;
    }
  }
}

// Every function and type of PROGRAM.md compiles for the host, or is refused where it stands.
TEST(MathOnHost, WhatIsNotBuiltIsLocated) {
  for (const char* name : {"exp", "exp2", "log", "log2", "log1p", "expm1", "sqrt", "rsqrt", "tanh", "sigmoid", "erf",
                           "sin", "cos", "abs", "floor", "ceil", "round", "pow", "fma"}) {
    for (const char* type : {"f16", "bf16", "f32", "f64"}) {
      const std::string function = name;
      const std::string call =
          function + (function == "pow" ? "(t[i], t[i])" : function == "fma" ? "(t[i], t[i], t[i])" : "(t[i])");
      const auto program = bind_text(program_text(type, call), {{"N", "100"}});
      ASSERT_TRUE(program) << to_text(program.error());
      const auto compiled = compile_for_host(*program);
      if (std::string(type) != "f64" || (function != "erf" && function != "pow")) {
        EXPECT_TRUE(compiled) << call << " of " << type << ": " << to_text(compiled.error());
        continue;
      }
      ASSERT_FALSE(compiled) << call;
      EXPECT_EQ(compiled.error().code, ErrorCode::unsupported);
      ASSERT_EQ(compiled.error().diagnostics.size(), 1u) << to_text(compiled.error());
      EXPECT_EQ(compiled.error().diagnostics[0].pointer, "/launches/0/body/2");
      EXPECT_NE(compiled.error().diagnostics[0].message.find("not yet"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace kiln::test
