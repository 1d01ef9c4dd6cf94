#include "engine/tune/record_store.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <thread>

#include "tests/support/temporary_folder.hpp"
#include "tests/unit/tune/record_test.hpp"

namespace kiln::tune {
namespace {

using test::TemporaryFolder;

class RecordStoreTest : public testing::Test {
 protected:
  std::unique_ptr<RecordStore> open(std::vector<jit::TuningRecord> shipped = {}) {
    return std::make_unique<RecordStore>(RecordStoreOptions{folder_.path() + "/tuning", std::move(shipped),
                                                            [this](const std::string& line) { said_.push_back(line); },
                                                            4096});
  }
  std::string file(const std::string& id) { return folder_.path() + "/tuning/" + id; }

  TemporaryFolder folder_;
  std::vector<std::string> said_;
};

TEST_F(RecordStoreTest, WhatOneWritesTheNextFinds) {
  const auto record = some_record();
  const auto id = record_id(record.identity);
  const auto first = open();
  EXPECT_EQ(first->find(id), nullptr);
  const auto before = first->generation();
  ASSERT_TRUE(first->put(record));
  EXPECT_NE(first->generation(), before);
  ASSERT_NE(first->find(id), nullptr);
  const auto second = open();
  EXPECT_TRUE(second->any_at(id.substr(0, 32)));
  EXPECT_FALSE(second->any_at(std::string(32, '0')));
  ASSERT_NE(second->find(id), nullptr);
  EXPECT_EQ(*second->find(id), record);
  EXPECT_EQ(std::filesystem::status(file(id)).permissions() & std::filesystem::perms(077),
            std::filesystem::perms::none);
}

TEST_F(RecordStoreTest, AWriteReplacesAndIsNews) {
  auto record = some_record();
  const auto id = record_id(record.identity);
  const auto store = open();
  ASSERT_TRUE(store->put(record));
  EXPECT_EQ(store->find(id)->ratio, 0.75);
  const auto before = store->generation();
  record.ratio = 0.5;
  ASSERT_TRUE(store->put(record));
  EXPECT_NE(store->generation(), before);
  EXPECT_EQ(store->find(id)->ratio, 0.5);
}

TEST_F(RecordStoreTest, AnotherProcessesWriteIsSeen) {
  const auto record = some_record();
  const auto id = record_id(record.identity);
  const auto reader = open();
  EXPECT_EQ(reader->find(id), nullptr);
  const auto before = reader->generation();
  ASSERT_TRUE(open()->put(record));
  while (reader->generation() == before) std::this_thread::yield();
  EXPECT_NE(reader->find(id), nullptr);
}

TEST_F(RecordStoreTest, ADamagedRecordIsRemovedAndTold) {
  const auto record = some_record();
  const auto id = record_id(record.identity);
  ASSERT_TRUE(open()->put(record));
  std::filesystem::resize_file(file(id), 40);
  EXPECT_EQ(open()->find(id), nullptr);
  EXPECT_FALSE(std::filesystem::exists(file(id)));
  ASSERT_EQ(said_.size(), 1u);
  EXPECT_NE(said_[0].find(id), std::string::npos);
}

TEST_F(RecordStoreTest, ARecordUnderAnothersNameIsRemoved) {
  const auto record = some_record();
  const auto id = record_id(record.identity), other = record_id(some_record(2).identity);
  ASSERT_TRUE(open()->put(record));
  std::filesystem::rename(file(id), file(other));
  EXPECT_EQ(open()->find(other), nullptr);
  EXPECT_FALSE(std::filesystem::exists(file(other)));
}

// What others put in its place is neither waited for nor followed.
TEST_F(RecordStoreTest, OnlyRegularFilesAreRead) {
  const auto record = some_record();
  const auto id = record_id(record.identity);
  ASSERT_TRUE(open()->put(record));
  std::filesystem::rename(file(id), file(id) + ".away");
  ASSERT_EQ(::mkfifo(file(id).c_str(), 0600), 0);
  EXPECT_EQ(open()->find(id), nullptr);
  std::filesystem::remove(file(id));
  std::filesystem::create_symlink(file(id) + ".away", file(id));
  EXPECT_EQ(open()->find(id), nullptr);
}

TEST_F(RecordStoreTest, AnotherBuildsRecordIsListedAndNotUsed) {
  auto record = some_record();
  record.identity.version = "another build";
  ASSERT_TRUE(open()->put(record));
  const auto store = open();
  EXPECT_EQ(store->find(record_id(some_record().identity)), nullptr);
  ASSERT_EQ(store->list().size(), 1u);
  EXPECT_EQ(store->list()[0].unusable, "measured by another build");
}

TEST_F(RecordStoreTest, RemovesByName) {
  const auto record = some_record();
  const auto id = record_id(record.identity);
  const auto store = open();
  ASSERT_TRUE(store->put(record));
  EXPECT_TRUE(*store->remove(id));
  EXPECT_EQ(store->find(id), nullptr);
  EXPECT_FALSE(*store->remove(id));
  EXPECT_EQ(store->remove("../../etc/passwd").error().code, ErrorCode::invalid_argument);
}

TEST_F(RecordStoreTest, ShippedRecordsLieBelowTheUsersAndStay) {
  auto shipped = some_record();
  shipped.identity.version = "the build that measured it";
  shipped.ratio = 0.9;
  const auto id = record_id(some_record().identity);
  const auto store = open({shipped});
  EXPECT_TRUE(store->any_at(id.substr(0, 32)));
  ASSERT_NE(store->find(id), nullptr);
  EXPECT_EQ(store->find(id)->ratio, 0.9);
  EXPECT_EQ(store->remove(id).error().code, ErrorCode::permission_denied);
  ASSERT_TRUE(store->put(some_record()));
  EXPECT_EQ(store->find(id)->ratio, 0.75);
  EXPECT_EQ(store->list().size(), 2u);
  EXPECT_TRUE(*store->remove(id));
  EXPECT_EQ(store->find(id)->ratio, 0.9);
}

TEST_F(RecordStoreTest, JournalsComeBackAndGo) {
  const auto record = some_record();
  const auto id = record_id(record.identity);
  Journal journal{record.identity, "asked", {{sha256(view("a")), true, record.rows[0]}}};
  ASSERT_TRUE(open()->write_journal(id, journal));
  const auto store = open();
  ASSERT_TRUE(store->read_journal(id));
  EXPECT_EQ(*store->read_journal(id), journal);
  EXPECT_EQ(store->find(id), nullptr) << "a journal is no record";
  store->remove_journal(id);
  EXPECT_FALSE(store->read_journal(id));
}

TEST_F(RecordStoreTest, TheOldestGoesBeyondTheLimit) {
  RecordStore store({folder_.path() + "/tuning", {}, nullptr, 3});
  std::vector<std::string> ids;
  for (std::uint8_t i = 1; i <= 4; ++i) {
    ASSERT_TRUE(store.put(some_record(i)));
    ids.push_back(record_id(some_record(i).identity));
    const auto then = std::filesystem::file_time_type::clock::now() - std::chrono::hours(10 - i);
    std::filesystem::last_write_time(file(ids.back()), then);
  }
  EXPECT_EQ(store.list().size(), 3u);
}

TEST_F(RecordStoreTest, JournalsGoByCountAndAge) {
  RecordStoreOptions options;
  options.folder = folder_.path() + "/tuning";
  options.journals_max = 3;
  RecordStore store(options);
  std::vector<std::string> ids;
  const auto write = [&](std::uint8_t i) {
    const auto record = some_record(i);
    ids.push_back(record_id(record.identity));
    ASSERT_TRUE(store.write_journal(ids.back(), {record.identity, "asked", {}}));
  };
  const auto age = [&](std::size_t i, std::chrono::hours hours) {
    std::filesystem::last_write_time(file("journals/" + ids[i]), std::filesystem::file_time_type::clock::now() - hours);
  };
  for (std::uint8_t i = 1; i <= 3; ++i) write(i), age(i - 1u, std::chrono::hours(20 - i));
  EXPECT_EQ(store.journals(), 3u);
  write(4);
  EXPECT_EQ(store.journals(), 3u);
  EXPECT_FALSE(store.read_journal(ids[0])) << "the oldest";
  EXPECT_TRUE(store.read_journal(ids[1]));
  age(1, options.journal_age_max + std::chrono::hours(1));
  write(5);
  EXPECT_FALSE(store.read_journal(ids[1])) << "too old";
}

TEST_F(RecordStoreTest, FilesOfKilledWritersGo) {
  const auto store = open();
  ASSERT_TRUE(store->put(some_record(1)));
  const auto id = record_id(some_record(2).identity);
  const auto now = std::filesystem::file_time_type::clock::now();
  const std::pair<std::string, int> files[] = {{"." + id + ".12.1", 2}, {"." + id + ".12.2", 0}, {".other", 2}};
  for (const auto& [name, hours] : files) {
    ASSERT_TRUE(write_file(file(name), view("half")));
    std::filesystem::last_write_time(file(name), now - std::chrono::hours(hours));
  }
  ASSERT_TRUE(store->put(some_record(3)));
  EXPECT_FALSE(std::filesystem::exists(file("." + id + ".12.1")));
  EXPECT_TRUE(std::filesystem::exists(file("." + id + ".12.2"))) << "somebody may be writing it";
  EXPECT_TRUE(std::filesystem::exists(file(".other"))) << "not ours";
}

TEST_F(RecordStoreTest, WhatCouldNotBeReadBackIsNotWritten) {
  auto record = some_record();
  record.checked_against.assign(record_bytes_max, 'x');
  const auto store = open();
  EXPECT_EQ(store->put(record).error().code, ErrorCode::resource_limit);
  EXPECT_TRUE(store->list().empty());
}

TEST(RecordStoreInMemory, HasLimits) {
  RecordStoreOptions options;
  options.records_max = options.journals_max = 2;
  RecordStore store(options);
  for (std::uint8_t i = 1; i <= 3; ++i) {
    ASSERT_TRUE(store.put(some_record(i)));
    ASSERT_TRUE(store.write_journal(record_id(some_record(i).identity), {some_record(i).identity, "asked", {}}));
  }
  EXPECT_EQ(store.list().size(), 2u);
  EXPECT_EQ(store.journals(), 2u);
  EXPECT_EQ(store.own(record_id(some_record(1).identity)), nullptr);
}

TEST(RecordStoreInMemory, ServesItsProcess) {
  RecordStore store({"", {}, nullptr, 4096});
  ASSERT_TRUE(store.put(some_record()));
  EXPECT_NE(store.find(record_id(some_record().identity)), nullptr);
}

}  // namespace
}  // namespace kiln::tune
