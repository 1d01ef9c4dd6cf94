// The C++ client over a daemon that is killed, and over a fork. The daemon is kilnd itself, started by the client.
#include "api/client/client.hpp"

#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <future>
#include <thread>

#include "tests/support/temporary_folder.hpp"

namespace kiln::client {
namespace {

using protocol::Json;

class ClientTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto environment = process_environment();
    ASSERT_TRUE(environment) << environment.error().message;
    options_.socket = folder_ / "run/kiln.sock";
    options_.daemon_command = {KILN_BIN_DIR "/kilnd", "--socket", options_.socket, "--cache", folder_ / "cache"};
    options_.daemon_environment = daemon_environment(*environment);
    auto client = Client::connect(options_);
    ASSERT_TRUE(client) << client.error().message;
    client_ = std::move(*client);
  }
  void TearDown() override {
    if (client_) (void)client_->call("shutdown", Json::object());
    client_.reset();
  }

  // The daemon is this process's child.
  void kill_daemon() {
    const auto pid = client_->daemon_pid();
    ASSERT_EQ(::kill(pid, SIGKILL), 0);
    ASSERT_EQ(::waitpid(pid, nullptr, 0), pid);
  }
  // Whether bytes of the client's wait on its socket to be read by the daemon.
  bool unread() {
    for (int fd = 3; fd < 256; ++fd) {
      sockaddr_un peer{};
      socklen_t size = sizeof peer;
      int bytes = 0;
      if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0 || options_.socket != peer.sun_path) continue;
      if (::ioctl(fd, SIOCOUTQ, &bytes) == 0 && bytes > 0) return true;
    }
    return false;
  }
  // Runs `request` against a daemon that gets all of it and dies without having read it.
  Result<Answer> lose(const std::function<Result<Answer>()>& request) {
    const auto pid = client_->daemon_pid();
    ::kill(pid, SIGSTOP);
    std::promise<Result<Answer>> answered;
    std::thread thread([&] { answered.set_value(request()); });
    const auto deadline = Deadline::after(std::chrono::seconds(30));
    while (!unread() && !deadline.passed()) std::this_thread::yield();
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    auto answer = answered.get_future().get();
    thread.join();
    return answer;
  }

  Json call(const std::string& method, Json params = Json::object(), const std::vector<int>& fds = {}) {
    auto answer = client_->call(method, std::move(params), fds);
    EXPECT_TRUE(answer) << method << ": " << answer.error().message;
    return answer ? std::move(answer->result) : Json::object();
  }
  // A registered tensor of eight zeros; its id.
  std::int64_t tensor(Mapping& mapping) {
    auto memory = create_memfd("kiln-test", 4096);
    EXPECT_TRUE(memory);
    auto mapped = Mapping::map(memory->get(), 4096, true);
    EXPECT_TRUE(mapped);
    mapping = std::move(*mapped);
    return call("buffer.register", {{"fd", {{"fd", 0}}}}, {memory->get()}).value("buffer", std::int64_t(0));
  }
  static float first(const Mapping& mapping) {
    float value;
    std::memcpy(&value, mapping.data(), sizeof value);
    return value;
  }
  Json softmax(std::int64_t x, std::int64_t y) {
    return {{"program", "softmax"}, {"set", {{"M", 2}, {"N", 4}}}, {"args", {{"X", {{"buffer", x}}}, {"Y", {{"buffer", y}}}}}};
  }

  test::TemporaryFolder folder_;
  ConnectOptions options_;
  std::unique_ptr<Client> client_;
};

TEST_F(ClientTest, BuffersKeepTheirIdsOverAKilledDaemon) {
  Mapping gone, x, y;
  const auto unused = tensor(gone), in = tensor(x), out = tensor(y);
  call("buffer.unregister", {{"buffer", unused}});  // from here on the next daemon's ids are others
  call("kernel.launch", softmax(in, out));
  EXPECT_EQ(first(y), 0.25f);
  const auto pid = client_->daemon_pid();
  kill_daemon();
  std::memset(y.data(), 0, 32);
  call("kernel.launch", softmax(in, out));
  EXPECT_EQ(first(y), 0.25f);
  EXPECT_NE(client_->daemon_pid(), pid);
  const auto listed = call("buffer.list")["buffers"];
  ASSERT_EQ(listed.size(), 2u);
  EXPECT_EQ(listed[0]["buffer"], in);
  EXPECT_EQ(listed[1]["buffer"], out);
  Json positional = softmax(in, out);
  positional["args"] = Json::array({Json{{"buffer", in}}, Json{{"buffer", out}}});
  call("kernel.launch", positional);
  call("buffer.unregister", {{"buffer", in}});
  EXPECT_EQ(call("buffer.list")["buffers"].size(), 1u);
  EXPECT_FALSE(client_->call("kernel.launch", softmax(in, out)));
}

