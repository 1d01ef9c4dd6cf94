// The interpreter as a process.
#include "engine/reference/process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <random>
#include <sstream>
#include <thread>

#include "engine/base/channel.hpp"
#include "engine/base/error_encoding.hpp"
#include "engine/reference/messages.hpp"
#include "tests/unit/reference/builder.hpp"
#include "tests/unit/reference/programs.hpp"

namespace kiln::test {
namespace {

using reference::Memory;
using reference::ReferenceProcess;
using reference::RunRequest;

ReferenceProcess start_process() {
  reference::ReferenceOptions options;
  options.command = {std::string(KILN_BIN_DIR) + "/kiln-reference"};
  auto process = ReferenceProcess::start(options);
  EXPECT_TRUE(process) << to_text(process.error());
  return std::move(*process);
}

// Buffers in one memfd, each at an odd place.
struct Shared {
  UniqueFd fd;
  Mapping mapping;
  std::vector<Memory> memories;

  Shared(const bound::Program& program, std::uint64_t first = 12) {
    std::uint64_t at = first;
    for (const auto& t : program.tensors) {
      memories.push_back({-1, at, static_cast<std::uint64_t>(t.bytes()), {}});
      at += static_cast<std::uint64_t>(t.bytes()) + 4;
    }
    fd = std::move(*create_memfd("test", at));
    mapping = std::move(*Mapping::map(fd.get(), at, true));
    for (auto& m : memories) m.fd = fd.get();
  }
  std::uint8_t* data(int i) { return mapping.data() + memories[i].offset; }
};

struct Gemm {
  bound::Program program = gemm_program(33, 20, 17, 16, DType::f32, DType::f32);
  Shared shared{program};
  RunRequest request;
  Gemm() {
    std::mt19937 random(5);
    std::normal_distribution<float> normal;
    for (int p = 0; p < 2; ++p)
      for (std::uint64_t i = 0; i < shared.memories[p].size; i += 4) {
        const float v = normal(random);
        std::memcpy(shared.data(p) + i, &v, 4);
      }
    request.program = bound::encode(program, true);
    request.arguments = shared.memories;
  }
  // What C should be.
  Bytes expected() {
    Bytes c(shared.memories[2].size);
    std::vector<reference::Argument> arguments = {
        {shared.data(0), shared.memories[0].size}, {shared.data(1), shared.memories[1].size}, {c.data(), c.size()}};
    EXPECT_TRUE(reference::run(program, arguments));
    return c;
  }
};

bound::Program endless_program() {
  Builder b;
  const int k = b.variable("k"), j = b.variable("j");
  bound::For outer, inner;
  inner.var = j, outer.var = k;
  for (auto* loop : {&inner, &outer})
    loop->from = integer(0), loop->to = integer(std::int64_t(1) << 60), loop->step = integer(1);
  outer.body.push_back(Builder::stmt(std::move(inner)));
  b.add(std::move(outer));
  return b.program;
}

// User time of a process in clock ticks: field 14 of /proc/PID/stat, the 12th after the name in parentheses.
long cpu_ticks(pid_t pid) {
  const auto bytes = read_file("/proc/" + std::to_string(pid) + "/stat");
  if (!bytes) return 0;
  std::istringstream fields{std::string(text(*bytes)).substr(text(*bytes).rfind(')') + 1)};
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  long ticks = 0;
  fields >> ticks;
  return ticks;
}

TEST(Process, RunsOnTheCallersMemory) {
  Gemm gemm;
  const auto want = gemm.expected();
  auto process = start_process();
  const auto reply = process.run(gemm.request);
  ASSERT_TRUE(reply) << to_text(reply.error());
  EXPECT_TRUE(reply->comparisons.empty());
  EXPECT_EQ(std::memcmp(gemm.shared.data(2), want.data(), want.size()), 0);
}

TEST(Process, VerifiesAndLeavesBuffersAlone) {
  Gemm gemm;
  auto result = gemm.expected();
  auto process = start_process();
  const auto before = Bytes(gemm.shared.data(2), gemm.shared.data(2) + result.size());
  gemm.request.candidates = {{2, {-1, 0, result.size(), result}}};
  auto reply = process.run(gemm.request);
  ASSERT_TRUE(reply) << to_text(reply.error());
  ASSERT_EQ(reply->comparisons.size(), 1u);
  EXPECT_EQ(reply->comparisons[0].tensor, 2);
  EXPECT_EQ(reply->comparisons[0].comparison.elements, 33u * 20u);
  EXPECT_EQ(reply->comparisons[0].comparison.wrong, 0u);
  EXPECT_EQ(reply->comparisons[0].tolerance.kind, reference::ToleranceClass::gemm);
  EXPECT_EQ(std::memcmp(gemm.shared.data(2), before.data(), before.size()), 0);

  // One element wrong, and results in a descriptor; C's own memory is not needed.
  float v;
  std::memcpy(&v, result.data() + 4 * 77, 4);
  v += 1;
  std::memcpy(result.data() + 4 * 77, &v, 4);
  auto fd = sealed_memfd("result", result);
  ASSERT_TRUE(fd);
  gemm.request.candidates = {{2, {fd->get(), 0, result.size(), {}}}};
  gemm.request.arguments[2] = {};
  reply = process.run(gemm.request);
  ASSERT_TRUE(reply) << to_text(reply.error());
  EXPECT_EQ(reply->comparisons[0].comparison.wrong, 1u);
  EXPECT_EQ(reply->comparisons[0].comparison.first_wrong, 77);
  EXPECT_NEAR(reply->comparisons[0].comparison.error_max, 1, 1e-5);

  gemm.request.tolerance = reference::ToleranceSpec{};
  gemm.request.tolerance->k = 1 << 24;
  reply = process.run(gemm.request);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->comparisons[0].comparison.wrong, 0u);
}

TEST(Process, FindingsComeBackLocated) {
  Builder b;
  const int t = b.tile("t", DType::f32, {2}), Y = b.tensor("Y", DType::f32, {2}, Access::write);
  b.add(b.store(t, Y, {integer(0)}));
  Shared shared(b.program);
  RunRequest request;
  request.program = bound::encode(b.program, true);
  request.arguments = shared.memories;
  auto process = start_process();
  const auto reply = process.run(request);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::program_invalid);
  ASSERT_EQ(reply.error().diagnostics.size(), 1u);
  EXPECT_EQ(reply.error().diagnostics[0].pointer, "/launches/0/body/0");
  EXPECT_EQ(reply.error().diagnostics[0].message, "t[0] is read before this block wrote it in block (0, 0, 0)");
}

