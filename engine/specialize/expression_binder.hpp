// From expressions as written to typed bound expressions: names resolved, literals typed, constants folded, conversions
// made explicit, index arithmetic proved to stay within 64 bits.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/base/deadline.hpp"
#include "engine/ir/target/target.hpp"
#include "engine/specialize/findings.hpp"
#include "engine/specialize/value.hpp"

namespace kiln::specialize {

// A tile while its program is bound. It gets a place in the bound launch when live code first uses it.
struct TileState {
  bound::Tile tile;
  std::string pointer;
  int id = -1;  // in the bound launch; -1: not used by live code
  bool written = false;
  bool failed = false;  // its shape or type was a mistake: anything about it is silent
};

// Prints and asserts so far: their sites, the workspace of their records (-1: none yet), and the launches with asserts
// that later launches look at.
struct Messages {
  struct Failed {
    std::size_t launch;
    int tensor;
  };
  std::vector<bound::RecordSite> sites;
  int records = -1;
  std::vector<Failed> failed;
  std::size_t launch = 0, launches = 1;  // the one that is bound
};

// What expressions are bound against. One launch, one thread.
struct BindContext {
  const target::Target& target;
  Findings& findings;
  Budget& budget;
  Names names;
  std::vector<bound::Symbol> symbols;  // dynamic ones; bind_settings makes and declares them
  std::vector<bound::Tensor> tensors;
  std::vector<TileState> tiles;
  bound::Launch launch;          // receives tiles and variables
  Range grid[3];                 // of bid.x, y, z; one value: known now
  std::optional<Error> stopped;  // the budget ran out: everything ends quickly
  Messages messages = {};

  bool spend(std::int64_t units = 1);
  // The tile's place in the bound launch (made on first use; -1 in dead code).
  int use_tile(int index);
  int new_variable(const std::string& name, DType type);
};

class ExpressionBinder {
 public:
  explicit ExpressionBinder(BindContext& context) : context_(context) {}

  // The value as it is; a mistake is reported and gives a Value of kind mistake. `expected` types literals that meet no
  // other operand (both branches of a conditional).
  Value bind(const tile::Text& text, std::optional<DType> expected = std::nullopt);

  // An index expression; null expr after a mistake.
  Value index(const tile::Text& text);
  // Known now: sizes, conditions, types. Nothing after a mistake.
  std::optional<std::int64_t> constant(const tile::Text& text, std::int64_t least, std::int64_t most,
                                       const std::string& what);
  std::optional<bool> condition(const tile::Text& text);
  // The same as `constant`, but for dynamic symbols: all values that they promise are from least to most.
  std::optional<bound::Extent> extent(const tile::Text& text, std::int64_t least, std::int64_t most,
                                      const std::string& what);
  std::optional<DType> element_type(const tile::Text& text);
  // A value of exactly `type`: literals and (to floats) integers convert, anything else needs a cast. Null after a
  // mistake.
  bound::ExprPtr value_of_type(const tile::Text& text, DType type);
  // A condition that may be known only when the kernel runs.
  Value runtime_condition(const tile::Text& text);
  // Between the two, what is bound happens under a condition only: indices may leave tiles for some iterations.
  void enter_condition() { ++conditional_; }
  void leave_condition() { --conditional_; }

 private:
  using Expr = tile::Expr;
  Value bind(const Expr& expr, std::optional<DType> expected);
  Value leaf(const Expr& expr);
  Value name(const Expr& expr);
  Value built_in_name(const Expr& expr);
  Value named(const Expr& expr, const Named& named);
  Value element(const Expr& expr);
  bool element_indices(const Expr& expr, const bound::Extents& shape, bound::Expr& node);
  Value unary(const Expr& expr, std::optional<DType> expected);
  Value binary(const Expr& expr, std::optional<DType> expected);
  Value logical(const Expr& expr);
  Value select(const Expr& expr, std::optional<DType> expected);
  Value call(const Expr& expr, std::optional<DType> expected);
  Value cast(const Expr& expr);
  Value bitcast(const Expr& expr);
  std::optional<DType> named_type(const Expr& expr);
  // Both operands in one type, or a mistake.
  bool unify(const Expr& expr, Value& a, Value& b);
  Value equal_words(const Expr& expr, const Value& a, const Value& b);
  // The operation on operands of one type: checks it, folds it, gives it a range.
  Value apply(const Expr& expr, Op op, std::vector<Value> args);
  Value apply_index(const Expr& expr, Op op, const std::vector<Value>& args);
  Value apply_many(const Expr& expr, Op op, std::vector<Value> args);
  Value convert(const Expr& expr, Value value, DType type, bool is_explicit);
  Value convert_literal(const Expr& expr, const Value& value, DType type);
  Value mistake(const Expr& expr, About about, Finding finding);
  void not_known(const tile::Text& text, const std::string& what, std::string expected);

  BindContext& context_;
  const tile::Text* text_ = nullptr;  // being bound
  int conditional_ = 0;               // inside a branch that may not be taken
};

// "f32", "an index", "a literal": for messages.
std::string type_words(const Value& value);
std::string range_words(const Range& range);
// Whether an index is known to leave 0 … extent - 1, for each extent in the range: for all its values, or where it is
// `certain` to be used, for some.
bool leaves(const Value& index, const Range& extent, bool certain);
// The extent's bounds, within 64 bits as it was bound.
Range range_of(const BindContext& context, const bound::Extent& extent);

}  // namespace kiln::specialize
