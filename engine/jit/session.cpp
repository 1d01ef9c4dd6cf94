#include "engine/jit/session.hpp"

#include <elf.h>

#include <algorithm>
#include <future>
#include <thread>

#include "engine/jit/flights.hpp"
#include "engine/jit/key.hpp"
#include "engine/jit/loaded_kernels.hpp"
#include "engine/jit/lru.hpp"
#include "engine/jit/poller.hpp"
#include "engine/jit/verification.hpp"

namespace kiln::jit {
namespace {

// Far above what any real program takes to specialize (65 536 nodes at most after unrolling).
constexpr std::int64_t specialize_budget = std::int64_t(32) << 20;
constexpr std::size_t targets_max = 256;
constexpr std::string_view compile_flags;  // none: what workers pass to compilers is in their sources

struct DigestHash {
  std::size_t operator()(const Digest& digest) const { return KeyHash()(Key{digest}); }
};
using TargetPtr = std::shared_ptr<const target::Target>;
using ProgramPtr = std::shared_ptr<const bound::Program>;

// What a repeated request needs not work out again.
struct Prepared {
  ProgramPtr program;
  TargetPtr target;
  KnownCompilerPtr compiler;  // that `computed` is for; null: no key yet
  ComputedKey computed;
};
using PreparedPtr = std::shared_ptr<const Prepared>;

// Digest of (program text, bindings, target) as given.
Digest request_digest(const CompileRequest& request) {
  Writer w;
  w.bytes(*request.program_digest);
  w.string(request.target);
  w.count(request.bindings.set.size());
  for (const auto& [name, value] : request.bindings.set) w.string(name), w.string(value);
  w.count(request.bindings.layouts.size());
  for (const auto& [name, layout] : request.bindings.layouts) w.string(name), w.string(layout_spec_text(layout));
  w.count(request.bindings.align_bytes.size());
  for (const auto& [name, bytes] : request.bindings.align_bytes) w.string(name), w.i64(bytes);
  return sha256(w.data());
}

// Whether the object is an ELF file with the flags of `target`.
bool is_object_for(ByteView object, const target::Target& target) {
  Elf64_Ehdr head;
  if (object.size() < sizeof head) return false;
  std::memcpy(&head, object.data(), sizeof head);
  return std::memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_ident[EI_CLASS] == ELFCLASS64 &&
         head.e_flags == target.elf_flags;
}

// The entry's metadata, if the entry is one of this engine's for `target` (null: for the one that it names).
std::optional<compile::Metadata> sound_metadata(const StoredObject& stored, const target::Target* target) {
  auto metadata = compile::decode_metadata(stored.metadata);
  if (!metadata) return std::nullopt;
  if (target) {
    if (metadata->target != target->full || !is_object_for(stored.object, *target)) return std::nullopt;
    return std::move(*metadata);
  }
  const auto named = target::parse_target(metadata->target);
  if (!named || !is_object_for(stored.object, *named)) return std::nullopt;
  return std::move(*metadata);
}

// Whether a filter's list, which may be empty, has it.
bool listed(const std::vector<std::string>& list, const std::string& name) {
  return list.empty() || std::find(list.begin(), list.end(), name) != list.end();
}

class SessionImpl final : public Session {
 public:
  SessionImpl(SessionOptions options, Digest headers);
  ~SessionImpl() override;
  void compile(CompileRequest request, CompileDone done) override;
  Result<KernelPtr> find(const Key& key) override;
  std::vector<KernelPtr> kernels() override;
  bool forget(const Key& key) override;
  std::vector<std::string> device_names() override { return loaded_.names(); }
  std::vector<std::string> find_devices() override { return loaded_.find(); }
  Result<std::string> device_name(const std::string& name) override { return loaded_.name_of(name); }
  Result<device::Device*> device(const std::string& name) override { return loaded_.device(name); }
  Result<std::string> device_target(const std::string& name) override { return loaded_.target(name); }
  Result<LoadedKernelPtr> load(const KernelPtr& kernel, const std::string& device) override {
    return loaded_.load(kernel, device);
  }
  Result<VerifyResult> verify(const bound::Program& program, const std::vector<VerifyArgument>& before,
                              const std::vector<VerifyArgument>& after, Deadline deadline,
                              CancelToken cancel) override {
    KILN_TRY(auto results, verification_.verify(program, before, {after}, deadline, std::move(cancel)));
    return std::move(results.front());
  }
  Result<std::vector<VerifyResult>> verify_all(const bound::Program& program, const std::vector<VerifyArgument>& before,
                                               const std::vector<std::vector<VerifyArgument>>& after,
                                               Deadline deadline, CancelToken cancel) override {
    return verification_.verify(program, before, after, deadline, std::move(cancel));
  }
  Result<std::unique_ptr<device::Device>> private_device(const std::string& name) override {
    return loaded_.private_device(name);
  }
  std::uint64_t compilers() override { return identities_.generation(); }
  std::vector<FamilyCompiler> family_compilers() override { return identities_.families(); }
  SessionStats stats() override;
  ObjectStore& store() override { return *options_.store; }
  Result<ExportReport> export_kernels(int fd, const KernelFilter& filter,
                                      std::function<Status(std::uint64_t)> admit) override;
  Result<ImportReport> import_kernels(int fd, std::function<Status()> go_on) override;

