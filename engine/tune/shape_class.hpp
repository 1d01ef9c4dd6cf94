// Sizes that tune alike. Small ones decide how tiles end, each alone; larger ones by their power of two and by whether
// rows keep 16-element pieces whole. Normative text: PROTOCOL.md, "Tuning".
#pragma once

#include <cstdint>
#include <string>

namespace kiln::tune {

inline constexpr std::int64_t exact_size_max = 32;
inline constexpr std::int64_t whole_piece = 16;

// "8" up to 32; "4096/16", the least power of two that is not below the size, where 16 divides it; else "4096".
// Requires: size >= 0.
std::string shape_class(std::int64_t size);

}  // namespace kiln::tune
