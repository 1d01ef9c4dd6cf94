// Step 1: each gemm takes a matrix instruction and a wave grid by cost. This fixes the layout of its result.
#include <algorithm>
#include <optional>

#include "engine/lower/amd/plan.hpp"
#include "engine/lower/amd/thread_maps.hpp"

namespace kiln::lower::amd {
namespace {

struct Choice {
  const target::MatrixInstruction* instruction = nullptr;
  kernel::WaveGrid grid;
  int spare_bits = 0;
  double cycles = 0;
};

struct Extents { std::int64_t m = 0, n = 0, k = 0; };

Extents extents_of(const Subject& subject, const bound::Gemm& gemm) {
  const auto& a = subject.tile(gemm.a).shape;
  const auto& c = subject.tile(gemm.c).shape;
  return {c[0], c[1], gemm.transpose_a ? a[0] : a[1]};
}

// Whether rows of the result must lie within a wave: something reduces along n, or the result is an operand of another
// gemm. Followed through maps and copies of fragments: tiles of equal shape that appear in one statement belong
// together.
struct Ties {
  bool rows = false, columns = false;
};

void collect_tiles(const bound::Expr& expr, std::vector<int>& tiles) {
  if (expr.kind == bound::Expr::Kind::tile) tiles.push_back(static_cast<int>(expr.integer));
  for (const auto& arg : expr.args) collect_tiles(*arg, tiles);
}

std::vector<int> tiles_of(const bound::Stmt& stmt) {
  std::vector<int> tiles;
  if (const auto* map = node_of<bound::Map>(stmt)) {
    for (const auto& item : map->body) {
      collect_tiles(*item.value, tiles);
      if (item.where) collect_tiles(*item.where, tiles);
      if (item.let < 0 && !item.tensor) tiles.push_back(item.target);
    }
  } else if (const auto* copy = node_of<bound::Copy>(stmt)) {
    if (!copy->from.is_tensor) tiles.push_back(copy->from.id);
    if (!copy->to.is_tensor) tiles.push_back(copy->to.id);
  }
  return tiles;
}

Ties ties_of(const Subject& subject, int result) {
  std::vector<bool> together(subject.launch.tiles.size(), false);
  together[result] = true;
  for (bool changed = true; changed;) {
    changed = false;
    for (const Site& site : subject.sites) {
      const auto tiles = tiles_of(*site.stmt);
      for (const int one : tiles) {
        if (!together[one]) continue;
        for (const int other : tiles) {
          if (together[other] || subject.tile(other).shape != subject.tile(result).shape ||
              subject.in_lds(other)) continue;
          together[other] = changed = true;
        }
      }
    }
  }
  Ties ties;
  for (const Site& site : subject.sites) {
    if (const auto* reduce = node_of<bound::Reduce>(*site.stmt); reduce && together[reduce->from]) {
      (reduce->axis == 1 ? ties.rows : ties.columns) = true;
    }
    if (const auto* gemm = node_of<bound::Gemm>(*site.stmt); gemm && gemm->c != result) {
      if (together[gemm->a]) (gemm->transpose_a ? ties.columns : ties.rows) = true;
      if (together[gemm->b]) (gemm->transpose_b ? ties.rows : ties.columns) = true;
    }
  }
  return ties;
}

// A gemm whose a is a fragment shares that fragment's rows with the waves that made it.
bool operand_from_registers(const Subject& subject, const bound::Gemm& gemm) {
  return !subject.in_lds(gemm.a) || !subject.in_lds(gemm.b);
}

std::string no_instruction(const Subject& subject, const bound::Gemm& gemm, const Extents& size) {
  const auto& a = subject.tile(gemm.a);
  const auto& b = subject.tile(gemm.b);
  const auto& c = subject.tile(gemm.c);
  if (a.dtype != b.dtype) return std::string("operands of ") + dtype_name(a.dtype) + " and " + dtype_name(b.dtype);
  const auto list = subject.target.matrix_for(a.dtype, c.dtype);
  if (list.empty()) {
    return subject.target.arch + " has no matrix instruction for " + dtype_name(a.dtype) + " into " +
        dtype_name(c.dtype);
  }
  return "tile " + std::to_string(size.m) + "x" + std::to_string(size.n) + "x" + std::to_string(size.k) +
         " is no multiple of " + std::to_string(list.back()->m) + "x" + std::to_string(list.back()->n) + "x" +
         std::to_string(list.back()->k);
}

// Cycles of one product over the whole block tile. LDS moves 128 bytes a cycle for all waves of a compute unit; it
// works beside the matrix units, so the larger counts, with a part of the smaller for what does not overlap.
double cycles_of(const Extents& size, const target::MatrixInstruction& one, const Choice& choice, int waves,
                 int simds) {
  const double wm = static_cast<double>(size.m) / (1 << choice.grid.m_bits),
      wn = static_cast<double>(size.n) / (1 << choice.grid.n_bits);
  const double products = wm / one.m * (wn / one.n) * (static_cast<double>(size.k) / one.k);
  const double matrix = products * std::max(one.cycles, 8) * std::max(1.0, static_cast<double>(waves) / simds);
  const double issue = products * 4;
  const double lds = (wm + wn) * static_cast<double>(size.k) * dtype_bytes(one.operand) * waves / 128;
  return std::max(matrix, lds) + 0.25 * std::min(matrix, lds) + issue;
}

// Whether a lane may read what `pack` instructions take at once: 16 bytes at most, where that is more than one.
bool packs(const target::MatrixInstruction& one, std::int64_t k, int pack) {
  const int bytes = one.operand_elements * dtype_bytes(one.operand) * pack;
  return k % (static_cast<std::int64_t>(one.k) * pack) == 0 && (pack == 1 || bytes <= 16);
}

bool rows_stay_in_waves(const Subject& subject, const bound::Gemm& gemm) {
  return ties_of(subject, gemm.c).rows || operand_from_registers(subject, gemm);
}

std::optional<Choice> choose(const Subject& subject, const Plan& plan, const bound::Gemm& gemm, const Extents& size,
                             const Asked& asked) {
  const auto& a = subject.tile(gemm.a);
  if (a.dtype != subject.tile(gemm.b).dtype) return std::nullopt;
  const bool rows_stay = rows_stay_in_waves(subject, gemm);
  std::optional<Choice> best;
  bool best_preferred = false;
  for (const auto* one : subject.target.matrix_for(a.dtype, subject.tile(gemm.c).dtype)) {
    if (size.m % one->m != 0 || size.n % one->n != 0 || size.k % one->k != 0) continue;
    if (!asked.takes(*one) || (asked.k_pack > 0 && !packs(*one, size.k, asked.k_pack))) continue;
    const bool preferred = one->m == plan.strategy.rows;
    for (int m_bits = 0; m_bits <= plan.wave_bits; ++m_bits) {
      for (int n_bits = 0; m_bits + n_bits <= plan.wave_bits; ++n_bits) {
        if (m_bits > even_bits(size.m / one->m) || n_bits > even_bits(size.n / one->n)) continue;
        if (rows_stay && n_bits > 0) continue;
        Choice choice{one, {m_bits, n_bits}, plan.wave_bits - m_bits - n_bits, 0};
        if (!asked.takes(choice.grid)) continue;
        choice.cycles = cycles_of(size, *one, choice, 1 << plan.wave_bits, subject.target.simds);
        const bool better = !best || (preferred && !best_preferred) ||
                            (preferred == best_preferred && choice.cycles < best->cycles * 0.999);
        if (better) { best = choice; best_preferred = preferred; }
      }
    }
  }
  return best;
}

// How many elements a lane reads at once: 16 bytes feed several instructions.
int pack_of(const target::MatrixInstruction& one, std::int64_t k) {
  int pack = 1;
  const int bytes = one.operand_elements * dtype_bytes(one.operand);
  while (pack * bytes < 16 && k % (static_cast<std::int64_t>(one.k) * pack * 2) == 0) pack *= 2;
  return pack;
}

std::string extents_text(const std::vector<const target::MatrixInstruction*>& list) {
  std::string text;
  for (const auto* one : list) {
    text += (text.empty() ? "" : ", ") + std::to_string(one->m) + "x" + std::to_string(one->n) + "x" +
            std::to_string(one->k);
  }
  return text;
}

// Why the product is not done as asked, where it could be done otherwise.
Error refusal(const Subject& subject, const Plan& plan, const bound::Gemm& gemm, const Extents& size,
              const Asked& asked) {
  const auto all = subject.target.matrix_for(subject.tile(gemm.a).dtype, subject.tile(gemm.c).dtype);
  std::vector<const target::MatrixInstruction*> fit, taken;
  for (const auto* one : all) {
    if (size.m % one->m == 0 && size.n % one->n == 0 && size.k % one->k == 0) fit.push_back(one);
  }
  std::copy_if(fit.begin(), fit.end(), std::back_inserter(taken), [&](const auto* one) { return asked.takes(*one); });
  if (taken.empty()) {
    const std::string tile = std::to_string(size.m) + "x" + std::to_string(size.n) + "x" + std::to_string(size.k);
    return not_honoured(asked.pointer + "/instruction",
                        subject.target.arch + " has no such matrix instruction of " + dtype_name(all.front()->operand) +
                            " into " + dtype_name(all.front()->result) + " for a tile of " + tile,
                        "one of " + extents_text(fit), asked.text());
  }
  const auto can_pack = [&](int pack) {
    return std::any_of(taken.begin(), taken.end(), [&](const auto* one) { return packs(*one, size.k, pack); });
  };
  std::string possible;
  for (int pack = 1; pack <= 16; pack *= 2) {
    if (can_pack(pack)) possible += (possible.empty() ? "" : ", ") + std::to_string(pack);
  }
  if (asked.k_pack > 0 && !can_pack(asked.k_pack)) {
    return not_honoured(asked.pointer + "/k_pack", "a lane cannot read as much of an operand at once", possible,
                        std::to_string(asked.k_pack), "at most 16 bytes, and a part of the tile's k");
  }
  if (asked.waves_n > 1 && rows_stay_in_waves(subject, gemm)) {
    return not_honoured(asked.waves_pointer, "rows of this product must lie within a wave", "1 wave along n",
                        std::to_string(asked.waves_n) + " waves along n",
                        "something reduces along them, or multiplies with the fragment");
  }
  return not_honoured(asked.waves_pointer, "the product does not spread over these waves",
                      "at most " + std::to_string(plan.waves) + " waves together, each with whole instructions of a " +
                          std::to_string(size.m) + "x" + std::to_string(size.n) + " tile",
                      asked.text());
}

// What is asked without what its hints may lose: bit 0 waves, 1 k-pack, 2 the instruction.
Asked without(Asked asked, int parts) {
  if ((parts & 1) != 0) asked.waves_m = asked.waves_n = 0;
  if ((parts & 2) != 0) asked.k_pack = 0;
  if ((parts & 4) != 0) asked.m = asked.n = asked.k = 0;
  return asked;
}

// On the vector unit nothing of a schedule can be honoured.
Status asked_of_vector_unit(const Subject& subject, const bound::Stmt& stmt, const bound::Gemm& gemm, GemmPlan& made) {
  const Asked asked = asked_of(subject, stmt, gemm);
  const int hints = (asked.waves_hint ? 1 : 0) | (asked.hint ? 6 : 0);
  made.left_out = without(asked, ~hints).text();
  const Asked firm = without(asked, hints);
  if (!firm.any()) return ok();
  return not_honoured(firm.any_waves() && !firm.any_instruction() && firm.k_pack == 0 ? asked.waves_pointer
                                                                                      : asked.pointer,
                      "no matrix instruction multiplies these tiles: " + made.why_not,
                      "no schedule, or tiles that one takes", firm.text());
}

// The best choice that does what is asked, with as few hints left out as can be. Absent: no matrix instruction.
Result<std::optional<Choice>> choose_asked(const Subject& subject, const Plan& plan, const bound::Stmt& stmt,
                                           const bound::Gemm& gemm, GemmPlan& made, Asked& honoured) {
  const Asked asked = asked_of(subject, stmt, gemm);
  const Extents size{made.m, made.n, made.k};
  const int hints = (asked.waves_hint ? 1 : 0) | (asked.hint ? 6 : 0);
  for (const int left_out : {0, 1, 2, 4, 3, 5, 6, 7}) {
    if ((left_out & ~hints) != 0) continue;
    honoured = without(asked, left_out);
    auto choice = choose(subject, plan, gemm, size, honoured);
    if (!choice) continue;
    made.honoured = honoured.text();
    made.left_out = without(asked, ~left_out).text();
    return choice;
  }
  if (choose(subject, plan, gemm, size, {})) return refusal(subject, plan, gemm, size, without(asked, hints));
  made.why_not = no_instruction(subject, gemm, size);
  KILN_CHECK(asked_of_vector_unit(subject, stmt, gemm, made));
  return std::optional<Choice>();
}

Status anchor_one(const Subject& subject, Plan& plan, const bound::Stmt& stmt, const bound::Gemm& gemm) {
  GemmPlan& made = plan.gemms[&stmt];
  const Extents size = extents_of(subject, gemm);
  made.m = size.m;
  made.n = size.n;
  made.k = size.k;
  made.a.tile = gemm.a;
  made.b.tile = gemm.b;
  made.a.in_registers = !subject.in_lds(gemm.a);
  made.b.in_registers = !subject.in_lds(gemm.b);
  Asked honoured;
  if (subject.in_lds(gemm.c)) {
    made.why_not = subject.odd[gemm.c] ? "the result's extents have too few factors of two"
        : "the result is a shared tile";
    return asked_of_vector_unit(subject, stmt, gemm, made);
  }
  KILN_TRY(const auto choice, choose_asked(subject, plan, stmt, gemm, made, honoured));
  if (!choice) return ok();
  made.instruction = choice->instruction;
  made.grid = choice->grid;
  made.spare_bits = choice->spare_bits;
  made.k_pack = honoured.k_pack > 0 ? honoured.k_pack : pack_of(*choice->instruction, size.k);
  made.k_slice = static_cast<std::int64_t>(choice->instruction->k) * made.k_pack;
  KILN_TRY(made.result, kernel::result_layout(*made.instruction, size.m, size.n, made.grid, true));
  made.result = layout::with_free_bits(std::move(made.result), 0, made.spare_bits);
  return ok();
}

}  // namespace

Status anchor(const Subject& subject, Plan& plan) {
  plan.wave_bits = subject.wave_bits;
  plan.waves = 1 << plan.wave_bits;
  plan.tiles.assign(subject.launch.tiles.size(), {});
  // Waves that no gemm has work for are left out.
  int spare = plan.wave_bits;
  bool any = false;
  for (const Site& site : subject.sites) {
    if (const auto* gemm = node_of<bound::Gemm>(*site.stmt)) {
      KILN_CHECK(anchor_one(subject, plan, *site.stmt, *gemm));
      any = true;
      spare = std::min(spare, plan.gemms[site.stmt].instruction ? plan.gemms[site.stmt].spare_bits : 0);
    }
  }
  if (!any || spare == 0) return ok();
  plan.wave_bits -= spare;
  plan.waves = 1 << plan.wave_bits;
  plan.gemms.clear();
  for (const Site& site : subject.sites) {
    if (const auto* gemm = node_of<bound::Gemm>(*site.stmt)) KILN_CHECK(anchor_one(subject, plan, *site.stmt, *gemm));
  }
  return ok();
}

}  // namespace kiln::lower::amd
