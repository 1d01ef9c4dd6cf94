#include "engine/compile/hip_metadata.hpp"

#include <algorithm>

#include "engine/compile/host_compiler.hpp"
#include "engine/profile/object_accesses.hpp"

namespace kiln::compile {
namespace {

LdsRow lds_row(const profile::LdsInstruction& row, const kernel::Launch& launch) {
  return {.statement = row.statement,
          .mnemonic = row.mnemonic,
          .operation = row.operation == target::LdsOperation::read ? "read" : "write",
          .tile = row.tile,
          .name = row.storage >= 0 ? launch.storages[row.storage].name : "",
          .address = static_cast<std::int64_t>(row.address),
          .bytes = row.bytes,
          .cost = row.cost.cost,
          .active_phases = row.cost.ideal,
          .inferred = row.inferred};
}

Status add_lds_rows(const kernel::Launch& launch, const target::Target& target,
                    const std::vector<Instruction>& code, std::size_t first_tile, Metadata& metadata) {
  KILN_TRY(const auto predicted, profile::lds_instructions(launch, target));
  std::vector<profile::ObjectAccess> accesses;
  for (const auto& instruction : code) {
    auto access = profile::object_access(instruction.text);
    if (!access) continue;
    access->address = instruction.address;
    accesses.push_back(std::move(*access));
  }
  for (const auto& row : profile::object_rows(predicted, accesses, target)) {
    LdsRow out = lds_row(row, launch);
    metadata.lds_conflict_cycles += row.cost.conflicts();
    for (std::size_t i = first_tile; i < metadata.shared_tiles.size(); ++i) {
      auto& tile = metadata.shared_tiles[i];
      if (row.tile < 0 || tile.tile != row.tile || tile.name != out.name) continue;
      const bool read = row.operation == target::LdsOperation::read;
      (read ? tile.read_cost : tile.write_cost) += row.cost.cost;
      (read ? tile.read_ideal : tile.write_ideal) += row.cost.ideal;
    }
    metadata.lds_rows.push_back(std::move(out));
  }
  return ok();
}

std::int64_t rounded_up(std::int64_t value, std::int64_t granule) {
  return (std::max<std::int64_t>(value, 1) + granule - 1) / granule * granule;
}

}  // namespace

Result<Metadata> hip_metadata(const bound::Program& program, const lower::Lowered& lowered,
                              const target::Target& target, const std::vector<std::vector<Instruction>>& code) {
  Metadata metadata = host_metadata(program, lowered, "");
  metadata.target = target.full;
  std::size_t first_tile = 0;
  for (std::size_t i = 0; i < lowered.program.launches.size(); ++i) {
    KILN_CHECK(add_lds_rows(lowered.program.launches[i], target, code[i], first_tile, metadata));
    const auto& tiles = program.launches[i].tiles;
    for (const auto& storage : lowered.program.launches[i].storages) {
      if (storage.tile >= 0 && tiles[storage.tile].space == Space::shared && storage.kind == kernel::Storage::Kind::lds)
        ++first_tile;
    }
  }
  return metadata;
}

std::int64_t waves_per_simd(const target::Target& target, const Resources& resources, std::int64_t threads) {
  const bool cdna = target.family == target::Family::cdna;
  // CDNA: 512 registers a lane (VGPR and AGPR; the note's VGPR count holds both), granule 8, 8 waves. RDNA3 wave32:
  // 1536, 24, 16.
  const std::int64_t file = cdna ? 512 : 1536, granule = cdna ? 8 : 24, most = cdna ? 8 : 16;
  const std::int64_t by_registers = std::min(most, file / rounded_up(resources.vgprs, granule));
  const std::int64_t waves = std::max<std::int64_t>(1, threads / target.wave);
  if (resources.lds_bytes == 0) return by_registers;
  const std::int64_t lds = cdna ? target.lds_bytes : 2 * target.lds_bytes;  // RDNA: two compute units share 128 KiB
  const std::int64_t blocks = lds / resources.lds_bytes;
  return std::min(by_registers, std::max<std::int64_t>(1, blocks * waves / target.simds));
}

}  // namespace kiln::compile
