// HIP C++ from kernel programs: the kernel's frame, block order, control flow. Prints what is decided, decides nothing.
#include <algorithm>

#include "engine/emit/emit.hpp"
#include "engine/emit/hip_context.hpp"

namespace kiln::emit {
namespace hip {
namespace {

bool is_symbol(const std::string& name) {
  return !name.empty() && name.size() <= 80 && !(name[0] >= '0' && name[0] <= '9') &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
         });
}

Status print_for(Context& context, const kernel::For& loop) {
  const std::string path = context.path;
  KILN_TRY(const Text from, render(context, *loop.from, nullptr, true));
  KILN_TRY(const Text to, render(context, *loop.to, nullptr, true));
  KILN_TRY(const Text step, render(context, *loop.step, nullptr));
  const auto first = context.range(*loop.from), last = context.range(*loop.to), by = context.range(*loop.step);
  const bool known = first && last && by;
  // The variable also holds the value that ends the loop.
  const bool wide =
      from.wide || to.wide || step.wide || !known || last->hi + by->hi > INT32_MAX || first->lo < INT32_MIN;
  const std::string type = wide ? "i64" : "i32", name = "v" + std::to_string(loop.var), end = context.fresh("e");
  const auto as = [&](const Text& text) { return wide ? as_i64(text) : text.text; };
  const auto saved = context.ranges;
  if (known) context.ranges.variables[loop.var] = {first->lo, std::max(first->lo, last->hi - 1)};
  context.divisors.variables[loop.var] =
      std::min(power_of_two_divisor(*loop.from, context.divisors), power_of_two_divisor(*loop.step, context.divisors));
  context.line("const " + type + " " + end + " = " + as(to) + ";");
  context.line(loop.unroll ? "#pragma clang loop unroll(full)" : "#pragma clang loop unroll(disable)");
  context.line("for (" + type + " " + name + " = " + as(from) + "; " + name + " < " + end + "; " + name +
               " += " + as(step) + ") {");
  ++context.depth;
  KILN_CHECK(print_body(context, loop.body, path + "/for"));
  --context.depth;
  context.line("}");
  context.ranges = saved;
  return ok();
}

Status print_if(Context& context, const kernel::If& branch) {
  const std::string path = context.path;
  KILN_TRY(const Text condition, render(context, *branch.condition, nullptr));
  context.line("if (" + condition.text + ") {");
  ++context.depth;
  KILN_CHECK(print_body(context, branch.then, path + "/then"));
  --context.depth;
  if (!branch.otherwise.empty()) {
    context.line("} else {");
    ++context.depth;
    KILN_CHECK(print_body(context, branch.otherwise, path + "/else"));
    --context.depth;
  }
  context.line("}");
  return ok();
}

bool reads_tensor(const Expr& expr) {
  return expr.kind == Expr::Kind::tensor ||
         std::any_of(expr.args.begin(), expr.args.end(), [](const auto& arg) { return reads_tensor(*arg); });
}

Status print_let(Context& context, const kernel::Let& let) {
  KILN_TRY(const Text value, render(context, *let.value, nullptr, true));
  const auto range = context.range(*let.value);
  std::string type = type_name(let.value->type);
  if (let.value->type == DType::index) {
    if (range) context.ranges.variables[let.var] = *range;
    else context.ranges.variables.erase(let.var);
    context.divisors.variables[let.var] = power_of_two_divisor(*let.value, context.divisors);
    if (fits_i32(range)) type = "i32";
  }
  context.ranges.assumptions.set_condition(let.var, *let.value);
  // One value for the wave, whatever others write meanwhile.
  const bool loaded = reads_tensor(*let.value);
  context.line("const " + type + " v" + std::to_string(let.var) + " = " +
               (loaded ? "uniform_value<" + type + ">(" + value.text + ")" : value.text) + ";");
  return ok();
}

// All lanes of the block read one value, whatever the compiler knows of that.
Status print_leave(Context& context, const kernel::Leave& leave) {
  KILN_TRY(const Text condition, render(context, *leave.condition, nullptr));
  context.line("if (uniform_value<i32>(" + condition.text + ") != 0) return;");
  return ok();
}

Status print_sched(Context& context, const kernel::Sched& sched) {
  switch (sched.kind) {
    case kernel::Sched::Kind::fence: context.line("KILN_SCHED_FENCE(" + std::to_string(sched.mask) + ");"); break;
    case kernel::Sched::Kind::group:
      context.line("KILN_SCHED_GROUP(" + std::to_string(sched.mask) + ", " + std::to_string(sched.count) + ");");
      break;
    case kernel::Sched::Kind::priority: context.line("KILN_PRIORITY(" + std::to_string(sched.count) + ");"); break;
  }
  return ok();
}

struct Printer {
  Context& context;

