// host.fma: c += a·b in register blocks. The accumulators of one block stay in registers over all k; rows of b are
// loaded as vectors, elements of a are broadcast.
#include "engine/emit/llvm_context.hpp"
#include "engine/emit/llvm_elements.hpp"
#include "engine/emit/llvm_expression.hpp"

namespace kiln::emit::llvm_text {
namespace {

struct Block {
  Context& ctx;
  const kernel::Mma& mma;
  Memory a, b, c;
  int a_row = 0, a_k = 1, b_k = 0, b_column = 1;  // axes
  DType accumulator = DType::f32;
  int lanes = 8, vectors = 2;  // a row of the block: vectors of so many lanes
  Value k_end;

  [[nodiscard]] Value fused(const Value& x, const Value& y, const Value& sum) const {
    Builder& ir = ctx.ir;
    if (sum.type.is_real()) return ir.call("llvm.fma." + mangled(sum.type), sum.type, {x, y, sum});
    return ir.op("add", sum, ir.op("mul", x, y));
  }
  [[nodiscard]] Value operand(const Memory& memory, const Value& at, int count) const {
    Builder& ir = ctx.ir;
    const int align = count == 1 ? memory.align : dtype_bytes(memory.dtype) * count;
    const Value raw = ir.load(memory_type(memory.dtype, count), at, align, memory.scope);
    return convert(ir, from_memory(ir, raw, memory.dtype), memory.dtype, accumulator);
  }
  [[nodiscard]] Value at(const Value& base, const Value& index, std::int64_t stride) const {
    return ctx.ir.offset(base, ctx.ir.mul(index, Builder::constant(stride)));
  }
  [[nodiscard]] Value c_at(const Value& corner, int row, int vector) const {
    return ctx.ir.offset(
        corner, Builder::constant(row * c.stride(0) + std::int64_t(vector) * lanes * dtype_bytes(c.dtype)));
  }
  std::vector<Value> load_c(const Value& corner) const;
  void store_c(const Value& corner, const std::vector<Value>& sums) const;
  std::vector<Value> step(const Value& a_block, const Value& b_block, const Value& k, std::vector<Value> sums) const;
  void emit(const Value& row, const Value& column) const;
};

std::vector<Value> Block::load_c(const Value& corner) const {
  std::vector<Value> sums;
  for (int row = 0; row < mma.block_m; ++row) {
    for (int v = 0; v < vectors; ++v) {
      if (mma.clear)
        sums.push_back(Builder::zero(value_type(accumulator, lanes)));
      else
        sums.push_back(operand(c, c_at(corner, row, v), lanes));
    }
  }
  return sums;
}

void Block::store_c(const Value& corner, const std::vector<Value>& sums) const {
  for (int row = 0; row < mma.block_m; ++row) {
    for (int v = 0; v < vectors; ++v) {
      const Value value = convert(ctx.ir, sums[row * vectors + v], accumulator, c.dtype);
      ctx.ir.store(to_memory(ctx.ir, value, c.dtype), c_at(corner, row, v), dtype_bytes(c.dtype) * lanes, c.scope);
    }
  }
}

std::vector<Value> Block::step(const Value& a_block, const Value& b_block, const Value& k,
                               std::vector<Value> sums) const {
  const Value b_row = at(b_block, k, b.stride(b_k)), a_column = at(a_block, k, a.stride(a_k));
  std::vector<Value> columns;
  for (int v = 0; v < vectors; ++v) {
    columns.push_back(
        operand(b, ctx.ir.offset(b_row, Builder::constant(std::int64_t(v) * lanes * dtype_bytes(b.dtype))), lanes));
  }
  for (int row = 0; row < mma.block_m; ++row) {
    const Value element = operand(a, ctx.ir.offset(a_column, Builder::constant(row * a.stride(a_row))), 1);
    const Value wide = ctx.ir.splat(element, lanes);
    for (int v = 0; v < vectors; ++v) sums[row * vectors + v] = fused(wide, columns[v], sums[row * vectors + v]);
  }
  return sums;
}

void Block::emit(const Value& row, const Value& column) const {
  const Value a_block = at(at(a.base, row, a.stride(a_row)), Builder::constant(mma.a_k), a.stride(a_k));
  const Value b_block =
      at(at(b.base, column, b.stride(b_column)), Builder::constant(mma.b_k), b.stride(b_k));
  const Value corner = at(at(c.base, row, c.stride(0)), column, c.stride(1));
  const auto sums =
      ctx.ir.loop_carrying(Builder::constant(0), k_end, 1, load_c(corner),
                           [&](const Value& k, const std::vector<Value>& s) { return step(a_block, b_block, k, s); });
  store_c(corner, sums);
}

}  // namespace

void emit_mma(Context& ctx, const kernel::Mma& mma) {
  Block block{ctx, mma, storage_memory(ctx, mma.a), storage_memory(ctx, mma.b), storage_memory(ctx, mma.c)};
  if (mma.a_transposed) std::swap(block.a_row, block.a_k);
  if (mma.b_transposed) std::swap(block.b_k, block.b_column);
  const DType c_type = block.c.dtype;
  block.accumulator = is_float(c_type) && c_type != DType::f64 ? DType::f32 : c_type;
  block.lanes = ctx.vector_bytes / dtype_bytes(block.accumulator);
  block.vectors = mma.block_n / block.lanes;
  const bool streams = block.b.stride(block.b_column) == dtype_bytes(block.b.dtype) &&
                       block.c.stride(1) == dtype_bytes(c_type) && block.vectors * block.lanes == mma.block_n &&
                       block.vectors > 0 && mma.block_m > 0;
  if (!streams)
    return ctx.fail(Error(ErrorCode::internal, "host.fma: b and c must be contiguous along n, in whole vectors"));
  const auto end = [&](std::int64_t extent, const kernel::ExprPtr& limit) {
    if (!limit) return Builder::constant(extent);
    return ctx.ir.min_signed(Builder::constant(extent), Evaluator(ctx).index_value(*limit));
  };
  block.k_end = end(mma.k, mma.k_limit);
  const Value rows = end(block.c.extent(0), mma.m_limit), columns = end(block.c.extent(1), mma.n_limit);
  ctx.ir.loop(Builder::constant(0), columns, mma.block_n, [&](const Value& column) {
    ctx.ir.loop(Builder::constant(0), rows, mma.block_m, [&](const Value& row) { block.emit(row, column); });
  });
}

}  // namespace kiln::emit::llvm_text
