// Element types that are floats of 8 bits: they are stored, moved and converted; no operation is defined on them.
#pragma once

#include <optional>

#include "engine/base/float8.hpp"
#include "engine/ir/types.hpp"

namespace kiln {

// Nothing where the type is no float of 8 bits.
constexpr std::optional<Float8> float8_format(DType type) {
  switch (type) {
    case DType::f8e4m3fn: return e4m3fn;
    case DType::f8e4m3fnuz: return e4m3fnuz;
    case DType::f8e5m2: return e5m2;
    case DType::f8e5m2fnuz: return e5m2fnuz;
    default: return std::nullopt;
  }
}

}  // namespace kiln
