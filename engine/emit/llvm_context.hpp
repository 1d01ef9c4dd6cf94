// What the printers of statements share: the function being written and where its tensors, tiles and variables are.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <vector>

#include "engine/emit/llvm_builder.hpp"
#include "engine/ir/kernel/program.hpp"

namespace kiln::emit::llvm_text {

struct Context {
  Builder& ir;
  const kernel::Program& program;
  const kernel::Launch& launch;
  int vector_bytes = 32;  // of the target's vector registers
  int vector_registers = 16;
  Value arena, cancel, index_slot;  // index_slot: memory through which loaded indices pass once
  std::vector<Value> tensors;       // pointer to each tensor's first element, or to a scalar's value
  std::vector<Value> symbols;       // i64
  std::array<Value, 3> block;
  std::map<int, Value> variables;  // uniform ones: loops, lets, outer map indices
  bool leaves = false;             // a block may end before its last statement
  std::optional<Error> error;      // the first failure; printing goes on with zeros, emit_llvm gives it back

  void fail(Error e) {
    if (!error) error = std::move(e);
  }
  [[nodiscard]] const kernel::Storage& storage(int id) const { return launch.storages[id]; }
};

// Memory with a shape: a tile's storage or a tensor.
struct Memory {
  Value base;
  DType dtype = DType::f32;
  std::vector<Value> extents, stride_bytes;  // i64
  int align = 1;      // of every element's address, at least
  std::string scope;  // alias metadata for plain loads and stores
  [[nodiscard]] int rank() const { return static_cast<int>(extents.size()); }
  // Of a tile's storage, where both are known.
  [[nodiscard]] std::int64_t extent(int axis) const { return *extents[static_cast<std::size_t>(axis)].known; }
  [[nodiscard]] std::int64_t stride(int axis) const { return *stride_bytes[static_cast<std::size_t>(axis)].known; }
};
Memory storage_memory(Context& ctx, int storage);
Memory tensor_memory(Context& ctx, int tensor);
// An extent or stride times `factor`, i64.
Value size_value(Context& ctx, const bound::Extent& extent, std::int64_t factor);

// Metadata that tells LLVM that tiles and tensors never overlap: tiles lie in the arena, which is the thread's own.
inline constexpr const char* tile_scope = ", !alias.scope !0, !noalias !1";
inline constexpr const char* tensor_scope = ", !alias.scope !1, !noalias !0";

// Ends the block, with 1, when the launch was cancelled.
void poll_cancel(Context& ctx);

// Statements (llvm_copy, llvm_mma, llvm_map, llvm_reduce).
void emit_direct(Context& ctx, const kernel::Direct& direct);
void emit_mma(Context& ctx, const kernel::Mma& mma);
void emit_map(Context& ctx, const kernel::Map& map);
void emit_fill(Context& ctx, const kernel::Fill& fill);
void emit_reduce(Context& ctx, const kernel::Reduce& reduce);

}  // namespace kiln::emit::llvm_text
