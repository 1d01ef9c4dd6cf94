// How many waves of a kernel a SIMD holds, and what keeps it from more.
#pragma once

#include <cstdint>
#include <string>

#include "engine/ir/target/target.hpp"

namespace kiln::profile {

struct KernelResources {
  std::int64_t vgprs = 0;        // a lane; CDNA: architectural and accumulation registers together
  std::int64_t agprs = 0, sgprs = 0, vgpr_spills = 0, sgpr_spills = 0;
  std::int64_t lds_bytes = 0, scratch_bytes = 0;
  std::int64_t threads = 0;      // of a block
};
struct Occupancy {
  std::int64_t waves_per_simd = 0, waves_max = 0;
  std::int64_t by_registers = 0; // waves a SIMD that the registers allow
  std::int64_t by_lds = 0;       // that the LDS allows; waves_max where none is used
  std::string limit;             // "registers", "lds", "waves": which of them is reached first
};
// CDNA: 512 registers a lane and SIMD in granules of 8, 8 waves. RDNA3 wave32: 1536, 24, 16; two compute units share
// their LDS. Source: AMD's ISA documents, "Kernel State"; LLVM's AMDGPUUsage, "Code Object V3 Kernel Descriptor".
Occupancy occupancy(const target::Target& target, const KernelResources& resources);

}  // namespace kiln::profile
