// The session ties the steps: specialize -> key -> lookup -> (single flight) compile -> store -> load -> launch -> verify.
// The same class serves kilnd and a process without a daemon. Thread-safe; callbacks come from the session's threads.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/deadline.hpp"
#include "engine/compile/metadata.hpp"
#include "engine/compile/worker_pool.hpp"
#include "engine/device/device.hpp"
#include "engine/ir/bound/program.hpp"
#include "engine/ir/tile/program.hpp"
#include "engine/jit/compiler_identities.hpp"
#include "engine/jit/object_store.hpp"
#include "engine/jit/remote_tier.hpp"
#include "engine/reference/interpreter.hpp"
#include "engine/specialize/specialize.hpp"

namespace kiln::jit {

struct SessionOptions {
  std::shared_ptr<ObjectStore> store;
  compile::PoolOptions pool;
  std::string header_folder;                         // kernels/include: part of the key
  std::vector<std::string> device_host_command;      // kiln-device-host; empty: no host device
  std::vector<std::string> device_hip_command;       // kiln-device-hip; empty: no AMD cards, emulated or not
  std::string emulated_hip;                          // path of the emulated libamdhip64; empty: no emulated cards
  std::vector<std::string> reference_command;        // kiln-reference
  std::string log_path;
  std::uint64_t memory_entries_max = 4096;           // entries and digests kept in memory
  std::shared_ptr<RemoteTier> tier;                  // asked before something is compiled; null: none. Ends with this
};

// One part of a key, with its own hash, so that two machines can see why they differ.
struct KeyPart { std::string name, value, sha256; };  // value: short text, empty when long

struct CompileRequest {
  std::shared_ptr<const tile::Program> program;
  // SHA-256 over the program's text (any text that determines `program`); given, a repeated request with equal bindings and
  // target is not specialized again and a warm hit takes microseconds.
  std::optional<Digest> program_digest;
  specialize::Bindings bindings;
  std::string target;                                // "gfx942", "host"
  std::uint64_t owner = 0;                           // for fairness: a connection's id
  bool must_hit = false, explain_key = false;
  Deadline deadline;
  CancelToken cancel;                                // detaches this waiter; the last one leaving ends the compile
  std::function<void(const std::string& stage, double fraction)> progress;  // may be null
};

// A compiled kernel. Immutable, shared.
struct Kernel {
  Key key;
  // Of the request that made it known to this process; null when it was only found by key. Hits copy no program.
  std::shared_ptr<const bound::Program> program;
  compile::Metadata metadata;
  std::shared_ptr<const StoredObject> stored;
};
struct CompileOutcome {
  std::shared_ptr<const Kernel> kernel;
  bool cached = false;                               // no compile happened for this request
  // "memory", "disk", "tier", "compiled", "joined" (another's compile or fetch, here or in another process)
  std::string origin;
  bool stored = true;                                // false: served uncached; why_not_stored says why
  std::string why_not_stored;
  double total_ms = 0;
  std::vector<KeyPart> key_parts;                    // explain_key
  std::shared_ptr<const bound::Program> program;     // this request's own names; never null
};
// A kernel on a device. It stays loaded while anybody holds this, also when the session forgets the kernel meanwhile or has
// too many loaded; the last one to let go unloads it. A launch holds it until its `done`: unloading waits for the launches
// that use the kernel. Of no use when the session has ended.
struct LoadedKernel { device::KernelId id = 0; };
using LoadedKernelPtr = std::shared_ptr<const LoadedKernel>;
using CompileDone = std::function<void(Result<CompileOutcome>)>;

struct SessionStats {
  StoreStats store;
  compile::PoolStats pool;
  std::uint64_t memory_hits = 0, requests = 0, joined = 0, kernels_loaded = 0;
  std::optional<TierStats> tier;                     // where there is one
};

// Of the cache's kernels: those that meet all that is given.
struct KernelFilter {
  std::vector<Key> keys;
  std::vector<std::string> programs;   // by name
  std::vector<std::string> targets;    // "gfx942": whatever its features; with features exactly these
};

class Session {
 public:
  virtual ~Session() = default;
  static Result<std::unique_ptr<Session>> create(SessionOptions options);

