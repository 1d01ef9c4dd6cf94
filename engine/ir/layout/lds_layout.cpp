#include <algorithm>
#include <numeric>

#include "engine/ir/layout/layout.hpp"
#include "engine/ir/layout/linear.hpp"

namespace kiln::layout {

std::int64_t LdsLayout::rows() const {
  std::int64_t count = 1;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (static_cast<int>(axis) != contiguous) count *= shape[axis];
  }
  return count;
}

std::int64_t LdsLayout::bytes() const { return rows() * pitch_bytes(); }

std::int64_t LdsLayout::row_of(const Coordinate& coordinate) const {
  std::int64_t row = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (static_cast<int>(axis) != contiguous) row = row * shape[axis] + coordinate[axis];
  }
  return row;
}

std::int64_t LdsLayout::offset(const Coordinate& coordinate) const {
  const auto row = row_of(coordinate);
  std::int64_t moved = 0;
  for (std::size_t bit = 0; bit < xor_basis.size(); ++bit) {
    if (row >> bit & 1) moved ^= xor_basis[bit];
  }
  return row * pitch_bytes() + ((coordinate[contiguous] * element_bytes) ^ (moved * chunk_bytes));
}

std::int64_t LdsLayout::xor_limit() const {
  if (chunk_bytes <= 0 || row_bytes() % chunk_bytes != 0) return 1;
  return power_of_two_part(row_bytes() / chunk_bytes);
}

int LdsLayout::run_bytes_max() const {
  const auto aligned = rows() == 1 ? row_bytes() : std::gcd(row_bytes(), pitch_bytes());
  const auto run = std::min<std::int64_t>(power_of_two_part(aligned), 1 << 20);
  const bool moves = std::any_of(xor_basis.begin(), xor_basis.end(), [](auto entry) { return entry != 0; });
  return static_cast<int>(moves ? std::min<std::int64_t>(run, chunk_bytes) : run);
}

LdsLayout with_swizzle(LdsLayout layout, int chunk_bytes, std::int64_t row_divisor, std::int64_t rows_mod) {
  layout.chunk_bytes = chunk_bytes;
  layout.xor_basis.clear();
  const auto limit = std::min(layout.xor_limit(), rows_mod);
  if (limit <= 1) return layout;
  layout.xor_basis.assign(log2_exact(row_divisor), 0);
  for (std::int64_t step = 1; step < limit; step *= 2) layout.xor_basis.push_back(step);
  return layout;
}

std::string LdsLayout::text() const {
  std::string text;
  if (!xor_basis.empty()) {
    std::size_t zeros = 0;
    while (zeros < xor_basis.size() && xor_basis[zeros] == 0) ++zeros;
    bool plain = true;  // the form that with_swizzle makes
    for (std::size_t bit = zeros; bit < xor_basis.size(); ++bit) {
      plain = plain && xor_basis[bit] == std::int64_t(1) << (bit - zeros);
    }
    text = "xor" + std::to_string(chunk_bytes);
    if (plain) {
      text += "(row" + (zeros > 0 ? "/" + std::to_string(std::int64_t(1) << zeros) : "") + "%" +
              std::to_string(std::int64_t(1) << (xor_basis.size() - zeros)) + ")";
    } else {
      text += "(row bits";
      for (const auto entry : xor_basis) text += " " + std::to_string(entry);
      text += ")";
    }
  }
  if (pad_bytes != 0) text += (text.empty() ? "pad " : " pad ") + std::to_string(pad_bytes) + " B";
  if (text.empty()) text = "row_major";
  if (contiguous != static_cast<int>(shape.size()) - 1) text += " along axis " + std::to_string(contiguous);
  return text;
}

}  // namespace kiln::layout
