// Matrix products: operands read from LDS a slice of k at a time, fragments as they are; by multiply and add where the
// target has no matrix instruction for the types or the tile.
#include <algorithm>

#include "engine/lower/amd/builder.hpp"
#include "engine/lower/amd/nodes.hpp"
#include "engine/lower/amd/shared_layouts.hpp"
#include "engine/lower/amd/thread_maps.hpp"

namespace kiln::lower::amd {
namespace {

bound::ExprPtr variable_of(int id) { return make_node(bound::Expr::Kind::variable, DType::index, {}, id); }

// Where the slices of one operand of a gemm come from: registers that hold all of it, registers that a loop keeps, or
// LDS, read into one array, or two in turn when the reads run one slice ahead of the products.
class OperandReader {
 public:
  // `held`: the register array, -1: read from `lds`.
  OperandReader(Builder& builder, const GemmPlan& gemm, bool is_a, int held, int lds, const std::vector<int>& kept)
      : builder_(builder), gemm_(gemm), is_a_(is_a), held_(held), lds_(lds), kept_(kept) {}

  // Whether anything had to be read.
  bool read(std::int64_t slice, kernel::Body& to) {
    if (held_ >= 0 || !kept_.empty()) return false;
    int& own = arrays_[slice % arrays()];
    if (own < 0 || (is_a_ ? gemm_.a : gemm_.b).across) {
      own = builder_.load_operand(gemm_, is_a_, lds_, slice, to);
    } else {
      builder_.load_lds(own, lds_, {0, slice * gemm_.k_slice}, to);
    }
    return true;
  }
  [[nodiscard]] int storage(std::int64_t slice) const {
    if (held_ >= 0) return held_;
    return kept_.empty() ? arrays_[slice % arrays()] : kept_[slice];
  }

 private:
  [[nodiscard]] int arrays() const { return gemm_.read_ahead ? 2 : 1; }

