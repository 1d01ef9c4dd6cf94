#include "engine/tune/trial.hpp"

#include <algorithm>
#include <map>

#include "engine/tune/candidates.hpp"
#include "engine/tune/record_format.hpp"

namespace kiln::tune {
namespace {

constexpr std::int64_t specialize_budget = std::int64_t(32) << 20;
constexpr std::size_t rows_max = 512;      // listed, whatever becomes of them

Digest digest_of(const jit::CompileRequest& request) {
  Writer w;
  w.bytes(*request.program_digest);
  w.string(request.target);
  w.list(request.bindings.set,
         [](Writer& out, const auto& entry) { out.string(entry.first), out.string(entry.second); });
  w.list(request.bindings.layouts, [](Writer& out, const auto& entry) {
    out.string(entry.first), out.string(layout_spec_text(entry.second));
  });
  w.list(request.bindings.align_bytes,
         [](Writer& out, const auto& entry) { out.string(entry.first), out.i64(entry.second); });
  return sha256(w.data());
}

// What the code is made of. A host's block is one thread, whatever the program asks for.
Digest code_digest(bound::Program program, const target::Target& target) {
  if (target.is_host())
    for (auto& launch : program.launches) launch.threads = 1;
  return sha256(bound::encode(program, false));
}

bool same_parameters(const bound::Program& a, const bound::Program& b) {
  const auto end = [](const bound::Program& program) {  // workspace may depend on tunables
    return program.tensors.begin() + static_cast<std::ptrdiff_t>(program.arguments());
  };
  return std::equal(a.tensors.begin(), end(a), b.tensors.begin(), end(b),
                    [](const auto& x, const auto& y) {
                      return x.dtype == y.dtype && x.scalar == y.scalar && x.access == y.access &&
                             bound::values(x.shape) == bound::values(y.shape) &&
                             bound::values(x.strides) == bound::values(y.strides);
                    });
}

// What a candidate asks for, whatever the sizes: those are the record's classes.
Digest candidate_digest(const jit::TuneCandidate& candidate) {
  Writer w;
  w.string(candidate.name);
  w.boolean(candidate.program != nullptr);
  if (candidate.program) w.bytes(candidate.program_digest);
  for (const auto* words : {&candidate.set, &candidate.layouts}) write_words(w, *words);
  return sha256(w.data());
}

std::string reason_of(const Error& error) {
  if (error.diagnostics.empty()) return error.message;
  const auto& d = error.diagnostics.front();
  return d.message + (d.expected.empty() ? "" : "; expected " + d.expected) +
         (d.found.empty() ? "" : ", found " + d.found);
}

class Maker {
 public:
  Maker(const jit::TuneRequest& request, target::Target target) : request_(request), target_(std::move(target)) {}

  Result<Trials> make() {
    Budget budget(specialize_budget, request_.base.deadline, request_.base.cancel);
    KILN_TRY(base_, specialize::specialize(*request_.base.program, request_.base.bindings, target_, budget));
    std::vector<jit::TuneCandidate> candidates;
    if (request_.candidates) {
      candidates = *request_.candidates;
    } else {
      KILN_TRY(candidates, offered_candidates(*request_.base.program, request_.base.bindings, target_));
    }
    Writer asked;
    asked.boolean(request_.candidates.has_value());
    if (!request_.candidates) asked.u64(request_.candidates_max);
    for (auto& candidate : candidates) {
      if (request_.base.cancel.cancelled()) return Error(ErrorCode::cancelled, "cancelled");
      if (request_.base.deadline.passed()) return Error(ErrorCode::deadline_exceeded, "deadline passed", true);
      asked.bytes(candidate_digest(candidate));
      KILN_TRY(auto trial, bind(std::move(candidate)));
      add(std::move(trial));
    }
    trials_.asked = to_hex(sha256(asked.data()));
    const auto defaults = digest_of(request_.base);
    const auto found = std::find_if(trials_.all.begin(), trials_.all.end(),
                                    [&](const Trial& trial) { return trial.digest == defaults; });
    trials_.defaults_in = found != trials_.all.end();
    trials_.base = std::move(base_);
    if (trials_.defaults_in) trials_.baseline = static_cast<std::size_t>(found - trials_.all.begin());
    return std::move(trials_);
  }

