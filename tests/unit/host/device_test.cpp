// The host device itself: what it refuses, cancellation, streams, buffers at odd places.
#include <gtest/gtest.h>

#include <cstring>
#include <future>

#include "engine/compile/host_compiler.hpp"
#include "engine/device/host/object_loader.hpp"
#include "engine/ir/target/target.hpp"
#include "tests/support/host_runner.hpp"

namespace kiln::test {
namespace {

constexpr const char* add_one = R"json({"kiln": "tile/1", "name": "add_one", "symbols": ["N"],
  "params": [{"name": "X", "dtype": "f32", "shape": ["N"], "access": "read"},
             {"name": "Y", "dtype": "f32", "shape": ["N"], "access": "write"}],
  "launches": [{"grid": ["ceildiv(N, 64)"], "threads": "1", "body": [
    {"op": "alloc", "name": "t", "space": "fragment", "dtype": "f32", "shape": ["64"]},
    {"op": "copy", "from": "X[bid.x * 64:]", "to": "t"},
    {"op": "map", "index": ["i"], "extent": ["64"], "body": [{"set": "t[i]", "value": "t[i] + 1.0"}]},
    {"op": "copy", "from": "t", "to": "Y[bid.x * 64:]"}]}]})json";

// Runs for hours unless it is cancelled.
constexpr const char* endless = R"json({"kiln": "tile/1", "name": "endless", "symbols": ["N"],
  "params": [{"name": "Y", "dtype": "f32", "shape": ["16"], "access": "write"}],
  "launches": [{"grid": ["1"], "threads": "1", "body": [
    {"op": "alloc", "name": "t", "space": "fragment", "dtype": "f32", "shape": ["16"]},
    {"op": "fill", "tile": "t", "value": "0"},
    {"op": "for", "var": "a", "to": "N", "body": [
      {"op": "for", "var": "n", "to": "N", "body": [
        {"op": "map", "index": ["i"], "extent": ["16"], "body": [{"set": "t[i]", "value": "t[i] * 0.5 + 1.0"}]}]}]},
    {"op": "copy", "from": "t", "to": "Y[0:]"}]}]})json";

struct HostDevice : testing::Test {
  HostRunner runner{2};
  device::KernelId load(const char* program, const char* n) {
    const auto bound = bind_text(program, {{"N", n}});
    EXPECT_TRUE(bound) << to_text(bound.error());
    const auto compiled = compile_for_host(*bound);
    EXPECT_TRUE(compiled) << to_text(compiled.error());
    const auto kernel = runner.load(*compiled);
    EXPECT_TRUE(kernel) << to_text(kernel.error());
    return kernel.value_or(0);
  }
  std::future<Result<device::LaunchReport>> start(device::KernelId kernel,
                                                  std::vector<device::LaunchArgument> arguments, std::uint64_t stream,
                                                  device::LaunchId* id = nullptr) {
    auto promise = std::make_shared<std::promise<Result<device::LaunchReport>>>();
    auto future = promise->get_future();
    const auto launch = runner.device().launch(
        kernel, std::move(arguments), stream,
        [promise](Result<device::LaunchReport> report) { promise->set_value(std::move(report)); });
    if (id != nullptr) *id = launch;
    return future;
  }
  ErrorCode refusal(device::KernelId kernel, std::vector<device::LaunchArgument> arguments) {
    const auto report = start(kernel, std::move(arguments), 0).get();
    return report ? ErrorCode::internal : report.error().code;
  }
};

TEST_F(HostDevice, RunsOnBuffersAtAnyPlace) {
  const auto kernel = load(add_one, "100");
  auto x = runner.buffer(8192), y = runner.buffer(8192);
  ASSERT_TRUE(x && y);
  for (int i = 0; i < 100; ++i) {
    const auto value = static_cast<float>(i);
    std::memcpy(x->mapping.data() + 4096 + 16 + 4 * i, &value, 4);
  }
  // A second mapping, from the middle of the descriptor.
  const auto shifted = runner.device().map(x->fd.get(), 4096 + 16, 400, false);
  ASSERT_TRUE(shifted);
  ASSERT_TRUE(start(kernel, {{*shifted, 0, 400, {}}, {y->id, 32, 400, {}}}, 0).get());
  for (int i = 0; i < 100; ++i) {
    float value = 0;
    std::memcpy(&value, y->mapping.data() + 32 + 4 * i, 4);
    EXPECT_EQ(value, static_cast<float>(i) + 1);
  }
  for (int i = 0; i < 32; ++i) EXPECT_EQ(y->mapping.data()[i], 0);
  for (int i = 432; i < 8192; ++i) EXPECT_EQ(y->mapping.data()[i], 0) << "written beyond the tensor";
}

