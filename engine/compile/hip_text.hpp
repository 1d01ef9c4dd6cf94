// HIP text as its author wrote it, whole programs with host code among them, compiled in a process of its own: what
// `kiln emulate FILE.hip` starts.
#pragma once

#include <string>
#include <vector>

namespace kiln::compile {

// kiln-compile-hip --compile-text TARGET INPUT NAME OUTPUT [OPTION…]: compiles the file INPUT, called NAME in messages
// and in the object's line table, and writes the code object to OUTPUT. The compiler's words go to standard error as
// they are. The exit status: 0, 1 the compiler refused, 2 wrong words or files, 3 there is no compiler.
inline constexpr const char* compile_text_flag = "--compile-text";
int compile_text_main(const std::vector<std::string>& words);

}  // namespace kiln::compile
