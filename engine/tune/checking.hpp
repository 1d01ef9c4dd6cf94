// Whether a candidate's result is right: against the interpreter, or, where that would take too long, against the
// defaults' result, whose kernel is checked at a smaller shape.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/tune/bench.hpp"

namespace kiln::tune {

class Checker {
 public:
  // `base`: the request's program as its defaults bind it, compiled. `bench`: with the arguments of every launch. Where
  // the defaults are the yardstick this launches them. Errors: program_invalid, launch_failed … of the defaults
  // themselves.
  static Result<std::unique_ptr<Checker>> create(jit::Session& session, const jit::TuneRequest& request,
                                                 const jit::CompileOutcome& base, Bench& bench,
                                                 const LaunchLimits& limits);
  // "the interpreter"; "the defaults' result, whose kernel the interpreter checked at M=512 …"; "the defaults' result,
  // which nothing checked: …". Final after the last check.
  [[nodiscard]] const std::string& against() const { return against_; }
  [[nodiscard]] std::int64_t steps() const { return steps_; }
  // How many launches' results are best given at once; at least 1.
  [[nodiscard]] std::size_t batch() const;
  // For each launch what is wrong with its results, or nothing.
  Result<std::vector<std::optional<std::string>>> check(const std::vector<Results>& results);

 private:
  Checker(jit::Session& session, const jit::TuneRequest& request, const jit::CompileOutcome& base, Bench& bench,
          const LaunchLimits& limits)
      : session_(session), request_(request), base_(base), bench_(bench), limits_(limits) {}
  Status use_defaults(std::string against);
  // False: the interpreter took too long.
  Result<bool> check_smaller(const jit::CompileRequest& smaller);
  Status take_error_scale();
  Result<std::vector<reference::Comparison>> compare(const Results& results) const;
  Result<std::vector<std::optional<std::string>>> check_by_definition(const std::vector<Results>& results);
  [[nodiscard]] Deadline interpreter_deadline() const;
  // Whether this error is the interpreter's limit, not the whole tune's.
  [[nodiscard]] bool took_too_long(const Error& error) const;
  [[nodiscard]] std::string unchecked() const;

  jit::Session& session_;
  const jit::TuneRequest& request_;
  const jit::CompileOutcome& base_;
  Bench& bench_;
  const LaunchLimits limits_;
  std::string against_;
  std::int64_t steps_ = 0;
  std::optional<Results> defaults_;                // absent: the interpreter is asked
  std::vector<std::vector<double>> scale_;         // error scale of each written tensor, as the interpreter gives it
  reference::ToleranceSpec tolerance_;
};

// Sizes at which the interpreter takes no more than `steps_max`: symbols over 32 are halved, the largest first;
// multiples of 16 stay such, others stay none. Tunables are `fixed`. Nothing where no such sizes bind.
std::optional<specialize::Bindings> smaller_bindings(const tile::Program& program, const specialize::Bindings& bindings,
                                                     const jit::Words& fixed, const target::Target& target,
                                                     std::int64_t steps_max);

}  // namespace kiln::tune
