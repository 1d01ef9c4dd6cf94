// Dynamic symbols: what is known of extents before their values are, and programs with the values put in. Pure.
#pragma once

#include <optional>
#include <span>

#include "engine/ir/bound/interval.hpp"
#include "engine/ir/bound/program.hpp"

namespace kiln::bound {

// The multiples of `multiple_of` among min … max, from the least to the largest. A symbol without any: min alone.
Range range_of(const Symbol& symbol);
// Bounds of index arithmetic over symbols; nothing when a value may leave 64 bits, or for any other expression.
std::optional<Range> range_of(const Expr& expr, const std::vector<Symbol>& symbols);
std::optional<Range> range_of(const Extent& extent, const std::vector<Symbol>& symbols);
// Every value is a multiple of the result; 0: the value is 0.
std::int64_t divisor_of(const Expr& expr, const std::vector<Symbol>& symbols);
// 1 + Σ (shape-1)*stride as an extent; 0 when any extent is 0.
Extent elements_span(const Tensor& tensor);

// Whether an extent is index arithmetic over these symbols and never negative, and a symbol's promise one that can be
// kept. Errors: corrupt.
Status check(const Extent& extent, const std::vector<Symbol>& symbols);
Status check(const Symbol& symbol);
// The form alone: what may be negative for some values.
Status check_form(const Extent& extent, const std::vector<Symbol>& symbols);

// Whether there is a value for each symbol that keeps its promise. Errors: invalid_argument with a diagnostic at
// "/symbols/<name>" for each that does not.
Status check_values(const std::vector<Symbol>& symbols, std::span<const std::int64_t> values);
// The blocks of a launch, x y z. Errors: invalid_argument at "/launches/<number>/grid" where no device takes so many.
Result<std::vector<std::int64_t>> grid_at(const Extents& grid, std::size_t number,
                                          std::span<const std::int64_t> values);

// The static program for these values: every symbol is replaced, and what follows from it folded. Errors: check_values'
// and grid_at's.
Result<Program> with_values(const Program& program, std::span<const std::int64_t> values);

}  // namespace kiln::bound
