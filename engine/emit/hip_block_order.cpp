// The order of blocks: their coordinates bx, by, bz from the hardware's.
#include <algorithm>

#include "engine/emit/hip_context.hpp"

namespace kiln::emit::hip {
namespace {

// Panels are rows that are walked along x, or columns that are walked along y.
struct Names {
  const char *along, *across, *first, *width;
};
constexpr Names rows{"bx", "by", "first_row", "rows"}, columns{"by", "bx", "first_column", "columns"};

// The line that sets both, x first.
std::string set_both(bool by_columns, const std::string& along, const std::string& across) {
  return "  const i32 bx = i32(" + (by_columns ? across : along) + "), by = i32(" + (by_columns ? along : across) +
         ");\n";
}

// Where symbols say how many blocks there are: what is a constant below is computed by every block.
Status print_dynamic(Context& context, std::string& out) {
  const auto& grid = context.launch.grid;
  const auto& order = context.launch.order;
  const std::int64_t xcds = order.xcds, group = order.group;
  const __int128 most = static_cast<__int128>(context.ranges.grid[0]) * context.ranges.grid[1];
  if ((group <= 1 && xcds <= 1 && !order.columns) || most > INT32_MAX) {
    out += "  const i32 bx = i32(block_id_x());\n  const i32 by = i32(block_id_y());\n";
    return ok();
  }
  KILN_TRY(const std::string nx, size_text(context, grid[0], 1, false));
  KILN_TRY(const std::string ny, size_text(context, grid[1], 1, false));
  const auto n = [](std::int64_t value) { return unsigned_text(value); };
  const Names& names = order.columns ? columns : rows;
  const std::string &along = order.columns ? ny : nx, &across = order.columns ? nx : ny;
  out += "  const u32 dealt = block_id_x() + block_id_y() * " + nx + ";\n";
  std::string linear = "dealt";
  if (xcds > 1) {
    out += "  const u32 all = " + nx + " * " + ny + ", xcd = dealt % " + n(xcds) + ", turn = dealt / " + n(xcds) +
           ";\n";
    out += "  const u32 linear = xcd * (all / " + n(xcds) + ") + smaller<u32>(xcd, all % " + n(xcds) + ") + turn;\n";
    linear = "linear";
  }
  const std::string blocks = "(" + along + " * " + n(group) + ")", first = names.first, width = names.width;
  out += "  const u32 grouped = " + linear + " / " + blocks + ", within = " + linear + " % " + blocks + ";\n";
  out += "  const u32 " + first + " = grouped * " + n(group) + ", " + width + " = smaller<u32>(" + across + " - " +
         first + ", " + n(group) + ");\n";
  out += set_both(order.columns, "uniform(within / " + width + ")", "uniform(" + first + " + within % " + width + ")");
  return ok();
}

}  // namespace

Status print_block_order(Context& context, std::string& out) {
  const kernel::Launch& launch = context.launch;
  out += "  const i32 bz = i32(block_id_z());\n";
  if (!bound::all_static(launch.grid)) return print_dynamic(context, out);
  const bool by_columns = launch.order.columns;
  const std::int64_t nx = launch.grid[0].value(), ny = launch.grid[1].value(), xcds = launch.order.xcds;
  const std::int64_t along = by_columns ? ny : nx, across = by_columns ? nx : ny;
  const std::int64_t group = std::min<std::int64_t>(launch.order.group, across);
  if ((group <= 1 && xcds <= 1 && !by_columns) || nx * ny <= 1 || nx * ny > INT32_MAX) {
    out += "  const i32 bx = i32(block_id_x());\n  const i32 by = i32(block_id_y());\n";
    return ok();
  }
  const auto n = [](std::int64_t value) { return unsigned_text(value); };
  out += "  const u32 dealt = block_id_x() + block_id_y() * " + n(nx) + ";\n";
  std::string linear = "dealt";
  if (xcds > 1) {
    const std::int64_t share = nx * ny / xcds, larger = nx * ny % xcds;  // the first `larger` XCDs get one more
    out += "  const u32 xcd = dealt % " + n(xcds) + ", turn = dealt / " + n(xcds) + ";\n";
    out += "  const u32 linear = xcd * " + n(share) + " + smaller<u32>(xcd, " + n(larger) + ") + turn;\n";
    linear = "linear";
  }
  if (group <= 1) {
    out += set_both(by_columns, linear + " % " + n(along), linear + " / " + n(along));
    return ok();
  }
  const Names& names = by_columns ? columns : rows;
  const std::string first = names.first;
  out += "  const u32 grouped = " + linear + " / " + n(along * group) + ", within = " + linear + " % " +
         n(along * group) + ";\n";
  out += "  const u32 " + first + " = grouped * " + n(group) + ";\n";
  const std::int64_t last = across % group, whole = across / group;  // width of the last group; groups before it
  if (last == 0) {
    out += set_both(by_columns, "within / " + n(group), first + " + within % " + n(group));
    return ok();
  }
  out += "  const bool full = grouped < " + n(whole) + ";\n";
  out += "  const i32 " + std::string(names.along) + " = i32(full ? within / " + n(group) + " : within / " + n(last) +
         ");\n";
  out += "  const i32 " + std::string(names.across) + " = i32(" + first + " + (full ? within % " + n(group) +
         " : within % " + n(last) + "));\n";
  return ok();
}

}  // namespace kiln::emit::hip
