// A service over a session of a test's own, with the real compiler, device and interpreter; calls go in without a socket.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <future>
#include <thread>

#include "api/service/service.hpp"
#include "cache/disk_store.hpp"
#include "tests/support/temporary_folder.hpp"

namespace kiln::service {

using protocol::Json;

// A block counts to N in a serial loop that nothing can fold away: 2^30 takes the host about ten seconds, 2^24 takes the
// interpreter longer.
inline Json counting_program() {
  return Json::parse(R"J({"kiln": "tile/1", "name": "counting", "symbols": ["N"],
    "params": [{"name": "X", "dtype": "f32", "shape": [16], "access": "read"},
               {"name": "Y", "dtype": "f32", "shape": [16], "access": "write"}],
    "launches": [{"grid": ["1"], "threads": "64", "body": [
      {"op": "alloc", "name": "x", "space": "fragment", "dtype": "f32", "shape": ["16"]},
      {"op": "copy", "from": "X[0:]", "to": "x"},
      {"op": "for", "var": "k", "to": "N", "body": [
        {"op": "map", "index": ["i"], "extent": ["16"], "body": [{"set": "x[i]", "value": "sqrt(abs(x[i])) + 1.0"}]}]},
      {"op": "copy", "from": "x", "to": "Y[0:]"}]}]})J");
}
constexpr std::int64_t endless = std::int64_t(1) << 30;
constexpr std::uint64_t page = 4096;

// One request on its way; `get` waits for its answer.
class Asked {
 public:
  explicit Asked(std::future<Reply> reply) : reply_(std::move(reply)) {}
  [[nodiscard]] bool answered() const { return reply_.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }
  // The result, or {"error": name}. The bound only ends a hopeless wait.
  Json get() {
    if (reply_.wait_for(std::chrono::seconds(120)) != std::future_status::ready) {
      ADD_FAILURE() << "no answer";
      return nullptr;
    }
    auto reply = reply_.get();
    if (!reply.result) return {{"error", error_name(reply.result.error().code)}, {"message", reply.result.error().message}};
    return std::move(*reply.result);
  }
  std::string error() { return get().value("error", "none"); }

 private:
  std::future<Reply> reply_;
};

class ServiceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(bin("kiln-compile-host"))) GTEST_SKIP() << "built without LLVM: there is no host device";
    session_ = open_session({bin("kiln-compile-host")});
    open();
  }
  static std::string bin(const std::string& name) { return KILN_BIN_DIR "/" + name; }
  std::shared_ptr<jit::Session> open_session(const std::vector<std::string>& worker, int workers_max = 2) {
    jit::SessionOptions options;
    options.store = cache::open_store({.folder = folder_ / "cache", .temporary_root = folder_.path(), .warn = {}});
    options.pool.commands = {{"host", worker, ""}};
    options.pool.workers_max = workers_max;
    options.pool.temporary_folder = folder_.path();
    options.log_path = folder_ / "log";
    options.device_host_command = {bin("kiln-device-host")};
    options.reference_command = {bin("kiln-reference")};
    auto session = jit::Session::create(std::move(options));
    EXPECT_TRUE(session) << to_text(session.error());
    return std::move(*session);
  }
  // Connection 1 is there.
  void open(const protocol::Limits& limits = {}) {
    service_.reset();
    ServiceOptions options;
    options.limits = limits;
    options.build_id = "test";
    options.programs_folder = KILN_SOURCE_DIR "/kernels/programs";
    service_ = Service::create(std::move(options), session_);
    connect(1);
  }
  void connect(ConnectionId id) { service_->connected(id, Peer{int(::getpid()), ::getuid(), true}); }

  struct More {
    ConnectionId connection = 1;
    Json id = nullptr;             // null: the next number
    bool notification = false;
    std::int64_t deadline_ms = -1;
    int fd = -1;                   // duplicated
  };
  Asked ask(const std::string& method, Json params, const More& more) {
    auto promise = std::make_shared<std::promise<Reply>>();
    Asked asked(promise->get_future());
    Call call;
    call.connection = more.connection;
    call.request.method = method;
    call.request.notification = more.notification;
    if (!more.notification) call.request.id = more.id.is_null() ? Json(++id_) : more.id;
    call.request.params = std::move(params);
    if (more.deadline_ms >= 0) call.deadline = Deadline::after(std::chrono::milliseconds(more.deadline_ms));
    if (more.fd >= 0) call.fds.emplace_back(::dup(more.fd));
    call.reply = [promise](Reply reply) { promise->set_value(std::move(reply)); };
    call.progress = [](Json) {};
    service_->call(std::move(call));
    return asked;
  }
  Asked ask(const std::string& method, Json params = Json::object()) { return ask(method, std::move(params), More{}); }

  std::uint64_t alloc(std::uint64_t bytes = page, ConnectionId connection = 1) {
    More more;
    more.connection = connection;
    const auto answer = ask("buffer.alloc", {{"size", bytes}}, more).get();
    EXPECT_TRUE(answer.contains("buffer")) << answer;
    return answer.value("buffer", std::uint64_t(0));
  }
  Json counting(std::int64_t n, std::uint64_t x, std::uint64_t y) {
    return {{"program", counting_program()}, {"set", {{"N", n}}}, {"args", {{"X", {{"buffer", x}}}, {"Y", {{"buffer", y}}}}}};
  }
  Json stats() { return ask("engine.stats", Json::object()).get()["service"]; }
  void wait_for_launches(std::uint64_t count) {
    while (stats()["launches"] < count) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  test::TemporaryFolder folder_;
  std::shared_ptr<jit::Session> session_;
  std::unique_ptr<Service> service_;

 private:
  std::int64_t id_ = 1000;
};

}  // namespace kiln::service
