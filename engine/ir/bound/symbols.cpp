#include "engine/ir/bound/symbols.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "engine/ir/bound/arithmetic.hpp"

namespace kiln::bound {
namespace {

using Kind = Expr::Kind;
__extension__ typedef __int128 Wide;

bool is_comparison(Op op) { return op >= Op::lt && op <= Op::ne; }

std::optional<Range> range_of(const Expr& expr, std::span<const Range> symbols);

std::optional<Range> range_of_logic(const Expr& expr, std::span<const Range> symbols) {
  const auto a = range_of(*expr.args[0], symbols), b = range_of(*expr.args[1], symbols);
  if (!a || !b) return std::nullopt;
  if (expr.op == Op::logical_and) return Range{std::min(a->lo, b->lo), std::min(a->hi, b->hi)};
  return Range{std::max(a->lo, b->lo), std::max(a->hi, b->hi)};
}

std::optional<Range> range_of_operation(const Expr& expr, std::span<const Range> symbols) {
  if (expr.args.empty() || expr.args.size() > 2) return std::nullopt;
  if (expr.op == Op::logical_and || expr.op == Op::logical_or) return range_of_logic(expr, symbols);
  const auto a = range_of(*expr.args[0], symbols), b = range_of(*expr.args.back(), symbols);
  if (!a || !b) return std::nullopt;
  if (expr.op == Op::logical_not) return Range{1 - a->hi, 1 - a->lo};
  if (is_comparison(expr.op)) {
    const auto known = decide(expr.op, *a, *b);
    return known ? point(*known ? 1 : 0) : Range{0, 1};
  }
  if (expr.type != DType::index || expr.args[0]->type != DType::index) return std::nullopt;
  return bound::range_of(expr.op, *a, *b);
}

std::optional<Range> range_of(const Expr& expr, std::span<const Range> symbols) {
  switch (expr.kind) {
    case Kind::integer: return point(expr.integer);
    case Kind::symbol: {
      const auto number = static_cast<std::size_t>(expr.integer);
      return number < symbols.size() ? std::optional(symbols[number]) : std::nullopt;
    }
    case Kind::select: {
      const auto condition = range_of(*expr.args[0], symbols);
      if (!condition) return std::nullopt;
      if (condition->single()) return range_of(*expr.args[condition->lo != 0 ? 1 : 2], symbols);
      const auto a = range_of(*expr.args[1], symbols), b = range_of(*expr.args[2], symbols);
      return a && b ? std::optional(hull(*a, *b)) : std::nullopt;
    }
    case Kind::unary: case Kind::binary: case Kind::call: return range_of_operation(expr, symbols);
    default: return std::nullopt;
  }
}

Error wrong_values(std::vector<Diagnostic> list) {
  Error error(ErrorCode::invalid_argument, list.front().pointer + ": " + list.front().message + "; expected " +
                                               list.front().expected + ", found " + list.front().found);
  error.diagnostics = std::move(list);
  return error;
}

std::string promise_of(const Symbol& symbol) {
  std::string text = std::to_string(symbol.min) + " to " + std::to_string(symbol.max);
  if (symbol.multiple_of > 1) text = "a multiple of " + std::to_string(symbol.multiple_of) + " from " + text;
  return text;
}

// Puts values in the place of symbols, in a program of one's own.
class Replacer {
 public:
  explicit Replacer(std::span<const std::int64_t> values) : values_(values) {}

  void replace(Extents& extents) const {
    for (auto& extent : extents) extent = extent.at(values_).value_or(0);
  }
  void replace(Body& body) const {
    for (auto& stmt : body) std::visit([&](auto& node) { replace(node); }, stmt.node);
  }

