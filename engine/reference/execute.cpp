// The inner loop: runs one Code. Everything here is per element.
#include <algorithm>
#include <cmath>

#include "engine/ir/bound/atomic.hpp"
#include "engine/reference/machine.hpp"

namespace kiln::reference {

using bound::Value;

// What locate answers for an element that is not there: a mistake, which was noted; or none.
constexpr std::int64_t nowhere = -1, outside = -2;

Value zero_of(DType type) { return is_float(type) ? bound::real_value(0) : bound::integer_value(0); }

bool Machine::fail(Error error) {
  finding_ = std::move(error);
  return false;
}

std::vector<std::int64_t> Machine::indices_of(const Instruction& in, const Code& code, std::size_t rank) const {
  std::vector<std::int64_t> indices;
  for (std::size_t i = 0; i < rank; ++i)
    indices.push_back(
        book_.registers[static_cast<std::size_t>(code.indices[static_cast<std::size_t>(in.first) + i])].integer);
  return indices;
}

std::int64_t Machine::locate(const Instruction& in, const Code& code, const std::vector<std::int64_t>& extents,
                             const std::vector<std::int64_t>* strides, bool tensor) {
  const std::int32_t* places = code.indices.data() + in.first;
  const Value* registers = book_.registers.data();
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const std::int64_t index = registers[places[i]].integer;
    if (static_cast<std::uint64_t>(index) >= static_cast<std::uint64_t>(extents[i])) {
      if (tensor && program_.clips) return outside;
      const auto name = tensor ? tensor_name(place_, in.object) : tile_name(place_, in.object);
      fail(out_of_range(place_, name, indices_of(in, code, extents.size()), extents));
      return nowhere;
    }
    offset = strides ? offset + index * (*strides)[i] : offset * extents[i] + index;
  }
  return offset;
}

bool Machine::watch_map(EpochWatch& watch, Touch touch, const Instruction& in, const Code& code, bool tensor) {
  const auto who = static_cast<std::uint32_t>(place_.iteration);
  auto& now = watch.at(epoch_);
  const bool writes = touch != Touch::read;
  const auto other = touch == Touch::update  ? now.updated_by(who)
                     : touch == Touch::write ? now.written_by(who)
                                             : now.read_by(who);
  if (other == Watch::none) return true;
  const auto rank = tensor ? program_.tensors[static_cast<std::size_t>(in.object)].shape.size()
                           : launch_.tiles[static_cast<std::size_t>(in.object)].shape.size();
  const auto name = tensor ? tensor_name(place_, in.object) : tile_name(place_, in.object);
  return fail(map_race(place_, name, indices_of(in, code, rank), writes, other));
}

template <bool scaled> bool Machine::load_tile(const Instruction& in, const Code& code) {
  auto& tile = tiles_[static_cast<std::size_t>(in.object)];
  const auto offset = locate(in, code, tile.tile->shape, nullptr, false);
  if (offset < 0) return false;
  const auto at = static_cast<std::size_t>(offset);
  if (in.watched && check_races_ && !watch_map(tile.watch[at], Touch::read, in, code, false)) return false;
  if (!tile.written[at])
    return fail(uninitialised(place_, tile_name(place_, in.object), tile_indices(*tile.tile, offset)));
  book_.registers[static_cast<std::size_t>(in.to)] = tile.values[at];
  if constexpr (scaled) book_.scales[static_cast<std::size_t>(in.to)] = tile.scale[at];
  return true;
}

template <bool scaled> bool Machine::store_tile(const Instruction& in, const Code& code) {
  auto& tile = tiles_[static_cast<std::size_t>(in.object)];
  const auto offset = locate(in, code, tile.tile->shape, nullptr, false);
  if (offset < 0) return false;
  const auto at = static_cast<std::size_t>(offset);
  if (check_races_ && !watch_map(tile.watch[at], Touch::write, in, code, false)) return false;
  tile.values[at] = book_.registers[static_cast<std::size_t>(in.a)];
  tile.written[at] = 1;
  if constexpr (scaled) tile.scale[at] = book_.scales[static_cast<std::size_t>(in.a)];
  return true;
}

template <bool scaled> bool Machine::load_tensor(const Instruction& in, const Code& code) {
  auto& tensor = tensors_[static_cast<std::size_t>(in.object)];
  const auto offset = locate(in, code, tensor.extents, &tensor.strides, true);
  if (offset == outside) {
    book_.registers[static_cast<std::size_t>(in.to)] = zero_of(tensor.tensor->dtype);
    if constexpr (scaled) book_.scales[static_cast<std::size_t>(in.to)] = 0;
    return true;
  }
  if (offset < 0) return false;
  const auto at = static_cast<std::size_t>(offset);
  if (in.watched && check_races_ && !watch_map(tensor.watch[at], Touch::read, in, code, true)) return false;
  if (!tensor.blocks.empty())
    if (const auto other = tensor.blocks[at].read_by(block_number_); other != Watch::none)
      return fail(block_race(place_, tensor_name(place_, in.object), indices_of(in, code, tensor.tensor->shape.size()),
                             false, other));
  if (!tensor.written.empty() && tensor.written[at] == 0)
    return fail(unwritten_workspace(place_, tensor_name(place_, in.object),
                                    indices_of(in, code, tensor.tensor->shape.size())));
  book_.registers[static_cast<std::size_t>(in.to)] = tensor.load(tensor.data + offset * tensor.element_bytes);
  if constexpr (scaled) book_.scales[static_cast<std::size_t>(in.to)] = tensor.scale ? tensor.scale[at] : 0.0;
  return true;
}

