// Matrix statements as single instructions, found by coordinates and proved for every lane and wave.
#include <algorithm>
#include <map>

#include "engine/ir/kernel/program.hpp"

namespace kiln::kernel {
namespace {

using layout::Coordinate;
using layout::RegLayout;

Error refused(const std::string& what) { return Error(ErrorCode::invalid_argument, what); }

// One group of registers that is one operand of one instruction: its first row, and the k of each of the instruction's
// slots.
struct OperandGroup {
  int first = 0;
  std::int64_t row = 0;
  std::vector<std::int64_t> slots;
};

// `rows`: the instruction's extent on this side. Every lane's registers must be the instruction's rows over one start
// row, with k depending on the slot only.
Result<std::vector<OperandGroup>> operand_groups(const Storage& storage, const target::MatrixInstruction& instruction,
                                                 int rows, int lanes) {
  const auto& layout = storage.reg_layout;
  const int elements = instruction.operand_elements;
  if (layout.rank() != 2) return refused(storage.name + " is no [rows, k] array");
  if (layout.registers() % elements != 0) {
    return refused(storage.name + ": its registers are no whole number of operands of " + std::to_string(elements));
  }
  const auto wrong_lanes = refused(storage.name + ": its lanes do not hold the operand of " + instruction.name);
  std::vector<OperandGroup> groups;
  for (int first = 0; first < layout.registers(); first += elements) {
    OperandGroup group{first, layout.of_register(first)[0], std::vector<std::int64_t>(instruction.k, -1)};
    for (int lane = 0; lane < lanes; ++lane) {
      for (int e = 0; e < elements; ++e) {
        const auto place = layout.at(first + e, lane, 0);
        if (place[0] != group.row + lane % rows) return wrong_lanes;
        auto& slot = group.slots[instruction.operand_k(lane, e)];
        if (slot != -1 && slot != place[1]) return wrong_lanes;
        slot = place[1];
      }
    }
    auto sorted = group.slots;
    std::sort(sorted.begin(), sorted.end());
    if (sorted.front() < 0 || std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) return wrong_lanes;
    groups.push_back(std::move(group));
  }
  return groups;
}

// Origins of c's groups, each proved to be the instruction's result.
Result<std::vector<Coordinate>> result_origins(const Storage& storage, const target::MatrixInstruction& instruction,
                                               bool swapped, int lanes) {
  const auto& layout = storage.reg_layout;
  const int elements = instruction.result_elements;
  if (layout.rank() != 2) return refused(storage.name + " is no [m, n] array");
  if (layout.registers() % elements != 0) {
    return refused(storage.name + ": its registers are no whole number of results of " + std::to_string(elements));
  }
  std::vector<Coordinate> origins;
  for (int first = 0; first < layout.registers(); first += elements) {
    const auto origin = layout.of_register(first);
    for (int lane = 0; lane < lanes; ++lane) {
      for (int r = 0; r < elements; ++r) {
        const int row = instruction.result_row(lane, r), column = instruction.result_column(lane, r);
        const Coordinate wanted = {origin[0] + (swapped ? column : row), origin[1] + (swapped ? row : column)};
        if (layout.at(first + r, lane, 0) != wanted) {
          return refused(storage.name + ": its lanes do not hold the result of " + instruction.name +
                         (swapped ? ", swapped" : ""));
        }
      }
    }
    origins.push_back(origin);
  }
  return origins;
}

// Waves move a along m and b along n exactly as they move c, and move no k.
Status check_waves(const Storage& a, const Storage& b, const Storage& c) {
  const auto& waves = c.reg_layout.wave;
  for (const Storage* operand : {&a, &b}) {
    if (operand->reg_layout.wave.bits() != waves.bits()) {
      return refused(operand->name + " and " + c.name + " are over different waves");
    }
  }
  for (int bit = 0; bit < waves.bits(); ++bit) {
    const auto& at_a = a.reg_layout.wave.vectors[bit];
    const auto& at_b = b.reg_layout.wave.vectors[bit];
    if (at_a[1] != 0 || at_b[1] != 0) return refused("waves divide k of " + a.name + " and " + b.name);
    if (at_a[0] != waves.vectors[bit][0]) {
      return refused(a.name + ": a wave's rows are not those of its part of " + c.name);
    }
    if (at_b[0] != waves.vectors[bit][1]) {
      return refused(b.name + ": a wave's rows are not those of its part of " + c.name);
    }
  }
  return ok();
}

Status check_shapes(const Storage& a, const Storage& b, const Storage& c, const Mma& mma,
                    const target::MatrixInstruction& instruction) {
  for (const Storage* one : {&a, &b, &c}) {
    if (one->kind != Storage::Kind::regs) return refused(one->name + " is no register array");
  }
  if (a.shape.size() != 2 || b.shape.size() != 2 || c.shape.size() != 2) {
    return refused("operands of a matrix instruction have two axes");
  }
  if (a.shape[0] != c.shape[0] || b.shape[0] != c.shape[1]) {
    return refused("rows of " + a.name + " and " + b.name + " do not give " + c.name);
  }
  if (mma.k < 1 || mma.k % instruction.k != 0) {
    return refused("k " + std::to_string(mma.k) + " is no multiple of the instruction's");
  }
  if (mma.a_k < 0 || mma.b_k < 0 || mma.a_k > a.shape[1] - mma.k || mma.b_k > b.shape[1] - mma.k) {
    return refused("k leaves an operand");
  }
  if (a.dtype != instruction.operand || b.dtype != instruction.operand || c.dtype != instruction.result) {
    return refused(instruction.name + " does not take these element types");
  }
  return ok();
}

using SlotKey = std::pair<std::int64_t, std::vector<std::int64_t>>;  // row, k of each slot

// Groups whose k lie in origin … origin + extent - 1, k counted from the origin. Error when a group lies partly inside.
Result<std::map<SlotKey, int>> groups_inside(const std::vector<OperandGroup>& groups, std::int64_t origin,
                                             std::int64_t extent, const std::string& name) {
  std::map<SlotKey, int> inside;
  for (const auto& group : groups) {
    auto slots = group.slots;
    std::size_t count = 0;
    for (auto& k : slots) {
      k -= origin;
      count += k >= 0 && k < extent ? 1 : 0;
    }
    if (count == 0) continue;
    if (count != slots.size()) return refused(name + ": k range cuts through an instruction's operand");
    inside.emplace(SlotKey{group.row, std::move(slots)}, group.first);
  }
  return inside;
}

}  // namespace

Result<std::vector<MmaStep>> mma_steps(const Launch& launch, const Mma& mma,
                                       const target::MatrixInstruction& instruction) {
  const Storage& a = launch.storages[mma.a];
  const Storage& b = launch.storages[mma.b];
  const Storage& c = launch.storages[mma.c];
  KILN_CHECK(check_shapes(a, b, c, mma, instruction));
  KILN_CHECK(check_waves(a, b, c));
  // The instruction's rows lie along m, or along n when swapped; all instructions here are square.
  KILN_TRY(const auto a_groups, operand_groups(a, instruction, mma.swapped ? instruction.n : instruction.m,
                                               launch.wave));
  KILN_TRY(const auto b_groups, operand_groups(b, instruction, mma.swapped ? instruction.m : instruction.n,
                                               launch.wave));
  KILN_TRY(const auto origins, result_origins(c, instruction, mma.swapped, launch.wave));
  KILN_TRY(const auto a_inside, groups_inside(a_groups, mma.a_k, mma.k, a.name));
  KILN_TRY(const auto b_inside, groups_inside(b_groups, mma.b_k, mma.k, b.name));
  // The k steps, as sets of slots, in the order of a's registers.
  std::vector<std::pair<int, std::vector<std::int64_t>>> k_steps;
  for (const auto& [key, first] : a_inside) {
    if (key.first == origins.front()[0]) k_steps.emplace_back(first, key.second);
  }
  std::sort(k_steps.begin(), k_steps.end());
  if (static_cast<std::int64_t>(k_steps.size()) * instruction.k != mma.k) {
    return refused(a.name + " does not hold all of k for a row");
  }
  std::vector<MmaStep> steps;
  for (const auto& [unused, slots] : k_steps) {
    for (std::size_t g = 0; g < origins.size(); ++g) {
      const auto at_a = a_inside.find({origins[g][0], slots});
      const auto at_b = b_inside.find({origins[g][1], slots});
      if (at_a == a_inside.end()) return refused(a.name + " does not hold rows and k of a part of " + c.name);
      if (at_b == b_inside.end()) return refused(b.name + " does not hold k in the same slots as " + a.name);
      steps.push_back({at_a->second, at_b->second, static_cast<int>(g) * instruction.result_elements});
    }
  }
  return steps;
}

}  // namespace kiln::kernel
