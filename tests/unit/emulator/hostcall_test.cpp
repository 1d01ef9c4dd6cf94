// printf and assert of kernels: both ways in which they print, and kernels that break the protocol.
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "engine/base/paths.hpp"
#include "engine/base/process.hpp"
#include "engine/compile/hip_text.hpp"
#include "engine/compile/toolchain.hpp"
#include "engine/emulator/machine/hostcall.hpp"
#include "tests/unit/emulator/launching.hpp"
#include "tests/unit/emulator/printed_text.hpp"

namespace kiln::emulator {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

// ---- kernels -------------------------------------------------------------------------------------------------------

class Printing : public LaunchingObject {
 protected:
  std::string stem() const override { return "prints"; }
  void SetUp() override {
    LaunchingObject::SetUp();
    print_ = [this](bool error, std::string_view text) { (error ? errors_ : output_) += text; };
  }
  const char* text(const std::string& words) {
    char* const memory = reinterpret_cast<char*>(allocate(words.size() / 4 + 1));
    std::memcpy(memory, words.c_str(), words.size() + 1);
    return memory;
  }
  std::string take_output() { return std::exchange(output_, {}); }

  std::string output_, errors_;
};
INSTANTIATE_TEST_SUITE_P(Cards, Printing, testing::Values("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx942_buffered"));

TEST_P(Printing, EveryConversion) {
  const char* const words = text("some text");
  const int i = -12;
  const long long l = -1234567890123ll;
  const float f = 2.7182818f;
  const double d = -31.4159265358979;
  run("conversions", {{1, 1, 1}, {1, 1, 1}}, i, l, f, d, words);
  const auto lines = lines_of(take_output());
  const unsigned u = static_cast<unsigned>(i);
  const std::string expected[] = {
      printed("%d %u %x %X %o|%i", i, u, u, u, u, i),
      printed("%lld %llu %llx %lld|%hd %hhd %hhu", l, static_cast<unsigned long long>(l),
              static_cast<unsigned long long>(l), l, static_cast<short>(i), static_cast<signed char>(i),
              static_cast<unsigned char>(i)),
      printed("%5d|%-5d|%05d|%+d|% d|%#x|%#o", i, i, i, i, i, u, u),
      printed("%.8d|%12.8d|%-12.8d|%*d|%-*d|%.*d", i, i, i, 9, i, 9, i, 9, i),
      printed("%f %e %g %a %F %E %G %A", f, f, f, f, d, d, d, d),
      printed("%.3f|%10.2e|%-12g|%+.0f|%#.0f|%010.3f|%.*f", d, d, d, d, d, d, 5, d),
      printed("%c%c|%5c|%-5c|", 'a', i, 'b', 'c'),
      printed("%s|%20s|%-20s|%.3s|%.*s|", "some text", "some text", "some text", "some text", 2, "some text"),
      printed("%p %p %20p|", static_cast<const void*>(words), static_cast<void*>(nullptr),
              reinterpret_cast<void*>(0x1234)),
      printed("100%% %d%%", i),
      "7",
  };
  ASSERT_EQ(lines.size(), std::size(expected));
  for (std::size_t n = 0; n < lines.size(); ++n) EXPECT_EQ(lines[n], expected[n]) << n;
  EXPECT_EQ(errors_, "");
}

TEST_P(Printing, StringsOfAnyLength) {
  for (const std::size_t size : {0, 1, 7, 8, 47, 48, 55, 56, 57, 63, 64, 111, 112, 113, 1000, 5000}) {
    std::string words;
    for (std::size_t i = 0; i < size; ++i) words += static_cast<char>('a' + i % 26);
    run("copies", {{1, 1, 1}, {2, 1, 1}}, text(words));
    EXPECT_EQ(take_output(), "[" + words + "] 7\n[" + words + "] 7\n") << size;
  }
}

// A format that only the kernel knows.
TEST_P(Printing, FormatsFromMemory) {
  run("formats", {{1, 1, 1}, {1, 1, 1}}, text("a format that is made up while it runs: %d, %y, %d\n"), 3);
  EXPECT_EQ(take_output(), "a format that is made up while it runs: 3, %y, %d\n");
}

// A wave's lanes print in their order, and a launch repeats itself exactly.
TEST_P(Printing, WorkGroupsOneAfterTheOther) {
  options_.order = Options::Order::serial;
  run("greets", {{30, 1, 1}, {96, 1, 1}});
  const std::string first = take_output();
  const auto lines = lines_of(first);
  ASSERT_EQ(lines.size(), 30u * 96);
  EXPECT_EQ(lines[1], "block 0 thread 1 odd");
  run("greets", {{30, 1, 1}, {96, 1, 1}});
  EXPECT_EQ(take_output(), first);
}

// Whole lines, each once, from all host threads at once and with any schedule.
TEST_P(Printing, ManyWorkGroupsAtOnce) {
  for (const std::uint64_t seed : {0, 1, 2}) {
    options_.order = Options::Order::parallel;
    options_.seed = seed;
    run("greets", {{200, 1, 1}, {256, 1, 1}});
    auto lines = lines_of(take_output());
    std::vector<std::string> expected;
    for (int b = 0; b < 200; ++b)
      for (int t = 0; t < 256; ++t) expected.push_back(printed("block %d thread %d %s", b, t, t % 2 ? "odd" : "even"));
    std::sort(lines.begin(), lines.end());
    std::sort(expected.begin(), expected.end());
    EXPECT_TRUE(lines == expected) << "seed " << seed << ": " << lines.size() << " lines";
  }
}

TEST_P(Printing, EveryLaneItsOwnWay) {
  for (const std::uint64_t seed : {0, 1}) {
    options_.seed = seed;
    run("diverges", {{1, 1, 1}, {64, 1, 1}});
    std::map<std::string, int> seen;
    for (const auto& line : lines_of(take_output())) ++seen[line];
    std::size_t expected = 0;
    for (int t = 0; t < 64; ++t) {
      for (int i = 0; i < t % 5; ++i, ++expected) EXPECT_EQ(seen[printed("lane %d turn %d", t, i)], 1);
      const auto last = t & 1   ? printed("odd %d", t)
                        : t & 2 ? printed("two %d and a text that takes more than the fifty-six bytes of one packet", t)
                                : printed("four %d %g", t, t * 0.5);
      EXPECT_EQ(seen[last], 1) << last;
      ++expected;
    }
    EXPECT_EQ(seen.size(), expected);
  }
}

TEST_P(Printing, OutputIsCutOff) {
  options_.print_bytes = 1000;   // 66 lines of 15 bytes
  run("prints_much", {{1, 1, 1}, {1, 1, 1}}, 300u);
  auto lines = lines_of(take_output());
  EXPECT_EQ(lines.size(), 66u);
  EXPECT_EQ(lines.back(), "line 000000065");
  EXPECT_EQ(lines_of(errors_).size(), 1u);
  EXPECT_NE(errors_.find("prints_much has printed what one launch may, 1000 bytes"), std::string::npos) << errors_;
  run("prints_much", {{1, 1, 1}, {1, 1, 1}}, 10u);   // the next launch has its own
  EXPECT_EQ(lines_of(take_output()).size(), 10u);
}

TEST_P(Printing, AnEndlessPrinterUsesItsBudgetUp) {
  options_.print_bytes = 1000;
  options_.budget = 3000000;
  const auto result = launch("never_ends", {{2, 1, 1}, {64, 1, 1}});
  ASSERT_TRUE(result && result->fault);
  EXPECT_EQ(result->fault->fault.kind, FaultKind::budget);
  EXPECT_LE(output_.size(), 1000u);
}

TEST_P(Printing, StandardOutput) {
  print_ = nullptr;
  testing::internal::CaptureStdout();
  run("copies", {{1, 1, 1}, {1, 1, 1}}, text("out"));
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "[out] 7\n");
  const std::string path = testing::TempDir() + "kiln_printed_" + GetParam();
  ::unlink(path.c_str());
  options_.print_file = path;
  for (int i = 0; i < 2; ++i) run("copies", {{1, 1, 1}, {1, 1, 1}}, text("file"));
  const auto bytes = read_file(path);
  ASSERT_TRUE(bytes);
  EXPECT_EQ(kiln::text(*bytes), "[file] 7\n[file] 7\n");
  ::unlink(path.c_str());
  options_.print_file = testing::TempDir() + "no/such/folder/file";
  const auto result = launch("copies", {{1, 1, 1}, {1, 1, 1}}, text("file"));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::not_found);
}

