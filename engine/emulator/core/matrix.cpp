// Which matrix instructions there are, of which targets, and with which operands and modifiers.
#include <string_view>

#include "engine/emulator/core/matrix_operation.hpp"

namespace kiln::emulator {
namespace {

constexpr std::uint8_t on_90a = 1, on_942 = 2, on_950 = 4;

constexpr MatrixLayout make_layout(int size, int blocks, int depth, bool halved) {
  MatrixLayout layout = {};
  layout.size = static_cast<std::uint8_t>(size);
  layout.blocks = static_cast<std::uint8_t>(blocks);
  layout.depth = static_cast<std::uint8_t>(depth);
  const int elements = depth * size * blocks / lanes, run = halved ? elements / 2 : elements;
  layout.elements = static_cast<std::uint8_t>(elements);
  for (int k = 0; k < depth; ++k) {
    const int part = halved ? k / (depth / 2) : 0, inside = halved ? k % (depth / 2) : k;
    const int element = part * run + inside % run, group = inside / run;
    layout.offset[k] = static_cast<std::uint16_t>(element * lanes + group * blocks * size);
  }
  return layout;
}
template <int size, int blocks, int depth, bool halved>
constexpr MatrixLayout layout_of = make_layout(size, blocks, depth, halved);

constexpr int bits_of(MatrixInput input) {
  switch (input) {
    case MatrixInput::f64: return 64;
    case MatrixInput::f32:
    case MatrixInput::xf32: return 32;
    case MatrixInput::f16:
    case MatrixInput::bf16: return 16;
    default: return 8;
  }
}

template <int size, int blocks, int depth>
constexpr MatrixOperation dense(const char* name, int families, MatrixInput a, MatrixInput b) {
  const MatrixLayout* layout = &layout_of<size, blocks, depth, false>;
  const MatrixKind kind = a == MatrixInput::i8    ? MatrixKind::i32
                          : a == MatrixInput::f64 ? MatrixKind::f64
                                                  : MatrixKind::f32;
  const bool flush = families == on_90a && (a == MatrixInput::f16 || a == MatrixInput::bf16);
  return {name, static_cast<std::uint8_t>(families), kind, a, b, layout, layout, flush};
}
template <int size, int blocks, int depth>
constexpr MatrixOperation dense(const char* name, int families, MatrixInput both) {
  return dense<size, blocks, depth>(name, families, both, both);
}

template <int size, int depth>
constexpr MatrixOperation sparse(const char* name, int families, MatrixInput a, MatrixInput b) {
  const bool wide = depth * size / lanes * bits_of(b) > 128;
  const MatrixLayout* b_layout = wide ? &layout_of<size, 1, depth, true> : &layout_of<size, 1, depth, false>;
  const MatrixKind kind = a == MatrixInput::i8 ? MatrixKind::sparse_i32 : MatrixKind::sparse_f32;
  const MatrixLayout* a_layout = &layout_of<size, 1, depth / 2, false>;
  return {name, static_cast<std::uint8_t>(families), kind, a, b, a_layout, b_layout, false};
}
template <int size, int depth>
constexpr MatrixOperation mixed(const char* name, MatrixKind kind) {
  return {name, on_950, kind, MatrixInput::fp8, MatrixInput::fp8, &layout_of<size, 1, depth, false>,
          &layout_of<size, 1, depth, true>, false};
}

constexpr int newer = on_942 | on_950;
using enum MatrixInput;

constexpr MatrixOperation operations[] = {
    // gfx90a
    dense<32, 2, 1>("v_mfma_f32_32x32x1f32", on_90a, f32),
    dense<16, 4, 1>("v_mfma_f32_16x16x1f32", on_90a, f32),
    dense<4, 16, 1>("v_mfma_f32_4x4x1f32", on_90a, f32),
    dense<32, 1, 2>("v_mfma_f32_32x32x2f32", on_90a, f32),
    dense<16, 1, 4>("v_mfma_f32_16x16x4f32", on_90a, f32),
    dense<32, 2, 4>("v_mfma_f32_32x32x4f16", on_90a, f16),
    dense<16, 4, 4>("v_mfma_f32_16x16x4f16", on_90a, f16),
    dense<4, 16, 4>("v_mfma_f32_4x4x4f16", on_90a, f16),
    dense<32, 1, 8>("v_mfma_f32_32x32x8f16", on_90a, f16),
    dense<16, 1, 16>("v_mfma_f32_16x16x16f16", on_90a, f16),
    dense<32, 2, 2>("v_mfma_f32_32x32x2bf16", on_90a, bf16),
    dense<16, 4, 2>("v_mfma_f32_16x16x2bf16", on_90a, bf16),
    dense<4, 16, 2>("v_mfma_f32_4x4x2bf16", on_90a, bf16),
    dense<32, 1, 4>("v_mfma_f32_32x32x4bf16", on_90a, bf16),
    dense<16, 1, 8>("v_mfma_f32_16x16x8bf16", on_90a, bf16),
    dense<32, 2, 4>("v_mfma_f32_32x32x4bf16_1k", on_90a, bf16),
    dense<16, 4, 4>("v_mfma_f32_16x16x4bf16_1k", on_90a, bf16),
    dense<4, 16, 4>("v_mfma_f32_4x4x4bf16_1k", on_90a, bf16),
    dense<32, 1, 8>("v_mfma_f32_32x32x8bf16_1k", on_90a, bf16),
    dense<16, 1, 16>("v_mfma_f32_16x16x16bf16_1k", on_90a, bf16),
    dense<32, 2, 4>("v_mfma_i32_32x32x4i8", on_90a, i8),
    dense<16, 4, 4>("v_mfma_i32_16x16x4i8", on_90a, i8),
    dense<4, 16, 4>("v_mfma_i32_4x4x4i8", on_90a, i8),
    dense<32, 1, 8>("v_mfma_i32_32x32x8i8", on_90a, i8),
    dense<16, 1, 16>("v_mfma_i32_16x16x16i8", on_90a, i8),
    dense<16, 1, 4>("v_mfma_f64_16x16x4f64", on_90a, f64),
    dense<4, 4, 4>("v_mfma_f64_4x4x4f64", on_90a, f64),
    // gfx942, most of it on gfx950 too
    dense<32, 2, 1>("v_mfma_f32_32x32x1_2b_f32", newer, f32),
    dense<16, 4, 1>("v_mfma_f32_16x16x1_4b_f32", newer, f32),
    dense<4, 16, 1>("v_mfma_f32_4x4x1_16b_f32", newer, f32),
    dense<32, 1, 2>("v_mfma_f32_32x32x2_f32", newer, f32),
    dense<16, 1, 4>("v_mfma_f32_16x16x4_f32", newer, f32),
    dense<16, 1, 8>("v_mfma_f32_16x16x8_xf32", on_942, xf32),
    dense<32, 1, 4>("v_mfma_f32_32x32x4_xf32", on_942, xf32),
    dense<32, 2, 4>("v_mfma_f32_32x32x4_2b_f16", newer, f16),
    dense<16, 4, 4>("v_mfma_f32_16x16x4_4b_f16", newer, f16),
    dense<4, 16, 4>("v_mfma_f32_4x4x4_16b_f16", newer, f16),
    dense<32, 1, 8>("v_mfma_f32_32x32x8_f16", newer, f16),
    dense<16, 1, 16>("v_mfma_f32_16x16x16_f16", newer, f16),
    dense<32, 2, 4>("v_mfma_f32_32x32x4_2b_bf16", newer, bf16),
    dense<16, 4, 4>("v_mfma_f32_16x16x4_4b_bf16", newer, bf16),
    dense<4, 16, 4>("v_mfma_f32_4x4x4_16b_bf16", newer, bf16),
    dense<32, 1, 8>("v_mfma_f32_32x32x8_bf16", newer, bf16),
    dense<16, 1, 16>("v_mfma_f32_16x16x16_bf16", newer, bf16),
    dense<32, 2, 4>("v_mfma_i32_32x32x4_2b_i8", newer, i8),
    dense<16, 4, 4>("v_mfma_i32_16x16x4_4b_i8", newer, i8),
    dense<4, 16, 4>("v_mfma_i32_4x4x4_16b_i8", newer, i8),
    dense<32, 1, 16>("v_mfma_i32_32x32x16_i8", newer, i8),
    dense<16, 1, 32>("v_mfma_i32_16x16x32_i8", newer, i8),
    dense<16, 1, 4>("v_mfma_f64_16x16x4_f64", newer, f64),
    dense<4, 4, 4>("v_mfma_f64_4x4x4_4b_f64", newer, f64),
    dense<16, 1, 32>("v_mfma_f32_16x16x32_fp8_fp8", on_942, fp8_fnuz),
    dense<16, 1, 32>("v_mfma_f32_16x16x32_fp8_bf8", on_942, fp8_fnuz, bf8_fnuz),
    dense<16, 1, 32>("v_mfma_f32_16x16x32_bf8_fp8", on_942, bf8_fnuz, fp8_fnuz),
    dense<16, 1, 32>("v_mfma_f32_16x16x32_bf8_bf8", on_942, bf8_fnuz),
    dense<32, 1, 16>("v_mfma_f32_32x32x16_fp8_fp8", on_942, fp8_fnuz),
    dense<32, 1, 16>("v_mfma_f32_32x32x16_fp8_bf8", on_942, fp8_fnuz, bf8_fnuz),
    dense<32, 1, 16>("v_mfma_f32_32x32x16_bf8_fp8", on_942, bf8_fnuz, fp8_fnuz),
    dense<32, 1, 16>("v_mfma_f32_32x32x16_bf8_bf8", on_942, bf8_fnuz),
    sparse<16, 32>("v_smfmac_f32_16x16x32_f16", newer, f16, f16),
    sparse<32, 16>("v_smfmac_f32_32x32x16_f16", newer, f16, f16),
    sparse<16, 32>("v_smfmac_f32_16x16x32_bf16", newer, bf16, bf16),
    sparse<32, 16>("v_smfmac_f32_32x32x16_bf16", newer, bf16, bf16),
    sparse<16, 64>("v_smfmac_i32_16x16x64_i8", newer, i8, i8),
    sparse<32, 32>("v_smfmac_i32_32x32x32_i8", newer, i8, i8),
    sparse<16, 64>("v_smfmac_f32_16x16x64_fp8_fp8", on_942, fp8_fnuz, fp8_fnuz),
    sparse<16, 64>("v_smfmac_f32_16x16x64_fp8_bf8", on_942, fp8_fnuz, bf8_fnuz),
    sparse<16, 64>("v_smfmac_f32_16x16x64_bf8_fp8", on_942, bf8_fnuz, fp8_fnuz),
    sparse<16, 64>("v_smfmac_f32_16x16x64_bf8_bf8", on_942, bf8_fnuz, bf8_fnuz),
    sparse<32, 32>("v_smfmac_f32_32x32x32_fp8_fp8", on_942, fp8_fnuz, fp8_fnuz),
    sparse<32, 32>("v_smfmac_f32_32x32x32_fp8_bf8", on_942, fp8_fnuz, bf8_fnuz),
    sparse<32, 32>("v_smfmac_f32_32x32x32_bf8_fp8", on_942, bf8_fnuz, fp8_fnuz),
    sparse<32, 32>("v_smfmac_f32_32x32x32_bf8_bf8", on_942, bf8_fnuz, bf8_fnuz),
    // gfx950: 8-bit floats are OCP's
    dense<16, 1, 32>("v_mfma_f32_16x16x32_fp8_fp8", on_950, fp8),
    dense<16, 1, 32>("v_mfma_f32_16x16x32_fp8_bf8", on_950, fp8, bf8),
    dense<16, 1, 32>("v_mfma_f32_16x16x32_bf8_fp8", on_950, bf8, fp8),
    dense<16, 1, 32>("v_mfma_f32_16x16x32_bf8_bf8", on_950, bf8),
    dense<32, 1, 16>("v_mfma_f32_32x32x16_fp8_fp8", on_950, fp8),
    dense<32, 1, 16>("v_mfma_f32_32x32x16_fp8_bf8", on_950, fp8, bf8),
    dense<32, 1, 16>("v_mfma_f32_32x32x16_bf8_fp8", on_950, bf8, fp8),
    dense<32, 1, 16>("v_mfma_f32_32x32x16_bf8_bf8", on_950, bf8),
    dense<16, 1, 32>("v_mfma_f32_16x16x32_f16", on_950, f16),
    dense<32, 1, 16>("v_mfma_f32_32x32x16_f16", on_950, f16),
    dense<16, 1, 32>("v_mfma_f32_16x16x32_bf16", on_950, bf16),
    dense<32, 1, 16>("v_mfma_f32_32x32x16_bf16", on_950, bf16),
    dense<16, 1, 64>("v_mfma_i32_16x16x64_i8", on_950, i8),
    dense<32, 1, 32>("v_mfma_i32_32x32x32_i8", on_950, i8),
    mixed<16, 128>("v_mfma_f32_16x16x128_f8f6f4", MatrixKind::mixed),
    mixed<32, 64>("v_mfma_f32_32x32x64_f8f6f4", MatrixKind::mixed),
    mixed<16, 128>("v_mfma_scale_f32_16x16x128_f8f6f4", MatrixKind::scaled),
    mixed<32, 64>("v_mfma_scale_f32_32x32x64_f8f6f4", MatrixKind::scaled),
    sparse<16, 64>("v_smfmac_f32_16x16x64_f16", on_950, f16, f16),
    sparse<32, 32>("v_smfmac_f32_32x32x32_f16", on_950, f16, f16),
    sparse<16, 64>("v_smfmac_f32_16x16x64_bf16", on_950, bf16, bf16),
    sparse<32, 32>("v_smfmac_f32_32x32x32_bf16", on_950, bf16, bf16),
    sparse<16, 128>("v_smfmac_i32_16x16x128_i8", on_950, i8, i8),
    sparse<32, 64>("v_smfmac_i32_32x32x64_i8", on_950, i8, i8),
    sparse<16, 64>("v_smfmac_f32_16x16x64_fp8_fp8", on_950, fp8, fp8),
    sparse<16, 64>("v_smfmac_f32_16x16x64_fp8_bf8", on_950, fp8, bf8),
    sparse<16, 64>("v_smfmac_f32_16x16x64_bf8_fp8", on_950, bf8, fp8),
    sparse<16, 64>("v_smfmac_f32_16x16x64_bf8_bf8", on_950, bf8, bf8),
    sparse<32, 32>("v_smfmac_f32_32x32x32_fp8_fp8", on_950, fp8, fp8),
    sparse<32, 32>("v_smfmac_f32_32x32x32_fp8_bf8", on_950, fp8, bf8),
    sparse<32, 32>("v_smfmac_f32_32x32x32_bf8_fp8", on_950, bf8, fp8),
    sparse<32, 32>("v_smfmac_f32_32x32x32_bf8_bf8", on_950, bf8, bf8),
    sparse<16, 128>("v_smfmac_f32_16x16x128_fp8_fp8", on_950, fp8, fp8),
    sparse<16, 128>("v_smfmac_f32_16x16x128_fp8_bf8", on_950, fp8, bf8),
    sparse<16, 128>("v_smfmac_f32_16x16x128_bf8_fp8", on_950, bf8, fp8),
    sparse<16, 128>("v_smfmac_f32_16x16x128_bf8_bf8", on_950, bf8, bf8),
    sparse<32, 64>("v_smfmac_f32_32x32x64_fp8_fp8", on_950, fp8, fp8),
    sparse<32, 64>("v_smfmac_f32_32x32x64_fp8_bf8", on_950, fp8, bf8),
    sparse<32, 64>("v_smfmac_f32_32x32x64_bf8_fp8", on_950, bf8, fp8),
    sparse<32, 64>("v_smfmac_f32_32x32x64_bf8_bf8", on_950, bf8, bf8),
};

bool bind_move(Instruction& instruction, std::string_view name, Family family) {
  const bool read = name.starts_with("v_accvgpr_read");
  if (family == Family::gfx11 || (!read && !name.starts_with("v_accvgpr_write"))) return false;
  Source& source = instruction.src[0];
  const bool vector = source.kind == Source::Kind::vector;
  const bool constant = source.kind == Source::Kind::constant;
  if (instruction.dst.kind != Source::Kind::vector) return false;
  if (read ? !vector : !vector && !constant && source.kind != Source::Kind::scalar) return false;
  if (constant) source.value = constant_value(source, Type::b32);
  // Which half is meant is the instruction's: the encoding's own bits for it need not be set.
  if (read) source.index = static_cast<std::uint16_t>(source.index | 256);
  instruction.dst.index = static_cast<std::uint16_t>(instruction.dst.index % 256 + (read ? 0 : 256));
  instruction.execute = execute_accumulation_move;
  return true;
}

// Whether `count` registers from the source on are inside its half of the file.
bool fits(const Source& source, int count) {
  return source.kind == Source::Kind::vector && source.index < vector_registers && source.index % 256 + count <= 256;
}

bool modifiers_hold(const MatrixOperation& operation, const Instruction& instruction, Family family) {
  const int cbsz = instruction.cbsz, abid = instruction.abid, blgp = instruction.blgp;
  switch (operation.kind) {
    case MatrixKind::f32:
    case MatrixKind::i32:
      // A broadcast reaches over blocks that there are, from one of those it reaches.
      return cbsz < 5 && 1 << cbsz <= operation.a_layout->blocks && abid < 1 << cbsz;
    case MatrixKind::f64: return cbsz == 0 && abid == 0 && (blgp == 0 || family != Family::gfx90a);
    case MatrixKind::mixed: return cbsz < 5 && blgp < 5 && abid == 0;
    case MatrixKind::scaled: return cbsz < 5 && blgp < 5 && abid == 1;  // ABID: the scales count
    default: return blgp == 0;
  }
}

}  // namespace

bool bind_matrix(Instruction& instruction, Family family) {
  if (instruction.format != Format::mai) return false;
  const std::string_view name = instruction.name;
  if (name.starts_with("v_accvgpr")) return bind_move(instruction, name, family);
  const int bit = family == Family::gfx90a ? on_90a : family == Family::gfx942 ? on_942
                  : family == Family::gfx950 ? on_950 : 0;
  const MatrixOperation* operation = nullptr;
  for (const MatrixOperation& each : operations) {
    if (each.families & bit && name == each.name) operation = &each;
  }
  if (!operation || !modifiers_hold(*operation, instruction, family)) return false;
  const MatrixOperands operands = operands_of(*operation, instruction);
  Source& c = instruction.src[2];
  if (!fits(instruction.src[0], operands.a_registers) || !fits(instruction.src[1], operands.b_registers)) return false;
  if (!fits(instruction.dst, operands.d_registers)) return false;
  if (is_sparse(operation->kind)) {
    if (!fits(c, 1)) return false;
  } else if (c.kind == Source::Kind::constant) {
    const MatrixKind kind = operation->kind;
    c.value = constant_value(c, kind == MatrixKind::i32 ? Type::i32 : kind == MatrixKind::f64 ? Type::f64 : Type::f32);
  } else if (!fits(c, operands.d_registers)) {
    return false;
  }
  if (operation->kind == MatrixKind::scaled) {
    for (const Source& scale : instruction.scale) {
      if (!fits(scale, 1)) return false;
    }
  }
  instruction.operation = operation;
  instruction.execute = matrix_execute(operation->kind);
  return true;
}

}  // namespace kiln::emulator