 private:
  static compile::PoolOptions pool_options(const SessionOptions& options);
  FlightHooks hooks();
  Result<TargetPtr> target_of(const std::string& text);
  Result<PreparedPtr> prepare(const CompileRequest& request);
  PreparedPtr prepared_before(const Digest& digest);
  void remember(const Digest& digest, PreparedPtr prepared);
  ComputedKey key_for(const Prepared& prepared, const Digest& compiler) const;
  bool answer_from_memory(const CompileRequest& request, const Prepared& prepared, const CompileDone& done,
                          std::chrono::steady_clock::time_point began);
  void ask_compiler(const WaiterPtr& waiter, const std::optional<Digest>& digest);
  void compiler_known(const WaiterPtr& waiter, const KnownCompilerPtr& compiler, const std::optional<Digest>& digest);
  bool hit(const WaiterPtr& waiter, const ComputedKey& computed, std::optional<Error>& unread);
  void explain(Waiter& waiter, ComputedKey computed, const KnownCompiler& compiler) const;
  KernelPtr in_memory(const Key& key);
  KernelPtr on_disk(const Key& key, const target::Target* target, ProgramPtr program,
                    std::optional<Error>* unread = nullptr);
  void in_tier(const Key& key, const Waiter& waiter, std::function<void(KernelPtr)> done);
  void ask_tier(const WaiterPtr& waiter, const KnownCompilerPtr& compiler, const std::optional<Digest>& digest,
                std::size_t identity);
  void nowhere(const WaiterPtr& waiter, const KnownCompiler& compiler);
  void keep(const KernelPtr& kernel);
  Status still_valid(const Waiter& waiter, const KnownCompilerPtr& compiler);

