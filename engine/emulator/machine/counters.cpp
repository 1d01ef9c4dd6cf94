#include "engine/emulator/machine/counters.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string_view>

#include "engine/base/bytes.hpp"

namespace kiln::emulator {
namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// The operand type at the name's end: "v_mfma_f32_32x32x8_f16", "v_mfma_f32_32x32x8f16", "…_bf16_1k".
const char* operand_type(std::string_view name) {
  const auto ends = [&](std::string_view end) { return name.ends_with(end); };
  if (has(name, "f8f6f4")) return "F6F4";
  if (has(name, "fp8") || has(name, "bf8")) return "F8";
  if (ends("xf32")) return "XF32";
  if (ends("bf16") || ends("bf16_1k")) return "BF16";
  if (ends("f16")) return "F16";
  if (ends("f32")) return "F32";
  if (ends("f64")) return "F64";
  return "I8";
}

// Blocks of one instruction where the name does not say: of each shape, the variant with the smallest k has several.
std::uint64_t blocks_of(std::string_view name, std::string_view type, std::uint64_t m, std::uint64_t k) {
  if (const auto at = name.find("b_"); at != std::string_view::npos && at > 0 && std::isdigit(name[at - 1]) != 0) {
    std::size_t first = at;
    while (first > 0 && std::isdigit(name[first - 1]) != 0) --first;
    return std::strtoull(std::string(name.substr(first, at - first)).c_str(), nullptr, 10);
  }
  if (m == 4) return type == "F64" ? 4 : 16;
  std::uint64_t small = 0;
  if (type == "F32") small = 1;
  else if (type == "F16" || type == "I8" || name.ends_with("_1k")) small = 4;
  else if (type == "BF16") small = 2;
  return k == small ? (m == 32 ? 2 : 4) : 1;
}

void classify_matrix(std::string_view name, InstructionClass& c) {
  c.valu = c.mfma = true;
  c.mfma_type = operand_type(name);
  std::uint64_t m = 0, n = 0, k = 0;
  // "v_mfma_f32_32x32x8_f16": the shape follows the third underscore.
  std::size_t shape = 0;
  for (int i = 0; i < 3 && shape != std::string_view::npos; ++i) shape = name.find('_', shape + 1);
  const std::string text(shape == std::string_view::npos ? std::string_view() : name.substr(shape + 1));
  if (std::sscanf(text.c_str(), "%" SCNu64 "x%" SCNu64 "x%" SCNu64, &m, &n, &k) != 3) return;
  c.mfma_operations = 2 * m * n * k * (has(name, "smfmac") ? 1 : blocks_of(name, c.mfma_type, m, k));
}

void classify_memory(std::string_view name, InstructionClass& c, bool flat) {
  // Cache control counts as neither.
  if (has(name, "wbinvl1") || has(name, "_inv") || has(name, "_wb") || has(name, "_gl0") || has(name, "_gl1")) return;
  c.vmem = true;
  c.flat = flat;
  c.store = has(name, "_store") || has(name, "_atomic");
}

void classify_program(std::string_view name, InstructionClass& c) {
  c.branch = name.starts_with("s_branch") || name.starts_with("s_cbranch");
  c.message = name.starts_with("s_sendmsg");
  c.barrier = name.starts_with("s_barrier");
  c.wait = name.starts_with("s_wait");
}

constexpr std::uint64_t wmma_operations = 2 * 16 * 16 * 16;   // all of them multiply 16 x 16 x 16

// What RDNA3's cards call what has been counted already, and what only they have.
void add_rdna(std::map<std::string, std::uint64_t>& sum, bool traffic) {
  const auto copy = [&](const char* from, const char* to) { sum[to] = sum[from]; };
  copy("SQ_INSTS", "SQ_INSTS_WAVE32");
  copy("SQ_INSTS_VALU", "SQ_INSTS_WAVE32_VALU");
  copy("SQ_INSTS_LDS", "SQ_INSTS_WAVE32_LDS");
  copy("SQ_INSTS_VMEM_RD", "SQ_INSTS_TEX_LOAD");
  copy("SQ_INSTS_VMEM_WR", "SQ_INSTS_TEX_STORE");
  sum["KILN_WMMA_OPERATIONS"] = sum["KILN_WMMA"] * wmma_operations;
  sum["KILN_DUAL_ISSUES"] += 0;
  if (!traffic) return;
  copy("SQ_LDS_IDX_ACTIVE", "SQC_LDS_IDX_ACTIVE");
  copy("SQ_LDS_BANK_CONFLICT", "SQC_LDS_BANK_CONFLICT");
}

constexpr std::array mfma_types = {"I8", "F16", "BF16", "F32", "F64", "F8", "F6F4", "XF32"};

}  // namespace

