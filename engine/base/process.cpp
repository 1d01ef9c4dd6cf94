#include "engine/base/process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "engine/base/os.hpp"

namespace kiln {
namespace {

#ifdef KILN_SANITIZED
constexpr bool address_space_limits = false;  // shadow memory reserves terabytes
#else
constexpr bool address_space_limits = true;
#endif

// Everything that the child needs, made before fork: between fork and exec only async-signal-safe calls are allowed,
// since other threads may have held any lock at the moment of the fork.
struct Plan {
  std::string program;
  std::vector<char*> arguments, environment;
  std::vector<std::pair<int, int>> descriptors;  // (ours moved above every target, theirs), theirs ascending
  const char* directory;
  int input, output, errors, report;
  std::size_t address_space_bytes_max;
  pid_t parent;
  bool die_with_parent, new_session;
};

struct Failure { int step, error_number; };
constexpr const char* step_names[] = {"leave the session", "follow the parent", "place descriptors", "enter the folder",
                                      "limit the address space", "execute"};
enum Step { step_session, step_parent, step_descriptors, step_directory, step_limit, step_execute };

[[noreturn]] void give_up(const Plan& plan, Step step) {
  const Failure failure{step, errno};
  (void)!::write(plan.report, &failure, sizeof failure);
  ::_exit(127);
}

// Marks [first, last] close-on-exec.
void close_on_exec(unsigned first, unsigned last) {
  if (first > last) return;
  constexpr unsigned mark_only = 4;  // CLOSE_RANGE_CLOEXEC, Linux 5.11
  if (::syscall(SYS_close_range, first, last, mark_only) == 0) return;
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const auto end = std::min<rlim_t>(limit.rlim_cur, rlim_t(last) + 1);
  for (rlim_t fd = first; fd < end; ++fd) ::fcntl(static_cast<int>(fd), F_SETFD, FD_CLOEXEC);
}

void place_descriptors(const Plan& plan) {
  if (::dup2(plan.input, 0) < 0 || ::dup2(plan.output, 1) < 0 || ::dup2(plan.errors, 2) < 0)
    give_up(plan, step_descriptors);
  unsigned next = 3;
  for (const auto& [ours, theirs] : plan.descriptors) {
    if (::dup2(ours, theirs) < 0) give_up(plan, step_descriptors);
    close_on_exec(next, static_cast<unsigned>(theirs) - 1);
    next = static_cast<unsigned>(theirs) + 1;
  }
  close_on_exec(next, ~0u);
}

[[noreturn]] void run_child(const Plan& plan) {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &action, nullptr);
  if (plan.new_session && ::setsid() < 0) give_up(plan, step_session);
  if (plan.die_with_parent) {
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) give_up(plan, step_parent);
    if (::getppid() != plan.parent) ::_exit(127);  // it died before the line above
  }
  place_descriptors(plan);
  if (::chdir(plan.directory) != 0) give_up(plan, step_directory);
  if (plan.address_space_bytes_max > 0 && address_space_limits) {
    rlimit inherited{};
    if (::getrlimit(RLIMIT_AS, &inherited) != 0) give_up(plan, step_limit);
    const rlim_t bytes = std::min<rlim_t>(plan.address_space_bytes_max, inherited.rlim_max);  // a lower one stays
    const rlimit limit{bytes, bytes};
    if (::setrlimit(RLIMIT_AS, &limit) != 0) give_up(plan, step_limit);
  }
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(plan.program.c_str(), plan.arguments.data(), plan.environment.data());
  give_up(plan, step_execute);
}

// A name without a slash is looked for along PATH of the child's environment.
std::string find_program(const SpawnOptions& options) {
  const auto& name = options.command[0];
  if (name.find('/') != std::string::npos) return name;
  std::string path = "/usr/local/bin:/usr/bin:/bin";
  for (const auto& entry : options.environment)
    if (entry.starts_with("PATH=")) path = entry.substr(5);
  for (std::size_t begin = 0; begin <= path.size();) {
    const auto end = std::min(path.find(':', begin), path.size());
    const auto candidate = path.substr(begin, end - begin) + "/" + name;
    if (end > begin && ::access(candidate.c_str(), X_OK) == 0) return candidate;
    begin = end + 1;
  }
  return name;  // exec says what is wrong
}

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> list;
  for (const auto& s : strings) list.push_back(const_cast<char*>(s.c_str()));
  list.push_back(nullptr);
  return list;
}

Result<UniqueFd> open_for(const std::string& path, int flags) {
  UniqueFd fd(os::openat(AT_FDCWD, path.c_str(), flags | O_CLOEXEC, 0600));
  if (!fd) return errno_error(errno, "cannot open " + path);
  return fd;
}

// The descriptor again at `from` or above, where no dup2 of the child hits it.
Result<UniqueFd> move_up(int fd, int from) {
  UniqueFd copy(os::duplicate(fd, from));
  if (!copy) return errno_error(errno, "cannot hand descriptor " + std::to_string(fd) + " to a child");
  return copy;
}

