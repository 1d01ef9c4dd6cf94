// The interpreter: the definition of what a bound program means. Slow, exact, suspicious.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/deadline.hpp"
#include "engine/ir/bound/program.hpp"

namespace kiln::reference {

// One argument: the tensor's bytes (as its strides say), or a scalar's. Owned by the caller, alive during the run.
struct Argument {
  std::uint8_t* data = nullptr;
  std::size_t size = 0;
};

struct RunOptions {
  bool check_races = true;        // between iterations of a map, two blocks writing one element
  Deadline deadline;
  CancelToken cancel;
  std::int64_t steps_max = 0;  // 0: no limit; a step is about one operation on one element (a product of a gemm, too)
};

// Runs all launches, block after block (x fastest), iterations of a map in row-major order. Element arithmetic in the
// declared types; gemm, reduce accumulate in f64 and round once. Only what is evaluated counts: `a && b`, `a || b` and
// `x if c else y` evaluate what they need.
//
// Findings end the run: program_invalid with a diagnostic whose pointer is the statement's, its message with block,
// iteration, indices, tensor or tile. They are: an element out of range, a region that leaves its tile, an uninitialised
// tile element read, a workspace element read that was not written (unless zeroed), a race between iterations of a map
// (they are unordered: an element that one writes may be touched by no other), a race between blocks of a launch (the
// same), a buffer too short, arguments that overlap although one is written and not both are may_alias.
//
// Requires: check(program) is fine. A program with dynamic symbols gets their values first (bound::with_values).
// Errors: invalid_argument for one that has not. `arguments` are those of the parameters: workspace is made here.
// `error_scale`, when given, receives one f64 an element of each written tensor: Σ|a·b| behind the value where it came
// from a gemm or a sum (0 elsewhere), carried through arithmetic (error_scale.hpp): what the tolerance needs. In the
// arguments' order, empty for tensors that are only read.
// `records`, when given, receives what prints and asserts have written (bound::read_records), empty for a program
// without them. Where an assertion failed the run is carried out like any other and then gives assertion_failed.
Status run(const bound::Program& program, std::span<const Argument> arguments, const RunOptions& options = {},
           std::vector<std::vector<double>>* error_scale = nullptr, Bytes* records = nullptr);

// ---- comparison by PROGRAM.md's tolerances ------------------------------------------------------------------------
//
// With u the unit roundoff of the output's type (half the spacing of numbers at 1: f64 2^-53, f32 2^-24, f16 2^-11,
// bf16 2^-8), S the element's error scale, a the unit roundoff of the accumulator's type:
//   exact    the same value; NaN equals NaN, -0 equals 0
//   gemm     2·u·max(|ref|, smallest normal) + 2·(K+8)·a·S
//            One u·|ref| is the rounding of the result, the other that of the reference, which is rounded once too.
//   rowwise  4·u·max(1, |ref|) + 1e-5 + 2·(K+8)·a·S; K is 0 and the last term absent for programs that normalise
// Where the matrix unit flushes denormals, gemm's term gains K·2^-126·operand_max.
// An infinity against a finite value is taken as the next power of two beyond the type's range. Integers are always
// exact.
struct Comparison {
  std::uint64_t elements = 0, wrong = 0;
  double error_max = 0;           // largest |got - want|; infinite where one is NaN and the other is not
  double tolerance_at_max = 0;    // the tolerance of that element
  double ratio_max = 0;           // largest error / tolerance; <= 1 passes
  std::int64_t first_wrong = -1;  // element index, row-major (of a strided tensor: its place in memory)
};
enum class ToleranceClass : std::uint8_t { exact, gemm, rowwise };  // rowwise: softmax, norms, attention, epilogues
struct ToleranceSpec {
  ToleranceClass kind = ToleranceClass::rowwise;
  std::int64_t k = 0;             // the longest contraction; 0: no term for it
  bool flushes_denormals = false;
  double accumulator_unit = 0x1p-24;  // a
  double operand_max = 1;         // max(|a|max, |b|max, 1), for flushes_denormals
};
// What a program's outputs are compared with. exact: no float arithmetic but operations that are one correct rounding
// (copies, casts, + - * / sqrt fma, max, min) and no sums of floats; gemm: gemms on floats and otherwise only copies,
// fills and casts; rowwise: everything else. K is the longest contraction, of a gemm or of a sum: its own length times
// the trips of the loops in which its result accumulates (an upper bound where the trips depend on the block). A
// program that normalises (a reduce on floats beside a division or a function such as exp or rsqrt: softmax, norms,
// attention) has rowwise without that term, since what it sums is scaled back to 1. Flushing: gfx90a's f16 and bf16.
// Requires a program without dynamic symbols.
ToleranceSpec tolerance_of(const bound::Program& program);
// That K by itself, for callers that want the term where tolerance_of leaves it out.
std::int64_t longest_contraction(const bound::Program& program);
// `got` and `want` hold the same number of elements; `error_scale` one each, or is empty (all 0).
Comparison compare(DType dtype, ByteView got, ByteView want, std::span<const double> error_scale,
                   const ToleranceSpec& spec);

}  // namespace kiln::reference
