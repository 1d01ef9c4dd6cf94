#include "tests/unit/lower/programs.hpp"

namespace kiln::lower_test {
namespace {

using bound::Expr;
using bound::ExprPtr;

ExprPtr node(Expr::Kind kind, DType type, std::int64_t integer = 0, std::vector<ExprPtr> args = {}, Op op = Op::add,
             double real = 0) {
  Expr made;
  made.kind = kind;
  made.type = type;
  made.integer = integer;
  made.args = std::move(args);
  made.op = op;
  made.real = real;
  return std::make_shared<const Expr>(std::move(made));
}
ExprPtr integer(std::int64_t value) { return bound::make_integer(value); }
ExprPtr block(int axis) { return node(Expr::Kind::block, DType::index, axis); }
ExprPtr variable(int id, DType type = DType::index) { return node(Expr::Kind::variable, type, id); }
ExprPtr real(double value, DType type = DType::f32) { return node(Expr::Kind::real, type, 0, {}, Op::add, value); }
ExprPtr tile(int id, DType type, std::vector<ExprPtr> at) { return node(Expr::Kind::tile, type, id, std::move(at)); }
ExprPtr tensor(int id, DType type, std::vector<ExprPtr> at) {
    return node(Expr::Kind::tensor, type, id, std::move(at)); }
ExprPtr binary(Op op, ExprPtr a, ExprPtr b) {
  const bool compare = op >= Op::lt && op <= Op::logical_or;
  if (a->type == DType::index && !compare) return bound::make_binary(op, a, b);
  const DType type = compare ? DType::boolean : a->type;
  return node(Expr::Kind::binary, type, 0, {std::move(a), std::move(b)}, op);
}
ExprPtr call(Op op, std::vector<ExprPtr> args) {
  const DType type = args.front()->type;
  return node(Expr::Kind::call, type, 0, std::move(args), op);
}
ExprPtr cast(ExprPtr value, DType type) { return value->type == type ? value
    : node(Expr::Kind::cast, type, 0, {value}); }
ExprPtr times(ExprPtr a, std::int64_t by) { return bound::make_binary(Op::mul, std::move(a), integer(by)); }

bound::Tensor make_tensor(const std::string& name, DType type, std::vector<std::int64_t> shape, Access access) {
  bound::Tensor made;
  made.name = name;
  made.dtype = type;
  made.shape = bound::extents_of(shape);
  made.access = access;
  std::int64_t stride = 1;
  made.strides.resize(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0; stride *= shape[axis]) made.strides[axis] = stride;
  return made;
}
bound::Tile make_tile(const std::string& name, DType type, Space space, std::vector<std::int64_t> shape,
                      LayoutSpec layout = {}) {
  bound::Tile made;
  made.name = name;
  made.dtype = type;
  made.space = space;
  made.shape = std::move(shape);
  made.layout = layout;
  return made;
}

bound::Region whole(const bound::Launch& launch, int id) {
  bound::Region region;
  region.id = id;
  region.start.assign(launch.tiles[id].shape.size(), integer(0));
  region.ranged.assign(launch.tiles[id].shape.size(), true);
  return region;
}
bound::Region part(int id, std::vector<ExprPtr> start, std::vector<bool> ranged) {
  bound::Region region;
  region.is_tensor = true;
  region.id = id;
  region.start = std::move(start);
  region.ranged = std::move(ranged);
  return region;
}

// Appends statements with running pointers.
class Writer {
 public:
  explicit Writer(bound::Launch& launch) : launch_(launch) {}
  template <class Node> void add(bound::Body& body, Node made) {
    body.push_back({"/launches/0/body/" + std::to_string(count_++), std::move(made)});
  }
  void load(bound::Body& body, bound::Region from, int to) {
    bound::Copy copy;
    copy.from = std::move(from);
    copy.to = whole(launch_, to);
    copy.shape = launch_.tiles[to].shape;
    add(body, std::move(copy));
  }
  void store(bound::Body& body, int from, bound::Region to) {
    bound::Copy copy;
    copy.from = whole(launch_, from);
    copy.to = std::move(to);
    copy.shape = launch_.tiles[from].shape;
    add(body, std::move(copy));
  }
  // target[i, …] = value(i, …)
  template <class F> void map(bound::Body& body, int target, F&& value) {
    bound::Map made;
    std::vector<ExprPtr> at;
    for (const auto extent : launch_.tiles[target].shape) {
      launch_.variables.push_back({"i", DType::index});
      made.index.push_back(static_cast<int>(launch_.variables.size()) - 1);
      made.extent.push_back(extent);
      at.push_back(variable(made.index.back()));
    }
    bound::MapItem item;
    item.target = target;
    item.indices = at;
    item.value = value(at);
    made.body.push_back(std::move(item));
    add(body, std::move(made));
  }
  int loop_variable(const std::string& name) {
    launch_.variables.push_back({name, DType::index});
    return static_cast<int>(launch_.variables.size()) - 1;
  }