TEST_F(ClientTest, AllocatedMemoryLivesOn) {
  auto answer = client_->call("buffer.alloc", {{"size", 4096}});
  ASSERT_TRUE(answer) << answer.error().message;
  auto y = Mapping::map(answer->fds.at(0).get(), 4096, true);
  ASSERT_TRUE(y);
  Mapping x;
  const auto in = tensor(x);
  kill_daemon();
  call("kernel.launch", softmax(in, answer->result.value("buffer", std::int64_t(0))));
  EXPECT_EQ(first(*y), 0.25f);
}

TEST_F(ClientTest, AHarmlessRequestIsRepeated) {
  auto answer = lose([&] { return client_->call("program.list", Json::object()); });
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_GT(answer->result["programs"].size(), 2u);
}

TEST_F(ClientTest, ARequestThatIsTooLongIsNotSent) {
  const auto most = client_->hello()["limits"].value("line_bytes_max", std::size_t(0));
  ASSERT_GT(most, 0u);
  auto answer = client_->call("program.check", {{"program", std::string(most, 'x')}});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::invalid_argument);
  EXPECT_FALSE(answer.error().retryable);
  EXPECT_NE(answer.error().message.find(std::to_string(most)), std::string::npos) << answer.error().message;
  // Nor one with too many descriptors; the connection is as before.
  const auto memory = create_memfd("kiln-test", 4096);
  ASSERT_TRUE(memory);
  auto many = client_->call("buffer.register", {{"fd", {{"fd", 0}}}}, std::vector<int>(17, memory->get()));
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().code, ErrorCode::invalid_argument);
  call("ping");
}

TEST_F(ClientTest, ALaunchIsNotRepeated) {
  Mapping x, y;
  const auto params = softmax(tensor(x), tensor(y));
  auto answer = lose([&] { return client_->call("kernel.launch", params); });
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::not_running);
  EXPECT_TRUE(answer.error().retryable);
  EXPECT_EQ(first(y), 0.0f);
  call("kernel.launch", params);
  EXPECT_EQ(first(y), 0.25f);
}

TEST_F(ClientTest, AForkedChildConnectsByItself) {
  Mapping x, y;
  const auto params = softmax(tensor(x), tensor(y));
  const auto child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(client_->call("kernel.launch", params) ? 0 : 1);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(first(y), 0.25f);  // the same memory
  call("kernel.launch", params);
  EXPECT_EQ(call("buffer.list")["buffers"].size(), 2u);
}

TEST_F(ClientTest, WithoutAutoStartItSaysSo) {
  auto options = options_;
  options.auto_start = false;
  auto second = Client::connect(options);
  ASSERT_TRUE(second) << second.error().message;
  kill_daemon();
  auto answer = (*second)->call("ping", Json::object());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::not_running);
  call("ping");  // the first one starts it
  EXPECT_TRUE((*second)->call("ping", Json::object()));
}

TEST(DaemonEnvironment, ItsPathsAreAbsolute) {
  const auto values = std::vector<std::string>{"KILN_SOCKET=run/s", "KILN_CACHE_DIR=c", "LD_PRELOAD=x", "LD_LIBRARY_PATH=/x",
                                               "HIP_VISIBLE_DEVICES=1", "HSA_ENABLE_IPC_MODE_LEGACY=1", "ROCM_PATH=/r", "HOME=/h", "KILN_WORKER_HIP=w"};
  Environment environment = read_environment([&](const char* name) -> const char* {
    for (const auto& v : values) if (v.rfind(std::string(name) + "=", 0) == 0) return v.c_str() + std::strlen(name) + 1;
    return nullptr;
  }, 1, "/here");
  environment.all = values;
  EXPECT_EQ(daemon_environment(environment),
            (std::vector<std::string>{"KILN_SOCKET=/here/run/s", "KILN_CACHE_DIR=/here/c", "ROCM_PATH=/r", "HOME=/h", "KILN_WORKER_HIP=w"}));
}

