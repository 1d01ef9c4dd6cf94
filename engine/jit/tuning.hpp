// What tuning is asked and what it says, in plain data: engine/tune makes it, who serves it shows it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/fd.hpp"
#include "engine/jit/session.hpp"

namespace kiln::jit {

using Words = std::map<std::string, std::string>;

// Whether people can read it as it is: no control characters, line separators or marks that turn the reading direction.
// Requires: UTF-8.
bool printable(std::string_view text);
// Why `set` is no choice of tunables alone, and so could change what the program means: "activation is an option of
// gemm"; nothing where it is one. Values that the program cannot take are left to binding.
std::optional<std::string> not_tunables(const tile::Program& program, const Words& set);

// What a record is for. Two requests with equal identities share one record; nothing else uses it.
struct TuningIdentity {
  Digest program{};            // SHA-256 of the tile program's canonical text
  std::string program_name;    // for people
  Words settings;              // every option as it resolves, and the tunables that the request set
  Words layouts;               // that the request set
  std::map<std::string, std::int64_t> align;
  Words classes;               // symbol -> class of its size (engine/tune/shape_class.hpp)
  std::string target;          // full: "host:avx512+…", "gfx942"
  std::string device_class;    // "host: AMD EPYC …, 2 threads"; "emulated"; a card's description
  std::string version;         // source_identity() of the build that measured
  // Where candidates bring programs of their own: digest over all candidates. Compiles never ask for such records.
  std::string of_candidates;
  bool operator==(const TuningIdentity&) const = default;
};

struct Quartiles {
  double lower = 0, median = 0, upper = 0;
};
// Between two values where a quartile falls between them (linear). Requires: not empty.
Quartiles quartiles(std::vector<double> values);

// How a candidate ended.
enum class TuneVerdict : std::uint8_t {
  open,       // not decided yet
  best,
  equal,      // not certainly slower than the best
  slower,     // certainly slower than the best
  invalid,    // the program cannot take it: bindings, constraints, LDS, other parameters
  failed,     // its compile
  pruned,     // by what its code object says: spills, occupancy, bank conflicts
  same,       // the same code as another candidate
  wrong,      // another result than the definition's
  hung,       // not done within the candidate's deadline
  crashed,    // its launch failed, or took its device's process along
};
inline constexpr TuneVerdict tune_verdict_last = TuneVerdict::crashed;
const char* tune_verdict_name(TuneVerdict verdict);

// One candidate as measured.
struct TuneRow {
  std::string name;
  Words set, layouts;          // what it sets beside the request
  TuneVerdict verdict = TuneVerdict::open;
  std::string reason;          // of every verdict that is not a rank
  std::vector<double> times_ms;  // one a round, the least of the round's launches; empty by counted work
  double cycles = 0;           // counted work: of one compute unit, the largest unit's, summed over the launches
  double ratio = 0;            // time or work against the baseline's: below 1 is better; 0: not ranked
  bool operator==(const TuneRow&) const = default;
};

struct TuningRecord {
  TuningIdentity identity;
  Words symbols;               // the sizes that were measured
  std::string ranked_by;       // "time", "counted work"
  std::string checked_against;
  std::string baseline;        // name of the candidate that ratios are against
  Words set, layouts;          // the winner's; both empty: the program's defaults
  std::string winner;
  double ratio = 1;            // the winner's; above 0
  std::int64_t made_unix_s = 0;
  std::string asked;           // digest of the candidates, limits and arguments that were asked for
  std::vector<TuneRow> rows;
  bool operator==(const TuningRecord&) const = default;
};
using TuningRecordPtr = std::shared_ptr<const TuningRecord>;
// A record with its name.
struct NamedTuningRecord {
  std::string id;              // 64 hex digits
  TuningRecordPtr record;
  bool shipped = false;        // of the layer that came with Kiln: cannot be removed
  std::string unusable;        // why no compile here uses it; "": it is used
};

// What a caller wants compared. Its bindings are whole: the request's with its own on top.
struct TuneCandidate {
  std::string name;            // "": made of what it sets
  std::shared_ptr<const tile::Program> program;  // null: the request's
  Digest program_digest{};     // with `program`
  Words set, layouts;          // its own; settings and layouts as in requests
};
// One argument of the program: memory that the caller holds, from its start, or a scalar's bytes.
struct TuneInput {
  UniqueFd memory;
  std::uint64_t bytes = 0;
  Bytes scalar;
};
struct TuneProgress {
  std::string stage;           // "compile", "check", "measure"
  std::size_t done = 0, total = 0;
  std::string best;            // name of the best so far, "" before anything was measured
  double best_ratio = 0;
};
struct TuneRequest {
  CompileRequest base;         // program, digest, bindings and target of the defaults; deadline and cancel of the whole
  std::string device;
  std::optional<std::vector<TuneCandidate>> candidates;  // absent: the program's tunables
  int rounds_max = 30;
  std::size_t candidates_max = 64;
  std::chrono::milliseconds candidate_deadline{10000};   // of one launch; 0: none
  std::chrono::milliseconds interpreter_limit{60000};    // of one interpretation of the definition
  bool force = false;          // measures although there is a record, or an interrupted tune
  bool recorded = false;       // measures nothing: the record, whatever limits and arguments it was made with
  // Whether the caller's arguments are some of the program, and what they hold: equal for equal contents. Called first.
  std::function<Result<Digest>(const bound::Program& program)> arguments;
  // The arguments of every launch. What they hold is never written. Called for the request's program, and where the
  // interpreter only takes it at smaller sizes for those too: a caller's own memory is taken from its start then.
  std::function<Result<std::vector<TuneInput>>(const bound::Program& program)> inputs;
  // Counts memory that the tune takes beside; it is given back with what this returns.
  std::function<Result<std::shared_ptr<const void>>(std::uint64_t bytes)> account;
  std::function<void(const TuneProgress&)> progress;     // may be null; from the caller's thread
};
struct TuneOutcome {
  std::string id;
  TuningRecordPtr record;
  bool found = false;          // a record was there; nothing was measured
  TuningRecordPtr before;      // what was in force until this tune; none: nothing was, or `found`
  bool stored = true;
  std::string why_not_stored;
  std::size_t resumed = 0;     // candidates whose outcome or times an interrupted tune had kept
  std::size_t not_tried = 0;   // beyond candidates_max
  std::int64_t interpreter_steps = 0;  // estimated, for the definition's result at these sizes; below 2^53
};

}  // namespace kiln::jit
