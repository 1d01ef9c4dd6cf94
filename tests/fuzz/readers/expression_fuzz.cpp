// One expression: what is printed is read as the same.
#include "engine/ir/tile/expression.hpp"
#include "tests/fuzz/readers/fuzz_check.hpp"

using namespace kiln;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto expression = tile::parse_expression({reinterpret_cast<const char*>(data), size});
  if (!expression) {
    FUZZ_CHECK(expression.error().diagnostics.size() == 1);
    FUZZ_CHECK(expression.error().diagnostics[0].offset <= size);
    return 0;
  }
  const auto text = tile::print_expression(**expression);
  const auto again = tile::parse_expression(text);
  FUZZ_CHECK(again && tile::print_expression(**again) == text);
  return 0;
}
