// A record with something in every field.
#pragma once

#include "engine/jit/build_identity.hpp"
#include "engine/tune/identity.hpp"
#include "engine/tune/record_format.hpp"

namespace kiln::tune {

inline jit::TuningRecord some_record(std::uint8_t program = 1) {
  jit::TuningRecord record;
  record.identity.program.fill(program);
  record.identity.program_name = "gemm";
  record.identity.settings = {{"dtype", "f32"}, {"transpose_b", "true"}};
  record.identity.layouts = {{"As", "pad:16"}};
  record.identity.align = {{"A", 8}, {"B", 16}};
  record.identity.classes = {{"M", "8"}, {"N", "4096/16"}};
  record.identity.target = "host:avx2";
  record.identity.device_class = "host: some processor, 2 threads";
  record.identity.version = jit::source_identity();
  record.symbols = {{"M", "8"}, {"N", "4096"}};
  record.ranked_by = "time";
  record.checked_against = "the interpreter";
  record.baseline = "default";
  record.set = {{"BM", "8"}, {"BN", "64"}};
  record.layouts = {{"Bs", "row_major"}};
  record.winner = "BM=8 BN=64";
  record.ratio = 0.75;
  record.made_unix_s = 1700000000;
  record.asked = "0011";
  record.rows = {{"default", {}, {}, jit::TuneVerdict::slower, "", {4, 4.5, 5}, 0, 1},
                 {"BM=8 BN=64", {{"BM", "8"}}, {{"Bs", "row_major"}}, jit::TuneVerdict::best, "", {3, 3.25}, 0, 0.75},
                 {"BM=1", {{"BM", "1"}}, {}, jit::TuneVerdict::invalid, "a constraint does not hold", {}, 12.5, 0}};
  return record;
}

}  // namespace kiln::tune
