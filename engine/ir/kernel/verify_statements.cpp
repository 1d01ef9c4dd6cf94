// Each statement by itself. Walks with the ranges of loop variables at hand.
#include <algorithm>

#include "engine/ir/bound/arithmetic.hpp"
#include "engine/ir/kernel/verify_map.hpp"
#include "engine/ir/kernel/verify_steps.hpp"
#include "engine/ir/layout/linear.hpp"

namespace kiln::kernel {
namespace {

using layout::Conversion;

class Walker {
 public:
  Walker(const Subject& subject, const Role& role) : subject_(subject), role_(role) {
    ranges_ = ranges_of(subject.program.symbols, subject.launch.grid);
  }

  void body(const Body& statements, const std::string& path) {
    for (std::size_t i = 0; i < statements.size(); ++i) {
      path_ = path + "/" + std::to_string(i);
      if (expressions_fit(statements[i])) std::visit([&](const auto& node) { check(node); }, statements[i].node);
    }
  }

 private:
  void wrong(const std::string& reason) { subject_.finding(path_, reason); }
  bool require(bool condition, const std::string& reason) {
    if (!condition) wrong(reason);
    return condition;
  }
  const Storage& storage(int id) const { return subject_.storage(id); }
  bool is_host() const { return subject_.target.is_host(); }

  // Ids and operand counts of every expression, so that the checks behind may follow them.
  bool expressions_fit(const Stmt& stmt) {
    bool fit = true;
    for_each_expression(stmt, [&](const bound::Expr& expr) {
      for_each_node(expr, [&](const bound::Expr& node) { fit = fit && node_fits(node); });
    });
    return require(fit, "an expression names what does not exist");
  }
  bool node_fits(const bound::Expr& node) const {
    using Kind = bound::Expr::Kind;
    const auto& launch = subject_.launch;
    const auto id = node.integer;
    if (std::any_of(node.args.begin(), node.args.end(), [](const auto& arg) { return arg == nullptr; })) return false;
    if (!arity_fits(node)) return false;
    switch (node.kind) {
      case Kind::block: return id >= 0 && id < 3;
      case Kind::variable: return id >= 0 && id < static_cast<std::int64_t>(launch.variables.size());
      case Kind::symbol: return id >= 0 && id < static_cast<std::int64_t>(subject_.program.symbols.size());
      case Kind::scalar: case Kind::tensor: {
        if (id < 0 || id >= static_cast<std::int64_t>(subject_.program.tensors.size())) return false;
        const auto& tensor = subject_.program.tensors[id];
        return tensor.scalar == (node.kind == Kind::scalar) && node.args.size() == tensor.shape.size();
      }
      case Kind::tile: return subject_.is_storage(static_cast<int>(id)) &&
          node.args.size() == storage(static_cast<int>(id)).shape.size();
      default: return true;
    }
  }

  static bool arity_fits(const bound::Expr& node) {
    using Kind = bound::Expr::Kind;
    switch (node.kind) {
      case Kind::tensor: case Kind::tile: return true;  // by rank
      case Kind::unary: case Kind::binary: case Kind::call:
        return static_cast<int>(node.args.size()) == bound::arity(node.op);
      case Kind::select: return node.args.size() == 3;
      case Kind::cast: return node.args.size() == 1;
      default: return node.args.empty();
    }
  }

  bool regs_fit(int id) {
    if (!require(subject_.is_regs(id), "no such register array")) return false;
    return require(1 << storage(id).reg_layout.wave.bits() == role_.waves, storage(id).name +
                   " is not over the role's " + std::to_string(role_.waves) + " waves");
  }

