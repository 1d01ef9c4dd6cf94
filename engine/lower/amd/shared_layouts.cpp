// Steps 3 and 4: thread maps of copies into shared tiles, and the layout of each shared tile. All reads by gemms, all
// writes by copies and all elementwise accesses of maps are counted exactly, for identity, paddings and XOR swizzles; the
// cheapest that fits is taken.
#include <algorithm>
#include <cmath>

#include "engine/ir/kernel/evaluate.hpp"
#include "engine/lower/amd/accesses.hpp"
#include "engine/lower/amd/plan.hpp"
#include "engine/lower/amd/shared_layouts.hpp"
#include "engine/lower/amd/thread_maps.hpp"
#include "engine/profile/bank_conflicts.hpp"

namespace kiln::lower::amd {
namespace {

using layout::LdsLayout;

// The instructions that an access is, under all layouts with one contiguous axis and one longest run.
struct Instructions {
  int contiguous = 0, run_bytes_max = 0;
  int bytes = 0;                 // that a lane moves with one
  std::size_t count = 0;         // 0: no vectors do it
  std::vector<std::vector<layout::Coordinate>> lanes;  // of the ones that are counted: each lane's first element
  target::BankRule rule;
};

struct Access {
  target::LdsOperation operation;
  kernel::Storage regs;          // axes as the tile's storage
  double runs = 1;
  std::vector<Instructions> made;  // all candidates of layouts share a few
  bool elementwise = false;        // `made` holds one that is the same under all layouts
};

struct Candidate {
  LdsLayout layout;
  std::vector<std::size_t> maps;         // of the copies into the tile, in order: which of those to try
  double cost = 0;                       // LDS cycles of one wave over the launch
  int conflicts = 0;
};

struct MapToTry {
  layout::RegLayout map;
  Access access;
  double memory_cost = 0;
};
struct IntoTile {
  const bound::Stmt* stmt = nullptr;
  TensorSide side;
  double runs = 1;
  std::vector<MapToTry> maps;
};

std::vector<std::int64_t> storage_shape(const Subject& subject, const Plan& plan, int tile) {
  std::vector<std::int64_t> shape;
  for (const int axis : plan.tiles[tile].axes) shape.push_back(subject.tile(tile).shape[axis]);
  return shape;
}

kernel::Storage registers_of(const layout::RegLayout& layout, DType dtype) {
  kernel::Storage regs;
  regs.dtype = dtype;
  regs.reg_layout = layout;
  regs.shape = layout.shape();
  return regs;
}

// They differ by register bits, which move all lanes alike, by whole banks where a lane moves 4 bytes or more: one
// stands for all there, a few otherwise.
const Instructions& instructions_of(Access& access, const target::Target& target, const LdsLayout& layout) {
  const int run_bytes_max = std::min(16, layout.run_bytes_max());
  for (const auto& there : access.made) {
    if (access.elementwise) return there;
    if (there.contiguous == layout.contiguous && there.run_bytes_max == run_bytes_max) return there;
  }
  Instructions& made = access.made.emplace_back();
  made.contiguous = layout.contiguous;
  made.run_bytes_max = run_bytes_max;
  made.bytes = kernel::lds_vector_bytes(access.regs, layout);
  made.rule = target.bank_rule(access.operation, made.bytes);
  const auto accesses = kernel::vector_accesses(access.regs, layout.contiguous, made.bytes);
  if (!accesses) return made;
  made.count = accesses->size();
  const std::size_t step = std::max<std::size_t>(1, made.count / (made.bytes >= 4 ? 1 : 3));
  for (std::size_t i = 0; i < made.count; i += step) {
    auto& lanes = made.lanes.emplace_back();
    for (int lane = 0; lane < target.wave; ++lane) {
      lanes.push_back(access.regs.reg_layout.at((*accesses)[i].registers.front(), lane, 0));
    }
  }
  return made;
}

// Cycles and conflicts of one access over all its instructions.
void count(const target::Target& target, Access& access, Candidate& candidate) {
  const Instructions& made = instructions_of(access, target, candidate.layout);
  if (made.count == 0) { candidate.cost += 1e9; return; }
  double cost = 0, conflicts = 0;
  std::vector<std::int64_t> offsets(target.wave);
  for (const auto& lanes : made.lanes) {
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) offsets[lane] = candidate.layout.offset(lanes[lane]);
    const auto one = profile::conflict_cost(made.rule, made.bytes, offsets);
    cost += one.cost;
    conflicts += one.conflicts();
  }
  const auto instructions = static_cast<double>(made.count);
  const double scale = instructions / static_cast<double>(made.lanes.size());
  // An instruction costs its issue beside its cycles: wide ones win where cycles are equal.
  // Conflicts hold up all waves of the compute unit, so they weigh more than what they cost one wave.
  candidate.cost += access.runs * (cost * scale + 4 * conflicts * scale + 2.0 * instructions);
  candidate.conflicts += static_cast<int>(std::lround(conflicts * scale));
}

// Swizzles that use all row bits: the low ones as usual, the higher ones once more, rotated. They serve tiles whose
// writers and readers step along rows differently (a transposing copy).
void add_folded(const LdsLayout& plain, int chunk, std::vector<LdsLayout>& list) {
  LdsLayout one = plain;
  one.chunk_bytes = chunk;
  const int bits = log2_of(one.xor_limit()), row_bits = even_bits(one.rows());
  if (bits < 2 || row_bits <= bits) return;
  for (int turn = 0; turn < bits; ++turn) {
    one.xor_basis.clear();
    for (int bit = 0; bit < row_bits; ++bit) {
      one.xor_basis.push_back(std::int64_t(1) << (bit < bits ? bit : (bit - bits + turn) % bits));
    }
    list.push_back(one);
  }
}

std::vector<LdsLayout> layouts_to_try(const std::vector<std::int64_t>& shape, int fast, int element_bytes) {
  LdsLayout plain;
  plain.shape = shape;
  plain.element_bytes = element_bytes;
  plain.contiguous = fast;
  std::vector<LdsLayout> list = {plain};
  for (const int chunk : {16, 8}) {
    if (chunk < element_bytes) continue;
    for (const int divisor : {1, 2, 4}) {
      for (const int rows : {8, 4, 2, 16}) {
        const LdsLayout one = layout::with_swizzle(plain, chunk, divisor, rows);
        if (!one.xor_basis.empty() && std::find(list.begin(), list.end(), one) == list.end()) list.push_back(one);
      }
    }
  }
  for (const int chunk : {16, 8}) {
    if (chunk >= element_bytes) add_folded(plain, chunk, list);
  }
  for (const int pad : {16, 8, 32, 4}) {
    LdsLayout one = plain;
    one.pad_bytes = pad;
    if (pad % element_bytes == 0) list.push_back(one);
  }
  return list;
}

// The contiguous axis: k of a gemm's operand, so that a lane reads its run at once; else the last.
void orient(const Subject& subject, Plan& plan, int tile) {
  TilePlan& made = plan.tiles[tile];
  const int rank = static_cast<int>(subject.tile(tile).shape.size());
  made.axes.clear();
  for (int axis = 0; axis < rank; ++axis) made.axes.push_back(axis);
  made.fast = rank - 1;
  for (const Site& site : subject.sites) {
    const auto* gemm = node_of<bound::Gemm>(*site.stmt);
    if (!gemm || (gemm->a != tile && gemm->b != tile)) continue;
    if (!plan.gemms[site.stmt].instruction) {  // the vector unit's lanes lie along n and read a row of b together
      if (gemm->b == tile) made.fast = gemm->transpose_b ? 0 : 1;
      break;
    }
    const bool k_first = gemm->a == tile ? gemm->transpose_a : !gemm->transpose_b;
    if (k_first) made.axes = {1, 0};
    made.fast = 1;
    break;
  }
  // A requested layout is as the program's axes are: rows of the last one.
  if (subject.tile(tile).layout.kind != LayoutSpec::Kind::automatic) {
    made.fast = static_cast<int>(std::find(made.axes.begin(), made.axes.end(), rank - 1) - made.axes.begin());
  }
}

// Tells the products that take the tile the other way round than it lies.
void note_across(const Subject& subject, Plan& plan, int tile) {
  const bool k_first_stored = plan.tiles[tile].axes == std::vector<int>{1, 0};
  for (const Site& site : subject.sites) {
    const auto* gemm = node_of<bound::Gemm>(*site.stmt);
    if (!gemm || !plan.gemms[site.stmt].instruction) continue;
    GemmPlan& made = plan.gemms[site.stmt];
    if (gemm->a == tile) made.a.across = gemm->transpose_a != k_first_stored;
    if (gemm->b == tile) made.b.across = gemm->transpose_b == k_first_stored;
  }
}

LdsLayout requested(const LayoutSpec& spec, LdsLayout plain) {
  if (spec.kind == LayoutSpec::Kind::pad) plain.pad_bytes = spec.pad_bytes;
  if (spec.kind == LayoutSpec::Kind::swizzle) {
    return layout::with_swizzle(plain, static_cast<int>(spec.chunk_bytes), spec.row_divisor, spec.rows_mod);
  }
  return plain;
}

std::vector<IntoTile> copies_into(const Subject& subject, const Plan& plan, int tile) {
  std::vector<IntoTile> list;
  for (const Site& site : subject.sites) {
    const auto* copy = node_of<bound::Copy>(*site.stmt);
    if (!copy) continue;
    auto side = tensor_side(subject, site, *copy);
    if (!side || side->tile != tile) continue;
    if (side->memory_axis >= 0) {  // to the storage's axes
      const auto& axes = plan.tiles[tile].axes;
      side->memory_axis = static_cast<int>(std::find(axes.begin(), axes.end(), side->memory_axis) - axes.begin());
    }
    list.push_back({site.stmt, std::move(*side), site.runs, {}});
  }
  return list;
}

// Thread maps for a copy between memory (contiguous along `memory`) and LDS (contiguous along `fast`).
std::vector<layout::RegLayout> maps_to_try(const Subject& subject, const Plan& plan,
                                           const std::vector<std::int64_t>& shape,
                                           const IntoTile& into, int fast, int element_bytes) {
  MapRequest request;
  request.shape = shape;
  request.lane_bits = subject.lane_bits();
  request.wave_bits = plan.wave_bits;
  request.fast = into.side.memory_axis >= 0 ? into.side.memory_axis : fast;
  std::int64_t elements = 1;
  for (const auto extent : shape) elements *= extent;
  const int share_bits = std::max(0, even_bits(elements) - request.lane_bits - request.wave_bits);
  request.vector_bits = std::min(log2_of(into.side.vector_elements_max), share_bits);
  if (request.fast == fast) return {thread_map(request)};
  // A block of registers, vector_bits along memory and block_bits along LDS, so that both sides move runs.
  std::vector<layout::RegLayout> list;
  request.block_axis = fast;
  const int wide = log2_of(std::max(1, 16 / element_bytes));
  for (int vector_bits = request.vector_bits; vector_bits >= std::max(0, request.vector_bits - 1); --vector_bits) {
    const int left = std::min(share_bits - vector_bits, wide);
    // wide enough on both sides already
    if (vector_bits + left < share_bits && vector_bits < request.vector_bits) continue;
    MapRequest one = request;
    one.vector_bits = vector_bits;
    one.block_bits = std::max(0, left);
    for (const int lanes : {30, 3, 2, 4, 1}) {
      one.fast_lane_bits_max = lanes;
      auto map = thread_map(one);
      if (std::find(list.begin(), list.end(), map) == list.end()) list.push_back(std::move(map));
    }
  }
  return list;
}

// Global memory's side of a map: how many instructions, and how much of each 64-byte segment they use.
double memory_cost(const layout::RegLayout& map, const IntoTile& into, DType dtype, int lane_bits) {
  if (into.side.memory_axis < 0) return map.registers() * 16.0 * into.runs;
  const auto run = std::min<std::int64_t>(run_along(map, into.side.memory_axis), into.side.vector_elements_max);
  const double instructions = static_cast<double>(map.registers()) / static_cast<double>(run);
  std::int64_t reach = run;  // contiguous elements that neighbouring lanes move together
  for (int bit = 0; bit < lane_bits && map.lane.vectors[bit][into.side.memory_axis] == reach; ++bit) reach *= 2;
  const double segment = std::min(1.0, static_cast<double>(reach * dtype_bytes(dtype)) / 64);
  return into.runs * instructions * (8.0 + 16.0 * (1 - segment));
}

std::vector<Access> reads_of(const Subject& subject, const Plan& plan, int tile) {
  std::vector<Access> list;
  for (const Site& site : subject.sites) {
    const auto* gemm = node_of<bound::Gemm>(*site.stmt);
    if (!gemm) continue;
    const GemmPlan& made = plan.gemms.at(site.stmt);
    if (!made.instruction) continue;
    for (const OperandPlan* operand : {&made.a, &made.b}) {
      if (operand->tile != tile || operand->in_registers) continue;
      const double runs = site.runs * static_cast<double>(made.k) / static_cast<double>(made.k_slice);
      const auto layout = operand->across ? layout::permute(operand->layout, {1, 0}) : operand->layout;
      list.push_back({target::LdsOperation::read, registers_of(layout, subject.tile(tile).dtype), runs, {}, false});
    }
  }
  return list;
}

// Reads and writes of a fragment's own layout: copies between a shared tile and a fragment.
void add_fragment_copies(const Subject& subject, const Plan& plan, int tile, std::vector<Access>& list) {
  for (const Site& site : subject.sites) {
    const auto* copy = node_of<bound::Copy>(*site.stmt);
    if (!copy || copy->from.is_tensor || copy->to.is_tensor) continue;
    const bool reads = copy->from.id == tile;
    if (!reads && copy->to.id != tile) continue;
    const int other = reads ? copy->to.id : copy->from.id;
    if (subject.in_lds(other) || subject.tile(other).shape != subject.tile(tile).shape) continue;
    const auto layout = layout::permute(plan.tiles[other].home, plan.tiles[tile].axes);
    list.push_back({reads ? target::LdsOperation::read : target::LdsOperation::write,
                    registers_of(layout, subject.tile(tile).dtype), site.runs, {}, false});
  }
}

// The element that each lane touches with register `reg` of the iteration; false when one cannot be told.
bool element_of_lanes(const Subject& subject, const bound::Map& map, const layout::RegLayout& iteration, int reg,
                      const std::vector<bound::ExprPtr>& indices, const std::vector<int>& axes, int tile,
                      std::vector<layout::Coordinate>& lanes) {
  for (int lane = 0; lane < subject.target.wave; ++lane) {
    const auto place = iteration.at(reg, lane, 0);
    kernel::Known known;
    for (const auto& index : indices) {  // what is no index of the map is uniform, and moves all lanes alike
      kernel::for_each_node(*index, [&](const bound::Expr& node) {
        if (node.kind == bound::Expr::Kind::variable) known[static_cast<int>(node.integer)] = 0;
      });
    }
    for (std::size_t axis = 0; axis < place.size(); ++axis) known[map.index[axis]] = place[axis];
    layout::Coordinate element;
    for (const int axis : axes) {
      const auto value = kernel::evaluate(*indices[axis], known);
      if (!value || *value < 0 || *value >= subject.tile(tile).shape[axis]) return false;
      element.push_back(*value);
    }
    lanes.push_back(std::move(element));
  }
  return true;
}

// The instructions of an elementwise access, an element a lane: `lanes_of` gives those of one register of the iteration,
// none where they cannot be told.
template <class LanesOf>
void add_elementwise(const Subject& subject, int tile, target::LdsOperation operation, double runs,
                     const layout::RegLayout& iteration, const LanesOf& lanes_of, std::vector<Access>& list) {
  Access access{operation, {}, runs, {}, true};
  Instructions& made = access.made.emplace_back();
  made.bytes = dtype_bytes(subject.tile(tile).dtype);
  made.rule = subject.target.bank_rule(operation, made.bytes);
  made.count = static_cast<std::size_t>(iteration.registers());
  for (std::size_t reg = 0; reg < made.count; reg += std::max<std::size_t>(1, made.count / 3)) {
    std::vector<layout::Coordinate> lanes;
    if (lanes_of(static_cast<int>(reg), lanes)) made.lanes.push_back(std::move(lanes));
  }
  if (!made.lanes.empty()) list.push_back(std::move(access));
}

// Reads and writes of a tile by a map.
void add_map(const Subject& subject, const Plan& plan, int tile, const Site& site, const bound::Map& map,
             std::vector<Access>& list) {
  const auto from_fragment = iteration_layout(subject, plan, map, direct_accesses(subject, map));
  const auto iteration = from_fragment ? *from_fragment : default_iteration(subject, plan, map);
  const auto add = [&](target::LdsOperation operation, const std::vector<bound::ExprPtr>& indices) {
    const auto lanes_of = [&](int reg, std::vector<layout::Coordinate>& lanes) {
      return element_of_lanes(subject, map, iteration, reg, indices, plan.tiles[tile].axes, tile, lanes);
    };
    add_elementwise(subject, tile, operation, site.runs, iteration, lanes_of, list);
  };
  const auto read = [&](const bound::Expr& node) {
    if (node.kind == bound::Expr::Kind::tile && node.integer == tile) add(target::LdsOperation::read, node.args);
  };
  for (const auto& item : map.body) {
    if (item.where) kernel::for_each_node(*item.where, read);
    kernel::for_each_node(*item.value, read);
    if (item.compare) kernel::for_each_node(*item.compare, read);
    for (const auto& index : item.indices) kernel::for_each_node(*index, read);
    if (item.let < 0 && !item.tensor && item.target == tile) add(target::LdsOperation::write, item.indices);
  }
}

// Reads of an operand by a product on the vector unit: its lanes lie over m and n, k is uniform.
void add_vector_product(const Subject& subject, const Plan& plan, int tile, const Site& site, const bound::Gemm& gemm,
                        std::vector<Access>& list) {
  const GemmPlan& made = plan.gemms.at(site.stmt);
  if (made.instruction || (gemm.a != tile && gemm.b != tile)) return;
  bound::Map over;
  over.extent = {made.m, made.n};
  const auto iteration = subject.in_lds(gemm.c) ? default_iteration(subject, plan, over) : plan.tiles[gemm.c].home;
  for (const bool first : {true, false}) {
    if ((first ? gemm.a : gemm.b) != tile) continue;
    const bool along_rows = first != (first ? gemm.transpose_a : gemm.transpose_b);  // the tile's axis 0 is m or n
    const auto lanes_of = [&](int reg, std::vector<layout::Coordinate>& lanes) {
      for (int lane = 0; lane < subject.target.wave; ++lane) {
        const auto place = iteration.at(reg, lane, 0)[first ? 0 : 1];
        if (place >= (first ? made.m : made.n)) return false;
        const layout::Coordinate element = along_rows ? layout::Coordinate{place, 0} : layout::Coordinate{0, place};
        layout::Coordinate stored;
        for (const int axis : plan.tiles[tile].axes) stored.push_back(element[axis]);
        lanes.push_back(std::move(stored));
      }
      return true;
    };
    add_elementwise(subject, tile, target::LdsOperation::read, site.runs * static_cast<double>(made.k), iteration, lanes_of,
                    list);
  }
}

// Elementwise accesses: by maps, and by products without a matrix instruction.
void add_elements(const Subject& subject, const Plan& plan, int tile, std::vector<Access>& list) {
  for (const Site& site : subject.sites) {
    if (const auto* map = node_of<bound::Map>(*site.stmt)) add_map(subject, plan, tile, site, *map, list);
    if (const auto* gemm = node_of<bound::Gemm>(*site.stmt)) add_vector_product(subject, plan, tile, site, *gemm, list);
  }
}

Candidate evaluate(const target::Target& target, const LdsLayout& layout, std::vector<Access>& fixed,
                   std::vector<IntoTile>& copies) {
  Candidate candidate;
  candidate.layout = layout;
  for (Access& access : fixed) count(target, access, candidate);
  for (IntoTile& into : copies) {
    std::optional<Candidate> best;
    for (std::size_t i = 0; i < into.maps.size(); ++i) {
      Candidate one;
      one.layout = layout;
      count(target, into.maps[i].access, one);
      one.cost += into.maps[i].memory_cost;
      one.maps = {i};
      if (!best || one.cost < best->cost - 1e-6) best = std::move(one);
    }
    candidate.maps.push_back(best->maps.front());
    candidate.cost += best->cost;
    candidate.conflicts += best->conflicts;
  }
  return candidate;
}

Status choose_one(const Subject& subject, Plan& plan, int tile) {
  orient(subject, plan, tile);
  note_across(subject, plan, tile);
  TilePlan& made = plan.tiles[tile];
  const auto shape = storage_shape(subject, plan, tile);
  const DType dtype = subject.tile(tile).dtype;
  std::vector<Access> fixed = reads_of(subject, plan, tile);
  add_fragment_copies(subject, plan, tile, fixed);
  add_elements(subject, plan, tile, fixed);
  auto copies = copies_into(subject, plan, tile);
  for (auto& into : copies) {
    const DType outside = subject.program.tensors[into.side.tensor].dtype;
    for (auto& map : maps_to_try(subject, plan, shape, into, made.fast, dtype_bytes(dtype))) {
      const double cost = memory_cost(map, into, outside, subject.lane_bits());
      Access access{target::LdsOperation::write, registers_of(map, dtype), into.runs, {}, false};
      into.maps.push_back({std::move(map), std::move(access), cost});
    }
  }
  auto layouts = layouts_to_try(shape, made.fast, dtype_bytes(dtype));
  const LayoutSpec& spec = subject.tile(tile).layout;
  made.by_request = spec.kind != LayoutSpec::Kind::automatic;
  if (made.by_request) layouts = {requested(spec, layouts.front())};
  std::optional<Candidate> best;
  for (const auto& layout : layouts) {
    Candidate one = evaluate(subject.target, layout, fixed, copies);
    // Padding costs LDS: it has to win by more than rounding.
    if (!best || one.cost < best->cost * 0.999) best = std::move(one);
  }
  made.placed = true;
  made.lds = best->layout;
  made.conflicts = best->conflicts;
  for (std::size_t i = 0; i < copies.size(); ++i) {
    plan.copies[copies[i].stmt] = {copies[i].maps[best->maps[i]].map, copies[i].side.vector_elements_max, copies[i].side.memory_axis};
  }
  return ok();
}

}  // namespace

layout::LdsLayout scratch_layout(const target::Target& target, const std::vector<ScratchAccess>& accesses,
                                 DType dtype) {
  const auto shape = accesses.front().layout.shape();
  std::vector<Access> all;
  for (const auto& access : accesses) all.push_back({access.operation, registers_of(access.layout, dtype), 1, {}, false});
  std::optional<Candidate> best;
  for (int fast = 0; fast < static_cast<int>(shape.size()); ++fast) {
    for (const auto& layout : layouts_to_try(shape, fast, dtype_bytes(dtype))) {
      Candidate one;
      one.layout = layout;
      for (Access& access : all) count(target, access, one);
      if (!best || one.cost < best->cost * 0.999) best = std::move(one);
    }
  }
  return best->layout;
}

Status choose_shared_layouts(const Subject& subject, Plan& plan) {
  for (int tile = 0; tile < static_cast<int>(plan.tiles.size()); ++tile) {
    if (subject.in_lds(tile)) KILN_CHECK(choose_one(subject, plan, tile));
  }
  return ok();
}

}  // namespace kiln::lower::amd
