// How the LDS serves one instruction of a wave: groups of lanes that are served together (design, "LDS bank rules":
// measured on gfx942 and gfx950). Plain tables, for who cannot use containers; Target::bank_rule gives the same.
#pragma once

#include <cstdint>

namespace kiln::target {

enum class LdsGeneration : std::uint8_t { gfx942, gfx950, rdna };  // gfx90a: assumed the same as gfx942

// A lane's access of so many bytes, served in `count` phases. A bank is 4 bytes wide.
struct BankPhases {
  int banks = 32;
  int count = 0;
  std::uint64_t lanes[8] = {};   // of each phase: bit l for lane l
  bool inferred = false;         // not published: mark it in output
};

namespace bank_phases_detail {

// Phases of `size` successive lanes each.
constexpr BankPhases runs(int wave, int size, int banks, bool inferred) {
  BankPhases phases;
  phases.banks = banks;
  phases.inferred = inferred;
  const std::uint64_t first = (std::uint64_t(1) << size) - 1;
  for (int lane = 0; lane < wave; lane += size) phases.lanes[phases.count++] = first << lane;
  return phases;
}
// Groups of lanes 0 to 31, and once more 32 lanes on.
template <int groups>
constexpr BankPhases twice(const std::uint32_t (&lanes)[groups], int banks) {
  BankPhases phases;
  phases.banks = banks;
  for (int shift = 0; shift < 64; shift += 32) {
    for (int group = 0; group < groups; ++group) phases.lanes[phases.count++] = std::uint64_t(lanes[group]) << shift;
  }
  return phases;
}
// {0-3, 20-23} {4-7, 16-19} {8-11, 28-31} {12-15, 24-27}
constexpr BankPhases wide_reads_gfx942() { return twice({0x00f0000fu, 0x000f00f0u, 0xf0000f00u, 0x0f00f000u}, 32); }
// {0-3, 12-15, 20-27} {4-11, 16-19, 28-31}
constexpr BankPhases wide_reads_gfx950() { return twice({0x0ff0f00fu, 0xf00f0ff0u}, 64); }

}  // namespace bank_phases_detail

// Of a read or write of `bytes` (1, 2, 4, 8, 12, 16) a lane. The two accesses of read2 and write2 are served one after
// the other, each as an instruction of its own.
constexpr BankPhases bank_phases(LdsGeneration generation, bool write, int bytes) {
  using namespace bank_phases_detail;
  if (generation == LdsGeneration::rdna) return runs(32, bytes <= 4 ? 32 : bytes == 8 ? 16 : 8, 32, true);
  const bool gfx950 = generation == LdsGeneration::gfx950;
  if (bytes <= 4) return runs(64, 32, 32, gfx950);
  if (bytes == 8) return gfx950 && !write ? runs(64, 32, 64, false) : runs(64, 16, 32, false);
  if (write) return runs(64, 8, 32, gfx950 || bytes == 12);
  return gfx950 && bytes == 16 ? wide_reads_gfx950() : wide_reads_gfx942();
}

}  // namespace kiln::target
