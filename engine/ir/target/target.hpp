// Targets: what a code object is made for. Traits, matrix instructions and LDS bank tables; the sources of the figures
// are named beside them in the .cpp files (AMD ISA documents, the design's table of measured phases).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.hpp"
#include "engine/ir/types.hpp"

namespace kiln::target {

enum class Family : std::uint8_t { cdna, rdna, host };

// One matrix instruction D = A·B + C on one wave (or, for host.fma, one register block).
struct MatrixInstruction {
  std::string name;      // the ISA's mnemonic, "v_mfma_f32_32x32x8_f16"; "host.fma"
  std::string builtin;   // clang builtin, "__builtin_amdgcn_mfma_f32_32x32x8f16"; empty on the host
  DType operand = DType::f16, result = DType::f32;
  int m = 0, n = 0, k = 0;
  int cycles = 0;        // matrix-unit cycles a wave, 0 where unknown
  int operand_elements = 0;   // A (and B) elements held by one lane: consecutive k
  int result_elements = 0;    // D elements held by one lane
  // Lane maps, with operand element e and result element r of lane l (derivation: AMD's matrix layouts):
  //   CDNA: A row m = l % m_, k = operand_elements*(l / m_) + e; B the same with n;
  //         D column n = l % n_, row m = 8*(r/4) + 4*(l/32) + r%4 (32x32), 4*(l/16) + r (16x16).
  //   RDNA3 wave32: A row m = l % 16, k = e, both lane halves hold the same; D column n = l % 16, row m = 2*r + l/16.
  [[nodiscard]] int operand_row(int lane) const;
  [[nodiscard]] int operand_k(int lane, int element) const;
  [[nodiscard]] int result_row(int lane, int element) const;
  [[nodiscard]] int result_column(int lane, int element) const;
  Family family = Family::cdna;
};

enum class LdsOperation : std::uint8_t { read, write, read2 };  // read2: two halves of `bytes` / 2 (ds_read2_b64)

// How the LDS serves one instruction: groups of lanes that are served together. A bank is 4 bytes wide.
struct BankRule {
  int banks = 32;
  int parts = 1;                         // a lane's bytes are served in so many equal parts, all phases for each part
  std::vector<std::vector<int>> phases;  // lanes of each phase; empty where there is no LDS (host)
  bool inferred = false;                 // not published for this target: mark it in output
};

struct Target {
  std::string full;        // canonical, features included: "gfx942", "gfx942:sramecc+:xnack-", "host:avx512+fma+f16c"
  std::string arch;        // "gfx942", "host"
  Family family = Family::cdna;
  int wave = 64;           // lanes of a wave; host: f32 lanes of one vector (8 or 16)
  std::int64_t lds_bytes = 65536;       // LDS of one block; host: bytes that tiles of one block may take
  int vgprs_max = 512;     // VGPR + AGPR of one lane (unified file); host: vector registers
  int threads_max = 1024;
  int simds = 4;           // SIMDs of a compute unit
  int lds_direct_bytes = 0;             // widest global-to-LDS load a lane that is worth using, 0 for none
  std::uint32_t elf_flags = 0;          // e_flags of a code object for `full`
  std::vector<MatrixInstruction> matrix;
  std::vector<std::string> host_features;  // LLVM feature names, host only, sorted

  [[nodiscard]] bool is_host() const { return family == Family::host; }
  // Instructions for operands of `type` accumulating in `acc`, best first.
  [[nodiscard]] std::vector<const MatrixInstruction*> matrix_for(DType type, DType acc) const;
  [[nodiscard]] const MatrixInstruction* matrix_named(std::string_view name) const;
  // The phases of an LDS read or write of `bytes` (4, 8, 12, 16) a lane. Narrower accesses use the 4-byte rule; read2
  // has a rule for 16 bytes (two 8-byte halves) and counts as a plain read otherwise.
  [[nodiscard]] BankRule bank_rule(LdsOperation operation, int bytes) const;
};

// "gfx90a", "gfx942", "gfx950", "gfx1100" with optional ":sramecc+", ":sramecc-", ":xnack+", ":xnack-" in any order
// (canonical order on the way out); "host", "host:avx2", "host:avx512", and these with more features
// ("host:avx512+avx512bf16+f16c+fma", LLVM's names; f16c and fma belong to both). "host" means the widest that this
// machine can run, with all known features that it has; the others mean what they say, on any machine. Errors:
// unknown_target, listing the known ones and the nearest.
Result<Target> parse_target(std::string_view text);
// Whether this machine can run objects made for a host target: it has every feature that the target names.
bool host_can_run(const Target& target);
std::vector<std::string> known_targets();      // "gfx90a", …, "host"
// Whether an object compiled for `object_target` may be loaded on a device that reports `device_target` (AMD target
// ids: equal arch; a feature named on the object must be named equally on the device).
bool serves(const Target& object_target, const Target& device_target);

}  // namespace kiln::target
