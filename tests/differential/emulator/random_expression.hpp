// Random expressions of portable.h's types.
#pragma once

#include <string>
#include <vector>

#include "tests/differential/emulator/random_choice.hpp"
#include "tests/differential/emulator/random_function.hpp"

namespace kiln::test {

enum class Type : std::uint8_t { u8, s8, u16, s16, u32, s32, u64, s64, f16, f32, f64 };
inline constexpr int types = 11;
const char* type_name(Type type);
inline bool is_real(Type type) { return type >= Type::f16; }

// What an expression may name where it stands.
struct Scope {
  std::vector<Variable> variables;       // of threads: "it->a0"
  std::vector<Variable> uniform;         // loop counters, the same in all threads of a wave
  std::vector<Variable> arrays;          // private, 8 elements each
  int phase = 0;                         // decides which halves of the shared arrays may be read
  bool counts = false;                   // whether the counters of portable.h's `shared` may be read
  FunctionTarget target;
};

class Expressions {
 public:
  Expressions(Choice& choice, Scope& scope) : choice_(choice), scope_(scope) {}

  // `uniform`: equal in all threads of the wave.
  std::string value(Type type, int depth, bool uniform = false);
  std::string condition(int depth, bool uniform = false);
  // One operation, seldom ones as often as others, on operands without operations in them.
  std::string operation(Type type);
  std::string constant(Type type);
  Type any_type();

 private:
  std::string leaf(Type type, bool uniform);
  std::string launch_constant(Type type);
  std::string input(Type type, int depth, bool uniform);
  std::string shared(Type type, int depth);
  std::string own_memory(Type type, int depth);
  std::string integer(Type type, int depth, bool uniform);
  std::string real(Type type, int depth, bool uniform);
  std::string special(Type type, int depth, bool uniform);  // "" where there is nothing special about the type
  std::string special_word(int depth, bool uniform);
  std::string special_real(Type type, int depth, bool uniform);
  std::string buffer_word(int depth, bool uniform);
  std::string converted(Type type, int depth, bool uniform);
  std::string call(const std::string& name, Type type, int operands, int depth, bool uniform);

  Choice& choice_;
  Scope& scope_;
};

}  // namespace kiln::test
