#include "api/cli/compare.hpp"

#include <algorithm>
#include <cmath>

#include "api/cli/bench_commands.hpp"
#include "api/cli/compare_trial.hpp"
#include "api/cli/configurations.hpp"

namespace kiln::cli {

using protocol::Json;

namespace {

constexpr std::int64_t smallest_halved = 32;

Json side_json(const Side& side, const Settings& own, const Settings& layouts) {
  using Kind = ProgramSpec::Kind;
  const auto& spec = side.source().spec();
  const char* kind = spec.kind == Kind::builtin ? "builtin" : spec.kind == Kind::json ? "json" : "python";
  return {{"name", spec.text},
          {"kind", kind},
          {"file", spec.file},
          {"function", spec.kind == Kind::python ? spec.name : ""},
          {"revision", spec.revision},
          {"commit", side.source().commit()},
          {"text", side.source().text()},
          {"set", set_json(own)},
          {"layouts", set_json(layouts)}};
}

// Half of every size that --over gives (not of tunables and constants); nothing when there is none, or one would become
// too small.
std::optional<Size> halved(const Size& size, const tile::Program& program) {
  Size half;
  for (const auto& [name, value] : size.over) {
    const bool is_size = name == "seq" || std::any_of(program.symbols.begin(), program.symbols.end(),
                                                      [&](const auto& symbol) { return symbol.name == name; });
    const bool digits =
        !value.empty() && value.size() < 10 && value.find_first_not_of("0123456789") == std::string::npos;
    const auto number = is_size && digits ? std::stoll(value) : 0;
    if (is_size && digits && number / 2 < smallest_halved) return std::nullopt;
    half.over.emplace_back(name, is_size && digits ? std::to_string(number / 2) : value);
    half.text += (half.text.empty() ? "" : " ") + name + "=" + half.over.back().second;
  }
  if (half.over.empty() || half.text == size.text) return std::nullopt;
  return half;
}

class Comparison {
 public:
  Comparison(Context& context, const ComparePlan& plan, Side& a, Side& b)
      : context_(context), plan_(plan), a_(a), b_(b) {}

  // Everything is compiled before anything is run: what cannot be is told at once. Also found: an --over that sets
  // nothing.
  Status compile_all() {
    std::vector<std::pair<Json, std::string>> seen;
    for (const auto& size : plan_.sizes) {
      KILN_TRY(const auto sides, compile(size, plan_.words.device));
      const Json both = Json::array({sides.a.params, sides.b.params});
      for (const auto& [other, text] : seen)
        if (other == both)
          return Error(ErrorCode::invalid_argument, "--over: A and B are the same programs at " + text + " and at " +
                                                        size.text + ": it sets nothing in them");
      seen.emplace_back(both, size.text);
    }
    for (const auto& target : plan_.also) KILN_CHECK(compile(plan_.sizes.front(), "emu:" + target));
    return ok();
  }

  // A size that fails ends it; what was measured before is kept.
  Status main_device() {
    for (const auto& size : plan_.sizes) {
      auto status = one_size(size);
      if (!status && (rows.empty() || status.error().code == ErrorCode::cancelled)) return status;
      if (!status) {
        failed = place(size, plan_.words.device) + ": not measured, " + status.error().message;
        return ok();
      }
    }
    return ok();
  }

  Status one_more(const std::string& target) {
    speed_ = 1;
    std::vector<std::string> counted;
    for (const auto& asked : plan_.sizes) {
      auto size = asked;
      const auto already = [&] { return std::find(counted.begin(), counted.end(), size.text) != counted.end(); };
      KILN_TRY(auto row, count_largest(target, size, already));
      if (!row) continue;
      if (size.text != asked.text) (*row)["instead_of"] = asked.text;
      counted.push_back(size.text);
      also.push_back(std::move(*row));
    }
    return ok();
  }

  Json rows = Json::array(), also = Json::array();
  std::string program_a, program_b;  // tile/1, as the first size has them
  std::string failed;                // the size that ended the comparison early, and why; "" for none
  bool wrong = false;

