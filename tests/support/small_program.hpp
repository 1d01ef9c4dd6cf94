// A tile program that does nothing much, under any name: the workers of these tests go by the name.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "engine/ir/tile/program.hpp"
#include "engine/jit/session.hpp"

namespace kiln::test {

inline std::shared_ptr<const tile::Program> small_program(const std::string& name, const std::string& tensor = "X") {
  const std::string json = R"J({"kiln": "tile/1", "name": ")J" + name + R"J(", "symbols": ["N"],
    "params": [{"name": ")J" + tensor + R"J(", "dtype": "f32", "shape": ["N"], "access": "read"},
               {"name": "Y", "dtype": "f32", "shape": ["N"], "access": "write"}],
    "launches": [{"grid": ["ceildiv(N, 64)"], "threads": "64", "body": [
      {"op": "alloc", "name": "t", "space": "fragment", "dtype": "f32", "shape": ["64"]},
      {"op": "copy", "from": ")J" + tensor + R"J([bid.x * 64:]", "to": "t"},
      {"op": "copy", "from": "t", "to": "Y[bid.x * 64:]"}]}]})J";
  auto program = tile::read_program(json);
  if (!program) {
    std::fprintf(stderr, "%s\n", to_text(program.error()).c_str());
    std::abort();
  }
  return std::make_shared<const tile::Program>(std::move(*program));
}

inline jit::CompileRequest small_request(const std::string& name, const std::string& target = "gfx942") {
  jit::CompileRequest request;
  request.program = small_program(name);
  request.bindings.set["N"] = "100";
  request.target = target;
  return request;
}

}  // namespace kiln::test
