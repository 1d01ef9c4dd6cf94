// Bound programs as text.
#include <charconv>
#include <cmath>

#include "engine/ir/bound/arithmetic.hpp"
#include "engine/ir/bound/program.hpp"

namespace kiln::bound {
namespace {

std::string or_number(const std::string& name, char letter, std::int64_t id) {
  return name.empty() ? letter + std::to_string(id) : name;
}

// The shortest decimal that reads back as the same double, always with a sign that it is no integer.
std::string real_text(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, v).ptr;
  std::string text(buffer, end);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::string list_text(const std::vector<std::int64_t>& list) {
  std::string text = "[";
  for (std::size_t i = 0; i < list.size(); ++i) text += (i ? ", " : "") + std::to_string(list[i]);
  return text + "]";
}

std::string list_text(const Extents& list, const std::vector<Symbol>& symbols) {
  std::string text = "[";
  for (std::size_t i = 0; i < list.size(); ++i) text += (i ? ", " : "") + print(list[i], symbols);
  return text + "]";
}

std::string pair_text(const char* what, int a, int b) {
  return a == 0 && b == 0 ? "" : std::string(" ") + what + " " + std::to_string(a) + "x" + std::to_string(b);
}

std::string schedule_text(const LaunchSchedule& s) {
  const std::string order = s.order.panel == 0 ? ""
                                               : " panels of " + std::to_string(s.order.panel) + " along " +
                                                     (s.order.along_y ? "y" : "x");
  const std::string text = order + pair_text("waves", s.waves_m, s.waves_n);
  return text.empty() ? "" : text + (s.hint ? " (a hint)" : "");
}

std::string schedule_text(const GemmSchedule& s) {
  std::string text = pair_text("instruction", s.m, s.n);
  if (s.k > 0) text += (text.empty() ? " instruction 0x0x" : "x") + std::to_string(s.k);
  if (s.k_pack > 0) text += " k-pack " + std::to_string(s.k_pack);
  text += pair_text("waves", s.waves_m, s.waves_n);
  return text.empty() ? "" : " by" + text + (s.hint ? " (a hint)" : "");
}

class Printer {
 public:
  Printer(const Program& program, const Launch& launch) : program_(program), launch_(launch) {}

  std::string launch_text(std::size_t number) {
    text_ = "launch " + std::to_string(number) + " grid " + list_text(launch_.grid, program_.symbols) + " threads " +
            std::to_string(launch_.threads) + schedule_text(launch_.schedule) + "\n";
    for (std::size_t i = 0; i < launch_.tiles.size(); ++i) {
      const auto& t = launch_.tiles[i];
      text_ += "  " + std::string(space_name(t.space)) + " " + or_number(t.name, 't', static_cast<std::int64_t>(i)) +
               ": " + dtype_name(t.dtype) + list_text(t.shape);
      if (t.layout.kind != LayoutSpec::Kind::automatic) text_ += " layout " + layout_spec_text(t.layout);
      text_ += "\n";
    }
    body(launch_.body, 1);
    return std::move(text_);
  }

  std::vector<StatementText> statements() {
    body(launch_.body, 0);
    return std::move(statements_);
  }

  std::string expr(const Expr& e, bool inner = false) const {
    using Kind = Expr::Kind;
    switch (e.kind) {
      case Kind::integer:
        return e.type == DType::boolean ? (e.integer ? "true" : "false") : literal(e, std::to_string(e.integer));
      case Kind::real: return literal(e, real_text(e.real));
      case Kind::block: return std::string("bid.") + static_cast<char>('x' + e.integer);
      case Kind::variable: return variable(static_cast<int>(e.integer));
      case Kind::scalar: return tensor(static_cast<int>(e.integer));
      case Kind::symbol: {
        const auto number = static_cast<std::size_t>(e.integer);
        return or_number(number < program_.symbols.size() ? program_.symbols[number].name : "", 's', e.integer);
      }
      case Kind::unary: return std::string(op_text(e.op)) + expr(*e.args[0], true);
      case Kind::binary: {
        const auto text = expr(*e.args[0], true) + " " + op_text(e.op) + " " + expr(*e.args[1], true);
        return inner ? "(" + text + ")" : text;
      }
      case Kind::call:
        return op_text(e.op) + (e.op == Op::bitcast ? "<" + std::string(dtype_name(e.type)) + ">" : "") + "(" +
               exprs(e.args) + ")";
      case Kind::select: {
        const auto text = expr(*e.args[1], true) + " if " + expr(*e.args[0], true) + " else " + expr(*e.args[2], true);
        return inner ? "(" + text + ")" : text;
      }
      case Kind::cast: return std::string(dtype_name(e.type)) + "(" + expr(*e.args[0]) + ")";
      case Kind::tile: return tile(static_cast<int>(e.integer)) + "[" + exprs(e.args) + "]";
      case Kind::tensor: return tensor(static_cast<int>(e.integer)) + "[" + exprs(e.args) + "]";
    }
    return "?";
  }

