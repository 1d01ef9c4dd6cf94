// A kernel program by hand, the design's example: an f16 product of 128x128x64 tiles on 4 waves, global loads one tile
// ahead.
#pragma once

#include <string>

#include "engine/ir/kernel/matrix_layouts.hpp"
#include "engine/ir/kernel/program.hpp"

namespace kiln::kernel {

// Ids in the program below.
namespace gemm {
enum Tensors { A, B, C };
enum Storages { As, Bs, acc, ga, gb, a, b };
enum Variables { k };
// Positions in the role's body, and in the loop's.
enum Statements { first_load_a, first_load_b, clear, loop, barrier_last, store_a, store_b, barrier_stored, load_a,
                 load_b, multiply, store_c };
enum InLoop { l_barrier, l_store_a, l_store_b, l_barrier_stored, l_fetch_a, l_fetch_b, l_load_a, l_load_b, l_multiply };
}  // namespace gemm

inline ExprPtr integer(std::int64_t value) { return bound::make_integer(value); }
inline ExprPtr expr_of(bound::Expr::Kind kind, std::int64_t id, DType type = DType::index,
                       std::vector<ExprPtr> args = {}) {
  bound::Expr node;
  node.kind = kind;
  node.integer = id;
  node.type = type;
  node.args = std::move(args);
  return std::make_shared<const bound::Expr>(std::move(node));
}
inline ExprPtr variable(int id) { return expr_of(bound::Expr::Kind::variable, id); }
inline ExprPtr block_start(int axis, std::int64_t extent) {
  return bound::make_binary(Op::mul, expr_of(bound::Expr::Kind::block, axis), integer(extent));
}
template <class Node>
Stmt statement(Node node, std::string note = "") {
  return {"", std::move(note), std::move(node)};
}

inline Storage shared_tile(const std::string& name, DType dtype, std::vector<std::int64_t> shape, std::int64_t offset) {
  Storage one;
  one.kind = Storage::Kind::lds;
  one.name = name;
  one.dtype = dtype;
  one.shape = std::move(shape);
  one.lds_layout.shape = one.shape;
  one.lds_layout.element_bytes = dtype_bytes(dtype);
  one.lds_layout.contiguous = static_cast<int>(one.shape.size()) - 1;
  one.offset_bytes = offset;
  return one;
}
inline Storage registers(const std::string& name, DType dtype, layout::RegLayout layout, int vectors) {
  Storage one;
  one.name = name;
  one.dtype = dtype;
  one.shape = layout.shape();
  one.reg_layout = std::move(layout);
  one.vector_elements = vectors;
  return one;
}
inline bound::Tensor matrix(const std::string& name, DType dtype, std::int64_t rows, std::int64_t columns,
                            Access access) {
  bound::Tensor tensor;
  tensor.name = name;
  tensor.dtype = dtype;
  tensor.shape = {rows, columns};
  tensor.strides = {columns, 1};
  tensor.access = access;
  return tensor;
}

inline Body gemm_products(bool fetch) {
  using namespace gemm;
  const auto tile = [](int tensor, int axis) {
    return GlobalRef{tensor, {block_start(axis, 128), variable(k)}, {0, 1}, {false, false}, {}};
  };
  Body body = {statement(Barrier{}), statement(StoreLds{ga, {As, nullptr, {}}, 16}),
               statement(StoreLds{gb, {Bs, nullptr, {}}, 16}), statement(Barrier{})};
  if (fetch) {
    body.push_back(statement(LoadGlobal{ga, tile(A, 1), 16, Addressing::buffer, nullptr},
                             "in flight under the products"));
    body.push_back(statement(LoadGlobal{gb, tile(B, 0), 16, Addressing::buffer, nullptr}));
  }
  body.push_back(statement(LoadLds{a, {As, nullptr, {}}, 16}));
  body.push_back(statement(LoadLds{b, {Bs, nullptr, {}}, 16}));
  body.push_back(statement(Mma{"v_mfma_f32_32x32x8_f16", a, b, acc, 0, 0, 64, true}));
  return body;
}

// C[m,n] = Σ A[m,k]·B[n,k]; m = n = k = 512, every block inside.
inline Program gemm_program() {
  using namespace gemm;
  const auto target = *target::parse_target("gfx942");
  const auto& instruction = *target.matrix_named("v_mfma_f32_32x32x8_f16");
  const WaveGrid grid{1, 1};
  Program program;
  program.name = "gemm_nt";
  program.target = target.full;
  program.tensors = {matrix("A", DType::f16, 512, 512, Access::read), matrix("B", DType::f16, 512, 512, Access::read),
                     matrix("C", DType::f32, 512, 512, Access::write)};
  Launch launch;
  launch.symbol = "gemm_nt_0";
  launch.grid = {4, 4, 1};
  launch.threads = 256;
  launch.wave = 64;
  launch.order = {8, 8};
  launch.lds_bytes = 32768;
  launch.waves_per_simd = 1;
  launch.variables = {{"k", DType::index}};
  // 8 lanes of 8 elements a row, 8 rows a wave, 32 rows a pass.
  using layout::BitSource;
  const auto coalesced = *layout::make_layout({128, 64}, {{BitSource::reg, 3, 1}, {BitSource::lane, 3, 1},
                                                          {BitSource::lane, 3, 0}, {BitSource::wave, 2, 0}});
  launch.storages = {shared_tile("As", DType::f16, {128, 64}, 0), shared_tile("Bs", DType::f16, {128, 64}, 16384),
                     registers("acc", DType::f32, *result_layout(instruction, 128, 128, grid, true), 16),
                     registers("ga", DType::f16, coalesced, 8), registers("gb", DType::f16, coalesced, 8),
                     registers("a", DType::f16, *operand_layout(instruction, Operand::a, 128, 64, grid, 2), 8),
                     registers("b", DType::f16, *operand_layout(instruction, Operand::b, 128, 64, grid, 2), 8)};
  for (const int id : {As, Bs}) {
    launch.storages[id].lds_layout = layout::with_swizzle(launch.storages[id].lds_layout, 16, 1, 8);
  }
  const auto first = [](int tensor, int axis) {
    return GlobalRef{tensor, {block_start(axis, 128), integer(0)}, {0, 1}, {false, false}, {}};
  };
  Role role{"all", 0, 4, 0, {}};
  role.body = {statement(LoadGlobal{ga, first(A, 1), 16, Addressing::buffer, nullptr}),
               statement(LoadGlobal{gb, first(B, 0), 16, Addressing::buffer, nullptr}),
                   statement(Fill{acc, integer(0)}),
                   statement(For{k, integer(64), integer(512), integer(64), false, gemm_products(true)})};
  for (auto& stmt : gemm_products(false)) role.body.push_back(std::move(stmt));
  role.body.push_back(statement(StoreGlobal{acc, {C, {block_start(1, 128), block_start(0, 128)}, {0, 1}, {false, false},
                                                  {}}, 16}));
  launch.roles.push_back(std::move(role));
  program.launches.push_back(std::move(launch));
  return program;
}

}  // namespace kiln::kernel
