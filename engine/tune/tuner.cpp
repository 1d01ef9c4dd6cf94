#include "engine/tune/tuner.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>
#include <utility>

#include "engine/jit/profile_report.hpp"
#include "engine/tune/checking.hpp"
#include "engine/tune/compiling.hpp"
#include "engine/tune/identity.hpp"
#include "engine/tune/pruning.hpp"
#include "engine/tune/race.hpp"
#include "engine/tune/trial.hpp"

namespace kiln::tune {
namespace {

using jit::quartiles, jit::TuneVerdict;

// A round's launches of one candidate, of which the least counts: about so long, but some also where the first was
// slow, which may have been another process's doing.
constexpr double round_ms = 8, long_launch_ms = 100;
constexpr std::size_t launches_min = 3, launches_max = 20;
constexpr auto keep_every = std::chrono::milliseconds(500);
constexpr int kills_max = 3;   // of a launch's device process by somebody else, before the tune gives up

bool is_emulated(const std::string& device) { return device.starts_with("emu:"); }

// A signal that no kernel raises: somebody, or the kernel for want of memory, ended the device's process.
bool killed_by_others(const Error& error) {
  if (error.code != ErrorCode::device_lost) return false;
  return error.message.find("signal 9 (") != std::string::npos ||
         error.message.find("signal 15 (") != std::string::npos;
}

class Tune {
 public:
  // `program_digest`: of the request's program as its compiles have it.
  Tune(jit::Session& session, RecordStore& records, const jit::TuneRequest& request, const Digest& program_digest)
      : session_(session), records_(records), request_(request), program_digest_(program_digest),
        limits_{request.candidate_deadline, request.base.deadline, request.base.cancel} {}

  Result<jit::TuneOutcome> run() {
    KILN_TRY(trials_, make_trials(request_));
    if (request_.recorded) return recorded();
    KILN_TRY(const auto arguments, request_.arguments(trials_.base));
    asked(arguments);
    KILN_CHECK(identify());
    outcome_.before = records_.find(outcome_.id);
    if (outcome_.before && !request_.force && outcome_.before->asked == record_.asked) {
      outcome_.record = std::move(outcome_.before);
      outcome_.found = true;
      return std::move(outcome_);
    }
    resume();
    auto status = work();
    keep();
    auto outcome = status ? finish() : Result<jit::TuneOutcome>(std::move(status).error());
    if (!outcome) return explained(std::move(outcome).error());
    return outcome;
  }

 private:
  // Candidates and arguments are what an interrupted tune was about; with the limits, what a record answers.
  void asked(const Digest& arguments) {
    Writer w;
    w.string(trials_.asked);
    w.bytes(arguments);
    asked_ = to_hex(sha256(w.data()));
    w.i64(request_.rounds_max);
    w.i64(request_.candidate_deadline.count());
    record_.asked = to_hex(sha256(w.data()));
  }

  Result<jit::TuneOutcome> recorded() {
    KILN_CHECK(identify());
    outcome_.record = records_.find(outcome_.id);
    if (!outcome_.record) return Error(ErrorCode::not_found, "there is no tuning record of these candidates");
    outcome_.found = true;
    return std::move(outcome_);
  }

