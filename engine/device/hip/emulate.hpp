// One launch of a kernel out of anybody's code object on the emulated card, with its counters: kiln-emulate.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/result.hpp"

namespace kiln::device::hip {

struct EmulateOptions {
  std::string library;              // the emulated card's libamdhip64; its card 0 is used
  std::string object;               // a file: a code object or a bundle of them
  std::string target;               // the card's, as KILN_EMULATOR_TARGETS names it
  std::string kernel;               // as kernel_names.hpp says; "": the object's only one
  std::optional<std::array<std::uint32_t, 3>> grid, block;  // in blocks; in threads
  std::uint32_t lds_bytes = 0;      // dynamic
  std::vector<std::string> arguments;  // as launch_argument.hpp says
  std::vector<std::string> prints;  // ARGUMENT:TYPE:COUNT
  std::string check, seed, budget, print_bytes;  // switches of the emulated card; "": as it has them
  std::string printed;              // a file that takes what the kernel prints, in its order; "": stdout and stderr
};

// {"kernel": its symbol, "name": as its author wrote it, "grid", "block", "resources": {…}, "profiles": as the emulated card gives them, "fault": its report or
// null, "printed": [{"argument", "type", "values"}], "output": what the kernel printed, also before a fault, where a file
// took it, else null}. After a fault nothing is written back. Errors: invalid_argument
// (arguments that the kernel does not take, no grid …), not_found (no such kernel, file), corrupt, unsupported (an
// object that is not for this card), launch_failed, with what the card says.
Result<std::string> emulate(const EmulateOptions& options);

}  // namespace kiln::device::hip