  const SessionOptions options_;
  const Digest headers_;
  std::atomic<bool> closing_{false};
  std::atomic<std::uint64_t> requests_{0}, memory_hits_{0};
  std::mutex mutex_;
  Lru<Key, KernelPtr, KeyHash> kernels_;
  Lru<Digest, PreparedPtr, DigestHash> prepared_;
  std::map<std::string, TargetPtr> targets_;
  LoadedKernels loaded_;
  Verification verification_;
  Poller poller_;
  std::unique_ptr<compile::WorkerPool> pool_;
  CompilerIdentities identities_;
  Flights flights_;
};

// Slots that all processes with this store share: locks of keys that no kernel has.
std::shared_ptr<void> take_shared_slot(ObjectStore& store, int slots) {
  for (int i = 0; i < slots; ++i) {
    auto lock = store.try_lock({sha256(view("kiln: worker slot " + std::to_string(i)))});
    if (!lock) return std::make_shared<int>(i);  // without locks everyone has a slot
    if (*lock) return std::shared_ptr<CompileLock>(std::move(*lock));
  }
  return nullptr;
}

SessionImpl::SessionImpl(SessionOptions options, Digest headers)
    : options_(std::move(options)),
      headers_(headers),
      kernels_(options_.memory_entries_max),
      prepared_(options_.memory_entries_max),
      loaded_(options_),
      verification_(options_),
      pool_(compile::WorkerPool::create(pool_options(options_))),
      identities_(*options_.store, *pool_, options_.pool, poller_),
      flights_(*options_.store, *pool_, poller_, options_.tier.get(), hooks()) {}

SessionImpl::~SessionImpl() {
  const Error error(ErrorCode::cancelled, "the session is being closed", true);
  closing_ = true;
  poller_.stop();
  if (options_.tier) options_.tier->stop();
  pool_.reset();
  identities_.abort(error);
  flights_.abort(error);
}

compile::PoolOptions SessionImpl::pool_options(const SessionOptions& options) {
  auto pool = options.pool;
  if (pool.log_path.empty()) pool.log_path = options.log_path;
  if (pool.take_shared_slot) return pool;
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const int slots = std::max(cores, compile::workers_allowed(pool));
  pool.take_shared_slot = [store = options.store, slots] { return take_shared_slot(*store, slots); };
  return pool;
}

FlightHooks SessionImpl::hooks() {
  return {.lookup = [this](const Key& key,
                           const Waiter& waiter) { return on_disk(key, waiter.target.get(), waiter.program); },
          .fetch = [this](const Key& key, const Waiter& waiter,
                          std::function<void(KernelPtr)> done) { in_tier(key, waiter, std::move(done)); },
          .remember = [this](const KernelPtr& kernel) { keep(kernel); },
          .still_valid = [this](const Waiter& waiter,
                                const KnownCompilerPtr& compiler) { return still_valid(waiter, compiler); },
          .closing = [this] { return closing_.load(); },
          .begin_anew = [this](const WaiterPtr& waiter) { ask_compiler(waiter, std::nullopt); }};
}

// ---- preparing a request ------------------------------------------------------------------------------------------

Result<TargetPtr> SessionImpl::target_of(const std::string& text) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto it = targets_.find(text); it != targets_.end()) return it->second;
  }
  KILN_TRY(auto parsed, target::parse_target(text));
  auto target = std::make_shared<const target::Target>(std::move(parsed));
  const std::lock_guard lock(mutex_);
  if (targets_.size() < targets_max) targets_[text] = target;
  return target;
}

Result<PreparedPtr> SessionImpl::prepare(const CompileRequest& request) {
  if (!request.program) return Error(ErrorCode::invalid_argument, "a request without a program");
  auto prepared = std::make_shared<Prepared>();
  KILN_TRY(prepared->target, target_of(request.target));
  Budget budget(specialize_budget, request.deadline, request.cancel);
  KILN_TRY(auto program, specialize::specialize(*request.program, request.bindings, *prepared->target, budget));
  prepared->program = std::make_shared<const bound::Program>(std::move(program));
  return PreparedPtr(std::move(prepared));
}

PreparedPtr SessionImpl::prepared_before(const Digest& digest) {
  const std::lock_guard lock(mutex_);
  const auto* there = prepared_.find(digest);
  return there ? *there : nullptr;
}

void SessionImpl::remember(const Digest& digest, PreparedPtr prepared) {
  const std::lock_guard lock(mutex_);
  prepared_.put(digest, std::move(prepared));
}

ComputedKey SessionImpl::key_for(const Prepared& prepared, const Digest& compiler) const {
  const auto headers = prepared.target->is_host() ? Digest{} : headers_;
  return compute_key({*prepared.program, prepared.target->full, compiler, headers, std::string(compile_flags)});
}

void SessionImpl::explain(Waiter& waiter, ComputedKey computed, const KnownCompiler& compiler) const {
  if (!waiter.request.explain_key) return;
  for (auto& part : computed.parts)
    if (part.name == "compiler") part.value = compiler.description;
  waiter.key_parts = std::move(computed.parts);
}

// ---- the path of a request ----------------------------------------------------------------------------------------