TEST_F(HostDevice, RefusesGridsWhoseBlocksCannotBeCounted) {
  const auto bound = bind_text(add_one, {{"N", "100"}});
  ASSERT_TRUE(bound);
  auto compiled = compile_for_host(*bound);
  ASSERT_TRUE(compiled) << to_text(compiled.error());
  const std::int64_t most = 2147483647;
  for (const auto& grid : std::vector<std::vector<std::int64_t>>{{most, most, 4}, {0, most * most, 4}, {-1, 1, 1}}) {
    compiled->metadata.launches[0].grid = bound::extents_of(grid);
    const auto kernel = runner.load(*compiled);
    ASSERT_FALSE(kernel);
    EXPECT_EQ(kernel.error().code, ErrorCode::corrupt);
  }
  compiled->metadata.launches[0].grid = {most, 0, most};
  EXPECT_TRUE(runner.load(*compiled)) << "no block at all";
}

TEST_F(HostDevice, RefusesArgumentsThatDoNotFit) {
  const auto kernel = load(add_one, "100");
  auto x = runner.buffer(4096), y = runner.buffer(4096);
  const auto read_only = runner.device().map(y->fd.get(), 0, 4096, false);
  ASSERT_TRUE(x && y && read_only);
  const device::LaunchArgument good_x{x->id, 0, 400, {}}, good_y{y->id, 0, 400, {}};
  EXPECT_EQ(refusal(kernel, {good_x}), ErrorCode::invalid_argument);
  EXPECT_EQ(refusal(kernel, {good_x, {y->id, 0, 399, {}}}), ErrorCode::invalid_argument);
  EXPECT_EQ(refusal(kernel, {good_x, {y->id, 3712, 400, {}}}), ErrorCode::invalid_argument);
  EXPECT_EQ(refusal(kernel, {good_x, {y->id, 1, 400, {}}}), ErrorCode::invalid_argument);
  EXPECT_EQ(refusal(kernel, {good_x, {y->id, ~std::uint64_t(0), 400, {}}}), ErrorCode::invalid_argument);
  EXPECT_EQ(refusal(kernel, {good_x, {*read_only, 0, 400, {}}}), ErrorCode::invalid_argument);
  EXPECT_EQ(refusal(kernel, {good_x, {987654, 0, 400, {}}}), ErrorCode::invalid_argument);
  EXPECT_EQ(refusal(kernel, {good_x, {0, 0, 400, Bytes(400)}}), ErrorCode::invalid_argument);
  EXPECT_EQ(refusal(987654, {good_x, good_y}), ErrorCode::not_found);
  EXPECT_TRUE(start(kernel, {good_x, good_y}, 0).get());
  ASSERT_TRUE(runner.device().unload(kernel));
  EXPECT_EQ(refusal(kernel, {good_x, good_y}), ErrorCode::not_found);
  EXPECT_FALSE(runner.device().unload(kernel));
  ASSERT_TRUE(runner.device().unmap(x->id));
  EXPECT_FALSE(runner.device().unmap(x->id));
}

