// The report behind `kiln profile`: what was counted, where in the tile program it was spent, how far from the card's
// peaks it lies, and what to do about bank conflicts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/ir/target/target.hpp"
#include "engine/profile/launch_counters.hpp"
#include "engine/profile/occupancy.hpp"

namespace kiln::profile {

// What the static analysis says of one LDS instruction, executed once by one wave.
struct PredictedLds {
  std::uint64_t offset = 0;       // of the instruction, from the kernel's first
  std::string tile;               // its name, "" for scratch that lowering added
  std::int64_t cost = 0, active_phases = 0;
  bool inferred = false;          // by an unpublished bank rule
};
struct StatementName {
  std::string pointer;            // into the tile program
  std::string text;               // "gemm acc += As * Bs"
};
struct ReportInput {
  target::Target target;
  LaunchCounters counted;
  KernelResources resources;
  std::vector<PredictedLds> predicted;
  // By line of the emitted text, from 1: the pointer of the statement that the line is of, "" for none.
  std::vector<std::string> statement_of_line;
  std::vector<StatementName> statements;  // in the program's order
};

// Where the time would go if the unit alone decided. All in cycles of one compute unit when the work is spread evenly
// over the card: an estimate, never a measurement.
struct UnitEstimate {
  std::string unit;               // "matrix", "vector", "lds", "memory"
  double cycles = 0;
};
struct Roofline {
  std::string operations_of;      // "matrix" (multiplications and additions) or "vector" (lanes of vector instructions)
  double operations = 0, bytes = 0;
  double intensity = 0;           // operations a byte; 0 where no bytes moved
  double ridge = 0;               // the card's: below it memory bounds
  std::string bound;              // "memory", "compute"
  double peak_operations = 0;     // a second
  double peak_bytes = 0;          // a second
  std::string card;               // whose peaks these are
};
struct StatementShare {
  std::string pointer, text;      // pointer "" for what belongs to no statement: addresses, prologue, the end
  std::uint64_t executed = 0, vector = 0, matrix = 0, lds = 0, memory = 0;  // instructions by waves
  std::uint64_t lds_cycles = 0, lds_conflicts = 0, bytes = 0;
  double share = 0;               // of all executed instructions
};
struct LdsCount {
  std::uint64_t offset = 0;
  std::string instruction, tile, statement;
  std::uint64_t executed = 0, cycles = 0, conflicts = 0;
  std::optional<std::uint64_t> predicted_conflicts;   // executed times the static count; none: no row for it
  bool inferred = false;
};
struct Report {
  LaunchCounters counted;
  KernelResources resources;
  Occupancy occupancy;
  std::optional<Roofline> roofline;
  std::vector<UnitEstimate> estimate;       // the largest first
  std::vector<StatementShare> statements;   // in the program's order, what is left last
  std::vector<LdsCount> lds;                // by offset
};
Report make_report(ReportInput input);

}  // namespace kiln::profile
