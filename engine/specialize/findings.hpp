// Diagnostics of one specialization: collected until the end, with a switch for what depends on sizes.
#pragma once

#include <string>

#include "engine/base/diagnostics.hpp"
#include "engine/ir/tile/program.hpp"

namespace kiln::specialize {

// `structure` mistakes hold for all bindings of the same options; `size` mistakes only for these sizes, tunables and
// target.
enum class About : std::uint8_t { structure, size };

// One mistake, in words.
struct Finding {
  std::string message, expected = {}, found = {}, hint = {};
};

class Findings {
 public:
  explicit Findings(bool with_sizes = true) : with_sizes_(with_sizes) {}

  void add(const std::string& pointer, About about, Finding finding) { add(make(pointer, std::move(finding)), about); }
  // Located at a part of an expression.
  void add(const tile::Text& text, const tile::Expr& expr, About about, Finding finding) {
    Diagnostic d = make(text.pointer, std::move(finding));
    d.source = text.source;
    d.offset = expr.begin;
    d.length = expr.end - expr.begin;
    if (d.found.empty()) d.found = text.source.substr(expr.begin, d.length);
    add(std::move(d), about);
  }

  // While code is bound that never runs (a loop without iterations), mistakes of size are none.
  void enter_dead_code() { ++dead_; }
  void leave_dead_code() { --dead_; }
  [[nodiscard]] bool in_dead_code() const { return dead_ > 0; }

  [[nodiscard]] bool has_errors() const { return diagnostics_.has_errors(); }
  Diagnostics& diagnostics() { return diagnostics_; }

 private:
  static Diagnostic make(const std::string& pointer, Finding finding) {
    Diagnostic d;
    d.pointer = pointer;
    d.message = std::move(finding.message);
    d.expected = std::move(finding.expected);
    d.found = std::move(finding.found);
    d.hint = std::move(finding.hint);
    return d;
  }
  void add(Diagnostic diagnostic, About about) {
    if (about == About::size && (dead_ > 0 || !with_sizes_)) return;
    diagnostics_.add(std::move(diagnostic));
  }

  Diagnostics diagnostics_;
  bool with_sizes_;
  int dead_ = 0;
};

}  // namespace kiln::specialize
