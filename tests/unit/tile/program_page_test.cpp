// Every JSON block of PROGRAM.md: whole programs are read, checked and bound; lists of statements inside a small
// program.
#include "engine/base/fd.hpp"
#include "tests/unit/tile/support.hpp"

namespace kiln::test {
namespace {

std::vector<std::string> json_blocks(const std::string& page) {
  std::vector<std::string> blocks;
  const std::string open = "```json\n", close = "\n```";
  for (std::size_t at = page.find(open); at != std::string::npos; at = page.find(open, at)) {
    at += open.size();
    blocks.push_back(page.substr(at, page.find(close, at) - at));
  }
  return blocks;
}

TEST(ProgramPage, EveryExampleIsTrue) {
  const auto page = read_file(KILN_SOURCE_DIR "/engine/ir/PROGRAM.md");
  ASSERT_TRUE(page);
  const auto blocks = json_blocks(std::string(text(*page)));
  ASSERT_GE(blocks.size(), 2u);
  for (const auto& block : blocks) {
    const bool whole = block.find("\"kiln\"") != std::string::npos;
    const auto program = tile::read_program(whole ? block : program_with(block));
    ASSERT_TRUE(program) << block << "\n" << to_text(program.error());
    auto findings = specialize::check_program(*program);
    EXPECT_FALSE(findings.has_errors()) << to_text(program_error("", findings.take()));
    auto bindings = sizes(100, 90, 70);
    if (whole) {  // its own symbols
      bindings.set.clear();
      std::int64_t size = 100;
      for (const auto& symbol : program->symbols) {
        size -= 10;
        bindings.set[symbol.name] = std::to_string(size / symbol.multiple_of * symbol.multiple_of);
      }
    }
    for (const char* target : {"gfx942", "gfx1100", "host:avx2"}) {
      const auto bound = bind(*program, bindings, target);
      EXPECT_TRUE(bound) << block << "\n" << to_text(bound.error());
    }
  }
}

TEST(ProgramPage, ListsEveryNotYetStatement) {
  const auto page = read_file(KILN_SOURCE_DIR "/engine/ir/PROGRAM.md");
  ASSERT_TRUE(page);
  const std::string later(text(*page).substr(text(*page).find("## Not yet")));
  for (const char* statement : {"while"}) {
    const auto program = tile::read_program(program_with(std::string("[{\"op\": \"") + statement + "\"}]"));
    ASSERT_FALSE(program);
    EXPECT_NE(find(program.error(), "not yet"), nullptr);
    EXPECT_NE(later.find(std::string("`") + statement + "`"), std::string::npos) << statement;
  }
}

}  // namespace
}  // namespace kiln::test
