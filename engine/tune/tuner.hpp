// The search: candidates are bound, compiled, pruned, checked and measured, the best one becomes a record.
//
// On the host and on cards candidates race by time (race.hpp), and the best one fights a duel with the defaults, which
// stay the winner unless it is certainly faster. On an emulated card nothing is timed: one launch each is counted, and
// the largest of its units' cycles per compute unit, bank conflicts among them, is the rank.
//
// A launch that hangs or crashes is tried once more in a fresh process of the device; a process that is killed from
// outside (signals 9 and 15) says nothing about the candidate.
#pragma once

#include "engine/jit/tuning.hpp"
#include "engine/tune/record_store.hpp"

namespace kiln::tune {

inline constexpr const char* ranked_by_time = "time";
inline constexpr const char* ranked_by_work = "counted work";

// Blocks; any thread, tunes of one machine one after the other. What was measured before it was cancelled or late is kept
// in `records` and used by the next tune of the same request. Errors, which leave no record: program_invalid and others
// of the request's program; invalid_argument of its arguments; cancelled, deadline_exceeded; device_lost where the
// device's process is killed again and again; launch_failed where the defaults, or without them all candidates, do not
// run rightly.
Result<jit::TuneOutcome> tune(jit::Session& session, RecordStore& records, const jit::TuneRequest& request);

// The device class of a device's records. May start the device's process.
Result<std::string> device_class_of(jit::Session& session, const std::string& device);

}  // namespace kiln::tune
