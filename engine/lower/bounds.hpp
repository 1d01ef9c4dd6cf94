// What is known about index expressions: ranges and divisors of block ids, loop variables and map indices, and from
// these whether an access can leave a tensor. Shared by all lowerings. Pure, apart from Facts being filled while
// walking down.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/ir/bound/assumptions.hpp"
#include "engine/ir/bound/program.hpp"

namespace kiln::lower {

// Inclusive; bounds saturate at ±2^62, which stands for "not known".
struct Interval {
  std::int64_t lo = 0, hi = 0;
  bool operator==(const Interval&) const = default;
};
inline constexpr std::int64_t unbounded = std::int64_t(1) << 62;
inline constexpr Interval anything{-unbounded, unbounded};

// Facts about block ids (from the grid), dynamic symbols and variables. A variable that was never set may be anything.
class Facts {
 public:
  explicit Facts(bound::Extents grid, std::vector<bound::Symbol> symbols = {});
  // `divisor`: every value is a multiple of it; 0: the value is 0.
  void set(int variable, Interval interval, std::int64_t divisor);
  // The variable of a loop over from, from + step, … < to.
  void set_loop(int variable, const bound::Expr& from, const bound::Expr& to, const bound::Expr& step);
  // An index 0 … extent-1, or the variable of a let.
  void set_index(int variable, std::int64_t extent) { set(variable, {0, extent > 0 ? extent - 1 : 0},
                                                          extent > 1 ? 1 : 0); }
  void set_let(int variable, const bound::Expr& value);
  // What is known of the loop variable `like` besides its interval and divisor, which hold too.
  void set_like(int variable, int like, Interval interval);
  // From now on the condition holds.
  void assume(const bound::Expr& condition);
  [[nodiscard]] Interval narrowed(const bound::Expr& expr, Interval interval) const;

  // What a variable is made of, for bounds that depend on symbols; null where that is not known.
  struct Origin {
    bound::ExprPtr value;        // of a let
    bound::ExprPtr from, to;     // of a loop: from, from + step, … < to
    std::int64_t step = 1;
  };
  [[nodiscard]] Interval interval_of(int variable) const;
  [[nodiscard]] std::int64_t divisor_of(int variable) const;
  [[nodiscard]] const Origin& origin_of(int variable) const;
  // The most blocks along an axis; what they are.
  [[nodiscard]] std::int64_t grid(int axis) const;
  [[nodiscard]] bound::Extent grid_extent(int axis) const;
  [[nodiscard]] const std::vector<bound::Symbol>& symbols() const { return symbols_; }

 private:
  struct Known { bool set = false; Interval interval; std::int64_t divisor = 1; Origin origin; };
  bound::Extents grid_;
  std::vector<bound::Symbol> symbols_;
  std::vector<std::int64_t> grid_most_;
  std::vector<Known> variables_;
  bound::Assumptions assumptions_;
};

// All values of `expr` lie in the result. Elements of tiles and tensors, scalars and floats may be anything their type
// holds.
Interval interval_of(const bound::Expr& expr, const Facts& facts);
// Every value of `expr` is a multiple of the result; 0: the value is 0; 1: nothing known.
std::int64_t divisor_of(const bound::Expr& expr, const Facts& facts);

// The extent's least and largest value.
Interval interval_of(const bound::Extent& extent, const Facts& facts);
std::int64_t divisor_of(const bound::Extent& extent, const Facts& facts);

// Whether start … start + extent - 1 lies in 0 … limit - 1 for all values that `facts` allow.
bool stays_inside(const bound::Expr& start, std::int64_t extent, const bound::Extent& limit, const Facts& facts);
// The part of it that compares what depends on the same symbols: start + extent <= limit. False also where it is not
// known.
bool stays_below(const bound::Expr& start, std::int64_t extent, const bound::Expr& limit, const Facts& facts);
// "row may reach 320, extent 300" or "row may be -4": why stays_inside says no.
std::string how_it_leaves(const bound::Expr& start, std::int64_t extent, const bound::Extent& limit,
                          const Facts& facts);

// The expression with `variable` replaced.
bound::ExprPtr substitute(const bound::ExprPtr& expr, int variable, const bound::ExprPtr& by);
// Whether `expr` uses a variable for which `wanted` (indexed by id, shorter: false) is set.
bool uses_variable(const bound::Expr& expr, const std::vector<bool>& wanted);
// The value when it is an integer constant.
std::optional<std::int64_t> constant_of(const bound::Expr& expr);

}  // namespace kiln::lower
