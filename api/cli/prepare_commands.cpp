// prepare: many kernels of a file, each mistake at its place in the file or in the Python function that it names.
#include <filesystem>
#include <iostream>

#include "api/cli/context.hpp"
#include "api/cli/python_source.hpp"
#include "api/cli/source_text.hpp"

namespace kiln::cli {

using protocol::Json;

namespace {

// One kernel of the file.
struct Wanted {
  std::string pointer;                  // in the file
  Json request;                         // parameters of kernel.compile; its program is read where it names a file
  std::string program, target, sizes;   // in words
  std::string file, text;               // what diagnostics of the program point into
  std::string program_pointer;          // where the program stands in `text`
  std::function<Error(Error)> located;  // of a Python function
  std::optional<Error> unread;          // why there is no request
};

struct PrepareFile {
  std::string name, text;
  std::vector<Wanted> kernels;
};

bool names_file(const std::string& program) {
  return names_python(program) || program.ends_with(".json") || program.find('/') != std::string::npos;
}

std::vector<std::string> words_of(const Json& object) {
  std::vector<std::string> words;
  if (object.is_object())
    for (const auto& [name, value] : object.items()) words.push_back(name + "=" + text_of(value));
  return words;
}

// The program that `kernel.request` names by a file; `arg` says what a Python function is called with.
Status read_named(Context& context, Wanted& kernel) {
  KernelArguments arguments;
  arguments.program = kernel.program;
  arguments.target = kernel.target.starts_with("emu:") ? kernel.target.substr(4) : kernel.target;
  if (arguments.target.starts_with("hip:")) arguments.target = "host";
  arguments.set = words_of(kernel.request.value("set", Json::object()));
  for (const auto& word : kernel.request.value("arg", Json::array())) arguments.types.push_back(text_of(word));
  kernel.request.erase("arg");
  context.located = nullptr;
  context.source_text.clear();
  KILN_TRY(auto params, arguments.params(context));
  kernel.request["program"] = std::move(params["program"]);
  kernel.request["set"] = std::move(params["set"]);
  kernel.located = std::exchange(context.located, nullptr);
  kernel.program_pointer.clear();
  kernel.file = context.source_text.empty() ? "" : kernel.program;
  kernel.text = std::exchange(context.source_text, {});
  return ok();
}

Wanted wanted_kernel(Context& context, const PrepareFile& file, std::string pointer, const Json& entry) {
  Wanted kernel;
  kernel.pointer = std::move(pointer);
  kernel.request = entry;
  kernel.file = file.name;
  kernel.text = file.text;
  kernel.program_pointer = kernel.pointer + "/program";
  if (!entry.is_object()) return kernel;
  const auto program = entry.value("program", Json());
  kernel.program = program.is_string()   ? program.get<std::string>()
                   : program.is_object() ? text_of(program.value("name", Json("a program")))
                                         : text_of(entry.value("digest", Json("no program")));
  kernel.target = text_of(entry.value("target", entry.value("device", Json("host"))));
  for (const auto& word : words_of(entry.value("set", Json::object())))
    kernel.sizes += (kernel.sizes.empty() ? "" : " ") + word;
  if (!program.is_string() || !names_file(kernel.program)) return kernel;
  if (auto status = read_named(context, kernel); !status) kernel.unread = std::move(status).error();
  return kernel;
}

Result<PrepareFile> read_kernels(Context& context, const std::string& name) {
  KILN_TRY(const auto whole, read_program_argument(context, name));
  PrepareFile file{context.source_file, context.source_text, {}};
  const bool inner = whole.is_object() && whole.contains("kernels");
  const auto& list = inner ? whole["kernels"] : whole;
  if (!list.is_array())
    return Error(ErrorCode::invalid_argument, name + ": expected an array of objects with program, set, target");
  context.source_text.clear();
  for (std::size_t i = 0; i < list.size(); ++i)
    file.kernels.push_back(wanted_kernel(context, file, (inner ? "/kernels/" : "/") + std::to_string(i), list[i]));
  return file;
}

// The diagnostic with its pointer into a file's text: of the program, or of what the kernel is compiled with.
struct Placed {
  Diagnostic diagnostic;
  const std::string &file, &text;
};
Placed placed(const PrepareFile& file, const Wanted& kernel, std::size_t sent, Diagnostic d) {
  const auto params = "/params/kernels/" + std::to_string(sent);
  const bool setting = d.pointer.starts_with("/bindings/");
  if (!setting && !d.pointer.starts_with(params)) {
    if (kernel.located) return {std::move(d), kernel.file, kernel.text};  // its pointer is a line already
    d.pointer = kernel.program_pointer + d.pointer;
    return {std::move(d), kernel.file, kernel.text};
  }
  if (setting && d.pointer.find('/', 10) != std::string::npos)  // /bindings/symbols/N: as `set` has it
    d.pointer = kernel.pointer + "/set" + d.pointer.substr(d.pointer.find('/', 10));
  else d.pointer = kernel.pointer + (setting ? "/set" : d.pointer.substr(params.size()));
  while (!locate(file.text, d.pointer) && d.pointer.size() > kernel.pointer.size()) {  // what is missing there
    d.pointer.erase(d.pointer.rfind('/'));
    d.offset.reset();
  }
  return {std::move(d), file.name, file.text};
}

std::string head_of(const PrepareFile& file, const Wanted& kernel, std::size_t index) {
  std::string head = file.name + ": kernel " + std::to_string(index);
  if (!kernel.program.empty()) head += ", " + kernel.program + " for " + kernel.target;
  return head + (kernel.sizes.empty() ? "" : ", " + kernel.sizes);
}

// An error that says no place itself stands at the kernel's entry, at what it is about.
std::string undiagnosed(const PrepareFile& file, const Wanted& kernel, const Error& error) {
  const std::string member = error.code == ErrorCode::unknown_target ? "/target"
                             : error.code == ErrorCode::not_found || kernel.unread ? "/program" : "";
  auto place = place_text(file.name, file.text, kernel.pointer + member);
  if (place.empty()) place = place_text(file.name, file.text, kernel.pointer);
  const auto sentence = error.message.starts_with("/params/") ? error.message.find(": ") + 2 : 0;
  return (place.empty() ? "" : place + ": ") + "error: " + error.message.substr(sentence) + "\n";
}

// What is wrong with one kernel, as text and as members of its entry in the answer.
void tell(const Context& context, const PrepareFile& file, std::size_t index, std::size_t sent, Json& entry) {
  const auto& kernel = file.kernels[index];
  auto error = protocol::error_from_json(entry["error"]);
  if (kernel.located) error = kernel.located(std::move(error));
  entry["program"] = kernel.program;
  entry["target"] = kernel.target;
  if (kernel.request.is_object()) entry["set"] = kernel.request.value("set", Json::object());
  std::string out = head_of(file, kernel, index) + "\n", rendered;
  Json places = Json::array();
  for (auto& diagnostic : error.diagnostics) {
    const auto at = placed(file, kernel, sent, std::move(diagnostic));
    const auto shown = render(at.diagnostic, at.file, at.text);
    places.push_back(shown.substr(0, shown.find('\n')));
    rendered += shown;
  }
  if (error.diagnostics.empty()) {
    rendered = undiagnosed(file, kernel, error);
    places.push_back(rendered.substr(0, rendered.find('\n')));
  }
  entry["mistakes"] = std::move(places);
  for (const auto& line : error.context) rendered += "  " + line + "\n";
  if (!context.json) std::cerr << out << rendered;
}

int prepare_command(Context& context, const std::string& name, bool must_hit) {
  auto file = read_kernels(context, name);
  if (!file) return report(context, file.error());
  Json kernels = Json::array();
  std::vector<std::optional<std::size_t>> sent;  // by kernel: its place in the request
  for (auto& kernel : file->kernels) {
    sent.emplace_back();
    if (kernel.unread) continue;
    if (must_hit && kernel.request.is_object()) kernel.request["must_hit"] = true;
    sent.back() = kernels.size();
    kernels.push_back(kernel.request);
  }
  auto answer = context.ask("kernel.prepare", Json{{"kernels", std::move(kernels)}});
  if (!answer) return report(context, answer.error());
  Json entries = Json::array();
  for (std::size_t i = 0; i < file->kernels.size(); ++i)
    entries.push_back(sent[i] ? (*answer)["kernels"][*sent[i]]
                              : Json{{"error", protocol::error_json(*file->kernels[i].unread)}});
  const auto unread = std::count(sent.begin(), sent.end(), std::nullopt);
  const auto failed = answer->value("failed", 0) + unread, total = answer->value("total", 0) + unread;
  if (!context.json)
    std::cout << total << " kernels: " << answer->value("cached", 0) << " found, " << answer->value("compiled", 0)
              << " compiled, " << failed << " failed" << std::endl;
  for (std::size_t i = 0; i < entries.size(); ++i)
    if (entries[i].contains("error")) tell(context, *file, i, sent[i].value_or(0), entries[i]);
  (*answer)["kernels"] = std::move(entries);
  (*answer)["failed"] = failed;
  (*answer)["total"] = total;
  if (context.json) print_json(*answer);
  return failed == 0 ? exit_ok : exit_failed;
}

}  // namespace

void add_prepare_commands(CLI::App& app, Context& context, int& status) {
  auto* command = app.add_subcommand("prepare", "compile many kernels ahead");
  auto file = std::make_shared<std::string>();
  auto must_hit = std::make_shared<bool>(false);
  command->add_option("file", *file, "JSON: an array of {program, set, target, layouts} (- for standard input); a program "
                                     "may be FILE.json or FILE.py:FUNCTION, with arg: [\"X=f32[512,64]\", …]")->required();
  command->add_flag("--must-hit", *must_hit, "fail instead of compiling");
  command->callback([&context, &status, file, must_hit] { status = prepare_command(context, *file, *must_hit); });
}

}  // namespace kiln::cli