 private:
  // Index literals are plain; others name their type.
  static std::string literal(const Expr& e, const std::string& digits) {
    return e.type == DType::index ? digits : digits + ":" + dtype_name(e.type);
  }
  std::string exprs(const std::vector<ExprPtr>& list) const {
    std::string text;
    for (const auto& e : list) text += (text.empty() ? "" : ", ") + expr(*e);
    return text;
  }
  std::string tile(int id) const {
    const auto known = id >= 0 && static_cast<std::size_t>(id) < launch_.tiles.size();
    return or_number(known ? launch_.tiles[id].name : "", 't', id);
  }
  std::string tensor(int id) const {
    const auto known = id >= 0 && static_cast<std::size_t>(id) < program_.tensors.size();
    return or_number(known ? program_.tensors[id].name : "", 'p', id);
  }
  std::string variable(int id) const {
    const auto known = id >= 0 && static_cast<std::size_t>(id) < launch_.variables.size();
    return or_number(known ? launch_.variables[id].name : "", 'v', id);
  }
  std::string region(const Region& r) const {
    std::string text = r.is_tensor ? tensor(r.id) : tile(r.id);
    if (r.start.empty()) return text;
    text += "[";
    for (std::size_t i = 0; i < r.start.size(); ++i)
      text += (i ? ", " : "") + expr(*r.start[i], r.ranged[i]) + (r.ranged[i] ? ":" : "");
    return text + "]";
  }

  void line(int depth, const std::string& text) {
    text_ += std::string(2 * static_cast<std::size_t>(depth), ' ') + text + turn_text() + "\n";
    turn_ = {};
  }
  // Of the statement whose first line this is.
  std::string turn_text() const {
    return (turn_.position >= 0 ? " at " + std::to_string(turn_.position) : "") +
           (turn_.stage >= 0 ? " stage " + std::to_string(turn_.stage) : "");
  }
  void body(const Body& statements, int depth) {
    for (const auto& s : statements) {
      turn_ = s.turn;
      const auto at = statements_.size(), begin = text_.size() + 2 * static_cast<std::size_t>(depth);
      statements_.push_back({s.pointer, ""});
      std::visit([&](const auto& node) { write(node, depth); }, s.node);
      statements_[at].text = text_.substr(begin, text_.find('\n', begin) - begin);
    }
  }
  void write(const Copy& c, int depth) {
    std::string text = "copy " + region(c.to) + " = " + region(c.from) + " " + list_text(c.shape);
    if (c.fill) text += " fill " + expr(*c.fill);
    for (std::size_t i = 0; i < c.limit.size(); ++i)
      if (c.limit[i]) text += " limit " + std::to_string(i) + ": " + expr(*c.limit[i]);
    if (c.schedule.vector_bytes > 0) text += " by " + std::to_string(c.schedule.vector_bytes) + " bytes";
    line(depth, text);
  }
  void write(const Fill& f, int depth) { line(depth, "fill " + tile(f.tile) + " = " + expr(*f.value)); }
  void write(const Gemm& g, int depth) {
    line(depth, "gemm " + tile(g.c) + (g.clear ? " = " : " += ") + tile(g.a) + (g.transpose_a ? "^T" : "") + " * " +
                    tile(g.b) + (g.transpose_b ? "^T" : "") + schedule_text(g.schedule));
  }
  void write(const Map& m, int depth) {
    std::string text = "map";
    for (std::size_t i = 0; i < m.index.size(); ++i)
      text += (i ? ", " : " ") + variable(m.index[i]) + " < " + std::to_string(m.extent[i]);
    line(depth, text);
    for (const auto& item : m.body) {
      if (item.let >= 0) line(depth + 1, "let " + variable(item.let) + " = " + expr(*item.value));
      else if (item.atomic != tile::AtomicOp::none)
        line(depth + 1, (item.old >= 0 ? "let " + variable(item.old) + " = " : "") + "atomic " +
                            tile::atomic_op_name(item.atomic) + " " + tensor(item.target) + "[" + exprs(item.indices) +
                            "], " + expr(*item.value) + (item.compare ? " if " + expr(*item.compare) : "") +
                            (item.where ? " where " + expr(*item.where) : ""));
      else
        line(depth + 1, (item.tensor ? tensor(item.target) : tile(item.target)) + "[" + exprs(item.indices) +
                            "] = " + expr(*item.value) + (item.where ? " where " + expr(*item.where) : ""));
    }
  }
  void write(const Reduce& r, int depth) {
    line(depth, "reduce " + tile(r.to) + (r.accumulate ? " += " : " = ") + tile::reduce_op_name(r.op) + " of " +
                    tile(r.from) + " over axis " + std::to_string(r.axis));
  }
  void write(const Scan& s, int depth) {
    line(depth, "scan " + tile(s.to) + " = " + tile::reduce_op_name(s.op) + " of " + tile(s.from) + " along axis " +
                    std::to_string(s.axis) + (s.reverse ? " reverse" : ""));
  }
  void write(const For& f, int depth) {
    std::string text =
        "for " + variable(f.var) + " in " + expr(*f.from, true) + " .. " + expr(*f.to, true) + " step " + expr(*f.step);
    if (f.kind == tile::For::Kind::unrolled) text += " unrolled";
    if (f.kind == tile::For::Kind::pipelined)
      text += f.stages > 0 ? " pipelined " + std::to_string(f.stages) : " pipelined";
    line(depth, text);
    body(f.body, depth + 1);
  }
  void write(const If& i, int depth) {
    line(depth, "if " + expr(*i.condition));
    body(i.then, depth + 1);
    if (i.otherwise.empty()) return;
    line(depth, "else");
    body(i.otherwise, depth + 1);
  }
  void write(const Leave& l, int depth) { line(depth, "leave the block if " + expr(*l.condition)); }
  void write(const Let& l, int depth) { line(depth, "let " + variable(l.var) + " = " + expr(*l.value)); }