// ---- what goes wrong -----------------------------------------------------------------------------------------------

class Calling : public Printing {
 protected:
  FaultReport broken(std::uint32_t how) {
    auto result = launch("breaks", {{2, 1, 1}, {64, 1, 1}}, how);
    EXPECT_TRUE(result && result->fault) << how;
    return result && result->fault ? std::move(*result->fault) : FaultReport{};
  }
};
INSTANTIATE_TEST_SUITE_P(Cards, Calling, testing::Values("gfx90a", "gfx942", "gfx950", "gfx1100"));

TEST_P(Calling, AFailedAssertion) {
  const auto result = launch("asserts", {{1, 1, 1}, {100, 1, 1}}, 98u);
  ASSERT_TRUE(result && result->fault);
  const auto& fault = *result->fault;
  EXPECT_EQ(fault.fault.kind, FaultKind::trap);
  EXPECT_EQ(errors_, "thread 98: `small' failed\nand so on\nthread 99: `small' failed\nand so on\n");
  EXPECT_EQ(output_, "");
  const std::string lane = std::string(GetParam()) == "gfx1100" ? "wave 3, lane 2" : "wave 1, lane 34";
  const auto told = "trap 2 (the kernel stopped itself), after it printed: thread 98: `small' failed\n"
                    "  kernel asserts, block (0, 0, 0), " + lane + ", thread (98, 0, 0)\n  instruction: s_trap 2";
  EXPECT_EQ(fault.text.find(told), 0u) << fault.text;
  EXPECT_EQ(fault.thread[0], 98u);
}

