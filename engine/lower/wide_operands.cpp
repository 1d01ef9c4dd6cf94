#include "engine/lower/wide_operands.hpp"

#include <algorithm>
#include <utility>

#include "engine/ir/float8.hpp"

namespace kiln::lower {
namespace {

using bound::Expr;
using bound::ExprPtr;

constexpr DType wide = DType::bf16;

ExprPtr widened(ExprPtr value) {
  Expr made;
  made.kind = Expr::Kind::cast;
  made.type = wide;
  made.args = {std::move(value)};
  return std::make_shared<const Expr>(std::move(made));
}

bool has_none(const target::Target& target, DType type) {
  return float8_format(type) && target.matrix_for(type, DType::f32).empty();
}

template <class Visit> void each_statement(bound::Body& body, const Visit& visit) {
  for (auto& stmt : body) {
    visit(stmt);
    if (auto* loop = std::get_if<bound::For>(&stmt.node)) each_statement(loop->body, visit);
    if (auto* branch = std::get_if<bound::If>(&stmt.node)) {
      each_statement(branch->then, visit);
      each_statement(branch->otherwise, visit);
    }
  }
}

class Widening {
 public:
  Widening(const bound::Program& program, bound::Launch& launch, const target::Target& target)
      : program_(program), launch_(launch), target_(target), narrow_(launch.tiles.size(), DType::boolean) {}

  // The tiles to widen: operands that no instruction takes.
  void find() {
    each_statement(launch_.body, [&](bound::Stmt& stmt) {
      const auto* gemm = std::get_if<bound::Gemm>(&stmt.node);
      if (gemm == nullptr) return;
      const DType type = tile(gemm->a).dtype;
      if (!has_none(target_, type)) return;
      for (const int operand : {gemm->a, gemm->b}) narrow_[static_cast<std::size_t>(operand)] = type;
    });
  }

  // The first statement that would see another value than the narrow tile has.
  const bound::Stmt* obstacle() {
    const bound::Stmt* found = nullptr;
    each_statement(launch_.body, [&](bound::Stmt& stmt) {
      if (found == nullptr && !allows(stmt)) found = &stmt;
    });
    return found;
  }

  void widen(std::vector<Decision>& decisions) {
    each_statement(launch_.body, [&](bound::Stmt& stmt) {
      if (auto* fill = std::get_if<bound::Fill>(&stmt.node); fill != nullptr && chosen(fill->tile))
        fill->value = widened(fill->value);
      if (auto* copy = std::get_if<bound::Copy>(&stmt.node); copy != nullptr && copy->fill && chosen(copy->from))
        copy->fill = widened(copy->fill);
      auto* map = std::get_if<bound::Map>(&stmt.node);
      if (map == nullptr) return;
      for (auto& item : map->body)
        if (item.let < 0 && !item.tensor && chosen(item.target)) item.value = widened(item.value);
    });
    for (std::size_t i = 0; i < narrow_.size(); ++i) {
      if (narrow_[i] == DType::boolean) continue;
      bound::Tile& one = launch_.tiles[i];
      one.dtype = wide;
      one.layout.pad_bytes += one.layout.pad_bytes % 2;  // whole elements
      decisions.push_back({"operands", one.name,
                           std::string("holds ") + dtype_name(narrow_[i]) + " as bf16: " + target_.arch +
                               " has no matrix instruction for it"});
    }
  }

 private:
  const bound::Tile& tile(int id) const { return launch_.tiles[static_cast<std::size_t>(id)]; }
  bool chosen(int id) const { return narrow_[static_cast<std::size_t>(id)] != DType::boolean; }
  bool chosen(const bound::Region& region) const { return !region.is_tensor && chosen(region.id); }
  DType type_of(const bound::Region& region) const {
    return region.is_tensor ? program_.tensors[static_cast<std::size_t>(region.id)].dtype : tile(region.id).dtype;
  }
  bool reads_chosen(const Expr& e) const {
    return (e.kind == Expr::Kind::tile && chosen(static_cast<int>(e.integer))) ||
           std::any_of(e.args.begin(), e.args.end(), [&](const auto& arg) { return reads_chosen(*arg); });
  }
  bool allows(const bound::Stmt& stmt) const {
    if (const auto* copy = std::get_if<bound::Copy>(&stmt.node))
      return !chosen(copy->to) || type_of(copy->from) == tile(copy->to.id).dtype;
    const auto* map = std::get_if<bound::Map>(&stmt.node);
    return map == nullptr || std::none_of(map->body.begin(), map->body.end(), [&](const bound::MapItem& item) {
      return reads_chosen(*item.value) || (item.where && reads_chosen(*item.where)) ||
             (item.compare && reads_chosen(*item.compare)) ||
             std::any_of(item.indices.begin(), item.indices.end(), [&](const auto& e) { return reads_chosen(*e); });
    });
  }

  const bound::Program& program_;
  bound::Launch& launch_;
  const target::Target& target_;
  std::vector<DType> narrow_;  // the type of each tile that is chosen; boolean: it is not
};

}  // namespace

Result<std::optional<bound::Program>> with_wide_operands(const bound::Program& program, const target::Target& target,
                                                         std::vector<Decision>& decisions) {
  const bool any = std::any_of(program.launches.begin(), program.launches.end(), [&](const bound::Launch& launch) {
    return std::any_of(launch.tiles.begin(), launch.tiles.end(),
                       [&](const bound::Tile& tile) { return has_none(target, tile.dtype); });
  });
  if (!any) return std::optional<bound::Program>();
  bound::Program made = program;
  for (auto& launch : made.launches) {
    Widening widening(program, launch, target);
    widening.find();
    if (const bound::Stmt* stmt = widening.obstacle()) {
      const std::string message =
          "not yet: an operand of 8-bit floats that is rounded to them, or read by a map, where the target has no "
          "matrix instruction for them";
      Error error(ErrorCode::unsupported, message);
      error.diagnostics.push_back({Severity::error, stmt->pointer, message,
                                   "tiles that are copied from tensors of their own type, and read by products", "",
                                   "use bf16 tiles: they hold every 8-bit float", ""});
      return error;
    }
    widening.widen(decisions);
  }
  return std::optional<bound::Program>(std::move(made));
}

}  // namespace kiln::lower
