// Storages, layouts, LDS size, roles.
#include "engine/ir/kernel/verify_steps.hpp"
#include "engine/ir/layout/linear.hpp"

namespace kiln::kernel {
namespace {

void check_regs(const Subject& subject, const Storage& storage) {
  const auto wrong = [&](const std::string& what) { subject.finding("", "regs " + storage.name + ": " + what); };
  const auto& layout = storage.reg_layout;
  if (layout.reg.bits() > 12 || layout.lane.bits() > 6 || layout.wave.bits() > 6) {
    return wrong("its layout has too many bits");
  }
  if (const auto covered = layout.covers(); !covered) return wrong(covered.error().message);
  if (layout.shape() != storage.shape) return wrong("its layout is for another shape");
  if (1 << layout.lane.bits() != subject.launch.wave) {
    return wrong("its layout is not over " + std::to_string(subject.launch.wave) + " lanes");
  }
  const int elements = storage.vector_elements;
  if (!layout::is_power_of_two(elements) || layout.registers() % elements != 0) {
    wrong("vectors of " + std::to_string(elements) + " do not divide its " + std::to_string(layout.registers()) +
          " registers");
  }
}

void check_lds(const Subject& subject, const Storage& storage) {
  const auto wrong = [&](const std::string& what) { subject.finding("", "lds " + storage.name + ": " + what); };
  const auto& layout = storage.lds_layout;
  if (layout.shape != storage.shape) return wrong("its layout is for another shape");
  if (layout.contiguous < 0 || layout.contiguous >= static_cast<int>(storage.shape.size())) {
    return wrong("its contiguous axis does not exist");
  }
  if (layout.element_bytes != dtype_bytes(storage.dtype)) return wrong("its layout is for another element size");
  if (layout.pad_bytes < 0 || layout.pad_bytes > 4096 || layout.pad_bytes % layout.element_bytes != 0) {
    return wrong("its padding is no whole number of elements");
  }
  for (const auto moved : layout.xor_basis) {
    if (moved < 0 || moved >= layout.xor_limit()) return wrong("its swizzle leaves the row");
  }
  if (storage.stages < 1 || storage.stages > 64) return wrong("it must have 1 to 64 stages");
  if (storage.offset_bytes < 0 || storage.offset_bytes % 16 != 0 || storage.offset_bytes > subject.launch.lds_bytes) {
    return wrong("its offset is no multiple of 16 bytes inside the block's LDS");
  }
  const auto end = storage.offset_bytes + storage.stages * storage.stage_bytes();
  if (end > subject.launch.lds_bytes) {
    wrong("it ends at byte " + std::to_string(end) + " of a block's " + std::to_string(subject.launch.lds_bytes) +
          " bytes of LDS");
  }
}

void check_storage(const Subject& subject, const Storage& storage) {
  if (storage.shape.empty() || storage.shape.size() > 6) {
    return subject.finding("", storage.name + ": rank must be 1 to 6");
  }
  std::int64_t elements = 1;
  for (const auto extent : storage.shape) {
    if (extent < 1 || extent > bound::tile_elements_max) {
      return subject.finding("", storage.name + ": an extent is out of range");
    }
    elements *= extent;
    if (elements > bound::tile_elements_max) return subject.finding("", storage.name + ": too many elements");
  }
  if (storage.kind == Storage::Kind::lds) return check_lds(subject, storage);
  if (subject.target.is_host()) {
    return subject.finding("", storage.name + ": host programs keep tiles in scratch, not in registers");
  }
  check_regs(subject, storage);
}

void check_roles(const Subject& subject) {
  const auto& launch = subject.launch;
  if (launch.roles.empty()) return subject.finding("", "no role");
  if (subject.target.is_host()) return;
  if (launch.wave != subject.target.wave) return subject.finding("", "its wave is not the target's");
  if (launch.threads < launch.wave || launch.threads % launch.wave != 0 ||
      launch.threads > subject.target.threads_max) {
    return subject.finding("", std::to_string(launch.threads) + " threads are no whole number of waves up to " +
                           std::to_string(subject.target.threads_max));
  }
  std::vector<int> owner(launch.threads / launch.wave, 0);
  for (const auto& role : launch.roles) {
    if (role.first_wave < 0 || role.waves < 1 || role.waves > launch.threads) {
      return subject.finding("", "role " + role.name + " has no waves");
    }
    for (int wave = role.first_wave; wave < role.first_wave + role.waves; ++wave) {
      if (wave >= static_cast<int>(owner.size())) {
        return subject.finding("", "role " + role.name + " names waves that do not exist");
      }
      ++owner[wave];
    }
  }
  for (const int roles : owner) {
    if (roles != 1) return subject.finding("", "a wave has no role, or two");
  }
}

}  // namespace

void check_frame(const Subject& subject) {
  for (const auto& storage : subject.launch.storages) check_storage(subject, storage);
  check_roles(subject);
  const auto bytes = subject.launch.lds_bytes;
  if (bytes < 0 || bytes > subject.target.lds_bytes) {
    subject.finding("", "LDS of " + std::to_string(bytes) + " bytes; the target has " +
                    std::to_string(subject.target.lds_bytes));
  }
  if (subject.launch.grid.size() != 3) subject.finding("", "its grid has not three axes");
}

}  // namespace kiln::kernel
