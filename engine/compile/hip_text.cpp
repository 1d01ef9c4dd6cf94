#include "engine/compile/hip_text.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>

#include "engine/base/fd.hpp"
#include "engine/compile/comgr.hpp"
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

// As hipcc would, where HIP's headers and AMD's compiler library are; else, and if that refuses the text, by hipRTC. What
// the first of them said is the error: texts that only hipRTC takes are rare.
Result<Hiprtc::Output> compile_text(const std::string& text, const std::string& name, const std::string& target,
                                    std::vector<std::string> options) {
  options.insert(options.begin(), "-gline-tables-only");
  std::optional<Error> first;
  if (const auto comgr = Comgr::load()) {
    auto output = comgr->compile(text, name, target, options);
    if (output) return output;
    first = output.error();
  }
  auto rtc = Hiprtc::load();
  if (!rtc) return first ? *first : rtc.error();
  options.insert(options.begin(), "--offload-arch=" + target);
  auto output = rtc->compile(text, built_in_headers(), options, name);
  if (!output && first) return *first;
  return output;
}

// The compilers copy the text to a folder of their own; it is to be known by its own name, in __FILE__ and line tables too.
std::string with_name(const std::string& text, const std::string& name) {
  std::string quoted;
  for (const char c : make_valid_utf8(name)) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += static_cast<unsigned char>(c) < ' ' ? '?' : c;
  }
  return "#line 1 \"" + quoted + "\"\n" + text;
}

}  // namespace

int compile_text_main(const std::vector<std::string>& words) {
  if (words.size() < 4)
    return refused(Error(ErrorCode::invalid_argument, "--compile-text takes TARGET INPUT NAME OUTPUT [OPTION…]"), 2);
  const auto target = target::parse_target(words[0]);
  if (!target) return refused(target.error(), 2);
  const auto bytes = read_file(words[1], text_bytes_max);
  if (!bytes) return refused(bytes.error(), 2);
  const auto output = compile_text(with_name(std::string(text(*bytes)), words[2]), words[2], target->full,
                                   {words.begin() + 4, words.end()});
  if (!output) {
    // The log says it all, where there is one.
    const auto& error = output.error();
    std::fprintf(stderr, "%s\n", (error.context.empty() ? to_text(error) : error.context.front()).c_str());
    return error.code == ErrorCode::no_compiler ? 3 : 1;
  }
  std::fputs(output->log.c_str(), stderr);
  const auto written = write_file(words[3], output->object);
  return written ? 0 : refused(written.error(), 2);
}

}  // namespace kiln::compile
