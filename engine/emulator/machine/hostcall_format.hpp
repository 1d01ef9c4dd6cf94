// printf's conversions on the host, for text that kernels print. Formats and arguments come from a kernel: nothing of
// them is handed to the C library but conversions that are made here. The C standard's "The fprintf function" says what
// they mean; what it leaves undefined (a conversion that does not exist, an argument that is not there) prints itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/bytes.hpp"

namespace kiln::emulator {

// Where conversions take their arguments from, in order. Nothing: there are none left.
class PrintArguments {
 public:
  virtual ~PrintArguments() = default;
  virtual std::optional<std::uint64_t> integer() = 0;
  virtual std::optional<double> real() = 0;
  virtual std::optional<std::string_view> string() = 0;   // valid as long as the bytes that it came from
};

// HIP's form: 8 bytes an argument, f32 as f64; strings in place, with their 0, padded to 8.
class WordArguments : public PrintArguments {
 public:
  explicit WordArguments(ByteView bytes) : left_(bytes) {}
  std::optional<std::uint64_t> integer() override;
  std::optional<double> real() override;
  std::optional<std::string_view> string() override;

 private:
  ByteView left_;
};

// OpenCL's form: arguments have the given sizes, each padded to 4; strings in place. One of size 0 is not there.
class SizedArguments : public PrintArguments {
 public:
  SizedArguments(ByteView bytes, const std::uint32_t* sizes, std::size_t count)
      : left_(bytes), sizes_(sizes), count_(count) {}
  std::optional<std::uint64_t> integer() override;
  std::optional<double> real() override;
  std::optional<std::string_view> string() override;

 private:
  std::optional<ByteView> next();
  ByteView left_;
  const std::uint32_t* sizes_;
  std::size_t count_;
};

// The text up to its first 0. %n takes its argument and does nothing; wide characters are narrow. Stops soon after
// `bytes_max`.
std::string_view terminated(ByteView bytes);
std::string format_print(std::string_view format, PrintArguments& arguments, std::size_t bytes_max);

}  // namespace kiln::emulator
