#include "engine/emulator/machine/card.hpp"

namespace kiln::emulator {
namespace {

constexpr std::size_t cards_max = 16;

struct Model {
  const char* arch;
  const char* features;       // that the card reports
  const char* name;
  Family family;
  int compute_units, xccs, clock_khz, memory_clock_khz, memory_bus_bits, l2_bytes, waves_per_cu;
  std::uint64_t memory_gib;
  int major, minor, chip;
};
constexpr Model models[] = {
    {"gfx90a", ":sramecc+:xnack-", "AMD Instinct MI250X", Family::gfx90a, 110, 1, 1700000, 1600000, 4096, 8 << 20, 32,
     64, 9, 0, 0x740c},
    {"gfx942", ":sramecc+:xnack-", "AMD Instinct MI300X", Family::gfx942, 304, 8, 2100000, 1300000, 8192, 4 << 20, 32,
     192, 9, 4, 0x74a1},
    {"gfx950", ":sramecc+:xnack-", "AMD Instinct MI355X", Family::gfx950, 256, 8, 2400000, 1900000, 8192, 4 << 20, 32,
     288, 9, 5, 0x75a3},
    {"gfx1100", "", "AMD Radeon RX 7900 XTX", Family::gfx11, 48, 1, 2482000, 1249000, 384, 6 << 20, 32, 24, 11, 0,
     0x744c},
};

}  // namespace

Result<Card> parse_card(std::string_view text) {
  KILN_TRY(auto target, target::parse_target(text));
  for (const auto& model : models) {
    if (target.arch != model.arch) continue;
    Card card;
    if (target.full == target.arch) {  // no feature named
      KILN_TRY(card.target, target::parse_target(target.arch + model.features));
    } else {
      card.target = std::move(target);
    }
    card.family = model.family;
    card.name = std::string(model.name) + " (emulated)";
    card.compute_units = model.compute_units;
    card.xccs = model.xccs;
    card.clock_khz = model.clock_khz;
    card.memory_clock_khz = model.memory_clock_khz;
    card.memory_bus_bits = model.memory_bus_bits;
    card.l2_bytes = model.l2_bytes;
    card.waves_per_cu = model.waves_per_cu;
    card.memory_bytes = model.memory_gib << 30;
    card.major = model.major;
    card.minor = model.minor;
    card.chip = model.chip;
    return card;
  }
  return Error(ErrorCode::unsupported, "no emulated card for " + target.full);
}

Result<std::vector<Card>> parse_cards(std::string_view text) {
  std::vector<Card> cards;
  for (std::string_view rest = text;;) {
    const auto comma = rest.find(',');
    KILN_TRY(auto card, parse_card(rest.substr(0, comma)));
    cards.push_back(std::move(card));
    if (cards.size() > cards_max) return Error(ErrorCode::resource_limit, "more than 16 emulated cards");
    if (comma == std::string_view::npos) return cards;
    rest = rest.substr(comma + 1);
  }
}

}  // namespace kiln::emulator
