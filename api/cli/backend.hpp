// Who answers the CLI's requests: a daemon over its socket, or the same service inside this process (--no-daemon).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/client/client.hpp"
#include "api/daemon/configuration.hpp"

namespace kiln::cli {

class Backend {
 public:
  virtual ~Backend() = default;
  virtual Result<client::Answer> call(const std::string& method, protocol::Json params, const std::vector<int>& fds = {},
                                      const client::Progress& progress = {}) = 0;
};

// Which launches become files (api/client/capture_files.hpp).
struct CaptureOptions { std::string path, on; };

// Connects; starts a daemon when there is none and `auto_start`.
Result<std::unique_ptr<Backend>> daemon_backend(const daemon::Configuration& configuration, const daemon::Overrides& overrides,
                                                const Environment& environment, bool auto_start, const CaptureOptions& capture = {});
Result<std::unique_ptr<Backend>> local_backend(const daemon::Configuration& configuration, const CaptureOptions& capture = {});

// Set by Ctrl-C: the running request is cancelled.
const CancelToken& interrupt_token();

}  // namespace kiln::cli
