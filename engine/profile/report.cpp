#include "engine/profile/report.hpp"

#include <algorithm>
#include <map>

#include "engine/profile/card_facts.hpp"

namespace kiln::profile {
namespace {

bool begins(const std::string& text, const char* with) { return text.rfind(with, 0) == 0; }

struct Kinds {
  bool vector = false, matrix = false, lds = false, memory = false;
};
Kinds kinds_of(const std::string& text) {
  Kinds kinds;
  kinds.matrix = begins(text, "v_mfma") || begins(text, "v_smfmac") || begins(text, "v_wmma");
  kinds.vector = begins(text, "v_");
  kinds.lds = begins(text, "ds_");
  for (const char* name : {"global_", "flat_", "buffer_", "scratch_", "tbuffer_", "s_load", "s_buffer_load"})
    kinds.memory = kinds.memory || begins(text, name);
  return kinds;
}

// The statement of a row: its line's, by the emitted text.
const std::string& statement_of(const CountedInstruction& row, const ReportInput& input) {
  static const std::string none;
  return row.line > 0 && row.line < input.statement_of_line.size() ? input.statement_of_line[row.line] : none;
}

std::vector<StatementShare> shares(const ReportInput& input) {
  std::vector<StatementShare> all;
  std::map<std::string, std::size_t> index;
  for (const auto& statement : input.statements) {
    index.emplace(statement.pointer, all.size());
    all.push_back({});
    all.back().pointer = statement.pointer;
    all.back().text = statement.text;
  }
  StatementShare rest;
  rest.text = "addresses, prologue and end";
  std::uint64_t total = 0;
  for (const auto& row : input.counted.rows) {
    const auto found = index.find(statement_of(row, input));
    StatementShare& share = found == index.end() ? rest : all[found->second];
    const Kinds kinds = kinds_of(row.text);
    total += row.executed;
    share.executed += row.executed;
    if (kinds.vector) share.vector += row.executed;
    if (kinds.matrix) share.matrix += row.executed;
    if (kinds.lds) share.lds += row.executed;
    if (kinds.memory) share.memory += row.executed;
    share.lds_cycles += row.lds_cycles;
    share.lds_conflicts += row.lds_conflicts;
    share.bytes += row.bytes;
  }
  all.push_back(std::move(rest));
  for (auto& share : all) share.share = total == 0 ? 0 : static_cast<double>(share.executed) / static_cast<double>(total);
  return all;
}

std::vector<LdsCount> lds_counts(const ReportInput& input) {
  std::vector<LdsCount> all;
  for (const auto& row : input.counted.rows) {
    if (!kinds_of(row.text).lds || row.lds_cycles == 0) continue;
    LdsCount count{row.offset, row.text, "", statement_of(row, input), row.executed, row.lds_cycles, row.lds_conflicts,
                   std::nullopt, false};
    for (const auto& predicted : input.predicted) {
      if (predicted.offset != row.offset) continue;
      count.tile = predicted.tile;
      count.predicted_conflicts = row.executed * static_cast<std::uint64_t>(predicted.cost - predicted.active_phases);
      count.inferred = predicted.inferred;
    }
    all.push_back(std::move(count));
  }
  return all;
}

struct Matrix {
  double operations = 0;        // of all matrix instructions
  double simd_cycles = 0;       // that they keep one SIMD's matrix unit busy
};
Matrix matrix_work(const ReportInput& input) {
  Matrix work;
  for (const auto& row : input.counted.rows) {
    if (!kinds_of(row.text).matrix) continue;
    const auto* instruction = input.target.matrix_named(row.text.substr(0, row.text.find(' ')));
    if (instruction == nullptr) continue;
    const auto n = static_cast<double>(row.executed);
    work.operations += n * 2 * instruction->m * instruction->n * instruction->k;
    work.simd_cycles += n * instruction->cycles;
  }
  return work;
}

double moved_bytes(const LaunchCounters& counted) {
  return static_cast<double>(counted.counter("KILN_GLOBAL_READ_BYTES") + counted.counter("KILN_GLOBAL_WRITE_BYTES"));
}

Roofline roofline(const ReportInput& input, const CardFacts& card, const Matrix& matrix) {
  Roofline line;
  line.card = card.name;
  line.bytes = moved_bytes(input.counted);
  const double cycles_a_second = card.compute_units * card.clock_ghz * 1e9;
  line.peak_bytes = card.memory_gb_s * 1e9;
  line.operations_of = matrix.operations > 0 ? "matrix" : "vector";
  if (matrix.operations > 0 && matrix.simd_cycles > 0) {
    line.operations = matrix.operations;
    line.peak_operations = cycles_a_second * input.target.simds * matrix.operations / matrix.simd_cycles;
  } else {
    line.operations = static_cast<double>(input.counted.counter("SQ_INSTS_VALU")) * input.target.wave;
    line.peak_operations = cycles_a_second * card.vector_lanes;
  }
  line.ridge = line.peak_operations / line.peak_bytes;
  line.intensity = line.bytes > 0 ? line.operations / line.bytes : 0;
  line.bound = line.bytes > 0 && line.intensity < line.ridge ? "memory" : "compute";
  return line;
}

std::vector<UnitEstimate> estimate(const ReportInput& input, const CardFacts& card, const Matrix& matrix) {
  const auto& counted = input.counted;
  const double units = card.compute_units, simds = input.target.simds;
  const auto all_vector = counted.counter("SQ_INSTS_VALU");
  const auto of_matrix = counted.counter("SQ_INSTS_MFMA") + counted.counter("KILN_WMMA");   // SQ_INSTS_VALU has both
  const auto vector = static_cast<double>(all_vector - std::min(all_vector, of_matrix));
  const double bytes_a_cycle = card.memory_gb_s / card.clock_ghz / units;
  std::vector<UnitEstimate> all = {
      {"matrix", matrix.simd_cycles / simds / units},
      {"vector", vector * input.target.wave / card.vector_lanes / units},
      {"lds", static_cast<double>(counted.counter("SQ_LDS_IDX_ACTIVE")) / units},
      {"memory", moved_bytes(counted) / bytes_a_cycle / units}};
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.cycles > b.cycles; });
  return all;
}

}  // namespace

Report make_report(ReportInput input) {
  Report report;
  report.resources = input.resources;
  report.occupancy = occupancy(input.target, input.resources);
  if (const auto* card = card_facts(input.target)) {
    const Matrix matrix = matrix_work(input);
    report.roofline = roofline(input, *card, matrix);
    report.estimate = estimate(input, *card, matrix);
  }
  report.statements = shares(input);
  report.lds = lds_counts(input);
  report.counted = std::move(input.counted);
  return report;
}

}  // namespace kiln::profile
