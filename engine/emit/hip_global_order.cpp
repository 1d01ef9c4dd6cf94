// Which launches exchange values between threads through global memory.
#include "engine/emit/hip_context.hpp"

namespace kiln::emit::hip {
namespace {

struct GlobalUse {
  std::vector<bool> read, written;

  void expression(const ExprPtr& expr) {
    if (!expr) return;
    if (expr->kind == Expr::Kind::tensor) read[static_cast<std::size_t>(expr->integer)] = true;
    for (const auto& arg : expr->args) expression(arg);
  }
  void expressions(const std::vector<ExprPtr>& list) {
    for (const auto& expr : list) expression(expr);
  }
  void side(const kernel::GlobalRef& ref, std::vector<bool>& used) {
    used[static_cast<std::size_t>(ref.tensor)] = true;
    expressions(ref.start);
    expressions(ref.limit);
  }
  void body(const kernel::Body& statements) {
    for (const auto& stmt : statements) std::visit(*this, stmt.node);
  }

  void operator()(const kernel::LoadGlobal& node) {
    side(node.from, read);
    expression(node.fill);
  }
  void operator()(const kernel::StoreGlobal& node) { side(node.to, written); }
  void operator()(const kernel::Direct& node) {
    side(node.global, node.to_lds ? read : written);
    expression(node.fill);
  }
  void operator()(const kernel::Fill& node) { expression(node.value); }
  void operator()(const kernel::Map& node) {
    for (const auto& item : node.body) {
      if (item.let < 0 && item.tensor) written[static_cast<std::size_t>(item.target)] = true;
      expressions(item.indices);
      expression(item.value);
      expression(item.compare);
      expression(item.where);
    }
  }
  void operator()(const kernel::For& node) {
    for (const auto& expr : {node.from, node.to}) expression(expr);
    body(node.body);
  }
  void operator()(const kernel::If& node) {
    expression(node.condition);
    body(node.then);
    body(node.otherwise);
  }
  void operator()(const kernel::Let& node) { expression(node.value); }
  void operator()(const kernel::Leave& node) { expression(node.condition); }
  template <class Other> void operator()(const Other&) {}
};

}  // namespace

bool reads_what_it_writes(const kernel::Launch& launch, const std::vector<bound::Tensor>& tensors) {
  GlobalUse use{std::vector<bool>(tensors.size(), false), std::vector<bool>(tensors.size(), false)};
  for (const auto& role : launch.roles) use.body(role.body);
  std::vector<bool> read(tensors.size(), false), written = read;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto memory = static_cast<std::size_t>(bound::memory_of(tensors, static_cast<int>(i)));
    read[memory] = read[memory] || use.read[i];
    written[memory] = written[memory] || use.written[i];
  }
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (read[i] && written[i]) return true;
  return false;
}

}  // namespace kiln::emit::hip
