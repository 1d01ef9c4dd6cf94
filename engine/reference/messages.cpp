#include "engine/reference/messages.hpp"

#include <algorithm>

#include "engine/base/error_encoding.hpp"

namespace kiln::reference {
namespace {

void write_memory(Writer& w, const Memory& memory, std::vector<int>& fds) {
  w.boolean(memory.fd >= 0);
  if (memory.fd < 0) return w.bytes(memory.value);
  const auto found = std::find(fds.begin(), fds.end(), memory.fd);
  w.u32(static_cast<std::uint32_t>(found - fds.begin()));
  if (found == fds.end()) fds.push_back(memory.fd);
  w.u64(memory.offset);
  w.u64(memory.size);
}

Memory read_memory(Reader& r, const std::vector<UniqueFd>& fds) {
  Memory memory;
  if (!r.boolean()) {
    const auto bytes = r.bytes();
    memory.value.assign(bytes.begin(), bytes.end());
    memory.size = memory.value.size();
    return memory;
  }
  const auto number = r.u32();
  memory.offset = r.u64();
  memory.size = r.u64();
  if (number >= fds.size()) r.fail();
  else memory.fd = fds[number].get();
  return memory;
}

void write_tolerance(Writer& w, const ToleranceSpec& spec) {
  w.enumeration(spec.kind);
  w.i64(spec.k);
  w.boolean(spec.flushes_denormals);
  w.f64(spec.accumulator_unit);
  w.f64(spec.operand_max);
}
ToleranceSpec read_tolerance(Reader& r) {
  ToleranceSpec spec;
  spec.kind = r.enumeration(ToleranceClass::rowwise);
  spec.k = r.i64();
  spec.flushes_denormals = r.boolean();
  spec.accumulator_unit = r.f64();
  spec.operand_max = r.f64();
  return spec;
}

void write_comparison(Writer& w, const TensorComparison& c) {
  w.u32(static_cast<std::uint32_t>(c.tensor));
  w.u64(c.comparison.elements);
  w.u64(c.comparison.wrong);
  w.f64(c.comparison.error_max);
  w.f64(c.comparison.tolerance_at_max);
  w.f64(c.comparison.ratio_max);
  w.i64(c.comparison.first_wrong);
  write_tolerance(w, c.tolerance);
}
TensorComparison read_comparison(Reader& r) {
  TensorComparison c;
  c.tensor = static_cast<int>(r.u32());
  c.comparison.elements = r.u64();
  c.comparison.wrong = r.u64();
  c.comparison.error_max = r.f64();
  c.comparison.tolerance_at_max = r.f64();
  c.comparison.ratio_max = r.f64();
  c.comparison.first_wrong = r.i64();
  c.tolerance = read_tolerance(r);
  return c;
}

}  // namespace

Bytes encode_request(const RunRequest& request, int deadline_ms, std::vector<int>& fds) {
  Writer w;
  w.bytes(request.program);
  w.list(request.arguments, [&](Writer& out, const Memory& m) { write_memory(out, m, fds); });
  w.list(request.candidates, [&](Writer& out, const Candidate& c) {
    out.u32(static_cast<std::uint32_t>(c.tensor));
    write_memory(out, c.memory, fds);
  });
  w.boolean(request.tolerance.has_value());
  if (request.tolerance) write_tolerance(w, *request.tolerance);
  w.boolean(request.check_races);
  w.i64(request.steps_max);
  w.i64(deadline_ms);
  return w.take();
}

Result<ReceivedRequest> decode_request(ByteView bytes, const std::vector<UniqueFd>& fds) {
  Reader r(bytes);
  ReceivedRequest received;
  auto& request = received.request;
  const auto program = r.bytes();
  request.program.assign(program.begin(), program.end());
  request.arguments = r.list<Memory>([&](Reader& in) { return read_memory(in, fds); });
  request.candidates = r.list<Candidate>([&](Reader& in) {
    Candidate c;
    c.tensor = static_cast<int>(in.u32());
    c.memory = read_memory(in, fds);
    return c;
  });
  if (r.boolean()) request.tolerance = read_tolerance(r);
  request.check_races = r.boolean();
  request.steps_max = r.i64();
  const auto deadline_ms = r.i64();
  received.deadline_ms = deadline_ms < 0 ? -1 : static_cast<int>(std::min<std::int64_t>(deadline_ms, 1000000000));
  KILN_CHECK(r.finish());
  return received;
}

Bytes encode_reply(const Result<RunReply>& reply) {
  Writer w;
  if (!reply) {
    write_status(w, reply.error());
    return w.take();
  }
  write_status(w, ok());
  w.list(reply->comparisons, [](Writer& out, const TensorComparison& c) { write_comparison(out, c); });
  w.bytes(reply->records);
  return w.take();
}

Result<RunReply> decode_reply(ByteView bytes) {
  Reader r(bytes);
  KILN_CHECK(read_status(r));
  RunReply reply;
  reply.comparisons = r.list<TensorComparison>([](Reader& in) { return read_comparison(in); });
  const auto records = r.bytes();
  reply.records.assign(records.begin(), records.end());
  KILN_CHECK(r.finish());
  return reply;
}

}  // namespace kiln::reference
