#include "engine/jit/key.hpp"

#include <algorithm>
#include <filesystem>

#include "engine/base/fd.hpp"
#include "kiln_source_identity.hpp"

namespace kiln::jit {
namespace {

constexpr std::string_view key_format = "kiln-key/1";
constexpr std::size_t header_bytes_max = std::size_t(16) << 20;

// One part: its name, a short text for people ("" when the hash says it all), and the hash that goes into the key.
struct Part {
  std::string_view name;
  std::string value;
  Digest digest;
};

Part text_part(std::string_view name, std::string_view value) {
  return {name, std::string(value), sha256(view(value))};
}

}  // namespace

Result<Key> Key::from_hex(std::string_view hex) {
  const auto bytes = kiln::from_hex(hex);
  Key key;
  if (!bytes || bytes->size() != key.digest.size()) {
    std::string found(hex.substr(0, 80));
    std::replace_if(found.begin(), found.end(), [](unsigned char c) { return c < 32 || c == 127; }, '?');
    return Error(ErrorCode::invalid_argument, "a key is 64 hex digits").with("found: " + found);
  }
  std::copy(bytes->begin(), bytes->end(), key.digest.begin());
  return key;
}

ComputedKey compute_key(const KeyInputs& inputs) {
  const Part parts[] = {
      text_part("format", key_format),
      {"program", "", sha256(bound::encode(inputs.program, false))},
      text_part("target", inputs.target_full),
      {"compiler", "", inputs.compiler},
      {"headers", "", inputs.headers},
      text_part("flags", inputs.flags),
      text_part("sources", KILN_SOURCE_IDENTITY),
  };
  Writer w;
  ComputedKey computed;
  for (const auto& part : parts) {
    w.string(part.name);
    w.bytes(part.digest);
    computed.parts.push_back({std::string(part.name), part.value, to_hex(part.digest)});
  }
  computed.key.digest = sha256(w.data());
  return computed;
}

Result<Digest> hash_folder(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<std::string> names;
  for (auto it = fs::recursive_directory_iterator(folder, error); !error && it != fs::recursive_directory_iterator();
       it.increment(error))
    if (std::error_code none; it->is_regular_file(none)) names.push_back(it->path().lexically_relative(folder).generic_string());
  if (error) return errno_error(error.value(), "cannot list " + folder);
  std::sort(names.begin(), names.end());
  Writer w;
  for (const auto& name : names) {
    KILN_TRY(const auto bytes, read_file(folder + "/" + name, header_bytes_max));
    w.string(name);
    w.bytes(sha256(bytes));
  }
  return sha256(w.data());
}

}  // namespace kiln::jit
