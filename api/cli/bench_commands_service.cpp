// Area service: round trips against a bare socket.
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

#include "api/cli/bench_commands.hpp"
#include "api/cli/paired_ratio.hpp"
#include "api/client/ring.hpp"
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

// A request that is sent again and again.
struct Asked {
  const char* method;
  Json params;
  bool hits = false;  // each answer must say that it came from the cache
};

struct CallTimes { std::vector<double> ours_p50, ours_p99, echo_p50, echo_p99; };

// One round: calls to the daemon and to the echo in turn.
Status time_round(Context& context, const Asked& asked, Echo& echo, CallTimes& times) {
  std::vector<double> ours, bare;
  for (int i = 0; i < calls_a_round; ++i) {
    const auto start = Clock::now();
    KILN_TRY(const auto answer, context.ask(asked.method, asked.params));
    ours.push_back(microseconds_since(start));
    if (asked.hits && !answer.value("cached", false)) return Error(ErrorCode::internal, "a warm request was no hit");
    KILN_TRY(const double echoed, echo.call());
    bare.push_back(echoed);
  }
  times.ours_p50.push_back(quantile(ours, 0.5));
  times.ours_p99.push_back(quantile(ours, 0.99));
  times.echo_p50.push_back(quantile(bare, 0.5));
  times.echo_p99.push_back(quantile(bare, 0.99));
  return ok();
}

Result<CallTimes> time_calls(Context& context, const Asked& asked, int rounds) {
  KILN_TRY(const auto first, context.ask(asked.method, asked.params));
  KILN_TRY(const auto warm, context.ask(asked.method, asked.params));
  const Json line{{"jsonrpc", "2.0"}, {"id", 1000}, {"method", asked.method}, {"params", asked.params}};
  const auto request = protocol::dump(line) + "\n";
  KILN_TRY(auto echo, Echo::start(request, protocol::dump(protocol::result_object(1000, warm)).size() + 1));
  CallTimes warming_up, times;
  KILN_CHECK(time_round(context, asked, *echo, warming_up));
  for (int round = 0; round < rounds; ++round) KILN_CHECK(time_round(context, asked, *echo, times));
  return times;
}

// One block that stores one number: as empty as a kernel with a result can be.
Json smallest_program() {
  const Json store{{"op", "map"},
                   {"index", {"i"}},
                   {"extent", {1}},
                   {"body", Json::array({{{"set", "t[i]"}, {"value", "1.0"}}})}};
  return {{"kiln", "tile/1"},
          {"name", "smallest"},
          {"params", Json::array({{{"name", "Y"}, {"dtype", "f32"}, {"shape", {1}}, {"access", "write"}}})},
          {"launches",
           Json::array({{{"grid", {"1"}},
                         {"threads", "1"},
                         {"body", Json::array({{{"op", "alloc"}, {"name", "t"}, {"space", "fragment"}, {"dtype", "f32"}, {"shape", {1}}},
                                               store,
                                               {{"op", "copy"}, {"from", "t"}, {"to", "Y[0:]"}}})}}})}};
}

Result<CallTimes> time_launches(Context& context, int rounds) {
  KILN_TRY(const auto compiled, context.ask("kernel.compile", Json{{"program", smallest_program()}}));
  KILN_TRY(const auto memory, context.ask("buffer.alloc", Json{{"size", 4}}));
  const Json buffer{{"buffer", memory["buffer"]}};
  auto times = time_calls(context, {"kernel.launch", {{"key", compiled["key"]}, {"args", Json::array({buffer})}}}, rounds);
  KILN_CHECK(context.ask("buffer.unregister", buffer));
  return times;
}

constexpr int plan_launches = 100, runs_a_round = 500;

// A launch's share of a run's time, behind the first launch: microseconds a round, at the medians.
struct PlanTimes { std::vector<double> added, single; };

Result<double> time_plan(Context& context, const Json& plan) {
  std::vector<double> took;
  for (int i = 0; i < runs_a_round; ++i) {
    const auto start = Clock::now();
    KILN_CHECK(context.ask("plan.run", plan));
    took.push_back(microseconds_since(start));
  }
  return quantile(took, 0.5);
}

// Plans of one launch and of many, in turn.
Result<PlanTimes> time_plans(Context& context, int rounds) {
  KILN_TRY(const auto compiled, context.ask("kernel.compile", Json{{"program", smallest_program()}}));
  KILN_TRY(const auto memory, context.ask("buffer.alloc", Json{{"size", 4}}));
  const Json buffer{{"buffer", memory["buffer"]}};
  const Json launch{{"key", compiled["key"]}, {"args", Json::array({buffer})}};
  KILN_TRY(auto one, context.ask("plan.create", Json{{"launches", Json::array({launch})}}));
  KILN_TRY(auto many, context.ask("plan.create", Json{{"launches", std::vector<Json>(plan_launches, launch)}}));
  one = Json{{"plan", one["plan"]}};
  many = Json{{"plan", many["plan"]}};
  PlanTimes times;
  for (int round = -1; round < rounds; ++round) {  // the first one warms up
    KILN_TRY(const double single, time_plan(context, one));
    KILN_TRY(const double all, time_plan(context, many));
    if (round < 0) continue;
    times.single.push_back(single);
    times.added.push_back((all - single) / (plan_launches - 1));
  }
  for (const auto* plan : {&one, &many}) KILN_CHECK(context.ask("plan.release", *plan));
  KILN_CHECK(context.ask("buffer.unregister", buffer));
  return times;
}

