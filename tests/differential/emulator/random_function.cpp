#include "tests/differential/emulator/random_function.hpp"

#include "tests/differential/emulator/random_expression.hpp"

namespace kiln::test {
namespace {

// Expressions as deep as this; statements in them, so many a phase.
constexpr int depth_max = 3;

class Functions {
 public:
  Functions(std::uint64_t seed, int index, const FunctionTarget& target)
      : choice_(seed * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(index) * 0xbf58476d1ce4e5b9u + 1),
        target_(target), expressions_(choice_, scope_) {
    scope_.target = target;
    made_.name = "k" + std::to_string(index);
  }

  RandomFunction make() {
    static constexpr std::uint32_t threads[] = {64, 128, 100, 256, 37, 192};
    made_.threads = choice_.in(threads);
    made_.blocks = 1 + choice_.below(2);
    if (choice_.one_in(2)) return make_flat();
    choose_variables();
    const int phases = 2 + static_cast<int>(choice_.below(3));
    for (int p = 0; p < phases; ++p) add_phase(p);
    return std::move(made_);
  }

 private:
  void add_variable(Type type) {
    made_.variables.push_back({type_name(type), "a" + std::to_string(made_.variables.size())});
    scope_.variables.push_back({type_name(type), "it->" + made_.variables.back().name});
    kinds_.push_back(type);
  }

  void choose_variables() {
    for (int i = 0; i < 3; ++i) add_variable(Type::u32);
    const std::uint32_t more = 3 + choice_.below(5);
    for (std::uint32_t i = 0; i < more; ++i) add_variable(expressions_.any_type());
  }

  // One operation a variable, on the inputs, and nothing that would hide its result.
  RandomFunction make_flat() {
    for (int i = 0; i < types; ++i) for (int k = 0; k < 2; ++k) add_variable(static_cast<Type>(i));
    Phase phase;
    for (int i = 0; i < 40; ++i) {
      const Type type = expressions_.any_type();
      made_.variables.push_back({type_name(type), "r" + std::to_string(i)});
      phase.body.push_back({"it->r" + std::to_string(i) + " = " + expressions_.operation(type) + ";", {}, ""});
    }
    for (int i = 0; i < 6; ++i) {
      phase.steps.push_back(lane_step());
      made_.variables.push_back({"u32", "s" + std::to_string(i)});
      phase.steps.back().result = made_.variables.back().name;
    }
    made_.phases.push_back(std::move(phase));
    return std::move(made_);
  }

  void add_phase(int number) {
    Phase phase;
    phase.apart = choice_.one_in(4);
    scope_.phase = number;
    scope_.counts = (number & 1) == 1;   // an even phase adds to the counters, an odd one reads them
    scope_.uniform.clear();
    scope_.arrays.clear();
    loops_ = 0;
    add_to_ = slot(), multiplier_ = slot() | 1;
    const std::uint32_t arrays = choice_.below(3);
    for (std::uint32_t i = 0; i < arrays; ++i) {
      const Type type = expressions_.any_type();
      const std::string name = "l" + std::to_string(i), word = type_name(type);
      phase.arrays.push_back(word + " " + name + "[8]; for (u32 k = 0; k < 8; ++k) " + name + "[k] = (" + word +
                             (is_real(type) ? ")(s32)(k * 3);" : ")(k * 37 + thread);"));
      scope_.arrays.push_back({type_name(type), name});
    }
    const std::uint32_t statements = 5 + choice_.below(6);
    for (std::uint32_t i = 0; i < statements; ++i) phase.body.push_back(statement(2));
    const std::uint32_t steps = choice_.below(4);
    for (std::uint32_t i = 0; i < steps; ++i) phase.steps.push_back(lane_step());
    made_.phases.push_back(std::move(phase));
  }

  std::uint32_t slot() { return choice_.below(256); }

  std::string assignment() {
    const std::uint32_t at = choice_.below(static_cast<std::uint32_t>(kinds_.size()));
    return scope_.variables[at].name + " = " + expressions_.value(kinds_[at], depth_max) + ";";
  }

  // "a3 = ", where there is a variable of that type.
  std::string assigned(Type type) {
    for (std::size_t i = 0; i < kinds_.size(); ++i) if (kinds_[i] == type) return scope_.variables[i].name + " = ";
    return "";
  }

