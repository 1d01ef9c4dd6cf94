// The main that all compile workers share.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <new>
#include <thread>

#include "engine/base/channel.hpp"
#include "engine/base/os.hpp"
#include "engine/base/paths.hpp"
#include "engine/compile/compiler.hpp"
#include "engine/compile/worker_protocol.hpp"

namespace kiln::compile {
namespace {

// The whole of one compile: lowering attempts, layout candidates, emission. Far above what any real program takes; the
// pool's deadline is what normally ends a compile.
constexpr std::int64_t budget_units = std::int64_t(1) << 40;

enum class Mode { serve, version, check };
struct Invocation {
  Mode mode = Mode::serve;
  std::string check_target;
  WorkerOptions options;
};

Result<Invocation> parse(int argc, char** argv) {
  Invocation invocation;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto value = [&](std::string& into) -> Status {
      if (i + 1 >= argc) return Error(ErrorCode::invalid_argument, argument + " needs a value");
      into = argv[++i];
      return {};
    };
    if (argument == "--version") {
      invocation.mode = Mode::version;
    } else if (argument == "--check") {
      invocation.mode = Mode::check;
      KILN_CHECK(value(invocation.check_target));
    } else if (argument == "--include") {
      KILN_CHECK(value(invocation.options.include_folder));
    } else if (argument == "--compile-log") {
      KILN_CHECK(value(invocation.options.compile_log));
    } else {
      invocation.options.rest.push_back(argument);
    }
  }
  return invocation;
}

// Ends this process as soon as the pool is gone, also in the middle of a compile: the compiler cannot be asked to stop.
void watch_pool() {
  for (;;) {
    pollfd entry{worker_descriptor, POLLRDHUP, 0};
    if (os::poll(&entry, 1, -1) > 0 && (entry.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL))) ::_exit(0);
  }
}

// One line a compile, whole: O_APPEND and one write keep lines of many workers apart.
Status log_compile(const std::string& path, const std::string& key_hex) {
  if (path.empty()) return {};
  UniqueFd log(os::openat(AT_FDCWD, path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!log) return errno_error(errno, "cannot open the compile log");
  return write_all(log.get(), view(key_hex + " " + std::to_string(::getpid()) + "\n"));
}

Result<Compiled> serve_compile(Compiler& compiler, const WorkerOptions& options, ByteView payload) {
  KILN_TRY(const auto order, decode_compile_order(payload));
  KILN_TRY(const auto target, target::parse_target(order.target));
  KILN_TRY(const auto program, bound::decode(order.program));
  KILN_CHECK(log_compile(options.compile_log, order.key_hex));
  const auto deadline = order.left_ms < 0 ? Deadline() : Deadline::after(std::chrono::milliseconds(order.left_ms));
  Budget budget(budget_units, deadline);
  os::reach(os::Place::compile);
  return compiler.compile(program, target, budget);
}

Result<Identity> serve_identity(Compiler& compiler, ByteView payload) {
  KILN_TRY(const auto target, target::parse_target(text(payload)));
  KILN_TRY(auto description, compiler.warm_up(target));
  return mapped_identity(std::move(description));
}

Status send(WorkerFrame kind, ByteView payload) {
  return send_frame(worker_descriptor, static_cast<std::uint8_t>(kind), payload);
}

template <class T>
Status answer(WorkerFrame kind, const Result<T>& result) {
  if (!result) return send(WorkerFrame::failed, encode(result.error()));
  const auto payload = encode(*result);
  if (payload.size() <= frame_bytes_max) return send(kind, payload);
  return send(WorkerFrame::failed,
              encode(Error(ErrorCode::resource_limit, "the compiled kernel is over 256 MiB")));
}

Status serve_frame(Compiler& compiler, const WorkerOptions& options, const Frame& frame) {
  switch (static_cast<WorkerFrame>(frame.kind)) {
    case WorkerFrame::identity:
      return answer(WorkerFrame::identified, serve_identity(compiler, frame.payload));
    case WorkerFrame::compile:
      return answer(WorkerFrame::compiled, serve_compile(compiler, options, frame.payload));
    default:
      return Error(ErrorCode::protocol_error, "a frame that is no request: " + std::to_string(frame.kind));
  }
}

// After an allocation failed inside a compiler nothing of it can be relied on: answer, then end.
int out_of_memory(Mode mode) {
  std::fprintf(stderr, "compile worker: out of memory\n");
  if (mode != Mode::serve) return 1;
  (void)send(WorkerFrame::failed,
             encode(Error(ErrorCode::out_of_memory, "the compiler ran out of the memory that a worker may use")));
  return 1;
}

int serve(const WorkerOptions& options, const CompilerFactory& factory) {
  if (::fcntl(worker_descriptor, F_GETFD) < 0) {
    std::fprintf(
        stderr,
        "a compile worker is started by Kiln, with a socket as descriptor 3; by hand: --check TARGET, --version\n");
    return 2;
  }
  ::fcntl(worker_descriptor, F_SETFD, FD_CLOEXEC);
  ::signal(SIGINT, SIG_IGN);  // a terminal's ^C goes to everyone; what it means is the parent's decision
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  std::thread(watch_pool).detach();
  auto compiler = factory(options);
  if (!compiler) {
    (void)send(WorkerFrame::failed, encode(compiler.error()));
    return 1;
  }
  Writer hello;
  hello.u32(worker_protocol_version);
  auto status = send(WorkerFrame::ready, hello.data());
  while (status) {
    auto frame = receive_frame(worker_descriptor);
    if (!frame) {
      if (frame.error().code == ErrorCode::not_running) return 0;
      status = Status(frame.error());
      break;
    }
    status = serve_frame(**compiler, options, *frame);
  }
  std::fprintf(stderr, "compile worker: %s\n", to_text(status.error()).c_str());
  return 1;
}

int check(const Invocation& invocation, const CompilerFactory& factory) {
  const auto run = [&]() -> Result<Identity> {
    KILN_TRY(const auto target, target::parse_target(invocation.check_target));
    KILN_TRY(const auto compiler, factory(invocation.options));
    KILN_TRY(auto description, compiler->warm_up(target));
    return mapped_identity(std::move(description));
  };
  const auto identity = run();
  if (!identity) {
    std::printf("%s: %s\n", invocation.check_target.c_str(), to_text(identity.error()).c_str());
    return 1;
  }
  std::printf("%s: %s, %zu files, identity %s\n", invocation.check_target.c_str(), identity->description.c_str(),
              identity->files.size(), to_hex(identity->digest()).c_str());
  return 0;
}

}  // namespace

int worker_main(int argc, char** argv, const CompilerFactory& factory) {
  const auto invocation = parse(argc, argv);
  if (!invocation) {
    std::fprintf(stderr, "%s\n", to_text(invocation.error()).c_str());
    return 2;
  }
  if (invocation->mode == Mode::version) {
    std::printf("kiln compile worker, protocol %u\n", worker_protocol_version);
    return 0;
  }
  if (auto armed = arm_failpoints_of_environment(); !armed) {
    std::fprintf(stderr, "%s\n", to_text(armed.error()).c_str());
    return 2;
  }
  try {
    return invocation->mode == Mode::check ? check(*invocation, factory) : serve(invocation->options, factory);
  } catch (const std::bad_alloc&) {
    return out_of_memory(invocation->mode);
  }
}

}  // namespace kiln::compile