TEST_F(HostDevice, CancelEndsALongLaunchAndThoseBehindIt) {
  const auto kernel = load(endless, "1000000000"), short_kernel = load(add_one, "16");
  auto x = runner.buffer(64), y = runner.buffer(64);
  ASSERT_TRUE(x && y);
  device::LaunchId running = 0, waiting = 0;
  auto long_launch = start(kernel, {{y->id, 0, 64, {}}}, 1, &running);
  auto behind = start(kernel, {{y->id, 0, 64, {}}}, 1, &waiting);
  // Another stream goes on meanwhile.
  EXPECT_TRUE(start(short_kernel, {{x->id, 0, 64, {}}, {y->id, 0, 64, {}}}, 2).get());
  runner.device().cancel(waiting);
  const auto second = behind.get();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::cancelled);
  runner.device().cancel(running);
  const auto first = long_launch.get();
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().code, ErrorCode::cancelled);
  EXPECT_TRUE(start(short_kernel, {{x->id, 0, 64, {}}, {y->id, 0, 64, {}}}, 1).get()) << "the next launch works";
  runner.device().cancel(running);  // long over: nothing happens
}

TEST_F(HostDevice, LaunchesOfOneStreamRunInOrder) {
  const auto kernel = load(add_one, "5000");
  auto a = runner.buffer(20000), b = runner.buffer(20000);
  ASSERT_TRUE(a && b);
  std::vector<std::future<Result<device::LaunchReport>>> launches;
  for (int i = 0; i < 100; ++i) {
    const auto& from = i % 2 == 0 ? *a : *b;
    const auto& to = i % 2 == 0 ? *b : *a;
    launches.push_back(start(kernel, {{from.id, 0, 20000, {}}, {to.id, 0, 20000, {}}}, 7));
  }
  for (auto& launch : launches) ASSERT_TRUE(launch.get());
  for (int i = 0; i < 5000; ++i) {
    float value = 0;
    std::memcpy(&value, a->mapping.data() + 4 * i, 4);
    ASSERT_EQ(value, 100.0f);
  }
}

TEST_F(HostDevice, AnEmptyGridRunsNothing) {
  const auto kernel = load(add_one, "0");
  auto x = runner.buffer(16), y = runner.buffer(16);
  ASSERT_TRUE(x && y);
  EXPECT_TRUE(start(kernel, {{x->id, 0, 0, {}}, {y->id, 0, 0, {}}}, 0).get());
}

TEST(ObjectLoader, TakesOnlyWhatTheCompilerMakes) {
  const auto target = target::parse_target("host");
  ASSERT_TRUE(target);
  auto loader = device::host::make_object_loader();
  ASSERT_TRUE(loader);
  const auto refused = [&](const std::string& ir, const std::string& symbol) -> std::string {
    const auto object = compile::compile_llvm_text(ir, *target);
    if (!object) return "does not compile: " + to_text(object.error());
    const auto loaded = (*loader)->load(object->object, {symbol});
    return loaded ? "" : loaded.error().message;
  };
  EXPECT_EQ(refused("define i32 @f() { ret i32 1 }", "f"), "");
  EXPECT_NE(refused("define i32 @f() { ret i32 1 }", "g"), "");
  EXPECT_NE(refused("declare i32 @puts(ptr)\ndefine i32 @f(ptr %p) { %r = call i32 @puts(ptr %p) ret i32 %r }", "f")
                .find("puts"),
            std::string::npos);
  EXPECT_NE(refused("@t = thread_local global i32 1\ndefine i32 @f() { %v = load i32, ptr @t ret i32 %v }", "f")
                .find("thread-local"),
            std::string::npos);
  EXPECT_NE(refused("@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 1, ptr @c, "
                    "ptr null }]\n"
                    "@g = global i32 0\ndefine void @c() { store volatile i32 1, ptr @g ret void }\ndefine i32 @f() { "
                    "ret i32 1 }",
                    "f")
                .find("initializers"),
            std::string::npos);
  Bytes garbage(1000, 0x41);
  EXPECT_FALSE((*loader)->load(garbage, {"f"}));
  EXPECT_FALSE((*loader)->load({}, {"f"}));
  // Every prefix and every flipped byte of a good object is either loaded or refused.
  const auto good = compile::compile_llvm_text("define i32 @f(ptr %p) { store i32 3, ptr %p ret i32 1 }", *target);
  ASSERT_TRUE(good);
  for (std::size_t size = 0; size < good->object.size(); size += 7) {
    EXPECT_FALSE((*loader)->load(ByteView(good->object).first(size), {"f"}) && size < 64);
  }
}

}  // namespace
}  // namespace kiln::test