InstructionClass classify(const Instruction& instruction) {
  InstructionClass c;
  const std::string_view name = instruction.name;
  switch (instruction.format) {
    case Format::sop1:
    case Format::sop2:
    case Format::sopc: c.salu = true; break;
    case Format::sopk:
      c.branch = name.starts_with("s_cbranch") || name.starts_with("s_call");
      c.wait = name.starts_with("s_wait");
      c.salu = !c.branch && !c.wait;
      break;
    case Format::sopp: classify_program(name, c); break;
    case Format::smem: c.smem = true; break;
    case Format::vop3p:
    case Format::mai:
      if (has(name, "mfma") || has(name, "smfmac")) classify_matrix(name, c);
      else c.valu = true;  // v_accvgpr_read and _write too
      c.wmma = name.starts_with("v_wmma_");
      break;
    case Format::vop1:
    case Format::vop2:
    case Format::vopc:
    case Format::vop3: c.valu = true; break;
    case Format::vopd: c.valu = c.dual = true; break;
    case Format::ds:
      c.gds = instruction.gds;
      c.lds = !c.gds;
      c.lds_atomic = has(name, "_rtn_");
      break;
    case Format::flat: classify_memory(name, c, true); break;
    case Format::global:
    case Format::scratch:
    case Format::mubuf:
    case Format::mtbuf: classify_memory(name, c, false); break;
  }
  return c;
}

std::vector<Counter> count(const Instruction* code, std::uint32_t instructions, const InstructionCounts& counts,
                           std::uint64_t waves, Family family, bool traffic) {
  std::map<std::string, std::uint64_t> sum;
  for (const char* name : {"SQ_INSTS", "SQ_INSTS_VALU", "SQ_INSTS_MFMA", "SQ_INSTS_SALU", "SQ_INSTS_SMEM",
                           "SQ_INSTS_VMEM", "SQ_INSTS_VMEM_RD", "SQ_INSTS_VMEM_WR", "SQ_INSTS_FLAT", "SQ_INSTS_LDS",
                           "SQ_INSTS_GDS", "SQ_INSTS_BRANCH", "SQ_INSTS_SENDMSG", "SQ_LDS_ATOMIC_RETURN",
                           "KILN_BARRIERS", "KILN_WAITS"}) {
    sum[name] = 0;
  }
  // MI200 counts FLAT instructions among the LDS ones, MI300 does not.
  const bool flat_is_lds = family == Family::gfx90a;
  for (std::uint32_t i = 0; i < instructions; ++i) {
    const std::uint64_t n = counts.executed[i];
    if (n == 0) continue;
    const InstructionClass c = classify(code[i]);
    sum["SQ_INSTS"] += n;
    const auto add = [&](bool when, const char* name) { if (when) sum[name] += n; };
    add(c.valu, "SQ_INSTS_VALU");
    add(c.mfma, "SQ_INSTS_MFMA");
    add(c.salu, "SQ_INSTS_SALU");
    add(c.smem, "SQ_INSTS_SMEM");
    add(c.vmem, "SQ_INSTS_VMEM");
    add(c.vmem && !c.store, "SQ_INSTS_VMEM_RD");
    add(c.vmem && c.store, "SQ_INSTS_VMEM_WR");
    add(c.flat, "SQ_INSTS_FLAT");
    add(c.lds || (c.flat && flat_is_lds), "SQ_INSTS_LDS");
    add(c.gds, "SQ_INSTS_GDS");
    add(c.branch, "SQ_INSTS_BRANCH");
    add(c.message, "SQ_INSTS_SENDMSG");
    add(c.lds_atomic, "SQ_LDS_ATOMIC_RETURN");
    add(c.barrier, "KILN_BARRIERS");
    add(c.wait, "KILN_WAITS");
    add(c.wmma, "KILN_WMMA");
    add(c.dual, "KILN_DUAL_ISSUES");
    if (c.mfma) {
      sum[std::string("SQ_INSTS_VALU_MFMA_") + c.mfma_type] += n;
      sum[std::string("SQ_INSTS_VALU_MFMA_MOPS_") + c.mfma_type] += n * c.mfma_operations / 512;
    }
    if (!traffic) continue;
    sum["SQ_LDS_IDX_ACTIVE"] += counts.lds_cycles[i];
    sum["SQ_LDS_BANK_CONFLICT"] += counts.lds_conflicts[i];
    if (c.smem) {
      sum["KILN_SCALAR_READ_BYTES"] += counts.bytes[i];
      continue;
    }
    sum[c.store ? "KILN_GLOBAL_WRITE_BYTES" : "KILN_GLOBAL_READ_BYTES"] += counts.bytes[i];
    sum["KILN_GLOBAL_SEGMENTS"] += counts.segments[i];   // of 64 bytes
  }
  sum["SQ_WAVES"] = waves;
  if (family == Family::gfx11) add_rdna(sum, traffic);
  for (const char* type : mfma_types) {
    if (family == Family::gfx11) break;
    const std::string_view text = type;
    if (text == "XF32" || text == "F6F4" || text == "F8") continue;
    sum.try_emplace(std::string("SQ_INSTS_VALU_MFMA_") + type, 0);
    sum.try_emplace(std::string("SQ_INSTS_VALU_MFMA_MOPS_") + type, 0);
  }
  std::vector<Counter> all;
  for (const auto& [name, value] : sum) all.push_back({name, value});
  return all;
}