// Forks with all signals blocked, so that no handler of ours runs in the child.
pid_t fork_child(const Plan& plan) {
  sigset_t all, old;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &old);
  const pid_t pid = ::fork();
  if (pid == 0) run_child(plan);
  const int saved = errno;
  ::pthread_sigmask(SIG_SETMASK, &old, nullptr);
  errno = saved;
  return pid;
}

// The descriptors that the child gets, held open until it has started.
struct ChildFiles {
  UniqueFd input, output, report_in, report_out;
  std::vector<UniqueFd> moved;
};

Result<ChildFiles> open_files(const SpawnOptions& options, Plan& plan) {
  ChildFiles files;
  int highest = 2;
  std::set<int> taken;
  for (const auto& [ours, theirs] : options.descriptors) {
    if (ours < 0 || theirs < 3) return Error(ErrorCode::invalid_argument, "a child's descriptors start at 3");
    if (!taken.insert(theirs).second) return Error(ErrorCode::invalid_argument, "a child's descriptor given twice");
    highest = std::max(highest, theirs);
  }
  KILN_TRY(auto null, open_for("/dev/null", O_RDONLY));
  KILN_TRY(files.input, move_up(null.get(), highest + 1));
  if (options.log_path.empty()) {
    KILN_TRY(files.output, move_up(2, highest + 1));
  } else {
    KILN_TRY(auto log, open_for(options.log_path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW));
    KILN_TRY(files.output, move_up(log.get(), highest + 1));
  }
  int report[2];
  if (os::pipe2(report, O_CLOEXEC) != 0) return errno_error(errno, "cannot make a pipe");
  files.report_in.reset(report[0]);
  UniqueFd report_out(report[1]);
  KILN_TRY(files.report_out, move_up(report_out.get(), highest + 1));
  for (const auto& [ours, theirs] : options.descriptors) {
    KILN_TRY(auto moved, move_up(ours, highest + 1));
    plan.descriptors.emplace_back(moved.get(), theirs);
    files.moved.push_back(std::move(moved));
  }
  std::sort(plan.descriptors.begin(), plan.descriptors.end(), [](auto& a, auto& b) { return a.second < b.second; });
  plan.input = files.input.get();
  plan.output = plan.errors = files.output.get();
  plan.report = files.report_out.get();
  return files;
}

std::string describe(int status) {
  if (WIFEXITED(status)) return "exit status " + std::to_string(WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  return "signal " + std::to_string(signal) + " (" + ::strsignal(signal) + ")";
}

}  // namespace

Result<ChildProcess> ChildProcess::spawn(const SpawnOptions& options) {
  if (options.command.empty()) return Error(ErrorCode::invalid_argument, "an empty command");
  Plan plan{};
  plan.program = find_program(options);
  plan.arguments = pointers(options.command);
  plan.environment = pointers(options.environment);
  plan.directory = options.directory.c_str();
  plan.address_space_bytes_max = options.address_space_bytes_max;
  plan.die_with_parent = options.die_with_parent;
  plan.new_session = options.new_session;
  plan.parent = ::getpid();
  KILN_TRY(auto files, open_files(options, plan));
  ChildProcess child;
  child.pid_ = fork_child(plan);
  if (child.pid_ < 0) return errno_error(errno, "cannot fork");
  files.report_out.reset();
  Failure failure{};
  const auto n = os::read(files.report_in.get(), &failure, sizeof failure);  // ends when exec closed the other end
  if (n == 0) return child;
  if (n != sizeof failure)
    return errno_error(n < 0 ? errno : EIO, "cannot learn whether " + options.command[0] + " started");
  child.ended(true);
  const auto what = "cannot start " + options.command[0] + ": cannot " + step_names[failure.step];
  return errno_error(failure.error_number, what);
}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this != &other) {
    kill(SIGKILL);
    ended(true);
    pid_ = std::exchange(other.pid_, -1);
  }
  return *this;
}

ChildProcess::~ChildProcess() {
  kill(SIGKILL);
  ended(true);
}

void ChildProcess::kill(int signal) {
  if (pid_ > 0) ::kill(pid_, signal);  // not reaped yet, so the number is still its own
}

std::optional<std::string> ChildProcess::ended(bool wait) {
  if (pid_ <= 0) return std::nullopt;
  int status = 0;
  pid_t result;
  do result = ::waitpid(pid_, &status, wait ? 0 : WNOHANG);
  while (result < 0 && errno == EINTR);
  if (result == 0) return std::nullopt;
  pid_ = -1;
  if (result < 0) return "ended unseen";  // reaped elsewhere (SIGCHLD ignored)
  return describe(status);
}

std::size_t resident_bytes(pid_t pid) {
  const auto statm = read_file("/proc/" + std::to_string(pid) + "/statm", 4096);
  if (!statm) return 0;
  unsigned long long total = 0, resident = 0;
  const std::string line(text(*statm));
  if (std::sscanf(line.c_str(), "%llu %llu", &total, &resident) != 2) return 0;
  return static_cast<std::size_t>(resident) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

std::string executable_folder() {
  char path[4096];
  const auto n = ::readlink("/proc/self/exe", path, sizeof path);
  if (n <= 0) return "/";
  const std::string whole(path, static_cast<std::size_t>(n));
  return whole.substr(0, std::max<std::size_t>(whole.rfind('/'), 1));
}

}  // namespace kiln
