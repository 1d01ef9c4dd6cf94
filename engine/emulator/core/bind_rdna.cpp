// What all instructions of RDNA3 need when they are bound.
#include "engine/emulator/core/families.hpp"

namespace kiln::emulator {
namespace {

// `null` reads 0 at every width, also where CDNA's code for the pair would reach into EXEC.
void read_null_as_zero(Source& source) {
  if (source.kind != Source::Kind::scalar || source.index != code::null) return;
  source.kind = Source::Kind::constant;
  source.index = code::integer_zero;
}

int registers_written(const Instruction& in) {
  const std::string_view name = in.name;
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  if (in.format == Format::smem) return has("b512") ? 16 : has("b256") ? 8 : has("b128") ? 4 : has("b64") ? 2 : 1;
  return in.format <= Format::sopp && has("64") ? 2 : 1;
}

// Waves of 32 lanes have no upper half of EXEC: the lanes that it would switch on have no memory of their own.
// Compilers name its lower half alone.
bool writes_upper_exec(const Instruction& in) {
  constexpr int upper = code::exec + 1;
  for (const Source* result : {&in.dst, &in.scalar_dst}) {
    if (result->kind == Source::Kind::scalar && result->index <= upper &&
        result->index + registers_written(in) > upper) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool bind_rdna(Instruction& in, bool (*by_format)(Instruction&, Family)) {
  if (writes_upper_exec(in)) return false;
  // SOPK's field is a destination too; relative moves add to its number.
  const std::string_view name = in.name;
  const bool by_number = in.format == Format::sopk || name.find("movrel") != std::string_view::npos;
  if (!by_number) {
    for (Source& source : in.src) read_null_as_zero(source);
    if (in.format == Format::vopd) {
      for (Source& source : in.scale) read_null_as_zero(source);
    }
  }
  return by_format(in, Family::gfx11);
}

}  // namespace kiln::emulator