void add_modelled(Profile& profile, const ModelledCache& cache, Family family) {
  profile.cache = cache;
  if (!cache.complete) return;
  const auto add = [&](const char* name, std::uint64_t value) {
    profile.counters.push_back({name, value});
    profile.modelled.push_back(name);
  };
  if (family == Family::gfx11) {
    add("GL2C_HIT", cache.hits);
    add("GL2C_MISS", cache.misses);
  }
  add("TCC_HIT", cache.hits);
  add("TCC_HIT_sum", cache.hits);
  add("TCC_MISS", cache.misses);
  add("TCC_MISS_sum", cache.misses);
  add("TCC_REQ", cache.hits + cache.misses);
  add("TCC_REQ_sum", cache.hits + cache.misses);
  std::sort(profile.counters.begin(), profile.counters.end(),
            [](const Counter& a, const Counter& b) { return a.name < b.name; });
}

namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    char escaped[8];
    if (static_cast<unsigned char>(c) < 0x20) {
      std::snprintf(escaped, sizeof escaped, "\\u%04x", c);
      out += escaped;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string triple(const std::uint32_t value[3]) {
  return "[" + std::to_string(value[0]) + "," + std::to_string(value[1]) + "," + std::to_string(value[2]) + "]";
}

}  // namespace

namespace {

std::string models_json(const Profile& profile) {
  std::string out = "\"modelled\":[";
  for (const auto& name : profile.modelled) out += (&name == &profile.modelled.front() ? "" : ",") + quoted(name);
  out += "],\"models\":{";
  if (!profile.cache) return out + "}";
  const auto& cache = *profile.cache;
  return out + "\"l2\":{\"text\":" + quoted(cache.text) + ",\"line_bytes\":" + std::to_string(line_bytes) +
         ",\"bytes\":" + std::to_string(cache.bytes) + ",\"ways\":" + std::to_string(cache.ways) +
         ",\"caches\":" + std::to_string(cache.caches) + ",\"complete\":" + (cache.complete ? "true" : "false") + "}}";
}

}  // namespace

std::string to_json(const Profile& profile) {
  char duration[32];
  std::snprintf(duration, sizeof duration, "%.6f", profile.duration_ms);
  std::string out = "{\"kernel\":" + quoted(make_valid_utf8(profile.kernel)) + ",\"target\":" + quoted(profile.target) +
                    ",\"blocks\":" + triple(profile.blocks) + ",\"threads\":" + triple(profile.threads) +
                    ",\"lds_bytes\":" + std::to_string(profile.lds_bytes) +
                    ",\"waves\":" + std::to_string(profile.waves) +
                    ",\"instructions_executed\":" + std::to_string(profile.instructions) +
                    ",\"duration_ms\":" + duration + ",\"traffic\":" + (profile.traffic ? "true" : "false") +
                    ",\"counters\":{";
  for (const auto& counter : profile.counters)
    out += (&counter == &profile.counters.front() ? "" : ",") + quoted(counter.name) + ":" +
        std::to_string(counter.value);
  out += "}," + models_json(profile) + ",\"instructions\":[";
  for (const auto& row : profile.rows) {
    out += std::string(&row == &profile.rows.front() ? "" : ",") + "{\"offset\":" + std::to_string(row.offset) +
           ",\"text\":" + quoted(row.text) + ",\"executed\":" + std::to_string(row.executed);
    if (profile.traffic) {
      out += ",\"lds_cycles\":" + std::to_string(row.lds_cycles) +
             ",\"lds_conflicts\":" + std::to_string(row.lds_conflicts) + ",\"bytes\":" + std::to_string(row.bytes) +
             ",\"segments\":" + std::to_string(row.segments);
    }
    if (row.source.line != 0)
      out += ",\"file\":" + quoted(make_valid_utf8(row.source.file)) + ",\"line\":" + std::to_string(row.source.line);
    out += "}";
  }
  return out + "]}";
}

}  // namespace kiln::emulator
