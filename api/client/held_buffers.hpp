// The buffers that a client has registered, so that the next daemon can be given the same memory. Callers know a buffer by an
// id of the client's that stays; the daemon's ids change with each connection and stand only on the wire.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "api/protocol/json.hpp"
#include "engine/base/fd.hpp"

namespace kiln::client {

class HeldBuffers {
 public:
  struct Buffer {
    UniqueFd fd;            // a copy of the caller's, or of what the daemon allocated
    protocol::Json params;  // of the buffer.register that registers it
    std::int64_t wire = 0;  // the daemon's id
  };

  // The request's line, with the daemon's ids in place of ours. `request` is unchanged afterwards.
  [[nodiscard]] std::string line(protocol::Json& request) const;
  // After an answer: remembers what was registered (`fds`: the request's) or allocated (`answered`: the answer's), forgets
  // what was unregistered, and puts our ids into `result`.
  Status answered(const protocol::Json& request, const std::vector<int>& fds, const std::vector<UniqueFd>& answered,
                  protocol::Json& result);
  std::map<std::int64_t, Buffer>& all() { return buffers_; }

 private:
  void replace(protocol::Json& holder) const;

  std::map<std::int64_t, Buffer> buffers_;  // by our id
  std::int64_t last_ = 0;
};

}  // namespace kiln::client
