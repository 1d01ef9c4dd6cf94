// GEMM on the host: f32 against OpenBLAS, f16 and bf16 against f32, an edited copy of the built-in against the
// built-in. All contenders of a size take turns in every round; inputs are random, results checked. The area `host` of
// `kiln bench`.
//
// bench_host [--rounds N] [--size MxNxK]... [--dtype T]... [--threads N]... [--set NAME=VALUE]... [--target T]
//   [--edited FILE] [--cpu-time] [--show] [--json] [--progress]: a line a size and contender, or with --json the
//   document that tests/bench/area.py describes.
// bench_host --program NAME [--set NAME=VALUE]...: the time of any built-in instead, without a peer.
// --edited FILE: a program with gemm's parameters whose result is gemm's with negative elements set to 0.
// --cpu-time counts the processor time of all threads instead of the clock: for a machine that others use meanwhile.
#include <dlfcn.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/half.hpp"
#include "engine/ir/types.hpp"
#include "tests/support/host_runner.hpp"

namespace {

using namespace kiln;

struct Options {
  int rounds = 9;
  std::string program, edited, target = "host";
  std::vector<std::string> sizes, dtypes;
  std::map<std::string, std::string> set;
  std::vector<int> threads;
  bool show = false, cpu_time = false, json = false, progress = false;
};

// The C interface of OpenBLAS, by name.
struct OpenBlas {
  using Gemm = void (*)(int order, int ta, int tb, int m, int n, int k, float alpha, const float* a, int lda,
                        const float* b, int ldb, float beta, float* c, int ldc);
  Gemm gemm = nullptr;
  void (*set_threads)(int) = nullptr;
  static Result<OpenBlas> open() {
    OpenBlas blas;
    void* library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return Error(ErrorCode::not_found, "no OpenBLAS: libopenblas.so.0 is not installed");
    blas.gemm = reinterpret_cast<Gemm>(dlsym(library, "cblas_sgemm"));
    blas.set_threads = reinterpret_cast<void (*)(int)>(dlsym(library, "openblas_set_num_threads"));
    if (blas.gemm == nullptr || blas.set_threads == nullptr)
      return Error(ErrorCode::not_found, "libopenblas.so.0 has no cblas_sgemm");
    return blas;
  }
};

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

double seconds_now(bool cpu_time) {
  timespec now{};
  clock_gettime(cpu_time ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Problem {
  int m = 0, n = 0, k = 0, threads = 1;
  std::vector<float> a, b, expected;  // expected: OpenBLAS's product
  [[nodiscard]] double flops() const { return 2.0 * m * n * k; }
  [[nodiscard]] std::string name() const {
    return std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k) + ", " + std::to_string(threads) +
           (threads == 1 ? " thread" : " threads");
  }
};

// Multiples of 1/128 from -1 to 1: f16 and bf16 hold them, and f32 holds their sums of products, so that all contenders
// multiply the same values and a result is off by its own rounding only.
std::vector<float> random_values(std::size_t count, unsigned seed) {
  std::vector<float> values(count);
  for (auto& value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<float>(static_cast<int>((seed >> 8) % 257u) - 128) / 128.0f;
  }
  return values;
}

void store(DType dtype, const std::vector<float>& values, std::uint8_t* at) {
  if (dtype == DType::f32) {
    std::memcpy(at, values.data(), values.size() * sizeof(float));
    return;
  }
  auto* halves = reinterpret_cast<std::uint16_t*>(at);
  for (const float value : values) *halves++ = dtype == DType::f16 ? f64_to_f16(value) : f64_to_bf16(value);
}

float element(DType dtype, const std::uint8_t* at, std::size_t i) {
  if (dtype == DType::f32) return reinterpret_cast<const float*>(at)[i];
  const auto half = reinterpret_cast<const std::uint16_t*>(at)[i];
  return dtype == DType::f16 ? f16_to_f32(half) : bf16_to_f32(half);
}

// One way to compute the product, and its milliseconds, one a round.
struct Contender {
  std::string name;
  std::function<Status()> run;
  std::vector<double> ms;
};

// A program with gemm's parameters, loaded, with its buffers.
class KilnGemm {
 public:
  KilnGemm(test::HostRunner& runner, const Problem& problem, std::string dtype, bool edited)
      : runner_(runner), problem_(problem), dtype_name_(std::move(dtype)), edited_(edited) {}

  Status load(const Options& options) {
    auto set = options.set;
    set["M"] = std::to_string(problem_.m), set["N"] = std::to_string(problem_.n), set["K"] = std::to_string(problem_.k);
    set["dtype"] = dtype_name_;
    const auto bind = [&]() -> Result<bound::Program> {
      if (!edited_) return test::bind_builtin("gemm", set, options.target);
      KILN_TRY(const auto bytes, read_file(options.edited));
      return test::bind_text(std::string(text(bytes)), set, options.target);
    };
    KILN_TRY(const auto program, bind());
    KILN_TRY(const auto compiled, test::compile_for_host(program));
    if (options.show)
      std::fprintf(stderr, "%s\n%s\n", compiled.metadata.kernel_program.c_str(), compiled.metadata.source.c_str());
    KILN_TRY(kernel_, runner_.load(compiled));
    dtype_ = dtype_name_ == "f32" ? DType::f32 : dtype_name_ == "f16" ? DType::f16 : DType::bf16;
    const std::size_t bytes = static_cast<std::size_t>(dtype_bytes(dtype_));
    for (const auto count : {problem_.a.size(), problem_.b.size(), problem_.expected.size()}) {
      KILN_TRY(auto buffer, runner_.buffer(count * bytes));
      buffers_.push_back(std::move(buffer));
    }
    store(dtype_, problem_.a, buffers_[0].mapping.data());
    store(dtype_, problem_.b, buffers_[1].mapping.data());
    return {};
  }
  Status run() {
    KILN_CHECK(runner_.run(kernel_, {&buffers_[0], &buffers_[1], &buffers_[2]}));
    return {};
  }
  // Every element against the peer's, rounded to this one's type.
  [[nodiscard]] Status check() const {
    const float unit = dtype_ == DType::bf16 ? 0x1p-8f : dtype_ == DType::f16 ? 0x1p-11f : 0x1p-22f;
    for (std::size_t i = 0; i < problem_.expected.size(); ++i) {
      const float wanted = edited_ ? std::max(problem_.expected[i], 0.0f) : problem_.expected[i];
      const float got = element(dtype_, buffers_[2].mapping.data(), i);
      if (!(std::fabs(got - wanted) <= unit * std::fabs(wanted)))
        return Error(ErrorCode::internal, problem_.name() + " " + dtype_name_ + ": element " + std::to_string(i) +
                                              " is " + std::to_string(got) + ", OpenBLAS has " + std::to_string(wanted));
    }
    return {};
  }

 private:
  test::HostRunner& runner_;
  const Problem& problem_;
  std::string dtype_name_;
  bool edited_;
  DType dtype_ = DType::f32;
  device::KernelId kernel_{};
  std::vector<test::SharedBuffer> buffers_;
};

// One round more, first, warms up. Each round starts with another contender.
Status take_turns(std::vector<Contender>& contenders, int repeats, const Options& options) {
  for (int round = -1; round < options.rounds; ++round) {
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      auto& contender = contenders[(i + static_cast<std::size_t>(round + 1)) % contenders.size()];
      const double begin = seconds_now(options.cpu_time);
      for (int repeat = 0; repeat < repeats; ++repeat) KILN_CHECK(contender.run());
      const double ms = (seconds_now(options.cpu_time) - begin) * 1e3 / repeats;
      if (round >= 0) contender.ms.push_back(ms);
    }
  }
  return {};
}

// A row of the document: `kiln` is to be `target` times as fast as `peer`.
struct Row {
  std::string what;
  double target;
  const Contender& kiln;
  const Contender& peer;
};

std::string numbers(const std::vector<double>& values) {
  std::string list;
  char buffer[32];
  for (const double value : values) {
    std::snprintf(buffer, sizeof buffer, "%s%.6g", list.empty() ? "" : ", ", value);
    list += buffer;
  }
  return "[" + list + "]";
}

std::string json_row(const Row& row) {
  char target[32];
  std::snprintf(target, sizeof target, "%g", row.target);
  return R"({"what": ")" + row.what + R"(", "against": ")" + row.peer.name + R"(", "unit": "ms", "kiln": )" +
         numbers(row.kiln.ms) + R"(, "peer": )" + numbers(row.peer.ms) + R"(, "relation": "gain", "target": )" +
         target + "}";
}

// All contenders of one problem: OpenBLAS first, then Kiln's f32, which the others are held against.
Result<std::vector<std::string>> measure(const Problem& problem, const OpenBlas& blas, const Options& options) {
  test::HostRunner runner(problem.threads);
  std::vector<float> product(problem.expected.size());
  std::vector<Contender> contenders{{"OpenBLAS f32", [&]() -> Status {
                                       const auto& p = problem;
                                       blas.gemm(101, 111, 111, p.m, p.n, p.k, 1, p.a.data(), p.k, p.b.data(), p.n, 0,
                                                 product.data(), p.n);
                                       return {};
                                     }, {}}};
  std::vector<std::unique_ptr<KilnGemm>> kernels;
  const auto enter = [&](const std::string& name, const std::string& dtype, bool edited) -> Status {
    kernels.push_back(std::make_unique<KilnGemm>(runner, problem, dtype, edited));
    auto* kernel = kernels.back().get();
    KILN_CHECK(kernel->load(options));
    contenders.push_back({name, [kernel] { return kernel->run(); }, {}});
    return {};
  };
  KILN_CHECK(enter("the built-in, f32", "f32", false));
  for (const auto& dtype : options.dtypes)
    if (dtype != "f32") KILN_CHECK(enter(dtype, dtype, false));
  if (!options.edited.empty()) KILN_CHECK(enter("renamed, one more map, f32", "f32", true));
  KILN_CHECK(take_turns(contenders, std::max(1, static_cast<int>(12e9 / problem.flops())), options));
  for (const auto& kernel : kernels) KILN_CHECK(kernel->check());
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    const bool base = i == 1, edited = !options.edited.empty() && i + 1 == contenders.size();
    const std::string what = "GEMM " + (base ? "f32" : contenders[i].name) + " " + problem.name();
    if (options.json && i > 0)
      lines.push_back(json_row({what, base ? 0.7 : edited ? 0.95 : 1.0, contenders[i], contenders[base ? 0 : 1]}));
    if (options.json) continue;
    const double ms = quantile(contenders[i].ms, 0.5);
    std::printf("%-58s %9.3f ms %8.1f GFLOP/s\n", what.c_str(), ms, problem.flops() / ms / 1e6);
    std::fflush(stdout);
  }
  return lines;
}

