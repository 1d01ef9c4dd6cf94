#include "cache/tiers/worker.hpp"

#include <fcntl.h>
#include <signal.h>

#include <cerrno>
#include <system_error>

#include "cache/entry.hpp"
#include "cache/tiers/sealed_entry.hpp"
#include "engine/base/os.hpp"

namespace kiln::cache {
namespace {

constexpr std::uint64_t answer_bytes_max = std::uint64_t(64) << 20;  // more is asked for when these are handed over

// Libraries below may write to a connection that the peer has closed.
void block_broken_pipes() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

std::uint64_t size_of(const jit::StoredObject& stored) {
  return entry_bytes(stored.metadata.size(), stored.object.size()) + sizeof(Digest);
}

}  // namespace

TierWorker::TierWorker(TierOptions options, std::string url, Open open, Now now)
    : options_(std::move(options)), url_(std::move(url)), open_(std::move(open)), now_(std::move(now)) {}

// Whether there are threads to do it; starts them. With the lock held.
bool TierWorker::started() {
  if (thread_.joinable()) return true;
  int ends[2] = {-1, -1};
  if (!interrupt_ && os::pipe2(ends, O_CLOEXEC) != 0) {
    counters_.last_error = errno_error(errno, "make a pipe").message;
    return false;
  }
  if (!interrupt_) {
    interrupt_.reset(ends[0]);
    interrupter_.reset(ends[1]);
  }
  try {
    if (!answering_.joinable()) answering_ = std::thread([this] { answer(); });
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& error) {  // no threads left
    counters_.last_error = error.what();
    return false;
  }
  return true;
}

void TierWorker::fetch(const jit::Key& key, Sound sound, Fetched done) {
  {
    const std::lock_guard lock(mutex_);
    if (!stopping_ && breaker_.allows(now_()) && fetches_.size() + answers_.size() < options_.fetches_max && started()) {
      fetches_.push_back({key, std::move(sound), std::move(done), Deadline::after(options_.timeout)});
      wake_.notify_one();
      return;
    }
    ++counters_.skipped;
  }
  done(nullptr);
}

void TierWorker::put(StoredPtr stored) {
  if (!options_.write) return;
  const auto bytes = size_of(*stored);
  const std::lock_guard lock(mutex_);
  const bool fits = bytes <= tier_value_bytes_max && puts_.size() < options_.queue_entries_max &&
                    put_bytes_ + bytes <= options_.queue_bytes_max;
  if (stopping_ || !fits || !breaker_.allows(now_()) || !started()) {
    ++counters_.dropped;
    return;
  }
  put_bytes_ += bytes;
  puts_.push_back(std::move(stored));
  wake_.notify_one();
}

jit::TierStats TierWorker::stats() {
  const std::lock_guard lock(mutex_);
  auto stats = counters_;
  stats.url = url_;
  stats.state = stopping_ ? "stopped" : breaker_.off() ? "down" : asked_ ? "up" : "unused";
  stats.queued = puts_.size();
  return stats;
}

void TierWorker::stop() {
  std::deque<Fetch> unasked;
  {
    const std::lock_guard lock(mutex_);
    if (!stopping_) last_put_ = Deadline::after(options_.timeout);
    stopping_ = true;
    interrupter_.reset();
    unasked.swap(fetches_);
    counters_.skipped += unasked.size();
    wake_.notify_one();
  }
  for (auto& fetch : unasked) fetch.done(nullptr);
  if (thread_.joinable()) thread_.join();
  {
    const std::lock_guard lock(mutex_);
    asked_all_ = true;
    answered_.notify_one();
  }
  if (answering_.joinable()) answering_.join();
}

void TierWorker::run() {
  block_broken_pipes();
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] {
      return stopping_ || (answer_bytes_ < answer_bytes_max && (!fetches_.empty() || !puts_.empty()));
    });
    if (!fetches_.empty()) {
      auto fetch = std::move(fetches_.front());
      fetches_.pop_front();
      lock.unlock();
      auto stored = ask(fetch);
      fetch.sound = nullptr;  // what it holds goes without the lock
      lock.lock();
      if (stored) answer_bytes_ += size_of(*stored);
      answers_.push_back({std::move(fetch.done), std::move(stored)});
      answered_.notify_one();
    } else if (!puts_.empty()) {
      const auto stored = std::move(puts_.front());
      puts_.pop_front();
      put_bytes_ -= size_of(*stored);
      const auto deadline = stopping_ ? last_put_ : Deadline::after(options_.timeout);
      if (deadline.passed() || !breaker_.allows(now_())) {
        ++counters_.dropped;
        continue;
      }
      lock.unlock();
      store(*stored, deadline);
      lock.lock();
    } else {
      break;  // stopping
    }
  }
  transport_.reset();
}

