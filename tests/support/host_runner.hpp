// Compiles and runs programs on the host device inside the test's own process.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/fd.hpp"
#include "engine/compile/compiler.hpp"
#include "engine/device/device.hpp"
#include "engine/ir/bound/program.hpp"
#include "engine/reference/interpreter.hpp"

namespace kiln::test {

// A program's text, bound. Errors as the reader's and specialize's.
Result<bound::Program> bind_text(const std::string& json, const std::map<std::string, std::string>& set,
                                 const std::string& target = "host");
// A built-in of kernels/programs.
Result<bound::Program> bind_builtin(const std::string& name, const std::map<std::string, std::string>& set,
                                    const std::string& target = "host");
Result<compile::Compiled> compile_for_host(const bound::Program& program);

// Memory that the device maps and the test sees.
struct SharedBuffer {
  UniqueFd fd;
  Mapping mapping;
  device::BufferId id = 0;
};

class HostRunner {
 public:
  explicit HostRunner(int threads = 0);
  device::Device& device() { return *device_; }
  Result<device::KernelId> load(const compile::Compiled& compiled);
  Result<SharedBuffer> buffer(std::size_t bytes);
  // Waits; the launch's duration in ms. Buffers in the order of the tensors.
  Result<double> run(device::KernelId kernel, const std::vector<const SharedBuffer*>& buffers);
  // Compiles, runs and gives what the tensors hold afterwards. `symbols`: the values of the program's dynamic symbols.
  Result<std::vector<Bytes>> run_once(const bound::Program& program, const std::vector<Bytes>& tensors,
                                      const bound::SymbolValues& symbols = {});
  // The same for a kernel that is loaded.
  Result<std::vector<Bytes>> run_loaded(device::KernelId kernel, const bound::Program& program,
                                        const std::vector<Bytes>& tensors, const bound::SymbolValues& symbols);

 private:
  Result<SharedBuffer> guarded_buffer(const Bytes& tensor);
  std::unique_ptr<device::Device> device_;
};

// Random contents for all tensors: floats standard normal (scaled), integers small; written tensors hold NaN (or all
// ones).
std::vector<Bytes> random_tensors(const bound::Program& program, std::uint64_t seed, double scale = 1.0);

// What host and interpreter disagree about, or "" when all outputs are within PROGRAM.md's tolerance. `loaded`: the program,
// which is compiled else.
std::string differences(HostRunner& runner, const bound::Program& program, const std::vector<Bytes>& tensors,
                        bool check_races = false, const bound::SymbolValues& symbols = {},
                        std::optional<device::KernelId> loaded = {});

}  // namespace kiln::test
