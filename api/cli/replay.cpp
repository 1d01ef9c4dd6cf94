#include "api/cli/replay.hpp"

#include <future>

#include "api/cli/backend.hpp"
#include "engine/base/memory_left.hpp"
#include "engine/ir/bound/symbols.hpp"
#include "api/service/report.hpp"
#include "engine/profile/launch_counters.hpp"

namespace kiln::cli {

using protocol::Json;

namespace {

bool emulated(const std::string& device) { return device.rfind("emu:", 0) == 0; }

// One tensor's memory, here and on the device.
struct Memory {
  UniqueFd fd;
  device::BufferId id = 0;
};

// What a launch holds on its device, given back at the end.
class Loaded {
 public:
  explicit Loaded(device::Device& device) : device_(device) {}
  Loaded(const Loaded&) = delete;
  ~Loaded() {
    for (const auto& m : memories_)
      if (m.id != 0) (void)device_.unmap(m.id);
    if (kernel_ != 0) (void)device_.unload(kernel_);
  }
  Status load(const Launchable& launch) {
    KILN_TRY(kernel_, device_.load(launch.metadata, launch.object));
    for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
      memories_.emplace_back();
      if (launch.metadata.tensors[i].scalar) continue;
      KILN_TRY(memories_[i].fd, memory_of(launch.arguments[i]));
      KILN_TRY(memories_[i].id, device_.map(memories_[i].fd.get(), 0, std::max<std::size_t>(launch.arguments[i].size(), 1), true));
    }
    return ok();
  }
  static Result<UniqueFd> memory_of(const Bytes& bytes) {
    KILN_TRY(auto fd, create_memfd("kiln-replay", std::max<std::size_t>(bytes.size(), 1)));
    KILN_CHECK(write_all(fd.get(), bytes));
    return fd;
  }
  [[nodiscard]] device::KernelId kernel() const { return kernel_; }
  [[nodiscard]] const std::vector<Memory>& memories() const { return memories_; }

 private:
  device::Device& device_;
  device::KernelId kernel_ = 0;
  std::vector<Memory> memories_;
};

Result<device::LaunchReport> launch_and_wait(device::Device& device, const Loaded& loaded, const Launchable& launch, const RunSettings& settings) {
  std::vector<device::LaunchArgument> arguments;
  for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
    const bool scalar = launch.metadata.tensors[i].scalar;
    arguments.push_back({loaded.memories()[i].id, 0, scalar ? 0 : launch.arguments[i].size(), scalar ? launch.arguments[i] : Bytes()});
  }
  device::LaunchSettings how;
  how.profile = settings.count && emulated(settings.device);
  if (emulated(settings.device)) how.switches = settings.switches;
  auto promise = std::make_shared<std::promise<Result<device::LaunchReport>>>();
  auto done = promise->get_future();
  const auto id = device.launch(loaded.kernel(), std::move(arguments), std::move(how),
                                [promise](Result<device::LaunchReport> report) { promise->set_value(std::move(report)); });
  for (bool told = false; done.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready;) {
    if (told || !interrupt_token().cancelled()) continue;
    told = true;
    device.cancel(id);
  }
  auto report = done.get();
  if (report) KILN_CHECK(compile::check_records(launch.metadata, report->records));
  return report;
}

Status interpret(jit::Session& session, const Launchable& launch, const Loaded& loaded, const bound::Program& program, RunResult& result) {
  std::vector<jit::Session::VerifyArgument> before, after;
  std::vector<UniqueFd> held;
  // The values of symbols, behind the parameters, are in the program.
  for (std::size_t i = 0; i < program.tensors.size() && i < launch.arguments.size(); ++i) {
    if (launch.metadata.tensors[i].scalar) {
      before.push_back({-1, 0, 0, launch.arguments[i]});
      after.push_back(before.back());
      continue;
    }
    KILN_TRY(auto fd, Loaded::memory_of(launch.arguments[i]));
    before.push_back({fd.get(), 0, launch.arguments[i].size(), {}});
    after.push_back({loaded.memories()[i].fd.get(), 0, launch.arguments[i].size(), {}});
    held.push_back(std::move(fd));
  }
  KILN_TRY(auto verified, session.verify(program, before, after, {}, interrupt_token()));
  result.interpreted = std::move(verified.tensors);
  return ok();
}

