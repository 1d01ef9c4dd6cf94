#include "tests/differential/builtins/builtin_text.hpp"

#include <algorithm>
#include <sstream>

#include "engine/base/fd.hpp"

namespace kiln::test {
namespace {

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(' '), last = text.find_last_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

std::vector<std::string> targets_of(const std::string& words) {
  std::vector<std::string> targets;
  std::istringstream stream(words);
  for (std::string word; stream >> word;) {
    if (word == "all" || word == "cdna") {
      targets = {"gfx90a", "gfx942", "gfx950"};
      if (word == "all") targets.push_back("gfx1100");
    } else {
      targets.push_back(word);
    }
  }
  return targets;
}

// The names that builtins.txt uses for types.
std::string type_definitions() {
  constexpr const char* scalars[][2] = {
      {"f32", "float"},          {"f64", "double"},      {"f16", "_Float16"}, {"fp16", "__fp16"},
      {"bf16", "__bf16"},        {"u8", "unsigned char"}, {"i16", "short"},    {"u16", "unsigned short"},
      {"i32", "int"},            {"u32", "unsigned"},    {"i64", "long long"}, {"u64", "unsigned long long"}};
  std::string text = "#define flat __attribute__((address_space(0)))\n"
                     "#define global __attribute__((address_space(1)))\n"
                     "#define shared __attribute__((address_space(3)))\n";
  for (const auto& [name, type] : scalars) {
    text += std::string("typedef ") + type + " " + name + ";\n";
    for (const char* count : {"2", "3", "4", "6", "8", "16", "32"})
      text += std::string("typedef ") + name + " " + name + "x" + count + " __attribute__((vector_size(" + count +
              " * sizeof(" + name + "))));\n";
  }
  return text;
}

std::string kernel_text(const Builtin& builtin, std::size_t number) {
  const std::string id = std::to_string(number);
  std::string types, parameters, call = "__builtin_amdgcn_" + builtin.name + "(";
  for (std::size_t i = 0; i < builtin.arguments.size(); ++i) {
    const std::string& argument = builtin.arguments[i];
    call += i == 0 ? "" : ", ";
    if (argument.starts_with('=')) {
      call += argument.substr(1);
      continue;
    }
    const std::string type = "t" + id + "_" + std::to_string(i), name = "a" + std::to_string(i);
    types += "typedef " + argument + " " + type + ";\n";
    parameters += type + " *" + name + ", ";
    call += name + "[t]";
  }
  call += ")";
  std::string body = call + ";";
  if (builtin.has_result) body = "__typeof__(" + call + ") r = " + call + "; ((__typeof__(r) *)out)[t] = r;";
  return types + "__attribute__((amdgpu_kernel)) void k" + id + "(" + parameters +
         "void *out) { const unsigned t = __builtin_amdgcn_workitem_id_x(); " + body + " }\n";
}

}  // namespace

Result<std::vector<Builtin>> read_builtins(const std::string& path) {
  KILN_TRY(const auto bytes, read_file(path));
  std::istringstream lines{std::string(text(bytes))};
  std::vector<Builtin> builtins;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    const auto open = line.find('('), close = line.rfind(')'), at = line.rfind(" @ ");
    if (open == std::string::npos || close == std::string::npos || at == std::string::npos || close > at)
      return Error(ErrorCode::parse_error, path + ": " + line);
    Builtin builtin;
    builtin.name = line.substr(0, open);
    std::istringstream arguments(line.substr(open + 1, close - open - 1));
    for (std::string argument; std::getline(arguments, argument, ',');) builtin.arguments.push_back(trimmed(argument));
    builtin.has_result = line.substr(close, at - close).find("void") == std::string::npos;
    builtin.targets = targets_of(line.substr(at + 3));
    builtins.push_back(std::move(builtin));
  }
  return builtins;
}

std::string text_of(const std::vector<Builtin>& builtins, const std::string& target) {
  std::string text = type_definitions();
  for (std::size_t i = 0; i < builtins.size(); ++i) {
    const auto& targets = builtins[i].targets;
    if (std::find(targets.begin(), targets.end(), target) != targets.end()) text += kernel_text(builtins[i], i);
  }
  return text;
}

}  // namespace kiln::test
