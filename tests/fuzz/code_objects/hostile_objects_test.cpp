// Damaged code objects, loaded and launched through the emulated card's HIP interface: each load and each launch ends,
// with an error or without, and the process lives. Runs in child processes, so that a crash is a failure with a seed.
//
// KILN_SEED=N repeats a run's mutants, KILN_MUTANT=I one of them in this very process, for a debugger. KILN_NIGHTLY=N:
// N minutes instead of seconds.
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <thread>

#include "engine/base/fd.hpp"
#include "engine/emulator/machine/object.hpp"
#include "tests/differential/faults/emulated_text.hpp"
#include "tests/fuzz/code_objects/mutations.hpp"

namespace kiln::test {
namespace {

// By number of the emulated device.
const std::vector<std::string> targets = {"gfx90a", "gfx942", "gfx950", "gfx1100"};

using Clock = std::chrono::steady_clock;

struct Victim {
  std::string name, target;
  Bytes object;
  std::vector<std::string> kernels;
};

// ---- HIP, as a program sees it -------------------------------------------------------------------------------------
struct Hip {
  int (*set_device)(int) = nullptr;
  int (*load)(void**, const void*) = nullptr;
  int (*unload)(void*) = nullptr;
  int (*function)(void**, void*, const char*) = nullptr;
  int (*global)(void**, std::size_t*, void*, const char*) = nullptr;
  int (*attribute)(int*, int, void*) = nullptr;
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                void**) = nullptr;
  int (*synchronize)() = nullptr;
  int (*allocate)(void**, std::size_t) = nullptr;
  int (*set_option)(const char*, const char*) = nullptr;
  void (*clear)() = nullptr;

  bool open(const char* path) {
    void* const library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
    bool all = library != nullptr;
    const auto take = [&](auto& target, const char* name) {
      target = all ? reinterpret_cast<std::remove_reference_t<decltype(target)>>(::dlsym(library, name)) : nullptr;
      all = all && target != nullptr;
    };
    take(set_device, "hipSetDevice");
    take(load, "hipModuleLoadData");
    take(unload, "hipModuleUnload");
    take(function, "hipModuleGetFunction");
    take(global, "hipModuleGetGlobal");
    take(attribute, "hipFuncGetAttribute");
    take(launch, "hipModuleLaunchKernel");
    take(synchronize, "hipDeviceSynchronize");
    take(allocate, "hipMalloc");
    take(set_option, "kiln_emulator_set_option");
    take(clear, "kiln_emulator_clear");
    return all;
  }
};

// What a child tells its parent, in memory that they share.
struct Progress {
  std::atomic<std::uint64_t> mutant{0}, loaded{0}, launched{0}, finished{0}, done{0};
};

// The bytes at the very end of what is mapped: reading on is a crash.
class AtTheEnd {
 public:
  explicit AtTheEnd(const Bytes& bytes) {
    mapped_ = (bytes.size() / 4096 + 2) * 4096;
    memory_ = static_cast<std::uint8_t*>(
        ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ::mprotect(memory_ + mapped_ - 4096, 4096, PROT_NONE);
    data_ = memory_ + mapped_ - 4096 - bytes.size();
    if (!bytes.empty()) std::memcpy(data_, bytes.data(), bytes.size());
  }
  ~AtTheEnd() { ::munmap(memory_, mapped_); }
  AtTheEnd(const AtTheEnd&) = delete;
  [[nodiscard]] const void* data() const { return data_; }

 private:
  std::uint8_t *memory_ = nullptr, *data_ = nullptr;
  std::size_t mapped_ = 0;
};

class Attack {
 public:
  Attack(const std::vector<Victim>& victims, std::uint64_t seed, Progress& progress)
      : victims_(victims), seed_(seed), progress_(progress) {
    for (const auto& victim : victims) mutators_.emplace_back(victim.object);
  }

  bool open(const char* library) {
    std::string all;
    for (const auto& target : targets) all += (all.empty() ? "" : ",") + target;
    ::setenv("KILN_EMULATOR_TARGETS", all.c_str(), 1);
    ::setenv("KILN_EMULATOR_THREADS", "2", 1);
    return hip_.open(library) && hip_.set_option("budget", "60000") == 0;
  }

