// Moving data between memory of the host and rows of vector registers, all lanes at once.
#pragma once

#include <cstdint>

#include "engine/emulator/core/memory.hpp"

namespace kiln::emulator {

enum class Half : std::uint8_t { whole, low, high };  // d16: which half of the register, the other one is kept

// What one lane moves.
struct Transfer {
  std::uint8_t bytes = 4;      // 1, 2, 4, 8, 12, 16
  bool sign = false;           // sub-dword loads: sign-extended
  Half half = Half::whole;
};
constexpr int dwords(const Transfer& transfer) { return transfer.bytes <= 4 ? 1 : transfer.bytes / 4; }

using Row = std::uint32_t (*)[lanes];

// Addresses of an instruction's lanes and which of them take part.
struct alignas(64) Addresses {
  std::uint64_t at[lanes];
  std::uint64_t active = 0;
};

// Gives the lanes that do not take part the address of the first that does, so that loops need not ask.
// Requires: a lane takes part.
void fill_inactive(Addresses& addresses);

// Whether every taking part lane's [at, at + bytes) is mapped (writable if `store`). False: the wave has stopped at the
// first lane that is not. Fills the lanes that do not take part.
bool check_addresses(Wave& wave, const Instruction& instruction, Addresses& addresses, std::uint32_t bytes, bool store);

// row[lane] = values[lane] in `mask`'s lanes.
void write_lanes(std::uint32_t* row, const std::uint32_t* values, std::uint64_t mask);

// Loads into the rows from `rows` on, in the lanes that take part. Requires: filled, every address readable.
void load_lanes(Row rows, const Addresses& addresses, const Transfer& transfer);
// Stores from the rows; where lanes overlap the highest wins. Requires: filled, every address writable.
void store_lanes(Row rows, const Addresses& addresses, const Transfer& transfer);
// Sets what a load of the transfer writes to 0 in `mask`'s lanes.
void zero_lanes(Row rows, std::uint64_t mask, const Transfer& transfer);

// Adds the lines of the segments of one execution, each once, to the work group's log, if there is one.
void log_lines(Wave& wave, const std::uint64_t* segments, int count);
// Counts device memory traffic of one execution when the launch is profiled.
void count_traffic(Wave& wave, const Instruction& instruction, const Addresses& addresses, std::uint32_t bytes);

// Whether `count` vector registers from the operand's on exist.
inline bool rows_fit(const Source& operand, int count) {
  return operand.kind == Source::Kind::vector && operand.index + count <= vector_registers;
}

}  // namespace kiln::emulator
