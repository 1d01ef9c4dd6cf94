// Which of PROGRAM.md's tolerances a program falls under.
#include <algorithm>
#include <optional>
#include <vector>

#include "engine/ir/bound/arithmetic.hpp"
#include "engine/ir/float8.hpp"
#include "engine/reference/interpreter.hpp"

namespace kiln::reference {
namespace {

using bound::Expr;

// Bounds of an index expression over all blocks; nothing where they are not known.
struct Range {
  double low, high;
};
class Ranges {
 public:
  explicit Ranges(const bound::Launch& launch) : launch_(launch), variables_(launch.variables.size()) {}
  void set(int variable, std::optional<Range> range) { variables_[static_cast<std::size_t>(variable)] = range; }

  std::optional<Range> of(const Expr& e) const {
    using Kind = Expr::Kind;
    switch (e.kind) {
      case Kind::integer: return Range{static_cast<double>(e.integer), static_cast<double>(e.integer)};
      case Kind::block:
        return Range{0, static_cast<double>(
                            std::max<std::int64_t>(launch_.grid[static_cast<std::size_t>(e.integer)].value() - 1, 0))};
      case Kind::variable: return variables_[static_cast<std::size_t>(e.integer)];
      case Kind::select: return join(of(*e.args[1]), of(*e.args[2]));
      case Kind::binary:
      case Kind::call: return e.args.size() == 2 ? binary(e.op, of(*e.args[0]), of(*e.args[1])) : std::nullopt;
      default: return std::nullopt;
    }
  }

 private:
  static std::optional<Range> join(std::optional<Range> a, std::optional<Range> b) {
    if (!a || !b) return std::nullopt;
    return Range{std::min(a->low, b->low), std::max(a->high, b->high)};
  }
  static std::optional<Range> binary(Op op, std::optional<Range> a, std::optional<Range> b) {
    if (op == Op::min && a && !b) return Range{-1e18, a->high};
    if (op == Op::min && b && !a) return Range{-1e18, b->high};
    if (!a || !b) return std::nullopt;
    switch (op) {
      case Op::add: return Range{a->low + b->low, a->high + b->high};
      case Op::sub: return Range{a->low - b->high, a->high - b->low};
      case Op::min: return Range{std::min(a->low, b->low), std::min(a->high, b->high)};
      case Op::max: return Range{std::max(a->low, b->low), std::max(a->high, b->high)};
      case Op::mul: {
        const double corners[] = {a->low * b->low, a->low * b->high, a->high * b->low, a->high * b->high};
        return Range{*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
      }
      case Op::floordiv: case Op::ceildiv:
        if (b->low < 1) return std::nullopt;
        return Range{std::min(a->low / b->low, a->low / b->high) - 1,
                     std::max(a->high / b->low, a->high / b->high) + 1};
      case Op::mod: return b->low >= 1 ? std::optional<Range>(Range{0, b->high - 1}) : std::nullopt;
      default: return std::nullopt;
    }
  }

  const bound::Launch& launch_;
  std::vector<std::optional<Range>> variables_;
};

// Whether a body sets a tile anew, so that what a gemm added in the trip before is gone.
bool renews(const bound::Body& body, int tile) {
  return std::any_of(body.begin(), body.end(), [&](const bound::Stmt& s) {
    if (const auto* fill = std::get_if<bound::Fill>(&s.node)) return fill->tile == tile;
    if (const auto* copy = std::get_if<bound::Copy>(&s.node)) return !copy->to.is_tensor && copy->to.id == tile;
    if (const auto* gemm = std::get_if<bound::Gemm>(&s.node)) return gemm->clear && gemm->c == tile;
    return false;
  });
}

double unit_roundoff(DType type) {
  switch (type) {
    case DType::f64: return 0x1p-53;
    case DType::f16: return 0x1p-11;
    case DType::bf16: return 0x1p-8;
    default: return 0x1p-24;
  }
}

class Survey {
 public:
  Survey(const bound::Program& program, ToleranceSpec& spec) : program_(program), spec_(spec) {}

