// One candidate on its way through a tune.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/jit/tuning.hpp"

namespace kiln::tune {

struct Trial {
  Digest digest{};                         // of what it is: program and whole bindings
  jit::CompileRequest request;
  jit::TuneRow row;
  std::shared_ptr<const jit::Kernel> kernel;
  bool checked = false;
  std::size_t launches = 1;                // a round: its time is the least of theirs

  [[nodiscard]] bool open() const { return row.verdict == jit::TuneVerdict::open; }
  void end(jit::TuneVerdict verdict, std::string reason) {
    row.verdict = verdict;
    row.reason = std::move(reason);
    row.times_ms.clear();
    row.cycles = 0;
  }
};

struct Trials {
  std::vector<Trial> all;
  std::size_t baseline = 0;                // what ratios are against: the defaults, else the first
  bool defaults_in = false;                // the defaults are among them
  std::size_t not_tried = 0;
  std::string asked;                       // digest of the candidates, of the program's own with how many are taken
  bound::Program base;                     // the request's program as its defaults bind it
  bool own_programs = false;
};
// Bound and told apart: those that the program cannot take, and given ones that are the same code as another, have
// their verdict; the program's own that are the same as another are left out. Errors: of the request's own bindings.
Result<Trials> make_trials(const jit::TuneRequest& request);

// Of the program and all its bindings but layouts: candidates of equal digests differ in these alone.
Digest digest_but_for_layouts(const jit::CompileRequest& request);

// Sizes stand still while candidates are compared: dynamic symbols are what the request sets. The digest is another
// one, since compiles are known by it.
void stand_still(std::shared_ptr<const tile::Program>& program, Digest& digest);

}  // namespace kiln::tune
