// Tuning records as JSON: `tuning/1`, what kernel.tune answers, what is exported, imported and shipped
// (kernels/tuning).
#pragma once

#include "api/protocol/json.hpp"
#include "engine/jit/tuning.hpp"

namespace kiln::service {

inline constexpr const char* tuning_format = "tuning/1";
inline constexpr std::size_t tuning_records_max = 4096;
inline constexpr std::size_t tuning_name_bytes_max = 4096;  // of one name or reason in a record

// The record whole. record_from_json reads what this gives.
protocol::Json record_json(const jit::TuningRecord& record);
// Without its rows, with its name and whether it is used: an entry of tuning.list.
protocol::Json record_summary(const jit::NamedTuningRecord& named);
// What a compile that uses it says: {"record", "set", "ratio", "ranked_by", "symbols": the sizes that were
// measured}, with "layouts" where it sets some.
protocol::Json used_json(const jit::NamedTuningRecord& named);
// Located errors, below `pointer`.
Result<jit::TuningRecord> record_from_json(const protocol::Json& value, const std::string& pointer);
// {"kiln": "tuning/1", "records": […]}: a file.
Result<std::vector<jit::TuningRecord>> records_from_file(const protocol::Json& file);

}  // namespace kiln::service