  // Of this thread in the half that the next phase reads.
  std::string own_slot() const {
    return "[" + std::to_string(1 - (scope_.phase & 1)) + "][(thread * " + std::to_string(multiplier_) + " + " +
           std::to_string(add_to_) + ") & (SLOTS - 1)]";
  }

  std::string shared_store() {
    const std::string at = own_slot() + " = ";
    switch (choice_.below(6)) {
      case 0: return "sh->words" + at + expressions_.value(Type::u32, depth_max) + ";";
      case 1: return "sh->longs" + at + expressions_.value(Type::u64, depth_max) + ";";
      case 2: return "sh->reals" + at + expressions_.value(Type::f32, depth_max) + ";";
      case 3: return "sh->shorts" + at + expressions_.value(Type::u16, depth_max) + ";";
      case 4: return "sh->bytes" + at + expressions_.value(Type::u8, depth_max) + ";";
      default: return "sh->quads" + at + quad() + ";";
    }
  }

  std::string quad() {
    std::string text = "make_quad(";
    for (int i = 0; i < 4; ++i) text += (i ? ", " : "") + expressions_.value(Type::u32, 1);
    return text + ")";
  }

  std::string memory_store() {
    const std::string index = expressions_.value(Type::u32, 1);
    switch (choice_.below(9)) {
      case 8: return "x_buffer_store(mine, (" + index + " & 31) * 4, " + expressions_.value(Type::u32, 2) + ");";
      case 0: return "((u32*)mine)[" + index + " & 15] = " + expressions_.value(Type::u32, depth_max) + ";";
      case 1: return "((u64*)mine)[" + index + " & 7] = " + expressions_.value(Type::u64, depth_max) + ";";
      case 2: return "((u16*)mine)[" + index + " & 31] = " + expressions_.value(Type::u16, depth_max) + ";";
      case 3: return "mine[" + index + " & 63] = " + expressions_.value(Type::u8, depth_max) + ";";
      case 4: return "((u32*)mine)[" + index + " & 15] = bits_f32(" + expressions_.value(Type::f32, depth_max) + ");";
      case 5: return "((u16*)mine)[" + index + " & 31] = bits_f16(" + expressions_.value(Type::f16, depth_max) + ");";
      case 6: return "((u64*)mine)[" + index + " & 7] = bits_f64(" + expressions_.value(Type::f64, depth_max) + ");";
      default: return "((struct quad*)mine)[" + index + " & 3] = " + quad() + ";";
    }
  }

  // On counters of the work group or the card, where nobody sees the order; or, with its result, on the thread's own.
  std::string atomic() {
    static constexpr const char* blind[] = {"add", "sub", "and", "or", "xor", "min", "max"};
    static constexpr const char* seen[] = {"add", "sub", "and", "or", "xor", "min", "max", "swap", "cas"};
    static constexpr Type word_types[] = {Type::u32, Type::s32, Type::u64, Type::s64};
    const Type type = choice_.in(word_types);
    const bool wide = type >= Type::u64;
    // Signed and unsigned extremes of one counter would show their order.
    const std::string name = type_name(type), cast = "(" + name + "*)";
    const std::uint32_t operation = choice_.below(7), counter = operation + (name[0] == 's' ? 8 : 0);
    const std::uint32_t where = choice_.below(5);
    const std::string index = expressions_.value(Type::u32, 1), operand = expressions_.value(type, 2);
    if (where == 3) {
      const Type real = choice_.one_in(2) ? Type::f32 : Type::f64;
      return assigned(real) + "own_add_" + type_name(real) + "(mine, " + index + ", " +
             expressions_.value(real, 2) + ");";
    }
    if (where == 4)   // on the slot that is the thread's own until the next phase
      return assigned(type) + "group_" + choice_.in(seen) + "_" + name + "(" + cast + "&sh->" +
             (wide ? "longs" : "words") + own_slot() + ", " + operand + ");";
    if (where == 0 && (scope_.phase & 1) == 0) {
      return std::string("group_") + blind[operation] + "_" + name + "(" + cast + "&sh->counts" + (wide ? "64" : "") +
             "[" + std::to_string(counter) + "], " + operand + ");";
    }
    if (where == 1) {
      return std::string("card_") + blind[operation] + "_" + name + "(" + cast + "(counts + " +
             std::to_string((wide ? 16 : 0) + counter * (wide ? 2 : 1)) + "), " + operand + ");";
    }
    return assigned(type) + "card_" + choice_.in(seen) + "_" + name + "(" + cast + "mine + (" + index + " & " +
           (wide ? "7" : "15") + "), " + operand + ");";
  }