// One built-in by itself: the median of its launches.
Status time_program(const Options& options, int threads) {
  KILN_TRY(const auto program, test::bind_builtin(options.program, options.set, options.target));
  KILN_TRY(const auto compiled, test::compile_for_host(program));
  if (options.show)
    std::printf("%s\n%s\n", compiled.metadata.kernel_program.c_str(), compiled.metadata.source.c_str());
  test::HostRunner runner(threads);
  KILN_TRY(const auto kernel, runner.load(compiled));
  std::vector<test::SharedBuffer> buffers;
  std::vector<const test::SharedBuffer*> arguments;
  for (const auto& bytes : test::random_tensors(program, 7)) {
    KILN_TRY(auto buffer, runner.buffer(bytes.size()));
    std::memcpy(buffer.mapping.data(), bytes.data(), bytes.size());
    buffers.push_back(std::move(buffer));
  }
  for (const auto& buffer : buffers) arguments.push_back(&buffer);
  std::vector<Contender> alone{{options.program, [&]() -> Status {
                                  KILN_CHECK(runner.run(kernel, arguments));
                                  return {};
                                }, {}}};
  KILN_CHECK(take_turns(alone, 1, options));
  std::printf("%s, %d threads: %.3f ms (compiled in %.1f ms)\n", options.program.c_str(), threads,
              quantile(alone[0].ms, 0.5), compiled.metadata.compile_ms);
  return {};
}

