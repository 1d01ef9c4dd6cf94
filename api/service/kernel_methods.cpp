#include <algorithm>
#include <cmath>

#include "api/service/report.hpp"
#include "api/service/state.hpp"
#include "api/service/tuning_json.hpp"
#include "engine/base/hash.hpp"

namespace kiln::service {

using protocol::Json;

namespace {

constexpr std::size_t memo_entries_max = 4096;
constexpr std::size_t own_programs_max = 4096;   // a connection
constexpr std::size_t prepare_kernels_max = 4096;

// What a compile request asks for, as text; empty when it is not to be answered from memory.
std::string memo_name(const ActiveCall& call) {
  const auto& p = call.params();
  if (p.contains("explain_key")) return {};
  const auto program = p.find("program");
  std::string name;
  if (const auto digest = p.find("digest"); digest != p.end() && digest->is_string()) name = "d:" + digest->get_ref<const std::string&>();
  else if (program != p.end() && program->is_string()) name = "n:" + program->get_ref<const std::string&>();
  else if (program != p.end() && program->is_object()) name = "t:" + to_hex(sha256(view(protocol::dump(*program))));
  else return {};
  for (const char* field : {"set", "layouts", "align", "target", "device", "tuned"})
    if (const auto it = p.find(field); it != p.end()) name += std::string("|") + field + protocol::dump(*it);
  return name;
}

std::uint64_t tuning_generation(const ServiceState& state) {
  return state.options.tuner ? state.options.tuner->generation() : 0;
}

// Numbers that say how long an answer holds.
struct Epoch {
  explicit Epoch(const ServiceState& state) : compilers(state.session->compilers()), tuning(tuning_generation(state)) {}
  std::uint64_t compilers, tuning;
};

void remember_program(const ActiveCall& call, const std::string& key_hex, std::shared_ptr<const bound::Program> program,
                      std::shared_ptr<const KernelSource> source) {
  std::lock_guard lock(call.state.mutex);
  auto& programs = call.connection->programs;
  if (programs.size() >= own_programs_max) programs.clear();
  programs[key_hex] = std::move(program);
  auto& sources = call.connection->sources;
  if (sources.size() >= own_programs_max) sources.clear();
  sources[key_hex] = std::move(source);
}

// Answers with the two parts of the report, and with the object when the request wants it.
void answer_kernel(const CallPtr& call, std::string head, const std::string& rest, const jit::Kernel* wanted) {
  std::vector<UniqueFd> fds;
  auto text = std::move(head) + rest;
  if (wanted) {
    const auto& object = wanted->stored->object;
    auto fd = sealed_memfd("kiln-object", object);
    if (!fd) return call->answer(std::move(fd).error());
    fds.push_back(std::move(*fd));
    text += ",\"object\":{\"fd\":0,\"bytes\":" + std::to_string(object.size()) + "}";
  }
  call->answer_text(std::move(text) + "}", std::move(fds));
}

bool answer_from_memo(const CallPtr& call, const std::string& memo, bool want_object) {
  auto& state = call->state;
  const Epoch now(state);
  std::string rest;
  std::shared_ptr<const jit::Kernel> kernel;
  {
    std::lock_guard lock(state.mutex);
    const auto it = state.hits.find(memo);
    if (it == state.hits.end() || it->second.compilers != now.compilers || it->second.tuning != now.tuning) return false;
    if (want_object && !(kernel = it->second.kernel.lock())) return false;
    rest = it->second.rest;
    call->connection->programs[it->second.key_hex] = it->second.program;
    call->connection->sources[it->second.key_hex] = it->second.source;
  }
  answer_kernel(call, outcome_head(true, "memory", 0), rest, kernel.get());
  return true;
}

// `then`: as it was when the request came.
void answer_outcome(const CallPtr& call, const std::string& memo, const Epoch& then, const jit::CompileOutcome& outcome,
                    const std::shared_ptr<const KernelSource>& source) {
  const auto rest = outcome_rest(outcome, source->bindings.set) + ",\"tuning\":" + source->tuning;
  const auto key_hex = outcome.kernel->key.hex();
  remember_program(*call, key_hex, outcome.program, source);
  if (!memo.empty() && outcome.stored) {
    std::lock_guard lock(call->state.mutex);
    if (call->state.hits.size() >= memo_entries_max) call->state.hits.clear();
    call->state.hits[memo] = {key_hex, rest, outcome.program, source, outcome.kernel, then.compilers, then.tuning};
  }
  const bool want_object = call->params().contains("want");
  answer_kernel(call, outcome_head(outcome.cached, outcome.origin, outcome.total_ms), rest, want_object ? outcome.kernel.get() : nullptr);
}

// A fresh call's request for one entry of kernel.prepare: the same reading, other params.
struct Preparation {
  CallPtr call;
  std::atomic<std::size_t> left{0}, done{0}, hits{0}, failed{0};
  std::size_t total = 0;
  std::mutex mutex;
  Json results = Json::array();
};

// Gives one share of the preparation back; the last one answers.
void release_share(Preparation& all) {
  if (--all.left > 0) return;
  std::lock_guard lock(all.mutex);
  all.call->answer(Json{{"kernels", std::move(all.results)}, {"total", all.total}, {"cached", all.hits.load()},
                        {"compiled", all.total - all.hits - all.failed}, {"failed", all.failed.load()}});
}

void prepared(const std::shared_ptr<Preparation>& all, std::size_t index, Result<jit::CompileOutcome> outcome) {
  Json entry;
  if (outcome) {
    entry = {{"key", outcome->kernel->key.hex()}, {"cached", outcome->cached}, {"program", outcome->kernel->metadata.program}};
    if (outcome->cached) ++all->hits;
  } else {
    entry = {{"error", protocol::error_json(outcome.error())}};
    ++all->failed;
  }
  {
    std::lock_guard lock(all->mutex);
    all->results[index] = std::move(entry);
  }
  const auto done = ++all->done;
  all->call->progress({{"stage", "prepare"}, {"done", done}, {"total", all->total}, {"fraction", double(done) / double(all->total)}});
  release_share(*all);
}

std::size_t statements(const tile::Body& body) {
  std::size_t count = 0;
  for (const auto& statement : body) {
    ++count;
    if (const auto* loop = std::get_if<tile::For>(&statement.node)) count += statements(loop->body);
    else if (const auto* choice = std::get_if<tile::If>(&statement.node)) count += statements(choice->then) + statements(choice->otherwise);
    else if (const auto* map = std::get_if<tile::Map>(&statement.node)) count += map->body.size();
  }
  return count;
}

// How long compiles take, to start the longest first: by those of the same program and architecture that this daemon knows, and
// by the number of statements where it knows none. Those come first: how long they take is not known to be short.
class ExpectedTimes {
 public:
  explicit ExpectedTimes(jit::Session& session) {
    for (const auto& kernel : session.kernels()) {
      auto& longest_ms = longest_ms_[name(kernel->metadata.program, kernel->metadata.target)];
      longest_ms = std::max(longest_ms, kernel->metadata.compile_ms);
    }
  }
  // Larger: earlier.
  [[nodiscard]] std::pair<std::size_t, double> of(const jit::CompileRequest& request) const {
    const auto known = longest_ms_.find(name(request.program->name, request.target));
    if (known != longest_ms_.end()) return {0, known->second};
    std::size_t count = 1;
    for (const auto& launch : request.program->launches) count += statements(launch.body);
    return {count, 0};
  }