void TierWorker::answer() {
  std::unique_lock lock(mutex_);
  for (;;) {
    answered_.wait(lock, [this] { return asked_all_ || !answers_.empty(); });
    if (answers_.empty()) return;
    auto answer = std::move(answers_.front());
    answers_.pop_front();
    const auto bytes = answer.stored ? size_of(*answer.stored) : 0;
    lock.unlock();
    answer.done(std::move(answer.stored));
    answer = {};
    lock.lock();
    answer_bytes_ -= bytes;
    wake_.notify_one();
  }
}

Result<Transport*> TierWorker::transport() {
  if (!transport_) {
    KILN_TRY(transport_, open_());
  }
  return transport_.get();
}

TierWorker::StoredPtr TierWorker::ask(const Fetch& fetch) {
  {
    const std::lock_guard lock(mutex_);
    if (!breaker_.allows(now_())) {  // what was asked before it failed meanwhile
      ++counters_.skipped;
      return nullptr;
    }
    asked_ = true;
  }
  if (fetch.deadline.passed()) {  // by those before it: says nothing about the server
    failed(Error(ErrorCode::deadline_exceeded, "others were asked for all the time"), false);
    return nullptr;
  }
  auto there = transport();
  if (!there) {
    failed(there.error());
    return nullptr;
  }
  const auto bytes = (*there)->get(tier_name(fetch.key), fetch.deadline, interrupt_.get());
  if (!bytes) {
    failed(bytes.error(), bytes.error().code != ErrorCode::permission_denied);
    return nullptr;
  }
  succeeded();
  if (*bytes) return take(fetch, **bytes);
  const std::lock_guard lock(mutex_);
  ++counters_.misses;
  return nullptr;
}

TierWorker::StoredPtr TierWorker::take(const Fetch& fetch, ByteView bytes) {
  auto entry = open_entry(fetch.key, bytes, options_.key);
  std::string problem;
  if (!entry) problem = entry.error().message;
  else if (fetch.sound && !fetch.sound(*entry)) problem = "the entry is none of this engine's for the target";
  if (!problem.empty()) transport_.reset();  // who lies once may have more in its connections
  const std::lock_guard lock(mutex_);
  if (problem.empty()) {
    ++counters_.hits;
    return std::make_shared<const jit::StoredObject>(std::move(*entry));
  }
  ++counters_.refused;
  counters_.last_error = "refused " + fetch.key.hex() + ": " + problem;
  return nullptr;
}

void TierWorker::store(const jit::StoredObject& stored, Deadline deadline) {
  {
    const std::lock_guard lock(mutex_);
    asked_ = true;
  }
  auto there = transport();
  const auto status = there ? (*there)->put(tier_name(stored.key), seal_entry(stored, options_.key), deadline)
                            : Status(std::move(there).error());
  if (status) succeeded();
  else failed(status.error(), status.error().code != ErrorCode::permission_denied);
  const std::lock_guard lock(mutex_);
  ++(status ? counters_.stored : counters_.dropped);
}

// Counts a failure; `count`: against the server as well.
void TierWorker::failed(const Error& error, bool count) {
  std::string said;
  {
    const std::lock_guard lock(mutex_);
    if (error.code == ErrorCode::cancelled) return;  // by stop
    ++(error.code == ErrorCode::deadline_exceeded ? counters_.timeouts
       : error.code == ErrorCode::corrupt         ? counters_.refused
                                                  : counters_.errors);
    counters_.last_error = error.message;
    if (count && breaker_.failed(now_()))
      said = "the remote tier " + url_ + " is left alone for a while: " + error.message;
  }
  warn(said);
}

void TierWorker::succeeded() {
  bool again = false;
  {
    const std::lock_guard lock(mutex_);
    again = breaker_.succeeded();
  }
  if (again) warn("the remote tier " + url_ + " answers again");
}

void TierWorker::warn(const std::string& text) {
  if (!text.empty() && options_.warn) options_.warn(text);
}

}  // namespace kiln::cache
