// The cards that can be emulated and what they report about themselves. Figures: AMD's data sheets of the cards named.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.hpp"
#include "engine/emulator/core/wave.hpp"
#include "engine/ir/target/target.hpp"

namespace kiln::emulator {

struct Card {
  target::Target target;         // target.full is what the card reports: "gfx942:sramecc+:xnack-"
  Family family = Family::gfx942;
  std::string name;              // "AMD Instinct MI300X"
  int compute_units = 0, xccs = 1;
  int clock_khz = 0, memory_clock_khz = 0, memory_bus_bits = 0, l2_bytes = 0;
  int waves_per_cu = 32;
  std::uint64_t memory_bytes = 0;
  int major = 9, minor = 4;
  int chip = 0;                  // PCI device id
};

// One card: "gfx942" means what the real card reports, "gfx942:sramecc+:xnack-". Errors: unknown_target, unsupported.
Result<Card> parse_card(std::string_view text);
// A list, "gfx942:sramecc+:xnack-,gfx90a". At least one, at most 16.
Result<std::vector<Card>> parse_cards(std::string_view text);

}  // namespace kiln::emulator
