#include <fstream>
#include <random>

#include "engine/ir/tile/expression_parser.hpp"
#include "engine/specialize/expression_binder.hpp"
#include "tests/unit/tile/support.hpp"

namespace kiln::test {
namespace {

using tile::Expr;

std::string canonical(const std::string& source) {
  const auto parsed = tile::parse_expression(source);
  return parsed ? tile::print_expression(**parsed) : "error: " + parsed.error().message;
}

bool same(const Expr& a, const Expr& b) {
  const bool reals = a.real == b.real || (a.real != a.real && b.real != b.real);
  if (a.kind != b.kind || a.op != b.op || a.integer != b.integer || !reals || a.text != b.text ||
      a.args.size() != b.args.size())
    return false;
  for (std::size_t i = 0; i < a.args.size(); ++i)
    if (!same(*a.args[i], *b.args[i])) return false;
  return true;
}

TEST(Expression, PrintsTheLeastParentheses) {
  const std::pair<const char*, const char*> cases[] = {
      {"((a)+(b))*c", "(a + b) * c"},
      {"(a*b)+c", "a * b + c"},
      {"a-(b-c)", "a - (b - c)"},
      {"(a-b)-c", "a - b - c"},
      {"-(a+b)", "-(a + b)"},
      {"-a % b", "-a % b"},
      {"a & b == c", "a & b == c"},
      {"a & (b == c)", "a & (b == c)"},
      {"!a == b", "!a == b"},
      {"(!a) == b", "(!a) == b"},
      {"not a and b or c", "!a && b || c"},
      {"a && (b && c)", "a && (b && c)"},
      {"a < b < c", "a < b && b < c"},
      {"(a < b) == (c < d)", "(a < b) == (c < d)"},
      {"select(c, a, b)", "a if c else b"},
      {"(a if c else b) if d else e", "(a if c else b) if d else e"},
      {"a if c else b if d else e", "a if c else b if d else e"},
      {"(a if c else b) + 1", "(a if c else b) + 1"},
      {"cast( x ,f16 )", "cast(x, f16)"},
      {"bitcast(x, u32)", "bitcast(x, u32)"},
      {"max(a,b,c)", "max(a, b, c)"},
      {"A[i,j+1]", "A[i, j + 1]"},
      {"bid . x", "bid.x"},
      {"1.50", "1.5"},
      {"2.", "2.0"},
      {"1e3", "1000.0"},
      {"1e300", "1e+300"},
      {"0x1F", "31"},
      {"-inf", "-inf"},
      {"True", "true"},
      {"a << b + c", "a << b + c"},
      {"(a << b) + c", "(a << b) + c"},
      {"a | b ^ c & d", "a | b ^ c & d"},
      {"(a | b) ^ c", "(a | b) ^ c"},
      {"~-a", "~-a"},
      {"+a", "a"},
  };
  for (const auto& [source, want] : cases) EXPECT_EQ(canonical(source), want) << source;
}

TEST(Expression, MistakesAreLocated) {
  struct Case {
    const char* source;
    std::size_t offset, length;
    const char* message;
  };
  const Case cases[] = {
      {"", 0, 0, "an operand is missing"},
      {"a +", 3, 0, "an operand is missing"},
      {"a + * b", 4, 1, "an operand is missing"},
      {"a b", 2, 1, "after the expression"},
      {"(a + b", 6, 0, "unexpected end"},
      {"a + foo(b)", 4, 3, "no function is called 'foo'"},
      {"sqrt(a, b)", 0, 4, "wrong number of arguments"},
      {"a ** 2", 2, 2, "no operator '**'"},
      {"a + !b", 4, 1, "binds weaker"},
      {"a if b", 6, 0, "without else"},
      {"9223372036854775808", 0, 19, "does not fit in 64 bits"},
      {"1e999", 0, 5, "out of the range"},
      {"012", 0, 3, "not a number"},
      {"12ab", 0, 4, "not a number"},
      {"a \xc3\xa9", 2, 2, "a character that no expression has"},
      {"a $ b", 2, 1, "a character that no expression has"},
      {"A[i:]", 3, 1, "a range is not an element"},
      {"A[]", 0, 1, "no index"},
      {"cast(x, 3)", 0, 4, "type's name"},
      {"a = b", 2, 1, "after the expression"},
      {"a.", 2, 0, "a name is missing after '.'"},
  };
  for (const auto& c : cases) {
    const auto parsed = tile::parse_expression(c.source);
    ASSERT_FALSE(parsed) << c.source;
    EXPECT_EQ(parsed.error().code, ErrorCode::parse_error);
    ASSERT_EQ(parsed.error().diagnostics.size(), 1u);
    const Diagnostic& d = parsed.error().diagnostics[0];
    EXPECT_NE(d.message.find(c.message), std::string::npos) << c.source << ": " << d.message;
    EXPECT_EQ(d.offset, c.offset) << c.source;
    EXPECT_EQ(d.length, c.length) << c.source;
    EXPECT_EQ(d.source, c.source);
  }
}

TEST(Expression, HintsNameTheNearestFunction) {
  const auto parsed = tile::parse_expression("rsqr(x)");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().diagnostics[0].hint, "did you mean 'rsqrt'?");
}

TEST(Expression, LimitsHold) {
  const auto nested = [](int depth) { return std::string(depth, '(') + "a" + std::string(depth, ')'); };
  EXPECT_TRUE(tile::parse_expression(nested(60)));
  EXPECT_FALSE(tile::parse_expression(nested(70)));
  EXPECT_FALSE(tile::parse_expression(nested(30000)));
  EXPECT_FALSE(tile::parse_expression(std::string(30000, '-') + "a"));
  EXPECT_FALSE(tile::parse_expression(std::string(100000, ' ')));
  std::string sum = "a";
  for (int i = 0; i < 70; ++i) sum += " + a";
  EXPECT_FALSE(tile::parse_expression(sum));
  // A chain shares its middle operand: nested chains would double at every level.
  std::string chain = "a";
  for (int i = 0; i < 28; ++i) chain = "a < (" + chain + ") < a";
  const auto parsed = tile::parse_expression(chain);
  ASSERT_FALSE(parsed);
  EXPECT_NE(parsed.error().message.find("parts"), std::string::npos) << parsed.error().message;
}

// ---- random trees: parse(print(e)) equals e, and printing is stable

class RandomTrees {
 public:
  explicit RandomTrees(std::uint64_t seed) : random_(seed) {}
  tile::ExprPtr make(int depth) {
    auto expr = std::make_shared<Expr>();
    const auto kind = depth == 0 ? pick(4) : pick(11);
    switch (kind) {
      case 0:
        expr->kind = Expr::Kind::integer;
        expr->integer = static_cast<std::int64_t>(random_() >> (1 + pick(63)));
        break;
      case 1:
        expr->kind = Expr::Kind::real;
        expr->real = std::ldexp(static_cast<double>(random_() >> 12), static_cast<int>(pick(200)) - 120);
        break;
      case 2:
        expr->kind = Expr::Kind::name;
        expr->text = pick(2) ? "x" : "bid.y";
        break;
      case 3:
        expr->kind = Expr::Kind::boolean;
        expr->integer = static_cast<std::int64_t>(pick(2));
        break;
      case 4:
        expr->kind = Expr::Kind::unary;
        expr->op = std::array{Op::neg, Op::bit_not, Op::logical_not}[pick(3)];
        args(*expr, 1, depth);
        break;
      case 5:
      case 6:
        expr->kind = Expr::Kind::binary;
        expr->op = static_cast<Op>(pick(static_cast<unsigned>(Op::logical_or) + 1));
        args(*expr, 2, depth);
        break;
      case 7:
        expr->kind = Expr::Kind::select;
        args(*expr, 3, depth);
        break;
      case 8: call(*expr, depth); break;
      case 9:
        expr->kind = Expr::Kind::cast;
        expr->text = "f16";
        args(*expr, 1, depth);
        break;
      default:
        expr->kind = Expr::Kind::element;
        expr->text = "T";
        args(*expr, 1 + pick(4), depth);
        break;
    }
    return expr;
  }

