// Bound programs by hand, for tests.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "engine/ir/bound/arithmetic.hpp"
#include "engine/ir/bound/program.hpp"
#include "engine/reference/interpreter.hpp"

namespace kiln::test {

using bound::ExprPtr;
using Shape = std::vector<std::int64_t>;

inline ExprPtr integer(std::int64_t v, DType type = DType::index) { return bound::make_integer(v, type); }
inline ExprPtr real(double v, DType type = DType::f32) { return bound::make_real(v, type); }
inline ExprPtr node(bound::Expr::Kind kind, DType type, std::int64_t number, std::vector<ExprPtr> args = {},
                    Op op = Op::add) {
  bound::Expr e;
  e.kind = kind;
  e.type = type;
  e.integer = number;
  e.op = op;
  e.args = std::move(args);
  return std::make_shared<const bound::Expr>(std::move(e));
}
inline ExprPtr block(int axis) { return node(bound::Expr::Kind::block, DType::index, axis); }
// Built as it is, unlike make_binary, which folds.
inline ExprPtr operation(Op op, std::vector<ExprPtr> args) {
  const auto type = bound::result_type(op, args[0]->type);
  const auto kind = !bound::is_operator(op) ? bound::Expr::Kind::call
                    : args.size() == 1      ? bound::Expr::Kind::unary
                                            : bound::Expr::Kind::binary;
  return node(kind, type, 0, std::move(args), op);
}
inline ExprPtr operator+(ExprPtr a, ExprPtr b) { return operation(Op::add, {a, b}); }
inline ExprPtr operator-(ExprPtr a, ExprPtr b) { return operation(Op::sub, {a, b}); }
inline ExprPtr operator*(ExprPtr a, ExprPtr b) { return operation(Op::mul, {a, b}); }
inline ExprPtr cast(ExprPtr e, DType type) { return node(bound::Expr::Kind::cast, type, 0, {e}); }
inline ExprPtr select(ExprPtr c, ExprPtr a, ExprPtr b) {
  return node(bound::Expr::Kind::select, a->type, 0, {c, a, b});
}

struct Builder {
  bound::Program program;

  explicit Builder(Shape grid = {1, 1, 1}) {
    program.name = "test";
    program.target = "host";
    auto& launch = program.launches.emplace_back();
    launch.grid = bound::extents_of(grid);
    launch.threads = 64;
  }
  bound::Launch& launch() { return program.launches.back(); }

  int tensor(const std::string& name, DType type, Shape shape, Access access = Access::read) {
    bound::Tensor t;
    t.name = name;
    t.dtype = type;
    Shape strides(shape.size(), 1);
    for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
    t.strides = bound::extents_of(strides);
    t.shape = bound::extents_of(shape);
    t.access = access;
    program.tensors.push_back(t);
    return static_cast<int>(program.tensors.size()) - 1;
  }
  int scalar(const std::string& name, DType type) {
    const int id = tensor(name, type, {});
    program.tensors.back().scalar = true;
    return id;
  }
  int tile(const std::string& name, DType type, Shape shape, Space space = Space::fragment) {
    bound::Tile t;
    t.name = name;
    t.dtype = type;
    t.shape = std::move(shape);
    t.space = space;
    launch().tiles.push_back(t);
    return static_cast<int>(launch().tiles.size()) - 1;
  }
  int variable(const std::string& name, DType type = DType::index) {
    launch().variables.push_back({name, type});
    return static_cast<int>(launch().variables.size()) - 1;
  }

  ExprPtr var(int id) { return node(bound::Expr::Kind::variable, launch().variables[id].type, id); }
  ExprPtr arg(int id) { return node(bound::Expr::Kind::scalar, program.tensors[id].dtype, id); }
  ExprPtr at(int tile, std::vector<ExprPtr> indices) {
    return node(bound::Expr::Kind::tile, launch().tiles[tile].dtype, tile, std::move(indices));
  }
  ExprPtr global(int tensor, std::vector<ExprPtr> indices) {
    return node(bound::Expr::Kind::tensor, program.tensors[tensor].dtype, tensor, std::move(indices));
  }

  template <class Node>
  static bound::Stmt stmt(Node n, const std::string& pointer = "") {
    return {pointer, std::move(n)};
  }
  template <class Node> Builder& add(Node n) {
    launch().body.push_back({"/launches/0/body/" + std::to_string(launch().body.size()), std::move(n)});
    return *this;
  }

  static bound::Region whole(int tile) { return {false, tile, {}, {}}; }
  static bound::Region region(int tensor, std::vector<ExprPtr> start) {
    std::vector<bool> ranged(start.size(), true);
    return {true, tensor, std::move(start), std::move(ranged)};
  }
  bound::Copy load(int tensor, std::vector<ExprPtr> start, int tile) {
    return {region(tensor, std::move(start)), whole(tile), launch().tiles[tile].shape, nullptr, {}};
  }
  bound::Copy store(int tile, int tensor, std::vector<ExprPtr> start) {
    return {whole(tile), region(tensor, std::move(start)), launch().tiles[tile].shape, nullptr, {}};
  }
  static bound::MapItem set(int tile, std::vector<ExprPtr> indices, ExprPtr value) {
    return {-1, false, tile, std::move(indices), std::move(value)};
  }
  static bound::MapItem set_global(int tensor, std::vector<ExprPtr> indices, ExprPtr value) {
    return {-1, true, tensor, std::move(indices), std::move(value)};
  }
  static bound::MapItem let(int variable, ExprPtr value) { return {variable, false, -1, {}, std::move(value)}; }
};

// Buffers of a program's parameters, zeroed, as element values.
class Buffers {
 public:
  explicit Buffers(const bound::Program& program) : program_(program) {
    for (const auto& t : program.tensors)
      bytes_.emplace_back(static_cast<std::size_t>(t.scalar ? dtype_bytes(t.dtype) : t.bytes()));
  }
  void set(int id, std::size_t element, double v) {
    const auto type = program_.tensors[id].dtype;
    const auto value = is_float(type) ? bound::real_value(bound::round_real(type, v))
                                      : bound::integer_value(bound::wrap_integer(type, static_cast<std::int64_t>(v)));
    bound::store_function(type)(bytes_[id].data() + element * dtype_bytes(type), value);
  }
  void set(int id, const std::vector<double>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) set(id, i, values[i]);
  }
  double get(int id, std::size_t element) const {
    const auto type = program_.tensors[id].dtype;
    const auto v = bound::load_function(type)(bytes_[id].data() + element * dtype_bytes(type));
    return is_float(type) ? v.real : static_cast<double>(v.integer);
  }
  std::vector<double> all(int id) const {
    std::vector<double> values(bytes_[id].size() / dtype_bytes(program_.tensors[id].dtype));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = get(id, i);
    return values;
  }
  Bytes& bytes(int id) { return bytes_[id]; }
  std::vector<reference::Argument> arguments() {
    std::vector<reference::Argument> list;
    for (auto& b : bytes_) list.push_back({b.data(), b.size()});
    return list;
  }
  Status run(const reference::RunOptions& options = {}, std::vector<std::vector<double>>* scale = nullptr) {
    if (auto sound = bound::check(program_); !sound) {
      ADD_FAILURE() << to_text(sound.error());
      return sound;
    }
    return reference::run(program_, arguments(), options, scale);
  }

 private:
  const bound::Program& program_;
  std::vector<Bytes> bytes_;
};

inline std::string text_of(const Status& status) { return status ? "ok" : to_text(status.error()); }

}  // namespace kiln::test
