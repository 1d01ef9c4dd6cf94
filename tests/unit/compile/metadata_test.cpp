#include "engine/compile/metadata.hpp"

#include <gtest/gtest.h>

#include <random>

#include "engine/base/fd.hpp"
#include "engine/compile/worker_protocol.hpp"
#include "tests/support/page_example.hpp"

namespace kiln::compile {
namespace {

Metadata sample() {
  Metadata m;
  m.program = "gemm";
  m.target = "gfx942";
  m.compiler = "some compiler 1.2";
  LaunchInfo launch;
  launch.symbol = "gemm_0";
  launch.grid = {4, 5, 1};
  launch.threads = 256;
  launch.wave = 64;
  launch.lds_bytes = 32768;
  launch.resources = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  launch.arguments = {{"global_buffer", 0, 8}, {"by_value", 8, 4}};
  m.launches = {launch, {}};
  TensorInfo tensor;
  tensor.name = "a";
  tensor.dtype = DType::bf16;
  tensor.shape = {3, 4};
  tensor.strides = {4, 1};
  tensor.access = Access::readwrite;
  tensor.align_bytes = 8;
  tensor.may_alias = true;
  tensor.bytes = 24;
  m.tensors = {tensor};
  m.shared_tiles = {{0, 1, "As", "f16", "pad 2 B", {128, 64}, 16384, 2, 8, 8, 9, 8, "xor16(row%8)", 0}};
  m.lds_rows = {{0, "copy 1", "ds_write_b128", "write", 1, "As", 24, 16, 8, 8, true}};
  m.lds_conflict_cycles = 1;
  m.bounds_left = {"a row < 3"};
  m.decisions = {"anchor: …"};
  m.kernel_program = "kernel gemm";
  m.source = "extern \"C\"";
  m.log = "warning";
  m.attempt = 1;
  m.compile_ms = 12.5;
  m.elf_flags = 0x54c;
  return m;
}

TEST(Metadata, ReadsBackWhatItWrote) {
  const auto bytes = encode(sample());
  const auto back = decode_metadata(bytes);
  ASSERT_TRUE(back) << to_text(back.error());
  EXPECT_EQ(encode(*back), bytes);
  EXPECT_EQ(back->launches[0].resources.waves_per_simd, 12);
  EXPECT_EQ(back->launches[0].arguments[1].kind, "by_value");
  EXPECT_EQ(back->tensors[0].dtype, DType::bf16);
  EXPECT_EQ(back->shared_tiles[0].read_cost, 9);
  EXPECT_TRUE(back->lds_rows[0].inferred);
  EXPECT_EQ(back->lds_rows[0].address, 24);
  EXPECT_EQ(back->elf_flags, 0x54cu);
  EXPECT_EQ(back->compile_ms, 12.5);
}

// The example of the normative page of entries is what is written.
TEST(Metadata, TheDocumentsExample) {
  const auto example = test::page_example(KILN_SOURCE_DIR "/cache/ENTRY.md", "## Metadata");
  ASSERT_TRUE(example);
  Metadata m;
  m.program = "p", m.target = "host", m.compiler = "c", m.kernel_program = "k", m.source = "t", m.compile_ms = 1.5;
  LaunchInfo launch;
  launch.symbol = "p_0", launch.grid = {2, 1, 1}, launch.threads = 1, launch.wave = 1;
  launch.order = {};
  launch.order.panel = 0;
  launch.resources.code_bytes = 5;
  m.launches = {launch};
  TensorInfo tensor;
  tensor.name = "x", tensor.shape = {4}, tensor.strides = {1}, tensor.access = Access::readwrite;
  tensor.align_bytes = 4, tensor.bytes = 16;
  m.tensors = {tensor};
  EXPECT_EQ(to_hex(encode(m)), to_hex(*example));
  EXPECT_TRUE(decode_metadata(*example));
}

TEST(Metadata, EveryCutIsRefused) {
  const auto bytes = encode(sample());
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    const auto back = decode_metadata(ByteView(bytes).first(n));
    ASSERT_FALSE(back) << "cut to " << n;
    EXPECT_EQ(back.error().code, ErrorCode::corrupt);
  }
  auto longer = bytes;
  longer.push_back(0);
  EXPECT_FALSE(decode_metadata(longer));
}

TEST(Metadata, DamagedBytesNeverCrash) {
  const auto bytes = encode(Compiled{sample(), {1, 2, 3}});
  const unsigned seed = 17;
  std::mt19937 random(seed);
  for (int round = 0; round < 2000; ++round) {
    auto damaged = bytes;
    for (int i = 0; i < 3; ++i) damaged[random() % damaged.size()] = static_cast<std::uint8_t>(random());
    (void)decode_compiled(damaged);  // any answer
  }
}

TEST(WorkerProtocol, OrdersAndErrorsTravel) {
  const CompileOrder order{{1, 2}, "gfx942", "ab", 77};
  const auto back = decode_compile_order(encode(order));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->program, order.program);
  EXPECT_EQ(back->target, "gfx942");
  EXPECT_EQ(back->key_hex, "ab");
  EXPECT_EQ(back->left_ms, 77);
  const auto error = decode_failure(encode(Error(ErrorCode::compile_failed, "no").with("log")));
  EXPECT_EQ(error.code, ErrorCode::compile_failed);
  EXPECT_EQ(error.context, std::vector<std::string>{"log"});
  EXPECT_EQ(decode_failure(Bytes{1, 2}).code, ErrorCode::corrupt);
}

}  // namespace
}  // namespace kiln::compile