  std::string array_store() {
    if (scope_.arrays.empty()) return assignment();
    const auto& array = choice_.in(scope_.arrays);
    Type type = Type::u8;
    for (int i = 0; i < types; ++i) if (array.type == type_name(static_cast<Type>(i))) type = static_cast<Type>(i);
    std::string text = array.name + "[" + expressions_.value(Type::u32, 1) + " & 7] = ";
    return text + expressions_.value(type, depth_max) + ";";
  }

  std::vector<Statement> block(int depth) {
    std::vector<Statement> body;
    const std::uint32_t count = 1 + choice_.below(3);
    for (std::uint32_t i = 0; i < count; ++i) body.push_back(statement(depth));
    return body;
  }

  Statement statement(int depth) {
    const std::uint32_t kind = choice_.below(depth > 0 ? 16 : 11);
    switch (kind) {
      default: return {assignment(), {}, ""};
      case 5: case 6: return {shared_store(), {}, ""};
      case 7: return {memory_store(), {}, ""};
      case 8: return {atomic(), {}, ""};
      case 9: return {array_store(), {}, ""};
      case 11: case 12: return branch(depth);
      case 13: case 14: return loop(depth);
      case 15: return choose(depth);
    }
  }

  Statement branch(int depth) {
    const bool uniform = choice_.one_in(4);
    Statement made{"if (" + expressions_.condition(2, uniform) + ") {", block(depth - 1), "}"};
    if (choice_.one_in(2)) return made;
    // Both arms in one statement: the second goes where the first goes.
    Statement arm{"} else {", block(depth - 1), ""};
    made.body.push_back(std::move(arm));
    return made;
  }

  Statement loop(int depth) {
    const std::string name = "i" + std::to_string(loops_++);
    const std::uint32_t kind = choice_.below(4);
    const bool uniform = kind < 2;
    std::string limit = kind == 0   ? std::to_string(1 + choice_.below(6))
                        : kind == 1 ? "(" + expressions_.value(Type::u32, 1, true) + " & 7)"
                                    : "(" + expressions_.value(Type::u32, 1) + " & 7)";
    // Counters are constants to all that they may be used for: a limit that changes in the loop would run on.
    const std::string counts = name + " < n" + name + "; ++" + name;
    Statement made{"for (u32 " + name + " = 0, n" + name + " = " + limit + "; " + counts + ") {", {}, "}"};
    auto& names = uniform ? scope_.uniform : scope_.variables;
    names.push_back({"u32", name});
    made.body = block(depth - 1);
    if (choice_.one_in(3)) {
      const std::string leaves = choice_.one_in(2) ? ") break;" : ") continue;";
      made.body.push_back({"if (" + expressions_.condition(1) + leaves, {}, ""});
    }
    if (choice_.one_in(3)) made.body.push_back({assignment(), {}, ""});
    names.pop_back();
    return made;
  }

  Statement choose(int depth) {
    const std::uint32_t arms = 3 + choice_.below(4);
    Statement made{"switch (" + expressions_.value(Type::u32, 1, choice_.one_in(4)) + " & 7) {", {}, "}"};
    for (std::uint32_t i = 0; i < arms; ++i) {
      const std::string label = i + 1 == arms && choice_.one_in(2) ? "default:" : "case " + std::to_string(i) + ":";
      made.body.push_back({label + " {", block(depth - 1), choice_.one_in(3) ? "}" : "} break;"});
    }
    return made;
  }

  // Lanes that are there in every wave, a power of two.
  std::uint32_t common_lanes() const {
    const std::uint32_t wave = static_cast<std::uint32_t>(target_.wave), last = made_.threads % wave;
    const std::uint32_t lanes = last == 0 ? wave : last;
    std::uint32_t power = 1;
    while (power * 2 <= lanes) power *= 2;
    return power;
  }

