// A store that other machines share and that may be slow, dead or lying: asked when this machine has an entry nowhere,
// told what was compiled. The engine owns this interface, the cache implements it. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "engine/jit/object_store.hpp"

namespace kiln::jit {

struct TierStats {
  std::string url;                // without user and password
  // "unused": nothing was asked yet; "up"; "down": off for a while after failures in a row; "stopped".
  std::string state;
  std::uint64_t hits = 0, misses = 0;
  std::uint64_t errors = 0;       // the server could not be reached, or answered with an error or nonsense
  std::uint64_t timeouts = 0;     // no whole answer in time
  std::uint64_t refused = 0;      // answers that were no sound entry of that key, or that nobody vouched for
  std::uint64_t skipped = 0;      // not asked: the tier was down, or too many were waiting
  std::uint64_t stored = 0;
  std::uint64_t dropped = 0;      // compiled and not stored: the queue was full, the tier down, the server refused
  std::uint64_t queued = 0;       // waiting to be stored now
  std::string last_error;         // of the latest error, timeout or refusal; "" when there was none
};

class RemoteTier {
 public:
  using Sound = std::function<bool(const StoredObject&)>;
  using Fetched = std::function<void(std::shared_ptr<const StoredObject>)>;

  virtual ~RemoteTier() = default;
  // Asks for the entry of `key`. `done` exactly once, within the tier's timeout: from the tier's thread, or before this
  // returns; with a sound entry, or with null. `sound` may refuse an entry by its contents, as in ObjectStore::lookup.
  virtual void fetch(const Key& key, Sound sound, Fetched done) = 0;
  // Stores it some time later, or drops it. Never blocks.
  virtual void put(std::shared_ptr<const StoredObject> stored) = 0;
  virtual TierStats stats() = 0;
  // Answers whoever waits with null and asks nobody any more; what is queued is still stored if that takes no longer
  // than the timeout. No `done` is called after it. Not from a `done`. Later calls of the others do nothing.
  virtual void stop() = 0;
};

}  // namespace kiln::jit
