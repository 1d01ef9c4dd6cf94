// kernel.tune and the records that it makes.
#include <algorithm>

#include "api/service/launch_job.hpp"
#include "api/service/tuning_json.hpp"
#include "engine/capture/capture.hpp"

namespace kiln::service {

using protocol::Fields;
using protocol::Json;

namespace {

constexpr std::size_t candidates_limit = 4096;
constexpr std::int64_t deadline_ms_max = 3600000;
constexpr std::uint64_t seed = 0;

Error no_tuner() { return Error(ErrorCode::unsupported, "this build tunes nothing"); }

// Where to measure, by its one name.
Result<std::string> tune_device(const CallPtr& call) {
  if (call->fields.has("device")) {
    KILN_TRY(const auto named, call->fields.text("device"));
    return find_device(*call, named);
  }
  KILN_TRY(const auto target, call->fields.text_or("target", "host"));
  return find_device(*call, target.starts_with("host") ? "host" : "emu:" + target);
}

// Candidates are compiled for what runs them.
Status check_target(const CallPtr& call, const std::string& device, const std::string& compiled_for) {
  KILN_TRY(const auto text, call->state.session->device_target(device));
  KILN_TRY(const auto runs, target::parse_target(text));
  KILN_TRY(const auto wanted, target::parse_target(compiled_for));
  if (target::serves(wanted, runs)) return ok();
  return call->fields.error("target", "a target that " + device + " runs, such as " + runs.full);
}

Result<jit::Words> words_of(const Fields& fields, const char* name) {
  jit::Words words;
  if (!fields.has(name)) return words;
  KILN_TRY(const Json* object, fields.object(name));
  const Fields values(*object, fields.pointer(name));
  for (const auto& [key, value] : object->items()) {
    if (value.is_string()) words[key] = value.get<std::string>();
    else if (value.is_boolean()) words[key] = value.get<bool>() ? "true" : "false";
    else if (value.is_number_integer()) words[key] = std::to_string(value.get<std::int64_t>());
    else return values.error(key, "an integer, a string or a boolean");
  }
  return words;
}

Result<jit::TuneCandidate> read_candidate(const CallPtr& call, const Json& value, const std::string& pointer) {
  const Fields fields(value, pointer);
  KILN_CHECK(fields.only({"name", "set", "layouts", "program"}));
  jit::TuneCandidate candidate;
  KILN_TRY(candidate.name, fields.text_or("name", ""));
  if (!jit::printable(candidate.name) || candidate.name.size() > tuning_name_bytes_max)
    return fields.error("name", "printable text of at most " + std::to_string(tuning_name_bytes_max) + " bytes");
  KILN_TRY(candidate.set, words_of(fields, "set"));
  KILN_TRY(candidate.layouts, words_of(fields, "layouts"));
  for (const auto& [tile, text] : candidate.layouts)
    if (!layout_spec_from_text(text))
      return fields.error("layouts", "layouts: auto, row_major, pad:BYTES or swizzle:CHUNK,DIVISOR,ROWS");
  if (fields.has("program")) {
    auto resolved = call->state.catalog.resolve(value);
    if (!resolved) {
      for (auto& d : resolved.error().diagnostics) d.pointer = fields.pointer("program") + d.pointer;
      return std::move(resolved).error();
    }
    const auto& known = *resolved;
    candidate.program = known.program;
    candidate.program_digest = known.sha256;
  }
  return candidate;
}

// The arguments of a tune's launches: the caller's where "args" has them, else as `kiln run` makes them. Its memory
// counts as long as this lives.
class TuneArguments {
 public:
  explicit TuneArguments(CallPtr call) : call_(std::move(call)) {}

