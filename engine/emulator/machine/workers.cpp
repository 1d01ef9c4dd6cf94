#include "engine/emulator/machine/workers.hpp"

#include <sched.h>

#include <algorithm>

namespace kiln::emulator {

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(CPU_COUNT(&set), 1);
}

Workers::Workers(int threads) : threads_(threads > 0 ? threads : usable_cores()) {
  for (int i = 1; i < threads_; ++i) pool_.emplace_back([this] { serve(); });
}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    wake_.notify_all();
  }
  for (auto& thread : pool_) thread.join();
}

void Workers::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return closing_ || !jobs_.empty(); });
    if (closing_) return;
    const auto job = jobs_.front();
    const int index = job->next++;
    if (job->next >= job->limit) jobs_.pop_front();
    ++job->active;
    lock.unlock();
    (*job->work)(index);
    lock.lock();
    if (--job->active == 0) done_.notify_all();
  }
}

void Workers::run(int n, const std::function<void(int)>& work) {
  const auto job = std::make_shared<Job>();
  job->work = &work;
  job->limit = n;
  if (n > 1) {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(job);
    wake_.notify_all();
  }
  work(0);
  std::unique_lock lock(mutex_);
  jobs_.erase(std::remove(jobs_.begin(), jobs_.end(), job), jobs_.end());
  done_.wait(lock, [&] { return job->active == 0; });
}

}  // namespace kiln::emulator
