#include "engine/reference/code.hpp"

#include <utility>

namespace kiln::reference {

using bound::Expr;
using bound::Value;

// Compiles into one Code. Every node gets a register of its own: nothing is ever overwritten by mistake, and a launch
// has at most 65 536 nodes.
class CodeBook::Compiler {
 public:
  Compiler(CodeBook& book, WrittenSet written) : book_(book), written_(std::move(written)) {}

  Code expression(const Expr& e) {
    code_.result = compile(e);
    return std::move(code_);
  }

  Code map_body(const bound::Map& map) {
    for (const auto& item : map.body) {
      if (item.let >= 0) {
        emit(Step::move, item.let).a = compile(*item.value);
        continue;
      }
      const auto to_next = item.where ? jump_unless_it_happens(item) : -1;
      std::vector<std::int32_t> places;
      for (const auto& index : item.indices) places.push_back(compile(*index));
      const auto value = compile(*item.value);
      if (item.atomic != tile::AtomicOp::none) {
        const auto compare = item.compare ? compile(*item.compare) : value;
        auto& update = emit(Step::update_tensor, item.old >= 0 ? item.old : temporary());
        update.a = value, update.b = compare;
        update.atomic = item.atomic;
        address(update, item.target, places, true);
      } else {
        auto& store = emit(item.tensor ? Step::store_tensor : Step::store_tile, 0);
        store.a = value;
        address(store, item.target, places, item.tensor);
      }
      if (to_next >= 0) code_.instructions[static_cast<std::size_t>(to_next)].target = here();
    }
    return std::move(code_);
  }

 private:
  // The jump, whose target is still to be set.
  std::int32_t jump_unless_it_happens(const bound::MapItem& item) {
    if (item.old >= 0) {
      const auto zero = is_float(item.value->type) ? bound::real_value(0) : bound::integer_value(0);
      emit(Step::move, item.old).a = book_.new_register(zero);
    }
    const auto value = compile(*item.where);
    emit(Step::jump_if_zero, 0).a = value;
    return here() - 1;
  }
  Instruction& emit(Step step, std::int32_t to) {
    Instruction instruction;
    instruction.step = step;
    instruction.to = to;
    return code_.instructions.emplace_back(instruction);
  }
  std::int32_t here() const { return static_cast<std::int32_t>(code_.instructions.size()); }
  std::int32_t temporary() { return book_.new_register(bound::integer_value(0)); }

  void address(Instruction& instruction, std::int64_t object, const std::vector<std::int32_t>& places, bool tensor) {
    instruction.object = static_cast<std::int32_t>(object);
    instruction.first = static_cast<std::int32_t>(code_.indices.size());
    code_.indices.insert(code_.indices.end(), places.begin(), places.end());
    const auto& set = tensor ? written_.tensors : written_.tiles;
    instruction.watched = !set.empty() && set[static_cast<std::size_t>(object)];
  }

  // The register that holds the value once the code has run.
  std::int32_t compile(const Expr& e) {
    using Kind = Expr::Kind;
    switch (e.kind) {
      case Kind::integer: return book_.new_register(bound::integer_value(e.integer));
      case Kind::real: return book_.new_register(bound::real_value(e.real));
      case Kind::symbol: break;  // run takes programs without any
      case Kind::block: return book_.block_register(static_cast<int>(e.integer));
      case Kind::variable: return static_cast<std::int32_t>(e.integer);
      case Kind::scalar: return book_.new_register(book_.scalars_[static_cast<std::size_t>(e.integer)]);
      case Kind::unary: case Kind::binary: case Kind::call: return operation(e);
      case Kind::select: return choice(e);
      case Kind::cast: return conversion(e);
      case Kind::tile: case Kind::tensor: return load(e);
    }
    return 0;
  }

