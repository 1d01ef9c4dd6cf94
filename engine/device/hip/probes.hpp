// Tries everything that Kiln asks of a HIP library, a verdict each: for `kiln doctor`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace kiln::device::hip {

struct Verdict {
  enum class State : std::uint8_t { good, bad, absent } state = State::good;   // absent: not there, and not needed
  std::string what, text;
};
using VerdictSink = std::function<void(const Verdict&)>;

struct ProbeOptions {
  std::string library;          // path of libamdhip64; "": the system's
  int ordinal = -1;             // the card to try; -1: every one
  std::string card;             // the same by UUID or PCI address (device/card_names.hpp); not empty: in place of `ordinal`
  std::string object, symbol;   // a code object for the card and a kernel in it; empty: no trial of modules
  // Starts the process that opens what this one exports; added to it: the library's path, the card's number.
  std::vector<std::string> second;
};
// Calls `sink` as verdicts come, from the calling thread. Gives up a card at the first thing that cannot be missing.
void probe(const ProbeOptions& options, const VerdictSink& sink);

// What the second process does: opens over descriptor 3 what the first one hands over, and answers. Its exit status.
int second_process(const std::string& library, int ordinal);

}  // namespace kiln::device::hip
