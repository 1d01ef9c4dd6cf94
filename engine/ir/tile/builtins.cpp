#include "engine/ir/tile/builtins.hpp"

#include <algorithm>
#include <filesystem>

#include "engine/base/fd.hpp"
#include "engine/ir/tile/expression_parser.hpp"
#include "engine/ir/tile/nearest_name.hpp"

namespace kiln::tile {

Result<std::vector<std::string>> list_builtins(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().stem().string();
    if (entry->path().extension() == ".json" && is_name(name)) names.push_back(name);
  }
  if (error) return errno_error(error.value(), "cannot read the folder of built-in programs");
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> builtin_names(const std::string& folder) {
  auto names = list_builtins(folder);
  return names ? std::move(*names) : std::vector<std::string>();
}

Result<std::string> builtin_text(const std::string& folder, std::string_view name) {
  const auto names = builtin_names(folder);
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    Error error(ErrorCode::not_found, "no built-in program is called '" + make_valid_utf8(name.substr(0, 64)) + "'");
    const std::string hint = nearest_hint(name, names);
    error.context.push_back(hint.empty() ? "built-in programs: " + name_list(names) : hint);
    return error;
  }
  KILN_TRY(const Bytes bytes, read_file(folder + "/" + std::string(name) + ".json", ReadLimits{}.bytes_max));
  return std::string(text(bytes));
}

Result<Program> load_builtin(const std::string& folder, std::string_view name) {
  KILN_TRY(const std::string json, builtin_text(folder, name));
  return read_program(json);
}

}  // namespace kiln::tile
