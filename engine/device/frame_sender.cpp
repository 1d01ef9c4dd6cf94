#include "engine/device/frame_sender.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>

#include "engine/base/channel.hpp"
#include "engine/base/os.hpp"

namespace kiln::device {
namespace {

constexpr auto send_limit = std::chrono::seconds(20);
constexpr std::size_t small_bytes = 16 << 10;  // a stream socket that can be written to has room for this

bool has_room(int socket) {
  pollfd entry{socket, POLLOUT, 0};
  return os::poll(&entry, 1, 0) == 1 && (entry.revents & POLLOUT) != 0;
}

}  // namespace

FrameSender::~FrameSender() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    queue_.clear();
    wake_.notify_all();
  }
  thread_.join();
}

void FrameSender::send(const SharedSocket& socket, std::uint8_t kind, Bytes payload, std::vector<UniqueFd> fds,
                       std::uint64_t mark) {
  Item item{socket, kind, std::move(payload), std::move(fds), mark};
  const std::lock_guard lock(mutex_);
  if (closing_) return;
  if (queue_.empty() && !sending_ && item.payload.size() <= small_bytes && has_room(socket->get())) {
    stuck_ = !send_now(item) || stuck_;
    return;
  }
  queue_.push_back(std::move(item));
  wake_.notify_all();
}

bool FrameSender::take_back(std::uint64_t mark) {
  const std::lock_guard lock(mutex_);
  return std::erase_if(queue_, [&](const Item& item) { return item.mark == mark; }) > 0;
}

bool FrameSender::stuck() {
  const std::lock_guard lock(mutex_);
  return std::exchange(stuck_, false);
}

// False when the peer did not read; it is cut off then. A peer that is gone is noticed by who reads from it.
bool FrameSender::send_now(const Item& item) {
  std::vector<int> fds;
  for (const auto& fd : item.fds) fds.push_back(fd.get());
  const auto sent = send_frame(item.socket->get(), item.kind, item.payload, fds, Deadline::after(send_limit));
  if (sent || sent.error().code == ErrorCode::device_lost) return true;
  ::shutdown(item.socket->get(), SHUT_RDWR);
  return false;
}

void FrameSender::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return closing_ || !queue_.empty(); });
    if (closing_) return;
    auto item = std::move(queue_.front());
    queue_.pop_front();
    sending_ = true;
    lock.unlock();
    const bool sent = send_now(item);
    item = {};
    lock.lock();
    sending_ = false;
    stuck_ = stuck_ || !sent;
  }
}

}  // namespace kiln::device
