// kiln-compile-hip: the worker that compiles for AMD targets with hipRTC.
#include <algorithm>

#include "engine/compile/hip_text.hpp"
#include "engine/compile/hiprtc.hpp"

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv, argv + argc);
  // Flags of the worker, which it is started with everywhere, may stand before.
  const auto flag = std::find(words.begin(), words.end(), kiln::compile::compile_text_flag);
  if (flag != words.end()) return kiln::compile::compile_text_main({flag + 1, words.end()});
  return kiln::compile::worker_main(argc, argv, &kiln::compile::make_hip_compiler);
}
