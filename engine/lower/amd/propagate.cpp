// Step 2: fragments that maps, copies and reductions connect take their neighbour's layout. Where a fragment is a
// gemm's operand, its layout is kept when the instruction can take it (attention: the first product's result is the
// second's operand).
#include <algorithm>

#include "engine/lower/amd/accesses.hpp"
#include "engine/lower/amd/plan.hpp"
#include "engine/lower/amd/thread_maps.hpp"

namespace kiln::lower::amd {
namespace {

void place(Plan& plan, int tile, layout::RegLayout layout, std::string origin) {
  TilePlan& made = plan.tiles[tile];
  if (made.placed) return;
  made.placed = true;
  made.home = std::move(layout);
  made.origin = std::move(origin);
}

bool fragment(const Subject& subject, int tile) { return !subject.in_lds(tile); }

// The iteration space's layout follows from any fragment that is accessed with all of its indices.
bool spread_map(const Subject& subject, Plan& plan, const bound::Map& map) {
  const auto accesses = direct_accesses(subject, map);
  const auto iteration = iteration_layout(subject, plan, map, accesses);
  if (!iteration) return false;
  bool changed = false;
  for (const auto& access : accesses) {
    if (!access.direct || !fragment(subject, access.tile) || plan.tiles[access.tile].placed) continue;
    place(plan, access.tile, projected(*iteration, access.axes), "follows a map");
    changed = true;
  }
  return changed;
}

bool spread_copy(const Subject& subject, Plan& plan, const bound::Copy& copy) {
  if (copy.from.is_tensor || copy.to.is_tensor) return false;
  const int from = copy.from.id, to = copy.to.id;
  if (!fragment(subject, from) || !fragment(subject, to)) return false;
  if (subject.tile(from).shape != subject.tile(to).shape) return false;
  if (plan.tiles[from].placed == plan.tiles[to].placed) return false;
  if (plan.tiles[from].placed) {
    place(plan, to, plan.tiles[from].home, "follows a copy");
  } else {
    place(plan, from, plan.tiles[to].home, "follows a copy");
  }
  return true;
}

bool spread(const Subject& subject, Plan& plan, const bound::Stmt& stmt) {
  if (const auto* map = node_of<bound::Map>(stmt)) return spread_map(subject, plan, *map);
  if (const auto* copy = node_of<bound::Copy>(stmt)) return spread_copy(subject, plan, *copy);
  if (const auto* reduce = node_of<bound::Reduce>(stmt)) {
    if (!fragment(subject, reduce->from) || !fragment(subject, reduce->to)) return false;
    if (!plan.tiles[reduce->from].placed || plan.tiles[reduce->to].placed) return false;
    std::vector<int> axes;
    for (int axis = 0; axis < plan.tiles[reduce->from].home.rank(); ++axis) {
      if (axis != reduce->axis) axes.push_back(axis);
    }
    if (axes.empty()) axes.push_back(-1);
    place(plan, reduce->to, projected(plan.tiles[reduce->from].home, axes), "follows a reduction");
    return true;
  }
  return false;
}

void spread_all(const Subject& subject, Plan& plan) {
  for (bool changed = true; changed;) {
    changed = false;
    for (const Site& site : subject.sites) changed = spread(subject, plan, *site.stmt) || changed;
  }
}

// [rows, k] as the instruction takes it, from the tile's own axes.
layout::RegLayout as_operand(const layout::RegLayout& home, bool k_first) {
  return k_first ? layout::permute(home, {1, 0}) : home;
}

struct OperandSide {
  kernel::Operand operand;
  std::int64_t rows;
  bool k_first;       // the tile's axes are [k, rows]
};

Result<layout::RegLayout> standard(const GemmPlan& gemm, const OperandSide& side, std::int64_t k, int pack) {
  KILN_TRY(auto made, kernel::operand_layout(*gemm.instruction, side.operand, side.rows, k, gemm.grid, pack));
  return layout::with_free_bits(std::move(made), 0, gemm.spare_bits);
}

// Whether the instruction takes `held`, the whole operand in registers, with its partner laid out like it: proved on
// the instruction's own steps, for every lane.
bool usable(const Subject& subject, const bound::Gemm& source, const GemmPlan& gemm, const OperandSide& partner,
            const OperandSide& side,
            const layout::RegLayout& held) {
  auto other = kernel::operand_layout_like(*gemm.instruction, partner.operand, partner.rows, held, gemm.grid);
  if (!other) return false;
  const auto storage = [](const layout::RegLayout& layout, DType dtype) {
    kernel::Storage made;
    made.dtype = dtype;
    made.shape = layout.shape();
    made.reg_layout = layout;
    return made;
  };
  kernel::Launch trial;
  trial.wave = subject.target.wave;
  const DType in = subject.tile(source.a).dtype;
  const auto partner_layout = layout::with_free_bits(std::move(*other), 0, gemm.spare_bits);
  const bool is_a = side.operand == kernel::Operand::a;
  trial.storages = {storage(is_a ? held : partner_layout, in), storage(is_a ? partner_layout : held, in),
                    storage(gemm.result, subject.tile(source.c).dtype)};
  kernel::Mma mma{gemm.instruction->name, 0, 1, 2, 0, 0, gemm.k, true};
  return kernel::mma_steps(trial, mma, *gemm.instruction).has_value();
}

// The smallest step along k at which `held` can be cut.
Result<std::int64_t> slice_of(const GemmPlan& gemm, const layout::RegLayout& held) {
  for (std::int64_t k = gemm.instruction->k; k <= gemm.k; k *= 2) {
    layout::RegLayout part = held;
    if (gemm.k % k == 0 && cut(part, 1, k)) return k;
  }
  return gemm.k;
}

// The operand that is used from the registers where it is: one whose layout the instruction takes; else one that has no
// layout yet and, laid out for the instruction, is a small part of the registers.
struct Leader {
  bool found = false, is_a = false;
  layout::RegLayout layout;
};
Leader find_leader(const Subject& subject, const Plan& plan, const bound::Gemm& source, const GemmPlan& gemm,
                   const OperandSide& a, const OperandSide& b) {
  for (const bool placed : {true, false}) {
    for (const bool is_a : {true, false}) {
      const OperandPlan& operand = is_a ? gemm.a : gemm.b;
      const OperandSide &side = is_a ? a : b, &partner = is_a ? b : a;
      if (!operand.in_registers || plan.tiles[operand.tile].placed != placed) continue;
      if (placed) {
        auto held = as_operand(plan.tiles[operand.tile].home, side.k_first);
        if (usable(subject, source, gemm, partner, side, held)) return {true, is_a, std::move(held)};
        continue;
      }
      auto made = standard(gemm, side, gemm.k, 1);
      if (!made) continue;
      const int bytes = made->registers() * dtype_bytes(subject.tile(operand.tile).dtype);
      if (bytes / 4 <= subject.target.vgprs_max / 8) return {true, is_a, std::move(*made)};
    }
  }
  return {};
}

Status plan_operands(const Subject& subject, Plan& plan, const bound::Gemm& source, GemmPlan& gemm) {
  const OperandSide a{kernel::Operand::a, gemm.m, source.transpose_a};
  const OperandSide b{kernel::Operand::b, gemm.n, !source.transpose_b};
  const Leader leader = find_leader(subject, plan, source, gemm, a, b);
  // Fragments that the instruction cannot take as they are go through LDS, like shared tiles.
  const auto through_lds = [](OperandPlan& operand) {
    operand.scratch = operand.in_registers;
    operand.in_registers = false;
  };
  if (!leader.found) {
    through_lds(gemm.a);
    through_lds(gemm.b);
    KILN_TRY(gemm.a.layout, standard(gemm, a, gemm.k_slice, gemm.k_pack));
    KILN_TRY(gemm.b.layout, standard(gemm, b, gemm.k_slice, gemm.k_pack));
    return ok();
  }
  // One operand leads with the fragment's own order along k; the other follows, a slice at a time.
  OperandPlan& lead = leader.is_a ? gemm.a : gemm.b;
  OperandPlan& other = leader.is_a ? gemm.b : gemm.a;
  const OperandSide& other_side = leader.is_a ? b : a;
  lead.layout = leader.layout;
  through_lds(other);
  gemm.k_pack = 1;
  KILN_TRY(gemm.k_slice, slice_of(gemm, lead.layout));
  layout::RegLayout part = lead.layout;
  if (!cut(part, 1, gemm.k_slice)) return Error(ErrorCode::internal, "an operand cannot be cut along k");
  KILN_TRY(other.layout, kernel::operand_layout_like(*gemm.instruction, other_side.operand, other_side.rows, part,
                                                     gemm.grid));
  other.layout = layout::with_free_bits(std::move(other.layout), 0, gemm.spare_bits);
  return ok();
}

// Registers of one slice of both operands that come from LDS, 4 bytes each.
int slice_registers(const Subject& subject, const GemmPlan& gemm) {
  int bytes = 0;
  for (const OperandPlan* operand : {&gemm.a, &gemm.b}) {
    if (!operand->in_registers) bytes += operand->layout.registers() * dtype_bytes(subject.tile(operand->tile).dtype);
  }
  return bytes / 4;
}

// Anchors for what no gemm reaches: the largest copy to or from a tensor gives its tile a coalesced layout.
int next_unplaced(const Subject& subject, const Plan& plan) {
  int best = -1;
  double best_weight = -1;
  for (int tile = 0; tile < static_cast<int>(plan.tiles.size()); ++tile) {
    if (plan.tiles[tile].placed || !fragment(subject, tile)) continue;
    double weight = static_cast<double>(subject.tile(tile).elements());
    for (const Site& site : subject.sites) {
      const auto* copy = node_of<bound::Copy>(*site.stmt);
      if (copy && copy->from.is_tensor != copy->to.is_tensor &&
          (copy->from.is_tensor ? copy->to.id : copy->from.id) == tile) {
        weight *= 4;
      }
    }
    if (weight > best_weight) { best = tile; best_weight = weight; }
  }
  return best;
}

layout::RegLayout coalesced(const Subject& subject, const Plan& plan, int tile) {
  const bound::Tile& shape = subject.tile(tile);
  MapRequest request;
  request.shape = shape.shape;
  request.lane_bits = subject.lane_bits();
  request.wave_bits = plan.wave_bits;
  request.fast = static_cast<int>(shape.shape.size()) - 1;
  int vector = 0;  // as memory allows; without copies, 16 bytes of the tile's type
  bool reduced = false;
  for (const Site& site : subject.sites) {
    if (const auto* copy = node_of<bound::Copy>(*site.stmt)) {
      const auto access = tensor_side(subject, site, *copy);
      if (!access || access->tile != tile) continue;
      if (access->memory_axis >= 0) request.fast = access->memory_axis;
      vector = vector == 0 ? access->vector_elements_max : std::min(vector, access->vector_elements_max);
    }
    if (const auto* reduce = node_of<bound::Reduce>(*site.stmt)) {
      reduced = reduced || (reduce->axis == request.fast && subject.tile(reduce->from).shape == shape.shape);
    }
  }
  if (vector == 0) vector = std::max(1, 16 / dtype_bytes(shape.dtype));
  // Wider than one lane's share is no use.
  const std::int64_t share = std::max<std::int64_t>(shape.elements() >> (request.lane_bits + request.wave_bits), 1);
  while (vector > 1 && (vector > share || shape.shape[request.fast] % vector != 0)) vector /= 2;
  request.vector_bits = log2_of(vector);
  std::int64_t rows = shape.elements() / shape.shape[request.fast];
  request.waves_on_rows = reduced && rows % (std::int64_t(1) << request.wave_bits) == 0;
  return thread_map(request);
}

}  // namespace

Status propagate(const Subject& subject, Plan& plan) {
  for (const Site& site : subject.sites) {
    const auto* gemm = node_of<bound::Gemm>(*site.stmt);
    if (gemm && plan.gemms[site.stmt].instruction) place(plan, gemm->c, plan.gemms[site.stmt].result,
                                                         "result of a gemm");
  }
  spread_all(subject, plan);
  for (const Site& site : subject.sites) {
    const auto* source = node_of<bound::Gemm>(*site.stmt);
    if (!source || !plan.gemms[site.stmt].instruction) continue;
    GemmPlan& gemm = plan.gemms[site.stmt];
    KILN_CHECK(plan_operands(subject, plan, *source, gemm));
    gemm.read_ahead = plan.strategy.read_ahead && slice_registers(subject, gemm) <= subject.target.vgprs_max / 8;
    const auto give = [&](const OperandPlan& operand, bool k_first) {
      if (operand.in_registers) place(plan, operand.tile, as_operand(operand.layout, k_first), "operand of a gemm");
    };
    give(gemm.a, source->transpose_a);
    give(gemm.b, !source->transpose_b);
    spread_all(subject, plan);
  }
  for (int tile = next_unplaced(subject, plan); tile >= 0; tile = next_unplaced(subject, plan)) {
    place(plan, tile, coalesced(subject, plan, tile), "coalesced");
    spread_all(subject, plan);
  }
  return ok();
}

}  // namespace kiln::lower::amd
