// From one register layout (and element type) to another: in registers, by lane exchange, or through LDS.
#include <map>
#include <optional>

#include "engine/emit/hip_context.hpp"

namespace kiln::emit::hip {
namespace {

using kernel::Storage;
using layout::Coordinate;

Status print_by_registers(Context& context, const kernel::Convert& convert) {
  const Storage& from = context.storage(convert.from);
  const Storage& to = context.storage(convert.to);
  for (int reg = 0; reg < to.reg_layout.registers(); ++reg) {
    const auto source = from.reg_layout.register_of(to.reg_layout.of_register(reg));
    if (!source) return Error(ErrorCode::unsupported, "a conversion by registers between layouts that differ in lanes");
    context.line(register_store(to, convert.to, reg,
                                converted(register_value(from, convert.from, *source), from.dtype, to.dtype)));
  }
  return ok();
}

// Where each lane finds the element of one of its new registers.
struct Source { std::vector<int> lane, reg; };

using Holders = std::map<Coordinate, std::vector<std::pair<int, int>>>;  // element -> (lane, register)

Holders holders_of(const layout::RegLayout& layout, int lanes) {
  Holders holders;
  for (int lane = 0; lane < lanes; ++lane) {
    for (int reg = 0; reg < layout.registers(); ++reg) holders[layout.at(reg, lane, 0)].emplace_back(lane, reg);
  }
  return holders;
}

std::optional<Source> source_of(const Holders& holders, const layout::RegLayout& to, int reg, int lanes) {
  Source source;
  for (int lane = 0; lane < lanes; ++lane) {
    const auto at = holders.find(to.at(reg, lane, 0));
    if (at == holders.end()) return std::nullopt;
    auto best = at->second.front();
    for (const auto& holder : at->second) {
      if ((holder.first ^ lane) < (best.first ^ lane)) best = holder;  // as near as can be: often the lane itself
    }
    source.lane.push_back(best.first);
    source.reg.push_back(best.second);
  }
  return source;
}

// The source lane as text when it is linear in the lane's bits: "" for the lane itself, "exchange<m>" style masks
// apart.
struct LaneMap { bool same = false; int exchange = 0; std::string text; };
std::optional<LaneMap> lane_map(Context& context, const std::vector<int>& source) {
  LanePart part;
  for (std::size_t bit = 1; bit < source.size(); bit <<= 1) part.lane.push_back(source[bit] ^ source[0]);
  int difference = source[0];
  bool constant_difference = true;
  for (std::size_t lane = 0; lane < source.size(); ++lane) {
    int linear = source[0];
    for (std::size_t bit = 0; bit < part.lane.size(); ++bit) {
      if ((lane >> bit) & 1) linear ^= static_cast<int>(part.lane[bit]);
    }
    if (linear != source[lane]) return std::nullopt;
    constant_difference = constant_difference && (source[lane] ^ static_cast<int>(lane)) == difference;
  }
  if (constant_difference && difference == 0) return LaneMap{true, 0, ""};
  if (constant_difference && (difference & (difference - 1)) == 0) return LaneMap{false, difference, ""};
  const std::string base = context.lane_xor(part);
  return LaneMap{false, 0, source[0] == 0 ? base : "(" + base + " ^ " + unsigned_text(source[0]) + ")"};
}

std::string moved(const LaneMap& map, const std::string& value, DType type) {
  if (map.same) return value;
  const std::string sent = type == DType::boolean ? "u8(" + value + ")" : value;
  const std::string text = map.exchange ? "exchange<" + std::to_string(map.exchange) + ">(" + sent + ", lane)"
                                        : "fetch(" + sent + ", " + map.text + ")";
  return type == DType::boolean ? "(" + text + " != 0)" : text;
}

Status print_by_lanes(Context& context, const kernel::Convert& convert) {
  const Storage& from = context.storage(convert.from);
  const Storage& to = context.storage(convert.to);
  if (!(from.reg_layout.wave.vectors == to.reg_layout.wave.vectors)) {
    return Error(ErrorCode::unsupported, "a conversion by lanes between layouts that differ in waves");
  }
  const int lanes = context.launch.wave;
  const auto holders = holders_of(from.reg_layout, lanes);
  const auto refused = Error(ErrorCode::unsupported, "a conversion by lanes that is no linear exchange");
  const std::string type = type_name(from.dtype);
  std::vector<std::string> values;
  for (int reg = 0; reg < to.reg_layout.registers(); ++reg) {
    const auto source = source_of(holders, to.reg_layout, reg, lanes);
    if (!source) return refused;
    const auto map = lane_map(context, source->lane);
    if (!map) return refused;
    std::map<int, std::uint64_t> wanted;  // source register -> lanes that want it
    for (int lane = 0; lane < lanes; ++lane) wanted[source->reg[lane]] |= std::uint64_t(1) << lane;
    std::string value;
    for (const auto& [source_reg, who] : wanted) {
      const std::string name = context.fresh("x");
      context.line("const " + type + " " + name + " = " +
                   moved(*map, register_value(from, convert.from, source_reg), from.dtype) + ";");
      if (value.empty()) {
        value = name;
        continue;
      }
      const std::string mine = context.hoisted("m", "bool", "((" + std::to_string(who) + "ul >> lane) & 1ul) != 0");
      value = type + "(" + mine + " ? " + name + " : " + value + ")";
    }
    values.push_back(converted(value, from.dtype, to.dtype));
  }
  for (std::size_t reg = 0; reg < values.size(); ++reg)
    context.line(register_store(to, convert.to, static_cast<int>(reg), values[reg]));
  return ok();
}

Status print_through_lds(Context& context, const kernel::Convert& convert) {
  if (convert.scratch < 0) return Error(ErrorCode::unsupported, "a conversion through LDS without scratch");
  const Storage& from = context.storage(convert.from);
  const Storage& to = context.storage(convert.to);
  const Storage& scratch = context.storage(convert.scratch);
  Storage cast = from;  // what `from` is once its elements have the new type
  cast.dtype = to.dtype;
  const int axis = scratch.lds_layout.contiguous;
  KILN_TRY(const auto stores, kernel::vector_accesses(cast, axis, kernel::lds_vector_bytes(cast, scratch.lds_layout)));
  for (const auto& access : stores) {
    std::vector<std::string> elements;
    for (const int reg : access.registers)
      elements.push_back(converted(register_value(from, convert.from, reg), from.dtype, to.dtype));
    const std::string type = data_type(to.dtype, static_cast<int>(elements.size()));
    const std::string address = lds_address(context, from.reg_layout, convert.scratch, access.coordinate);
    context.line("store_lds<" + type + ">(lds, " + address + ", " + vector_value(to.dtype, elements) + ");");
  }
  print_barrier(context);
  return print_load_lds(context,
                        {convert.to, {convert.scratch, nullptr, {}}, kernel::lds_vector_bytes(to, scratch.lds_layout)});
}

}  // namespace

Status print_convert(Context& context, const kernel::Convert& convert) {
  context.line("{");
  ++context.depth;
  switch (convert.method) {
    case layout::Conversion::none:
    case layout::Conversion::registers: KILN_CHECK(print_by_registers(context, convert)); break;
    case layout::Conversion::lanes: KILN_CHECK(print_by_lanes(context, convert)); break;
    case layout::Conversion::lds: KILN_CHECK(print_through_lds(context, convert)); break;
  }
  --context.depth;
  context.line("}");
  return ok();
}

}  // namespace kiln::emit::hip
