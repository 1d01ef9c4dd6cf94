// One machine instruction of an AMDGPU code object, decoded: the fields of its encoding and nothing that a run changes.
// Plain data: made by isa/decoder, bound to what executes it by the execution core (core/core.hpp), read by everyone.
// Source of the encodings: AMD's instruction set documents, "Microcode Formats" (MI200, MI300, CDNA4, RDNA3).
#pragma once

#include <cstdint>

namespace kiln::emulator {

struct Wave;
struct Instruction;
// Executes one instruction for all lanes of a wave. Never throws; what cannot go on stops the wave (Wave::stop).
using Execute = void (*)(Wave& wave, const Instruction& instruction);

enum class Format : std::uint8_t {
  sop1, sop2, sopk, sopc, sopp, smem, vop1, vop2, vopc, vop3, vop3p, mai, vopd,
  ds, flat, global, scratch, mubuf, mtbuf,
};

// Scalar operand codes, by CDNA's encoding; RDNA's are translated to these by the decoder.
namespace code {
inline constexpr int flat_scratch = 102, xnack_mask = 104, vcc = 106, trap_temps = 108;
inline constexpr int m0 = 124, null = 125, exec = 126;
inline constexpr int integer_zero = 128;       // 128..192: 0..64; 193..208: -1..-16
inline constexpr int shared_base = 235, shared_limit = 236, private_base = 237, private_limit = 238;
inline constexpr int float_first = 240;        // 0.5, -0.5, 1, -1, 2, -2, 4, -4, 1/(2 pi)
inline constexpr int vccz = 251, execz = 252, scc = 253;
}  // namespace code

struct Source {
  enum class Kind : std::uint8_t {
    none,
    vector,       // index: 0..255 v, 256..511 a (accumulation registers are the file's second half)
    scalar,       // index: a code that names a register, 0..127
    constant,     // index: the code of an inline constant (128..208, 240..248)
    literal,      // value: 32 bits as they stand in the code
    special,      // index: 235..238, 251..253
  };
  Kind kind = Kind::none;
  std::uint8_t registers = 1;            // vector, scalar: how many from `index` on the instruction takes
  std::uint16_t index = 0;
  std::uint32_t literal = 0;
  // 64 bits that a constant, literal or inline float means for the type that the operation reads it as. Filled when
  // the instruction is bound; unused for registers and specials.
  std::uint64_t value = 0;
};

struct Sdwa {
  bool used = false;
  std::uint8_t destination_select = 6;   // 0..3 byte, 4..5 word, 6 dword
  std::uint8_t destination_unused = 0;   // 0 pad, 1 sign-extend, 2 preserve
  std::uint8_t source_select[2] = {6, 6};
  bool sign_extend[2] = {};
};

struct Dpp {
  bool used = false;
  std::uint16_t control = 0;             // CDNA's dpp_ctrl, 9 bits; for DPP8 of RDNA see `lanes8`
  std::uint8_t row_mask = 15, bank_mask = 15;
  bool bound_control = false;            // true: lanes out of range read 0; false: the lane is not written
  bool fetch_inactive = false;           // also of v_permlane16_swap and v_permlane32_swap, as is bound_control
  bool is_dpp8 = false;
  std::uint32_t lanes8 = 0;              // 8 times 3 bits
};

struct Instruction {
  Execute execute = nullptr;             // set when bound
  const void* operation = nullptr;       // what `execute` needs beside the fields; set when bound
  const char* name = "";                 // "v_add_f32": without _e32, _e64, _sdwa, _dpp; lives as long as the code
  std::uint64_t address = 0;             // of the first byte, as the kernel sees it
  std::uint32_t index = 0;               // in its code
  std::uint32_t following = 0;           // index of the next one; one past the last where the code ends
  std::uint32_t target = 0;              // branches: index of where they go
  std::uint32_t words[5] = {};           // as encoded, `bytes` of it
  std::uint8_t bytes = 4;
  Format format = Format::sopp;
  std::uint16_t opcode = 0;              // the encoding's op field

  // Operands. src[0..2]: SRC0..2 (SSRC0, SSRC1 for scalars); for vop2 and vopc src[1] is VSRC1; the accumulator of
  // v_fmac and v_mac is read from the destination and is not a source here. Literal operands of v_madmk, v_madak,
  // v_fmamk, v_fmaak: in their assembly position (madmk: src[1], src[2] = VSRC1; madak: src[2]).
  // sopk: dst is SDST, src[0] the same register where the operation reads it; s_setreg_imm32: src[0] is the literal.
  // Memory formats: src[0] = address (VADDR / ADDR), src[1] = data (VDATA / DATA0), src[2] = scalar base, resource or
  // offset (SADDR, SRSRC, SBASE), src[3] = SOFFSET or DATA1.
  Source src[4];
  Source dst;                            // VDST, SDST or the data of a load; stores have none
  Source scalar_dst;                     // VOP3B: SDST; VOPC: where the mask goes (vcc for the short form)
  // vop2 with a carry and v_cndmask: the mask is src[2] (vcc for the short form).

  // Modifiers of vop3 and vop3p; SDWA's and DPP's neg and abs land here too. Bit n belongs to src[n].
  std::uint8_t neg = 0, abs = 0;         // vop3p: neg is neg_lo
  std::uint8_t neg_hi = 0;               // vop3p
  std::uint8_t op_sel = 0;               // bit 3: of the destination (vop3)
  std::uint8_t op_sel_hi = 0;            // vop3p
  std::uint8_t omod = 0;                 // 0 none, 1 times 2, 2 times 4, 3 divided by 2
  bool clamp = false;
  Sdwa sdwa;
  Dpp dpp;

  // Memory.
  std::int32_t offset = 0;               // signed where the encoding's is; ds: OFFSET0 | OFFSET1 << 8 (16 bits)
  bool glc = false, slc = false, dlc = false;  // gfx942: sc0, nt, sc1
  bool offen = false, idxen = false, lds = false, gds = false, tfe = false;
  bool scalar_base = false;              // global, scratch: src[2] holds; smem: SOFFSET in src[3] holds
  bool vector_address = true;            // scratch: src[0] holds
  std::uint8_t data_format = 0, number_format = 0;  // mtbuf

  // mai.
  std::uint8_t cbsz = 0, abid = 0, blgp = 0;
  // v_mfma_scale_*: the registers with the scales of src[0] and src[1]. Which byte of them: bit n of op_sel (low bit)
  // and of op_sel_hi (high bit). Kind none elsewhere.
  Source scale[2];

  // sopp and sopk: the 16-bit immediate, sign as it stands. v_bitop3: the truth table of 8 bits.
  std::uint16_t immediate = 0;
};

}  // namespace kiln::emulator