  const Program& program_;
  const Launch& launch_;
  std::string text_;
  std::vector<StatementText> statements_;
  Turn turn_;  // of the statement that is being printed, until its first line is
};

std::string symbol_line(const Symbol& s, std::size_t number) {
  return "symbol " + or_number(s.name, 's', static_cast<std::int64_t>(number)) + ": " + std::to_string(s.min) + " .. " +
         std::to_string(s.max) + (s.multiple_of > 1 ? " multiple of " + std::to_string(s.multiple_of) : "") + "\n";
}

std::string tensor_line(const Tensor& t, std::size_t number, const std::vector<Symbol>& symbols) {
  const auto name = or_number(t.name, 'p', static_cast<std::int64_t>(number));
  if (t.scalar) return "scalar " + name + ": " + dtype_name(t.dtype) + "\n";
  const std::string kind = t.workspace ? t.zeroed ? "zeroed workspace " : "workspace " : "tensor ";
  return kind + name + ": " + dtype_name(t.dtype) + list_text(t.shape, symbols) + " strides " +
         list_text(t.strides, symbols) + " " +
         access_name(t.access) + " align " + std::to_string(t.align_bytes) + (t.may_alias ? " may_alias" : "") + "\n";
}

}  // namespace

std::string print(const Program& program) {
  std::string text = "program " + program.name + " for " + program.target + "\n";
  for (std::size_t i = 0; i < program.symbols.size(); ++i) text += symbol_line(program.symbols[i], i);
  for (std::size_t i = 0; i < program.tensors.size(); ++i) text += tensor_line(program.tensors[i], i, program.symbols);
  for (std::size_t i = 0; i < program.launches.size(); ++i)
    text += Printer(program, program.launches[i]).launch_text(i);
  return text;
}

std::vector<StatementText> statement_texts(const Program& program, const Launch& launch) {
  return Printer(program, launch).statements();
}

std::string print(const Extent& extent, const std::vector<Symbol>& symbols) {
  if (extent.is_static()) return std::to_string(extent.value());
  Program names;
  names.symbols = symbols;
  const Launch launch;
  return Printer(names, launch).expr(*extent.expr());
}

std::string print(const Program& program, const Launch& launch, const Expr& expr) {
  return Printer(program, launch).expr(expr);
}

}  // namespace kiln::bound
