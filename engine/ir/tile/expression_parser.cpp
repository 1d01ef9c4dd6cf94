#include "engine/ir/tile/expression_parser.hpp"

#include <algorithm>
#include <limits>

#include "engine/ir/tile/expression_tokens.hpp"
#include "engine/ir/tile/nearest_name.hpp"
#include "engine/ir/types.hpp"

namespace kiln::tile {
namespace {

constexpr std::size_t arguments_max = 16;
constexpr std::size_t nodes_max = 65536;

// A node with the depth and size of its tree; null after a mistake. The size counts a chained comparison's shared
// operand twice, as every walk over the tree does.
struct Parsed {
  std::shared_ptr<Expr> node;
  int depth = 0;
  std::size_t nodes = 0;
  explicit operator bool() const { return node != nullptr; }
};

struct InfixOperator {
  std::string_view text;
  Op op;
};
const std::vector<InfixOperator> infix_operators{
    {"||", Op::logical_or}, {"&&", Op::logical_and}, {"<", Op::lt},        {"<=", Op::le},    {">", Op::gt},
    {">=", Op::ge},         {"==", Op::eq},          {"!=", Op::ne},       {"|", Op::bit_or}, {"^", Op::bit_xor},
    {"&", Op::bit_and},     {"<<", Op::shl},         {">>", Op::shr},      {"+", Op::add},    {"-", Op::sub},
    {"*", Op::mul},         {"/", Op::div},          {"//", Op::floordiv}, {"%", Op::mod}};

class Parser {
 public:
  Parser(std::string_view source, std::vector<Token> tokens) : source_(source), tokens_(std::move(tokens)) {}

  Result<ExprPtr> expression() {
    auto parsed = conditional();
    if (parsed && peek().kind != Token::Kind::end) trailing();
    if (error_) return expression_error(source_, std::move(*error_));
    return ExprPtr(std::move(parsed.node));
  }

  Result<RegionAxis> axis_only() {
    auto axis = axis_item();
    if (!error_ && peek().kind != Token::Kind::end) trailing();
    if (error_) return expression_error(source_, std::move(*error_));
    return axis;
  }

  Result<RegionText> region() {
    RegionText region;
    if (peek().kind != Token::Kind::name) {
      fail(peek(), "a region begins with the name of a tensor or tile", "a name", "");
    } else {
      region.name = std::string(take().text);
      if (accept("[")) region_axes(region);
      if (!error_ && peek().kind != Token::Kind::end) trailing();
    }
    if (error_) return expression_error(source_, std::move(*error_));
    return region;
  }

 private:
  void region_axes(RegionText& region) {
    do {
      region.at.push_back(axis_item());
      if (region.at.size() > arguments_max) fail(peek(), "too many axes", "at most 16", "");
    } while (!error_ && accept(","));
    if (!error_) expect("]");
  }

  RegionAxis axis_item() {
    RegionAxis axis;
    if (is_symbol(":")) {
      fail(peek(), "a range needs a start", "such as 0:", "write 0: for the whole axis");
      return axis;
    }
    axis.start = conditional().node;
    if (error_) return axis;
    axis.range = accept(":");
    if (axis.range && !is_symbol(",") && !is_symbol("]") && peek().kind != Token::Kind::end)
      fail(peek(), "a range has no end: its extent follows the tile", "',' or ']'", "write only the start and a colon");
    return axis;
  }

  [[nodiscard]] const Token& peek() const { return tokens_[next_]; }
  const Token& take() { return tokens_[peek().kind == Token::Kind::end ? next_ : next_++]; }
  [[nodiscard]] bool is_symbol(std::string_view text) const {
    return peek().kind == Token::Kind::symbol && peek().text == text;
  }
  [[nodiscard]] bool is_word(std::string_view text) const {
    return peek().kind == Token::Kind::name && peek().text == text;
  }
  bool accept(std::string_view symbol) {
    if (!is_symbol(symbol)) return false;
    ++next_;
    return true;
  }
  void expect(std::string_view symbol) {
    if (!accept(symbol)) fail(peek(), "unexpected " + describe(peek()), "'" + std::string(symbol) + "'", "");
  }

  std::string describe(const Token& token) const {
    if (token.kind == Token::Kind::end) return "end of the expression";
    return "'" + std::string(source_.substr(token.begin, token.end - token.begin)) + "'";
  }

  Parsed fail(const Token& token, std::string message, std::string expected, std::string hint) {
    if (error_) return {};
    Diagnostic d;
    d.message = std::move(message);
    d.expected = std::move(expected);
    d.found = describe(token);
    d.hint = std::move(hint);
    d.offset = token.begin;
    d.length = token.end - token.begin;
    error_ = std::move(d);
    return {};
  }