  // A rectangle of a tensor that a tile of `shape` runs over.
  bool global_fits(const GlobalRef& ref, const std::vector<std::int64_t>& shape, bool store) {
    const auto& tensors = subject_.program.tensors;
    if (!require(ref.tensor >= 0 && ref.tensor < static_cast<int>(tensors.size()) && !tensors[ref.tensor].scalar,
                 "no such tensor")) {
      return false;
    }
    const auto& tensor = tensors[ref.tensor];
    const auto rank = tensor.shape.size();
    const auto size_fits = [&](std::size_t size) { return size == rank || size == 0; };
    if (!require(ref.start.size() == rank && ref.tile_axis.size() == rank && size_fits(ref.checked.size()) &&
                 size_fits(ref.limit.size()), "its rectangle has another rank than " + tensor.name)) return false;
    const bool starts = std::all_of(ref.start.begin(), ref.start.end(), [](const auto& one) { return one != nullptr; });
    if (!require(starts, "its rectangle has no start")) return false;
    if (store && !require(tensor.access != Access::read, tensor.name + " is read only")) return false;
    std::vector<bool> runs(shape.size(), false);
    for (std::size_t axis = 0; axis < rank; ++axis) {
      const int along = ref.tile_axis[axis];
      if (along < 0) continue;
      if (!require(along < static_cast<int>(shape.size()) && !runs[along], "a tile axis runs along two axes of " +
                   tensor.name + ", or does not exist")) {
        return false;
      }
      runs[along] = true;
    }
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (!require(runs[axis] || shape[axis] == 1, "a tile axis runs along no axis of " + tensor.name)) return false;
    }
    return bounds_fit(ref, shape, tensor);
  }
  // Unchecked axes whose start is a constant: certainly inside.
  bool bounds_fit(const GlobalRef& ref, const std::vector<std::int64_t>& shape, const bound::Tensor& tensor) {
    for (std::size_t axis = 0; axis < ref.start.size(); ++axis) {
      if (axis < ref.checked.size() && ref.checked[axis]) continue;
      const auto start = range_of(*ref.start[axis], ranges_);
      if (!start || start->lo != start->hi) continue;
      const auto extent = ref.tile_axis[axis] >= 0 ? shape[ref.tile_axis[axis]] : 1;
      const auto limit = range_of(*tensor.shape[axis].expr(), ranges_);
      if (!require(limit && start->lo >= 0 && start->lo + extent <= limit->lo, "it leaves axis " +
                   std::to_string(axis) + " of " + tensor.name + " unchecked")) {
        return false;
      }
    }
    return true;
  }

  // The tile axis that runs along the tensor's stride 1; any for single elements.
  void global_vectors(const GlobalRef& ref, const Storage& regs, int vector_bytes) {
    const auto& tensor = subject_.program.tensors[ref.tensor];
    if (!require(tensor.dtype == regs.dtype, regs.name + " and " + tensor.name + " differ in type")) return;
    int along = vector_bytes == dtype_bytes(regs.dtype) ? 0 : -1;
    for (std::size_t axis = 0; axis < tensor.strides.size(); ++axis) {
      if (tensor.strides[axis].is(1) && ref.tile_axis[axis] >= 0) along = ref.tile_axis[axis];
    }
    if (!require(along >= 0, "a vector of " + std::to_string(vector_bytes) + " bytes needs an axis of stride 1 in " +
                 tensor.name)) {
      return;
    }
    if (!require(vector_bytes <= 16, "vectors have 16 bytes at most")) return;
    if (!require(vector_bytes <= std::max<std::int64_t>(tensor.align_bytes, dtype_bytes(tensor.dtype)),
                 "a vector of " + std::to_string(vector_bytes) + " bytes on " + tensor.name + ", aligned to " +
                     std::to_string(tensor.align_bytes))) return;
    const auto accesses = vector_accesses(regs, along, vector_bytes);
    if (!accesses) wrong(accesses.error().message);
  }

  bool stage_fits(const LdsRef& ref) {
    const Storage& lds = storage(ref.storage);
    if (!ref.stage) return true;
    const auto range = range_of(*ref.stage, ranges_);
    return require(range && range->lo >= 0 && range->hi < lds.stages, "a stage of " + lds.name +
                   " is not proved to be one of its " + std::to_string(lds.stages));
  }

  bool lds_fits(const LdsRef& ref, const std::vector<std::int64_t>& shape) {
    if (!require(subject_.is_lds(ref.storage), "no such LDS buffer")) return false;
    const Storage& lds = storage(ref.storage);
    if (!require(shape.size() == lds.shape.size() && (ref.start.empty() || ref.start.size() == shape.size()),
                 "its rectangle has another rank than " + lds.name)) {
      return false;
    }
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const auto start = ref.start.empty() ? 0 : ref.start[axis];
      if (!require(shape[axis] >= 1 && start >= 0 && start <= lds.shape[axis] - shape[axis], "it leaves " + lds.name +
                   " along axis " + std::to_string(axis))) {
        return false;
      }
    }
    return stage_fits(ref);
  }

  void lds_vectors(int regs_id, const LdsRef& ref, int vector_bytes) {
    if (!regs_fit(regs_id)) return;
    const Storage& regs = storage(regs_id);
    if (!lds_fits(ref, regs.shape)) return;
    const Storage& lds = storage(ref.storage);
    if (!require(regs.dtype == lds.dtype, regs.name + " and " + lds.name + " differ in type")) return;
    if (!require(vector_bytes <= 16, "vectors have 16 bytes at most")) return;
    const auto accesses = vector_accesses(regs, lds.lds_layout.contiguous, vector_bytes);
    if (!require(accesses.has_value(), accesses ? "" : accesses.error().message)) return;
    if (!require(vector_bytes <= lds.lds_layout.run_bytes_max() || vector_bytes == dtype_bytes(regs.dtype),
                 "vectors of " + std::to_string(vector_bytes) + " bytes; " + lds.name +
                     " is contiguous and aligned for " + std::to_string(lds.lds_layout.run_bytes_max()))) return;
    const auto start = ref.start.empty() ? 0 : ref.start[lds.lds_layout.contiguous];
    require(start * dtype_bytes(regs.dtype) % vector_bytes == 0, "its start in " + lds.name + " is not aligned to " +
            std::to_string(vector_bytes) + " bytes");
  }

