#include "engine/device/card_names.hpp"

#include <algorithm>
#include <cctype>

#include "engine/base/bytes.hpp"

namespace kiln::device {
namespace {

constexpr std::size_t beginning_min = 4;
constexpr std::size_t named_max = 80;

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c); });
  return text;
}

std::string without(const std::string& text, const std::string& beginning) {
  return text.starts_with(beginning) ? text.substr(beginning.size()) : text;
}

bool is_named(const CardIdentity& card, const std::string& wanted) {
  const auto uuid = without(lower(card.uuid), "gpu-"), pci = lower(card.pci);
  if (!pci.empty() && (wanted == pci || wanted == without(pci, "0000:"))) return true;
  return !uuid.empty() && (wanted == uuid || wanted == to_hex(view(without(card.uuid, "GPU-"))));
}

bool begins(const CardIdentity& card, const std::string& wanted) {
  return wanted.size() >= beginning_min && without(lower(card.uuid), "gpu-").starts_with(wanted);
}

}  // namespace

bool may_name_card(const std::string& text) {
  return text.size() >= beginning_min && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == ':' || c == '.' || c == '-';
  });
}

Result<std::size_t> find_card(const std::vector<CardIdentity>& cards, const std::string& wanted) {
  const auto name = without(lower(wanted), "gpu-");
  std::vector<std::size_t> found;
  const auto collect = [&](bool (*matches)(const CardIdentity&, const std::string&)) {
    for (std::size_t i = 0; i < cards.size(); ++i)
      if (matches(cards[i], name)) found.push_back(i);
  };
  collect(is_named);
  if (found.empty()) collect(begins);
  if (found.size() == 1) return found[0];
  Error error(ErrorCode::unknown_target, (found.empty() ? "no card is called " : "several cards are called ") +
              wanted.substr(0, named_max) + ": a card is named by its number, UUID or PCI address");
  for (std::size_t i = 0; i < cards.size(); ++i)
    error.context.push_back("there is: hip:" + std::to_string(i) + ", UUID " + cards[i].uuid + ", PCI " + cards[i].pci);
  return error;
}

}  // namespace kiln::device
