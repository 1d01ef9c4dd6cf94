#include "api/cli/profile_files.hpp"

#include "engine/base/fd.hpp"

namespace kiln::cli {

using protocol::Json;

namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::uint64_t product(const Json& triple) {
  std::uint64_t all = 1;
  for (const auto& extent : triple) all *= extent.get<std::uint64_t>();
  return all;
}

}  // namespace

Status write_counter_csv(const std::string& path, const Json& report) {
  std::string text =
      "\"Correlation_Id\",\"Dispatch_Id\",\"Agent_Id\",\"Queue_Id\",\"Process_Id\",\"Thread_Id\",\"Grid_Size\",\"Kernel_Id\",\"Kernel_Name\","
      "\"Workgroup_Size\",\"LDS_Block_Size\",\"Scratch_Size\",\"VGPR_Count\",\"Accum_VGPR_Count\",\"SGPR_Count\",\"Counter_Name\","
      "\"Counter_Value\",\"Start_Timestamp\",\"End_Timestamp\"\n";
  if (report["launches"].empty()) {   // counted by a real card: all dispatches together
    if (report["counters"].empty()) return Error(ErrorCode::unsupported, path + ": nothing was counted on " + report.value("device", ""));
    const auto head = "0,0," + quoted(report.value("device", "")) + ",0,0,0,0,0," + quoted(report.value("program", "")) + ",0,0,0,0,0,0,";
    for (const auto& [name, value] : report["counters"].items()) text += head + quoted(name) + "," + protocol::dump(value) + ",0,0\n";
  }
  std::size_t dispatch = 0;
  for (const auto& launch : report["launches"]) {
    ++dispatch;
    const auto number = std::to_string(dispatch), threads = std::to_string(product(launch["threads"]));
    const auto& r = launch["resources"];
    const auto agprs = r.value("agprs", std::int64_t(0));
    const auto head = number + "," + number + "," + quoted(report.value("device", "")) + ",1,0,0," +
                      std::to_string(product(launch["blocks"]) * product(launch["threads"])) + "," + number + "," +
                      quoted(launch.value("symbol", "")) + "," + threads + "," + protocol::dump(launch["lds_bytes"]) + "," +
                      protocol::dump(r["scratch_bytes"]) + "," + std::to_string(r.value("vgprs", std::int64_t(0)) - agprs) + "," +
                      std::to_string(agprs) + "," + protocol::dump(r["sgprs"]) + ",";
    for (const auto& [name, value] : launch["counters"].items()) text += head + quoted(name) + "," + protocol::dump(value) + ",0,0\n";
  }
  return write_file(path, view(text));
}

Status write_trace(const std::string& path, const Json& report) {
  constexpr double instructions_a_microsecond = 1000;
  if (report["launches"].empty()) return Error(ErrorCode::unsupported, path + ": no instructions were counted on " + report.value("device", ""));
  Json events = Json::array();
  events.push_back({{"name", "process_name"}, {"ph", "M"}, {"pid", 1}, {"args", {{"name", report.value("device", "") + ": instructions, not time"}}}});
  double at = 0;
  for (const auto& launch : report["launches"]) {
    double inside = at;
    Json slices = Json::array();
    for (const auto& s : launch["statements"]) {
      const double length = s.value("instructions", 0.0) / instructions_a_microsecond;
      if (length == 0) continue;
      slices.push_back({{"name", s.value("text", "")}, {"ph", "X"}, {"pid", 1}, {"tid", 1}, {"ts", inside}, {"dur", length}, {"args", s}});
      inside += length;
    }
    events.push_back({{"name", launch.value("symbol", "")}, {"ph", "X"}, {"pid", 1}, {"tid", 1}, {"ts", at}, {"dur", inside - at},
                      {"args", {{"counters", launch["counters"]}, {"resources", launch["resources"]}, {"occupancy", launch["occupancy"]}}}});
    for (auto& slice : slices) events.push_back(std::move(slice));
    at = inside;
  }
  const auto text = protocol::dump(Json{{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}});
  return write_file(path, view(text));
}

}  // namespace kiln::cli
