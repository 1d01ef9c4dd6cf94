// What a client has registered or made: buffers, events of cards, streams, plans; so that the next daemon can be given
// the same. Callers know each by an id of the client's that stays; the daemon's ids change with each connection and stand
// only on the wire.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "api/protocol/json.hpp"
#include "engine/base/fd.hpp"

namespace kiln::client {

class HeldResources {
 public:
  struct Held {
    std::string method;     // that makes it again, with
    protocol::Json params;
    UniqueFd fd;            // a copy of the caller's, or of what the daemon allocated; invalid where none is needed
    bool own = false;       // the card's own memory or event: lost with the daemon
    std::int64_t wire = 0;  // the daemon's id; 0: lost, or its owner is gone
  };

  // The request's line, with the daemon's ids in place of ours. `request` is unchanged afterwards.
  [[nodiscard]] std::string line(protocol::Json& request) const;
  // After an answer: remembers what was registered (`fds`: the request's), allocated (`answered`: the answer's) or made, forgets
  // what was given back, and puts our ids into `result`.
  Status answered(const protocol::Json& request, const std::vector<int>& fds, const std::vector<UniqueFd>& answered,
                  protocol::Json& result);
  // Calls `again` for each that the next daemon can be given, plans behind the buffers that they name; it sets `wire` by
  // the answer's member of the name it gets.
  template <class Again> Status each(Again&& again) {
    for (std::size_t kind = 0; kind < kinds; ++kind)
      for (auto& [id, held] : held_[kind]) KILN_CHECK(again(names[kind], held));
    return ok();
  }

 private:
  static constexpr std::size_t buffer = 0, event = 1, stream = 2, plan = 3, kinds = 4;
  static constexpr std::array<const char*, kinds> names{"buffer", "event", "stream", "plan"};
  // In the value of a parameter of that name.
  void replace_named(const std::string& name, protocol::Json& value) const;
  void replace(std::size_t kind, protocol::Json& id) const;
  void remember(std::size_t kind, Held held, protocol::Json& result);

  std::array<std::map<std::int64_t, Held>, kinds> held_;  // by our id
  std::int64_t last_ = 0;
};

}  // namespace kiln::client
