// What the tests of tile programs share: reading with the mistakes as text, binding with short notation.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/ir/tile/builtins.hpp"
#include "engine/specialize/specialize.hpp"

namespace kiln::test {

inline const std::string programs_folder = KILN_SOURCE_DIR "/kernels/programs";

// A program around statements: f16 tensors A [M, K], B [K, N], f32 C [M, N] (write), D f32 [M, N] (readwrite), scalar n
// i32, option dtype (f16), transpose (false); grid [ceildiv(N, 64), ceildiv(M, 64)].
inline std::string program_with(const std::string& statements, const std::string& more = "") {
  return R"json({"kiln": "tile/1", "name": "test", "symbols": ["M", "N", "K"],
    "options": {"dtype": {"type": "dtype", "default": "f16"}, "transpose": {"type": "boolean", "default": "false"}},
    "params": [{"name": "A", "dtype": "f16", "shape": ["M", "K"], "access": "read"},
               {"name": "B", "dtype": "f16", "shape": ["K", "N"], "access": "read"},
               {"name": "C", "dtype": "f32", "shape": ["M", "N"], "access": "write"},
               {"name": "D", "dtype": "f32", "shape": ["M", "N"], "access": "readwrite"},
               {"name": "n", "scalar": true, "dtype": "i32"},
               {"name": "n64", "scalar": true, "dtype": "i64"}],)json" +
         more + R"json("launches": [{"grid": ["ceildiv(N, 64)", "ceildiv(M, 64)"], "threads": "256", "body": )json" +
         statements + "}]}";
}

inline specialize::Bindings sizes(std::int64_t m, std::int64_t n, std::int64_t k) {
  specialize::Bindings bindings;
  bindings.set = {{"M", std::to_string(m)}, {"N", std::to_string(n)}, {"K", std::to_string(k)}};
  return bindings;
}

inline Result<bound::Program> bind(const tile::Program& program, const specialize::Bindings& bindings,
                                   const std::string& target = "gfx942") {
  KILN_TRY(const auto parsed, target::parse_target(target));
  Budget budget(50'000'000);
  return specialize::specialize(program, bindings, parsed, budget);
}

// Reads and binds; the error of whichever failed.
inline Result<bound::Program> bind_text(const std::string& json,
                                        const specialize::Bindings& bindings = sizes(128, 128, 128)) {
  KILN_TRY(const auto program, tile::read_program(json));
  return bind(program, bindings);
}

// The diagnostic whose message contains `part`, else null; and all of them as text for messages.
inline const Diagnostic* find(const Error& error, const std::string& part) {
  for (const auto& d : error.diagnostics)
    if (d.message.find(part) != std::string::npos) return &d;
  return nullptr;
}

}  // namespace kiln::test
