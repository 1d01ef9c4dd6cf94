#include "engine/ir/target/host_features.hpp"

#include <algorithm>

namespace kiln::target {
namespace {

std::vector<std::string> ask_machine() {
  std::vector<std::string> found;
#if defined(__x86_64__)
  __builtin_cpu_init();
  // The builtin takes literals only. It looks at the operating system's saved state too.
#define KILN_ASK(feature) \
  if (__builtin_cpu_supports(feature)) found.emplace_back(feature)
  KILN_ASK("avx2");
  KILN_ASK("avx512bf16");
  KILN_ASK("avx512bw");
  KILN_ASK("avx512cd");
  KILN_ASK("avx512dq");
  KILN_ASK("avx512f");
  KILN_ASK("avx512fp16");
  KILN_ASK("avx512vl");
  KILN_ASK("avx512vnni");
  KILN_ASK("f16c");
  KILN_ASK("fma");
#undef KILN_ASK
#endif
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

const std::vector<std::string>& machine_features() {
  static const std::vector<std::string> features = ask_machine();
  return features;
}

std::vector<std::string> level_features(std::string_view level) {
  if (level == "avx2") return {"avx2", "f16c", "fma"};
  if (level == "avx512") return {"avx2", "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl", "f16c", "fma"};
  return {};
}

const std::vector<std::string>& extra_features() {
  static const std::vector<std::string> features = {"avx512bf16", "avx512fp16", "avx512vnni"};
  return features;
}

}  // namespace kiln::target
