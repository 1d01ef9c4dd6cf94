#include "engine/compile/hip_metadata.hpp"

#include <algorithm>

#include "engine/compile/host_compiler.hpp"
#include "engine/profile/object_accesses.hpp"
#include "engine/profile/occupancy.hpp"

namespace kiln::compile {
namespace {

LdsRow lds_row(const profile::LdsInstruction& row, const kernel::Launch& launch, std::size_t number) {
  return {.launch = static_cast<std::int64_t>(number),
          .statement = row.statement,
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

// The LDS accesses of a launch's code, each with the statement that its line is of.
std::vector<profile::ObjectAccess> accesses_of(const std::vector<Instruction>& code,
                                               const std::vector<emit::LineOwner>& owners) {
  std::vector<profile::ObjectAccess> accesses;
  for (const auto& instruction : code) {
    auto access = profile::object_access(instruction.text);
    if (!access) continue;
    access->address = instruction.address;
    if (instruction.line < owners.size()) access->statement = owners[instruction.line].path;
    accesses.push_back(std::move(*access));
  }
  return accesses;
}

Status add_lds_rows(const kernel::Program& program, std::size_t number, const target::Target& target,
                    const std::vector<profile::ObjectAccess>& accesses, Metadata& metadata) {
  const auto& launch = program.launches[number];
  KILN_TRY(const auto predicted, profile::lds_instructions(launch, target));
  for (const auto& row : profile::object_rows(predicted, accesses, target)) {
    LdsRow out = lds_row(row, launch, number);
    metadata.lds_conflict_cycles += row.cost.conflicts();
    for (auto& tile : metadata.shared_tiles) {
      if (tile.launch != out.launch || row.tile < 0 || tile.tile != row.tile || tile.name != out.name) continue;
      const bool read = row.operation == target::LdsOperation::read;
      (read ? tile.read_cost : tile.write_cost) += row.cost.cost;
      (read ? tile.read_ideal : tile.write_ideal) += row.cost.ideal;
    }
    metadata.lds_rows.push_back(std::move(out));
  }
  return ok();
}

}  // namespace

Result<Metadata> hip_metadata(const bound::Program& program, const lower::Lowered& lowered,
                              const target::Target& target, const std::vector<std::vector<Instruction>>& code,
                              const std::vector<emit::LineOwner>& owners) {
  Metadata metadata = host_metadata(program, lowered, "");
  metadata.target = target.full;
  for (std::size_t i = 0; i < lowered.program.launches.size(); ++i)
    KILN_CHECK(add_lds_rows(lowered.program, i, target, accesses_of(code[i], owners), metadata));
  return metadata;
}

Status add_alternatives(const bound::Program& program, const target::Target& target, Budget& budget, Metadata& metadata) {
  for (auto& row : metadata.shared_tiles) {
    const auto launch = static_cast<std::size_t>(row.launch);
    const auto& tile = program.launches[launch].tiles[static_cast<std::size_t>(row.tile)];
    const bool conflicts = row.write_cost + row.read_cost > row.write_ideal + row.read_ideal;
    if (tile.layout.kind == LayoutSpec::Kind::automatic || !conflicts) continue;
    bound::Program free = program;
    free.launches[launch].tiles[static_cast<std::size_t>(row.tile)].layout = LayoutSpec{};
    const auto lowered = lower::lower(free, target, 0, budget);
    if (!lowered && lowered.error().code == ErrorCode::cancelled) return Error(lowered.error());
    if (!lowered) continue;   // it does not fit, then
    const auto& made = lowered->program.launches[launch];
    KILN_TRY(const auto accesses, profile::lds_instructions(made, target));
    std::int64_t left = 0;
    for (const auto& access : accesses) left += access.tile == row.tile ? access.cost.conflicts() : 0;
    for (const auto& storage : made.storages) {
      if (storage.tile != row.tile || storage.kind != kernel::Storage::Kind::lds || storage.lds_layout.text() == row.layout)
        continue;
      row.better = storage.lds_layout.text();
      row.better_conflicts = left;
    }
  }
  return ok();
}

std::int64_t waves_per_simd(const target::Target& target, const Resources& resources, std::int64_t threads) {
  profile::KernelResources kernel;
  kernel.vgprs = resources.vgprs;
  kernel.lds_bytes = resources.lds_bytes;
  kernel.threads = threads;
  return profile::occupancy(target, kernel).waves_per_simd;
}

}  // namespace kiln::compile