  std::string word_variable() {
    std::vector<std::string> words;
    for (const auto& one : made_.variables) if (one.type == "u32" && one.name[0] == 'a') words.push_back(one.name);
    return choice_.in(words);
  }

  LaneStep lane_step() {
    LaneStep step;
    step.result = word_variable(), step.index = word_variable();
    step.source = word_variable(), step.old = word_variable();
    if (choice_.one_in(3)) {
      step.condition = "(it->" + word_variable();
      step.condition += " & " + std::to_string(1u << choice_.below(3)) + ") != 0";
    }
    const bool whole = made_.threads % static_cast<std::uint32_t>(target_.wave) == 0;
    if (whole && choice_.one_in(4)) return of_whole_waves(std::move(step));
    switch (choice_.below(11)) {
      case 0: step.name = "bpermute"; break;
      case 9: step.name = "readlane_any", step.argument = common_lanes() - 1, step.condition = ""; break;
      case 1: step.name = "permute", step.argument = choice_.below(0x4000); break;
      case 2:
        step.name = "swizzle";
        step.argument = choice_.one_in(2) ? 0x8000 | choice_.below(256) : choice_.below(0x8000);
        break;
      case 3: step.name = "readlane", step.argument = choice_.below(common_lanes()), step.condition = ""; break;
      case 4: step.name = "readfirstlane"; break;
      case 5: step.name = "ballot", step.argument = choice_.below(static_cast<std::uint32_t>(target_.wave) / 32); break;
      case 6: step.name = "count_below", step.argument = choice_.below(100); break;
      default: step.name = "dpp", step.argument = dpp_argument(); break;
    }
    return step;
  }

  // What asks for all lanes of a wave: matrices, exchanges of registers.
  LaneStep of_whole_waves(LaneStep step) {
    step.condition = "";
    step.argument = choice_.below(1000);
    std::vector<std::string> names = {"permlane16", "permlanex16", "dpp8"};
    if (target_.family == 9) names = {"matrix_i8", "matrix_f32"};
    if (target_.float8) names.push_back("matrix_fp8");
    if (target_.swaps) names.insert(names.end(), {"permlane16_swap", "permlane32_swap"});
    step.name = choice_.in(names);
    if (step.name == "dpp8") step.argument = choice_.below(1u << 24);
    return step;
  }

  std::uint32_t dpp_argument() {
    static constexpr std::uint32_t common[] = {0x101, 0x103, 0x108, 0x10f, 0x111, 0x112, 0x118, 0x11f,
                                               0x121, 0x127, 0x12f, 0x140, 0x141};
    static constexpr std::uint32_t of_gfx9[] = {0x130, 0x134, 0x138, 0x13c, 0x142, 0x143, 0x150, 0x155, 0x15f};
    static constexpr std::uint32_t of_gfx11[] = {0x150, 0x155, 0x15f, 0x161, 0x168, 0x16f};
    std::uint32_t control = 0;
    switch (choice_.below(3)) {
      case 0: control = choice_.below(256); break;
      case 1: control = choice_.in(common); break;
      default: control = target_.family == 9 ? choice_.in(of_gfx9) : choice_.in(of_gfx11); break;
    }
    const std::uint32_t rows = choice_.one_in(2) ? 15 : choice_.below(16);
    const std::uint32_t banks = choice_.one_in(2) ? 15 : choice_.below(16);
    return control | rows << 16 | banks << 20 | choice_.below(2) << 24;
  }

  Choice choice_;
  const FunctionTarget& target_;
  Scope scope_;
  Expressions expressions_;
  RandomFunction made_;
  std::vector<Type> kinds_;          // of made_.variables
  int loops_ = 0;
  std::uint32_t add_to_ = 0, multiplier_ = 1;
};

int size_of(const std::vector<Statement>& body) {
  int size = 0;
  for (const auto& one : body) size += 1 + size_of(one.body);
  return size;
}

}  // namespace

RandomFunction random_function(std::uint64_t seed, int index, const FunctionTarget& target) {
  return Functions(seed, index, target).make();
}

int size_of(const RandomFunction& function) {
  int size = 0;
  for (const auto& phase : function.phases) size += size_of(phase.body) + static_cast<int>(phase.steps.size());
  return size;
}

}  // namespace kiln::test