 private:
  Status one_size(const Size& size) {
    KILN_TRY(const auto sides, sides_at(context_, {a_, b_}, plan_, size, plan_.words.device));
    Trial trial(context_, plan_, sides, plan_.words.device);
    KILN_CHECK(trial.compile());
    KILN_TRY(auto row, trial.run(place(size, plan_.words.device)));
    rows.push_back(completed(size, std::move(row), sides));
    if (!program_a.empty()) return ok();
    program_a = tile::write_program(*sides.a.program);
    program_b = tile::write_program(*sides.b.program);
    return ok();
  }

  static std::string place(const Size& size, const std::string& device) {
    return size.text + (size.text.empty() ? "" : " ") + "on " + device;
  }

  Result<SidePair> compile(const Size& size, const std::string& device) {
    KILN_TRY(auto sides, sides_at(context_, {a_, b_}, plan_, size, device));
    KILN_CHECK(Trial(context_, plan_, sides, device).compile());
    return sides;
  }

  Json completed(const Size& size, Json row, const SidePair& sides) {
    const auto& passed = row["check"]["passed"];
    wrong = wrong || (passed.is_boolean() && !passed.get<bool>());
    row["size"] = size.text.empty() ? row.value("first_tensor", "") : size.text;
    row["over"] = set_json(size.over);
    row["a"]["set"] = sides.a.params["set"];
    row["b"]["set"] = sides.b.params["set"];
    return row;
  }

  static Json not_run(const Size& size, const std::string& target, const std::string& why) {
    return {{"device", "emu:" + target}, {"target", target}, {"size", size.text},  {"over", set_json(size.over)},
            {"kind", "counted"},         {"emulated", true}, {"verdict", nullptr}, {"not_run", why}};
  }

  // Counted at `size`, or at the largest of its halves that is estimated to end in time: `size` becomes that one.
  // Nothing: the size itself stands already.
  Result<std::optional<Json>> count_largest(const std::string& target, Size& size,
                                            const std::function<bool()>& already) {
    const auto device = "emu:" + target;
    const auto asked = size;
    for (;;) {
      const bool smaller = size.text != asked.text;
      if (already() && !smaller) return std::optional<Json>();
      if (already())
        return std::optional<Json>(not_run(asked, target, too_long_ + ", and " + size.text + " is counted"));
      KILN_TRY(const auto sides, sides_at(context_, {a_, b_}, plan_, size, device));
      Trial trial(context_, plan_, sides, device);
      KILN_CHECK(trial.compile());
      const double estimate = emulated_seconds(trial.work());
      if (estimate * speed_ <= plan_.words.seconds) {
        KILN_TRY(auto row, trial.run(place(size, device)));
        const double took = (row["a"].value("first_ms", 0.0) + row["b"].value("first_ms", 0.0)) / 1000;
        if (took > 0.2) speed_ = std::max(0.25, took / estimate);  // of a short launch it tells little
        return std::optional<Json>(completed(size, std::move(row), sides));
      }
      if (!smaller)
        too_long_ = "estimated to take " + number_text(estimate * speed_) + " s on this machine, more than --seconds " +
                    std::to_string(plan_.words.seconds);
      const auto half = halved(size, *sides.a.program);
      if (!half) {
        size = asked;
        return std::optional<Json>(not_run(asked, target, too_long_));
      }
      size = *half;
    }
  }

