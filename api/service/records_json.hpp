// What prints and asserts of a launch have left, as answers tell it.
#pragma once

#include "api/protocol/json.hpp"
#include "api/service/service.hpp"
#include "engine/ir/bound/records.hpp"

namespace kiln::service {

// {"at", "text", "block": [x, y, z], "index": […], "values": […]}. NaN, infinities and integers that protocol lines do
// not hold are strings.
protocol::Json record_json(const bound::Record& record, const bound::RecordSite& site);

// "printed" and "printed_dropped" of a launch.
protocol::Json printed_json(const bound::Records& records, const std::vector<bound::RecordSite>& sites);
// The data of assertion_failed: the same, with "failed" and "failed_dropped" in the form of the two.
protocol::Json failed_json(const bound::Records& records, const std::vector<bound::RecordSite>& sites);

// Adds what a launch has printed to what others have (null: nothing); beyond as much as one launch may, it is only counted.
void keep_printed(protocol::Json& kept, const protocol::Json& members);
// Puts `members` into what the reply answers, a result or an error's data.
void add_members(Reply& reply, const protocol::Json& members);

}  // namespace kiln::service
