#include "engine/lower/host/schedule.hpp"

#include <algorithm>
#include <string>

namespace kiln::lower::host {
namespace {

class Describer {
 public:
  Describer(const bound::Launch& launch, std::vector<Decision>& decisions) : launch_(launch), decisions_(decisions) {}

  void launch() {
    const bound::LaunchSchedule& asked = launch_.schedule;
    if (asked.order.panel > 0)
      say("block order", "panels of " + std::to_string(asked.order.panel) +
                             (asked.order.along_y ? " columns, walked along y" : " rows, walked along x"));
    if (asked.waves_m > 0 || asked.waves_n > 0) say("waves", "no meaning on the host: a block is one thread");
    body(launch_.body);
  }

 private:
  void say(std::string subject, std::string text) {
    decisions_.push_back({"schedule", std::move(subject), std::move(text)});
  }
  void body(const bound::Body& statements) {
    for (const bound::Stmt& stmt : statements) {
      if (const auto* gemm = std::get_if<bound::Gemm>(&stmt.node)) product(*gemm);
      if (const auto* copy = std::get_if<bound::Copy>(&stmt.node); copy && copy->schedule.vector_bytes > 0)
        say(stmt.pointer, "no meaning on the host: accesses are as wide as its vectors");
      if (const auto* loop = std::get_if<bound::For>(&stmt.node)) {
        if (std::any_of(loop->body.begin(), loop->body.end(),
                        [](const bound::Stmt& one) { return one.turn.position >= 0 || one.turn.stage >= 0; }))
          say("loop " + launch_.variables[loop->var].name, "no meaning on the host: iterations do not overlap");
        body(loop->body);
      }
      if (const auto* branch = std::get_if<bound::If>(&stmt.node)) {
        body(branch->then);
        body(branch->otherwise);
      }
    }
  }
  void product(const bound::Gemm& gemm) {
    const bound::GemmSchedule& asked = gemm.schedule;
    const int values[] = {asked.m, asked.n, asked.k, asked.k_pack, asked.waves_m, asked.waves_n};
    if (std::all_of(std::begin(values), std::end(values), [](int v) { return v == 0; })) return;
    const auto& tiles = launch_.tiles;
    say(tiles[gemm.c].name + " += " + tiles[gemm.a].name + " * " + tiles[gemm.b].name,
        "no meaning on the host: it has no matrix instructions and no waves");
  }

  const bound::Launch& launch_;
  std::vector<Decision>& decisions_;
};

}  // namespace

void describe_schedule(const bound::Launch& launch, std::vector<Decision>& decisions) {
  Describer(launch, decisions).launch();
}

}  // namespace kiln::lower::host
