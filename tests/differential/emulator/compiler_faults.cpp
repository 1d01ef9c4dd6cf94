#include "tests/differential/emulator/compiler_faults.hpp"

#include <set>
#include <string>

namespace kiln::test {
namespace {

// "%291:vgpr_32 = nuw V_OR_B32_e64 killed %290:vgpr_32, ..." in its parts; empty where a line is no such instruction.
struct Instruction {
  std::string_view result, rest;

  explicit Instruction(std::string_view line) {
    const auto percent = line.find('%'), equals = line.find(" = ");
    if (percent == line.npos || equals == line.npos || percent > equals) return;
    result = line.substr(percent, line.find_first_of(":. ", percent) - percent);
    rest = line.substr(equals + 2);
  }
  // Also with flags before it: " disjoint V_OR_B32_e64 ".
  [[nodiscard]] bool is(std::string_view operation) const { return rest.find(operation) != rest.npos; }
  [[nodiscard]] bool moves_register(std::string_view operation) const {
    auto at = rest.find(operation);
    if (at == rest.npos) return false;
    at += operation.size();
    for (const std::string_view flag : {"killed ", "undef "})
      if (rest.substr(at).starts_with(flag)) at += flag.size();
    return rest.substr(at).starts_with("%");
  }
};

}  // namespace

bool makes_or_a_move(std::string_view listing) {
  std::set<std::string_view> ors;   // what they write, in the function that was printed last before the pass
  bool before = false;
  while (!listing.empty()) {
    const auto end = listing.find('\n');
    const std::string_view line = listing.substr(0, end);
    listing.remove_prefix(end == listing.npos ? listing.size() : end + 1);
    if (line.find("*** IR Dump ") != line.npos) {
      before = line.find("IR Dump Before") != line.npos;
      if (before) ors.clear();
      continue;
    }
    const Instruction one(line);
    if (one.result.empty()) continue;
    if (before && (one.is(" V_OR_B32_e") || one.is(" S_OR_B32 "))) ors.insert(one.result);
    if (!before && ors.contains(one.result) &&
        (one.moves_register(" V_MOV_B32_e32 ") || one.moves_register(" S_MOV_B32 "))) {
      return true;
    }
  }
  return false;
}

}  // namespace kiln::test
