// A kernel of Kiln's on a card: its module and functions, and what its launches take.
#pragma once

#include <memory>
#include <vector>

#include "engine/compile/metadata.hpp"
#include "engine/device/hip/hip_buffer.hpp"
#include "engine/device/hip/table.hpp"
#include "engine/device/launch_arguments.hpp"
#include "engine/ir/target/target.hpp"

namespace kiln::device::hip {

class Kernel {
 public:
  // Checks that the object is what its metadata says and serves the card, loads it. The calling thread's device is the
  // card. Errors: unsupported (another target), corrupt, of HIP.
  static Result<std::shared_ptr<const Kernel>> load(const Table& table, const compile::Metadata& metadata,
                                                    ByteView object, const target::Target& card, const LetGo& let_go);
  ~Kernel();
  Kernel(const Kernel&) = delete;
  // Of a launch with these arguments. Errors: as device::launch_sizes.
  [[nodiscard]] Result<LaunchSizesPtr> sizes(const std::vector<LaunchArgument>& arguments) const {
    return launch_sizes(metadata_, sizes_, arguments);
  }
  [[nodiscard]] const std::vector<compile::TensorInfo>& tensors() const { return metadata_.tensors; }
  [[nodiscard]] const std::vector<compile::WorkspaceInfo>& workspaces() const { return metadata_.workspaces; }
  // Which workspace the records of prints and asserts go to; -1: the program has none.
  [[nodiscard]] int records() const { return metadata_.records; }
  [[nodiscard]] std::size_t launches() const { return metadata_.launches.size(); }
  // Submits launch `index` with x y z blocks; `values` are those of the tensors, the workspaces and the symbols, in order:
  // 8 bytes of device address, or a scalar's bytes.
  Status submit(std::size_t index, const std::vector<std::int64_t>& grid, const std::vector<Bytes>& values,
                Stream stream) const;

 private:
  explicit Kernel(const Table& table) : table_(table) {}

  const Table& table_;
  compile::Metadata metadata_;
  LaunchSizesPtr sizes_;              // null: each launch's own
  Bytes object_;                      // AMD's runtime may read it as long as the module lives
  Module module_ = nullptr;
  std::vector<Function> functions_;   // by launch
};

}  // namespace kiln::device::hip