  void trailing() {
    std::string hint;
    if (is_symbol("=")) hint = "comparison is ==";
    if (is_word("if")) hint = "a conditional is: a if c else b";
    if (is_symbol("!")) hint = "! binds weaker than comparisons; put it and its operand in parentheses";
    fail(peek(), "unexpected " + describe(peek()) + " after the expression", "an operator or the end", hint);
  }

  Parsed make(Expr::Kind kind, Op op, std::vector<Parsed> args, std::uint32_t begin) {
    int depth = 1;
    std::size_t nodes = 1;
    auto node = std::make_shared<Expr>();
    node->kind = kind;
    node->op = op;
    for (auto& arg : args) {
      if (!arg) return {};
      depth = std::max(depth, arg.depth + 1);
      nodes += arg.nodes;
      node->args.push_back(std::move(arg.node));
    }
    node->begin = begin;
    node->end = tokens_[next_ == 0 ? 0 : next_ - 1].end;
    if (depth > expression_depth_max) return too_deep();
    if (nodes > nodes_max)
      return fail(peek(), "the expression has more than " + std::to_string(nodes_max) + " parts", "",
                  "name a part of it with let; a chained comparison counts its middle twice");
    return {std::move(node), depth, nodes};
  }

  Parsed too_deep() {
    return fail(peek(), "the expression is deeper than " + std::to_string(expression_depth_max) + " levels", "",
                "name a part of it with let");
  }

  // a if c else b
  Parsed conditional() {
    if (++nesting_ > expression_depth_max) return too_deep();
    const auto begin = peek().begin;
    auto result = infix(or_level);
    if (result && is_word("if")) {
      ++next_;
      auto condition = infix(or_level);
      if (condition && !is_word("else"))
        return fail(peek(), "a conditional without else", "'else'", "a conditional is: a if c else b");
      if (condition) ++next_;
      auto otherwise = condition ? conditional() : Parsed{};
      if (!otherwise) return {};
      result =
          make(Expr::Kind::select, Op::add, {std::move(condition), std::move(result), std::move(otherwise)}, begin);
    }
    --nesting_;
    return result;
  }

  Parsed infix(int level) {
    if (level == not_level) return negation();
    if (level == comparison_level) return comparison();
    if (level == unary_level) return unary();
    const auto begin = peek().begin;
    auto left = infix(level + 1);
    while (left) {
      const InfixOperator* found = infix_at(level);
      if (!found) break;
      ++next_;
      auto right = infix(level + 1);
      if (!right) return {};
      left = make(Expr::Kind::binary, found->op, {std::move(left), std::move(right)}, begin);
    }
    return left;
  }

  [[nodiscard]] const InfixOperator* infix_at(int level) const {
    if (peek().kind != Token::Kind::symbol) return nullptr;
    for (const auto& candidate : infix_operators)
      if (candidate.text == peek().text && operator_level(candidate.op) == level) return &candidate;
    return nullptr;
  }

  Parsed negation() {
    const auto begin = peek().begin;
    if (!accept("!")) return infix(comparison_level);
    if (++nesting_ > expression_depth_max) return too_deep();
    auto operand = negation();
    --nesting_;
    if (!operand) return {};
    return make(Expr::Kind::unary, Op::logical_not, {std::move(operand)}, begin);
  }

  // Comparisons chain: a < b < c is (a < b) && (b < c), with b the same node.
  Parsed comparison() {
    const auto begin = peek().begin;
    auto left = infix(bit_or_level);
    Parsed chain;
    while (left) {
      const InfixOperator* found = infix_at(comparison_level);
      if (!found) break;
      ++next_;
      auto right = infix(bit_or_level);
      if (!right) return {};
      auto link = make(Expr::Kind::binary, found->op, {left, right}, left.node->begin);
      chain = chain ? make(Expr::Kind::binary, Op::logical_and, {std::move(chain), std::move(link)}, begin)
                    : std::move(link);
      if (!chain) return {};
      left = std::move(right);
    }
    return left && chain ? std::move(chain) : std::move(left);
  }

  Parsed unary() {
    const auto begin = peek().begin;
    const bool minus = is_symbol("-"), tilde = is_symbol("~");
    if (!minus && !tilde && !is_symbol("+")) return primary();
    ++next_;
    if (++nesting_ > expression_depth_max) return too_deep();
    auto operand = unary();
    --nesting_;
    if (!operand || (!minus && !tilde)) return operand;
    return make(Expr::Kind::unary, minus ? Op::neg : Op::bit_not, {std::move(operand)}, begin);
  }

