// What an entry knows about its code object; made in the worker, stored with the object, shown by `explain`. Plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/base/result.hpp"
#include "engine/ir/bound/program.hpp"

namespace kiln::compile {

// Registers and memory of one kernel as the compiler reported them. On the host the GPU-only ones are 0.
struct Resources {
  std::int64_t vgprs = 0, agprs = 0, sgprs = 0;
  std::int64_t vgpr_spills = 0, sgpr_spills = 0;
  std::int64_t lds_bytes = 0, scratch_bytes = 0, kernarg_bytes = 0;
  std::int64_t matrix_instructions = 0;    // count over the disassembly
  std::int64_t instructions = 0;           // all of the kernel
  std::int64_t code_bytes = 0;
  std::int64_t waves_per_simd = 0;         // occupancy by registers and LDS
};
struct KernelArgument {                    // from the object's notes
  std::string kind;                        // "global_buffer", "by_value", "hidden_…"
  std::int64_t offset = 0, size = 0;
};
struct LaunchInfo {
  std::string symbol;
  bound::Extents grid;                     // x y z blocks
  bound::BlockOrder order;                 // host: in which the device starts them
  std::int64_t threads = 0, wave = 0, lds_bytes = 0;  // lds_bytes: host: arena bytes a thread
  Resources resources;
  std::vector<KernelArgument> arguments;
};
struct TensorInfo {                        // one argument of the program, in order
  std::string name;                        // the first compiler's name for it; requests show their own
  DType dtype = DType::f32;
  bool scalar = false;
  bound::Extents shape, strides;
  Access access = Access::read;
  std::int64_t align_bytes = 1;
  bool may_alias = false;
  bound::Extent bytes = 0;                 // that a launch may touch, from the base
};
struct WorkspaceInfo {                     // memory that the device gives a launch, an argument behind the tensors
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::int64_t bytes = 0;
};
struct SharedTile {                        // a row of explain's table
  std::int64_t launch = 0;                 // index of its launch
  int tile = -1;                           // index of the bound tile; names come from the request's program
  std::string name, dtype, layout;         // "xor16(row%8)"
  std::vector<std::int64_t> shape;
  std::int64_t lds_bytes = 0, stages = 1;
  std::int64_t write_cost = 0, write_ideal = 0, read_cost = 0, read_ideal = 0;  // summed over its instructions, one wave
  // Of a tile whose layout was asked for, and conflicts: what the chooser takes; "" elsewhere.
  std::string better;
  std::int64_t better_conflicts = 0;       // by the static count
};
struct LdsRow {                            // one LDS instruction, each once, one wave
  std::int64_t launch = 0;                 // index of its launch
  std::string statement, mnemonic, operation;
  int tile = -1;
  std::string name;
  std::int64_t address = 0;                // from the kernel's first instruction
  std::int64_t bytes = 0, cost = 0, active_phases = 0;
  bool inferred = false;
};
struct Metadata {
  std::string program, target, compiler;   // compiler: its identity in words, "hipRTC 6.4 (…)"
  std::vector<LaunchInfo> launches;
  std::vector<bound::Symbol> symbols;      // dynamic ones: an i32 argument each, behind the tensors
  std::vector<TensorInfo> tensors;
  std::vector<WorkspaceInfo> workspaces;
  // Of a program that prints or asserts: which workspace holds the records, and what they are of; else -1.
  int records = -1;
  std::vector<bound::RecordSite> sites;
  std::vector<SharedTile> shared_tiles;
  std::vector<LdsRow> lds_rows;
  std::int64_t lds_conflict_cycles = 0;    // Σ over lds_rows of cost - active phases
  std::vector<std::string> bounds_left;    // checks that remain
  std::vector<std::string> decisions;      // "anchor: gemm 0: v_mfma_…: …"
  std::string kernel_program, source, log; // printed kernel program, emitted text, compiler log (64 KiB at most)
  std::int64_t attempt = 0;                // which lowering candidate it is
  double compile_ms = 0;                   // in the worker, lowering to object
  std::uint32_t elf_flags = 0;
  [[nodiscard]] std::uint64_t workspace_bytes() const;  // of a launch
};
// Whether the asserts of a launch of this kernel have held, by the records that it left. Errors: assertion_failed with
// a diagnostic a failure, corrupt.
Status check_records(const Metadata& metadata, ByteView records);
Bytes encode(const Metadata& metadata);
Result<Metadata> decode_metadata(ByteView bytes);

}  // namespace kiln::compile
