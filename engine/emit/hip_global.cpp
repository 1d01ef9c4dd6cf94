// Tensor accesses. An address is: what all lanes share (scalar registers), this lane's part (computed once at the
// kernel's start), a constant a register. Checked axes become masks: a poisoned offset for buffers, a safe address for
// global loads.
#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/emit/hip_context.hpp"
#include "engine/ir/bound/symbols.hpp"

namespace kiln::emit::hip {
namespace {

using kernel::GlobalRef;
using kernel::VectorAccess;

constexpr std::int64_t narrow_max = std::int64_t(1) << 31;

// One tensor side of one statement, ready to print accesses.
struct Side {
  const GlobalRef* ref = nullptr;
  const bound::Tensor* tensor = nullptr;
  const kernel::Storage* regs = nullptr;
  int element_bytes = 1;
  int contiguous = -1;                    // tensor axis with stride 1 along which a tile axis runs
  bool buffer = false;                    // through a buffer descriptor: the tensor's, or one that begins where the block does
  std::string base;                       // "p0" or "b2"
  std::string uniform;                    // "0" or a name: bytes that all lanes share
  std::string lane;                       // u32 (narrow) or i64 text: this lane's bytes
  bool narrow = true;
  std::vector<std::string> pitch;         // per tensor axis along which a tile axis runs: a stride in bytes by symbols
  std::vector<std::string> first;         // per checked tensor axis: name of the first index of this lane
  std::vector<bool> first_wide;
  std::vector<std::string> limit;         // per checked tensor axis
  std::map<std::string, std::string> masks;
};

// Of the axes whose strides are known.
std::int64_t constant_bytes(const Side& side, const layout::Coordinate& coordinate) {
  std::int64_t bytes = 0;
  for (std::size_t axis = 0; axis < side.ref->tile_axis.size(); ++axis) {
    const int tile_axis = side.ref->tile_axis[axis];
    if (tile_axis < 0 || !side.tensor->strides[axis].is_static()) continue;
    bytes += coordinate[tile_axis] * side.tensor->strides[axis].value() * side.element_bytes;
  }
  return bytes;
}
// Of the others: " + 8 * n_3", "" where there are none.
std::string pitch_bytes(const Side& side, const layout::Coordinate& coordinate) {
  std::string text;
  for (std::size_t axis = 0; axis < side.pitch.size(); ++axis) {
    if (side.pitch[axis].empty()) continue;
    const std::int64_t steps = coordinate[side.ref->tile_axis[axis]];
    if (steps != 0) text += " + " + (side.narrow ? unsigned_text(steps) : text_of(steps)) + " * " + side.pitch[axis];
  }
  return text;
}
// The most that a register's element may be away from the array's first.
__int128 span_bytes(const Context& context, const Side& side) {
  __int128 bytes = 0;
  for (std::size_t axis = 0; axis < side.ref->tile_axis.size(); ++axis) {
    const int tile_axis = side.ref->tile_axis[axis];
    if (tile_axis < 0) continue;
    const auto stride = static_cast<__int128>(most_of(context, side.tensor->strides[axis]));
    bytes += (side.regs->shape[tile_axis] - 1) * stride * side.element_bytes;
  }
  return bytes;
}

std::vector<std::int64_t> byte_weights(const Side& side) {
  std::vector<std::int64_t> weights(side.regs->shape.size(), 0);
  for (std::size_t axis = 0; axis < side.ref->tile_axis.size(); ++axis) {
    const int tile_axis = side.ref->tile_axis[axis];
    if (tile_axis >= 0 && side.tensor->strides[axis].is_static())
      weights[tile_axis] += side.tensor->strides[axis].value() * side.element_bytes;
  }
  return weights;
}

ExprPtr uniform_bytes(const Side& side) {
  ExprPtr sum = bound::make_integer(0);
  for (std::size_t axis = 0; axis < side.ref->start.size(); ++axis) {
    const auto weight = bound::make_binary(Op::mul, side.tensor->strides[axis].expr(),
                                           bound::make_integer(side.element_bytes));
    sum = bound::make_binary(Op::add, sum, bound::make_binary(Op::mul, side.ref->start[axis], weight));
  }
  return sum;
}

// The same, counted from the block's start, which 32 bits do not hold: how much is left from there on is clamped to them.
Status print_room(Context& context, Side& side, std::size_t axis, const std::string& lane) {
  const ExprPtr given = axis < side.ref->limit.size() ? side.ref->limit[axis] : nullptr;
  ExprPtr end = side.tensor->shape[axis].expr();
  if (given) end = bound::make_binary(Op::min, given, end);
  KILN_TRY(const Text left, render(context, *bound::make_binary(Op::sub, end, side.ref->start[axis]), nullptr, true));
  side.first[axis] = context.fresh("i");
  side.limit[axis] = context.fresh("e");
  context.line("const i32 " + side.first[axis] + " = " + cast_to("i32", lane) + ";");
  context.line("const u32 " + side.limit[axis] + " = room(" + as_i64(left) + ");");
  return ok();
}

// First index of this lane along each checked axis, and the first index outside, both as variables.
Status print_bounds(Context& context, Side& side) {
  const std::size_t rank = side.ref->start.size();
  side.first.resize(rank);
  side.first_wide.resize(rank);
  side.limit.resize(rank);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (axis >= side.ref->checked.size() || !side.ref->checked[axis]) continue;
    const bound::Extent& extent = side.tensor->shape[axis];
    KILN_TRY(const Text start, render(context, *side.ref->start[axis], nullptr, true));
    std::string lane = "0u";
    std::int64_t span = 1;
    if (const int tile_axis = side.ref->tile_axis[axis]; tile_axis >= 0) {
      std::vector<std::int64_t> weights(side.regs->shape.size(), 0);
      weights[tile_axis] = 1;
      lane = context.lane_sum(lane_part(side.regs->reg_layout, weights));
      span = side.regs->shape[tile_axis];
    }
    const auto range = context.range(*side.ref->start[axis]);
    if (!extent.is_static() && range && range->lo >= 0 && range->hi + span > INT32_MAX) {
      KILN_CHECK(print_room(context, side, axis, lane));
      continue;
    }
    const bool is_wide = start.wide || !range || range->hi + span > INT32_MAX ||
                         most_of(context, extent) > INT32_MAX;
    const std::string type = is_wide ? "i64" : "i32";
    side.first[axis] = context.fresh("i");
    side.first_wide[axis] = is_wide;
    context.line("const " + type + " " + side.first[axis] + " = " + (is_wide ? as_i64(start) : start.text) +
                 (lane == "0u" ? "" : " + " + cast_to(type, lane)) + ";");
    if (extent.is_static()) {
      side.limit[axis] = is_wide ? std::to_string(extent.value()) + "ul" : unsigned_text(extent.value());
    } else {
      KILN_TRY(side.limit[axis], size_text(context, extent, 1, is_wide));
      if (is_wide) side.limit[axis] = cast_to("u64", side.limit[axis]);
    }
    const ExprPtr given = axis < side.ref->limit.size() ? side.ref->limit[axis] : nullptr;
    if (!given) continue;
    // Never outside the tensor, whatever the limit says.
    const auto clamped = bound::make_binary(Op::max, bound::make_integer(0),
                                            bound::make_binary(Op::min, given, extent.expr()));
    KILN_TRY(const Text limit, render(context, *clamped, nullptr, true));
    const std::string name = context.fresh("e");
    context.line(std::string("const ") + (is_wide ? "u64 " : "u32 ") + name + " = " +
                 cast_to(is_wide ? "u64" : "u32", limit.text) + ";");
    side.limit[axis] = name;
  }
  return ok();
}

// This lane's bytes.
Status print_lane(Context& context, Side& side) {
  side.lane = context.lane_sum(lane_part(side.regs->reg_layout, byte_weights(side)));
  if (!side.narrow) side.lane = cast_to("i64", side.lane);
  side.pitch.resize(side.ref->tile_axis.size());
  std::string more;
  for (std::size_t axis = 0; axis < side.pitch.size(); ++axis) {
    const int tile_axis = side.ref->tile_axis[axis];
    if (tile_axis < 0 || side.tensor->strides[axis].is_static()) continue;
    KILN_TRY(side.pitch[axis], size_text(context, side.tensor->strides[axis], side.element_bytes, !side.narrow));
    std::vector<std::int64_t> weights(side.regs->shape.size(), 0);
    weights[tile_axis] = 1;
    const std::string lane = context.lane_sum(lane_part(side.regs->reg_layout, weights));
    if (lane != "0u") more += " + " + (side.narrow ? lane : cast_to("i64", lane)) + " * " + side.pitch[axis];
  }
  if (!more.empty()) side.lane = context.hoisted("l", side.narrow ? "u32" : "i64", side.lane + more);
  return ok();
}

Result<Side> print_side(Context& context, const GlobalRef& ref, int regs, bool buffer) {
  Side side;
  side.ref = &ref;
  side.tensor = &context.program.tensors[ref.tensor];
  side.regs = &context.storage(regs);
  side.element_bytes = dtype_bytes(side.tensor->dtype);
  if (side.tensor->dtype != side.regs->dtype)
    return Error(ErrorCode::unsupported, "a tensor access that converts between element types");
  for (std::size_t axis = 0; axis < ref.tile_axis.size(); ++axis) {
    if (ref.tile_axis[axis] >= 0 && side.tensor->strides[axis].is(1)) side.contiguous = static_cast<int>(axis);
  }
  const ExprPtr shared = uniform_bytes(side);
  const auto range = context.range(*shared);
  side.narrow = span_bytes(context, side) < narrow_max;
  const bound::Extent elements = bound::elements_span(*side.tensor);
  side.buffer = buffer && side.narrow && most_of(context, elements) < narrow_max / side.element_bytes;
  KILN_CHECK(print_lane(context, side));
  KILN_CHECK(print_bounds(context, side));
  KILN_TRY(Text uniform, render(context, *shared, nullptr, true));
  const bool masked = std::find(ref.checked.begin(), ref.checked.end(), true) != ref.checked.end();
  if (!side.buffer && masked && side.narrow && !side.tensor->is_static()) {
    // What is inside is within 32 bits of the block's start, what is outside is masked.
    side.base = context.fresh("b");
    context.line("const buffer " + side.base + " = make_buffer((const char*)p" + std::to_string(ref.tensor) + " + " +
                 as_i64(uniform) + ", " + unsigned_text(narrow_max - 1) + ");");
    side.uniform = "0u";
    side.buffer = true;
    return side;
  }
  if (!side.buffer) {
    side.base = "p" + std::to_string(ref.tensor);
    side.uniform = uniform.text;
    if (shared->kind != Expr::Kind::integer) {
      side.uniform = context.fresh("u");
      context.line("const i64 " + side.uniform + " = " + uniform.text + ";");
    }
    return side;
  }
  KILN_TRY(const std::string bytes, size_text(context, elements, side.element_bytes, false));
  side.base = context.hoisted("b", "buffer", "make_buffer(p" + std::to_string(ref.tensor) + ", " + bytes + ")");
  if (shared->kind == Expr::Kind::integer && shared->integer >= 0) {
    const std::int64_t start = std::min(shared->integer, narrow_max);
    if (elements.is_static()) side.uniform = unsigned_text(std::min(start, elements.value() * side.element_bytes));
    else side.uniform = start == 0 ? "0u" : "smaller<u32>(" + unsigned_text(start) + ", " + bytes + ")";
    return side;
  }
  side.uniform = context.fresh("u");
  std::string text = cast_to("u32", uniform.text);
  if (!range || range->lo < 0 || range->hi >= narrow_max) {
    // May be negative where a mask is false: part of the lane's offset then, which wraps to the right value where it
    // counts.
    context.line("const u32 " + side.uniform + " = " + text + " + " + side.lane + ";");
    side.lane = std::exchange(side.uniform, "0u");
    return side;
  }
  // Beyond the end the hardware's check would wrap around: stay at the end, everything is outside there too.
  const auto least = bound::range_of(elements, context.program.symbols);
  if (!least || range->hi > least->lo * side.element_bytes) text = "smaller<u32>(" + text + ", " + bytes + ")";
  context.line("const u32 " + side.uniform + " = " + text + ";");
  return side;
}

// The variable that says whether the element `ahead` elements after the access's first is inside; "" when nothing is
// checked.
std::string mask_of(Context& context, Side& side, const layout::Coordinate& coordinate, std::int64_t ahead) {
  std::string text;
  for (std::size_t axis = 0; axis < side.first.size(); ++axis) {
    if (side.first[axis].empty()) continue;
    const int tile_axis = side.ref->tile_axis[axis];
    const std::int64_t constant =
        (tile_axis >= 0 ? coordinate[tile_axis] : 0) + (static_cast<int>(axis) == side.contiguous ? ahead : 0);
    const std::string index = constant == 0 ? side.first[axis] : side.first[axis] + " + " + std::to_string(constant);
    text +=
        (text.empty() ? "" : " && ") + cast_to(side.first_wide[axis] ? "u64" : "u32", index) + " < " + side.limit[axis];
  }
  if (text.empty()) return text;
  auto& name = side.masks[text];
  if (name.empty()) {
    name = context.fresh("m");
    context.line("const bool " + name + " = " + text + ";");
  }
  return name;
}

// Whether a vector along the contiguous axis is inside or outside as a whole.
bool never_straddles(const Context& context, const Side& side, int elements) {
  if (elements == 1 || side.contiguous < 0 || side.first[side.contiguous].empty()) return true;
  const int axis = side.contiguous;
  const ExprPtr limit = static_cast<std::size_t>(axis) < side.ref->limit.size() ? side.ref->limit[axis] : nullptr;
  const bound::Extent& extent = side.tensor->shape[axis];
  const bool ends = (extent.is_static() ? extent.value() % elements == 0
                                        : power_of_two_divisor(*extent.expr(), context.divisors) % elements == 0) &&
                    (!limit || power_of_two_divisor(*limit, context.divisors) % elements == 0);
  return ends && power_of_two_divisor(*side.ref->start[axis], context.divisors) % elements == 0;
}

std::string plus(const std::string& text, std::int64_t constant) {
  if (constant == 0) return text;
  return text == "0u" ? unsigned_text(constant) : text + " + " + unsigned_text(constant);
}

struct Piece { std::vector<int> registers; layout::Coordinate coordinate; std::int64_t ahead; };

// What is moved by one instruction each: whole vectors, or their elements one by one where a vector may straddle a
// bound.
Result<std::vector<Piece>> pieces_of(const Context& context, const Side& side, int vector_bytes) {
  const int axis = side.contiguous >= 0 ? side.ref->tile_axis[side.contiguous] : side.regs->reg_layout.rank() - 1;
  const int bytes = side.contiguous >= 0 ? vector_bytes : side.element_bytes;
  KILN_TRY(const std::vector<VectorAccess> vectors, kernel::vector_accesses(*side.regs, axis, bytes));
  const int elements = bytes / side.element_bytes;
  const bool whole = never_straddles(context, side, elements);
  std::vector<Piece> pieces;
  for (const auto& vector : vectors) {
    if (whole) {
      pieces.push_back({vector.registers, vector.coordinate, 0});
      continue;
    }
    for (int e = 0; e < elements; ++e) pieces.push_back({{vector.registers[e]}, vector.coordinate, e});
  }
  return pieces;
}

int alignment(const Side& side, std::size_t elements) {
  return static_cast<int>(std::min<std::int64_t>(static_cast<std::int64_t>(elements) * side.element_bytes,
                                                 std::max<std::int64_t>(side.tensor->align_bytes, side.element_bytes)));
}

// Where a masked load that is outside reads instead: the tensor's start, or what can be read where it has no element.
Result<std::string> readable_base(Context& context, const Side& side) {
  const bound::Extent elements = bound::elements_span(*side.tensor);
  const auto range = bound::range_of(elements, context.program.symbols);
  if (side.buffer || (range && range->lo > 0)) return side.base;
  KILN_TRY(const std::string count, size_text(context, elements, 1, true));
  return context.hoisted("q", "void*", "unless_empty(" + side.base + ", " + count + " == 0)");
}

}  // namespace