// False: a flag that is unknown, or has no value.
bool read_flags(int argc, char** argv, Options& options) {
  const std::map<std::string_view, bool*> switches{{"--show", &options.show}, {"--cpu-time", &options.cpu_time},
                                                   {"--json", &options.json}, {"--progress", &options.progress}};
  const std::map<std::string_view, std::function<void(const std::string&)>> values{
      {"--rounds", [&](const std::string& v) { options.rounds = std::max(1, std::atoi(v.c_str())); }},
      {"--target", [&](const std::string& v) { options.target = v; }},
      {"--program", [&](const std::string& v) { options.program = v; }},
      {"--edited", [&](const std::string& v) { options.edited = v; }},
      {"--size", [&](const std::string& v) { options.sizes.push_back(v); }},
      {"--threads", [&](const std::string& v) { options.threads.push_back(std::max(1, std::atoi(v.c_str()))); }},
      {"--dtype", [&](const std::string& v) { options.dtypes.push_back(v); }},
      {"--set", [&](const std::string& v) { options.set[v.substr(0, v.find('='))] = v.substr(v.find('=') + 1); }}};
  for (int i = 1; i < argc; ++i) {
    if (const auto flag = switches.find(argv[i]); flag != switches.end()) {
      *flag->second = true;
      continue;
    }
    const auto flag = values.find(argv[i]);
    if (flag == values.end() || ++i == argc) return false;
    flag->second(argv[i]);
  }
  if (options.sizes.empty()) options.sizes = {"1024x1024x1024", "2048x2048x2048", "1023x1025x1021"};
  if (options.threads.empty()) options.threads = {1, 2};
  if (options.dtypes.empty()) options.dtypes = {"f32", "f16", "bf16"};
  return true;
}

