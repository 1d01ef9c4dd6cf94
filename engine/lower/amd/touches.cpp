#include <algorithm>

#include "engine/lower/amd/finish.hpp"

namespace kiln::lower::amd {
namespace {

class Toucher {
 public:
  explicit Toucher(const kernel::Launch& launch) : launch_(launch) {}
  Touches touches;

  void operator()(const kernel::LoadGlobal& node) { global(node.from); read(touches.tensors_read, node.from.tensor);
      maybe(node.fill); }
  void operator()(const kernel::StoreGlobal& node) { global(node.to); read(touches.tensors_written, node.to.tensor); }
  void operator()(const kernel::LoadLds& node) { read(touches.lds_read, node.from.storage); }
  void operator()(const kernel::StoreLds& node) { read(touches.lds_written, node.to.storage); }
  void operator()(const kernel::Direct& node) {
    global(node.global);
    read(node.to_lds ? touches.lds_written : touches.lds_read, node.lds.storage);
    read(node.to_lds ? touches.tensors_read : touches.tensors_written, node.global.tensor);
    maybe(node.fill);
  }
  void operator()(const kernel::Fill& node) {
    if (is_lds(node.storage)) read(touches.lds_written, node.storage);
    maybe(node.value);
  }
  void operator()(const kernel::Map& node) {
    for (const auto& item : node.body) {
      expression(*item.value);
      maybe(item.where);
      maybe(item.compare);
      for (const auto& index : item.indices) expression(*index);
      if (item.let >= 0) continue;
      if (item.tensor) {
        read(touches.tensors_written, item.target);
      } else if (is_lds(item.target)) {
        read(touches.lds_written, item.target);
        touches.partial_write = true;
      }
    }
  }
  void operator()(const kernel::Reduce& node) { scratch(node.scratch); }
  void operator()(const kernel::Convert& node) { scratch(node.scratch); }
  void operator()(const kernel::For& node) { maybe(node.from); maybe(node.to); }
  void operator()(const kernel::If& node) { maybe(node.condition); }
  void operator()(const kernel::Let& node) { maybe(node.value); }
  void operator()(const kernel::Leave& node) { maybe(node.condition); }
  template <class Other> void operator()(const Other&) {}

 private:
  bool is_lds(int id) const { return launch_.storages[id].kind == kernel::Storage::Kind::lds; }
  static void read(std::vector<int>& list, int id) {
    if (std::find(list.begin(), list.end(), id) == list.end()) list.push_back(id);
  }
  void scratch(int id) {
    if (id < 0) return;
    read(touches.lds_written, id);
    read(touches.lds_read, id);
  }
  void global(const kernel::GlobalRef& ref) {
    for (const auto& expr : ref.start) maybe(expr);
    for (const auto& expr : ref.limit) maybe(expr);
  }
  void maybe(const bound::ExprPtr& expr) {
    if (expr) expression(*expr);
  }
  void expression(const bound::Expr& expr) {
    const int id = static_cast<int>(expr.integer);
    if (expr.kind == bound::Expr::Kind::tile && is_lds(id)) read(touches.lds_read, id);
    if (expr.kind == bound::Expr::Kind::tensor) read(touches.tensors_read, id);
    for (const auto& arg : expr.args) expression(*arg);
  }
  const kernel::Launch& launch_;
};

}  // namespace

Touches touches_of(const kernel::Launch& launch, const kernel::Stmt& stmt) {
  Toucher toucher(launch);
  std::visit(toucher, stmt.node);
  return std::move(toucher.touches);
}

}  // namespace kiln::lower::amd
