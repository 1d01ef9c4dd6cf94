// The C++ client: one connection to kilnd, requests one after the other. Not thread-safe; one client a thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/protocol/message.hpp"
#include "engine/base/deadline.hpp"
#include "engine/base/fd.hpp"
#include "engine/base/paths.hpp"

namespace kiln::client {

struct ConnectOptions {
  std::string socket;                       // path
  bool auto_start = true;                   // start a daemon when none answers
  std::vector<std::string> daemon_command;  // what starts it; --auto-started and --ready-fd N are added
  std::vector<std::string> daemon_environment;  // NAME=value, whole (allow-listed by the caller)
  std::chrono::milliseconds start_timeout{20000};
  std::string client_name = "c++";
};

struct Answer {
  protocol::Json result;
  std::vector<UniqueFd> fds;
};
using Progress = std::function<void(const protocol::Json&)>;

class Client {
 public:
  // Connects, checks that the server is ours (uid) before anything is sent, says hello. Errors: not_running, permission_denied,
  // protocol_error (another protocol version; the message names both builds).
  static Result<std::unique_ptr<Client>> connect(const ConnectOptions& options);

  // Sends one request with descriptors and waits for its answer. `cancel`: polled while waiting; $/cancel is sent once and the
  // answer still awaited. A lost connection: not_running, retryable.
  Result<Answer> call(const std::string& method, protocol::Json params, const std::vector<int>& fds = {},
                      const Progress& progress = {}, const CancelToken* cancel = nullptr);
  [[nodiscard]] const protocol::Json& hello() const { return hello_; }
  [[nodiscard]] bool started_daemon() const { return started_; }

 private:
  explicit Client(UniqueFd socket) : socket_(std::move(socket)), splitter_(std::size_t(256) << 20) {}
  Status send(const std::string& line, const std::vector<int>& fds);
  Result<bool> receive(int timeout_ms);   // false: nothing came
  Result<protocol::Json> next_line(std::int64_t id, const Progress& progress, const CancelToken* cancel);

  UniqueFd socket_;
  protocol::LineSplitter splitter_;
  std::vector<std::string> lines_;
  std::vector<UniqueFd> fds_;
  std::int64_t id_ = 0;
  protocol::Json hello_;
  bool started_ = false;
};

// The environment that an auto-started daemon gets: HOME, PATH, TMPDIR, LANG, XDG_*, KILN_*; nothing of *_VISIBLE_DEVICES or LD_*.
std::vector<std::string> daemon_environment(const Environment& environment);

}  // namespace kiln::client
