// Samples become rows; what a script measured is read; the machine is described.
#include <sched.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "api/cli/bench_commands.hpp"
#include "api/cli/paired_ratio.hpp"

namespace kiln::cli::bench {

using protocol::Json;

namespace {

double figure(Relation relation, double kiln, double peer) {
  return relation == Relation::gain ? peer / kiln : kiln / peer;
}

// What the target bounds.
double bounded(Relation relation, double kiln, double peer) {
  return relation == Relation::added ? kiln - peer : figure(relation, kiln, peer);
}

std::vector<double> round_by_round(const Samples& s, double (*of)(Relation, double, double)) {
  std::vector<double> values;
  for (std::size_t i = 0; i < s.kiln.size(); ++i) values.push_back(of(s.relation, s.kiln[i], s.peer[i]));
  return values;
}

std::string target_text(const Samples& s) {
  const auto number = number_text(*s.target);
  switch (s.relation) {
    case Relation::cost: return "<= " + number;
    case Relation::gain: return ">= " + number;
    case Relation::added: return "<= peer + " + number + " " + s.unit;
  }
  return number;
}

bool passed(const Samples& s) {
  const double of_medians = bounded(s.relation, quantile(s.kiln, 0.5), quantile(s.peer, 0.5));
  const auto rounds = round_by_round(s, bounded);
  if (s.relation == Relation::gain) return std::min(of_medians, quantile(rounds, 0.25)) >= *s.target;
  return std::max(of_medians, quantile(rounds, 0.75)) <= *s.target;
}

// Positive numbers, at least one.
Result<std::vector<double>> read_times(const protocol::Fields& row, const char* name) {
  KILN_TRY(const Json* list, row.array(name, 100000));
  std::vector<double> times;
  for (const auto& value : *list) {
    if (!value.is_number() || !(value.get<double>() > 0)) return row.error(name, "positive numbers");
    times.push_back(value.get<double>());
  }
  if (times.empty()) return row.error(name, "at least one number");
  return times;
}

Result<Samples> read_row(const Json& value, const std::string& pointer) {
  const protocol::Fields row(value, pointer);
  Samples s;
  KILN_TRY(s.what, row.text("what"));
  KILN_TRY(s.against, row.text("against"));
  KILN_TRY(s.unit, row.text("unit"));
  KILN_TRY(s.kiln, read_times(row, "kiln"));
  KILN_TRY(s.peer, read_times(row, "peer"));
  if (s.kiln.size() != s.peer.size()) return row.error("peer", std::to_string(s.kiln.size()) + " numbers, as of kiln");
  KILN_TRY(const auto relation, row.text("relation"));
  if (relation != "cost" && relation != "gain") return row.error("relation", "cost or gain");
  s.relation = relation == "gain" ? Relation::gain : Relation::cost;
  if (const Json* target = row.find("target")) {
    if (!target->is_number()) return row.error("target", "a number");
    s.target = target->get<double>();
  }
  return s;
}

// The rest of the first line of a file that starts with `name`, after its `separator`.
std::string field_of_file(const std::string& path, const std::string& name, char separator) {
  const auto bytes = read_file(path, 1 << 20);
  if (!bytes) return "";
  const auto all = std::string(text(*bytes));
  const auto line = all.find(name);
  if (line == std::string::npos) return "";
  const auto end = std::min(all.find('\n', line), all.size());
  auto begin = all.find(separator, line);
  if (begin >= end) return "";
  begin = std::min(all.find_first_not_of(" \"", begin + 1), end);
  const auto last = all.find_last_not_of("\" ", end - 1);
  return last < begin ? "" : all.substr(begin, last + 1 - begin);
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char buffer[16];
  std::strftime(buffer, sizeof buffer, "%Y-%m-%d", &parts);
  return buffer;
}

}  // namespace

Json judged(const std::string& area, const Samples& s) {
  const double kiln = quantile(s.kiln, 0.5), peer = quantile(s.peer, 0.5);
  const auto ratios = round_by_round(s, figure);
  Json row{{"area", area}, {"what", s.what}, {"against", s.against}, {"unit", s.unit}, {"kiln", kiln}, {"peer", peer},
           {"ratio", figure(s.relation, kiln, peer)}, {"q1", quantile(ratios, 0.25)}, {"q3", quantile(ratios, 0.75)},
           {"rounds", ratios.size()}, {"relation", s.relation == Relation::gain ? "peer / kiln" : "kiln / peer"},
           {"target", nullptr}, {"passed", nullptr}, {"samples", {{"kiln", s.kiln}, {"peer", s.peer}}}};
  if (s.target) {
    row["target"] = target_text(s);
    row["passed"] = passed(s);
  }
  return row;
}

Result<Measured> read_measured(const Json& document) {
  const protocol::Fields fields(document, "");
  Measured measured;
  KILN_TRY(const Json* rows, fields.array("rows", 10000));
  for (std::size_t i = 0; i < rows->size(); ++i) {
    KILN_TRY(auto samples, read_row((*rows)[i], "/rows/" + std::to_string(i)));
    measured.rows.push_back(std::move(samples));
  }
  KILN_TRY(const Json* notes, fields.array("notes", 100));
  for (const auto& note : *notes)
    if (note.is_string()) measured.notes.push_back(note.get<std::string>());
  return measured;
}

Json machine() {
  struct sysinfo memory{};
  ::sysinfo(&memory);
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  ::sched_getaffinity(0, sizeof allowed, &allowed);
  double load[1] = {0};
  (void)!::getloadavg(load, 1);
  auto cpu = field_of_file("/proc/cpuinfo", "model name", ':');
  return {{"cpu", cpu.empty() ? "unknown processor" : cpu}, {"cores", CPU_COUNT(&allowed)},
          {"memory_bytes", std::uint64_t(memory.totalram) * memory.mem_unit},
          {"system", field_of_file("/etc/os-release", "PRETTY_NAME", '=')}, {"load", std::round(load[0] * 100) / 100},
          {"kiln", daemon::build_id()}, {"date", today()}};
}

}  // namespace kiln::cli::bench
