// The golden text: one statement a line.
#include <cstdio>
#include <map>

#include "engine/ir/kernel/print_expression.hpp"
#include "engine/ir/kernel/program.hpp"

namespace kiln::kernel {
namespace {

std::string joined(const std::vector<std::int64_t>& list) {
  std::string text;
  for (const auto entry : list) text += (text.empty() ? "" : ",") + std::to_string(entry);
  return text;
}

std::string joined(const bound::Extents& list, const std::vector<bound::Symbol>& symbols) {
  std::string text;
  for (const auto& entry : list) text += (text.empty() ? "" : ",") + bound::print(entry, symbols);
  return text;
}

// Names made unique by a number behind those that come again; empty ones are named by `letter`.
void add_names(std::vector<std::string>& to, const std::vector<std::string>& names, const char* letter,
               std::map<std::string, int>& used) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::string name = names[i].empty() ? letter + std::to_string(i) : names[i];
    while (used[name]++ > 0) name += "." + std::to_string(used[name]);
    to.push_back(name);
  }
}

const char* method_name(layout::Conversion method) {
  switch (method) {
    case layout::Conversion::none: return "none";
    case layout::Conversion::registers: return "registers";
    case layout::Conversion::lanes: return "lanes";
    case layout::Conversion::lds: return "lds";
  }
  return "?";
}

class Printer {
 public:
  Printer(const Program& program, const Launch& launch, std::string& text) : program_(program), launch_(launch),
      text_(text) {
    std::map<std::string, int> used;
    std::vector<std::string> tensors, storages, variables, symbols;
    for (const auto& one : program.symbols) symbols.push_back(one.name);
    for (const auto& one : program.tensors) tensors.push_back(one.name);
    for (const auto& one : launch.storages) storages.push_back(one.name);
    for (const auto& one : launch.variables) variables.push_back(one.name);
    add_names(names_.symbols, symbols, "n", used);
    add_names(names_.tensors, tensors, "t", used);
    add_names(names_.storages, storages, "s", used);
    add_names(names_.variables, variables, "v", used);
  }

  void launch() {
    line(0, "launch " + launch_.symbol + " grid " + joined(launch_.grid, program_.symbols) + " threads " +
         std::to_string(launch_.threads) + " wave " + std::to_string(launch_.wave) + order() + " lds " +
             std::to_string(launch_.lds_bytes) + " B" +
             (launch_.waves_per_simd > 0 ? " waves_per_simd " + std::to_string(launch_.waves_per_simd) : ""));
    for (std::size_t i = 0; i < launch_.storages.size(); ++i) storage(launch_.storages[i], names_.storages[i]);
    for (const auto& role : launch_.roles) {
      line(1, "role " + role.name + " waves " + std::to_string(role.first_wave) + " .. " +
           std::to_string(role.first_wave + role.waves) +
           (role.register_budget > 0 ? " registers " + std::to_string(role.register_budget) : ""));
      body(role.body, 2);
    }
  }

 private:
  void line(int depth, const std::string& content, const std::string& note = "") {
    text_.append(static_cast<std::size_t>(depth) * 2, ' ');
    text_ += content;
    if (!note.empty()) text_ += "  # " + note;
    text_ += '\n';
  }

  std::string order() const {
    std::string text;
    if (launch_.order.columns) text += " order columns(" + std::to_string(launch_.order.group) + ")";
    else if (launch_.order.group != 1) text += " order groups(" + std::to_string(launch_.order.group) + ")";
    if (launch_.order.xcds != 1) text += " xcds(" + std::to_string(launch_.order.xcds) + ")";
    return text;
  }

  void storage(const Storage& one, const std::string& name) {
    const std::string typed = name + " " + dtype_name(one.dtype) + "[" + joined(one.shape) + "]";
    if (one.kind == Storage::Kind::lds) {
      line(1, "lds " + typed + " layout " + one.lds_layout.text() + " stages " + std::to_string(one.stages) + " at " +
           std::to_string(one.offset_bytes));
    } else {
      line(1, "regs " + typed + " layout " + layout::to_text(one.reg_layout) +
                  (one.vector_elements > 1 ? " vectors " + std::to_string(one.vector_elements) : ""));
    }
  }

