#include "api/cli/rocprof.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "api/cli/temporary_folder.hpp"
#include "api/cli/watched_process.hpp"
#include "engine/base/process.hpp"

namespace kiln::cli {

using protocol::Json;

namespace {

// What one pass can count: a block's registers are few. Source: ROCm's documentation, "MI300 and MI200 series performance
// counters and metrics".
const std::vector<std::vector<std::string>> passes = {
    {"SQ_WAVES", "SQ_INSTS_VALU", "SQ_INSTS_SALU", "SQ_INSTS_SMEM", "SQ_INSTS_LDS", "SQ_INSTS_BRANCH"},
    {"SQ_INSTS_MFMA", "SQ_INSTS_VMEM_RD", "SQ_INSTS_VMEM_WR", "SQ_LDS_BANK_CONFLICT", "SQ_LDS_IDX_ACTIVE"},
    {"TCC_HIT_sum", "TCC_MISS_sum"}};

std::vector<std::string> run_words(const RunOptions& options) {
  std::vector<std::string> words{executable_folder() + "/kiln", "--no-daemon", "--json", "run", options.kernel.program, "--device", options.device,
                                 "--seed", std::to_string(options.seed)};
  const auto add = [&](const char* flag, const std::vector<std::string>& values) {
    if (values.empty()) return;
    words.emplace_back(flag);
    words.insert(words.end(), values.begin(), values.end());
  };
  if (!options.kernel.target.empty()) add("--target", {options.kernel.target});
  add("--arg", options.kernel.types);
  if (!options.kernel.grid.empty()) add("--grid", {options.kernel.grid});
  if (options.kernel.untuned) words.emplace_back("--untuned");
  add("--set", options.kernel.set);
  add("--layout", options.kernel.layouts);
  add("--align", options.kernel.align);
  add("--input", options.inputs);
  add("--scalar", options.scalars);
  return words;
}

// One line of the profiler's CSV: fields in quotes or without.
std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    else if (c == ',' && !quoted) fields.emplace_back();
    else if (c != '\r') fields.back() += c;
  }
  return fields;
}

Status add_counters(const std::string& path, const Json& symbols, Json& counters) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  const auto head = fields_of(line);
  const auto column = [&](const char* name) { return std::size_t(std::find(head.begin(), head.end(), name) - head.begin()); };
  const auto kernel = column("Kernel_Name"), name = column("Counter_Name"), value = column("Counter_Value");
  if (std::max({kernel, name, value}) >= head.size()) return Error(ErrorCode::corrupt, path + ": no columns of counters");
  while (std::getline(file, line)) {
    const auto fields = fields_of(line);
    if (fields.size() != head.size() || std::find(symbols.begin(), symbols.end(), fields[kernel]) == symbols.end()) continue;
    counters[fields[name]] = counters.value(fields[name], 0.0) + std::strtod(fields[value].c_str(), nullptr);
  }
  return ok();
}

Status run_pass(const std::vector<std::string>& words, const std::string& folder, const Json& symbols, Json& counters) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  KILN_TRY(const auto output, run_watched(words, environment, std::filesystem::current_path().string(), folder, std::nullopt));
  if (!output.end.empty()) {
    Error error(ErrorCode::launch_failed, "rocprofv3: " + output.end);
    error.context.push_back(make_valid_utf8(output.text.substr(output.text.size() - std::min<std::size_t>(output.text.size(), 2000))));
    return error;
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().string().ends_with("counter_collection.csv")) KILN_CHECK(add_counters(entry.path().string(), symbols, counters));
  return ok();
}

}  // namespace

std::string find_rocprof() {
  const char* path = std::getenv("PATH");
  std::string folders = (path == nullptr ? "" : std::string(path)) + ":/opt/rocm/bin";
  for (std::size_t begin = 0; begin <= folders.size();) {
    const auto end = std::min(folders.find(':', begin), folders.size());
    const auto candidate = folders.substr(begin, end - begin) + "/rocprofv3";
    if (end > begin && ::access(candidate.c_str(), X_OK) == 0) return candidate;
    begin = end + 1;
  }
  return {};
}

Result<Json> rocprof_counters(const std::string& rocprof, const RunOptions& options, const Json& symbols) {
  Json counters = Json::object();
  for (const auto& pass : passes) {
    TemporaryFolder folder;
    KILN_CHECK(folder.create(std::filesystem::temp_directory_path().string(), "kiln-rocprof-"));
    std::vector<std::string> words{rocprof, "--pmc"};
    words.insert(words.end(), pass.begin(), pass.end());
    words.insert(words.end(), {"--output-format", "csv", "-d", folder.path, "--"});
    const auto run = run_words(options);
    words.insert(words.end(), run.begin(), run.end());
    KILN_CHECK(run_pass(words, folder.path, symbols, counters));
  }
  return counters;
}

}  // namespace kiln::cli
