#include "api/service/programs.hpp"

#include <algorithm>

#include "engine/base/fd.hpp"
#include "engine/base/hash.hpp"
#include "engine/ir/tile/builtins.hpp"

namespace kiln::service {

using protocol::Fields;
using protocol::Json;

Result<KnownProgram> ProgramCatalog::resolve(const Json& params) {
  const Fields fields(params, "/params");
  if (fields.has("digest")) {
    KILN_TRY(const auto digest, fields.text("digest"));
    std::lock_guard lock(mutex_);
    const auto it = by_digest_.find(digest);
    if (it == by_digest_.end())
      return Error(ErrorCode::not_found, "no program with this digest is known here: send its text once", true);
    it->second.used = ++clock_;
    return it->second.known;
  }
  const Json* value = fields.find("program");
  if (value && value->is_string()) return builtin(value->get<std::string>());
  if (value && value->is_object()) return read(protocol::dump(*value));
  return fields.error("program", "a built-in's name or a tile/1 program");
}

Result<std::vector<std::string>> ProgramCatalog::builtin_names() const { return tile::list_builtins(folder_); }

Result<KnownProgram> ProgramCatalog::builtin(const std::string& name) {
  {
    std::lock_guard lock(mutex_);
    if (const auto it = builtins_.find(name); it != builtins_.end()) return it->second;
  }
  KILN_TRY(const auto names, builtin_names());
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    std::string list;
    for (const auto& n : names) list += (list.empty() ? "" : ", ") + n;
    return Error(ErrorCode::not_found, "no built-in program \"" + name.substr(0, 100) + "\"; there are " + list);
  }
  KILN_TRY(const auto bytes, read_file(folder_ + "/" + name + ".json"));
  KILN_TRY(auto known, read(std::string(text(bytes))));
  std::lock_guard lock(mutex_);
  builtins_.emplace(name, known);
  return known;
}

Result<KnownProgram> ProgramCatalog::read(const std::string& source) {
  const auto text_digest = to_hex(sha256(view(source)));
  {
    std::lock_guard lock(mutex_);
    if (const auto it = by_digest_.find(text_digest); it != by_digest_.end()) {
      it->second.used = ++clock_;
      return it->second.known;
    }
  }
  KILN_TRY(auto program, tile::read_program(source));
  KnownProgram known;
  known.sha256 = sha256(view(tile::write_program(program)));
  known.digest = to_hex(known.sha256);
  known.program = std::make_shared<const tile::Program>(std::move(program));
  remember(text_digest, known);
  return known;
}

void ProgramCatalog::remember(const std::string& text_digest, const KnownProgram& known) {
  std::lock_guard lock(mutex_);
  by_digest_[text_digest] = {known, ++clock_};
  by_digest_[known.digest] = {known, clock_};
  while (by_digest_.size() > 2 * max_) {
    const auto oldest = std::min_element(by_digest_.begin(), by_digest_.end(),
                                         [](const auto& a, const auto& b) { return a.second.used < b.second.used; });
    by_digest_.erase(oldest);
  }
}

}  // namespace kiln::service