 private:
  static std::string name(const std::string& program, const std::string& target) { return target.substr(0, target.find(':')) + " " + program; }
  std::unordered_map<std::string, double> longest_ms_;
};

// What the request may be compiled by beside what it says itself; empty: nothing.
Result<jit::NamedTuningRecord> record_for(const CallPtr& call, const Json& params, const jit::CompileRequest& request) {
  auto& tuner = call->state.options.tuner;
  const protocol::Fields fields(params, "/params");
  KILN_TRY(const bool wanted, fields.boolean_or("tuned", true));
  if (!tuner || !wanted) return jit::NamedTuningRecord();
  std::string device;
  if (fields.has("device")) {
    KILN_TRY(const auto named, fields.text("device"));
    KILN_TRY(device, find_device(*call, named));
  }
  return tuner->find({request.program, *request.program_digest, request.bindings, request.target, device});
}

// Whether a program's defaults may do what a record's choice cannot.
bool may_fit_otherwise(const Error& error) {
  return error.code == ErrorCode::program_invalid || error.code == ErrorCode::unsupported ||
         error.code == ErrorCode::compile_failed || error.code == ErrorCode::resource_limit;
}

std::shared_ptr<const KernelSource> source_of(const jit::CompileRequest& request, const jit::NamedTuningRecord& used) {
  return std::make_shared<const KernelSource>(KernelSource{request.program, request.bindings, request.target,
                                                           used.record ? protocol::dump(used_json(used)) : "\"default\""});
}

// Mistakes in parameters, as those of an entry at `pointer`.
Error below(Error error, const std::string& pointer) {
  constexpr std::string_view params = "/params";
  const auto rebase = [&](std::string& text) {
    if (text.starts_with(params) && !text.starts_with(pointer)) text.replace(0, params.size(), pointer);
  };
  rebase(error.message);
  for (auto& d : error.diagnostics) rebase(d.pointer);
  return error;
}

// Of one entry of kernel.prepare; mistakes of its parameters point into the entry.
Result<jit::CompileRequest> entry_request(const CallPtr& call, const Json& entry, const std::string& pointer) {
  const protocol::Fields fields(entry, pointer);
  KILN_CHECK(fields.only({"program", "digest", "set", "layouts", "align", "target", "device", "must_hit", "tuned",
                          "explain_key", "want"}));
  auto request = compile_request(call, entry, pointer);
  if (request) return request;
  return below(std::move(request).error(), pointer);
}

void tell_progress(const CallPtr& call, jit::CompileRequest& request) {
  std::weak_ptr<ActiveCall> weak = call;
  request.progress = [weak](const std::string& stage, double fraction) {
    if (const auto alive = weak.lock()) alive->progress({{"stage", stage}, {"fraction", fraction}});
  };
}

}  // namespace

Result<jit::CompileRequest> read_compile_request(const CallPtr& call) {
  KILN_TRY(auto request, compile_request(call, call->params(), "/params"));
  tell_progress(call, request);
  return request;
}

Result<jit::CompileRequest> compile_request(const CallPtr& call, const Json& params, const std::string& pointer) {
  const protocol::Fields fields(params, pointer);
  jit::CompileRequest request;
  KILN_TRY(auto known, call->state.catalog.resolve(params));
  request.program = known.program;
  request.program_digest = known.sha256;
  KILN_TRY(request.bindings, read_bindings(params));
  if (fields.has("target")) {
    KILN_TRY(request.target, fields.text_or("target", ""));
  } else {  // what the device that it is to run on takes
    KILN_TRY(const auto named, fields.text_or("device", "host"));
    KILN_TRY(const auto device, find_device(*call, named));
    KILN_TRY(request.target, call->state.session->device_target(device));
  }
  KILN_TRY(request.must_hit, fields.boolean_or("must_hit", false));
  KILN_TRY(request.explain_key, fields.boolean_or("explain_key", false));
  request.owner = call->call.connection;
  request.deadline = call->call.deadline;
  request.cancel = call->call.cancel;
  return request;
}

namespace {

// A compile is worth a line: who asked for what, and how long it took.
void log_compiled(const ActiveCall& call, const Result<jit::CompileOutcome>& outcome) {
  const auto& log = call.state.options.log;
  if (!log || !outcome || outcome->origin != "compiled") return;
  const auto& kernel = *outcome->kernel;
  log(LogLevel::info, call.name() + " compiled " + kernel.metadata.program + " for " + kernel.metadata.target + " in " +
                          std::to_string(std::llround(outcome->total_ms)) + " ms, key " + kernel.key.hex() +
                          (outcome->stored ? "" : "; not stored: " + outcome->why_not_stored));
}

}  // namespace

void compile_tuned(const CallPtr& call, const Json& params, jit::CompileRequest request, CompiledFrom told) {
  const CompiledFrom done = [call, told = std::move(told)](Result<jit::CompileOutcome> outcome, auto source) {
    log_compiled(*call, outcome);
    told(std::move(outcome), std::move(source));
  };
  auto used = record_for(call, params, request);
  if (!used) return done(std::move(used).error(), nullptr);
  auto plain = source_of(request, {});
  if (!used->record)
    return call->state.session->compile(std::move(request), [plain, done](Result<jit::CompileOutcome> outcome) {
      done(std::move(outcome), plain);
    });
  auto tuned = request;
  for (const auto& [name, value] : used->record->set) tuned.bindings.set.emplace(name, value);
  for (const auto& [tile, text] : used->record->layouts)
    if (const auto layout = layout_spec_from_text(text)) tuned.bindings.layouts.emplace(tile, *layout);
  auto source = source_of(tuned, *used);
  call->state.session->compile(std::move(tuned), [call, request = std::move(request), plain, source,
                                                  done](Result<jit::CompileOutcome> outcome) {
    if (outcome || !may_fit_otherwise(outcome.error())) return done(std::move(outcome), source);
    call->state.session->compile(request, [plain, done](Result<jit::CompileOutcome> again) { done(std::move(again), plain); });
  });
}

void kernel_compile(const CallPtr& call) {
  const auto want = call->fields.text_or("want", "");
  if (!want) return call->answer(want.error());
  if (!want->empty() && *want != "fd") return call->answer(call->fields.error("want", "\"fd\""));
  const auto memo = memo_name(*call);
  if (!memo.empty() && answer_from_memo(call, memo, !want->empty())) return;
  const Epoch now(call->state);
  call->state.pool.run([call, memo, now] {
    auto request = read_compile_request(call);
    if (!request) return call->answer(std::move(request).error());
    compile_tuned(call, call->params(), std::move(*request), [call, memo, now](Result<jit::CompileOutcome> outcome, auto source) {
      if (!outcome) return call->answer(std::move(outcome).error());
      answer_outcome(call, memo, now, *outcome, source);
    });
  });
}

void kernel_prepare(const CallPtr& call) {
  auto kernels = call->fields.array("kernels", prepare_kernels_max);
  if (!kernels) return call->answer(std::move(kernels).error());
  auto all = std::make_shared<Preparation>();
  all->call = call;
  all->total = (*kernels)->size();
  all->left = all->total + 1;  // one for this loop
  struct Planned { std::size_t index; Result<jit::CompileRequest> request; std::pair<std::size_t, double> expected; };
  std::vector<Planned> planned;
  const ExpectedTimes times(*call->state.session);
  for (std::size_t i = 0; i < all->total; ++i) {
    all->results.push_back(nullptr);
    auto request = entry_request(call, (**kernels)[i], "/params/kernels/" + std::to_string(i));
    const auto expected = request ? times.of(*request) : std::pair<std::size_t, double>();
    planned.push_back({i, std::move(request), expected});
  }
  std::stable_sort(planned.begin(), planned.end(), [](const Planned& a, const Planned& b) { return a.expected > b.expected; });
  for (auto& p : planned) {
    if (!p.request) { prepared(all, p.index, p.request.error()); continue; }
    compile_tuned(call, (**kernels)[p.index], std::move(*p.request), [all, index = p.index](Result<jit::CompileOutcome> outcome, auto) {
      prepared(all, index, std::move(outcome));
    });
  }
  release_share(*all);
}

namespace {

Result<NamedKernel> kernel_by_key(const ActiveCall& call, const protocol::Fields& fields) {
  KILN_TRY(const auto text, fields.text("key"));
  KILN_TRY(const auto key, jit::Key::from_hex(text));
  NamedKernel named;
  KILN_TRY(named.kernel, call.state.session->find(key));
  named.program = named.kernel->program;
  std::lock_guard lock(call.state.mutex);
  const auto& [programs, sources] = std::tie(call.connection->programs, call.connection->sources);
  if (const auto own = programs.find(key.hex()); own != programs.end()) named.program = own->second;
  if (const auto own = sources.find(key.hex()); own != sources.end()) named.source = own->second;
  return named;
}

}  // namespace

void find_kernel(const CallPtr& call, const Json& params, const std::string& pointer,
                 std::function<void(Result<NamedKernel>)> next) {
  if (params.contains("key")) return next(kernel_by_key(*call, protocol::Fields(params, pointer)));
  auto request = compile_request(call, params, pointer);
  if (!request) return next(below(std::move(request).error(), pointer));
  tell_progress(call, *request);
  compile_tuned(call, params, std::move(*request), [call, next](Result<jit::CompileOutcome> outcome, auto source) {
    if (!outcome) return next(std::move(outcome).error());
    remember_program(*call, outcome->kernel->key.hex(), outcome->program, source);
    next(NamedKernel{outcome->kernel, outcome->program, source});
  });
}

void with_kernel(const CallPtr& call, std::function<void(std::shared_ptr<const jit::Kernel>, std::shared_ptr<const bound::Program>)> next) {
  const auto found = [call, next = std::move(next)](Result<NamedKernel> named) {
    if (!named) return call->answer(std::move(named).error());
    next(std::move(named->kernel), std::move(named->program));
  };
  if (call->fields.has("key")) return find_kernel(call, call->params(), "/params", found);
  ActiveCall::run_on(call, call->state.pool, [call, found] { find_kernel(call, call->params(), "/params", found); });
}

void kernel_load(const CallPtr& call) {
  with_kernel(call, [call](std::shared_ptr<const jit::Kernel> kernel, const auto&) {
    ActiveCall::begin_waiting(call);   // for the device's process
    std::string device;
    const auto status = [&]() -> Status {
      KILN_CHECK(call->not_stopped());
      KILN_TRY(const auto named, call->fields.text_or("device", "host"));
      KILN_TRY(device, find_device(*call, named));
      KILN_CHECK(call->state.session->load(kernel, device));
      return ok();
    }();
    if (!call->begin_work()) return;
    if (!status) return call->answer(status.error());
    call->answer(Json{{"key", kernel->key.hex()}, {"device", device}});
  });
}

void kernel_explain(const CallPtr& call) {
  with_kernel(call, [call](const std::shared_ptr<const jit::Kernel>& kernel, const auto& program) {
    std::shared_ptr<const KernelSource> source;
    {
      std::lock_guard lock(call->state.mutex);
      const auto& sources = call->connection->sources;
      if (const auto found = sources.find(kernel->key.hex()); found != sources.end()) source = found->second;
    }
    auto text = explain_text(*kernel, program.get(), source ? source->bindings.set : SetValues());
    if (source) text.insert(text.size() - 1, ",\"tuning\":" + source->tuning);   // before the brace that ends it
    call->answer_text(std::move(text));
  });
}

void kernel_list(const CallPtr& call) {
  Json list = Json::array();
  for (const auto& kernel : call->state.session->kernels())
    list.push_back({{"key", kernel->key.hex()}, {"program", kernel->metadata.program}, {"target", kernel->metadata.target},
                    {"compile_ms", kernel->metadata.compile_ms}, {"object_bytes", kernel->stored ? kernel->stored->object.size() : 0}});
  call->answer(Json{{"kernels", std::move(list)}});
}

void kernel_unload(const CallPtr& call) {
  auto text = call->fields.text("key");
  auto key = text ? jit::Key::from_hex(*text) : Result<jit::Key>(text.error());
  if (!key) return call->answer(std::move(key).error());
  {
    std::unique_lock lock(call->state.mutex);
    auto free = not_in_plan(*call->connection, *key);
    lock.unlock();
    if (!free) return call->answer(std::move(free).error());
  }
  const bool known = call->state.session->forget(*key);
  {
    std::lock_guard lock(call->state.mutex);
    std::erase_if(call->state.hits, [&](const auto& entry) { return entry.second.key_hex == *text; });
  }
  if (!known) return call->answer(Error(ErrorCode::not_found, "this daemon knows no kernel " + *text));
  call->answer(Json::object());
}

}  // namespace kiln::service
