// Every operation on every type, by emitted HIP text on the CPU and by the interpreter, on values from the edges of
// each type.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <sstream>

#include "engine/emit/emit.hpp"
#include "engine/ir/bound/arithmetic.hpp"
#include "engine/ir/tile/program.hpp"
#include "engine/lower/lower.hpp"
#include "engine/reference/interpreter.hpp"
#include "engine/specialize/specialize.hpp"
#include "tests/support/hip_fibers/hip_fibers.hpp"

namespace kiln::test {
namespace {

constexpr int values = 24, elements = values * values;  // every pair

struct Output {
  std::string type, expression;
  double ulps = 0;          // 0: exact
  double absolute = 0;      // what may be lost besides
};

std::string program_text(const std::string& type, const std::vector<Output>& outputs) {
  std::ostringstream json;
  json << R"({"kiln": "tile/1", "name": "arithmetic", "symbols": ["N"], "params": [)"
       << R"({"name": "A", "dtype": ")" << type << R"(", "shape": ["N"], "access": "read"}, {"name": "B", "dtype": ")"
       << type << R"(", "shape": ["N"], "access": "read"})";
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    json << R"(, {"name": "O)" << i << R"(", "dtype": ")" << outputs[i].type
         << R"(", "shape": ["N"], "access": "write"})";
  }
  json << R"(], "launches": [{"grid": ["1"], "threads": "64", "body": [{"op": "map", "index": ["i"], "extent": [)"
       << elements << R"(], "body": [)"
       << R"({"let": "a", "value": "A[i]"}, {"let": "b", "value": "B[i]"})";
  for (std::size_t i = 0; i < outputs.size(); ++i)
    json << R"(, {"set": "O)" << i << R"([i]", "value": ")" << outputs[i].expression << R"("})";
  json << "]}]}]}";
  return json.str();
}

const std::vector<std::string>& types() {
  static const std::vector<std::string> list = {"f64", "f32", "f16", "bf16", "i64", "i32",
                                                "i16", "i8",  "u64", "u32",  "u16", "u8"};
  return list;
}

std::vector<Output> outputs_for(const std::string& type) {
  std::vector<Output> list;
  const bool real = type[0] == 'f' || type[0] == 'b';
  for (const char* e : {"a + b", "a - b", "a * b", "-a", "min(a, b)", "max(a, b)", "abs(a)", "a if a < b else b"})
    list.push_back({type, e});
  for (const char* e : {"a < b", "a <= b", "a > b", "a >= b", "a == b", "a != b", "(a < b) & (b != a)",
                        "(a < b) | (a == b)", "!(a < b)", "(a < b) ^ (a > b)"})
    list.push_back({"bool", e});
  if (real) {
    for (const char* e : {"a / b", "sqrt(abs(a))", "floor(a)", "ceil(a)", "round(a)", "fma(a, b, a)", "fma(a, b, -b)"})
      list.push_back({type, e});
    for (const char* e : {"isnan(a)", "isinf(a)"}) list.push_back({"bool", e});
    // Below 2^-126 hardware functions of f32 may give 0, and denormal operands count as such.
    const double lost = type == "f64" ? 0 : 0x1p-126;
    for (const char* e : {"exp(a)", "exp2(a)", "log(abs(a))", "log2(abs(a))", "rsqrt(abs(a))", "sigmoid(a)",
                          "log1p(abs(a))", "expm1(a)"})
      list.push_back({type, e, 2, lost});
    for (const char* e : {"tanh(a)", "erf(a)"}) list.push_back({type, e, 4, lost});
  } else {
    for (const char* e : {"a // b", "a % b", "ceildiv(a, b)", "a << b", "a >> b", "a & b", "a | b", "a ^ b", "~a",
                          "popcount(a)", "clz(a)", "mulhi(a, b)"})
      list.push_back({type, e});
  }
  for (const auto& to : types()) {
    if (to != type) list.push_back({to, "cast(a, " + to + ")"});
  }
  list.push_back({"bool", "cast(a, bool)"});
  return list;
}

std::vector<bound::Value> edge_values(DType type, std::mt19937_64& random) {
  std::vector<bound::Value> list;
  if (is_float(type)) {
    const double most = type == DType::f16 ? 65504 : type == DType::f64 ? std::numeric_limits<double>::max() : 3.3e38;
    const double least = type == DType::f16    ? 0x1p-24
                         : type == DType::f64  ? 0x1p-1074
                         : type == DType::bf16 ? 0x1p-133
                                               : 0x1p-149;
    for (const double v : {0.0,
                           -0.0,
                           1.0,
                           -1.0,
                           0.5,
                           -1.5,
                           2.5,
                           3.5,
                           127.5,
                           -128.75,
                           255.9,
                           -32769.0,
                           most,
                           -most,
                           least,
                           -3 * least,
                           0x1p31,
                           0x1p63,
                           -0x1.8p62,
                           std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity(),
                           std::numeric_limits<double>::quiet_NaN()}) {
      list.push_back(bound::real_value(bound::round_real(type, v)));
    }
    std::normal_distribution<double> normal;
    while (list.size() < values) list.push_back(bound::real_value(bound::round_real(type, normal(random))));
    return list;
  }
  for (const std::int64_t v :
       {std::int64_t(0), std::int64_t(1), std::int64_t(-1), std::int64_t(2), std::int64_t(3), std::int64_t(-7),
        std::int64_t(7), std::int64_t(31), std::int64_t(33), std::int64_t(127), std::int64_t(-128), INT64_MIN,
        INT64_MAX, std::int64_t(INT32_MIN), std::int64_t(INT32_MAX), std::int64_t(INT16_MIN),
        std::int64_t(0x8080808080808080), std::int64_t(0x01000001), std::int64_t(0x1000001000001)}) {
    list.push_back(bound::integer_value(bound::wrap_integer(type, v)));
  }
  while (list.size() < values)
    list.push_back(bound::integer_value(bound::wrap_integer(type, static_cast<std::int64_t>(random()))));
  return list;
}