 private:
  unsigned pick(unsigned n) { return static_cast<unsigned>(random_() % n); }
  void args(Expr& expr, unsigned count, int depth) {
    for (unsigned i = 0; i < count; ++i) expr.args.push_back(make(depth - 1));
  }
  void call(Expr& expr, int depth) {
    const auto& function = tile::functions()[pick(static_cast<unsigned>(tile::functions().size()))];
    expr.kind = Expr::Kind::call;
    expr.op = function.op;
    args(expr, static_cast<unsigned>(function.args_min), depth);
  }
  std::mt19937_64 random_;
};

TEST(Expression, RandomTreesSurvivePrinting) {
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    const auto expr = RandomTrees(seed).make(static_cast<int>(seed % 6));
    const std::string text = tile::print_expression(*expr);
    const auto parsed = tile::parse_expression(text);
    ASSERT_TRUE(parsed) << "seed " << seed << ": " << text << "\n" << to_text(parsed.error());
    ASSERT_TRUE(same(*expr, **parsed)) << "seed " << seed << ": " << text << " became "
                                       << tile::print_expression(**parsed);
    ASSERT_EQ(tile::print_expression(**parsed), text) << "seed " << seed;
  }
}

TEST(Expression, RandomTextNeverCrashes) {
  const std::string alphabet = "ab1.()[]+-*/%<>=!&|^~ ,:ifelsand0x\"\xff";
  for (std::uint64_t seed = 1; seed <= 5000; ++seed) {
    std::mt19937_64 random(seed);
    std::string text;
    for (auto n = random() % 40; n > 0; --n) text += alphabet[random() % alphabet.size()];
    const auto parsed = tile::parse_expression(text);
    if (parsed)
      EXPECT_TRUE(tile::parse_expression(tile::print_expression(**parsed))) << "seed " << seed << ": " << text;
    else
      EXPECT_EQ(parsed.error().diagnostics.size(), 1u) << "seed " << seed;
  }
}

