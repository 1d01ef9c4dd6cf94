// Runs one launch of a bound program, block after block.
#pragma once

#include <optional>
#include <vector>

#include "engine/base/deadline.hpp"
#include "engine/reference/code.hpp"
#include "engine/reference/findings.hpp"
#include "engine/reference/state.hpp"

namespace kiln::reference {

class Machine {
 public:
  // `tensors`: one a parameter; their `blocks` watches are made here for those that the launch writes.
  Machine(const bound::Program& program, const bound::Launch& launch, std::vector<TensorState>& tensors, Budget& budget,
          bool check_races, bool with_scale);
  Status run();

 private:
  // One side of a copy, ready to walk.
  struct Side {
    bool is_tensor = false;
    int id = 0;
    std::vector<std::int64_t> start;        // an axis of the owner
    std::vector<std::int64_t> extents;      // the owner's
    std::vector<std::int64_t> strides;      // the owner's, in elements
    std::vector<std::size_t> axis;          // of each ranged axis: the owner's axis
  };
  // What of a copy's ranged index space a tensor has: [low, high) an axis; nothing when an index lies outside.
  struct Window {
    std::vector<std::int64_t> low, high;
    bool empty = false;
    [[nodiscard]] bool holds(const std::vector<std::int64_t>& at) const;
  };

  Status body(const bound::Body& statements);
  Status stmt(const bound::Stmt& stmt);
  Status run_node(const bound::Copy& copy);
  Status run_node(const bound::Fill& fill);
  Status run_node(const bound::Gemm& gemm);
  Status run_node(const bound::Map& map);
  Status run_node(const bound::Reduce& reduce);
  Status run_node(const bound::Scan& scan);
  Status run_node(const bound::For& loop);
  Status run_node(const bound::If& condition);
  Status run_node(const bound::Let& let);
  Status run_node(const bound::Leave& leave);

  // copy.cpp
  Result<Side> side_of(const bound::Region& region, const std::vector<std::int64_t>& shape);
  Result<Window> window_of(const bound::Copy& copy, const Side& tensor_side);
  Status copy_in(const bound::Copy& copy, const Side& from, const Side& to, const Window& window);
  Status copy_out(const bound::Copy& copy, const Side& from, const Side& to, const Window& window);
  Status copy_between(const bound::Copy& copy, const Side& from, const Side& to);
  std::vector<std::int64_t> owner_indices(const Side& side, const std::vector<std::int64_t>& at) const;
  bool watch_blocks(int tensor, std::int64_t offset, bool writes, const Side& side,
                    const std::vector<std::int64_t>& at);
  bool mark_workspace(int tensor, std::int64_t offset, bool writes, const Side& side,
                      const std::vector<std::int64_t>& at);

  // reduce.cpp
  Status reduce_row(const bound::Reduce& reduce, std::int64_t outer, std::int64_t inner, std::int64_t stride);
  Status scan_row(const bound::Scan& scan, std::int64_t first, std::int64_t stride);
  Status place_row(const bound::Reduce& reduce, std::int64_t first, std::int64_t place, std::int64_t stride);
  Status check_written(int tile, std::int64_t offset);
  Status check_all_written(int tile);

  // gemm_statement.cpp
  void gemm_floats(const bound::Gemm& gemm);
  void gemm_integers(const bound::Gemm& gemm);

  // The value of an expression outside a map.
  Result<bound::Value> evaluate(const bound::Expr& expr, double* scale = nullptr);
  Result<std::int64_t> evaluate_index(const bound::Expr& expr);

  // execute.cpp. False: `finding_` holds the error.
  template <bool scaled> bool execute(const Code& code);
  bool execute_code(const Code& code) { return with_scale_ ? execute<true>(code) : execute<false>(code); }
  template <bool scaled> bool load_tile(const Instruction& in, const Code& code);
  template <bool scaled> bool load_tensor(const Instruction& in, const Code& code);
  template <bool scaled> bool store_tile(const Instruction& in, const Code& code);
  template <bool scaled> bool store_tensor(const Instruction& in, const Code& code);
  template <bool scaled> bool update_tensor(const Instruction& in, const Code& code);
  // The element's place in its owner; below 0 for one that is not there (`nowhere`, with a finding, or `outside`).
  std::int64_t locate(const Instruction& in, const Code& code, const std::vector<std::int64_t>& extents,
                      const std::vector<std::int64_t>* strides, bool tensor);
  enum class Touch : std::uint8_t { read, write, update };
  bool watch_map(EpochWatch& watch, Touch touch, const Instruction& in, const Code& code, bool tensor);
  std::vector<std::int64_t> indices_of(const Instruction& in, const Code& code, std::size_t rank) const;
  bool fail(Error error);

  const bound::Program& program_;
  const bound::Launch& launch_;
  std::vector<TensorState>& tensors_;
  Budget& budget_;
  const bool check_races_, with_scale_;
  CodeBook book_;
  std::vector<TileState> tiles_;
  Place place_;
  std::uint32_t block_number_ = 0;
  bool left_ = false;                     // the block has ended before its last statement
  std::uint64_t epoch_ = 0;               // one more with each map that runs
  std::optional<Error> finding_;
};

// The row-major indices of an element of a tile.
std::vector<std::int64_t> tile_indices(const bound::Tile& tile, std::int64_t offset);
// Row-major strides of extents.
std::vector<std::int64_t> row_major_strides(const std::vector<std::int64_t>& extents);

}  // namespace kiln::reference
