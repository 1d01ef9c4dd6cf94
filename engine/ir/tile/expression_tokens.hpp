// Tokens of the expression language; used by the expression parser only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.hpp"

namespace kiln::tile {

struct Token {
  enum class Kind : std::uint8_t { end, integer, real, name, symbol } kind = Kind::end;
  std::string_view text;  // a view into the source; `and`, `or`, `not` come as "&&", "||", "!"
  std::int64_t integer = 0;
  double real = 0;
  std::uint32_t begin = 0, end = 0;  // bytes of the source
};

// All tokens, the last of kind end. Errors: parse_error with one located Diagnostic.
Result<std::vector<Token>> tokenize(std::string_view source);

// The parse_error that every mistake in an expression becomes.
Error expression_error(std::string_view source, Diagnostic diagnostic);

}  // namespace kiln::tile
