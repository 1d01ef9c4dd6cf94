#include "engine/device/host/block_pool.hpp"

#include <algorithm>

#include "engine/device/host/arena.hpp"

namespace kiln::device::host {
namespace {
thread_local Arena thread_arena;
}

BlockPool::BlockPool(int threads) {
  for (int i = 0; i < std::max(threads, 1); ++i) threads_.emplace_back([this] { work(); });
}

BlockPool::~BlockPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (const auto& job : jobs_) job->next.store(job->grid.count);
  }
  wake_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void BlockPool::submit(Grid grid) {
  auto job = std::make_shared<Job>();
  job->grid = std::move(grid);
  const bool single = job->grid.count <= 1;
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  if (single)
    wake_.notify_one();
  else
    wake_.notify_all();
}

bool BlockPool::withdraw(std::uint64_t launch) {
  std::shared_ptr<Job> job;  // goes without the lock: it holds what its functions hold
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(jobs_.begin(), jobs_.end(), [&](const auto& listed) { return listed->grid.launch == launch; });
  if (found == jobs_.end() || (*found)->workers.load() > 0) return false;
  job = std::move(*found);
  jobs_.erase(found);
  return true;
}

// The next job, moved to the back: threads spread over what there is. Waits; null when the pool ends.
std::shared_ptr<BlockPool::Job> BlockPool::take() {
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [&] { return stopping_ || !jobs_.empty(); });
  if (stopping_) return nullptr;
  auto job = jobs_.front();
  jobs_.pop_front();
  jobs_.push_back(job);
  job->workers.fetch_add(1);
  return job;
}

void BlockPool::run(Job& job) {
  auto arena = thread_arena.reserve(job.grid.arena_bytes);
  if (!arena) {
    job.failed.store(true);
    job.next.store(job.grid.count);
    return;
  }
  for (;;) {
    const std::int64_t block = job.next.fetch_add(1);
    if (block >= job.grid.count) return;
    if (!job.grid.run(block, *arena)) job.next.store(job.grid.count);
  }
}

void BlockPool::leave(const std::shared_ptr<Job>& job) {
  bool last = false;
  {
    const std::lock_guard lock(mutex_);
    if (job->listed) {
      jobs_.erase(std::find(jobs_.begin(), jobs_.end(), job));
      job->listed = false;
    }
    last = job->workers.fetch_sub(1) == 1;
    if (stopping_) return;
  }
  if (!last) return;
  Status status;
  if (job->failed.load()) status = Error(ErrorCode::out_of_memory, "no memory for a block's tiles", true);
  job->grid.finished(std::move(status));
}

void BlockPool::work() {
  while (const auto job = take()) {
    run(*job);
    leave(job);
  }
}

}  // namespace kiln::device::host
