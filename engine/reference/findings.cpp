#include "engine/reference/findings.hpp"

namespace kiln::reference {
namespace {

std::string tuple_text(std::span<const std::int64_t> values) {
  std::string text;
  for (const auto v : values) text += (text.empty() ? "" : ", ") + std::to_string(v);
  return "(" + text + ")";
}

// " in block (0, 0, 0), iteration (i = 3)"
std::string where(const Place& place) {
  std::string text = " in block " + tuple_text(place.block);
  if (place.map) text += ", " + iteration_text(place, place.iteration);
  return text;
}

Error finding(const Place& place, Diagnostic diagnostic) {
  if (place.stmt) diagnostic.pointer = place.stmt->pointer;
  auto summary = diagnostic.message;
  std::vector<Diagnostic> list;
  list.push_back(std::move(diagnostic));
  return program_error(std::move(summary), std::move(list));
}

}  // namespace

std::string tile_name(const Place& place, int id) {
  const auto& name = place.launch->tiles[static_cast<std::size_t>(id)].name;
  return name.empty() ? "tile " + std::to_string(id) : name;
}

std::string tensor_name(const Place& place, int id) {
  const auto& name = place.program->tensors[static_cast<std::size_t>(id)].name;
  return name.empty() ? "parameter " + std::to_string(id) : name;
}

std::string index_text(std::span<const std::int64_t> indices) {
  const auto text = tuple_text(indices);
  return "[" + text.substr(1, text.size() - 2) + "]";
}

std::string block_text(const bound::Launch& launch, std::uint32_t number) {
  const std::int64_t x = launch.grid[0], y = launch.grid[1];
  const std::int64_t place[] = {number % x, number / x % y, number / x / y};
  return "block " + tuple_text(place);
}

std::string iteration_text(const Place& place, std::int64_t iteration) {
  const auto& map = *place.map;
  std::string text;
  for (std::size_t i = map.index.size(); i-- > 0;) {
    const auto& name = place.launch->variables[static_cast<std::size_t>(map.index[i])].name;
    const auto value = std::to_string(iteration % map.extent[i]);
    iteration /= map.extent[i];
    text = (name.empty() ? "" : name + " = ") + value + (text.empty() ? "" : ", ") + text;
  }
  return "iteration (" + text + ")";
}

Error out_of_range(const Place& place, const std::string& object, std::span<const std::int64_t> indices,
                   std::span<const std::int64_t> extents) {
  Diagnostic d;
  d.message = object + index_text(indices) + " is out of range" + where(place);
  d.expected = "indices within extents " + index_text(extents);
  d.found = index_text(indices);
  d.hint = "guard the access with `value if condition else other`, or use `copy`, which gives the fill value outside";
  return finding(place, std::move(d));
}

Error region_outside_tile(const Place& place, const std::string& tile, std::span<const std::int64_t> start,
                          std::span<const std::int64_t> end, std::span<const std::int64_t> extents) {
  Diagnostic d;
  d.message = "the copy reaches outside the tile " + tile + where(place);
  d.expected = "a region within extents " + index_text(extents);
  d.found = "from " + index_text(start) + " up to " + index_text(end);
  d.hint = "only tensors may be read or written outside; a tile's region must lie in it";
  return finding(place, std::move(d));
}

Error uninitialised(const Place& place, const std::string& tile, std::span<const std::int64_t> indices) {
  Diagnostic d;
  d.message = tile + index_text(indices) + " is read before this block wrote it" + where(place);
  d.expected = "a value from fill, copy, gemm with clear, map or reduce";
  d.found = "an uninitialised element";
  d.hint = "fill the tile first, or write all of the elements that are read";
  return finding(place, std::move(d));
}

Error unwritten_workspace(const Place& place, const std::string& tensor, std::span<const std::int64_t> indices) {
  Diagnostic d;
  d.message = "workspace " + tensor + index_text(indices) + " is read before any block wrote it" + where(place);
  d.expected = "an element that an earlier launch, or this block, has written";
  d.found = "an uninitialised element";
  d.hint = "write it first, or give the workspace \"zeroed\": true";
  return finding(place, std::move(d));
}

Error map_race(const Place& place, const std::string& object, std::span<const std::int64_t> indices, bool writes,
               std::uint32_t other) {
  Diagnostic d;
  d.message = std::string("race in a map: ") + iteration_text(place, place.iteration) +
              (writes ? " writes " : " reads ") + object + index_text(indices) + ", which " +
              iteration_text(place, other) + (writes ? " reads or writes" : " writes") + ", in block " +
              tuple_text(place.block);
  d.expected = "elements that one iteration writes are touched by no other";
  d.found = object + index_text(indices) + " touched by two";
  d.hint = "use `reduce` to combine elements, or write into another tile and use it in a second map";
  return finding(place, std::move(d));
}

Error block_race(const Place& place, const std::string& tensor, std::span<const std::int64_t> indices, bool writes,
                 std::uint32_t other) {
  Diagnostic d;
  d.message = "race between blocks: block " + tuple_text(place.block) + (writes ? " writes " : " reads ") + tensor +
              index_text(indices) + ", which " + block_text(*place.launch, other) +
              (writes ? " reads or writes" : " writes");
  d.expected = "elements that one block writes are touched by no other block of the launch";
  d.found = tensor + index_text(indices) + " touched by two";
  d.hint = "make the blocks' regions disjoint, or split the work into two launches";
  return finding(place, std::move(d));
}

Error argument_finding(std::size_t argument, const std::string& message, const std::string& expected,
                       const std::string& found) {
  Diagnostic d;
  d.pointer = "/arguments/" + std::to_string(argument);
  d.message = message;
  d.expected = expected;
  d.found = found;
  std::vector<Diagnostic> list;
  list.push_back(std::move(d));
  return program_error(message, std::move(list));
}

}  // namespace kiln::reference
