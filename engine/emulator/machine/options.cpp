#include "engine/emulator/machine/options.hpp"

#include <charconv>

namespace kiln::emulator {
namespace {

constexpr int threads_max = 1024;
constexpr const char* names[] = {"threads", "budget",      "seed",   "order",       "check",     "profile",
                                 "core",    "core_folder", "memory", "print_bytes", "print_file"};

Error wrong(std::string_view name, std::string_view value, const std::string& expected) {
  return Error(ErrorCode::invalid_argument, "emulator option " + std::string(name.substr(0, 40)) + " takes " +
                                                expected + ", not '" + std::string(value.substr(0, 80)) + "'");
}

Result<std::uint64_t> number(std::string_view name, std::string_view value, std::uint64_t least, std::uint64_t most) {
  std::uint64_t parsed = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), parsed);
  if (error != std::errc() || end != value.data() + value.size() || parsed < least || parsed > most)
    return wrong(name, value, "a number of " + std::to_string(least) + " to " + std::to_string(most));
  return parsed;
}

struct Check {
  std::string_view name;
  void (*set)(Options& options);
};
constexpr Check checks[] = {
    {"races", [](Options& o) { o.check_races = o.check_global_races = true; }},
    {"shared", [](Options& o) { o.check_races = true; }},
    {"global", [](Options& o) { o.check_global_races = true; }},
    {"uninitialised", [](Options& o) { o.check_uninitialised_lds = o.check_uninitialised_registers = true; }},
    {"lds", [](Options& o) { o.check_uninitialised_lds = true; }},
    {"registers", [](Options& o) { o.check_uninitialised_registers = true; }},
    {"barriers", [](Options& o) { o.check_barriers = true; }},
    {"bounds", [](Options& o) { o.check_bounds = true; }},
};

Status set_checks(Options& options, std::string_view value) {
  Options set = options;
  set.check_races = set.check_global_races = set.check_uninitialised_lds = set.check_uninitialised_registers =
      set.check_barriers = set.check_bounds = false;
  for (std::string_view rest = value; !rest.empty();) {
    const auto comma = rest.find(',');
    const auto word = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    bool known = word == "all" || word == "none";
    std::string names;
    for (const Check& check : checks) {
      if (word == "all" || word == check.name) check.set(set);
      known = known || word == check.name;
      names += std::string(check.name) + ", ";
    }
    if (!known) return wrong("check", word, "a list of " + names + "all, none");
  }
  options = set;
  return ok();
}

}  // namespace

Status set_option(Options& options, std::string_view name, std::string_view value) {
  if (name == "threads") {
    KILN_TRY(const auto threads, number(name, value, 0, threads_max));
    options.threads = static_cast<int>(threads);
  } else if (name == "budget") {
    KILN_TRY(options.budget, number(name, value, 1, ~std::uint64_t(0)));
  } else if (name == "seed") {
    KILN_TRY(options.seed, number(name, value, 0, ~std::uint64_t(0)));
  } else if (name == "memory") {
    KILN_TRY(options.memory_bytes, number(name, value, 0, std::uint64_t(1) << 46));
  } else if (name == "print_bytes") {
    KILN_TRY(options.print_bytes, number(name, value, 0, std::uint64_t(1) << 40));
  } else if (name == "print_file") {
    options.print_file = value;
  } else if (name == "order") {
    if (value == "auto") options.order = Options::Order::automatic;
    else if (value == "serial") options.order = Options::Order::serial;
    else if (value == "parallel") options.order = Options::Order::parallel;
    else return wrong(name, value, "auto, serial or parallel");
  } else if (name == "check") {
    return set_checks(options, value);
  } else if (name == "profile") {
    if (value != "0" && value != "1") return wrong(name, value, "0 or 1");
    options.profile = value == "1";
  } else if (name == "core") {
    if (value != "" && value != "v3" && value != "v4") return wrong(name, value, "v3 or v4");
    options.core = value;
  } else if (name == "core_folder") {
    options.core_folder = value;
  } else {
    std::string known;
    for (const char* one : names) known += (known.empty() ? "" : ", ") + std::string(one);
    return Error(ErrorCode::invalid_argument,
                 "no emulator option '" + std::string(name.substr(0, 40)) + "'; known: " + known);
  }
  return ok();
}

Result<Options> read_options(const std::function<const char*(const char*)>& getter) {
  Options options;
  for (const char* name : names) {
    std::string variable = "KILN_EMULATOR_";
    for (const char* c = name; *c != '\0'; ++c)
      variable += static_cast<char>(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
    const char* value = getter(variable.c_str());
    if (value == nullptr) continue;
    if (auto status = set_option(options, name, value); !status)
      return std::move(status).error().with("from the environment variable " + variable);
  }
  return options;
}

}  // namespace kiln::emulator
