// toolchain, doctor.
#include <cstdio>
#include <iostream>

#include "api/cli/context.hpp"
#include "engine/base/process.hpp"
#include "engine/compile/toolchain.hpp"

namespace kiln::cli {

using protocol::Json;

namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string line;
  for (const auto& word : words) line += (line.empty() ? "" : " ") + word;
  return line;
}

Json toolchain_json(const compile::Toolchain& t) {
  Json packages = Json::object();
  for (const auto& p : t.packages) packages[p.name] = p.version;
  return {{"name", t.name}, {"path", t.path}, {"origin", t.origin}, {"targets", t.targets}, {"packages", std::move(packages)}};
}

// One trial compile by the worker itself: its one line of output, and whether it could.
struct Trial { bool good = false; std::string text; };
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

int list_toolchains(Context& context) {
  if (auto configured = context.configure(); !configured) return report(context, configured.error());
  const auto& c = *context.configuration;
  const auto installed = compile::list_toolchains(c.toolchains.path);
  const auto trial = trial_compile(c.worker_hip, c.include_folder, "gfx942");
  if (context.json) {
    Json list = Json::array();
    for (const auto& t : installed) list.push_back(toolchain_json(t));
    print_json({{"folder", c.toolchains.path}, {"toolchains", std::move(list)}, {"worker", c.worker_hip}, {"usable", trial.good}, {"check", trial.text}});
    return exit_ok;
  }
  std::vector<std::vector<std::string>> rows{{"toolchain", "targets", "from"}};
  for (const auto& t : installed) rows.push_back({t.name, joined(t.targets), t.origin});
  if (installed.empty()) std::cout << "no private toolchain in " << c.toolchains.path << "\n";
  else print_table(rows);
  std::cout << "hip worker: " << (c.worker_hip.empty() ? c.no_hip : joined(c.worker_hip)) << "\n"
            << (trial.good ? "compiles gfx942: " : "does not compile gfx942: ") << trial.text << "\n";
  return exit_ok;
}

struct InstallFlags { std::string mirror, keyring; std::vector<std::string> suites; };

int install_toolchain(Context& context, const InstallFlags& flags) {
  if (auto configured = context.configure(); !configured) return report(context, configured.error());
  const auto& c = *context.configuration;
  compile::ToolchainOptions options;
  options.folder = c.toolchains.path;
  options.worker = executable_folder() + "/kiln-compile-hip";
  options.include_folder = c.include_folder;
  options.mirror = flags.mirror;
  options.keyring = flags.keyring;
  if (!flags.suites.empty()) options.suites = flags.suites;
  options.environment = context.environment.all;
  options.cancel = interrupt_token();
  std::string last;
  auto made = compile::install_toolchain(options, [&](const std::string& what, double) {
    if (context.quiet || context.json || what == last) return;
    last = what;
    std::cerr << what << "\n";
  });
  if (!made) return report(context, made.error());
  if (context.json) print_json(toolchain_json(*made));
  else std::cout << made->name << " in " << made->path << ", compiles " << joined(made->targets) << "\n";
  return exit_ok;
}

// A verdict a line; status 1 when something that should work does not.
int doctor(Context& context) {
  struct Verdict { std::string what; bool good; std::string text; bool needed; };
  std::vector<Verdict> verdicts;
  auto configured = context.configure();
  verdicts.push_back({"configuration", bool(configured), configured ? context.configuration->config.path : configured.error().message, true});
  if (configured) {
    const auto& c = *context.configuration;
    for (const auto& target : {"gfx90a", "gfx942", "gfx950", "gfx1100"}) {
      const auto trial = trial_compile(c.worker_hip, c.include_folder, target);
      verdicts.push_back({std::string("compile for ") + target, trial.good, trial.text, false});
    }
    const auto host = trial_compile(c.worker_host, c.include_folder, "host");
    verdicts.push_back({"compile for host", host.good, host.good || !c.worker_host.empty() ? host.text : "kiln-compile-host is not installed", true});
    auto devices = context.ask("device.list", Json::object());
    verdicts.push_back({"daemon", bool(devices), devices ? c.socket.path : devices.error().message, true});
    if (devices)
      for (const auto& d : (*devices)["devices"])
        verdicts.push_back({"device " + d.value("name", ""), d.value("state", "") == "ready", d.contains("error") ? d["error"].value("message", "") : d.value("description", ""), true});
    auto cache = context.ask("cache.stats", Json::object());
    if (cache) verdicts.push_back({"cache", cache->value("writable", false), cache->value("path", "") + (cache->contains("why_not_writable") ? ": " + cache->value("why_not_writable", "") : ""), true});
  }
  bool good = true;
  Json list = Json::array();
  for (const auto& v : verdicts) {
    good = good && (v.good || !v.needed);
    if (context.json) list.push_back({{"what", v.what}, {"good", v.good}, {"text", v.text}});
    else std::cout << (v.good ? "ok    " : v.needed ? "FAIL  " : "none  ") << v.what << ": " << v.text << "\n";
  }
  if (context.json) print_json({{"good", good}, {"verdicts", std::move(list)}});
  else if (!good || std::any_of(verdicts.begin(), verdicts.end(), [](const Verdict& v) { return !v.good && v.what.rfind("compile for gfx", 0) == 0; }))
    std::cout << "`kiln toolchain install` makes a private hipRTC for the gfx targets\n";
  return good ? exit_ok : exit_failed;
}

}  // namespace

void add_toolchain_commands(CLI::App& app, Context& context, int& status) {
  auto* toolchain = app.add_subcommand("toolchain", "hipRTC for AMD targets");
  toolchain->require_subcommand(1);
  toolchain->add_subcommand("list", "what is installed, and whether it compiles")->callback([&] { status = list_toolchains(context); });
  auto* install = toolchain->add_subcommand("install", "make a private hipRTC from Debian's packages, without root");
  auto flags = std::make_shared<InstallFlags>();
  install->add_option("--mirror", flags->mirror, "package mirror instead of the machine's own");
  install->add_option("--keyring", flags->keyring, "keyring that its signatures are checked with");
  install->add_option("--suite", flags->suites, "suites to try, in order (default: testing unstable)");
  install->callback([&context, &status, flags] { status = install_toolchain(context, *flags); });
  app.add_subcommand("doctor", "what works on this machine, a verdict a line")->callback([&] { status = doctor(context); });
}

}  // namespace kiln::cli
