#include "engine/ir/tile/expression.hpp"

#include <array>
#include <charconv>
#include <cmath>

#include "engine/ir/tile/expression_parser.hpp"

namespace kiln {

const char* op_text(Op op) {
  switch (op) {
    case Op::add: return "+";
    case Op::sub: return "-";
    case Op::mul: return "*";
    case Op::div: return "/";
    case Op::floordiv: return "//";
    case Op::mod: return "%";
    case Op::shl: return "<<";
    case Op::shr: return ">>";
    case Op::bit_and: return "&";
    case Op::bit_or: return "|";
    case Op::bit_xor: return "^";
    case Op::lt: return "<";
    case Op::le: return "<=";
    case Op::gt: return ">";
    case Op::ge: return ">=";
    case Op::eq: return "==";
    case Op::ne: return "!=";
    case Op::logical_and: return "&&";
    case Op::logical_or: return "||";
    case Op::neg: return "-";
    case Op::bit_not: return "~";
    case Op::logical_not: return "!";
    case Op::bitcast: return "bitcast";
    default: break;
  }
  for (const auto& function : tile::functions())
    if (function.op == op) return function.name.data();  // literals: terminated by zero
  return "";
}

namespace tile {
namespace {

int level_of(const Expr& expr) {
  switch (expr.kind) {
    case Expr::Kind::select: return conditional_level;
    case Expr::Kind::binary: return operator_level(expr.op);
    case Expr::Kind::unary: return expr.op == Op::logical_not ? not_level : unary_level;
    default: return primary_level;
  }
}

class Printer {
 public:
  std::string text;

  void print(const Expr& expr) {
    switch (expr.kind) {
      case Expr::Kind::integer: text += std::to_string(expr.integer); break;
      case Expr::Kind::real: print_real(expr.real); break;
      case Expr::Kind::boolean: text += expr.integer ? "true" : "false"; break;
      case Expr::Kind::name: text += expr.text; break;
      case Expr::Kind::unary: print_unary(expr); break;
      case Expr::Kind::binary: print_binary(expr); break;
      case Expr::Kind::select:
        operand(*expr.args[1], or_level);
        text += " if ";
        operand(*expr.args[0], or_level);
        text += " else ";
        operand(*expr.args[2], conditional_level);
        break;
      case Expr::Kind::call:
        text += op_text(expr.op);
        print_list(expr, '(', expr.op == Op::bitcast ? ", " + expr.text + ")" : ")");
        break;
      case Expr::Kind::cast:
        text += "cast";
        print_list(expr, '(', ", " + expr.text + ")");
        break;
      case Expr::Kind::element:
        text += expr.text;
        print_list(expr, '[', "]");
        break;
    }
  }

 private:
  void operand(const Expr& expr, int level_min) {
    if (level_of(expr) >= level_min) return print(expr);
    text += '(';
    print(expr);
    text += ')';
  }

  void print_unary(const Expr& expr) {
    text += op_text(expr.op);
    operand(*expr.args[0], expr.op == Op::logical_not ? not_level : unary_level);
  }

  void print_binary(const Expr& expr) {
    const int level = operator_level(expr.op);
    // Comparisons do not associate: a comparison inside one is in parentheses on either side.
    operand(*expr.args[0], level == comparison_level ? level + 1 : level);
    text += std::string(" ") + op_text(expr.op) + " ";
    operand(*expr.args[1], level + 1);
  }

  void print_list(const Expr& expr, char open, const std::string& close) {
    text += open;
    for (std::size_t i = 0; i < expr.args.size(); ++i) {
      if (i) text += ", ";
      print(*expr.args[i]);
    }
    text += close;
  }

  void print_real(double value) {
    if (std::isnan(value)) {
      text += "nan";
      return;
    }
    if (std::isinf(value)) {
      text += "inf";
      return;
    }
    std::array<char, 40> buffer{};
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
    const std::string_view digits(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
    text += digits;
    if (digits.find_first_of(".e") == std::string_view::npos) text += ".0";
  }
};

}  // namespace

std::string print_expression(const Expr& expr) {
  Printer printer;
  printer.print(expr);
  return std::move(printer.text);
}

}  // namespace tile
}  // namespace kiln
