#include "engine/lower/lower.hpp"

#include "engine/lower/amd/amd.hpp"
#include "engine/lower/host/host.hpp"

namespace kiln::lower {

Result<Lowered> lower(const bound::Program& program, const target::Target& target, int attempt, Budget& budget) {
  if (attempt < 0) return Error(ErrorCode::invalid_argument, "lowering attempts count from 0");
  KILN_TRY(Lowered lowered, target.is_host() ? host::lower_host(program, target, attempt, budget)
                                             : amd::lower_amd(program, target, attempt, budget));
  // A program that its own verifier refuses is a bug of ours, never the user's; the finding says where.
  if (Status status = kernel::verify(lowered.program, target); !status) {
    // The one finding that a program can cause: its fragments are larger than the registers of the waves it asks for.
    if (status.error().message.find("registers are alive at once") != std::string::npos) {
      Diagnostic diagnostic;
      diagnostic.pointer = "/launches";
      diagnostic.message = "the fragments do not fit the registers: " + status.error().message;
      diagnostic.hint = "make the tiles smaller or ask for more threads";
      return program_error(diagnostic.message, {diagnostic});
    }
    Error error(ErrorCode::internal, "the lowered program does not verify: " + status.error().message);
    error.context = status.error().context;
    error.diagnostics = status.error().diagnostics;
    return error;
  }
  return lowered;
}

}  // namespace kiln::lower
