// Memory of this process for a kernel's arguments: what run, profile and capture share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/cli/context.hpp"
#include "engine/base/fd.hpp"
#include "engine/ir/types.hpp"

namespace kiln::cli {

// What to run, where, on what.
struct RunOptions {
  KernelArguments kernel;
  std::string device = "host";
  std::uint64_t seed = 0;
  std::string capture;                             // a file
  std::string check_memory, order_seed, budget;    // switches of an emulated card; "": as it is
  std::vector<std::string> inputs, outputs, scalars;  // NAME=FILE, NAME=FILE, NAME=NUMBER

  void add_to(CLI::App& command);
  // Puts the switches that are set into a launch's parameters.
  void add_switches(protocol::Json& request) const;
};

// --input, --output and --scalar by name.
struct Named {
  protocol::Json inputs, outputs, scalars;
};

// {NAME: number} of --scalar's words. Errors: usage_error.
Result<protocol::Json> scalar_values(Context& context, const std::vector<std::string>& words);

// One argument of the kernel: a scalar, or memory that is registered with the service.
struct Operand {
  std::string name;
  DType dtype = DType::f32;
  bool scalar = false, written = false, read = false;
  std::size_t bytes = 0;
  UniqueFd memory;
  Mapping mapping;
  std::optional<std::uint64_t> seed;                 // that it was filled by
  std::int64_t buffer = 0;
  protocol::Json value;
};

// The arguments of the kernel that `compiled`, the service's answer, is about, filled and registered: those of --input
// from files, else seeded normals (integers: -8 to 8), outputs full of NaN. `program`: its name, for errors.
Result<std::vector<Operand>> prepare_operands(Context& context, const Named& named, std::uint64_t seed,
                                              const std::string& program, const protocol::Json& compiled);
// The values of a compiled kernel's dynamic symbols (`symbols` of its answer), as --set says. Errors: usage_error for
// one that has none.
Result<protocol::Json> symbol_values(Context& context, const protocol::Json& symbols, const protocol::Json& set);
// What to compile for to run on a device: its own target, an emulated card's as its name gives it.
Result<std::string> device_target(Context& context, const std::string& device);

// A kernel that is compiled for its device, with its operands ready.
struct Prepared {
  protocol::Json params;         // of kernel.compile
  protocol::Json outcome;        // its answer
  Named named;
  std::vector<Operand> operands;
  std::string capture;           // the file that the launch goes to; "": none
  protocol::Json symbols = protocol::Json::object();  // values of the kernel's dynamic symbols
  [[nodiscard]] protocol::Json arguments() const;   // "args" of a launch
  [[nodiscard]] protocol::Json seeds() const;       // "seeds" of a launch
  [[nodiscard]] Status write_outputs() const;       // --output; an error where the capture is not there
};
Result<Prepared> prepare_run(Context& context, const RunOptions& options);

}  // namespace kiln::cli