TEST(Process, BadRequestsAreAnswers) {
  auto process = start_process();
  const auto pid = process.pid();
  const auto code_of = [&](const RunRequest& request) {
    const auto reply = process.run(request);
    return reply ? ErrorCode::internal : reply.error().code;
  };
  Gemm gemm;
  auto request = gemm.request;
  request.program.pop_back();
  EXPECT_EQ(code_of(request), ErrorCode::corrupt);
  request = gemm.request;
  request.arguments.pop_back();
  EXPECT_EQ(code_of(request), ErrorCode::program_invalid);
  request = gemm.request;
  request.arguments[0].size -= 1;  // one byte short
  EXPECT_EQ(code_of(request), ErrorCode::program_invalid);
  request = gemm.request;
  request.arguments[1].size = std::uint64_t(1) << 40;  // beyond the file
  EXPECT_EQ(code_of(request), ErrorCode::invalid_argument);
  request.arguments[1].offset = ~std::uint64_t(0) - 5;
  EXPECT_EQ(code_of(request), ErrorCode::invalid_argument);
  request = gemm.request;
  request.arguments[2] = {-1, 0, 4, Bytes(33 * 20 * 4)};  // written, but no descriptor
  EXPECT_EQ(code_of(request), ErrorCode::invalid_argument);
  request = gemm.request;
  request.candidates = {{0, gemm.shared.memories[0]}};  // a parameter that is only read
  EXPECT_EQ(code_of(request), ErrorCode::invalid_argument);
  request.candidates = {{2, {-1, 0, 3, Bytes(3)}}};
  EXPECT_EQ(code_of(request), ErrorCode::invalid_argument);
  request.candidates = {{2, gemm.shared.memories[2]}};
  request.arguments[2] = request.arguments[0];
  EXPECT_EQ(code_of(request), ErrorCode::unsupported);
  int pipe_ends[2];
  ASSERT_EQ(::pipe2(pipe_ends, O_CLOEXEC), 0);
  const UniqueFd read_end(pipe_ends[0]), write_end(pipe_ends[1]);
  const UniqueFd folder(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (const int fd : {read_end.get(), folder.get()}) {
    request = gemm.request;
    request.arguments[0].fd = fd;
    EXPECT_EQ(code_of(request), ErrorCode::invalid_argument);
  }
  EXPECT_TRUE(process.run(gemm.request));
  EXPECT_EQ(process.pid(), pid);  // one process for all of this
}

TEST(Process, ReadOnlyMemoryIsRefusedForResults) {
  Gemm gemm;
  auto fd = sealed_memfd("sealed", Bytes(gemm.shared.memories[2].size));
  ASSERT_TRUE(fd);
  gemm.request.arguments[2] = {fd->get(), 0, gemm.shared.memories[2].size, {}};
  auto process = start_process();
  const auto reply = process.run(gemm.request);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::permission_denied);
}

