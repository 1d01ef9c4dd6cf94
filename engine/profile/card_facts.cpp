#include "engine/profile/card_facts.hpp"

namespace kiln::profile {

const CardFacts* card_facts(const target::Target& target) {
  static constexpr CardFacts mi250x{"MI250X, one die", 110, 1.7, 1638.4, 64};
  static constexpr CardFacts mi300x{"MI300X", 304, 2.1, 5300, 64};
  static constexpr CardFacts mi355x{"MI355X", 256, 2.4, 8000, 64};
  static constexpr CardFacts rx7900xtx{"Radeon RX 7900 XTX", 96, 2.5, 960, 64};
  if (target.arch == "gfx90a") return &mi250x;
  if (target.arch == "gfx942") return &mi300x;
  if (target.arch == "gfx950") return &mi355x;
  if (target.arch == "gfx1100") return &rx7900xtx;
  return nullptr;
}

}  // namespace kiln::profile
