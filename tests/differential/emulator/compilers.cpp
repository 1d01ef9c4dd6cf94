#include "tests/differential/emulator/compilers.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include "engine/base/fd.hpp"
#include "engine/base/paths.hpp"
#include "engine/base/process.hpp"
#include "engine/compile/toolchain.hpp"

namespace kiln::test {
namespace {

ByteView view(const std::string& text) { return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}; }

std::string log_of(const std::string& path) {
  const auto bytes = read_file(path);
  return bytes ? std::string(text(*bytes)) : std::string();
}

// What both compilers for cards take: the host's arithmetic, and memory that is looked at as several types.
const std::vector<std::string> card_options = {"-ffp-contract=off", "-fno-strict-aliasing", "-w"};

}  // namespace

std::string Production::name() const {
  return std::string(producer == Producer::hiprtc ? "hipRTC" : "clang") + " -O" + std::to_string(level);
}

Result<HostLibrary> HostLibrary::open(const std::string& path) {
  HostLibrary library;
  library.handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library.handle_ == nullptr) return Error(ErrorCode::io_error, dlerror());
  return library;
}

HostLibrary::Function HostLibrary::function(const std::string& name) const {
  const auto found = reinterpret_cast<Function>(dlsym(handle_, name.c_str()));
  KILN_ASSERT(found != nullptr);
  return found;
}

Result<std::unique_ptr<Compilers>> Compilers::create(std::string folder, std::string source_folder,
                                                     std::string helper) {
  KILN_TRY(const auto environment, process_environment());
  KILN_TRY(const auto toolchains, toolchains_folder(environment));
  std::unique_ptr<Compilers> made(new Compilers());
  made->folder_ = std::move(folder), made->source_folder_ = std::move(source_folder);
  made->environment_ = environment.all;
  const auto list = compile::list_toolchains(toolchains.path);
  made->hiprtc_ = list.empty() ? std::vector<std::string>{helper} : compile::through_toolchain(list[0], helper);
  KILN_CHECK(write_file(made->folder_ + "/no_jobs", {}));
  auto command = made->hiprtc_;
  command.push_back(made->folder_ + "/no_jobs");
  for (const auto& words : {command, {"gcc", "--version"}, {"clang-22", "--version"}}) {
    if (auto status = made->run(words, words[0]); !status)
      return Error(ErrorCode::no_compiler, words[0] + " cannot be used").with(to_text(status.error()));
  }
  return made;
}

Status Compilers::run(const std::vector<std::string>& command, const std::string& what) {
  SpawnOptions spawn;
  spawn.command = command;
  spawn.environment = environment_;
  spawn.log_path = folder_ + "/log";
  ::unlink(spawn.log_path.c_str());
  KILN_TRY(auto child, ChildProcess::spawn(spawn));
  const auto ended = child.ended(true);
  if (ended && *ended == "exit status 0") return ok();
  return Error(ErrorCode::compile_failed, what + ": " + ended.value_or("gone")).with(log_of(spawn.log_path));
}

Result<std::string> Compilers::write_source(const std::vector<RandomFunction>& functions,
                                            const FunctionTarget& target) {
  const std::string path = folder_ + "/" + std::to_string(files_++);
  KILN_CHECK(write_file(path + ".c", view(unit_text(functions, target, source_folder_))));
  return path;
}

Result<std::vector<std::string>> Compilers::compile(const std::string& path, const FunctionTarget& target,
                                                    const std::vector<Production>& productions,
                                                    const std::vector<std::string>& options) {
  std::string jobs;
  std::vector<std::string> objects;
  for (const auto& one : productions) {
    const std::string level = "-O" + std::to_string(one.level);
    objects.push_back(path + "." + std::to_string(objects.size()) + ".co");
    if (one.producer == Production::Producer::hiprtc) {
      jobs += path + ".c\t" + objects.back() + "\t--offload-arch=" + target.name + "\t" + level + "\t-std=c++20";
      for (const auto& option : options) jobs += "\t" + option;
      jobs += "\n";
      continue;
    }
    std::vector<std::string> command = {"clang-22", "-x", "c", "-std=gnu11", "--target=amdgcn-amd-amdhsa",
                                        "-mcpu=" + target.name, "-nogpulib", level, path + ".c", "-o", objects.back()};
    command.insert(command.end(), options.begin(), options.end());
    KILN_CHECK(run(command, one.name() + " for " + target.name));
  }
  if (!jobs.empty()) {
    KILN_CHECK(write_file(path + ".jobs", view(jobs)));
    auto command = hiprtc_;
    command.push_back(path + ".jobs");
    KILN_CHECK(run(command, "hipRTC for " + target.name));
  }
  return objects;
}

Result<std::vector<Bytes>> Compilers::objects(const std::vector<RandomFunction>& functions,
                                              const FunctionTarget& target,
                                              const std::vector<Production>& productions) {
  KILN_TRY(const auto path, write_source(functions, target));
  KILN_TRY(const auto objects, compile(path, target, productions, card_options));
  std::vector<Bytes> made;
  for (const auto& object : objects) {
    auto bytes = read_file(object);
    if (!bytes) return Error(ErrorCode::compile_failed, "no object from " + path + ".c").with(log_of(object + ".log"));
    made.push_back(std::move(*bytes));
    ::unlink(object.c_str());
  }
  return made;
}

Result<std::string> Compilers::around_pass(const RandomFunction& function, const FunctionTarget& target,
                                           const Production& production, const std::string& pass) {
  KILN_TRY(const auto path, write_source({function}, target));
  auto options = card_options;
  for (const char* when : {"before", "after"})
    options.insert(options.end(), {"-mllvm", std::string("-print-") + when + "=" + pass});
  KILN_TRY(const auto objects, compile(path, target, {production}, options));
  for (const auto& object : objects) ::unlink(object.c_str());
  return log_of(folder_ + "/log");
}

Result<HostLibrary> Compilers::host(const std::vector<RandomFunction>& functions, const FunctionTarget& target) {
  KILN_TRY(const auto path, write_source(functions, target));
  KILN_CHECK(run({"gcc", "-x", "c", "-std=gnu11", "-O1", "-march=x86-64-v3", "-ffp-contract=off",
                  "-fno-strict-aliasing", "-fexcess-precision=16", "-w", "-DKILN_HOST", "-shared", "-fPIC",
                  path + ".c", "-o", path + ".so", "-lm"},
                 "gcc"));
  return HostLibrary::open(path + ".so");
}

}  // namespace kiln::test