TEST(Process, ManyDescriptors) {
  Builder b;
  std::vector<int> tensors;
  const int t = b.tile("t", DType::i32, {1}), sum = b.tile("sum", DType::i32, {1}), i = b.variable("i");
  b.add(bound::Fill{sum, integer(0, DType::i32)});
  for (int n = 0; n < 40; ++n) {
    tensors.push_back(b.tensor("X" + std::to_string(n), DType::i32, {1}));
    b.add(b.load(tensors.back(), {integer(0)}, t));
    b.add(bound::Map{{i}, {1}, {Builder::set(sum, {b.var(i)}, b.at(sum, {b.var(i)}) + b.at(t, {b.var(i)}))}});
  }
  const int Y = b.tensor("Y", DType::i32, {1}, Access::write);
  b.add(b.store(sum, Y, {integer(0)}));
  std::vector<UniqueFd> fds;
  RunRequest request;
  request.program = bound::encode(b.program, true);
  for (int n = 0; n <= 40; ++n) {
    auto fd = create_memfd("many", 4);
    ASSERT_TRUE(fd);
    const std::int32_t v = n + 1;
    ASSERT_EQ(::pwrite(fd->get(), &v, 4, 0), 4);
    request.arguments.push_back({fd->get(), 0, 4, {}});
    fds.push_back(std::move(*fd));
  }
  auto process = start_process();
  const auto reply = process.run(request);
  ASSERT_TRUE(reply) << to_text(reply.error());
  std::int32_t total = 0;
  ASSERT_EQ(::pread(fds.back().get(), &total, 4, 0), 4);
  EXPECT_EQ(total, 40 * 41 / 2);
}

TEST(Process, DeadlineAndCancellationEndARun) {
  RunRequest request;
  request.program = bound::encode(endless_program(), true);
  auto process = start_process();
  auto reply = process.run(request, Deadline::after(std::chrono::milliseconds(20)));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::deadline_exceeded);
  request.steps_max = 5000;
  reply = process.run(request);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::resource_limit);
  request.steps_max = 0;
  CancelToken cancel;
  cancel.cancel();
  reply = process.run(request, {}, cancel);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::cancelled);
  Gemm gemm;
  EXPECT_TRUE(process.run(gemm.request));  // a new process
}

