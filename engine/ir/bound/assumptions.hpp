// What holds where a condition does: bounds of the integer expressions that it compares. Shared by lowering, verifier
// and printers, so that all of them prove the same accesses. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <vector>

#include "engine/ir/bound/program.hpp"

namespace kiln::bound {

// Inclusive; an end that is not known is the least or the greatest number.
struct Bounds {
  std::int64_t lo = std::numeric_limits<std::int64_t>::min(), hi = std::numeric_limits<std::int64_t>::max();
};

// Equal trees: the same value wherever neither reads memory. Real constants count as different.
bool same_expression(const Expr& a, const Expr& b);

class Assumptions {
 public:
  // `condition`, a boolean, holds. Looks through && and !, and through booleans that set_condition named. Only what
  // reads no memory and no scalar is bounded: those may give another value when they are read again. `range` gives
  // bounds of what is compared, by what was known before.
  void assume(const Expr& condition, const std::function<Bounds(const Expr&)>& range);
  // A let of boolean type, for conditions that use it.
  void set_condition(int variable, const Expr& value);
  // `bounds` of `expr`, made narrower by what holds; lo is never above hi.
  [[nodiscard]] Bounds narrowed(const Expr& expr, Bounds bounds) const;
  [[nodiscard]] bool empty() const { return held_.empty(); }

 private:
  struct Held { ExprPtr expr; Bounds bounds; };
  void assume(const Expr& condition, bool holds, int depth, const std::function<Bounds(const Expr&)>& range);
  void compare(const Expr& comparison, Op op, const std::function<Bounds(const Expr&)>& range);
  void hold(const ExprPtr& expr, Bounds bounds);

  std::vector<Held> held_;
  std::map<int, Expr> conditions_;
};

}  // namespace kiln::bound
