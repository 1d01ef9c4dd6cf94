#include <algorithm>
#include <bit>
#include <cmath>

#include "api/service/profile_json.hpp"
#include "api/service/report.hpp"
#include "api/service/state.hpp"
#include "engine/base/half.hpp"

namespace kiln::service {

using protocol::Json;

namespace {

constexpr std::size_t waits_max = 64;

// One argument of a launch: a range of a buffer, or a scalar's bytes.
struct Argument {
  std::shared_ptr<Buffer> buffer;
  std::uint64_t offset = 0, bytes = 0;
  Access access = Access::read;
  Bytes scalar;
};

enum class LaunchPurpose : std::uint8_t { run, verify, profile };

struct LaunchJob {
  TurnPtr turn;                            // first: the next one starts when all of this one is given back
  CallPtr call;
  std::shared_ptr<const jit::Kernel> kernel;
  std::shared_ptr<const bound::Program> program;
  std::string device_name;
  device::Device* device = nullptr;
  jit::LoadedKernelPtr loaded;
  std::vector<Argument> arguments;
  LaunchPurpose purpose = LaunchPurpose::run;
  std::uint64_t stream = 0;                // the connection's name of it
  device::LaunchSettings settings;
  std::vector<std::shared_ptr<CardEvent>> events;  // those that `settings` names
  bool enqueued = false;                   // and answered; of the device's thread
  bool finished = false;                   // with the service's lock
  MemoryShare before_memory;
  std::vector<UniqueFd> before, after;     // verify, capture: the tensors as they were, and are where they cannot be mapped; one a tensor
  CaptureWish capture;
  std::shared_ptr<const KernelSource> source;
  double launch_ms = 0;