  // One damaged object; the same for the same seed and number.
  void run(std::uint64_t number, std::string& story) {
    std::mt19937_64 random(seed_ * 0x9e3779b97f4a7c15u + number);
    const std::size_t which = random() % victims_.size();
    const Victim& victim = victims_[which];
    story = victim.name + ": ";
    const Bytes bytes = mutators_[which].mutant(random, story);
    constexpr const char* checks[] = {"none", "none", "all", "races", "uninitialised", "barriers,bounds"};
    hip_.set_option("check", checks[random() % std::size(checks)]);
    hip_.set_option("profile", random() % 4 == 0 ? "1" : "0");
    hip_.set_option("seed", random() % 4 == 0 ? "7" : "0");
    hip_.set_device(static_cast<int>(std::find(targets.begin(), targets.end(), victim.target) - targets.begin()));
    const AtTheEnd image(bytes);
    void* module = nullptr;
    if (hip_.load(&module, image.data()) != 0) return;
    ++progress_.loaded;
    for (const auto& kernel : victim.kernels) launch(module, kernel, random);
    void* address = nullptr;
    std::size_t size = 0;
    hip_.global(&address, &size, module, "counter");
    hip_.unload(module);
    hip_.clear();
  }

 private:
  void launch(void* module, const std::string& kernel, std::mt19937_64& random) {
    void* function = nullptr;
    if (hip_.function(&function, module, kernel.c_str()) != 0) return;
    int value = 0;
    for (int attribute = 0; attribute < 10; ++attribute) hip_.attribute(&value, attribute, function);
    void* memory = nullptr;
    if (memory_ == nullptr && hip_.allocate(&memory, 1 << 20) == 0) memory_ = memory;
    // All words are the memory's address: whatever is read as a count is large then.
    void* arguments[64];
    for (void*& one : arguments) one = memory_;
    std::size_t bytes = sizeof arguments;
    void* extra[] = {reinterpret_cast<void*>(1), arguments, reinterpret_cast<void*>(2), &bytes,
                     reinterpret_cast<void*>(3)};
    const unsigned threads[] = {64, 64, 128, 256, 37};
    const int code = hip_.launch(function, 1 + random() % 3, 1 + random() % 2, 1, threads[random() % 5], 1, 1,
                                 random() % 3 * 1024, nullptr, nullptr, extra);
    if (code == 0) ++progress_.launched;
    if (hip_.synchronize() == 0 && code == 0) ++progress_.finished;
    hip_.clear();
  }

