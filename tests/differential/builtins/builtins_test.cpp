// Every instruction that clang's built-ins can bring into a kernel is covered by the emulated card, but for the ones
// that are named here. The list is exact: what becomes covered must leave it.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "engine/base/fd.hpp"
#include "engine/base/paths.hpp"
#include "engine/base/process.hpp"
#include "engine/emulator/machine/card.hpp"
#include "engine/emulator/machine/core_loader.hpp"
#include "engine/emulator/machine/object.hpp"
#include "tests/differential/builtins/builtin_text.hpp"
#include "tests/support/temporary_folder.hpp"

namespace kiln::test {
namespace {

using Names = std::set<std::string>;

// The built-ins whose instructions stop a kernel with "not covered": global wave sync, which only drivers may set up;
// messages that halt the wave; images, and the stacks that walk through scenes.
Names refused(const std::string& target) {
  Names names = {"s_sendmsghalt",           "ds_gws_barrier", "ds_gws_init", "ds_gws_sema_br", "ds_gws_sema_p",
                 "ds_gws_sema_release_all", "ds_gws_sema_v"};
  if (target == "gfx90a" || target == "gfx1100") names.insert("image_*");
  if (target == "gfx1100") names.insert({"ds_bvh_stack_push4_pop1_rtn", "ds_bvh_stack_rtn"});
  return names;
}

class Builtins : public testing::TestWithParam<const char*> {
 protected:
  // The object of all kernels. Errors: no_compiler, compile_failed.
  Result<Bytes> compiled(const std::string& text, const std::string& target) {
    const std::string source = folder_ / "kernels.c", object = folder_ / "kernels.co";
    KILN_CHECK(write_file(source, {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}));
    SpawnOptions spawn;
    KILN_TRY(const auto environment, process_environment());
    spawn.environment = environment.all;
    spawn.command = {"clang-22", "--version"};
    spawn.log_path = folder_ / "log";
    if (!runs(spawn)) return Error(ErrorCode::no_compiler, "clang-22 cannot be used");
    spawn.command = {"clang-22", "-x", "c", "-std=gnu11", "--target=amdgcn-amd-amdhsa", "-mcpu=" + target, "-nogpulib",
                     "-O1", "-w", source, "-o", object};
    if (!runs(spawn)) {
      const auto log = read_file(spawn.log_path);
      return Error(ErrorCode::compile_failed, log ? std::string(kiln::text(*log)) : "clang-22 failed");
    }
    return read_file(object);
  }

 private:
  static bool runs(const SpawnOptions& spawn) {
    auto child = ChildProcess::spawn(spawn);
    return child && (*child).ended(true).value_or("gone") == "exit status 0";
  }
  TemporaryFolder folder_;
};
INSTANTIATE_TEST_SUITE_P(Targets, Builtins, testing::Values("gfx90a", "gfx942", "gfx950", "gfx1100"));

TEST_P(Builtins, BringCoveredInstructionsOrNamedOnes) {
  const std::string target = GetParam();
  const auto builtins = read_builtins(std::string(KILN_SOURCE_DIR) + "/tests/differential/builtins/builtins.txt");
  ASSERT_TRUE(builtins) << to_text(builtins.error());
  const auto bytes = compiled(text_of(*builtins, target), target);
  if (!bytes && bytes.error().code == ErrorCode::no_compiler) GTEST_SKIP() << bytes.error().message;
  ASSERT_TRUE(bytes) << to_text(bytes.error());
  const auto core = emulator::load_core("", "");
  ASSERT_TRUE(core) << to_text(core.error());
  const auto card = emulator::parse_card(target);
  ASSERT_TRUE(card) << to_text(card.error());
  auto object = emulator::load_object(*bytes, card->target.full);
  ASSERT_TRUE(object) << to_text(object.error());
  ASSERT_GT(object->kernels.size(), 200u);
  std::map<std::uint64_t, std::string> kernels;   // by entry: the built-in
  for (const auto& [symbol, kernel] : object->kernels)
    kernels[kernel.entry] = (*builtins)[std::stoul(symbol.substr(1))].name;
  Names names;
  std::string listed;
  for (std::size_t i = 0; i < object->code.instructions.size(); ++i) {
    auto& instruction = object->code.instructions[i];
    if ((*core)->bind(instruction, card->family) || instruction.address < kernels.begin()->first) continue;
    if (std::string_view(instruction.name) == "s_code_end") continue;   // padding behind the last kernel
    const std::string& builtin = std::prev(kernels.upper_bound(instruction.address))->second;
    names.insert(builtin.starts_with("image_") ? "image_*" : builtin);
    listed += builtin + ": " + object->code.text[i] + "\n";
  }
  EXPECT_EQ(names, refused(target)) << listed;
}

}  // namespace
}  // namespace kiln::test
