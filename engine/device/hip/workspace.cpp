#include "engine/device/hip/workspace.hpp"

namespace kiln::device::hip {

WorkspacePool::~WorkspacePool() {
  for (const auto& [bytes, pointer] : idle_) (void)table_.hipFree(pointer);
}

Result<std::shared_ptr<const Workspace>> WorkspacePool::take(std::uint64_t bytes) {
  Workspace made{nullptr, bytes};
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = idle_.find(bytes); found != idle_.end()) {
      made.pointer = found->second;
      idle_.erase(found);
      idle_bytes_ -= bytes;
    }
  }
  if (made.pointer == nullptr && bytes > 0)
    KILN_CHECK(table_.check(table_.hipMalloc(&made.pointer, bytes), "hipMalloc"));
  return std::shared_ptr<const Workspace>(new Workspace(made), [pool = shared_from_this()](const Workspace* one) {
    pool->give_back(*one);
    delete one;
  });
}

void WorkspacePool::close() {
  const std::lock_guard lock(mutex_);
  let_go_ = nullptr;
}

void WorkspacePool::give_back(const Workspace& workspace) {
  if (workspace.pointer == nullptr) return;
  LetGo let_go;
  {
    const std::lock_guard lock(mutex_);
    if (let_go_ && idle_bytes_ + workspace.bytes <= idle_bytes_max) {
      idle_.emplace(workspace.bytes, workspace.pointer);
      idle_bytes_ += workspace.bytes;
      return;
    }
    let_go = let_go_;
  }
  const auto free = [&table = table_](void* pointer) { (void)table.hipFree(pointer); };
  if (let_go) let_go(std::shared_ptr<void>(workspace.pointer, free));
  else free(workspace.pointer);
}

}  // namespace kiln::device::hip