TEST(Process, DeathIsReportedAndTheNextRunStartsAnother) {
  auto process = start_process();
  const auto pid = process.pid();
  RunRequest request;
  request.program = bound::encode(endless_program(), true);
  std::atomic<bool> done = false;
  std::thread killer([&] {
    while (!done && cpu_ticks(pid) < 5) std::this_thread::yield();  // it waits until it computes
    ::kill(pid, SIGKILL);
  });
  const auto reply = process.run(request);
  done = true;
  killer.join();
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::worker_died);
  EXPECT_NE(reply.error().message.find("signal 9"), std::string::npos) << reply.error().message;
  Gemm gemm;
  EXPECT_TRUE(process.run(gemm.request));
  EXPECT_NE(process.pid(), pid);
}

TEST(Process, EndsWithItsClient) {
  pid_t pid;
  {
    auto process = start_process();
    pid = process.pid();
  }
  EXPECT_EQ(::kill(pid, 0), -1);  // killed and reaped
}

TEST(Process, MissingProgram) {
  reference::ReferenceOptions options;
  options.command = {"/nowhere/kiln-reference"};
  EXPECT_FALSE(ReferenceProcess::start(options));
}

TEST(Process, ASilentlyEndingCommandIsADeath) {
  reference::ReferenceOptions options;
  options.command = {"/bin/false"};
  auto process = ReferenceProcess::start(options);
  ASSERT_TRUE(process);
  Gemm gemm;
  const auto reply = process->run(gemm.request);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::worker_died);
}

TEST(Messages, DamagedBytesNeverCrash) {
  Gemm gemm;
  gemm.request.candidates = {{2, gemm.shared.memories[2]}};
  gemm.request.tolerance = reference::ToleranceSpec{};
  std::vector<int> numbers;
  const auto bytes = reference::encode_request(gemm.request, 5, numbers);
  std::vector<UniqueFd> fds;
  for (const int fd : numbers) fds.push_back(UniqueFd(::dup(fd)));
  ASSERT_TRUE(reference::decode_request(bytes, fds));
  const auto seed = 17u;
  std::mt19937 random(seed);
  for (int i = 0; i < 5000; ++i) {
    auto damaged = bytes;
    damaged[random() % damaged.size()] ^= static_cast<std::uint8_t>(1u << (random() % 8));
    damaged.resize(damaged.size() - random() % 3);
    (void)reference::decode_request(damaged, fds);
    (void)reference::decode_reply(damaged);
  }
}

TEST(Errors, RoundTripWithDiagnostics) {
  Error error(ErrorCode::program_invalid, "message", true);
  error.context = {"one", "two"};
  Diagnostic d;
  d.severity = Severity::warning;
  d.pointer = "/a/0", d.message = "m", d.expected = "e", d.found = "f", d.hint = "h", d.source = "x + y";
  d.offset = 3, d.length = 2;
  error.diagnostics = {d, Diagnostic{}};
  Writer w;
  write_status(w, error);
  write_status(w, ok());
  const auto bytes = w.take();
  Reader r(bytes);
  const auto status = read_status(r);
  ASSERT_FALSE(status);
  EXPECT_EQ(to_text(status.error()), to_text(error));
  EXPECT_TRUE(status.error().retryable);
  EXPECT_EQ(status.error().diagnostics[0].severity, Severity::warning);
  EXPECT_EQ(status.error().diagnostics[0].offset, 3u);
  EXPECT_TRUE(read_status(r));
  EXPECT_TRUE(r.finish());
  for (std::size_t cut = 0; cut + 1 < bytes.size(); ++cut) {
    Reader shortened(ByteView(bytes).first(cut));
    const auto damaged = read_status(shortened);
    ASSERT_FALSE(damaged);
    EXPECT_EQ(damaged.error().code, ErrorCode::corrupt);
  }
}

}  // namespace
}  // namespace kiln::test
