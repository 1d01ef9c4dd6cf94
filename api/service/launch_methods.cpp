// kernel.launch, verify and profile: a launch from its place in its connection's order to its end.
#include <algorithm>

#include "api/service/launch_job.hpp"
#include "api/service/records_json.hpp"

namespace kiln::service {

using protocol::Json;

namespace {

// Its stream need not stop it any more. Of a launch that was answered when it was enqueued, what went wrong since is the
// stream's.
void leave_stream(LaunchJob& job, const Result<device::LaunchReport>& report) {
  auto& state = job.call->state;
  std::uint64_t deadline_entry = 0;
  {
    std::lock_guard lock(state.mutex);
    job.finished = true;
    deadline_entry = job.deadline_entry;
    auto& stream = job.call->connection->streams.at(job.stream);  // there is one as long as the job has its turn
    stream.running.erase(job.call->number);
    if (job.enqueued) keep_printed(stream.printed, job.printed);
    if (job.enqueued && !report && !stream.error) {
      if (report.error().code != ErrorCode::cancelled) stream.error = report.error();
      else if (job.late)
        stream.error =
            Error(ErrorCode::deadline_exceeded, "the launch was not done at its deadline and was stopped", true);
    }
  }
  if (deadline_entry != 0) state.deadlines.remove(deadline_entry);
}

// Answers, and lets go on what may follow while it runs.
void enqueued(const JobPtr& job) {
  job->enqueued = true;
  job->ahead = std::make_unique<Ahead>(job->call->state, job->call->connection, job->stream);
  job->call->answer(Json{{"key", job->kernel->key.hex()}, {"enqueued", true},
                         {"event", job->call->fields.find("event")->get<std::uint64_t>()},
                         {"device", job->device_name}});
  job->turn.reset();
}

// An assertion of the program has failed: the launch has ended as it should, and its memory is what it left.
void answer_assertion(const JobPtr& job, Error error) {
  if (auto status = copy_out(*job); !status) return job->answer(std::move(status).error());
  answer_failure(job, std::move(error));
}

void launched(const JobPtr& job, Result<device::LaunchReport> report) {
  job->loaded.reset();
  if (report) {
    auto status = read_records(job->kernel->metadata, report->records, job->printed);
    if (!status) report = std::move(status).error();
  }
  if (job->settings.record != 0) leave_stream(*job, report);
  if (job->enqueued) return job->answer(Json::object());  // nobody hears it any more: what it holds is given back
  auto& call = *job->call;
  if (!report && report.error().code == ErrorCode::assertion_failed) {
    if (job->copies()) call.state.pool.run([job, error = report.error()] { answer_assertion(job, error); });
    else answer_assertion(job, report.error());
    return;
  }
  if (!report) return answer_failure(job, launch_failure(call, job->stream, std::move(report).error()));
  job->launch_ms = report->duration_ms;
  if (job->purpose == LaunchPurpose::verify) {
    call.wait_again();
    return ActiveCall::run_on(job->call, call.state.interpretations, [job] {
      if (!job->call->begin_work()) return;
      if (auto status = copy_out(*job); !status) return job->answer(std::move(status).error());
      answer_verify(job);
    });
  }
  if (job->purpose == LaunchPurpose::profile) {
    call.wait_again();
    return ActiveCall::run_on(job->call, call.state.long_work, [job, report = std::move(*report)] {
      if (job->call->begin_work()) answer_profile(job, report);
    });
  }
  if (job->copies()) call.state.pool.run([job] { answer_duration(job); });
  else answer_duration(job);
}

// Until it is done, a launch that records an event is stopped with its stream, its connection, and at its deadline, whether
// it was answered or not.
void watch_enqueued(const JobPtr& job, const std::function<void()>& stop) {
  auto& state = job->call->state;
  bool gone = false;
  {
    std::lock_guard lock(state.mutex);
    if (job->finished) return;
    job->call->connection->streams.at(job->stream).running[job->call->number] = {
        stop, job->kernel->metadata.program, job->device_name, std::chrono::steady_clock::now()};
    gone = job->call->connection->gone;
  }
  if (gone) return stop();
  const auto entry = state.deadlines.add(job->call->call.deadline, [weak = std::weak_ptr(job), stop] {
    const auto alive = weak.lock();
    if (!alive) return;
    {
      std::lock_guard lock(alive->call->state.mutex);
      if (alive->finished) return;
      alive->late = true;
    }
    stop();
  });
  {
    std::lock_guard lock(state.mutex);
    job->deadline_entry = entry;
    if (!job->finished) return;
  }
  state.deadlines.remove(entry);
}

// What it is compiled, read and copied for is there; the launch is given to its device.
void give_to_device(const JobPtr& job, std::vector<device::LaunchArgument> arguments) {
  auto& call = *job->call;
  {
    std::lock_guard lock(call.state.mutex);
    ++call.state.launches;
  }
  device::Device* device = job->device;
  auto settings = job->settings;
  const bool records = settings.record != 0;
  if (records) settings.enqueued = [job] { enqueued(job); };
  const auto id = device->launch(job->loaded->id, std::move(arguments), std::move(settings),
                                 [job](Result<device::LaunchReport> report) { launched(job, std::move(report)); });
  const auto stop = [device, id] { device->cancel(id); };
  call.work_stops_by(stop);
  if (records) watch_enqueued(job, stop);
}

Status submit(const JobPtr& job) {
  auto& call = *job->call;
  KILN_CHECK(call.not_stopped());
  KILN_CHECK(take_stream_error(call, job->stream));
  if (job->purpose == LaunchPurpose::verify && !job->program)
    return Error(ErrorCode::invalid_argument, "the interpreter needs the program: name program and set instead of key");
  KILN_TRY(job->device_name, find_device(call, job->device_name));
  KILN_TRY(job->device, call.state.session->device(job->device_name));
  KILN_CHECK(read_settings(*job));
  KILN_CHECK(read_symbols(*job));
  KILN_CHECK(read_arguments(*job));
  KILN_CHECK(read_events(*job));
  KILN_TRY(job->capture, read_capture_wish(call.fields));
  KILN_TRY(job->loaded, call.state.session->load(job->kernel, job->device_name));
  KILN_TRY(job->workspace_memory, call.state.memory->take(job->kernel->metadata.workspace_bytes()));
  KILN_CHECK(copy_in(*job));
  if (job->purpose == LaunchPurpose::verify || job->capture.any()) KILN_CHECK(take_before(*job));
  std::vector<device::LaunchArgument> arguments;
  for (const auto& a : job->arguments) {
    KILN_TRY(auto argument, device_argument(a, *job->device));
    arguments.push_back(std::move(argument));
  }
  for (const auto value : job->symbols) arguments.push_back({0, 0, 0, compile::symbol_argument(value)});
  KILN_CHECK(call.not_stopped());
  KILN_CHECK(take_stream_error(call, job->stream));   // loading and copying may have taken long
  give_to_device(job, std::move(arguments));
  return ok();
}

// With its kernel: reads, copies and submits on a thread that may wait.
void take_kernel(const JobPtr& job, std::shared_ptr<const jit::Kernel> kernel,
                 std::shared_ptr<const bound::Program> program) {
  auto& state = job->call->state;
  job->kernel = std::move(kernel);
  job->program = std::move(program);
  {
    std::lock_guard lock(state.mutex);
    const auto& sources = job->call->connection->sources;
    if (const auto found = sources.find(job->kernel->key.hex()); found != sources.end()) job->source = found->second;
  }
  const bool copies = job->purpose != LaunchPurpose::run || job->call->fields.has("capture");
  ActiveCall::run_on(job->call, copies ? state.interpretations : state.pool, [job] {
    if (!job->call->begin_work()) return;
    if (auto status = submit(job); !status) job->answer(std::move(status).error());
  });
}

void start_launch(const CallPtr& call, LaunchPurpose purpose) {
  auto device = call->fields.text_or("device", "host");
  if (!device) return call->answer(std::move(device).error());
  const auto number = call->fields.integer_or("stream", 0, 0, protocol::integer_magnitude_max);
  if (!number) return call->answer(number.error());
  const auto stream = std::uint64_t(*number);
  // The card orders launches that record an event: they need not wait for each other here.
  const InOrder order{call->fields.has("event"), false};
  run_in_order(call, stream, order, [call, purpose, name = *device, stream, events = named_events(*call)](TurnPtr turn) {
    auto job = std::make_shared<LaunchJob>();
    job->named_events = events;
    // Whatever ends this request, also an error on the way to its kernel, lets the next one start.
    job->turn = std::move(turn);
    job->call = call;
    job->fields = &call->fields;
    job->stream = stream;
    job->device_name = name;
    job->purpose = purpose;
    with_kernel(call, [job](std::shared_ptr<const jit::Kernel> kernel, std::shared_ptr<const bound::Program> program) {
      take_kernel(job, std::move(kernel), std::move(program));
    });
  });
}

}  // namespace

Error launch_failure(ActiveCall& call, std::uint64_t stream, Error error) {
  if (error.code != ErrorCode::cancelled) return error;
  if (auto status = call.not_stopped(); !status) return std::move(status).error();
  // Nobody stopped it: one before it on the stream failed.
  if (auto status = take_stream_error(call, stream); !status) return std::move(status).error();
  return error;
}

void kernel_launch(const CallPtr& call) { start_launch(call, LaunchPurpose::run); }
void kernel_verify(const CallPtr& call) { start_launch(call, LaunchPurpose::verify); }
void kernel_profile(const CallPtr& call) { start_launch(call, LaunchPurpose::profile); }

}  // namespace kiln::service
