#include "engine/tune/candidates.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace kiln::tune {
namespace {

constexpr std::size_t combinations_max = 100000;

struct Axis {
  std::string name;
  std::int64_t usual = 0;              // the default's value
  std::vector<std::int64_t> values;    // it among them
};

struct Combination {
  std::vector<std::int64_t> values;    // one an axis
  double distance = 0;
};

double distance(std::int64_t value, std::int64_t usual) {
  return std::fabs(std::log2((static_cast<double>(value) + 1) / (static_cast<double>(usual) + 1)));
}

std::vector<Axis> axes_of(const tile::Program& program, const std::vector<specialize::ResolvedBinding>& resolved) {
  std::vector<Axis> axes;
  for (const auto& tunable : program.tunables) {
    const auto found = std::find_if(resolved.begin(), resolved.end(), [&](const auto& binding) {
      return binding.kind == "tunable" && binding.name == tunable.name;
    });
    if (found == resolved.end() || found->given) continue;
    Axis axis{tunable.name, std::strtoll(found->value.c_str(), nullptr, 10), tunable.candidates};
    axis.values.push_back(axis.usual);
    std::sort(axis.values.begin(), axis.values.end());
    axis.values.erase(std::unique(axis.values.begin(), axis.values.end()), axis.values.end());
    if (axis.values.size() > 1) axes.push_back(std::move(axis));   // else it stays what its expression says
  }
  return axes;
}

}  // namespace

std::string name_of(const jit::Words& set, const jit::Words& layouts) {
  std::string name;
  for (const auto* words : {&set, &layouts})
    for (const auto& [key, value] : *words) name += (name.empty() ? "" : " ") + key + "=" + value;
  return name.empty() ? "default" : name;
}

Result<std::vector<jit::TuneCandidate>> offered_candidates(const tile::Program& program,
                                                           const specialize::Bindings& bindings,
                                                           const target::Target& target) {
  KILN_TRY(const auto resolved, specialize::describe_bindings(program, bindings, target));
  const auto axes = axes_of(program, resolved);
  std::vector<Combination> all{{}};
  for (const auto& axis : axes) {
    std::vector<Combination> longer;
    for (const auto& shorter : all)
      for (const auto value : axis.values) {
        longer.push_back(shorter);
        longer.back().values.push_back(value);
        longer.back().distance += distance(value, axis.usual);
      }
    if (longer.size() > combinations_max)
      return Error(ErrorCode::resource_limit, "the tunables of " + program.name + " have more than " +
                                                  std::to_string(combinations_max) +
                                                  " combinations: set some of them, or give candidates");
    all = std::move(longer);
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.distance < b.distance; });
  std::vector<jit::TuneCandidate> offered;
  for (const auto& combination : all) {
    jit::TuneCandidate candidate;
    if (combination.distance > 0)
      for (std::size_t i = 0; i < axes.size(); ++i) candidate.set[axes[i].name] = std::to_string(combination.values[i]);
    candidate.name = name_of(candidate.set, {});
    offered.push_back(std::move(candidate));
  }
  return offered;
}

}  // namespace kiln::tune
