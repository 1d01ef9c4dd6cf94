// The LDS instructions that a compiled object has, each with the cost that the kernel program predicts for it. The
// compiler pairs accesses (read2), splits and merges them, drops or repeats loop bodies: the kernel program knows the
// lanes' offsets, the object knows which instructions there are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/profile/bank_conflicts.hpp"

namespace kiln::profile {

// One LDS access of the object, by its text: "ds_read2st64_b64 v[2:5], v9 offset0:1 offset1:3".
struct ObjectAccess {
  std::string mnemonic;
  target::LdsOperation operation = target::LdsOperation::read;
  int bytes = 0;                    // a lane and part
  int parts = 1;                    // 2: read2, write2 and their st64 forms
  std::int64_t offsets[2] = {};     // bytes that the instruction adds to the lanes' addresses
  std::uint64_t address = 0;        // from the kernel's first instruction
  std::string statement;            // the kernel program's that it comes from; "": not known
};
// Empty for everything that is no plain LDS read or write (cross-lane moves and atomics too).
std::optional<ObjectAccess> object_access(std::string_view text);

// A row for each access of the object, in its order. Each takes the first predicted access that fits and is not taken, of
// its statement where that is known and has one, else of any;
// two-address forms take two whose lanes lie their distance apart. An access that fits only one already taken is that
// one again (an unrolled or peeled loop); wider and narrower ones are counted on the offsets of what they merge or
// split. One that nothing predicts has storage -1, cost equal to its ideal and `inferred` set.
std::vector<LdsInstruction> object_rows(const std::vector<LdsInstruction>& predicted,
                                        const std::vector<ObjectAccess>& object, const target::Target& target);

}  // namespace kiln::profile
