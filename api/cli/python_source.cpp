#include "api/cli/python_source.hpp"

#include <algorithm>
#include <filesystem>

#include "api/cli/temporary_folder.hpp"
#include "api/cli/watched_process.hpp"
#include "engine/base/process.hpp"

namespace kiln::cli {

using protocol::Json;
namespace fs = std::filesystem;

namespace {

constexpr std::size_t output_bytes_max = std::size_t(16) << 20;
constexpr std::chrono::seconds import_seconds_max{120};  // a file may import much, and it may never end

bool ends_in(const std::string& text, const char* suffix) { return text.ends_with(suffix); }

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts{""};
  for (const char c : text) {
    if (c == at)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

struct Output {
  std::string out, error;
};

// Runs a program in `directory`, its standard output apart from its standard error.
Result<Output> run_program(Context& context, const std::vector<std::string>& command, const std::string& directory,
                           const std::vector<std::string>& environment, const std::string& what) {
  KILN_CHECK(context.configure());
  TemporaryFolder scratch;
  KILN_CHECK(scratch.create(context.configuration->temporary_folder, "kiln-compare-"));
  const auto file = scratch.path + "/out";
  std::vector<std::string> shell{"/bin/sh", "-c", "out=$1; shift; exec \"$@\" > \"$out\"", "sh", file};
  shell.insert(shell.end(), command.begin(), command.end());
  KILN_TRY(auto ran, run_watched(shell, environment, directory, scratch.path, import_seconds_max));
  if (interrupt_token().cancelled()) return Error(ErrorCode::cancelled, "interrupted");
  if (!ran.end.empty()) {
    Error failed(ErrorCode::program_invalid, what + ": " + ran.end);
    while (ran.text.ends_with('\n')) ran.text.pop_back();
    if (!ran.text.empty()) failed.context.push_back(ran.text);
    std::error_code ignored;
    if (ran.text.empty() && fs::space(scratch.path, ignored).available == 0)
      failed.context.push_back("there is no room in " + context.configuration->temporary_folder);
    return failed;
  }
  KILN_TRY(const auto bytes, read_file(file, output_bytes_max));
  return Output{std::string(text(bytes)), ran.text};
}

// The folder of a path, or the nearest one above it that there still is.
std::string standing_folder(const fs::path& file) {
  std::error_code ignored;
  auto folder = fs::absolute(file, ignored).lexically_normal().parent_path();
  while (!fs::is_directory(folder, ignored) && folder.has_relative_path()) folder = folder.parent_path();
  return folder.string();
}

Result<std::string> git(Context& context, const std::string& folder, std::vector<std::string> words,
                        const std::string& what) {
  words.insert(words.begin(), {"git", "-C", folder});
  KILN_TRY(auto output, run_program(context, words, folder, context.environment.all, what));
  return std::move(output.out);
}

std::string without_line_end(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

// The revision's file and commit.
Result<std::pair<std::string, std::string>> read_revision(Context& context, const ProgramSpec& spec) {
  const auto folder = standing_folder(spec.file);
  std::error_code ignored;
  const auto path = fs::absolute(spec.file, ignored).lexically_normal().lexically_relative(folder).string();
  KILN_TRY(auto commit, git(context, folder,
                            {"rev-parse", "--short=12", "--verify", "--end-of-options", spec.revision + "^{commit}"},
                            "git has no revision \"" + spec.revision + "\" here"));
  commit = without_line_end(commit);
  KILN_TRY(auto text, git(context, folder, {"show", commit + ":./" + path},
                          "git has no " + spec.file + " in revision " + spec.revision));
  return std::pair(std::move(text), std::move(commit));
}

std::string python_of(const Context& context) {
  const auto chosen = context.environment.get("KILN_PYTHON");
  return chosen.empty() ? "python3" : chosen;
}

// The folder that holds the package `kiln`: beside this program's data, or around the wheel that brought the program
// (kiln/native/bin); "" where it is in neither and Python has to find it by itself.
std::string package_folder() {
  const auto program = fs::path(executable_folder());
  std::error_code ignored;
  for (const auto& folder :
       {program.parent_path() / "share/kiln/python", program.parent_path().parent_path().parent_path()})
    if (fs::is_directory(folder / "kiln/language", ignored)) return folder.string();
  return "";
}

// PYTHONPATH: the package that came with this program, then the user's own. Modules beside the file come to the path
// when the file is imported, behind those that the package itself needs; the current folder never does.
std::vector<std::string> python_environment(const Context& context) {
  auto environment = context.environment.all;
  std::erase_if(environment, [](const std::string& entry) { return entry.starts_with("PYTHONPATH="); });
  const auto own = context.environment.get("PYTHONPATH"), package = package_folder();
  const auto path = package + (package.empty() || own.empty() ? "" : ":") + own;
  if (!path.empty()) environment.push_back("PYTHONPATH=" + path);
  environment.emplace_back("PYTHONDONTWRITEBYTECODE=1");
  environment.emplace_back("PYTHONSAFEPATH=1");
  return environment;
}

// What Python said, with the file's name as the user knows it: a revision's text lies in a file of ours.
Error shown_as(Error error, const std::string& file, const std::string& known_as) {
  const auto name = known_as.substr(0, known_as.rfind(".py") + 3);
  for (auto& line : error.context)
    for (auto at = line.find(file); at != std::string::npos; at = line.find(file, at + name.size()))
      line.replace(at, file.size(), name);
  return error;
}

std::vector<std::string> texts_of(const Json& document, const char* name) {
  std::vector<std::string> texts;
  for (const auto& text : document.value(name, Json::array()))
    if (text.is_string()) texts.push_back(text.get<std::string>());
  return texts;
}

EmittedProgram read_emitted_program(const Json& document) {
  EmittedProgram emitted;
  emitted.configuration = document.value("name", "");
  emitted.program = document.value("program", Json());
  const Json none = Json::object();
  const auto set = document.value("set", none), locations = document.value("locations", none);
  for (const auto& [name, value] : set.items()) emitted.set.emplace_back(name, text_of(value));
  for (const auto& [pointer, place] : locations.items())
    if (place.is_array() && place.size() == 2 && place[0].is_number_integer() && place[1].is_number_integer())
      emitted.locations[pointer] = {place[0].get<int>(), place[1].get<int>()};
  return emitted;
}

Result<Emitted> read_emitted(Context& context, const std::string& output, const std::string& what) {
  const auto document = Json::parse(output, nullptr, false);
  if (!document.is_object() || !document.contains("program") || !document["program"].is_object())
    return Error(ErrorCode::protocol_error, what + ": `kiln.language emit` printed no JSON object with a program");
  Emitted emitted;
  static_cast<EmittedProgram&>(emitted) = read_emitted_program(document);
  if (const auto numbers = document.find("numbers"); numbers != document.end() && numbers->is_object())
    emitted.numbers = *numbers;
  emitted.sequence = texts_of(document, "sequence");
  emitted.file = document.value("file", "");
  emitted.function = document.value("function", "");
  for (const auto& one : document.value("configurations", Json::array()))
    emitted.every.push_back(read_emitted_program(one));
  emitted.configurations = document.value("configurations_count", std::size_t(0));
  emitted.decided = texts_of(document, "decided");
  for (const auto& note : texts_of(document, "notes")) context.note(note);
  const auto skipped = document.value("skipped", Json::object());
  for (const auto& [name, why] : skipped.items()) context.note(name + " is left out: " + text_of(why));
  return emitted;
}

}  // namespace

Result<ProgramSpec> parse_program_spec(Context& context, const std::string& text) {
  const auto parts = split(text, ':');
  const auto is_file = [](const std::string& part) { return ends_in(part, ".py") || ends_in(part, ".json"); };
  ProgramSpec spec;
  spec.text = text;
  const std::size_t at = is_file(parts[0]) ? 0 : parts.size() > 1 && is_file(parts[1]) ? 1 : parts.size();
  if (at == parts.size()) {
    std::error_code ignored;
    const bool file = text == "-" || text.find('/') != std::string::npos || fs::is_regular_file(text, ignored);
    if (text.empty() || (text.find(':') != std::string::npos && !file))
      return context.usage_error("\"" + text +
                                 "\" names no program: expected a built-in's name, FILE.json, FILE.py, "
                                 "FILE.py:FUNCTION, or REV: before a file");
    spec.kind = file ? ProgramSpec::Kind::json : ProgramSpec::Kind::builtin;
    (file ? spec.file : spec.name) = text;
    return spec;
  }
  spec.revision = at == 1 ? parts[0] : "";
  spec.file = parts[at];
  spec.kind = ends_in(spec.file, ".py") ? ProgramSpec::Kind::python : ProgramSpec::Kind::json;
  const bool named = parts.size() > at + 1;
  if (parts.size() > at + 2 || (at == 1 && spec.revision.empty()) || (named && parts[at + 1].empty()))
    return context.usage_error("\"" + text + "\": expected REV:FILE.py:FUNCTION, REV:FILE.json or less of it");
  if (named && spec.kind == ProgramSpec::Kind::json)
    return context.usage_error("\"" + text + "\": a tile/1 file holds one program, no function \"" + parts[at + 1] +
                               "\"");
  if (named) spec.name = parts[at + 1];
  return spec;
}

bool names_python(const std::string& text) { return text.ends_with(".py") || text.find(".py:") != std::string::npos; }

Result<ProgramSource> ProgramSource::open(Context& context, const ProgramSpec& spec) {
  ProgramSource source;
  source.spec_ = spec;
  if (spec.kind == ProgramSpec::Kind::builtin) {
    KILN_TRY(const auto shown, context.ask("program.show", {{"name", spec.name}}));
    source.text_ = protocol::dump(shown["program"], 2) + "\n";
  } else if (!spec.revision.empty()) {
    KILN_TRY(auto found, read_revision(context, spec));
    source.text_ = std::move(found.first);
    source.commit_ = std::move(found.second);
  } else {
    KILN_TRY(const auto bytes, spec.file == "-" ? read_all_of_stream(0, 4 << 20) : read_file(spec.file, 4 << 20));
    source.text_ = std::string(kiln::text(bytes));
  }
  return source;
}

Result<Emitted> ProgramSource::emit(Context& context, const FunctionArguments& given) {
  std::vector<std::string> words{"--target", given.target};
  for (const auto& argument : given.types) words.insert(words.end(), {"--arg", argument});
  for (const auto& [name, value] : given.set) words.insert(words.end(), {"--set", name + "=" + value});
  if (!given.grid.empty()) words.push_back("--grid=" + given.grid);
  if (given.every) words.emplace_back("--every");
  std::string known;
  for (const auto& word : words) known += word + '\n';
  if (const auto found = emitted_.find(known); found != emitted_.end()) return found->second;
  KILN_CHECK(context.configure());
  std::error_code ignored;
  const auto folder = standing_folder(spec_.file);
  auto file = fs::absolute(spec_.file, ignored).lexically_normal().string();
  TemporaryFolder scratch;
  if (!spec_.revision.empty()) {
    KILN_CHECK(scratch.create(context.configuration->temporary_folder, "kiln-compare-"));
    file = scratch.path + "/" + fs::path(spec_.file).filename().string();
    KILN_CHECK(write_file(file, ByteView(reinterpret_cast<const std::uint8_t*>(text_.data()), text_.size())));
  }
  words.insert(words.begin(), {python_of(context), "-m", "kiln.language", "emit", "--folder", folder,
                               file + (spec_.name.empty() ? "" : ":" + spec_.name)});
  auto output = run_program(context, words, folder, python_environment(context), spec_.text);
  if (!output) {
    auto error = shown_as(std::move(output).error(), file, spec_.text);
    if (error.message == spec_.text + ": it ended with exit status 1")
      error.message = spec_.text + " is no kernel that can be made";
    return error;
  }
  KILN_TRY(auto emitted, read_emitted(context, output->out, spec_.text));
  return emitted_[known] = std::move(emitted);
}

Result<std::string> python_version(Context& context) {
  KILN_CHECK(context.configure());
  const auto python = python_of(context);
  KILN_TRY(const auto output, run_program(context, {python, "-c", "import platform; print(platform.python_version())"},
                                          "/", context.environment.all, python));
  return without_line_end(output.out) + ", " + python;
}

Error located_in_python(Error error, const EmittedProgram& emitted, const std::string& file) {
  for (auto& d : error.diagnostics) {
    auto pointer = d.pointer;
    if (pointer.starts_with("/bindings") || pointer.starts_with("/params")) continue;
    auto found = emitted.locations.find(pointer);
    while (found == emitted.locations.end() && !pointer.empty()) {
      const auto last = pointer.rfind('/');
      pointer.erase(last == std::string::npos ? 0 : last);
      found = emitted.locations.find(pointer);
    }
    if (found == emitted.locations.end()) continue;
    d.pointer = file + ":" + std::to_string(found->second.first) + ":" + std::to_string(found->second.second);
  }
  return error;
}

}  // namespace kiln::cli
