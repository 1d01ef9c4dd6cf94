#include "engine/tune/compiling.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>

namespace kiln::tune {
namespace {

using jit::TuneVerdict;

constexpr int compiles_in_flight_max = 16;
constexpr std::size_t reason_bytes_max = 1000;

bool ends_all(const Error& error) {
  return error.code == ErrorCode::cancelled || error.code == ErrorCode::deadline_exceeded ||
         error.code == ErrorCode::no_compiler || error.code == ErrorCode::busy ||
         (error.code == ErrorCode::resource_limit && error.retryable);  // no descriptors left
}

}  // namespace

std::string first_line(const Error& error) {
  auto line = error.message +
              (error.context.empty() ? "" : ": " + error.context.front().substr(0, error.context.front().find('\n')));
  if (line.size() > reason_bytes_max) line = make_valid_utf8(line.substr(0, reason_bytes_max)) + "…";
  if (!jit::printable(line)) std::replace_if(line.begin(), line.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return line;
}

Status compile_trials(jit::Session& session, const std::vector<Trial*>& trials,
                      const std::function<bool(std::size_t done)>& go_on) {
  std::mutex mutex;
  std::condition_variable landed;
  std::size_t in_flight = 0, done = 0;
  std::optional<Error> fatal;
  for (auto* trial : trials) {
    std::unique_lock lock(mutex);
    landed.wait(lock, [&] { return in_flight < compiles_in_flight_max; });
    if (fatal || !go_on(done)) break;
    ++in_flight;
    lock.unlock();
    session.compile(trial->request, [&, trial](Result<jit::CompileOutcome> outcome) {
      const std::lock_guard again(mutex);
      if (outcome) trial->kernel = outcome->kernel;
      else if (ends_all(outcome.error())) fatal = outcome.error();
      else trial->end(outcome.error().code == ErrorCode::program_invalid ? TuneVerdict::invalid : TuneVerdict::failed,
                      first_line(outcome.error()));
      --in_flight, ++done;
      landed.notify_all();
    });
  }
  std::unique_lock lock(mutex);
  landed.wait(lock, [&] { return in_flight == 0; });
  if (fatal) return std::move(*fatal);
  return ok();
}

}  // namespace kiln::tune
