// Area service: round trips against a bare socket.
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

#include "api/cli/bench_commands.hpp"
#include "api/cli/paired_ratio.hpp"
#include "engine/base/os.hpp"

namespace kiln::cli::bench {

using protocol::Json;

namespace {

using Clock = std::chrono::steady_clock;
constexpr int calls_a_round = 1000;

double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

// A child that answers every line with a canned one: the bare socket with the same bytes.
class Echo {
 public:
  // Both lines with their line ends.
  static Result<std::unique_ptr<Echo>> start(std::string request, std::size_t reply_bytes) {
    int ends[2];
    if (os::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
      return errno_error(errno, "cannot make a socket pair");
    auto echo = std::unique_ptr<Echo>(new Echo(std::move(request), UniqueFd(ends[0])));
    UniqueFd theirs(ends[1]);
    const std::string reply = std::string(reply_bytes - 1, 'x') + "\n";
    echo->child_ = ::fork();
    if (echo->child_ < 0) return errno_error(errno, "cannot fork");
    if (echo->child_ == 0) {
      echo->socket_.reset();
      answer_lines(theirs.get(), reply);
    }
    return echo;
  }
  ~Echo() {
    socket_.reset();
    if (child_ > 0) ::waitpid(child_, nullptr, 0);
  }
  // Microseconds of one line and its answer.
  Result<double> call() {
    const auto start = Clock::now();
    KILN_CHECK(write_all(socket_.get(), view(request_)));
    char buffer[1 << 16];
    for (bool done = false; !done;) {
      const auto got = os::read(socket_.get(), buffer, sizeof buffer);
      if (got <= 0) return Error(ErrorCode::io_error, "the echo ended");
      done = buffer[got - 1] == '\n';
    }
    return microseconds_since(start);
  }

 private:
  Echo(std::string request, UniqueFd socket) : request_(std::move(request)), socket_(std::move(socket)) {}

  [[noreturn]] static void answer_lines(int socket, const std::string& reply) {
    char buffer[1 << 16];
    for (;;) {
      const auto got = os::read(socket, buffer, sizeof buffer);
      if (got <= 0) ::_exit(0);
      for (ssize_t i = 0; i < got; ++i)
        if (buffer[i] == '\n' && !write_all(socket, view(reply))) ::_exit(0);
    }
  }

  std::string request_;
  UniqueFd socket_;
  pid_t child_ = -1;
};

struct HitTimes { std::vector<double> ours_p50, ours_p99, echo_p50, echo_p99; };

// One round: calls to the daemon and to the echo in turn.
Status time_round(Context& context, const Json& params, Echo& echo, HitTimes& times) {
  std::vector<double> ours, bare;
  for (int i = 0; i < calls_a_round; ++i) {
    const auto start = Clock::now();
    KILN_TRY(const auto answer, context.ask("kernel.compile", params));
    ours.push_back(microseconds_since(start));
    if (!answer.value("cached", false)) return Error(ErrorCode::internal, "a warm request was no hit");
    KILN_TRY(const double echoed, echo.call());
    bare.push_back(echoed);
  }
  times.ours_p50.push_back(quantile(ours, 0.5));
  times.ours_p99.push_back(quantile(ours, 0.99));
  times.echo_p50.push_back(quantile(bare, 0.5));
  times.echo_p99.push_back(quantile(bare, 0.99));
  return ok();
}

Result<HitTimes> time_hits(Context& context, const Json& params, int rounds) {
  KILN_TRY(const auto first, context.ask("kernel.compile", params));
  KILN_TRY(const auto warm, context.ask("kernel.compile", params));
  const Json line{{"jsonrpc", "2.0"}, {"id", 1000}, {"method", "kernel.compile"}, {"params", params}};
  const auto request = protocol::dump(line) + "\n";
  KILN_TRY(auto echo, Echo::start(request, protocol::dump(protocol::result_object(1000, warm)).size() + 1));
  HitTimes warming_up, times;
  KILN_CHECK(time_round(context, params, *echo, warming_up));
  for (int round = 0; round < rounds; ++round) KILN_CHECK(time_round(context, params, *echo, times));
  return times;
}

}  // namespace

Result<Measured> measure_service(Context& context, int rounds) {
  if (context.no_daemon)
    return Error(ErrorCode::invalid_argument, "this area measures a daemon: leave out --no-daemon");
  KILN_CHECK(context.connect());
  const std::string echo = "socket echo of the same bytes";
  const Json by_name{{"program", "gemm"}, {"set", {{"M", 256}, {"N", 256}, {"K", 256}, {"dtype", "f32"}}}};
  KILN_TRY(auto named, time_hits(context, by_name, rounds));
  KILN_TRY(auto shown, context.ask("program.show", Json{{"name", "gemm"}}));
  Json by_text = by_name;
  by_text["program"] = shown["program"];
  KILN_TRY(auto full, time_hits(context, by_text, rounds));
  Measured measured;
  measured.rows.push_back({"P1 hit by name, p50", echo, "us", named.ours_p50, named.echo_p50, Relation::cost, 3});
  measured.rows.push_back({"P1 hit by name, p99", echo, "us", named.ours_p99, named.echo_p99, Relation::cost, 5});
  measured.rows.push_back({"P1 hit by full text, p50", echo, "us", full.ours_p50, full.echo_p50, Relation::added, 100});
  measured.notes = {"a round is " + std::to_string(calls_a_round) +
                    " calls a side, in turn; the client's JSON work is included"};
  return measured;
}

}  // namespace kiln::cli::bench
