// An emulated card in the test's own process: objects in, memory that kernels leave out.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/base/result.hpp"
#include "engine/emulator/machine/launch.hpp"
#include "engine/emulator/machine/program.hpp"

namespace kiln::test {

// One argument of a kernel, owned by the caller: a scalar's bytes, or what a buffer holds before and after. The buffer
// begins `offset` bytes into an allocation that ends where it ends.
struct CardArgument {
  Bytes* bytes = nullptr;
  bool scalar = false;
  std::size_t offset = 0;
};

class EmulatedCard {
 public:
  // `core`: "v3", "v4". Errors: unsupported (this machine lacks it), unknown_target.
  static Result<std::unique_ptr<EmulatedCard>> create(const std::string& target, const std::string& core);
  // One for each core that this machine can use, the widest first.
  static Result<std::vector<std::unique_ptr<EmulatedCard>>> all(const std::string& target);

  // Replaces the object that was loaded before.
  Status load(ByteView object);
  // Runs a kernel of that object, one thread of the machine. Errors: launch_failed with the fault's report, and those
  // of launches.
  Status run(const std::string& kernel, const emulator::Geometry& geometry, const std::vector<CardArgument>& arguments);
  emulator::Options& options() { return options_; }
  [[nodiscard]] const std::string& core() const { return core_name_; }

 private:
  EmulatedCard() = default;
  std::string core_name_;
  const emulator::Core* core_ = nullptr;
  emulator::Card card_;
  emulator::Options options_;
  std::unique_ptr<emulator::Program> program_;
  emulator::Memory memory_{std::uint64_t(1) << 30};
  emulator::Workers workers_{1};
};

}  // namespace kiln::test
