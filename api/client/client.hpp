// The C++ client: one connection to kilnd, requests one after the other. Not thread-safe; one client a thread. When the daemon
// is gone, or this is a forked child, the next request connects again, registers the buffers there and goes on.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/client/capture_files.hpp"
#include "api/client/held_resources.hpp"
#include "api/client/visible_cards.hpp"
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
  VisibleCards cards;                       // what requests call hip:0
  std::string client_name = "c++";
  std::string capture, capture_on;          // capture_files.hpp; empty: what KILN_CAPTURE and KILN_CAPTURE_ON say
  bool say_hello = true;                    // false: no hello and so no check of versions, for what any daemon must understand
};

struct Answer {
  protocol::Json result;
  std::vector<UniqueFd> fds;
};
// The card's own memory or event: our id of it, and the IPC handle for other processes, 128 hex digits.
struct Exported {
  std::int64_t id = 0;
  std::string ipc;
};
struct LaunchOptions {
  std::int64_t stream = 0;             // of stream.create; 0: the client's own
  std::vector<std::int64_t> wait;      // events that the card waits for
  protocol::Json symbols = protocol::Json::object();  // values of the kernel's dynamic symbols by name
  std::int64_t event = 0;              // recorded behind the launch, which is answered when it is enqueued; 0: none
  std::chrono::milliseconds deadline{0};
};
using Progress = std::function<void(const protocol::Json&)>;

// What `kiln` connects by: the socket that the environment names, and the daemon that is started when none answers there:
// $KILN_DAEMON, else `kilnd` beside this program, else on $PATH, else none. Errors: of socket_path.
Result<ConnectOptions> default_options();

class Client {
 public:
  // Connects, checks that the server is ours (uid) before anything is sent, says hello. Errors: not_running, permission_denied,
  // protocol_error (another protocol version; the message names both builds).
  static Result<std::unique_ptr<Client>> connect(const ConnectOptions& options);

  // Sends one request with descriptors and waits for its answer. `cancel`: polled while waiting; $/cancel is sent once and the
  // answer still awaited. A request that meets a lost connection is repeated on a new one if that is harmless (queries,
  // compiles; anything that could not be sent); else not_running, retryable: whether it happened is not known. Buffers that
  // were registered or allocated through here keep their ids.
  Result<Answer> call(const std::string& method, protocol::Json params, const std::vector<int>& fds = {},
                      const Progress& progress = {}, const CancelToken* cancel = nullptr);
  // Memory and events of cards, by HIP IPC handle (128 hex digits). Ids stay when the daemon is started again; the card's own
  // memory and events are lost then, and what uses them is refused.
  Result<std::int64_t> register_ipc(const std::string& ipc, const std::string& device, std::uint64_t offset, std::uint64_t size);
  Result<Exported> alloc_on_device(const std::string& device, std::uint64_t size);
  Result<std::int64_t> import_event(const std::string& ipc, const std::string& device);
  Result<Exported> export_event(const std::string& device);
  // kernel.launch of a compiled kernel: its answer.
  Result<protocol::Json> launch(const std::string& key, const std::string& device, protocol::Json args, const LaunchOptions& options);
  [[nodiscard]] const protocol::Json& hello() const { return hello_; }
  [[nodiscard]] bool started_daemon() const { return started_; }
  // The process that listens on the socket; 0 when the system does not tell (it lives in another pid namespace).
  [[nodiscard]] pid_t daemon_pid() const;

 private:
  explicit Client(const ConnectOptions& options) : options_(options), splitter_(answer_bytes_max) {}
  Status open();
  Status open_once(const Deadline& deadline);
  void disconnect();
  void keep_capture(protocol::Json& members, Error* error);
  // One request on the present socket; without a whole answer the socket is closed.
  Result<Answer> exchange(protocol::Json& request, const std::vector<int>& fds, const Progress& progress, const CancelToken* cancel);
  Result<protocol::Json> send_and_wait(protocol::Json& request, const std::vector<int>& fds, const Progress& progress,
                                       const CancelToken* cancel);
  // Whether the daemon would take it. Error: invalid_argument.
  [[nodiscard]] Status check_size(const std::string& line, const std::vector<int>& fds) const;
  Status send(const std::string& line, const std::vector<int>& fds);
  Result<bool> receive(int timeout_ms);   // false: nothing came
  Result<protocol::Json> next_line(std::int64_t id, const Progress& progress, const CancelToken* cancel);

  static constexpr std::size_t answer_bytes_max = std::size_t(256) << 20;
  ConnectOptions options_;
  UniqueFd socket_;
  pid_t owner_ = 0;                        // the process that connected
  protocol::LineSplitter splitter_;
  std::vector<std::string> lines_;
  std::vector<UniqueFd> fds_;
  HeldResources held_;
  CaptureFiles capture_;
  bool asked_ = false;                     // the newest request: for a capture
  std::int64_t id_ = 0;
  // The newest request: anything of it sent; whole line sent; lost in the middle of an answer.
  bool began_ = false, sent_ = false, answering_ = false;
  protocol::Json hello_;
  bool started_ = false;
};

// The environment that an auto-started daemon gets: HOME, PATH, TMPDIR, LANG, ROCM_PATH, XDG_*, KILN_* (its paths absolute:
// the daemon's folder is /); nothing of *_VISIBLE_DEVICES or LD_*, since it serves others, too.
std::vector<std::string> daemon_environment(const Environment& environment);

}  // namespace kiln::client
