#include "api/client/visible_cards.hpp"

#include <charconv>

namespace kiln::client {
namespace {

std::optional<std::size_t> number_of(std::string_view text) {
  std::size_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The entry's place among `cards`, or the entry itself where it is a UUID; nothing where it is neither.
std::optional<std::string> card_of(std::string entry, const std::optional<std::vector<std::string>>& cards) {
  entry.erase(0, entry.find_first_not_of(' '));
  entry.erase(entry.find_last_not_of(' ') + 1);
  if (entry.starts_with("GPU-")) return entry;
  const auto number = number_of(entry);
  if (!number || !cards) return number ? std::optional(entry) : std::nullopt;
  return *number < cards->size() ? std::optional((*cards)[*number]) : std::nullopt;
}

}  // namespace

VisibleCards VisibleCards::of(const Environment& environment) {
  VisibleCards cards;
  const auto choose = [&](const std::string& name) {
    std::string list;
    bool set = false;
    for (const auto& entry : environment.all)
      if (entry.starts_with(name + "=")) list = entry.substr(name.size() + 1), set = true;
    if (!set) return false;
    std::vector<std::string> shown;
    for (std::size_t begin = 0; begin <= list.size();) {
      const auto end = std::min(list.find(',', begin), list.size());
      auto card = card_of(list.substr(begin, end - begin), cards.shown_);
      if (!card) break;
      shown.push_back(std::move(*card));
      begin = end + 1;
    }
    cards.shown_ = std::move(shown);
    cards.variable_ = name + "=" + list;
    return true;
  };
  choose("ROCR_VISIBLE_DEVICES");
  if (!choose("HIP_VISIBLE_DEVICES")) choose("CUDA_VISIBLE_DEVICES");
  return cards;
}

Result<std::string> VisibleCards::daemon_name(const std::string& device) const {
  if (!shown_ || !device.starts_with("hip:")) return device;
  const auto number = number_of(std::string_view(device).substr(4));
  if (!number) return device;
  if (*number < shown_->size()) return "hip:" + (*shown_)[*number];
  return Error(ErrorCode::unknown_target, variable_ + " shows this process " + std::to_string(shown_->size()) +
                                              " cards: there is no " + device);
}

}  // namespace kiln::client