Status check_served(device::Device& device, const RunSettings& settings, const std::string& object) {
  KILN_TRY(const auto info, device.info());
  KILN_TRY(const auto object_target, target::parse_target(object));
  KILN_TRY(const auto device_target, target::parse_target(info.target));
  if (target::serves(object_target, device_target)) return ok();
  const bool host = !object_target.arch.starts_with("gfx");
  const std::string where = host ? "with --device host, on a processor that has all that; for a card, emulated or not, "
                                   "make the capture of a launch there"
                                 : "on emu:" + object_target.arch + " or such a card";
  return Error(ErrorCode::unsupported, "the captured kernel is compiled for " + object_target.full + ", device " +
               settings.device + " runs " + device_target.full + ": replay " + where);
}

Json finding_json(const Error& error) {
  const auto f = capture::finding_of(error);
  return {{"code", error_name(error.code)}, {"message", error.message}, {"context", error.context}, {"kind", f.kind},
          {"kernel", f.kernel}, {"place", f.place}, {"instruction", f.instruction}};
}

std::uint64_t different_elements(const compile::TensorInfo& info, ByteView a, ByteView b) {
  const auto step = std::size_t(std::max(1, dtype_bytes(info.dtype)));
  std::uint64_t count = 0;
  for (std::size_t at = 0; at + step <= a.size(); at += step) count += std::memcmp(a.data() + at, b.data() + at, step) != 0;
  return count;
}

// Results of two runs that both have some; bitwise.
Result<Json> compare_results(const capture::CaptureFile& file, const RunResult& replayed) {
  const auto& c = file.capture();
  Json tensors = Json::array();
  bool same = true;
  for (std::size_t i = 0; i < c.arguments.size(); ++i) {
    const auto& captured = c.arguments[i].after;
    if (captured.kind == capture::Contents::Kind::none || !replayed.after[i]) continue;
    const auto& info = c.metadata.tensors[i];
    const auto digest = sha256(*replayed.after[i]);
    const bool equal = digest == captured.sha256;
    Json entry{{"name", info.name}, {"same", equal}, {"sha256", {{"captured", to_hex(captured.sha256)}, {"replayed", to_hex(digest)}}},
               {"elements", captured.bytes / std::uint64_t(std::max(1, dtype_bytes(info.dtype)))}, {"different", nullptr}};
    if (equal) {
      entry["different"] = 0;
    } else if (captured.kind == capture::Contents::Kind::bytes) {
      KILN_TRY(const auto bytes, file.after(i));
      entry["different"] = different_elements(info, bytes, *replayed.after[i]);
    }
    same = same && equal;
    tensors.push_back(std::move(entry));
  }
  return Json{{"same", same}, {"tensors", std::move(tensors)}};
}

Json compare_counters(const std::map<std::string, std::uint64_t>& captured, const std::map<std::string, std::uint64_t>& replayed) {
  Json different = Json::object();
  auto names = captured;
  names.insert(replayed.begin(), replayed.end());
  for (const auto& [name, ignored] : names) {
    const auto a = captured.find(name), b = replayed.find(name);
    if (a != captured.end() && b != replayed.end() && a->second == b->second) continue;
    different[name] = {{"captured", a == captured.end() ? Json() : Json(a->second)}, {"replayed", b == replayed.end() ? Json() : Json(b->second)}};
  }
  return {{"same", different.empty()}, {"compared", names.size()}, {"different", std::move(different)}};
}

Json compare_faults(const Error& captured, const Error& replayed) {
  const auto a = capture::finding_of(captured), b = capture::finding_of(replayed);
  Json different = Json::array();
  if (captured.code != replayed.code || a.kind != b.kind) different.push_back("kind");
  if (a.kernel != b.kernel) different.push_back("kernel");
  if (a.place != b.place) different.push_back("place");
  if (a.instruction != b.instruction) different.push_back("instruction");
  return {{"same", different.empty()}, {"different", std::move(different)}, {"captured", finding_json(captured)}, {"replayed", finding_json(replayed)}};
}

}  // namespace

bool RunResult::differs_from_interpreter() const {
  for (const auto& tensor : interpreted)
    if (tensor && tensor->wrong != 0) return true;
  return false;
}

