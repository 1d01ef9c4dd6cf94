// The programs that requests name: built-ins by name, programs by full text, and both again by digest.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/protocol/json.hpp"
#include "engine/base/hash.hpp"
#include "engine/ir/tile/program.hpp"

namespace kiln::service {

struct KnownProgram {
  std::shared_ptr<const tile::Program> program;
  Digest sha256{};      // of the canonical text
  std::string digest;   // the same in hex
};

// Thread-safe. Keeps at most `programs_max` programs that came as text, the least recently used go.
class ProgramCatalog {
 public:
  explicit ProgramCatalog(std::string folder, std::size_t programs_max = 1024) : folder_(std::move(folder)), max_(programs_max) {}
  // `params` holds "program": a built-in's name or the whole program as an object, or "digest".
  Result<KnownProgram> resolve(const protocol::Json& params);
  Result<KnownProgram> builtin(const std::string& name);
  [[nodiscard]] Result<std::vector<std::string>> builtin_names() const;

 private:
  Result<KnownProgram> read(const std::string& text);
  void remember(const std::string& text_digest, const KnownProgram& known);

  std::string folder_;
  std::size_t max_;
  std::mutex mutex_;
  struct Slot { KnownProgram known; std::uint64_t used = 0; };
  std::map<std::string, Slot> by_digest_;        // canonical digest and digest of the text as sent
  std::map<std::string, KnownProgram> builtins_;
  std::uint64_t clock_ = 0;
};

}  // namespace kiln::service
