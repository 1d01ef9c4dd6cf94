#include "engine/base/fd.hpp"
#include "tests/differential/emulator/random_function.hpp"

namespace kiln::test {
namespace {

void print(const std::vector<Statement>& body, int depth, std::string& text) {
  const std::string margin(static_cast<std::size_t>(depth) * 2, ' ');
  for (const auto& one : body) {
    text += margin + one.open + "\n";
    print(one.body, depth + 1, text);
    if (!one.close.empty()) text += margin + one.close + "\n";
  }
}

std::string phase_name(const RandomFunction& function, std::size_t phase) {
  return function.name + "_" + std::to_string(phase);
}

// One that shrinking has emptied is not printed.
bool empty(const Phase& phase) { return phase.body.empty() && phase.steps.empty(); }

std::string bits_of(const Variable& variable) {
  const std::string value = "it->" + variable.name;
  if (variable.type[0] == 'f') return "bits_" + variable.type + "(" + value + ")";
  return "(u64)" + value;
}

// "it->" stands for the thread's own state, a value on the card, an element of an array on the host.
std::string of_state(std::string text, const std::string& state) {
  for (std::size_t at = 0; (at = text.find("it->", at)) != std::string::npos; at += state.size())
    text.replace(at, 4, state);
  return text;
}

void print_phases(const RandomFunction& function, std::string& text) {
  for (std::size_t p = 0; p < function.phases.size(); ++p) {
    const auto& phase = function.phases[p];
    if (empty(phase)) continue;
    text += std::string(phase.apart ? "APART" : "FN") + " void " + phase_name(function, p) + "(struct state_" +
            function.name + "* it, struct shared* sh, u32 thread, u32 block, u8* mine, PARAMETERS) {\n";
    for (const auto& line : phase.arrays) text += "  " + line + "\n";
    print(phase.body, 1, text);
    text += "}\n";
  }
  const std::string values = std::to_string(function.variables.size());
  text += "FN void " + function.name + "_begin(struct state_" + function.name + "* it, u32 thread, PARAMETERS) {\n";
  for (std::size_t i = 0; i < function.variables.size(); ++i) {
    const auto& one = function.variables[i];
    const std::string at =
        "[(thread * " + std::to_string(2 * i + 3) + " + " + std::to_string(i * 11) + ") & (INPUTS - 1)]";
    const std::string from = one.type == "f16"   ? "in_h" + at
                             : one.type == "f32" ? "in_f" + at
                             : one.type == "f64" ? "in_d" + at
                                                 : "((const " + one.type + "*)in_i)" + at;
    text += "  it->" + one.name + " = " + from + ";\n";
  }
  text += "}\nFN void " + function.name + "_end(struct state_" + function.name + "* it, u64* results) {\n";
  for (std::size_t i = 0; i < function.variables.size(); ++i)
    text += "  results[" + std::to_string(i) + "] = " + bits_of(function.variables[i]) + ";\n";
  text += "}\n";
}

void print_kernel(const RandomFunction& function, std::string& text) {
  const std::string threads = std::to_string(function.threads), state = "&state";
  text += "KERNEL(" + threads + ") void " + function.name + "(PARAMETERS) {\n  LDS struct shared lds;\n" +
          "  struct shared* sh = (struct shared*)&lds;\n  struct state_" + function.name + " state;\n" +
          "  const u32 thread = __builtin_amdgcn_workitem_id_x(), block = __builtin_amdgcn_workgroup_id_x();\n" +
          "  const u32 number = block * " + threads + " + thread;\n  u8* mine = memory + number * 64;\n" +
          "  begin_shared(sh, thread, " + threads + ");\n  " + function.name +
          "_begin(&state, thread, PASS);\n  barrier();\n";
  for (std::size_t p = 0; p < function.phases.size(); ++p) {
    if (empty(function.phases[p])) continue;
    text += "  " + phase_name(function, p) + "(&state, sh, thread, block, mine, PASS);\n  barrier();\n";
    for (const auto& step : function.phases[p].steps) {
      text += "  ";
      if (!step.condition.empty()) text += "if (" + of_state(step.condition, "state.") + ") ";
      text += "state." + step.result + " = lanes_" + step.name + "(state." + step.index + ", state." + step.source +
              ", state." + step.old + ", " + std::to_string(step.argument) + "u);\n";
    }
  }
  text += "  " + function.name + "_end(&state, out + number * " + std::to_string(function.variables.size()) + ");\n}\n";
}

void print_host_step(const LaneStep& step, std::string& text) {
  text += "    for (u32 t = 0; t < threads; ++t) {\n      on[t] = " +
          (step.condition.empty() ? "1" : of_state(step.condition, "states[t].")) + ";\n      index[t] = states[t]." +
          step.index + ", source[t] = states[t]." + step.source + ", old[t] = states[t]." + step.old + ";\n    }\n";
  text += "    lanes_" + step.name + "(threads, on, index, source, old, " + std::to_string(step.argument) +
          "u, result);\n";
  text += "    for (u32 t = 0; t < threads; ++t) if (on[t]) states[t]." + step.result + " = result[t];\n";
}

// All threads of a block take each phase in turn.
void print_host(const RandomFunction& function, std::string& text) {
  const std::string threads = std::to_string(function.threads), each = "    for (u32 t = 0; t < threads; ++t) ";
  text += "static void " + function.name + "_blocks(PARAMETERS) {\n  enum { threads = " + threads + " };\n" +
          "  static struct shared lds;\n  static struct state_" + function.name + " states[threads];\n" +
          "  static u8 on[threads];\n  static u32 index[threads], source[threads], old[threads], result[threads];\n" +
          "  struct shared* sh = &lds;\n  (void)on, (void)index, (void)source, (void)old, (void)result;\n" +
          "  for (u32 block = 0; block < " + std::to_string(function.blocks) + "; ++block) {\n" +
          each + "begin_shared(sh, t, threads), " + function.name + "_begin(&states[t], t, PASS);\n";
  const std::string mine = "memory + (block * threads + t) * 64";
  for (std::size_t p = 0; p < function.phases.size(); ++p) {
    if (empty(function.phases[p])) continue;
    text += each + phase_name(function, p) + "(&states[t], sh, t, block, " + mine + ", PASS);\n";
    for (const auto& step : function.phases[p].steps) print_host_step(step, text);
  }
  text += each + function.name + "_end(&states[t], out + (block * threads + t) * " +
          std::to_string(function.variables.size()) + ");\n  }\n}\n";
  text += "void " + function.name + "(void** a) { " + function.name + "_blocks(PASS_FROM(a)); }\n";
}

}  // namespace

std::string function_text(const RandomFunction& function) {
  std::string text = "// " + std::to_string(function.blocks) + " blocks of " + std::to_string(function.threads) +
                     " threads\nstruct state_" + function.name + " {\n";
  for (const auto& one : function.variables) text += "  " + one.type + " " + one.name + ";\n";
  text += "};\n";
  print_phases(function, text);
  text += "#ifdef KILN_HOST\n";
  print_host(function, text);
  text += "#else\n";
  print_kernel(function, text);
  return text + "#endif\n";
}

std::string unit_text(const std::vector<RandomFunction>& functions, const FunctionTarget& target,
                      const std::string& source_folder) {
  std::string text = "#define KILN_WAVE " + std::to_string(target.wave) + "\n#define KILN_GFX " +
                     std::to_string(target.family) + "\n#define KILN_FLOAT8 " + std::to_string(target.float8) + "\n";
  for (const char* name : {"portable.h", "portable_memory.h", "portable_lanes.h"}) {
    const auto bytes = read_file(source_folder + "/tests/differential/emulator/" + name);
    KILN_ASSERT(bytes);
    text += kiln::text(*bytes);
  }
  for (const auto& function : functions) text += "\n" + function_text(function);
  return text;
}

}  // namespace kiln::test
