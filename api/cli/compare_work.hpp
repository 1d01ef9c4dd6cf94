// How much a launch of a bound program is to do, before it is done: what tells whether the interpreter, or one more
// emulated card, would take too long. Estimates from the program's extents and loops at some of its blocks; no
// measurement, and no promise.
#pragma once

#include "engine/ir/bound/program.hpp"

namespace kiln::cli {

struct Work {
  double products = 0;  // multiplications and additions of gemms, a pair each
  double elements = 0;  // operations on elements of copies, fills, maps and reductions
};
Work work_of(const bound::Program& program);

// Seconds that the interpreter, or an emulated card that counts, takes for it on one core of a usual machine.
double interpreter_seconds(const Work& work);
double emulated_seconds(const Work& work);

}  // namespace kiln::cli