  Status identify() {
    KILN_TRY(const auto device_class, device_class_of(session_, request_.device));
    const Place place{request_.base.program.get(), program_digest_, &request_.base.bindings,
                      request_.base.target, device_class};
    KILN_TRY(record_.identity, identity_of(place));
    if (trials_.own_programs) record_.identity.of_candidates = trials_.asked;
    for (const auto& symbol : request_.base.program->symbols)
      if (const auto size = request_.base.bindings.set.find(symbol.name); size != request_.base.bindings.set.end())
        record_.symbols[symbol.name] = size->second;
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
    if (!journal || journal->asked != asked_) return;
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

  // What the next process may rely on: a hang or a crash may have been the machine's.
  static bool known(const Trial& trial) {
    if (trial.row.verdict == TuneVerdict::hung || trial.row.verdict == TuneVerdict::crashed) return false;
    return trial.checked || !trial.open();
  }

  void keep() {
    kept_ = std::chrono::steady_clock::now();
    Journal journal{record_.identity, asked_, {}};
    for (const auto& trial : trials_.all)
      if (known(trial)) journal.entries.push_back({trial.digest, trial.checked, trial.row});
    if (journal.entries.empty()) return;
    if (auto status = records_.write_journal(outcome_.id, journal); !status)
      outcome_.why_not_stored = status.error().message;
  }
  void keep_now_and_then() {
    if (std::chrono::steady_clock::now() - kept_ > keep_every) keep();
  }

  // What is known stays for the next tune where this one was stopped, and goes where it found an error.
  Error explained(Error error) {
    if (error.code != ErrorCode::cancelled && error.code != ErrorCode::deadline_exceeded) {
      records_.remove_journal(outcome_.id);
      return error;
    }
    const auto kept = std::count_if(trials_.all.begin(), trials_.all.end(), known);
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
    std::vector<Trial*> wanted;
    for (auto& trial : trials_.all)
      if (trial.open() || trial.row.verdict == TuneVerdict::slower) wanted.push_back(&trial);
    KILN_CHECK(compile_trials(session_, wanted, [&](std::size_t done) {
      tell("compile", done, wanted.size());
      return bool(stopped());
    }));
    return stopped();
  }

  void prune_all() {
    std::vector<const compile::Metadata*> kernels;
    std::vector<Digest> but_for_layouts;
    for (const auto& trial : trials_.all) {
      kernels.push_back(trial.open() && trial.kernel ? &trial.kernel->metadata : nullptr);
      but_for_layouts.push_back(digest_but_for_layouts(trial.request));
    }
    const auto target = target::parse_target(request_.base.target);
    if (!target) return;       // it was parsed before
    const auto reasons = prune(kernels, but_for_layouts, trials_.baseline, *target);
    for (std::size_t i = 0; i < reasons.size(); ++i)
      if (reasons[i]) trials_.all[i].end(TuneVerdict::pruned, *reasons[i]);
  }

  // ---- checking -----------------------------------------------------------------------------------------------------

  Status open_bench() {
    KILN_TRY(auto inputs, request_.inputs(*base_.program));
    KILN_TRY(bench_, Bench::open(session_, request_.device, *base_.program, std::move(inputs), request_.account));
    KILN_TRY(checker_, Checker::create(session_, request_, base_, *bench_, limits_));
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
    KILN_TRY(const auto end, launch(trial, true));
    KILN_TRY(const bool ran, took_place(trial, end));
    if (ran && is_emulated(request_.device)) {
      KILN_TRY(trial.row.cycles, counted_cycles(*trial.kernel, end.report));
      if (best_.empty() || trial.row.cycles < best_cycles_) best_ = trial.row.name, best_cycles_ = trial.row.cycles;
    }
    return ran;
  }

  // A launch that hangs or fails has one more try, in a fresh process: it may have been the machine. One whose process
  // was killed says nothing of the candidate.
  Result<LaunchEnd> launch(Trial& trial, bool first) {
    bool again = false;
    for (int kills = 0;;) {
      KILN_CHECK(stopped());
      if (first) bench_->restore();
      else bench_->restore_read_ones();
      auto end = bench_->launch(trial.kernel, limits_, first && is_emulated(request_.device));
      if (end.how == LaunchEnd::How::done || end.how == LaunchEnd::How::stopped) return end;
      if (killed_by_others(end.error)) {
        if (++kills > kills_max)
          return std::move(end.error).with("it was killed at every try, not by a kernel's fault");
      } else if (std::exchange(again, true)) {
        return end;
      }
      KILN_CHECK(bench_->restart());
    }
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
    racing_.clear();
    Race::Start start;
    start.defaults = trials_.defaults_in;
    start.rounds_max = static_cast<std::size_t>(std::max(request_.rounds_max, 1));
    KILN_CHECK(warm_up());
    for (auto& trial : trials_.all) {
      const bool slower = trial.row.verdict == TuneVerdict::slower;
      if (!trial.checked || !(trial.open() || slower)) continue;
      if (&trial == &trials_.all[trials_.baseline]) start.baseline = racing_.size();
      racing_.push_back(&trial);
      start.lanes.push_back({trial.row.times_ms, slower, std::nullopt, false});
    }
    if (trials_.defaults_in && !trials_.all[trials_.baseline].checked) return ok();   // nothing to compare with
    Race race(std::move(start), [this](const auto& lanes) { return one_round(lanes); },
              [&](std::size_t rounds, std::size_t best) { after_round(race, rounds, best); });
    KILN_CHECK(race.run());
    take_over(race);
    if (race.winner()) fastest_ = racing_[*race.winner()];
    duel_ratio_ = race.duel_ratio();
    return ok();
  }

  void take_over(const Race& race) {
    for (std::size_t i = 0; i < racing_.size(); ++i) {
      const auto& lane = race.lanes()[i];
      if (lane.failed) continue;                 // has its verdict
      racing_[i]->row.times_ms = lane.times;
      racing_[i]->row.verdict = lane.slower ? TuneVerdict::slower : TuneVerdict::open;
    }
  }

  void after_round(const Race& race, std::size_t rounds, std::size_t best) {
    take_over(race);
    best_ = racing_[best]->row.name;
    best_ratio_ = ratio_of(*racing_[best]);
    keep_now_and_then();
    tell("measure", rounds, static_cast<std::size_t>(request_.rounds_max));
  }

  // One launch that counts for nothing, and from how long it took how many a round has.
  Status warm_up() {
    for (auto& trial : trials_.all) {
      const bool slower = trial.row.verdict == TuneVerdict::slower;
      if (!trial.checked || !(trial.open() || slower)) continue;
      KILN_TRY(const auto end, launch(trial, false));
      KILN_TRY(const bool ran, took_place(trial, end));
      if (!ran) continue;
      const double ms = std::max(end.report.duration_ms, 1e-3);
      trial.launches = ms > long_launch_ms
                           ? 1
                           : std::clamp(static_cast<std::size_t>(round_ms / ms), launches_min, launches_max);
    }
    return ok();
  }

  Result<std::vector<std::optional<double>>> one_round(const std::vector<std::size_t>& lanes) {
    std::vector<std::optional<double>> times;
    for (const auto lane : lanes) {
      auto& trial = *racing_[lane];
      std::optional<double> least;
      bool ran = true;
      for (std::size_t i = 0; i < trial.launches && ran; ++i) {
        KILN_TRY(const auto end, launch(trial, false));
        KILN_TRY(ran, took_place(trial, end));
        if (ran) least = std::min(least.value_or(end.report.duration_ms), end.report.duration_ms);
      }
      times.push_back(ran ? least : std::nullopt);
    }
    return times;
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

  // It ran rightly and was timed or counted.
  [[nodiscard]] bool ranked(const Trial& trial) const {
    const bool ended = !trial.open() && trial.row.verdict != TuneVerdict::slower;
    return trial.checked && !ended && (record_.ranked_by == ranked_by_work || !trial.row.times_ms.empty());
  }

  // By time the race's; by counted work the least, the defaults where no other has less.
  Trial* winner() {
    if (record_.ranked_by == ranked_by_time) return fastest_;
    Trial* best = nullptr;
    for (auto& trial : trials_.all)
      if (ranked(trial) && (best == nullptr || rank_of(trial) < rank_of(*best))) best = &trial;
    auto& baseline = trials_.all[trials_.baseline];
    return best != nullptr && trials_.defaults_in && rank_of(baseline) <= rank_of(*best) ? &baseline : best;
  }

  // What ratios are against: the defaults, or the first of the others that is ranked.
  Status settle_baseline() {
    auto& all = trials_.all;
    const auto found = trials_.defaults_in
                           ? all.begin() + static_cast<std::ptrdiff_t>(trials_.baseline)
                           : std::find_if(all.begin(), all.end(), [&](const Trial& trial) { return ranked(trial); });
    if (found != all.end() && ranked(*found)) {
      trials_.baseline = static_cast<std::size_t>(found - all.begin());
      record_.baseline = found->row.name;
      return ok();
    }
    Error error(ErrorCode::launch_failed, trials_.defaults_in
                                              ? "the defaults do not run rightly: there is nothing to compare with"
                                              : "no candidate runs rightly");
    for (const auto& trial : all)
      if (!trial.row.reason.empty())
        error.context.push_back(trial.row.name + ": " + jit::tune_verdict_name(trial.row.verdict) + ", " +
                                trial.row.reason);
    return error;
  }

  [[nodiscard]] double final_ratio(const Trial& trial, const Trial& best) const {
    if (&trial == &trials_.all[trials_.baseline]) return 1;
    return &trial == &best && duel_ratio_ ? *duel_ratio_ : ratio_by(trial, best);
  }

  Result<jit::TuneOutcome> finish() {
    KILN_CHECK(settle_baseline());
    auto* const best = winner();
    if (best == nullptr || final_ratio(*best, *best) <= 0)
      return Error(ErrorCode::launch_failed, "no candidate was timed or counted");
    for (auto& trial : trials_.all)
      if (ranked(trial)) trial.row.ratio = final_ratio(trial, *best);
    for (auto& trial : trials_.all) {
      if (!trial.open()) continue;
      const bool behind = record_.ranked_by == ranked_by_work && rank_of(trial) > rank_of(*best);
      trial.row.verdict = &trial == best ? TuneVerdict::best : behind ? TuneVerdict::slower : TuneVerdict::equal;
    }
    record_.checked_against = checker_->against();
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
  std::string asked_;                      // what a journal is about
  std::vector<Trial*> racing_;             // a lane each
  Trial* fastest_ = nullptr;
  std::optional<double> duel_ratio_;
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

Result<jit::TuneOutcome> tune(jit::Session& session, RecordStore& records, const jit::TuneRequest& request) {
  auto still = request;
  const Digest digest = *request.base.program_digest;
  stand_still(still.base.program, *still.base.program_digest);
  if (still.candidates)
    for (auto& candidate : *still.candidates) stand_still(candidate.program, candidate.program_digest);
  return Tune(session, records, still, digest).run();
}

}  // namespace kiln::tune
