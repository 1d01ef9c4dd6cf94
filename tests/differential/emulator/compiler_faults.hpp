// What LLVM is known to compile wrongly, recognised by what the compiler itself prints of the function in question.
#pragma once

#include <string_view>

namespace kiln::test {

// LLVM 21 and 22, pass si-fold-operands (llvm-project, issue 189677): of `y = or x, -1` it means to make
// `y = mov -1`, and makes `y = mov x`. It meets such a one where the upper half of a 64-bit operand is all ones, but
// seen to be so only once the halves are apart, as in a | ((b & 1009) ^ -15). `listing` is what the compiler prints
// before and after the pass, each time it runs.
bool makes_or_a_move(std::string_view listing);

}  // namespace kiln::test
