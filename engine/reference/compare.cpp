#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/ir/bound/arithmetic.hpp"
#include "engine/reference/interpreter.hpp"

namespace kiln::reference {
namespace {

struct Format {
  double unit;           // unit roundoff
  double normal_min;     // smallest normal
  double beyond;         // the power of two after the largest value
};
Format format_of(DType type) {
  switch (type) {
    case DType::f32: return {0x1p-24, 0x1p-126, 0x1p128};
    case DType::f16: return {0x1p-11, 0x1p-14, 0x1p16};
    case DType::bf16: return {0x1p-8, 0x1p-126, 0x1p128};
    case DType::f8e4m3fn: return {0x1p-4, 0x1p-6, 0x1p9};
    case DType::f8e4m3fnuz: return {0x1p-4, 0x1p-7, 0x1p8};
    case DType::f8e5m2: return {0x1p-3, 0x1p-14, 0x1p16};
    case DType::f8e5m2fnuz: return {0x1p-3, 0x1p-15, 0x1p16};
    default: return {0x1p-53, 0x1p-1022, std::numeric_limits<double>::max()};
  }
}

double tolerance_at(double reference, double scale, const Format& format, const ToleranceSpec& spec) {
  const auto k = static_cast<double>(spec.k);
  const double magnitude = std::min(std::fabs(reference), format.beyond);
  double gemm = spec.k > 0 ? 2 * (k + 8) * spec.accumulator_unit * scale : 0;
  if (spec.flushes_denormals) gemm += k * 0x1p-126 * spec.operand_max;
  switch (spec.kind) {
    case ToleranceClass::exact: return 0;
    case ToleranceClass::gemm: return 2 * format.unit * std::max(magnitude, format.normal_min) + gemm;
    case ToleranceClass::rowwise: return 4 * format.unit * std::max(1.0, magnitude) + 1e-5 + gemm;
  }
  return 0;
}

// |got - want|; an infinity against another value counts as `beyond`.
double difference(double got, double want, double beyond) {
  if (std::isnan(got) || std::isnan(want))
    return std::isnan(got) && std::isnan(want) ? 0 : std::numeric_limits<double>::infinity();
  if (got == want) return 0;
  const auto finite = [&](double v) { return std::isinf(v) ? std::copysign(beyond, v) : v; };
  return std::fabs(finite(got) - finite(want));
}

void note(Comparison& result, std::int64_t element, double error, double tolerance) {
  ++result.elements;
  const double ratio = error == 0 ? 0 : error / tolerance;  // tolerance 0: infinite
  if (!(ratio <= 1)) {
    ++result.wrong;
    if (result.first_wrong < 0) result.first_wrong = element;
  }
  if (error > result.error_max || result.elements == 1) {
    result.error_max = error;
    result.tolerance_at_max = tolerance;
  }
  result.ratio_max = std::max(result.ratio_max, ratio);
}

}  // namespace

Comparison compare(DType dtype, ByteView got, ByteView want, std::span<const double> error_scale,
                   const ToleranceSpec& spec) {
  Comparison result;
  const auto load = bound::load_function(dtype);
  KILN_ASSERT(load != nullptr && got.size() == want.size());
  const auto bytes = static_cast<std::size_t>(dtype_bytes(dtype));
  const auto n = got.size() / bytes;
  KILN_ASSERT(error_scale.empty() || error_scale.size() == n);
  const bool real = is_float(dtype);
  const auto format = format_of(dtype);
  for (std::size_t i = 0; i < n; ++i) {
    const auto a = load(got.data() + i * bytes), b = load(want.data() + i * bytes);
    const double scale = error_scale.empty() ? 0 : error_scale[i];
    const double error =
        real ? difference(a.real, b.real, format.beyond)
        : a.integer == b.integer
            ? 0
            : std::max(1.0, std::fabs(static_cast<double>(a.integer) - static_cast<double>(b.integer)));
    note(result, static_cast<std::int64_t>(i), error, real ? tolerance_at(b.real, scale, format, spec) : 0);
  }
  return result;
}

}  // namespace kiln::reference
