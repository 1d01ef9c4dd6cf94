#include "engine/ir/kernel/matrix_layouts.hpp"

#include "engine/ir/layout/linear.hpp"

namespace kiln::kernel {
namespace {

using layout::BitSource;
using layout::Coordinate;
using layout::log2_exact;
using layout::power_of_two_part;
using layout::RegLayout;
using target::Family;

Error refused(const std::string& what) { return Error(ErrorCode::invalid_argument, what); }

// `count` units of `step` along an extent: their number as 2^bits times an odd repeat (which make_layout finds itself).
struct Repeats { int bits = 0; };
Result<Repeats> repeats_of(std::int64_t extent, std::int64_t step, const char* what) {
  if (extent < 1 || extent % step != 0) {
    return refused(std::string(what) + " " + std::to_string(extent) + " is no multiple of " + std::to_string(step));
  }
  return Repeats{log2_exact(power_of_two_part(extent / step))};
}

Status check_instruction(const target::MatrixInstruction& instruction) {
  if (instruction.family == Family::host) return refused("host.fma has no register layouts");
  return ok();
}

// The waves of the other axis repeat the operand: free wave bits below (b's waves come first) or above the operand's
// own.
void append_waves(std::vector<BitSource>& order, Operand operand, const WaveGrid& grid) {
  if (operand == Operand::a) {
    order.push_back({BitSource::wave, grid.n_bits, -1});
    order.push_back({BitSource::wave, grid.m_bits, 0});
  } else {
    order.push_back({BitSource::wave, grid.n_bits, 0});
    order.push_back({BitSource::wave, grid.m_bits, -1});
  }
}

int own_bits(Operand operand, const WaveGrid& grid) { return operand == Operand::a ? grid.m_bits : grid.n_bits; }

}  // namespace

Result<RegLayout> operand_layout(const target::MatrixInstruction& instruction, Operand operand, std::int64_t rows,
                                 std::int64_t k, const WaveGrid& grid, int k_pack) {
  KILN_CHECK(check_instruction(instruction));
  if (!layout::is_power_of_two(k_pack)) return refused("k-pack " + std::to_string(k_pack) + " is no power of two");
  const int instruction_rows = operand == Operand::a ? instruction.m : instruction.n;
  const std::int64_t wave_rows = std::int64_t(instruction_rows) << own_bits(operand, grid);
  KILN_TRY(const auto row_repeats, repeats_of(rows, wave_rows, "operand rows"));
  KILN_TRY(const auto k_steps, repeats_of(k, std::int64_t(instruction.k) * k_pack, "operand k"));
  const int group_bits = instruction.family == Family::cdna ? log2_exact(64 / instruction_rows) : 0;
  std::vector<BitSource> order = {
      {BitSource::reg, log2_exact(instruction.operand_elements) + log2_exact(k_pack), 1},
      {BitSource::lane, log2_exact(instruction_rows), 0},
      {BitSource::lane, group_bits, 1},
      {BitSource::reg, k_steps.bits, 1},
      {BitSource::reg, row_repeats.bits, 0},
  };
  // the other half repeats the operand
  if (instruction.family == Family::rdna) order.push_back({BitSource::lane, 1, -1});
  append_waves(order, operand, grid);
  return layout::make_layout({rows, k}, order);
}

Result<RegLayout> operand_layout_like(const target::MatrixInstruction& instruction, Operand operand, std::int64_t rows,
                                      const RegLayout& other, const WaveGrid& grid) {
  KILN_CHECK(check_instruction(instruction));
  if (other.rank() != 2) return refused("the partner operand is no [rows, k] layout");
  const int instruction_rows = operand == Operand::a ? instruction.m : instruction.n;
  const std::int64_t wave_rows = std::int64_t(instruction_rows) << own_bits(operand, grid);
  KILN_TRY(const auto row_repeats, repeats_of(rows, wave_rows, "operand rows"));
  const int lane_rows = log2_exact(instruction_rows);
  std::vector<BitSource> order = {{BitSource::lane, lane_rows, 0}, {BitSource::reg, row_repeats.bits, 0}};
  append_waves(order, operand, grid);
  KILN_TRY(RegLayout result, layout::make_layout({rows, 1}, order));
  // k, as the partner has it: its registers that move k only, in their order, below the row repeats; its upper lane
  // bits.
  result.unit[1] = other.unit[1];
  result.repeat[1] = other.repeat[1];
  std::vector<Coordinate> registers, lanes(result.lane.vectors);
  for (const auto& vector : other.reg.vectors) {
    if (vector[0] != 0 && vector[1] != 0) {
      return refused("a register bit of the partner operand moves row and k at once");
    }
    if (vector[1] != 0) registers.push_back({0, vector[1]});
  }
  registers.insert(registers.end(), result.reg.vectors.begin(), result.reg.vectors.end());
  for (int bit = 0; bit < other.lane.bits(); ++bit) {
    const auto moved = other.lane.vectors[bit][1];
    if (bit < lane_rows && moved != 0) return refused("the partner operand's k depends on the lanes that carry rows");
    if (bit >= lane_rows) lanes.push_back({0, moved});
  }
  for (const auto& vector : other.wave.vectors) {
    if (vector[1] != 0) return refused("the partner operand's k depends on the wave");
  }
  result.reg.vectors = std::move(registers);
  result.lane.vectors = std::move(lanes);
  for (int r = 0; r < instruction.operand_elements; ++r) {
    if (r >= result.registers() || result.of_register(r)[0] != 0) {
      return refused("the partner operand's registers do not run along k");
    }
  }
  return result;
}

Result<RegLayout> result_layout(const target::MatrixInstruction& instruction, std::int64_t m, std::int64_t n,
                                const WaveGrid& grid, bool swapped) {
  KILN_CHECK(check_instruction(instruction));
  // `run`: the axis along which a lane's elements lie, the instruction's rows; `across`: the axis of its lanes, its
  // columns.
  const int run = swapped ? 1 : 0, across = 1 - run;
  const int bits[2] = {grid.m_bits, grid.n_bits};
  const std::int64_t extent[2] = {m, n};
  const char* const name[2] = {"result m", "result n"};
  const std::int64_t run_step = std::int64_t(instruction.m) << bits[run];
  const std::int64_t across_step = std::int64_t(instruction.n) << bits[across];
  KILN_TRY(const auto run_repeats, repeats_of(extent[run], run_step, name[run]));
  KILN_TRY(const auto across_repeats, repeats_of(extent[across], across_step, name[across]));
  std::vector<BitSource> order;
  if (instruction.family == Family::rdna) {  // row = 2 * element + lane / 16
    order = {{BitSource::lane, 4, across}, {BitSource::lane, 1, run}, {BitSource::reg, 3, run}};
  } else if (instruction.m == 32) {          // row = 8 * (element / 4) + 4 * (lane / 32) + element % 4
    order = {{BitSource::lane, 5, across}, {BitSource::reg, 2, run}, {BitSource::lane, 1, run},
             {BitSource::reg, 2, run}};
  } else {                                   // row = 4 * (lane / 16) + element
    order = {{BitSource::lane, 4, across}, {BitSource::reg, 2, run}, {BitSource::lane, 2, run}};
  }
  order.push_back({BitSource::reg, run_repeats.bits, run});
  order.push_back({BitSource::reg, across_repeats.bits, across});
  order.push_back({BitSource::wave, grid.n_bits, 1});
  order.push_back({BitSource::wave, grid.m_bits, 0});
  return layout::make_layout({m, n}, order);
}

}  // namespace kiln::kernel