struct RingTimes { std::vector<double> ours, echo; };

// Runs of a plan of one block through a ring, and the echo of what plan.run would say, in turn.
Result<RingTimes> time_ring(Context& context, int rounds) {
  client::ConnectOptions options;
  options.socket = context.configuration->socket.path;
  options.auto_start = false;
  KILN_TRY(auto client, client::Client::connect(options));
  KILN_TRY(const auto memory, client->call("buffer.alloc", Json{{"size", 4}}));
  const Json launch{{"program", smallest_program()}, {"args", Json::array({{{"buffer", memory.result["buffer"]}}})}};
  KILN_TRY(const auto plan, client->call("plan.create", Json{{"launches", Json::array({launch})}}));
  const auto number = plan.result["plan"].get<std::int64_t>();
  KILN_TRY(auto ring, client::Ring::create(*client, "host"));
  const Json line{{"jsonrpc", "2.0"}, {"id", 1000}, {"method", "plan.run"}, {"params", {{"plan", number}}}};
  const Json answer{{"plan", number}, {"launches", 1}, {"duration_ms", 0.001}, {"device", "host"}};
  KILN_TRY(auto echo, Echo::start(protocol::dump(line) + "\n",
                                  protocol::dump(protocol::result_object(1000, answer)).size() + 1));
  RingTimes times;
  for (int round = -1; round < rounds; ++round) {  // the first one warms up
    std::vector<double> ours, bare;
    for (int i = 0; i < calls_a_round; ++i) {
      const auto start = Clock::now();
      KILN_CHECK(ring->run(number));
      ours.push_back(microseconds_since(start));
    }
    for (int i = 0; i < calls_a_round; ++i) {
      KILN_TRY(const double echoed, echo->call());
      bare.push_back(echoed);
    }
    if (ring->ended()) return Error(ErrorCode::internal, "the ring has ended");
    if (round < 0) continue;
    times.ours.push_back(quantile(ours, 0.5));
    times.echo.push_back(quantile(bare, 0.5));
  }
  return times;
}

}  // namespace

Result<Measured> measure_service(Context& context, int rounds) {
  if (context.no_daemon)
    return Error(ErrorCode::invalid_argument, "this area measures a daemon: leave out --no-daemon");
  KILN_CHECK(context.connect());
  const std::string echo = "socket echo of the same bytes";
  const Json by_name{{"program", "gemm"}, {"set", {{"M", 256}, {"N", 256}, {"K", 256}, {"dtype", "f32"}}}};
  KILN_TRY(auto named, time_calls(context, {"kernel.compile", by_name, true}, rounds));
  KILN_TRY(auto shown, context.ask("program.show", Json{{"name", "gemm"}}));
  Json by_text = by_name;
  by_text["program"] = shown["program"];
  KILN_TRY(auto full, time_calls(context, {"kernel.compile", by_text, true}, rounds));
  KILN_TRY(auto launches, time_launches(context, rounds));
  KILN_TRY(const auto plans, time_plans(context, rounds));
  KILN_TRY(const auto ring, time_ring(context, rounds));
  Measured measured;
  measured.rows.push_back({"P1 hit by name, p50", echo, "us", named.ours_p50, named.echo_p50, Relation::cost, 3});
  measured.rows.push_back({"P1 hit by name, p99", echo, "us", named.ours_p99, named.echo_p99, Relation::cost, 5});
  measured.rows.push_back({"P1 hit by full text, p50", echo, "us", full.ours_p50, full.echo_p50, Relation::added, 100});
  measured.rows.push_back({"P2 launch of one block, p50", echo, "us", launches.ours_p50, launches.echo_p50, Relation::cost, 3});
  // What is bounded is the difference of the two: a launch's share.
  std::vector<double> run, run_of_one;
  for (std::size_t i = 0; i < plans.added.size(); ++i) {
    run.push_back(plans.single[i] + plans.added[i]);
    run_of_one.push_back(plans.single[i]);
  }
  measured.rows.push_back({"P2 plan, one launch more of one block", "the run of a plan of one launch", "us", run,
                           run_of_one, Relation::added, 1});
  measured.rows.push_back(
      {"P3 run through a ring, one block, p50", echo, "us", ring.ours, ring.echo, Relation::gain, 5});
  measured.notes = {"a round is " + std::to_string(calls_a_round) +
                    " calls a side, in turn; the client's JSON work is included",
                    "a launch more: a plan of " + std::to_string(plan_launches) + " launches against one of one, " +
                        std::to_string(runs_a_round) + " runs each a round, the difference by " +
                        std::to_string(plan_launches - 1)};
  return measured;
}

}  // namespace kiln::cli::bench
