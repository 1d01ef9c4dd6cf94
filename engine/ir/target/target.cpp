#include "engine/ir/target/target.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "engine/ir/target/host_features.hpp"
#include "engine/ir/target/matrix_instructions.hpp"

namespace kiln::target {
namespace {

// Processor facts: design's target table; e_flags from LLVM's AMDGPU usage guide, "ELF header e_flags" (code object v4
// and later).
struct Amd {
  const char* arch;
  Family family;
  int wave;
  std::int64_t lds_bytes;
  int vgprs_max, simds, lds_direct_bytes;
  std::uint32_t machine;
  bool features;  // sramecc and xnack can be chosen
};
constexpr std::array<Amd, 4> amd_table = {{
    {"gfx90a", Family::cdna, 64, 64 << 10, 512, 4, 0, 0x3f, true},
    {"gfx942", Family::cdna, 64, 64 << 10, 512, 4, 0, 0x4c, true},
    {"gfx950", Family::cdna, 64, 160 << 10, 512, 4, 16, 0x4f, true},
    {"gfx1100", Family::rdna, 32, 64 << 10, 256, 2, 0, 0x41, false},
}};
constexpr std::uint32_t xnack_flags[] = {0x100, 0x200, 0x300};    // any, off, on
constexpr std::uint32_t sramecc_flags[] = {0x400, 0x800, 0xc00};

// Insertions, deletions, replacements and swaps of neighbours that make `a` of `b`.
int edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<int>> cost(a.size() + 1, std::vector<int>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) { cost[i][j] = static_cast<int>(i + j); continue; }
      const int replaced = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

Error unknown(std::string_view text, const std::string& why = "") {
  const std::string shown(text.substr(0, 64));
  std::string list, nearest;
  int best = 3;  // farther than two edits is no likely slip
  for (const auto& name : known_targets()) {
    list += (list.empty() ? "" : ", ") + name;
    const int distance = edit_distance(shown.substr(0, shown.find(':')), name.substr(0, name.find(':')));
    if (distance > 0 && distance < best) { best = distance; nearest = name; }
  }
  std::string message = "no target '" + shown + "'";
  if (!why.empty()) message += ": " + why;
  message += "; known: " + list;
  if (shown.starts_with("emu:")) message += "; " + shown + " is a device: the target is " + shown.substr(4);
  else if (!nearest.empty()) message += "; did you mean '" + nearest + "'?";
  return Error(ErrorCode::unknown_target, message);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

Result<Target> parse_amd(std::string_view text, const Amd& amd, const std::vector<std::string_view>& parts) {
  std::map<std::string, int> setting;  // 1 off, 2 on
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const auto part = parts[i];
    const std::string feature(part.substr(0, part.empty() ? 0 : part.size() - 1));
    const char sign = part.empty() ? ' ' : part.back();
    if ((feature != "sramecc" && feature != "xnack") || (sign != '+' && sign != '-')) {
      return unknown(text, "'" + std::string(part.substr(0, 32)) +
                     "' is no feature (sramecc+, sramecc-, xnack+, xnack-)");
    }
    if (!amd.features) return unknown(text, std::string(amd.arch) + " has no feature " + feature);
    if (!setting.emplace(feature, sign == '+' ? 2 : 1).second) return unknown(text, feature + " is named twice");
  }
  Target target;
  target.arch = target.full = amd.arch;
  for (const auto& [feature, value] : setting) target.full += ":" + feature + (value == 2 ? "+" : "-");
  target.family = amd.family;
  target.wave = amd.wave;
  target.lds_bytes = amd.lds_bytes;
  target.vgprs_max = amd.vgprs_max;
  target.simds = amd.simds;
  target.lds_direct_bytes = amd.lds_direct_bytes;
  target.elf_flags = amd.machine;
  if (amd.features) target.elf_flags |= xnack_flags[setting["xnack"]] | sramecc_flags[setting["sramecc"]];
  target.matrix = amd_matrix_instructions(amd.arch);
  return target;
}

bool contains(const std::vector<std::string>& sorted, std::string_view item) {
  return std::binary_search(sorted.begin(), sorted.end(), item);
}

bool subset(const std::vector<std::string>& part, const std::vector<std::string>& whole) {
  return std::includes(whole.begin(), whole.end(), part.begin(), part.end());
}

Target make_host(const std::string& level, const std::vector<std::string>& extra) {
  const bool wide = level == "avx512";
  Target target;
  target.arch = "host";
  target.family = Family::host;
  target.host_features = level_features(level);
  std::vector<std::string> named = {"f16c", "fma"};
  for (const auto& feature : extra) {
    named.push_back(feature);
    target.host_features.push_back(feature);
  }
  for (auto* list : {&named, &target.host_features}) {
    std::sort(list->begin(), list->end());
    list->erase(std::unique(list->begin(), list->end()), list->end());
  }
  target.full = "host:" + level;
  for (const auto& feature : named) target.full += "+" + feature;
  target.wave = wide ? 16 : 8;
  target.vgprs_max = wide ? 32 : 16;
  target.lds_bytes = 4 << 20;
  target.threads_max = 1024;
  target.simds = 1;
  target.matrix = host_matrix_instructions(target.wave, target.vgprs_max);
  return target;
}

Result<Target> parse_host(std::string_view text, const std::vector<std::string_view>& parts) {
  if (parts.size() > 2) return unknown(text, "host takes one list of features, joined by '+'");
  if (parts.size() == 1) {
    const auto& machine = machine_features();
    const std::string level = subset(level_features("avx512"), machine) ? "avx512" : "avx2";
    if (!subset(level_features(level), machine)) return unknown(text, "this machine has no AVX2, F16C and FMA");
    std::vector<std::string> extra;
    for (const auto& feature : extra_features()) {
      if (level == "avx512" && contains(machine, feature)) extra.push_back(feature);
    }
    return make_host(level, extra);
  }
  const auto names = split(parts[1], '+');
  const std::string level(names[0]);
  if (level_features(level).empty()) return unknown(text, "'" + level.substr(0, 32) + "' is no level (avx2, avx512)");
  std::vector<std::string> extra;
  for (std::size_t i = 1; i < names.size(); ++i) {
    if (contains(level_features(level), names[i])) continue;
    if (!contains(extra_features(), names[i])) {
      return unknown(text, "'" + std::string(names[i].substr(0, 32)) + "' is no known feature");
    }
    if (level != "avx512") return unknown(text, std::string(names[i]) + " needs level avx512");
    extra.emplace_back(names[i]);
  }
  return make_host(level, extra);
}

}  // namespace

std::vector<const MatrixInstruction*> Target::matrix_for(DType type, DType acc) const {
  std::vector<const MatrixInstruction*> list;
  for (const auto& one : matrix) {
    if (one.operand == type && one.result == acc) list.push_back(&one);
  }
  return list;
}

const MatrixInstruction* Target::matrix_named(std::string_view name) const {
  for (const auto& one : matrix) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

Result<Target> parse_target(std::string_view text) {
  const auto parts = split(text, ':');
  if (parts[0] == "host") return parse_host(text, parts);
  for (const Amd& amd : amd_table) {
    if (parts[0] == amd.arch) return parse_amd(text, amd, parts);
  }
  return unknown(text);
}

bool host_can_run(const Target& target) {
  return target.is_host() && subset(target.host_features, machine_features());
}

std::vector<std::string> known_targets() {
  std::vector<std::string> names;
  for (const Amd& amd : amd_table) names.emplace_back(amd.arch);
  names.insert(names.end(), {"host", "host:avx2", "host:avx512"});
  return names;
}

bool serves(const Target& object_target, const Target& device_target) {
  if (object_target.arch != device_target.arch) return false;
  if (object_target.is_host()) return subset(object_target.host_features, device_target.host_features);
  const auto named = split(object_target.full, ':'), device = split(device_target.full, ':');
  return std::all_of(named.begin() + 1, named.end(),
                     [&](std::string_view feature) { return std::find(device.begin() + 1, device.end(),
                                                                      feature) != device.end(); });
}

}  // namespace kiln::target
