// The built-in programs at random sizes, types, options, tunables, layouts and alignments, as hipRTC makes them, on
// emulated cards against the interpreter: bit for bit where the inputs leave no choice (built_in_case.hpp says why),
// else within the program's tolerance.
//   KILN_SEED   the first seed; 1 otherwise
//   KILN_CASES  how many cases a target gets
//   KILN_CASE   only this one
// A failure prints the command that repeats it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <future>

#include "engine/base/fd.hpp"
#include "engine/base/paths.hpp"
#include "engine/compile/toolchain.hpp"
#include "engine/compile/worker_pool.hpp"
#include "engine/ir/tile/program.hpp"
#include "engine/reference/interpreter.hpp"
#include "tests/differential/emulator/built_in_case.hpp"
#include "tests/differential/emulator/emulated_card.hpp"

namespace kiln::test {
namespace {

std::uint64_t number(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 0);
}

Result<std::unique_ptr<compile::WorkerPool>> make_pool() {
  KILN_TRY(const auto environment, process_environment());
  KILN_TRY(const auto folder, toolchains_folder(environment));
  std::vector<std::string> command = {std::string(KILN_BIN_DIR) + "/kiln-compile-hip"};
  const auto toolchains = compile::list_toolchains(folder.path);
  if (!toolchains.empty()) command = compile::through_toolchain(toolchains[0], command[0]);
  command.insert(command.end(), {"--include", std::string(KILN_SOURCE_DIR) + "/kernels/include"});
  compile::PoolOptions options;
  options.commands = {{"hip", command, ""}};
  options.workers_max = 1;
  options.environment = environment.all;
  return compile::WorkerPool::create(options);
}

class BuiltIns : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto pool = make_pool();
    ASSERT_TRUE(pool) << to_text(pool.error());
    pool_ = std::move(*pool);
    auto cards = EmulatedCard::all(GetParam());
    ASSERT_TRUE(cards) << to_text(cards.error());
    cards_ = std::move(*cards);
    cards_.back()->options().check_races = cards_.back()->options().check_uninitialised_lds = true;
  }

  Result<bound::Program> bind(const BuiltInCase& one) {
    KILN_TRY(const auto bytes, read_file(std::string(KILN_SOURCE_DIR) + "/kernels/programs/" + one.program + ".json"));
    KILN_TRY(const auto program, tile::read_program(text(bytes)));
    KILN_TRY(const auto target, target::parse_target(GetParam()));
    Budget budget(10000000);
    return specialize::specialize(program, one.bindings, target, budget);
  }

  Result<compile::Compiled> compile(const bound::Program& program) {
    std::promise<Result<compile::Compiled>> promise;
    pool_->compile(program, "key", 0, {}, {}, [&](auto result) { promise.set_value(std::move(result)); });
    return promise.get_future().get();
  }

  // "" or what differs.
  std::string differences(const BuiltInCase& one, const bound::Program& program, const compile::Compiled& compiled) {
    const auto begin = make_inputs(one, program);
    auto want = begin;
    std::vector<reference::Argument> by_reference;
    for (auto& bytes : want) by_reference.push_back({bytes.data(), bytes.size()});
    std::vector<std::vector<double>> scale;
    reference::RunOptions options;
    options.check_races = false;
    if (auto status = reference::run(program, by_reference, options, &scale); !status)
      return "interpreter: " + to_text(status.error());
    for (const auto& card : cards_) {
      auto got = begin;
      if (auto status = run(*card, program, compiled, got); !status)
        return "core " + card->core() + ": " + to_text(status.error());
      for (std::size_t i = 0; i < got.size(); ++i) {
        const std::string text = one.inputs == Inputs::exact || program.tensors[i].access == Access::read
                                     ? first_difference(program.tensors[i], got[i], want[i])
                                     : beyond_tolerance(program, i, got[i], want[i], scale[i]);
        if (!text.empty()) return "core " + card->core() + ": " + text;
      }
    }
    return "";
  }

  static Status run(EmulatedCard& card, const bound::Program& program, const compile::Compiled& compiled,
                    std::vector<Bytes>& tensors) {
    KILN_CHECK(card.load(compiled.object));
    for (const auto& launch : compiled.metadata.launches) {
      emulator::Geometry geometry;
      for (std::size_t axis = 0; axis < 3; ++axis)
        geometry.blocks[axis] = static_cast<std::uint32_t>(launch.grid[axis].value());
      geometry.threads[0] = static_cast<std::uint32_t>(launch.threads);
      std::vector<CardArgument> arguments;
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        // A base that has no more alignment than it is said to have.
        const auto align = static_cast<std::size_t>(program.tensors[i].align_bytes);
        arguments.push_back({&tensors[i], program.tensors[i].scalar, align < 16 ? align : 0});
      }
      KILN_CHECK(card.run(launch.symbol, geometry, arguments));
    }
    return ok();
  }

  // The same bits, but that -0 is 0 and a NaN is a NaN (PROGRAM.md): compilers convert a product to f16 by an
  // instruction that adds 0.
  static std::string first_difference(const bound::Tensor& tensor, const Bytes& got, const Bytes& want) {
    reference::ToleranceSpec spec;
    spec.kind = reference::ToleranceClass::exact;
    const auto result = reference::compare(tensor.dtype, got, want, {}, spec);
    if (result.wrong == 0) return "";
    const auto width = static_cast<std::size_t>(dtype_bytes(tensor.dtype));
    const std::size_t at = static_cast<std::size_t>(result.first_wrong) * width;
    return tensor.name + ": " + std::to_string(result.wrong) + " elements differ, the first, " +
           std::to_string(result.first_wrong) + ", is " + to_hex({got.data() + at, width}) + ", by the definition " +
           to_hex({want.data() + at, width}) + " (bytes in memory order)";
  }

  static std::string beyond_tolerance(const bound::Program& program, std::size_t tensor, const Bytes& got,
                                      const Bytes& want, const std::vector<double>& scale) {
    const auto result =
        reference::compare(program.tensors[tensor].dtype, got, want, scale, reference::tolerance_of(program));
    if (result.wrong == 0) return "";
    return program.tensors[tensor].name + ": " + std::to_string(result.wrong) + " of " +
           std::to_string(result.elements) + " wrong, first " + std::to_string(result.first_wrong) +
           ", largest error " + std::to_string(result.error_max) + " (tolerance " +
           std::to_string(result.tolerance_at_max) + ")";
  }

  std::unique_ptr<compile::WorkerPool> pool_;
  std::vector<std::unique_ptr<EmulatedCard>> cards_;
};

