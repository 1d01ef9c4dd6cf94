// RDNA3 renamed most of what it took over from CDNA. The tables of the families name instructions as CDNA does; these
// give CDNA's name of an instruction that does the same there, else the name as it is.
#pragma once

#include <string_view>

#include "engine/emulator/core/wave.hpp"

namespace kiln::emulator {

// Whole mnemonics.
std::string_view scalar_name_rdna(std::string_view name);
std::string_view vector_name_rdna(std::string_view name);
// Behind the prefix: "load_b32" of global_load_b32, "load_2addr_b32" of ds_load_2addr_b32.
std::string_view memory_name_rdna(std::string_view rest);
std::string_view lds_name_rdna(std::string_view rest);

inline std::string_view scalar_name(std::string_view name, Family family) {
  return family == Family::gfx11 ? scalar_name_rdna(name) : name;
}
inline std::string_view memory_name(std::string_view rest, Family family) {
  return family == Family::gfx11 ? memory_name_rdna(rest) : rest;
}
inline std::string_view lds_name(std::string_view rest, Family family) {
  return family == Family::gfx11 ? lds_name_rdna(rest) : rest;
}

}  // namespace kiln::emulator
