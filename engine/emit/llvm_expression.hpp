// Expressions as SSA values: scalar where they are uniform, vectors where they depend on the index that runs over the
// lanes.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "engine/emit/llvm_context.hpp"

namespace kiln::emit::llvm_text {

// Consecutive values of one index variable, one a lane.
struct Lanes {
  int variable = -1;
  int count = 1;
  Value base;  // i64: the variable in lane 0, which is always active
  Value mask;  // i1 a lane; empty: all are active
  bool conditional = false;  // any lane may be inactive, lane 0 too; one of them is active
};

class Evaluator {
 public:
  // Without lanes every expression is uniform.
  explicit Evaluator(Context& ctx, const Lanes* lanes = nullptr) : ctx_(ctx), ir_(ctx.ir), lanes_(lanes) {}

  // Accesses that must be checked; others are proved to be inside. Without a call: all are checked.
  void set_checked(const std::set<const bound::Expr*>* checked) { checked_ = checked; }
  // Values of uniform expressions that were computed ahead (hoist).
  void set_known(const std::map<const bound::Expr*, Value>* known) { known_ = known; }

  Value value(const bound::Expr& expr);          // of the expression's type, in lanes or uniform
  Value uniform_value(const bound::Expr& expr);  // with the lane variable at its lane-0 value: a scalar
  Value index_value(const bound::Expr& expr);    // uniform; memory that it reads is read exactly once
  void let(int variable, const bound::ExprPtr& expr);
  void store(const bound::MapItem& item, bool checked);   // where its condition holds
  void update(const bound::MapItem& item, bool checked);  // an atomic (llvm_atomic.cpp), where its condition holds
  // By how much the expression grows from lane to lane; nothing: not by a constant.
  std::optional<std::int64_t> lane_step(const bound::Expr& expr) const;

 private:
  struct Let {
    bound::ExprPtr expr;  // null: an atomic's old value, which is not made again
    Value value;
  };
  // Where an access goes and which lanes may do it.
  struct Access {
    enum class Form : std::uint8_t { uniform, contiguous, scattered } form = Form::uniform;
    Value offset;         // bytes: i64, or a vector of them when scattered
    Value scalar_inside;  // i1; empty: inside
    Value lane_inside;    // i1 a lane; empty: inside
    bool once = false;
  };

  void set(const bound::MapItem& item, bool checked);
  Value variable(int id);
  Value element(const bound::Expr& expr);
  Access access(const Memory& memory, const std::vector<bound::ExprPtr>& indices, bool checked);
  Value load(const Memory& memory, const Access& access);
  Value load_uniform(const Memory& memory, const Access& access);
  Value once(const Value& value);
  Value compare_indices(const bound::Expr& expr);
  Value lanes_where(const std::string& predicate, const Value& bound);
  Value both(const Value& a, const Value& b);
  Value address(const Memory& memory, const std::vector<Value>& indices);
  void check(const Memory& memory, const std::vector<Value>& indices, const std::vector<bound::ExprPtr>& exprs,
             Access& access);
  void fail(Error error) { ctx_.fail(std::move(error)); }

  Context& ctx_;
  Builder& ir_;
  const Lanes* lanes_;
  bool at_base_ = false;  // the lane variable stands for its lane-0 value
  int index_depth_ = 0;   // inside an index, extent or bound: what is loaded there is loaded once
  std::map<int, Let> lets_;
  const std::set<const bound::Expr*>* checked_ = nullptr;
  const std::map<const bound::Expr*, Value>* known_ = nullptr;
};

// The smaller of an extent and a limit, where there is one.
Value limited(Context& ctx, std::int64_t extent, const std::vector<bound::ExprPtr>& limits, std::size_t number);

// Visits every element access of an expression, outer before inner, in order of appearance: the order of Map::checked.
void visit_accesses(const bound::Expr& expr, const std::function<void(const bound::Expr&)>& visit);

}  // namespace kiln::emit::llvm_text