  Parsed primary() {
    const Token token = peek();
    switch (token.kind) {
      case Token::Kind::integer:
      case Token::Kind::real: {
        ++next_;
        const bool real = token.kind == Token::Kind::real;
        auto literal = make(real ? Expr::Kind::real : Expr::Kind::integer, Op::add, {}, token.begin);
        literal.node->integer = token.integer;
        literal.node->real = token.real;
        return literal;
      }
      case Token::Kind::name: return named();
      case Token::Kind::symbol:
        if (token.text == "(") return parenthesized();
        if (token.text == "!")
          return fail(token, "'!' binds weaker than comparisons and arithmetic", "an operand",
                      "put it and its operand in parentheses");
        break;
      case Token::Kind::end: break;
    }
    return fail(token, "an operand is missing before " + describe(token), "a number, a name, a call or '('", "");
  }

  Parsed parenthesized() {
    ++next_;
    auto inside = conditional();
    if (!inside) return {};
    expect(")");
    return error_ ? Parsed{} : std::move(inside);
  }

  Parsed leaf(Expr::Kind kind, std::string text, std::uint32_t begin) {
    auto node = make(kind, Op::add, {}, begin);
    node.node->text = std::move(text);
    return node;
  }

  Parsed named() {
    const Token token = take();
    const std::string name(token.text);
    if (name == "if" || name == "else")
      return fail(token, "'" + name + "' where an operand should be", "an operand", "");
    if (name == "true" || name == "True" || name == "false" || name == "False") {
      auto literal = leaf(Expr::Kind::boolean, "", token.begin);
      literal.node->integer = name == "true" || name == "True";
      return literal;
    }
    if (name == "inf" || name == "nan") {
      auto literal = leaf(Expr::Kind::real, "", token.begin);
      literal.node->real =
          name == "inf" ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
      return literal;
    }
    if (is_symbol("(")) return call(token);
    if (is_symbol("[")) return element(token);
    if (!accept(".")) return leaf(Expr::Kind::name, name, token.begin);
    if (peek().kind != Token::Kind::name) return fail(peek(), "a name is missing after '.'", "such as bid.x", "");
    const std::string field(take().text);
    return leaf(Expr::Kind::name, name + "." + field, token.begin);
  }

  std::vector<Parsed> arguments(std::string_view close) {
    std::vector<Parsed> args;
    ++next_;
    if (accept(close)) return args;
    do {
      args.push_back(conditional());
      if (args.size() > arguments_max) fail(peek(), "too many arguments", "at most 16", "");
    } while (!error_ && accept(","));
    if (!error_) {
      if (close == "]" && is_symbol(":"))
        fail(peek(), "a range is not an element", "one index an axis", "ranges belong to the regions of copy");
      expect(close);
    }
    return args;
  }

  Parsed element(const Token& name) {
    auto args = arguments("]");
    if (error_) return {};
    if (args.empty()) return fail(name, "no index between the brackets", "one index an axis", "");
    auto node = make(Expr::Kind::element, Op::add, std::move(args), name.begin);
    if (node) node.node->text = std::string(name.text);
    return node;
  }

  Parsed call(const Token& name) {
    auto args = arguments(")");
    if (error_) return {};
    const std::string text(name.text);
    if (text == "cast" || text == "bitcast") return cast(name, std::move(args));
    if (text == "select") {
      if (args.size() != 3) return count_error(name, "3", args.size());
      return make(Expr::Kind::select, Op::add, std::move(args), name.begin);
    }
    const auto& table = functions();
    const auto known = std::find_if(table.begin(), table.end(), [&](const Function& f) { return f.name == text; });
    if (known == table.end()) return unknown_function(name);
    if (args.size() < known->args_min || args.size() > known->args_max)
      return count_error(name, std::to_string(known->args_min) + (known->args_max > known->args_min ? " or more" : ""),
                         args.size());
    return make(Expr::Kind::call, known->op, std::move(args), name.begin);
  }

  Parsed cast(const Token& name, std::vector<Parsed> args) {
    if (args.size() != 2) return count_error(name, "2: the value and a type", args.size());
    if (args[1].node->kind != Expr::Kind::name || args[1].node->text.find('.') != std::string::npos)
      return fail(name, std::string(name.text) + " takes a type's name as its second argument",
                  "such as f32, or an option's name", "");
    std::string type = args[1].node->text;
    args.pop_back();
    const bool bits = name.text == "bitcast";
    auto node =
        make(bits ? Expr::Kind::call : Expr::Kind::cast, bits ? Op::bitcast : Op::add, std::move(args), name.begin);
    if (node) node.node->text = std::move(type);
    return node;
  }