  void check(const LoadGlobal& node) {
    if (regs_fit(node.regs) && global_fits(node.from, storage(node.regs).shape, false)) {
      global_vectors(node.from, storage(node.regs), node.vector_bytes);
    }
  }
  void check(const StoreGlobal& node) {
    if (regs_fit(node.regs) && global_fits(node.to, storage(node.regs).shape, true)) {
      global_vectors(node.to, storage(node.regs), node.vector_bytes);
    }
  }
  void check(const LoadLds& node) { lds_vectors(node.regs, node.from, node.vector_bytes); }
  void check(const StoreLds& node) { lds_vectors(node.regs, node.to, node.vector_bytes); }

  void check(const Direct& node) {
    if (!lds_fits(node.lds, node.shape) || !global_fits(node.global, node.shape, !node.to_lds)) return;
    if (is_host()) {
      require(node.token == -1, "a copy on the host is done when it returns: it has no token");
      return;
    }
    if (!require(node.token >= 0, "an asynchronous copy needs a token")) return;
    require(node.vector_bytes > 0 && node.vector_bytes <= subject_.target.lds_direct_bytes,
            "direct copies of " + std::to_string(node.vector_bytes) + " bytes a lane; the target has " +
                std::to_string(subject_.target.lds_direct_bytes));
  }
  void check(const Wait& node) { require(node.pending >= 0, "a negative number of pending copies"); }
  void check(const Barrier&) { no_divergence(); }
  void no_divergence() { require(!divergent_, "a barrier under a condition that differs between lanes"); }

  void check(const Mma& node) {
    for (const int id : {node.a, node.b, node.c}) {
      if (!require(subject_.is_storage(id), "no such operand")) return;
    }
    if (is_host()) return host_mma(node);
    const auto* instruction = subject_.target.matrix_named(node.instruction);
    if (!require(instruction != nullptr, subject_.target.arch + " has no " + node.instruction)) return;
    if (!regs_fit(node.c)) return;
    const auto steps = mma_steps(subject_.launch, node, *instruction);
    if (!steps) wrong(node.instruction + ": " + steps.error().message);
  }
  void host_mma(const Mma& node) {
    const Storage &a = storage(node.a), &b = storage(node.b), &c = storage(node.c);
    const auto known = subject_.target.matrix_for(a.dtype, c.dtype);
    if (!require(node.instruction == "host.fma" && !known.empty() && a.dtype == b.dtype, "the host has no " +
                 node.instruction + " for these types")) {
      return;
    }
    if (!require(a.shape.size() == 2 && b.shape.size() == 2 && c.shape.size() == 2,
                 "operands of a product have two axes")) {
      return;
    }
    const auto m = a.shape[node.a_transposed ? 1 : 0], a_k = a.shape[node.a_transposed ? 0 : 1];
    const auto n = b.shape[node.b_transposed ? 0 : 1], b_k = b.shape[node.b_transposed ? 1 : 0];
    if (!require(m == c.shape[0] && n == c.shape[1], "rows of " + a.name + " and columns of " + b.name +
                 " do not give " + c.name)) {
      return;
    }
    require(node.k >= 1 && node.a_k >= 0 && node.b_k >= 0 && node.a_k <= a_k - node.k && node.b_k <= b_k - node.k,
            "k leaves an operand");
    require(node.block_m >= 1 && node.block_n >= 1, "its register block is empty");
  }
  void check(const Fill& node) {
    if (!require(subject_.is_storage(node.storage) && node.value, "no such storage, or no value")) return;
    if (subject_.is_regs(node.storage)) regs_fit(node.storage);
  }
  void check(const Map& node) {
    const MapCheck check{subject_, role_, ranges_, [&](const std::string& reason) { wrong(reason); }};
    check_map(check, node);
  }
  void check(const Reduce& node) {
    if (!require(subject_.is_storage(node.from) && subject_.is_storage(node.to), "no such storage")) return;
    const Storage &from = storage(node.from), &to = storage(node.to);
    auto shape = from.shape;
    if (!require(node.axis >= 0 && node.axis < static_cast<int>(shape.size()), "no such axis")) return;
    shape.erase(shape.begin() + node.axis);
    if (shape.empty()) shape.push_back(1);  // a single number is a tile of one element
    if (!require(shape == to.shape, to.name + " has not the shape of " + from.name + " without axis " +
                 std::to_string(node.axis))) {
      return;
    }
    if (is_host()) {
      require(node.scratch == -1, "scratch, though the host has one wave");
      return;
    }
    if (!regs_fit(node.from) || !regs_fit(node.to)) return;
    if (!require(layout::conversion(layout::slice(from.reg_layout, node.axis), to.reg_layout) <= Conversion::registers,
                 to.name + " has not the layout of " + from.name + " without the axis")) return;
    const int parts = reduce_parts(from.reg_layout, node.axis).count();
    if (parts == 1) {
      require(node.scratch == -1, "scratch, though no waves divide the axis");
      return;
    }
    auto scratch_shape = to.shape;
    scratch_shape.insert(scratch_shape.begin(), parts);
    if (!require(subject_.is_lds(node.scratch), "waves divide the axis: it needs LDS scratch")) return;
    if (!require(storage(node.scratch).shape == scratch_shape && storage(node.scratch).dtype == to.dtype,
                 "its scratch has another shape or type")) {
      return;
    }
    no_divergence();
  }
  void check(const Convert& node) {
    if (!require(subject_.is_storage(node.from) && subject_.is_storage(node.to), "no such storage")) return;
    const Storage &from = storage(node.from), &to = storage(node.to);
    if (!require(from.shape == to.shape, from.name + " and " + to.name + " differ in shape")) return;
    if (is_host()) {
      require(node.scratch == -1, "scratch, though the host has one wave");
      return;
    }
    if (!regs_fit(node.from) || !regs_fit(node.to)) return;
    if (!require(layout::conversion(from.reg_layout, to.reg_layout) <= node.method,
                 "this conversion needs more than its method moves")) {
      return;
    }
    if (node.method != Conversion::lds) {
      require(node.scratch == -1, "scratch, though its method moves through registers");
      return;
    }
    if (!require(subject_.is_lds(node.scratch), "it needs LDS scratch")) return;
    if (!require(storage(node.scratch).shape == to.shape && storage(node.scratch).dtype == to.dtype,
                 "its scratch has another shape or type")) {
      return;
    }
    no_divergence();
  }
  void check(const Sched&) {}

