#include "engine/ir/bound/schedule.hpp"

#include <algorithm>
#include <initializer_list>

namespace kiln::bound {
namespace {

constexpr std::int64_t panel_max = (std::int64_t(1) << 31) - 1;
constexpr int extent_max = 1 << 16;

bool is_power_of_two(int v) { return v > 0 && (v & (v - 1)) == 0; }
bool absent_or_power_of_two(std::initializer_list<int> values) {
  return std::all_of(values.begin(), values.end(), [](int v) { return v == 0 || is_power_of_two(v); });
}
Error bad(const char* what) { return Error(ErrorCode::corrupt, std::string("bound program: ") + what); }

}  // namespace

BlockPlace block_at(const BlockOrder& order, std::int64_t nx, std::int64_t ny, std::int64_t place) {
  const std::int64_t along = order.along_y ? ny : nx, across = order.along_y ? nx : ny;
  const std::int64_t panel = std::clamp<std::int64_t>(order.panel, 1, across);
  const std::int64_t first = place / (along * panel) * panel;  // of the rows (columns) of its panel
  const std::int64_t within = place % (along * panel), width = std::min(panel, across - first);
  const std::int64_t walked = within / width, beside = first + within % width;
  return order.along_y ? BlockPlace{beside, walked} : BlockPlace{walked, beside};
}

Status check(const LaunchSchedule& schedule) {
  if (schedule.order.panel < 0 || schedule.order.panel > panel_max) return bad("a block order's panel");
  if (!absent_or_power_of_two({schedule.waves_m, schedule.waves_n})) return bad("a launch's waves");
  return ok();
}

Status check(const CopySchedule& schedule) {
  const bool sound = schedule.vector_bytes <= 16 && absent_or_power_of_two({schedule.vector_bytes});
  return sound ? ok() : bad("a copy's widest access");
}

Status check(const GemmSchedule& schedule) {
  for (const int extent : {schedule.m, schedule.n, schedule.k})
    if (extent < 0 || extent > extent_max) return bad("a matrix instruction's extents");
  if (!absent_or_power_of_two({schedule.k_pack, schedule.waves_m, schedule.waves_n})) return bad("a gemm's schedule");
  return ok();
}

Status check(const Turn& turn) {
  for (const int value : {turn.position, turn.stage})
    if (value < -1 || value > turns_max) return bad("a statement's turn");
  return ok();
}

}  // namespace kiln::bound
