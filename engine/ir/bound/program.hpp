// The bound program: a tile program with symbols, options, tunables and target put in (engine/specialize makes it).
// All names are resolved to ids, all expressions typed, all extents integers, all compile-time conditions decided.
// It is what the interpreter runs, what lowering takes, what travels to workers and what the key hashes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/ir/bound/records.hpp"
#include "engine/ir/bound/schedule.hpp"
#include "engine/ir/tile/expression.hpp"
#include "engine/ir/tile/program.hpp"
#include "engine/ir/types.hpp"

namespace kiln::bound {

struct Expr;
using ExprPtr = std::shared_ptr<const Expr>;

// Typed expression. `type` is DType::index for index arithmetic (mathematical integers; the verifier has proved that no
// value leaves 64 bits), else an element type. Arithmetic is PROGRAM.md's: exactly defined, in `type`.
// Operands of a binary node have equal types (casts are explicit nodes); comparisons give boolean.
struct Expr {
  enum class Kind : std::uint8_t {
    integer,     // integer, of integer type or boolean
    real,        // real, already rounded to `type`
    block,       // integer: 0 x, 1 y, 2 z; type index
    variable,    // integer: variable id (loops, lets, map indices)
    scalar,      // integer: tensor id of a scalar parameter
    symbol,      // integer: number of a dynamic symbol; type index
    unary, binary, call,  // op, args
    select,      // condition (boolean), if true, if false
    cast,        // args[0] converted to `type` (PROGRAM.md, "Conversion")
    tile,        // integer: tile id; args: one index an axis
    tensor,      // integer: tensor id; args: one index an axis
  } kind = Kind::integer;
  Op op = Op::add;
  DType type = DType::index;
  std::int64_t integer = 0;
  double real = 0;
  std::vector<ExprPtr> args;
};
ExprPtr make_integer(std::int64_t value, DType type = DType::index);
// A constant of a float type, rounded to it.
ExprPtr make_real(double value, DType type);
// Folds constants and trivial identities (x + 0, x * 1, x * 0); otherwise builds the node. Operands have equal types;
// the node's type and kind (min, max, ceildiv, pow and mulhi are calls) follow from arithmetic.hpp.
ExprPtr make_binary(Op op, ExprPtr a, ExprPtr b);
// The same for any node whose kind, op, type and args are set: a constant when all its args are (unary, binary, call,
// cast) or when its condition is (select); otherwise the node as it is.
ExprPtr fold(Expr node);
inline bool is_constant(const Expr& e) { return e.kind == Expr::Kind::integer || e.kind == Expr::Kind::real; }

// A size that each launch gives: a multiple of `multiple_of` from min to max. Kernels take it as an i32 behind their
// parameters.
struct Symbol {
  std::string name;
  std::int64_t min = 0, max = symbol_max, multiple_of = 1;
  static constexpr std::int64_t symbol_max = (std::int64_t(1) << 31) - 1;
};
// The values of a program's dynamic symbols, in order.
using SymbolValues = std::vector<std::int64_t>;

// An extent, a stride or a number of blocks: known, or index arithmetic over dynamic symbols.
class Extent {
 public:
  Extent(std::int64_t value = 0) : value_(value) {}
  Extent(ExprPtr expr) {
    if (expr && expr->kind == Expr::Kind::integer) value_ = expr->integer;
    else expr_ = std::move(expr);
  }
  [[nodiscard]] bool is_static() const { return !expr_; }
  // Requires is_static().
  [[nodiscard]] std::int64_t value() const;
  [[nodiscard]] bool is(std::int64_t value) const { return is_static() && value_ == value; }
  [[nodiscard]] ExprPtr expr() const { return expr_ ? expr_ : make_integer(value_); }
  // Of these values; nothing when it leaves 64 bits or needs a symbol that is not there.
  [[nodiscard]] std::optional<std::int64_t> at(std::span<const std::int64_t> symbols) const;

