// Seeded random functions in the C of portable.h: kernels of a few phases whose threads meet at barriers, and between
// phases move values from lane to lane. A function is a tree of statements of which any may be left out, so that one
// that fails can be made smaller.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kiln::test {

// What functions are made for. Two levels of one unit share their text.
struct FunctionTarget {
  std::string name;   // "gfx942", as the card is called
  int wave = 64;      // threads
  int family = 9;     // KILN_GFX
  int float8 = 0;     // 8-bit floats: 0 none, 1 FNUZ, 2 OCP
  bool swaps = false; // v_permlane16_swap_b32 and v_permlane32_swap_b32
};

struct Statement {
  std::string open;               // the whole of it where `body` is empty and `close` is
  std::vector<Statement> body;
  std::string close;
};

struct Variable { std::string type, name; };

// A value moved between lanes, for the lanes where `condition` (of the state `it`) holds.
struct LaneStep {
  std::string name;               // lanes_<name> of portable_lanes.h
  std::string condition;          // "" for all
  std::string result, index, source, old;  // variables of type u32
  std::uint32_t argument = 0;
};

struct Phase {
  bool apart = false;             // a call on the card, not inlined
  std::vector<std::string> arrays;         // declarations with their first values
  std::vector<Statement> body;
  std::vector<LaneStep> steps;    // after the phase's barrier
};

struct RandomFunction {
  std::string name;               // "k3"
  std::uint32_t threads = 64, blocks = 1;
  std::vector<Variable> variables;         // the state of a thread, all compared at the end
  std::vector<Phase> phases;
};

// Function `index` of unit `seed`; the same on every machine.
RandomFunction random_function(std::uint64_t seed, int index, const FunctionTarget& target);

// The whole text, for hipRTC, clang and the host: definitions, portable.h, portable_lanes.h (read from `source_folder`,
// the tree's root), the functions. A function's kernel has its name; on the host that takes (void** arguments).
std::string unit_text(const std::vector<RandomFunction>& functions, const FunctionTarget& target,
                      const std::string& source_folder);
// One function's own text.
std::string function_text(const RandomFunction& function);

// How many statements and lane steps there are.
int size_of(const RandomFunction& function);

}  // namespace kiln::test
