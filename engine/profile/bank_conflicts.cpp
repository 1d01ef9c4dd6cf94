#include "engine/profile/bank_conflicts.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "engine/ir/kernel/evaluate.hpp"

namespace kiln::profile {
namespace {

using kernel::Launch;
using kernel::Storage;
using target::LdsOperation;

constexpr int banks_max = 64, lanes_max = 64;  // of all targets' rules

// Distinct dwords of one phase in its fullest bank, 0 when no lane is active. Layouts are chosen by this count, over
// and over: no memory is asked for. A lane's dwords are successive and fewer than banks, so that it gives each bank one
// at most.
int phase_cost(const std::vector<int>& lanes, const std::vector<std::int64_t>& offsets, int banks,
               std::int64_t first_byte, int bytes) {
  std::int64_t dwords[banks_max][lanes_max];
  std::array<int, banks_max> count{};
  int most = 0;
  for (const int lane : lanes) {
    if (lane >= static_cast<int>(offsets.size()) || offsets[lane] < 0) continue;
    const auto first = (offsets[lane] + first_byte) / 4, last = (offsets[lane] + first_byte + bytes - 1) / 4;
    for (auto dword = first; dword <= last; ++dword) {
      const auto bank = static_cast<std::size_t>(dword % banks);
      auto* const end = dwords[bank] + count[bank];
      if (std::find(dwords[bank], end, dword) != end) continue;
      *end = dword;
      most = std::max(most, ++count[bank]);
    }
  }
  return most;
}

// "ds_read_b128", and RDNA3's names "ds_load_b128".
std::string mnemonic(const target::Target& target, LdsOperation operation, int bytes) {
  const bool rdna = target.family == target::Family::rdna, read = operation == LdsOperation::read;
  std::string name = rdna ? (read ? "ds_load_" : "ds_store_") : (read ? "ds_read_" : "ds_write_");
  if (bytes < 4) return name + (read ? "u" : "b") + std::to_string(bytes * 8);
  return name + "b" + std::to_string(bytes * 8);
}

class Collector {
 public:
  Collector(const Launch& launch, const target::Target& target) : launch_(launch), target_(target) {}

  Status body(const kernel::Body& statements, const std::string& path) {
    for (std::size_t i = 0; i < statements.size(); ++i) {
      KILN_CHECK(statement(statements[i], path + "/" + std::to_string(i)));
    }
    return ok();
  }
  std::vector<LdsInstruction> take() { return std::move(list_); }

 private:
  Status statement(const kernel::Stmt& stmt, const std::string& path) {
    if (const auto* one = std::get_if<kernel::LoadLds>(&stmt.node)) {
      return vectors(path, LdsOperation::read, launch_.storages[one->regs], one->from, one->vector_bytes);
    }
    if (const auto* one = std::get_if<kernel::StoreLds>(&stmt.node)) {
      return vectors(path, LdsOperation::write, launch_.storages[one->regs], one->to, one->vector_bytes);
    }
    if (const auto* one = std::get_if<kernel::Convert>(&stmt.node)) return convert(path, *one);
    if (const auto* one = std::get_if<kernel::Map>(&stmt.node)) return map(path, *one);
    if (const auto* one = std::get_if<kernel::Reduce>(&stmt.node)) return reduce(path, *one);
    if (const auto* one = std::get_if<kernel::For>(&stmt.node)) return body(one->body, path + "/for");
    if (const auto* one = std::get_if<kernel::If>(&stmt.node)) {
      KILN_CHECK(body(one->then, path + "/then"));
      return body(one->otherwise, path + "/else");
    }
    return ok();
  }

  Status vectors(const std::string& path, LdsOperation operation, const Storage& regs, const kernel::LdsRef& ref,
                 int bytes) {
    const Storage& lds = launch_.storages[ref.storage];
    KILN_TRY(const auto accesses, kernel::vector_accesses(regs, lds.lds_layout.contiguous, bytes));
    for (const auto& access : accesses) {
      add(path, operation, ref.storage, bytes, kernel::lane_offsets(regs, lds, ref, access, launch_.wave, 0));
    }
    return ok();
  }

  // Through scratch: the whole of `from` is written, the whole of `to` read.
  Status convert(const std::string& path, const kernel::Convert& convert) {
    if (convert.method != layout::Conversion::lds || convert.scratch < 0) return ok();
    const auto& lds = launch_.storages[convert.scratch].lds_layout;
    const Storage& from = launch_.storages[convert.from];
    Storage to = launch_.storages[convert.to];
    to.dtype = launch_.storages[convert.scratch].dtype;
    Storage source = from;
    source.dtype = to.dtype;
    kernel::LdsRef whole{convert.scratch, nullptr, {}};
    KILN_CHECK(vectors(path, LdsOperation::write, source, whole, kernel::lds_vector_bytes(source, lds)));
    return vectors(path, LdsOperation::read, to, whole, kernel::lds_vector_bytes(to, lds));
  }

