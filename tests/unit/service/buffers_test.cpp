// Clients' memory: what is accepted, how long it is the client's, and the limit on all of it.
#include <fcntl.h>
#include <sys/mman.h>

#include "tests/unit/service/service_fixture.hpp"

namespace kiln::service {
namespace {

class ServiceBuffers : public ServiceTest {
 protected:
  Json register_fd(int fd) { return ask("buffer.register", {{"fd", {{"fd", 0}}}}, {.fd = fd}).get(); }
  void limit(std::uint64_t bytes) {
    protocol::Limits limits;
    limits.buffer_bytes_max = bytes;
    open(limits);
  }
  void wait_for_bytes(std::uint64_t bytes) {
    while (stats()["buffer_bytes"] != bytes) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
};

TEST_F(ServiceBuffers, MemoryCountsUntilItIsGivenBack) {
  limit(3 * page);
  const auto x = alloc(), y = alloc(), z = alloc();
  EXPECT_EQ(ask("buffer.alloc", {{"size", page}}).error(), "resource_limit");
  auto launch = ask("kernel.launch", counting(endless, x, y), {.id = "launch"});
  wait_for_launches(1);
  auto given_back = ask("buffer.unregister", {{"buffer", z}});
  EXPECT_EQ(ask("buffer.alloc", {{"size", page}}).error(), "resource_limit") << "behind a running launch nothing is free yet";
  EXPECT_EQ(stats()["buffers"], 3);
  EXPECT_FALSE(given_back.answered());
  service_->cancel(1, "launch");
  EXPECT_EQ(launch.error(), "cancelled");
  EXPECT_EQ(given_back.error(), "none");
  EXPECT_EQ(stats()["buffer_bytes"], 2 * page);
  EXPECT_EQ(ask("buffer.unregister", {{"buffer", z}}).error(), "not_found");
  alloc();
  service_->disconnected(1);
  connect(1);
  wait_for_bytes(0);
}

TEST_F(ServiceBuffers, ABufferIsThereForLaunchesAskedForBeforeItsEnd) {
  const auto x = alloc(), y = alloc(), z = alloc();
  auto first = ask("kernel.launch", counting(endless, x, y), {.id = "first"});
  wait_for_launches(1);
  auto before = ask("kernel.launch", counting(3, z, y));
  auto unregister = ask("buffer.unregister", {{"buffer", z}});
  auto after = ask("kernel.launch", counting(3, z, y));
  service_->cancel(1, "first");
  EXPECT_EQ(before.error(), "none");
  EXPECT_EQ(unregister.error(), "none");
  EXPECT_EQ(after.error(), "invalid_argument");
}

TEST_F(ServiceBuffers, CopiesCount) {
  limit(3 * page);
  UniqueFd plain(::memfd_create("test", MFD_CLOEXEC));  // cannot be sealed: worked on in a copy
  ASSERT_EQ(::ftruncate(plain.get(), page), 0);
  const auto copied = register_fd(plain.get());
  EXPECT_EQ(copied["copied"], true) << copied;
  EXPECT_EQ(stats()["buffer_bytes"], 2 * page);
  const auto y = alloc();
  EXPECT_EQ(ask("kernel.verify", counting(3, copied["buffer"], y)).error(), "resource_limit") << "verify keeps the tensors as they were";
  EXPECT_EQ(ask("kernel.launch", counting(3, copied["buffer"], y)).error(), "none");
  limit(3 * page);
  const auto a = alloc(), b = alloc();
  EXPECT_EQ(ask("kernel.verify", counting(3, a, b)).get()["passed"], true);
  EXPECT_EQ(stats()["buffer_bytes"], 2 * page);
}

TEST_F(ServiceBuffers, MemorySealedAgainstWritingIsInput) {
  for (const int seal : {F_SEAL_WRITE, F_SEAL_FUTURE_WRITE}) {
    UniqueFd fd(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    ASSERT_EQ(::ftruncate(fd.get(), page), 0);
    ASSERT_EQ(::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | seal), 0);
    const auto sealed = register_fd(fd.get());
    EXPECT_EQ(sealed["writable"], false) << sealed;
    EXPECT_EQ(sealed["copied"], false);
    const auto other = alloc();
    const auto launch = ask("kernel.launch", counting(3, sealed["buffer"], other)).get();
    EXPECT_FALSE(launch.contains("error")) << launch;
    EXPECT_EQ(ask("kernel.launch", counting(3, other, sealed["buffer"])).error(), "invalid_argument");
  }
}

}  // namespace
}  // namespace kiln::service
