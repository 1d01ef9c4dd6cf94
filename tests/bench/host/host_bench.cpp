// GEMM on the host against OpenBLAS in the same run: ratios of medians over interleaved rounds, inputs random, results
// checked. bench_host [--rounds N] [--json FILE] [--size MxNxK]... [--dtype T]... [--threads N]... [--set
// NAME=VALUE]... [--target T] [--cpu-time] [--show]
// --program NAME [--set NAME=VALUE]...: the time of any built-in instead, without a peer.
// --cpu-time counts the processor time of all threads instead of the clock: for a machine that others use at the same
// time.
#include <dlfcn.h>

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/support/host_runner.hpp"

namespace {

using namespace kiln;
using Clock = std::chrono::steady_clock;

struct Options {
  int rounds = 9;
  std::string json, program, target = "host";
  std::vector<std::string> sizes, dtypes;
  std::map<std::string, std::string> set;
  std::vector<int> threads;
  bool show_source = false, cpu_time = false;
};

// The C interface of OpenBLAS, by name.
struct OpenBlas {
  using Gemm = void (*)(int order, int ta, int tb, int m, int n, int k, float alpha, const float* a, int lda,
                        const float* b, int ldb, float beta, float* c, int ldc);
  Gemm gemm = nullptr;
  void (*set_threads)(int) = nullptr;
  static OpenBlas open() {
    OpenBlas blas;
    void* library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return blas;
    blas.gemm = reinterpret_cast<Gemm>(dlsym(library, "cblas_sgemm"));
    blas.set_threads = reinterpret_cast<void (*)(int)>(dlsym(library, "openblas_set_num_threads"));
    return blas;
  }
};

struct Row {
  std::string name;
  int threads = 1;
  double gflops = 0, peer_gflops = 0, ratio_median = 0, ratio_lower_quartile = 0, compile_ms = 0, error = 0;
};

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

struct Problem {
  int m = 0, n = 0, k = 0;
  std::string dtype;
};

void fill_random(float* data, std::size_t count, unsigned seed) {
  for (std::size_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    data[i] = static_cast<float>(seed >> 8) / 8388608.0f - 1.0f;
  }
}

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double seconds(const std::function<void()>& work, bool cpu_time) {
  const auto begin = Clock::now();
  const double cpu_begin = processor_seconds();
  work();
  return cpu_time ? processor_seconds() - cpu_begin : std::chrono::duration<double>(Clock::now() - begin).count();
}

Result<Row> measure(const Problem& p, int threads, const OpenBlas& blas, const Options& options) {
  auto set = options.set;
  set["M"] = std::to_string(p.m), set["N"] = std::to_string(p.n), set["K"] = std::to_string(p.k),
  set["dtype"] = p.dtype;
  KILN_TRY(const auto program, test::bind_builtin("gemm", set, options.target));
  KILN_TRY(const auto compiled, test::compile_for_host(program));
  if (options.show_source)
    std::printf("%s\n%s\n", compiled.metadata.kernel_program.c_str(), compiled.metadata.source.c_str());
  test::HostRunner runner(threads);
  KILN_TRY(const auto kernel, runner.load(compiled));
  const auto tensors = test::random_tensors(program, 7);
  std::vector<test::SharedBuffer> buffers;
  for (const auto& bytes : tensors) {
    KILN_TRY(auto buffer, runner.buffer(bytes.size()));
    std::memcpy(buffer.mapping.data(), bytes.data(), bytes.size());
    buffers.push_back(std::move(buffer));
  }
  std::vector<float> a(std::size_t(p.m) * p.k), b(std::size_t(p.k) * p.n), c(std::size_t(p.m) * p.n);
  fill_random(a.data(), a.size(), 1);
  fill_random(b.data(), b.size(), 2);
  const bool single = p.dtype == "f32";
  if (single) {
    std::memcpy(a.data(), tensors[0].data(), tensors[0].size());
    std::memcpy(b.data(), tensors[1].data(), tensors[1].size());
  }
  if (blas.set_threads != nullptr) blas.set_threads(threads);
  const auto peer = [&] { blas.gemm(101, 111, 111, p.m, p.n, p.k, 1, a.data(), p.k, b.data(), p.n, 0, c.data(), p.n); };
  const double flops = 2.0 * p.m * p.n * p.k;
  const int repeats = std::max(1, static_cast<int>(2e9 / flops));
  std::vector<double> ours, theirs, ratios;
  Status status;
  for (int round = 0; round < options.rounds + 1; ++round) {
    const double mine = seconds(
                            [&] {
                              for (int i = 0; i < repeats && status; ++i) {
                                auto ran = runner.run(kernel, {&buffers[0], &buffers[1], &buffers[2]});
                                if (!ran) status = Error(std::move(ran).error());
                              }
                            },
                            options.cpu_time) /
                        repeats;
    KILN_CHECK(std::move(status));
    status = Status();
    const double other = blas.gemm == nullptr ? 0
                                              : seconds(
                                                    [&] {
                                                      for (int i = 0; i < repeats; ++i) peer();
                                                    },
                                                    options.cpu_time) /
                                                    repeats;
    if (round == 0) continue;  // warm-up
    ours.push_back(mine);
    theirs.push_back(other);
    ratios.push_back(other / mine);
  }
  Row row{std::to_string(p.m) + "x" + std::to_string(p.n) + "x" + std::to_string(p.k) + " " + p.dtype, threads};
  row.gflops = flops / quantile(ours, 0.5) / 1e9;
  row.peer_gflops = blas.gemm == nullptr ? 0 : flops / quantile(theirs, 0.5) / 1e9;
  row.ratio_median = quantile(ratios, 0.5);
  row.ratio_lower_quartile = quantile(ratios, 0.25);
  row.compile_ms = compiled.metadata.compile_ms;
  if (single && blas.gemm != nullptr) {
    const auto* mine = reinterpret_cast<const float*>(buffers[2].mapping.data());
    for (std::size_t i = 0; i < c.size(); ++i) row.error = std::max(row.error, std::fabs(double(mine[i]) - c[i]));
  }
  return row;
}

// One built-in by itself: the median of its launches.
Status time_program(const Options& options, int threads) {
  KILN_TRY(const auto program, test::bind_builtin(options.program, options.set, options.target));
  KILN_TRY(const auto compiled, test::compile_for_host(program));
  if (options.show_source)
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
  std::vector<double> times;
  for (int round = 0; round < options.rounds + 1; ++round) {
    Status status;
    const double one = seconds(
        [&] {
          if (auto ran = runner.run(kernel, arguments); !ran) status = Error(std::move(ran).error());
        },
        options.cpu_time);
    KILN_CHECK(std::move(status));
    if (round > 0) times.push_back(one);
  }
  std::printf("%s, %d threads: %.3f ms (compiled in %.1f ms)\n", options.program.c_str(), threads,
              quantile(times, 0.5) * 1e3, compiled.metadata.compile_ms);
  return {};
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--show") {
      options.show_source = true;
      continue;
    }
    if (flag == "--cpu-time") {
      options.cpu_time = true;
      continue;
    }
    if (i + 1 == argc) break;
    const std::string value = argv[++i];
    if (flag == "--rounds") options.rounds = std::max(1, std::atoi(value.c_str()));
    if (flag == "--target") options.target = value;
    if (flag == "--program") options.program = value;
    if (flag == "--json") options.json = value;
    if (flag == "--size") options.sizes.push_back(value);
    if (flag == "--threads") options.threads.push_back(std::atoi(value.c_str()));
    if (flag == "--dtype") options.dtypes.push_back(value);
    if (flag == "--set") options.set[value.substr(0, value.find('='))] = value.substr(value.find('=') + 1);
  }
  if (options.sizes.empty()) options.sizes = {"1024x1024x1024", "2048x2048x2048", "1023x1025x1021"};
  if (options.threads.empty()) options.threads = {1, 2};
  if (options.dtypes.empty()) options.dtypes = {"f32", "f16", "bf16"};
  return options;
}