TEST_P(Calling, ABrokenProtocolEndsTheLaunch) {
  const std::pair<std::uint32_t, HostCallFault> cases[] = {
      {0, HostCallFault::packet_twice},    {1, HostCallFault::unknown_service},   {2, HostCallFault::host_function},
      {3, HostCallFault::device_memory},   {4, HostCallFault::no_message},        {5, HostCallFault::too_many_messages},
      {6, HostCallFault::too_many_messages}, {7, HostCallFault::no_request},
  };
  for (const auto& [how, why] : cases) {
    const auto report = broken(how);
    EXPECT_EQ(report.fault.kind, FaultKind::host_call) << how << report.text;
    EXPECT_EQ(report.fault.address, static_cast<std::uint64_t>(why)) << how << report.text;
    EXPECT_EQ(report.text.find(std::string("a call of the kernel to its host: ") + describe(why)), 0u) << report.text;
    EXPECT_NE(report.text.find("kernel breaks, block ("), std::string::npos) << report.text;
  }
}

// What the kernel itself reads in the buffer it may spoil: it is told what it hit then.
TEST_P(Calling, SpoiltPointersHurtTheKernelAlone) {
  const auto report = broken(8);
  EXPECT_EQ(report.fault.kind, FaultKind::out_of_range) << report.text;
  EXPECT_EQ(output_, "");
}

