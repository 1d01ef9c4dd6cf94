#include "engine/tune/tuner.hpp"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <ctime>
#include <mutex>

#include "engine/jit/profile_report.hpp"
#include "engine/tune/checking.hpp"
#include "engine/tune/identity.hpp"
#include "engine/tune/pruning.hpp"
#include "engine/tune/ranking.hpp"
#include "engine/tune/trial.hpp"

namespace kiln::tune {
namespace {

using jit::quartiles, jit::TuneVerdict;

constexpr int compiles_in_flight_max = 16;
constexpr std::size_t reason_bytes_max = 1000;
// A round's launches of one candidate, of which the least counts: about so long, but some also where the first was
// slow, which may have been another process's doing.
constexpr double round_ms = 8, long_launch_ms = 100;
constexpr std::size_t launches_min = 3, launches_max = 20;
constexpr auto keep_every = std::chrono::milliseconds(500);

bool is_emulated(const std::string& device) { return device.starts_with("emu:"); }

// What ends a tune whatever the candidate.
bool ends_all(const Error& error) {
  return error.code == ErrorCode::cancelled || error.code == ErrorCode::deadline_exceeded ||
         error.code == ErrorCode::no_compiler || error.code == ErrorCode::busy;
}

// One line that is kept in records and listed.
std::string first_line(const Error& error) {
  auto line = error.message +
              (error.context.empty() ? "" : ": " + error.context.front().substr(0, error.context.front().find('\n')));
  if (line.size() > reason_bytes_max) line = make_valid_utf8(line.substr(0, reason_bytes_max)) + "…";
  if (!jit::printable(line)) std::replace_if(line.begin(), line.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return line;
}

class Tune {
 public:
  // `program_digest`: of the request's program as its compiles have it.
  Tune(jit::Session& session, RecordStore& records, const jit::TuneRequest& request, const Digest& program_digest)
      : session_(session), records_(records), request_(request), program_digest_(program_digest),
        limits_{request.candidate_deadline, request.base.deadline, request.base.cancel} {}

  Result<jit::TuneOutcome> run() {
    KILN_TRY(trials_, make_trials(request_));
    KILN_CHECK(identify());
    if (auto found = records_.find(outcome_.id); found && !request_.force && found->asked == trials_.asked) {
      outcome_.record = std::move(found);
      outcome_.found = true;
      return std::move(outcome_);
    }
    resume();
    auto status = work();
    keep();
    if (!status) return explained(std::move(status).error());
    return finish();
  }

 private:
  Status identify() {
    KILN_TRY(const auto device_class, device_class_of(session_, request_.device));
    const Place place{request_.base.program.get(), program_digest_, &request_.base.bindings,
                      request_.base.target, device_class};
    KILN_TRY(record_.identity, identity_of(place));
    if (trials_.own_programs) record_.identity.of_candidates = trials_.asked;
    for (const auto& symbol : request_.base.program->symbols)
      if (const auto size = request_.base.bindings.set.find(symbol.name); size != request_.base.bindings.set.end())
        record_.symbols[symbol.name] = size->second;
    record_.asked = trials_.asked;
    record_.ranked_by = is_emulated(request_.device) ? ranked_by_work : ranked_by_time;
    record_.baseline = trials_.all[trials_.baseline].row.name;
    outcome_.id = record_id(record_.identity);
    outcome_.not_tried = trials_.not_tried;
    return ok();
  }

  // What an interrupted tune of the same candidates kept.
  void resume() {
    if (request_.force) return records_.remove_journal(outcome_.id);
    const auto journal = records_.read_journal(outcome_.id);
    if (!journal || journal->asked != trials_.asked) return;
    std::map<Digest, const JournalEntry*> kept;
    for (const auto& entry : journal->entries) kept[entry.candidate] = &entry;
    for (auto& trial : trials_.all) {
      const auto found = kept.find(trial.digest);
      if (!trial.open() || found == kept.end()) continue;
      const auto& entry = *found->second;
      if (entry.row.verdict == TuneVerdict::open && !entry.checked) continue;
      trial.checked = entry.checked;
      trial.row = entry.row;
      ++outcome_.resumed;
    }
  }

  void keep() {
    kept_ = std::chrono::steady_clock::now();
    Journal journal{record_.identity, trials_.asked, {}};
    for (const auto& trial : trials_.all)
      if (trial.checked || !trial.open()) journal.entries.push_back({trial.digest, trial.checked, trial.row});
    if (journal.entries.empty()) return;
    if (auto status = records_.write_journal(outcome_.id, journal); !status)
      outcome_.why_not_stored = status.error().message;
  }
  void keep_now_and_then() {
    if (std::chrono::steady_clock::now() - kept_ > keep_every) keep();
  }

  Error explained(Error error) const {
    if (error.code != ErrorCode::cancelled && error.code != ErrorCode::deadline_exceeded) return error;
    const auto kept = std::count_if(trials_.all.begin(), trials_.all.end(),
                                    [](const Trial& trial) { return trial.checked || !trial.open(); });
    return std::move(error).with("what is known of " + std::to_string(kept) + " of " +
                                 std::to_string(trials_.all.size()) +
                                 " candidates is kept: the same tune goes on from there");
  }

  Status stopped() const {
    if (limits_.cancel.cancelled()) return Error(ErrorCode::cancelled, "cancelled");
    if (limits_.deadline.passed())
      return Error(ErrorCode::deadline_exceeded, "the tune was not done at its deadline", true);
    return ok();
  }

  void tell(const char* stage, std::size_t done, std::size_t total) const {
    if (request_.progress) request_.progress({stage, done, total, best_, best_ratio_});
  }

  Status work() {
    KILN_CHECK(compile_all());
    prune_all();
    keep();
    KILN_CHECK(open_bench());
    KILN_CHECK(check_all());
    keep();
    return is_emulated(request_.device) ? ok() : measure_all();
  }

  // ---- compiling ----------------------------------------------------------------------------------------------------

  Status compile_all() {
    auto base = request_.base;
    base.progress = nullptr;
    KILN_TRY(base_, session_.compile_now(std::move(base)));
    std::mutex mutex;
    std::condition_variable landed;
    std::size_t in_flight = 0, done = 0;
    std::optional<Error> fatal;
    std::vector<Trial*> wanted;
    for (auto& trial : trials_.all)
      if (trial.open()) wanted.push_back(&trial);
    for (auto* trial : wanted) {
      std::unique_lock lock(mutex);
      landed.wait(lock, [&] { return in_flight < compiles_in_flight_max; });
      if (fatal || !stopped()) break;
      ++in_flight;
      tell("compile", done, wanted.size());
      lock.unlock();
      session_.compile(trial->request, [&, trial](Result<jit::CompileOutcome> outcome) {
        const std::lock_guard again(mutex);
        if (outcome) trial->kernel = outcome->kernel;
        else if (ends_all(outcome.error())) fatal = outcome.error();
        else trial->end(outcome.error().code == ErrorCode::program_invalid ? TuneVerdict::invalid : TuneVerdict::failed,
                        first_line(outcome.error()));
        --in_flight, ++done;
        landed.notify_all();
      });
    }
    std::unique_lock lock(mutex);
    landed.wait(lock, [&] { return in_flight == 0; });
    KILN_CHECK(stopped());
    if (fatal) return std::move(*fatal);
    return ok();
  }

  void prune_all() {
    std::vector<const compile::Metadata*> kernels;
    for (const auto& trial : trials_.all)
      kernels.push_back(trial.open() && trial.kernel ? &trial.kernel->metadata : nullptr);
    const auto target = target::parse_target(request_.base.target);
    if (!target) return;       // it was parsed before
    const auto reasons = prune(kernels, trials_.baseline, *target);
    for (std::size_t i = 0; i < reasons.size(); ++i)
      if (reasons[i]) trials_.all[i].end(TuneVerdict::pruned, *reasons[i]);
  }

  // ---- checking -----------------------------------------------------------------------------------------------------

  Status open_bench() {
    KILN_TRY(auto inputs, request_.inputs(*base_.program));
    KILN_TRY(bench_, Bench::open(session_, request_.device, *base_.program, std::move(inputs), request_.account));
    KILN_TRY(checker_, Checker::create(session_, request_, base_, *bench_, limits_));
    record_.checked_against = checker_->against();
    outcome_.interpreter_steps = checker_->steps();
    return ok();
  }

  // Each candidate's first launch: it is counted where the device counts, and its results are compared.
  Status check_all() {
    std::vector<Trial*> wanted, launched;
    std::vector<Results> results;
    for (auto& trial : trials_.all)
      if (trial.open() && !trial.checked) wanted.push_back(&trial);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      KILN_CHECK(stopped());
      tell("check", i, wanted.size());
      KILN_TRY(const bool ran, launch_first(*wanted[i]));
      if (ran) {
        launched.push_back(wanted[i]);
        KILN_TRY(auto left, bench_->results());
        results.push_back(std::move(left));
      }
      if (launched.empty() || (launched.size() < checker_->batch() && i + 1 < wanted.size())) continue;
      KILN_TRY(const auto mistakes, checker_->check(results));
      for (std::size_t j = 0; j < launched.size(); ++j) {
        if (mistakes[j]) launched[j]->end(TuneVerdict::wrong, *mistakes[j]);
        else launched[j]->checked = true;
      }
      launched.clear();
      results.clear();
      keep_now_and_then();
    }
    return ok();
  }

  Result<bool> launch_first(Trial& trial) {
    bench_->restore();
    auto end = bench_->launch(trial.kernel, limits_, is_emulated(request_.device));
    KILN_TRY(const bool ran, took_place(trial, end));
    if (ran && is_emulated(request_.device)) {
      KILN_TRY(trial.row.cycles, counted_cycles(*trial.kernel, end.report));
      if (best_.empty() || trial.row.cycles < best_cycles_) best_ = trial.row.name, best_cycles_ = trial.row.cycles;
    }
    return ran;
  }

  // Whether the launch was done; else the candidate has its verdict.
  Result<bool> took_place(Trial& trial, const LaunchEnd& end) {
    switch (end.how) {
      case LaunchEnd::How::done: return true;
      case LaunchEnd::How::stopped: KILN_CHECK(stopped()); return Error(end.error);
      case LaunchEnd::How::hung: trial.end(TuneVerdict::hung, end.error.message); break;
      case LaunchEnd::How::failed: trial.end(TuneVerdict::crashed, first_line(end.error)); break;
    }
    trial.checked = false;
    return false;
  }

  static Result<double> counted_cycles(const jit::Kernel& kernel, const device::LaunchReport& report) {
    KILN_TRY(const auto profile, jit::make_kernel_profile(kernel, nullptr, report));
    double cycles = 0;
    for (const auto& launch : profile.launches)
      if (!launch.estimate.empty()) cycles += launch.estimate.front().cycles;   // the largest first
    return cycles;
  }

  // ---- measuring ----------------------------------------------------------------------------------------------------

  Status measure_all() {
    std::vector<Trial*> racing;
    for (auto& trial : trials_.all)
      if (trial.open() && trial.checked) racing.push_back(&trial);
    std::size_t rounds = ~std::size_t(0);
    for (const auto* trial : racing) rounds = std::min(rounds, trial->row.times_ms.size());
    for (auto* trial : racing) trial->row.times_ms.resize(rounds);   // rounds that all have
    KILN_CHECK(warm_up(racing));
    while (!decided(racing, rounds)) {
      KILN_CHECK(one_round(racing, rounds));
      ++rounds;
      drop_slower(racing);
      keep_now_and_then();
      tell("measure", rounds, static_cast<std::size_t>(request_.rounds_max));
    }
    return ok();
  }

  [[nodiscard]] bool decided(const std::vector<Trial*>& racing, std::size_t rounds) const {
    const auto running = std::count_if(racing.begin(), racing.end(), [](const Trial* trial) { return trial->open(); });
    const auto most = static_cast<std::size_t>(std::max(request_.rounds_max, 1));
    return running == 0 || rounds >= most || (running == 1 && rounds >= std::min(rounds_min, most));
  }

  // One launch that counts for nothing, and from how long it took how many a round has.
  Status warm_up(const std::vector<Trial*>& racing) {
    for (auto* trial : racing) {
      KILN_CHECK(stopped());
      bench_->restore_read_ones();
      const auto end = bench_->launch(trial->kernel, limits_);
      KILN_TRY(const bool ran, took_place(*trial, end));
      if (!ran) continue;
      const double ms = std::max(end.report.duration_ms, 1e-3);
      trial->launches = ms > long_launch_ms
                            ? 1
                            : std::clamp(static_cast<std::size_t>(round_ms / ms), launches_min, launches_max);
    }
    return ok();
  }

  // Each remaining candidate, and the baseline to the end; forwards and backwards in turn. A round that is not whole
  // counts for nothing.
  Status one_round(const std::vector<Trial*>& racing, std::size_t round) {
    std::vector<Trial*> order;
    const auto* baseline = &trials_.all[trials_.baseline];
    for (auto* trial : racing)
      if (trial->open() || (trial == baseline && trial->row.verdict == TuneVerdict::slower)) order.push_back(trial);
    if (round % 2 == 1) std::reverse(order.begin(), order.end());
    std::map<Trial*, double> times;
    for (auto* trial : order) {
      double least = 0;
      bool ran = true;
      for (std::size_t i = 0; i < trial->launches && ran; ++i) {
        KILN_CHECK(stopped());
        bench_->restore_read_ones();
        const auto end = bench_->launch(trial->kernel, limits_);
        KILN_TRY(ran, took_place(*trial, end));
        if (ran) least = i == 0 ? end.report.duration_ms : std::min(least, end.report.duration_ms);
      }
      if (ran) times[trial] = least;
    }
    for (const auto& [trial, ms] : times) trial->row.times_ms.push_back(ms);
    return ok();
  }

  void drop_slower(const std::vector<Trial*>& racing) {
    std::vector<std::vector<double>> times;
    std::vector<bool> out;
    for (const auto* trial : racing) {
      times.push_back(trial->row.times_ms);
      out.push_back(!trial->open());
    }
    const auto order = remaining(times, out);
    if (order.empty()) return;
    for (std::size_t i = 0; i < racing.size(); ++i)
      if (racing[i]->open() && std::find(order.begin(), order.end(), i) == order.end())
        racing[i]->row.verdict = TuneVerdict::slower;
    best_ = racing[order.front()]->row.name;
    best_ratio_ = ratio_of(*racing[order.front()]);
  }

  // ---- the end ------------------------------------------------------------------------------------------------------

  // Of medians over the rounds that both have; 0 where there are none.
  static double ratio_between(const jit::TuneRow& a, const jit::TuneRow& b) {
    const auto rounds = static_cast<std::ptrdiff_t>(std::min(a.times_ms.size(), b.times_ms.size()));
    if (rounds == 0) return b.cycles > 0 ? a.cycles / b.cycles : 0;
    const double against = quartiles({b.times_ms.begin(), b.times_ms.begin() + rounds}).median;
    return against > 0 ? quartiles({a.times_ms.begin(), a.times_ms.begin() + rounds}).median / against : 0;
  }

  [[nodiscard]] double ratio_of(const Trial& trial) const {
    return ratio_between(trial.row, trials_.all[trials_.baseline].row);
  }

  // One that left early had the baseline's first rounds alone: it is compared with the best, and through it with the
  // baseline.
  [[nodiscard]] double ratio_by(const Trial& trial, const Trial& best) const {
    if (trial.row.times_ms.size() >= best.row.times_ms.size()) return ratio_of(trial);
    return ratio_between(trial.row, best.row) * ratio_of(best);
  }

  [[nodiscard]] double rank_of(const Trial& trial) const {
    return record_.ranked_by == ranked_by_work ? trial.row.cycles : quartiles(trial.row.times_ms).median;
  }

  // The best of those that are right; the defaults where no other is certainly better.
  Trial* winner() {
    Trial* best = nullptr;
    for (auto& trial : trials_.all)
      if (trial.open() && trial.checked && (best == nullptr || rank_of(trial) < rank_of(*best))) best = &trial;
    auto& baseline = trials_.all[trials_.baseline];
    if (best == nullptr || !trials_.defaults_in || !baseline.open() || !baseline.checked) return best;
    return record_.ranked_by == ranked_by_time || rank_of(baseline) <= rank_of(*best) ? &baseline : best;
  }

  Result<jit::TuneOutcome> finish() {
    auto* const best = winner();
    if (best == nullptr) {
      Error error(ErrorCode::launch_failed, "no candidate runs rightly");
      for (const auto& trial : trials_.all)
        error.context.push_back(trial.row.name + ": " + jit::tune_verdict_name(trial.row.verdict) + ", " +
                                trial.row.reason);
      return error;
    }
    for (auto& trial : trials_.all) {
      if (trial.checked) trial.row.ratio = ratio_by(trial, *best);
      if (!trial.open()) continue;
      const bool behind = record_.ranked_by == ranked_by_work && rank_of(trial) > rank_of(*best);
      trial.row.verdict = &trial == best ? TuneVerdict::best : behind ? TuneVerdict::slower : TuneVerdict::equal;
    }
    record_.set = best->row.set;
    record_.layouts = best->row.layouts;
    record_.winner = best->row.name;
    record_.ratio = best->row.ratio;
    record_.made_unix_s = std::time(nullptr);
    for (auto& trial : trials_.all) record_.rows.push_back(std::move(trial.row));
    if (auto status = records_.put(record_); status) {
      records_.remove_journal(outcome_.id);
      outcome_.why_not_stored.clear();
    } else {
      outcome_.stored = false;
      outcome_.why_not_stored = status.error().message;
    }
    outcome_.record = std::make_shared<const jit::TuningRecord>(std::move(record_));
    return std::move(outcome_);
  }

  jit::Session& session_;
  RecordStore& records_;
  const jit::TuneRequest& request_;
  const Digest program_digest_;
  const LaunchLimits limits_;
  Trials trials_;
  jit::TuningRecord record_;
  jit::TuneOutcome outcome_;
  jit::CompileOutcome base_;               // the request's program as its defaults bind it
  std::unique_ptr<Bench> bench_;
  std::unique_ptr<Checker> checker_;
  std::string best_;
  double best_ratio_ = 0, best_cycles_ = 0;
  std::chrono::steady_clock::time_point kept_ = std::chrono::steady_clock::now();
};

}  // namespace

Result<std::string> device_class_of(jit::Session& session, const std::string& device) {
  if (device == "host") return device_class_of_host();
  if (is_emulated(device)) return std::string(device_class_of_emulated);
  KILN_TRY(auto* const found, session.device(device));
  KILN_TRY(const auto info, found->info());
  return device_class_of_card(info);
}

namespace {

// Sizes stand still while candidates are compared: dynamic symbols are what the request sets. The digest is another
// one, since compiles are known by it.
void stand_still(std::shared_ptr<const tile::Program>& program, Digest& digest) {
  if (!program ||
      std::none_of(program->symbols.begin(), program->symbols.end(), [](const auto& s) { return s.dynamic; }))
    return;
  auto made = std::make_shared<tile::Program>(*program);
  for (auto& symbol : made->symbols) symbol.dynamic = false;
  program = std::move(made);
  Writer w;
  w.bytes(digest);
  w.string("sizes that stand still");
  digest = sha256(w.data());
}

}  // namespace

Result<jit::TuneOutcome> tune(jit::Session& session, RecordStore& records, const jit::TuneRequest& request) {
  auto still = request;
  const Digest digest = *request.base.program_digest;
  stand_still(still.base.program, *still.base.program_digest);
  if (still.candidates)
    for (auto& candidate : *still.candidates) stand_still(candidate.program, candidate.program_digest);
  return Tune(session, records, still, digest).run();
}

}  // namespace kiln::tune