 private:
  void replace(ExprPtr& expr) const {
    if (expr) expr = replaced(expr);
  }
  void replace(std::vector<ExprPtr>& list) const {
    for (auto& expr : list) replace(expr);
  }
  ExprPtr replaced(const ExprPtr& expr) const {
    if (expr->kind == Kind::symbol) return make_integer(values_[static_cast<std::size_t>(expr->integer)]);
    Expr node = *expr;
    bool changed = false;
    for (auto& arg : node.args) {
      auto made = replaced(arg);
      changed = changed || made != arg;
      arg = std::move(made);
    }
    return changed ? fold(std::move(node)) : expr;
  }
  void replace(Copy& copy) const {
    replace(copy.from.start), replace(copy.to.start);
    replace(copy.fill);
    replace(copy.limit);
  }
  void replace(Fill& fill) const { replace(fill.value); }
  void replace(Gemm&) const {}
  void replace(Reduce&) const {}
  void replace(Scan&) const {}
  void replace(Map& map) const {
    for (auto& item : map.body) {
      replace(item.indices);
      for (auto* expr : {&item.value, &item.where, &item.compare}) replace(*expr);
    }
  }
  void replace(For& loop) const {
    replace(loop.from), replace(loop.to);
    replace(loop.body);
  }
  void replace(If& branch) const {
    replace(branch.condition);
    replace(branch.then), replace(branch.otherwise);
  }
  void replace(Let& let) const { replace(let.value); }
  void replace(Leave& leave) const { replace(leave.condition); }

  std::span<const std::int64_t> values_;
};

}  // namespace

std::int64_t Extent::value() const {
  KILN_ASSERT(is_static());
  return value_;
}

std::optional<std::int64_t> Extent::at(std::span<const std::int64_t> symbols) const {
  if (!expr_) return value_;
  std::vector<Range> points;
  for (const auto value : symbols) points.push_back(point(value));
  const auto range = range_of(*expr_, points);
  return range && range->single() ? std::optional(range->lo) : std::nullopt;
}

std::vector<std::int64_t> values(const Extents& extents) {
  std::vector<std::int64_t> list;
  for (const auto& extent : extents) list.push_back(extent.value());
  return list;
}

bool all_static(const Extents& extents) {
  return std::all_of(extents.begin(), extents.end(), [](const Extent& extent) { return extent.is_static(); });
}

std::int64_t Tensor::elements_span(std::span<const std::int64_t> symbols) const {
  std::int64_t span = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const auto extent = shape[i].at(symbols), stride = strides[i].at(symbols);
    KILN_ASSERT(extent && stride);
    if (*extent == 0) return 0;
    span += (*extent - 1) * *stride;
  }
  return span;
}

Range range_of(const Symbol& symbol) {
  const std::int64_t step = std::max<std::int64_t>(symbol.multiple_of, 1);
  const std::int64_t lo = (symbol.min + step - 1) / step * step, hi = symbol.max / step * step;
  return lo <= hi ? Range{lo, hi} : point(symbol.min);
}

std::optional<Range> range_of(const Expr& expr, const std::vector<Symbol>& symbols) {
  std::vector<Range> ranges;
  for (const auto& symbol : symbols) ranges.push_back(range_of(symbol));
  return range_of(expr, std::span<const Range>(ranges));
}

std::optional<Range> range_of(const Extent& extent, const std::vector<Symbol>& symbols) {
  return extent.is_static() ? std::optional(point(extent.value())) : range_of(*extent.expr(), symbols);
}

std::int64_t divisor_of(const Expr& expr, const std::vector<Symbol>& symbols) {
  const auto of = [&](std::size_t i) { return divisor_of(*expr.args[i], symbols); };
  switch (expr.kind) {
    case Kind::integer: return expr.integer < 0 ? -expr.integer : expr.integer;
    case Kind::symbol: {
      const Range range = range_of(symbols[static_cast<std::size_t>(expr.integer)]);
      return range.single() ? range.lo : symbols[static_cast<std::size_t>(expr.integer)].multiple_of;
    }
    case Kind::select: return std::gcd(of(1), of(2));
    case Kind::binary: case Kind::call: break;
    default: return 1;
  }
  if (expr.args.size() != 2) return 1;
  switch (expr.op) {
    case Op::add: case Op::sub: case Op::min: case Op::max: case Op::mod: return std::gcd(of(0), of(1));
    case Op::mul: {
      const Wide product = Wide(of(0)) * of(1);
      return product < (Wide(1) << 62) ? static_cast<std::int64_t>(product) : of(0);
    }
    default: return 1;
  }
}