  // What it holds is free when the client knows; then the next one starts.
  void answer(Reply reply) {
    arguments.clear();
    events.clear();
    before.clear();
    after.clear();
    before_memory = MemoryShare();
    loaded.reset();
    call->answer(std::move(reply));
    turn.reset();
  }
  [[nodiscard]] const std::string& name(std::size_t index) const { return tensor_name(kernel->metadata, program.get(), index); }
  [[nodiscard]] bool has_argument(const std::string& wanted) const {
    for (std::size_t i = 0; i < kernel->metadata.tensors.size(); ++i)
      if (name(i) == wanted) return true;
    return false;
  }
};
using JobPtr = std::shared_ptr<LaunchJob>;

Result<Bytes> scalar_bytes(const Json& value, DType type, const Error& mistake) {
  Writer writer;
  if (type == DType::boolean && value.is_boolean()) { writer.boolean(value.get<bool>()); return writer.take(); }
  if (!value.is_number() || (is_integer(type) && !value.is_number_integer())) return mistake;
  const double real = value.get<double>();
  const std::int64_t integer = is_integer(type) ? value.get<std::int64_t>() : 0;
  const int bits = dtype_bits(type);
  if (is_integer(type)) {
    const auto low = is_signed(type) ? -(std::int64_t(1) << std::min(bits - 1, 62)) : 0;
    const auto high = bits >= 63 ? std::int64_t(1) << 62 : (std::int64_t(1) << (is_signed(type) ? bits - 1 : bits)) - 1;
    if (integer < low || integer > high) return mistake;
    writer.i64(integer);
    auto bytes = writer.take();
    bytes.resize(std::size_t(dtype_bytes(type)));
    return bytes;
  }
  if (type == DType::f64) writer.f64(real);
  else if (type == DType::f32) writer.u32(std::bit_cast<std::uint32_t>(float(real)));
  else if (type == DType::f16 || type == DType::bf16) {
    const auto half = type == DType::f16 ? f64_to_f16(real) : f64_to_bf16(real);
    writer.u8(std::uint8_t(half & 255));
    writer.u8(std::uint8_t(half >> 8));
  } else return mistake;
  return writer.take();
}

Error argument_error(const std::string& pointer, const std::string& message, const std::string& expected, const std::string& found) {
  Diagnostic d;
  d.pointer = pointer;
  d.message = message;
  d.expected = expected;
  d.found = found;
  Error error(ErrorCode::invalid_argument, pointer + ": " + message + (expected.empty() ? "" : "; expected " + expected) +
              (found.empty() ? "" : ", found " + found));
  error.diagnostics.push_back(std::move(d));
  return error;
}

Result<Argument> buffer_argument(LaunchJob& job, const Json& value, const compile::TensorInfo& tensor, const std::string& pointer) {
  const protocol::Fields fields(value, pointer);
  KILN_CHECK(fields.only({"buffer", "offset"}));
  constexpr auto most = protocol::integer_magnitude_max;
  KILN_TRY(const auto id, fields.integer("buffer", 1, most));
  KILN_TRY(const auto offset, fields.integer_or("offset", 0, 0, most));
  Argument argument;
  {
    std::lock_guard lock(job.call->state.mutex);
    const auto it = job.call->connection->buffers.find(std::uint64_t(id));
    if (it == job.call->connection->buffers.end())
      return argument_error(pointer + "/buffer", "this connection has no such buffer", "an id from buffer.register or buffer.alloc", std::to_string(id));
    argument.buffer = it->second;
  }
  argument.offset = std::uint64_t(offset);
  argument.bytes = std::uint64_t(tensor.bytes);
  argument.access = tensor.access;
  const auto size = argument.buffer->size();
  if (argument.offset > size || argument.bytes > size - argument.offset)
    return argument_error(pointer, "the buffer is too short for the tensor", std::to_string(argument.bytes) + " bytes at offset " + std::to_string(offset),
                          std::to_string(size) + " bytes in all");
  if (tensor.access != Access::read && !argument.buffer->writable())
    return argument_error(pointer, "the kernel writes this tensor and the buffer is read-only", "a descriptor that is open for writing", "");
  if (tensor.align_bytes > 1 && argument.offset % std::uint64_t(tensor.align_bytes) != 0)
    return argument_error(pointer + "/offset", "the kernel was compiled for an aligned base", "a multiple of " + std::to_string(tensor.align_bytes) +
                          " (or bind a smaller alignment with \"align\")", std::to_string(offset));
  return argument;
}

// Tensors that a kernel writes may not overlap others, unless the program says so.
Status check_overlaps(const LaunchJob& job) {
  const auto& tensors = job.kernel->metadata.tensors;
  for (std::size_t i = 0; i < tensors.size(); ++i)
    for (std::size_t j = 0; j < tensors.size(); ++j) {
      const auto& a = job.arguments[i];
      const auto& b = job.arguments[j];
      if (i == j || !a.buffer || !b.buffer || tensors[i].access == Access::read || tensors[i].may_alias || tensors[j].may_alias) continue;
      if (a.bytes == 0 || b.bytes == 0 || !a.buffer->same_file(*b.buffer)) continue;
      const auto a_begin = a.buffer->file_offset() + a.offset, b_begin = b.buffer->file_offset() + b.offset;
      if (a_begin < b_begin + b.bytes && b_begin < a_begin + a.bytes)
        return argument_error("/params/args", "\"" + job.name(i) + "\" is written and overlaps \"" + job.name(j) + "\"",
                              "memory of its own (or may_alias in the program)", "");
    }
  return ok();
}

Status read_arguments(LaunchJob& job) {
  const auto& tensors = job.kernel->metadata.tensors;
  const Json* args = job.call->fields.find("args");
  if (!args || !(args->is_object() || args->is_array())) return job.call->fields.error("args", "an object by name, or an array in order");
  if (args->size() != tensors.size() && args->is_array())
    return argument_error("/params/args", "wrong number of arguments", std::to_string(tensors.size()), std::to_string(args->size()));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto& name = job.name(i);
    const auto pointer = "/params/args/" + (args->is_array() ? std::to_string(i) : name);
    const Json* value = args->is_array() ? &(*args)[i] : args->contains(name) ? &(*args)[name] : nullptr;
    if (!value) return argument_error(pointer, "missing argument", tensors[i].scalar ? "a number" : "{\"buffer\": id}", "nothing");
    if (tensors[i].scalar) {
      Argument argument;
      KILN_TRY(argument.scalar, scalar_bytes(*value, tensors[i].dtype, argument_error(pointer, "wrong scalar", std::string("a ") + dtype_name(tensors[i].dtype), protocol::dump(*value).substr(0, 80))));
      job.arguments.push_back(std::move(argument));
      continue;
    }
    KILN_TRY(auto argument, buffer_argument(job, *value, tensors[i], pointer));
    job.arguments.push_back(std::move(argument));
  }
  if (args->is_object())
    for (const auto& [name, value] : args->items())
      if (!job.has_argument(name))
        return argument_error("/params/args/" + name.substr(0, 100), "the kernel has no such argument", "", "");
  return check_overlaps(job);
}

Status copy_in(LaunchJob& job) {
  for (auto& a : job.arguments)
    if (a.buffer) KILN_CHECK(a.buffer->copy_in(a.offset, a.bytes));
  return ok();
}

Status copy_out(LaunchJob& job) {
  for (auto& a : job.arguments)
    if (a.buffer && a.access != Access::read) KILN_CHECK(a.buffer->copy_out(a.offset, a.bytes));
  return ok();
}

// A copy of every tensor as the launch finds it; it counts as the clients' buffers do.
Status take_before(LaunchJob& job) {
  std::uint64_t bytes = 0;
  for (const auto& a : job.arguments)  // a capture also copies the results, and is a file in memory
    bytes += !a.buffer ? 0 : job.capture.any() ? 3 * a.bytes : a.buffer->of_card() ? 2 * a.bytes : a.bytes;
  KILN_TRY(job.before_memory, job.call->state.memory->take(bytes));
  for (const auto& a : job.arguments) {
    if (!a.buffer) { job.before.emplace_back(); continue; }
    KILN_TRY(auto fd, create_memfd("kiln-before", std::max<std::size_t>(a.bytes, 1)));
    KILN_CHECK(a.buffer->read(a.offset, a.bytes, fd.get()));
    job.before.push_back(std::move(fd));
  }
  return ok();
}

// Memory of a card, as the launch left it: the interpreter's process cannot map it. Counted with take_before's.
Status take_after(LaunchJob& job) {
  for (const auto& a : job.arguments) {
    job.after.emplace_back();
    if (!a.buffer || !a.buffer->of_card()) continue;
    KILN_TRY(job.after.back(), create_memfd("kiln-after", std::max<std::size_t>(a.bytes, 1)));
    KILN_CHECK(a.buffer->read(a.offset, a.bytes, job.after.back().get()));
  }
  return ok();
}

// The launch's file for `outcome`; the tensors are as it left them.
Result<UniqueFd> make_capture(LaunchJob& job, const capture::Outcome& outcome) {
  const char* const purposes[] = {"run", "verify", "profile"};
  LaunchRecord record{job.kernel.get(), job.source.get(), job.device, job.device_name, purposes[int(job.purpose)],
                      job.call->state.options.build_id, job.settings.switches, {}, outcome};
  job.after.resize(job.arguments.size());
  for (std::size_t i = 0; i < job.arguments.size(); ++i) {
    const auto& a = job.arguments[i];
    record.arguments.push_back({job.name(i), a.scalar, a.bytes, a.buffer ? job.before[i].get() : -1, -1});
    if (!a.buffer || a.access == Access::read || outcome.kind == capture::Outcome::Kind::failed) continue;
    if (!job.after[i]) {
      KILN_TRY(job.after[i], create_memfd("kiln-after", std::max<std::size_t>(a.bytes, 1)));
      KILN_CHECK(a.buffer->read(a.offset, a.bytes, job.after[i].get()));
    }
    record.arguments.back().after = job.after[i].get();
  }
  return capture_launch(record, job.capture);
}

// Answers, with the launch as a file where that was asked for. A file that cannot be made takes no answer away.
void answer_launch(const JobPtr& job, Reply reply, capture::Outcome outcome) {
  if (!job->capture.wants(outcome)) return job->answer(std::move(reply));
  auto shared = std::make_shared<Reply>(std::move(reply));
  job->call->state.long_work.run([job, shared, outcome = std::move(outcome)] {
    attach_capture(*shared, make_capture(*job, outcome));
    job->answer(std::move(*shared));
  });
}

void finish_verify(const JobPtr& job) {
  if (auto status = take_after(*job); !status) return job->answer(std::move(status).error());
  std::vector<jit::Session::VerifyArgument> before, after;
  for (std::size_t i = 0; i < job->arguments.size(); ++i) {
    const auto& a = job->arguments[i];
    if (!a.buffer) { before.push_back({-1, 0, 0, a.scalar}); after.push_back({-1, 0, 0, a.scalar}); continue; }
    before.push_back({job->before[i].get(), 0, a.bytes, {}});
    if (job->after[i]) after.push_back({job->after[i].get(), 0, a.bytes, {}});
    else after.push_back({a.buffer->mapped_fd(), a.buffer->mapped_offset() + a.offset, a.bytes, {}});
  }
  auto result = job->call->state.session->verify(*job->program, before, after, job->call->call.deadline, job->call->call.cancel);
  if (!result) return job->answer(std::move(result).error());
  Json tensors = Json::array();
  bool passed = true;
  for (std::size_t i = 0; i < result->tensors.size(); ++i) {
    if (!result->tensors[i]) continue;
    auto entry = comparison_json(*result->tensors[i]);
    entry["name"] = job->name(i);
    passed = passed && result->tensors[i]->wrong == 0;
    tensors.push_back(std::move(entry));
  }
  capture::Outcome outcome;
  if (!passed) outcome.kind = capture::Outcome::Kind::wrong;
  answer_launch(job, Json{{"key", job->kernel->key.hex()}, {"passed", passed}, {"tensors", std::move(tensors)},
                          {"launch_ms", job->launch_ms}, {"reference_ms", result->reference_ms}}, std::move(outcome));
}

// Whether the device counts what it executes and takes switches.
bool counts(const std::string& device_name) { return device_name.rfind("emu:", 0) == 0; }

// The report of a profiled launch; what it wrote is where any launch leaves it.
Reply finish_profile(LaunchJob& job, const device::LaunchReport& report) {
  KILN_CHECK(copy_out(job));
  KILN_TRY(const auto profile, jit::make_kernel_profile(*job.kernel, job.program.get(), report));
  auto value = profile_json(profile);
  value["key"] = job.kernel->key.hex();
  value["program"] = job.kernel->metadata.program;
  value["target"] = job.kernel->metadata.target;
  value["device"] = job.device_name;
  value["duration_ms"] = report.duration_ms;
  value["emulated"] = counts(job.device_name);
  return Reply(std::move(value));
}

void answer_profile(const JobPtr& job, const device::LaunchReport& report) {
  auto reply = finish_profile(*job, report);
  if (!reply.result) return job->answer(std::move(reply));
  capture::Outcome outcome;
  if (reply.result->contains("counters")) {
    outcome.counted = true;
    outcome.counters = (*reply.result)["counters"].get<std::map<std::string, std::uint64_t>>();
  }
  answer_launch(job, std::move(reply), std::move(outcome));
}

// Its stream need not stop it any more. Of a launch that was answered when it was enqueued, what went wrong since is the stream's.
void leave_stream(LaunchJob& job, const Result<device::LaunchReport>& report) {
  std::lock_guard lock(job.call->state.mutex);
  job.finished = true;
  auto& stream = job.call->connection->streams.at(job.stream);  // there is one as long as the job has its turn
  stream.running.erase(job.call->number);
  if (job.enqueued && !report && report.error().code != ErrorCode::cancelled && !stream.error) stream.error = report.error();
}

void enqueued(const JobPtr& job) {
  job->enqueued = true;
  job->call->answer(Json{{"key", job->kernel->key.hex()}, {"enqueued", true}, {"event", job->call->fields.find("event")->get<std::uint64_t>()},
                         {"device", job->device_name}});
}

void launched(const JobPtr& job, Result<device::LaunchReport> report) {
  job->loaded.reset();
  if (job->settings.record != 0) leave_stream(*job, report);
  if (job->enqueued) return job->answer(Json::object());  // nobody hears it any more: what it holds is given back
  auto& call = *job->call;
  if (!report) {
    auto error = std::move(report).error();
    if (auto status = call.not_stopped(); error.code == ErrorCode::cancelled && !status) error = std::move(status).error();
    capture::Outcome outcome;
    outcome.kind = capture::Outcome::Kind::failed;
    outcome.error = error;
    return answer_launch(job, std::move(error), std::move(outcome));
  }
  job->launch_ms = report->duration_ms;
  if (job->purpose == LaunchPurpose::verify) {
    call.wait_again();
    return call.state.interpretations.run([job] {
      if (!job->call->begin_work()) return;
      if (auto status = copy_out(*job); !status) return job->answer(std::move(status).error());
      finish_verify(job);
    });
  }
  if (job->purpose == LaunchPurpose::profile) {
    call.wait_again();
    return call.state.long_work.run([job, report = std::move(*report)] {
      if (job->call->begin_work()) answer_profile(job, report);
    });
  }
  auto finish = [job] {
    if (auto status = copy_out(*job); !status) return job->answer(std::move(status).error());
    answer_launch(job, Json{{"key", job->kernel->key.hex()}, {"duration_ms", job->launch_ms}, {"device", job->device_name}}, {});
  };
  const bool copies = std::any_of(job->arguments.begin(), job->arguments.end(), [](const Argument& a) { return a.buffer && a.buffer->copied(); });
  if (copies) call.state.pool.run(finish);
  else finish();
}

// A list of strings as the switch takes it, "races,barriers"; empty for anything else.
std::string words_of(const Json& value) {
  std::string words;
  if (!value.is_array()) return words;
  for (const auto& word : value) {
    if (!word.is_string()) return {};
    words += (words.empty() ? "" : ",") + word.get<std::string>();
  }
  return words;
}

// "switches": of the emulated card, for this launch alone.
Status read_settings(LaunchJob& job) {
  const auto& call = *job.call;
  {
    std::lock_guard lock(call.state.mutex);
    job.settings.stream = call.connection->streams.at(job.stream).number;
  }
  job.settings.profile = job.purpose == LaunchPurpose::profile && counts(job.device_name);
  if (!call.fields.has("switches")) return ok();
  KILN_TRY(const Json* switches, call.fields.object("switches"));
  const protocol::Fields fields(*switches, "/params/switches");
  KILN_CHECK(fields.only({"check", "seed", "order", "budget"}));
  for (const auto& [name, value] : switches->items()) {
    if (value.is_string()) job.settings.switches.emplace_back(name, value.get<std::string>());
    else if (value.is_number_integer() && value.get<std::int64_t>() >= 0)
      job.settings.switches.emplace_back(name, std::to_string(value.get<std::int64_t>()));
    else if (const auto list = words_of(value); !list.empty()) job.settings.switches.emplace_back(name, list);
    else return fields.error(name, "a string, a list of strings or a number from 0");
  }
  return ok();
}

Result<std::shared_ptr<CardEvent>> find_event(const LaunchJob& job, const Json& id, const std::string& pointer) {
  std::shared_ptr<CardEvent> event;
  if (id.is_number_integer() && id.get<std::int64_t>() > 0) {
    std::lock_guard lock(job.call->state.mutex);
    const auto& events = job.call->connection->events;
    if (const auto found = events.find(std::uint64_t(id.get<std::int64_t>())); found != events.end()) event = found->second;
  }
  if (!event) return argument_error(pointer, "this connection has no such event", "an id from event.import or event.export", protocol::dump(id).substr(0, 80));
  if (&event->device() != job.device)
    return argument_error(pointer, "the event is of another device than the launch", "an event of " + job.device_name, "one of " + event->device_name());
  return event;
}

// "wait" and "event".
Status read_events(LaunchJob& job) {
  const auto& fields = job.call->fields;
  if (fields.has("wait")) {
    KILN_TRY(const Json* wait, fields.array("wait", waits_max));
    for (std::size_t i = 0; i < wait->size(); ++i) {
      KILN_TRY(auto event, find_event(job, (*wait)[i], "/params/wait/" + std::to_string(i)));
      job.settings.wait.push_back(event->id());
      job.events.push_back(std::move(event));
    }
  }
  if (const Json* id = fields.find("event")) {
    KILN_TRY(auto event, find_event(job, *id, "/params/event"));
    job.settings.record = event->id();
    job.events.push_back(std::move(event));
  }
  const bool copies = std::any_of(job.arguments.begin(), job.arguments.end(), [](const Argument& a) { return a.buffer && a.buffer->copied(); });
  if (!job.events.empty() && copies)
    return Error(ErrorCode::invalid_argument, "a buffer that is copied in and out by the daemon cannot be ordered by events of the card: register a memfd that can be sealed");
  return ok();
}

// Until it is done, the launch is stopped with its stream or its connection.
void watch_enqueued(const JobPtr& job, const std::function<void()>& stop) {
  bool gone = false;
  {
    std::lock_guard lock(job->call->state.mutex);
    if (job->finished) return;
    job->call->connection->streams.at(job->stream).running[job->call->number] = stop;
    gone = job->call->connection->gone;
  }
  if (gone) stop();
}

Status submit(const JobPtr& job) {
  auto& call = *job->call;
  KILN_CHECK(call.not_stopped());
  KILN_CHECK(take_stream_error(call, job->stream));
  if (job->purpose == LaunchPurpose::verify && !job->program)
    return Error(ErrorCode::invalid_argument, "the interpreter needs the program: name program and set instead of key");
  KILN_TRY(job->device, call.state.session->device(job->device_name));
  KILN_CHECK(read_settings(*job));
  KILN_CHECK(read_arguments(*job));
  KILN_CHECK(read_events(*job));
  KILN_TRY(job->capture, read_capture_wish(call.fields));
  KILN_TRY(job->loaded, call.state.session->load(job->kernel, job->device_name));
  KILN_CHECK(copy_in(*job));
  if (job->purpose == LaunchPurpose::verify || job->capture.any()) KILN_CHECK(take_before(*job));
  std::vector<device::LaunchArgument> arguments;
  for (const auto& a : job->arguments) {
    device::LaunchArgument argument{0, a.offset, a.bytes, a.scalar};
    if (a.buffer) {
      KILN_TRY(argument.buffer, a.buffer->on_device(*job->device));
    }
    arguments.push_back(std::move(argument));
  }
  KILN_CHECK(call.not_stopped());
  {
    std::lock_guard lock(call.state.mutex);
    ++call.state.launches;
  }
  device::Device* device = job->device;
  auto settings = job->settings;
  if (settings.record != 0) settings.enqueued = [job] { enqueued(job); };
  const auto id = device->launch(job->loaded->id, std::move(arguments), std::move(settings),
                                 [job](Result<device::LaunchReport> report) { launched(job, std::move(report)); });
  const auto stop = [device, id] { device->cancel(id); };
  call.work_stops_by(stop);
  if (job->settings.record != 0) watch_enqueued(job, stop);
  return ok();
}

void start_launch(const CallPtr& call, LaunchPurpose purpose) {
  auto device = call->fields.text_or("device", "host");
  if (!device) return call->answer(std::move(device).error());
  const auto stream = call->fields.integer_or("stream", 0, 0, protocol::integer_magnitude_max);
  if (!stream) return call->answer(stream.error());
  run_in_order(call, std::uint64_t(*stream), [call, purpose, name = *device, stream = std::uint64_t(*stream)](TurnPtr turn) {
    auto job = std::make_shared<LaunchJob>();
    job->turn = std::move(turn);  // whatever ends this request, also an error on the way to its kernel, lets the next one start
    job->call = call;
    job->stream = stream;
    job->device_name = name;
    job->purpose = purpose;
    with_kernel(call, [job](std::shared_ptr<const jit::Kernel> kernel, std::shared_ptr<const bound::Program> program) {
      job->kernel = std::move(kernel);
      job->program = std::move(program);
      {
        std::lock_guard lock(job->call->state.mutex);
        const auto& sources = job->call->connection->sources;
        if (const auto found = sources.find(job->kernel->key.hex()); found != sources.end()) job->source = found->second;
      }
      auto& threads = job->purpose != LaunchPurpose::run || job->call->fields.has("capture") ? job->call->state.interpretations : job->call->state.pool;
      threads.run([job] {
        if (!job->call->begin_work()) return;
        if (auto status = submit(job); !status) job->answer(std::move(status).error());
      });
    });
  });
}

}  // namespace

void kernel_launch(const CallPtr& call) { start_launch(call, LaunchPurpose::run); }
void kernel_verify(const CallPtr& call) { start_launch(call, LaunchPurpose::verify); }
void kernel_profile(const CallPtr& call) { start_launch(call, LaunchPurpose::profile); }

}  // namespace kiln::service
