#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/unit/kernel/gemm_program.hpp"

namespace kiln::kernel {
namespace {

// Compares with tests/unit/kernel/data/<name>; with KILN_UPDATE_GOLDEN set, writes it first.
void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = KILN_SOURCE_DIR "/tests/unit/kernel/data/" + name;
  if (std::getenv("KILN_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::ifstream file(path);
  ASSERT_TRUE(file.good()) << path;
  std::stringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(text, golden.str()) << "set KILN_UPDATE_GOLDEN=1 to take this text as the golden one";
}

TEST(Print, TheGemm) { expect_golden("gemm_gfx942.txt", print(gemm_program())); }

// Every other statement once.
Program one_of_each() {
  using bound::make_binary;
  using Kind = bound::Expr::Kind;
  auto program = gemm_program();
  bound::Tensor scalar;
  scalar.name = "alpha";
  scalar.scalar = true;
  program.tensors.push_back(scalar);
  auto& launch = program.launches[0];
  launch.order = {};
  launch.variables = {{"k", DType::index}, {"i", DType::index}, {"j", DType::index}, {"k", DType::index},
                      {"", DType::f32}};
  launch.storages.push_back(registers("rows", DType::f32, layout::slice(launch.storages[gemm::acc].reg_layout, 1), 1));
  launch.storages.push_back(shared_tile("scratch", DType::f32, {2, 128}, 0));
  launch.storages[8].stages = 2;
  const auto at = [](int storage, std::vector<ExprPtr> args) { return expr_of(Kind::tile, storage, DType::f32,
      std::move(args)); };
  bound::Expr half;
  half.kind = Kind::real;
  half.type = DType::f32;
  half.real = 0.5;
  const ExprPtr half_text = std::make_shared<const bound::Expr>(half);
  bound::MapItem let{4, false, -1, {}, make_binary(Op::mul, at(gemm::acc, {variable(1), variable(2)}),
      make_binary(Op::add, half_text, expr_of(Kind::scalar, 3, DType::f32)))};
  bound::MapItem set{-1, false, gemm::acc, {variable(1), variable(2)}, expr_of(Kind::variable, 4, DType::f32),
                     make_binary(Op::lt, variable(1), variable(2))};
  bound::MapItem out{-1, true, gemm::C, {variable(1), variable(2)}, expr_of(Kind::variable, 4, DType::f32)};
  Direct direct;
  direct.global = {gemm::A, {variable(0), integer(0)}, {1, 0}, {true, false}, {nullptr, variable(3)}};
  direct.lds = {gemm::As, nullptr, {64, 0}};
  direct.shape = {64, 64};
  direct.token = 2;
  direct.vector_bytes = 4;
  Role role{"all", 0, 4, 128, {}};
  role.body = {statement(Let{3, make_binary(Op::min, expr_of(Kind::block, 1), integer(7))}),
               statement(direct, "axes swapped"), statement(Wait{2, 1}), statement(Wait{-1, 0}),
               statement(Map{{1, 2}, {128, 128}, launch.storages[gemm::acc].reg_layout, {let, set, out},
                             {false, false, true}}), statement(Reduce{tile::ReduceOp::max, gemm::acc, 7, 1, true, 8}),
               statement(Convert{gemm::ga, gemm::gb, layout::Conversion::registers, -1}),
               statement(Sched{Sched::Kind::fence, 0, 0}), statement(Sched{Sched::Kind::group, 0x100, 4}),
                   statement(Sched{Sched::Kind::priority, 0, 1}),
                   statement(If{make_binary(Op::lt, variable(3), integer(3)),
                                {statement(Barrier{Barrier::Scope::role})}, {statement(Barrier{})}}),
                                statement(LoadLds{gemm::ga, {gemm::As, nullptr, {}}, 8}),
               statement(For{0, integer(0), variable(3), integer(1), true, {statement(Fill{7, half_text})}})};
  launch.roles = {role};
  return program;
}

TEST(Print, EveryStatement) { expect_golden("statements.txt", print(one_of_each())); }

TEST(Print, TheSameTwice) { EXPECT_EQ(print(one_of_each()), print(one_of_each())); }

}  // namespace
}  // namespace kiln::kernel
