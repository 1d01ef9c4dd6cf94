// Emission of one launch's kernel statements from its plan: storages, conversions, expressions, and a translator a
// statement.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/lower/amd/accesses.hpp"
#include "engine/lower/amd/plan.hpp"

namespace kiln::lower::amd {

// Operands of a gemm that a loop keeps in registers: storage of each k slice.
struct KeptOperands {
  std::vector<int> a, b;
};

class Builder {
 public:
  Builder(const Subject& subject, const Plan& plan, Lowered& report);

  // ---- storages ----
  int add_regs(const std::string& name, DType dtype, const layout::RegLayout& layout, int vector_elements = 1,
               int tile = -1);
  int add_lds(const std::string& name, DType dtype, const layout::LdsLayout& layout, int tile = -1);
  // Where the tile lives: a fragment's home registers, a shared tile's LDS.
  int storage_of(int tile);
  int add_variable(const std::string& name, DType type = DType::index);
  kernel::Storage& storage(int id) { return out.storages[id]; }
  [[nodiscard]] std::string name_of(int tile) const;

  template <class Node>
  void emit(kernel::Body& body, Node node, std::string note = "") {
    body.push_back({pointer, std::move(note), std::move(node)});
  }
  void decide(std::string step, std::string subject_text, std::string text);
  void bounds_left(const std::vector<std::string>& lines);

  // ---- values ----
  // `from` as `layout` and `dtype`: itself when it is that already, else a new array that conversions fill.
  int converted(int from, const layout::RegLayout& layout, DType dtype, kernel::Body& body);
  // Into an existing array of the same shape, whatever its layout and type.
  void convert_into(int from, int to, kernel::Body& body);
  // LDS to registers and back, whole or from `start`, at the widest access both sides allow.
  void load_lds(int regs, int lds, std::vector<std::int64_t> start, kernel::Body& body, std::string note = "");
  void store_lds(int lds, int regs, kernel::Body& body);
  // The registers with axes reordered: new axis i is old axis axes[i]. A map within each lane.
  int reordered(int from, const std::vector<int>& axes, kernel::Body& body);
  // A rank-1 array as one row, [1, n].
  int lifted(int from, kernel::Body& body);
  // The tile's value, axes as the tile's, as `layout`: from its home or from LDS.
  int value_of(int tile, const layout::RegLayout& layout, kernel::Body& body);
  // Sets the tile from registers that have the tile's shape.
  void set_tile(int tile, int regs, kernel::Body& body);

  // An expression whose tile accesses name storages; fragments read elsewhere than in their own lane must be in
  // `moved`.
  [[nodiscard]] bound::ExprPtr rewrite(const bound::ExprPtr& expr, const std::map<int, int>& moved = {}) ;
  // For uniform expressions: fragments that they read are put into LDS first.
  bound::ExprPtr uniform(const bound::ExprPtr& expr, kernel::Body& body);
  // Storage indices of an access to a tile: its axes in the storage's order.
  [[nodiscard]] std::vector<bound::ExprPtr> storage_indices(int tile, std::vector<bound::ExprPtr> indices) const;

  // ---- statements ----
  Status translate(const bound::Body& body, kernel::Body& to);
  Status translate_one(const bound::Stmt& stmt, kernel::Body& to);
  Status translate_copy(const bound::Stmt& stmt, const bound::Copy& copy, kernel::Body& to);
  Status translate_map(const bound::Map& map, kernel::Body& to);
  Status translate_gemm(const bound::Stmt& stmt, const bound::Gemm& gemm, kernel::Body& to);
  Status translate_for(const bound::For& loop, kernel::Body& to);
  Status translate_pipelined(const bound::For& loop, const std::vector<const bound::Stmt*>& prefetched,
                             kernel::Body& to);
  Status translate_reduce(const bound::Reduce& reduce, kernel::Body& to);
  Status translate_fill(const bound::Fill& fill, kernel::Body& to);

  // Copy from a tensor to a shared tile in its two halves, for prefetching.
  Result<int> load_tile(const bound::Stmt& stmt, const bound::Copy& copy, const std::vector<bound::ExprPtr>& start,
                        kernel::Body& to);
  void store_tile(int regs, int tile, kernel::Body& to);
  // Reads of a gemm's operand slices; `slice` counts along k.
  int load_operand(const GemmPlan& gemm, bool is_a, int lds, std::int64_t slice, kernel::Body& to);
  std::map<const bound::Stmt*, KeptOperands> kept;

  const Subject& subject;
  const Plan& plan;
  Lowered& report;
  kernel::Launch out;
  Facts facts;
  std::string pointer;

 private:
  void rename_axes(int from, int to, const std::vector<int>& axes, kernel::Body& body);
  int scratch_operand(const OperandPlan& operand, bool k_first, kernel::Body& to);
  Status translate_copy_by_map(const bound::Copy& copy, kernel::Body& to);
  Status translate_odd_reduce(const bound::Reduce& reduce, kernel::Body& to);
  Status finish_odd_reduce(const bound::Reduce& reduce, int part, kernel::Body& to);
  void emit_reduce(kernel::Reduce reduce, kernel::Body& to);
  Status translate_vector_gemm(const bound::Gemm& gemm, const GemmPlan& made, kernel::Body& to);
  Status store_tensor(const bound::Copy& copy, const TensorSide& side, kernel::Body& to);
  Status load_fragment(const bound::Copy& copy, const TensorSide& side, kernel::Body& to);
  void keep_operands(const bound::Body& body, kernel::Body& to);
  std::string unique(const std::string& name);

  std::vector<int> tile_storage_;
  std::map<std::string, int> names_;
};

// Indices along axes of extent 1 can only be 0.
std::vector<bound::ExprPtr> unit_indices_dropped(const std::vector<std::int64_t>& shape,
                                                 std::vector<bound::ExprPtr> indices);

// Tiles that a statement list writes or reads, by tile id (everything below it included).
struct TileUse {
  std::vector<bool> read, written;
};
TileUse tile_use(const Subject& subject, const bound::Body& body);
TileUse tile_use(const Subject& subject, const bound::Stmt& stmt);

}  // namespace kiln::lower::amd