void SessionImpl::compile(CompileRequest request, CompileDone done) {
  const auto began = std::chrono::steady_clock::now();
  ++requests_;
  if (closing_) return done(Error(ErrorCode::cancelled, "the session is being closed", true));
  std::optional<Digest> digest;
  PreparedPtr prepared;
  if (request.program_digest) {
    digest = request_digest(request);
    prepared = prepared_before(*digest);
  }
  if (prepared && answer_from_memory(request, *prepared, done, began)) return;
  if (!prepared) {
    auto made = prepare(request);
    if (!made) return done(std::move(made).error());
    prepared = std::move(*made);
    if (digest) remember(*digest, prepared);
  }
  auto waiter = std::make_shared<Waiter>(std::move(request), std::move(done));
  waiter->program = prepared->program;
  waiter->target = prepared->target;
  if (auto compiler = identities_.current(compile::family_of(*prepared->target)))
    return compiler_known(waiter, compiler, digest);
  ask_compiler(waiter, digest);
}

void SessionImpl::ask_compiler(const WaiterPtr& waiter, const std::optional<Digest>& digest) {
  poller_.until([this, waiter] { return flights_.watch(waiter); }, watch_interval_max);
  waiter->report("asking for the compiler's identity", 0.05);
  identities_.find(*waiter->target, [this, waiter, digest](const KnownCompilerPtr& compiler) {
    compiler_known(waiter, compiler, digest);
  });
}

// The quick way of a repeated request.
bool SessionImpl::answer_from_memory(const CompileRequest& request, const Prepared& prepared, const CompileDone& done,
                                     std::chrono::steady_clock::time_point began) {
  if (!prepared.compiler || request.explain_key) return false;
  if (identities_.current(compile::family_of(*prepared.target)) != prepared.compiler) return false;
  CompileOutcome outcome;
  outcome.kernel = in_memory(prepared.computed.key);
  if (!outcome.kernel) return false;
  ++memory_hits_;
  outcome.cached = true;
  outcome.origin = "memory";
  outcome.program = prepared.program;
  outcome.total_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count();
  done(std::move(outcome));
  return true;
}

void SessionImpl::compiler_known(const WaiterPtr& waiter, const KnownCompilerPtr& compiler,
                                 const std::optional<Digest>& digest) {
  if (waiter->finished()) return;
  Prepared prepared{waiter->program, waiter->target, compiler, {}};
  std::optional<Error> unread;  // what may be on disk
  for (const auto& identity : compiler->digests) {
    prepared.computed = key_for(prepared, identity);
    explain(*waiter, prepared.computed, *compiler);
    if (!hit(waiter, prepared.computed, unread)) continue;
    if (digest) remember(*digest, std::make_shared<const Prepared>(std::move(prepared)));
    return;
  }
  if (closing_) return void(waiter->finish(Error(ErrorCode::cancelled, "the session is being closed", true)));
  if (waiter->request.must_hit && unread) return void(waiter->finish(std::move(*unread)));
  // A miss, or nobody compiles: since, a toolchain may have been installed.
  if (identities_.look_again(compile::family_of(*waiter->target))) return ask_compiler(waiter, digest);
  if (waiter->request.must_hit && compiler->absent && compiler->absent->code == ErrorCode::resource_limit)
    return void(waiter->finish(*compiler->absent));  // under which key it lies is not known now
  if (waiter->request.must_hit || compiler->absent) {
    if (!options_.tier || compiler->digests.empty()) return nowhere(waiter, *compiler);
    poller_.until([this, waiter] { return flights_.watch(waiter); }, watch_interval_max);
    return ask_tier(waiter, compiler, digest, 0);
  }
  const auto key = prepared.computed.key;
  if (digest) remember(*digest, std::make_shared<const Prepared>(std::move(prepared)));
  poller_.until([this, waiter] { return flights_.watch(waiter); }, watch_interval_max);
  flights_.join(key, compiler, waiter);
}

// Nobody compiles for this one: its answer when the kernel is found nowhere.
void SessionImpl::nowhere(const WaiterPtr& waiter, const KnownCompiler& compiler) {
  if (!waiter->request.must_hit) return void(waiter->finish(*compiler.absent));
  auto error = Error(ErrorCode::must_hit, "the kernel is not in the cache, and the request says must_hit");
  if (!compiler.digests.empty()) {
    const Prepared prepared{waiter->program, waiter->target, nullptr, {}};
    error.context.push_back("key: " + key_for(prepared, compiler.digests.back()).key.hex());
  }
  if (compiler.absent) error.context.push_back("no compiler answers: " + compiler.absent->message);
  waiter->finish(std::move(error));
}

