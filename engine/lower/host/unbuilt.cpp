#include "engine/lower/host/unbuilt.hpp"

#include <initializer_list>
#include <string>

namespace kiln::lower::host {
namespace {

using bound::Expr;
using bound::ExprPtr;

bool is_built(const Expr& expr) {
  return expr.kind != Expr::Kind::call || expr.type != DType::f64 || (expr.op != Op::erf && expr.op != Op::pow);
}

class Finder {
 public:
  void body(const bound::Body& statements) {
    for (const auto& stmt : statements) {
      pointer_ = stmt.pointer;
      std::visit([&](const auto& node) { visit(node); }, stmt.node);
    }
  }
  Diagnostics& diagnostics() { return diagnostics_; }

 private:
  void look(const ExprPtr& expr) {
    if (!expr) return;
    if (!is_built(*expr)) add(*expr);
    look(expr->args);
  }
  void look(const std::vector<ExprPtr>& list) {
    for (const auto& expr : list) look(expr);
  }
  void add(const Expr& expr) {
    Diagnostic d;
    d.pointer = pointer_;
    d.message = std::string("not yet on host targets: ") + op_text(expr.op) + " of f64";
    d.hint = "compute it in f32: cast(" + std::string(op_text(expr.op)) + "(cast(x, f32)" +
             (expr.op == Op::pow ? ", cast(y, f32)" : "") + "), f64)";
    diagnostics_.add(std::move(d));
  }

  void visit(const bound::Copy& copy) {
    for (const auto* list : {&copy.from.start, &copy.to.start, &copy.limit}) look(*list);
    look(copy.fill);
  }
  void visit(const bound::Fill& fill) { look(fill.value); }
  void visit(const bound::Gemm&) {}
  void visit(const bound::Map& map) {
    for (const auto& item : map.body) {
      look(item.indices);
      look(item.value);
      look(item.where);
      look(item.compare);
    }
  }
  void visit(const bound::Reduce&) {}
  void visit(const bound::Scan&) {}
  void visit(const bound::For& loop) {
    for (const auto& expr : {loop.from, loop.to, loop.step}) look(expr);
    body(loop.body);
  }
  void visit(const bound::If& branch) {
    look(branch.condition);
    body(branch.then);
    body(branch.otherwise);
  }
  void visit(const bound::Let& let) { look(let.value); }
  void visit(const bound::Leave& leave) { look(leave.condition); }

  std::string pointer_;
  Diagnostics diagnostics_;
};

}  // namespace

Status check_built(const bound::Launch& launch) {
  Finder finder;
  finder.body(launch.body);
  if (!finder.diagnostics().has_errors()) return ok();
  Error error(ErrorCode::unsupported, "the program uses what is not built yet for host targets");
  error.diagnostics = finder.diagnostics().take();
  return error;
}

}  // namespace kiln::lower::host
