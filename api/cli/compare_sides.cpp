#include "api/cli/compare_sides.hpp"

#include <algorithm>

#include "api/cli/configurations.hpp"
#include "api/cli/operands.hpp"

namespace kiln::cli {

using protocol::Json;

namespace {

void set_to(Settings& settings, const std::string& name, const std::string& value) {
  const auto found =
      std::find_if(settings.begin(), settings.end(), [&](const auto& entry) { return entry.first == name; });
  if (found == settings.end())
    settings.emplace_back(name, value);
  else
    found->second = value;
}

bool has_name(const tile::Program& program, const std::string& name) {
  const auto named = [&](const auto& declared) { return declared.name == name; };
  return std::any_of(program.symbols.begin(), program.symbols.end(), named) ||
         std::any_of(program.options.begin(), program.options.end(), named) ||
         std::any_of(program.tunables.begin(), program.tunables.end(), named);
}

// The names that a setting's name stands for; none: the program has no such.
std::vector<std::string> meant_by(const SideProgram& side, const std::string& name) {
  if (has_name(*side.program, name)) return {name};
  std::vector<std::string> lengths;
  if (name != "seq") return lengths;
  if (side.emitted) {
    lengths = side.emitted->sequence;
  } else {
    for (const char* usual : {"S", "SK"})
      if (has_name(*side.program, usual)) lengths.emplace_back(usual);
  }
  return lengths;
}

// The settings that the program does not have.
Settings unknown_of(const SideProgram& side, const Settings& settings) {
  Settings unknown;
  for (const auto& entry : settings)
    if (meant_by(side, entry.first).empty()) unknown.push_back(entry);
  return unknown;
}

Status parse(Context& context, const std::string& json, SideProgram& side) {
  auto program = tile::read_program(json);
  if (!program) return side.located(context, std::move(program).error());
  side.program = std::make_shared<const tile::Program>(std::move(*program));
  return ok();
}

}  // namespace

Error SideProgram::located(Context& context, Error error) const {
  if (error.code == ErrorCode::cancelled || context.wrong_usage) return error;
  context.source_file = file;
  context.source_text = text;
  if (emitted) error = located_in_python(std::move(error), *emitted, known_as.substr(0, known_as.rfind(".py") + 3));
  if (error.diagnostics.empty())
    error.message = label + " (" + known_as + "): " + error.message;
  else
    error.context.insert(error.context.begin(), label + " is " + known_as);
  return error;
}

Result<Side> Side::open(Context& context, const std::string& label, const ProgramSpec& spec) {
  Side side;
  side.label_ = label;
  auto source = ProgramSource::open(context, spec);
  if (!source) {
    auto error = std::move(source).error();
    error.message = label + " (" + spec.text + "): " + error.message;
    return error;
  }
  side.source_ = std::move(*source);
  return side;
}

Status Side::read_program(Context& context, const FunctionArguments& python, SideProgram& side) {
  using Kind = ProgramSpec::Kind;
  const auto& spec = source_.spec();
  if (spec.kind == Kind::python) {
    auto emitted = source_.emit(context, python);
    if (!emitted) {
      auto error = std::move(emitted).error();
      if (error.code != ErrorCode::cancelled) error.message = label_ + ": " + error.message;
      return error;
    }
    side.params["program"] = emitted->program;
    side.emitted = std::move(*emitted);
    return parse(context, protocol::dump(side.params["program"]), side);
  }
  side.emitted.reset();
  if (spec.kind == Kind::json) {
    side.file = spec.text;
    side.text = source_.text();
  }
  KILN_CHECK(parse(context, source_.text(), side));
  if (spec.kind == Kind::builtin) {
    side.params["program"] = spec.name;
    return ok();
  }
  KILN_TRY(side.params["program"], protocol::parse_json(source_.text(), protocol::Limits{}));
  return ok();
}

Result<SideProgram> Side::at(Context& context, const ComparePlan& plan, const Size& size, const std::string& target) {
  const bool is_a = label_ == "A";
  SideProgram side;
  side.label = label_;
  side.known_as = source_.spec().text;
  side.params = Json::object();
  Settings common = plan.set;
  for (const auto& [name, value] : size.over) set_to(common, name, value);
  Settings given = common;
  for (const auto& [name, value] : is_a ? plan.set_a : plan.set_b) set_to(given, name, value);
  const bool python = source_.spec().kind == ProgramSpec::Kind::python;
  FunctionArguments made_with{is_a ? plan.arguments_a : plan.arguments_b, plan.words.grid, {}, target};
  auto read = read_program(context, made_with, side);
  if (!read && !(python && !given.empty())) return std::move(read).error();
  // A function that cannot be made without its settings gets all of them.
  made_with.set = !python ? Settings() : read ? unknown_of(side, given) : given;
  if (!made_with.set.empty()) KILN_CHECK(read_program(context, made_with, side));
  if (!python) side.unknown = unknown_of(side, common);
  if (side.emitted) {
    side.set = side.emitted->set;
    note_configuration(context, *side.emitted);
  }
  for (const auto& [name, value] : given) {
    if (std::find(side.unknown.begin(), side.unknown.end(), std::pair(name, value)) != side.unknown.end()) continue;
    const auto names = meant_by(side, name);
    if (names.empty() && !python) set_to(side.set, name, value);  // of this side alone: the binding refuses it
    for (const auto& meant : names) set_to(side.set, meant, value);
  }
  side.params["tuned"] = false;  // a record of one side alone would decide the comparison
  side.params["set"] = Json::object();
  for (const auto& [name, value] : side.set) side.params["set"][name] = value;
  for (const auto& [tile, layout] : is_a ? plan.layouts_a : plan.layouts_b) side.params["layouts"][tile] = layout;
  return side;
}

Result<SidePair> sides_at(Context& context, SideSources sources, const ComparePlan& plan, const Size& size,
                          const std::string& device) {
  KILN_TRY(const auto target, device_target(context, device));
  SidePair pair;
  KILN_TRY(pair.a, sources.a.at(context, plan, size, target));
  KILN_TRY(pair.b, sources.b.at(context, plan, size, target));
  const bool b_is_python = sources.b.source().spec().kind == ProgramSpec::Kind::python;  // it took what A does not have
  for (const auto& entry : pair.a.unknown) {
    const bool neither = std::find(pair.b.unknown.begin(), pair.b.unknown.end(), entry) != pair.b.unknown.end();
    if (b_is_python || !neither) continue;
    pair.a.params["set"][entry.first] = entry.second;
    pair.a.set.push_back(entry);
  }
  return pair;
}

}  // namespace kiln::cli
