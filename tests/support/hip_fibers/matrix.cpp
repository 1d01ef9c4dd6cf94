#include "tests/support/hip_fibers/matrix.hpp"

#include <cstdint>
#include <cstdio>
#include <cstring>

#include "engine/base/float8.hpp"
#include "engine/base/half.hpp"

namespace kiln::test {
namespace {

enum class Element { f16, bf16, f32, i8, fp8, bf8 };

struct Shape {
  int rows = 0, k = 0;      // rows == columns in all of them
  Element element = Element::f16;
  bool wmma = false;
};

// "mfma_f32_32x32x8f16", "mfma_i32_16x16x32_i8", "mfma_f32_16x16x32_fp8_fp8", "wmma_f32_16x16x16_bf16_w32"
bool parse(const std::string& name, Shape& shape) {
  shape.wmma = name.starts_with("wmma_");
  if (!shape.wmma && !name.starts_with("mfma_")) return false;
  int columns = 0, used = 0;
  if (std::sscanf(name.c_str() + 9, "%dx%dx%d%n", &shape.rows, &columns, &shape.k, &used) != 3 || shape.rows != columns)
    return false;
  const std::string rest = name.substr(9 + used);
  if (rest.find("bf16") != std::string::npos) shape.element = Element::bf16;
  else if (rest == "_fp8_fp8") shape.element = Element::fp8;
  else if (rest == "_bf8_bf8") shape.element = Element::bf8;
  else if (rest.find("f16") != std::string::npos) shape.element = Element::f16;
  else if (rest.find("f32") != std::string::npos) shape.element = Element::f32;
  else if (rest.find("i8") != std::string::npos || rest.find("iu8") != std::string::npos) shape.element = Element::i8;
  else return false;
  return true;
}

double element_at(const void* registers, int index, Element element, bool fnuz) {
  const auto byte = [&] { return static_cast<const std::uint8_t*>(registers)[index]; };
  switch (element) {
    case Element::fp8: return f8_to_f32(fnuz ? e4m3fnuz : e4m3fn, byte());
    case Element::bf8: return f8_to_f32(fnuz ? e5m2fnuz : e5m2, byte());
    case Element::i8: return static_cast<const std::int8_t*>(registers)[index];
    case Element::f32: return static_cast<const float*>(registers)[index];
    default: break;
  }
  std::uint16_t bits;
  std::memcpy(&bits, static_cast<const char*>(registers) + 2 * index, 2);
  return element == Element::f16 ? f16_to_f32(bits) : bf16_to_f32(bits);
}

}  // namespace

bool run_matrix(const std::string& name, const std::vector<MatrixLane>& lanes, bool fnuz) {
  Shape shape;
  if (!parse(name, shape)) return false;
  const int n = shape.rows, k = shape.k, count = static_cast<int>(lanes.size());
  std::vector<double> a(n * k), b(n * k);
  const int held = shape.wmma ? k : n * k / count;  // WMMA: both halves of the wave hold all of k
  for (int lane = 0; lane < count; ++lane) {
    for (int e = 0; e < held; ++e) {
      const int at_k = shape.wmma ? e : lane / n * held + e;
      a[lane % n * k + at_k] = element_at(lanes[lane].a, e, shape.element, fnuz);
      b[lane % n * k + at_k] = element_at(lanes[lane].b, e, shape.element, fnuz);
    }
  }
  const int results = n * n / count;
  for (int lane = 0; lane < count; ++lane) {
    for (int r = 0; r < results; ++r) {
      // MFMA: groups of four rows, dealt over the lane groups. WMMA on RDNA3: even rows in the first half, odd in the
      // second.
      const int row = shape.wmma ? 2 * r + lane / 16 : r / 4 * (4 * count / n) + lane / n * 4 + r % 4;
      const int column = lane % n;
      if (shape.element == Element::i8) {
        std::int32_t sum;
        std::memcpy(&sum, static_cast<const char*>(lanes[lane].c) + 4 * r, 4);
        for (int i = 0; i < k; ++i)
          sum = static_cast<std::int32_t>(
              static_cast<std::uint32_t>(sum) +
              static_cast<std::uint32_t>(static_cast<std::int32_t>(a[row * k + i] * b[column * k + i])));
        std::memcpy(static_cast<char*>(lanes[lane].d) + 4 * r, &sum, 4);
      } else {
        float sum;
        std::memcpy(&sum, static_cast<const char*>(lanes[lane].c) + 4 * r, 4);
        double exact = sum;
        for (int i = 0; i < k; ++i) exact += a[row * k + i] * b[column * k + i];
        sum = static_cast<float>(exact);
        std::memcpy(static_cast<char*>(lanes[lane].d) + 4 * r, &sum, 4);
      }
    }
  }
  return true;
}

}  // namespace kiln::test