TEST_P(BuiltIns, GiveWhatTheInterpreterGives) {
  const std::uint64_t seed = number("KILN_SEED", 1), cases = number("KILN_CASES", 20);
  const std::uint64_t only = number("KILN_CASE", cases);
  int refused = 0, exact = 0;
  for (std::uint64_t i = 0; i < cases; ++i) {
    if (only < cases && i != only) continue;
    const auto one = random_case(seed, static_cast<int>(i));
    const std::string repeat = std::string(GetParam()) + ": " + one.words() + "\nrepeat: KILN_SEED=" +
                               std::to_string(seed) + " KILN_CASES=" + std::to_string(i + 1) + " KILN_CASE=" +
                               std::to_string(i) + " " + KILN_TEST_DIR +
                               "/test_differential_emulator --gtest_filter='*BuiltIns*" + GetParam() + "'";
    const auto program = bind(one);
    if (!program && program.error().code == ErrorCode::program_invalid) {
      ++refused;   // tiles that are larger than the card's LDS
      continue;
    }
    ASSERT_TRUE(program) << to_text(program.error()) << "\n" << repeat;
    const auto compiled = compile(*program);
    if (!compiled && compiled.error().code == ErrorCode::no_compiler) GTEST_SKIP() << compiled.error().message;
    const bool too_many_registers = !compiled && compiled.error().code == ErrorCode::program_invalid &&
                                    compiled.error().message.find("do not fit the registers") != std::string::npos;
    if (too_many_registers || (!compiled && compiled.error().code == ErrorCode::unsupported)) {
      ++refused;
      continue;
    }
    ASSERT_TRUE(compiled) << to_text(compiled.error()) << "\n" << repeat;
    EXPECT_EQ(differences(one, *program, *compiled), "") << repeat;
    exact += one.inputs == Inputs::exact;
  }
  if (only < cases) return;
  EXPECT_LE(refused * 3, static_cast<int>(cases)) << "too many cases are refused";
  EXPECT_GE(exact * 4, static_cast<int>(cases)) << "too few cases are compared bit for bit";
}

INSTANTIATE_TEST_SUITE_P(Targets, BuiltIns, testing::Values("gfx90a", "gfx942", "gfx950", "gfx1100"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace kiln::test
