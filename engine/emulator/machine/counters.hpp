// Hardware counters of a launch, exact, by the names that rocprof gives them. Source of the names and of what each
// counts: AMD's "MI200 performance counters and metrics", "MI300 and MI200 series performance counters".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/emulator/core/wave.hpp"
#include "engine/emulator/machine/source_lines.hpp"

namespace kiln::emulator {

// One instruction of the code and what was counted for it, summed over waves.
struct InstructionRow {
  std::uint64_t offset = 0;       // bytes from the kernel's first instruction
  std::string text;
  std::uint64_t executed = 0;     // by waves
  std::uint64_t lds_cycles = 0, lds_conflicts = 0, bytes = 0, segments = 0;  // profiled launches only
  SourceLine source;              // where the object's debug information says so
};

struct Counter {
  std::string name;
  std::uint64_t value = 0;
};

// What the model of the card's L2 said (cache_model.hpp).
struct ModelledCache {
  std::string text;               // what is modelled
  std::uint64_t bytes = 0;        // of one cache
  std::uint32_t ways = 0, caches = 0;
  bool complete = true;           // false: the launch was too large for the model, and there are no counters of it
  std::uint64_t hits = 0, misses = 0;
};

struct Profile {
  std::string kernel, target;
  std::uint32_t blocks[3] = {}, threads[3] = {};
  std::uint32_t lds_bytes = 0;
  std::uint64_t waves = 0, instructions = 0;
  double duration_ms = 0;         // on this machine's processor
  bool traffic = false;           // LDS cycles, bytes and segments were counted
  std::vector<Counter> counters;      // by name
  std::vector<std::string> modelled;  // those of `counters` that a model gave
  std::optional<ModelledCache> cache;
  std::vector<InstructionRow> rows;   // executed ones, in order of address
};

// What one kind of instruction adds to which counters.
struct InstructionClass {
  bool valu = false, mfma = false, salu = false, smem = false, branch = false, message = false, flat = false,
       vmem = false, store = false, lds = false, gds = false, barrier = false, wait = false, lds_atomic = false,
       wmma = false, dual = false;   // RDNA3's matrix instructions; two operations in one
  const char* mfma_type = "";     // "F16", "BF16", "F32", "F64", "I8", "F8", "F6F4", "XF32"
  std::uint64_t mfma_operations = 0;  // multiplications and additions of one execution
};
InstructionClass classify(const Instruction& instruction);

// The counters of a launch of `waves` waves; `traffic`: those of LDS cycles and bytes too. RDNA3's cards have other
// names for some (SQC_LDS_BANK_CONFLICT, SQ_INSTS_WAVE32_VALU, SQ_INSTS_TEX_LOAD): these are given beside those of
// CDNA, so that reports of all targets read alike. No card counts WMMA: KILN_WMMA.
std::vector<Counter> count(const Instruction* code, std::uint32_t instructions, const InstructionCounts& counts,
                           std::uint64_t waves, Family family, bool traffic);

// Adds the cache and its counters, marked as modelled: TCC_HIT, TCC_MISS and TCC_REQ, which is their sum here, each
// also with rocprof's "_sum" over all channels; RDNA3's own names GL2C_HIT and GL2C_MISS.
void add_modelled(Profile& profile, const ModelledCache& cache, Family family);

// {"kernel":…,"counters":{…},"instructions":[{"offset":…,"text":…,"executed":…}…]}
std::string to_json(const Profile& profile);

}  // namespace kiln::emulator