// Asks the remote tier for the kernel that nobody compiles for this one, by each of the compiler's identities from
// `identity` on.
void SessionImpl::ask_tier(const WaiterPtr& waiter, const KnownCompilerPtr& compiler,
                           const std::optional<Digest>& digest, std::size_t identity) {
  if (waiter->finished()) return;
  if (identity == compiler->digests.size()) return nowhere(waiter, *compiler);
  Prepared prepared{waiter->program, waiter->target, compiler, {}};
  prepared.computed = key_for(prepared, compiler->digests[identity]);
  waiter->report("asking the remote tier", 0.15);
  const auto key = prepared.computed.key;
  in_tier(key, *waiter, [=, this, prepared = std::move(prepared)](KernelPtr kernel) {
    if (!kernel) return ask_tier(waiter, compiler, digest, identity + 1);
    explain(*waiter, prepared.computed, *compiler);
    keep(kernel);
    if (digest) remember(*digest, std::make_shared<const Prepared>(prepared));
    auto outcome = store_kernel(*options_.store, std::move(kernel));
    outcome.cached = true;
    outcome.origin = "tier";
    outcome.program = waiter->program;
    outcome.key_parts = waiter->key_parts;
    waiter->finish(std::move(outcome));
  });
}

void SessionImpl::in_tier(const Key& key, const Waiter& waiter, std::function<void(KernelPtr)> done) {
  auto kernel = std::make_shared<Kernel>();
  kernel->key = key;
  kernel->program = waiter.program;
  const auto sound = [kernel, target = waiter.target](const StoredObject& stored) {
    auto metadata = sound_metadata(stored, target.get());
    if (metadata) kernel->metadata = std::move(*metadata);
    return metadata.has_value();
  };
  options_.tier->fetch(key, sound, [kernel, done = std::move(done)](std::shared_ptr<const StoredObject> stored) {
    if (!stored) return done(nullptr);
    kernel->stored = std::move(stored);
    done(kernel);
  });
}

// Answers from memory or disk. `unread`: as of ObjectStore::lookup.
bool SessionImpl::hit(const WaiterPtr& waiter, const ComputedKey& computed, std::optional<Error>& unread) {
  CompileOutcome outcome;
  outcome.kernel = in_memory(computed.key);
  outcome.origin = outcome.kernel ? "memory" : "disk";
  if (!outcome.kernel) outcome.kernel = on_disk(computed.key, waiter->target.get(), waiter->program, &unread);
  if (!outcome.kernel) return false;
  if (outcome.origin == "memory") ++memory_hits_;
  if (!outcome.kernel->program) {  // was found by key only
    auto kernel = std::make_shared<Kernel>(*outcome.kernel);
    kernel->program = waiter->program;
    outcome.kernel = std::move(kernel);
    keep(outcome.kernel);
  } else if (outcome.origin == "disk") {
    keep(outcome.kernel);
  }
  outcome.cached = true;
  outcome.program = waiter->program;
  outcome.key_parts = waiter->key_parts;
  waiter->finish(std::move(outcome));
  return true;
}

// What a worker made belongs under its key only if compiler and headers are still those that the key was made with.
Status SessionImpl::still_valid(const Waiter& waiter, const KnownCompilerPtr& compiler) {
  const auto family = compile::family_of(*waiter.target);
  const auto now = identities_.current(family);
  if (!closing_ && now != compiler) return Error(ErrorCode::busy, "the compiler was replaced during the compile", true);
  if (waiter.target->is_host() || options_.header_folder.empty()) return {};
  KILN_TRY(const auto headers, hash_folder(options_.header_folder));
  if (headers != headers_)
    return Error(ErrorCode::busy, "the device headers were changed while this process runs: restart it");
  return {};
}

// ---- kernels ------------------------------------------------------------------------------------------------------

KernelPtr SessionImpl::in_memory(const Key& key) {
  const std::lock_guard lock(mutex_);
  const auto* there = kernels_.find(key);
  return there ? *there : nullptr;
}

void SessionImpl::keep(const KernelPtr& kernel) {
  const std::lock_guard lock(mutex_);
  kernels_.put(kernel->key, kernel);
}

