// Mutated programs: whatever the bytes, reading and binding end in a program or in located diagnostics.
#include <cstdlib>
#include <random>

#include "tests/unit/tile/support.hpp"

namespace kiln::test {
namespace {

const std::vector<std::string> pieces{"0",
                                      "-1",
                                      "9223372036854775807",
                                      "2147483647",
                                      "\"M\"",
                                      "\"-inf\"",
                                      "null",
                                      "true",
                                      "[]",
                                      "{}",
                                      "1e308",
                                      "\"bid.x * K\"",
                                      "\"i + j\"",
                                      "\"sum[i, j]\"",
                                      "\"n64\"",
                                      "\"M // 0\"",
                                      "\"f16\"",
                                      "\"x if y\"",
                                      "\"K << 63\"",
                                      "\"-M * N * K * M * N\"",
                                      "[\"M\", \"N\"]",
                                      "\"A[k:, 0:]\"",
                                      "\"row_max\"",
                                      "\"s\"",
                                      "\"\\u0000\"",
                                      "\"unrolled\""};

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}
  std::string operator()(std::string text) {
    for (auto n = 1 + random_() % 4; n > 0; --n) {
      switch (random_() % 6) {
        case 0: text[at(text)] = static_cast<char>(random_()); break;
        case 1: text.erase(at(text), random_() % 30); break;
        case 2: swap_strings(text); break;
        case 3:
        case 4: replace_value(text); break;
        default: text.insert(at(text), text.substr(at(text), random_() % 60)); break;
      }
      if (text.empty()) text = " ";
    }
    return text;
  }

 private:
  std::size_t at(const std::string& text) { return random_() % text.size(); }

  // A quoted string somewhere, as [begin, end) with its quotes; empty when there is none.
  std::pair<std::size_t, std::size_t> quoted(const std::string& text) {
    const std::size_t open = text.find('"', at(text));
    const std::size_t close = open == std::string::npos ? open : text.find('"', open + 1);
    return close == std::string::npos ? std::pair<std::size_t, std::size_t>{0, 0} : std::pair{open, close + 1};
  }
  void replace_value(std::string& text) {
    const auto [begin, end] = quoted(text);
    text.replace(begin, end - begin, pieces[random_() % pieces.size()]);
  }
  void swap_strings(std::string& text) {
    const auto [begin, end] = quoted(text);
    const auto [from, to] = quoted(text);
    const std::string other = text.substr(from, to - from);
    text.replace(begin, end - begin, other);
  }
  std::mt19937_64 random_;
};

void expect_total(const std::string& json, std::uint64_t seed) {
  const auto program = tile::read_program(json);
  if (!program) {
    ASSERT_FALSE(program.error().diagnostics.empty()) << "seed " << seed;
    ASSERT_FALSE(to_text(program.error()).empty());
    return;
  }
  const std::string once = tile::write_program(*program);
  const auto again = tile::read_program(once);
  ASSERT_TRUE(again) << "seed " << seed << "\n" << to_text(again.error()) << once;
  ASSERT_EQ(tile::write_program(*again), once) << "seed " << seed;
  specialize::check_program(*program);
  std::mt19937_64 random(seed);
  const char* values[] = {"0", "1", "33", "128", "2147483647"};
  specialize::Bindings bindings;
  for (const auto& symbol : program->symbols) bindings.set[symbol.name] = values[random() % 5];
  const auto bound = bind(*program, bindings, seed % 2 ? "gfx942" : "host:avx2");
  if (bound) return;
  const bool expected =
      bound.error().code == ErrorCode::program_invalid || bound.error().code == ErrorCode::resource_limit;
  ASSERT_TRUE(expected) << "seed " << seed << "\n" << to_text(bound.error()) << json;
  const bool located = bound.error().code != ErrorCode::program_invalid || !bound.error().diagnostics.empty();
  ASSERT_TRUE(located) << "seed " << seed << json;
}

TEST(Fuzz, MutatedProgramsEndInDiagnostics) {
  std::vector<std::string> programs;
  for (const auto& name : tile::builtin_names(programs_folder))
    programs.push_back(*tile::builtin_text(programs_folder, name));
  ASSERT_FALSE(programs.empty());
  const char* more = std::getenv("KILN_FUZZ_ROUNDS");  // for long runs by hand
  const std::uint64_t rounds = more ? std::strtoull(more, nullptr, 10) : 3000;
  for (std::uint64_t seed = 1; seed <= rounds; ++seed) {
    expect_total(Mutator(seed)(programs[seed % programs.size()]), seed);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace kiln::test
