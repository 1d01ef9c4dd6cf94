// Candidates of a launch, ranked by cost, and the emission of the one that is asked for.
#include <algorithm>

#include "engine/lower/amd/amd.hpp"
#include "engine/lower/amd/builder.hpp"
#include "engine/lower/amd/finish.hpp"

namespace kiln::lower::amd {
namespace {

Result<Plan> make_plan(const Subject& subject, const Strategy& strategy) {
  Plan plan;
  plan.strategy = strategy;
  KILN_CHECK(anchor(subject, plan));
  KILN_CHECK(propagate(subject, plan));
  plan.cost = estimate(subject, plan);
  return plan;
}

bool has_gemm(const Subject& subject) {
  return std::any_of(subject.sites.begin(), subject.sites.end(),
                     [](const Site& site) { return node_of<bound::Gemm>(*site.stmt) != nullptr; });
}

int register_budget(const Subject& subject, const Plan& plan) {
  const int per_simd = std::max(1, plan.waves / subject.target.simds);
  // RDNA3: 1536 registers a lane and SIMD, of which a wave may have 256; CDNA: 512 for VGPRs and AGPRs together.
  if (subject.target.family == target::Family::rdna) return std::min(subject.target.vgprs_max, 1536 / per_simd);
  return subject.target.vgprs_max / per_simd;
}

// Cost with what makes a candidate bad: more registers than there are spills; occupancy of one wave hides less.
double score(const Subject& subject, const Plan& plan) {
  const int budget = register_budget(subject, plan);
  double value = plan.cost.cycles;
  const int tight = budget * 9 / 10;  // the compiler's own temporaries
  if (plan.cost.registers > tight) value *= 4 + static_cast<double>(plan.cost.registers) / budget;
  if (plan.cost.registers > budget / 2) value *= 1.02;
  return value;
}

std::vector<Strategy> strategies(const Subject& subject) {
  if (!has_gemm(subject)) return {Strategy{}};
  std::vector<Strategy> list;
  const int asked = rows_asked(subject);  // then there is no other to try
  for (const int rows : asked > 0 ? std::vector{asked} : std::vector{32, 16}) {
    if (asked == 0 && rows == 32 && subject.target.family == target::Family::rdna) continue;
    list.push_back({rows, true, true});
    list.push_back({rows, false, true});
    list.push_back({rows, false, false});
  }
  return list;
}

std::string text_of(const Plan& plan) {
  return "instructions of " + std::to_string(plan.strategy.rows) + " rows" +
         (plan.strategy.keep_operands ? ", operands kept" : "") + (plan.strategy.read_ahead ? ", reads ahead" : "") +
         ": " + std::to_string(static_cast<std::int64_t>(plan.cost.cycles)) + " cycles, about " +
         std::to_string(plan.cost.registers) + " registers";
}

struct Ranked {
  std::vector<Plan> plans;   // best first
  std::vector<std::string> lines;
};

Result<Ranked> rank(const Subject& subject, Budget& budget) {
  Ranked ranked;
  for (const Strategy& strategy : strategies(subject)) {
    KILN_CHECK(budget.spend(100));
    KILN_TRY(Plan plan, make_plan(subject, strategy));
    // What saves no registers where nothing could be kept or read ahead is the candidate before it once more.
    const bool again = !ranked.plans.empty() && ranked.plans.back().strategy.rows == strategy.rows &&
                       ranked.plans.back().cost.registers == plan.cost.registers;
    if (!again) ranked.plans.push_back(std::move(plan));
  }
  std::stable_sort(ranked.plans.begin(), ranked.plans.end(),
                   [&](const Plan& a, const Plan& b) { return score(subject, a) < score(subject, b) * 0.9999; });
  for (const Plan& plan : ranked.plans) {
    ranked.lines.push_back(text_of(plan));
  }
  return ranked;
}

void explain_plan(const Subject& subject, const Plan& plan, Lowered& report) {
  const auto say = [&](std::string step, std::string what, std::string text) {
    report.decisions.push_back({std::move(step), std::move(what), std::move(text)});
  };
  for (const Site& site : subject.sites) {
    const auto* gemm = node_of<bound::Gemm>(*site.stmt);
    if (!gemm) continue;
    const GemmPlan& made = plan.gemms.at(site.stmt);
    const std::string name = subject.tile(gemm->c).name + " += " + subject.tile(gemm->a).name + " * " +
        subject.tile(gemm->b).name;
    if (!made.honoured.empty()) say("schedule", name, made.honoured + ", as asked");
    if (!made.left_out.empty()) say("schedule", name, "hint not honoured: " + made.left_out);
    if (!made.instruction) {
      say("anchor", name, "vector unit: " + made.why_not);
      continue;
    }
    say("anchor", name, made.instruction->name + ", waves " + std::to_string(1 << made.grid.m_bits) + "x" +
        std::to_string(1 << made.grid.n_bits) +
                            (made.spare_bits > 0 ? " (others repeat them)" : "") + ", k-pack " +
                                std::to_string(made.k_pack) +
                            ", result transposed so that a lane holds neighbours along n");
  }
  for (int tile = 0; tile < static_cast<int>(plan.tiles.size()); ++tile) {
    const TilePlan& made = plan.tiles[tile];
    if (subject.in_lds(tile)) {
      say("shared layout", subject.tile(tile).name, made.lds.text() + (made.by_request ? " (as requested)" : "") +
          ", " +
                                                        std::to_string(made.conflicts) +
                                                            " conflict cycles by the static count");
    } else {
      say("propagate", subject.tile(tile).name, made.origin + ", " + std::to_string(made.home.registers()) +
          " registers a lane");
    }
  }
}

// "As 32768 B, Bs 16384 B": what a block's LDS is taken by.
Error too_large(const kernel::Launch& launch, const Subject& subject) {
  std::string list;
  std::int64_t own = 0;
  for (const auto& storage : launch.storages) {
    if (storage.kind != kernel::Storage::Kind::lds) continue;
    if (storage.tile >= 0 && subject.tile(storage.tile).space == Space::shared) own += storage.stage_bytes();
    list += (list.empty() ? "" : ", ") + storage.name + " " + std::to_string(storage.stages * storage.stage_bytes()) +
        " B";
  }
  if (own <= subject.target.lds_bytes) {
    // The program's tiles fit; what fragments need to change lanes does not.
    return Error(ErrorCode::unsupported, "not yet: tiles and the scratch that fragments pass through take " +
                 std::to_string(launch.lds_bytes) +
                                             " bytes of LDS, " + subject.target.arch + " has " +
                                                 std::to_string(subject.target.lds_bytes) + ": " + list);
  }
  Diagnostic diagnostic;
  diagnostic.pointer = "/launches";
  diagnostic.message = "the shared tiles take " + std::to_string(launch.lds_bytes) + " bytes of LDS: " + list;
  diagnostic.expected = "at most " + std::to_string(subject.target.lds_bytes) + " bytes on " + subject.target.arch;
  diagnostic.found = std::to_string(launch.lds_bytes);
  diagnostic.hint = "make the tiles smaller";
  return program_error(diagnostic.message, {diagnostic});
}

// The statement that first touches a tile; the launch where none does.
std::string pointer_of(const Subject& subject, int tile) {
  for (const bound::Stmt& stmt : subject.launch.body) {
    const TileUse use = tile_use(subject, stmt);
    if (use.read[tile] || use.written[tile]) return stmt.pointer;
  }
  return "/launches/0";
}

// Fragments that all registers of the block's waves together do not hold: no layout is looked for.
Status check_fragments(const Subject& subject) {
  const std::int64_t lanes = std::int64_t(1) << (subject.lane_bits() + subject.wave_bits);
  const std::int64_t most = lanes * subject.target.vgprs_max * 4;
  Diagnostics mistakes;
  for (int tile = 0; tile < static_cast<int>(subject.launch.tiles.size()); ++tile) {
    const bound::Tile& one = subject.tile(tile);
    const std::int64_t bytes = one.elements() * dtype_bytes(one.dtype);
    if (one.space == Space::shared || bytes <= most) continue;
    Diagnostic mistake;
    mistake.pointer = pointer_of(subject, tile);
    mistake.message = "the tile '" + one.name + "' does not fit the registers";
    mistake.expected = "at most " + std::to_string(most) + " bytes in the " + std::to_string(lanes) +
                       " lanes of a block on " + subject.target.arch;
    mistake.found = std::to_string(bytes) + " bytes";
    mistake.hint = kernel::registers_hint;
    mistakes.add(std::move(mistake));
  }
  if (!mistakes.has_errors()) return ok();
  auto list = mistakes.take();
  const std::string message = list.front().message;
  return program_error(message, std::move(list));
}

Error too_deep(const Subject& subject) {
  const Site* deepest = &subject.sites.front();
  for (const Site& site : subject.sites) {
    if (site.depth > deepest->depth) deepest = &site;
  }
  Diagnostic diagnostic;
  diagnostic.pointer = deepest->stmt->pointer;
  diagnostic.message = "not yet on " + subject.target.arch + ": " + std::to_string(deepest->depth) +
                       " loops around a statement, where tiles pass through LDS";
  diagnostic.hint = kernel::length_hint;
  Error error(ErrorCode::unsupported, diagnostic.message);
  error.diagnostics = {std::move(diagnostic)};
  return error;
}

Result<kernel::Launch> lower_launch(const Subject& subject, Plan plan, Lowered& report) {
  KILN_CHECK(choose_shared_layouts(subject, plan));
  Builder builder(subject, plan, report);
  explain_plan(subject, plan, report);
  kernel::Body body;
  KILN_CHECK(builder.translate(subject.launch.body, body));
  kernel::Launch launch = std::move(builder.out);
  kernel::Role role;
  role.waves = plan.waves;
  role.body = std::move(body);
  launch.roles.push_back(std::move(role));
  const std::int64_t saved = allocate_lds(launch, subject.target.lds_bytes / 2);
  if (launch.lds_bytes > subject.target.lds_bytes) return too_large(launch, subject);
  const int barriers = place_barriers(launch, subject.program.tensors);
  if (barriers < 0) return too_deep(subject);
  KILN_TRY(launch.order, block_order(subject, report));
  if (has_gemm(subject) && subject.target.family == target::Family::cdna) {
    const int own = std::max(1, plan.waves / subject.target.simds);
    if (own == 1 && plan.cost.registers < 220 &&
        2 * launch.lds_bytes <= subject.target.lds_bytes) launch.waves_per_simd = 2;
  }
  report.decisions.push_back({"order", "barriers", std::to_string(barriers) + " placed"});
  report.decisions.push_back({"order", "LDS", std::to_string(launch.lds_bytes) + " bytes" +
                                                  (saved > 0 ? ", " + std::to_string(saved) +
                                                   " saved by tiles that share bytes" : "")});
  return launch;
}

}  // namespace

Result<Lowered> lower_amd(const bound::Program& source, const target::Target& target, int attempt, Budget& budget) {
  const bound::Program program = with_full_regions(source);
  Lowered lowered;
  lowered.program.name = program.name;
  lowered.program.target = target.full;
  lowered.program.symbols = program.symbols;
  lowered.program.tensors = program.tensors;
  bool any_left = attempt == 0;
  for (std::size_t i = 0; i < program.launches.size(); ++i) {
    const Subject subject = survey(program, program.launches[i], target);
    KILN_CHECK(check_fragments(subject));
    KILN_TRY(Ranked ranked, rank(subject, budget));
    const std::size_t wanted = std::min<std::size_t>(attempt, ranked.plans.size() - 1);
    any_left = any_left || static_cast<std::size_t>(attempt) < ranked.plans.size();
    for (std::size_t other = 0; other < ranked.lines.size(); ++other) {
      lowered.decisions.push_back({"cost", "candidate " + std::to_string(other),
          ranked.lines[other] + (other == wanted ? " (taken)" : "")});
    }
    KILN_TRY(auto launch, lower_launch(subject, ranked.plans[wanted], lowered));
    launch.symbol = program.name + "_" + std::to_string(i);
    lowered.program.launches.push_back(std::move(launch));
  }
  if (!any_left) return Error(ErrorCode::not_found, "no lowering candidate " + std::to_string(attempt) + " for " +
                              program.name);
  return lowered;
}

}  // namespace kiln::lower::amd
