// The interpreter's findings as located diagnostics.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/ir/bound/program.hpp"

namespace kiln::reference {

// Where the interpreter is: what a finding names.
struct Place {
  const bound::Program* program = nullptr;
  const bound::Launch* launch = nullptr;
  const bound::Stmt* stmt = nullptr;
  std::array<std::int64_t, 3> block{};
  const bound::Map* map = nullptr;       // while one runs
  std::int64_t iteration = 0;            // of it, row-major
};

// A tile or tensor as named in a finding: "As", or "tile 0" where names were left out.
std::string tile_name(const Place& place, int id);
std::string tensor_name(const Place& place, int id);
std::string index_text(std::span<const std::int64_t> indices);       // "[1, 2]"
std::string block_text(const bound::Launch& launch, std::uint32_t number);  // "block (1, 0, 0)"
std::string iteration_text(const Place& place, std::int64_t iteration);     // "iteration (i = 1, j = 2)"

Error out_of_range(const Place& place, const std::string& object, std::span<const std::int64_t> indices,
                   std::span<const std::int64_t> extents);
Error region_outside_tile(const Place& place, const std::string& tile, std::span<const std::int64_t> start,
                          std::span<const std::int64_t> end, std::span<const std::int64_t> extents);
Error uninitialised(const Place& place, const std::string& tile, std::span<const std::int64_t> indices);
Error unwritten_workspace(const Place& place, const std::string& tensor, std::span<const std::int64_t> indices);
// Between iterations of the running map, and between blocks. `other`: the number of the one that it races with.
Error map_race(const Place& place, const std::string& object, std::span<const std::int64_t> indices, bool writes,
               std::uint32_t other);
Error block_race(const Place& place, const std::string& tensor, std::span<const std::int64_t> indices, bool writes,
                 std::uint32_t other);
// About an argument, before anything runs.
Error argument_finding(std::size_t argument, const std::string& message, const std::string& expected,
                       const std::string& found);

}  // namespace kiln::reference
