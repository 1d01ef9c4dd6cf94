// replay: a captured launch again, here, without the daemon, the cache or the card that it came from.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "api/cli/context.hpp"
#include "api/cli/shrink.hpp"
#include "api/cli/usage.hpp"

namespace kiln::cli {

using protocol::Json;

namespace {

struct ReplayOptions {
  std::string file, device, check, out;
  std::string seed, budget;
  bool interpreter = false, shrink = false;
};

// An emulated card may run anything. The host and real cards run native code: the file must be as trustworthy as a program.
Status check_trust(const std::string& path, const std::string& device) {
  if (device.rfind("emu:", 0) == 0) return ok();
  struct stat state{};
  if (::stat(path.c_str(), &state) != 0) return errno_error(errno, "look at " + path);
  const bool ours = state.st_uid == ::geteuid() || state.st_uid == 0;
  if (ours && (state.st_mode & (S_IWGRP | S_IWOTH)) == 0) return ok();
  return Error(ErrorCode::permission_denied, path + (ours ? " can be written by others" : " belongs to another user") +
               ": its code runs natively on " + device + "; replay it on an emulated card");
}

// What only an emulated card has is not passed over in silence elsewhere.
Status check_switches(Context& context, const ReplayOptions& options, const std::string& device) {
  if (device.starts_with("emu:")) return ok();
  const std::pair<const char*, const std::string*> flags[] = {
      {"--check", &options.check}, {"--seed", &options.seed}, {"--budget", &options.budget}};
  for (const auto& [flag, value] : flags)
    if (!value->empty())
      return context.usage_error(std::string(flag) + " is of an emulated card, and the replay runs on " + device);
  return ok();
}

std::vector<std::pair<std::string, std::string>> switches_of(const capture::Capture& c, const ReplayOptions& options, bool emulated) {
  auto switches = c.switches;
  const auto set = [&](const std::string& name, const std::string& value) {
    if (value.empty()) return;
    std::erase_if(switches, [&](const auto& s) { return s.first == name; });
    switches.emplace_back(name, value);
  };
  set("check", options.check);
  set("seed", options.seed);
  set("budget", options.budget);
  // A file from elsewhere may hold a kernel without an end.
  const bool bounded = std::any_of(switches.begin(), switches.end(), [](const auto& s) { return s.first == "budget"; });
  if (emulated && !bounded) switches.emplace_back("budget", "10000000000");
  return switches;
}

std::string same_text(const Json& part) { return part.value("same", false) ? "the same" : "DIFFERENT"; }

void print_fault(const Json& fault, const char* which) {
  const auto& side = fault[which];
  std::cout << "  " << which << ": ";
  if (side.is_null()) {
    std::cout << "none\n";
    return;
  }
  std::cout << side.value("message", "") << "\n";
  for (const auto& line : side["context"]) std::cout << "    " << line.get<std::string>() << "\n";
}

void print_comparison(const Json& value) {
  if (const auto& fault = value["fault"]; !fault.is_null()) {
    std::cout << "fault: " << same_text(fault);
    if (fault.contains("different") && !fault["different"].empty()) std::cout << " (" << protocol::dump(fault["different"]) << ")";
    std::cout << "\n";
    print_fault(fault, "captured");
    if (!fault.value("same", false)) print_fault(fault, "replayed");
  }
  if (const auto& result = value["result"]; !result.is_null()) {
    std::cout << "result: " << same_text(result) << "\n";
    for (const auto& t : result["tensors"])
      std::cout << "  " << t.value("name", "") << ": " << (t["different"].is_null() ? "unknown" : protocol::dump(t["different"])) << " of "
                << t["elements"] << " elements differ, sha256 " << t["sha256"]["replayed"].get<std::string>().substr(0, 16) << "…\n";
  }
  if (const auto& counters = value["counters"]; !counters.is_null()) {
    std::cout << "counters: " << same_text(counters) << " (" << counters["compared"] << " compared)\n";
    for (const auto& [name, c] : counters["different"].items())
      std::cout << "  " << name << ": captured " << c["captured"] << ", replayed " << c["replayed"] << "\n";
  }
  if (const auto& interpreter = value["interpreter"]; !interpreter.is_null()) {
    std::cout << "interpreter: " << (interpreter.value("passed", false) ? "equal within its tolerance" : "DIFFERENT") << "\n";
    for (const auto& t : interpreter["tensors"])
      std::cout << "  " << t.value("name", "") << ": " << t["wrong"] << " of " << t["elements"] << " wrong\n";
  }
}

// The smallest launch as a capture of its own.
Status write_shrunk(const std::string& path, const capture::Capture& from, const Shrunk& shrunk, const RunSettings& settings) {
  auto c = from;
  c.set = shrunk.set;
  c.metadata = shrunk.launch.metadata;
  c.object = shrunk.launch.object;
  c.device = settings.device;
  c.switches = settings.switches;
  c.outcome = shrunk.result.outcome;
  if (shrunk.result.differs_from_interpreter()) c.outcome.kind = capture::Outcome::Kind::wrong;
  c.note = "shrunk: " + shrunk.before + " to " + shrunk.after + (shrunk.note.empty() ? "" : "; " + shrunk.note);
  if (shrunk.recompiled) {
    c.origin.build = daemon::build_id();
    c.origin.compiler = shrunk.launch.metadata.compiler;
    c.key.clear();
  }
  std::vector<capture::Source> before;
  std::vector<std::optional<ByteView>> after;
  c.arguments.clear();
  for (std::size_t i = 0; i < shrunk.launch.arguments.size(); ++i) {
    const bool scalar = c.metadata.tensors[i].scalar;
    capture::Argument argument;
    if (scalar) argument.scalar = shrunk.launch.arguments[i];
    c.arguments.push_back(std::move(argument));
    before.push_back({scalar ? ByteView() : ByteView(shrunk.launch.arguments[i]), {}});
    after.emplace_back();
    if (shrunk.result.after[i]) after.back() = ByteView(*shrunk.result.after[i]);
  }
  KILN_TRY(const auto fd, capture::write_capture(c, before, after));
  KILN_TRY(const auto bytes, read_all(fd.get(), ~std::size_t(0) >> 1));
  return write_file(path, bytes);
}

Status shrink_capture(Context& context, jit::Session& session, const capture::CaptureFile& file, const ReplayOptions& options,
                      const RunResult& full, const RunSettings& settings, Json& value) {
  if (!full.failed() && !full.differs_from_interpreter()) {
    const std::string compared = settings.interpret ? "neither fails nor differs from the interpreter"
                                                    : "does not fail; --interpreter also compares";
    value["shrunk"] = {{"file", nullptr}, {"note", "nothing to shrink: the replay " + compared}};
    return ok();
  }
  const bool shows = !context.quiet && !context.json && ::isatty(STDERR_FILENO) != 0;
  KILN_TRY(const auto shrunk, shrink(session, file, full, settings, [&](const std::string& sizes) {
    if (shows) std::fprintf(stderr, "\r\033[Ktrying %s", sizes.c_str());
  }));
  if (shows) std::fprintf(stderr, "\r\033[K");
  const auto path = options.out.empty() ? options.file + ".small" : options.out;
  KILN_CHECK(write_shrunk(path, file.capture(), shrunk, settings));
  value["shrunk"] = {{"file", path}, {"before", shrunk.before}, {"after", shrunk.after}, {"tries", shrunk.tries},
                     {"recompiled", shrunk.recompiled}, {"note", shrunk.note}};
  Json grids = Json::array();
  for (const auto& launch : shrunk.launch.metadata.launches) grids.push_back(bound::values(launch.grid));
  value["shrunk"]["grids"] = std::move(grids);
  return ok();
}

Result<Json> replay(Context& context, const ReplayOptions& options) {
  KILN_CHECK(context.configure());
  KILN_TRY(const auto file, capture::CaptureFile::open_path(options.file));
  const auto& c = file.capture();
  RunSettings settings;
  settings.device = options.device.empty() ? c.device : options.device;
  KILN_CHECK(check_trust(options.file, settings.device));
  KILN_CHECK(check_switches(context, options, settings.device));
  settings.switches = switches_of(c, options, settings.device.rfind("emu:", 0) == 0);
  settings.count = c.outcome.counted;
  KILN_TRY(const auto session, daemon::open_session(*context.configuration, [](const std::string& line) {
    std::fprintf(stderr, "warning: %s\n", line.c_str());
  }, "/dev/null"));  // each fault is told here, not by the emulated card once more
  std::optional<bound::Program> program;
  const bool known_wrong = c.outcome.kind == capture::Outcome::Kind::wrong;
  if (options.interpreter || known_wrong) {
    KILN_TRY(const auto captured, captured_program(c));
    KILN_TRY(program, bind_captured(captured, c.metadata.target));
    settings.interpret = &*program;
  }
  KILN_TRY(const auto launch, launchable(file));
  KILN_TRY(const auto result, run_launch(*session, launch, settings));
  KILN_TRY(auto value, compare_runs(file, result));
  value["file"] = options.file;
  value["program"] = c.metadata.program;
  value["target"] = c.metadata.target;
  value["set"] = c.set;
  value["device"] = settings.device;
  value["captured_on"] = {{"device", c.device}, {"build", c.origin.build}, {"compiler", c.origin.compiler}, {"system", c.origin.system},
                          {"processor", c.origin.processor}, {"description", c.origin.device}};
  if (!c.note.empty()) value["note"] = c.note;
  if (options.shrink) KILN_CHECK(shrink_capture(context, *session, file, options, result, settings, value));
  return value;
}

int replay_command(Context& context, const ReplayOptions& options) {
  const auto value = replay(context, options);
  if (!value) return report(context, value.error());
  const bool same = (*value)["same"].get<bool>();
  if (context.json) {
    print_json(*value);
    return same ? exit_ok : exit_wrong_result;
  }
  std::cout << (*value)["program"].get<std::string>() << " for " << (*value)["target"].get<std::string>() << " on " << (*value)["device"].get<std::string>()
            << ", captured on " << (*value)["captured_on"]["device"].get<std::string>() << "\n";
  if (value->contains("note")) std::cout << "note: " << (*value)["note"].get<std::string>() << "\n";
  print_comparison(*value);
  if (value->contains("shrunk") && (*value)["shrunk"]["file"].is_null()) {
    std::cout << (*value)["shrunk"]["note"].get<std::string>() << "\n";
  } else if (value->contains("shrunk")) {
    const auto& s = (*value)["shrunk"];
    std::cout << "shrunk: " << s["before"].get<std::string>() << " to " << s["after"].get<std::string>() << " in " << s["tries"] << " tries, written to "
              << s["file"].get<std::string>() << "\n";
    if (!s["note"].get_ref<const std::string&>().empty()) std::cout << "  " << s["note"].get<std::string>() << "\n";
  }
  std::cout << (same ? "the same as captured\n" : "DIFFERENT from what was captured\n");
  return same ? exit_ok : exit_wrong_result;
}

}  // namespace

void add_replay_commands(CLI::App& app, Context& context, int& status) {
  auto* command = app.add_subcommand("replay", "run a captured launch again and say whether it does the same (status 5 when not)");
  auto options = std::make_shared<ReplayOptions>();
  command->add_option("file", options->file, "a capture")->required();
  command->add_option("--device", options->device, "where to run, default: as captured");
  command->add_option("--check", options->check, "of an emulated card: races, uninitialised, barriers, bounds, all …; default: as captured");
  command->add_option("--seed", options->seed, "of the emulated card's order; default: as captured")->check(whole_number());
  command->add_option("--budget", options->budget, "of an emulated card: wave instructions at most; default: as captured, else 10^10")
      ->check(whole_number());
  command->add_flag("--interpreter", options->interpreter, "also compare with the interpreter");
  command->add_flag("--shrink", options->shrink, "look for the smallest sizes that show the fault, or the difference from the interpreter");
  command->add_option("--out", options->out, "where the shrunk capture goes, default: FILE.small");
  command->callback([&context, &status, options] { status = replay_command(context, *options); });
}

}  // namespace kiln::cli
