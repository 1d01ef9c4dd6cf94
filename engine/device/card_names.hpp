// Cards by the names that stay theirs: UUID and PCI address.
#pragma once

#include <string>
#include <vector>

#include "engine/device/device.hpp"

namespace kiln::device {

// Whether it has the form of a UUID, of a UUID's beginning or of a PCI address.
bool may_name_card(const std::string& text);

// The number of the card that `wanted` names: its PCI address ("0000:0c:00.0", without the domain where that is 0), its UUID
// ("GPU-" and letters, the letters alone, or the letters' bytes in hex), or the beginning of its UUID, of at least 4
// letters, where no other card's begins so. Case does not matter. Error: unknown_target, with all cards as context.
Result<std::size_t> find_card(const std::vector<CardIdentity>& cards, const std::string& wanted);

}  // namespace kiln::device
