#include "api/cli/compare_work.hpp"

#include <algorithm>
#include <cmath>

namespace kiln::cli {
namespace {

using bound::Expr;

double product_of(const std::vector<std::int64_t>& extents) {
  double product = 1;
  for (const auto extent : extents) product *= double(extent);
  return product;
}

double nodes_of(const Expr& e) {
  double nodes = 1;
  for (const auto& arg : e.args) nodes += nodes_of(*arg);
  return nodes;
}

// Walks a launch's statements as one block runs them.
class BlockWalk {
 public:
  BlockWalk(const bound::Launch& launch, const std::vector<double>& block)
      : launch_(launch), block_(block), variables_(launch.variables.size(), 0.0) {}

  Work run() {
    body(launch_.body, 1);
    return work_;
  }

 private:
  // Uniform values; what is not known counts as 0, both branches of what cannot be decided as the first.
  double value(const Expr& e) const {
    using Kind = Expr::Kind;
    const auto arg = [&](std::size_t i) { return value(*e.args[i]); };
    switch (e.kind) {
      case Kind::integer:
        return double(e.integer);
      case Kind::real:
        return e.real;
      case Kind::block:
        return block_[std::size_t(e.integer)];
      case Kind::variable:
        return variables_[std::size_t(e.integer)];
      case Kind::select:
        return arg(0) != 0 ? arg(1) : arg(2);
      case Kind::cast:
        return arg(0);
      case Kind::unary:
        return e.op == Op::neg ? -arg(0) : arg(0);
      case Kind::binary:
      case Kind::call:
        return e.args.size() == 2 ? operation(e.op, arg(0), arg(1)) : 0;
      default:
        return 0;
    }
  }
  static double operation(Op op, double a, double b) {
    switch (op) {
      case Op::add:
        return a + b;
      case Op::sub:
        return a - b;
      case Op::mul:
        return a * b;
      case Op::min:
        return std::min(a, b);
      case Op::max:
        return std::max(a, b);
      case Op::floordiv:
        return b == 0 ? 0 : std::floor(a / b);
      case Op::ceildiv:
        return b == 0 ? 0 : std::ceil(a / b);
      case Op::mod:
        return b == 0 ? 0 : a - b * std::floor(a / b);
      case Op::lt:
        return a < b;
      case Op::le:
        return a <= b;
      case Op::gt:
        return a > b;
      case Op::ge:
        return a >= b;
      case Op::eq:
        return a == b;
      case Op::ne:
        return a != b;
      default:
        return 0;
    }
  }

  void body(const bound::Body& statements, double times) {
    for (const auto& statement : statements) std::visit([&](const auto& node) { add(node, times); }, statement.node);
  }
  void add(const bound::Copy& copy, double times) { work_.elements += times * product_of(copy.shape); }
  void add(const bound::Fill& fill, double times) { work_.elements += times * product_of(tile(fill.tile).shape); }
  void add(const bound::Gemm& gemm, double times) {
    const auto& a = tile(gemm.a).shape;
    work_.products += times * product_of(tile(gemm.c).shape) * double(a[gemm.transpose_a ? 0 : 1]);
  }
  void add(const bound::Map& map, double times) {
    double nodes = 0;
    for (const auto& item : map.body) nodes += 1 + nodes_of(*item.value);
    work_.elements += times * product_of(map.extent) * nodes;
  }
  void add(const bound::Reduce& reduce, double times) { work_.elements += times * product_of(tile(reduce.from).shape); }
  void add(const bound::Scan& scan, double times) { work_.elements += times * product_of(tile(scan.from).shape); }
  void add(const bound::If& branch, double times) {
    body(value(*branch.condition) != 0 ? branch.then : branch.otherwise, times);
  }
  void add(const bound::Leave&, double) {}  // as if every assertion held
  void add(const bound::Let& let, double) { variables_[std::size_t(let.var)] = value(*let.value); }
  // Every trip is taken as the middle one.
  void add(const bound::For& loop, double times) {
    const double from = value(*loop.from), to = value(*loop.to), step = std::max(1.0, value(*loop.step));
    const double trips = std::max(0.0, std::ceil((to - from) / step));
    variables_[std::size_t(loop.var)] = from + step * std::floor(trips / 2);
    if (trips > 0) body(loop.body, times * trips);
  }
  [[nodiscard]] const bound::Tile& tile(int id) const { return launch_.tiles[std::size_t(id)]; }

  const bound::Launch& launch_;
  const std::vector<double>& block_;
  std::vector<double> variables_;
  Work work_;
};

constexpr int points_an_axis = 5;  // of the grid, from its first to its last block

}  // namespace

Work work_of(const bound::Program& program) {
  Work work;
  for (const auto& launch : program.launches) {
    const auto grid = bound::values(launch.grid);
    const double blocks = product_of(grid);
    if (blocks == 0) continue;
    constexpr double points = points_an_axis * points_an_axis * points_an_axis;
    for (int point = 0; point < int(points); ++point) {
      std::vector<double> block;
      for (int axis = 0, rest = point; axis < 3; ++axis, rest /= points_an_axis)
        block.push_back(std::floor(double(grid[std::size_t(axis)] - 1) * (rest % points_an_axis) /
                                   (points_an_axis - 1)));
      const auto there = BlockWalk(launch, block).run();
      work.products += there.products * blocks / points;
      work.elements += there.elements * blocks / points;
    }
  }
  return work;
}

double interpreter_seconds(const Work& work) { return work.products / 1.6e9 + work.elements / 1.5e8; }
double emulated_seconds(const Work& work) { return work.products / 2e10 + work.elements / 1e9; }

}  // namespace kiln::cli
