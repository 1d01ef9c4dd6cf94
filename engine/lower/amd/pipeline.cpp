// Step 5: loops. In a pipelined loop the tiles of the next iteration are loaded into registers before the products of
// this one; operands that a loop does not change are read before it.
#include <algorithm>

#include "engine/lower/amd/builder.hpp"

namespace kiln::lower::amd {
namespace {

void collect_gemms(const bound::Body& body, std::vector<const bound::Stmt*>& list) {
  for (const auto& stmt : body) {
    if (node_of<bound::Gemm>(stmt)) list.push_back(&stmt);
    if (const auto* loop = node_of<bound::For>(stmt)) collect_gemms(loop->body, list);
    if (const auto* branch = node_of<bound::If>(stmt)) {
      collect_gemms(branch->then, list);
      collect_gemms(branch->otherwise, list);
    }
  }
}

void mark_variables(const bound::Body& body, std::vector<bool>& set) {
  const auto mark = [&](int id) {
    if (static_cast<std::size_t>(id) >= set.size()) set.resize(id + 1, false);
    set[id] = true;
  };
  for (const auto& stmt : body) {
    if (const auto* let = node_of<bound::Let>(stmt)) mark(let->var);
    if (const auto* loop = node_of<bound::For>(stmt)) {
      mark(loop->var);
      mark_variables(loop->body, set);
    }
    if (const auto* branch = node_of<bound::If>(stmt)) {
      mark_variables(branch->then, set);
      mark_variables(branch->otherwise, set);
    }
  }
}

bool reads_memory(const bound::Expr& expr) {
  if (expr.kind == bound::Expr::Kind::tile || expr.kind == bound::Expr::Kind::tensor) return true;
  return std::any_of(expr.args.begin(), expr.args.end(), [](const auto& arg) { return reads_memory(*arg); });
}

bool writes_tensor(const bound::Body& body, int tensor) {
  for (const auto& stmt : body) {
    if (const auto* copy = node_of<bound::Copy>(stmt); copy && copy->to.is_tensor && copy->to.id == tensor) return true;
    if (const auto* map = node_of<bound::Map>(stmt)) {
      for (const auto& item : map->body) {
        if (item.let < 0 && item.tensor && item.target == tensor) return true;
      }
    }
    if (const auto* loop = node_of<bound::For>(stmt); loop && writes_tensor(loop->body, tensor)) return true;
    if (const auto* branch = node_of<bound::If>(stmt);
        branch && (writes_tensor(branch->then, tensor) || writes_tensor(branch->otherwise, tensor))) {
      return true;
    }
  }
  return false;
}

// Whether this copy may be done at the top of the loop and its load an iteration earlier: its tile is written by
// nothing else in the loop and not read before it, and where it reads depends on the loop variable and on what was
// known before the loop.
bool can_prefetch(const Builder& builder, const bound::For& loop, std::size_t position,
                  const std::vector<bool>& inner) {
  const auto* copy = node_of<bound::Copy>(loop.body[position]);
  if (!copy || !copy->from.is_tensor || copy->to.is_tensor || !builder.subject.in_lds(copy->to.id)) return false;
  if (!builder.plan.copies.contains(&loop.body[position])) return false;
  std::vector<bound::ExprPtr> used = copy->from.start;
  used.insert(used.end(), copy->limit.begin(), copy->limit.end());
  used.push_back(copy->fill);
  for (const auto& expr : used) {
    if (expr && (uses_variable(*expr, inner) || reads_memory(*expr))) return false;
  }
  // limits stay as they are for the next tile: they must not depend on the loop
  for (const auto& limit : copy->limit) {
    std::vector<bool> own(loop.var + 1, false);
    own[loop.var] = true;
    if (limit && uses_variable(*limit, own)) return false;
  }
  const bound::Tensor& tensor = builder.subject.program.tensors[copy->from.id];
  if (tensor.access != Access::read && writes_tensor(loop.body, copy->from.id)) return false;
  if (tensor.may_alias) return false;
  for (std::size_t i = 0; i < loop.body.size(); ++i) {
    if (i == position) continue;
    const TileUse use = tile_use(builder.subject, loop.body[i]);
    if (use.written[copy->to.id] || (i < position && use.read[copy->to.id])) return false;
  }
  return true;
}

bound::ExprPtr variable_expr(int id) {
  bound::Expr made;
  made.kind = bound::Expr::Kind::variable;
  made.integer = id;
  return std::make_shared<const bound::Expr>(made);
}

// from + (to - from - 1) // step * step: the loop variable's last value, given that there is one.
bound::ExprPtr last_value(const bound::For& loop) {
  const auto span = bound::make_binary(Op::sub, bound::make_binary(Op::sub, loop.to, loop.from),
                                       bound::make_integer(1));
  const auto steps = bound::make_binary(Op::floordiv, span, loop.step);
  return bound::make_binary(Op::add, loop.from, bound::make_binary(Op::mul, steps, loop.step));
}

bool runs_once(const bound::For& loop) {
  const auto from = constant_of(*loop.from), end = constant_of(*loop.to), step = constant_of(*loop.step);
  return from && end && step && *from < *end && *end - *from <= *step;
}

}  // namespace

// Reads of operands that the loop does not change, before it; as long as they are a small part of the registers.
void Builder::keep_operands(const bound::Body& body, kernel::Body& to) {
  if (!plan.strategy.keep_operands) return;
  const TileUse use = tile_use(subject, body);
  std::vector<const bound::Stmt*> gemms;
  collect_gemms(body, gemms);
  for (const auto* stmt : gemms) {
    const GemmPlan& gemm = plan.gemms.at(stmt);
    if (!gemm.instruction || kept.contains(stmt)) continue;
    for (const bool is_a : {true, false}) {
      const OperandPlan& operand = is_a ? gemm.a : gemm.b;
      if (operand.in_registers || operand.scratch || use.written[operand.tile]) continue;
      const std::int64_t slices = gemm.k / gemm.k_slice;
      const std::int64_t bytes = slices * operand.layout.registers() * dtype_bytes(subject.tile(operand.tile).dtype);
      if (bytes / 4 > subject.target.vgprs_max / 8) continue;
      auto& list = is_a ? kept[stmt].a : kept[stmt].b;
      for (std::int64_t slice = 0; slice < slices; ++slice) list.push_back(load_operand(gemm, is_a,
          storage_of(operand.tile), slice, to));
      decide("pipeline", name_of(operand.tile), "operand read once before the loop and kept in " +
             std::to_string(bytes / 4) + " registers a lane");
    }
  }
}

Status Builder::translate_for(const bound::For& loop, kernel::Body& to) {
  const Interval from = interval_of(*loop.from, facts), end = interval_of(*loop.to, facts);
  if (end.hi <= from.lo) return ok();  // never runs
  const Facts before = facts;
  const bool runs = end.lo > from.hi;
  if (runs_once(loop)) {
    if (has_turns(loop)) decide("schedule", "loop " + out.variables[loop.var].name, "runs once: nothing to overlap");
    facts.set_let(loop.var, *loop.from);
    emit(to, kernel::Let{loop.var, uniform(loop.from, to)}, "the loop runs once");
    KILN_CHECK(translate(loop.body, to));
    facts = before;
    return ok();
  }
  if (runs) keep_operands(loop.body, to);
  if (loop.kind == tile::For::Kind::pipelined && loop.stages > 2) {
    return Error(ErrorCode::unsupported, "not yet on " + subject.target.arch + ": a pipelined loop of " +
                                             std::to_string(loop.stages) + " stages (" + pointer +
                                             "); 1, 2 or none given");
  }
  if (loop.kind == tile::For::Kind::pipelined) {
    std::vector<bool> inner;
    mark_variables(loop.body, inner);
    std::vector<const bound::Stmt*> able;
    for (std::size_t i = 0; i < loop.body.size(); ++i) {
      if (loop.stages != 1 && can_prefetch(*this, loop, i, inner)) able.push_back(&loop.body[i]);
    }
    KILN_TRY(const auto prefetched, prefetched_copies(subject, loop, able, report));
    if (!prefetched.empty()) {
      if (runs) return translate_pipelined(loop, prefetched, to);
      kernel::If guard;
      bound::Expr some;
      some.kind = bound::Expr::Kind::binary;
      some.type = DType::boolean;
      some.op = Op::lt;
      some.args = {uniform(loop.from, to), uniform(loop.to, to)};
      guard.condition = std::make_shared<const bound::Expr>(some);
      const auto kept_before = kept;
      keep_operands(loop.body, guard.then);
      KILN_CHECK(translate_pipelined(loop, prefetched, guard.then));
      kept = kept_before;
      emit(to, std::move(guard), "the first tile is loaded before the loop");
      facts = before;
      return ok();
    }
  }
  kernel::For made;
  made.var = loop.var;
  made.from = uniform(loop.from, to);
  made.to = uniform(loop.to, to);
  made.step = loop.step;
  made.unroll = loop.kind == tile::For::Kind::unrolled;
  facts.set_loop(loop.var, *loop.from, *loop.to, *loop.step);
  KILN_CHECK(translate(loop.body, made.body));
  facts = before;
  emit(to, std::move(made));
  return ok();
}

Status Builder::translate_pipelined(const bound::For& loop, const std::vector<const bound::Stmt*>& prefetched,
                                    kernel::Body& to) {
  const Facts before = facts;
  facts.set_loop(loop.var, *loop.from, *loop.to, *loop.step);
  const Facts inside = facts;
  const auto last = last_value(loop);
  // The next tile's index; the last iteration loads its own again, so that every load stays inside what was proved.
  const int next = add_variable("next");
  const auto after = bound::make_binary(Op::add, variable_expr(loop.var), loop.step);
  const auto next_value = bound::make_binary(Op::min, after, last);
  const auto starts_at = [&](const bound::Copy& copy, const bound::ExprPtr& value) {
    std::vector<bound::ExprPtr> start;
    for (const auto& expr : copy.from.start) start.push_back(substitute(expr, loop.var, value));
    return start;
  };
  std::vector<int> regs;
  for (const auto* stmt : prefetched) {
    const auto& copy = std::get<bound::Copy>(stmt->node);
    pointer = stmt->pointer;
    KILN_TRY(const int made, load_tile(*stmt, copy, starts_at(copy, loop.from), to));
    regs.push_back(made);
  }
  kernel::For made;
  made.var = loop.var;
  made.from = uniform(loop.from, to);
  made.to = uniform(loop.to, to);
  made.step = loop.step;
  for (std::size_t i = 0; i < prefetched.size(); ++i) {
    pointer = prefetched[i]->pointer;
    store_tile(regs[i], std::get<bound::Copy>(prefetched[i]->node).to.id, made.body);
  }
  emit(made.body, kernel::Let{next, next_value}, "the last iteration loads its own tile again");
  const Interval of_loop = inside.interval_of(loop.var), of_value = interval_of(*next_value, facts);
  facts.set_like(next, loop.var, {std::max(of_loop.lo, of_value.lo), std::min(of_loop.hi, of_value.hi)});
  for (std::size_t i = 0; i < prefetched.size(); ++i) {
    const auto& copy = std::get<bound::Copy>(prefetched[i]->node);
    pointer = prefetched[i]->pointer;
    const std::size_t before_load = out.storages.size();
    KILN_TRY(const int again, load_tile(*prefetched[i], copy, starts_at(copy, variable_expr(next)), made.body));
    // The same registers as before the loop.
    auto& load = std::get<kernel::LoadGlobal>(made.body.back().node);
    KILN_ASSERT(static_cast<std::size_t>(again) == before_load && out.storages.size() == before_load + 1);
    out.storages.pop_back();
    load.regs = regs[i];
    made.body.back().note = "in flight under this iteration";
  }
  emit(made.body, kernel::Sched{}, "keeps the loads in front");
  decide("pipeline", "loop " + out.variables[loop.var].name,
         std::to_string(prefetched.size()) +
             " tiles of the next iteration are loaded into registers under this one's products; one LDS copy each");
  facts = inside;
  for (const auto& stmt : loop.body) {
    if (std::find(prefetched.begin(), prefetched.end(), &stmt) != prefetched.end()) continue;
    KILN_CHECK(translate_one(stmt, made.body));
  }
  facts = before;
  emit(to, std::move(made));
  return ok();
}

}  // namespace kiln::lower::amd
