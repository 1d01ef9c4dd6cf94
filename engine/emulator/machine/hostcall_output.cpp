#include "engine/emulator/machine/hostcall_output.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>

#include "engine/base/fd.hpp"
#include "engine/base/os.hpp"

namespace kiln::emulator {

Result<PrintSink> standard_sink(const std::string& path) {
  if (path.empty()) {
    return PrintSink([](bool error, std::string_view text) {
      if (error || text.empty()) std::fflush(stdout);   // what was printed before comes before it
      if (!text.empty()) std::fwrite(text.data(), 1, text.size(), error ? stderr : stdout);
    });
  }
  const int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW;
  const auto file = std::make_shared<UniqueFd>(os::openat(AT_FDCWD, path.c_str(), flags, 0600));
  if (!*file) return errno_error(errno, "opening " + path + " for what kernels print");
  // A disk that is full ends no launch.
  return PrintSink([file](bool, std::string_view text) {
    (void)write_all(file->get(), {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  });
}

bool PrintedOutput::write(bool error, std::string_view text, std::size_t bytes_min) {
  if (dropping()) return false;
  const std::uint64_t bytes = std::max(text.size(), bytes_min);
  if (bytes <= left_) {
    left_ -= bytes;
    wrote_ = true;
    if (!text.empty()) sink_(error, text);
    return true;
  }
  dropping_ = true;
  remark("kernel " + kernel_.substr(0, 200) + " has printed what one launch may, " + std::to_string(bytes_max_) +
         " bytes (emulator option print_bytes): the rest is dropped");
  return false;
}

void PrintedOutput::remark(const std::string& what) {
  wrote_ = true;
  sink_(true, "kiln's emulated card: " + what + "\n");
}

void PrintedOutput::flush() {
  if (wrote_) sink_(false, {});
  wrote_ = false;
}

}  // namespace kiln::emulator
