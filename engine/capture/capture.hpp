// One launch in one checksummed file, so that it can be run again anywhere: CAPTURE.md beside this is the normative format.
// Plain data and pure functions; any thread. The bytes of a file may be hostile: everything is checked, nothing crashes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/base/fd.hpp"
#include "engine/base/hash.hpp"
#include "engine/compile/metadata.hpp"

namespace kiln::capture {

inline constexpr std::uint32_t format_version = 1;
inline constexpr std::uint64_t header_bytes_max = std::uint64_t(64) << 20;
inline constexpr std::uint64_t object_bytes_max = std::uint64_t(256) << 20;
inline constexpr std::uint64_t tensor_bytes_max = std::uint64_t(4) << 30;  // of all tensors together, before the launch
inline constexpr std::uint64_t outputs_bytes_max = std::uint64_t(64) << 20;  // kept whole beside their hashes up to here
inline constexpr std::size_t tensors_max = 256;

// What a tensor held: its hash, always, and the bytes, the seed that makes them, or (results over outputs_bytes_max) neither.
struct Contents {
  enum class Kind : std::uint8_t { none, bytes, seed, hash_only } kind = Kind::none;
  std::uint64_t bytes = 0;
  Digest sha256{};
  std::uint64_t seed = 0;             // of generate()
  // Of a capture that was read: the compressed bytes, inside the file's mapping.
  ByteView stored;
};

struct Argument {
  Bytes scalar;                       // of a scalar; the rest is of tensors
  Contents before, after;             // after: of written tensors of a launch that succeeded
};

struct Outcome {
  enum class Kind : std::uint8_t { done, failed, wrong } kind = Kind::done;  // wrong: other than the interpreter's result
  Error error;                                    // failed
  bool counted = false;
  std::map<std::string, std::uint64_t> counters;  // counted: summed over the launches
};

// Where it was captured. No names of users, machines or folders.
struct Origin {
  std::string build, compiler, system, processor, device, device_target;
};

struct Capture {
  // The tile program as written (tile/1) and its bindings; empty where the launch named a kernel by key alone.
  std::string program;
  std::map<std::string, std::string> set, layouts;
  std::map<std::string, std::int64_t> align;
  std::string target, key, purpose;   // purpose: run, verify, profile
  compile::Metadata metadata;
  Bytes object;
  std::string device;
  std::vector<std::pair<std::string, std::string>> switches;
  std::vector<Argument> arguments;    // as metadata.tensors
  Outcome outcome;
  Origin origin;
  std::string note;                   // what was changed since it was captured: "shrunk: …"
};

// A tensor's bytes for the writer.
struct Source {
  ByteView bytes;
  std::optional<std::uint64_t> seed;  // claimed: it is kept in their place only when it makes these very bytes
};
// Writes one capture. `capture.arguments` hold the scalars; `before` and `after` (empty views: none) one entry an argument.
// Gives a sealed memfd. Errors: resource_limit, io_error.
Result<UniqueFd> write_capture(const Capture& capture, const std::vector<Source>& before, const std::vector<std::optional<ByteView>>& after);

// A capture in memory that it is read from.
class CaptureFile {
 public:
  // Errors: corrupt, with the byte or the field where the damage is; unsupported (another version), resource_limit, io_error.
  static Result<CaptureFile> open(int fd);
  static Result<CaptureFile> open_path(const std::string& path);  // the path is in the errors
  [[nodiscard]] const Capture& capture() const { return capture_; }
  // The bytes of argument `index` before the launch, or after it, as memory of its own; checked against the hash.
  // Errors: corrupt; unsupported (a seed whose generator gives other bytes here, or nothing but a hash).
  [[nodiscard]] Result<Bytes> before(std::size_t index) const;
  [[nodiscard]] Result<Bytes> after(std::size_t index) const;

 private:
  std::shared_ptr<Bytes> file_;
  Capture capture_;
};

// The generator that `kiln run` fills tensors with: normals (integers: -8 to 8, unsigned 0 to 8) by the seed; a tensor that the
// kernel only writes is full of NaN. `bytes` long, a rest shorter than an element stays 0. `ended`, asked now and then, ends
// it early: false.
bool generate(DType type, bool read, std::uint64_t seed, std::span<std::uint8_t> bytes,
              const std::function<bool()>& ended = {});
// The seed of argument `index` of a launch whose own is `seed`: below 2^53, what JSON's integers hold.
std::uint64_t tensor_seed(std::uint64_t seed, std::size_t index);

}  // namespace kiln::capture
