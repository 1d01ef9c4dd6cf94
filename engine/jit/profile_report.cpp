#include "engine/jit/profile_report.hpp"

#include <algorithm>
#include <charconv>
#include <map>

#include "engine/emit/emit.hpp"

namespace kiln::jit {
namespace {

std::string tile_name(const compile::LdsRow& row, const bound::Program* program) {
  if (program == nullptr || row.tile < 0) return row.name;
  const auto& tiles = program->launches[static_cast<std::size_t>(row.launch)].tiles;
  return static_cast<std::size_t>(row.tile) < tiles.size() ? tiles[static_cast<std::size_t>(row.tile)].name : row.name;
}

profile::ReportInput input_of(const compile::Metadata& metadata, std::size_t index, const bound::Program* program,
                              const target::Target& target) {
  profile::ReportInput input;
  input.target = target;
  const auto& launch = metadata.launches[index];
  const auto& r = launch.resources;
  input.resources = {r.vgprs, r.agprs, r.sgprs, r.vgpr_spills, r.sgpr_spills, r.lds_bytes, r.scratch_bytes, launch.threads};
  for (const auto& row : metadata.lds_rows)
    if (row.launch == static_cast<std::int64_t>(index))
      input.predicted.push_back({static_cast<std::uint64_t>(row.address), tile_name(row, program), row.cost,
                                 row.active_phases, row.inferred});
  if (program != nullptr)
    for (auto& text : bound::statement_texts(*program, program->launches[index]))
      input.statements.push_back({std::move(text.pointer), std::move(text.text)});
  // The text knows statements by their number: what they are called is this request's.
  for (const auto& owner : emit::owners_of_lines(metadata.source)) {
    std::size_t number = input.statements.size();
    std::from_chars(owner.pointer.data(), owner.pointer.data() + owner.pointer.size(), number);
    input.statement_of_line.push_back(number < input.statements.size() ? input.statements[number].pointer : "");
  }
  return input;
}

std::string sentence(const LayoutAdvice& advice, const std::string& target) {
  std::string text = advice.tile + ": " + advice.instruction + " at " + std::to_string(advice.offset) +
                     (advice.statement.empty() ? "" : " (" + advice.statement + ")") + " loses most of the tile's " +
                     std::to_string(advice.conflict_cycles) + " conflict cycles, laid out " + advice.layout + "; ";
  if (advice.better.empty()) return text + "no layout that fits is better on " + target;
  return text + "use layout auto (--layout " + advice.tile + "=auto): " + advice.better + " on " + target + ", " +
         std::to_string(advice.better_conflicts) + " conflict cycles by the static count";
}

void advise(const compile::Metadata& metadata, std::size_t index, const target::Target& target,
            const profile::Report& report, std::vector<LayoutAdvice>& all) {
  struct Loss {
    std::uint64_t cycles = 0;
    const profile::LdsCount* worst = nullptr;
    int worst_tile = -1;
  };
  std::map<std::string, Loss> losses;
  for (const auto& row : report.lds) {
    if (row.conflicts == 0 || row.tile.empty()) continue;
    auto& loss = losses[row.tile];
    loss.cycles += row.conflicts;
    if (loss.worst == nullptr || row.conflicts > loss.worst->conflicts) loss.worst = &row;
  }
  for (const auto& row : metadata.lds_rows)
    for (auto& [name, loss] : losses)
      if (row.launch == static_cast<std::int64_t>(index) && static_cast<std::uint64_t>(row.address) == loss.worst->offset)
        loss.worst_tile = row.tile;
  for (const auto& [name, loss] : losses) {
    LayoutAdvice advice;
    advice.tile = name;
    advice.instruction = loss.worst->instruction.substr(0, loss.worst->instruction.find(' '));
    advice.offset = loss.worst->offset;
    advice.conflict_cycles = loss.cycles;
    for (const auto& share : report.statements)
      if (share.pointer == loss.worst->statement && !share.pointer.empty()) advice.statement = share.text;
    for (const auto& shared : metadata.shared_tiles) {
      if (shared.launch != static_cast<std::int64_t>(index) || shared.tile != loss.worst_tile) continue;
      advice.layout = shared.layout;
      advice.better = shared.better;
      advice.better_conflicts = shared.better_conflicts;
    }
    advice.text = sentence(advice, target.arch);
    all.push_back(std::move(advice));
  }
}

}  // namespace

Result<KernelProfile> make_kernel_profile(const Kernel& kernel, const bound::Program* program,
                                          const device::LaunchReport& launch) {
  KernelProfile result;
  if (launch.profiles.empty()) return result;
  KILN_TRY(auto counted, profile::read_launch_counters(launch.profiles));
  const auto& metadata = kernel.metadata;
  KILN_TRY(const auto target, target::parse_target(metadata.target));
  for (auto& counters : counted) {
    const auto found = std::find_if(metadata.launches.begin(), metadata.launches.end(),
                                    [&](const auto& info) { return info.symbol == counters.kernel; });
    if (found == metadata.launches.end() || (program != nullptr && program->launches.size() != metadata.launches.size()))
      return Error(ErrorCode::corrupt, "the card counted a kernel that is not of this program: " + counters.kernel);
    const auto index = static_cast<std::size_t>(found - metadata.launches.begin());
    auto input = input_of(metadata, index, program, target);
    input.counted = std::move(counters);
    result.launches.push_back(profile::make_report(std::move(input)));
    advise(metadata, index, target, result.launches.back(), result.advice);
  }
  return result;
}

}  // namespace kiln::jit
