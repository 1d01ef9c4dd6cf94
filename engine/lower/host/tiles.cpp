#include "engine/lower/host/tiles.hpp"

#include <algorithm>
#include <functional>

#include "engine/ir/float8.hpp"

namespace kiln::lower::host {
namespace {

using bound::Expr;
constexpr std::int64_t line_bytes = 64;

bool is_half(DType type) { return type == DType::f16 || type == DType::bf16; }

// Whether every value of `from` is a value of `to`.
bool converts_exactly(DType from, DType to) {
  return from == to || from == DType::boolean || (to == DType::f16 && (from == DType::i8 || from == DType::u8)) ||
         (to == DType::bf16 && (from == DType::i8 || from == DType::u8)) || (is_half(to) && float8_format(from));
}

class Planner {
 public:
  Planner(const bound::Program& program, const bound::Launch& launch, const target::Target& target)
      : program_(program), launch_(launch), target_(target) {}
  Result<Plans> plan();

 private:
  Status visit(const bound::Body& body);
  void count_writers(const bound::Stmt& stmt);
  Status gemm(const bound::Stmt& stmt, const bound::Gemm& gemm);
  void widen();
  void orient();
  void size_rows();
  bool widened(int tile) const { return plans_.tiles[tile].dtype != launch_.tiles[tile].dtype; }

