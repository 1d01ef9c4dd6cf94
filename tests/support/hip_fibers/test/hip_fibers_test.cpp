// The CPU harness itself: it runs right text right, and finds what it promises to find in wrong text.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "engine/base/float8.hpp"
#include "engine/ir/target/target.hpp"
#include "tests/support/hip_fibers/hip_fibers.hpp"
#include "tests/support/hip_fibers/matrix.hpp"

namespace kiln::test {
namespace {

// One tensor of 256 i32, blocks of 128 threads, 512 bytes of LDS.
kernel::Program small_program(std::int64_t grid = 1) {
  kernel::Program program;
  program.name = "small";
  program.target = "gfx942";
  bound::Tensor tensor;
  tensor.name = "A";
  tensor.dtype = DType::i32;
  tensor.shape = {256};
  tensor.strides = {1};
  tensor.access = Access::readwrite;
  program.tensors.push_back(tensor);
  kernel::Launch launch;
  launch.symbol = "small_0";
  launch.grid = {grid, 1, 1};
  launch.threads = 128;
  launch.wave = 64;
  launch.lds_bytes = 512;
  program.launches.push_back(launch);
  return program;
}

std::string text_of_body(const std::string& body) {
  return "#include <kiln/kernel.hpp>\nnamespace kiln {\nextern \"C\" KILN_KERNEL(128) void small_0(void* p0) {\n  "
         "KILN_LDS(lds, 512);\n"
         "  const u32 thread = thread_id();\n  const u32 lane = thread % 64u, wave = thread / 64u;\n" +
         body + "\n}\n}\n";
}

struct Outcome { Status status; std::vector<std::int32_t> values; };
// One after the other with different orders of waves; the last outcome, or the first that is not as `succeeds` says.
Outcome run_body(const std::string& body, std::int64_t grid = 1, bool succeeds = true) {
  const auto program = small_program(grid);
  const auto target = target::parse_target("gfx942");
  Outcome outcome;
  auto module = HipModule::compile(text_of_body(body), program, *target, KILN_SOURCE_DIR);
  if (!module) {
    outcome.status = Error(module.error());
    return outcome;
  }
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    outcome.values.assign(256, 7);
    const std::span<std::uint8_t> bytes(reinterpret_cast<std::uint8_t*>(outcome.values.data()), 1024);
    outcome.status = module->run({bytes}, seed);
    if (outcome.status.has_value() != succeeds) break;
  }
  return outcome;
}

void expect_error(const std::string& body, const std::string& words) {
  const auto outcome = run_body(body, 1, false);
  ASSERT_FALSE(outcome.status) << "nothing was found in: " << body;
  EXPECT_NE(to_text(outcome.status.error()).find(words), std::string::npos) << to_text(outcome.status.error());
}

TEST(HipFibers, ThreadsAndBlocksWriteTheirElements) {
  const auto outcome =
      run_body("store_global<i32, 4>(p0, block_id_x() * 512u, thread * 4u, i32(thread + block_id_x() * 1000u));", 2);
  ASSERT_TRUE(outcome.status) << to_text(outcome.status.error());
  for (int i = 0; i < 256; ++i) EXPECT_EQ(outcome.values[i], i % 128 + i / 128 * 1000);
}

TEST(HipFibers, WavesMeetAtBarriersInAnyOrder) {
  const std::string body = "store_lds<u32>(lds, thread * 4u, thread);\n barrier();\n"
                           "store_global<u32, 4>(p0, 0, thread * 4u, load_lds<u32>(lds, (127u - thread) * 4u));";
  const auto outcome = run_body(body);
  ASSERT_TRUE(outcome.status) << to_text(outcome.status.error());
  for (int i = 0; i < 128; ++i) EXPECT_EQ(outcome.values[i], 127 - i);
}

TEST(HipFibers, LanesOfAWaveSeeEachOthersLdsWithoutABarrier) {
  const auto outcome = run_body("store_lds<u32>(lds, thread * 4u, thread);\n"
                                "store_global<u32, 4>(p0, 0, thread * 4u, load_lds<u32>(lds, (thread ^ 63u) * 4u));");
  ASSERT_TRUE(outcome.status) << to_text(outcome.status.error());
  for (int i = 0; i < 128; ++i) EXPECT_EQ(outcome.values[i], i ^ 63);
}

TEST(HipFibers, LanesExchangeValues) {
  const auto outcome = run_body(
      "u32 x = exchange<8>(thread, lane);\n x = fetch(x, (lane + 1u) % 64u);\n store_global<u32, 4>(p0, 0, thread * "
      "4u, x);");
  ASSERT_TRUE(outcome.status) << to_text(outcome.status.error());
  for (int i = 0; i < 128; ++i) EXPECT_EQ(outcome.values[i], (((i + 1) % 64) ^ 8) + i / 64 * 64);
}

TEST(HipFibers, BuffersGiveZeroOutside) {
  const auto outcome = run_body(
      "buffer b = make_buffer(p0, 1000);\n const u32 x = load_buffer<u32>(b, 992u, lane * 4u);\n"
      "store_global<u32, 4>(p0, 0, thread * 4u, x);\n store_buffer<u32>(b, 0u, buffer_outside, 1u);");
  ASSERT_TRUE(outcome.status) << to_text(outcome.status.error());
  for (int i = 0; i < 128; ++i) EXPECT_EQ(outcome.values[i], i % 64 < 2 ? 7 : 0);
}

TEST(HipFibers, AScalarOffsetBeyondABufferIsAnAccessOutside) {
  expect_error(
      "buffer b = make_buffer(p0, 1024);\n store_global<u32, 4>(p0, 0, 0u, load_buffer<u32>(b, 4096u, lane * 4u));",
      "outside all arguments");
}

TEST(HipFibers, FindsAMissingBarrier) {
  expect_error(
      "store_lds<u32>(lds, thread * 4u, thread);\n store_global<u32, 4>(p0, 0, thread * 4u, load_lds<u32>(lds, (127u - "
      "thread) * 4u));",
      "LDS byte");
}
TEST(HipFibers, FindsAnOverwriteOfWhatAnotherWaveReads) {
  expect_error(
      "store_lds<u32>(lds, thread * 4u, thread);\n barrier();\n const u32 x = load_lds<u32>(lds, (127u - thread) * "
      "4u);\n"
      "store_lds<u32>(lds, thread * 4u, x + 1u);",
      "without a barrier");
}
TEST(HipFibers, FindsReadsOfWhatNobodyWrote) {
  expect_error("store_global<u32, 4>(p0, 0, 0u, load_lds<u32>(lds, lane * 4u));", "nobody wrote");
}
TEST(HipFibers, FindsAccessesOutsideLds) {
  expect_error("store_lds<u32>(lds, 512u + lane * 4u, 1u);", "LDS access at");
}
TEST(HipFibers, FindsUnalignedAccesses) { expect_error("store_lds<u32>(lds, 2u + lane * 4u, 1u);", "not aligned"); }
TEST(HipFibers, FindsAccessesOutsideArguments) {
  expect_error("store_global<u32, 4>(p0, 896, thread * 4u, 1u);", "outside all arguments");
  expect_error("store_global<u32, 4>(p0, 0, 0u, load_global<u32, 4>(p0, -4, 0u));", "outside all arguments");
}
TEST(HipFibers, FindsBarriersThatNotAllReach) {
  expect_error("if (wave == 0u) barrier();", "barrier");
  expect_error("if (lane < 32u) barrier();", "do not meet");
}
TEST(HipFibers, FindsExchangeThatNotAllReach) {
  expect_error("if (lane < 32u) store_global<u32, 4>(p0, 0, lane * 4u, exchange<1>(lane, lane));", "do not meet");
}
TEST(HipFibers, RefusesTextThatDoesNotCompile) {
  const auto outcome = run_body("no_such_thing();");
  ASSERT_FALSE(outcome.status);
  EXPECT_EQ(outcome.status.error().code, ErrorCode::compile_failed);
}

// The lane maps of engine/ir/target and the harness's own: operands laid out by the first, multiplied by the second.
TEST(HipFibers, MatrixInstructionsMultiplyWhatTheTargetsLaneMapsPlace) {
  std::mt19937 random(1);
  for (const std::string name : {"gfx90a", "gfx942", "gfx950", "gfx1100"}) {
    const auto target = target::parse_target(name);
    ASSERT_TRUE(target);
    ASSERT_FALSE(target->matrix.empty());
    for (const auto& one : target->matrix) {
      const int lanes = target->wave, bytes = dtype_bytes(one.operand);
      std::vector<int> a(one.m * one.k), b(one.n * one.k);
      for (auto& value : a) value = static_cast<int>(random() % 7) - 3;
      for (auto& value : b) value = static_cast<int>(random() % 7) - 3;
      const auto put = [&](std::vector<std::uint8_t>& to, int at, int value) {  // small integers are exact in all types
        const float real = static_cast<float>(value);
        std::uint32_t bits;
        std::memcpy(&bits, &real, 4);
        const _Float16 half = static_cast<_Float16>(real);
        const auto code = [&](Float8 format) { to[at] = f64_to_f8(format, value); };
        if (one.operand == DType::f8e4m3fn) code(e4m3fn);
        else if (one.operand == DType::f8e4m3fnuz) code(e4m3fnuz);
        else if (one.operand == DType::f8e5m2) code(e5m2);
        else if (one.operand == DType::f8e5m2fnuz) code(e5m2fnuz);
        else if (one.operand == DType::i8) to[at] = static_cast<std::uint8_t>(value);
        else if (one.operand == DType::f32) std::memcpy(to.data() + 4 * at, &real, 4);
        else if (one.operand == DType::f16) std::memcpy(to.data() + 2 * at, &half, 2);
        else std::memcpy(to.data() + 2 * at, reinterpret_cast<const char*>(&bits) + 2, 2);
      };
      std::vector<std::vector<std::uint8_t>> ra, rb, rc, rd;
      for (int lane = 0; lane < lanes; ++lane) {
        ra.emplace_back(one.operand_elements * bytes);
        rb.emplace_back(one.operand_elements * bytes);
        rc.emplace_back(one.result_elements * 4);
        rd.emplace_back(one.result_elements * 4);
        for (int e = 0; e < one.operand_elements; ++e) {
          const int row = one.operand_row(lane), k = one.operand_k(lane, e);
          put(ra.back(), e, a[row * one.k + k]);
          put(rb.back(), e, b[row * one.k + k]);
        }
      }
      std::vector<MatrixLane> wave;
      for (int lane = 0; lane < lanes; ++lane)
        wave.push_back({ra[lane].data(), rb[lane].data(), rc[lane].data(), rd[lane].data()});
      ASSERT_TRUE(run_matrix(one.builtin.substr(std::string("__builtin_amdgcn_").size()), wave, name == "gfx942")) << one.builtin;
      for (int lane = 0; lane < lanes; ++lane) {
        for (int r = 0; r < one.result_elements; ++r) {
          const int row = one.result_row(lane, r), column = one.result_column(lane, r);
          int want = 0;
          for (int k = 0; k < one.k; ++k) want += a[row * one.k + k] * b[column * one.k + k];
          float real;
          std::int32_t whole;
          std::memcpy(&real, rd[lane].data() + 4 * r, 4);
          std::memcpy(&whole, rd[lane].data() + 4 * r, 4);
          ASSERT_EQ(one.result == DType::i32 ? whole : static_cast<int>(real), want)
              << name << " " << one.name << " lane " << lane << " result " << r;
        }
      }
    }
  }
}

}  // namespace
}  // namespace kiln::test
