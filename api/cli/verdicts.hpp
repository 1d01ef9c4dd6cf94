// What `kiln doctor` finds: a verdict a line, and the report that they end in.
#pragma once

#include <string>
#include <vector>

#include "api/cli/context.hpp"

namespace kiln::cli {

struct Verdict {
  std::string what;
  bool good = false;
  std::string text;
  bool needed = true;   // what is not there and not needed is no failure
};

// Verdicts in order; printed as they come unless the answer is JSON.
class Verdicts {
 public:
  explicit Verdicts(bool print) : print_(print) {}
  void add(Verdict verdict);
  [[nodiscard]] bool good() const;
  [[nodiscard]] bool any_bad(const std::string& prefix) const;   // of those whose name begins so
  [[nodiscard]] protocol::Json json() const;

 private:
  const bool print_;
  std::vector<Verdict> all_;
};

// One trial compile by the worker itself: its one line of output, and whether it could.
struct Trial {
  bool good = false;
  std::string text;
};
Trial trial_compile(const std::vector<std::string>& worker, const std::string& include_folder, const std::string& target);

// Tries a HIP library and its cards in a process of its own (kiln-doctor-hip). `device`: hip:N, emu:TARGET, or empty for every
// card of the system's library. `object`: a file with a code object for it and the name of a kernel in it, empty for none.
void probe_hip(const daemon::Configuration& configuration, const std::string& device, const std::string& object, const std::string& symbol,
               Verdicts& verdicts);

// The device's entry in device.list, with its target; its process is started for it.
Result<protocol::Json> card_entry(Context& context, const std::string& device);

// Every built-in at several sizes and types on the device: against the definition, against the emulated card of its kind, timed;
// then what it counts. {runs, counters}. Errors: the device cannot be used at all.
Result<protocol::Json> try_card(Context& context, const std::string& device, Verdicts& verdicts);

}  // namespace kiln::cli
