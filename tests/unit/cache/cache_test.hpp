// What the cache's tests share: a folder of their own, keys and contents by number.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>

#include "cache/disk_store.hpp"
#include "cache/entry.hpp"
#include "engine/base/fd.hpp"
#include "engine/base/os.hpp"

namespace kiln::cache {

inline jit::Key key_of(std::uint64_t number) { return {sha256(view("key " + std::to_string(number)))}; }

// Pseudo-random bytes, the same for the same seed.
inline Bytes content_of(std::uint64_t seed, std::size_t size) {
  std::mt19937_64 random(seed);
  Bytes bytes(size);
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

class CacheTest : public testing::Test {
 protected:
  void SetUp() override {
    // In memory where there is such a folder: these tests sync thousands of files.
    base = std::string(::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp") + "/kiln-cache-test-XXXXXX";
    ASSERT_NE(::mkdtemp(base.data()), nullptr);
    options.folder = base + "/kiln";
    options.temporary_root = base;
    options.warn = [this](const std::string& text) { warnings.push_back(text); };
  }
  void TearDown() override {
    os::disarm_failpoints();
    std::filesystem::remove_all(base);
  }
  std::shared_ptr<DiskStore> open() {
    auto store = DiskStore::open(options);
    EXPECT_TRUE(store) << to_text(store.error());
    return store ? std::move(*store) : nullptr;
  }
  Status put(jit::ObjectStore& store, std::uint64_t number, std::size_t size = 100) {
    return store.store(key_of(number), view("m" + std::to_string(number)), content_of(number, size));
  }
  // Whether the store has the entry that put() makes; another content is a failure.
  bool has(jit::ObjectStore& store, std::uint64_t number, std::size_t size = 100) {
    const auto found = store.lookup(key_of(number));
    if (!found) return false;
    EXPECT_EQ(text(found->metadata), "m" + std::to_string(number));
    EXPECT_TRUE(found->object == content_of(number, size)) << number;
    return true;
  }
  [[nodiscard]] std::string file_of(std::uint64_t number) const {
    const auto hex = key_of(number).hex();
    return options.folder + "/entries/" + hex.substr(0, 2) + "/" + hex;
  }
  // Sets the time of use `seconds` back.
  void age(std::uint64_t number, std::int64_t seconds) const {
    const timespec times[2] = {{0, UTIME_OMIT}, {::time(nullptr) - seconds, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, file_of(number).c_str(), times, 0), 0);
  }
  [[nodiscard]] std::int64_t age_of(std::uint64_t number) const {
    struct stat status {};
    EXPECT_EQ(::stat(file_of(number).c_str(), &status), 0);
    return ::time(nullptr) - status.st_mtim.tv_sec;
  }
  static std::size_t files_in(const std::string& folder) {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
  }
  // Runs `body` in a forked child; its result is the exit status, 1000 + signal when it was killed.
  static int in_child(const std::function<int()>& body) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(body());
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }
  void expect_true_totals(jit::ObjectStore& store) {
    std::uint64_t bytes = 0;
    const auto list = store.list();
    for (const auto& item : list) bytes += item.bytes;
    const auto stats = store.stats();
    EXPECT_EQ(stats.entries, list.size());
    EXPECT_EQ(stats.bytes, bytes);
  }

  std::string base;
  StoreOptions options;
  std::vector<std::string> warnings;
};

}  // namespace kiln::cache