  void launch(const bound::Launch& launch) {
    launch_ = &launch;
    Ranges ranges(launch);
    body(launch.body, ranges);
  }
  bool float_gemm = false, arithmetic = false, inexact = false, low_precision = false, reduces = false, divides = false;

 private:
  struct Loop {
    const bound::Body* body;
    double trips;
  };

  void body(const bound::Body& statements, Ranges& ranges) {
    for (const auto& s : statements) {
      if (const auto* gemm = std::get_if<bound::Gemm>(&s.node)) add(*gemm);
      if (const auto* map = std::get_if<bound::Map>(&s.node))
        for (const auto& item : map->body) {
          if (item.tensor && item.target == program_.records) continue;  // what is shown is compared with nothing
          expr(*item.value);
          if (item.where) expr(*item.where);
          if (item.atomic == tile::AtomicOp::add) add(*map, item);
        }
      if (const auto* fill = std::get_if<bound::Fill>(&s.node)) expr(*fill->value);
      if (const auto* reduce = std::get_if<bound::Reduce>(&s.node)) add(*reduce);
      if (const auto* scan = std::get_if<bound::Scan>(&s.node)) add(*scan);
      if (const auto* let = std::get_if<bound::Let>(&s.node)) {
        expr(*let->value);
        ranges.set(let->var, let->value->type == DType::index ? ranges.of(*let->value) : std::nullopt);
      }
      if (const auto* choice = std::get_if<bound::If>(&s.node)) {
        body(choice->then, ranges);
        body(choice->otherwise, ranges);
      }
      if (const auto* loop = std::get_if<bound::For>(&s.node)) add(*loop, ranges);
    }
  }
  void add(const bound::For& loop, Ranges& ranges) {
    const auto from = ranges.of(*loop.from), to = ranges.of(*loop.to);
    const auto step = static_cast<double>(loop.step->integer);
    const double trips = from && to ? std::max(0.0, (to->high - from->low + step - 1) / step) : trips_unknown();
    ranges.set(loop.var,
               from && to ? std::optional<Range>(Range{from->low, std::max(from->low, to->high - 1)}) : std::nullopt);
    loops_.push_back({&loop.body, std::min(trips, 1e9)});
    body(loop.body, ranges);
    loops_.pop_back();
  }
  // A loop over data: as many trips as the longest axis of any parameter.
  double trips_unknown() const {
    std::int64_t longest = 1;
    for (const auto& t : program_.tensors)
      for (const auto& extent : t.shape) longest = std::max(longest, extent.value());
    return static_cast<double>(longest);
  }
  void add(const bound::Gemm& gemm) {
    const auto &a = launch_->tiles[static_cast<std::size_t>(gemm.a)],
               &c = launch_->tiles[static_cast<std::size_t>(gemm.c)];
    if (!is_float(c.dtype)) return;
    spec_.accumulator_unit =
        float_gemm ? std::max(spec_.accumulator_unit, unit_roundoff(c.dtype)) : unit_roundoff(c.dtype);
    float_gemm = true;
    low_precision = low_precision || a.dtype == DType::f16 || a.dtype == DType::bf16 || float8_format(a.dtype);
    contraction(a.shape[gemm.transpose_a ? 0 : 1], gemm.c, !gemm.clear);
  }
  void contraction(std::int64_t length, int result, bool accumulates) {
    auto k = static_cast<double>(length);
    for (std::size_t i = loops_.size(); accumulates && i-- > 0 && !renews(*loops_[i].body, result);)
      k *= std::max(1.0, loops_[i].trips);
    spec_.k = std::max(spec_.k, static_cast<std::int64_t>(std::min(k, 1e15)));
  }
  void add(const bound::Reduce& reduce) {
    const auto& from = launch_->tiles[static_cast<std::size_t>(reduce.from)];
    if (!is_float(from.dtype) || reduce.op == tile::ReduceOp::argmax || reduce.op == tile::ReduceOp::argmin) return;
    arithmetic = reduces = true;
    inexact = inexact || reduce.op == tile::ReduceOp::sum || reduce.op == tile::ReduceOp::prod;
    if (reduce.op == tile::ReduceOp::sum)
      contraction(from.shape[static_cast<std::size_t>(reduce.axis)], reduce.to, reduce.accumulate);
  }
  void add(const bound::Scan& scan) {
    const auto& from = launch_->tiles[static_cast<std::size_t>(scan.from)];
    if (!is_float(from.dtype)) return;
    arithmetic = true;
    inexact = inexact || scan.op == tile::ReduceOp::sum || scan.op == tile::ReduceOp::prod;
    if (scan.op == tile::ReduceOp::sum) contraction(from.shape[static_cast<std::size_t>(scan.axis)], scan.to, false);
  }
  static bool mentions(const bound::MapItem& item, Expr::Kind kind, std::int64_t which) {
    const auto in = [&](const auto& self, const Expr& e) -> bool {
      return (e.kind == kind && e.integer == which) ||
             std::any_of(e.args.begin(), e.args.end(), [&](const auto& arg) { return self(self, *arg); });
    };
    return std::any_of(item.indices.begin(), item.indices.end(), [&](const auto& e) { return in(in, *e); });
  }
  // Sums in an order of their own: as long as the iterations and blocks that may meet in one element.
  void add(const bound::Map& map, const bound::MapItem& item) {
    const DType type = program_.tensors[static_cast<std::size_t>(item.target)].dtype;
    if (!is_float(type)) return;
    arithmetic = inexact = true;
    double k = 1;
    for (std::size_t i = 0; i < map.index.size(); ++i)
      if (!mentions(item, Expr::Kind::variable, map.index[i])) k *= static_cast<double>(map.extent[i]);
    for (std::size_t axis = 0; axis < 3; ++axis)
      if (!mentions(item, Expr::Kind::block, static_cast<std::int64_t>(axis)))
        k *= static_cast<double>(launch_->grid[axis].value());
    for (const auto& loop : loops_) k *= std::max(1.0, loop.trips);
    spec_.k = std::max(spec_.k, static_cast<std::int64_t>(std::min(k, 1e15)));
    spec_.accumulator_unit = std::max(spec_.accumulator_unit, unit_roundoff(type));
  }
  void expr(const Expr& e) {
    const bool operation = e.kind == Expr::Kind::unary || e.kind == Expr::Kind::binary || e.kind == Expr::Kind::call;
    if (operation && is_float(e.args[0]->type)) {
      arithmetic = true;
      inexact = inexact || !bound::is_exact(e.op);
      divides = divides || e.op == Op::div || !bound::is_exact(e.op);
    }
    for (const auto& arg : e.args) expr(*arg);
  }

  const bound::Program& program_;
  ToleranceSpec& spec_;
  const bound::Launch* launch_ = nullptr;
  std::vector<Loop> loops_;
};

}  // namespace

ToleranceSpec tolerance_of(const bound::Program& program) {
  ToleranceSpec spec;
  Survey survey(program, spec);
  for (const auto& launch : program.launches) survey.launch(launch);
  if (survey.float_gemm) spec.kind = survey.arithmetic ? ToleranceClass::rowwise : ToleranceClass::gemm;
  else spec.kind = survey.inexact ? ToleranceClass::rowwise : ToleranceClass::exact;
  if (spec.kind == ToleranceClass::exact || (survey.reduces && survey.divides)) spec.k = 0;
  spec.flushes_denormals = survey.float_gemm && survey.low_precision && program.target.starts_with("gfx90a");
  return spec;
}

std::int64_t longest_contraction(const bound::Program& program) {
  ToleranceSpec spec;
  Survey survey(program, spec);
  for (const auto& launch : program.launches) survey.launch(launch);
  return spec.k;
}

}  // namespace kiln::reference