// `target` null: the one that the entry names.
KernelPtr SessionImpl::on_disk(const Key& key, const target::Target* target, ProgramPtr program,
                               std::optional<Error>* unread) {
  auto kernel = std::make_shared<Kernel>();
  const auto sound = [&](const StoredObject& stored) {
    auto metadata = sound_metadata(stored, target);
    if (metadata) kernel->metadata = std::move(*metadata);
    return metadata.has_value();
  };
  kernel->stored = options_.store->lookup(key, sound, unread);
  if (!kernel->stored) return nullptr;
  kernel->key = key;
  kernel->program = std::move(program);
  return kernel;
}

Result<KernelPtr> SessionImpl::find(const Key& key) {
  if (auto kernel = in_memory(key)) return kernel;
  std::optional<Error> unread;
  auto kernel = on_disk(key, nullptr, nullptr, &unread);
  if (!kernel && unread) return std::move(*unread);
  if (!kernel) return Error(ErrorCode::not_found, "no kernel with key " + key.hex());
  keep(kernel);
  return kernel;
}

std::vector<KernelPtr> SessionImpl::kernels() {
  const std::lock_guard lock(mutex_);
  return kernels_.values();
}

bool SessionImpl::forget(const Key& key) {
  loaded_.unload(key);
  const std::lock_guard lock(mutex_);
  return kernels_.erase(key);
}

Result<ExportReport> SessionImpl::export_kernels(int fd, const KernelFilter& filter,
                                                 std::function<Status(std::uint64_t)> admit) {
  std::vector<std::string> whole, bare;  // targets with their features, and without any
  for (const auto& text : filter.targets) {
    KILN_TRY(const auto target, target_of(text));
    (text.find(':') == std::string::npos ? bare : whole).push_back(target->full);
  }
  ExportRequest request;
  request.keys = filter.keys;
  request.notes = identities_.note_names();
  request.admit = std::move(admit);
  request.sound = [](const StoredObject& stored) { return sound_metadata(stored, nullptr).has_value(); };
  const auto without_features = [](const std::string& target) { return target.substr(0, target.find(':')); };
  std::transform(bare.begin(), bare.end(), bare.begin(), without_features);
  request.wanted = [&](const StoredObject& stored) {
    const auto metadata = sound_metadata(stored, nullptr);
    if (!metadata || !listed(filter.programs, metadata->program)) return false;
    if (filter.targets.empty()) return true;
    const auto has = [](const auto& list, const auto& name) { return !list.empty() && listed(list, name); };
    return has(whole, metadata->target) || has(bare, without_features(metadata->target));
  };
  return options_.store->export_to(fd, request);
}

Result<ImportReport> SessionImpl::import_kernels(int fd, std::function<Status()> go_on) {
  ImportRequest request;
  request.notes = identities_.note_names();
  request.merge_note = &CompilerIdentities::merge_notes;
  request.go_on = std::move(go_on);
  request.sound = [](const StoredObject& stored) { return sound_metadata(stored, nullptr).has_value(); };
  auto report = options_.store->import_from(fd, request);
  identities_.notes_changed();
  return report;
}

SessionStats SessionImpl::stats() {
  SessionStats stats;
  stats.store = options_.store->stats();
  stats.pool = pool_->stats();
  stats.memory_hits = memory_hits_;
  stats.requests = requests_;
  stats.joined = flights_.joined();
  stats.kernels_loaded = loaded_.loaded();
  if (options_.tier) stats.tier = options_.tier->stats();
  return stats;
}

}  // namespace

Result<std::unique_ptr<Session>> Session::create(SessionOptions options) {
  if (!options.store) return Error(ErrorCode::invalid_argument, "a session needs an object store");
  Digest headers{};
  if (!options.header_folder.empty()) {
    KILN_TRY(headers, hash_folder(options.header_folder));
  }
  return std::unique_ptr<Session>(std::make_unique<SessionImpl>(std::move(options), headers));
}

Result<CompileOutcome> Session::compile_now(CompileRequest request) {
  std::promise<Result<CompileOutcome>> promise;
  auto future = promise.get_future();
  compile(std::move(request), [&promise](Result<CompileOutcome> result) { promise.set_value(std::move(result)); });
  return future.get();
}

}  // namespace kiln::jit
