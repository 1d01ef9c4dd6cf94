// What the interpreter keeps for each tile and each tensor besides its values: whether an element was ever written, and
// who touched it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/ir/bound/arithmetic.hpp"
#include "engine/ir/bound/program.hpp"

namespace kiln::reference {

// Who wrote, read and atomically updated an element: an iteration of a map, or a block of a launch, by number. At most
// one writer is ever kept, since a second one is a finding.
struct Watch {
  static constexpr std::uint32_t none = 0xffffffff;
  std::uint32_t writer = none, reader = none, second_reader = none, updater = none, second_updater = none;

  // Somebody else who updated it, or `none`.
  [[nodiscard]] std::uint32_t updated_by_other(std::uint32_t who) const {
    return updater != none && updater != who ? updater : second_updater;
  }
  // Marks an atomic: any number of them are fine, beside a plain access of another they are not.
  std::uint32_t updated_by(std::uint32_t who) {
    if (writer != none && writer != who) return writer;
    if (reader != none && reader != who) return reader;
    if (second_reader != none) return second_reader;
    if (updater == none) updater = who;
    else if (updater != who) second_updater = who;
    return none;
  }
  // Marks a read. The number of the writer that it races with, or `none`.
  std::uint32_t read_by(std::uint32_t who) {
    if (writer != none && writer != who) return writer;
    if (const auto other = updated_by_other(who); other != none) return other;
    if (reader == none) reader = who;
    else if (reader != who) second_reader = who;
    return none;
  }
  // Marks a write. The number of the writer or of a reader that it races with, or `none`.
  std::uint32_t written_by(std::uint32_t who) {
    if (writer != none && writer != who) return writer;
    if (reader != none && reader != who) return reader;
    if (second_reader != none) return second_reader;
    if (const auto other = updated_by_other(who); other != none) return other;
    writer = who;
    return none;
  }
};

// A watch that forgets by itself when the epoch (the execution of one map) changes.
struct EpochWatch {
  std::uint64_t epoch = 0;
  Watch watch;
  Watch& at(std::uint64_t now) {
    if (epoch != now) *this = {now, {}};
    return watch;
  }
};

struct TileState {
  const bound::Tile* tile = nullptr;
  std::vector<bound::Value> values;    // row-major
  std::vector<std::uint8_t> written;   // this block wrote the element
  std::vector<double> scale;           // error scale; empty when nobody asks for it
  std::vector<EpochWatch> watch;       // empty until a map that writes the tile is watched
};

struct TensorState {
  const bound::Tensor* tensor = nullptr;
  std::vector<std::int64_t> extents, strides;  // the tensor's
  std::uint8_t* data = nullptr;
  std::int64_t element_bytes = 0;
  bound::LoadFunction load = nullptr;
  bound::StoreFunction store = nullptr;
  double* scale = nullptr;             // one an element of the span; null when nobody asks, or for tensors only read
  std::vector<Watch> blocks;           // one an element of the span, for tensors that the running launch writes
  std::vector<EpochWatch> watch;       // like a tile's
  std::vector<std::uint8_t> written;   // workspace that is not zeroed: who reads must find 1; empty: all may be read
};

}  // namespace kiln::reference