TEST_P(Calling, NonsenseEverywhereEndsTheLaunch) {
  for (const auto order : {Options::Order::serial, Options::Order::parallel}) {
    for (const std::uint64_t seed : {0, 1, 2}) {
      options_.order = order;
      options_.seed = seed;
      options_.budget = 20000000;
      const auto kind = broken(9).fault.kind;
      EXPECT_TRUE(kind == FaultKind::host_call || kind == FaultKind::out_of_range || kind == FaultKind::budget);
    }
  }
}

// A message that one lane never ends may not grow for ever either.
TEST_P(Calling, OneLongMessage) {
  const auto result = launch("breaks", {{1, 1, 1}, {1, 1, 1}}, 6u);
  ASSERT_TRUE(result && result->fault);
  EXPECT_EQ(result->fault->fault.address, static_cast<std::uint64_t>(HostCallFault::message_too_long));
}

// (In a buffer the compiler gives it no room at all, so that nobody can tell it from what follows.)
TEST_P(Calling, ANullString) {
  run("copies", {{1, 1, 1}, {1, 1, 1}}, static_cast<const char*>(nullptr));
  EXPECT_EQ(take_output(), "[] 7\n");
}

class BufferedPrinting : public Printing {};
INSTANTIATE_TEST_SUITE_P(Cards, BufferedPrinting, testing::Values("gfx942_buffered"));

TEST_P(BufferedPrinting, ABrokenBufferEndsTheLaunch) {
  const std::pair<std::uint32_t, const char*> cases[] = {
      {0, "it says that 4294967295 bytes are used"}, {1, "a piece of 0 bytes"},
      {2, "a piece of 20 bytes, 16 are left"},       {3, "a format that the object's metadata does not have"},
      {4, "a piece of less than 4 bytes"},
  };
  for (const auto& [how, why] : cases) {
    const auto result = launch("breaks", {{1, 1, 1}, {1, 1, 1}}, how);
    ASSERT_FALSE(result) << how;
    EXPECT_EQ(result.error().code, ErrorCode::corrupt);
    EXPECT_NE(to_text(result.error()).find(why), std::string::npos) << to_text(result.error());
  }
}

class OpenClPrinting : public Printing {};
INSTANTIATE_TEST_SUITE_P(Cards, OpenClPrinting, testing::Values("gfx942_opencl"));

TEST_P(OpenClPrinting, FormatsAreInTheMetadata) {
  auto* const memory = allocate(1);
  run("conversions", {{1, 1, 1}, {1, 1, 1}}, -12, -5ll, 2.5f, -0.125, memory);
  EXPECT_EQ(take_output(),
            "plain: 100%\n-12 4294967284 fffffff4|  -12|-12  |-0012\n-5 fffffffffffffffb\n" +
                printed("%f %g %.3f %e\n", 2.5, -0.125, -0.125, 2.5) + "a:colon and \"\" \\ x\t-12\n" +
                printed("%p\n", static_cast<void*>(memory)));
}

// Room in the buffer is taken by adding integers, whose order matters to nothing else: pieces lie there in the order in
// which waves run.
TEST_P(OpenClPrinting, WorkGroupsOneAfterTheOther) {
  auto* const memory = allocate(1);
  run("conversions", {{1, 1, 1}, {1, 1, 1}}, -12, -5ll, 2.5f, -0.125, memory);
  const auto once = take_output();
  constexpr std::uint32_t groups = 3000;
  run("conversions", {{groups, 1, 1}, {1, 1, 1}}, -12, -5ll, 2.5f, -0.125, memory);
  std::string expected;
  for (std::uint32_t i = 0; i < groups; ++i) expected += once;
  EXPECT_TRUE(take_output() == expected);
}

TEST_P(OpenClPrinting, ABrokenBufferEndsTheLaunch) {
  for (const std::uint32_t used : {1u, 8u, 100u, 0xffffffffu}) {
    const auto result = launch("breaks", {{1, 1, 1}, {1, 1, 1}}, used);
    ASSERT_FALSE(result) << used;
    EXPECT_EQ(result.error().code, ErrorCode::corrupt);
  }
}

