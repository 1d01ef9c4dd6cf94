#include "engine/jit/profile_report.hpp"

#include <algorithm>
#include <map>

#include "engine/emit/emit.hpp"
#include "engine/lower/lower.hpp"
#include "engine/profile/bank_conflicts.hpp"

namespace kiln::jit {
namespace {

constexpr std::int64_t lowering_budget = 200'000'000;

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
  for (auto& owner : emit::owners_of_lines(metadata.source)) input.statement_of_line.push_back(std::move(owner.pointer));
  if (program != nullptr)
    for (auto& text : bound::statement_texts(*program, program->launches[index]))
      input.statements.push_back({std::move(text.pointer), std::move(text.text)});
  return input;
}

// The layout that the chooser takes for a tile, and the conflict cycles that are left with it.
struct Choice {
  std::string layout;
  std::int64_t conflicts = 0;
};
std::optional<Choice> choose(const bound::Program& program, std::size_t launch, int tile, const target::Target& target) {
  bound::Program free = program;
  free.launches[launch].tiles[static_cast<std::size_t>(tile)].layout = LayoutSpec{};
  Budget budget(lowering_budget);
  const auto lowered = lower::lower(free, target, 0, budget);
  if (!lowered) return std::nullopt;
  const auto& made = lowered->program.launches[launch];
  const auto rows = profile::lds_instructions(made, target);
  if (!rows) return std::nullopt;
  Choice choice;
  for (const auto& storage : made.storages)
    if (storage.tile == tile && storage.kind == kernel::Storage::Kind::lds) choice.layout = storage.lds_layout.text();
  for (const auto& row : *rows)
    if (row.tile == tile) choice.conflicts += row.cost.conflicts();
  return choice;
}

std::string sentence(const LayoutAdvice& advice, const std::string& target) {
  std::string text = advice.tile + ": " + advice.instruction + " at " + std::to_string(advice.offset) +
                     (advice.statement.empty() ? "" : " (" + advice.statement + ")") + " loses most of the tile's " +
                     std::to_string(advice.conflict_cycles) + " conflict cycles, laid out " + advice.layout + "; ";
  if (advice.better.empty()) return text + "no layout that fits is better on " + target;
  return text + "use layout auto (--layout " + advice.tile + "=auto): " + advice.better + " on " + target + ", " +
         std::to_string(advice.better_conflicts) + " conflict cycles by the static count";
}

void advise(const compile::Metadata& metadata, std::size_t index, const bound::Program& program,
            const target::Target& target, const profile::Report& report, std::vector<LayoutAdvice>& all) {
  struct Loss {
    std::uint64_t cycles = 0;
    const profile::LdsCount* worst = nullptr;
  };
  std::map<std::string, Loss> losses;
  for (const auto& row : report.lds) {
    if (row.conflicts == 0 || row.tile.empty()) continue;
    auto& loss = losses[row.tile];
    loss.cycles += row.conflicts;
    if (loss.worst == nullptr || row.conflicts > loss.worst->conflicts) loss.worst = &row;
  }
  for (const auto& [name, loss] : losses) {
    LayoutAdvice advice;
    advice.tile = name;
    advice.instruction = loss.worst->instruction.substr(0, loss.worst->instruction.find(' '));
    advice.offset = loss.worst->offset;
    advice.conflict_cycles = loss.cycles;
    for (const auto& share : report.statements)
      if (share.pointer == loss.worst->statement && !share.pointer.empty()) advice.statement = share.text;
    const auto& tiles = program.launches[index].tiles;
    const auto tile = std::find_if(tiles.begin(), tiles.end(), [&](const auto& t) { return t.name == advice.tile; });
    if (tile == tiles.end()) continue;
    const int id = static_cast<int>(tile - tiles.begin());
    for (const auto& shared : metadata.shared_tiles)
      if (shared.tile == id) advice.layout = shared.layout;
    if (const auto choice = choose(program, index, id, target); choice && choice->layout != advice.layout) {
      advice.better = choice->layout;
      advice.better_conflicts = choice->conflicts;
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
    if (program != nullptr) advise(metadata, index, *program, target, result.launches.back(), result.advice);
  }
  return result;
}

}  // namespace kiln::jit
