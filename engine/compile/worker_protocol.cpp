#include "engine/compile/worker_protocol.hpp"

#include "engine/base/error_encoding.hpp"

namespace kiln::compile {

Bytes encode(const CompileOrder& order) {
  Writer w;
  w.bytes(order.program);
  w.string(order.target);
  w.string(order.key_hex);
  w.i64(order.left_ms);
  return w.take();
}

Result<CompileOrder> decode_compile_order(ByteView bytes) {
  Reader r(bytes);
  CompileOrder order;
  const auto program = r.bytes();
  order.program.assign(program.begin(), program.end());
  order.target = r.string();
  order.key_hex = r.string();
  order.left_ms = r.i64();
  KILN_CHECK(r.finish());
  return order;
}

Bytes encode(const Compiled& compiled) {
  Writer w;
  w.bytes(encode(compiled.metadata));
  w.bytes(compiled.object);
  return w.take();
}

Result<Compiled> decode_compiled(ByteView bytes) {
  Reader r(bytes);
  const auto metadata = r.bytes();
  const auto object = r.bytes();
  KILN_CHECK(r.finish());
  Compiled compiled;
  KILN_TRY(compiled.metadata, decode_metadata(metadata));
  compiled.object.assign(object.begin(), object.end());
  return compiled;
}

Bytes encode(const Error& error) {
  Writer w;
  write_error(w, error);
  return w.take();
}

Error decode_failure(ByteView bytes) {
  Reader r(bytes);
  auto error = read_error(r);
  if (!r.finish()) return Error(ErrorCode::corrupt, "damaged bytes");
  return error;
}

}  // namespace kiln::compile