  const bound::Program& program_;
  const bound::Launch& launch_;
  const target::Target& target_;
  Plans plans_;
  std::vector<const bound::Gemm*> gemms_;
};

Status Planner::gemm(const bound::Stmt& stmt, const bound::Gemm& gemm) {
  const auto& a = launch_.tiles[gemm.a];
  const auto& b = launch_.tiles[gemm.b];
  const auto& c = launch_.tiles[gemm.c];
  const DType accumulator = is_float(c.dtype) && c.dtype != DType::f64 ? DType::f32 : c.dtype;
  if (a.dtype != b.dtype || target_.matrix_for(a.dtype, accumulator).empty()) {
    return program_error(
        "gemm is not built for these types on host targets",
        {{Severity::error, stmt.pointer, "gemm of these types is not built yet for host targets",
          "f32, f16 or bf16 operands with an f32, f16 or bf16 result; i8 with i32",
          std::string(dtype_name(a.dtype)) + " x " + dtype_name(b.dtype) + " -> " + dtype_name(c.dtype), "", ""}});
  }
  gemms_.push_back(&gemm);
  auto& plan_b = plans_.tiles[gemm.b];
  plans_.tiles[gemm.a].operand = plan_b.operand = true;
  (gemm.transpose_b ? plan_b.streamed_transposed : plan_b.streamed) = true;
  plans_.tiles[gemm.c].result = true;
  plans_.tiles[gemm.c].may_widen = false;  // the product rounds to what its storage holds
  return {};
}

void Planner::count_writers(const bound::Stmt& stmt) {
  const auto written = [&](int tile) { ++plans_.tiles[tile].writers; };
  if (const auto* node = std::get_if<bound::Copy>(&stmt.node); node && !node->to.is_tensor) written(node->to.id);
  if (const auto* node = std::get_if<bound::Fill>(&stmt.node)) written(node->tile);
  if (const auto* node = std::get_if<bound::Gemm>(&stmt.node)) written(node->c);
  if (const auto* node = std::get_if<bound::Reduce>(&stmt.node)) written(node->to);
  if (const auto* node = std::get_if<bound::Map>(&stmt.node)) {
    for (const auto& item : node->body) {
      if (item.let < 0 && !item.tensor) written(item.target);
    }
  }
}

Status Planner::visit(const bound::Body& body) {
  for (const auto& stmt : body) {
    count_writers(stmt);
    if (const auto* node = std::get_if<bound::Gemm>(&stmt.node)) KILN_CHECK(gemm(stmt, *node));
    if (const auto* node = std::get_if<bound::Reduce>(&stmt.node)) plans_.tiles[node->to].may_widen = false;
    if (const auto* node = std::get_if<bound::For>(&stmt.node)) KILN_CHECK(visit(node->body));
    if (const auto* node = std::get_if<bound::Copy>(&stmt.node); node && !node->to.is_tensor && node->from.is_tensor) {
      const DType to = launch_.tiles[node->to.id].dtype;
      if (!converts_exactly(program_.tensors[node->from.id].dtype, to)) plans_.tiles[node->to.id].may_widen = false;
    }
    if (const auto* node = std::get_if<bound::If>(&stmt.node)) {
      KILN_CHECK(visit(node->then));
      KILN_CHECK(visit(node->otherwise));
    }
  }
  return {};
}

void Planner::widen() {
  for (std::size_t i = 0; i < plans_.tiles.size(); ++i) {
    TilePlan& plan = plans_.tiles[i];
    if (plan.operand && plan.may_widen && is_half(launch_.tiles[i].dtype)) plan.dtype = DType::f32;
  }
}

// b must be contiguous along n and so must c; a may be anything.
void Planner::orient() {
  for (std::size_t i = 0; i < plans_.tiles.size(); ++i) {
    TilePlan& plan = plans_.tiles[i];
    plan.contiguous = static_cast<int>(launch_.tiles[i].shape.size()) - 1;
    if (plan.streamed_transposed && !plan.streamed && !plan.result) plan.contiguous = 0;
  }
}

void Planner::size_rows() {
  for (const bound::Gemm* gemm : gemms_) {
    const auto& c = launch_.tiles[gemm->c];
    const auto& a = launch_.tiles[gemm->a];
    const std::int64_t k = a.shape[gemm->transpose_a ? 0 : 1];
    GemmPlan plan;
    const int bytes = c.dtype == DType::f64 || dtype_bytes(c.dtype) == 8 ? 8 : 4;
    plan.block = choose_register_block(c.shape[0], c.shape[1], k, bytes, target_);
    const std::int64_t m = round_up(c.shape[0], plan.block.m), n = round_up(c.shape[1], plan.block.n);
    const int b_contiguous = gemm->transpose_b ? 0 : 1;
    plan.copy_a = is_half(a.dtype) && !widened(gemm->a);
    plan.copy_b = (is_half(launch_.tiles[gemm->b].dtype) && !widened(gemm->b)) ||
                  plans_.tiles[gemm->b].contiguous != b_contiguous;
    const auto need = [](TilePlan& tile, std::int64_t rows, std::int64_t columns) {
      tile.rows_min = std::max(tile.rows_min, rows);
      tile.columns_min = std::max(tile.columns_min, columns);
    };
    need(plans_.tiles[gemm->c], m, n);
    need(plans_.tiles[gemm->b], 0, n);
    const int a_row = gemm->transpose_a ? 1 : 0;
    if (plans_.tiles[gemm->a].contiguous == a_row)
      need(plans_.tiles[gemm->a], 0, m);
    else
      need(plans_.tiles[gemm->a], m, 0);
    plans_.gemms.push_back(plan);
  }
}

Result<Plans> Planner::plan() {
  for (const auto& tile : launch_.tiles) {
    TilePlan plan;
    plan.dtype = tile.dtype;
    plans_.tiles.push_back(plan);
  }
  KILN_CHECK(visit(launch_.body));
  widen();
  orient();
  size_rows();
  return std::move(plans_);
}

// ---- which top-level statements use which storages ----

struct Uses {
  std::function<void(int)> note;

