#include "api/cli/terminal.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <streambuf>

#include "api/cli/context.hpp"
#include "engine/base/os.hpp"

namespace kiln::cli {
namespace {

constexpr std::size_t buffer_bytes = std::size_t(64) << 10;

// Reading the one for output, or writing the one for input, fails as a closed descriptor does.
void occupy_closed_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    if (::open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_WRONLY) != fd) return;  // no /dev/null: stay as we are
  }
}

}  // namespace

class StandardStreams::Buffer : public std::streambuf {
 public:
  explicit Buffer(int fd) : fd_(fd), by_line_(::isatty(fd)) {}
  [[nodiscard]] int error() const { return error_; }  // errno of the first write that failed, 0 for none
  void end() {
    escaper_.end(pending_);
    sync();
  }

 protected:
  int_type overflow(int_type c) override {
    if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
    const char one = traits_type::to_char_type(c);
    return xsputn(&one, 1) == 1 ? c : traits_type::eof();
  }
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    const std::string_view piece(text, std::size_t(size));
    escaper_.add(piece, pending_);
    if (pending_.size() >= buffer_bytes || (by_line_ && piece.find('\n') != std::string_view::npos)) sync();
    return error_ ? 0 : size;
  }
  int sync() override {
    for (std::size_t at = 0; at < pending_.size() && !error_;) {
      const auto n = os::write(fd_, pending_.data() + at, pending_.size() - at);
      if (n >= 0) at += std::size_t(n);
      else if (errno == EAGAIN) wait();
      else error_ = errno;
    }
    pending_.clear();
    return error_ ? -1 : 0;
  }

 private:
  void wait() const {
    pollfd ready{fd_, POLLOUT, 0};
    ::poll(&ready, 1, -1);
  }
  const int fd_;
  const bool by_line_;
  int error_ = 0;
  Escaper escaper_;
  std::string pending_;
};

StandardStreams::StandardStreams() {
  occupy_closed_descriptors();
  out_ = std::make_unique<Buffer>(STDOUT_FILENO);
  err_ = std::make_unique<Buffer>(STDERR_FILENO);
  out_before_ = std::cout.rdbuf(out_.get());
  err_before_ = std::cerr.rdbuf(err_.get());
}

StandardStreams::~StandardStreams() {
  std::cout.rdbuf(out_before_);
  std::cerr.rdbuf(err_before_);
}

int StandardStreams::finish(int status) {
  out_->end();
  err_->end();
  if (out_->error() == 0) return status;
  if (out_->error() == EPIPE) {
    ::signal(SIGPIPE, SIG_DFL);
    ::raise(SIGPIPE);
    return 128 + SIGPIPE;  // it is blocked
  }
  std::cerr.clear();
  std::cerr << "error: standard output: " << std::strerror(out_->error()) << std::endl;
  return status == exit_ok ? int(exit_failed) : status;
}

}  // namespace kiln::cli
