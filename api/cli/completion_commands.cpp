// completion: scripts for shells, made from the commands as they are, so that nothing is written twice.
#include <iostream>

#include "api/cli/context.hpp"
#include "engine/ir/target/target.hpp"
#include "engine/ir/tile/builtins.hpp"

namespace kiln::cli {
namespace {

// A command by the words that lead to it ("", "cache", "cache evict"), and what may follow.
struct Node {
  std::string path;
  std::vector<std::string> commands, options;
  bool program = false;             // its words may be a program's name
  std::vector<std::string> about;   // of the commands
};

void collect(const CLI::App& app, const std::string& path, std::vector<Node>& nodes) {
  Node node;
  node.path = path;
  for (const auto* option : app.get_options())
    for (const auto& name : option->get_lnames()) node.options.push_back("--" + name);
  for (const auto* option : app.get_options())
    node.program = node.program || (option->get_positional() && option->get_description().find("built-in") != std::string::npos);
  const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
  for (const auto* command : commands) {
    node.commands.push_back(command->get_name());
    node.about.push_back(command->get_description());
  }
  nodes.push_back(std::move(node));
  for (const auto* command : commands)
    collect(*command, path.empty() ? command->get_name() : path + " " + command->get_name(), nodes);
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// What the words after an option, or the first word of a command, may be beside files.
struct Values {
  std::vector<std::string> programs, targets, devices;
  explicit Values(const Context& context) {
    if (context.configuration) programs = tile::builtin_names(context.configuration->programs_folder);
    devices.emplace_back("host");
    for (const auto& target : target::known_targets()) {
      targets.push_back(target);
      if (target.starts_with("gfx")) devices.push_back("emu:" + target);
    }
  }
};
std::vector<std::string> program_commands(const std::vector<Node>& nodes) {
  std::vector<std::string> paths;
  for (const auto& node : nodes)
    if (node.program) paths.push_back(node.path);
  return paths;
}

// Colons end words in bash: after "emu:" only what follows is the word.
std::string bash_script(const std::vector<Node>& nodes, const Values& values) {
  std::string paths, words;
  for (const auto& node : nodes) {
    if (!node.path.empty()) paths += (paths.empty() ? "" : "|") + ("\"" + node.path + "\"");
    words += "    \"" + node.path + "\") words=\"" + joined(node.commands) + "\" options=\"" + joined(node.options) + "\" ;;\n";
  }
  std::string programs;
  for (const auto& command : program_commands(nodes)) programs += (programs.empty() ? "" : "|") + command;
  return "# kiln completion bash\n_kiln() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} path= words= options= word\n"
         "  COMPREPLY=()\n"
         "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
         "    case \"${path:+$path }$word\" in " + paths + ") path=\"${path:+$path }$word\" ;; esac\n  done\n"
         "  if [ \"$current\" = : ]; then current=; before=:; fi\n"
         "  case \"$before\" in\n"
         "    --device) words=\"" + joined(values.devices) + "\" ;;\n"
         "    --target|--also|:) words=\"" + joined(values.targets) + "\" ;;\n"
         "    *) case \"$path\" in\n" + words + "    esac\n"
         "    case \"$path\" in " + programs + ") words=\"$words " + joined(values.programs) + "\" ;; esac\n"
         "    case \"$current\" in -*) words=$options ;; esac ;;\n"
         "  esac\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "}\n"
         "complete -o default -F _kiln kiln\n";
}

std::string zsh_script(const std::vector<Node>& nodes, const Values& values) {
  return "#compdef kiln\nautoload -U +X bashcompinit && bashcompinit\n" + bash_script(nodes, values);
}

std::string fish_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return quoted + "'";
}

std::string fish_script(const std::vector<Node>& nodes, const Values& values) {
  std::string text = "# kiln completion fish\n";
  for (const auto& node : nodes) {
    const std::string last = node.path.substr(node.path.rfind(' ') + 1);
    std::string condition = node.path.empty() ? "__fish_use_subcommand" : "__fish_seen_subcommand_from " + last;
    if (!node.path.empty() && !node.commands.empty()) condition += "; and not __fish_seen_subcommand_from " + joined(node.commands);
    for (std::size_t i = 0; i < node.commands.size(); ++i)
      text += "complete -c kiln -f -n " + fish_quoted(condition) + " -a " + node.commands[i] + " -d " + fish_quoted(node.about[i]) + "\n";
    for (const auto& option : node.options)
      text += "complete -c kiln -n " + fish_quoted(node.path.empty() ? "true" : "__fish_seen_subcommand_from " + last) + " -l " + option.substr(2) + "\n";
  }
  for (const auto& command : program_commands(nodes))
    text += "complete -c kiln -n " + fish_quoted("__fish_seen_subcommand_from " + command) + " -a " + fish_quoted(joined(values.programs)) + "\n";
  return text + "complete -c kiln -l device -x -a " + fish_quoted(joined(values.devices)) + "\ncomplete -c kiln -l target -x -a " +
         fish_quoted(joined(values.targets)) + "\ncomplete -c kiln -l also -x -a " + fish_quoted(joined(values.targets)) + "\n";
}

}  // namespace

void add_completion_commands(CLI::App& app, Context& context, int& status) {
  auto* command = app.add_subcommand("completion", "print a script that completes kiln's commands in a shell");
  auto shell = std::make_shared<std::string>();
  command->add_option("shell", *shell, "bash: source <(kiln completion bash); zsh; fish")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([&app, &context, &status, shell] {
    if (auto configured = context.configure(); !configured) {
      status = report(context, configured.error());
      return;
    }
    std::vector<Node> nodes;
    collect(app, "", nodes);
    const Values values(context);
    const auto script = *shell == "bash" ? bash_script(nodes, values) : *shell == "zsh" ? zsh_script(nodes, values) : fish_script(nodes, values);
    if (context.json) print_json({{"shell", *shell}, {"script", script}});
    else std::cout << script;
  });
}

}  // namespace kiln::cli
