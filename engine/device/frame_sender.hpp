// Frames on their way to a device process. A process that does not read holds none of its client's threads up.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/base/fd.hpp"

namespace kiln::device {

using SharedSocket = std::shared_ptr<UniqueFd>;

// Keeps the order in which frames were given. Small ones that the socket takes at once are sent by the caller's thread,
// the others by one of its own. Any thread.
class FrameSender {
 public:
  FrameSender() : thread_([this] { serve(); }) {}
  ~FrameSender();  // the sockets' peers are gone by then, or it waits for them
  FrameSender(const FrameSender&) = delete;
  // Never waits for the peer. `mark`: what take_back knows the frame by, 0 for nothing.
  void send(const SharedSocket& socket, std::uint8_t kind, Bytes payload, std::vector<UniqueFd> fds = {},
            std::uint64_t mark = 0);
  // Whether the frame was not sent yet; then it never is.
  bool take_back(std::uint64_t mark);
  // Whether the peer did not read a frame within the limit: its socket is shut down. Says so once.
  bool stuck();

 private:
  struct Item {
    SharedSocket socket;
    std::uint8_t kind = 0;
    Bytes payload;
    std::vector<UniqueFd> fds;
    std::uint64_t mark = 0;
  };
  void serve();
  static bool send_now(const Item& item);

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Item> queue_;
  bool sending_ = false, stuck_ = false, closing_ = false;
  std::thread thread_;  // last
};

}  // namespace kiln::device
