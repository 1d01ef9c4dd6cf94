// Random C functions as compilers make them for emulated cards, against the same text compiled for this machine. What a
// run takes is fixed unless the environment says otherwise:
//   KILN_SEED       the first unit's seed
//   KILN_UNITS      how many units of functions a target gets
//   KILN_FUNCTIONS  how many functions a unit has
//   KILN_FUNCTION   only this one of each unit
//   KILN_PRODUCTION only this: "hipRTC -O2"
//   KILN_SHRINK     at most so many compilations to make a failing function smaller; 0: none
// A failure prints the command that repeats it, and where the whole and the shrunk function's texts are. Where the
// compiler's own listing shows that it compiled the function wrongly (compiler_faults.hpp), that is printed instead.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "engine/base/fd.hpp"
#include "tests/differential/emulator/compiler_faults.hpp"
#include "tests/differential/emulator/function_run.hpp"
#include "tests/differential/emulator/shrink.hpp"
#include "tests/support/temporary_folder.hpp"

namespace kiln::test {
namespace {

const FunctionTarget targets[] = {{"gfx90a", 64, 9, 0, false}, {"gfx942", 64, 9, 1, false}, {"gfx950", 64, 9, 2, true},
                                  {"gfx1100", 32, 11, 0, false}};

std::uint64_t number(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 0);
}
std::string word(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? "" : text;
}

std::vector<Production> productions() {
  std::vector<Production> all;
  for (int level = 0; level < 4; ++level) all.push_back({Production::Producer::hiprtc, level});
  for (const int level : {1, 3}) all.push_back({Production::Producer::clang, level});
  std::erase_if(all, [only = word("KILN_PRODUCTION")](const auto& one) { return !only.empty() && one.name() != only; });
  return all;
}

// The text without what is the same for all functions.
std::string phases_of(const RandomFunction& function) {
  const std::string text = function_text(function);
  return text.substr(0, text.find("FN void " + function.name + "_begin("));
}

class RandomFunctions : public testing::TestWithParam<FunctionTarget> {
 protected:
  void SetUp() override {
    auto compilers = Compilers::create(folder_.path(), KILN_SOURCE_DIR, KILN_TEST_DIR "/hiprtc_files");
    if (!compilers && compilers.error().code == ErrorCode::no_compiler) GTEST_SKIP() << to_text(compilers.error());
    ASSERT_TRUE(compilers) << to_text(compilers.error());
    compilers_ = std::move(*compilers);
    auto cards = EmulatedCard::all(GetParam().name);
    ASSERT_TRUE(cards) << to_text(cards.error());
    cards_ = std::move(*cards);
    // The last core's card looks for races and unwritten LDS, too: the functions have none.
    cards_.back()->options().check_races = cards_.back()->options().check_uninitialised_lds = true;
  }

  // "" or what differs, on any core.
  std::string differences(const RandomFunction& function, std::uint64_t seed, HostLibrary& host) {
    const auto begin = make_memory(function, seed);
    auto want = begin;
    run_on_host(host.function(function.name), want);
    for (const auto& card : cards_) {
      auto got = begin;
      const auto status = run_on_card(*card, function, got);
      const std::string text = status ? difference(function, got, want) : to_text(status.error());
      if (!text.empty()) return "core " + card->core() + ": " + text;
    }
    return "";
  }
  Status load(ByteView object) {
    for (const auto& card : cards_) KILN_CHECK(card->load(object));
    return ok();
  }

  std::vector<RandomFunction> functions_of(std::uint64_t seed) {
    const bool one = !word("KILN_FUNCTION").empty();
    const int first = one ? static_cast<int>(number("KILN_FUNCTION", 0)) : 0;
    const int count = one ? 1 : static_cast<int>(number("KILN_FUNCTIONS", 6));
    std::vector<RandomFunction> functions;
    for (int i = first; i < first + count; ++i) functions.push_back(random_function(seed, i, GetParam()));
    return functions;
  }

