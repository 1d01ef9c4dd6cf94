#include "engine/ir/tile/declaration_order.hpp"

#include <algorithm>
#include <set>
#include <string>

namespace kiln::tile {
namespace {

void collect_names(const ExprPtr& expr, std::set<std::string>& names) {
  if (!expr) return;
  if (expr->kind == Expr::Kind::name || expr->kind == Expr::Kind::cast) names.insert(expr->text);
  for (const auto& arg : expr->args) collect_names(arg, names);
}

template <class Declaration>
void order(std::vector<Declaration>& declarations) {
  std::set<std::string> waiting;
  for (const auto& d : declarations) waiting.insert(d.name);
  std::vector<Declaration> ordered;
  auto ready = [&](const Declaration& d) {
    std::set<std::string> used;
    collect_names(d.default_value.expr, used);
    return std::none_of(used.begin(), used.end(), [&](const std::string& name) { return waiting.count(name) > 0; });
  };
  while (!declarations.empty()) {
    const auto next = std::find_if(declarations.begin(), declarations.end(), ready);
    if (next == declarations.end()) break;  // a cycle
    waiting.erase(next->name);
    ordered.push_back(std::move(*next));
    declarations.erase(next);
  }
  std::move(declarations.begin(), declarations.end(), std::back_inserter(ordered));
  declarations = std::move(ordered);
}

}  // namespace

void order_by_use(std::vector<Option>& options) { order(options); }
void order_by_use(std::vector<Tunable>& tunables) { order(tunables); }

}  // namespace kiln::tile
