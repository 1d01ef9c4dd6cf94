// `kiln bench`: areas that measure, one judge and one shape of rows for all of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/cli/context.hpp"

namespace kiln::cli::bench {

// How a row's two sides are held against each other, and which way its target goes.
enum class Relation {
  cost,   // kiln / peer, at most the target
  gain,   // peer / kiln (times faster), at least the target
  added,  // shown as kiln / peer; the target bounds kiln - peer, in the row's unit
};

// What one row was made of: times, one a round and side. Equal indexes mean the same round.
struct Samples {
  std::string what, against, unit;   // "hit by name, p50", "a bare socket echo", "us"
  std::vector<double> kiln, peer;    // positive, as many of one as of the other, at least one
  Relation relation = Relation::cost;
  std::optional<double> target;
};
struct Measured {
  std::vector<Samples> rows;
  std::vector<std::string> notes;
};

struct Options {
  std::vector<std::string> areas;    // none: all that can run here
  int rounds = 9;
  std::string triton_python;         // of an environment that has Triton
  bool list = false;
};

struct Area {
  std::string name, measures, needs, takes;  // `takes`: with nine rounds on two cores
  std::string script;                        // below ../share/kiln/bench; empty: measured by this process
};

// The row that is printed: area, what, against, unit, kiln and peer (medians), ratio (of the medians), q1 and q3 (of
// the rounds' ratios), rounds, relation, target (text or null), passed (or null without a target), samples. It passes
// when the figure of the medians and the worse quartile of the rounds' figures both do.
protocol::Json judged(const std::string& area, const Samples& samples);
// A script's document: {"rows": [{what, against, unit, kiln, peer, relation, target?}], "notes": [text]}. Anything else
// is an error with its place.
Result<Measured> read_measured(const protocol::Json& document);
// The machine that figures come from: cpu, cores, memory, system, load, kiln (the build), date.
protocol::Json machine();

// P1: a hit's round trip, the client's own JSON work included, against a bare socket that moves the same bytes.
Result<Measured> measure_service(Context& context, int rounds);

// Why the area's script cannot run here and what helps: "" when it can. An error when the script itself is absent or
// broken.
Result<std::string> what_is_missing(const Context& context, const Area& area, const Options& options);
// Runs the area's script to its end, its progress on the terminal. Interrupted: cancelled, with the script's own
// processes gone.
Result<Measured> run_script(const Context& context, const Area& area, const Options& options);

// Whether progress is to be drawn: a terminal, and neither --quiet nor --json.
bool shows_progress(const Context& context);

}  // namespace kiln::cli::bench
