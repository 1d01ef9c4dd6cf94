#include "api/cli/compare_arguments.hpp"

#include <algorithm>

#include "api/cli/operands.hpp"
#include "api/cli/usage.hpp"
#include "engine/ir/target/target.hpp"

namespace kiln::cli {

using protocol::Json;

namespace {

constexpr std::size_t sizes_max = 100;

std::vector<std::string> list_of(const std::string& text) {
  std::vector<std::string> items{""};
  for (const char c : text) {
    if (c == ',')
      items.emplace_back();
    else
      items.back() += c;
  }
  return items;
}

Result<Settings> settings_of(Context& context, const std::vector<std::string>& words, const std::string& flag) {
  Settings settings;
  KILN_TRY(const auto values, name_values(context, words, flag));
  for (const auto& word : words) {  // in the order given: a JSON object sorts them
    const auto name = word.substr(0, word.find('='));
    settings.emplace_back(name, values[name].get<std::string>());
  }
  return settings;
}

// `more` beside `common`: its own values win.
Settings joined(const Settings& common, const Settings& more) {
  Settings all;
  const auto named = [](const std::string& name) { return [&](const auto& entry) { return entry.first == name; }; };
  for (const auto& entry : common)
    if (std::none_of(more.begin(), more.end(), named(entry.first))) all.push_back(entry);
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

// The sizes of the words before `word`, each with each of its values.
Result<std::vector<Size>> with_over(Context& context, const std::vector<Size>& before, const std::string& word) {
  const auto equals = word.find('=');
  const auto mistake = [&](const std::string& expected) {
    return context.usage_error("--over " + word + ": expected " + expected);
  };
  if (equals == std::string::npos) return mistake("NAME=V1,V2,… or NAME,NAME=V1,V2,…");
  const auto names = list_of(word.substr(0, equals)), values = list_of(word.substr(equals + 1));
  const auto empty = [](const std::string& item) { return item.empty(); };
  if (std::any_of(names.begin(), names.end(), empty)) return mistake("names before the =, with commas between them");
  if (std::any_of(values.begin(), values.end(), empty)) return mistake("values behind the =, with commas between them");
  if (before.size() * values.size() > sizes_max) return mistake("at most 100 sizes in all");
  std::vector<Size> sizes;
  for (const auto& size : before) {
    for (const auto& value : values) {
      auto next = size;
      for (const auto& name : names) {
        for (const auto& [other, ignored] : next.over)
          if (other == name) return mistake("each name once, " + name + " is given twice");
        next.over.emplace_back(name, value);
        next.text += (next.text.empty() ? "" : " ") + name + "=" + value;
      }
      sizes.push_back(std::move(next));
    }
  }
  return sizes;
}

// --arg's words: those of both, and a side's own over them.
Result<std::vector<std::string>> arguments_of(Context& context, const std::vector<std::string>& common,
                                              const std::vector<std::string>& own, const std::string& flag) {
  KILN_TRY(const auto both, settings_of(context, common, "--arg"));
  KILN_TRY(const auto more, settings_of(context, own, flag));
  std::vector<std::string> words;
  for (const auto& [name, type] : joined(both, more)) words.push_back(name + "=" + type);
  return words;
}

std::string joined_text(const Settings& settings) {
  std::string text;
  for (const auto& [name, value] : settings) text += (text.empty() ? "" : " ") + name + "=" + value;
  return text;
}

Result<std::vector<std::string>> targets_of(Context& context, const std::vector<std::string>& words) {
  std::vector<std::string> targets;
  for (const auto& word : words) {
    for (auto target : list_of(word)) {
      if (target.starts_with("emu:")) target.erase(0, 4);
      const auto parsed = target::parse_target(target);
      if (!parsed || !target.starts_with("gfx"))
        return context.usage_error("--also " + word + ": \"" + target +
                                   "\" is no target of an emulated card; there are gfx90a, "
                                   "gfx942, gfx950, gfx1100");
      if (std::find(targets.begin(), targets.end(), target) == targets.end()) targets.push_back(target);
    }
  }
  return targets;
}

bool plain(const std::string& word) {
  constexpr const char* safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+:,./@%";
  return !word.empty() && word.find_first_not_of(safe) == std::string::npos;
}

}  // namespace

void CompareArguments::add_to(CLI::App& command) {
  command.add_option("a", a, "the baseline: a built-in, FILE.json, FILE.py:FUNCTION, or REV:FILE… as git has it")
      ->required();
  command.add_option("b", b, "what it is compared with; the same program when it is left out");
  command.add_option("--set", set, "NAME=VALUE …: symbols, options, tunables and Python settings of both")
      ->expected(1, 1000);
  command.add_option("--set-a", set_a, "NAME=VALUE …: of A alone")->expected(1, 1000);
  command.add_option("--set-b", set_b, "NAME=VALUE …: of B alone")->expected(1, 1000);
  command
      .add_option("--layout", layouts,
                  "TILE=LAYOUT …: of both (auto, row_major, pad:BYTES, swizzle:CHUNK,DIVISOR,ROWS)")
      ->expected(1, 100);
  command.add_option("--layout-a", layouts_a, "TILE=LAYOUT …: of A alone")->expected(1, 100);
  command.add_option("--layout-b", layouts_b, "TILE=LAYOUT …: of B alone")->expected(1, 100);
  command.add_option("--over", over, "NAME[,NAME…]=V1,V2,…: at each of these values; seq: a sequence's length")
      ->allow_extra_args(false);
  command
      .add_option("--arg", arguments,
                  "NAME=DTYPE[EXTENTS] …: what Python functions are called with, both: Q=f16[8, seq, 64]")
      ->expected(1, 100);
  command.add_option("--arg-a", arguments_a, "NAME=DTYPE[EXTENTS] …: of A alone")->expected(1, 100);
  command.add_option("--arg-b", arguments_b, "NAME=DTYPE[EXTENTS] …: of B alone")->expected(1, 100);
  command
      .add_option("--rename", renamed, "NAME_OF_B=NAME_OF_A …: parameters that the two sides name differently")
      ->expected(1, 100);
  command.add_option("--grid", grid, grid_help);
  command.add_option("--scalar", scalars, "NAME=NUMBER …: scalar arguments of the kernels")->expected(1, 100);
  command.add_option("--device", device, "host, hip:N: timed; emu:TARGET: counted")->capture_default_str();
  command.add_option("--also", also, "TARGET[,TARGET…]: counted on emulated cards too")->allow_extra_args(false);
  command.add_option("--rounds", rounds, "of a timed comparison, A and B in turn")
      ->check(CLI::Range(7, 1000))
      ->capture_default_str();
  command.add_option("--seed", seed, "of the inputs, the same for A and B")
      ->check(whole_number())
      ->capture_default_str();
  command
      .add_option("--seconds", seconds,
                  "that running the definition, or counting on one more target, may be estimated to take")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  command.add_option("--launch-seconds", launch_seconds, "that one launch may take")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command.add_flag("--no-check", no_check, "do not check the results");
}

Result<ComparePlan> read_plan(Context& context, const CompareArguments& words) {
  ComparePlan plan;
  plan.words = words;
  KILN_TRY(plan.a, parse_program_spec(context, words.a));
  KILN_TRY(plan.b, parse_program_spec(context, words.b.empty() ? words.a : words.b));
  KILN_TRY(plan.set, settings_of(context, words.set, "--set"));
  KILN_TRY(plan.set_a, settings_of(context, words.set_a, "--set-a"));
  KILN_TRY(plan.set_b, settings_of(context, words.set_b, "--set-b"));
  KILN_TRY(const auto layouts, settings_of(context, words.layouts, "--layout"));
  KILN_TRY(const auto layouts_a, settings_of(context, words.layouts_a, "--layout-a"));
  KILN_TRY(const auto layouts_b, settings_of(context, words.layouts_b, "--layout-b"));
  plan.layouts_a = joined(layouts, layouts_a);
  plan.layouts_b = joined(layouts, layouts_b);
  KILN_TRY(plan.scalars, scalar_values(context, words.scalars));
  KILN_TRY(plan.renamed, name_values(context, words.renamed, "--rename"));
  KILN_TRY(plan.arguments_a, arguments_of(context, words.arguments, words.arguments_a, "--arg-a"));
  KILN_TRY(plan.arguments_b, arguments_of(context, words.arguments, words.arguments_b, "--arg-b"));
  plan.sizes = {Size{}};
  for (const auto& word : words.over) { KILN_TRY(plan.sizes, with_over(context, plan.sizes, word)); }
  if (words.over.empty()) plan.sizes.front().text = joined_text(plan.set);
  KILN_TRY(plan.also, targets_of(context, words.also));
  if (words.b.empty() && words.set_a.empty() && words.set_b.empty() && words.layouts_a.empty() &&
      words.layouts_b.empty())
    return context.usage_error("compare takes two programs, or one with --set-a, --set-b, --layout-a or --layout-b");
  if (plan.a.file == "-" && plan.b.file == "-")
    return context.usage_error("standard input is one program: name the other");
  return plan;
}

std::string shell_quoted(const std::string& word) {
  if (plain(word)) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string command_text(const std::string& command, const CompareArguments& w) {
  std::string text = command + " " + shell_quoted(w.a) + (w.b.empty() ? "" : " " + shell_quoted(w.b));
  const auto list = [&](const std::string& flag, const std::vector<std::string>& words) {
    for (std::size_t i = 0; i < words.size(); ++i) text += (i == 0 ? " " + flag : "") + " " + shell_quoted(words[i]);
  };
  const auto each = [&](const std::string& flag, const std::vector<std::string>& words) {
    for (const auto& word : words) text += " " + flag + " " + shell_quoted(word);
  };
  list("--set", w.set);
  list("--set-a", w.set_a);
  list("--set-b", w.set_b);
  list("--layout", w.layouts);
  list("--layout-a", w.layouts_a);
  list("--layout-b", w.layouts_b);
  each("--over", w.over);
  list("--arg", w.arguments);
  list("--arg-a", w.arguments_a);
  list("--arg-b", w.arguments_b);
  list("--rename", w.renamed);
  if (!w.grid.empty()) each("--grid", {w.grid});
  list("--scalar", w.scalars);
  text += " --device " + shell_quoted(w.device);
  each("--also", w.also);
  const CompareArguments usual;
  if (w.rounds != usual.rounds) text += " --rounds " + std::to_string(w.rounds);
  if (w.seed != usual.seed) text += " --seed " + std::to_string(w.seed);
  if (w.seconds != usual.seconds) text += " --seconds " + std::to_string(w.seconds);
  if (w.launch_seconds != usual.launch_seconds) text += " --launch-seconds " + std::to_string(w.launch_seconds);
  return text + (w.no_check ? " --no-check" : "");
}

}  // namespace kiln::cli