  Status operator()(const kernel::LoadGlobal& node) { return scoped([&] { return print_load_global(context, node); }); }
  Status operator()(const kernel::StoreGlobal& node) {
    return scoped([&] { return print_store_global(context, node); });
  }
  Status operator()(const kernel::LoadLds& node) { return scoped([&] { return print_load_lds(context, node); }); }
  Status operator()(const kernel::StoreLds& node) { return scoped([&] { return print_store_lds(context, node); }); }
  Status operator()(const kernel::Direct&) {
    return Error(ErrorCode::unsupported, "copies from global memory straight to LDS are not built for HIP yet");
  }
  Status operator()(const kernel::Wait&) {
    return Error(ErrorCode::unsupported, "waits for asynchronous copies are not built for HIP yet");
  }
  Status operator()(const kernel::Barrier& node) {
    if (node.scope == kernel::Barrier::Scope::role && context.launch.roles.size() > 1) {
      return Error(ErrorCode::unsupported, "barriers of some of a block's waves are not built for HIP yet");
    }
    print_barrier(context);
    return ok();
  }
  Status operator()(const kernel::Mma& node) { return print_mma(context, node); }
  Status operator()(const kernel::Fill& node) { return print_fill(context, node); }
  Status operator()(const kernel::Map& node) { return print_map(context, node); }
  Status operator()(const kernel::Reduce& node) { return print_reduce(context, node); }
  Status operator()(const kernel::Convert& node) { return print_convert(context, node); }
  Status operator()(const kernel::Sched& node) { return print_sched(context, node); }
  Status operator()(const kernel::For& node) { return print_for(context, node); }
  Status operator()(const kernel::If& node) { return print_if(context, node); }
  Status operator()(const kernel::Let& node) { return print_let(context, node); }
  Status operator()(const kernel::Leave& node) { return print_leave(context, node); }

  template <class Print> Status scoped(Print&& print) {
    context.line("{");
    ++context.depth;
    KILN_CHECK(print());
    --context.depth;
    context.line("}");
    return ok();
  }
};

std::string parameters(const kernel::Program& program) {
  std::string text;
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    const auto& tensor = program.tensors[i];
    text += i ? ", " : "";
    if (tensor.scalar) {
      text += "const " + element_type(tensor.dtype) + " p" + std::to_string(i);
      continue;
    }
    text += (tensor.access == Access::read ? "const void* " : "void* ") +
            std::string(tensor.may_alias ? "" : "__restrict__ ") + "p" + std::to_string(i);
  }
  for (std::size_t i = 0; i < program.symbols.size(); ++i)
    text += (text.empty() ? "" : ", ") + std::string("const i32 s") + std::to_string(i);
  return text;
}

Status print_roles(Context& context) {
  for (const auto& role : context.launch.roles) {
    const bool all = context.launch.roles.size() == 1;
    if (!all) {
      context.line("if (wave >= " + unsigned_text(role.first_wave) + " && wave < " +
                   unsigned_text(role.first_wave + role.waves) + ") {  // " +
                   (is_symbol(role.name) ? role.name : "role"));
      ++context.depth;
    }
    KILN_CHECK(print_body(context, role.body, all ? "body" : is_symbol(role.name) ? role.name : "role"));
    if (!all) {
      --context.depth;
      context.line("}");
    }
  }
  return ok();
}

