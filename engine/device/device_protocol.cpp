#include "engine/device/device_protocol.hpp"

#include <algorithm>

#include "engine/base/error_encoding.hpp"

namespace kiln::device {
namespace {

IpcHandle read_handle(Reader& r) {
  IpcHandle handle{};
  const auto bytes = r.bytes();
  if (bytes.size() == handle.size()) std::copy(bytes.begin(), bytes.end(), handle.begin());
  else r.fail();
  return handle;
}

Bytes copy_of(ByteView bytes) { return {bytes.begin(), bytes.end()}; }

void write_argument(Writer& out, const LaunchArgument& argument) {
  for (const auto v : {argument.buffer, argument.offset, argument.bytes}) out.u64(v);
  out.bytes(argument.scalar);
}

LaunchArgument read_argument(Reader& in) {
  LaunchArgument argument;
  for (auto* v : {&argument.buffer, &argument.offset, &argument.bytes}) *v = in.u64();
  argument.scalar = copy_of(in.bytes());
  return argument;
}

// The value when everything was read and nothing is left over.
template <class T>
Result<T> finished(const Reader& r, T value) {
  KILN_CHECK(r.finish());
  return value;
}

Status check_size(const LaunchReport& report) {
  if (report.profiles.size() <= profile_bytes_max) return ok();
  return Error(ErrorCode::resource_limit, "the launch ran, and what it counted is too large to be answered: " +
               std::to_string(report.profiles.size()) + " bytes, at most " + std::to_string(profile_bytes_max));
}

}  // namespace

Bytes encode(const DeviceInfo& value) {
  Writer w;
  for (const auto* text : {&value.name, &value.target, &value.description, &value.uuid}) w.string(*text);
  w.i64(value.compute_units);
  w.u64(value.memory_bytes);
  w.string(value.pci);
  w.list(value.cards, [](Writer& out, const CardIdentity& card) {
    out.string(card.uuid);
    out.string(card.pci);
  });
  return w.take();
}

Result<DeviceInfo> decode_info(ByteView bytes) {
  Reader r(bytes);
  DeviceInfo value;
  for (auto* text : {&value.name, &value.target, &value.description, &value.uuid}) *text = r.string();
  value.compute_units = static_cast<int>(r.i64());
  value.memory_bytes = r.u64();
  value.pci = r.string();
  value.cards = r.list<CardIdentity>([](Reader& in) {
    CardIdentity card;
    card.uuid = in.string();
    card.pci = in.string();
    return card;
  });
  return finished(r, std::move(value));
}

Bytes encode(const LoadOrder& value) {
  Writer w;
  w.u64(value.request);
  w.u64(value.kernel);
  w.bytes(value.metadata);
  w.bytes(value.object);
  return w.take();
}

Result<LoadOrder> decode_load(ByteView bytes) {
  Reader r(bytes);
  LoadOrder value;
  value.request = r.u64();
  value.kernel = r.u64();
  value.metadata = copy_of(r.bytes());
  value.object = copy_of(r.bytes());
  return finished(r, std::move(value));
}

Bytes encode(const MapOrder& value) {
  Writer w;
  for (const auto v : {value.request, value.buffer, value.offset, value.size}) w.u64(v);
  w.boolean(value.writable);
  w.boolean(value.card);
  return w.take();
}

Result<MapOrder> decode_map(ByteView bytes) {
  Reader r(bytes);
  MapOrder value;
  for (auto* v : {&value.request, &value.buffer, &value.offset, &value.size}) *v = r.u64();
  value.writable = r.boolean();
  value.card = r.boolean();
  return finished(r, value);
}

Bytes encode(const MemoryOrder& value) {
  Writer w;
  for (const auto v : {value.request, value.buffer, value.offset, value.size}) w.u64(v);
  w.bytes(value.handle);
  return w.take();
}

Result<MemoryOrder> decode_memory(ByteView bytes) {
  Reader r(bytes);
  MemoryOrder value;
  for (auto* v : {&value.request, &value.buffer, &value.offset, &value.size}) *v = r.u64();
  value.handle = read_handle(r);
  return finished(r, value);
}

Bytes encode(const ReadOrder& value) {
  Writer w;
  for (const auto v : {value.request, value.buffer, value.offset, value.bytes}) w.u64(v);
  return w.take();
}

Result<ReadOrder> decode_read(ByteView bytes) {
  Reader r(bytes);
  ReadOrder value;
  for (auto* v : {&value.request, &value.buffer, &value.offset, &value.bytes}) *v = r.u64();
  return finished(r, value);
}

Bytes encode(const EventOrder& value) {
  Writer w;
  w.u64(value.request);
  w.u64(value.event);
  w.bytes(value.handle);
  return w.take();
}

Result<EventOrder> decode_event(ByteView bytes) {
  Reader r(bytes);
  EventOrder value;
  value.request = r.u64();
  value.event = r.u64();
  value.handle = read_handle(r);
  return finished(r, value);
}

Bytes encode(const RemoveOrder& value) {
  Writer w;
  w.u64(value.request);
  w.u64(value.id);
  return w.take();
}

Result<RemoveOrder> decode_remove(ByteView bytes) {
  Reader r(bytes);
  RemoveOrder value;
  value.request = r.u64();
  value.id = r.u64();
  return finished(r, value);
}

Bytes encode(const LaunchOrder& value) {
  Writer w;
  for (const auto v : {value.launch, value.kernel}) w.u64(v);
  w.list(value.arguments, write_argument);
  const auto& settings = value.settings;
  w.u64(settings.stream);
  w.boolean(settings.profile);
  w.list(settings.switches, [](Writer& out, const std::pair<std::string, std::string>& option) {
    out.string(option.first);
    out.string(option.second);
  });
  w.list(settings.wait, [](Writer& out, EventId event) { out.u64(event); });
  w.u64(settings.record);
  w.boolean(value.tell_enqueued);
  return w.take();
}

Result<LaunchOrder> decode_launch(ByteView bytes) {
  Reader r(bytes);
  LaunchOrder value;
  for (auto* v : {&value.launch, &value.kernel}) *v = r.u64();
  value.arguments = r.list<LaunchArgument>(read_argument);
  auto& settings = value.settings;
  settings.stream = r.u64();
  settings.profile = r.boolean();
  settings.switches = r.list<std::pair<std::string, std::string>>([](Reader& in) {
    std::pair<std::string, std::string> option;
    option.first = in.string();
    option.second = in.string();
    return option;
  });
  settings.wait = r.list<EventId>([](Reader& in) { return in.u64(); });
  settings.record = r.u64();
  value.tell_enqueued = r.boolean();
  return finished(r, std::move(value));
}

Bytes encode(const PlanOrder& value) {
  Writer w;
  for (const auto v : {value.request, value.plan}) w.u64(v);
  w.list(value.steps, [](Writer& out, const PlanStep& step) {
    out.u64(step.kernel);
    out.list(step.arguments, write_argument);
  });
  return w.take();
}

Result<PlanOrder> decode_plan(ByteView bytes) {
  Reader r(bytes);
  PlanOrder value;
  for (auto* v : {&value.request, &value.plan}) *v = r.u64();
  value.steps = r.list<PlanStep>([](Reader& in) {
    PlanStep step;
    step.kernel = in.u64();
    step.arguments = in.list<LaunchArgument>(read_argument);
    return step;
  });
  return finished(r, std::move(value));
}

Bytes encode(const RunOrder& value) {
  Writer w;
  for (const auto v : {value.launch, value.plan, value.stream}) w.u64(v);
  return w.take();
}

Result<RunOrder> decode_run(ByteView bytes) {
  Reader r(bytes);
  RunOrder value;
  for (auto* v : {&value.launch, &value.plan, &value.stream}) *v = r.u64();
  return finished(r, value);
}

Bytes encode(const RingOrder& value) {
  Writer w;
  for (const auto v : {value.request, value.ring, value.stream}) w.u64(v);
  w.u32(value.slots);
  return w.take();
}

Result<RingOrder> decode_ring(ByteView bytes) {
  Reader r(bytes);
  RingOrder value;
  for (auto* v : {&value.request, &value.ring, &value.stream}) *v = r.u64();
  value.slots = r.u32();
  return finished(r, value);
}

Bytes encode(const AttachOrder& value) {
  Writer w;
  for (const auto v : {value.request, value.ring, value.number, value.plan}) w.u64(v);
  return w.take();
}

Result<AttachOrder> decode_attach(ByteView bytes) {
  Reader r(bytes);
  AttachOrder value;
  for (auto* v : {&value.request, &value.ring, &value.number, &value.plan}) *v = r.u64();
  return finished(r, value);
}

Bytes encode(const DoneReport& value) {
  Writer w;
  w.u64(value.request);
  write_status(w, value.status);
  w.bytes(value.payload);
  return w.take();
}

Result<DoneReport> decode_done(ByteView bytes) {
  Reader r(bytes);
  DoneReport value;
  value.request = r.u64();
  value.status = read_status(r);
  value.payload = copy_of(r.bytes());
  return finished(r, std::move(value));
}

Bytes encode(const LaunchedReport& value) {
  const Status status = value.report ? check_size(*value.report) : Status(value.report.error());
  Writer w;
  w.u64(value.launch);
  write_status(w, status);
  w.f64(status ? value.report->duration_ms : 0);
  w.string(status ? value.report->profiles : std::string());
  w.bytes(status ? ByteView(value.report->records) : ByteView());
  w.list(status ? value.report->steps : std::vector<StepRecords>(), [](Writer& out, const StepRecords& step) {
    out.u64(step.step);
    out.bytes(step.records);
  });
  return w.take();
}

Result<LaunchedReport> decode_launched(ByteView bytes) {
  Reader r(bytes);
  const auto launch = r.u64();
  auto status = read_status(r);
  LaunchReport report;
  report.duration_ms = r.f64();
  report.profiles = r.string();
  report.records = copy_of(r.bytes());
  report.steps = r.list<StepRecords>([](Reader& in) {
    StepRecords step;
    step.step = in.u64();
    step.records = copy_of(in.bytes());
    return step;
  });
  if (status) status = check_size(report);
  if (!status) return finished(r, LaunchedReport{launch, std::move(status).error()});
  return finished(r, LaunchedReport{launch, std::move(report)});
}

}  // namespace kiln::device
