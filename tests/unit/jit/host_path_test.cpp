// The whole path with the real parts: kiln-compile-host, kiln-device-host and kiln-reference on the built-in programs.
#include <filesystem>
#include <random>

#include "tests/unit/jit/session_fixture.hpp"

namespace kiln::jit {
namespace {

class HostPath : public SessionTest {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(bin("kiln-compile-host")))
      GTEST_SKIP() << "built without LLVM: there is no host device";
  }
  static std::string bin(const std::string& name) { return KILN_BIN_DIR "/" + name; }
  SessionOptions host_options(const std::vector<std::string>& worker) {
    auto options = this->options(worker);
    options.device_host_command = {bin("kiln-device-host")};
    return options;
  }
  std::vector<std::string> real_worker() { return {bin("kiln-compile-host"), "--compile-log", log()}; }

  static CompileRequest request(const std::string& program, const std::map<std::string, std::string>& set) {
    const auto json = read_file(KILN_SOURCE_DIR "/kernels/programs/" + program + ".json");
    EXPECT_TRUE(json);
    auto parsed = tile::read_program(text(*json));
    EXPECT_TRUE(parsed) << to_text(parsed.error());
    CompileRequest request;
    request.program = std::make_shared<const tile::Program>(std::move(*parsed));
    request.bindings.set = set;
    request.target = "host";
    return request;
  }

  // Runs the kernel on seeded f32 inputs (outputs hold NaN before) and compares with the interpreter.
  void run_and_verify(Session& session, const CompileOutcome& outcome, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    auto* device = *session.device("host");
    const auto kernel = session.load(outcome.kernel, "host");
    ASSERT_TRUE(kernel) << to_text(kernel.error());
    std::vector<UniqueFd> memory;
    std::vector<device::LaunchArgument> arguments;
    std::vector<Session::VerifyArgument> before, after;
    for (const auto& tensor : outcome.program->tensors) {
      const auto bytes = static_cast<std::size_t>(tensor.bytes());
      memory.push_back(std::move(*create_memfd("tensor", bytes)));
      const bool output = tensor.access != Access::read;
      auto mapping = *Mapping::map(memory.back().get(), bytes, true);
      auto* values = reinterpret_cast<float*>(mapping.data());
      for (std::size_t i = 0; i < bytes / sizeof(float); ++i) values[i] = output ? std::nanf("") : normal(random);
      const auto buffer = device->map(memory.back().get(), 0, bytes, output);
      ASSERT_TRUE(buffer) << to_text(buffer.error());
      arguments.push_back({*buffer, 0, bytes, {}});
      after.push_back({memory.back().get(), 0, bytes, {}});
      before.push_back(output ? Session::VerifyArgument{} : after.back());
    }
    std::promise<Result<device::LaunchReport>> launched;
    device->launch((*kernel)->id, arguments, 1,
                   [&](Result<device::LaunchReport> report) { launched.set_value(std::move(report)); });
    const auto report = launched.get_future().get();
    ASSERT_TRUE(report) << to_text(report.error());
    const auto verified = session.verify(*outcome.program, before, after, {}, {});
    ASSERT_TRUE(verified) << to_text(verified.error());
    for (const auto& tensor : verified->tensors) {
      if (tensor) {
        EXPECT_LE(tensor->ratio_max, 1.0) << "seed " << seed << ", error " << tensor->error_max;
      }
    }
    for (const auto& argument : arguments) EXPECT_TRUE(device->unmap(argument.buffer));
  }
};

TEST_F(HostPath, CompilesRunsVerifiesAndTheSecondPassCompilesNothing) {
  const std::vector<std::pair<std::string, std::map<std::string, std::string>>> kernels = {
      {"gemm", {{"M", "30"}, {"N", "25"}, {"K", "17"}}}, {"softmax", {{"M", "5"}, {"N", "70"}}}};
  const std::vector<std::vector<std::string>> workers = {real_worker(), {"/bin/false"}};
  for (std::size_t pass = 0; pass < workers.size(); ++pass) {
    const auto session = open(host_options(workers[pass]));
    for (const auto& [program, set] : kernels) {
      auto wanted = request(program, set);
      wanted.must_hit = pass > 0;
      const auto outcome = session->compile_now(wanted);
      ASSERT_TRUE(outcome) << program << ": " << to_text(outcome.error());
      EXPECT_EQ(outcome->cached, pass > 0);
      run_and_verify(*session, *outcome, 11 + static_cast<unsigned>(pass));
    }
  }
  EXPECT_EQ(lines_of(log()).size(), kernels.size());
}

}  // namespace
}  // namespace kiln::jit
