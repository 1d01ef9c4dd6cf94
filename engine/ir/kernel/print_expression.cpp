#include "engine/ir/kernel/print_expression.hpp"

#include <charconv>
#include <cmath>

#include "engine/ir/bound/arithmetic.hpp"

namespace kiln::kernel {
namespace {

using bound::Expr;
using Kind = Expr::Kind;

// Python's precedence; a higher level binds tighter.
int level_of(Op op) {
  switch (op) {
    case Op::logical_or: return 2;
    case Op::logical_and: return 3;
    case Op::lt: case Op::le: case Op::gt: case Op::ge: case Op::eq: case Op::ne: return 5;
    case Op::bit_or: return 6;
    case Op::bit_xor: return 7;
    case Op::bit_and: return 8;
    case Op::shl: case Op::shr: return 9;
    case Op::add: case Op::sub: return 10;
    default: return 11;
  }
}
constexpr int select_level = 1, unary_level = 12;

std::string real_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[32];
  const std::string text(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

const std::string& name_of(const std::vector<std::string>& names, std::int64_t id) {
  static const std::string unknown = "?";
  return id >= 0 && id < static_cast<std::int64_t>(names.size()) ? names[id] : unknown;
}

class Printer {
 public:
  explicit Printer(const Names& names) : names_(names) {}

  std::string print(const Expr& expr, int outer) const {
    switch (expr.kind) {
      case Kind::integer:
        if (expr.type == DType::boolean) return expr.integer != 0 ? "true" : "false";
        return constant(expr, std::to_string(expr.integer));
      case Kind::real: return constant(expr, real_text(expr.real));
      case Kind::block: return std::string("bid.") + static_cast<char>('x' + expr.integer);
      case Kind::variable: return name_of(names_.variables, expr.integer);
      case Kind::scalar: return name_of(names_.tensors, expr.integer);
      case Kind::symbol: return name_of(names_.symbols, expr.integer);
      case Kind::unary: {
        const std::string sign = op_text(expr.op) + std::string(expr.op == Op::logical_not ? " " : "");
        return wrap(sign + print(*expr.args[0], unary_level), unary_level, outer);
      }
      case Kind::binary: {
        const int level = level_of(expr.op);
        return wrap(print(*expr.args[0], level == 5 ? 6 : level) + " " + op_text(expr.op) + " " +
                    print(*expr.args[1], level + 1), level, outer);
      }
      case Kind::call: {
        const std::string type = expr.op == Op::bitcast ? "<" + std::string(dtype_name(expr.type)) + ">" : "";
        return op_text(expr.op) + type + "(" + list(expr) + ")";
      }
      case Kind::select: {
        const auto text = print(*expr.args[1], select_level + 1) + " if " + print(*expr.args[0], select_level + 1) +
            " else " + print(*expr.args[2], select_level);
        return wrap(text, select_level, outer);
      }
      case Kind::cast: return std::string(dtype_name(expr.type)) + "(" + list(expr) + ")";
      case Kind::tile: return name_of(names_.storages, expr.integer) + "[" + list(expr) + "]";
      case Kind::tensor: return name_of(names_.tensors, expr.integer) + "[" + list(expr) + "]";
    }
    return "?";
  }

 private:
  static std::string constant(const Expr& expr, const std::string& digits) {
    return expr.type == DType::index ? digits : digits + ":" + dtype_name(expr.type);
  }
  static std::string wrap(const std::string& text, int level, int outer) {
    return level < outer ? "(" + text + ")" : text;
  }
  std::string list(const Expr& expr) const {
    std::string text;
    for (const auto& arg : expr.args) text += (text.empty() ? "" : ", ") + print(*arg, 0);
    return text;
  }
  const Names& names_;
};

}  // namespace

std::string print_expression(const Expr& expr, const Names& names) { return Printer(names).print(expr, 0); }

}  // namespace kiln::kernel
