// What a launch is answered with: its duration, the interpreter's verdict, counters, a capture.
#include <algorithm>

#include "api/service/launch_job.hpp"
#include "api/service/profile_json.hpp"
#include "api/service/records_json.hpp"
#include "api/service/report.hpp"
#include "engine/ir/bound/symbols.hpp"

namespace kiln::service {

using protocol::Json;

void LaunchJob::answer(Reply reply) {
  arguments.clear();
  events.clear();
  before.clear();
  after.clear();
  before_memory = MemoryShare();
  workspace_memory = MemoryShare();
  loaded.reset();
  call->answer(std::move(reply));
  turn.reset();
  ahead.reset();
}

bool LaunchJob::has_argument(const std::string& wanted) const {
  for (std::size_t i = 0; i < kernel->metadata.tensors.size(); ++i)
    if (name(i) == wanted) return true;
  return false;
}

bool LaunchJob::copies() const {
  return std::any_of(arguments.begin(), arguments.end(),
                     [](const Argument& a) { return a.buffer && a.buffer->copied(); });
}

bool counts(const std::string& device_name) { return device_name.rfind("emu:", 0) == 0; }

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

namespace {

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
  const auto& symbols = symbols_of(job.kernel->metadata, job.program.get());
  for (std::size_t i = 0; i < symbols.size(); ++i) record.symbols.emplace_back(symbols[i].name, job.symbols[i]);
  return capture_launch(record, job.capture);
}

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

}  // namespace

Result<device::LaunchArgument> device_argument(const Argument& argument, device::Device& device) {
  device::LaunchArgument given{0, argument.offset, argument.bytes, argument.scalar};
  if (argument.buffer) {
    KILN_TRY(given.buffer, argument.buffer->on_device(device));
  }
  return given;
}

Status read_records(const compile::Metadata& metadata, ByteView left, Json& members) {
  if (metadata.records < 0) return ok();
  KILN_TRY(const auto records, bound::read_records(left, metadata.sites));
  members = records.failures.empty() ? printed_json(records, metadata.sites) : failed_json(records, metadata.sites);
  auto status = bound::check_assertions(records, metadata.sites);
  if (status) return ok();
  Error error = std::move(status).error();
  constexpr std::size_t lines_max = 32;  // for who shows the error alone; all of them are in its data
  for (std::size_t i = 0; i < std::min(records.prints.size(), lines_max); ++i) {
    const auto& site = metadata.sites[records.prints[i].site];
    error.context.push_back("printed: " + site.text + (site.text.empty() ? "" : ", ") +
                            bound::record_text(records.prints[i], site));
  }
  return error;
}

void answer_launch(const JobPtr& job, Reply reply, capture::Outcome outcome) {
  add_members(reply, job->printed);
  if (!job->capture.wants(outcome)) return job->answer(std::move(reply));
  auto shared = std::make_shared<Reply>(std::move(reply));
  job->call->state.long_work.run([job, shared, outcome = std::move(outcome)] {
    attach_capture(*shared, make_capture(*job, outcome));
    job->answer(std::move(*shared));
  });
}

void answer_verify(const JobPtr& job) {
  if (auto status = take_after(*job); !status) return job->answer(std::move(status).error());
  std::vector<jit::Session::VerifyArgument> before, after;
  for (std::size_t i = 0; i < job->arguments.size(); ++i) {
    const auto& a = job->arguments[i];
    if (!a.buffer) { before.push_back({-1, 0, 0, a.scalar}); after.push_back({-1, 0, 0, a.scalar}); continue; }
    before.push_back({job->before[i].get(), 0, a.bytes, {}});
    if (job->after[i]) after.push_back({job->after[i].get(), 0, a.bytes, {}});
    else after.push_back({a.buffer->mapped_fd(), a.buffer->mapped_offset() + a.offset, a.bytes, {}});
  }
  const auto program = bound::with_values(*job->program, job->symbols);
  if (!program) return job->answer(Error(program.error()));
  auto result = job->call->state.session->verify(*program, before, after, job->call->call.deadline,
                                                 job->call->call.cancel);
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

void answer_failure(const JobPtr& job, Error error) {
  capture::Outcome outcome;
  outcome.kind = capture::Outcome::Kind::failed;
  outcome.error = error;
  answer_launch(job, std::move(error), std::move(outcome));
}

void answer_duration(const JobPtr& job) {
  if (auto status = copy_out(*job); !status) return job->answer(std::move(status).error());
  Json value{{"key", job->kernel->key.hex()}, {"duration_ms", job->launch_ms}, {"device", job->device_name}};
  answer_launch(job, std::move(value), {});
}

}  // namespace kiln::service
