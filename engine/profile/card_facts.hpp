// Figures of the card that a target stands for, for rooflines and estimates.
#pragma once

#include "engine/ir/target/target.hpp"

namespace kiln::profile {

struct CardFacts {
  const char* name = "";           // "MI300X"
  int compute_units = 0;
  double clock_ghz = 0;            // peak engine clock
  double memory_gb_s = 0;          // peak, 10^9 bytes a second
  // Lanes that a compute unit's vector instructions serve a cycle.
  int vector_lanes = 0;
};
// gfx90a: one die of an MI250X; gfx942: MI300X; gfx950: MI355X; gfx1100: Radeon RX 7900 XTX. Null for the host. Source:
// AMD's data sheets of these products.
const CardFacts* card_facts(const target::Target& target);

}  // namespace kiln::profile
