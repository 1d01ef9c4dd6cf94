// The kernel program: what one block does with registers, LDS and matrix instructions (ARCHITECTURE.md, "Kernel
// program"). Every decision about a target is visible here; emitters print it and decide nothing.
//
// Statements work on whole register arrays and LDS buffers; their layouts say which lane does what. On the host there
// is one wave, tiles live in LDS storages (packed scratch), `Direct` copies move data, and Mma reads LDS storages.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "engine/ir/bound/program.hpp"
#include "engine/ir/layout/layout.hpp"
#include "engine/ir/target/target.hpp"

namespace kiln::kernel {

using bound::ExprPtr;   // Expr::Kind::tile refers to a Storage id here; Kind::variable to Launch::variables

// Registers or LDS. Ids are positions in Launch::storages.
struct Storage {
  enum class Kind : std::uint8_t { regs, lds } kind = Kind::regs;
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  int tile = -1;                     // the bound tile it holds, -1 for lowering's own
  layout::RegLayout reg_layout;      // regs
  int vector_elements = 1;           // regs: emitted as vectors of so many registers (2^n, divides registers())
  layout::LdsLayout lds_layout;      // lds
  int stages = 1;                    // lds: copies, stage s at offset_bytes + s * stage_bytes()
  std::int64_t offset_bytes = 0;     // lds: in the block's LDS; storages with disjoint lifetimes may overlap
  [[nodiscard]] std::int64_t stage_bytes() const;  // lds: layout bytes rounded up to 16
};

// A rectangle of a tensor: start per tensor axis; which axis of the tile (register array, LDS buffer) runs along it, -1
// none.
struct GlobalRef {
  int tensor = 0;
  std::vector<ExprPtr> start;
  std::vector<int> tile_axis;
  std::vector<bool> checked;         // per tensor axis: the access may leave the tensor there and must be masked
  std::vector<ExprPtr> limit;        // per tensor axis: first index that counts as outside, null: the extent
};
// A rectangle of an LDS storage.
struct LdsRef {
  int storage = 0;
  ExprPtr stage;                     // null: 0
  std::vector<std::int64_t> start;   // per axis, constant; empty: 0
};

// buffer: raw buffer descriptor, out-of-range reads give 0 in hardware.
enum class Addressing : std::uint8_t { global, buffer };

struct LoadGlobal {
  int regs;
  GlobalRef from;
  int vector_bytes;
  Addressing addressing = Addressing::global;
  ExprPtr fill;
};
struct StoreGlobal { int regs; GlobalRef to; int vector_bytes; };           // out-of-range elements are dropped
struct LoadLds { int regs; LdsRef from; int vector_bytes; };
struct StoreLds { int regs; LdsRef to; int vector_bytes; };
// Global <-> LDS without registers. On the host a packing copy that is done when it returns (token -1).
struct Direct {
  bool to_lds = true;
  GlobalRef global;
  LdsRef lds;
  std::vector<std::int64_t> shape;
  ExprPtr fill;
  int token = -1;
  int vector_bytes = 0;
};
struct Wait { int token = -1; int pending = 0; };
struct Barrier { enum class Scope : std::uint8_t { block, role } scope = Scope::block; };
// c[m, n] += Σ a[m, k0 + k]·b[k0 + k, n] over the k of the operands given. CDNA, RDNA: register arrays, a as [m, k] and
// b as [n, k] operand layouts, k origin constants select part of a longer array (attention's P). `swapped`: the
// instruction's first operand is b and the result layout is transposed (m along lanes' columns), so that a lane holds
// neighbours along n.
// Host: a, b, c are LDS storages, a as [m, k] (or [k, m] when a_transposed), b as [k, n] ([n, k] when b_transposed);
// block_m x block_n accumulators stay in registers over all k.
struct Mma {
  std::string instruction;
  int a = 0, b = 0, c = 0;
  std::int64_t a_k = 0, b_k = 0, k = 0;      // k origin in a and b, extent along k
  bool swapped = false, clear = false;
  bool a_transposed = false, b_transposed = false;
  int block_m = 0, block_n = 0;              // host
  ExprPtr m_limit, n_limit, k_limit;         // host: rows, columns, k from here on need not be computed; null: all are
};
struct Fill { int storage = 0; ExprPtr value; };
// Elementwise. Registers: every lane does its part of `iteration`; operands in registers have layouts that agree with
// it (equal, or slices); LDS and tensors may be read at any index. Host: loops, the last index along the vector.
struct Map {
  std::vector<int> index;
  std::vector<std::int64_t> extent;
  layout::RegLayout iteration;               // unused on the host
  std::vector<bound::MapItem> body;          // tile targets are storages
  // Per access: must be masked. Accesses are the element nodes (tile, tensor) of each item in turn: of its condition,
  // outer before inner, left to right; then of its value; of its comparison and its indices; then, unless the item is a
  // let, the target. Shorter: the rest is checked. An item's value, indices and target happen only where its condition
  // holds: they may be proved from it. Atomics: every point of `iteration` is in one register of one lane (no free
  // bits).
  std::vector<bool> checked;
  std::vector<ExprPtr> limit;                // host: per index, iterations from here on need not run; shorter or null: all do
};
// Combines along `axis`; registers first, then lanes (butterfly), then waves through `scratch` (an LDS storage, -1: not
// needed). `to` has from's layout sliced along the axis. scratch: to's dtype, shape [parts, to's shape…], where `parts`
// is the number of waves that divide the axis (reduce_parts): each wave writes its part, one block barrier, every wave
// reads all parts and combines them in order. The barrier is the statement's own; what protects scratch from earlier
// and later users is not.
struct Reduce {
  tile::ReduceOp op = tile::ReduceOp::sum;
  int from = 0, to = 0, axis = 0;
  bool accumulate = false;
  int scratch = -1;
  std::vector<ExprPtr> limit;                // host: per axis of `from`, as in Map
};
// Between layouts, and between dtypes. method lds: the whole of `from` is stored to scratch (shape and dtype of `to`),
// one block barrier of the statement's own, then `to` is loaded from it.
struct Convert { int from = 0, to = 0; layout::Conversion method = layout::Conversion::registers; int scratch = -1; };
struct Sched {                               // hints; change no meaning
  enum class Kind : std::uint8_t { fence, group, priority } kind = Kind::fence;
  int mask = 0, count = 0;                   // group: sched_group_barrier mask and size; priority: count
};
struct Stmt;
using Body = std::vector<Stmt>;
struct For { int var = 0; ExprPtr from, to, step; bool unroll = false; Body body; };
struct If { ExprPtr condition; Body then, otherwise; };
struct Let { int var = 0; ExprPtr value; };
// Where the condition holds the block ends here: one value for all its waves, which end together, so that none waits at
// a barrier for another. Not under a condition that lanes decide.
struct Leave { ExprPtr condition; };

struct Stmt {
  std::string pointer;   // the tile program's statement it comes from, may be empty
  std::string note;      // why, printed behind '#'
  std::variant<LoadGlobal, StoreGlobal, LoadLds, StoreLds, Direct, Wait, Barrier, Mma, Fill, Map, Reduce, Convert,
               Sched, For, If, Let, Leave> node;
};

struct Role {            // a named group of waves
  std::string name = "all";
  int first_wave = 0, waves = 1;
  int register_budget = 0;  // VGPRs a lane, 0: the target's
  Body body;
};

// Rows of blocks grouped (columns, with `columns`); blocks dealt over XCDs. On the host the device walks the grid so.
struct BlockOrder { std::int64_t group = 1; int xcds = 1; bool columns = false; };

struct Launch {
  std::string symbol;                     // "<program>_<index>"
  bound::Extents grid;                    // x y z
  int threads = 64, wave = 64;            // threads a multiple of wave
  BlockOrder order;
  std::vector<Storage> storages;
  std::vector<bound::Variable> variables;
  std::vector<Role> roles;
  std::int64_t lds_bytes = 0;             // of a block, all storages
  int waves_per_simd = 0;                 // occupancy that lowering planned for, 0: no statement
};

struct Program {
  std::string name, target;
  std::vector<bound::Symbol> symbols;     // dynamic ones: an i32 argument each, behind the tensors
  std::vector<bound::Tensor> tensors;     // arguments, in order
  std::vector<Launch> launches;
};

// One statement a line, stable: the golden text.
std::string print(const Program& program);

// After lowering and after every rewrite. All findings, each naming launch, statement (path "body/3/for/2") and reason:
// maps cover their tiles; LDS accesses inside their buffers; every value read was written; a barrier on every path
// between a write and a read, and a read and an overwrite, of the same LDS bytes by different waves, loop back edges
// included; tokens waited for; registers fit; LDS fits; matrix instructions exist with the layouts they imply; no
// barrier under a divergent if. A diagnostic for each, at the tile program's statement that it comes from.
Status verify(const Program& program, const target::Target& target);
// Hints of the kinds of findings that a correct lowering cannot prevent: fragments that registers do not hold, a map
// whose iterations meet in LDS across waves (for certain, or where only running tells), more statements than are run
// through.
inline constexpr const char* registers_hint = "make the tiles smaller or ask for more threads";
inline constexpr const char* race_hint =
    "an iteration may not use what another one sets: set in one map, read in the next";
inline constexpr const char* unknown_race_hint =
    "use elements in another map than the one that sets them, or by the same indices";
inline constexpr const char* length_hint = "nest fewer loops, or leave them serial";

// ---- expansion: what a statement is for one lane; shared by emitters, verifier and the conflict counter ----

// One vector access of a Load/Store between registers and memory: `registers` (ascending in memory) <-> `bytes` at one
// address.
struct VectorAccess {
  std::vector<int> registers;     // of the register array, in the order of the memory elements
  layout::Coordinate coordinate;  // of the first element, register part only (lane and wave parts add)
};
// Splits the array into accesses of `vector_bytes`, contiguous along tile axis `axis` and aligned to it there (for
// every lane and wave), ordered by their first register. Each register is in exactly one. Error when the layout cannot.
Result<std::vector<VectorAccess>> vector_accesses(const Storage& regs, int axis, int vector_bytes);

// One matrix instruction of an Mma on register arrays: first registers of each operand group (operand_elements
// consecutive ones of a and of b, result_elements of c). Step order: k outermost, then c's groups, so that successive
// steps are independent. The steps are proved for every lane and wave: rows of a and b are the instruction's for c's,
// and each k slot of the instruction holds the same k of a and b. With `swapped` the instruction's first operand is b.
struct MmaStep { int a = 0, b = 0, c = 0; };
Result<std::vector<MmaStep>> mma_steps(const Launch& launch, const Mma& mma,
                                       const target::MatrixInstruction& instruction);

// The waves that divide `axis`: the bits of a wave index that move it, lowest first, are a part's number. 1 part: none
// do.
struct ReduceParts { std::vector<int> wave_bits; [[nodiscard]] int count() const { return 1 << wave_bits.size(); } };
ReduceParts reduce_parts(const layout::RegLayout& from, int axis);

// The widest access, in bytes (a power of two, at most 16, at least one element), with which `regs` moves to or from
// the whole of `lds`, both of the same shape: what a Convert through scratch uses for its stores and loads.
int lds_vector_bytes(const Storage& regs, const layout::LdsLayout& lds);

// Byte offset in its storage of each lane (wave `wave`) for one access; what bank conflicts are counted on.
std::vector<std::int64_t> lane_offsets(const Storage& regs, const Storage& lds, const LdsRef& ref,
                                       const VectorAccess& access, int lanes, int wave);

}  // namespace kiln::kernel
