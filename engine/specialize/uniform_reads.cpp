#include "engine/specialize/uniform_reads.hpp"

#include <algorithm>

namespace kiln::specialize {
namespace {

class Walk {
 public:
  explicit Walk(std::size_t tensors) : written_(tensors, false) {}

  void body(const bound::Body& statements) {
    for (const auto& stmt : statements) {
      pointer_ = &stmt.pointer;
      std::visit([&](const auto& node) { visit(node); }, stmt.node);
    }
  }
  std::vector<WrittenRead> take() {
    std::erase_if(reads_, [&](const WrittenRead& read) { return !written_[static_cast<std::size_t>(read.tensor)]; });
    return std::move(reads_);
  }

 private:
  void visit(const bound::Copy& copy) {
    if (copy.to.is_tensor) written_[static_cast<std::size_t>(copy.to.id)] = true;
  }
  void visit(const bound::Map& map) {
    for (const auto& item : map.body)
      if (item.let < 0 && item.tensor) written_[static_cast<std::size_t>(item.target)] = true;
  }
  void visit(const bound::For& loop) { body(loop.body); }
  void visit(const bound::If& branch) {
    body(branch.then);
    body(branch.otherwise);
  }
  void visit(const bound::Let& let) { expression(*let.value); }
  template <class Other> void visit(const Other&) {}

  void expression(const bound::Expr& expr) {
    if (expr.kind == bound::Expr::Kind::tensor) reads_.push_back({*pointer_, static_cast<int>(expr.integer)});
    for (const auto& arg : expr.args) expression(*arg);
  }

  std::vector<bool> written_;
  std::vector<WrittenRead> reads_;
  const std::string* pointer_ = nullptr;
};

}  // namespace

std::vector<WrittenRead> reads_of_written(const bound::Body& body, std::size_t tensors) {
  Walk walk(tensors);
  walk.body(body);
  return walk.take();
}

}  // namespace kiln::specialize
