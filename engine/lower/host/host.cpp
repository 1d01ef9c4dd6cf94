#include "engine/lower/host/host.hpp"

#include <algorithm>

#include "engine/lower/host/schedule.hpp"
#include "engine/lower/host/statements.hpp"
#include "engine/lower/host/tiles.hpp"
#include "engine/lower/host/unbuilt.hpp"

namespace kiln::lower::host {
namespace {

void describe_tiles(const bound::Launch& launch, const kernel::Launch& out, Lowered& lowered) {
  for (std::size_t id = 0; id < launch.tiles.size(); ++id) {
    const auto& tile = launch.tiles[id];
    const auto& storage = out.storages[id];
    std::string text = std::string(dtype_name(storage.dtype)) + " in scratch, rows of " +
                       std::to_string(storage.lds_layout.pitch_bytes()) + " bytes, " +
                       (storage.lds_layout.rows() > 1
                            ? "an odd number of cache lines, to align vectors and spread columns over all cache sets"
                            : "whole cache lines, to align vectors");
    if (storage.dtype != tile.dtype) text += ", converted once while it is packed";
    if (storage.lds_layout.contiguous + 1 != static_cast<int>(tile.shape.size()))
      text += ", transposed: the product streams it along n";
    if (tile.layout.kind != LayoutSpec::Kind::automatic) {
      text += "; layout " + layout_spec_text(tile.layout) + " is one of LDS banks and changes nothing here";
    }
    lowered.decisions.push_back({"shared layouts", tile.name, std::move(text)});
  }
}

Result<kernel::Launch> lower_launch(const bound::Program& program, std::size_t number, const target::Target& target,
                                    Lowered& lowered, Budget& budget) {
  const auto& launch = program.launches[number];
  KILN_CHECK(check_built(launch));
  KILN_TRY(Plans plans, plan_tiles(program, launch, target));
  kernel::Launch out;
  out.symbol = program.name + "_" + std::to_string(number);
  out.grid = launch.grid;
  out.order.group = std::max<std::int64_t>(1, launch.schedule.order.panel);
  out.order.columns = launch.schedule.order.along_y;
  out.threads = out.wave = target.wave;
  out.variables = launch.variables;
  for (std::size_t id = 0; id < launch.tiles.size(); ++id) {
    const auto& tile = launch.tiles[id];
    out.storages.push_back(make_storage(tile.name, static_cast<int>(id), tile.shape, plans.tiles[id]));
  }
  kernel::Role role;
  KILN_TRY(role.body, Translator(program, launch, plans, out, lowered, budget).translate());
  out.roles.push_back(std::move(role));
  place_storages(out, plans.tiles);
  if (out.lds_bytes > target.lds_bytes) {
    return program_error(
        "the tiles of one block are too large for the host",
        {{Severity::error, "/launches/" + std::to_string(number), "the tiles of one block are too large for the host",
          "at most " + std::to_string(target.lds_bytes) + " bytes", std::to_string(out.lds_bytes) + " bytes",
          "make the block's tunables smaller", ""}});
  }
  describe_tiles(launch, out, lowered);
  describe_schedule(launch, lowered.decisions);
  return out;
}

}  // namespace

Result<Lowered> lower_host(const bound::Program& program, const target::Target& target, int attempt, Budget& budget) {
  if (attempt > 0) return Error(ErrorCode::not_found, "no further lowering for the host");
  Lowered lowered;
  lowered.program.name = program.name;
  lowered.program.target = program.target;
  lowered.program.symbols = program.symbols;
  lowered.program.tensors = program.tensors;
  for (std::size_t number = 0; number < program.launches.size(); ++number) {
    KILN_TRY(auto launch, lower_launch(program, number, target, lowered, budget));
    lowered.program.launches.push_back(std::move(launch));
  }
  return lowered;
}

}  // namespace kiln::lower::host
