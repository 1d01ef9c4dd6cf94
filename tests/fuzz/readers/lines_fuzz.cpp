// The bytes that a client sends: split into lines however they arrive, and each line read.
#include <algorithm>

#include "api/protocol/message.hpp"
#include "tests/fuzz/readers/fuzz_check.hpp"

using namespace kiln;
using namespace kiln::protocol;

namespace {

void read_line(const std::string& line, const Limits& limits) {
  for (const auto& item : parse_line(line, limits).items) {
    if (const auto* bad = std::get_if<BadRequest>(&item)) {
      FUZZ_CHECK(parse_json(error_line(bad->id, bad->error), Limits{}));
      continue;
    }
    const auto& request = std::get<Request>(item);
    FUZZ_CHECK(request.params.is_object());
    const auto text = dump(request.params);
    const auto again = parse_json(text, Limits{});
    FUZZ_CHECK(again && dump(*again) == text);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  Limits limits;
  limits.depth_max = 16;
  limits.nodes_max = 1000;
  limits.batch_max = 8;
  const std::size_t piece = 1 + data[0], line_max = 64 + std::size_t(data[1]) * 16;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  LineSplitter splitter(line_max);
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < bytes.size(); at += piece)
    if (!splitter.feed(bytes.substr(at, piece), lines)) break;
  for (const auto& line : lines) {
    FUZZ_CHECK(line.size() <= line_max);
    read_line(line, limits);
  }
  return 0;
}
