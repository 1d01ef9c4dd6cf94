#include "engine/tune/work.hpp"

#include <algorithm>
#include <limits>
#include <map>

namespace kiln::tune {
namespace {

// Steps of an element beside a product of a gemm, measured on the interpreter.
constexpr double steps_of_copy = 10, steps_of_operation = 20, steps_of_reduce = 10;
constexpr double most = 0x1p53 - 1;   // what JSON's readers take for an integer

class Estimate {
 public:
  explicit Estimate(const bound::Launch& launch) : launch_(launch) {}

  double blocks() const {
    double count = 1;
    for (const auto& extent : launch_.grid) count *= static_cast<double>(extent.value());
    return count;
  }

  double body(const bound::Body& statements) {
    double steps = 0;
    for (const auto& statement : statements) steps += std::visit([&](const auto& s) { return of(s); }, statement.node);
    return steps;
  }

 private:
  double elements(int tile) const {
    return static_cast<double>(launch_.tiles[static_cast<std::size_t>(tile)].elements());
  }

  double of(const bound::Copy& copy) {
    double count = steps_of_copy;
    for (const auto extent : copy.shape) count *= static_cast<double>(extent);
    return count;
  }
  double of(const bound::Fill& fill) { return elements(fill.tile); }
  double of(const bound::Gemm& gemm) {
    const auto& a = launch_.tiles[static_cast<std::size_t>(gemm.a)].shape;
    const auto depth = a[gemm.transpose_a ? a.size() - 2 : a.size() - 1];
    return elements(gemm.c) * static_cast<double>(depth);
  }
  double of(const bound::Map& map) {
    double count = 1, operations = 0;
    for (const auto extent : map.extent) count *= static_cast<double>(extent);
    for (const auto& item : map.body) operations += 1 + nodes(*item.value) + (item.where ? nodes(*item.where) : 0);
    return count * operations * steps_of_operation;
  }
  double of(const bound::Reduce& reduce) { return elements(reduce.from) * steps_of_reduce; }
  double of(const bound::Scan& scan) { return elements(scan.from) * steps_of_reduce; }
  double of(const bound::For& loop) {
    const double from = upper(*loop.from, 0), to = upper(*loop.to, most), step = upper(*loop.step, 1);
    variables_[loop.var] = std::max(to - 1, 0.0);
    return std::max(0.0, (to - from + step - 1) / std::max(step, 1.0)) * body(loop.body);
  }
  double of(const bound::If& choice) { return std::max(body(choice.then), body(choice.otherwise)); }
  double of(const bound::Leave&) { return 1; }
  double of(const bound::Let& let) {
    variables_[let.var] = upper(*let.value, most);
    return 1;
  }

  static double nodes(const bound::Expr& expr) {
    double count = 1;
    for (const auto& arg : expr.args) count += nodes(*arg);
    return count;
  }

  // A value in the last block; `unknown` where it depends on what is loaded.
  double upper(const bound::Expr& e, double unknown) const {
    using Kind = bound::Expr::Kind;
    switch (e.kind) {
      case Kind::integer: return static_cast<double>(e.integer);
      case Kind::block:
        return std::max(0.0, static_cast<double>(launch_.grid[static_cast<std::size_t>(e.integer)].value()) - 1);
      case Kind::variable: {
        const auto found = variables_.find(static_cast<int>(e.integer));
        return found == variables_.end() ? unknown : found->second;
      }
      case Kind::cast: return upper(*e.args[0], unknown);
      case Kind::select: return std::max(upper(*e.args[1], unknown), upper(*e.args[2], unknown));
      case Kind::binary:
      case Kind::call:
        return e.args.size() == 2 ? combined(e.op, upper(*e.args[0], unknown), upper(*e.args[1], unknown), unknown)
                                  : unknown;
      default: return unknown;
    }
  }

  static double combined(Op op, double a, double b, double unknown) {
    switch (op) {
      case Op::add: return a + b;
      case Op::sub: return a - b;
      case Op::mul: return a * b;
      case Op::min: return std::min(a, b);
      case Op::max: return std::max(a, b);
      case Op::floordiv: case Op::ceildiv: return b > 0 ? a / b + 1 : unknown;
      case Op::mod: return b > 0 ? b - 1 : unknown;
      default: return unknown;
    }
  }

  const bound::Launch& launch_;
  std::map<int, double> variables_;
};

}  // namespace

std::int64_t interpreter_steps(const bound::Program& program) {
  double steps = 0;
  for (const auto& launch : program.launches) {
    Estimate estimate(launch);
    steps += estimate.blocks() * estimate.body(launch.body);
  }
  return static_cast<std::int64_t>(std::min(steps, most));
}

}  // namespace kiln::tune
