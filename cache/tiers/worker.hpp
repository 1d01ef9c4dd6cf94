// The thread that asks a remote tier's server: fetches first, then what is to be stored. It bounds what waits and how
// long, leaves a failing server alone for a while, and counts. A second thread hands answers over, since whoever takes
// one does work with it while others wait for the server.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "cache/tiers/breaker.hpp"
#include "cache/tiers/tier.hpp"
#include "cache/tiers/transport.hpp"
#include "engine/base/fd.hpp"

namespace kiln::cache {

class TierWorker final : public jit::RemoteTier {
 public:
  // Called on the thread when something is asked first, and again after it failed.
  using Open = std::function<Result<std::unique_ptr<Transport>>()>;
  using Now = std::function<Breaker::Clock::time_point()>;
  // `url`: to be shown. `now`: the breaker's clock.
  TierWorker(TierOptions options, std::string url, Open open, Now now = Breaker::Clock::now);
  ~TierWorker() override { stop(); }

  void fetch(const jit::Key& key, Sound sound, Fetched done) override;
  void put(std::shared_ptr<const jit::StoredObject> stored) override;
  jit::TierStats stats() override;
  void stop() override;

 private:
  struct Fetch {
    jit::Key key;
    Sound sound;
    Fetched done;
    Deadline deadline;
  };
  struct Answer {
    Fetched done;
    std::shared_ptr<const jit::StoredObject> stored;
  };
  using StoredPtr = std::shared_ptr<const jit::StoredObject>;

  bool started();
  void run();
  void answer();
  StoredPtr ask(const Fetch& fetch);
  StoredPtr take(const Fetch& fetch, ByteView bytes);
  void store(const jit::StoredObject& stored, Deadline deadline);
  Result<Transport*> transport();
  void failed(const Error& error, bool count = true);
  void succeeded();
  void warn(const std::string& text);

  const TierOptions options_;
  const std::string url_;
  const Open open_;
  const Now now_;
  std::unique_ptr<Transport> transport_;  // the thread's
  std::mutex mutex_;                      // of all below
  std::condition_variable wake_, answered_;
  std::deque<Fetch> fetches_;
  std::deque<Answer> answers_;
  std::uint64_t answer_bytes_ = 0;        // of those, and of the one that is being handed over
  std::deque<StoredPtr> puts_;
  std::uint64_t put_bytes_ = 0;
  Breaker breaker_;
  jit::TierStats counters_;
  bool asked_ = false, stopping_ = false, asked_all_ = false;
  Deadline last_put_;                     // when it is stopping
  UniqueFd interrupt_, interrupter_;      // the ends of a pipe that hangs up when it is stopping
  std::thread thread_, answering_;
};

}  // namespace kiln::cache
