// Runs captured launches in this process's own session (no daemon), and says how two runs of one launch differ.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/protocol/json.hpp"
#include "engine/capture/capture.hpp"
#include "engine/capture/finding.hpp"
#include "engine/jit/session.hpp"

namespace kiln::cli {

// A kernel with its arguments' bytes, ready to be launched.
struct Launchable {
  compile::Metadata metadata;
  Bytes object;
  std::vector<Bytes> arguments;       // a tensor's bytes before the launch, or a scalar's
};
struct RunSettings {
  std::string device;
  std::vector<std::pair<std::string, std::string>> switches;
  bool count = false;                 // an emulated card's counters
  const bound::Program* interpret = nullptr;   // also compare with the interpreter
};
struct RunResult {
  capture::Outcome outcome;
  std::vector<std::optional<Bytes>> after;     // of written tensors, when it is done
  std::vector<std::optional<reference::Comparison>> interpreted;
  [[nodiscard]] bool failed() const { return outcome.kind == capture::Outcome::Kind::failed; }
  [[nodiscard]] capture::Finding finding() const { return capture::finding_of(outcome.error); }
  [[nodiscard]] bool differs_from_interpreter() const;
};
// Loads, launches, reads. What the launch itself does wrong is an outcome; errors are of the way there: unsupported (the device
// does not serve the object), unknown_target, resource_limit, cancelled …
Result<RunResult> run_launch(jit::Session& session, const Launchable& launch, const RunSettings& settings);

// The captured launch. Error: of the contents.
Result<Launchable> launchable(const capture::CaptureFile& file);
// What it was compiled from. Errors: unsupported (the capture knows no program); of reading and binding it.
struct CapturedProgram {
  std::shared_ptr<const tile::Program> program;
  specialize::Bindings bindings;
  std::string target;
};
Result<CapturedProgram> captured_program(const capture::Capture& capture);
Result<bound::Program> bind_captured(const CapturedProgram& program, const std::string& target);

// {"same": …, "result": …, "fault": …, "counters": …, "interpreter": …}: the captured outcome beside the replayed one.
Result<protocol::Json> compare_runs(const capture::CaptureFile& file, const RunResult& replayed);

}  // namespace kiln::cli
