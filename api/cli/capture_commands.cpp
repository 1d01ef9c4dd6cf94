// capture: a program, with its launches written as files for `kiln replay`.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>

#include "api/cli/context.hpp"
#include "api/client/capture_files.hpp"
#include "engine/base/memory_left.hpp"
#include "engine/capture/capture.hpp"

namespace kiln::cli {

using protocol::Json;

namespace {

struct CaptureFlags {
  std::string out, on = "fault";
  std::vector<std::string> words;
};

// The command on this terminal, with `environment` added, its output to standard error where ours is JSON; its wait status.
Result<int> run_words(std::vector<std::string> words, bool json, const std::vector<std::pair<std::string, std::string>>& environment) {
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  struct sigaction ignore{}, old{};
  ignore.sa_handler = SIG_IGN;
  std::cout.flush();
  const pid_t child = ::fork();
  if (child < 0) return errno_error(errno, "start " + words.front());
  if (child == 0) {
    if (json) ::dup2(STDERR_FILENO, STDOUT_FILENO);
    for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
    ::execvp(argv[0], argv.data());
    const auto text = "kiln: " + words.front() + ": " + std::strerror(errno) + "\n";
    (void)!::write(STDERR_FILENO, text.data(), text.size());
    ::_exit(127);
  }
  ::sigaction(SIGINT, &ignore, &old);   // the terminal sends it to the command too, which decides
  int state = 0;
  while (::waitpid(child, &state, 0) < 0 && errno == EINTR) {}
  ::sigaction(SIGINT, &old, nullptr);
  return state;
}

Json summary(const capture::Capture& c, const std::string& path, std::uint64_t bytes) {
  Json value{{"file", path}, {"bytes", bytes}, {"program", c.metadata.program}, {"target", c.metadata.target}, {"device", c.device}, {"set", c.set},
             {"key", c.key}, {"purpose", c.purpose}, {"whole_program", !c.program.empty()}, {"compiler", c.origin.compiler},
             {"outcome", c.outcome.kind == capture::Outcome::Kind::failed ? "failed" : c.outcome.kind == capture::Outcome::Kind::wrong ? "wrong" : "done"}};
  Json switches = Json::object();
  for (const auto& [name, text] : c.switches) switches[name] = text;
  value["switches"] = std::move(switches);
  if (c.outcome.kind == capture::Outcome::Kind::failed) value["error"] = protocol::error_json(c.outcome.error);
  Json tensors = Json::array();
  for (std::size_t i = 0; i < c.arguments.size(); ++i) {
    const auto& info = c.metadata.tensors[i];
    if (info.scalar) continue;
    const bool seeded = c.arguments[i].before.kind == capture::Contents::Kind::seed;
    tensors.push_back({{"name", info.name}, {"shape", bound::values(info.shape)},
                       {"dtype", dtype_name(info.dtype)}, {"bytes", info.bytes.value()},
                       {"held", seeded ? "seed" : "bytes"}, {"sha256", to_hex(c.arguments[i].before.sha256)}});
  }
  value["tensors"] = std::move(tensors);
  return value;
}

void print_summary(const Json& value) {
  std::string set;
  for (const auto& [name, text] : value["set"].items()) set += " " + name + "=" + text.get<std::string>();
  std::cout << "captured " << value["file"].get<std::string>() << " (" << bytes_text(value["bytes"].get<double>()) << "): " << value["program"].get<std::string>() << set
            << " for " << value["target"].get<std::string>() << " on " << value["device"].get<std::string>() << ", " << value["outcome"].get<std::string>() << "\n";
  for (const auto& t : value["tensors"])
    std::cout << "  " << t["name"].get<std::string>() << " " << protocol::dump(t["shape"]) << " " << t["dtype"].get<std::string>() << ", "
              << (t["held"] == "seed" ? "by its seed" : "whole") << "\n";
  if (value.contains("error")) {
    std::cout << "  " << value["error"]["message"].get<std::string>() << "\n";
    for (const auto& line : value["error"]["data"]["context"]) std::cout << "    " << line.get<std::string>() << "\n";
  }
}

int capture_command(Context& context, const CaptureFlags& flags) {
  if (auto status = context.configure(); !status) return report(context, status.error());
  if (auto checked = client::CaptureFiles::create(flags.out, flags.on); !checked) return report(context, context.usage_error("--on: " + checked.error().message));
  const auto path = flags.out.front() == '/' ? flags.out : context.environment.folder + "/" + flags.out;
  if (auto status = client::make_room(path); !status) return report(context, status.error());
  const auto state = run_words(flags.words, context.json, {{"KILN_CAPTURE", path}, {"KILN_CAPTURE_ON", flags.on}});
  if (!state) return report(context, state.error());
  const std::string ended = WIFEXITED(*state) ? "status " + std::to_string(WEXITSTATUS(*state)) : "signal " + std::to_string(WTERMSIG(*state));
  struct stat file{};
  if (::stat(path.c_str(), &file) != 0)
    return report(context, Error(ErrorCode::not_found, "nothing was captured: " + std::string(flags.on == "fault" ? "no launch failed" : "there was no such launch") +
                                 "; the command ended with " + ended));
  const auto read = capture::CaptureFile::open_path(path);
  if (!read) return report(context, read.error());
  auto value = summary(read->capture(), flags.out, std::uint64_t(file.st_size));
  value["command_ended"] = ended;
  if (context.json) print_json(value);
  else print_summary(value);
  return exit_ok;
}

}  // namespace

void add_capture_commands(CLI::App& app, Context& context, int& status) {
  auto* command = app.add_subcommand("capture", "run a command and write its launch that fails as a file for `kiln replay`");
  auto flags = std::make_shared<CaptureFlags>();
  command->add_option("--out", flags->out, "the file")->required()->check([](const std::string& word) { return word.empty() ? std::string("expected a file") : std::string(); });
  command->add_option("--on", flags->on, "fault: the first launch that fails; always: the last launch; N: the N-th launch of the process")->capture_default_str();
  command->add_option("command", flags->words, "the command, behind --")->required();
  command->callback([&context, &status, flags] { status = capture_command(context, *flags); });
}

}  // namespace kiln::cli