Result<RunResult> run_launch(jit::Session& session, const Launchable& launch, const RunSettings& settings) {
  std::uint64_t total = 0;
  for (const auto& a : launch.arguments) total += a.size();
  KILN_CHECK(check_memory_left(3 * total, "the captured launch"));
  KILN_TRY(device::Device* const device, session.device(settings.device));
  KILN_CHECK(check_served(*device, settings, launch.metadata.target));
  Loaded loaded(*device);
  KILN_CHECK(loaded.load(launch));
  RunResult result;
  result.after.resize(launch.arguments.size());
  auto report = launch_and_wait(*device, loaded, launch, settings);
  if (!report) {
    const auto code = report.error().code;
    if (code != ErrorCode::launch_failed && code != ErrorCode::device_lost && code != ErrorCode::assertion_failed)
      return std::move(report).error();
    result.outcome.kind = capture::Outcome::Kind::failed;
    result.outcome.error = std::move(report).error();
    return result;
  }
  if (!report->profiles.empty()) {
    KILN_TRY(const auto grids, profile::read_launch_counters(report->profiles));
    result.outcome.counted = true;
    for (const auto& grid : grids)
      for (const auto& [name, value] : grid.counters) result.outcome.counters[name] += value;
  }
  for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
    const auto& info = launch.metadata.tensors[i];
    if (info.scalar || info.access == Access::read) continue;
    KILN_TRY(auto bytes, read_all(loaded.memories()[i].fd.get(), launch.arguments[i].size() + 1));
    bytes.resize(launch.arguments[i].size());
    result.after[i] = std::move(bytes);
  }
  if (settings.interpret) KILN_CHECK(interpret(session, launch, loaded, *settings.interpret, result));
  return result;
}

Result<Launchable> launchable(const capture::CaptureFile& file) {
  const auto& c = file.capture();
  Launchable launch{c.metadata, c.object, {}};
  for (std::size_t i = 0; i < c.arguments.size(); ++i) {
    if (c.metadata.tensors[i].scalar) { launch.arguments.push_back(c.arguments[i].scalar); continue; }
    KILN_TRY(auto bytes, file.before(i));
    launch.arguments.push_back(std::move(bytes));
  }
  return launch;
}

Result<CapturedProgram> captured_program(const capture::Capture& capture) {
  if (capture.program.empty())
    return Error(ErrorCode::unsupported, "the captured launch named its kernel by key and the capture holds no program");
  CapturedProgram known;
  KILN_TRY(auto program, tile::read_program(capture.program));
  known.program = std::make_shared<const tile::Program>(std::move(program));
  known.bindings.set = capture.set;
  known.bindings.align_bytes = capture.align;
  for (const auto& [name, words] : capture.layouts) {
    const auto layout = layout_spec_from_text(words);
    if (!layout) return Error(ErrorCode::corrupt, "/layouts/" + name + ": no layout is written \"" + words.substr(0, 40) + "\"");
    known.bindings.layouts[name] = *layout;
  }
  known.target = capture.target;
  return known;
}

Result<bound::Program> bind_captured(const CapturedProgram& program, const std::string& target) {
  KILN_TRY(const auto parsed, target::parse_target(target));
  Budget budget(std::int64_t(1) << 28, {}, interrupt_token());
  KILN_TRY(const auto bound, specialize::specialize(*program.program, program.bindings, parsed, budget));
  KILN_TRY(const auto values, specialize::symbol_values(bound.symbols, program.bindings.set));
  return bound::with_values(bound, values);
}

Result<Json> compare_runs(const capture::CaptureFile& file, const RunResult& replayed) {
  using Kind = capture::Outcome::Kind;
  const auto& captured = file.capture().outcome;
  const bool was_fault = captured.kind == Kind::failed, is_fault = replayed.failed();
  Json value{{"result", nullptr}, {"fault", nullptr}, {"counters", nullptr}, {"interpreter", nullptr}};
  bool same = was_fault == is_fault;
  if (was_fault && is_fault) {
    value["fault"] = compare_faults(captured.error, replayed.outcome.error);
    same = value["fault"]["same"].get<bool>();
  } else if (was_fault || is_fault) {
    value["fault"] = {{"same", false}, {"captured", was_fault ? finding_json(captured.error) : Json()},
                      {"replayed", is_fault ? finding_json(replayed.outcome.error) : Json()}};
  } else {
    KILN_TRY(value["result"], compare_results(file, replayed));
    same = value["result"]["same"].get<bool>();
    if (captured.counted && replayed.outcome.counted) {
      value["counters"] = compare_counters(captured.counters, replayed.outcome.counters);
      same = same && value["counters"]["same"].get<bool>();
    }
  }
  if (!replayed.interpreted.empty()) {
    Json tensors = Json::array();
    for (std::size_t i = 0; i < replayed.interpreted.size(); ++i) {
      if (!replayed.interpreted[i]) continue;
      auto entry = service::comparison_json(*replayed.interpreted[i]);
      entry["name"] = file.capture().metadata.tensors[i].name;
      tensors.push_back(std::move(entry));
    }
    value["interpreter"] = {{"passed", !replayed.differs_from_interpreter()}, {"tensors", std::move(tensors)}};
  }
  value["same"] = same;
  return value;
}

}  // namespace kiln::cli
