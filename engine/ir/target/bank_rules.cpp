// LDS bank phases (design, "LDS bank rules"): measured on gfx942 and gfx950; what is not published is marked inferred.
#include "engine/ir/target/target.hpp"

namespace kiln::target {
namespace {

// `count` phases of `lanes` successive lanes.
std::vector<std::vector<int>> runs(int wave, int lanes) {
  std::vector<std::vector<int>> phases;
  for (int first = 0; first < wave; first += lanes) {
    auto& phase = phases.emplace_back();
    for (int lane = first; lane < first + lanes; ++lane) phase.push_back(lane);
  }
  return phases;
}

struct Span { int first, last; };

// Groups of spans, once as they are and once more shifted by 32 lanes.
std::vector<std::vector<int>> twice(const std::vector<std::vector<Span>>& groups) {
  std::vector<std::vector<int>> phases;
  for (int shift : {0, 32}) {
    for (const auto& group : groups) {
      auto& phase = phases.emplace_back();
      for (const Span& span : group) {
        for (int lane = span.first; lane <= span.last; ++lane) phase.push_back(lane + shift);
      }
    }
  }
  return phases;
}

std::vector<std::vector<int>> wide_read_phases_gfx942() {
  return twice({{{0, 3}, {20, 23}}, {{4, 7}, {16, 19}}, {{8, 11}, {28, 31}}, {{12, 15}, {24, 27}}});
}

BankRule rule_gfx942(LdsOperation operation, int bytes) {
  if (bytes <= 4) return {32, 1, runs(64, 32), false};
  if (bytes == 8) return {32, 1, runs(64, 16), false};
  if (operation == LdsOperation::read2 && bytes == 16) return {32, 2, runs(64, 16), false};
  if (operation != LdsOperation::write) return {32, 1, wide_read_phases_gfx942(), false};
  return {32, 1, runs(64, 8), bytes == 12};
}

BankRule rule_gfx950(LdsOperation operation, int bytes) {
  if (operation == LdsOperation::write) {
    if (bytes <= 4) return {32, 1, runs(64, 32), true};
    if (bytes == 8) return {32, 1, runs(64, 16), false};
    return {32, 1, runs(64, 8), true};
  }
  if (bytes <= 4) return {32, 1, runs(64, 32), true};
  if (bytes == 8) return {64, 1, runs(64, 32), false};  // read_b64_tr_b16 too
  if (bytes == 12) return {32, 1, wide_read_phases_gfx942(), false};
  if (operation == LdsOperation::read2) return {64, 2, runs(64, 32), true};
  return {64, 1, twice({{{0, 3}, {12, 15}, {20, 27}}, {{4, 11}, {16, 19}, {28, 31}}}), false};
}

BankRule rule_rdna(int bytes) {
  return {32, 1, runs(32, bytes <= 4 ? 32 : bytes == 8 ? 16 : 8), true};
}

}  // namespace

BankRule Target::bank_rule(LdsOperation operation, int bytes) const {
  if (family == Family::host) return {};
  if (family == Family::rdna) return rule_rdna(bytes);
  if (arch == "gfx950") return rule_gfx950(operation, bytes);
  auto rule = rule_gfx942(operation, bytes);
  rule.inferred = rule.inferred || arch != "gfx942";
  return rule;
}

}  // namespace kiln::target
