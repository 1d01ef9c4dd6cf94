// LDS bank conflicts, counted exactly from lane addresses by the target's phases (design: "LDS bank rules").
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/ir/kernel/program.hpp"
#include "engine/ir/target/target.hpp"

namespace kiln::profile {

struct ConflictCost {
  int cost = 0;     // cycles: Σ over phases of the largest number of distinct dwords in one bank
  int ideal = 0;    // phases with an active lane
  [[nodiscard]] int conflicts() const { return cost - ideal; }
};
// `offsets`: byte offset of each lane, -1 for an inactive one; `bytes` a lane (1, 2, 4, 8, 12, 16).
ConflictCost conflict_cost(const target::Target& target, target::LdsOperation operation, int bytes,
                           const std::vector<std::int64_t>& offsets);
// The same by `rule`, the target's for the operation and `bytes`: for who counts many.
ConflictCost conflict_cost(const target::BankRule& rule, int bytes, const std::vector<std::int64_t>& offsets);

// One LDS instruction of a kernel program, as one wave (wave 0) executes it.
struct LdsInstruction {
  std::string statement;        // "body/3/for/2"
  int storage = -1;
  int tile = -1;                // the bound tile, -1 for scratch
  target::LdsOperation operation = target::LdsOperation::read;
  int bytes = 0;                // a lane
  std::string mnemonic;         // "ds_read_b128"
  ConflictCost cost;
  bool inferred = false;        // by an unpublished bank rule
  std::uint64_t address = 0;    // in the object, from the kernel's first instruction; 0 for predicted ones
  std::vector<std::int64_t> offsets;  // of the lanes of wave 0, bytes; -1: inactive
};
// Every LDS instruction of the launch, each once, in program order (loop bodies once). Empty for the host.
Result<std::vector<LdsInstruction>> lds_instructions(const kernel::Launch& launch, const target::Target& target);

}  // namespace kiln::profile
