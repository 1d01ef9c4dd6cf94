// Both sides at one size on one device: compiled, run on the same memory, checked, and timed or counted.
#pragma once

#include "api/cli/compare_check.hpp"
#include "api/cli/compare_sides.hpp"
#include "api/cli/compare_work.hpp"

namespace kiln::cli {

class Trial {
 public:
  // `device`: host, hip:N, emu:TARGET. The references must outlive it.
  Trial(Context& context, const ComparePlan& plan, const SidePair& sides, std::string device);
  Trial(const Trial&) = delete;
  ~Trial();  // gives the memory back

  // Compiles both and binds their programs. Errors: of a side, located.
  Status compile();
  // What A's and B's launches are estimated to do, together.
  [[nodiscard]] Work work() const;
  // Fills the tensors and runs everything. A row: {device, target, emulated, kind: "timed" or "counted", size, a, b,
  // improvement (timed), verdict, verdict_text, same_kernel, check}. `where`: for progress. Errors: of a side, located;
  // that the two do not take the same tensors; cancelled.
  Result<protocol::Json> run(const std::string& where);

 private:
  struct SideState {
    const SideProgram* program = nullptr;
    protocol::Json compiled;  // kernel.compile's answer
    protocol::Json symbols;   // values of its dynamic symbols
    std::optional<bound::Program> bound;
    std::vector<std::size_t> order;  // of the kernel's parameters: their operands
    protocol::Json row;              // what run answers for it
    Results results;
    double first_ms = 0;
  };
  Status compile_side(SideState& side);
  Status match_tensors();
  Result<std::optional<std::size_t>> operand_of(const protocol::Json& parameter, std::size_t number);
  void fill_written();
  protocol::Json arguments(const SideState& side) const;
  Result<protocol::Json> launch(const SideState& side);
  Result<Results> copy_results() const;
  Status first_runs();
  Result<Results> on_absolute_inputs();
  Result<protocol::Json> check();
  Status time_rounds(const std::string& where, protocol::Json& row);
  void progress(const std::string& text) const;

  Context& context_;
  const ComparePlan& plan_;
  const SidePair& sides_;
  std::string device_;
  bool emulated_ = false;
  SideState a_, b_;
  protocol::Json parameters_;      // of both sides: A's, then scalars that B alone takes
  std::vector<Operand> operands_;  // in their order
  std::string reshaped_;           // tensors that the sides see in different shapes, for a note; "" for none
};

}  // namespace kiln::cli
