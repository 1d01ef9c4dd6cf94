// doctor: what works on this machine, and on a card.
#include <fcntl.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <iostream>

#include "api/cli/verdicts.hpp"
#include "engine/base/hash.hpp"

namespace kiln::cli {

using protocol::Json;

void Verdicts::add(Verdict verdict) {
  if (print_) std::cout << (verdict.good ? "ok    " : verdict.needed ? "FAIL  " : "none  ") << verdict.what << ": " << verdict.text << std::endl;
  all_.push_back(std::move(verdict));
}

bool Verdicts::good() const {
  return std::all_of(all_.begin(), all_.end(), [](const Verdict& v) { return v.good || !v.needed; });
}

bool Verdicts::any_bad(const std::string& prefix) const {
  return std::any_of(all_.begin(), all_.end(), [&](const Verdict& v) { return !v.good && v.what.rfind(prefix, 0) == 0; });
}

Json Verdicts::json() const {
  Json list = Json::array();
  for (const auto& v : all_) list.push_back({{"what", v.what}, {"good", v.good}, {"needed", v.needed}, {"text", v.text}});
  return list;
}

Trial trial_compile(const std::vector<std::string>& worker, const std::string& include_folder, const std::string& target) {
  Trial trial;
  if (worker.empty()) return {false, "no worker"};
  std::string command;
  for (auto word : worker) {
    std::string quoted = "'";
    for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    command += quoted + "' ";
  }
  command += "--include '" + include_folder + "' --check '" + target + "' 2>&1";
  FILE* pipe = ::popen(command.c_str(), "r");
  if (!pipe) return {false, "could not be started"};
  char buffer[4096];
  while (std::fgets(buffer, sizeof buffer, pipe)) trial.text += buffer;
  trial.good = ::pclose(pipe) == 0;
  while (!trial.text.empty() && trial.text.back() == '\n') trial.text.pop_back();
  if (const auto line = trial.text.rfind('\n'); line != std::string::npos) trial.text.erase(0, line + 1);
  return trial;
}

namespace {

struct DoctorOptions {
  std::string device, report;
  bool card = false;
};

// The daemon reads settings when it starts: its worker for AMD targets may be another than a command's own.
void try_daemons_compiler(Context& context, Verdicts& verdicts) {
  const auto& own = context.configuration->worker_hip;
  const auto stats = context.ask("engine.stats", Json::object());
  if (!stats || !stats->contains("compilers") || own.empty()) return;
  const auto& hip = (*stats)["compilers"]["hip"];
  const auto command = hip.value("command", std::vector<std::string>());
  const bool same = command.size() >= own.size() && std::equal(own.begin(), own.end(), command.begin());
  verdicts.add({"daemon's compiler for gfx targets", same && !hip.contains("error"),
                same ? hip.value("description", hip.value("error", "not asked yet"))
                     : "started by other settings than this command's: `kiln daemon restart`", false});
}

void try_machine(Context& context, Verdicts& verdicts) {
  const auto& c = *context.configuration;
  for (const auto& target : {"gfx90a", "gfx942", "gfx950", "gfx1100"}) {
    const auto trial = trial_compile(c.worker_hip, c.include_folder, target);
    verdicts.add({std::string("compile for ") + target, trial.good, trial.text, false});
  }
  const auto host = trial_compile(c.worker_host, c.include_folder, "host");
  verdicts.add({"compile for host", host.good, host.good || !c.worker_host.empty() ? host.text : "kiln-compile-host is not installed", true});
  auto devices = context.ask("device.list", Json::object());
  verdicts.add({"daemon", bool(devices), devices ? c.socket.path : devices.error().message, true});
  if (devices)
    for (const auto& d : (*devices)["devices"])
      verdicts.add({"device " + d.value("name", ""), d.value("state", "") == "ready",
                    d.contains("error") ? d["error"].value("message", "") : d.value("description", ""),
                    d.value("state", "") != "absent"});   // no AMD card is no fault
  try_daemons_compiler(context, verdicts);
  auto cache = context.ask("cache.stats", Json::object());
  if (cache)
    verdicts.add({"cache", cache->value("writable", false),
                  cache->value("path", "") + (cache->contains("why_not_writable") ? ": " + cache->value("why_not_writable", "") : ""), true});
  if (cache && cache->contains("layers"))
    for (const auto& layer : (*cache)["layers"])
      verdicts.add({"layer", !layer.contains("problem"), layer.value("problem", layer.value("path", "")), true});
}

// A code object for the device, in a file of ours, for the trial of modules.
struct Object {
  std::string path, symbol;
  ~Object() {
    std::error_code ignored;
    if (!path.empty()) std::filesystem::remove(path, ignored);
  }
};

Status make_object(Context& context, const std::string& device, Object& object) {
  KILN_TRY(const auto entry, card_entry(context, device));
  auto answer = context.ask_with_fds("kernel.compile", {{"program", "softmax"}, {"set", {{"M", 4}, {"N", 64}}}, {"want", "fd"},
                                                         {"target", entry["target"]}});
  KILN_CHECK(answer ? ok() : Status(answer.error()));
  if (answer->fds.empty() || answer->result["launches"].empty()) return Error(ErrorCode::internal, "no code object");
  KILN_TRY(const auto bytes, read_all(answer->fds[0].get(), std::size_t(64) << 20));
  std::string path = context.configuration->temporary_folder + "/kiln-object-XXXXXX";
  const UniqueFd file(::mkostemp(path.data(), O_CLOEXEC));
  if (!file) return errno_error(errno, "make a file in " + context.configuration->temporary_folder);
  object.path = path;
  object.symbol = answer->result["launches"][0].value("symbol", "");
  return write_all(file.get(), bytes);
}

std::string first_line(const std::string& path) {
  const auto bytes = read_file(path, 4096);
  if (!bytes) return "";
  const auto all = make_valid_utf8(text(*bytes));
  return all.substr(0, all.find('\n'));
}

// What decides how the card behaves, as far as files and variables tell.
Json environment_json(const Context& context) {
  utsname name{};
  ::uname(&name);
  Json variables = Json::object();
  for (const auto& entry : context.environment.all)
    for (const char* prefix : {"HIP_", "HSA_", "ROCR_", "ROCM_", "AMD_", "GPU_", "KILN_"})
      if (entry.rfind(prefix, 0) == 0) variables[entry.substr(0, entry.find('='))] = make_valid_utf8(entry.substr(std::min(entry.size(), entry.find('=') + 1)));
  return {{"system", std::string(name.sysname) + " " + name.release + " " + name.machine}, {"distribution", first_line("/etc/os-release")},
          {"amdgpu", first_line("/sys/module/amdgpu/version")}, {"rocm", first_line("/opt/rocm/.info/version")},
          {"variables", std::move(variables)}, {"toolchain", context.configuration->worker_hip}};
}

// One JSON object whose last member is the SHA-256 of the text before it: what follows is `,"sha256":"…"}`.
Status write_report(const std::string& path, const Json& report) {
  auto text = protocol::dump(report);
  text.pop_back();
  text += ",\"sha256\":\"" + to_hex(sha256(view(text))) + "\"}\n";
  return write_file(path, view(text));
}

int doctor(Context& context, const DoctorOptions& options) {
  Verdicts verdicts(!context.json);
  const auto configured = context.configure();
  verdicts.add({"configuration", bool(configured), configured ? context.configuration->config.path : configured.error().message, true});
  Json value{{"kiln_card_report", 1}, {"build", daemon::build_id()}, {"created_unix_s", std::int64_t(std::time(nullptr))}};
  if (configured) {
    try_machine(context, verdicts);
    const auto device = options.device.empty() && options.card ? std::string("hip:0") : options.device;
    Object object;
    if (!device.empty())
      if (auto status = make_object(context, device, object); !status) verdicts.add({"code object", false, to_text(status.error()), false});
    probe_hip(*context.configuration, device, object.path, object.symbol, verdicts);
    if (options.card) {
      auto tried = try_card(context, device, verdicts);
      if (!tried) verdicts.add({"card", false, to_text(tried.error()), true});
      else value.update(*tried);
    }
    value["environment"] = environment_json(context);
  }
  value["good"] = verdicts.good();
  value["verdicts"] = verdicts.json();
  const auto path = options.report.empty() && options.card ? std::string("kiln-card-report.json") : options.report;
  if (configured && !path.empty()) {
    if (auto status = write_report(path, value); !status) return report(context, status.error());
  }
  if (context.json) {
    print_json(options.card ? value : Json{{"good", value["good"]}, {"verdicts", value["verdicts"]}});
  } else {
    if (verdicts.any_bad("compile for gfx")) std::cout << "`kiln toolchain install` makes a private hipRTC for the gfx targets\n";
    if (!path.empty()) std::cout << "the report is in " << path << "\n";
  }
  return verdicts.good() ? exit_ok : exit_failed;
}

}  // namespace

void add_doctor_commands(CLI::App& app, Context& context, int& status) {
  auto* command = app.add_subcommand("doctor", "what works on this machine, a verdict a line");
  auto options = std::make_shared<DoctorOptions>();
  command->add_option("--device", options->device, "try HIP on this device alone: hip:0, emu:gfx942 (default: every card of the system's library)");
  command->add_flag("--card", options->card, "verify everything on a card (default hip:0): every built-in against the definition and the emulated card, "
                                             "counters, times; and write one report file");
  command->add_option("--report", options->report, "where (default with --card: kiln-card-report.json)");
  command->callback([&context, &status, options] { status = doctor(context, *options); });
}

}  // namespace kiln::cli
