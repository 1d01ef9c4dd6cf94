// The verifier's passes, one file each. A pass reports what is wrong and goes on; the passes behind check_statements
// rely on what it found right (ids, kinds, shapes) and run only when it found nothing.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/ir/kernel/evaluate.hpp"
#include "engine/ir/kernel/program.hpp"

namespace kiln::kernel {

// Findings of one program, at most `limit` kept.
class Findings {
 public:
  // `place`: "launch gemm_0, body/3/for/2". `finding`: what else is known of it (the tile program's pointer, what was
  // expected); its message is made here.
  void add(const std::string& place, const std::string& reason, Diagnostic finding = {});
  [[nodiscard]] std::size_t count() const { return count_; }
  // Success, or an internal error whose message is the first finding, whose context lists all and whose diagnostics say
  // which statement of the tile program each comes from.
  [[nodiscard]] Status status() const;

 private:
  static constexpr std::size_t limit = 50;
  std::vector<std::string> list_;
  std::vector<Diagnostic> diagnostics_;
  std::size_t count_ = 0;
};

// The pointer of the statement at a path ("body/3/for/2"), or of the innermost one around it that has one; "" without.
std::string pointer_at(const Launch& launch, const std::string& path);

// What the passes share about one launch.
struct Subject {
  const Program& program;
  const Launch& launch;
  const target::Target& target;
  Findings& findings;

  [[nodiscard]] const Storage& storage(int id) const { return launch.storages[id]; }
  [[nodiscard]] bool is_storage(int id) const { return id >= 0 && id < static_cast<int>(launch.storages.size()); }
  [[nodiscard]] bool is_lds(int id) const { return is_storage(id) && storage(id).kind == Storage::Kind::lds; }
  [[nodiscard]] bool is_regs(int id) const { return is_storage(id) && storage(id).kind == Storage::Kind::regs; }
  // Where a role's body starts: "body", or "<role>" when there are several.
  [[nodiscard]] std::string path_of(const Role& role) const { return launch.roles.size() == 1 ? "body" : role.name; }
  void finding(const std::string& path, const std::string& reason, Diagnostic more = {}) const {
    if (more.pointer.empty()) more.pointer = pointer_at(launch, path);
    findings.add("launch " + launch.symbol + (path.empty() ? "" : ", " + path), reason, std::move(more));
  }
};

// Storages, layouts, LDS size, roles.
void check_frame(const Subject& subject);
// Each statement by itself: ids, shapes, vectors, bounds inside LDS, matrix instructions, conversions, divergent
// barriers.
void check_statements(const Subject& subject);
// Every register array, LDS element and variable that is read was written on every path.
void check_values(const Subject& subject);
// Barriers and tokens between accesses of the same LDS bytes by different waves (GPU targets).
void check_hazards(const Subject& subject);
// Registers alive at once fit the budget (GPU targets).
void check_registers(const Subject& subject);

// The expressions of a statement itself, not of its body.
void for_each_expression(const Stmt& stmt, const std::function<void(const bound::Expr&)>& visit);
// Iterations of a loop whose bounds are known: 0 or more; nullopt when they are not.
std::optional<std::int64_t> trip_count(const For& loop, const Known& known);

}  // namespace kiln::kernel
