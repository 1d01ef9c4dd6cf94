// Kernels of the corpus, launched on the machine below HIP.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "engine/base/fd.hpp"
#include "engine/emulator/machine/core_loader.hpp"
#include "engine/emulator/machine/launch.hpp"
#include "engine/emulator/machine/program.hpp"

namespace kiln::emulator {

inline std::string corpus(const std::string& name) {
  return std::string(KILN_SOURCE_DIR) + "/tests/unit/emulator/corpus/" + name;
}

// A card with one of the corpus's objects on it: <stem>_<parameter>.co, the parameter being the card and, maybe, a
// convention.
class LaunchingObject : public testing::TestWithParam<const char*> {
 protected:
  virtual std::string stem() const = 0;
  void SetUp() override {
    const std::string object = GetParam();
    const char* level = std::getenv("KILN_EMULATOR_CORE");
    const auto core = load_core(level == nullptr ? "" : level, "");
    ASSERT_TRUE(core) << to_text(core.error());
    core_ = *core;
    auto card = parse_card(object.substr(0, object.find('_')));
    ASSERT_TRUE(card);
    card_ = std::move(*card);
    const auto bytes = read_file(corpus(stem() + "_" + object + ".co"));
    ASSERT_TRUE(bytes) << to_text(bytes.error());
    auto program = Program::load(*bytes, card_, *core_);
    ASSERT_TRUE(program) << to_text(program.error());
    program_ = std::move(*program);
  }

  std::uint32_t* allocate(std::size_t words) {
    const auto memory = memory_.allocate(words * 4, 0);
    EXPECT_TRUE(memory);
    return memory ? static_cast<std::uint32_t*>(*memory) : nullptr;
  }

  template <class... Arguments> Result<LaunchResult> launch(const std::string& name, Geometry geometry,
                                                            Arguments... arguments) {
    const Kernel* kernel = program_->kernel(name);
    if (kernel == nullptr) return Error(ErrorCode::not_found, name);
    void* pointers[] = {&arguments...};
    KILN_TRY(auto gathered, gather_arguments(*kernel, pointers));
    LaunchOrder order;
    order.core = core_;
    order.workers = &workers_;
    order.memory = &memory_;
    order.card = &card_;
    order.options = options_;
    order.code = &program_->code();
    order.kernel = kernel;
    order.geometry = geometry;
    order.arguments = std::move(gathered);
    order.cancelled = &cancelled_;
    order.print = print_;
    return run_launch(order);
  }

  // Expects a launch without fault.
  template <class... Arguments> LaunchResult run(const std::string& name, Geometry geometry, Arguments... arguments) {
    auto result = launch(name, geometry, arguments...);
    EXPECT_TRUE(result) << to_text(result.error());
    if (!result) return {};
    EXPECT_FALSE(result->fault) << result->fault->text;
    return std::move(*result);
  }

  // Cases that hold on every card.
  LaunchResult every_thread_of_the_grid() {
    constexpr std::uint32_t n = 1000;
    auto *in = allocate(n), *out = allocate(n);
    for (std::uint32_t i = 0; i < n; ++i) in[i] = i * i;
    auto result = run("scale_add", {{4, 1, 1}, {256, 1, 1}}, out, in, 3u, n);
    for (std::uint32_t i = 0; i < n; ++i) EXPECT_EQ(out[i], 3 * i + i * i) << i;
    return result;
  }
  LaunchResult an_incomplete_last_wave() {
    auto *in = allocate(100), *out = allocate(100);
    auto result = run("scale_add", {{1, 1, 1}, {70, 1, 1}}, out, in, 1u, 100u);
    for (std::uint32_t i = 0; i < 100; ++i) EXPECT_EQ(out[i], i < 70 ? i : 0) << i;
    return result;
  }
  // The kernel's rows of eight words a thread: [0] its block, [1] itself, [2] the block's size, [3], more.
  const std::uint32_t* threads_know_where_they_are() {
    const Geometry geometry{{3, 2, 4}, {5, 4, 7}};
    constexpr std::uint32_t threads = 5 * 4 * 7, blocks = 3 * 2 * 4;
    auto* out = allocate(threads * blocks * 8);
    run("whereabouts", geometry, out, 3u, 2u);
    for (std::uint32_t b = 0; b < blocks; ++b) {
      for (std::uint32_t t = 0; t < threads; ++t) {
        const auto* row = out + (b * threads + t) * 8;
        EXPECT_EQ(row[0], b % 3 | b / 3 % 2 << 8 | b / 6 << 16) << b << " " << t;
        EXPECT_EQ(row[1], t % 5 | t / 5 % 4 << 8 | t / 20 << 16) << b << " " << t;
        EXPECT_EQ(row[2], 5u | 4u << 8 | 7u << 16);
        EXPECT_EQ(row[3], 15u);
      }
    }
    return out;
  }
  void waves_meet_at_barriers() {
    for (const std::uint64_t seed : {0, 1, 2, 3}) {
      options_.seed = seed;
      auto* data = allocate(256 * 20);
      for (std::uint32_t i = 0; i < 256 * 20; ++i) data[i] = i;
      run("reverse", {{20, 1, 1}, {256, 1, 1}}, data);
      for (std::uint32_t i = 0; i < 256 * 20; ++i) EXPECT_EQ(data[i], i / 256 * 256 + 255 - i % 256) << "seed " << seed;
    }
  }

  const Core* core_ = nullptr;
  Card card_;
  std::unique_ptr<Program> program_;
  Memory memory_{std::uint64_t(1) << 32};
  Workers workers_{4};
  Options options_;
  PrintSink print_;                    // empty: stdout and stderr
  std::atomic<bool> cancelled_{false};
};

}  // namespace kiln::emulator
