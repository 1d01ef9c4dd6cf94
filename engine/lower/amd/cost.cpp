// Step 9: the estimate that ranks candidates. Cycles of one block on one compute unit, registers of one lane, LDS of a
// block. Shared layouts are chosen afterwards, for the candidate that is taken: they are free of conflicts wherever one
// exists.
#include <algorithm>

#include "engine/lower/amd/plan.hpp"
#include "engine/lower/amd/thread_maps.hpp"

namespace kiln::lower::amd {
namespace {

int dwords(const layout::RegLayout& layout, DType dtype) { return (layout.registers() * dtype_bytes(dtype) + 3) / 4; }

// Matrix cycles and LDS reads of one gemm statement's run.
void add_gemm(const Subject& subject, const GemmPlan& gemm, double runs, int waves, Cost& cost) {
  if (!gemm.instruction) {
    cost.cycles += runs * static_cast<double>(gemm.m * gemm.n * gemm.k) / (subject.target.wave * 2.0);
    return;
  }
  const auto& one = *gemm.instruction;
  const double products =
      static_cast<double>(gemm.result.registers()) / one.result_elements * static_cast<double>(gemm.k) / one.k;
  const double per_simd = std::max(1.0, static_cast<double>(waves) / subject.target.simds);
  double lds = 0;
  int slice_registers = 0;
  for (const OperandPlan* operand : {&gemm.a, &gemm.b}) {
    if (operand->in_registers) continue;
    const DType dtype = subject.tile(operand->tile).dtype;
    const double bytes = static_cast<double>(operand->layout.registers()) * dtype_bytes(dtype) * subject.target.wave;
    lds += bytes * static_cast<double>(gemm.k) / static_cast<double>(gemm.k_slice) * waves / 128;
    slice_registers += dwords(operand->layout, dtype);
  }
  const double matrix = products * std::max(one.cycles, 8) * per_simd;
  cost.cycles += runs * (std::max(matrix, lds) + (gemm.read_ahead ? 0.25 : 0.5) * std::min(matrix, lds) +
                         products * 4 * per_simd);
  cost.registers = std::max(cost.registers, (gemm.read_ahead ? 2 : 1) * slice_registers);
}

// Operands that a loop leaves alone and that are read before it.
int kept_registers(const Subject& subject, const Plan& plan) {
  if (!plan.strategy.keep_operands) return 0;
  std::int64_t registers = 0;
  for (const Site& site : subject.sites) {
    if (site.depth == 0 || !node_of<bound::Gemm>(*site.stmt)) continue;
    const GemmPlan& gemm = plan.gemms.at(site.stmt);
    if (!gemm.instruction) continue;
    for (const OperandPlan* operand : {&gemm.a, &gemm.b}) {
      if (operand->in_registers || operand->scratch) continue;
      const bool changes = std::any_of(subject.sites.begin(), subject.sites.end(), [&](const Site& other) {
        const auto* copy = node_of<bound::Copy>(*other.stmt);
        return copy && other.depth > 0 && !copy->to.is_tensor && copy->to.id == operand->tile;
      });
      if (!changes) registers += dwords(operand->layout, subject.tile(operand->tile).dtype) * (gemm.k / gemm.k_slice);
    }
  }
  return static_cast<int>(registers);
}

}  // namespace

Cost estimate(const Subject& subject, const Plan& plan) {
  Cost cost;
  for (const Site& site : subject.sites) {
    if (node_of<bound::Gemm>(*site.stmt)) add_gemm(subject, plan.gemms.at(site.stmt), site.runs, plan.waves, cost);
    if (plan.strategy.keep_operands && node_of<bound::Gemm>(*site.stmt)) cost.cycles -= 1;  // equal otherwise: keep
    if (const auto* map = node_of<bound::Map>(*site.stmt)) {
      double elements = 1;
      for (const auto extent : map->extent) elements *= static_cast<double>(extent);
      cost.cycles += site.runs * elements * 4 / 64;
    }
  }
  std::int64_t prefetched = 0;  // tiles of the next iteration, spread over the block
  for (const Site& site : subject.sites) {
    const auto* copy = node_of<bound::Copy>(*site.stmt);
    if (!copy || site.depth == 0 || !copy->from.is_tensor || copy->to.is_tensor ||
        !subject.in_lds(copy->to.id)) continue;
    const std::int64_t bytes =
        subject.tile(copy->to.id).elements() * dtype_bytes(subject.program.tensors[copy->from.id].dtype);
    prefetched += bytes / 4 / (static_cast<std::int64_t>(plan.waves) * subject.target.wave);
  }
  int fragments = 0;
  for (int tile = 0; tile < static_cast<int>(plan.tiles.size()); ++tile) {
    const DType dtype = subject.tile(tile).dtype;
    if (subject.in_lds(tile)) {
      cost.lds_bytes += subject.tile(tile).elements() * dtype_bytes(dtype);
    } else {
      fragments += dwords(plan.tiles[tile].home, dtype);
    }
  }
  // addresses, loop state
  cost.registers += fragments + static_cast<int>(prefetched) + kept_registers(subject, plan) + 24;
  return cost;
}

}  // namespace kiln::lower::amd
