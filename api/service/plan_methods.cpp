// plan.create, run and release: launches that are read and checked once, and submitted by one message each time.
#include <algorithm>
#include <optional>

#include "api/service/launch_job.hpp"
#include "api/service/records_json.hpp"

namespace kiln::service {

using protocol::Json;

namespace {

constexpr auto most = protocol::integer_magnitude_max;
// What prints and asserts of one run leave is answered by a device's process in one frame.
constexpr std::uint64_t records_bytes_max = std::uint64_t(16) << 20;
constexpr std::uint64_t launch_records_bytes = std::uint64_t(bound::records_words) * 8;

// ---- plan.create ----------------------------------------------------------------------------------------------------

std::string pointer_of(std::size_t launch) { return "/params/launches/" + std::to_string(launch); }

// An error of one of the launches; one of its program has that one's own pointers.
Error of_launch(Error error, std::size_t launch) {
  error.context.push_back("it is of " + pointer_of(launch));
  return error;
}

// A plan on its way, from its request's parameters on.
struct Recording {
  CallPtr call;
  std::string device_name;
  Json launches = Json::array();           // as requests of their own: each with the device
  std::vector<std::optional<Result<NamedKernel>>> kernels;  // one a launch
  std::atomic<std::size_t> left{0};        // kernels that are not found yet
};
using RecordingPtr = std::shared_ptr<Recording>;

Status has_room(const ActiveCall& call) {
  const auto plans_max = call.state.options.limits.plans_max;
  if (call.connection->plans.size() < plans_max) return ok();
  return Error(ErrorCode::resource_limit,
               "this connection has " + std::to_string(plans_max) + " plans: release some");
}

Result<RecordingPtr> begin_recording(const CallPtr& call) {
  {
    std::lock_guard lock(call->state.mutex);
    KILN_CHECK(has_room(*call));
  }
  auto recording = std::make_shared<Recording>();
  recording->call = call;
  KILN_TRY(const auto named, call->fields.text_or("device", "host"));
  KILN_TRY(recording->device_name, find_device(*call, named));
  const auto launches_max = std::size_t(call->state.options.limits.plan_launches_max);
  KILN_TRY(const Json* launches, call->fields.array("launches", launches_max));
  if (launches->empty()) return call->fields.error("launches", "at least one launch");
  for (std::size_t i = 0; i < launches->size(); ++i) {
    const protocol::Fields fields((*launches)[i], pointer_of(i));
    KILN_CHECK(fields.only({"key", "program", "digest", "set", "layouts", "align", "target", "must_hit", "tuned",
                            "args", "symbols"}));
    recording->launches.push_back((*launches)[i]);
    recording->launches.back()["device"] = recording->device_name;
  }
  recording->kernels.resize(launches->size());
  recording->left = launches->size() + 1;  // one for who gives them out
  return recording;
}

Status check_kernel(const NamedKernel& named, std::uint64_t& records_bytes) {
  if (named.kernel->metadata.records >= 0) records_bytes += launch_records_bytes;
  if (records_bytes <= records_bytes_max) return ok();
  return Error(ErrorCode::resource_limit, "at most " + std::to_string(records_bytes_max / launch_records_bytes) +
                                              " launches of a plan may print or assert");
}

// What kernel.launch does before each launch, and what is kept of it.
Result<device::PlanStep> add_launch(const Recording& recording, std::size_t i, Plan& plan) {
  const auto& call = recording.call;
  const protocol::Fields fields(recording.launches[i], pointer_of(i));
  const auto& named = **recording.kernels[i];
  LaunchJob job;
  job.call = call;
  job.fields = &fields;
  job.kernel = named.kernel;
  job.program = named.program;
  job.source = named.source;
  job.device_name = plan.device_name;
  job.device = &plan.device;
  KILN_CHECK(read_symbols(job));
  KILN_CHECK(read_arguments(job));
  KILN_TRY(auto loaded, call->state.session->load(job.kernel, plan.device_name));
  device::PlanStep step{loaded->id, {}};
  for (const auto& argument : job.arguments) {
    KILN_TRY(auto given, device_argument(argument, plan.device));
    step.arguments.push_back(std::move(given));
    if (!argument.buffer) continue;
    plan.buffers.emplace(argument.buffer_id, argument.buffer);
    if (argument.buffer->copied())
      plan.add_copied(argument.buffer, argument.offset, argument.bytes, argument.access != Access::read);
  }
  for (const auto value : job.symbols) step.arguments.push_back({0, 0, 0, compile::symbol_argument(value)});
  plan.kernels.push_back(job.kernel);
  plan.loaded.push_back(std::move(loaded));
  plan.workspace_bytes = std::max(plan.workspace_bytes, job.kernel->metadata.workspace_bytes());
  return step;
}

// What the daemon and the device's process keep of it, about; it counts as buffers do.
std::uint64_t bytes_of(const std::vector<device::PlanStep>& steps) {
  std::uint64_t bytes = 0;
  for (const auto& step : steps) bytes += sizeof step + 2 * step.arguments.size() * sizeof(device::LaunchArgument);
  return bytes;
}

// With all kernels found; may wait for the device's process.
Result<std::shared_ptr<Plan>> record(const Recording& recording) {
  auto& state = recording.call->state;
  KILN_TRY(auto* const device, state.session->device(recording.device_name));
  const auto plan = std::make_shared<Plan>(*device, recording.device_name);
  std::vector<device::PlanStep> steps;
  std::uint64_t records_bytes = 0;
  for (std::size_t i = 0; i < recording.kernels.size(); ++i) {
    KILN_CHECK(recording.call->not_stopped());
    const auto& found = *recording.kernels[i];
    if (!found) return of_launch(found.error(), i);
    if (auto status = check_kernel(*found, records_bytes); !status) return of_launch(std::move(status).error(), i);
    auto step = add_launch(recording, i, *plan);
    if (!step) return of_launch(std::move(step).error(), i);
    steps.push_back(std::move(*step));
  }
  KILN_TRY(plan->memory, state.memory->take(bytes_of(steps)));
  KILN_TRY(plan->id, device->make_plan(steps));
  return plan;
}

// Books the plan on the connection, which has its buffers still.
Result<std::uint64_t> add_plan(const ActiveCall& call, const std::shared_ptr<Plan>& plan) {
  std::lock_guard lock(call.state.mutex);
  auto& connection = *call.connection;
  if (connection.gone) return Error(ErrorCode::cancelled, "the connection is gone");
  KILN_CHECK(has_room(call));
  for (const auto& [id, buffer] : plan->buffers)
    if (!connection.buffers.contains(id))
      return Error(ErrorCode::not_found, "buffer " + std::to_string(id) + " was unregistered while the plan was made");
  const auto id = connection.plan_next++;
  connection.plans.emplace(id, plan);
  return id;
}

void finish_recording(const Recording& recording) {
  const auto& call = recording.call;
  const auto plan = record(recording);
  if (!call->begin_work()) return;   // stopped: what was made goes with this
  if (!plan) return call->answer(plan.error());
  const auto id = add_plan(*call, *plan);
  if (!id) return call->answer(id.error());
  call->answer(Json{{"plan", *id}, {"launches", (*plan)->kernels.size()}, {"device", (*plan)->device_name}});
}

// One kernel more is found; the last one goes on.
void give_back_share(const RecordingPtr& recording) {
  if (--recording->left > 0) return;
  auto& threads = recording->call->state.long_work;
  ActiveCall::run_on(recording->call, threads, [recording] { finish_recording(*recording); });
}

// ---- plan.run -------------------------------------------------------------------------------------------------------

// One run on its way.
struct PlanJob {
  TurnPtr turn;                            // first: what is behind it starts when all else is given back
  CallPtr call;
  std::uint64_t number = 0, stream = 0;    // the connection's names of plan and stream
  std::shared_ptr<const Plan> plan;
  MemoryShare workspace_memory;
  Json printed;                            // members of the answer