 private:
  std::int64_t value_ = 0;
  ExprPtr expr_;  // null: static
};
using Extents = std::vector<Extent>;
inline Extents extents_of(const std::vector<std::int64_t>& values) { return {values.begin(), values.end()}; }
// Of static extents.
std::vector<std::int64_t> values(const Extents& extents);
bool all_static(const Extents& extents);

struct Tensor {           // one parameter, in order; scalars have rank 0 and scalar == true; behind them the workspace
  std::string name;
  DType dtype = DType::f32;
  bool scalar = false;
  Extents shape, strides;                    // strides in elements
  Access access = Access::read;
  std::int64_t align_bytes = 16;             // alignment class of base and pitch: 1, 2, 4, 8, 16 (part of the binding)
  bool may_alias = false;
  bool workspace = false;                    // the engine's own for a launch: no argument
  bool zeroed = false;                       // workspace: holds 0 before the first launch; else nothing that may be read
  // 1 + Σ (shape-1)*stride; 0 when any extent is 0. Requires values for all symbols that it uses, as check_values has
  // found them good.
  [[nodiscard]] std::int64_t elements_span(std::span<const std::int64_t> symbols = {}) const;
  [[nodiscard]] std::int64_t bytes(std::span<const std::int64_t> symbols = {}) const {
    return elements_span(symbols) * dtype_bytes(dtype);
  }
  [[nodiscard]] bool is_static() const { return all_static(shape) && all_static(strides); }
};
// Where a tensor's elements are, as far as that is known: tensors that may alias have one number, that of their first.
int memory_of(const std::vector<Tensor>& tensors, int tensor);
struct Tile {
  std::string name;
  DType dtype = DType::f32;
  Space space = Space::fragment;
  std::vector<std::int64_t> shape;           // rank 1 to 4, extents >= 1
  LayoutSpec layout;
  [[nodiscard]] std::int64_t elements() const;
};
struct Variable {                            // of a loop, let or map
  std::string name;
  DType type = DType::index;
};

// A rectangle: tensor or tile, a start per axis, which axes stay (ranged, extents follow the other side's tile).
struct Region {
  bool is_tensor = false;
  int id = 0;
  std::vector<ExprPtr> start;
  std::vector<bool> ranged;
};

struct Stmt;
using Body = std::vector<Stmt>;

struct Copy {
  Region from, to;                           // at least one side is a tile taken whole or by region
  std::vector<std::int64_t> shape;           // extents of the ranged axes
  ExprPtr fill;                              // value for reads outside the tensor, in from's dtype
  std::vector<ExprPtr> limit;                // per ranged axis of the tensor side, null: the tensor's extent
  CopySchedule schedule;
};
struct Fill { int tile = 0; ExprPtr value; };
struct Gemm {                                // c[m,n] += Σk a·b ; clear: c = …
  int a = 0, b = 0, c = 0;                   // tiles
  bool transpose_a = false, transpose_b = false, clear = false;
  GemmSchedule schedule;
};
struct MapItem {
  int let = -1;                              // variable id, or
  bool tensor = false;                       // set: target tensor or tile
  int target = -1;
  std::vector<ExprPtr> indices;
  ExprPtr value;                             // of the target's dtype / the variable's type
  ExprPtr where;                             // set: a boolean, without which nothing of the item happens; null: true
  tile::AtomicOp atomic = tile::AtomicOp::none;  // on a tensor: updates the element with `value`, at once
  ExprPtr compare;                           // cas
  int old = -1;                              // atomic: variable that gets what the element was; -1: none
};
struct Map {
  std::vector<int> index;                    // variable ids
  std::vector<std::int64_t> extent;
  std::vector<MapItem> body;
};
struct Reduce { tile::ReduceOp op = tile::ReduceOp::sum; int from = 0, to = 0; int axis = 0; bool accumulate = false; };
struct Scan { tile::ReduceOp op = tile::ReduceOp::sum; int from = 0, to = 0; int axis = 0; bool reverse = false; };
struct For {
  int var = 0;
  ExprPtr from, to, step;                    // step: a positive integer constant
  tile::For::Kind kind = tile::For::Kind::serial;
  int stages = 0;                            // 0: lowering's choice
  bool hint = false;                         // of the turns of the body's statements
  Body body;
};
struct If { ExprPtr condition; Body then, otherwise; };  // condition uniform over the block
struct Let { int var = 0; ExprPtr value; };              // uniform over the block
struct Leave { ExprPtr condition; };                     // where it holds, of the whole block, the block ends here

struct Stmt {
  std::string pointer;                       // into the tile program; for diagnostics only, not part of the key
  std::variant<Copy, Fill, Gemm, Map, Reduce, Scan, For, If, Let, Leave> node;
  Turn turn;                                 // in the loop whose body it stands in
};

struct Launch {
  Extents grid;                              // three entries, x y z, each >= 0 (0: nothing runs)
  int threads = 0;                           // as the program asks; lowering may need fewer
  LaunchSchedule schedule;
  std::vector<Tile> tiles;                   // ids are positions
  std::vector<Variable> variables;
  Body body;
};

struct Program {
  std::string name;
  std::string target;                        // full target string, "gfx942:sramecc+:xnack-", "host:avx512"
  std::vector<Symbol> symbols;               // dynamic ones
  std::vector<Tensor> tensors;
  std::vector<Launch> launches;              // run in order
  // Prints and asserts, and the workspace that their records go to (records.hpp); -1, and no sites, where there are
  // none. The statements that write records are maps as any other.
  std::vector<RecordSite> sites;
  int records = -1;
  bool clips = false;                        // an element outside of a tensor is no mistake
  [[nodiscard]] std::size_t arguments() const;  // tensors that are no workspace: the first ones
};

// Canonical typed encoding, deterministic. `with_names` false leaves out the names of symbols, tensors, tiles and
// variables and the pointers (the key's form); the program's own name stays in.
Bytes encode(const Program& program, bool with_names);
Result<Program> decode(ByteView bytes);      // of encode(…, true); corrupt on anything else, never crashes

// An extent by itself, for what holds extents beside programs. Reading fails the reader on anything else.
void write_extent(Writer& writer, const Extent& extent);
Extent read_extent(Reader& reader);

// The same for a site; reading fails the reader on what is no site's bytes, and does not check what check does.
void write_site(Writer& writer, const RecordSite& site);
RecordSite read_site(Reader& reader);

// The grid's blocks, at most blocks_max + 1: a grid over the limit is told from one within it, whatever its extents (not
// negative, at most grid_extent_max).
std::int64_t block_count(const std::vector<std::int64_t>& grid);

// Whether a program is well formed, so that later steps may trust it: ids in range, ranks and types as documented
// above, variables set before they are used, expressions at most expression_depth_max deep, accesses allowed by the
// tensors' access, sizes within 64 bits and the limits below. `corrupt`, with the statement's pointer, otherwise.
// decode includes it. Sizes are those at the worst values that symbols promise; only a grid may be over its limits at
// some of them. What it does not prove: that indices stay in range (later steps check or prove that), that index
// arithmetic stays within 64 bits.
Status check(const Program& program);
inline constexpr int expression_depth_max = 512;  // deeper than a tile program's: lets and unrolled loops are put in
inline constexpr int statement_depth_max = 64;
inline constexpr std::int64_t tile_elements_max = std::int64_t(1) << 26;    // of all tiles of a launch together
inline constexpr std::int64_t map_iterations_max = std::int64_t(1) << 31;
inline constexpr std::int64_t grid_extent_max = (std::int64_t(1) << 31) - 1;
inline constexpr std::int64_t blocks_max = std::int64_t(1) << 40;           // of a launch

// One statement a line, for people and golden tests.
std::string print(const Program& program);
std::string print(const Program& program, const Launch& launch, const Expr& expr);  // one expression
std::string print(const Extent& extent, const std::vector<Symbol>& symbols);
struct StatementText {
  std::string pointer, text;   // text: its line of print, without indentation
};
// The launch's statements in the program's order, those inside others after them.
std::vector<StatementText> statement_texts(const Program& program, const Launch& launch);

}  // namespace kiln::bound