  void check(const For& node) {
    if (!require(node.var >= 0 && node.var < static_cast<int>(subject_.launch.variables.size()),
                 "no such loop variable")) {
      return;
    }
    if (!require(node.from && node.to && node.step, "a loop without bounds")) return;
    const auto step = evaluate(*node.step, {});
    if (!require(step && *step > 0, "a loop's step must be a positive constant")) return;
    const bool outer = divergent_;
    divergent_ = divergent_ || !uniform(*node.from) || !uniform(*node.to);
    const auto saved = ranges_;
    const auto from = range_of(*node.from, ranges_), to = range_of(*node.to, ranges_);
    ranges_.variables.erase(node.var);
    if (from && to) ranges_.variables[node.var] = loop_range(*from, *to, *step);
    body(node.body, path_ + "/for");
    ranges_ = saved;
    divergent_ = outer;
  }
  // The last value is from's plus a whole number of steps, where from is one value.
  static Interval loop_range(const Interval& from, const Interval& to, std::int64_t step) {
    const auto last = std::max(to.hi - 1, from.lo);
    return {from.lo, from.lo == from.hi ? from.lo + (last - from.lo) / step * step : last};
  }
  void check(const If& node) {
    if (!require(node.condition != nullptr, "an if without condition")) return;
    const auto path = path_;
    const bool outer = divergent_;
    divergent_ = divergent_ || !uniform(*node.condition);
    body(node.then, path + "/then");
    body(node.otherwise, path + "/else");
    divergent_ = outer;
  }
  void check(const Leave& node) {
    require(node.condition != nullptr, "a leave without condition");
    require(!divergent_, "the block ends under a condition that lanes decide");
  }
  void check(const Let& node) {
    if (!require(node.var >= 0 && node.var < static_cast<int>(subject_.launch.variables.size()) && node.value,
                 "no such variable")) {
      return;
    }
    const auto range = range_of(*node.value, ranges_);
    ranges_.variables.erase(node.var);
    if (range) ranges_.variables[node.var] = *range;
    ranges_.assumptions.set_condition(node.var, *node.value);
  }
  bool uniform(const bound::Expr& expr) const {
    return is_uniform(expr, [&](int id) { return subject_.is_regs(id); });
  }

  const Subject& subject_;
  const Role& role_;
  std::string path_;
  Ranges ranges_;
  bool divergent_ = false;
};

}  // namespace

void check_statements(const Subject& subject) {
  for (const auto& role : subject.launch.roles) Walker(subject, role).body(role.body, subject.path_of(role));
}

}  // namespace kiln::kernel
