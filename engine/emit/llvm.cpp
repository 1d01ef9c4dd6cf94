// The LLVM IR printer for host targets: one function a launch, statements in order. Decides nothing: what to do and in
// which blocks and layouts stands in the kernel program.
#include <algorithm>
#include <limits>

#include "engine/emit/emit.hpp"
#include "engine/emit/llvm_context.hpp"
#include "engine/emit/llvm_elements.hpp"
#include "engine/emit/llvm_expression.hpp"

namespace kiln::emit {
namespace llvm_text {

namespace {

std::vector<Value> constants(const std::vector<std::int64_t>& list) {
  std::vector<Value> values;
  for (const auto entry : list) values.push_back(Builder::constant(entry));
  return values;
}

std::vector<std::int64_t> layout_strides(const layout::LdsLayout& layout) {
  std::vector<std::int64_t> strides(layout.shape.size());
  std::int64_t row = layout.pitch_bytes();
  for (int axis = static_cast<int>(layout.shape.size()) - 1; axis >= 0; --axis) {
    if (axis == layout.contiguous) {
      strides[axis] = layout.element_bytes;
      continue;
    }
    strides[axis] = row;
    row *= layout.shape[axis];
  }
  return strides;
}

}  // namespace

Memory storage_memory(Context& ctx, int id) {
  const auto& storage = ctx.storage(id);
  return {ctx.ir.offset(ctx.arena, Builder::constant(storage.offset_bytes)),
          storage.dtype,
          constants(storage.shape),
          constants(layout_strides(storage.lds_layout)),
          dtype_bytes(storage.dtype),
          tile_scope};
}

Value size_value(Context& ctx, const bound::Extent& extent, std::int64_t factor) {
  if (extent.is_static()) return Builder::constant(extent.value() * factor);
  return ctx.ir.mul(Evaluator(ctx).index_value(*extent.expr()), Builder::constant(factor));
}

Memory tensor_memory(Context& ctx, int id) {
  const auto& tensor = ctx.program.tensors[id];
  Memory memory{ctx.tensors[id], tensor.dtype, {}, {}, 1, tensor_scope};
  const int bytes = dtype_bytes(tensor.dtype);
  for (const auto& extent : tensor.shape) memory.extents.push_back(size_value(ctx, extent, 1));
  for (const auto& stride : tensor.strides) memory.stride_bytes.push_back(size_value(ctx, stride, bytes));
  memory.align = static_cast<int>(std::min<std::int64_t>(bytes, std::max<std::int64_t>(tensor.align_bytes, 1)));
  return memory;
}

void poll_cancel(Context& ctx) {
  Builder& ir = ctx.ir;
  const Value flag = ir.instruction(integer(8), "load atomic i8, " + ctx.cancel.typed() + " monotonic, align 1");
  const std::string go_on = ir.label("go_on");
  ir.jump_if(ir.compare("icmp eq", flag, Builder::constant(0, integer(8))), go_on, "cancelled");
  ir.place(go_on);
}

namespace {

void emit_body(Context& ctx, const kernel::Body& body);

void emit_for(Context& ctx, const kernel::For& loop) {
  Evaluator evaluator(ctx);
  const Value begin = evaluator.index_value(*loop.from), end = evaluator.index_value(*loop.to);
  if (loop.step->kind != bound::Expr::Kind::integer || loop.step->integer <= 0) {
    return ctx.fail(Error(ErrorCode::internal, "a loop's step is no positive constant"));
  }
  // The counter must not wrap at the end of the 64-bit range: it runs over multiples of the step below a saturated end.
  const auto highest = Builder::constant(std::numeric_limits<std::int64_t>::max() - loop.step->integer);
  ctx.ir.loop(begin, ctx.ir.min_signed(end, highest), loop.step->integer, [&](const Value& i) {
    poll_cancel(ctx);
    ctx.variables[loop.var] = i;
    emit_body(ctx, loop.body);
  });
}

void emit_if(Context& ctx, const kernel::If& branch) {
  const Value condition = Evaluator(ctx).index_value(*branch.condition);
  const auto otherwise = [&] { emit_body(ctx, branch.otherwise); };
  ctx.ir.branch(
      condition, [&] { emit_body(ctx, branch.then); },
      branch.otherwise.empty() ? std::function<void()>() : std::function<void()>(otherwise));
}

void emit_leave(Context& ctx, const kernel::Leave& leave) {
  Builder& ir = ctx.ir;
  const Value condition = Evaluator(ctx).index_value(*leave.condition);
  const std::string go_on = ir.label("go_on");
  ir.jump_if(condition, "left", go_on);
  ir.place(go_on);
  ctx.leaves = true;
}

struct StatementPrinter {
  Context& ctx;
  void operator()(const kernel::Direct& s) const { emit_direct(ctx, s); }
  void operator()(const kernel::Mma& s) const { emit_mma(ctx, s); }
  void operator()(const kernel::Map& s) const { emit_map(ctx, s); }
  void operator()(const kernel::Fill& s) const { emit_fill(ctx, s); }
  void operator()(const kernel::Reduce& s) const { emit_reduce(ctx, s); }
  void operator()(const kernel::For& s) const { emit_for(ctx, s); }
  void operator()(const kernel::If& s) const { emit_if(ctx, s); }
  void operator()(const kernel::Let& s) const { ctx.variables[s.var] = Evaluator(ctx).index_value(*s.value); }
  void operator()(const kernel::Leave& s) const { emit_leave(ctx, s); }
  void operator()(const kernel::Barrier&) const {}  // one wave: nothing to wait for
  void operator()(const kernel::Wait&) const {}
  void operator()(const kernel::Sched&) const {}
  template <class Other>
  void operator()(const Other&) const {
    ctx.fail(Error(ErrorCode::internal, "host kernel programs have no statement of this kind"));
  }
};

void emit_body(Context& ctx, const kernel::Body& body) {
  for (const auto& statement : body) {
    if (ctx.error) return;
    if (ctx.ir.size() > text_bytes_max)
      return ctx.fail(Error(ErrorCode::resource_limit, "the emitted text exceeds 1 MiB"));
    std::visit(StatementPrinter{ctx}, statement.node);
  }
}

void emit_launch(Context& ctx) {
  Builder& ir = ctx.ir;
  ir.begin_function("define i32 @" + ctx.launch.symbol +
                    "(ptr noalias %args, ptr noalias %arena, i64 %bx, i64 %by, i64 %bz, ptr %cancel) #0");
  ctx.index_slot = ir.instruction(pointer(), "alloca [128 x i8], align 64");
  for (std::size_t i = 0; i < ctx.program.tensors.size(); ++i) {
    const Value slot = ir.offset({"%args", pointer(), {}}, Builder::constant(static_cast<std::int64_t>(i) * 8));
    ctx.tensors.push_back(ir.load(pointer(), slot, 8));
  }
  for (std::size_t i = 0; i < ctx.program.symbols.size(); ++i) {
    const auto place = static_cast<std::int64_t>(ctx.program.tensors.size() + i) * 8;
    const Value slot = ir.offset({"%args", pointer(), {}}, Builder::constant(place));
    ctx.symbols.push_back(ir.cast("zext", ir.load(integer(32), ir.load(pointer(), slot, 8), 4), integer(64)));
  }
  for (const auto& role : ctx.launch.roles) emit_body(ctx, role.body);
  ir.line("  ret i32 0");
  if (ctx.leaves) {
    ir.line("left:");
    ir.line("  ret i32 0");
  }
  ir.line("cancelled:");
  ir.line("  ret i32 1");
  ir.end_function();
}

std::string attributes(const target::Target& target) {
  std::string features;
  for (const auto& feature : target.host_features) features += (features.empty() ? "+" : ",+") + feature;
  const std::string width = std::to_string(target.wave * 32);
  return "attributes #0 = { nounwind \"target-features\"=\"" + features + "\" \"prefer-vector-width\"=\"" + width +
         "\" \"min-legal-vector-width\"=\"" + width + "\" }\n";
}

// Two alias scopes in one domain, each in a list of its own: tiles, tensors.
constexpr const char* alias_metadata =
    "!0 = !{!3}\n!1 = !{!4}\n!2 = distinct !{!2}\n!3 = distinct !{!3, !2}\n!4 = distinct !{!4, !2}\n";

}  // namespace
}  // namespace llvm_text

Result<std::string> emit_llvm(const kernel::Program& program, const target::Target& target) {
  using namespace llvm_text;
  if (!target.is_host())
    return Error(ErrorCode::unsupported, "LLVM IR is emitted for host targets, not for " + target.full);
  Builder ir;
  ir.set_predicates(target.wave == 16);  // AVX-512
  ir.global("target datalayout = \"e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128\"");
  ir.global("target triple = \"x86_64-unknown-linux-gnu\"\n");
  ir.global("@kiln_zero = internal constant [16 x i8] zeroinitializer, align 16");
  for (const auto& launch : program.launches) {
    const auto argument = [](const char* name) { return Value{name, integer(64), std::nullopt}; };
    Context ctx{
        ir, program, launch, target.wave * 4, target.vgprs_max, {"%arena", pointer(), {}}, {"%cancel", pointer(), {}}};
    ctx.block = {argument("%bx"), argument("%by"), argument("%bz")};
    emit_launch(ctx);
    if (ctx.error) return *std::move(ctx.error);
  }
  std::string text = ir.module() + attributes(target) + "\n" + alias_metadata;
  if (text.size() > text_bytes_max) return Error(ErrorCode::resource_limit, "the emitted text exceeds 1 MiB");
  return text;
}

}  // namespace kiln::emit
