#include "api/cli/paired_ratio.hpp"

namespace kiln::cli {
namespace {

constexpr double chance_max = 0.02;  // of so many rounds on one side, either one

}  // namespace

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
  result.ratio = quantile(ratios, 0.5);
  result.q1 = quantile(ratios, 0.25);
  result.q3 = quantile(ratios, 0.75);
  return result;
}

Verdict verdict_of(const PairedRatio& ratio) {
  const bool faster = ratio.q1 > 1, slower = ratio.q3 < 1;
  const int agreeing = faster ? ratio.faster : ratio.slower;
  if (!(faster || slower) || 2 * chance_of_heads(std::size_t(ratio.rounds), std::size_t(agreeing)) >= chance_max) return Verdict::no_difference;
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
