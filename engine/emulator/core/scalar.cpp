#include "engine/emulator/core/scalar.hpp"

#include "engine/emulator/core/names_rdna.hpp"

namespace kiln::emulator {
namespace {

// Register pairs must lie in the file, whatever the code says.
bool fits(const Source& operand, bool wide) {
  if (operand.kind != Source::Kind::scalar) return operand.kind != Source::Kind::vector;
  return operand.index + (wide ? 1 : 0) < 128;
}

bool is_wide(Type type) { return type == Type::b64; }

}  // namespace

bool bind_scalar(Instruction& instruction, Family family) {
  if (instruction.format == Format::smem) return bind_scalar_memory(instruction, family);
  const std::string_view name = scalar_name(instruction.name, family);
  const ScalarRow* row = family == Family::gfx11 ? find_scalar_rdna(name) : nullptr;
  if (!row) row = find_scalar_arithmetic(name);
  if (!row) row = find_scalar_control(name);
  if (!row || !has_target(row->targets, family)) return false;
  for (int n = 0; n < 2; ++n) {
    Source& source = instruction.src[n];
    if (!fits(source, is_wide(row->source[n]))) return false;
    if (source.kind == Source::Kind::constant || source.kind == Source::Kind::literal) {
      source.value = constant_value(source, row->source[n] == Type::none ? Type::b32 : row->source[n]);
    }
  }
  const Source& result = instruction.dst;
  const bool fine = result.kind == Source::Kind::scalar && fits(result, row->wide_result);
  if (result.kind != Source::Kind::none && !fine) return false;
  instruction.execute = row->execute;
  instruction.operation = row;
  return true;
}

}  // namespace kiln::emulator