// ---- as authors write them: hipRTC, with AMD's device libraries ----------------------------------------------------

constexpr const char* authors_text = R"(
#define assert(what) ((what) ? (void)0 : __assert_fail(#what, "authors.hip", __LINE__, "a kernel"))
extern "C" __global__ void greets(float f) {
  printf("block %u thread %u %g %s\n", blockIdx.x, threadIdx.x, f, threadIdx.x & 1 ? "odd" : "even");
}
extern "C" __global__ void asserts(int limit) { assert((int)threadIdx.x < limit); }
extern "C" __global__ void allocates(int** out) {
  int* const one = (int*)malloc(64);
  one[0] = 3;
  out[threadIdx.x] = one;
}
extern "C" __device__ void __ockl_grid_sync(void);
extern "C" __global__ void meets(int* counter, int* out) {
  __hip_atomic_fetch_add(counter, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  out[blockIdx.x * blockDim.x + threadIdx.x] = 1;
  for (int round = 0; round < 3; ++round) {
    __ockl_grid_sync();
    const int other = (blockIdx.x + 1) % gridDim.x * blockDim.x + threadIdx.x;
    const int value = out[other];
    __ockl_grid_sync();
    out[blockIdx.x * blockDim.x + threadIdx.x] += value;
  }
  __ockl_grid_sync();
  if (threadIdx.x == 0) out[gridDim.x * blockDim.x + blockIdx.x] =
      __hip_atomic_load(counter, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
)";

class AuthorsKernels : public LaunchingObject {
 protected:
  std::string stem() const override { return ""; }
  [[nodiscard]] std::string target() const {
    const std::string name = GetParam();
    return name.substr(0, name.find('_'));
  }
  void SetUp() override {
    print_ = [this](bool error, std::string_view text) { (error ? errors_ : output_) += text; };
    const auto core = load_core("", "");
    ASSERT_TRUE(core) << to_text(core.error());
    core_ = *core;
    auto card = parse_card(target());
    ASSERT_TRUE(card);
    card_ = std::move(*card);
    compile();
  }
  void compile() {
    const std::string worker = std::string(KILN_BIN_DIR) + "/kiln-compile-hip";
    struct stat status;
    if (::stat(worker.c_str(), &status) != 0) GTEST_SKIP() << "the compile worker is not built";
    const auto environment = process_environment();
    ASSERT_TRUE(environment);
    const auto folder = toolchains_folder(*environment);
    ASSERT_TRUE(folder);
    const auto toolchains = compile::list_toolchains(folder->path);
    const std::string path = testing::TempDir() + "kiln_authors_" + GetParam() + std::to_string(::getpid());
    const std::string_view text = authors_text;
    ASSERT_TRUE(write_file(path, {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}));
    SpawnOptions spawn;
    spawn.command = toolchains.empty() ? std::vector<std::string>{worker}
                                       : compile::through_toolchain(toolchains[0], worker);
    const bool buffered = std::string(GetParam()).find("buffered") != std::string::npos;
    spawn.command.insert(spawn.command.end(),
                         {compile::compile_text_flag, card_.target.full, path, "authors.hip", path + ".co", "-O3",
                          buffered ? "-mprintf-kind=buffered" : "-mprintf-kind=hostcall"});
    spawn.environment = environment->all;
    spawn.log_path = path + ".log";
    auto child = ChildProcess::spawn(spawn);
    ASSERT_TRUE(child) << to_text(child.error());
    const auto ended = child->ended(true);
    const auto object = read_file(path + ".co");
    const auto log = read_file(path + ".log");
    for (const char* suffix : {"", ".co", ".log"}) ::unlink((path + suffix).c_str());
    if (ended == "exit status 3") GTEST_SKIP() << "there is no hipRTC";
    ASSERT_TRUE(object) << ended.value_or("gone") << (log ? std::string(kiln::text(*log)) : std::string());
    auto program = Program::load(*object, card_, *core_);
    ASSERT_TRUE(program) << to_text(program.error());
    program_ = std::move(*program);
  }

  void print();
  void fail_an_assertion();
  void allocate_on_the_device_in_vain();
  void synchronise_the_grid();
  std::string output_, errors_;
};
INSTANTIATE_TEST_SUITE_P(Cards, AuthorsKernels,
                         testing::Values("gfx90a", "gfx942", "gfx1100", "gfx942_buffered"));

void AuthorsKernels::print() {
  run("greets", {{3, 1, 1}, {70, 1, 1}}, 1.5f);
  std::string expected;
  for (int b = 0; b < 3; ++b)
    for (int t = 0; t < 70; ++t) expected += printed("block %d thread %d 1.5 %s\n", b, t, t % 2 ? "odd" : "even");
  const auto sorted = [](const std::string& text) {
    auto lines = lines_of(text);
    std::sort(lines.begin(), lines.end());
    return lines;
  };
  EXPECT_EQ(sorted(output_), sorted(expected));
  EXPECT_EQ(errors_, "");
}

void AuthorsKernels::fail_an_assertion() {
  run("asserts", {{2, 1, 1}, {64, 1, 1}}, 64);
  const auto result = launch("asserts", {{2, 1, 1}, {64, 1, 1}}, 63);
  ASSERT_TRUE(result && result->fault);
  const auto& told = result->fault->text;
  const std::string words = "a kernel: Device-side assertion `(int)threadIdx.x < limit' failed.";
  EXPECT_EQ(told.find("trap 2 (the kernel stopped itself), after it printed: authors.hip:"), 0u) << told;
  EXPECT_NE(told.find(words), std::string::npos) << told;
  EXPECT_NE(told.find("thread (63, 0, 0)"), std::string::npos) << told;
  EXPECT_NE(told.find("instruction: s_trap 2, at __assert_fail+0x"), std::string::npos) << told;
  EXPECT_EQ(result->fault->thread[0], 63u);
  EXPECT_NE(errors_.find(words), std::string::npos) << errors_;
}

void AuthorsKernels::allocate_on_the_device_in_vain() {
  const auto result = launch("allocates", {{1, 1, 1}, {64, 1, 1}}, allocate(128));
  ASSERT_TRUE(result && result->fault);
  EXPECT_EQ(result->fault->fault.kind, FaultKind::out_of_range);
  const char* const told = ": beside a null pointer\n  the emulated card does not provide what this kernel may use: "
                           "malloc and free on the device (hidden_heap_v1); its pointer is null\n";
  EXPECT_NE(result->fault->text.find(told), std::string::npos) << result->fault->text;
}

// cooperative_groups::this_grid().sync() is this call.
void AuthorsKernels::synchronise_the_grid() {
  for (const auto& [order, seed] : {std::pair(Options::Order::serial, 0), {Options::Order::parallel, 0},
                                    {Options::Order::parallel, 3}}) {
    constexpr std::uint32_t blocks = 40, threads = 96;
    options_.order = order;
    options_.seed = static_cast<std::uint64_t>(seed);
    auto *counter = allocate(1), *out = allocate(blocks * threads + blocks);
    ASSERT_TRUE(set_option(options_, "check", seed == 0 ? "none" : "global"));
    run("meets", {{blocks, 1, 1}, {threads, 1, 1}}, counter, out);
    for (std::uint32_t i = 0; i < blocks * threads; ++i) EXPECT_EQ(out[i], 8u) << i;
    for (std::uint32_t b = 0; b < blocks; ++b) EXPECT_EQ(out[blocks * threads + b], blocks * threads) << b;
  }
}

// One test, as each would compile the kernels anew.
TEST_P(AuthorsKernels, AskTheirHost) {
  print();
  fail_an_assertion();
  allocate_on_the_device_in_vain();
  if (target() != "gfx90a") synchronise_the_grid();   // its grids meet through GWS
}

}  // namespace
}  // namespace kiln::emulator
