// tune: measures candidates, keeps the best. tuning: the records.
#include <algorithm>
#include <iostream>
#include <map>
#include <utility>

#include "api/cli/configurations.hpp"
#include "api/cli/operands.hpp"
#include "api/daemon/flags.hpp"

namespace kiln::cli {

using protocol::Json;

namespace {

constexpr std::size_t rows_shown = 20;

struct TuneOptions {
  KernelArguments kernel;
  std::string device, candidates, export_file;
  std::vector<std::string> scalars;
  int rounds = 0, most = 0, candidate_deadline_ms = 0;
  std::int64_t deadline_ms = 0;
  bool force = false, all = false;
};

constexpr std::size_t file_bytes_max = std::size_t(64) << 20;
constexpr std::size_t request_bytes_beside = 1024;   // of a request, beside its parameters
constexpr std::string_view candidates_pointer = "/params/candidates";

// Errors in `text` are told by their place in `file`.
void point_into(Context& context, const std::string& file, std::string_view text) {
  context.source_file = file;
  context.source_text.assign(text);
}

// A JSON file. What is wrong with it is told by its place.
Result<Json> read_json(Context& context, const std::string& path) {
  KILN_TRY(const auto bytes, read_file(path, file_bytes_max));
  auto value = protocol::parse_json(text(bytes), protocol::Limits{});
  if (!value) point_into(context, path, text(bytes));
  return value;
}

// A daemon takes lines up to a limit, and ends the connection for longer ones.
Status check_size(Context& context, const std::string& path, const Json& params) {
  KILN_CHECK(context.configure());
  const auto most = context.configuration->limits.line_bytes_max;
  const auto bytes = protocol::dump(params).size() + request_bytes_beside;
  if (context.no_daemon || bytes <= most) return ok();
  return Error(ErrorCode::resource_limit, path + ": that is a request of " + std::to_string(bytes) +
                                              " bytes; the daemon takes " + std::to_string(most) +
                                              " (limits.line_bytes_max; --no-daemon takes any)");
}

// A file with an array of candidates; their programs stand in it whole, or by a built-in's name.
Result<Json> read_candidates(Context& context, const std::string& path) {
  KILN_TRY(auto list, read_json(context, path));
  if (!list.is_array()) return Error(ErrorCode::invalid_argument, path + ": expected an array of candidates");
  return list;
}

// What is wrong with candidates, by its place in their file.
Error in_candidates(Context& context, const std::string& path, Error error) {
  bool found = false;
  for (auto& d : error.diagnostics) {
    if (!d.pointer.starts_with(candidates_pointer)) continue;
    d.pointer.erase(0, candidates_pointer.size());
    found = true;
  }
  if (!found) return error;
  if (const auto bytes = read_file(path, file_bytes_max)) point_into(context, path, text(*bytes));
  return error;
}

Error scalar_mistake(Context& context, const std::string& name, const std::string& word) {
  const bool integer = !word.empty() && word.find_first_not_of("+-0123456789") == std::string::npos;
  return context.usage_error("--scalar " + name + "=" + word + ": expected a number" +
                             (integer ? "; an integer's magnitude is at most " +
                                            std::to_string(protocol::integer_magnitude_max) + ", 2^53 - 1"
                                      : ""));
}

Result<Json> tune_params(Context& context, const TuneOptions& options) {
  auto kernel = options.kernel;
  kernel.configurations = KernelArguments::Configurations::every;
  const auto device = options.device.empty() && kernel.target.empty() ? "host" : options.device;
  if (kernel.target.empty()) {
    KILN_TRY(kernel.target, device_target(context, device));
  }
  KILN_TRY(auto params, kernel.params(context));
  if (options.kernel.target.empty()) params.erase("target");
  if (!device.empty()) params["device"] = device;
  if (options.rounds > 0) params["rounds_max"] = options.rounds;
  if (options.most > 0) params["candidates_max"] = options.most;
  if (options.candidate_deadline_ms > 0) params["candidate_deadline_ms"] = options.candidate_deadline_ms;
  if (options.deadline_ms > 0) params["deadline_ms"] = options.deadline_ms;
  if (options.force) params["force"] = true;
  if (!options.candidates.empty()) {
    KILN_TRY(params["candidates"], read_candidates(context, options.candidates));
  }
  for (const auto& [name, value] : context.numbers.items()) params["args"][name] = value;
  KILN_TRY(const auto scalars, name_values(context, options.scalars, "--scalar"));
  for (const auto& [name, word] : scalars.items()) {
    auto value = protocol::parse_json(word.get_ref<const std::string&>(), protocol::Limits{});
    if (!value || !(value->is_number() || value->is_boolean()))
      return scalar_mistake(context, name, word.get<std::string>());
    params["args"][name] = std::move(*value);
  }
  if (params.contains("candidates"))
    KILN_CHECK(check_size(context, options.candidates.empty() ? kernel.program : options.candidates, params));
  return params;
}

int place_of(const std::string& verdict) {
  static const std::map<std::string, int> places{{"best", 0}, {"equal", 1}, {"slower", 2}};
  const auto found = places.find(verdict);
  return found == places.end() ? 3 : found->second;
}

std::string figure_of(const Json& row) {
  if (row.contains("time_ms")) {
    const auto& time = row["time_ms"];
    return number_text(time.value("median", 0.0)) + " (" + number_text(time.value("lower", 0.0)) + " to " +
           number_text(time.value("upper", 0.0)) + ")";
  }
  return row.contains("cycles") ? number_text(row.value("cycles", 0.0), 6) : "";
}

void print_candidates(const Json& answer, bool all) {
  std::vector<Json> rows(answer["candidates"].begin(), answer["candidates"].end());
  std::stable_sort(rows.begin(), rows.end(), [](const Json& a, const Json& b) {
    const int first = place_of(a.value("verdict", "")), second = place_of(b.value("verdict", ""));
    return first != second ? first < second : first < 3 && a.value("ratio", 0.0) < b.value("ratio", 0.0);
  });
  const bool timed = answer.value("ranked_by", "") == "time";
  std::vector<std::vector<std::string>> table{{"candidate",
                                               timed ? "ms (quartiles)" : "counted cycles of a compute unit",
                                               "ratio to " + answer.value("baseline", ""), "verdict"}};
  std::map<std::string, int> left;
  for (const auto& row : rows) {
    const auto verdict = row.value("verdict", "");
    const bool worth = all || (verdict != "invalid" && verdict != "same" && verdict != "pruned");
    if (!worth || (!all && table.size() > rows_shown && place_of(verdict) == 2)) {
      ++left[verdict];
      continue;
    }
    const auto reason = row.value("reason", "");
    table.push_back({row.value("name", ""), figure_of(row),
                     row.contains("ratio") ? number_text(row.value("ratio", 0.0)) : "",
                     verdict + (reason.empty() ? "" : ": " + reason)});
  }
  print_table(table);
  if (timed)
    std::cout << "ratio and verdict come from rounds in which a candidate and the best ran in turn; ms are each "
                 "candidate's own, which a busy machine moves\n";
  std::string more;
  for (const auto& [verdict, count] : left) more += (more.empty() ? "" : ", ") + std::to_string(count) + " " + verdict;
  if (const auto count = answer.value("not_tried", 0); count > 0)
    more += (more.empty() ? "" : ", ") + std::to_string(count) + " further from the default and not tried";
  if (!more.empty()) std::cout << "also " << more << (left.empty() ? "" : " (--all lists them)") << "\n";
}

// What a tune that was done again has put aside.
void print_before(const Json& answer) {
  if (!answer.contains("before")) return;
  const auto& before = answer["before"];
  if (before["set"] == answer["set"] && before["layouts"] == answer["layouts"]) return;
  std::cout << (answer.value("stored", true) ? "in place of" : "still in force") << ": " << before.value("winner", "")
            << ", which an earlier tune measured at " << number_text(before.value("ratio", 0.0)) << "; `kiln tuning remove "
            << answer.value("record", "").substr(0, 12) << "` forgets this one, and brings back what came with Kiln\n";
}

void print_tune(const Json& answer, const std::string& folder, bool all) {
  std::cout << answer.value("program", "") << " for " << answer.value("target", "") << " on "
            << answer.value("device", "") << ", ranked by " << answer.value("ranked_by", "") << ", checked against "
            << answer.value("checked_against", "")
            << (answer.value("found", false) ? "; known already (--force measures anew)" : "") << "\n";
  print_candidates(answer, all);
  if (const auto resumed = answer.value("resumed", 0); resumed > 0)
    std::cout << resumed << " candidates as an interrupted tune had left them\n";
  std::cout << "best: " << answer.value("winner", "");
  if (answer.value("ratio", 0.0) > 0)
    std::cout << ", " << number_text(answer.value("ratio", 0.0)) << " of " << answer.value("baseline", "");
  std::cout << "\n";
  if (answer.value("stored", true)) {
    std::string classes;
    for (const auto& [name, word] : answer["identity"]["classes"].items())
      classes += (classes.empty() ? "" : " ") + name + ":" + word.get<std::string>();
    std::cout << "record: " << folder << "/tuning/" << answer.value("record", "") << ", used for "
              << (classes.empty() ? "this kernel as it is" : classes) << "\n";
    print_before(answer);
  } else {
    std::cout << "no record was written: " << answer.value("why_not_stored", "") << "\n";
  }
}

Result<Json> whole_record(Context& context, const std::string& id) {
  KILN_TRY(auto list, context.ask("tuning.list", {{"record", id}}));
  return std::move(list["records"].at(0)["whole"]);
}

Status write_records(const std::string& path, Json records) {
  const Json file{{"kiln", "tuning/1"}, {"records", std::move(records)}};
  return write_file(path, view(protocol::dump(file, 1) + "\n"));
}

Status export_record(Context& context, const std::string& id, const std::string& path) {
  KILN_TRY(auto record, whole_record(context, id));
  return write_records(path, Json::array({std::move(record)}));
}

int tune_command(Context& context, const TuneOptions& options) {
  auto params = tune_params(context, options);
  if (!params) return report(context, params.error());
  const bool of_configurations = options.candidates.empty() && params->contains("candidates");
  const auto answer = of_configurations ? tune_configurations(context, std::move(*params))
                                        : context.ask("kernel.tune", std::move(*params));
  if (!answer) return report(context, in_candidates(context, options.candidates, answer.error()));
  const auto stats = context.ask("cache.stats", Json::object());
  if (!stats) return report(context, stats.error());
  if (!options.export_file.empty())
    if (auto status = export_record(context, answer->value("record", ""), options.export_file); !status)
      return report(context, status.error());
  if (context.json) print_json(*answer);
  else print_tune(*answer, stats->value("path", ""), options.all);
  return exit_ok;
}

std::string joined(const Json& words) {
  std::string line;
  for (const auto& [name, value] : words.items())
    line += (line.empty() ? "" : " ") + name + "=" + value.get<std::string>();
  return line;
}

int list_command(Context& context) {
  const auto answer = context.ask("tuning.list", Json::object());
  if (!answer) return report(context, answer.error());
  if (context.json) {
    print_json(*answer);
    return exit_ok;
  }
  std::vector<std::vector<std::string>> rows{
      {"record", "program", "classes", "settings", "device", "sets", "ratio", "used"}};
  for (const auto& record : (*answer)["records"]) {
    // A configuration's program is its own: what it sets is in its name.
    const auto set = record.contains("of_candidates") ? record.value("winner", "") : joined(record["set"]);
    rows.push_back({record.value("record", "").substr(0, 40), record.value("program", ""), joined(record["classes"]),
                    joined(record["settings"]),
                    record.value("target", "").substr(0, 12) + ", " + record.value("device_class", ""),
                    set.empty() ? "the defaults" : set,
                    number_text(record.value("ratio", 0.0)) +
                        (record.value("ranked_by", "") == "time" ? "" : " by " + record.value("ranked_by", "")),
                    record.value("used", false) ? record.value("shipped", false) ? "yes, came with Kiln" : "yes"
                                                : "no: " + record.value("why_not_used", "")});
  }
  print_table(rows);
  if (const auto kept = answer->value("interrupted", 0); kept > 0)
    std::cout << kept << " interrupted tunes keep what they know: the same tune goes on from there\n";
  return exit_ok;
}

// The one record whose name begins so.
Result<std::string> whole_name(Context& context, const std::string& beginning) {
  KILN_TRY(const auto answer, context.ask("tuning.list", Json::object()));
  std::vector<std::string> found;
  for (const auto& record : answer["records"])
    if (const auto name = record.value("record", ""); name.starts_with(beginning)) found.push_back(name);
  if (found.size() == 1) return found.front();
  return Error(ErrorCode::not_found, found.empty()
                                         ? "no tuning record begins with " + beginning
                                         : std::to_string(found.size()) + " tuning records begin with " + beginning);
}

int remove_command(Context& context, const std::string& beginning) {
  auto name = whole_name(context, beginning);
  if (!name) return report(context, name.error());
  const auto answer = context.ask("tuning.remove", {{"record", *name}});
  if (!answer) return report(context, answer.error());
  if (context.json) print_json({{"removed", *name}});
  else std::cout << "removed " << *name << "\n";
  return exit_ok;
}

// The file's records in requests that the daemon takes: one, where all fit.
Result<Json> import_records(Context& context, const std::string& path, bool replace) {
  KILN_TRY(auto file, read_json(context, path));
  const auto params = [&](Json some) {
    auto part = file;
    part["records"] = std::move(some);
    return Json{{"records", std::move(part)}, {"force", replace}};
  };
  const bool whole = !file.is_object() || !file.contains("records") || !file["records"].is_array() ||
                     check_size(context, path, Json{{"records", file}});
  if (whole) {
    auto answer = context.ask("tuning.import", {{"records", file}, {"force", replace}});
    if (const auto bytes = read_file(path, file_bytes_max); !answer && bytes) point_into(context, path, text(*bytes));
    return answer;
  }
  Json all{{"records", Json::array()}, {"kept", Json::array()}};
  const auto records = std::exchange(file["records"], Json::array());
  for (const auto& record : records) {
    auto request = params(Json::array({record}));
    KILN_CHECK(check_size(context, path, request));
    KILN_TRY(const auto answer, context.ask("tuning.import", std::move(request)));
    for (const char* list : {"records", "kept"})
      for (const auto& name : answer[list]) all[list].push_back(name);
  }
  return all;
}

int import_command(Context& context, const std::string& path, bool replace) {
  const auto imported = import_records(context, path, replace);
  if (!imported) return report(context, imported.error());
  if (context.json) {
    print_json(*imported);
    return exit_ok;
  }
  std::cout << (*imported)["records"].size() << " records; `kiln tuning list` says which are used here\n";
  if (const auto kept = (*imported)["kept"].size(); kept > 0)
    std::cout << kept << " are not taken: others of your own are there (--force replaces them)\n";
  return exit_ok;
}

// All records of one's own, or those of a program, or of devices whose class has these words.
Result<std::size_t> export_records(Context& context, const std::string& path, const std::string& program,
                                   const std::string& device) {
  KILN_TRY(const auto answer, context.ask("tuning.list", Json::object()));
  Json records = Json::array();
  for (const auto& record : answer["records"]) {
    if (record.value("shipped", false) || (!program.empty() && record.value("program", "") != program)) continue;
    if (record.value("device_class", "").find(device) == std::string::npos) continue;
    KILN_TRY(auto whole, whole_record(context, record.value("record", "")));
    records.push_back(std::move(whole));
  }
  const auto count = records.size();
  KILN_CHECK(write_records(path, std::move(records)));
  return count;
}

void add_export(CLI::App& tuning, Context& context, int& status) {
  struct Words {
    std::string file, program, device;
  };
  auto words = std::make_shared<Words>();
  auto* command = tuning.add_subcommand("export", "write records of your own to a file that import takes");
  command->add_option("file", words->file, "the file")->required()->check(daemon::path_flag_mistake);
  command->add_option("--program", words->program, "NAME: of this program alone");
  command->add_option("--device", words->device, "WORDS of a device's class, as `tuning list` shows it");
  command->callback([&context, &status, words] {
    const auto count = export_records(context, words->file, words->program, words->device);
    if (!count) {
      status = report(context, count.error());
      return;
    }
    if (context.json) print_json({{"records", *count}, {"file", words->file}});
    else std::cout << *count << " records in " << words->file << "\n";
    status = exit_ok;
  });
}

void add_tune(CLI::App& app, Context& context, int& status) {
  auto* command = app.add_subcommand(
      "tune", "measure the candidates of a program's tunables; later compiles of the same class of sizes use the best");
  auto options = std::make_shared<TuneOptions>();
  auto& kernel = options->kernel;
  command
      ->add_option("program", kernel.program,
                   "a built-in's name, a file with a tile/1 program (- for standard input), or FILE.py[:FUNCTION]")
      ->required();
  command->add_option("--arg", kernel.types, "NAME=DTYPE[EXTENTS] …: what a Python function is called with: Q=f16[8, seq, 64]")
      ->expected(1, 100);
  command->add_option("--grid", kernel.grid, grid_help);
  command->add_option("--set", kernel.set, "NAME=VALUE …: symbols, options, and tunables that stay as they are")
      ->expected(1, 1000);
  command->add_option("--device", options->device,
                      "where to measure; default host, or the emulated card of --target (counted work, no times)");
  command->add_option("--target", kernel.target, "what to compile for; default the device's");
  command->add_option("--layout", kernel.layouts, "TILE=LAYOUT …: layouts that stay as they are")->expected(1, 100);
  command->add_option("--align", kernel.align, "PARAMETER=BYTES …: alignment of a tensor's base, 1 to 16")
      ->expected(1, 100);
  command->add_option("--scalar", options->scalars, "NAME=NUMBER …: scalar arguments")->expected(1, 100);
  command
      ->add_option("--candidates", options->candidates,
                   "FILE: these alone, a JSON array of {\"name\", \"set\", \"layouts\", \"program\"}; without it "
                   "an autotuned Python kernel's configurations, or all values of the tunables")
      ->check(daemon::path_flag_mistake);
  command->add_option("--candidates-max", options->most, "of the program's own, the nearest to the defaults (64)")
      ->check(CLI::Range(1, 4096));
  command->add_option("--rounds", options->rounds, "of measuring at most (30)")->check(CLI::Range(1, 10000));
  command->add_option("--candidate-deadline", options->candidate_deadline_ms, "milliseconds of one launch (10000)")
      ->check(CLI::Range(1, 3600000));
  command->add_option("--deadline", options->deadline_ms, "milliseconds of the whole; what is known by then is kept")
      ->check(CLI::Range(1, 1000000000));
  command->add_option("--export", options->export_file, "FILE: write the record as JSON too")
      ->check(daemon::path_flag_mistake);
  command->add_flag("--force", options->force, "measure anew, whatever is known");
  command->add_flag("--all", options->all, "list every candidate");
  command->callback([&context, &status, options] { status = tune_command(context, *options); });
}

}  // namespace

void add_tune_commands(CLI::App& app, Context& context, int& status) {
  add_tune(app, context, status);
  auto* tuning = app.add_subcommand("tuning", "the records that `kiln tune` made");
  tuning->require_subcommand(1);
  tuning->add_subcommand("list", "all records, and which are used here")->callback([&context, &status] {
    status = list_command(context);
  });
  auto word = std::make_shared<std::string>();
  auto* remove = tuning->add_subcommand("remove", "forget a record");
  remove->add_option("record", *word, "its name or a beginning of it")->required();
  remove->callback([&context, &status, word] { status = remove_command(context, *word); });
  add_export(*tuning, context, status);
  auto file = std::make_shared<std::string>();
  auto* import = tuning->add_subcommand("import", "take over the records of a file that --export wrote");
  import->add_option("file", *file, "the file")->required()->check(daemon::path_flag_mistake);
  auto replace = std::make_shared<bool>(false);
  import->add_flag("--force", *replace, "also over records that are there");
  import->callback([&context, &status, file, replace] { status = import_command(context, *file, *replace); });
}

}  // namespace kiln::cli
