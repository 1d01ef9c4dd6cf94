#include "engine/compile/hip_text.hpp"

#include <algorithm>
#include <cstdio>

#include "engine/base/fd.hpp"
#include "engine/compile/hiprtc.hpp"
#include "engine/ir/target/target.hpp"

namespace kiln::compile {
namespace {

constexpr std::size_t text_bytes_max = 64 << 20;

int refused(const Error& error, int status) {
  std::fprintf(stderr, "%s\n", to_text(error).c_str());
  return status;
}

// hipRTC has these built in; files that are also compiled by hipcc name them.
std::vector<DeviceHeader> built_in_headers() {
  return {{"hip/hip_runtime.h", "// built in\n"}, {"hip/hip_fp16.h", "// built in\n"}};
}

}  // namespace

int compile_text_main(const std::vector<std::string>& words) {
  if (words.size() < 4)
    return refused(Error(ErrorCode::invalid_argument, "--compile-text takes TARGET INPUT NAME OUTPUT [OPTION…]"), 2);
  const auto target = target::parse_target(words[0]);
  if (!target) return refused(target.error(), 2);
  const auto bytes = read_file(words[1], text_bytes_max);
  if (!bytes) return refused(bytes.error(), 2);
  auto rtc = Hiprtc::load();
  if (!rtc) return refused(rtc.error(), 3);
  std::vector<std::string> options{"--offload-arch=" + target->full, "-gline-tables-only"};
  options.insert(options.end(), words.begin() + 4, words.end());
  const auto output = rtc->compile(std::string(text(*bytes)), built_in_headers(), options, words[2]);
  if (!output) {
    // The log says it all, where there is one.
    const auto& log = output.error().context;
    std::fprintf(stderr, "%s\n", log.empty() ? to_text(output.error()).c_str() : log.front().c_str());
    return 1;
  }
  std::fputs(output->log.c_str(), stderr);
  const auto written = write_file(words[3], output->object);
  return written ? 0 : refused(written.error(), 2);
}

}  // namespace kiln::compile
