// What the steps of AMD lowering decide about one launch, before any statement is emitted. Each step fills its part.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/ir/bound/program.hpp"
#include "engine/ir/kernel/matrix_layouts.hpp"
#include "engine/ir/kernel/program.hpp"
#include "engine/ir/target/target.hpp"
#include "engine/lower/bounds.hpp"
#include "engine/lower/lower.hpp"

namespace kiln::lower::amd {

// What a candidate prefers; everything else follows from it.
struct Strategy {
  int rows = 32;                 // of the matrix instruction
  bool keep_operands = true;     // operands that a loop does not change stay in registers
  // operands are read from LDS one slice of k before their products, where registers allow
  bool read_ahead = true;
  bool operator==(const Strategy&) const = default;
};

// Where a statement stands: what is known of variables there, and how often it runs (loops at their longest).
struct Site {
  const bound::Stmt* stmt = nullptr;
  Facts facts;
  int depth = 0;                 // loops around it
  double runs = 1;
};

// One operand of a matrix product, as the instruction takes it.
struct OperandPlan {
  int tile = -1;
  bool in_registers = false;     // a fragment: the whole of it is the operand
  bool scratch = false;          // a fragment that goes through LDS to become the operand
  bool across = false;           // the shared tile lies in LDS as [k, rows]: another product takes it the other way round
  layout::RegLayout layout;      // [rows, k_slice] read from LDS, [rows, k] in registers
};

struct GemmPlan {
  const target::MatrixInstruction* instruction = nullptr;  // null: by multiply and add on the vector unit
  std::string why_not;           // for the vector unit: why no matrix instruction fits
  kernel::WaveGrid grid;
  int spare_bits = 0;            // waves beyond the grid repeat its work
  int k_pack = 1;
  std::int64_t m = 0, n = 0, k = 0, k_slice = 0;  // k of one step of reads and products
  layout::RegLayout result;      // [m, n]
  OperandPlan a, b;
  bool read_ahead = false;       // the next slice is read under this one's products
  // What the program asked for: words about what is honoured, and about hints that are not.
  std::string honoured, left_out;
};

struct TilePlan {
  bool placed = false;
  layout::RegLayout home;        // fragments: where the value is between statements
  std::string origin;            // what the layout comes from
  std::vector<int> axes;         // shared: storage axis -> tile axis ([rows, k] for operands)
  int fast = -1;                 // shared: the storage axis that is contiguous
  layout::LdsLayout lds;
  int conflicts = 0;             // counted for the chosen layout, reads and writes, each instruction once
  bool by_request = false;
};

// The register form of a copy between a tensor and a shared tile, axes as the tile's storage.
struct CopyPlan {
  layout::RegLayout map;
  int vector_elements = 1;       // in global memory
  int memory_axis = -1;          // storage axis along the tensor's contiguous axis, -1: none
};

struct Cost {
  double cycles = 0;             // estimate for one block: matrix unit, LDS, vector unit
  int registers = 0;             // estimate, 4-byte registers a lane
  std::int64_t lds_bytes = 0;
};

struct Plan {
  Strategy strategy;
  int waves = 1, wave_bits = 0;  // a power of two
  std::vector<TilePlan> tiles;
  std::map<const bound::Stmt*, GemmPlan> gemms;    // looked up, never walked
  std::map<const bound::Stmt*, CopyPlan> copies;
  Cost cost;
};

// The launch being lowered, for all steps.
struct Subject {
  const bound::Program& program;
  const bound::Launch& launch;
  const target::Target& target;
  std::vector<Site> sites;       // every statement, in order, outermost first
  int wave_bits = 0;             // waves that the program's threads make, or that its tiles keep busy
  std::vector<bool> odd;         // by tile: its extents have too few factors of two to be spread over the lanes

  [[nodiscard]] int lane_bits() const { return target.wave == 32 ? 5 : 6; }
  [[nodiscard]] const bound::Tile& tile(int id) const { return launch.tiles[id]; }
  // Shared tiles, and fragments of odd extents: registers would hold these many times over.
  [[nodiscard]] bool in_lds(int id) const { return launch.tiles[id].space == Space::shared || odd[id]; }
  // Whether an index space of this shape cannot be spread over lanes and waves without holding much of it repeatedly.
  [[nodiscard]] bool is_odd(const std::vector<std::int64_t>& shape) const;
};

template <class Node>
const Node* node_of(const bound::Stmt& stmt) { return std::get_if<Node>(&stmt.node); }

// ---- the steps, each in its file ----

// survey.cpp: the program with the starts of tiles that are taken whole written out, so that regions have all their
// axes.
bound::Program with_full_regions(bound::Program program);
// Every statement with its facts.
Subject survey(const bound::Program& program, const bound::Launch& launch, const target::Target& target);
// schedule.cpp: what the program asks of a gemm, its launch's waves where it says nothing itself.
struct Asked {
  int m = 0, n = 0, k = 0, k_pack = 0;  // 0: lowering's choice
  int waves_m = 0, waves_n = 0;
  bool hint = false, waves_hint = false;
  std::string pointer, waves_pointer;   // of the schedules
  [[nodiscard]] bool takes(const target::MatrixInstruction& one) const {
    return (m == 0 || m == one.m) && (n == 0 || n == one.n) && (k == 0 || k == one.k);
  }
  [[nodiscard]] bool takes(const kernel::WaveGrid& grid) const {
    return (waves_m == 0 || waves_m == 1 << grid.m_bits) && (waves_n == 0 || waves_n == 1 << grid.n_bits);
  }
  [[nodiscard]] bool any_instruction() const { return m > 0 || n > 0 || k > 0; }
  [[nodiscard]] bool any_waves() const { return waves_m > 0 || waves_n > 0; }
  [[nodiscard]] bool any() const { return any_instruction() || any_waves() || k_pack > 0; }
  // "instruction 16x16, waves 2x*, k-pack 2"
  [[nodiscard]] std::string text() const;
};
Asked asked_of(const Subject& subject, const bound::Stmt& stmt, const bound::Gemm& gemm);
// The error of a schedule that cannot be honoured, located at `pointer`.
Error not_honoured(std::string pointer, std::string message, std::string expected, std::string found,
                   std::string hint = "");
// The rows of the instructions that all gemms ask for; 0: not all do, or not the same.
int rows_asked(const Subject& subject);
// The copies that a pipelined loop does an iteration ahead, in their order, of those that it could (`able`, in the
// program's order), by the turns of its statements. Errors: unsupported.
Result<std::vector<const bound::Stmt*>> prefetched_copies(const Subject& subject, const bound::For& loop,
                                                          const std::vector<const bound::Stmt*>& able, Lowered& report);
// Whether statements of the loop have turns.
bool has_turns(const bound::For& loop);
// The launch's order of blocks. Errors: unsupported.
Result<kernel::BlockOrder> block_order(const Subject& subject, Lowered& report);
// anchor.cpp: matrix instruction and wave grid of each gemm; waves of the block. Errors: unsupported.
Status anchor(const Subject& subject, Plan& plan);
// propagate.cpp: layouts of all fragments, operands of gemms. Errors: unsupported.
Status propagate(const Subject& subject, Plan& plan);
// shared_layouts.cpp: thread maps of copies into shared tiles, and the tiles' layouts by exact conflict counts.
Status choose_shared_layouts(const Subject& subject, Plan& plan);
// cost.cpp: the estimate that ranks candidates.
Cost estimate(const Subject& subject, const Plan& plan);

}  // namespace kiln::lower::amd
