// bench: ratios against a named peer, measured in alternating rounds of one run.
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>

#include "api/cli/context.hpp"

namespace kiln::cli {

using protocol::Json;

namespace {

using Clock = std::chrono::steady_clock;
constexpr int rounds = 9, calls_a_round = 1000;

double microseconds_since(Clock::time_point start) { return std::chrono::duration<double, std::micro>(Clock::now() - start).count(); }

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, std::size_t(q * double(values.size())))];
}

// A child that answers every line with a canned one: the bare socket with the same bytes.
class Echo {
 public:
  Echo(std::string request, std::size_t reply_bytes) : request_(std::move(request)) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return;
    socket_ = UniqueFd(ends[0]);
    UniqueFd theirs(ends[1]);
    child_ = ::fork();
    if (child_ != 0) return;
    socket_.reset();
    const std::string reply(reply_bytes - 1, 'x');
    std::string pending;
    char buffer[1 << 16];
    for (;;) {
      const auto got = ::read(theirs.get(), buffer, sizeof buffer);
      if (got <= 0) ::_exit(0);
      for (ssize_t i = 0; i < got; ++i)
        if (buffer[i] == '\n' && !write_line(theirs.get(), reply + "\n")) ::_exit(0);
    }
  }
  ~Echo() {
    socket_.reset();
    if (child_ > 0) ::waitpid(child_, nullptr, 0);
  }
  double call() {
    const auto start = Clock::now();
    write_line(socket_.get(), request_);
    char buffer[1 << 16];
    for (bool done = false; !done;) {
      const auto got = ::read(socket_.get(), buffer, sizeof buffer);
      if (got <= 0) return 0;
      done = buffer[got - 1] == '\n';
    }
    return microseconds_since(start);
  }

 private:
  static bool write_line(int fd, const std::string& line) {
    for (std::size_t sent = 0; sent < line.size();) {
      const auto n = ::write(fd, line.data() + sent, line.size() - sent);
      if (n <= 0) return false;
      sent += std::size_t(n);
    }
    return true;
  }
  std::string request_;
  UniqueFd socket_;
  pid_t child_ = -1;
};

struct HitTimes { std::vector<double> ours_p50, ours_p99, echo_p50, echo_p99; };

Result<HitTimes> time_hits(Context& context, const Json& params) {
  KILN_TRY(const auto first, context.ask("kernel.compile", params));
  KILN_TRY(const auto warm, context.ask("kernel.compile", params));
  const auto request = protocol::dump(Json{{"jsonrpc", "2.0"}, {"id", 1000}, {"method", "kernel.compile"}, {"params", params}}) + "\n";
  Echo echo(request, protocol::dump(protocol::result_object(1000, warm)).size() + 1);
  HitTimes times;
  for (int round = 0; round < rounds; ++round) {
    std::vector<double> ours, bare;
    for (int i = 0; i < calls_a_round; ++i) {
      const auto start = Clock::now();
      KILN_TRY(const auto answer, context.ask("kernel.compile", params));
      ours.push_back(microseconds_since(start));
      if (!answer.value("cached", false)) return Error(ErrorCode::internal, "a warm request was no hit");
      bare.push_back(echo.call());
    }
    times.ours_p50.push_back(quantile(ours, 0.5));
    times.ours_p99.push_back(quantile(ours, 0.99));
    times.echo_p50.push_back(quantile(bare, 0.5));
    times.echo_p99.push_back(quantile(bare, 0.99));
  }
  return times;
}

Json row_of(const std::string& what, const std::vector<double>& ours, const std::vector<double>& peer, double target) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < ours.size(); ++i) ratios.push_back(ours[i] / peer[i]);
  return {{"what", what}, {"ours_us", quantile(ours, 0.5)}, {"echo_us", quantile(peer, 0.5)}, {"ratio", quantile(ratios, 0.5)},
          {"ratio_quartiles", {quantile(ratios, 0.25), quantile(ratios, 0.75)}}, {"target", target}};
}

// P1: a hit's round trip, the client's own JSON work included, against a bare socket that moves the same bytes.
int bench_service(Context& context) {
  context.quiet = true;
  Json rows = Json::array();
  const Json by_name{{"program", "gemm"}, {"set", {{"M", 256}, {"N", 256}, {"K", 256}, {"dtype", "f32"}}}};
  auto named = time_hits(context, by_name);
  if (!named) return report(context, named.error());
  rows.push_back(row_of("hit by name, p50", named->ours_p50, named->echo_p50, 3));
  rows.push_back(row_of("hit by name, p99", named->ours_p99, named->echo_p99, 5));
  auto shown = context.ask("program.show", Json{{"name", "gemm"}});
  if (!shown) return report(context, shown.error());
  Json by_text = by_name;
  by_text["program"] = (*shown)["program"];
  auto full = time_hits(context, by_text);
  if (!full) return report(context, full.error());
  rows.push_back(row_of("hit by full text, p50", full->ours_p50, full->echo_p50, 0));
  if (context.json) {
    print_json({{"area", "service"}, {"rounds", rounds}, {"calls_a_round", calls_a_round}, {"rows", std::move(rows)}});
    return exit_ok;
  }
  std::vector<std::vector<std::string>> table{{"what", "kiln us", "echo us", "ratio", "quartiles", "target"}};
  for (const auto& r : rows)
    table.push_back({r["what"].get<std::string>(), number_text(r["ours_us"].get<double>()), number_text(r["echo_us"].get<double>()),
                     number_text(r["ratio"].get<double>()), number_text(r["ratio_quartiles"][0].get<double>()) + " " + number_text(r["ratio_quartiles"][1].get<double>()),
                     r["target"].get<double>() > 0 ? "<= " + number_text(r["target"].get<double>()) : "echo + 100 us"});
  print_table(table);
  return exit_ok;
}

}  // namespace

void add_bench_commands(CLI::App& app, Context& context, int& status) {
  auto* bench = app.add_subcommand("bench", "ratios against named peers, measured in one run");
  bench->require_subcommand(1);
  bench->add_subcommand("service", "a hit's round trip against a bare socket echo of the same bytes")->callback([&] { status = bench_service(context); });
}

}  // namespace kiln::cli
