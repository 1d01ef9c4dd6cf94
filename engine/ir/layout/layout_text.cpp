#include <bit>

#include "engine/ir/layout/layout.hpp"

namespace kiln::layout {
namespace {

// One bit's image: {axis, bit} of a plain vector; axis -1 for a free bit, -2 for one that moves several coordinate
// bits.
struct Image { int axis, bit; };

Image image_of(const Coordinate& vector) {
  Image image{-1, 0};
  for (std::size_t axis = 0; axis < vector.size(); ++axis) {
    const auto entry = static_cast<std::uint64_t>(vector[axis]);
    if (entry == 0) continue;
    if (image.axis != -1 || !std::has_single_bit(entry)) return {-2, 0};
    image = {static_cast<int>(axis), std::countr_zero(entry)};
  }
  return image;
}

std::string several_text(const Coordinate& vector) {
  std::string text;
  for (std::size_t axis = 0; axis < vector.size(); ++axis) {
    for (int bit = 0; bit < 62; ++bit) {
      if ((vector[axis] >> bit & 1) == 0) continue;
      text += (text.empty() ? "" : "^") + std::to_string(axis) + "." + std::to_string(bit);
    }
  }
  return text;
}

std::string basis_text(const char* name, const Basis& basis) {
  std::string text;
  for (int b = 0; b < basis.bits();) {
    if (!text.empty()) text += ",";
    const Image first = image_of(basis.vectors[b]);
    int run = 1;
    if (first.axis >= 0) {
      for (; b + run < basis.bits(); ++run) {
        const Image next = image_of(basis.vectors[b + run]);
        if (next.axis != first.axis || next.bit != first.bit + run) break;
      }
      text += std::to_string(first.axis) + "." + std::to_string(first.bit);
      if (run > 1) text += "-" + std::to_string(first.bit + run - 1);
    } else {
      text += first.axis == -1 ? "-" : several_text(basis.vectors[b]);
    }
    b += run;
  }
  return std::string(name) + "(" + text + ")";
}

}  // namespace

std::string to_text(const RegLayout& layout) {
  std::string text = basis_text("reg", layout.reg) + " " + basis_text("lane", layout.lane);
  if (layout.wave.bits() > 0) text += " " + basis_text("wave", layout.wave);
  std::string repeat;
  bool repeated = false;
  for (const auto extent : layout.repeat) {
    repeat += (repeat.empty() ? "" : ",") + std::to_string(extent);
    repeated = repeated || extent != 1;
  }
  if (repeated) text += " repeat(" + repeat + ")";
  return text;
}

}  // namespace kiln::layout
