// `kiln toolchain install`: a hipRTC from Debian's archive into a folder of our own, with apt's state kept apart.
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <thread>

#include "engine/base/fd.hpp"
#include "engine/base/paths.hpp"
#include "engine/base/process.hpp"
#include "engine/compile/apt_sources.hpp"
#include "engine/compile/toolchain_manifest.hpp"
#include "engine/ir/target/target.hpp"

namespace kiln::compile {
namespace {

constexpr std::size_t output_bytes_max = 8 << 20;
constexpr const char* headers_package = "libamdhip64-dev";
constexpr const char* way_out = "; ROCm's own hipRTC (libhiprtc.so) on the loader's path works too";

Status write_text(const std::string& path, const std::string& content) {
  UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!fd) return errno_error(errno, path);
  return write_all(fd.get(), view(content));
}

// Removes the work folder at the end, whatever happened.
struct WorkFolder {
  std::string path;
  ~WorkFolder() {
    std::error_code ignored;
    if (!path.empty()) std::filesystem::remove_all(path, ignored);
  }
};

class Installer {
 public:
  Installer(const ToolchainOptions& options, const ToolchainProgress& progress)
      : options_(options), progress_(progress) {}

  Result<Toolchain> run() {
    KILN_TRY(const DebianMirror mirror, find_mirror());
    KILN_CHECK(make_folders(options_.folder));
    KILN_CHECK(take_folder());
    work_.path = options_.folder + "/.new-XXXXXX";
    if (mkdtemp(work_.path.data()) == nullptr) return errno_error(errno, options_.folder);
    Error last(ErrorCode::no_compiler, std::string("no hipRTC in the archive at ") + mirror.uri + way_out);
    for (const auto& suite : options_.suites) {
      auto installed = from_suite(mirror, suite);
      if (installed || installed.error().code != ErrorCode::no_compiler) return installed;
      last.context.push_back(suite + ": " + installed.error().message);
      for (auto& line : installed.error().context) last.context.push_back("  " + line);
    }
    return last;
  }