// Memory of one daemon's emulated card in the other daemon's launches: neither is this process's.
TEST_F(ClientTest, MemoryAndEventsOfCardsKeepTheirIds) {
  if (::access(KILN_BIN_DIR "/../lib/kiln/emulated/libamdhip64.so.6", F_OK) != 0) GTEST_SKIP() << "built without LLVM: no emulated card";
  const std::string device = "emu:gfx942";
  constexpr std::uint64_t size = 4 * 64 * 4;
  const auto compiled = client_->call("kernel.compile", {{"program", "softmax"}, {"set", {{"M", 4}, {"N", 64}}}, {"target", "gfx942"}});
  if (!compiled && compiled.error().code == ErrorCode::no_compiler) GTEST_SKIP() << compiled.error().message;
  ASSERT_TRUE(compiled) << to_text(compiled.error());
  const auto key = compiled->result["key"].get<std::string>();

  auto options = options_;
  options.socket = folder_ / "run2/kiln.sock";
  options.daemon_command[2] = options.socket;
  const auto owner = Client::connect(options);
  ASSERT_TRUE(owner) << to_text(owner.error());
  const auto memory = (*owner)->alloc_on_device(device, 2 * size);
  const auto ready = (*owner)->export_event(device);
  ASSERT_TRUE(memory && ready) << to_text(memory.error());
  EXPECT_EQ(memory->ipc.size(), 128u);

  const auto buffer = client_->register_ipc(memory->ipc, device, 0, 2 * size);
  const auto wait = client_->import_event(ready->ipc, device);
  const auto own = client_->export_event(device);
  ASSERT_TRUE(buffer && wait && own) << to_text(buffer.error());
  const Json args{{"X", {{"buffer", *buffer}}}, {"Y", {{"buffer", *buffer}, {"offset", size}}}};
  LaunchOptions launch;
  launch.wait = {*wait};
  launch.event = own->id;
  auto launched = client_->launch(key, device, args, launch);
  ASSERT_TRUE(launched) << to_text(launched.error());
  EXPECT_EQ((*launched)["enqueued"], true);
  EXPECT_EQ((*launched)["event"], own->id);
  ASSERT_TRUE(client_->call("stream.synchronize", Json::object()));

  // Another daemon: other people's memory and event are opened again under the same ids, the card's own event is lost.
  kill_daemon();
  launch.event = 0;
  ASSERT_TRUE(client_->call("hello", Json::object()));
  launched = client_->launch(key, device, args, launch);
  ASSERT_TRUE(launched) << to_text(launched.error());
  EXPECT_TRUE(launched->contains("duration_ms"));
  launch.event = own->id;
  launched = client_->launch(key, device, args, launch);
  ASSERT_FALSE(launched);
  EXPECT_EQ(launched.error().code, ErrorCode::invalid_argument);

  // Gone with its owner: what uses it is refused, the rest goes on.
  const auto stream = client_->call("stream.create", Json::object());
  ASSERT_TRUE(stream);
  ASSERT_TRUE((*owner)->call("buffer.unregister", {{"buffer", memory->id}}));
  kill_daemon();
  ASSERT_TRUE(client_->call("hello", Json::object()));
  launch = {};
  launch.stream = stream->result["stream"].get<std::int64_t>();
  EXPECT_EQ(client_->launch(key, device, args, launch).error().code, ErrorCode::invalid_argument);
  EXPECT_TRUE(client_->call("stream.synchronize", {{"stream", launch.stream}}));
  EXPECT_TRUE(client_->call("stream.release", {{"stream", launch.stream}}));
  EXPECT_FALSE(client_->call("stream.synchronize", {{"stream", launch.stream}}));
  (void)(*owner)->call("shutdown", Json::object());
}

}  // namespace
}  // namespace kiln::client