  const std::vector<Victim>& victims_;
  const std::uint64_t seed_;
  Progress& progress_;
  std::vector<Mutator> mutators_;
  Hip hip_;
  void* memory_ = nullptr;
};

// ---- objects -------------------------------------------------------------------------------------------------------
void add_victim(std::vector<Victim>& victims, const std::string& name, const std::string& target, Bytes object) {
  const auto loaded = emulator::load_object(object, target);
  ASSERT_TRUE(loaded) << name << ": " << to_text(loaded.error());
  Victim victim{name, target, std::move(object), {}};
  for (const auto& [kernel, what] : loaded->kernels) victim.kernels.push_back(kernel);
  victims.push_back(std::move(victim));
}

// The corpus, and built-ins as hipRTC compiles them, where it is.
std::vector<Victim> all_victims() {
  std::vector<Victim> victims;
  const auto folder = std::filesystem::path(KILN_SOURCE_DIR) / "tests/unit/emulator/corpus";
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".co") names.push_back(entry.path().stem());
  std::sort(names.begin(), names.end());
  for (const auto& name : names) {
    const auto at = name.find("_gfx");
    const std::string target = name.substr(at + 1, name.find('_', at + 1) - at - 1);
    if (std::find(targets.begin(), targets.end(), target) == targets.end()) continue;
    auto bytes = read_file(folder / (name + ".co"));
    if (bytes) add_victim(victims, name, target, std::move(*bytes));
  }
  auto compiler = TextCompiler::start();
  if (!compiler) return victims;
  for (const auto& target : targets) {
    const auto subject = emitted_subject("gemm", {{"M", "64"}, {"N", "64"}, {"K", "64"}, {"BM", "64"}, {"BN", "64"}},
                                         target, 1);
    if (!subject) continue;
    auto object = (*compiler)->compile(subject->text, target);
    if (object) add_victim(victims, "gemm_" + target, target, std::move(*object));
  }
  return victims;
}

// ---- the children --------------------------------------------------------------------------------------------------
std::string ending(int status) {
  if (WIFSIGNALED(status)) return std::string("signal ") + ::strsignal(WTERMSIG(status));
  return "exit status " + std::to_string(WEXITSTATUS(status));
}

// What the child wrote last: a sanitizer's report, if there is one.
std::string last_lines(const std::string& path) {
  std::string text;
  const auto lines = lines_of(path);
  std::size_t first = lines.size() > 60 ? lines.size() - 60 : 0;
  for (std::size_t i = 0; i < lines.size(); ++i)
    for (const char* begin : {"ERROR: AddressSanitizer", "runtime error:"})
      if (lines[i].find(begin) != std::string::npos) first = std::min(first, i);
  for (std::size_t i = first; i < lines.size() && i < first + 60; ++i) text += lines[i] + "\n";
  return text;
}

std::chrono::seconds duration() {
  const char* const minutes = std::getenv("KILN_NIGHTLY");
  return minutes != nullptr ? std::chrono::minutes(std::atoi(minutes)) : std::chrono::seconds(15);
}

struct Raid {
  const std::vector<Victim>& victims;
  std::uint64_t seed;
  Clock::time_point end;
  Progress& progress;
  std::string log;     // a file for what children write to standard error: a report for each fault
};

// Runs mutants from `first` on until the time is over; true: they ended well. False: the one it was at did not.
bool run_child(const Raid& raid, std::uint64_t first, std::string& why) {
  const auto& [victims, seed, end, progress, log] = raid;
  progress.mutant = first;
  progress.done = 0;
  const pid_t child = ::fork();
  if (child == 0) {
    const int errors = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ::dup2(errors, STDERR_FILENO);
    Attack attack(victims, seed, progress);
    if (!attack.open(KILN_EMULATED_HIP)) ::_exit(99);
#ifndef KILN_SANITIZED
    const rlimit memory{std::uint64_t(16) << 30, std::uint64_t(16) << 30};
    ::setrlimit(RLIMIT_AS, &memory);
#endif
    std::string story;
    for (std::uint64_t i = first; Clock::now() < end; ++i) {
      progress.mutant = i;
      attack.run(i, story);
    }
    progress.done = 1;
    ::_exit(0);
  }
  // A launch of that budget takes milliseconds; a minute without progress is a hang.
  std::uint64_t last = first;
  auto moved = Clock::now();
  for (int status = 0;;) {
    if (::waitpid(child, &status, WNOHANG) == child) {
      why = ending(status);
      return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (progress.mutant != last) moved = Clock::now(), last = progress.mutant;
    if (Clock::now() - moved < std::chrono::minutes(1)) continue;
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
    why = "a hang";
    return false;
  }
}

TEST(HostileObjects, EndTheirLoadsAndLaunches) {
  const auto victims = all_victims();
  ASSERT_GE(victims.size(), 5u);
  const char* const given = std::getenv("KILN_SEED");
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10)
                             : std::getenv("KILN_NIGHTLY") != nullptr ? std::random_device()() : 20261130;
  void* const memory = ::mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const shared = new (memory) Progress;
  if (const char* const mutant = std::getenv("KILN_MUTANT")) {
    Attack attack(victims, seed, *shared);
    ASSERT_TRUE(attack.open(KILN_EMULATED_HIP));
    std::string story;
    attack.run(std::strtoull(mutant, nullptr, 10), story);
    std::printf("%s\n", story.c_str());
    return;
  }
  const auto end = Clock::now() + duration();
  const TemporaryFolder folder;
  const Raid raid{victims, seed, end, *shared, folder / "errors"};
  std::uint64_t next = 0;
  int failures = 0;
  while (Clock::now() < end && failures < 5) {
    std::string why;
    const bool well = run_child(raid, next, why);
    next = shared->mutant + 1;
    if (well) break;
    ++failures;
    ADD_FAILURE() << why << " at mutant " << shared->mutant << "; repeat with KILN_SEED=" << seed
                  << " KILN_MUTANT=" << shared->mutant << " tests/test_hostile_objects\n"
                  << last_lines(raid.log);
  }
  std::printf("%llu damaged objects, %llu loaded, %llu launches, %llu without a fault, seed %llu\n",
              static_cast<unsigned long long>(next), static_cast<unsigned long long>(shared->loaded),
              static_cast<unsigned long long>(shared->launched), static_cast<unsigned long long>(shared->finished),
              static_cast<unsigned long long>(seed));
  EXPECT_GT(shared->loaded, 0u);
  EXPECT_GT(shared->launched, 0u);
  EXPECT_GT(shared->finished, 0u);
}

}  // namespace
}  // namespace kiln::test
