// What the service asks of tuning. The service owns this interface; who wires the service implements it over
// engine/tune.
#pragma once

#include <string>
#include <vector>

#include "engine/jit/tuning.hpp"

namespace kiln::service {

// A compile before its tunables are chosen.
struct TuningPlace {
  std::shared_ptr<const tile::Program> program;
  Digest program_digest{};
  specialize::Bindings bindings;       // as the request gives them
  std::string target;                  // any spelling
  std::string device;                  // the one name of the device; "": not told, the host's for host targets
};

struct AddedRecord {
  std::string id;
  bool taken = false;                  // false: another one of the caller's own is there, and stays
};

// Thread-safe. Outlives the service.
class Tuner {
 public:
  virtual ~Tuner() = default;
  // Blocks. Errors: engine/tune/tuner.hpp.
  virtual Result<jit::TuneOutcome> tune(const jit::TuneRequest& request) = 0;
  // The record that decides the place's open tunables; `record` is null where there is none. Of an AMD target without a
  // device, and of a card without a record of its own, an emulated card's. One that would set more than
  // tunables which the place leaves open is none. Never fails: mistakes are the compile's to report.
  virtual jit::NamedTuningRecord find(const TuningPlace& place) = 0;
  // Changes whenever find may answer otherwise. Cheap: asked by every compile that is answered from memory.
  virtual std::uint64_t generation() = 0;
  virtual std::vector<jit::NamedTuningRecord> list() = 0;
  virtual std::size_t interrupted() = 0;                    // tunes that keep what they know
  virtual Result<bool> remove(const std::string& id) = 0;   // false: there is no such record
  // Writes a record that was measured elsewhere. `replace`: also over another one of the same name.
  virtual Result<AddedRecord> add(const jit::TuningRecord& record, bool replace) = 0;
};

}  // namespace kiln::service
