#include "engine/compile/toolchain.hpp"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <sstream>

#include "engine/base/fd.hpp"
#include "engine/compile/toolchain_manifest.hpp"

namespace kiln::compile {
namespace {

constexpr std::size_t manifest_bytes_max = 1 << 20;
constexpr std::int64_t second_ns = 1'000'000'000;
constexpr std::int64_t settled_after_ns = second_ns;  // file systems with coarser clocks are rare

bool is_file(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

// Numbers within names compare as numbers: 6.10 is newer than 6.9.
bool newer(const std::string& a, const std::string& b) { return strverscmp(a.c_str(), b.c_str()) > 0; }

}  // namespace

std::string manifest_text(const Toolchain& toolchain) {
  std::string text = "kiln-toolchain 1\norigin " + toolchain.origin + "\n";
  for (const auto& package : toolchain.packages) text += "package " + package.name + " " + package.version + "\n";
  for (const auto& target : toolchain.targets) text += "target " + target + "\n";
  return text + "end\n";
}

Result<Toolchain> read_toolchain(const std::string& path) {
  KILN_TRY(const Bytes bytes, read_file(path + "/" + manifest_name, manifest_bytes_max));
  Toolchain toolchain;
  toolchain.path = path;
  toolchain.name = path.substr(path.rfind('/') + 1);
  std::istringstream lines{std::string(text(bytes))};
  std::string line;
  bool begun = false, ended = false;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string key, first, second;
    words >> key >> first >> second;
    if (key == "kiln-toolchain") begun = first == "1";
    if (key == "origin") toolchain.origin = line.substr(7);
    if (key == "package") toolchain.packages.push_back({first, second});
    if (key == "target") toolchain.targets.push_back(first);
    if (key == "end") ended = true;
  }
  if (!begun || !ended) return Error(ErrorCode::corrupt, "the manifest of " + path + " is incomplete");
  if (!find_loader(toolchain)) return Error(ErrorCode::corrupt, path + " has no loader");
  toolchain.headers = has_headers(path);
  return toolchain;
}

bool has_headers(const std::string& path) { return is_file(path + "/usr/include/hip/hip_runtime.h"); }

bool find_loader(Toolchain& toolchain) {
  for (const char* folder : {"/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu"}) {
    toolchain.library_folder = toolchain.path + folder;
    toolchain.loader = toolchain.library_folder + "/ld-linux-x86-64.so.2";
    if (is_file(toolchain.loader)) return true;
  }
  return false;
}

std::vector<Toolchain> list_toolchains(const std::string& folder) {
  std::vector<Toolchain> list;
  DIR* listing = opendir(folder.c_str());
  if (listing == nullptr) return list;
  while (const dirent* entry = readdir(listing)) {
    if (entry->d_name[0] == '.') continue;
    if (auto toolchain = read_toolchain(folder + "/" + entry->d_name)) list.push_back(std::move(*toolchain));
  }
  closedir(listing);
  std::sort(list.begin(), list.end(), [](const Toolchain& a, const Toolchain& b) { return newer(a.name, b.name); });
  return list;
}

ToolchainWatch::ToolchainWatch(std::string folder) : folder_(std::move(folder)) {
  look();
  seen_.change = 0;
}

ToolchainWatch::Seen ToolchainWatch::look() {
  struct stat status {};
  const bool there = stat(folder_.c_str(), &status) == 0;
  const auto changed_ns = there ? status.st_mtim.tv_sec * second_ns + status.st_mtim.tv_nsec : -1;
  const std::lock_guard lock(mutex_);
  if (changed_ns == changed_ns_ && (settled_ || !there)) return seen_;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  settled_ = now.tv_sec * second_ns + now.tv_nsec - changed_ns > settled_after_ns;
  const auto before = seen_.newest ? seen_.newest->path : "";
  auto all = list_toolchains(folder_);  // after the look: what comes in between is found again
  seen_.newest = all.empty() ? std::nullopt : std::optional(std::move(all.front()));
  const bool another = (seen_.newest ? seen_.newest->path : "") != before;
  if (changed_ns != changed_ns_ || another) ++seen_.change;
  changed_ns_ = changed_ns;
  return seen_;
}

std::vector<std::string> through_toolchain(const Toolchain& toolchain, const std::string& program) {
  return {toolchain.loader, "--library-path", toolchain.library_folder, program};
}

}  // namespace kiln::compile