Extent elements_span(const Tensor& tensor) {
  if (tensor.is_static()) return tensor.elements_span();
  ExprPtr span = make_integer(1), none;
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    const auto extent = tensor.shape[i].expr();
    if (tensor.shape[i].is(0)) return 0;
    span = make_binary(Op::add, span,
                       make_binary(Op::mul, make_binary(Op::sub, extent, make_integer(1)), tensor.strides[i].expr()));
    if (tensor.shape[i].is_static()) continue;
    auto empty = make_binary(Op::eq, extent, make_integer(0));
    none = none ? make_binary(Op::logical_or, none, empty) : empty;
  }
  if (!none) return span;
  Expr choice;
  choice.kind = Kind::select;
  choice.args = {none, make_integer(0), span};
  return fold(std::move(choice));
}

Status check_values(const std::vector<Symbol>& symbols, std::span<const std::int64_t> values) {
  if (values.size() != symbols.size())
    return Error(ErrorCode::invalid_argument, "the program has " + std::to_string(symbols.size()) +
                                                  " dynamic symbols, " + std::to_string(values.size()) +
                                                  " values given");
  std::vector<Diagnostic> list;
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    const auto& symbol = symbols[i];
    if (values[i] >= symbol.min && values[i] <= symbol.max && values[i] % symbol.multiple_of == 0) continue;
    Diagnostic d;
    d.pointer = "/symbols/" + symbol.name;
    d.message = "the program promises another '" + symbol.name + "'";
    d.expected = promise_of(symbol);
    d.found = std::to_string(values[i]);
    list.push_back(std::move(d));
  }
  if (list.empty()) return ok();
  return wrong_values(std::move(list));
}

Result<std::vector<std::int64_t>> grid_at(const Extents& grid, std::size_t number,
                                          std::span<const std::int64_t> values) {
  std::vector<std::int64_t> extents;
  std::string found;
  bool fits = true;
  for (const auto& extent : grid) {
    const auto value = extent.at(values);
    fits = fits && value && *value >= 0 && *value <= grid_extent_max;
    found += (found.empty() ? "" : " * ") + (value ? std::to_string(*value) : std::string("more than 64 bits hold"));
    extents.push_back(value.value_or(0));
  }
  if (fits && block_count(extents) <= blocks_max) return extents;
  Diagnostic d;
  d.pointer = "/launches/" + std::to_string(number) + "/grid";
  d.message = "the grid has too many blocks at these sizes";
  d.expected = "at most " + std::to_string(grid_extent_max) + " along an axis and " + std::to_string(blocks_max) +
               " together";
  d.found = found;
  d.hint = "larger tiles: set a block tunable";
  return wrong_values({std::move(d)});
}

Result<Program> with_values(const Program& program, std::span<const std::int64_t> values) {
  KILN_CHECK(check_values(program.symbols, values));
  Program made = program;
  if (program.symbols.empty()) return made;
  made.symbols.clear();
  const Replacer replacer(values);
  for (auto& tensor : made.tensors) replacer.replace(tensor.shape), replacer.replace(tensor.strides);
  for (std::size_t i = 0; i < made.launches.size(); ++i) {
    KILN_CHECK(grid_at(made.launches[i].grid, i, values));
    replacer.replace(made.launches[i].grid);
    replacer.replace(made.launches[i].body);
  }
  return made;
}

}  // namespace kiln::bound
