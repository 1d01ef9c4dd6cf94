// Features of x86-64 that host targets name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kiln::target {

// What this machine (and its kernel's saved state) has, of the names that host targets know (LLVM's), sorted: "avx2",
// "avx512f", "avx512bf16" … Empty on a processor that is no x86-64. Asked once; any thread.
const std::vector<std::string>& machine_features();

// Features of a level, "avx2" or "avx512", sorted; empty for another text.
std::vector<std::string> level_features(std::string_view level);
// Features that a host target may name beyond its level's, sorted.
const std::vector<std::string>& extra_features();

}  // namespace kiln::target
