// Bound expressions as flat code over one register file a launch: what makes the interpreter fast enough to check real
// sizes. Evaluation order and meaning are the tree's: `a && b`, `a || b` and select evaluate only what they need.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "engine/ir/bound/arithmetic.hpp"
#include "engine/ir/bound/program.hpp"
#include "engine/reference/error_scale.hpp"

namespace kiln::reference {

enum class Step : std::uint8_t {
  apply,        // to = function(a, b, c)
  reinterpret,  // to = bits of a, `from` as `type`
  move,         // to = a
  jump,
  jump_if_zero, jump_if_set,  // on a, a boolean
  load_tile, load_tensor,     // to = object[indices]
  store_tile, store_tensor,   // object[indices] = a
  update_tensor,              // to = object[indices], which becomes what `atomic` makes of it with a and b
};

struct Instruction {
  Step step = Step::apply;
  DType from = DType::index, type = DType::index;
  tile::AtomicOp atomic = tile::AtomicOp::none;
  bool watched = false;           // loads and stores of what the map writes
  std::int32_t to = 0, a = 0, b = 0, c = 0;   // registers
  std::int32_t object = 0;        // tile or tensor id
  std::int32_t first = 0;         // place of the first index register in Code::indices
  std::int32_t target = 0;        // of a jump
  bound::Function function = nullptr;
  ScaleFunction scale = nullptr;  // null: the result's error scale is 0
};

struct Code {
  std::vector<Instruction> instructions;
  std::vector<std::int32_t> indices;
  std::int32_t result = 0;        // register
};

// What a map writes: accesses to these are watched for races between its iterations.
struct WrittenSet {
  std::vector<bool> tiles, tensors;
};

// The registers of one launch and the code of its expressions, made when first needed. Registers: the launch's
// variables by id, the three block ids, then constants and intermediate values in order of compilation.
class CodeBook {
 public:
  CodeBook(const bound::Program& program, const bound::Launch& launch, std::vector<bound::Value> scalars);
  // Code of an expression that belongs to the program (its address is the key).
  const Code& of(const bound::Expr& expr);
  // One code for the whole body of a map.
  const Code& of(const bound::Map& map);

  std::vector<bound::Value> registers;
  std::vector<double> scales;      // of the registers, always as long
  [[nodiscard]] std::int32_t block_register(int axis) const;

 private:
  class Compiler;
  std::int32_t new_register(bound::Value value);

  const bound::Program& program_;
  const bound::Launch& launch_;
  std::vector<bound::Value> scalars_;  // by tensor id
  std::unordered_map<const void*, Code> codes_;
};

}  // namespace kiln::reference
