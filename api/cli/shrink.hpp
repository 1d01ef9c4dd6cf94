// The smallest launch that still shows a capture's finding.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "api/cli/replay.hpp"

namespace kiln::cli {

struct Shrunk {
  Launchable launch;
  std::map<std::string, std::string> set;    // the bindings it was compiled with
  RunResult result;
  bool recompiled = false;                   // false: the captured object with fewer blocks
  int tries = 0;
  std::string before, after;                 // "M=4096 N=64", "grid 64x1x1"
  std::string note;
};
// `full`: the captured launch's replay by `settings`, whose failure, or difference from the interpreter, is the finding. Sizes
// (the program's symbols) are halved one after the other, then together, then searched for the least, each try compiled anew;
// where a fresh compile at the captured sizes does not show the finding, the captured object's grid is made smaller instead.
// Requires that there is such a finding. Errors: cancelled; what a single try meets only ends that try.
Result<Shrunk> shrink(jit::Session& session, const capture::CaptureFile& file, const RunResult& full, const RunSettings& settings,
                      const std::function<void(const std::string&)>& progress);

}  // namespace kiln::cli