Result<std::string> print_kernel(const kernel::Program& program, const kernel::Launch& launch,
                                 const target::Target& target) {
  if (!is_symbol(launch.symbol)) return Error(ErrorCode::internal, "a kernel's symbol is no identifier");
  if (launch.grid.size() != 3 || launch.wave < 1 || launch.threads % launch.wave != 0)
    return Error(ErrorCode::internal, "a launch without grid or waves");
  Context context(program, launch, target);
  context.global_barriers = reads_what_it_writes(launch, program.tensors);
  KILN_CHECK(print_roles(context));
  const std::string threads = std::to_string(launch.threads);
  std::string out = "extern \"C\" " + (launch.waves_per_simd > 0 ? "KILN_KERNEL_WAVES(" + threads + ", " +
                                                                       std::to_string(launch.waves_per_simd) + ")"
                                                                 : "KILN_KERNEL(" + threads + ")");
  out += " void " + launch.symbol + "(" + parameters(program) + ") {\n";
  if (launch.lds_bytes > 0) out += "  KILN_LDS(lds, " + std::to_string(launch.lds_bytes) + ");\n";
  out += "  const u32 thread = thread_id();\n";
  if (launch.threads == launch.wave) {
    out += "  const u32 lane = thread, wave = 0u;\n";
  } else {
    out += "  const u32 lane = thread % " + unsigned_text(launch.wave) + ", wave = uniform(thread / " +
           unsigned_text(launch.wave) + ");\n";
  }
  std::string order;  // printed before the prologue that it adds to
  KILN_CHECK(print_block_order(context, order));
  if (bound::all_static(launch.grid)) out += order;
  for (const auto& line : context.prologue()) out += "  " + line + "\n";
  if (!bound::all_static(launch.grid)) out += order;
  for (std::size_t id = 0; id < launch.storages.size(); ++id) {
    if (launch.storages[id].kind == kernel::Storage::Kind::regs)
      out += "  " + register_declaration(launch.storages[id], static_cast<int>(id)) + "\n";
  }
  return out + context.out + "}\n";
}

}  // namespace

void print_barrier(Context& context) { context.line(context.global_barriers ? "barrier_global();" : "barrier();"); }

Status print_body(Context& context, const kernel::Body& body, const std::string& path) {
  for (std::size_t i = 0; i < body.size(); ++i) {
    const auto& stmt = body[i];
    context.path = path + "/" + std::to_string(i);
    // For profiles, which know instructions by their lines.
    context.line(std::string(statement_mark) + context.path + (stmt.pointer.empty() ? "" : " " + stmt.pointer));
    if (auto status = std::visit(Printer{context}, stmt.node); !status) {
      Error error = std::move(status).error();
      if (error.context.empty() && !stmt.pointer.empty()) error.context.push_back("at " + stmt.pointer);
      return error;
    }
    if (context.out.size() > text_bytes_max)
      return Error(ErrorCode::resource_limit, "the kernel's text is longer than 1 MiB: use smaller tiles");
  }
  return ok();
}

}  // namespace hip

Result<std::string> emit_hip(const kernel::Program& program, const target::Target& target) {
  if (target.is_host()) return Error(ErrorCode::unsupported, "HIP text for a host target");
  std::string text = "#include <kiln/kernel.hpp>\n#pragma clang fp contract(off)\n\nnamespace kiln {\n";
  for (const auto& launch : program.launches) {
    KILN_TRY(const std::string kernel, hip::print_kernel(program, launch, target));
    text += "\n" + kernel;
  }
  text += "\n}  // namespace kiln\n";
  if (text.size() > text_bytes_max)
    return Error(ErrorCode::resource_limit, "the program's text is longer than 1 MiB: use smaller tiles");
  return text;
}

}  // namespace kiln::emit
