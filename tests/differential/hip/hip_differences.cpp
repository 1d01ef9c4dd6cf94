#include "tests/differential/hip/hip_differences.hpp"

#include <sstream>

#include "engine/emit/emit.hpp"
#include "engine/ir/bound/arithmetic.hpp"
#include "engine/ir/bound/symbols.hpp"
#include "engine/lower/lower.hpp"
#include "engine/reference/interpreter.hpp"
#include "engine/specialize/specialize.hpp"
#include "tests/support/hip_fibers/hip_fibers.hpp"

namespace kiln::test {
namespace {

std::string shown(DType type, const Bytes& bytes, std::int64_t element) {
  const auto value = bound::load_function(type)(bytes.data() + element * dtype_bytes(type));
  std::ostringstream out;
  out.precision(17);
  if (is_float(type)) out << value.real;
  else out << value.integer;
  return out.str();
}

std::string wrong_elements(const bound::Program& program, const std::vector<Bytes>& got, const std::vector<Bytes>& want,
                           const std::vector<std::vector<double>>& scale) {
  std::ostringstream out;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto& tensor = program.tensors[i];
    if (tensor.access == Access::read) {
      if (got[i] != want[i]) out << tensor.name << " was written\n";
      continue;
    }
    const auto result = reference::compare(tensor.dtype, got[i], want[i], scale[i], reference::tolerance_of(program));
    if (result.wrong == 0) continue;
    out << tensor.name << ": " << result.wrong << " of " << result.elements << " wrong, first at " << result.first_wrong
        << ": text gives " << shown(tensor.dtype, got[i], result.first_wrong) << ", the definition "
        << shown(tensor.dtype, want[i], result.first_wrong) << ", largest error " << result.error_max << " (tolerance "
        << result.tolerance_at_max << ")\n";
  }
  return out.str();
}

}  // namespace

Result<bound::Program> bind_text(const std::string& json, const std::map<std::string, std::string>& set,
                                 const target::Target& target) {
  KILN_TRY(const auto program, tile::read_program(json));
  Budget budget(10000000);
  return specialize::specialize(program, {set, {}, {}}, target, budget);
}

std::string hip_differences(const bound::Program& program, const target::Target& target,
                            const std::vector<Bytes>& arguments, std::uint64_t seed, int attempts,
                            const bound::SymbolValues& symbols) {
  const auto known = bound::with_values(program, symbols);
  if (!known) return to_text(known.error());
  auto want = arguments;
  std::vector<reference::Argument> by_reference;
  for (auto& bytes : want) by_reference.push_back({bytes.data(), bytes.size()});
  std::vector<std::vector<double>> scale;
  reference::RunOptions options;
  options.check_races = false;
  if (auto status = reference::run(*known, by_reference, options, &scale); !status)
    return "interpreter: " + to_text(status.error());
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const std::string which = "candidate " + std::to_string(attempt) + ": ";
    Budget budget(10000000);
    const auto lowered = lower::lower(program, target, attempt, budget);
    if (!lowered && attempt > 0 && lowered.error().code == ErrorCode::not_found) break;
    if (!lowered)
      return lowered.error().code == ErrorCode::unsupported ? to_text(lowered.error())
                                                            : which + "lowering: " + to_text(lowered.error());
    const auto text = emit::emit_hip(lowered->program, target);
    if (!text)
      return text.error().code == ErrorCode::unsupported ? to_text(text.error())
                                                         : which + "emitter: " + to_text(text.error());
    auto module = HipModule::compile(*text, lowered->program, target, KILN_SOURCE_DIR);
    if (!module) return which + to_text(module.error());
    auto got = arguments;
    for (std::size_t i = got.size(); i < program.tensors.size(); ++i)   // workspace
      got.emplace_back(static_cast<std::size_t>(known->tensors[i].bytes()), known->tensors[i].zeroed ? 0 : 0xff);
    for (const auto value : symbols) {
      Writer argument;
      argument.u32(static_cast<std::uint32_t>(value));
      got.push_back(argument.take());
    }
    if (auto status = module->run({got.begin(), got.end()}, seed); !status)
      return which + to_text(status.error()) + "\n" + kernel::print(lowered->program);
    got.resize(arguments.size());
    if (const auto wrong = wrong_elements(*known, got, want, scale); !wrong.empty()) return which + wrong;
  }
  return "";
}

}  // namespace kiln::test