  // Asked of functions that differ only: it compiles them once more.
  bool compiled_wrongly(const RandomFunction& function, const Production& way) {
    const auto listing = compilers_->around_pass(function, GetParam(), way, "si-fold-operands");
    return listing && makes_or_a_move(*listing);
  }

  void run_unit(std::uint64_t seed) {
    const auto functions = functions_of(seed);
    const auto ways = productions();
    auto host = compilers_->host(functions, GetParam());
    ASSERT_TRUE(host) << "seed " << seed << ": " << to_text(host.error());
    const auto objects = compilers_->objects(functions, GetParam(), ways);
    ASSERT_TRUE(objects) << "seed " << seed << ": " << to_text(objects.error());
    for (std::size_t way = 0; way < ways.size(); ++way) {
      const auto status = load((*objects)[way]);
      ASSERT_TRUE(status) << "seed " << seed << ", " << ways[way].name() << ": " << to_text(status.error());
      for (const auto& function : functions) {
        const std::string text = differences(function, seed, *host);
        if (text.empty()) continue;
        if (compiled_wrongly(function, ways[way])) {
          std::printf("left out: %s, seed %llu, %s, %s: LLVM makes or a move\n", GetParam().name.c_str(),
                      static_cast<unsigned long long>(seed), function.name.c_str(), ways[way].name().c_str());
          continue;
        }
        report(function, seed, ways[way], text);
        ASSERT_TRUE(load((*objects)[way]));
      }
    }
  }

  void report(const RandomFunction& function, std::uint64_t seed, const Production& way, const std::string& text) {
    std::string smaller_text;
    const auto fails = [&](const RandomFunction& one) {
      auto host = compilers_->host({one}, GetParam());
      const auto objects = compilers_->objects({one}, GetParam(), {way});
      if (!host || !objects || !load(objects->front())) return false;
      const std::string now = differences(one, seed, *host);
      if (now.empty() || compiled_wrongly(one, way)) return false;
      smaller_text = now;
      return true;
    };
    const auto smaller = shrink(function, fails, static_cast<int>(number("KILN_SHRINK", 40)));
    std::string file = std::string(KILN_TEST_DIR) + "/differential/" + GetParam().name + "_" + std::to_string(seed) +
                       "_" + function.name + "_" + way.name() + ".c";
    for (auto& letter : file) if (letter == ' ') letter = '_';
    std::filesystem::create_directories(std::string(KILN_TEST_DIR) + "/differential");
    const std::string whole = "// " + text + "\n" + unit_text({smaller}, GetParam(), KILN_SOURCE_DIR) + "\n#if 0\n" +
                              function_text(function) + "#endif\n";
    (void)write_file(file, {reinterpret_cast<const std::uint8_t*>(whole.data()), whole.size()});
    ADD_FAILURE() << GetParam().name << ", seed " << seed << ", " << function.name << ", " << way.name() << "\n"
                  << text << "\n" << (smaller_text.empty() ? "" : "shrunk: " + smaller_text + "\n" + phases_of(smaller))
                  << "text: " << file << "\nrepeat: KILN_SEED=" << seed << " KILN_UNITS=1 KILN_FUNCTION="
                  << function.name.substr(1) << " KILN_PRODUCTION='" << way.name()
                  << "' " << KILN_TEST_DIR << "/test_differential_emulator --gtest_filter='*RandomFunctions*"
                  << GetParam().name << "'";
  }

  TemporaryFolder folder_;
  std::unique_ptr<Compilers> compilers_;
  std::vector<std::unique_ptr<EmulatedCard>> cards_;
};

TEST_P(RandomFunctions, GiveWhatTheHostGives) {
  // Targets differ in what they are given, too.
  const auto same = [&](const FunctionTarget& one) { return one.name == GetParam().name; };
  const auto place = static_cast<std::uint64_t>(std::find_if(std::begin(targets), std::end(targets), same) - targets);
  const std::uint64_t first = number("KILN_SEED", 1 + place), count = number("KILN_UNITS", 1);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    run_unit(seed);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, RandomFunctions, testing::ValuesIn(targets),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace kiln::test
