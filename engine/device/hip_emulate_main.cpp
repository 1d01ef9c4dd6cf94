// kiln-emulate RESULT LIBRARY OBJECT TARGET [--kernel NAME] [--grid X,Y,Z] [--block X,Y,Z] [--lds BYTES] [--arg A]…
// [--print P]… [--check LIST] [--seed N] [--budget N] [--print-bytes N]: one launch on the emulated card. A process of
// its own: the object is a stranger's. What came of it is written to the file RESULT: JSON as emulate.hpp says, or
// {"error": {"message", "data": {"code", "context"}}}. What the kernel prints goes to the file RESULT.printed as it is
// printed, so that it is there when this process is stopped; stderr has what the card and this program say. `kiln
// emulate` starts it.
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "engine/base/fd.hpp"
#include "engine/device/hip/emulate.hpp"

namespace {

using namespace kiln;
using device::hip::EmulateOptions;

bool number(const std::string& text, std::uint32_t& value) {
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  return !text.empty() && parsed.ptr == end && parsed.ec == std::errc();
}

// "64", "8,8", "4,4,4": what is not given is 1.
Result<std::array<std::uint32_t, 3>> triple(const std::string& flag, const std::string& text) {
  std::array<std::uint32_t, 3> all{1, 1, 1};
  std::size_t at = 0, count = 0;
  for (bool more = true; more; ++count) {
    const auto comma = text.find(',', at);
    more = comma != std::string::npos;
    if (count == 3 || !number(text.substr(at, more ? comma - at : std::string::npos), all[count]) || all[count] == 0)
      return Error(ErrorCode::invalid_argument, flag + " takes X, X,Y or X,Y,Z, each at least 1, not \"" + text + "\"");
    at = comma + 1;
  }
  return all;
}

Status set(EmulateOptions& options, const std::string& flag, const std::string& value) {
  if (flag == "--kernel") options.kernel = value;
  else if (flag == "--arg") options.arguments.push_back(value);
  else if (flag == "--print") options.prints.push_back(value);
  else if (flag == "--check") options.check = value;
  else if (flag == "--seed") options.seed = value;
  else if (flag == "--budget") options.budget = value;
  else if (flag == "--print-bytes") options.print_bytes = value;
  else if (flag == "--grid" || flag == "--block") {
    KILN_TRY(const auto extents, triple(flag, value));
    (flag == "--grid" ? options.grid : options.block) = extents;
  } else if (flag != "--lds" || !number(value, options.lds_bytes)) {
    return Error(ErrorCode::invalid_argument, "no such words: " + flag + " " + value);
  }
  return ok();
}

Result<std::string> run(const std::vector<std::string>& words) {
  EmulateOptions options;
  options.printed = words[0] + ".printed";
  ::unlink(options.printed.c_str());   // an earlier launch's
  options.library = words[1];
  options.object = words[2];
  options.target = words[3];
  for (std::size_t i = 4; i < words.size(); i += 2) {
    if (i + 1 == words.size()) return Error(ErrorCode::invalid_argument, words[i] + " needs a value");
    KILN_CHECK(set(options, words[i], words[i + 1]));
  }
  return device::hip::emulate(options);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() < 4) {
    std::fprintf(stderr, "kiln-emulate takes RESULT LIBRARY OBJECT TARGET …; `kiln emulate` starts it\n");
    return 2;
  }
  auto result = [&]() -> Result<std::string> {
    try {
      return run(words);
    } catch (const std::bad_alloc&) {
      return Error(ErrorCode::out_of_memory, "no memory for the launch's arguments and results");
    }
  }();
  if (!result) {
    const auto& error = result.error();
    const nlohmann::json value{
        {"error", {{"message", error.message}, {"data", {{"code", error_name(error.code)}, {"context", error.context}}}}}};
    result = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  const auto written = write_file(words[0], view(*result));
  if (written) return 0;
  std::fprintf(stderr, "%s\n", to_text(written.error()).c_str());
  return 1;
}
