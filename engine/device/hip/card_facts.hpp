// What HIP says about a card, read in one place.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/device/device.hpp"
#include "engine/device/hip/table.hpp"

namespace kiln::device::hip {

struct CardFacts {
  std::string name;              // "AMD Instinct MI300X"
  std::string target;            // with features: "gfx942:sramecc+:xnack-"
  CardIdentity identity;
  int compute_units = 0;
  std::uint64_t memory_bytes = 0;
};

// Asks for card `ordinal`; HIP must be initialised. The properties' struct is the newest that the library has: HIP 6's, or
// the one before. Errors: of HIP, by the call that failed.
Result<CardFacts> read_card(const Table& table, int ordinal);
// The same of all cards that HIP shows, by number; one that says nothing has an empty identity.
std::vector<CardIdentity> read_identities(const Table& table, int count);
// An attribute (declarations.hpp); "?" where HIP does not tell it.
std::string attribute_text(const Table& table, int ordinal, int attribute);

}  // namespace kiln::device::hip
