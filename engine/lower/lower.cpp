#include "engine/lower/lower.hpp"

#include <algorithm>
#include <iterator>
#include <string>

#include "engine/lower/amd/amd.hpp"
#include "engine/lower/host/host.hpp"
#include "engine/lower/initial_values.hpp"
#include "engine/lower/simple_statements.hpp"
#include "engine/lower/wide_operands.hpp"

namespace kiln::lower {
namespace {

struct Excuse { const char* hint; ErrorCode code; const char* message; };
// What a program can cause, in words about the program.
constexpr Excuse excuses[] = {
    {kernel::registers_hint, ErrorCode::program_invalid, "the fragments do not fit the registers"},
    {kernel::race_hint, ErrorCode::program_invalid, "iterations of this map meet in one element that one of them sets"},
    {kernel::unknown_race_hint, ErrorCode::unsupported,
     "not yet: a map that sets and uses elements of one tile at indices known only when it runs"},
    {kernel::length_hint, ErrorCode::unsupported, "not yet: loops nested as deep as here"}};

const Excuse* excuse_of(const Diagnostic& finding) {
  const auto found = std::find_if(std::begin(excuses), std::end(excuses),
                                  [&](const Excuse& one) { return finding.hint == one.hint; });
  return found == std::end(excuses) ? nullptr : found;
}

// Other findings of the verifier are a bug of ours, never the user's; the finding says where.
Error refused(const Error& findings) {
  const auto& list = findings.diagnostics;
  if (list.empty() || !std::all_of(list.begin(), list.end(), [](const Diagnostic& d) { return excuse_of(d); })) {
    Error error(ErrorCode::internal, "the lowered program does not verify: " + findings.message);
    error.context = findings.context;
    error.diagnostics = list;
    return error;
  }
  std::vector<Diagnostic> told = list;
  for (Diagnostic& one : told) {
    if (one.found.empty()) one.found = one.message;
    one.message = excuse_of(one)->message;
  }
  Error error(excuse_of(told.front())->code, told.front().message + ": " + told.front().found);
  error.diagnostics = std::move(told);
  return error;
}

}  // namespace

Result<Lowered> lower(const bound::Program& given, const target::Target& target, int attempt, Budget& budget) {
  if (attempt < 0) return Error(ErrorCode::invalid_argument, "lowering attempts count from 0");
  std::vector<Decision> decisions;
  const auto simple = with_simple_statements(given, decisions);
  KILN_TRY(const auto wide, with_wide_operands(simple ? *simple : given, target, decisions));
  const bound::Program& simplest = wide ? *wide : simple ? *simple : given;
  KILN_TRY(const auto with_fills, with_initial_values(simplest, decisions));
  const bound::Program& program = with_fills ? *with_fills : simplest;
  KILN_TRY(Lowered lowered, target.is_host() ? host::lower_host(program, target, attempt, budget)
                                             : amd::lower_amd(program, target, attempt, budget));
  for (std::size_t i = 0; i < given.launches.size(); ++i)  // tiles of our own are nobody's
    for (auto& storage : lowered.program.launches[i].storages)
      if (storage.tile >= static_cast<int>(given.launches[i].tiles.size())) storage.tile = -1;
  if (Status status = kernel::verify(lowered.program, target); !status) return refused(status.error());
  lowered.decisions.insert(lowered.decisions.begin(), decisions.begin(), decisions.end());
  return lowered;
}

}  // namespace kiln::lower
