#include <algorithm>
#include <cstdlib>

#include "engine/ir/kernel/verify_steps.hpp"

namespace kiln::kernel {

void Findings::add(const std::string& place, const std::string& reason, Diagnostic finding) {
  ++count_;
  if (list_.size() >= limit) return;
  finding.message = place + ": " + reason;
  list_.push_back(finding.message);
  diagnostics_.push_back(std::move(finding));
}

Status Findings::status() const {
  if (count_ == 0) return ok();
  Error error(ErrorCode::internal, "the kernel program is wrong: " + list_.front());
  error.context = list_;
  if (count_ > list_.size()) error.context.push_back(std::to_string(count_ - list_.size()) + " more findings");
  error.diagnostics = diagnostics_;
  return error;
}

std::string pointer_at(const Launch& launch, const std::string& path) {
  std::string pointer;
  const Body* body = nullptr;
  const Stmt* stmt = nullptr;
  for (std::size_t at = 0; at < path.size();) {
    const auto slash = std::min(path.find('/', at), path.size());
    const std::string part = path.substr(at, slash - at);
    at = slash + 1;
    if (body == nullptr && stmt == nullptr) {  // "body", or a role's name
      for (const auto& role : launch.roles) {
        if (launch.roles.size() == 1 || role.name == part) body = &role.body;
      }
    } else if (stmt == nullptr) {
      const auto number = static_cast<std::size_t>(std::atoll(part.c_str()));
      if (number >= body->size()) break;
      stmt = &(*body)[number];
      if (!stmt->pointer.empty()) pointer = stmt->pointer;
    } else {
      const auto* loop = std::get_if<For>(&stmt->node);
      const auto* branch = std::get_if<If>(&stmt->node);
      body = loop ? &loop->body : branch ? (part == "then" ? &branch->then : &branch->otherwise) : nullptr;
      stmt = nullptr;
    }
    if (body == nullptr) break;
  }
  return pointer;
}

namespace {

using Visit = std::function<void(const bound::Expr&)>;

void visit_one(const ExprPtr& expr, const Visit& visit) {
  if (expr) visit(*expr);
}
void visit_all(const std::vector<ExprPtr>& list, const Visit& visit) {
  for (const auto& expr : list) visit_one(expr, visit);
}
void visit_global(const GlobalRef& ref, const Visit& visit) {
  visit_all(ref.start, visit);
  visit_all(ref.limit, visit);
}

struct Expressions {
  const Visit& visit;
  void operator()(const LoadGlobal& node) const { visit_global(node.from, visit); visit_one(node.fill, visit); }
  void operator()(const StoreGlobal& node) const { visit_global(node.to, visit); }
  void operator()(const LoadLds& node) const { visit_one(node.from.stage, visit); }
  void operator()(const StoreLds& node) const { visit_one(node.to.stage, visit); }
  void operator()(const Direct& node) const {
    visit_global(node.global, visit);
    visit_one(node.lds.stage, visit);
    visit_one(node.fill, visit);
  }
  void operator()(const Mma& node) const {
    for (const auto* limit : {&node.m_limit, &node.n_limit, &node.k_limit}) visit_one(*limit, visit);
  }
  void operator()(const Fill& node) const { visit_one(node.value, visit); }
  void operator()(const Map& node) const {
    for (const auto& item : node.body) {
      visit_one(item.value, visit);
      visit_one(item.compare, visit);
      visit_all(item.indices, visit);
      visit_one(item.where, visit);
    }
    visit_all(node.limit, visit);
  }
  void operator()(const Reduce& node) const { visit_all(node.limit, visit); }
  void operator()(const For& node) const {
    visit_one(node.from, visit);
    visit_one(node.to, visit);
    visit_one(node.step, visit);
  }
  void operator()(const If& node) const { visit_one(node.condition, visit); }
  void operator()(const Let& node) const { visit_one(node.value, visit); }
  void operator()(const Leave& node) const { visit_one(node.condition, visit); }
  template <class Other> void operator()(const Other&) const {}
};

}  // namespace

void for_each_expression(const Stmt& stmt, const Visit& visit) { std::visit(Expressions{visit}, stmt.node); }

std::optional<std::int64_t> trip_count(const For& loop, const Known& known) {
  const auto from = evaluate(*loop.from, known), to = evaluate(*loop.to, known), step = evaluate(*loop.step, known);
  if (!from || !to || !step || *step <= 0) return std::nullopt;
  return *to <= *from ? 0 : (*to - *from + *step - 1) / *step;
}

Status verify(const Program& program, const target::Target& target) {
  Findings findings;
  if (program.target != target.full) {
    findings.add("program", "made for " + program.target + ", verified for " + target.full);
  }
  for (const auto& launch : program.launches) {
    const Subject subject{program, launch, target, findings};
    const auto before = findings.count();
    check_frame(subject);
    if (findings.count() == before) check_statements(subject);
    if (findings.count() != before) continue;
    check_values(subject);
    if (target.is_host()) continue;
    check_hazards(subject);
    check_registers(subject);
  }
  return findings.status();
}

}  // namespace kiln::kernel
