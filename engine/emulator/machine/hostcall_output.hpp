// Where kernels' printed text goes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "engine/base/result.hpp"

namespace kiln::emulator {

// One message, whole. `error`: it is for stderr. An empty text: everything is to be written out now. Called by one
// thread at a time.
using PrintSink = std::function<void(bool error, std::string_view text)>;

// The process's stdout and stderr, through the C library like what the process itself prints; or, with a path, the end
// of that file, which is made (0600) where there is none. Errors: of opening it.
Result<PrintSink> standard_sink(const std::string& path);

// What one launch prints, cut off behind `bytes_max`. Not for several threads at once.
class PrintedOutput {
 public:
  // `cancelled`: from then on everything is dropped; outlives it; null: never.
  PrintedOutput(PrintSink sink, std::uint64_t bytes_max, std::string kernel,
                const std::atomic<bool>* cancelled = nullptr)
      : sink_(std::move(sink)), left_(bytes_max), bytes_max_(bytes_max), kernel_(std::move(kernel)),
        cancelled_(cancelled) {}
  // How much is left, for those who make the text.
  [[nodiscard]] std::size_t room() const { return dropping() ? 0 : static_cast<std::size_t>(left_); }
  [[nodiscard]] bool cancelled() const {
    return cancelled_ != nullptr && cancelled_->load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool dropping() const { return dropping_ || cancelled(); }
  // Takes as much of what is left as the text has bytes, but `bytes_min` at least: text that was dear to make and came
  // to nothing has its price too. False: it is dropped, as is all that follows. The first time a line on stderr says
  // so.
  bool write(bool error, std::string_view text, std::size_t bytes_min = 0);
  // A line of the card's own, on stderr.
  void remark(const std::string& what);
  void flush();

 private:
  PrintSink sink_;
  std::uint64_t left_, bytes_max_;
  std::string kernel_;
  const std::atomic<bool>* cancelled_;
  bool dropping_ = false, wrote_ = false;
};

}  // namespace kiln::emulator