  void answer(Reply reply) {
    plan.reset();
    workspace_memory = MemoryShare();
    add_members(reply, printed);
    call->answer(std::move(reply));
    turn.reset();
  }
};
using PlanJobPtr = std::shared_ptr<PlanJob>;

// Records are told as by single launches, each with the number of its launch.
void name_launch(Json& members, std::uint64_t launch) {
  for (const char* name : {"printed", "failed"})
    if (const auto list = members.find(name); list != members.end())
      for (auto& record : *list) record["launch"] = launch;
}

// What prints and asserts have left. Errors: assertion_failed, the first one's with the diagnostics of all.
Status read_all_records(PlanJob& job, const device::LaunchReport& report) {
  Status all;
  for (const auto& left : report.steps) {
    if (left.step >= job.plan->kernels.size())
      return Error(ErrorCode::internal, "records of a launch that the plan does not have");
    Json members;
    auto status = read_records(job.plan->kernels[left.step]->metadata, left.records, members);
    name_launch(members, left.step);
    keep_printed(job.printed, members);
    if (status) continue;
    auto error = of_launch(std::move(status).error(), left.step);
    if (all) {
      all = std::move(error);
      continue;
    }
    auto first = std::move(all).error();
    for (auto& diagnostic : error.diagnostics)
      if (first.diagnostics.size() < std::size_t(bound::failures_max))
        first.diagnostics.push_back(std::move(diagnostic));
    all = std::move(first);
  }
  return all;
}

Status copy_all_out(const Plan& plan) {
  for (const auto& range : plan.copied)
    if (range.written) KILN_CHECK(range.buffer->copy_out(range.offset, range.bytes));
  return ok();
}

// Its launches have run, whether their assertions held or not.
void answer_run(const PlanJobPtr& job, const Status& held, double duration_ms) {
  if (auto status = copy_all_out(*job->plan); !status) return job->answer(std::move(status).error());
  if (!held) return job->answer(held.error());
  Json value{{"plan", job->number}, {"launches", job->plan->kernels.size()}, {"duration_ms", duration_ms},
             {"device", job->plan->device_name}};
  job->answer(std::move(value));
}

void run_ended(const PlanJobPtr& job, const Result<device::LaunchReport>& report) {
  if (!report) return job->answer(launch_failure(*job->call, job->stream, report.error()));
  const auto held = read_all_records(*job, *report);
  if (job->plan->copied.empty()) return answer_run(job, held, report->duration_ms);
  job->call->state.pool.run([job, held, ms = report->duration_ms] { answer_run(job, held, ms); });
}

Status submit_run(const PlanJobPtr& job) {
  auto& call = *job->call;
  const auto& plan = *job->plan;
  KILN_CHECK(call.not_stopped());
  KILN_CHECK(take_stream_error(call, job->stream));
  KILN_TRY(job->workspace_memory, call.state.memory->take(plan.workspace_bytes));
  for (const auto& range : plan.copied) KILN_CHECK(range.buffer->copy_in(range.offset, range.bytes));
  std::uint64_t stream = 0;
  {
    std::lock_guard lock(call.state.mutex);
    call.state.launches += plan.kernels.size();
    stream = call.connection->streams.at(job->stream).number;
  }
  auto* const device = &plan.device;
  const auto id = device->run_plan(plan.id, stream, [job](const Result<device::LaunchReport>& report) {
    run_ended(job, report);
  });
  call.work_stops_by([device, id] { device->cancel(id); });
  return ok();
}

// `away`: it is the connection's no more. Errors: not_found, busy.
Result<std::shared_ptr<const Plan>> take_plan(ActiveCall& call, std::uint64_t id, bool away) {
  std::lock_guard lock(call.state.mutex);
  auto& plans = call.connection->plans;
  const auto found = plans.find(id);
  if (found == plans.end())
    return Error(ErrorCode::not_found, "this connection has no plan " + std::to_string(id));
  if (away) KILN_CHECK(not_in_ring(*call.connection, id));
  auto plan = found->second;
  if (away) plans.erase(found);
  return plan;
}

}  // namespace

void plan_create(const CallPtr& call) {
  ActiveCall::begin_waiting(call);   // for compilers, and for the device's process
  const auto begun = begin_recording(call);
  if (!begun) {
    if (call->begin_work()) call->answer(begun.error());
    return;
  }
  const auto& recording = *begun;
  for (std::size_t i = 0; i < recording->kernels.size(); ++i)
    find_kernel(call, recording->launches[i], pointer_of(i), [recording, i](Result<NamedKernel> found) {
      recording->kernels[i] = std::move(found);
      give_back_share(recording);
    });
  give_back_share(recording);
}

// The plan is the one that has the number when the request comes: a release that comes later does not overtake the run.
void plan_run(const CallPtr& call) {
  const auto number = call->fields.integer("plan", 1, most);
  if (!number) return call->answer(number.error());
  const auto stream = call->fields.integer_or("stream", 0, 0, most);
  if (!stream) return call->answer(stream.error());
  const auto plan = take_plan(*call, std::uint64_t(*number), false);
  if (!plan) return call->answer(plan.error());
  run_in_order(call, std::uint64_t(*stream), {},
               [call, plan = *plan, number = std::uint64_t(*number), stream = std::uint64_t(*stream)](TurnPtr turn) {
    auto job = std::make_shared<PlanJob>();
    job->turn = std::move(turn);
    job->call = call;
    job->number = number;
    job->stream = stream;
    job->plan = plan;
    ActiveCall::run_on(call, call->state.pool, [job] {
      if (!job->call->begin_work()) return;
      if (auto status = submit_run(job); !status) job->answer(std::move(status).error());
    });
  });
}

void plan_release(const CallPtr& call) {
  const auto number = call->fields.integer("plan", 1, most);
  if (!number) return call->answer(number.error());
  auto plan = take_plan(*call, std::uint64_t(*number), true);
  if (!plan) return call->answer(plan.error());
  plan->reset();   // its runs have it still, if there are any
  call->answer(Json::object());
}

}  // namespace kiln::service
