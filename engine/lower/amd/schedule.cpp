// What a program asks of lowering by `schedule`: gemms' requests for anchor.cpp, and the order of blocks.
#include <algorithm>

#include "engine/lower/amd/plan.hpp"

namespace kiln::lower::amd {
namespace {

std::string number(int value) { return value == 0 ? "*" : std::to_string(value); }

std::string launch_pointer(const Subject& subject) {
  return "/launches/" + std::to_string(&subject.launch - subject.program.launches.data());
}

bool has_gemm(const Subject& subject) {
  return std::any_of(subject.sites.begin(), subject.sites.end(),
                     [](const Site& site) { return node_of<bound::Gemm>(*site.stmt) != nullptr; });
}

// Blocks that are neighbours in a group of rows share operands in the L2; blocks are dealt over the chip's XCDs in
// turn.
kernel::BlockOrder own_order(const Subject& subject, const Facts& facts) {
  kernel::BlockOrder order;
  if (!has_gemm(subject)) return order;
  if (facts.grid(0) < 4 || facts.grid(1) < 4 || !subject.launch.grid[2].is(1)) return order;
  order.group = 8;
  if (subject.target.arch == "gfx942" || subject.target.arch == "gfx950") order.xcds = 8;
  return order;
}

}  // namespace

std::string Asked::text() const {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (any_instruction()) add("instruction " + number(m) + "x" + number(n) + (k > 0 ? "x" + number(k) : ""));
  if (any_waves()) add("waves " + number(waves_m) + "x" + number(waves_n));
  if (k_pack > 0) add("k-pack " + number(k_pack));
  return text;
}

Asked asked_of(const Subject& subject, const bound::Stmt& stmt, const bound::Gemm& gemm) {
  const bound::GemmSchedule& own = gemm.schedule;
  const bool own_waves = own.waves_m > 0 || own.waves_n > 0;
  const bound::LaunchSchedule& launch = subject.launch.schedule;
  Asked asked;
  asked.m = own.m;
  asked.n = own.n;
  asked.k = own.k;
  asked.k_pack = own.k_pack;
  asked.waves_m = own_waves ? own.waves_m : launch.waves_m;
  asked.waves_n = own_waves ? own.waves_n : launch.waves_n;
  asked.hint = own.hint;
  asked.waves_hint = own_waves ? own.hint : launch.hint;
  asked.pointer = stmt.pointer + "/schedule";
  asked.waves_pointer = (own_waves ? asked.pointer : launch_pointer(subject) + "/schedule") + "/waves";
  return asked;
}

Error not_honoured(std::string pointer, std::string message, std::string expected, std::string found,
                   std::string hint) {
  Diagnostic diagnostic;
  diagnostic.pointer = std::move(pointer);
  diagnostic.message = std::move(message);
  diagnostic.expected = std::move(expected);
  diagnostic.found = std::move(found);
  diagnostic.hint = std::move(hint);
  Error error(ErrorCode::unsupported, diagnostic.pointer + ": " + diagnostic.message);
  error.diagnostics = {std::move(diagnostic)};
  return error;
}

int rows_asked(const Subject& subject) {
  int rows = 0;
  for (const Site& site : subject.sites) {
    const auto* gemm = node_of<bound::Gemm>(*site.stmt);
    if (!gemm) continue;
    if (gemm->schedule.hint || gemm->schedule.m == 0 || (rows > 0 && rows != gemm->schedule.m)) return 0;
    rows = gemm->schedule.m;
  }
  return rows;
}

bool has_turns(const bound::For& loop) {
  return std::any_of(loop.body.begin(), loop.body.end(),
                     [](const bound::Stmt& stmt) { return stmt.turn.position >= 0 || stmt.turn.stage >= 0; });
}

namespace {

bool contains(const std::vector<const bound::Stmt*>& list, const bound::Stmt& stmt) {
  return std::find(list.begin(), list.end(), &stmt) != list.end();
}

// What lowering does: copies that can be are done an iteration ahead, in any order, in front of the other statements,
// which stay as they are written. The error says which statement asks for something else.
Result<std::vector<const bound::Stmt*>> follow_turns(const bound::For& loop,
                                                     const std::vector<const bound::Stmt*>& able) {
  int first = INT32_MAX, last = -1;
  for (const bound::Stmt& stmt : loop.body) {
    if (stmt.turn.stage >= 0) first = std::min(first, stmt.turn.stage);
    last = std::max(last, stmt.turn.stage);
  }
  std::vector<const bound::Stmt*> ahead;
  for (const bound::Stmt& stmt : loop.body) {
    const int stage = stmt.turn.stage;
    if (stage > first && stage - first > 1)
      return not_honoured(stmt.pointer, "not yet: stages more than one iteration apart",
                          "stage " + std::to_string(first) + " or " + std::to_string(first + 1),
                          "stage " + std::to_string(stage));
    if (stage >= 0 && last > first && stage == first && !contains(able, stmt))
      return not_honoured(stmt.pointer, "this statement cannot run an iteration ahead of others",
                          "the last stage; ahead run copies from a tensor that the loop does not write into a shared "
                          "tile that nothing else in the loop writes",
                          "stage " + std::to_string(stage));
    const bool wanted = last < 0 || (last > first && (stage < 0 || stage == first));
    if (wanted && contains(able, stmt)) ahead.push_back(&stmt);
  }
  std::stable_sort(ahead.begin(), ahead.end(), [](const bound::Stmt* a, const bound::Stmt* b) {
    return a->turn.position < b->turn.position;
  });
  int before = -1, latest_ahead = -1;
  for (const bound::Stmt* stmt : ahead) latest_ahead = std::max(latest_ahead, stmt->turn.position);
  for (const bound::Stmt& stmt : loop.body) {
    const int position = stmt.turn.position;
    if (position < 0 || contains(ahead, stmt)) continue;
    if (position < before)
      return not_honoured(stmt.pointer, "not yet: statements of one iteration in another order than they are written",
                          "a position behind " + std::to_string(before), "position " + std::to_string(position));
    if (position < latest_ahead)
      return not_honoured(stmt.pointer, "not yet: a statement before copies of the next iteration",
                          "copies that run ahead in front: a position behind " + std::to_string(latest_ahead),
                          "position " + std::to_string(position));
    before = position;
  }
  return ahead;
}

}  // namespace

Result<std::vector<const bound::Stmt*>> prefetched_copies(const Subject& subject, const bound::For& loop,
                                                          const std::vector<const bound::Stmt*>& able,
                                                          Lowered& report) {
  if (!has_turns(loop)) return able;
  auto ahead = follow_turns(loop, able);
  const std::string name = "loop " + subject.launch.variables[loop.var].name;
  if (ahead) {
    report.decisions.push_back({"schedule", name, std::to_string(ahead->size()) +
                                                      " of its statements run an iteration ahead, as asked"});
    return ahead;
  }
  if (!loop.hint) return std::move(ahead).error();
  const Diagnostic& why = ahead.error().diagnostics.front();
  report.decisions.push_back({"schedule", name, "hint not honoured: " + why.pointer + ": " + why.message});
  return able;
}

Result<kernel::BlockOrder> block_order(const Subject& subject, Lowered& report) {
  const Facts facts(subject.launch.grid, subject.program.symbols);
  kernel::BlockOrder order = own_order(subject, facts);
  const bound::BlockOrder& asked = subject.launch.schedule.order;
  if (asked.panel == 0) return order;
  const std::string pointer = launch_pointer(subject) + "/schedule/block_order";
  const __int128 blocks = static_cast<__int128>(facts.grid(0)) * facts.grid(1);
  const std::string what =
      "panels of " + std::to_string(asked.panel) + (asked.along_y ? " columns" : " rows");
  if (blocks > INT32_MAX) {
    if (!subject.launch.schedule.hint)
      return not_honoured(pointer, "not yet on " + subject.target.arch + ": an order of more than 2^31 - 1 blocks",
                          "at most 2147483647 blocks along x and y together, whatever the dynamic symbols are", what,
                          "promise what the symbols are: \"max\"");
    report.decisions.push_back({"schedule", "block order", "hint not honoured: " + what + " of over 2^31 blocks"});
    return order;
  }
  const std::int64_t across = std::max<std::int64_t>(1, asked.along_y ? facts.grid(0) : facts.grid(1));
  order.group = std::min(asked.panel, across);
  order.columns = asked.along_y;
  report.decisions.push_back(
      {"schedule", "block order", what + ", walked along " + (asked.along_y ? "y" : "x") +
                                      (order.xcds > 1 ? "; each of the " + std::to_string(order.xcds) +
                                                            " dies takes a contiguous share"
                                                      : "")});
  return order;
}

}  // namespace kiln::lower::amd