 private:
  bound::Launch& launch_;
  int count_ = 0;
};

std::int64_t blocks(std::int64_t size, std::int64_t block) { return (size + block - 1) / block; }
ExprPtr zero(DType type) { return is_float(type) ? real(0, type) : node(Expr::Kind::integer, type, 0); }

}  // namespace

bound::Program gemm(const GemmCase& w) {
  bound::Program program;
  program.name = "gemm";
  program.target = w.target;
  program.tensors = {make_tensor("A", w.in, w.transpose_a ? std::vector{w.k, w.m} : std::vector{w.m, w.k},
                                 Access::read),
                     make_tensor("B", w.in, w.transpose_b ? std::vector{w.n, w.k} : std::vector{w.k, w.n},
                                 Access::read),
                     make_tensor("C", w.out, {w.m, w.n}, Access::write)};
  if (w.bias) program.tensors.push_back(make_tensor("bias", w.out, {w.n}, Access::read));
  for (auto& one : program.tensors) {  // the class that the pitch allows
    const auto pitch = one.shape.back().value() * dtype_bytes(one.dtype);
    while (one.shape.size() > 1 && pitch % one.align_bytes != 0) one.align_bytes /= 2;
  }
  bound::Launch launch;
  launch.grid = {blocks(w.n, w.block_n), blocks(w.m, w.block_m), 1};
  launch.threads = w.threads;
  launch.tiles = {make_tile("As", w.in, w.operands, w.transpose_a ? std::vector{w.block_k, w.block_m}
                            : std::vector{w.block_m, w.block_k}, w.a_layout),
                  make_tile("Bs", w.in, w.operands, w.transpose_b ? std::vector{w.block_n, w.block_k}
                            : std::vector{w.block_k, w.block_n}),
                  make_tile("acc", w.acc, Space::fragment, {w.block_m, w.block_n})};
  Writer write(launch);
  write.add(launch.body, bound::Fill{2, zero(w.acc)});
  const int k = write.loop_variable("k");
  const auto m0 = times(block(1), w.block_m), n0 = times(block(0), w.block_n), k0 = times(variable(k), w.block_k);
  bound::For loop;
  loop.var = k;
  loop.from = integer(0);
  loop.to = integer(blocks(w.k, w.block_k));
  loop.step = integer(1);
  loop.kind = tile::For::Kind::pipelined;
  write.load(loop.body, part(0, w.transpose_a ? std::vector{k0, m0} : std::vector{m0, k0}, {true, true}), 0);
  write.load(loop.body, part(1, w.transpose_b ? std::vector{n0, k0} : std::vector{k0, n0}, {true, true}), 1);
  write.add(loop.body, bound::Gemm{0, 1, 2, w.transpose_a, w.transpose_b, false});
  write.add(launch.body, std::move(loop));
  if (w.bias) {
    write.map(launch.body, 2, [&](const std::vector<ExprPtr>& at) {
      const auto column = bound::make_binary(Op::add, n0, at[1]);
      return binary(Op::add, tile(2, w.acc, at), cast(tensor(3, w.out, {column}), w.acc));
    });
  }
  for (int i = 0; i < w.extra_maps; ++i) {
    write.map(launch.body, 2, [&](const std::vector<ExprPtr>& at) {
        return binary(Op::mul, tile(2, w.acc, at), tile(2, w.acc, at)); });
  }
  write.store(launch.body, 2, part(2, {m0, n0}, {true, true}));
  program.launches.push_back(std::move(launch));
  return program;
}

bound::Program attention(const AttentionCase& w) {
  bound::Program program;
  program.name = "attention";
  program.target = w.target;
  program.tensors = {make_tensor("Q", w.type, {w.batch_heads, w.query, w.width}, Access::read),
                     make_tensor("K", w.type, {w.batch_heads, w.keys, w.width}, Access::read),
                     make_tensor("V", w.type, {w.batch_heads, w.keys, w.width}, Access::read),
                     make_tensor("O", w.type, {w.batch_heads, w.query, w.width}, Access::write)};
  bound::Launch launch;
  launch.grid = {blocks(w.query, w.block_m), w.batch_heads, 1};
  launch.threads = w.threads;
  enum { Qs, Ks, Vs, S, P, O, m_old, m_new, alpha, sum, l };
  launch.tiles = {make_tile("Qs", w.type, Space::shared, {w.block_m, w.width}),
      make_tile("Ks", w.type, Space::shared, {w.block_n, w.width}),
                  make_tile("Vs", w.type, Space::shared, {w.block_n, w.width}),
                      make_tile("S", DType::f32, Space::fragment, {w.block_m, w.block_n}),
                  make_tile("P", w.type, Space::fragment, {w.block_m, w.block_n}),
                      make_tile("O", DType::f32, Space::fragment, {w.block_m, w.width}),
                  make_tile("m_old", DType::f32, Space::fragment, {w.block_m}),
                      make_tile("m_new", DType::f32, Space::fragment, {w.block_m}),
                  make_tile("alpha", DType::f32, Space::fragment, {w.block_m}),
                      make_tile("sum", DType::f32, Space::fragment, {w.block_m}),
                  make_tile("l", DType::f32, Space::fragment, {w.block_m})};
  Writer write(launch);
  const auto f = DType::f32;
  const auto q0 = times(block(0), w.block_m);
  write.load(launch.body, part(0, {block(1), q0, integer(0)}, {false, true, true}), Qs);
  write.add(launch.body, bound::Fill{O, real(0)});
  write.add(launch.body, bound::Fill{m_old, real(-1e30)});
  write.add(launch.body, bound::Fill{l, real(0)});
  bound::For loop;
  const int j = write.loop_variable("j");
  loop.var = j;
  loop.from = integer(0);
  loop.to = integer(blocks(w.keys, w.block_n));
  if (w.causal) {
    const auto end = bound::make_binary(Op::add, q0, integer(w.block_m));
    const auto needed = binary(Op::ceildiv, end, integer(w.block_n));
    loop.to = binary(Op::min, loop.to, needed);
  }
  loop.step = integer(1);
  loop.kind = tile::For::Kind::pipelined;
  const auto k0 = times(variable(j), w.block_n);
  write.load(loop.body, part(1, {block(1), k0, integer(0)}, {false, true, true}), Ks);
  write.add(loop.body, bound::Gemm{Qs, Ks, S, false, true, true});
  write.map(loop.body, S, [&](const std::vector<ExprPtr>& at) {
    const auto scaled = binary(Op::mul, tile(S, f, at), real(0.18));
    const auto column = bound::make_binary(Op::add, k0, at[1]);
    auto seen = binary(Op::lt, column, integer(w.keys));
    if (w.causal) seen = binary(Op::logical_and, seen, binary(Op::le, column, bound::make_binary(Op::add, q0, at[0])));
    return node(Expr::Kind::select, f, 0, {seen, scaled, real(-1e30)});
  });
  write.map(loop.body, m_new, [&](const std::vector<ExprPtr>& at) { return tile(m_old, f, at); });
  write.add(loop.body, bound::Reduce{tile::ReduceOp::max, S, m_new, 1, true});
  write.map(loop.body, alpha, [&](const std::vector<ExprPtr>& at) {
      return call(Op::exp2, {binary(Op::sub, tile(m_old, f, at), tile(m_new, f, at))}); });
  write.map(loop.body, S, [&](const std::vector<ExprPtr>& at) {
      return call(Op::exp2, {binary(Op::sub, tile(S, f, at), tile(m_new, f, {at[0]}))}); });
  write.add(loop.body, bound::Reduce{tile::ReduceOp::sum, S, sum, 1, false});
  write.map(loop.body, l, [&](const std::vector<ExprPtr>& at) {
    return binary(Op::add, binary(Op::mul, tile(l, f, at), tile(alpha, f, at)), tile(sum, f, at));
  });
  write.map(loop.body, m_old, [&](const std::vector<ExprPtr>& at) { return tile(m_new, f, at); });
  write.map(loop.body, P, [&](const std::vector<ExprPtr>& at) { return cast(tile(S, f, at), w.type); });
  write.map(loop.body, O, [&](const std::vector<ExprPtr>& at) {
      return binary(Op::mul, tile(O, f, at), tile(alpha, f, {at[0]})); });
  write.load(loop.body, part(2, {block(1), k0, integer(0)}, {false, true, true}), Vs);
  write.add(loop.body, bound::Gemm{P, Vs, O, false, false, false});
  write.add(launch.body, std::move(loop));
  write.map(launch.body, O, [&](const std::vector<ExprPtr>& at) {
      return binary(Op::div, tile(O, f, at), tile(l, f, {at[0]})); });
  write.store(launch.body, O, part(3, {block(1), q0, integer(0)}, {false, true, true}));
  program.launches.push_back(std::move(launch));
  return program;
}

bound::Program rmsnorm(const RowsCase& w) {
  bound::Program program;
  program.name = "rmsnorm";
  program.target = w.target;
  program.tensors = {make_tensor("X", w.type, {w.rows, w.columns}, Access::read),
      make_tensor("W", w.type, {w.columns}, Access::read),
                     make_tensor("Y", w.type, {w.rows, w.columns}, Access::write)};
  for (auto& one : program.tensors) {
    while (one.shape.size() > 1 &&
           one.shape.back().value() * dtype_bytes(one.dtype) % one.align_bytes != 0) one.align_bytes /= 2;
  }
  bound::Launch launch;
  launch.grid = {blocks(w.rows, w.block_rows), 1, 1};
  launch.threads = w.threads;
  enum { x, square, sum };
  const auto f = DType::f32;
  launch.tiles = {make_tile("x", f, Space::fragment, {w.block_rows, w.block_columns}),
                  make_tile("square", f, Space::fragment, {w.block_rows, w.block_columns}),
                      make_tile("sum", f, Space::fragment, {w.block_rows})};
  Writer write(launch);
  const auto r0 = times(block(0), w.block_rows);
  write.load(launch.body, part(0, {r0, integer(0)}, {true, true}), x);
  write.map(launch.body, square, [&](const std::vector<ExprPtr>& at) {
      return binary(Op::mul, tile(x, f, at), tile(x, f, at)); });
  write.add(launch.body, bound::Reduce{tile::ReduceOp::sum, square, sum, 1, false});
  write.map(launch.body, x, [&](const std::vector<ExprPtr>& at) {
    const auto mean = binary(Op::div, tile(sum, f, {at[0]}), real(static_cast<double>(w.columns)));
    const auto scale = call(Op::rsqrt, {binary(Op::add, mean, real(1e-6))});
    return binary(Op::mul, binary(Op::mul, tile(x, f, at), scale), cast(tensor(1, w.type, {at[1]}), f));
  });
  write.store(launch.body, x, part(2, {r0, integer(0)}, {true, true}));
  program.launches.push_back(std::move(launch));
  return program;
}

}  // namespace kiln::lower_test