  // Never blocks for long (lookups on the caller's thread); `done` exactly once, possibly before it returns.
  virtual void compile(CompileRequest request, CompileDone done) = 0;
  Result<CompileOutcome> compile_now(CompileRequest request);   // blocking
  // A kernel known to this process or on disk, by key.
  virtual Result<std::shared_ptr<const Kernel>> find(const Key& key) = 0;
  virtual std::vector<std::shared_ptr<const Kernel>> kernels() = 0;
  virtual bool forget(const Key& key) = 0;           // from memory and, after its launches, from devices; the disk entry stays

  // Devices by name: "host", "emu:gfx942" (also with features, "emu:gfx942:sramecc+:xnack-"), "hip:0", a card also by its UUID
  // or PCI address, "hip:GPU-1f…", "hip:0000:0c:00.0". A card's process starts when it is first used. The device interface's
  // ids are per device.
  virtual std::vector<std::string> device_names() = 0;
  // The same after a look for cards; hip:0 is among them also where there is none, to say why. Starts its process.
  virtual std::vector<std::string> find_devices() = 0;
  // The one name of the device among all that it may be called. Looks for cards when it is called by a UUID or PCI address.
  // Errors: unknown_target, with what there is as context; of the process that looks.
  virtual Result<std::string> device_name(const std::string& name) = 0;
  virtual Result<device::Device*> device(const std::string& name) = 0;   // owned by the session
  // What to compile for to run there: "host"; an emulated card's arch and features as its name gives them; a card's arch.
  virtual Result<std::string> device_target(const std::string& name) = 0;
  // Loads once per kernel and device.
  virtual Result<LoadedKernelPtr> load(const std::shared_ptr<const Kernel>& kernel, const std::string& device) = 0;

  // Runs the interpreter (in its process) on inputs and compares outputs that a device wrote. `inputs`: the tensors before the
  // launch, `outputs`: after; one descriptor range a tensor.
  struct VerifyArgument { int fd = -1; std::uint64_t offset = 0, bytes = 0; Bytes scalar; };
  struct VerifyResult { std::vector<std::optional<reference::Comparison>> tensors; double reference_ms = 0; };
  virtual Result<VerifyResult> verify(const bound::Program& program, const std::vector<VerifyArgument>& before,
                                      const std::vector<VerifyArgument>& after, Deadline deadline, CancelToken cancel) = 0;
  // The same for the results of several launches on equal inputs: the interpreter runs once. One result a launch.
  virtual Result<std::vector<VerifyResult>> verify_all(const bound::Program& program,
                                                       const std::vector<VerifyArgument>& before,
                                                       const std::vector<std::vector<VerifyArgument>>& after,
                                                       Deadline deadline, CancelToken cancel) = 0;
  // The device in a process of the caller's own, which may end without taking others' launches along. It must not outlive
  // the session. Errors: as device.
  virtual Result<std::unique_ptr<device::Device>> private_device(const std::string& name) = 0;
  // A number that changes whenever a compiler was found, replaced or lost: an answer that was right while it had one value is
  // right while it has. Cheap; looks at the compilers' files once a second.
  virtual std::uint64_t compilers() = 0;
  // How workers are started now, and which compilers they have, by family; looks for replaced start commands.
  virtual std::vector<FamilyCompiler> family_compilers() = 0;
  virtual SessionStats stats() = 0;
  virtual ObjectStore& store() = 0;
  // The cache's kernels as one file, and such a file's into the cache: ObjectStore::export_to and import_from with this
  // engine's view of what a sound entry is. The compilers' identities travel along, so that a machine without a
  // compiler finds the kernels. Errors: theirs; unknown_target for a target of the filter.
  virtual Result<ExportReport> export_kernels(int fd, const KernelFilter& filter,
                                              std::function<Status(std::uint64_t bytes)> admit) = 0;
  virtual Result<ImportReport> import_kernels(int fd, std::function<Status()> go_on) = 0;
};

}  // namespace kiln::jit
