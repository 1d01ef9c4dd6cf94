// What the HIP printer refuses, and what must be in its text.
#include <gtest/gtest.h>

#include "engine/emit/emit.hpp"
#include "tests/unit/kernel/gemm_program.hpp"

namespace kiln::emit {
namespace {

using namespace kiln::kernel;

bound::Tensor vector_tensor(std::int64_t elements, Access access) {
  bound::Tensor one;
  one.name = "A\"; } evil";  // a user's string: never in the text
  one.dtype = DType::f32;
  one.shape = {elements};
  one.strides = {1};
  one.access = access;
  return one;
}

// 64 f32 from A to C, one a lane, by `body`.
Program copy_program(Body body, std::int64_t elements = 64) {
  Program program;
  program.name = "copy";
  program.target = "gfx942";
  program.tensors = {vector_tensor(elements, Access::read), vector_tensor(elements, Access::write)};
  Launch launch;
  launch.symbol = "copy_0";
  launch.grid = {4, 1, 1};
  launch.threads = launch.wave = 64;
  launch.storages = {registers("x", DType::f32, *layout::make_layout({64}, {{layout::BitSource::lane, 6, 0}}), 1)};
  launch.variables = {{"n\n;", DType::index}};
  launch.roles = {{"all", 0, 1, 0, std::move(body)}};
  program.launches = {launch};
  return program;
}

GlobalRef at(int tensor, ExprPtr start, bool checked = false) {
  GlobalRef ref;
  ref.tensor = tensor;
  ref.start = {std::move(start)};
  ref.tile_axis = {0};
  ref.checked = {checked};
  ref.limit = {nullptr};
  return ref;
}

Result<std::string> emitted(const Program& program, const std::string& target = "gfx942") {
  KILN_TRY(const auto traits, target::parse_target(target));
  return emit_hip(program, traits);
}
std::string text_of(const Program& program) {
  const auto text = emitted(program);
  return text ? *text : to_text(text.error());
}
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
void expect_refused(const Program& program, ErrorCode code, const std::string& words) {
  const auto text = emitted(program);
  ASSERT_FALSE(text) << *text;
  EXPECT_EQ(text.error().code, code);
  EXPECT_TRUE(has(text.error().message, words)) << text.error().message;
}

TEST(HipEmit, NoNameOfAUsersReachesTheText) {
  const auto text = text_of(copy_program({statement(LoadGlobal{0, at(0, integer(0)), 4, Addressing::global, nullptr}),
                                          statement(StoreGlobal{0, at(1, integer(0)), 4})}));
  EXPECT_TRUE(has(text, "void copy_0(const void* __restrict__ p0, void* __restrict__ p1)")) << text;
  EXPECT_FALSE(has(text, "evil"));
  for (std::size_t line = text.find("#include"); line != std::string::npos; line = text.find("#include", line + 1))
    EXPECT_EQ(text.substr(line + 9, 6), "<kiln/");
}

TEST(HipEmit, SymbolsAreIdentifiers) {
  auto program = copy_program({});
  program.launches[0].symbol = "x; }";
  expect_refused(program, ErrorCode::internal, "identifier");
}

TEST(HipEmit, HostTargetsAreRefused) {
  const auto text = emitted(copy_program({}), "host:avx2");
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, ErrorCode::unsupported);
}

TEST(HipEmit, WhatIsNotBuiltSaysSo) {
  expect_refused(copy_program({statement(Direct{true, at(0, integer(0)), {}, {64}, nullptr, 0, 4})}),
                 ErrorCode::unsupported, "straight to LDS");
  expect_refused(copy_program({statement(Wait{0, 0})}), ErrorCode::unsupported, "asynchronous");
  auto roles = copy_program({statement(Barrier{Barrier::Scope::role})});
  roles.launches[0].roles.push_back(roles.launches[0].roles[0]);
  expect_refused(roles, ErrorCode::unsupported, "some of a block's waves");
}

TEST(HipEmit, ErrorsNameTheStatement) {
  auto program = copy_program({statement(Wait{0, 0})});
  program.launches[0].roles[0].body[0].pointer = "/launches/0/body/3";
  const auto text = emitted(program);
  ASSERT_FALSE(text);
  EXPECT_TRUE(has(to_text(text.error()), "/launches/0/body/3"));
}

TEST(HipEmit, TextHasALimit) {
  Body body;
  for (int i = 0; i < 40000; ++i) body.push_back(statement(Barrier{}));
  Body outer;
  for (int i = 0; i < 4; ++i) outer.insert(outer.end(), body.begin(), body.end());
  expect_refused(copy_program(std::move(outer)), ErrorCode::resource_limit, "1 MiB");
}

TEST(HipEmit, ACheckedLoadIsPoisonedOrReadsTheBase) {
  const auto start = block_start(0, 64);
  const auto buffer =
      text_of(copy_program({statement(LoadGlobal{0, at(0, start, true), 4, Addressing::buffer, nullptr})}, 250));
  EXPECT_TRUE(has(buffer, "buffer_outside")) << buffer;
  EXPECT_TRUE(has(buffer, "< 250u")) << buffer;
  const auto global =
      text_of(copy_program({statement(LoadGlobal{0, at(0, start, true), 4, Addressing::global, nullptr})}, 250));
  EXPECT_TRUE(has(global, ": 0l)")) << global;
  EXPECT_TRUE(has(global, "if (!m_")) << global;
}

TEST(HipEmit, AScalarOffsetStaysInsideTheBuffer) {
  const auto unchecked = at(0, block_start(0, 64));
  EXPECT_TRUE(has(text_of(copy_program({statement(LoadGlobal{0, unchecked, 4, Addressing::buffer, nullptr})}, 100)),
                  "smaller<u32>"));
  EXPECT_FALSE(has(text_of(copy_program({statement(LoadGlobal{0, unchecked, 4, Addressing::buffer, nullptr})}, 256)),
                   "smaller<u32>"));
}

TEST(HipEmit, IndexArithmeticIsWideWhereItMustBe) {
  const auto narrow = text_of(copy_program({statement(Let{0, block_start(0, 64)})}));
  EXPECT_TRUE(has(narrow, "const i32 v0 = (bx * 64);")) << narrow;
  const auto wide = text_of(copy_program({statement(Let{0, block_start(0, std::int64_t(1) << 31)})}));
  EXPECT_TRUE(has(wide, "const i64 v0 = ")) << wide;
  EXPECT_TRUE(has(wide, "(i64)(bx) * 2147483648l")) << wide;
}

TEST(HipEmit, EmptyTensorsAreNeverTouched) {
  const auto text =
      text_of(copy_program({statement(LoadGlobal{0, at(0, integer(0), true), 4, Addressing::global, nullptr}),
                            statement(StoreGlobal{0, at(1, integer(0), true), 4})},
                           0));
  EXPECT_FALSE(has(text, "load_")) << text;
  EXPECT_FALSE(has(text, "store_")) << text;
}

TEST(HipEmit, OccupancyIsPassedOn) {
  auto program = copy_program({});
  EXPECT_TRUE(has(text_of(program), "KILN_KERNEL(64)"));
  program.launches[0].waves_per_simd = 2;
  EXPECT_TRUE(has(text_of(program), "KILN_KERNEL_WAVES(64, 2)"));
}

}  // namespace
}  // namespace kiln::emit