// ---- Python's own answers (python_expressions.txt: expression, tab, value; made with a seeded generator and Python 3)

class Evaluator {
 public:
  Evaluator() : budget_(1 << 30), context_{target_, findings_, budget_, {}, {}, {}, {}, {}, {}} {
    const std::pair<const char*, int> values[] = {{"a", 7}, {"b", -3}, {"c", 12}, {"d", 1}, {"e", -25}};
    for (const auto& [name, value] : values) context_.names.declare(name, specialize::integer_value(value));
  }
  std::string operator()(const std::string& source) {
    const auto parsed = tile::parse_expression(source);
    if (!parsed) return to_text(parsed.error());
    const tile::Text text{*parsed, source, ""};
    const auto value = specialize::ExpressionBinder(context_).bind(text);
    if (!value.constant())
      return findings_.diagnostics().list().empty() ? "not a constant" : to_text(findings_.diagnostics().list().back());
    if (value.type() == DType::boolean) return value.expr->integer ? "true" : "false";
    return std::to_string(value.expr->integer);
  }

 private:
  target::Target target_;
  specialize::Findings findings_;
  Budget budget_;
  specialize::BindContext context_;
};

TEST(Expression, PrecedenceAndArithmeticArePythons) {
  std::ifstream file(KILN_SOURCE_DIR "/tests/unit/tile/python_expressions.txt");
  Evaluator evaluate;
  std::string line;
  int count = 0;
  while (std::getline(file, line)) {
    const auto tab = line.find('\t');
    ASSERT_NE(tab, std::string::npos);
    const std::string source = line.substr(0, tab);
    EXPECT_EQ(evaluate(source), line.substr(tab + 1)) << source;
    EXPECT_EQ(evaluate(canonical(source)), line.substr(tab + 1)) << source << " printed as " << canonical(source);
    ++count;
  }
  EXPECT_EQ(count, 600);
}

}  // namespace
}  // namespace kiln::test