template <bool scaled> bool Machine::store_tensor(const Instruction& in, const Code& code) {
  auto& tensor = tensors_[static_cast<std::size_t>(in.object)];
  const auto offset = locate(in, code, tensor.extents, &tensor.strides, true);
  if (offset == outside) return true;
  if (offset < 0) return false;
  const auto at = static_cast<std::size_t>(offset);
  if (check_races_ && !watch_map(tensor.watch[at], Touch::write, in, code, true)) return false;
  if (!tensor.blocks.empty())
    if (const auto other = tensor.blocks[at].written_by(block_number_); other != Watch::none)
      return fail(block_race(place_, tensor_name(place_, in.object), indices_of(in, code, tensor.tensor->shape.size()),
                             true, other));
  if (!tensor.written.empty()) tensor.written[at] = 1;
  tensor.store(tensor.data + offset * tensor.element_bytes, book_.registers[static_cast<std::size_t>(in.a)]);
  if constexpr (scaled) tensor.scale[at] = book_.scales[static_cast<std::size_t>(in.a)];
  return true;
}

// One after the other: whatever their order on a device, each is done at once. Outside the tensor nothing is.
template <bool scaled> bool Machine::update_tensor(const Instruction& in, const Code& code) {
  auto& tensor = tensors_[static_cast<std::size_t>(in.object)];
  const auto indices = indices_of(in, code, tensor.extents.size());
  for (std::size_t axis = 0; axis < indices.size(); ++axis) {
    if (indices[axis] >= 0 && indices[axis] < tensor.extents[axis]) continue;
    book_.registers[static_cast<std::size_t>(in.to)] = zero_of(tensor.tensor->dtype);
    if constexpr (scaled) book_.scales[static_cast<std::size_t>(in.to)] = 0;
    return true;
  }
  const auto offset = locate(in, code, tensor.extents, &tensor.strides, true);
  if (offset < 0) return false;
  const auto at = static_cast<std::size_t>(offset);
  if (check_races_ && !watch_map(tensor.watch[at], Touch::update, in, code, true)) return false;
  if (!tensor.blocks.empty())
    if (const auto other = tensor.blocks[at].updated_by(block_number_); other != Watch::none)
      return fail(block_race(place_, tensor_name(place_, in.object), indices_of(in, code, tensor.tensor->shape.size()),
                             true, other));
  if (!tensor.written.empty() && tensor.written[at] == 0)
    return fail(unwritten_workspace(place_, tensor_name(place_, in.object),
                                    indices_of(in, code, tensor.tensor->shape.size())));
  auto* const data = tensor.data + offset * tensor.element_bytes;
  const Value old = tensor.load(data), value = book_.registers[static_cast<std::size_t>(in.a)];
  tensor.store(data, bound::atomic_result(in.atomic, tensor.tensor->dtype, old, value,
                                          book_.registers[static_cast<std::size_t>(in.b)]));
  book_.registers[static_cast<std::size_t>(in.to)] = old;
  if constexpr (scaled) {
    const double before = tensor.scale ? tensor.scale[at] : 0.0, with = book_.scales[static_cast<std::size_t>(in.a)];
    book_.scales[static_cast<std::size_t>(in.to)] = before;
    const double sum = before + with + std::fabs(value.real) + (before == 0 ? std::fabs(old.real) : 0);
    if (tensor.scale && is_float(tensor.tensor->dtype))
      tensor.scale[at] = in.atomic == tile::AtomicOp::add ? finite_scale(sum) : std::max(before, with);
  }
  return true;
}

template <bool scaled> bool Machine::execute(const Code& code) {
  Value* const registers = book_.registers.data();
  double* const scales = book_.scales.data();
  const Instruction* const begin = code.instructions.data();
  const Instruction* const end = begin + code.instructions.size();
  for (const Instruction* in = begin; in != end; ++in) {
    switch (in->step) {
      case Step::apply: {
        const Value result = in->function(registers[in->a], registers[in->b], registers[in->c]);
        if constexpr (scaled) {
          const auto operand = [&](std::int32_t r) { return Scaled{registers[r].real, scales[r]}; };
          const bool any = in->scale && (scales[in->a] != 0 || scales[in->b] != 0 || scales[in->c] != 0);
          scales[in->to] =
              any ? finite_scale(in->scale(operand(in->a), operand(in->b), operand(in->c), result.real)) : 0.0;
        }
        registers[in->to] = result;
        break;
      }
      case Step::reinterpret:
        registers[in->to] = bound::reinterpret(registers[in->a], in->from, in->type);
        if constexpr (scaled) scales[in->to] = 0;
        break;
      case Step::move:
        registers[in->to] = registers[in->a];
        if constexpr (scaled) scales[in->to] = scales[in->a];
        break;
      case Step::jump: in = begin + in->target - 1; break;
      case Step::jump_if_zero: if (registers[in->a].integer == 0) in = begin + in->target - 1; break;
      case Step::jump_if_set: if (registers[in->a].integer != 0) in = begin + in->target - 1; break;
      case Step::load_tile: if (!load_tile<scaled>(*in, code)) return false; break;
      case Step::load_tensor: if (!load_tensor<scaled>(*in, code)) return false; break;
      case Step::store_tile: if (!store_tile<scaled>(*in, code)) return false; break;
      case Step::store_tensor: if (!store_tensor<scaled>(*in, code)) return false; break;
      case Step::update_tensor: if (!update_tensor<scaled>(*in, code)) return false; break;
    }
  }
  return true;
}

template bool Machine::execute<true>(const Code&);
template bool Machine::execute<false>(const Code&);

}  // namespace kiln::reference
