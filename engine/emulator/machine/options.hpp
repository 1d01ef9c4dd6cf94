// How the emulated card runs: limits, order, checks. From the environment (KILN_EMULATOR_<NAME>) or set one by one.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "engine/base/result.hpp"

namespace kiln::emulator {

struct Options {
  enum class Order : std::uint8_t { automatic, serial, parallel };

  int threads = 0;                               // that run work groups; 0: one a core this process may use
  std::uint64_t budget = 100'000'000'000;        // wave instructions of one launch
  std::uint64_t seed = 0;                        // not 0: waves and work groups run in an order shuffled by it
  // serial: work groups one after the other; automatic: serial for objects with floating-point global atomics, whose
  // result depends on the order, and for kernels that print to a buffer, unless a seed asks for another one.
  Order order = Order::automatic;
  bool check_races = false;                      // LDS accesses of two waves without a barrier between them
  // Accesses to global memory of two waves, one a store, without order between them (machine/global_races.hpp says
  // what counts). Work groups run on one thread then.
  bool check_global_races = false;
  bool check_uninitialised_lds = false;
  bool check_uninitialised_registers = false;
  bool check_barriers = false;                   // a barrier that some waves of the work group have ended without
  // Accesses outside of the work group's LDS, which cards answer with 0 or drop. Every other check implies it.
  bool check_bounds = false;
  bool profile = false;                          // count bank conflicts and memory traffic
  std::string core;                              // "v3", "v4"; "": the widest that the machine runs
  std::string core_folder;                       // where the cores are; "": beside this library (core_loader.hpp)
  std::uint64_t memory_bytes = 0;                // device memory of a card; 0: the card's own, at most this machine's
  std::uint64_t print_bytes = 16 << 20;          // that the printf of one launch may print; the rest is dropped
  std::string print_file;                        // the file that it is appended to; "": stdout and stderr
};

// Sets one option by its name; values as in the environment. Errors: invalid_argument, with what is known.
//   threads N, budget N, seed N, order auto|serial|parallel, check LIST of races (LDS and global memory), shared,
//   global, uninitialised (LDS and registers), lds, registers, barriers, bounds, all, none; profile 0|1, core v3|v4,
//   core_folder PATH, memory BYTES, print_bytes BYTES, print_file PATH
Status set_option(Options& options, std::string_view name, std::string_view value);

// All of KILN_EMULATOR_THREADS, _BUDGET, … that `getter` (null: not set) has. Errors name the variable.
Result<Options> read_options(const std::function<const char*(const char*)>& getter);

}  // namespace kiln::emulator
