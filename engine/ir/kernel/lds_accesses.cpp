#include "engine/ir/kernel/lds_accesses.hpp"

#include <algorithm>
#include <set>

namespace kiln::kernel {

using layout::Coordinate;

void ByteSet::add(std::int64_t begin, std::int64_t bytes) {
  for (auto byte = begin; byte < begin + bytes; ++byte) {
    if (byte >= 0 && byte / 64 < static_cast<std::int64_t>(words_.size())) {
      words_[byte / 64] |= std::uint64_t(1) << (byte % 64);
    }
  }
}

void ByteSet::add(const ByteSet& other) {
  for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
}

bool ByteSet::overlaps(const ByteSet& other) const {
  for (std::size_t i = 0; i < words_.size(); ++i) {
    if (words_[i] & other.words_[i]) return true;
  }
  return false;
}

namespace {

// Calls `visit` for every coordinate of a rectangle.
template <class F>
void each_place(const std::vector<std::int64_t>& shape, F&& visit) {
  Coordinate place(shape.size(), 0);
  while (true) {
    visit(place);
    int axis = static_cast<int>(shape.size()) - 1;
    while (axis >= 0 && ++place[axis] == shape[axis]) place[axis--] = 0;
    if (axis < 0) return;
  }
}

}  // namespace

LdsAccesses::Draft LdsAccesses::draft(const std::string& path, int storage, bool write, const std::string& what) {
  Draft result{path + (write ? " w " : " r ") + std::to_string(storage) + " " + what, -1};
  const auto [at, fresh] = made_.emplace(result.key, static_cast<int>(list_.size()));
  if (!fresh) { result.id = at->second; return result; }
  const auto bytes = subject_.launch.lds_bytes;
  LdsAccess access{path, storage, write, {}, ByteSet(bytes)};
  access.waves.assign(subject_.launch.threads / subject_.launch.wave, ByteSet(bytes));
  list_.push_back(std::move(access));
  return result;
}

std::vector<std::int64_t> LdsAccesses::stage_offsets(const LdsRef& ref, const Known& known) const {
  const Storage& lds = subject_.storage(ref.storage);
  const auto at = [&](std::int64_t stage) { return lds.offset_bytes + stage * lds.stage_bytes(); };
  if (!ref.stage) return {at(0)};
  if (const auto stage = evaluate(*ref.stage, known); stage && *stage >= 0 && *stage < lds.stages) return {at(*stage)};
  std::vector<std::int64_t> offsets;
  for (int stage = 0; stage < lds.stages; ++stage) offsets.push_back(at(stage));
  return offsets;
}

int LdsAccesses::registers(const Role& role, const std::string& path, const LdsRef& ref, const Storage& regs,
                           int vector_bytes, bool write, const Known& known) {
  const auto bases = stage_offsets(ref, known);
  const auto made = draft(path, ref.storage, write, bases.size() > 1 ? "any" : std::to_string(bases.front()));
  if (made.id >= 0) return made.id;
  LdsAccess& access = list_.back();
  const Storage& lds = subject_.storage(ref.storage);
  const auto vectors = vector_accesses(regs, lds.lds_layout.contiguous, vector_bytes);
  for (int wave = 0; vectors && wave < role.waves; ++wave) {
    ByteSet& bytes = access.waves[role.first_wave + wave];
    for (const auto& vector : *vectors) {
      for (const auto offset : lane_offsets(regs, lds, ref, vector, subject_.launch.wave, wave)) {
        for (const auto base : bases) bytes.add(base + offset, vector_bytes);
      }
    }
    access.all.add(bytes);
  }
  return static_cast<int>(list_.size()) - 1;
}

int LdsAccesses::rectangle(const Role& role, const std::string& path, const LdsRef& ref,
                           const std::vector<std::int64_t>& shape, bool write, const Known& known) {
  const auto bases = stage_offsets(ref, known);
  const auto made = draft(path, ref.storage, write, "rectangle " +
                          (bases.size() > 1 ? "any" : std::to_string(bases.front())));
  if (made.id >= 0) return made.id;
  LdsAccess& access = list_.back();
  const auto& layout = subject_.storage(ref.storage).lds_layout;
  each_place(shape, [&](Coordinate place) {
    for (std::size_t axis = 0; axis < ref.start.size(); ++axis) place[axis] += ref.start[axis];
    for (const auto base : bases) access.all.add(base + layout.offset(place), layout.element_bytes);
  });
  for (int wave = 0; wave < role.waves; ++wave) access.waves[role.first_wave + wave] = access.all;
  return static_cast<int>(list_.size()) - 1;
}

namespace {

// Variables that the expressions use and that are not the map's own.
std::set<int> outer_variables(const Map& map, const LdsAccesses::Elements& of) {
  std::set<int> outer;
  const auto note = [&](const bound::Expr& node) {
    if (node.kind == bound::Expr::Kind::variable) outer.insert(static_cast<int>(node.integer));
  };
  for (const auto& index : of.indices) for_each_node(*index, note);
  if (of.where) for_each_node(*of.where, note);
  for (const int index : map.index) outer.erase(index);
  return outer;
}

// Whether the condition holds; nullopt where only running tells.
std::optional<bool> holds(const bound::Expr& where, const Known& known) {
  if (where.op != Op::logical_and || where.args.size() != 2) {
    const auto value = evaluate(where, known);
    return value ? std::optional(*value != 0) : std::nullopt;
  }
  const auto a = holds(*where.args[0], known), b = holds(*where.args[1], known);
  if (a && b) return *a && *b;
  return (a && !*a) || (b && !*b) ? std::optional(false) : std::nullopt;
}

}  // namespace

int LdsAccesses::elements(const Role& role, const std::string& path, const Map& map, const Elements& of,
                          const Known& known) {
  // The values of outer variables belong to the key; unknown, the access is all of it.
  const auto number = [](const bound::Expr* expr) {
    return " " + std::to_string(reinterpret_cast<std::uintptr_t>(expr));
  };
  std::string what = "elements of";
  for (const auto& index : of.indices) what += number(index.get());
  if (of.where) what += " where" + number(of.where);
  for (const int variable : outer_variables(map, of))
    what += " " + (known.contains(variable) ? std::to_string(known.at(variable)) : "?");
  const auto made = draft(path, of.storage, of.write, what);
  if (made.id >= 0) return made.id;
  const int id = static_cast<int>(list_.size()) - 1;
  Known values = known;
  for (int wave = 0; wave < role.waves; ++wave) {
    ByteSet& bytes = list_[id].waves[role.first_wave + wave];
    for (int lane = 0; lane < subject_.launch.wave; ++lane) {
      for (int r = 0; r < map.iteration.registers(); ++r) {
        const auto place = map.iteration.at(r, lane, wave);
        for (std::size_t axis = 0; axis < place.size(); ++axis) values[map.index[axis]] = place[axis];
        if (!add_element(of, values, bytes)) list_[id].known = false;
      }
    }
    list_[id].all.add(bytes);
  }
  return id;
}

bool LdsAccesses::add_element(const Elements& of, const Known& values, ByteSet& bytes) const {
  const Storage& lds = subject_.storage(of.storage);
  const auto happens = of.where ? holds(*of.where, values) : true;
  if (happens == false) return true;
  Coordinate element;
  bool inside = true;
  for (std::size_t axis = 0; axis < of.indices.size(); ++axis) {
    const auto index = evaluate(*of.indices[axis], values);
    if (!index) {  // depends on what is not known here: the whole buffer, by every wave
      bytes.add(lds.offset_bytes, lds.stage_bytes());
      return false;
    }
    inside = inside && *index >= 0 && *index < lds.shape[axis];
    element.push_back(*index);
  }
  if (inside) bytes.add(lds.offset_bytes + lds.lds_layout.offset(element), lds.lds_layout.element_bytes);
  return happens.has_value() || !inside;
}

int LdsAccesses::reduce_scratch(const Role& role, const std::string& path, const Reduce& reduce, bool write) {
  const auto made = draft(path, reduce.scratch, write, "reduce");
  if (made.id >= 0) return made.id;
  LdsAccess& access = list_.back();
  const Storage& scratch = subject_.storage(reduce.scratch);
  const auto& layout = subject_.storage(reduce.to).reg_layout;
  const auto parts = reduce_parts(subject_.storage(reduce.from).reg_layout, reduce.axis);
  for (int wave = 0; wave < role.waves; ++wave) {
    ByteSet& bytes = access.waves[role.first_wave + wave];
    int own = 0;
    for (std::size_t bit = 0; bit < parts.wave_bits.size(); ++bit) own |= (wave >> parts.wave_bits[bit] & 1) << bit;
    for (int part = 0; part < parts.count(); ++part) {
      if (write && part != own) continue;
      for (int lane = 0; lane < subject_.launch.wave; ++lane) {
        for (int r = 0; r < layout.registers(); ++r) {
          auto place = layout.at(r, lane, wave);
          place.insert(place.begin(), part);
          bytes.add(scratch.offset_bytes + scratch.lds_layout.offset(place), scratch.lds_layout.element_bytes);
        }
      }
    }
    access.all.add(bytes);
  }
  return static_cast<int>(list_.size()) - 1;
}

}  // namespace kiln::kernel