  void expr(const kernel::ExprPtr& e) const {
    if (!e) return;
    if (e->kind == Expr::Kind::tile) note(static_cast<int>(e->integer));
    for (const auto& arg : e->args) expr(arg);
  }
  void body(const kernel::Body& statements) const {
    for (const auto& s : statements) std::visit(*this, s.node);
  }
  void operator()(const kernel::Direct& s) const {
    note(s.lds.storage);
    for (const auto& e : s.global.start) expr(e);
    for (const auto& e : s.global.limit) expr(e);
    expr(s.fill);
  }
  void operator()(const kernel::Mma& s) const {
    for (const int id : {s.a, s.b, s.c}) note(id);
    for (const auto& e : {s.m_limit, s.n_limit, s.k_limit}) expr(e);
  }
  void operator()(const kernel::Fill& s) const {
    note(s.storage);
    expr(s.value);
  }
  void operator()(const kernel::Map& s) const {
    for (const auto& item : s.body) {
      if (item.let < 0 && !item.tensor) note(item.target);
      for (const auto& e : item.indices) expr(e);
      expr(item.value);
      expr(item.where);
      expr(item.compare);
    }
  }
  void operator()(const kernel::Reduce& s) const {
    note(s.from);
    note(s.to);
    for (const auto& e : s.limit) expr(e);
  }
  void operator()(const kernel::For& s) const {
    expr(s.from);
    expr(s.to);
    body(s.body);
  }
  void operator()(const kernel::If& s) const {
    expr(s.condition);
    body(s.then);
    body(s.otherwise);
  }
  void operator()(const kernel::Let& s) const { expr(s.value); }
  void operator()(const kernel::Leave& s) const { expr(s.condition); }
  template <class Other>
  void operator()(const Other&) const {}
};

}  // namespace

Result<Plans> plan_tiles(const bound::Program& program, const bound::Launch& launch, const target::Target& target) {
  return Planner(program, launch, target).plan();
}

kernel::Storage make_storage(const std::string& name, int tile, const std::vector<std::int64_t>& shape,
                             const TilePlan& plan) {
  kernel::Storage storage;
  storage.kind = kernel::Storage::Kind::lds;
  storage.name = name;
  storage.dtype = plan.dtype;
  storage.shape = shape;
  storage.tile = tile;
  auto& layout = storage.lds_layout;
  layout.shape = shape;
  layout.element_bytes = dtype_bytes(plan.dtype);
  layout.contiguous = plan.contiguous;
  // Rows of whole cache lines, so that vectors are aligned; an odd number of lines, so that a column of rows spreads
  // over all cache sets.
  std::int64_t lines =
      round_up(std::max(shape[plan.contiguous], plan.columns_min) * layout.element_bytes, line_bytes) / line_bytes;
  if (layout.rows() > 1 && lines % 2 == 0) ++lines;
  layout.pad_bytes = lines * line_bytes - layout.row_bytes();
  return storage;
}

std::int64_t reserved_bytes(const kernel::Storage& storage, const TilePlan& plan) {
  return std::max(storage.lds_layout.rows(), plan.rows_min) * storage.lds_layout.pitch_bytes();
}

void place_storages(kernel::Launch& launch, const std::vector<TilePlan>& plans) {
  const int count = static_cast<int>(launch.storages.size());
  std::vector<int> first(count, -1), last(count, -1);
  const auto& body = launch.roles[0].body;
  for (int at = 0; at < static_cast<int>(body.size()); ++at) {
    const Uses uses{[&](int id) {
      if (first[id] < 0) first[id] = at;
      last[id] = at;
    }};
    std::visit(uses, body[at].node);
  }
  launch.lds_bytes = 0;
  std::vector<int> placed;
  for (int id = 0; id < count; ++id) {
    if (first[id] < 0) first[id] = last[id] = 0;
    const std::int64_t bytes = reserved_bytes(launch.storages[id], plans[id]);
    std::vector<std::pair<std::int64_t, std::int64_t>> taken;  // of those alive at the same time
    for (const int other : placed) {
      if (last[other] < first[id] || last[id] < first[other]) continue;
      const std::int64_t begin = launch.storages[other].offset_bytes;
      taken.emplace_back(begin, begin + reserved_bytes(launch.storages[other], plans[other]));
    }
    std::sort(taken.begin(), taken.end());
    std::int64_t offset = 0;
    for (const auto& [begin, end] : taken) {
      if (offset + bytes <= begin) break;
      offset = std::max(offset, end);
    }
    launch.storages[id].offset_bytes = offset;
    launch.lds_bytes = std::max(launch.lds_bytes, offset + bytes);
    placed.push_back(id);
  }
}

}  // namespace kiln::lower::host