 private:
  Result<Trial> bind(jit::TuneCandidate candidate) {
    Trial trial;
    trial.request = request_.base;
    trial.request.progress = nullptr;
    if (candidate.program) {
      trial.request.program = candidate.program;
      trial.request.program_digest = candidate.program_digest;
      trials_.own_programs = trials_.own_programs || candidate.program_digest != *request_.base.program_digest;
    }
    for (const auto& [name, value] : candidate.set) trial.request.bindings.set[name] = value;
    for (const auto& [tile, text] : candidate.layouts)
      if (const auto layout = layout_spec_from_text(text)) trial.request.bindings.layouts[tile] = *layout;
    trial.digest = digest_of(trial.request);
    trial.row.name = candidate.name.empty() ? name_of(candidate.set, candidate.layouts) : candidate.name;
    trial.row.set = std::move(candidate.set);
    trial.row.layouts = std::move(candidate.layouts);
    return trial;
  }

  // What a candidate of the request's program may not choose: it would be another computation, or used by no compile.
  [[nodiscard]] std::optional<std::string> wrong_choice(const Trial& trial) const {
    if (trial.request.program_digest != request_.base.program_digest) return std::nullopt;
    if (auto wrong = jit::not_tunables(*request_.base.program, trial.row.set))
      return *wrong + ": candidates set tunables";
    for (const auto& [name, value] : trial.row.set)
      if (const auto given = request_.base.bindings.set.find(name); given != request_.base.bindings.set.end())
        return name + " is " + given->second + " by the request: candidates set tunables that it leaves open";
    return std::nullopt;
  }

  // Takes the candidate into the list: those that may run up to candidates_max, the others up to a length worth
  // reading.
  void add(Trial trial) {
    if (!request_.candidates && runnable_ >= request_.candidates_max) {
      ++trials_.not_tried;
      return;
    }
    Budget budget(specialize_budget, request_.base.deadline, request_.base.cancel);
    const auto wrong = wrong_choice(trial);
    auto bound = specialize::specialize(*trial.request.program, trial.request.bindings, target_, budget);
    if (wrong) {
      trial.end(jit::TuneVerdict::invalid, *wrong);
    } else if (!bound) {
      trial.end(jit::TuneVerdict::invalid, reason_of(bound.error()));
    } else if (!same_parameters(*bound, base_)) {
      trial.end(jit::TuneVerdict::invalid, "its parameters are not those of the request's program");
    } else {
      const auto [first, fresh] = codes_.emplace(code_digest(std::move(*bound), target_), trial.row.name);
      if (!fresh && !request_.candidates) return;   // nobody named it
      if (!fresh) trial.end(jit::TuneVerdict::same, "the same as " + first->second);
    }
    if (trial.open()) ++runnable_;
    else if (!request_.candidates && trials_.all.size() >= rows_max) return;
    trials_.all.push_back(std::move(trial));
  }

  const jit::TuneRequest& request_;
  const target::Target target_;
  bound::Program base_;
  Trials trials_;
  std::map<Digest, std::string> codes_;    // to the first candidate with it
  std::size_t runnable_ = 0;
};

}  // namespace

Result<Trials> make_trials(const jit::TuneRequest& request) {
  if (request.candidates && request.candidates->empty())
    return Error(ErrorCode::invalid_argument, "a tune without candidates");
  KILN_TRY(auto target, target::parse_target(request.base.target));
  return Maker(request, std::move(target)).make();
}

Digest digest_but_for_layouts(const jit::CompileRequest& request) {
  auto plain = request;
  plain.bindings.layouts.clear();
  return digest_of(plain);
}

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

}  // namespace kiln::tune