  // Of what the caller gave, by name, as far as it decides what is done: numbers, and tensors of integers (places,
  // lengths). The rest is the program's alone.
  Result<Digest> digest(const bound::Program& program) {
    KILN_TRY(const Json args, read(program));
    Writer w;
    for (std::size_t i = 0; i < program.arguments(); ++i) {
      const auto& tensor = program.tensors[i];
      if (!tensor.scalar && !args.contains(tensor.name)) continue;
      KILN_TRY(const auto input, one(tensor, i, args));
      if (!tensor.scalar) shares_.pop_back();  // a look alone
      if (!tensor.scalar && (input.bytes == 0 || is_float(tensor.dtype))) continue;
      w.string(tensor.name);
      w.bytes(input.scalar);
      if (tensor.scalar) continue;
      KILN_TRY(const auto mapped, Mapping::map(input.memory.get(), std::size_t(input.bytes), false));
      w.bytes(sha256(mapped.bytes()));
    }
    return sha256(w.data());
  }

  Result<std::vector<jit::TuneInput>> make(const bound::Program& program) {
    std::vector<jit::TuneInput> inputs;
    KILN_TRY(const Json args, read(program));
    for (std::size_t i = 0; i < program.arguments(); ++i) {
      KILN_TRY(auto input, one(program.tensors[i], i, args));
      inputs.push_back(std::move(input));
    }
    return inputs;
  }

 private:
  Result<Json> read(const bound::Program& program) const {
    if (!call_->fields.has("args")) return Json::object();
    KILN_TRY(const Json* args, call_->fields.object("args"));
    for (const auto& [name, value] : args->items())
      if (std::none_of(program.tensors.begin(), program.tensors.end(),
                       [&, &n = name](const auto& t) { return t.name == n; }))
        return Fields(*args, "/params/args").error(name, "an argument of the program");
    return *args;
  }
  Result<jit::TuneInput> one(const bound::Tensor& tensor, std::size_t index, const Json& args) {
    const Fields fields(args, "/params/args");
    const Json* given = fields.find(tensor.name);
    jit::TuneInput input;
    if (tensor.scalar) {
      if (given == nullptr)
        return fields.error(tensor.name, std::string("a number: the program takes a ") + dtype_name(tensor.dtype));
      KILN_TRY(input.scalar, read_scalar(*given, tensor.dtype, fields.pointer(tensor.name)));
      return input;
    }
    input.bytes = std::uint64_t(tensor.bytes());
    KILN_TRY(auto share, call_->state.memory->take(input.bytes));
    shares_.push_back(std::move(share));
    KILN_TRY(input.memory, create_memfd("kiln-tune-input", std::max<std::size_t>(input.bytes, 1)));
    if (given != nullptr) {
      KILN_CHECK(copy(*given, fields.pointer(tensor.name), input));
      return input;
    }
    KILN_TRY(const auto mapped, Mapping::map(input.memory.get(), std::max<std::size_t>(input.bytes, 1), true));
    const auto& call = call_->call;
    const bool whole = capture::generate(tensor.dtype, tensor.access != Access::write, capture::tensor_seed(seed, index),
                                         {mapped.data(), std::size_t(input.bytes)},
                                         [&] { return call.cancel.cancelled() || call.deadline.passed(); });
    if (!whole && call.cancel.cancelled()) return Error(ErrorCode::cancelled, "cancelled");
    if (!whole) return Error(ErrorCode::deadline_exceeded, "the deadline passed while inputs were generated");
    return input;
  }

  Status copy(const Json& value, const std::string& pointer, const jit::TuneInput& input) {
    const Fields fields(value, pointer);
    KILN_CHECK(fields.only({"buffer", "offset"}));
    KILN_TRY(const auto id, fields.integer("buffer", 1, protocol::integer_magnitude_max));
    KILN_TRY(const auto offset, fields.integer_or("offset", 0, 0, protocol::integer_magnitude_max));
    std::shared_ptr<Buffer> buffer;
    {
      std::lock_guard lock(call_->state.mutex);
      const auto found = call_->connection->buffers.find(std::uint64_t(id));
      if (found != call_->connection->buffers.end()) buffer = found->second;
    }
    if (!buffer) return fields.error("buffer", "an id from buffer.register or buffer.alloc");
    if (std::uint64_t(offset) > buffer->size() || input.bytes > buffer->size() - std::uint64_t(offset))
      return fields.error(
          "offset", std::to_string(input.bytes) + " bytes behind it; the buffer has " + std::to_string(buffer->size()));
    KILN_CHECK(buffer->copy_in(std::uint64_t(offset), input.bytes));
    return buffer->read(std::uint64_t(offset), input.bytes, input.memory.get());
  }