 private:
  // Alone in the folder; what an installation that was killed left behind is removed.
  Status take_folder() {
    lock_.reset(open(options_.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!lock_) return errno_error(errno, options_.folder);
    if (flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
      return errno == EWOULDBLOCK ? Status(Error(ErrorCode::busy, "another installation runs in " + options_.folder, true))
                                  : Status(errno_error(errno, options_.folder));
    }
    std::error_code ignored;
    std::vector<std::filesystem::path> left;
    for (const auto& entry : std::filesystem::directory_iterator(options_.folder, ignored)) {
      if (entry.path().filename().string().starts_with(".new-")) left.push_back(entry.path());
    }
    for (const auto& path : left) std::filesystem::remove_all(path, ignored);
    return ok();
  }

  struct Ran { bool good = false; std::string output, ending; };

  void say(const std::string& what, double done) const { if (progress_) progress_(what, done); }
  [[nodiscard]] std::string apt() const { return work_.path + "/apt"; }

  std::vector<std::string> child_environment() const {
    std::vector<std::string> result = {"LC_ALL=C", "DEBIAN_FRONTEND=noninteractive",
                                       "APT_CONFIG=" + apt() + "/apt.conf"};
    for (const auto& entry : options_.environment) {
      for (const char* kept : {"PATH=", "HOME=", "TMPDIR=", "http_proxy=", "https_proxy=", "no_proxy=", "HTTP_PROXY=",
                               "HTTPS_PROXY=", "NO_PROXY=", "SSL_CERT_FILE=", "SSL_CERT_DIR="}) {
        if (entry.starts_with(kept)) result.push_back(entry);
      }
    }
    return result;
  }

  // Runs a command to its end, in a folder; its words are in `output`.
  Result<Ran> execute(const std::vector<std::string>& command, const std::string& folder = "/") {
    SpawnOptions spawn;
    spawn.directory = folder;
    spawn.command = command;
    spawn.environment = child_environment();
    spawn.log_path = work_.path + "/output";
    unlink(spawn.log_path.c_str());
    KILN_TRY(ChildProcess child, ChildProcess::spawn(spawn));
    Ran ran;
    std::optional<std::string> ending;
    while (!(ending = child.ended(false))) {
      if (options_.cancel.cancelled()) {
        child.kill(9);
        child.ended(true);
        return Error(ErrorCode::cancelled, "the installation was cancelled");
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    ran.ending = *ending;
    ran.good = ran.ending == "exit status 0";
    if (const auto bytes = read_file(spawn.log_path, output_bytes_max)) ran.output = std::string(text(*bytes));
    return ran;
  }

  static Error failed(const std::string& what, const Ran& ran) {
    Error error(ErrorCode::no_compiler, what + ": " + ran.ending);
    std::istringstream lines(ran.output);
    std::vector<std::string> all;
    for (std::string line; std::getline(lines, line);) all.push_back(line);
    for (std::size_t i = all.size() > 8 ? all.size() - 8 : 0; i < all.size(); ++i) error.context.push_back(all[i]);
    return error;
  }

  Result<DebianMirror> find_mirror() const {
    auto found = debian_mirror(read_apt_sources(options_.apt_folder));
    if (!options_.mirror.empty()) {
      if (!found) found = DebianMirror{"", "/usr/share/keyrings/debian-archive-keyring.gpg"};
      found->uri = options_.mirror;
    }
    if (!found)
      return Error(ErrorCode::no_compiler,
                   "no source of Debian packages in " + options_.apt_folder + " (name one with --mirror)" + way_out);
    if (!options_.keyring.empty()) found->keyring = options_.keyring;
    if (access(found->keyring.c_str(), R_OK) != 0)
      return Error(ErrorCode::no_compiler, "no keyring " + found->keyring + " to check signatures with" + way_out);
    return *found;
  }

  // apt's own folders, empty, and a configuration that takes over how the machine fetches, and nothing else.
  Status write_apt_state(const DebianMirror& mirror, const std::string& suite) {
    for (const char* folder : {"/lists/partial", "/archives/partial", "/etc"})
      KILN_CHECK(make_folders(apt() + folder, 0755));
    KILN_CHECK(write_text(apt() + "/status", ""));
    KILN_CHECK(write_text(apt() + "/etc/sources.list",
                          "deb [arch=amd64 signed-by=" + mirror.keyring + "] " + mirror.uri + " " + suite + " main\n"));
    std::string fetching;
    KILN_CHECK(write_text(apt() + "/apt.conf", ""));
    auto dump = execute({"apt-config", "dump"});
    if (!dump || !dump->good)
      return Error(ErrorCode::no_compiler, std::string("apt is needed to fetch packages, and there is none") + way_out);
    std::istringstream lines(dump->output);
    for (std::string line; std::getline(lines, line);) {
      const bool kinds = line.starts_with("Acquire::IndexTargets") || line.starts_with("Acquire::Languages");
      if (line.starts_with("Acquire::") && !kinds)
        fetching += line + "\n";  // proxies, and whether an archive of a date is wanted
    }
    const std::string conf =
        "Dir::State \"" + apt() + "\";\nDir::State::lists \"lists\";\nDir::State::status \"" + apt() +
        "/status\";\nDir::Cache \"" + apt() + "\";\nDir::Cache::archives \"archives\";\nDir::Etc \"" + apt() +
        "/etc\";\nDir::Etc::parts \"/dev/null\";\nDir::Etc::sourcelist \"" + apt() +
        "/etc/sources.list\";\nDir::Etc::sourceparts \"/dev/null\";\nDir::Etc::preferencesparts "
        "\"/dev/null\";\nDir::Etc::trustedparts \"/dev/null\";\n"
        "APT::Architecture \"amd64\";\nAPT::Architectures { \"amd64\"; };\nAPT::Sandbox::User "
        "\"\";\nAPT::Install-Recommends \"false\";\n"
        "APT::Update::Error-Mode \"any\";\nAPT::Get::AllowUnauthenticated \"false\";\nDebug::NoLocking \"true\";\n";
    const std::string rules =
        "Acquire::Languages \"none\";\nAcquire::Retries \"3\";\n"
        "Acquire::AllowInsecureRepositories \"false\";\nAcquire::AllowWeakRepositories \"false\";\n";
    return write_text(apt() + "/apt.conf", conf + fetching + rules);
  }

  // The package `stem`N with the largest N.
  Result<std::string> newest(const std::string& stem) {
    KILN_TRY(const Ran names, execute({"apt-cache", "pkgnames", stem}));
    std::string best;
    std::istringstream lines(names.output);
    for (std::string name; std::getline(lines, name);) {
      const std::string number = name.substr(std::min(stem.size(), name.size()));
      if (number.empty() || number.find_first_not_of("0123456789") != std::string::npos) continue;
      if (best.empty() || strverscmp(name.c_str(), best.c_str()) > 0) best = name;
    }
    return best;
  }

  Result<std::vector<std::string>> wanted_packages(const std::string& suite) {
    KILN_TRY(const std::string rtc, newest("libhiprtc"));
    if (rtc.empty()) return Error(ErrorCode::no_compiler, suite + " has no libhiprtc");
    std::vector<std::string> wanted = {rtc};
    KILN_TRY(const std::string comgr, newest("libamd-comgr"));
    if (!comgr.empty()) wanted.push_back(comgr);
    KILN_TRY(const std::string builtins, newest("libhiprtc-builtins"));
    if (!builtins.empty()) wanted.push_back(builtins);
    return wanted;
  }

  Result<Toolchain> from_suite(const DebianMirror& mirror, const std::string& suite) {
    std::error_code ignored;
    std::filesystem::remove_all(apt(), ignored);
    std::filesystem::remove_all(work_.path + "/prefix", ignored);
    KILN_CHECK(write_apt_state(mirror, suite));
    say("reading the index of " + suite, 0.05);
    KILN_TRY(const Ran update, execute({"apt-get", "update", "-q"}));
    if (!update.good || update.output.find("\nE: ") != std::string::npos)
      return failed("the index of " + suite + " cannot be read", update);
    KILN_TRY(const auto wanted, wanted_packages(suite));
    say("downloading " + wanted[0] + " and what it needs", 0.15);
    std::vector<std::string> fetch = {"apt-get", "install", "-q", "-y", "--download-only"};
    fetch.insert(fetch.end(), wanted.begin(), wanted.end());
    KILN_TRY(const Ran fetched, execute(fetch));
    if (!fetched.good) return failed("packages cannot be downloaded", fetched);
    // Without what they depend on: none of it is needed to compile for a card. A suite may lack them.
    KILN_TRY(const Ran headers, execute({"apt-get", "download", "-q", headers_package}, apt() + "/archives"));
    if (!headers.good) say("no HIP headers in " + suite + ": kiln emulate will not take whole programs", 0.4);
    Toolchain toolchain;
    toolchain.path = work_.path + "/prefix";
    toolchain.origin = mirror.uri + " " + suite;
    KILN_CHECK(unpack(toolchain));
    KILN_CHECK(try_targets(toolchain));
    return publish(toolchain, wanted[0]);
  }

  Status unpack(Toolchain& toolchain) {
    std::vector<std::string> files;
    std::error_code problem;
    for (const auto& entry : std::filesystem::directory_iterator(apt() + "/archives", problem)) {
      if (entry.path().extension() == ".deb") files.push_back(entry.path().string());
    }
    std::sort(files.begin(), files.end());
    if (problem || files.empty()) return Error(ErrorCode::no_compiler, "nothing was downloaded");
    KILN_CHECK(make_folders(toolchain.path, 0755));
    for (std::size_t i = 0; i < files.size(); ++i) {
      say("unpacking " + std::to_string(i + 1) + " of " + std::to_string(files.size()) + " packages",
          0.4 + 0.3 * static_cast<double>(i) / static_cast<double>(files.size()));
      KILN_TRY(const Ran fields, execute({"dpkg-deb", "-W", "--showformat=${Package} ${Version}\\n", files[i]}));
      if (!fields.good) return failed("a package cannot be read", fields);
      std::istringstream words(fields.output);
      ToolchainPackage package;
      words >> package.name >> package.version;
      KILN_TRY(const Ran extracted, execute({"dpkg-deb", "-x", files[i], toolchain.path}));
      if (!extracted.good) return failed("a package cannot be unpacked", extracted);
      toolchain.packages.push_back(package);
    }
    std::sort(toolchain.packages.begin(), toolchain.packages.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    if (!find_loader(toolchain)) return Error(ErrorCode::no_compiler, "the packages bring no loader");
    return ok();
  }

  // One kernel for each AMD target, by the worker that will use the prefix. gfx942 must work.
  Status try_targets(Toolchain& toolchain) {
    Ran last;
    std::vector<std::string> targets;
    for (const auto& name : target::known_targets()) if (name.starts_with("gfx")) targets.push_back(name);
    for (std::size_t i = 0; i < targets.size(); ++i) {
      say("compiling a kernel for " + targets[i],
          0.7 + 0.25 * static_cast<double>(i) / static_cast<double>(targets.size()));
      auto command = through_toolchain(toolchain, options_.worker);
      command.insert(command.end(), {"--include", options_.include_folder, "--check", targets[i]});
      KILN_TRY(const Ran tried, execute(command));
      if (tried.good) toolchain.targets.push_back(targets[i]);
      else if (targets[i] == "gfx942" || last.ending.empty()) last = tried;
    }
    const bool useful =
        std::find(toolchain.targets.begin(), toolchain.targets.end(), "gfx942") != toolchain.targets.end();
    return useful ? ok() : Status(failed("its hipRTC does not compile for gfx942", last));
  }

  Result<Toolchain> publish(Toolchain& toolchain, const std::string& rtc) {
    std::string version;
    for (const auto& package : toolchain.packages) if (package.name == rtc) version = package.version;
    for (auto& c : version) if (!isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '-') c = '_';
    const std::string name = "hiprtc-" + version, path = options_.folder + "/" + name;
    toolchain.headers = has_headers(toolchain.path);
    if (auto there = read_toolchain(path); there && there->targets.size() >= toolchain.targets.size() &&
                                           there->headers >= toolchain.headers)
      return there;
    KILN_CHECK(write_text(toolchain.path + "/" + manifest_name, manifest_text(toolchain)));
    std::error_code problem;
    std::filesystem::remove_all(path, problem);  // one without a sound manifest: the rest of something else
    if (rename(toolchain.path.c_str(), path.c_str()) != 0)
      return errno_error(errno, "cannot move the new toolchain to " + path);
    say("installed " + name, 1.0);
    return read_toolchain(path);
  }

  const ToolchainOptions& options_;
  const ToolchainProgress& progress_;
  UniqueFd lock_;  // of the folder itself, for the object's life
  WorkFolder work_;
};

}  // namespace

Result<Toolchain> install_toolchain(const ToolchainOptions& options, const ToolchainProgress& progress) {
  return Installer(options, progress).run();
}

}  // namespace kiln::compile
