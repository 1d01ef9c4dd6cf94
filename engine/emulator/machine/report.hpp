// Faults in words, with where they happened.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/emulator/core/wave.hpp"
#include "engine/emulator/machine/kernel_arguments.hpp"

namespace kiln::emulator {

// A stretch of memory that kernels may touch, by what it is: "a 4096-byte allocation", "the kernel's arguments".
struct NamedRange {
  std::uint64_t begin = 0, end = 0;
  std::string name;
};

struct FaultReport {
  Fault fault;
  std::string kernel;
  std::uint32_t block[3] = {}, thread[3] = {};  // thread: of the lane, where the fault has one
  std::uint32_t wave = 0;
  std::uint32_t other_block[3] = {};            // races: of the access before
  std::uint64_t instruction_offset = 0, other_offset = 0;  // bytes from the kernel's first instruction
  std::string instruction, other_instruction;   // as assembly
  std::string text;                             // all of it, several lines, no newline at the end
};

// What was printed to stderr before a fault.
struct PrintedError {
  std::string text;                             // "": nothing is known
  bool own = false;                             // by the wave itself; else by it or another one beside it
};

struct FaultPlace {
  const Kernel* kernel = nullptr;
  const Geometry* geometry = nullptr;
  const std::vector<std::string>* assembly = nullptr;   // by instruction index
  const Instruction* code = nullptr;
  std::uint32_t instructions = 0;
  const std::vector<NamedRange>* ranges = nullptr;      // by address
  const std::vector<ObjectFunction>* functions = nullptr;  // null: none are known
  PrintedError printed;
};

// `wave` as it stopped.
FaultReport report_fault(const FaultPlace& place, const Wave& wave);

// "12 bytes past the end of a 4096-byte allocation at 0x7f0000001000", by the nearest of `ranges`.
std::string describe_address(const std::vector<NamedRange>& ranges, std::uint64_t address, std::uint64_t bytes);

// "out_of_range".
const char* fault_name(FaultKind kind);

}  // namespace kiln::emulator
