#include "api/service/records_json.hpp"

#include <charconv>
#include <cmath>

#include "api/protocol/limits.hpp"

namespace kiln::service {
namespace {

using protocol::Json;

Json value_json(DType type, bound::Value value) {
  const std::string text = bound::value_text(type, value);
  if (type == DType::boolean) return value.integer != 0;
  if (is_float(type)) {
    if (!std::isfinite(value.real)) return text;
    double number = value.real;  // as short as it is shown
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
  }
  const bool fits = type == DType::u64 ? static_cast<std::uint64_t>(value.integer) <= protocol::integer_magnitude_max
                                       : std::llabs(value.integer) <= protocol::integer_magnitude_max;
  return fits ? Json(value.integer) : Json(text);
}

Json list_json(const std::vector<bound::Record>& records, const std::vector<bound::RecordSite>& sites) {
  Json list = Json::array();
  for (const auto& record : records) list.push_back(record_json(record, sites[record.site]));
  return list;
}

}  // namespace

Json record_json(const bound::Record& record, const bound::RecordSite& site) {
  Json values = Json::array();
  for (std::size_t i = 0; i < record.values.size(); ++i)
    values.push_back(value_json(site.values[i], record.values[i]));
  return {{"at", site.pointer}, {"text", site.text}, {"block", record.block}, {"index", record.index},
          {"values", std::move(values)}};
}

Json printed_json(const bound::Records& records, const std::vector<bound::RecordSite>& sites) {
  return {{"printed", list_json(records.prints, sites)}, {"printed_dropped", records.prints_dropped}};
}

Json failed_json(const bound::Records& records, const std::vector<bound::RecordSite>& sites) {
  Json members = printed_json(records, sites);
  members["failed"] = list_json(records.failures, sites);
  members["failed_dropped"] = records.failures_dropped;
  return members;
}

void keep_printed(Json& kept, const Json& members) {
  if (!members.is_object()) return;
  if (!kept.is_object()) {
    kept = members;
    return;
  }
  for (const char* name : {"printed", "failed"}) {
    const auto more = members.find(name);
    if (more == members.end()) continue;
    const std::string dropped = std::string(name) + "_dropped";
    auto& records = kept[name];
    if (!records.is_array()) records = Json::array();
    const auto most = static_cast<std::size_t>(bound::prints_max);
    std::uint64_t left = members.at(dropped).get<std::uint64_t>() + kept.value(dropped, std::uint64_t(0));
    for (const auto& record : *more) {
      if (records.size() < most) records.push_back(record);
      else ++left;
    }
    kept[dropped] = left;
  }
}

void add_members(Reply& reply, const Json& members) {
  if (!members.is_object()) return;
  if (reply.result) return reply.result->update(members);
  if (!reply.error_data.is_object()) reply.error_data = Json::object();
  reply.error_data.update(members);
}

}  // namespace kiln::service
