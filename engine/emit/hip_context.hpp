// State and text of one HIP kernel while it is printed. Internal to the HIP printer.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/base/result.hpp"
#include "engine/ir/kernel/evaluate.hpp"
#include "engine/ir/kernel/program.hpp"

namespace kiln::emit::hip {

using bound::Expr;
using bound::ExprPtr;

// What each bit of the lane index and of the wave index adds to a value.
struct LanePart {
  std::vector<std::int64_t> lane, wave;
  [[nodiscard]] std::int64_t sum() const;                // of all bits: the largest value when they add up
  [[nodiscard]] bool zero() const { return sum() == 0; }
};
// Σ over axes of weights[axis] · (the layout's lane and wave bits along it).
LanePart lane_part(const layout::RegLayout& layout, const std::vector<std::int64_t>& weights);

// Powers of two that divide every value: of variables, by id, and of dynamic symbols, by number.
struct Divisors {
  std::map<int, std::int64_t> variables;
  std::vector<std::int64_t> symbols;
};

struct Context {
  Context(const kernel::Program& of, const kernel::Launch& which, const target::Target& on);

  const kernel::Program& program;
  const kernel::Launch& launch;
  const target::Target& target;
  kernel::Ranges ranges;                                 // of block ids and of variables in scope
  Divisors divisors;
  std::string out;                                       // the body so far
  int depth = 1;
  std::string path;                                      // of the statement that is being printed
  bool global_barriers = false;                          // blocks read what they write in global memory

  void line(const std::string& text);                    // indented
  std::string fresh(const std::string& prefix) { return prefix + "_" + std::to_string(names_++); }
  // A constant at the kernel's start with this initializer; equal text gives the same name.
  std::string hoisted(const std::string& prefix, const std::string& type, const std::string& text);
  // Names of u32 values of this lane, "0u" when no bit adds anything. Combined by adding or by exclusive or.
  std::string lane_sum(const LanePart& part);
  std::string lane_xor(const LanePart& part);
  [[nodiscard]] const std::vector<std::string>& prologue() const { return prologue_; }
  [[nodiscard]] std::optional<kernel::Interval> range(const Expr& expr) const { return kernel::range_of(expr, ranges); }
  [[nodiscard]] const kernel::Storage& storage(int id) const { return launch.storages[id]; }