  const CallPtr call_;
  std::vector<MemoryShare> shares_;
};

Result<jit::TuneRequest> read_tune(const CallPtr& call) {
  jit::TuneRequest request;
  KILN_TRY(request.device, tune_device(call));
  Json params = call->params();
  params["device"] = request.device;
  KILN_TRY(request.base, compile_request(call, params, "/params"));
  KILN_CHECK(check_target(call, request.device, request.base.target));
  const auto& fields = call->fields;
  KILN_TRY(const auto rounds, fields.integer_or("rounds_max", request.rounds_max, 1, 10000));
  request.rounds_max = int(rounds);
  KILN_TRY(const auto most,
           fields.integer_or("candidates_max", std::int64_t(request.candidates_max), 1, candidates_limit));
  request.candidates_max = std::size_t(most);
  KILN_TRY(const auto deadline,
           fields.integer_or("candidate_deadline_ms", request.candidate_deadline.count(), 1, deadline_ms_max));
  // An emulated card counts, and bounds a launch by instructions: the host's clock ends one only where it is asked to.
  const bool counted = request.device.starts_with("emu:") && !fields.has("candidate_deadline_ms");
  request.candidate_deadline = std::chrono::milliseconds(counted ? 0 : deadline);
  KILN_TRY(const auto check,
           fields.integer_or("check_deadline_ms", request.interpreter_limit.count(), 1, deadline_ms_max));
  request.interpreter_limit = std::chrono::milliseconds(check);
  KILN_TRY(request.force, fields.boolean_or("force", false));
  KILN_TRY(request.recorded, fields.boolean_or("recorded", false));
  if (fields.has("candidates")) {
    KILN_TRY(const Json* list, fields.array("candidates", candidates_limit));
    if (list->empty()) return fields.error("candidates", "at least one candidate");
    request.candidates.emplace();
    for (std::size_t i = 0; i < list->size(); ++i) {
      KILN_TRY(auto candidate, read_candidate(call, (*list)[i], "/params/candidates/" + std::to_string(i)));
      request.candidates->push_back(std::move(candidate));
    }
  }
  const auto arguments = std::make_shared<TuneArguments>(call);
  request.arguments = [arguments](const bound::Program& program) { return arguments->digest(program); };
  request.inputs = [arguments](const bound::Program& program) { return arguments->make(program); };
  request.account = [memory = call->state.memory](std::uint64_t bytes) -> Result<std::shared_ptr<const void>> {
    KILN_TRY(auto share, memory->take(bytes));
    return std::shared_ptr<const void>(std::make_shared<const MemoryShare>(std::move(share)));
  };
  request.progress = [weak = std::weak_ptr(call)](const jit::TuneProgress& progress) {
    const auto alive = weak.lock();
    if (!alive) return;
    Json value{{"stage", progress.stage}, {"done", progress.done}, {"total", progress.total}};
    if (!progress.best.empty()) value["best"] = {{"name", progress.best}, {"ratio", progress.best_ratio}};
    alive->progress(std::move(value));
  };
  return request;
}

// Where the record's program is known here: it sets tunables of that program.
Status check_choice(const CallPtr& call, const jit::TuningRecord& record, const std::string& pointer) {
  if (!record.identity.of_candidates.empty()) return ok();
  auto known = call->state.catalog.resolve(Json{{"digest", to_hex(record.identity.program)}});
  if (!known)
    if (auto named = call->state.catalog.builtin(record.identity.program_name);
        named && named->sha256 == record.identity.program)
      known = std::move(named);
  if (!known) return ok();
  if (const auto wrong = jit::not_tunables(*known->program, record.set))
    return Error(ErrorCode::invalid_argument, pointer + "/set: " + *wrong + "; a record sets tunables");
  return ok();
}

Json outcome_json(const jit::TuneOutcome& outcome, const jit::TuneRequest& request) {
  const auto& record = *outcome.record;
  Json value = record_json(record);
  value["record"] = outcome.id;
  value["found"] = outcome.found;
  value["stored"] = outcome.stored;
  if (!outcome.stored) value["why_not_stored"] = outcome.why_not_stored;
  value["device"] = request.device;
  value["program"] = record.identity.program_name;
  value["target"] = record.identity.target;
  value["resumed"] = outcome.resumed;
  value["not_tried"] = outcome.not_tried;
  if (!outcome.found) value["interpreter_steps"] = outcome.interpreter_steps;
  if (!outcome.before) return value;
  auto before = record_json(*outcome.before);
  for (const char* name : {"winner", "set", "layouts", "ratio"}) value["before"][name] = std::move(before[name]);
  return value;
}

}  // namespace

void kernel_tune(const CallPtr& call) {
  if (!call->state.options.tuner) return call->answer(no_tuner());
  ActiveCall::begin_waiting(call);
  const bool recorded = call->fields.boolean_or("recorded", false).value_or(false);  // waits for no tune
  ActiveCall::run_on(call, recorded ? call->state.pool : call->state.tunes, [call] {
    if (!call->begin_work()) return;
    auto request = read_tune(call);
    if (!request) return call->answer(std::move(request).error());
    auto outcome = call->state.options.tuner->tune(*request);
    if (!outcome) return call->answer(std::move(outcome).error());
    call->answer(outcome_json(*outcome, *request));
  });
}

void tuning_list(const CallPtr& call) {
  if (!call->state.options.tuner) return call->answer(no_tuner());
  const auto wanted = call->fields.text_or("record", "");
  if (!wanted) return call->answer(wanted.error());
  Json list = Json::array();
  for (const auto& named : call->state.options.tuner->list()) {
    if (!wanted->empty() && named.id != *wanted) continue;
    auto value = record_summary(named);
    if (!wanted->empty()) value["whole"] = record_json(*named.record);
    list.push_back(std::move(value));
    if (!wanted->empty()) break;
  }
  if (!wanted->empty() && list.empty())
    return call->answer(Error(ErrorCode::not_found, "there is no tuning record " + wanted->substr(0, 80)));
  call->answer(Json{{"records", std::move(list)}, {"interrupted", call->state.options.tuner->interrupted()}});
}

void tuning_remove(const CallPtr& call) {
  if (!call->state.options.tuner) return call->answer(no_tuner());
  const auto record = call->fields.text("record");
  if (!record) return call->answer(record.error());
  const auto removed = call->state.options.tuner->remove(*record);
  if (!removed) return call->answer(removed.error());
  if (!*removed) return call->answer(Error(ErrorCode::not_found, "there is no tuning record " + record->substr(0, 80)));
  call->answer(Json::object());
}

void tuning_import(const CallPtr& call) {
  if (!call->state.options.tuner) return call->answer(no_tuner());
  const auto file = call->fields.object("records");
  if (!file) return call->answer(file.error());
  const auto replace = call->fields.boolean_or("force", false);
  if (!replace) return call->answer(replace.error());
  auto records = records_from_file(**file);
  if (!records) return call->answer(std::move(records).error());
  for (std::size_t i = 0; i < records->size(); ++i)
    if (auto status = check_choice(call, (*records)[i], "/records/" + std::to_string(i)); !status)
      return call->answer(std::move(status).error());
  Json taken = Json::array(), kept = Json::array();
  for (const auto& record : *records) {
    const auto added = call->state.options.tuner->add(record, *replace);
    if (!added) return call->answer(added.error());
    (added->taken ? taken : kept).push_back(added->id);
  }
  call->answer(Json{{"records", std::move(taken)}, {"kept", std::move(kept)}});
}

}  // namespace kiln::service
