// Owned file descriptors and memory mappings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "engine/base/bytes.hpp"
#include "engine/base/result.hpp"

namespace kiln {

// Closes its descriptor when destroyed. Move only.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept { reset(std::exchange(other.fd_, -1)); return *this; }
  ~UniqueFd() { reset(); }
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool valid() const { return fd_ >= 0; }
  explicit operator bool() const { return valid(); }
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1);
  [[nodiscard]] Result<UniqueFd> duplicate() const;  // close-on-exec

 private:
  int fd_ = -1;
};

// A shared mapping of `size` bytes at `offset` of a descriptor; unmapped when destroyed. Move only.
class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();
  static Result<Mapping> map(int fd, std::size_t size, bool writable, std::int64_t offset = 0);
  [[nodiscard]] std::uint8_t* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] ByteView bytes() const { return {data_, size_}; }

 private:
  std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
};

// A memfd of `size` bytes, close-on-exec, sealing allowed. `name` shows in /proc only.
Result<UniqueFd> create_memfd(const std::string& name, std::size_t size);
// A memfd that holds `bytes`, sealed whole (write, grow, shrink, seal).
Result<UniqueFd> sealed_memfd(const std::string& name, ByteView bytes);
// All bytes of a descriptor from offset 0 to its size (fstat), at most `bytes_max`.
Result<Bytes> read_all(int fd, std::size_t bytes_max);
Result<Bytes> read_file(const std::string& path, std::size_t bytes_max = std::size_t(1) << 30);
// Everything up to the end of file, from a pipe or file at its position.
Result<Bytes> read_all_of_stream(int fd, std::size_t bytes_max);
Status write_all(int fd, ByteView bytes);
// Creates or replaces a file (0666 less the umask): whole, or on an error not at all; links, pipes, devices in place.
Status write_file(const std::string& path, ByteView bytes);

}  // namespace kiln