Status measure_all(const Options& options) {
  KILN_TRY(const auto blas, OpenBlas::open());
  std::string rows;
  for (const auto& size : options.sizes) {
    Problem p;
    if (std::sscanf(size.c_str(), "%dx%dx%d", &p.m, &p.n, &p.k) != 3 || std::min({p.m, p.n, p.k}) < 1)
      return Error(ErrorCode::invalid_argument, "--size " + size + ": expected MxNxK");
    p.a = random_values(std::size_t(p.m) * std::size_t(p.k), 1);
    p.b = random_values(std::size_t(p.k) * std::size_t(p.n), 2);
    p.expected.resize(std::size_t(p.m) * std::size_t(p.n));
    for (const int threads : options.threads) {
      p.threads = threads;
      if (options.progress) std::fprintf(stderr, "\r\033[K%s", p.name().c_str());
      blas.set_threads(threads);
      blas.gemm(101, 111, 111, p.m, p.n, p.k, 1, p.a.data(), p.k, p.b.data(), p.n, 0, p.expected.data(), p.n);
      KILN_TRY(const auto lines, measure(p, blas, options));
      for (const auto& line : lines) rows += (rows.empty() ? "\n  " : ",\n  ") + line;
    }
  }
  if (options.json)
    std::printf("{\"rows\": [%s],\n \"notes\": [\"every element of every result was compared with OpenBLAS's\"]}\n",
                rows.c_str());
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!read_flags(argc, argv, options)) {
    std::fprintf(stderr, "wrong flags: see the head of tests/bench/host/host_bench.cpp\n");
    return 2;
  }
  Status status;
  if (options.program.empty()) status = measure_all(options);
  for (const int threads : options.threads)
    if (!options.program.empty() && status) status = time_program(options, threads);
  if (status) return 0;
  std::fprintf(stderr, "%s%s\n", options.progress ? "\r\033[K" : "", to_text(status.error()).c_str());
  return 1;
}