 private:
  std::string lane_terms(const LanePart& part, bool exclusive) const;
  std::vector<std::string> prologue_;
  std::map<std::string, std::string> hoisted_;
  int names_ = 0;
};

// A cast that no parser takes for a declaration: T(U(name)) in parentheses would be one.
inline std::string cast_to(const std::string& type, const std::string& text) { return "(" + type + ")(" + text + ")"; }

// ---- types as text (hip_types.cpp) ---------------------------------------------------------------------------------
std::string type_name(DType type);                       // of a value in an expression: "f16", "bool"; index: "i64"
std::string element_type(DType type);                    // in registers and memory: as above, boolean is u8
std::string literal(DType type, std::int64_t integer, double real);
bool fits_i32(const std::optional<kernel::Interval>& interval);
std::string text_of(std::int64_t value);                 // "5", "5l" beyond 32 bits, negative ones in parentheses
std::string unsigned_text(std::int64_t value);           // "5u", "5ul"
// `text`, a value of type `from`, converted by PROGRAM.md's rules.
std::string converted(const std::string& text, DType from, DType to);
// op applied to rendered operands of element type `type` (not index).
Result<std::string> operation(Op op, DType type, const std::vector<std::string>& args);
// The largest known power of two (at most 2^20) that divides every value of an index expression.
std::int64_t power_of_two_divisor(const Expr& expr, const Divisors& known);

// ---- registers (hip_registers.cpp) ---------------------------------------------------------------------------------
// Arrays of vectors of Storage::vector_elements elements; 8-bit elements in vectors of four and more are held as u32.
std::string register_declaration(const kernel::Storage& storage, int id);
std::string data_type(DType type, int elements);         // of a value of several registers
std::string register_value(const kernel::Storage& storage, int id, int reg);     // type_name(dtype)
std::string register_store(const kernel::Storage& storage, int id, int reg, const std::string& value);  // one statement
std::string registers_value(const kernel::Storage& storage, int id, const std::vector<int>& regs);      // data_type
// A value of data_type from as many element texts (element_type).
std::string vector_value(DType type, const std::vector<std::string>& elements);
// Statements that give `name`, a variable of data_type, to registers.
void registers_store(Context& context, int id, const std::vector<int>& regs, const std::string& name);

// ---- expressions (hip_expression.cpp) ------------------------------------------------------------------------------
struct Text {
  std::string text;
  bool wide = false;                                     // index: i64, else i32
};
// One point of a map's iteration space: the register part of each index variable.
struct MapPoint {
  kernel::Known registers;                               // index variable -> constant part
  std::map<int, std::string> lane_names;                 // index variable -> u32 name of the lane part
  std::set<int> lets;                                    // the map's own: other variables are the same in all lanes
};
// Statements that the value needs (loads) are printed before. `once`: elements of tensors decide about addresses.
Result<Text> render(Context& context, const Expr& expr, const MapPoint* point, bool once = false);
std::string as_i64(const Text& text);
// The value of an extent or stride times `factor`: a constant, or a name that the kernel's start declares. `wide`: as
// an i64, else as a u32, which must hold it.
Result<std::string> size_text(Context& context, const bound::Extent& extent, std::int64_t factor, bool wide);
// The most that an extent may be.
std::int64_t most_of(const Context& context, const bound::Extent& extent);
// An element access of a map, printed as needed variables: mask ("" when it cannot leave), byte offset (u32 or i64
// text). The register of an array that holds an element of a map's point. Errors: unsupported.
Result<int> register_of_element(Context& context, const kernel::Storage& storage, const std::vector<ExprPtr>& indices,
                                const MapPoint* point);
struct ElementPlace { std::string mask, offset; };
Result<ElementPlace> tensor_place(Context& context, const bound::Tensor& tensor, const std::vector<ExprPtr>& indices,
                                  const MapPoint* point);
Result<ElementPlace> lds_place(Context& context, int storage, const std::vector<ExprPtr>& indices,
                               const MapPoint* point);

// ---- addresses in LDS (hip_lds.cpp) --------------------------------------------------------------------------------
// Byte offset, a u32 expression, of the element at start + register part + this lane's part.
std::string lds_address(Context& context, const layout::RegLayout& layout, int storage,
                        const layout::Coordinate& constant);
// The same for coordinates that are only known as text (i32 or i64 expressions).
std::string lds_address_of(Context& context, int storage, const std::vector<std::string>& coordinate);

// Lines that set bx, by, bz from the hardware's ids by the launch's order: a permutation of the blocks of one z
// (hip_block_order.cpp). Consecutive hardware ids go to XCDs in turn: with x XCDs, each gets a contiguous share. Then
// the order's rows (or columns) are walked together. Sizes that symbols give are added to the prologue.
Status print_block_order(Context& context, std::string& out);

// ---- statements ----------------------------------------------------------------------------------------------------
// `path`: of the body within the launch, "body/4/for".
Status print_body(Context& context, const kernel::Body& body, const std::string& path);  // hip.cpp
Status print_load_global(Context& context, const kernel::LoadGlobal& load);     // hip_global.cpp
Status print_store_global(Context& context, const kernel::StoreGlobal& store);
Status print_load_lds(Context& context, const kernel::LoadLds& load);           // hip_lds.cpp
Status print_store_lds(Context& context, const kernel::StoreLds& store);
Status print_mma(Context& context, const kernel::Mma& mma);                     // hip_matrix.cpp
Status print_fill(Context& context, const kernel::Fill& fill);                  // hip_map.cpp
Status print_map(Context& context, const kernel::Map& map);
Status print_reduce(Context& context, const kernel::Reduce& reduce);            // hip_reduce.cpp
Status print_convert(Context& context, const kernel::Convert& convert);         // hip_convert.cpp
void print_barrier(Context& context);                                           // hip.cpp
// Whether a launch reads a tensor that it also writes (hip_global_order.cpp): then barriers order global memory too.
bool reads_what_it_writes(const kernel::Launch& launch, const std::vector<bound::Tensor>& tensors);

}  // namespace kiln::emit::hip