  // Across waves: each register of the result is written once, as this wave's part (wave 0: part 0), and read for every
  // part.
  Status reduce(const std::string& path, const kernel::Reduce& reduce) {
    const auto parts = kernel::reduce_parts(launch_.storages[reduce.from].reg_layout, reduce.axis);
    if (reduce.scratch < 0 || parts.count() == 1) return ok();
    const auto& to = launch_.storages[reduce.to].reg_layout;
    const auto& lds = launch_.storages[reduce.scratch].lds_layout;
    const auto offsets = [&](int reg, int part) {
      std::vector<std::int64_t> lanes;
      for (int lane = 0; lane < launch_.wave; ++lane) {
        auto place = to.at(reg, lane, 0);
        place.insert(place.begin(), part);
        lanes.push_back(lds.offset(place));
      }
      return lanes;
    };
    for (int reg = 0; reg < to.registers(); ++reg) {
      add(path, LdsOperation::write, reduce.scratch, lds.element_bytes, offsets(reg, 0));
    }
    for (int reg = 0; reg < to.registers(); ++reg) {
      for (int part = 0; part < parts.count(); ++part) {
        add(path, LdsOperation::read, reduce.scratch, lds.element_bytes, offsets(reg, part));
      }
    }
    return ok();
  }

  // Elementwise accesses: one instruction of one element for each register of the iteration.
  Status map(const std::string& path, const kernel::Map& map) {
    for (const auto& item : map.body) {
      std::vector<const bound::Expr*> reads;
      const auto collect = [&](const bound::Expr& node) {
        if (node.kind == bound::Expr::Kind::tile && is_lds(static_cast<int>(node.integer))) reads.push_back(&node);
      };
      if (item.where) kernel::for_each_node(*item.where, collect);
      kernel::for_each_node(*item.value, collect);
      if (item.compare) kernel::for_each_node(*item.compare, collect);
      for (const auto& index : item.indices) kernel::for_each_node(*index, collect);
      for (const auto* read : reads) {
        elements(path, LdsOperation::read, map, static_cast<int>(read->integer), read->args);
      }
      if (item.let < 0 && !item.tensor && is_lds(item.target)) {
        elements(path, LdsOperation::write, map, item.target, item.indices);
      }
    }
    return ok();
  }

  void elements(const std::string& path, LdsOperation operation, const kernel::Map& map, int storage,
                const std::vector<bound::ExprPtr>& indices) {
    const Storage& lds = launch_.storages[storage];
    for (int r = 0; r < map.iteration.registers(); ++r) {
      std::vector<std::int64_t> offsets(launch_.wave, -1);
      for (int lane = 0; lane < launch_.wave; ++lane) {
        const auto place = map.iteration.at(r, lane, 0);
        kernel::Known known;
        for (const auto& variable : launch_variables(indices)) known[variable] = 0;  // uniform: shifts all lanes alike
        for (std::size_t axis = 0; axis < place.size(); ++axis) known[map.index[axis]] = place[axis];
        layout::Coordinate element;
        bool inside = true;
        for (std::size_t axis = 0; axis < indices.size(); ++axis) {
          const auto value = kernel::evaluate(*indices[axis], known);
          element.push_back(value.value_or(0));
          inside = inside && element.back() >= 0 && element.back() < lds.shape[axis];
        }
        if (inside) offsets[lane] = lds.lds_layout.offset(element);
      }
      add(path, operation, storage, lds.lds_layout.element_bytes, offsets);
    }
  }

  static std::set<int> launch_variables(const std::vector<bound::ExprPtr>& indices) {
    std::set<int> variables;
    for (const auto& index : indices) {
      kernel::for_each_node(*index, [&](const bound::Expr& node) {
        if (node.kind == bound::Expr::Kind::variable) variables.insert(static_cast<int>(node.integer));
      });
    }
    return variables;
  }

  bool is_lds(int storage) const { return launch_.storages[storage].kind == Storage::Kind::lds; }

  void add(const std::string& path, LdsOperation operation, int storage, int bytes,
           const std::vector<std::int64_t>& offsets) {
    LdsInstruction one;
    one.statement = path;
    one.storage = storage;
    one.tile = launch_.storages[storage].tile;
    one.operation = operation;
    one.bytes = bytes;
    one.mnemonic = mnemonic(target_, operation, bytes);
    const auto [at, fresh] = rules_.try_emplace({operation, bytes});
    if (fresh) at->second = target_.bank_rule(operation, bytes);
    one.cost = conflict_cost(at->second, bytes, offsets);
    one.inferred = at->second.inferred;
    one.offsets = offsets;
    list_.push_back(std::move(one));
  }

  const Launch& launch_;
  const target::Target& target_;
  std::map<std::pair<LdsOperation, int>, target::BankRule> rules_;  // by operation and bytes
  std::vector<LdsInstruction> list_;
};

}  // namespace

ConflictCost conflict_cost(const target::Target& target, LdsOperation operation, int bytes,
                           const std::vector<std::int64_t>& offsets) {
  return conflict_cost(target.bank_rule(operation, bytes), bytes, offsets);
}

ConflictCost conflict_cost(const target::BankRule& rule, int bytes, const std::vector<std::int64_t>& offsets) {
  const int part_bytes = std::max(1, bytes / rule.parts);
  ConflictCost cost;
  for (int part = 0; part < rule.parts; ++part) {
    for (const auto& phase : rule.phases) {
      const int cycles = phase_cost(phase, offsets, rule.banks, std::int64_t(part) * part_bytes, part_bytes);
      cost.cost += cycles;
      cost.ideal += cycles > 0 ? 1 : 0;
    }
  }
  return cost;
}

Result<std::vector<LdsInstruction>> lds_instructions(const Launch& launch, const target::Target& target) {
  if (target.is_host()) return std::vector<LdsInstruction>{};
  Collector collector(launch, target);
  for (const auto& role : launch.roles) {
    KILN_CHECK(collector.body(role.body, launch.roles.size() == 1 ? "body" : role.name));
  }
  return collector.take();
}

}  // namespace kiln::profile
