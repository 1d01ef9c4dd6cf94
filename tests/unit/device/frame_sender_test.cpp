// The sender towards a peer that does not read.
#include <gtest/gtest.h>

#include <unistd.h>

#include "engine/base/channel.hpp"
#include "engine/device/frame_sender.hpp"

namespace kiln::device {
namespace {

struct Pair {
  Pair() {
    auto sockets = socket_pair();
    ours = std::make_shared<UniqueFd>(std::move(sockets->first));
    theirs = std::move(sockets->second);
  }
  SharedSocket ours;
  UniqueFd theirs;
};

constexpr std::size_t large = 4 << 20;  // more than a socket holds

TEST(FrameSender, KeepsTheOrderAndWaitsForNobody) {
  Pair pair;
  FrameSender sender;
  sender.send(pair.ours, 1, {1});
  sender.send(pair.ours, 2, Bytes(large, 7));
  std::vector<UniqueFd> fds;
  for (int i = 0; i < 2; ++i) fds.emplace_back(::dup(0));
  sender.send(pair.ours, 3, {3}, std::move(fds));
  sender.send(pair.ours, 4, Bytes(100 << 10, 4));
  for (std::uint8_t kind = 1; kind <= 4; ++kind) {  // nobody read before
    const auto frame = receive_frame(pair.theirs.get());
    ASSERT_TRUE(frame) << to_text(frame.error());
    EXPECT_EQ(frame->kind, kind);
    EXPECT_EQ(frame->fds.size(), kind == 3 ? 2u : 0u);
    EXPECT_TRUE(kind != 2 || frame->payload == Bytes(large, 7));
  }
}

TEST(FrameSender, TakesBackWhatWasNotSent) {
  Pair pair;
  FrameSender sender;
  sender.send(pair.ours, 1, {1}, {}, 11);
  sender.send(pair.ours, 2, Bytes(large), {}, 12);
  sender.send(pair.ours, 3, Bytes(large), {}, 13);
  sender.send(pair.ours, 4, {4}, {}, 14);
  EXPECT_FALSE(sender.take_back(11)) << "it is sent";
  EXPECT_TRUE(sender.take_back(13));
  EXPECT_FALSE(sender.take_back(13));
  for (const std::uint8_t kind : {1, 2, 4}) {
    const auto frame = receive_frame(pair.theirs.get());
    ASSERT_TRUE(frame) << to_text(frame.error());
    EXPECT_EQ(frame->kind, kind);
  }
  EXPECT_FALSE(sender.take_back(14));
}

TEST(FrameSender, APeerThatIsGoneIsNotStuck) {
  Pair pair;
  FrameSender sender;
  sender.send(pair.ours, 1, Bytes(large));
  sender.send(pair.ours, 2, {2});
  pair.theirs.reset();
  sender.send(pair.ours, 3, {3});
  EXPECT_FALSE(sender.stuck());
}

}  // namespace
}  // namespace kiln::device
