// Binding: tile program + bindings + target -> bound program. Reports every mistake at once, located in the program or
// in the bindings ("/bindings/symbols/M", "/bindings/options/dtype", "/bindings/tunables/BM", "/bindings/set/x" for a
// name that the program does not have, "/bindings/layouts/As", "/bindings/align_bytes/A").
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/base/deadline.hpp"
#include "engine/ir/bound/program.hpp"
#include "engine/ir/target/target.hpp"
#include "engine/ir/tile/program.hpp"

namespace kiln::specialize {

// What a caller sets. Everything is text or integers as given: `set` may name a symbol, an option or a tunable.
struct Bindings {
  std::map<std::string, std::string> set;  // "M" -> "4096", "dtype" -> "bf16", "transpose_b" -> "true", "BM" -> "128"
  std::map<std::string, LayoutSpec> layouts;  // tile name -> layout that replaces the program's
  std::map<std::string, std::int64_t>
      align_bytes;  // parameter -> alignment class of its base; absent: 16 (or what pitch allows)
};

// Verifies and binds. Static symbols must all be set, >= 0 and < 2^31 each; the value of a dynamic one, if set, is what
// defaults and constraints see, and enters nothing else. Extents, byte sizes, strides and every index
// expression are proved to stay within 64 bits at the bound sizes. At most 65 536 nodes after unrolling. Total: any
// program that read_program gives and any bindings end in a program, in program_invalid with diagnostics, or in the
// budget's error. Also found here: a tile never written, tiles too large for the target's LDS, a write by two
// iterations of a `map`, division by a constant zero, a constant index outside its tile, types that do not fit, gemm
// shapes and dtypes that do not fit.
Result<bound::Program> specialize(const tile::Program& program, const Bindings& bindings, const target::Target& target,
                                  Budget& budget);

// The values that a request sets for the dynamic symbols of a program, in their order. Errors: invalid_argument at
// "/bindings/symbols/<name>" where one is not set or no integer; as bound::check_values.
Result<bound::SymbolValues> symbol_values(const std::vector<bound::Symbol>& symbols,
                                          const std::map<std::string, std::string>& set);

// Without bindings: everything that can be said about the program alone. Expressions are typed with the options'
// defaults and sizes that keep the symbols' promises; what depends on sizes is not reported.
Diagnostics check_program(const tile::Program& program);

// What a program takes and what is set when the rest is not given: for `kiln show`, `explain` and errors.
struct ResolvedBinding {
  std::string kind;  // "symbol", "option", "tunable"
  std::string name;
  std::string value;   // "4096", "bf16", "true", "gelu"
  bool given = false;  // by the bindings; otherwise the program's default
};
// In the order of the program; dynamic symbols that are not set are left out. Errors as specialize's, for the settings
// alone (static symbols must all be set).
Result<std::vector<ResolvedBinding>> describe_bindings(const tile::Program& program, const Bindings& bindings,
                                                       const target::Target& target);

inline constexpr std::int64_t nodes_after_unrolling_max = 65536;

}  // namespace kiln::specialize
