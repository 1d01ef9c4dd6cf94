// Private hipRTC prefixes: what is installed, and how a worker is started through one. Nothing here needs root or
// touches the system. A prefix is a folder with a root file system's usr/, its own C library among it, and a manifest.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/deadline.hpp"
#include "engine/base/result.hpp"

namespace kiln::compile {

struct ToolchainPackage { std::string name, version; };
struct Toolchain {
  std::string name, path;             // folder name below the toolchains folder; absolute path
  std::string loader, library_folder; // ld-linux of the prefix; where its libraries are
  std::string origin;                 // "URI suite" that it came from
  std::vector<ToolchainPackage> packages;  // sorted by name
  std::vector<std::string> targets;   // that its trial compiles succeeded for
  bool headers = false;               // HIP's own headers are there, for texts that include them
};

// All complete prefixes below `folder`, newest hipRTC first. A folder that does not exist is an empty list; a prefix
// whose manifest is damaged is left out.
std::vector<Toolchain> list_toolchains(const std::string& folder);

// argv that starts `program` (kiln-compile-hip, a full path) with the prefix's libraries.
std::vector<std::string> through_toolchain(const Toolchain& toolchain, const std::string& program);

// Which prefix is the newest while others are installed and removed. Thread-safe.
class ToolchainWatch {
 public:
  explicit ToolchainWatch(std::string folder);
  struct Seen {
    std::optional<Toolchain> newest;  // nothing: the folder has none
    std::uint64_t change = 0;         // one more whenever the folder was found changed since
  };
  // One look at the folder's time of change; manifests are read again only where it is another.
  Seen look();

 private:
  const std::string folder_;
  std::mutex mutex_;
  std::int64_t changed_ns_ = -1;  // the folder's time of change when it was listed; -1: there was none
  bool settled_ = false;          // that was long enough ago for a later change to have another time
  Seen seen_;
};

struct ToolchainOptions {
  std::string folder;                 // where prefixes live; created when missing
  std::string worker;                 // full path of kiln-compile-hip, for the trial compiles
  std::string include_folder;         // Kiln's device headers
  std::string apt_folder = "/etc/apt";  // the machine's sources
  std::string mirror;                 // instead of the machine's: "http://mirror.example/debian"
  std::string keyring;                // instead of the one that the machine's source names
  std::vector<std::string> suites = {"testing", "unstable"};  // tried in order
  std::vector<std::string> environment;  // of this process: PATH and proxies are passed on
  CancelToken cancel;
};
// What happens right now: "reading the index of testing", and how far, 0 to 1.
using ToolchainProgress = std::function<void(const std::string& what, double done)>;

// Downloads the newest libhiprtc, its dependencies and HIP's headers, checks signatures, unpacks them into a new folder, compiles one
// kernel for each AMD target, and renames the folder into place. Returns what was there when the same version is
// installed already. Errors: no_compiler (no apt, no source of packages, nothing that compiles: the message names
// ROCm's own hipRTC as the way out, context holds the tools' words), io_error, disk_full, cancelled; busy while
// another installation runs in the folder. Takes a minute.
Result<Toolchain> install_toolchain(const ToolchainOptions& options, const ToolchainProgress& progress);

}  // namespace kiln::compile
