// Compiles HIP texts for tests, in a process of its own: hipRTC brings an LLVM along that must not meet the test's.
//   hip_text_compiler INCLUDE_FOLDER
// reads lines "TARGET SOURCE OBJECT" from descriptor 3 (file names without blanks) and answers each on descriptor 4:
// "ok", or "failed: WHY" in one line.
#include <stdio.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "engine/base/fd.hpp"
#include "engine/compile/hiprtc.hpp"

namespace kiln::compile {
namespace {

Status compile_file(Hiprtc& rtc, const std::vector<DeviceHeader>& headers, const std::string& line) {
  std::istringstream words(line);
  std::string target_name, source, object;
  words >> target_name >> source >> object;
  KILN_TRY(const auto target, target::parse_target(target_name));
  KILN_TRY(const Bytes bytes, read_file(source));
  KILN_TRY(const auto output, rtc.compile(std::string(text(bytes)), headers, hip_options(target)));
  FILE* const file = fopen(object.c_str(), "wb");
  if (file == nullptr) return Error(ErrorCode::io_error, "cannot write " + object);
  const bool whole = fwrite(output.object.data(), 1, output.object.size(), file) == output.object.size();
  if (fclose(file) != 0 || !whole) return Error(ErrorCode::io_error, "cannot write " + object);
  return ok();
}

Status serve(const char* include_folder) {
  FILE* const requests = fdopen(3, "r");
  FILE* const answers = fdopen(4, "w");
  if (requests == nullptr || answers == nullptr) return Error(ErrorCode::io_error, "descriptors 3 and 4 are not open");
  KILN_TRY(const auto headers, read_device_headers(include_folder));
  KILN_TRY(auto rtc, Hiprtc::load());
  char line[8192];
  while (fgets(line, sizeof line, requests) != nullptr) {
    std::string answer = "ok";
    if (auto status = compile_file(rtc, headers, line); !status) {
      answer = "failed: " + to_text(status.error());
      std::replace(answer.begin(), answer.end(), '\n', ' ');
    }
    fprintf(answers, "%s\n", answer.c_str());
    fflush(answers);
  }
  return ok();
}

}  // namespace
}  // namespace kiln::compile

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const auto status = kiln::compile::serve(argv[1]);
  if (!status) fprintf(stderr, "hip_text_compiler: %s\n", to_text(status.error()).c_str());
  return status ? 0 : 1;
}