  Builder& builder_;
  const GemmPlan& gemm_;
  bool is_a_;
  int held_, lds_;
  const std::vector<int>& kept_;
  int arrays_[2] = {-1, -1};
};

}  // namespace

// A fragment's value in LDS as [rows, k], laid out for how it is written and read there.
int Builder::scratch_operand(const OperandPlan& operand, bool k_first, kernel::Body& to) {
  const int home = storage_of(operand.tile);
  const int turned = k_first ? reordered(home, {1, 0}, to) : home;
  const auto layout = scratch_layout(subject.target,
                                     {{target::LdsOperation::write, storage(turned).reg_layout},
                                      {target::LdsOperation::read, operand.layout}}, storage(home).dtype);
  const int scratch = add_lds("scratch", storage(home).dtype, layout);
  store_lds(scratch, turned, to);
  return scratch;
}

int Builder::load_operand(const GemmPlan& gemm, bool is_a, int lds, std::int64_t slice, kernel::Body& to) {
  const OperandPlan& operand = is_a ? gemm.a : gemm.b;
  const auto layout = operand.across ? layout::permute(operand.layout, {1, 0}) : operand.layout;
  const int regs = add_regs(name_of(operand.tile) + "_op", storage(lds).dtype, layout, gemm.instruction->operand_elements);
  const std::int64_t k = slice * gemm.k_slice;
  if (!operand.across) {
    load_lds(regs, lds, {0, k}, to);
    return regs;
  }
  load_lds(regs, lds, {k, 0}, to);
  return reordered(regs, {1, 0}, to);
}

Status Builder::translate_gemm(const bound::Stmt& stmt, const bound::Gemm& gemm, kernel::Body& to) {
  const GemmPlan& made = plan.gemms.at(&stmt);
  if (!made.instruction) return translate_vector_gemm(gemm, made, to);
  const int c_home = storage_of(gemm.c);
  const bool at_home = storage(c_home).reg_layout == made.result;
  int c = c_home;
  if (!at_home) {  // the tile lives otherwise: computed apart
    c = gemm.clear ? add_regs(name_of(gemm.c) + "_acc", storage(c_home).dtype, made.result,
                              made.instruction->result_elements)
                   : converted(c_home, made.result, storage(c_home).dtype, to);
    storage(c).vector_elements = made.instruction->result_elements;
  }
  // Fragments as operands, axes [rows, k].
  const auto held = [&](const OperandPlan& operand, bool k_first) {
    const int home = storage_of(operand.tile);
    const int turned = k_first ? reordered(home, {1, 0}, to) : home;
    const int value = converted(turned, operand.layout, storage(home).dtype, to);
    if (value != home) storage(value).vector_elements = made.instruction->operand_elements;
    return value;
  };
  const auto in_lds = [&](const OperandPlan& operand, bool k_first) {
    if (operand.in_registers) return -1;
    return operand.scratch ? scratch_operand(operand, k_first, to) : storage_of(operand.tile);
  };
  const int held_a = made.a.in_registers ? held(made.a, gemm.transpose_a) : -1;
  const int held_b = made.b.in_registers ? held(made.b, !gemm.transpose_b) : -1;
  const int lds_a = in_lds(made.a, gemm.transpose_a), lds_b = in_lds(made.b, !gemm.transpose_b);
  const auto at = kept.find(&stmt);
  const KeptOperands none;
  const KeptOperands& keep = at == kept.end() ? none : at->second;
  OperandReader a(*this, made, true, held_a, lds_a, keep.a), b(*this, made, false, held_b, lds_b, keep.b);
  const std::int64_t slices = made.k / made.k_slice;
  if (made.read_ahead) {
    a.read(0, to);
    b.read(0, to);
  }
  for (std::int64_t slice = 0; slice < slices; ++slice) {
    const std::int64_t wanted = made.read_ahead ? slice + 1 : slice;
    if (wanted < slices) {
      const bool read_a = a.read(wanted, to), read_b = b.read(wanted, to);
      // The fence keeps the reads in front of the products that they do not belong to.
      if (made.read_ahead && (read_a || read_b)) emit(to, kernel::Sched{}, "reads one slice ahead");
    }
    kernel::Mma mma;
    mma.instruction = made.instruction->name;
    mma.a = a.storage(slice);
    mma.b = b.storage(slice);
    mma.c = c;
    mma.a_k = held_a >= 0 ? slice * made.k_slice : 0;
    mma.b_k = held_b >= 0 ? slice * made.k_slice : 0;
    mma.k = made.k_slice;
    mma.swapped = true;
    mma.clear = gemm.clear && slice == 0;
    emit(to, mma);
  }
  if (!at_home) convert_into(c, c_home, to);
  return ok();
}

// for k: c[i, j] += a[i, k] * b[k, j], products and sums in c's type; a and b read from LDS.
Status Builder::translate_vector_gemm(const bound::Gemm& gemm, const GemmPlan& made, kernel::Body& to) {
  const DType dtype = subject.tile(gemm.c).dtype;
  const int i = add_variable("i"), j = add_variable("j"), k = add_variable("k");
  if (gemm.clear) {
    bound::Fill zero{gemm.c, make_node(is_float(dtype) ? bound::Expr::Kind::real : bound::Expr::Kind::integer, dtype,
                                       {})};
    KILN_CHECK(translate_fill(zero, to));
  }
  std::map<int, int> moved;  // fragments as operands: once through LDS
  for (const int operand : {gemm.a, gemm.b}) {
    if (subject.in_lds(operand) || moved.contains(operand)) continue;
    layout::LdsLayout scratch;
    scratch.shape = subject.tile(operand).shape;
    scratch.element_bytes = dtype_bytes(subject.tile(operand).dtype);
    scratch.contiguous = static_cast<int>(scratch.shape.size()) - 1;
    moved[operand] = add_lds("scratch", subject.tile(operand).dtype, scratch);
    store_lds(moved[operand], storage_of(operand), to);
  }
  const auto element = [&](int tile, int row, int column) {
    auto read = rewrite(make_node(bound::Expr::Kind::tile, subject.tile(tile).dtype,
                                  {variable_of(row), variable_of(column)}, tile), moved);
    return subject.tile(tile).dtype == dtype ? read : make_node(bound::Expr::Kind::cast, dtype, {read});
  };
  const auto a = gemm.transpose_a ? element(gemm.a, k, i) : element(gemm.a, i, k);
  const auto b = gemm.transpose_b ? element(gemm.b, j, k) : element(gemm.b, k, j);
  const auto product = make_node(bound::Expr::Kind::binary, dtype, {a, b}, 0, Op::mul);
  kernel::Map map;
  map.index = {i, j};
  if (subject.in_lds(gemm.c)) {
    bound::Map over;
    over.extent = {made.m, made.n};
    map.iteration = default_iteration(subject, plan, over);
  } else {
    map.iteration = plan.tiles[gemm.c].home;
  }
  map.extent = map.iteration.shape();
  bound::MapItem item;
  item.target = storage_of(gemm.c);
  item.indices = storage_indices(gemm.c, {variable_of(i), variable_of(j)});
  const auto old = make_node(bound::Expr::Kind::tile, dtype, item.indices, item.target);
  item.value = make_node(bound::Expr::Kind::binary, dtype, {old, product}, 0, Op::add);
  map.body.push_back(std::move(item));
  map.checked.assign(4, map.extent != std::vector<std::int64_t>{made.m, made.n});  // padded: what lies around is masked
  kernel::For loop;
  loop.var = k;
  loop.from = bound::make_integer(0);
  loop.to = bound::make_integer(made.k);
  loop.step = bound::make_integer(1);
  emit(loop.body, std::move(map));
  emit(to, std::move(loop), "vector unit: " + made.why_not);
  return ok();
}

}  // namespace kiln::lower::amd
