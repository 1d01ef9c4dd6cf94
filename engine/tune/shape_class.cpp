#include "engine/tune/shape_class.hpp"

#include <bit>

namespace kiln::tune {

std::string shape_class(std::int64_t size) {
  if (size <= exact_size_max) return std::to_string(size);
  const auto bucket = std::bit_ceil(static_cast<std::uint64_t>(size));
  // A class is no number of up to 32, so that the two kinds cannot be mistaken for each other.
  return std::to_string(bucket) + (size % whole_piece == 0 ? "/16" : "");
}

}  // namespace kiln::tune
