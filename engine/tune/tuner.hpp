// The search: candidates are bound, compiled, pruned, checked and measured, the best one becomes a record.
//
// On the host and on cards candidates are ranked by time: every round launches each of those that remain, the rounds'
// order turning; one that is certainly slower than the best (ranking.hpp) leaves; it ends when the best one is alone,
// after seven rounds at the earliest, or at rounds_max. The defaults stay the winner unless another is certainly
// faster. On an emulated card nothing is timed: one launch each is counted, and the largest of its units' cycles per
// compute unit, bank conflicts among them, is the rank.
#pragma once

#include "engine/jit/tuning.hpp"
#include "engine/tune/record_store.hpp"

namespace kiln::tune {

inline constexpr std::size_t rounds_min = 7;   // of ratios that are worth telling
inline constexpr const char* ranked_by_time = "time";
inline constexpr const char* ranked_by_work = "counted work";

// Blocks; any thread, tunes of one machine one after the other. What was measured before an error is kept in `records`
// and used by the next tune of the same request. Errors: program_invalid and others of the request's program;
// cancelled, deadline_exceeded; launch_failed where no candidate runs rightly.
Result<jit::TuneOutcome> tune(jit::Session& session, RecordStore& records, const jit::TuneRequest& request);

// The device class of a device's records. May start the device's process.
Result<std::string> device_class_of(jit::Session& session, const std::string& device);

}  // namespace kiln::tune
