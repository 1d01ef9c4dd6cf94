#include "tests/differential/emulator/shrink.hpp"

namespace kiln::test {
namespace {

// The pieces of a function in the order of its text: statements with all that is in them, lane steps.
struct Removal {
  int first = 0, count = 0;   // pieces [first, first + count) go
  int next = 0;

  bool takes() {
    const bool gone = next >= first && next < first + count;
    ++next;
    return gone;
  }
  void apply(std::vector<Statement>& body) {
    std::vector<Statement> kept;
    for (auto& one : body) {
      const bool gone = takes();
      apply(one.body);        // counted in any case: numbers do not depend on what goes
      if (!gone) kept.push_back(std::move(one));
    }
    body = std::move(kept);
  }
  void apply(RandomFunction& function) {
    for (auto& phase : function.phases) {
      apply(phase.body);
      std::vector<LaneStep> kept;
      for (auto& step : phase.steps) if (!takes()) kept.push_back(std::move(step));
      phase.steps = std::move(kept);
    }
  }
};

}  // namespace

RandomFunction shrink(RandomFunction function, const std::function<bool(const RandomFunction&)>& fails, int attempts) {
  int count = (size_of(function) + 1) / 2;
  for (; count >= 1; count = count > 1 ? (count + 1) / 2 : 0) {
    // From the end: what comes late depends on what comes early.
    for (int first = size_of(function) - count; first > -count && attempts > 0; first -= count) {
      RandomFunction less = function;
      Removal{std::max(first, 0), count, 0}.apply(less);
      if (size_of(less) == size_of(function)) continue;
      --attempts;
      if (fails(less)) function = std::move(less);
      first = std::min(first, size_of(function));
    }
  }
  for (auto& phase : function.phases) {
    const auto apart = phase.apart;
    if (!apart || attempts <= 0) continue;
    phase.apart = false, --attempts;
    if (!fails(function)) phase.apart = true;
  }
  return function;
}

}  // namespace kiln::test
