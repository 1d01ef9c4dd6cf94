// The race of candidates by time, apart from what measures a time.
//
// Every round times each lane that is left; one that is certainly slower than the best (ranking.hpp) leaves. That looks
// at the times again after every round and at the best of many, so it may leave out an equal one now and then: whom it
// keeps is a choice of what to measure, no finding. The finding is one duel at the end: the best of the others and the
// defaults on fresh rounds, and one test of these alone. Of equal candidates, however many, the defaults lose it in one
// of 60 tunes at most.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "engine/base/result.hpp"

namespace kiln::tune {

inline constexpr std::size_t rounds_min = 7;    // of ratios that are worth telling
inline constexpr std::size_t duel_rounds = 16;  // fewer where fewer are asked for

struct Lane {
  std::vector<double> times;            // milliseconds, one a round
  bool slower = false;                  // left: certainly slower than another
  std::optional<std::size_t> behind;    // that other lane; not known of a lane that began as slower
  bool failed = false;                  // out for good
};

class Race {
 public:
  // One time for each of these lanes, in this order; nothing for one that failed. An error ends the race.
  using Round = std::function<Result<std::vector<std::optional<double>>>(const std::vector<std::size_t>& lanes)>;
  // After every round: how many there are, and the best lane so far.
  using Told = std::function<void(std::size_t rounds, std::size_t best)>;
  struct Start {
    std::vector<Lane> lanes;            // with the times that are known already
    std::size_t baseline = 0;           // is timed to the end
    bool defaults = false;              // the baseline is the defaults: it wins unless another one is certainly faster
    std::size_t rounds_max = 30;
  };
  Race(Start start, Round round, Told told)
      : start_(std::move(start)), round_(std::move(round)), told_(std::move(told)) {}
  // A lane that fails takes its victims' verdicts along: those that left because of it come back. Where the defaults
  // fail it ends at once.
  Status run();
  [[nodiscard]] const std::vector<Lane>& lanes() const { return start_.lanes; }
  // Nothing: all failed, or the defaults did.
  [[nodiscard]] std::optional<std::size_t> winner() const { return winner_; }
  // The winner's median time against the defaults' in the duel; nothing where there was none.
  [[nodiscard]] std::optional<double> duel_ratio() const { return duel_ratio_; }

 private:
  [[nodiscard]] bool in(std::size_t lane) const { return !start_.lanes[lane].failed && !start_.lanes[lane].slower; }
  [[nodiscard]] bool over() const { return start_.defaults && start_.lanes[start_.baseline].failed; }
  [[nodiscard]] bool decided() const;
  [[nodiscard]] std::optional<std::size_t> best() const;
  void level();
  void fail(std::size_t lane);
  Status one_round();
  void drop_slower();
  Result<bool> duel(std::size_t challenger);

  Start start_;
  const Round round_;
  const Told told_;
  std::size_t rounds_ = 0;
  std::optional<std::size_t> winner_;
  std::optional<double> duel_ratio_;
};

}  // namespace kiln::tune