  Context& context_;
  const ComparePlan& plan_;
  Side &a_, &b_;
  std::string too_long_;  // why the size that was asked for is not counted
  double speed_ = 1;      // seconds on an emulated card over the estimate, as seen so far
};

// One for each way of checking, with the sizes that it was done at.
void add_check_notes(const Json& document, Json& notes) {
  std::vector<std::pair<std::string, std::string>> told;  // text, where
  for (const char* list : {"rows", "also"}) {
    for (const auto& row : document[list]) {
      if (!row.contains("check")) continue;
      const auto text = row["check"].value("text", "");
      const auto where = row.value("size", "") + " on " + row.value("device", "");
      const auto found = std::find_if(told.begin(), told.end(), [&](const auto& entry) { return entry.first == text; });
      if (found == told.end())
        told.emplace_back(text, where);
      else
        found->second += "; " + where;
    }
  }
  for (const auto& [text, where] : told)
    notes.push_back((text.starts_with("not checked") ? text : "checked: " + text) +
                    (told.size() > 1 ? " (" + where + ")" : ""));
}

void add_notes(const ComparePlan& plan, const Json& document, Json& notes) {
  const bool timed = !plan.words.device.starts_with("emu:");
  if (timed)
    notes.push_back("times: medians of " + std::to_string(plan.words.rounds) +
                    " rounds, A and B in turn (A B B A …), with quartiles; "
                    "improvement: the median of the rounds' ratios of A to B, with their quartiles; both by their programs' defaults, "
                    "whatever tuning records say");
  if (!timed || !plan.also.empty())
    notes.push_back(
        "counted on an emulated card: instructions, bytes and bank conflicts are exact, cycles an estimate "
        "(of one compute unit); no time was measured");
  for (const char* name : {"a", "b"}) {
    const auto& side = document[name];
    if (side["revision"].get<std::string>().empty() || side["kind"] != "python") continue;
    notes.push_back(side["name"].get<std::string>() + ": the file is that of " + side["revision"].get<std::string>() +
                    " (" + side["commit"].get<std::string>() + "); what it imports is the working tree's");
  }
  for (const auto& row : document["also"]) {
    if (row.contains("not_run"))
      notes.push_back(row.value("device", "") + ", " + row.value("size", "") + ": not counted, " +
                      row.value("not_run", ""));
    if (row.contains("instead_of"))
      notes.push_back(row.value("device", "") + ": counted at " + row.value("size", "") + " instead of " +
                      row.value("instead_of", "") + ", which is estimated to take longer than --seconds " +
                      std::to_string(plan.words.seconds));
  }
  for (const auto& row : document["rows"])
    if (const auto text = row.value("reshaped", ""); !text.empty())
      notes.push_back(row.value("size", "") + ": " + text + ", the same bytes");
  add_check_notes(document, notes);
}

}  // namespace

Result<Json> run_comparison(Context& context, const CompareArguments& words, const std::string& command) {
  KILN_TRY(const auto plan, read_plan(context, words));
  KILN_TRY(auto a, Side::open(context, "A", plan.a));
  KILN_TRY(auto b, Side::open(context, "B", plan.b));
  Json document{{"command", command_text(command, words)},
                {"seed", words.seed},
                {"rounds", words.rounds},
                {"device", words.device},
                {"machine", bench::machine()}};
  document["a"] = side_json(a, plan.set_a, plan.layouts_a);
  document["b"] = side_json(b, plan.set_b, plan.layouts_b);
  document["set"] = set_json(plan.set);
  Comparison comparison(context, plan, a, b);
  KILN_CHECK(comparison.compile_all());
  KILN_CHECK(comparison.main_device());
  if (comparison.failed.empty())
    for (const auto& target : plan.also) KILN_CHECK(comparison.one_more(target));
  document["rows"] = std::move(comparison.rows);
  document["also"] = std::move(comparison.also);
  document["wrong"] = comparison.wrong;
  document["failed"] = comparison.failed.empty() ? Json() : Json(comparison.failed);
  document["a"]["program"] = comparison.program_a;
  document["b"]["program"] = comparison.program_b;
  document["notes"] = Json::array();
  add_notes(plan, document, document["notes"]);
  if (!comparison.failed.empty()) document["notes"].push_back(std::move(comparison.failed));
  return document;
}

int comparison_status(const Json& document) {
  return document["wrong"].get<bool>() ? exit_wrong_result : document["failed"].is_null() ? exit_ok : exit_failed;
}

}  // namespace kiln::cli
