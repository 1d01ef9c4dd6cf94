// Located diagnostics about a user's program or request: what channel 2 of ARCHITECTURE.md's error rules carries.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace kiln {

enum class Severity { error, warning, note };

// One mistake. `pointer` is a JSON pointer (RFC 6901) into the document that `message` is about, "" for the whole of it.
// `offset` and `length` count bytes inside the string found at `pointer` (expressions), absent for other values.
struct Diagnostic {
  Severity severity = Severity::error;
  std::string pointer;
  std::string message;
  std::string expected;  // what would have been right; may be empty
  std::string found;     // what stood there; may be empty, cut to 200 bytes
  std::string hint;      // what to do about it; may be empty
  std::string source;    // the string that offset counts in; may be empty
  std::optional<std::size_t> offset;
  std::size_t length = 0;
};

// "error at /launches/0/body/3/value:5: message (expected …, found …); hint: …", with the quoted source and a caret line
// below it when `source` is there. No trailing newline.
std::string to_text(const Diagnostic& diagnostic);

// Collects diagnostics of one pass; a pass goes on after a mistake so that all are reported at once, up to `limit`.
class Diagnostics {
 public:
  explicit Diagnostics(std::size_t limit = 100) : limit_(limit) {}
  void add(Diagnostic diagnostic);
  [[nodiscard]] bool has_errors() const { return errors_ > 0; }
  [[nodiscard]] const std::vector<Diagnostic>& list() const { return list_; }
  std::vector<Diagnostic> take() { return std::move(list_); }

 private:
  std::vector<Diagnostic> list_;
  std::size_t limit_;
  std::size_t errors_ = 0;
};

}  // namespace kiln
