// The `gemm` statement.
#include <algorithm>
#include <cmath>

#include "engine/reference/gemm.hpp"
#include "engine/reference/machine.hpp"

namespace kiln::reference {
namespace {

using bound::Value;

// Elements of an operand tile as (line, k): line is A's row or B's column.
struct Operand {
  const TileState& tile;
  std::int64_t lines, depth, line_stride, depth_stride;
  [[nodiscard]] std::size_t at(std::int64_t line, std::int64_t k) const {
    return static_cast<std::size_t>(line * line_stride + k * depth_stride);
  }
};

// `lines_first`: the tile is stored [lines, depth].
Operand operand_of(const TileState& tile, bool lines_first) {
  const auto rows = tile.tile->shape[0], columns = tile.tile->shape[1];
  if (lines_first) return {tile, rows, columns, columns, 1};
  return {tile, columns, rows, 1, columns};
}

template <class F> Panels pack(const Operand& o, F&& element) {
  Panels panels(o.lines, o.depth);
  for (std::int64_t line = 0; line < o.lines; ++line)
    for (std::int64_t k = 0; k < o.depth; ++k) panels.at(line, k) = element(o.at(line, k));
  return panels;
}

bool any_scale(const TileState& tile) {
  for (const double s : tile.scale)
    if (s != 0) return true;
  return false;
}

// Σ(|a|·(|b| + s(b)) + s(a)·|b|)
void add_scales(const Operand& a, const Operand& b, std::vector<double>& scale) {
  const auto magnitude = [](const TileState& t) {
    return [&t](std::size_t at) { const double v = std::fabs(t.values[at].real); return std::isfinite(v) ? v : 0.0; };
  };
  const auto of_a = magnitude(a.tile), of_b = magnitude(b.tile);
  multiply_add(pack(a, of_a), pack(b, [&](std::size_t at) { return of_b(at) + b.tile.scale[at]; }), scale.data());
  if (any_scale(a.tile))
    multiply_add(pack(a, [&](std::size_t at) { return a.tile.scale[at]; }), pack(b, of_b), scale.data());
}

}  // namespace

void Machine::gemm_floats(const bound::Gemm& gemm) {
  const auto a = operand_of(tiles_[static_cast<std::size_t>(gemm.a)], !gemm.transpose_a);
  const auto b = operand_of(tiles_[static_cast<std::size_t>(gemm.b)], gemm.transpose_b);
  auto& c = tiles_[static_cast<std::size_t>(gemm.c)];
  std::vector<double> sums(c.values.size());
  multiply_add(pack(a, [&](std::size_t at) { return a.tile.values[at].real; }),
               pack(b, [&](std::size_t at) { return b.tile.values[at].real; }), sums.data());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const double before = gemm.clear ? 0.0 : c.values[i].real;
    c.values[i].real = bound::round_real(c.tile->dtype, gemm.clear ? sums[i] : before + sums[i]);
  }
  if (!with_scale_) return;
  if (gemm.clear) std::fill(c.scale.begin(), c.scale.end(), 0.0);
  add_scales(a, b, c.scale);
}

void Machine::gemm_integers(const bound::Gemm& gemm) {
  const auto a = operand_of(tiles_[static_cast<std::size_t>(gemm.a)], !gemm.transpose_a);
  const auto b = operand_of(tiles_[static_cast<std::size_t>(gemm.b)], gemm.transpose_b);
  auto& c = tiles_[static_cast<std::size_t>(gemm.c)];
  std::size_t i = 0;
  for (std::int64_t m = 0; m < a.lines; ++m)
    for (std::int64_t n = 0; n < b.lines; ++n, ++i) {
      std::uint64_t sum = gemm.clear ? 0 : static_cast<std::uint64_t>(c.values[i].integer);
      for (std::int64_t k = 0; k < a.depth; ++k)
        sum += static_cast<std::uint64_t>(a.tile.values[a.at(m, k)].integer) *
               static_cast<std::uint64_t>(b.tile.values[b.at(n, k)].integer);
      c.values[i].integer = bound::wrap_integer(c.tile->dtype, static_cast<std::int64_t>(sum));
    }
}

Status Machine::run_node(const bound::Gemm& gemm) {
  KILN_CHECK(check_all_written(gemm.a));
  KILN_CHECK(check_all_written(gemm.b));
  if (!gemm.clear) KILN_CHECK(check_all_written(gemm.c));
  auto& c = tiles_[static_cast<std::size_t>(gemm.c)];
  const auto& a = *tiles_[static_cast<std::size_t>(gemm.a)].tile;
  // Tiles are at most 2^26 elements: the product fits.
  KILN_CHECK(budget_.spend(static_cast<std::int64_t>(c.values.size()) * a.shape[gemm.transpose_a ? 0 : 1]));
  if (is_float(c.tile->dtype)) gemm_floats(gemm);
  else gemm_integers(gemm);
  std::fill(c.written.begin(), c.written.end(), 1);
  return {};
}

}  // namespace kiln::reference
