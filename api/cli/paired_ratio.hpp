// Two sides measured in the same rounds: medians, quartiles, and whether their difference is more than their spread.
#pragma once

#include <string>
#include <vector>

#include "engine/base/statistics.hpp"

namespace kiln::cli {

struct Spread {
  double median = 0, q1 = 0, q3 = 0;
};
Spread spread_of(const std::vector<double>& values);  // at least one

// How many times faster B is than A.
struct PairedRatio {
  double ratio = 0;       // A's median over B's
  double q1 = 0, q3 = 0;  // of the rounds' own ratios
  int rounds = 0;
  int faster = 0, slower = 0;  // rounds in which B was that
};
enum class Verdict { faster, slower, no_difference };

// Equal indexes mean the same round; times are positive, as many of one as of the other, at least one.
PairedRatio paired_ratio(const std::vector<double>& a, const std::vector<double>& b);

// Faster or slower only if the quartiles of the rounds' ratios leave 1 out and the medians' ratio lies between them (where it does
// not, the rounds tell of the machine and not of the sides), and if so many rounds agree as two equal
// sides would in less than 2 of 100 comparisons (sign test, two-sided: all of 7, all of 9, 10 of 11). The quartiles
// alone leave 1 out in more than a tenth of the comparisons of a program with itself.
Verdict verdict_of(const PairedRatio& ratio);
std::string verdict_text(Verdict verdict);  // "faster", "slower", "no difference beyond the spread"

}  // namespace kiln::cli