  void body(const Body& statements, int depth) {
    for (const auto& stmt : statements) {
      std::visit([&](const auto& node) { print(node, depth, stmt.note); }, stmt.node);
    }
  }

  std::string expr(const ExprPtr& one) const { return one ? print_expression(*one, names_) : "0"; }
  const std::string& name(int storage) const { return names_.storages[storage]; }

  // "A[m0 :+128, k :+64? < limit]": an extent follows the axes along which the tile runs, "?" a check, "@" a tile axis
  // out of order.
  std::string global(const GlobalRef& ref, const std::vector<std::int64_t>& shape) const {
    std::string text = names_.tensors[ref.tensor] + "[";
    int next = 0;
    for (std::size_t axis = 0; axis < ref.start.size(); ++axis) {
      if (axis > 0) text += ", ";
      text += expr(ref.start[axis]);
      const int along = axis < ref.tile_axis.size() ? ref.tile_axis[axis] : -1;
      if (along >= 0) {
        text += " :+" + (along < static_cast<int>(shape.size()) ? std::to_string(shape[along]) : "?");
        if (along != next) text += "@" + std::to_string(along);
        next = along + 1;
      }
      if (axis < ref.checked.size() && ref.checked[axis]) text += "?";
      if (axis < ref.limit.size() && ref.limit[axis]) text += " < " + expr(ref.limit[axis]);
    }
    return text + "]";
  }

