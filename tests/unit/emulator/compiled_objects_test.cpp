// The built-in kernels as hipRTC compiles them: loaded, and every instruction's fields against LLVM's text.
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <future>
#include <map>

#include "engine/base/fd.hpp"
#include "engine/base/paths.hpp"
#include "engine/compile/toolchain.hpp"
#include "engine/compile/worker_pool.hpp"
#include "engine/emulator/machine/object.hpp"
#include "engine/ir/tile/program.hpp"
#include "engine/specialize/specialize.hpp"
#include "tests/unit/emulator/decoder_comparison.hpp"

namespace kiln::emulator {
namespace {

using Settings = std::map<std::string, std::string>;

class CompiledObjects : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const auto environment = process_environment();
    ASSERT_TRUE(environment);
    const auto folder = toolchains_folder(*environment);
    ASSERT_TRUE(folder);
    std::vector<std::string> command = {std::string(KILN_BIN_DIR) + "/kiln-compile-hip"};
    struct stat status;
    if (::stat(command[0].c_str(), &status) != 0) GTEST_SKIP() << "the compile worker is not built";
    const auto toolchains = compile::list_toolchains(folder->path);
    if (!toolchains.empty()) command = compile::through_toolchain(toolchains[0], command[0]);
    command.insert(command.end(), {"--include", std::string(KILN_SOURCE_DIR) + "/kernels/include"});
    compile::PoolOptions options;
    options.commands = {{"hip", command, ""}};
    options.workers_max = 1;
    options.environment = environment->all;
    pool_ = compile::WorkerPool::create(options);
  }

  Result<Bytes> compiled(const std::string& name, const Settings& set) {
    KILN_TRY(const auto bytes, read_file(std::string(KILN_SOURCE_DIR) + "/kernels/programs/" + name + ".json"));
    KILN_TRY(const auto program, tile::read_program(text(bytes)));
    KILN_TRY(const auto target, target::parse_target(GetParam()));
    Budget budget(10000000);
    KILN_TRY(const auto bound, specialize::specialize(program, {set, {}, {}}, target, budget));
    std::promise<Result<compile::Compiled>> promise;
    pool_->compile(bound, "key", 0, {}, {}, [&](auto result) { promise.set_value(std::move(result)); });
    KILN_TRY(auto result, promise.get_future().get());
    return std::move(result.object);
  }

  std::unique_ptr<compile::WorkerPool> pool_;
};

TEST_P(CompiledObjects, LoadAndEqualLlvms) {
  const std::pair<const char*, Settings> programs[] = {
      {"gemm", {{"M", "512"}, {"N", "512"}, {"K", "512"}, {"dtype", "f16"}}},
      {"gemm", {{"M", "512"}, {"N", "512"}, {"K", "512"}, {"dtype", "f32"}}},
      {"softmax", {{"M", "100"}, {"N", "1000"}}},
      {"rmsnorm", {{"M", "64"}, {"N", "1024"}, {"dtype", "bf16"}}},
      {"flash_attention",
       {{"B", "1"}, {"H", "4"}, {"HKV", "2"}, {"S", "256"}, {"SK", "256"}, {"D", "64"}, {"dtype", "f16"}}},
  };
  for (const auto& [name, set] : programs) {
    SCOPED_TRACE(name);
    const auto bytes = compiled(name, set);
    if (!bytes && bytes.error().code == ErrorCode::no_compiler) GTEST_SKIP() << bytes.error().message;
    ASSERT_TRUE(bytes) << to_text(bytes.error());
    const auto object = load_object(*bytes, GetParam());
    ASSERT_TRUE(object) << to_text(object.error());
    EXPECT_GE(object->kernels.size(), 1u);
    const auto* code = reinterpret_cast<const std::uint8_t*>(object->code.begin);  // NOLINT: an address in the image
    expect_llvm_operands({code, static_cast<std::size_t>(object->code_bytes)}, GetParam());
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, CompiledObjects, testing::Values("gfx90a", "gfx942:sramecc+:xnack-", "gfx950"),
                         [](const auto& info) { return std::string(info.param).substr(0, 6); });

}  // namespace
}  // namespace kiln::emulator
