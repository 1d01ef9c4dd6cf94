// Faults that can be planted in emitted HIP text, and the places where they can be.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace kiln::test {

using Lines = std::vector<std::string>;
Lines lines_of_text(const std::string& text);
std::string joined(const Lines& lines);

// One way to plant it: lines that are replaced.
struct Place {
  std::vector<std::pair<std::size_t, std::string>> changes;
};

struct Plant {
  const char* name;
  // Programs that have places for it, by the name of their kernels: "gemm", …
  std::vector<std::string> programs;
  // All places of a text; each of them changes what the kernel does.
  std::vector<Place> (*places)(const Lines& lines);
};

const std::vector<Plant>& plants();

// The text with the fault at a place; `shown`: the first line that changed, before and after.
std::string planted(const Lines& lines, const Place& place, std::string& shown);

}  // namespace kiln::test
