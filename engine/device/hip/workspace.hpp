// A card's memory for the workspace of launches.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "engine/device/hip/hip_buffer.hpp"
#include "engine/device/hip/table.hpp"

namespace kiln::device::hip {

// Memory that one launch has for itself, at least 256-byte aligned. It holds whatever was there: the launch clears it.
struct Workspace {
  void* pointer = nullptr;
  std::uint64_t bytes = 0;
};

// Hands out memory, keeps some of what comes back for the next launch of the same size, and lets the rest go. All
// functions: any thread, which has chosen the card.
class WorkspacePool : public std::enable_shared_from_this<WorkspacePool> {
 public:
  // `let_go` takes memory whose end may wait for what runs on the card (releaser.hpp) and returns at once. `table`
  // outlives the pool.
  WorkspacePool(const Table& table, LetGo let_go) : table_(table), let_go_(std::move(let_go)) {}
  ~WorkspacePool();
  WorkspacePool(const WorkspacePool&) = delete;
  // It comes back when the last owner is gone. Errors: out_of_memory.
  Result<std::shared_ptr<const Workspace>> take(std::uint64_t bytes);
  // From now on `let_go` is not called: what comes back is freed there and then.
  void close();

 private:
  static constexpr std::uint64_t idle_bytes_max = std::uint64_t(256) << 20;
  void give_back(const Workspace& workspace);

  const Table& table_;
  std::mutex mutex_;
  LetGo let_go_;
  std::multimap<std::uint64_t, void*> idle_;   // by size
  std::uint64_t idle_bytes_ = 0;
};

}  // namespace kiln::device::hip
