// The order of candidates by their times over interleaved rounds, and when it is certain. Pure functions.
#pragma once

#include <cstddef>
#include <vector>

namespace kiln::tune {

// Rounds before which nothing is certain.
inline constexpr std::size_t rounds_of_gap = 3, rounds_of_signs = 6;
// Apart so far that no spread explains it.
inline constexpr double gap_factor = 1.5;
// One-sided: what chance may at most have to give so many rounds of one order, where quartiles agree and where they do
// not.
inline constexpr double sign_chance_max = 1.0 / 64, sign_chance_alone_max = 1.0 / 1024;

// Whether `a` is certainly slower than `b`; both hold one time a round, of the same rounds:
//   from 3 rounds on, where a's least time is over 1.5 times b's greatest, or
//   from 6 rounds on, where a's lower quartile is above b's upper quartile and a was slower in so many rounds that chance
//   gives that at most once in 64 times (sign test, one-sided; rounds of equal times count for b), or
//   where that chance is at most once in 1024 times: from 10 rounds on.
bool certainly_slower(const std::vector<double>& a, const std::vector<double>& b);

// What is still in the race: indices into `times`, by median, the best first. Those that are certainly slower than the
// best are left out. `times` of equal length; `out` marks those that are no longer asked.
std::vector<std::size_t> remaining(const std::vector<std::vector<double>>& times, const std::vector<bool>& out);

}  // namespace kiln::tune
