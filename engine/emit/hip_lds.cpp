// LDS addresses and accesses. A swizzled address is rows + (column ^ f(row)); as long as lane bits and constants do not
// meet in one bit, f splits, so that each lane computes one base at the kernel's start and every access is base ^
// constant + constant.
#include "engine/emit/hip_context.hpp"

namespace kiln::emit::hip {
namespace {

using layout::Coordinate;
using layout::LdsLayout;
using layout::RegLayout;

// Row weights: row = Σ coordinate[axis] * weight[axis] over the axes that are not contiguous.
std::vector<std::int64_t> row_weights(const LdsLayout& lds) {
  std::vector<std::int64_t> weights(lds.shape.size(), 0);
  std::int64_t next = 1;
  for (int axis = static_cast<int>(lds.shape.size()) - 1; axis >= 0; --axis) {
    if (axis == lds.contiguous) continue;
    weights[axis] = next;
    next *= lds.shape[axis];
  }
  return weights;
}
std::vector<std::int64_t> column_weights(const LdsLayout& lds) {
  std::vector<std::int64_t> weights(lds.shape.size(), 0);
  weights[lds.contiguous] = 1;
  return weights;
}

std::int64_t swizzle_of(const LdsLayout& lds, std::int64_t row) {
  std::int64_t value = 0;
  for (std::size_t bit = 0; bit < lds.xor_basis.size(); ++bit) {
    if ((row >> bit) & 1) value ^= lds.xor_basis[bit];
  }
  return value * lds.chunk_bytes;
}

// Whether the bits' values share no bit with each other, nor with `constant`: then adding them is exclusive or.
bool disjoint(const LanePart& part, std::int64_t constant) {
  std::int64_t seen = constant;
  for (const auto* bits : {&part.lane, &part.wave}) {
    for (const auto value : *bits) {
      if ((value & seen) != 0) return false;
      seen |= value;
    }
  }
  return true;
}

std::int64_t or_of(const LanePart& part) {
  std::int64_t mask = 0;
  for (const auto value : part.lane) mask |= value;
  for (const auto value : part.wave) mask |= value;
  return mask;
}

std::string plus(const std::string& text, std::int64_t constant) {
  if (constant == 0) return text;
  return text == "0u" ? unsigned_text(constant) : text + " + " + unsigned_text(constant);
}

std::string split_address(Context& context, const RegLayout& layout, const LdsLayout& lds, std::int64_t row,
                          std::int64_t column, std::int64_t offset, const LanePart& rows, const LanePart& columns) {
  LanePart row_bytes = rows, column_bytes = columns;
  for (auto* bits : {&row_bytes.lane, &row_bytes.wave}) for (auto& value : *bits) value *= lds.pitch_bytes();
  for (std::size_t i = 0; i < columns.lane.size(); ++i)
    column_bytes.lane[i] = (columns.lane[i] * lds.element_bytes) ^ swizzle_of(lds, rows.lane[i]);
  for (std::size_t i = 0; i < columns.wave.size(); ++i)
    column_bytes.wave[i] = (columns.wave[i] * lds.element_bytes) ^ swizzle_of(lds, rows.wave[i]);
  (void)layout;
  const std::int64_t moved = (column * lds.element_bytes) ^ swizzle_of(lds, row);
  const std::int64_t meets = moved & or_of(column_bytes);   // the rest has bits of its own: adding is enough
  const std::int64_t constant = offset + row * lds.pitch_bytes() + (moved ^ meets);
  const std::string row_name = context.lane_sum(row_bytes), column_name = context.lane_xor(column_bytes);
  if (column_name == "0u") return plus(row_name, constant);
  const std::string place = meets == 0 ? column_name : "(" + column_name + " ^ " + unsigned_text(meets) + ")";
  if (row_name == "0u") return plus(place, constant);
  return plus(context.hoisted("a", "u32", row_name + " + " + place), constant);
}

}  // namespace

std::string lds_address(Context& context, const RegLayout& layout, int storage, const Coordinate& constant) {
  const LdsLayout& lds = context.storage(storage).lds_layout;
  const auto row_weight = row_weights(lds);
  std::int64_t row = 0;
  for (std::size_t axis = 0; axis < constant.size(); ++axis) row += row_weight[axis] * constant[axis];
  const std::int64_t column = constant[lds.contiguous], offset = context.storage(storage).offset_bytes;
  const LanePart rows = lane_part(layout, row_weight), columns = lane_part(layout, column_weights(lds));
  if (lds.xor_basis.empty()) {
    LanePart bytes = rows;
    for (std::size_t i = 0; i < rows.lane.size(); ++i)
      bytes.lane[i] = rows.lane[i] * lds.pitch_bytes() + columns.lane[i] * lds.element_bytes;
    for (std::size_t i = 0; i < rows.wave.size(); ++i)
      bytes.wave[i] = rows.wave[i] * lds.pitch_bytes() + columns.wave[i] * lds.element_bytes;
    return plus(context.lane_sum(bytes), offset + row * lds.pitch_bytes() + column * lds.element_bytes);
  }
  if (disjoint(rows, row) && disjoint(columns, column))
    return split_address(context, layout, lds, row, column, offset, rows, columns);
  std::vector<std::string> coordinate;
  for (std::size_t axis = 0; axis < constant.size(); ++axis) {
    std::vector<std::int64_t> weights(constant.size(), 0);
    weights[axis] = 1;
    coordinate.push_back("(" + plus(context.lane_sum(lane_part(layout, weights)), constant[axis]) + ")");
  }
  return lds_address_of(context, storage, coordinate);
}

std::string lds_address_of(Context& context, int storage, const std::vector<std::string>& coordinate) {
  const LdsLayout& lds = context.storage(storage).lds_layout;
  const auto weights = row_weights(lds);
  std::string row;
  for (std::size_t axis = 0; axis < coordinate.size(); ++axis) {
    if (weights[axis] == 0 && static_cast<int>(axis) == lds.contiguous) continue;
    row += (row.empty() ? "" : " + ") + coordinate[axis] +
           (weights[axis] == 1 ? "" : " * " + unsigned_text(weights[axis]));
  }
  if (row.empty()) row = "0u";
  const std::string column = coordinate[lds.contiguous] + " * " + unsigned_text(lds.element_bytes);
  const std::string offset =
      context.storage(storage).offset_bytes == 0 ? "" : " + " + unsigned_text(context.storage(storage).offset_bytes);
  if (lds.xor_basis.empty())
    return "((" + row + ") * " + unsigned_text(lds.pitch_bytes()) + " + " + column + offset + ")";
  const std::string name = context.fresh("w");
  context.line("const u32 " + name + " = " + row + ";");
  std::string swizzle;
  for (std::size_t bit = 0; bit < lds.xor_basis.size(); ++bit) {
    if (lds.xor_basis[bit] == 0) continue;
    swizzle += " ^ ((" + name + " >> " + std::to_string(bit) + " & 1u) * " +
               unsigned_text(lds.xor_basis[bit] * lds.chunk_bytes) + ")";
  }
  return "(" + name + " * " + unsigned_text(lds.pitch_bytes()) + " + (" + column + swizzle + ")" + offset + ")";
}

namespace {

struct Stage { std::string text; };  // "" or " + s3"
Result<std::string> stage_text(Context& context, const kernel::LdsRef& ref) {
  const kernel::Storage& storage = context.storage(ref.storage);
  if (!ref.stage || storage.stages <= 1) return std::string();
  if (ref.stage->kind == Expr::Kind::integer) {
    const std::int64_t bytes = ref.stage->integer * storage.stage_bytes();
    return bytes == 0 ? std::string() : " + " + unsigned_text(bytes);
  }
  KILN_TRY(const Text stage, render(context, *ref.stage, nullptr));
  const std::string name = context.fresh("s");
  context.line("const u32 " + name + " = u32(" + stage.text + ") * " + unsigned_text(storage.stage_bytes()) + ";");
  return " + " + name;
}

struct Access { std::vector<int> registers; std::string address; };
Result<std::vector<Access>> accesses_of(Context& context, int regs, const kernel::LdsRef& ref, int vector_bytes) {
  const kernel::Storage& from = context.storage(regs);
  const kernel::Storage& lds = context.storage(ref.storage);
  if (from.dtype != lds.dtype)
    return Error(ErrorCode::unsupported, "an LDS access that converts between element types");
  KILN_TRY(const auto vectors, kernel::vector_accesses(from, lds.lds_layout.contiguous, vector_bytes));
  KILN_TRY(const std::string stage, stage_text(context, ref));
  std::vector<Access> accesses;
  for (const auto& vector : vectors) {
    Coordinate place = vector.coordinate;
    for (std::size_t axis = 0; axis < ref.start.size(); ++axis) place[axis] += ref.start[axis];
    accesses.push_back({vector.registers, lds_address(context, from.reg_layout, ref.storage, place) + stage});
  }
  return accesses;
}

}  // namespace

Status print_load_lds(Context& context, const kernel::LoadLds& load) {
  const kernel::Storage& storage = context.storage(load.regs);
  KILN_TRY(const auto accesses, accesses_of(context, load.regs, load.from, load.vector_bytes));
  for (const auto& access : accesses) {
    const std::string type = data_type(storage.dtype, static_cast<int>(access.registers.size())),
                      name = context.fresh("x");
    context.line("const " + type + " " + name + " = load_lds<" + type + ">(lds, " + access.address + ");");
    registers_store(context, load.regs, access.registers, name);
  }
  return ok();
}

Status print_store_lds(Context& context, const kernel::StoreLds& store) {
  const kernel::Storage& storage = context.storage(store.regs);
  KILN_TRY(const auto accesses, accesses_of(context, store.regs, store.to, store.vector_bytes));
  for (const auto& access : accesses) {
    const std::string type = data_type(storage.dtype, static_cast<int>(access.registers.size()));
    context.line("store_lds<" + type + ">(lds, " + access.address + ", " +
                 registers_value(storage, store.regs, access.registers) + ");");
  }
  return ok();
}

}  // namespace kiln::emit::hip
