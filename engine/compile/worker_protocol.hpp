// What the pool and its workers say to each other, in frames (engine/base/channel.hpp) over descriptor 3 of the worker.
// The worker speaks first: `ready` once its compiler is there, or `failed` and it ends. Then one request at a time:
//   identity {target} -> identified {Identity}, or failed {Error}
//   compile {CompileOrder} -> compiled {Metadata, object}, or failed {Error}
// The worker ends when the socket does.
#pragma once

#include <cstdint>
#include <string>

#include "engine/base/bytes.hpp"
#include "engine/base/result.hpp"
#include "engine/compile/compiler.hpp"

namespace kiln::compile {

inline constexpr int worker_descriptor = 3;
inline constexpr std::uint32_t worker_protocol_version = 1;

enum class WorkerFrame : std::uint8_t { ready = 1, failed, identity, identified, compile, compiled };

struct CompileOrder {
  Bytes program;             // bound::encode(program, true)
  std::string target;        // target::Target::full
  std::string key_hex;       // for the compile log
  std::int64_t left_ms = -1; // the budget's deadline; -1 for none. The pool kills at its own.
};

Bytes encode(const CompileOrder& order);
Result<CompileOrder> decode_compile_order(ByteView bytes);
Bytes encode(const Compiled& compiled);
Result<Compiled> decode_compiled(ByteView bytes);
Bytes encode(const Error& error);
// The error that a `failed` frame carries; `corrupt` when it carries none.
Error decode_failure(ByteView bytes);

}  // namespace kiln::compile