  std::int32_t operation(const Expr& e) {
    if (e.op == Op::logical_and || e.op == Op::logical_or) return short_circuit(e);
    const DType operand = e.args[0]->type;
    std::int32_t args[3];
    for (std::size_t i = 0; i < 3; ++i) args[i] = i < e.args.size() ? compile(*e.args[i]) : args[0];
    auto& instruction = emit(e.op == Op::bitcast ? Step::reinterpret : Step::apply, temporary());
    instruction.a = args[0], instruction.b = args[1], instruction.c = args[2];
    instruction.from = operand, instruction.type = e.type;
    if (e.op != Op::bitcast) {
      instruction.function = bound::function(e.op, operand);
      instruction.scale = scale_function(e.op, operand);
    }
    return instruction.to;
  }
  std::int32_t conversion(const Expr& e) {
    const DType from = e.args[0]->type;
    const auto source = compile(*e.args[0]);
    if (from == e.type) return source;
    auto& instruction = emit(Step::apply, temporary());
    instruction.a = instruction.b = instruction.c = source;
    instruction.function = bound::conversion(from, e.type);
    instruction.scale = scale_of_conversion(from, e.type);
    return instruction.to;
  }
  std::int32_t short_circuit(const Expr& e) {
    const auto to = temporary();
    emit(Step::move, to).a = compile(*e.args[0]);
    const auto jump = here();
    emit(e.op == Op::logical_and ? Step::jump_if_zero : Step::jump_if_set, 0).a = to;
    const auto right = compile(*e.args[1]);
    emit(Step::move, to).a = right;
    code_.instructions[static_cast<std::size_t>(jump)].target = here();
    return to;
  }
  std::int32_t choice(const Expr& e) {
    const auto to = temporary();
    const auto condition = compile(*e.args[0]);
    const auto to_other = here();
    emit(Step::jump_if_zero, 0).a = condition;
    const auto first = compile(*e.args[1]);
    emit(Step::move, to).a = first;
    const auto to_end = here();
    emit(Step::jump, 0);
    code_.instructions[static_cast<std::size_t>(to_other)].target = here();
    const auto second = compile(*e.args[2]);
    emit(Step::move, to).a = second;
    code_.instructions[static_cast<std::size_t>(to_end)].target = here();
    return to;
  }
  std::int32_t load(const Expr& e) {
    std::vector<std::int32_t> places;
    for (const auto& index : e.args) places.push_back(compile(*index));
    const bool tensor = e.kind == Expr::Kind::tensor;
    const auto to = temporary();
    address(emit(tensor ? Step::load_tensor : Step::load_tile, to), e.integer, places, tensor);
    return to;
  }

  CodeBook& book_;
  WrittenSet written_;
  Code code_;
};

CodeBook::CodeBook(const bound::Program& program, const bound::Launch& launch, std::vector<Value> scalars)
    : program_(program), launch_(launch), scalars_(std::move(scalars)) {
  registers.assign(launch.variables.size() + 3, bound::integer_value(0));
  scales.assign(registers.size(), 0.0);
}

std::int32_t CodeBook::block_register(int axis) const {
  return static_cast<std::int32_t>(launch_.variables.size()) + axis;
}

std::int32_t CodeBook::new_register(Value value) {
  registers.push_back(value);
  scales.push_back(0.0);
  return static_cast<std::int32_t>(registers.size()) - 1;
}

const Code& CodeBook::of(const Expr& expr) {
  const auto found = codes_.find(&expr);
  if (found != codes_.end()) return found->second;
  return codes_.emplace(&expr, Compiler(*this, {}).expression(expr)).first->second;
}

const Code& CodeBook::of(const bound::Map& map) {
  const auto found = codes_.find(&map);
  if (found != codes_.end()) return found->second;
  WrittenSet written;
  written.tiles.resize(launch_.tiles.size());
  written.tensors.resize(program_.tensors.size());
  for (const auto& item : map.body)
    if (item.let < 0) (item.tensor ? written.tensors : written.tiles)[static_cast<std::size_t>(item.target)] = true;
  return codes_.emplace(&map, Compiler(*this, std::move(written)).map_body(map)).first->second;
}

}  // namespace kiln::reference
