// A GEMM on the host device, in this program's own memory, by the C++ client library.
#include <kiln/client.hpp>

#include <cstdio>

using kiln::protocol::Json;

namespace {

constexpr int m = 96, n = 80, k = 64;

// A matrix of f32 in memory that the daemon maps, too.
struct Matrix {
  kiln::Mapping memory;
  std::int64_t buffer = 0;

  static kiln::Result<Matrix> create(kiln::client::Client& client, std::size_t elements) {
    const std::size_t bytes = elements * sizeof(float);
    KILN_TRY(const auto fd, kiln::create_memfd("matrix", bytes));
    Matrix matrix;
    KILN_TRY(matrix.memory, kiln::Mapping::map(fd.get(), bytes, true));
    KILN_TRY(const auto answer, client.call("buffer.register", {{"fd", {{"fd", 0}}}, {"size", bytes}}, {fd.get()}));
    matrix.buffer = answer.result.at("buffer");
    return matrix;
  }
  [[nodiscard]] float* values() const { return reinterpret_cast<float*>(memory.data()); }
};

kiln::Status run() {
  KILN_TRY(const auto options, kiln::client::default_options());
  KILN_TRY(const auto client, kiln::client::Client::connect(options));
  KILN_TRY(const auto a, Matrix::create(*client, m * k));
  KILN_TRY(const auto b, Matrix::create(*client, n * k));
  KILN_TRY(const auto c, Matrix::create(*client, m * n));
  for (int i = 0; i < m * k; ++i) a.values()[i] = float(i % 7 - 3);
  for (int i = 0; i < n * k; ++i) b.values()[i] = float(i % 5 - 2);

  const Json sizes{{"M", m}, {"N", n}, {"K", k}, {"dtype", "f32"}, {"transpose_b", true}};
  KILN_TRY(const auto compiled, client->call("kernel.compile", {{"program", "gemm"}, {"set", sizes}, {"target", "host"}}));
  const Json arguments{{"A", {{"buffer", a.buffer}}}, {"B", {{"buffer", b.buffer}}}, {"C", {{"buffer", c.buffer}}}};
  KILN_TRY(const auto launched, client->launch(compiled.result.at("key"), "host", arguments, {}));

  for (int row = 0; row < m; ++row)
    for (int column = 0; column < n; ++column) {
      float sum = 0;
      for (int i = 0; i < k; ++i) sum += a.values()[row * k + i] * b.values()[column * k + i];
      if (c.values()[row * n + column] != sum) return kiln::Error(kiln::ErrorCode::corrupt, "a wrong element of C");
    }
  std::printf("gemm %dx%dx%d on the host: every element is right\n", m, n, k);
  return {};
}

}  // namespace

int main() {
  const auto status = run();
  if (status) return 0;
  std::fprintf(stderr, "%s\n", to_text(status.error()).c_str());
  return 1;
}
