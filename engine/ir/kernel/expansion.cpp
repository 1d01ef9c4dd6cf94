// What a statement is for one lane: vector accesses, matrix steps, LDS offsets.
#include <algorithm>
#include <map>

#include "engine/ir/kernel/program.hpp"
#include "engine/ir/layout/linear.hpp"

namespace kiln::kernel {

using layout::Coordinate;
using layout::RegLayout;

std::int64_t Storage::stage_bytes() const { return (lds_layout.bytes() + 15) / 16 * 16; }

namespace {

Error refused(const std::string& what) { return Error(ErrorCode::invalid_argument, what); }

// Whether no lane or wave bit moves `axis` by less than `elements`, so that runs start aligned everywhere.
bool aligned_everywhere(const RegLayout& layout, int axis, std::int64_t elements) {
  for (const auto* basis : {&layout.lane, &layout.wave}) {
    for (const auto& vector : basis->vectors) {
      if ((vector[axis] & (elements - 1)) != 0) return false;
    }
  }
  return true;
}

}  // namespace

Result<std::vector<VectorAccess>> vector_accesses(const Storage& regs, int axis, int vector_bytes) {
  const auto& layout = regs.reg_layout;
  const int element_bytes = dtype_bytes(regs.dtype);
  if (axis < 0 || axis >= layout.rank()) return refused(regs.name + " has no axis " + std::to_string(axis));
  const int elements = vector_bytes / element_bytes;
  if (!layout::is_power_of_two(elements) || vector_bytes % element_bytes != 0) {
    return refused("a vector of " + std::to_string(vector_bytes) + " bytes does not hold 2^n elements of " +
                   dtype_name(regs.dtype));
  }
  if (!aligned_everywhere(layout, axis, elements)) {
    return refused(regs.name + ": lanes or waves are nearer than a vector of " + std::to_string(vector_bytes) +
                   " bytes along axis " + std::to_string(axis));
  }
  const int count = layout.registers();
  std::map<Coordinate, int> register_at;
  for (int r = 0; r < count; ++r) {
    if (!register_at.emplace(layout.of_register(r), r).second) {
      return refused(regs.name + " holds an element in two registers");
    }
  }
  std::vector<VectorAccess> accesses;
  for (int r = 0; r < count; ++r) {
    VectorAccess access{{}, layout.of_register(r)};
    if (access.coordinate[axis] % elements != 0) continue;
    Coordinate place = access.coordinate;
    for (int e = 0; e < elements; ++e, ++place[axis]) {
      const auto found = register_at.find(place);
      if (found == register_at.end()) {
        return refused(regs.name + ": a lane does not hold " + std::to_string(elements) +
                       " elements in a row along axis " + std::to_string(axis));
      }
      access.registers.push_back(found->second);
    }
    accesses.push_back(std::move(access));
  }
  if (static_cast<int>(accesses.size()) * elements != count) {
    return refused(regs.name + ": its registers are no whole number of vectors along axis " + std::to_string(axis));
  }
  return accesses;
}

ReduceParts reduce_parts(const RegLayout& from, int axis) {
  ReduceParts parts;
  for (int bit = 0; bit < from.wave.bits(); ++bit) {
    if (from.wave.vectors[bit][axis] != 0) parts.wave_bits.push_back(bit);
  }
  return parts;
}

int lds_vector_bytes(const Storage& regs, const layout::LdsLayout& lds) {
  const int element_bytes = dtype_bytes(regs.dtype);
  int bytes = std::min(16, lds.run_bytes_max());
  while (bytes > element_bytes && !vector_accesses(regs, lds.contiguous, bytes)) bytes /= 2;
  return std::max(bytes, element_bytes);
}

std::vector<std::int64_t> lane_offsets(const Storage& regs, const Storage& lds, const LdsRef& ref,
                                       const VectorAccess& access, int lanes, int wave) {
  std::vector<std::int64_t> offsets(lanes);
  for (int lane = 0; lane < lanes; ++lane) {
    Coordinate place = regs.reg_layout.at(access.registers.front(), lane, wave);
    for (std::size_t axis = 0; axis < ref.start.size(); ++axis) place[axis] += ref.start[axis];
    offsets[lane] = lds.lds_layout.offset(place);
  }
  return offsets;
}

}  // namespace kiln::kernel
