#include "engine/base/channel.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <thread>

#include "engine/base/os.hpp"

namespace kiln {
namespace {

using std::chrono::milliseconds;

class Channel : public testing::Test {
 protected:
  void SetUp() override {
    auto pair = socket_pair();
    ASSERT_TRUE(pair);
    a = std::move(pair->first);
    b = std::move(pair->second);
  }
  UniqueFd a, b;
};

TEST_F(Channel, frames_arrive_whole_and_in_order) {
  const std::uint64_t seed = 11;
  std::mt19937_64 random(seed);
  std::vector<Bytes> sent;
  for (const std::size_t size : {0, 1, 4096, 300000, 5 << 20}) {
    Bytes bytes(size);
    for (auto& byte : bytes) byte = std::uint8_t(random());
    sent.push_back(std::move(bytes));
  }
  std::thread writer([&] {
    for (std::size_t i = 0; i < sent.size(); ++i) ASSERT_TRUE(send_frame(a.get(), std::uint8_t(i), sent[i]));
  });
  for (std::size_t i = 0; i < sent.size(); ++i) {
    auto frame = receive_frame(b.get());
    ASSERT_TRUE(frame) << to_text(frame.error());
    EXPECT_EQ(frame->kind, i);
    EXPECT_TRUE(frame->payload == sent[i]) << i;
  }
  writer.join();
}

TEST_F(Channel, descriptors_belong_to_their_frame) {
  auto first = create_memfd("first", 10), second = create_memfd("second", 20);
  ASSERT_TRUE(first && second);
  // A frame without descriptors before one with two: one receive must not take the next frame's.
  ASSERT_TRUE(send_frame(a.get(), 1, view("plain")));
  const int fds[] = {first->get(), second->get()};
  ASSERT_TRUE(send_frame(a.get(), 2, view("rich"), fds));
  ASSERT_TRUE(send_frame(a.get(), 3, {}));
  auto plain = receive_frame(b.get());
  auto rich = receive_frame(b.get());
  auto last = receive_frame(b.get());
  ASSERT_TRUE(plain && rich && last);
  EXPECT_TRUE(plain->fds.empty());
  EXPECT_TRUE(last->fds.empty());
  ASSERT_EQ(rich->fds.size(), 2u);
  struct stat status {};
  ASSERT_EQ(::fstat(rich->fds[1].get(), &status), 0);
  EXPECT_EQ(status.st_size, 20);
  EXPECT_TRUE(::fcntl(rich->fds[0].get(), F_GETFD) & FD_CLOEXEC);
}

TEST_F(Channel, deadlines) {
  EXPECT_EQ(receive_frame(b.get(), Deadline::after(milliseconds(5))).error().code, ErrorCode::deadline_exceeded);
  ASSERT_TRUE(send_frame(a.get(), 1, {}));
  EXPECT_TRUE(receive_frame(b.get(), Deadline::after(milliseconds(-1))));  // what is there is taken
  // A peer that does not read: the frame is cut, and the error says that the stream is of no more use.
  const Bytes large(4 << 20);
  EXPECT_EQ(send_frame(a.get(), 1, large, {}, Deadline::after(milliseconds(5))).error().code, ErrorCode::protocol_error);
}

TEST_F(Channel, a_header_without_its_payload_is_no_frame) {
  const std::uint8_t header[] = {9, 0, 0, 0, 1};
  ASSERT_EQ(::write(a.get(), header, sizeof header), ssize_t(sizeof header));
  EXPECT_EQ(receive_frame(b.get(), Deadline::after(milliseconds(5))).error().code, ErrorCode::protocol_error);
}

TEST_F(Channel, end_of_file_between_and_within_frames) {
  auto copy = a.duplicate();
  ASSERT_TRUE(copy);
  const std::uint8_t partial[] = {9, 0, 0};
  ASSERT_EQ(::write(a.get(), partial, sizeof partial), ssize_t(sizeof partial));
  a.reset();
  copy->reset();
  EXPECT_EQ(receive_frame(b.get()).error().code, ErrorCode::device_lost);
  EXPECT_EQ(receive_frame(b.get()).error().code, ErrorCode::not_running);
}

TEST_F(Channel, sending_to_a_dead_peer_is_an_error_without_a_signal) {
  b.reset();
  const auto status = send_frame(a.get(), 1, view("x"));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::device_lost);
  EXPECT_EQ(status.error().message, "peer closed");
}

TEST_F(Channel, impossible_lengths_and_counts_are_refused) {
  const std::uint8_t header[] = {255, 255, 255, 255, 1};
  ASSERT_EQ(::write(a.get(), header, sizeof header), ssize_t(sizeof header));
  EXPECT_EQ(receive_frame(b.get()).error().code, ErrorCode::protocol_error);
  const std::vector<int> many(frame_fds_max + 1, a.get());
  EXPECT_EQ(send_frame(a.get(), 1, {}, many).error().code, ErrorCode::resource_limit);
}

TEST_F(Channel, failing_system_calls_are_errors) {
  {
    os::Failpoint fail("sendmsg", 1, EIO);
    EXPECT_EQ(send_frame(a.get(), 1, {}).error().code, ErrorCode::io_error);
  }
  os::Failpoint fail("recvmsg", 1, EIO);
  EXPECT_EQ(receive_frame(b.get()).error().code, ErrorCode::io_error);
}

TEST(Fd, memory_files_and_mappings) {
  auto fd = create_memfd("test", 8192);
  ASSERT_TRUE(fd);
  {
    auto writable = Mapping::map(fd->get(), 8192, true);
    ASSERT_TRUE(writable);
    writable->data()[4096] = 42;
    Mapping moved = std::move(*writable);
    EXPECT_EQ(moved.size(), 8192u);
    EXPECT_EQ(writable->size(), 0u);
  }
  auto page = Mapping::map(fd->get(), 4096, false, 4096);
  ASSERT_TRUE(page);
  EXPECT_EQ(page->bytes()[0], 42);
  EXPECT_FALSE(Mapping::map(fd->get(), 4096, false, 5));  // no page boundary
  EXPECT_FALSE(Mapping::map(-1, 4096, false));
}

TEST(Fd, sealed_memory_files_cannot_change) {
  auto fd = sealed_memfd("sealed", view("hello"));
  ASSERT_TRUE(fd);
  EXPECT_EQ(text(read_all(fd->get(), 100).value()), "hello");
  EXPECT_LT(::pwrite(fd->get(), "x", 1, 0), 0);
  EXPECT_NE(::ftruncate(fd->get(), 1), 0);
  EXPECT_EQ(::fcntl(fd->get(), F_GET_SEALS), F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
}

TEST(Fd, reads_have_limits) {
  auto fd = create_memfd("test", 100);
  ASSERT_TRUE(fd);
  EXPECT_EQ(read_all(fd->get(), 99).error().code, ErrorCode::resource_limit);
  EXPECT_EQ(read_all(fd->get(), 100).value().size(), 100u);
  EXPECT_EQ(read_file("/nowhere/at/all").error().code, ErrorCode::not_found);
  EXPECT_GT(read_file("/proc/self/status").value().size(), 0u);  // a file whose size reads 0
  EXPECT_EQ(read_file("/proc/self/status", 3).error().code, ErrorCode::resource_limit);
}

TEST(Fd, short_writes_are_continued_and_failures_told) {
  auto fd = create_memfd("test", 0);
  ASSERT_TRUE(fd);
  {
    os::Failpoint fail("write", 1, 0, false, os::FailAction::cut_short);
    ASSERT_TRUE(write_all(fd->get(), view("0123456789")));
    EXPECT_EQ(os::counted_calls("write"), 2u);
  }
  EXPECT_EQ(text(read_all(fd->get(), 100).value()), "0123456789");
  os::Failpoint fail("write", 1, ENOSPC);
  EXPECT_EQ(write_all(fd->get(), view("x")).error().code, ErrorCode::disk_full);
}

TEST(Failpoints, text_arms_all_or_none) {
  EXPECT_TRUE(os::arm_failpoints("fsync:2+:EIO,write:1:SHORT"));
  EXPECT_TRUE(os::arm_failpoints(""));
  os::disarm_failpoints();
  for (const char* wrong : {"fsync", "fsync:1", "fsync:x:EIO", "nothing:1:EIO", "fsync:1:EWHAT", "fsync:1:EIO,,"}) {
    EXPECT_EQ(os::arm_failpoints(wrong).error().code, ErrorCode::invalid_argument) << wrong;
  }
  auto fd = create_memfd("test", 0);
  EXPECT_EQ(os::fsync(fd->get()), 0) << "the good half of a wrong text is not armed";
}

TEST(Failpoints, nth_and_after) {
  auto fd = create_memfd("test", 0);
  ASSERT_TRUE(fd);
  ASSERT_TRUE(os::arm_failpoints("fsync:2+:EIO"));
  EXPECT_EQ(os::fsync(fd->get()), 0);
  EXPECT_EQ(os::fsync(fd->get()), -1);
  EXPECT_EQ(errno, EIO);
  EXPECT_EQ(os::fsync(fd->get()), -1);
  ASSERT_TRUE(os::arm_failpoint("fsync", 2, EIO));
  EXPECT_EQ(os::fsync(fd->get()), 0);
  EXPECT_EQ(os::fsync(fd->get()), -1);
  EXPECT_EQ(os::fsync(fd->get()), 0);
  os::disarm_failpoints();
  EXPECT_EQ(os::fsync(fd->get()), 0);
}

TEST(Failpoints, a_process_stops_at_a_place_and_goes_on) {
  EXPECT_EQ(os::arm_failpoint("launch", 1, EIO).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(os::arm_failpoints("eviction:1:SHORT").error().code, ErrorCode::invalid_argument);
  os::reach(os::Place::launch);  // nothing is armed
  const auto child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (!os::arm_failpoints("before_rename:2:STOP,any:1:EIO")) ::_exit(1);
    os::reach(os::Place::before_rename);
    os::reach(os::Place::after_rename);
    os::reach(os::Place::before_rename);  // here
    ::_exit(os::counted_calls("before_rename") == 2 && os::counted_calls("any") == 0 ? 7 : 2);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
  ASSERT_TRUE(WIFSTOPPED(status)) << status;
  ::kill(child, SIGCONT);
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
}

TEST(Failpoints, any_counts_every_call) {
  auto fd = create_memfd("test", 0);
  ASSERT_TRUE(os::arm_failpoint("any", 3, ENOMEM));
  struct stat status {};
  EXPECT_EQ(os::fstat(fd->get(), &status), 0);
  EXPECT_EQ(os::fsync(fd->get()), 0);
  EXPECT_EQ(os::fstat(fd->get(), &status), -1);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(os::counted_calls("any"), 3u);
  os::disarm_failpoints();
}

}  // namespace
}  // namespace kiln