  std::string lds(const LdsRef& ref, const std::vector<std::int64_t>& shape) const {
    const Storage& storage = launch_.storages[ref.storage];
    std::string text = name(ref.storage);
    if (!ref.start.empty() || shape != storage.shape) {
      text += "[";
      for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        const auto start = axis < ref.start.size() ? ref.start[axis] : 0;
        text += (axis > 0 ? ", " : "") + std::to_string(start) + " :+" + std::to_string(shape[axis]);
      }
      text += "]";
    }
    if (ref.stage) text += " stage " + expr(ref.stage);
    return text;
  }

  static std::string bytes(int count) { return count > 0 ? " " + std::to_string(count) + "B" : ""; }

  void print(const LoadGlobal& node, int depth, const std::string& note) {
    line(depth, name(node.regs) + " = load " + global(node.from, launch_.storages[node.regs].shape) +
         bytes(node.vector_bytes) + (node.addressing == Addressing::buffer ? " buffer" : "") +
         (node.fill ? " fill " + expr(node.fill) : ""), note);
  }
  void print(const StoreGlobal& node, int depth, const std::string& note) {
    line(depth, "store " + global(node.to, launch_.storages[node.regs].shape) + " <- " + name(node.regs) +
         bytes(node.vector_bytes), note);
  }
  void print(const LoadLds& node, int depth, const std::string& note) {
    line(depth, name(node.regs) + " = load " + lds(node.from, launch_.storages[node.regs].shape) +
         bytes(node.vector_bytes), note);
  }
  void print(const StoreLds& node, int depth, const std::string& note) {
    line(depth, "store " + lds(node.to, launch_.storages[node.regs].shape) + " <- " + name(node.regs) +
         bytes(node.vector_bytes), note);
  }
  void print(const Direct& node, int depth, const std::string& note) {
    const auto inside = lds(node.lds, node.shape), outside = global(node.global, node.shape);
    line(depth, std::string(node.token >= 0 ? "async " : "copy ") + (node.to_lds ? inside : outside) + " <- " +
         (node.to_lds ? outside : inside) + bytes(node.vector_bytes) + (node.fill ? " fill " + expr(node.fill) : "") +
                    (node.token >= 0 ? " token " + std::to_string(node.token) : ""), note);
  }
  void print(const Wait& node, int depth, const std::string& note) {
    line(depth, "wait " + (node.token >= 0 ? "token " + std::to_string(node.token) : std::string("all")) + " pending " +
         std::to_string(node.pending), note);
  }
  void print(const Barrier& node, int depth, const std::string& note) {
    line(depth, node.scope == Barrier::Scope::block ? "barrier" : "barrier role", note);
  }
  void print(const Mma& node, int depth, const std::string& note) {
    std::string text = name(node.c) + (node.clear ? " = " : " += ") + "mma " + node.instruction + "(" + name(node.a);
    if (node.a_k != 0) text += " at k " + std::to_string(node.a_k);
    text += std::string(node.a_transposed ? " transposed" : "") + ", " + name(node.b);
    if (node.b_k != 0) text += " at k " + std::to_string(node.b_k);
    text += std::string(node.b_transposed ? " transposed" : "") + ") k " + std::to_string(node.k) +
        (node.swapped ? " swapped" : "");
    const char* const axis_name[] = {" m < ", " n < ", " k < "};
    const ExprPtr* const limits[] = {&node.m_limit, &node.n_limit, &node.k_limit};
    for (int axis = 0; axis < 3; ++axis) {
      if (*limits[axis]) text += axis_name[axis] + expr(*limits[axis]);
    }
    if (node.block_m > 0) text += " block " + std::to_string(node.block_m) + "x" + std::to_string(node.block_n);
    line(depth, text + steps(node), note);
  }
  // " x 32": instructions of one wave, where the target has the instruction and the layouts fit it.
  std::string steps(const Mma& node) const {
    const auto target = target::parse_target(program_.target);
    const auto* instruction = target && !target->is_host() ? target->matrix_named(node.instruction) : nullptr;
    if (instruction == nullptr) return "";
    const auto steps = mma_steps(launch_, node, *instruction);
    return steps ? " x " + std::to_string(steps->size()) : "";
  }
  void print(const Fill& node, int depth, const std::string& note) {
    line(depth, "fill " + name(node.storage) + " = " + expr(node.value), note);
  }
  void print(const Map& node, int depth, const std::string& note) {
    std::string text = "map ";
    for (std::size_t axis = 0; axis < node.index.size(); ++axis) {
      text += (axis > 0 ? ", " : "") + names_.variables[node.index[axis]] + " in " + std::to_string(node.extent[axis]);
      if (axis < node.limit.size() && node.limit[axis]) text += " < " + expr(node.limit[axis]);
    }
    if (!node.iteration.unit.empty()) text += " layout " + iteration(node);
    line(depth, text + checks(node) + ":", note);
    for (const auto& item : node.body) line(depth + 1, map_item(item));
  }
  std::string iteration(const Map& node) const {
    for (std::size_t i = 0; i < launch_.storages.size(); ++i) {
      const auto& one = launch_.storages[i];
      if (one.kind == Storage::Kind::regs && one.reg_layout == node.iteration) return "of " + names_.storages[i];
    }
    return layout::to_text(node.iteration);
  }
  // The accesses, by number, that are proved to stay inside; the others are masked.
  static std::string checks(const Map& node) {
    std::string text;
    for (std::size_t i = 0; i < node.checked.size(); ++i) {
      if (!node.checked[i]) text += (text.empty() ? " unchecked " : ",") + std::to_string(i);
    }
    return text;
  }
  std::string map_item(const bound::MapItem& item) const {
    if (item.let >= 0) return "let " + names_.variables[item.let] + " = " + expr(item.value);
    std::string text;
    if (item.old >= 0) text += "let " + names_.variables[item.old] + " = ";
    if (item.atomic != tile::AtomicOp::none) text += std::string("atomic ") + tile::atomic_op_name(item.atomic) + " ";
    text += (item.tensor ? names_.tensors : names_.storages)[item.target] + "[";
    for (std::size_t axis = 0; axis < item.indices.size(); ++axis) {
      text += (axis > 0 ? ", " : "") + expr(item.indices[axis]);
    }
    const bool atomic = item.atomic != tile::AtomicOp::none;
    text += (atomic ? "], " : "] = ") + expr(item.value) + (item.compare ? " if " + expr(item.compare) : "");
    return text + (item.where ? " where " + expr(item.where) : "");
  }
  void print(const Reduce& node, int depth, const std::string& note) {
    line(depth, name(node.to) + " = reduce " + tile::reduce_op_name(node.op) + " " + name(node.from) + " axis " +
         std::to_string(node.axis) + (node.accumulate ? " accumulate" : "") +
             (node.scratch >= 0 ? " scratch " + name(node.scratch) : "") + limits(node), note);
  }
  std::string limits(const Reduce& node) const {
    std::string text;
    for (std::size_t axis = 0; axis < node.limit.size(); ++axis) {
      if (node.limit[axis]) text += " @" + std::to_string(axis) + " < " + expr(node.limit[axis]);
    }
    return text;
  }
  void print(const Convert& node, int depth, const std::string& note) {
    line(depth, name(node.to) + " = convert " + method_name(node.method) + " " + name(node.from) +
         (node.scratch >= 0 ? " scratch " + name(node.scratch) : ""), note);
  }
  void print(const Sched& node, int depth, const std::string& note) {
    if (node.kind == Sched::Kind::fence) return line(depth, "sched fence", note);
    if (node.kind == Sched::Kind::priority) return line(depth, "sched priority " + std::to_string(node.count), note);
    char mask[16];
    std::snprintf(mask, sizeof mask, "0x%03x", static_cast<unsigned>(node.mask));
    line(depth, "sched group mask " + std::string(mask) + " x " + std::to_string(node.count), note);
  }
  void print(const For& node, int depth, const std::string& note) {
    line(depth, "for " + names_.variables[node.var] + " in " + expr(node.from) + " .. " + expr(node.to) + " step " +
         expr(node.step) + (node.unroll ? " unroll" : "") + ":", note);
    body(node.body, depth + 1);
  }
  void print(const If& node, int depth, const std::string& note) {
    line(depth, "if " + expr(node.condition) + ":", note);
    body(node.then, depth + 1);
    if (node.otherwise.empty()) return;
    line(depth, "else:");
    body(node.otherwise, depth + 1);
  }
  void print(const Leave& node, int depth, const std::string& note) {
    line(depth, "leave if " + expr(node.condition), note);
  }
  void print(const Let& node, int depth, const std::string& note) {
    line(depth, "let " + names_.variables[node.var] + " = " + expr(node.value), note);
  }

  const Program& program_;
  const Launch& launch_;
  std::string& text_;
  Names names_;
};

}  // namespace

std::string print(const Program& program) {
  std::string text = "kernel " + program.name + " target " + program.target + "\n";
  for (const auto& symbol : program.symbols) {
    text += "symbol " + symbol.name + " " + std::to_string(symbol.min) + " .. " + std::to_string(symbol.max) +
        (symbol.multiple_of > 1 ? " multiple of " + std::to_string(symbol.multiple_of) : "") + "\n";
  }
  for (const auto& tensor : program.tensors) {
    if (tensor.scalar) {
      text += "scalar " + tensor.name + " " + dtype_name(tensor.dtype) + "\n";
      continue;
    }
    text += tensor.workspace ? "workspace " : "tensor ";
    text += tensor.name + " " + dtype_name(tensor.dtype) + "[" + joined(tensor.shape, program.symbols) + "] strides " +
        joined(tensor.strides, program.symbols) + " " + access_name(tensor.access) + " align " + std::to_string(tensor.align_bytes) +
            "\n";
  }
  for (const auto& launch : program.launches) Printer(program, launch, text).launch();
  return text;
}

}  // namespace kiln::kernel
