#include "engine/compile/worker.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "engine/base/os.hpp"

namespace kiln::compile {
namespace {

constexpr int poll_ms = 20;                               // how late a cancellation, a deadline or a cap may be noticed
constexpr auto start_limit = std::chrono::seconds(60);
constexpr auto frame_limit = std::chrono::seconds(20);    // from an answer's first byte to its last
constexpr auto reap_limit = std::chrono::milliseconds(500);
constexpr std::uint64_t compile_files_bytes = 4 << 20;    // of temporary files during one compile, amply

constexpr std::array kept_variables = {"PATH", "HOME", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH",
                                       "ROCM_PATH", "HIP_PATH", "ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS",
                                       "LSAN_OPTIONS"};

std::string in_mib(std::size_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

std::string quoted(const std::vector<std::string>& command) {
  std::string text;
  for (const auto& word : command) text += (text.empty() ? "" : " ") + word;
  return text;
}

}  // namespace

std::vector<std::string> scrubbed_environment(const std::vector<std::string>& all) {
  std::vector<std::string> kept{"AMD_COMGR_CACHE=0"};  // comgr's own cache would answer for another compiler's bugs
  for (const auto& entry : all) {
    const auto name = std::string_view(entry).substr(0, entry.find('='));
    if (std::find(kept_variables.begin(), kept_variables.end(), name) != kept_variables.end()) kept.push_back(entry);
  }
  std::sort(kept.begin(), kept.end());
  return kept;
}

std::optional<Error> lacks_room(const std::string& folder, std::uint64_t bytes) {
  const UniqueFd opened(os::openat(AT_FDCWD, folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct statfs system {};
  if (!opened || os::fstatfs(opened.get(), &system) != 0) return std::nullopt;
  const auto block = static_cast<std::uint64_t>(std::max<long>(static_cast<long>(system.f_bsize), 1));
  const bool no_files = system.f_files > 0 && system.f_ffree == 0;  // 0 files: a file system that counts none
  if (!no_files && (system.f_blocks == 0 || system.f_bavail >= (bytes + block - 1) / block)) return std::nullopt;
  const std::string left = no_files ? "no files" : std::to_string((system.f_bavail * block) >> 10) + " KiB";
  return Error(ErrorCode::disk_full,
               "the folder for temporary files is full: " + left + " left in " + folder + ", a compile needs " +
                   std::to_string(bytes >> 10) + " KiB; free some, or set TMPDIR to another folder",
               true);
}

Worker::Worker(const WorkerCommand& command, const PoolOptions& options)
    : family_(command.family), resident_bytes_max_(options.resident_bytes_max) {}

Result<std::unique_ptr<Worker>> Worker::start(const WorkerCommand& command, const PoolOptions& options, Watch watch) {
  const auto refuse = [&](const Error& why) {
    // For want of descriptors there may well be a compiler.
    const auto code = why.code == ErrorCode::resource_limit ? why.code : ErrorCode::no_compiler;
    auto error =
        Error(code,
              "the compile worker for " + command.family + " targets could not be started: " + why.message,
              why.retryable);
    error.context = why.context;
    return std::move(error).with("command: " + quoted(command.command));
  };
  if (command.command.empty())
    return Error(ErrorCode::no_compiler, command.why_absent.empty()
                                             ? "no compile worker for " + command.family + " targets"
                                             : command.why_absent);
  std::unique_ptr<Worker> worker(new Worker(command, options));
  auto folder = PrivateFolder::create(options.temporary_folder, worker_folder_prefix);
  if (!folder && folder.error().code == ErrorCode::disk_full) return std::move(folder).error();
  if (!folder) return refuse(folder.error());
  worker->folder_ = std::move(*folder);
  KILN_TRY(auto sockets, socket_pair());
  SpawnOptions spawn;
  spawn.command = command.command;
  spawn.environment = scrubbed_environment(options.environment);
  spawn.environment.push_back("TMPDIR=" + worker->folder_.path());
  spawn.descriptors = {{sockets.second.get(), worker_descriptor}};
  spawn.directory = worker->folder_.path();
  spawn.log_path = options.log_path;
  spawn.address_space_bytes_max = options.address_space_bytes_max;
  auto child = ChildProcess::spawn(spawn);
  if (!child) return refuse(child.error());
  worker->child_ = std::move(*child);
  worker->socket_ = std::move(sockets.first);
  sockets.second.reset();
  watch.work = Deadline::after(start_limit);
  watch.work_limit_text = "it was not ready after 60 s";
  auto ready = worker->await(watch);
  if (!ready && ready.error().code != ErrorCode::worker_died) return std::move(ready).error();
  if (!ready) {
    auto why = ready.error();
    if (worker->exited_) why.retryable = false;  // as a loader does that misses a library: it will do so again
    return refuse(why);
  }
  if (ready->kind == static_cast<std::uint8_t>(WorkerFrame::failed)) return refuse(decode_failure(ready->payload));
  Reader hello(ready->payload);
  if (ready->kind != static_cast<std::uint8_t>(WorkerFrame::ready) || hello.u32() != worker_protocol_version)
    return refuse(Error(ErrorCode::protocol_error, "it speaks another version of the worker protocol"));
  return worker;
}

Result<Frame> Worker::ask(WorkerFrame kind, ByteView payload, WorkerFrame expected, const Watch& watch) {
  if (auto full = no_room()) return std::move(*full);
  const auto sent =
      send_frame(socket_.get(), static_cast<std::uint8_t>(kind), payload, {}, watch.work.earlier(watch.request));
  if (!sent) return died();
  KILN_TRY(auto frame, await(watch));
  if (frame.kind == static_cast<std::uint8_t>(expected)) return frame;
  if (frame.kind != static_cast<std::uint8_t>(WorkerFrame::failed))
    return kill(Error(ErrorCode::worker_died, "the compile worker answered with a frame of an unknown kind", true));
  auto error = decode_failure(frame.payload);
  if (error.code == ErrorCode::corrupt)
    return kill(Error(ErrorCode::worker_died, "the compile worker answered with damaged bytes", true));
  if (error.code == ErrorCode::out_of_memory) return kill(std::move(error));  // it ends anyway, see worker_main
  return error;
}

Result<Frame> Worker::await(const Watch& watch) {
  for (;;) {
    pollfd entry{socket_.get(), POLLIN, 0};
    const int ready = os::poll(&entry, 1, poll_ms);
    if (ready > 0) {
      auto frame = receive_frame(socket_.get(), Deadline::after(frame_limit));
      if (frame) return frame;
      return died();
    }
    if (auto over = over_limit(watch)) return kill(std::move(*over));
    if (watch.tick) watch.tick();
  }
}

std::optional<Error> Worker::over_limit(const Watch& watch) {
  if (watch.cancel.cancelled()) return Error(ErrorCode::cancelled, "cancelled");
  if (watch.closing && watch.closing())
    return Error(ErrorCode::cancelled, "the compile workers are being shut down", true);
  if (watch.request.passed())
    return Error(ErrorCode::deadline_exceeded, "the request's deadline passed during the compile", true);
  if (watch.work.passed())
    return Error(ErrorCode::worker_died, "the compile worker was killed: " + watch.work_limit_text, true);
  const auto resident = resident_bytes(child_.pid());
  if (resident > resident_bytes_max_)
    return Error(ErrorCode::worker_died,
                 "the compile worker was killed: it held " + in_mib(resident) + " of memory, over the limit of " +
                     in_mib(resident_bytes_max_),
                 true);
  return std::nullopt;
}

// The peer's socket is closed or broken: learn what ended it.
Error Worker::died() {
  const auto until = Deadline::after(reap_limit);
  std::optional<std::string> how;
  while (!(how = child_.ended(false)) && !until.passed()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  exited_ = how && how->starts_with("exit status");
  // hipRTC's LLVM ends its process where a file cannot be written.
  if (how)
    if (auto full = no_room()) return std::move(*full);
  if (how) return Error(ErrorCode::worker_died, "the compile worker ended before answering: " + *how, true);
  return kill(Error(ErrorCode::worker_died,
                    "the compile worker closed its socket or stopped reading it, and was killed", true));
}

// Only hipRTC writes files.
std::optional<Error> Worker::no_room() const {
  if (family_ != "hip") return std::nullopt;
  return lacks_room(std::filesystem::path(folder_.path()).parent_path().string(), compile_files_bytes);
}

Error Worker::kill(Error why) {
  child_.kill(SIGKILL);
  child_.ended(true);
  return why;
}

}  // namespace kiln::compile