  Parsed count_error(const Token& name, const std::string& expected, std::size_t count) {
    fail(name, "wrong number of arguments of " + std::string(name.text), expected, "");
    if (error_) error_->found = std::to_string(count);
    return {};
  }

  Parsed unknown_function(const Token& name) {
    std::vector<std::string> names{"cast", "select"};
    for (const auto& f : functions()) names.emplace_back(f.name);
    std::string hint = nearest_hint(name.text, names);
    if (name.text == "sum" || name.text == "any" || name.text == "all")
      hint = "a reduction is a statement: {\"op\": \"reduce\", \"kind\": \"" + std::string(name.text) + "\", …}";
    return fail(name, "no function is called '" + std::string(name.text) + "'", "a function of PROGRAM.md", hint);
  }

  std::string_view source_;
  std::vector<Token> tokens_;
  std::size_t next_ = 0;
  int nesting_ = 0;
  std::optional<Diagnostic> error_;
};

}  // namespace

int operator_level(Op op) {
  switch (op) {
    case Op::logical_or: return or_level;
    case Op::logical_and: return and_level;
    case Op::lt:
    case Op::le:
    case Op::gt:
    case Op::ge:
    case Op::eq:
    case Op::ne: return comparison_level;
    case Op::bit_or: return bit_or_level;
    case Op::bit_xor: return bit_xor_level;
    case Op::bit_and: return bit_and_level;
    case Op::shl:
    case Op::shr: return shift_level;
    case Op::add:
    case Op::sub: return additive_level;
    case Op::mul:
    case Op::div:
    case Op::floordiv:
    case Op::mod: return multiplicative_level;
    default: return primary_level;
  }
}

const std::vector<Function>& functions() {
  static const std::vector<Function> table{
      {"ceildiv", Op::ceildiv, 2, 2},   {"min", Op::min, 2, 16},    {"max", Op::max, 2, 16},
      {"exp", Op::exp, 1, 1},           {"exp2", Op::exp2, 1, 1},   {"log", Op::log, 1, 1},
      {"log2", Op::log2, 1, 1},         {"log1p", Op::log1p, 1, 1}, {"expm1", Op::expm1, 1, 1},
      {"sqrt", Op::sqrt, 1, 1},         {"rsqrt", Op::rsqrt, 1, 1}, {"tanh", Op::tanh, 1, 1},
      {"sigmoid", Op::sigmoid, 1, 1},   {"erf", Op::erf, 1, 1},     {"sin", Op::sin, 1, 1},
      {"cos", Op::cos, 1, 1},           {"pow", Op::pow, 2, 2},     {"abs", Op::abs, 1, 1},
      {"floor", Op::floor, 1, 1},       {"ceil", Op::ceil, 1, 1},   {"round", Op::round, 1, 1},
      {"fma", Op::fma, 3, 3},           {"isnan", Op::isnan, 1, 1}, {"isinf", Op::isinf, 1, 1},
      {"popcount", Op::popcount, 1, 1}, {"clz", Op::clz, 1, 1},     {"mulhi", Op::mulhi, 2, 2},
  };
  return table;
}

bool is_name(std::string_view name) {
  if (name.empty() || name.size() > 64) return false;
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return letter(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

bool is_reserved(std::string_view name) {
  static const std::vector<std::string_view> words{"if",    "else",    "and",   "or",  "not",   "true",
                                                   "false", "True",    "False", "inf", "nan",   "select",
                                                   "cast",  "bitcast", "index", "bid", "target"};
  if (std::find(words.begin(), words.end(), name) != words.end() || dtype_from_name(name)) return true;
  const auto& table = functions();
  return std::any_of(table.begin(), table.end(), [&](const Function& f) { return f.name == name; });
}

Result<ExprPtr> parse_expression(std::string_view source) {
  KILN_TRY(auto tokens, tokenize(source));
  return Parser(source, std::move(tokens)).expression();
}

Result<RegionText> parse_region(std::string_view source) {
  KILN_TRY(auto tokens, tokenize(source));
  return Parser(source, std::move(tokens)).region();
}

Result<RegionAxis> parse_region_axis(std::string_view source) {
  KILN_TRY(auto tokens, tokenize(source));
  return Parser(source, std::move(tokens)).axis_only();
}

}  // namespace kiln::tile
