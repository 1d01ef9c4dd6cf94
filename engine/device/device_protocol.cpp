#include "engine/device/device_protocol.hpp"

#include "engine/base/error_encoding.hpp"

namespace kiln::device {
namespace {

Bytes copy_of(ByteView bytes) { return {bytes.begin(), bytes.end()}; }

// The value when everything was read and nothing is left over.
template <class T>
Result<T> finished(const Reader& r, T value) {
  KILN_CHECK(r.finish());
  return value;
}

}  // namespace

Bytes encode(const DeviceInfo& value) {
  Writer w;
  for (const auto* text : {&value.name, &value.target, &value.description, &value.uuid}) w.string(*text);
  w.i64(value.compute_units);
  w.u64(value.memory_bytes);
  return w.take();
}

Result<DeviceInfo> decode_info(ByteView bytes) {
  Reader r(bytes);
  DeviceInfo value;
  for (auto* text : {&value.name, &value.target, &value.description, &value.uuid}) *text = r.string();
  value.compute_units = static_cast<int>(r.i64());
  value.memory_bytes = r.u64();
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
  return w.take();
}

Result<MapOrder> decode_map(ByteView bytes) {
  Reader r(bytes);
  MapOrder value;
  for (auto* v : {&value.request, &value.buffer, &value.offset, &value.size}) *v = r.u64();
  value.writable = r.boolean();
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
  for (const auto v : {value.launch, value.kernel, value.stream}) w.u64(v);
  w.list(value.arguments, [](Writer& out, const LaunchArgument& argument) {
    for (const auto v : {argument.buffer, argument.offset, argument.bytes}) out.u64(v);
    out.bytes(argument.scalar);
  });
  return w.take();
}

Result<LaunchOrder> decode_launch(ByteView bytes) {
  Reader r(bytes);
  LaunchOrder value;
  for (auto* v : {&value.launch, &value.kernel, &value.stream}) *v = r.u64();
  value.arguments = r.list<LaunchArgument>([](Reader& in) {
    LaunchArgument argument;
    for (auto* v : {&argument.buffer, &argument.offset, &argument.bytes}) *v = in.u64();
    argument.scalar = copy_of(in.bytes());
    return argument;
  });
  return finished(r, std::move(value));
}

Bytes encode(const DoneReport& value) {
  Writer w;
  w.u64(value.request);
  write_status(w, value.status);
  return w.take();
}

Result<DoneReport> decode_done(ByteView bytes) {
  Reader r(bytes);
  DoneReport value;
  value.request = r.u64();
  value.status = read_status(r);
  return finished(r, std::move(value));
}

Bytes encode(const LaunchedReport& value) {
  Writer w;
  w.u64(value.launch);
  write_status(w, value.report ? Status() : Status(value.report.error()));
  w.f64(value.report ? value.report->duration_ms : 0);
  return w.take();
}

Result<LaunchedReport> decode_launched(ByteView bytes) {
  Reader r(bytes);
  const auto launch = r.u64();
  auto status = read_status(r);
  const double duration_ms = r.f64();
  if (!status) return finished(r, LaunchedReport{launch, std::move(status).error()});
  return finished(r, LaunchedReport{launch, LaunchReport{duration_ms}});
}

}  // namespace kiln::device
