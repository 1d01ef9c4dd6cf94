// Bound programs that several tests use: what specialize makes of the built-ins, in small.
#pragma once

#include <utility>

#include "tests/unit/reference/builder.hpp"

namespace kiln::test {

// C = A·B, tiles of `tile` each way, shared operands, accumulation in `acc`. Parameters A, B, C.
inline bound::Program gemm_program(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t tile, DType operand,
                                   DType acc) {
  const auto blocks = [&](std::int64_t v) { return (v + tile - 1) / tile; };
  Builder b({blocks(n), blocks(m), 1});
  const int A = b.tensor("A", operand, {m, k}), B = b.tensor("B", operand, {k, n});
  const int C = b.tensor("C", is_float(operand) ? operand : acc, {m, n}, Access::write);
  const int As = b.tile("As", operand, {tile, tile}, Space::shared),
            Bs = b.tile("Bs", operand, {tile, tile}, Space::shared);
  const int sum = b.tile("acc", acc, {tile, tile});
  const int kk = b.variable("k");
  b.add(bound::Fill{sum, is_float(acc) ? real(0, acc) : integer(0, acc)});
  bound::For loop;
  loop.var = kk;
  loop.from = integer(0), loop.to = integer(k), loop.step = integer(tile);
  loop.kind = tile::For::Kind::pipelined;
  loop.body.push_back(Builder::stmt(b.load(A, {block(1) * integer(tile), b.var(kk)}, As), "/a"));
  loop.body.push_back(Builder::stmt(b.load(B, {b.var(kk), block(0) * integer(tile)}, Bs), "/b"));
  loop.body.push_back(Builder::stmt(bound::Gemm{As, Bs, sum, false, false, false}, "/gemm"));
  b.add(std::move(loop));
  b.add(b.store(sum, C, {block(1) * integer(tile), block(0) * integer(tile)}));
  return b.program;
}

// O = softmax(Q·K^T / sqrt(d))·V over [heads, seq, d], flash style. Parameters Q, K, V, O.
inline bound::Program attention_program(std::int64_t heads, std::int64_t seq, std::int64_t d, std::int64_t tile,
                                        DType type) {
  Builder b({(seq + tile - 1) / tile, heads, 1});
  const int Q = b.tensor("Q", type, {heads, seq, d}), K = b.tensor("K", type, {heads, seq, d}),
            V = b.tensor("V", type, {heads, seq, d});
  const int O = b.tensor("O", type, {heads, seq, d}, Access::write);
  const int Qs = b.tile("Qs", type, {tile, d}, Space::shared), Ks = b.tile("Ks", type, {tile, d}, Space::shared);
  const int Vs = b.tile("Vs", type, {tile, d}, Space::shared), Ps = b.tile("Ps", type, {tile, tile}, Space::shared);
  const int S = b.tile("S", DType::f32, {tile, tile}), acc = b.tile("acc", DType::f32, {tile, d});
  const int top = b.tile("top", DType::f32, {tile}), old = b.tile("old", DType::f32, {tile}),
            sum = b.tile("sum", DType::f32, {tile});
  const int kk = b.variable("k"), i = b.variable("i"), j = b.variable("j");
  const auto I = b.var(i), J = b.var(j), first = block(0) * integer(tile);
  const auto rows = [&](int tensor, ExprPtr start, int to) {
    bound::Copy copy;
    copy.from = {true, tensor, {block(1), start, integer(0)}, {false, true, true}};
    copy.to = Builder::whole(to);
    copy.shape = {tile, d};
    return copy;
  };
  b.add(rows(Q, first, Qs));
  b.add(bound::Fill{acc, real(0)}).add(bound::Fill{sum, real(0)}).add(bound::Fill{top, real(-1e30)});
  bound::For loop;
  loop.var = kk;
  loop.from = integer(0), loop.to = integer(seq), loop.step = integer(tile);
  const auto put = [&](auto n) {
    loop.body.push_back(Builder::stmt(std::move(n), "/loop/" + std::to_string(loop.body.size())));
  };
  put(rows(K, b.var(kk), Ks));
  put(rows(V, b.var(kk), Vs));
  put(bound::Gemm{Qs, Ks, S, false, true, true});
  const auto scaled = b.at(S, {I, J}) * real(1 / std::sqrt(static_cast<double>(d)));
  const auto inside = operation(Op::lt, {b.var(kk) + J, integer(seq)});
  put(bound::Map{{i, j}, {tile, tile}, {Builder::set(S, {I, J}, select(inside, scaled, real(-1e30)))}});
  put(bound::Map{{i}, {tile}, {Builder::set(old, {I}, b.at(top, {I}))}});
  put(bound::Reduce{tile::ReduceOp::max, S, top, 1, true});
  put(bound::Map{
      {i, j}, {tile, tile}, {Builder::set(S, {I, J}, operation(Op::exp, {b.at(S, {I, J}) - b.at(top, {I})}))}});
  const auto shrink = [&] { return operation(Op::exp, {b.at(old, {I}) - b.at(top, {I})}); };
  put(bound::Map{{i}, {tile}, {Builder::set(sum, {I}, b.at(sum, {I}) * shrink())}});
  put(bound::Reduce{tile::ReduceOp::sum, S, sum, 1, true});
  put(bound::Map{{i, j}, {tile, d}, {Builder::set(acc, {I, J}, b.at(acc, {I, J}) * shrink())}});
  put(bound::Copy{Builder::whole(S), Builder::whole(Ps), {tile, tile}, nullptr, {}});
  put(bound::Gemm{Ps, Vs, acc, false, false, false});
  b.add(std::move(loop));
  b.add(bound::Map{
      {i, j}, {tile, d}, {Builder::set(acc, {I, J}, operation(Op::div, {b.at(acc, {I, J}), b.at(sum, {I})}))}});
  bound::Copy out;
  out.from = Builder::whole(acc);
  out.to = {true, O, {block(1), first, integer(0)}, {false, true, true}};
  out.shape = {tile, d};
  b.add(std::move(out));
  return b.program;
}

// Uses every kind of statement and expression once.
inline bound::Program everything_program() {
  Builder b({2, 2, 1});
  const int X = b.tensor("X", DType::f32, {9, 10}), N = b.tensor("N", DType::i32, {9});
  const int Y = b.tensor("Y", DType::f32, {9, 10}, Access::readwrite), alpha = b.scalar("alpha", DType::f32);
  const int x = b.tile("x", DType::f32, {4, 5}), h = b.tile("h", DType::f16, {4, 5}), r = b.tile("r", DType::f32, {4});
  const int i = b.variable("i"), j = b.variable("j"), k = b.variable("k"), v = b.variable("v", DType::f32),
            n = b.variable("n");
  const auto I = b.var(i), J = b.var(j), row = block(0) * integer(4), column = block(1) * integer(5);
  auto in = b.load(X, {row, column}, x);
  in.fill = real(1.5);
  in.limit = {nullptr, operation(Op::min, {integer(8), cast(b.global(N, {block(0)}), DType::index)})};
  b.add(std::move(in));
  b.add(bound::Let{n, cast(b.global(N, {block(1)}), DType::index)});
  b.add(bound::Map{{i, j},
                   {4, 5},
                   {Builder::let(v, operation(Op::fma, {b.at(x, {I, J}), b.arg(alpha), real(0.25)})),
                    Builder::set(h, {I, J},
                                 cast(select(operation(Op::logical_and, {operation(Op::lt, {I, integer(2)}),
                                                                         operation(Op::gt, {b.var(v), real(0)})}),
                                             b.var(v), operation(Op::neg, {operation(Op::exp, {b.var(v)})})),
                                      DType::f16))}});
  b.add(bound::Copy{Builder::whole(h), Builder::whole(x), {4, 5}, nullptr, {}});
  b.add(bound::Reduce{tile::ReduceOp::max, x, r, 1, false});
  bound::For loop;
  loop.var = k;
  loop.from = integer(0), loop.to = operation(Op::max, {integer(2), b.var(n)}), loop.step = integer(1);
  loop.body.push_back(Builder::stmt(bound::Reduce{tile::ReduceOp::sum, x, r, 1, true}, "/in/loop"));
  b.add(std::move(loop));
  bound::If choice;
  choice.condition = operation(Op::eq, {block(0), integer(0)});
  choice.then.push_back(Builder::stmt(bound::Fill{x, b.arg(alpha)}));
  choice.otherwise.push_back(
      Builder::stmt(bound::Map{{i, j}, {4, 5}, {Builder::set(x, {I, J}, b.at(x, {I, J}) + b.at(r, {I}))}}));
  b.add(std::move(choice));
  b.add(b.store(x, Y, {row, column}));
  return b.program;
}

inline std::vector<std::pair<std::string, bound::Program>> sample_programs() {
  return {{"gemm", gemm_program(20, 18, 17, 8, DType::f16, DType::f32)},
          {"gemm_i8", gemm_program(9, 8, 7, 8, DType::i8, DType::i32)},
          {"attention", attention_program(2, 10, 4, 8, DType::bf16)},
          {"everything", everything_program()}};
}

}  // namespace kiln::test