Status print_load_global(Context& context, const kernel::LoadGlobal& load) {
  const kernel::Storage& storage = context.storage(load.regs);
  if (most_of(context, bound::elements_span(context.program.tensors[load.from.tensor])) == 0) {
    return print_fill(context, {load.regs, load.fill ? load.fill : nullptr});
  }
  KILN_TRY(Side side, print_side(context, load.from, load.regs, load.addressing == kernel::Addressing::buffer));
  if (load.addressing == kernel::Addressing::buffer && !side.buffer) {
    return Error(ErrorCode::unsupported, "buffer addressing of a tensor that 32-bit offsets do not reach");
  }
  KILN_TRY(const auto pieces, pieces_of(context, side, load.vector_bytes));
  KILN_TRY(const std::string readable, readable_base(context, side));
  std::string fill;
  if (load.fill) {
    KILN_TRY(const Text value, render(context, *load.fill, nullptr));
    fill = storage.dtype == DType::boolean ? cast_to("u8", value.text) : value.text;
  }
  const bool zero = !load.fill || (load.fill->kind == Expr::Kind::integer && load.fill->integer == 0) ||
                    (load.fill->kind == Expr::Kind::real && load.fill->real == 0 && !std::signbit(load.fill->real));
  for (const auto& piece : pieces) {
    const int count = static_cast<int>(piece.registers.size());
    const std::string type = data_type(storage.dtype, count), name = context.fresh("x");
    const std::string mask = mask_of(context, side, piece.coordinate, piece.ahead);
    const std::string at = plus(side.lane, constant_bytes(side, piece.coordinate) + piece.ahead * side.element_bytes) +
                           pitch_bytes(side, piece.coordinate);
    std::string text;
    if (side.buffer) {
      text = "load_buffer<" + type + ">(" + side.base + ", " + side.uniform + ", " +
             (mask.empty() ? at : mask + " ? " + at + " : buffer_outside") + ")";
    } else {
      const std::string start = "load_global<" + type + ", " + std::to_string(alignment(side, piece.registers.size())) +
                                ">(" + (mask.empty() ? side.base : readable) + ", ";
      text = start + side.uniform + ", " + at + ")";
      // The base itself is inside: what is read there is thrown away.
      if (!mask.empty())
        text = start + "0, " + mask + " ? " + as_i64({side.uniform, false}) + " + " + cast_to("i64", at) + " : 0l)";
    }
    context.line((mask.empty() || (side.buffer && zero) ? "const " : "") + type + " " + name + " = " + text + ";");
    if (!mask.empty() && (!side.buffer || !zero)) {
      const bool dwords = dtype_bits(storage.dtype) == 8 && count % 4 == 0;
      std::string value = zero ? (count == 1 ? element_type(storage.dtype) + "(0)" : type + "(0)") : fill;
      if (!zero && dwords) value = "four_bytes(u8(" + fill + "), u8(" + fill + "), u8(" + fill + "), u8(" + fill + "))";
      if (!zero && count > 1) value = type + "(" + value + ")";
      context.line("if (!" + mask + ") " + name + " = " + value + ";");
    }
    registers_store(context, load.regs, piece.registers, name);
  }
  return ok();
}

