// LDS bank rules of the targets, from the plain tables of bank_phases.hpp.
#include "engine/ir/target/bank_phases.hpp"
#include "engine/ir/target/target.hpp"

namespace kiln::target {

BankRule Target::bank_rule(LdsOperation operation, int bytes) const {
  if (family == Family::host) return {};
  const auto generation = family == Family::rdna ? LdsGeneration::rdna
                          : arch == "gfx950"     ? LdsGeneration::gfx950
                                                 : LdsGeneration::gfx942;
  // read2: two accesses of half the bytes; it has a rule of its own for two of 8 bytes on CDNA.
  const int parts = operation == LdsOperation::read2 && bytes == 16 && family != Family::rdna ? 2 : 1;
  const BankPhases phases = bank_phases(generation, operation == LdsOperation::write, bytes / parts);
  BankRule rule;
  rule.banks = phases.banks;
  rule.parts = parts;
  for (int phase = 0; phase < phases.count; ++phase) {
    auto& lanes = rule.phases.emplace_back();
    for (int lane = 0; lane < 64; ++lane) {
      if (phases.lanes[phase] >> lane & 1) lanes.push_back(lane);
    }
  }
  rule.inferred = phases.inferred || (family == Family::cdna && arch != "gfx942" && arch != "gfx950") ||
                  (parts == 2 && arch == "gfx950");
  return rule;
}

}  // namespace kiln::target
