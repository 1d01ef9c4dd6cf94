// A process without a daemon, for tests of single flight between processes: `session_client CACHE LOG INDEX COUNT
// WORKER...` waits for the end of its standard input, then compiles COUNT kernels at once, beginning at INDEX, and
// prints "compiled hit failed".
#include <unistd.h>

#include <cstdio>
#include <future>

#include "cache/disk_store.hpp"
#include "engine/jit/session.hpp"
#include "tests/support/small_program.hpp"

namespace {

int run(const std::vector<std::string>& arguments) {
  using namespace kiln;
  jit::SessionOptions options;
  options.store = cache::open_store(
      {.folder = arguments.at(0), .warn = [](const std::string& w) { std::fprintf(stderr, "%s\n", w.c_str()); }});
  std::vector<std::string> command(arguments.begin() + 4, arguments.end());
  command.insert(command.end(), {"--compile-log", arguments.at(1)});
  options.pool.commands = {{"hip", command, ""}};
  options.pool.temporary_folder = arguments.at(0);
  auto session = jit::Session::create(options);
  if (!session) return std::fprintf(stderr, "%s\n", to_text(session.error()).c_str()), 1;
  char byte;
  while (::read(0, &byte, 1) > 0) {}
  const int index = std::stoi(arguments.at(2)), count = std::stoi(arguments.at(3));
  std::vector<std::promise<Result<jit::CompileOutcome>>> promises(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i)
    (*session)->compile(test::small_request("k" + std::to_string((index + i) % count)),
                        [&promises, i](Result<jit::CompileOutcome> outcome) {
                          promises[static_cast<std::size_t>(i)].set_value(std::move(outcome));
                        });
  int compiled = 0, hit = 0, failed = 0;
  for (auto& promise : promises) {
    const auto outcome = promise.get_future().get();
    if (!outcome) std::fprintf(stderr, "%s\n", to_text(outcome.error()).c_str());
    ++(!outcome ? failed : outcome->cached ? hit : compiled);
  }
  std::printf("%d %d %d\n", compiled, hit, failed);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) return 2;
  return run(std::vector<std::string>(argv + 1, argv + argc));
}
