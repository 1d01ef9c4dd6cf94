// The text of a tile program: read, written, read again, checked.
#include "engine/ir/tile/program.hpp"
#include "engine/specialize/specialize.hpp"
#include "tests/fuzz/readers/fuzz_check.hpp"

using namespace kiln;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto program = tile::read_program({reinterpret_cast<const char*>(data), size});
  if (!program) {
    FUZZ_CHECK(!program.error().diagnostics.empty() || !program.error().message.empty());
    return 0;
  }
  const auto text = tile::write_program(*program);
  const auto again = tile::read_program(text);
  FUZZ_CHECK(again && tile::write_program(*again) == text);
  (void)specialize::check_program(*program);
  return 0;
}
