#include "api/cli/paired_ratio.hpp"

#include <algorithm>
#include <cmath>

namespace kiln::cli {
namespace {

// How probable it is that of `rounds` fair coins so many or more fall on one side, either one.
double two_sided_chance(int rounds, int agreeing) {
  double sum = 0;
  for (int k = agreeing; k <= rounds; ++k)
    sum += std::exp(std::lgamma(rounds + 1.0) - std::lgamma(k + 1.0) - std::lgamma(rounds - k + 1.0) -
                    rounds * std::log(2.0));
  return std::min(1.0, 2 * sum);
}

constexpr double chance_max = 0.02;

}  // namespace

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const double at = q * double(values.size() - 1);
  const auto below = std::size_t(at);
  const auto above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - double(below)) * (values[above] - values[below]);
}

Spread spread_of(const std::vector<double>& values) {
  return {quantile(values, 0.5), quantile(values, 0.25), quantile(values, 0.75)};
}

PairedRatio paired_ratio(const std::vector<double>& a, const std::vector<double>& b) {
  PairedRatio result;
  std::vector<double> ratios;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ratios.push_back(a[i] / b[i]);
    result.faster += b[i] < a[i] ? 1 : 0;
    result.slower += b[i] > a[i] ? 1 : 0;
  }
  result.rounds = int(ratios.size());
  result.ratio = quantile(a, 0.5) / quantile(b, 0.5);
  result.q1 = quantile(ratios, 0.25);
  result.q3 = quantile(ratios, 0.75);
  return result;
}

Verdict verdict_of(const PairedRatio& ratio) {
  const bool steady = ratio.ratio >= ratio.q1 && ratio.ratio <= ratio.q3;
  const bool faster = steady && ratio.q1 > 1, slower = steady && ratio.q3 < 1;
  const int agreeing = faster ? ratio.faster : ratio.slower;
  if (!(faster || slower) || two_sided_chance(ratio.rounds, agreeing) >= chance_max) return Verdict::no_difference;
  return faster ? Verdict::faster : Verdict::slower;
}

std::string verdict_text(Verdict verdict) {
  switch (verdict) {
    case Verdict::faster:
      return "faster";
    case Verdict::slower:
      return "slower";
    case Verdict::no_difference:
      break;
  }
  return "no difference beyond the spread";
}

}  // namespace kiln::cli
