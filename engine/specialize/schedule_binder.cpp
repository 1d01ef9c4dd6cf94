// Binding of `schedule`: numbers that are known when the kernel is compiled.
#include <algorithm>

#include "engine/specialize/statement_binder.hpp"

namespace kiln::specialize {
namespace {

constexpr int panel_max = INT32_MAX, waves_max = 64, instruction_max = 1 << 16, k_pack_max = 64, vector_bytes_max = 16;

}  // namespace

int StatementBinder::number(const tile::Text& text, int least, int most, const std::string& what) {
  if (!text) return 0;
  return static_cast<int>(binder_.constant(text, least, most, what).value_or(0));
}

int StatementBinder::power_of_two(const tile::Text& text, int most, const std::string& what) {
  const int value = number(text, 0, most, what);
  if ((value & (value - 1)) == 0) return value;
  mistake(text.pointer, About::size,
          {what + " is no power of two",
           "a power of two up to " + std::to_string(most) + ", or 0 for lowering's choice", std::to_string(value)});
  return 0;
}

bound::LaunchSchedule StatementBinder::schedule_of(const tile::LaunchSchedule& asked) {
  bound::LaunchSchedule made;
  made.order.panel = number(asked.panel, 0, panel_max, "a panel of blocks");
  made.order.along_y = made.order.panel > 0 && asked.along_y;
  if (!asked.waves.empty()) {
    made.waves_m = power_of_two(asked.waves[0], waves_max, "the number of waves along m");
    made.waves_n = power_of_two(asked.waves[1], waves_max, "the number of waves along n");
  }
  made.hint = asked.hint && (made.order.panel > 0 || made.waves_m > 0 || made.waves_n > 0);
  return made;
}

bound::GemmSchedule StatementBinder::schedule_of(const tile::GemmSchedule& asked) {
  bound::GemmSchedule made;
  int* const extents[] = {&made.m, &made.n, &made.k};
  for (std::size_t i = 0; i < asked.instruction.size(); ++i)
    *extents[i] = number(asked.instruction[i], 0, instruction_max, "an extent of the matrix instruction");
  made.k_pack = power_of_two(asked.k_pack, k_pack_max, "the k-pack");
  if (!asked.waves.empty()) {
    made.waves_m = power_of_two(asked.waves[0], waves_max, "the number of waves along m");
    made.waves_n = power_of_two(asked.waves[1], waves_max, "the number of waves along n");
  }
  const int asked_for[] = {made.m, made.n, made.k, made.k_pack, made.waves_m, made.waves_n};
  made.hint = asked.hint && std::any_of(std::begin(asked_for), std::end(asked_for), [](int v) { return v > 0; });
  return made;
}

bound::CopySchedule StatementBinder::schedule_of(const tile::Copy& copy, DType dtype, bool in_memory) {
  bound::CopySchedule made;
  const tile::Text& text = copy.schedule.vector_bytes;
  made.vector_bytes = power_of_two(text, vector_bytes_max, "the widest access");
  made.hint = made.vector_bytes > 0 && copy.schedule.hint;
  if (made.vector_bytes == 0 || made.hint) return made;
  if (!in_memory)
    mistake(text.pointer, About::structure, {"a copy between tiles accesses no memory", "a tensor on one side"});
  else if (made.vector_bytes < dtype_bytes(dtype))
    mistake(text.pointer, About::size,
            {"the widest access is smaller than an element", std::to_string(dtype_bytes(dtype)) + " bytes or more",
             std::to_string(made.vector_bytes)});
  return made;
}

std::vector<bound::Turn> StatementBinder::turns_of(const Stmt& stmt, const tile::For& loop, int stages) {
  const int count = static_cast<int>(loop.body.size());
  std::vector<bound::Turn> turns(loop.body.size());
  std::vector<bool> taken(loop.body.size(), false);
  for (std::size_t i = 0; i < loop.schedule.order.size(); ++i) {
    const tile::Text& text = loop.schedule.order[i];
    const auto position = text ? binder_.constant(text, 0, count - 1, "a position in the loop") : std::nullopt;
    if (!position) continue;
    turns[i].position = static_cast<int>(*position);
    if (taken[static_cast<std::size_t>(*position)])
      mistake(text.pointer, About::size,
              {"two statements have one position", "each position from 0 to " + std::to_string(count - 1) + " once",
               std::to_string(*position)});
    taken[static_cast<std::size_t>(*position)] = true;
  }
  for (std::size_t i = 0; i < loop.schedule.stage.size(); ++i) {
    const tile::Text& text = loop.schedule.stage[i];
    const auto stage = text ? binder_.constant(text, 0, bound::turns_max, "a stage") : std::nullopt;
    if (stage) turns[i].stage = static_cast<int>(*stage);
  }
  const auto [first, last] = std::minmax_element(turns.begin(), turns.end(), [](const auto& a, const auto& b) {
    return a.stage < b.stage;
  });
  const bool apart = first != turns.end() && first->stage >= 0 && last->stage > first->stage;
  if (stages == 1 && apart && !loop.schedule.hint)
    mistake(stmt.pointer + "/schedule/stage", About::size,
            {"a loop of one stage has no statements of other stages", "one stage for all, or stages 2", "stages 1"});
  return turns;
}

void StatementBinder::loop_body(const Stmt& stmt, const tile::For& loop, int stages, bound::Body& out) {
  if (loop.schedule.order.empty() && loop.schedule.stage.empty()) return body(loop.body, out);
  const auto turns = turns_of(stmt, loop, stages);
  const std::size_t mark = context_.names.mark();
  for (std::size_t i = 0; i < loop.body.size(); ++i) {
    if (!context_.spend()) break;
    const std::size_t first = out.size();
    statement(loop.body[i], out);
    for (std::size_t made = first; made < out.size(); ++made) out[made].turn = turns[i];
  }
  context_.names.leave(mark);
}

}  // namespace kiln::specialize
