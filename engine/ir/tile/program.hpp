// The tile program as written: `tile/1`. PROGRAM.md beside this folder is the normative description of its JSON.
// Values of this struct came through read_program and are well formed (names, structure); whether they mean something for
// given sizes is decided by check_program (verifier.hpp) and specialize.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/ir/tile/expression.hpp"
#include "engine/ir/types.hpp"

namespace kiln::tile {

// An expression with its place, for diagnostics.
struct Text {
  ExprPtr expr;          // never null once read, unless the field is optional and absent
  std::string source;    // as written
  std::string pointer;   // JSON pointer of the string
  explicit operator bool() const { return expr != nullptr; }
};

struct Symbol {
  std::string name, pointer;
  bool dynamic = false;                       // each launch gives its value
  std::int64_t multiple_of = 1;               // promises
  std::optional<std::int64_t> min, max;
};

struct Option {
  enum class Kind : std::uint8_t { dtype, boolean, name } kind = Kind::boolean;
  std::string name, pointer;
  Text default_value;                         // dtype and name: an expression over type names, choices and other options
  std::vector<std::string> choices;           // dtype: types allowed (empty: all); name: the names allowed
};

struct Param {
  std::string name, pointer;
  bool scalar = false;                        // a scalar argument of `dtype`
  Text dtype;                                 // a type's name, an option, or a conditional of those
  std::vector<Text> shape, strides;           // strides in elements; absent: row-major contiguous
  Access access = Access::read;
  bool may_alias = false;
  Text when;                                  // optional: the parameter exists only if true
};

// A tensor that the engine allocates for a launch, read and written by the program alone.
struct Workspace {
  std::string name, pointer;
  Text dtype;
  std::vector<Text> shape;
  bool zeroed = false;                        // holds 0 before the first launch
  Text when;                                  // optional: it exists only if true
};

struct Tunable {
  std::string name, pointer;
  Text default_value;                         // over symbols, options, other tunables, target.*
  std::vector<std::int64_t> candidates;       // what tuning tries; the default may lie outside
};

// One axis of a region: an index ("m") drops the axis; a range ("m:") keeps it, its extent follows the tile's axis.
struct AxisIndex {
  Text start;
  bool range = false;
};
struct Region {
  std::string name, pointer;                  // a tensor or a tile
  std::vector<AxisIndex> at;                  // empty: the whole of a tile
};

// Schedules: how lowering is to do it; what a program means is the same without. Absent values are lowering's choice.
// With `hint` what cannot be honoured is told by `explain`; otherwise it is a mistake.
struct LaunchSchedule {
  Text panel;                                 // rows (columns) of blocks that are walked together
  bool along_y = false;                       // panels of columns, walked along y; else of rows, along x
  std::vector<Text> waves;                    // of each gemm that does not say otherwise
  bool hint = false;
};
struct CopySchedule {
  Text vector_bytes;                          // of the widest access to memory
  bool hint = false;
};
struct GemmSchedule {
  std::vector<Text> instruction;              // m, n and, if given, k of the matrix instruction
  Text k_pack;                                // instructions that one read of an operand feeds
  std::vector<Text> waves;                    // along m and n
  bool hint = false;
};
struct LoopSchedule {
  std::vector<Text> order, stage;             // by statement of the body; absent entries are lowering's choice
  bool hint = false;
};

struct Stmt;
using Body = std::vector<Stmt>;

struct Alloc {
  std::string name;
  Space space = Space::fragment;
  Text dtype;
  std::vector<Text> shape;
  LayoutSpec layout;
};
struct Copy {
  Region from, to;
  Text fill;                                  // value of reads outside; absent: 0
  std::vector<Text> limit;                    // per ranged axis of the tensor side: sequence end inside it; empty: the extent
  CopySchedule schedule;
};
struct Fill { std::string tile; Text value; };
struct Gemm {
  std::string a, b, c;
  Text transpose_a, transpose_b, clear;       // booleans, absent: false
  GemmSchedule schedule;
};
// A print or an assert, as a statement or in a map: what a record of it says.
struct Message {
  bool asserts = false;
  Text condition;                             // assert: what must hold
  std::string text;                           // printable (message_text.hpp), never in emitted text
  std::vector<Text> values;                   // numbers or booleans, at most message_values_max
};
inline constexpr std::size_t message_text_bytes_max = 200, message_values_max = 4;
enum class AtomicOp : std::uint8_t { none, add, max, min, bit_or, bit_and, bit_xor, exchange, cas };
const char* atomic_op_name(AtomicOp op);      // "add", "or"; "" for none
struct MapItem {                              // a let, a set, an atomic, a print or an assert
  std::string let;                            // let: names `value` in the following items
  std::string target;                         // set: element `target[indices] = value`; atomic: the element it updates
  std::vector<Text> indices;
  Text value;
  Text where;                                 // set: only where it holds; absent: everywhere
  std::string pointer;
  AtomicOp atomic = AtomicOp::none;
  Text compare;                               // cas: what the element must be
  std::string old;                            // atomic: names what it was in the following items; may be ""
  std::optional<Message> message;             // print, assert: all of the above is empty but `where` and `pointer`
};
struct Map {
  std::vector<std::string> index;             // index variables, outermost first
  std::vector<Text> extent;
  std::vector<MapItem> body;
};
enum class ReduceOp : std::uint8_t { sum, prod, max, min, absmax, any, all, argmax, argmin };
const char* reduce_op_name(ReduceOp op);
struct Reduce {
  ReduceOp op = ReduceOp::sum;
  std::string from, to;                       // `to` has from's shape without `axis`
  std::int64_t axis = 0;
  bool accumulate = false;                    // combine with what `to` holds
};
struct Scan {                                 // `to` has from's shape: the sum of all elements up to each
  ReduceOp op = ReduceOp::sum;                // sum prod max min
  std::string from, to;
  std::int64_t axis = 0;
  bool reverse = false;                       // from the axis's end
};
struct For {
  std::string var;
  Text from, to, step;                        // from absent: 0; step absent: 1; step > 0
  enum class Kind : std::uint8_t { serial, unrolled, pipelined } kind = Kind::serial;
  Text stages;                                // pipelined: number of buffers of the loop's shared tiles; absent: lowering's choice
  LoopSchedule schedule;
  Body body;
};
struct If { Text condition; Body then, otherwise; };
struct Let { std::string name; Text value; };
struct Sync {};

struct Stmt {
  std::string pointer;                        // JSON pointer of the statement
  Text when;                                  // optional, compile-time: the statement exists only if true
  std::variant<Alloc, Copy, Fill, Gemm, Map, Reduce, Scan, For, If, Let, Sync, Message> node;
};

struct Launch {
  std::string pointer;
  std::vector<Text> grid;                     // 1 to 3, x first
  Text threads;                               // computing threads a block
  LaunchSchedule schedule;
  Body body;
};

struct Program {
  std::string name;
  std::vector<Symbol> symbols;                // in the order written; options and tunables behind those they use
  std::vector<Option> options;
  std::vector<Param> params;
  std::vector<Tunable> tunables;
  std::vector<Text> constraints;              // booleans over symbols, options, tunables, target.*
  std::vector<Workspace> workspace;
  std::vector<Launch> launches;               // run in order
  bool clips = false;                         // elements outside of tensors are no mistake: 0 when read, dropped when set
};

struct ReadLimits {
  std::size_t bytes_max = 1 << 20, depth_max = 64, nodes_max = 200000;
};

// Reads one program. Every mistake of structure is reported at once (program_invalid): unknown fields with the nearest
// known one as hint, duplicate keys, wrong types, bad names, expressions that do not parse, names used and never
// declared, statements of page "PROGRAM.md, Not yet" with a diagnostic that says so. Never throws, whatever the bytes.
Result<Program> read_program(std::string_view json, const ReadLimits& limits = {});

// Canonical form: fixed field order, two-space indent, canonical expressions, defaults left out, final newline.
// write(read(write(read(x)))) == write(read(x)), byte for byte.
std::string write_program(const Program& program);

}  // namespace kiln::tile