double unit_in_last_place(DType type, double value) {
  const int digits = type == DType::f64 ? 53 : type == DType::f32 ? 24 : type == DType::f16 ? 11 : 8;
  const int least = type == DType::f64 ? -1074 : type == DType::f32 ? -149 : type == DType::f16 ? -24 : -133;
  int exponent = 0;
  std::frexp(value, &exponent);
  return std::ldexp(1.0, std::max(exponent - digits, least));
}

bool near(DType type, bound::Value got, bound::Value want, const Output& output) {
  if (!is_float(type)) return got.integer == want.integer;
  if (std::isnan(want.real)) return std::isnan(got.real);
  if (got.real == want.real) return output.ulps > 0 || std::signbit(got.real) == std::signbit(want.real);
  if (!std::isfinite(got.real) || !std::isfinite(want.real)) {
    const double most = bound::round_real(type, type == DType::f16 ? 65504 : type == DType::f64 ? 1.79e308 : 3.38e38);
    return output.ulps > 0 && std::signbit(got.real) == std::signbit(want.real) &&
           std::min(std::fabs(got.real), std::fabs(want.real)) > 0.999 * most;
  }
  return std::fabs(got.real - want.real) <= output.ulps * unit_in_last_place(type, want.real) + output.absolute;
}

std::string shown(DType type, bound::Value value) {
  std::ostringstream out;
  out.precision(17);
  if (is_float(type)) out << value.real;
  else out << value.integer;
  return out.str();
}

class HipArithmetic : public testing::TestWithParam<std::string> {};

TEST_P(HipArithmetic, EqualsTheInterpreter) {
  const std::uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto outputs = outputs_for(GetParam());
  const auto program = tile::read_program(program_text(GetParam(), outputs));
  ASSERT_TRUE(program) << to_text(program.error());
  const auto target = target::parse_target("gfx942");
  ASSERT_TRUE(target);
  Budget budget(10000000);
  const auto bound = specialize::specialize(*program, {{{"N", std::to_string(elements)}}, {}, {}}, *target, budget);
  ASSERT_TRUE(bound) << to_text(bound.error());
  const auto lowered = lower::lower(*bound, *target, 0, budget);
  ASSERT_TRUE(lowered) << to_text(lowered.error());
  const auto text = emit::emit_hip(lowered->program, *target);
  ASSERT_TRUE(text) << to_text(text.error());
  auto module = HipModule::compile(*text, lowered->program, *target, KILN_SOURCE_DIR);
  ASSERT_TRUE(module) << to_text(module.error());

  const DType type = bound->tensors[0].dtype;
  const auto edges = edge_values(type, random);
  std::vector<Bytes> got;
  for (const auto& tensor : bound->tensors) got.emplace_back(tensor.bytes(), 0xff);
  for (int i = 0; i < elements; ++i) {
    bound::store_function(type)(got[0].data() + i * dtype_bytes(type), edges[i % values]);
    bound::store_function(type)(got[1].data() + i * dtype_bytes(type), edges[i / values]);
  }
  auto want = got;
  std::vector<reference::Argument> arguments;
  for (auto& bytes : want) arguments.push_back({bytes.data(), bytes.size()});
  const auto defined = reference::run(*bound, arguments);
  ASSERT_TRUE(defined) << to_text(defined.error());
  const auto ran = module->run({got.begin(), got.end()}, seed);
  ASSERT_TRUE(ran) << to_text(ran.error());
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const DType of = bound->tensors[o + 2].dtype;
    int wrong = 0;
    for (int i = 0; i < elements && wrong < 3; ++i) {
      const auto g = bound::load_function(of)(got[o + 2].data() + i * dtype_bytes(of)),
                 w = bound::load_function(of)(want[o + 2].data() + i * dtype_bytes(of));
      if (near(of, g, w, outputs[o])) continue;
      ++wrong;
      ADD_FAILURE() << outputs[o].expression << " to " << outputs[o].type << ": a = " << shown(type, edges[i % values])
                    << ", b = " << shown(type, edges[i / values]) << ": text gives " << shown(of, g)
                    << ", the definition " << shown(of, w);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, HipArithmetic, testing::ValuesIn(types()), [](const auto& info) { return info.param; });

}  // namespace
}  // namespace kiln::test
