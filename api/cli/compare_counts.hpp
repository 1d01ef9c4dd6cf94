// What an emulated card counted of two sides, side by side. Counts repeat exactly; cycles are estimates, times there
// are none.
#pragma once

#include "api/protocol/json.hpp"

namespace kiln::cli {

// Adds to a side's row what kernel.profile answered: `counts` (the figures below), `counters` (all, by rocprof's
// names), `occupancy`, `advice`, `estimate`, `resources`.
void add_counts(const protocol::Json& report, protocol::Json& row);

// A figure of `counts`: its member, how tables call it.
struct CountedFigure {
  const char *name, *title;
};
// In the order of tables. cycles_busiest: of the unit that would take longest if it were alone; cycles_sum: of all
// units one after the other; both in cycles of one compute unit, by engine/profile.
extern const CountedFigure counted_figures[9];

// How much better or worse B is: {verdict: "better", "equal", "worse"; verdict_text}. Worse when the estimate of the
// busiest unit, the sum over the units, or the bank conflict cycles rise.
protocol::Json counted_verdict(const protocol::Json& a, const protocol::Json& b);

// "-12.5 %", "+3 %", "0", "from 0"; numbers that are absent count as 0.
std::string change_text(double a, double b);
std::string count_text(double value);  // whole numbers whole: "14336"; estimates with three digits

}  // namespace kiln::cli
