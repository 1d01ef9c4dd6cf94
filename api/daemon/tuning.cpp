#include "api/daemon/tuning.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>

#include "api/service/tuning_json.hpp"
#include "engine/tune/identity.hpp"
#include "engine/tune/tuner.hpp"

namespace kiln::daemon {
namespace {

constexpr std::size_t targets_max = 256;
constexpr std::size_t shipped_bytes_max = std::size_t(4) << 20;

// kernels/tuning: every *.json. One that cannot be read is no reason not to start.
std::vector<jit::TuningRecord> read_shipped(const std::string& folder,
                                            const std::function<void(const std::string&)>& log) {
  std::vector<jit::TuningRecord> all;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() != ".json") continue;
    const auto read = [&]() -> Result<std::vector<jit::TuningRecord>> {
      KILN_TRY(const auto bytes, read_file(at->path().string(), shipped_bytes_max));
      KILN_TRY(const auto file, protocol::parse_json(text(bytes), protocol::Limits{}));
      return service::records_from_file(file);
    };
    auto records = read();
    if (records)
      all.insert(all.end(), std::make_move_iterator(records->begin()), std::make_move_iterator(records->end()));
    else log("tuning results are not used: " + at->path().filename().string() + ": " + records.error().message);
  }
  return all;
}

class EngineTuner final : public service::Tuner {
 public:
  EngineTuner(std::shared_ptr<jit::Session> session, tune::RecordStoreOptions options)
      : session_(std::move(session)), records_(std::move(options)) {}

  Result<jit::TuneOutcome> tune(const jit::TuneRequest& request) override {
    auto whole = request;
    KILN_TRY(whole.base.target, full(request.base.target));
    return tune::tune(*session_, records_, whole);
  }

  jit::NamedTuningRecord find(const service::TuningPlace& place) override {
    const auto target = full(place.target);
    if (!target) return {};
    for (const auto& device_class : device_classes(place.device, *target)) {
      auto found = find_at({place.program.get(), place.program_digest, &place.bindings, *target, device_class});
      if (found.record) return found;
    }
    return {};
  }

  std::uint64_t generation() override { return records_.generation(); }
  std::vector<jit::NamedTuningRecord> list() override { return records_.list(); }
  std::size_t interrupted() override { return records_.journals(); }
  Result<bool> remove(const std::string& id) override { return records_.remove(id); }
  Result<service::AddedRecord> add(const jit::TuningRecord& record, bool replace) override {
    const auto id = tune::record_id(record.identity);
    const auto own = records_.own(id);
    if (own && *own == record) return service::AddedRecord{id, true};
    if (own && !replace) return service::AddedRecord{id, false};
    KILN_CHECK(records_.put(record));
    return service::AddedRecord{id, true};
  }

 private:
  jit::NamedTuningRecord find_at(const tune::Place& place) {
    if (!records_.any_at(tune::place_prefix(place))) return {};
    const auto identity = tune::identity_of(place);
    if (!identity) return {};
    const auto id = tune::record_id(*identity);
    auto record = records_.find(id);
    if (!record || !decides(*record, place)) return {};
    return {id, std::move(record), false, ""};
  }

  // A record is a choice of tunables that the request leaves open, whoever wrote it.
  static bool decides(const jit::TuningRecord& record, const tune::Place& place) {
    return !jit::not_tunables(*place.program, record.set) &&
           std::none_of(record.set.begin(), record.set.end(),
                        [&](const auto& entry) { return place.bindings->set.contains(entry.first); });
  }

  std::vector<std::string> device_classes(const std::string& device, const std::string& target) {
    if (target.starts_with("host")) return {tune::device_class_of_host()};
    std::vector<std::string> classes;
    if (device.starts_with("hip:"))
      if (auto own = tune::device_class_of(*session_, device)) classes.push_back(std::move(*own));
    classes.emplace_back(tune::device_class_of_emulated);
    return classes;
  }

  // The target's one spelling.
  Result<std::string> full(const std::string& text) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto known = targets_.find(text); known != targets_.end()) return known->second;
    }
    KILN_TRY(const auto target, target::parse_target(text));
    const std::lock_guard lock(mutex_);
    if (targets_.size() < targets_max) targets_[text] = target.full;
    return target.full;
  }

  const std::shared_ptr<jit::Session> session_;
  tune::RecordStore records_;
  std::mutex mutex_;
  std::map<std::string, std::string> targets_;
};

}  // namespace

std::shared_ptr<service::Tuner> open_tuner(const Configuration& configuration, std::shared_ptr<jit::Session> session,
                                           std::function<void(const std::string&)> log) {
  tune::RecordStoreOptions options;
  const auto cache = session->store().stats().path;
  if (!cache.empty()) options.folder = cache + "/tuning";
  options.shipped = read_shipped(configuration.tuning_folder, log);
  options.log = std::move(log);
  return std::make_shared<EngineTuner>(std::move(session), std::move(options));
}

}  // namespace kiln::daemon
