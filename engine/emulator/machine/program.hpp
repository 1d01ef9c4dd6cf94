// A code object on a card: loaded, decoded, bound to the core, its kernels ready to launch.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "engine/base/bytes.hpp"
#include "engine/base/result.hpp"
#include "engine/emulator/core/core.hpp"
#include "engine/emulator/machine/card.hpp"
#include "engine/emulator/machine/kernel_arguments.hpp"
#include "engine/emulator/machine/launch.hpp"
#include "engine/emulator/machine/object.hpp"
#include "engine/emulator/machine/source_lines.hpp"

namespace kiln::emulator {

class Program {
 public:
  // The bytes may be hostile. Errors: of load_object.
  static Result<std::unique_ptr<Program>> load(ByteView object, const Card& card, const Core& core);
  ~Program();
  Program(const Program&) = delete;

  [[nodiscard]] const BoundCode& code() const { return code_; }
  [[nodiscard]] const Kernel* kernel(const std::string& name) const;          // null: there is none
  [[nodiscard]] const ObjectVariable* variable(const std::string& name) const;
  [[nodiscard]] const std::map<std::string, Kernel>& kernels() const { return object_.kernels; }
  // Whether [address, address + bytes) is data of the image, as host programs may copy it.
  [[nodiscard]] bool holds(std::uint64_t address, std::uint64_t bytes) const;
  // Gives the rows of a profile of one of these kernels their source lines. Any thread.
  void add_lines(const Kernel& kernel, Profile& profile) const;
  // "mine.hip:12, the other access's mine.hip:10": where a fault's instructions come from; "" where the object does not
  // say. Any thread.
  [[nodiscard]] std::string lines_of(const Kernel& kernel, const FaultReport& fault) const;

 private:
  Program();
  SourceLines* lines() const;   // the mutex is held
  LoadedObject object_;
  BoundCode code_;
  Bytes file_;
  mutable std::mutex lines_mutex_;
  mutable bool lines_read_ = false;
  mutable std::unique_ptr<SourceLines> lines_;
};

}  // namespace kiln::emulator
