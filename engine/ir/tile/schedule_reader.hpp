// Reading `schedule`: what a program asks of lowering.
#pragma once

#include "engine/ir/tile/field_reader.hpp"

namespace kiln::tile {

// Each takes the field `schedule` of the object that `fields` reads; nothing is asked where it is absent.
LaunchSchedule read_launch_schedule(ReadContext& context, FieldReader& fields, const std::string& what);
CopySchedule read_copy_schedule(ReadContext& context, FieldReader& fields);
GemmSchedule read_gemm_schedule(ReadContext& context, FieldReader& fields);
// Requires the loop's other fields; `stages` becomes the loop's own.
void read_loop_schedule(ReadContext& context, FieldReader& fields, For& loop);

// A launch's schedule, with the program's for what it leaves open.
LaunchSchedule with_defaults(LaunchSchedule launch, const LaunchSchedule& program);

}  // namespace kiln::tile
