// A session over a cache of its own, with workers that do what a program's name says (tests/support/fault_worker.cpp).
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <future>
#include <thread>

#include "cache/disk_store.hpp"
#include "engine/base/fd.hpp"
#include "engine/jit/session.hpp"
#include "tests/support/small_program.hpp"
#include "tests/support/temporary_folder.hpp"

namespace kiln::jit {

using test::lines_of;
using test::small_request;

class SessionTest : public ::testing::Test {
 protected:
  std::string worker() { return KILN_TEST_DIR "/fault_worker"; }
  std::string log() { return folder_ / "compiles"; }
  std::string gate() { return folder_ / "gate"; }
  void make_gate() { ASSERT_EQ(::mkfifo(gate().c_str(), 0600), 0); }
  void open_gate() { UniqueFd fd(::open(gate().c_str(), O_WRONLY | O_CLOEXEC)); ASSERT_TRUE(fd); }
  void wait_for_compiles(std::size_t count) {
    while (lines_of(log()).size() < count) std::this_thread::yield();
  }
  std::shared_ptr<ObjectStore> open_store() {
    return cache::open_store({.folder = folder_ / "cache", .temporary_root = folder_.path(), .warn = {}});
  }
  SessionOptions options(const std::vector<std::string>& command = {}) {
    SessionOptions options;
    options.store = open_store();
    const std::vector<std::string> usual = {worker(), "--compile-log", log(), "--gate", gate()};
    options.pool.commands = {{"hip", command.empty() ? usual : command, ""},
                             {"host", command.empty() ? usual : command, ""}};
    options.pool.workers_max = 2;
    options.pool.temporary_folder = folder_.path();
    options.log_path = folder_ / "log";
    options.device_host_command = {KILN_TEST_DIR "/fault_device"};
    options.reference_command = {KILN_BIN_DIR "/kiln-reference"};
    return options;
  }
  std::unique_ptr<Session> open(SessionOptions options) {
    auto session = Session::create(std::move(options));
    EXPECT_TRUE(session) << to_text(session.error());
    return std::move(*session);
  }
  std::unique_ptr<Session> open() { return open(options()); }
  static std::future<Result<CompileOutcome>> start(Session& session, CompileRequest request) {
    auto promise = std::make_shared<std::promise<Result<CompileOutcome>>>();
    auto future = promise->get_future();
    session.compile(std::move(request),
                    [promise](Result<CompileOutcome> outcome) { promise->set_value(std::move(outcome)); });
    return future;
  }
  static CompileRequest must_hit(const std::string& name) {
    auto request = small_request(name);
    request.must_hit = true;
    return request;
  }

  test::TemporaryFolder folder_;
};

}  // namespace kiln::jit
