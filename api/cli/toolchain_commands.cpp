// toolchain.
#include <iostream>

#include "api/cli/verdicts.hpp"
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
  return {{"name", t.name}, {"path", t.path}, {"origin", t.origin}, {"targets", t.targets}, {"headers", t.headers},
          {"packages", std::move(packages)}};
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
  if (context.json) {
    print_json(toolchain_json(*made));
    return exit_ok;
  }
  const bool is_set = c.own_worker_hip.empty() && c.sources.contains("worker_hip");
  std::cout << made->name << " in " << made->path << ", compiles " << joined(made->targets) << "\n"
            << (is_set ? "it is not used: worker_hip is set by " + c.sources.at("worker_hip")
                       : "a daemon that runs takes it for what it compiles from now on") << "\n";
  return exit_ok;
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
}

}  // namespace kiln::cli