Status print_store_global(Context& context, const kernel::StoreGlobal& store) {
  const kernel::Storage& storage = context.storage(store.regs);
  if (most_of(context, bound::elements_span(context.program.tensors[store.to.tensor])) == 0) return ok();
  const bool masked = std::find(store.to.checked.begin(), store.to.checked.end(), true) != store.to.checked.end();
  KILN_TRY(Side side, print_side(context, store.to, store.regs, masked));
  KILN_TRY(const auto pieces, pieces_of(context, side, store.vector_bytes));
  for (const auto& piece : pieces) {
    const std::string type = data_type(storage.dtype, static_cast<int>(piece.registers.size()));
    const std::string mask = mask_of(context, side, piece.coordinate, piece.ahead);
    const std::string at = plus(side.lane, constant_bytes(side, piece.coordinate) + piece.ahead * side.element_bytes) +
                           pitch_bytes(side, piece.coordinate);
    const std::string value = registers_value(storage, store.regs, piece.registers);
    if (side.buffer) {
      context.line("store_buffer<" + type + ">(" + side.base + ", " + side.uniform + ", " +
                   (mask.empty() ? at : mask + " ? " + at + " : buffer_outside") + ", " + value + ");");
      continue;
    }
    const std::string text = "store_global<" + type + ", " + std::to_string(alignment(side, piece.registers.size())) +
                             ">(" + side.base + ", " + side.uniform + ", " + at + ", " + value + ");";
    context.line(mask.empty() ? text : "if (" + mask + ") " + text);
  }
  return ok();
}

}  // namespace kiln::emit::hip