void write_json(const std::string& path, const std::vector<Row>& rows) {
  std::ofstream out(path);
  out << "[\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& r = rows[i];
    out << "  {\"problem\": \"" << r.name << "\", \"threads\": " << r.threads << ", \"gflops\": " << r.gflops
        << ", \"openblas_gflops\": " << r.peer_gflops << ", \"ratio\": " << r.ratio_median
        << ", \"ratio_lower_quartile\": " << r.ratio_lower_quartile << ", \"compile_ms\": " << r.compile_ms << "}"
        << (i + 1 < rows.size() ? "," : "") << "\n";
  }
  out << "]\n";
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  if (!options.program.empty()) {
    for (const int threads : options.threads) {
      if (const auto status = time_program(options, threads); !status) {
        std::fprintf(stderr, "%s\n", to_text(status.error()).c_str());
        return 1;
      }
    }
    return 0;
  }
  const OpenBlas blas = OpenBlas::open();
  if (blas.gemm == nullptr) std::printf("libopenblas.so.0 is not here: no ratios\n");
  std::printf("%-26s %7s %9s %9s %7s %8s %10s %9s\n", "GEMM on the host", "threads", "GFLOP/s", "OpenBLAS", "ratio",
              "quartile", "compile ms", "max diff");
  std::vector<Row> rows;
  for (const auto& dtype : options.dtypes) {
    for (const auto& size : options.sizes) {
      Problem p;
      p.dtype = dtype;
      if (std::sscanf(size.c_str(), "%dx%dx%d", &p.m, &p.n, &p.k) != 3) return 2;
      for (const int threads : options.threads) {
        const auto row = measure(p, threads, blas, options);
        if (!row) {
          std::fprintf(stderr, "%s\n", to_text(row.error()).c_str());
          return 1;
        }
        std::printf("%-26s %7d %9.1f %9.1f %7.2f %8.2f %10.1f %9.2g\n", row->name.c_str(), threads, row->gflops,
                    row->peer_gflops, row->ratio_median, row->ratio_lower_quartile, row->compile_ms, row->error);
        std::fflush(stdout);
        rows.push_back(*row);
      }
    }
  }
  if (!options.json.empty()) write_json(options.json, rows);
  return 0;
}
