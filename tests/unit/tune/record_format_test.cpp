#include "engine/tune/record_format.hpp"

#include <random>

#include "engine/base/hash.hpp"
#include "tests/unit/tune/record_test.hpp"

namespace kiln::tune {
namespace {

Journal some_journal() {
  const auto record = some_record();
  Journal journal{record.identity, "asked", {}};
  for (const auto& row : record.rows) journal.entries.push_back({sha256(view(row.name)), row.times_ms.size() > 2, row});
  return journal;
}

TEST(RecordFormat, ReadsWhatItWrote) {
  const auto record = some_record();
  const auto read = decode_record(encode_record(record));
  ASSERT_TRUE(read) << to_text(read.error());
  EXPECT_EQ(*read, record);
  const auto journal = decode_journal(encode_journal(some_journal()));
  ASSERT_TRUE(journal) << to_text(journal.error());
  EXPECT_EQ(*journal, some_journal());
}

TEST(RecordFormat, EveryCutIsCorrupt) {
  const auto record = encode_record(some_record()), journal = encode_journal(some_journal());
  for (std::size_t size = 0; size < record.size(); ++size) {
    const auto read = decode_record(ByteView(record).first(size));
    ASSERT_FALSE(read) << size;
    EXPECT_EQ(read.error().code, ErrorCode::corrupt);
  }
  for (std::size_t size = 0; size < journal.size(); ++size)
    ASSERT_FALSE(decode_journal(ByteView(journal).first(size))) << size;
}

TEST(RecordFormat, EveryDamagedByteIsNoticed) {
  const auto good = encode_record(some_record());
  for (std::size_t at = 0; at < good.size(); ++at) {
    auto bad = good;
    bad[at] ^= 0x10;
    ASSERT_FALSE(decode_record(bad)) << at;
  }
}

// Damage that knows the checksum reaches the reader of values: it may refuse or give a value, never crash.
TEST(RecordFormat, DamageUnderARightChecksumDoesNotCrash) {
  std::mt19937_64 random(3);
  const auto good = encode_record(some_record());
  int refused = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    auto bad = good;
    for (int i = 0; i < 3; ++i) bad[12 + random() % (bad.size() - 20)] = static_cast<std::uint8_t>(random());
    Writer sum;
    sum.u64(checksum64(ByteView(bad).first(bad.size() - 8)));
    std::copy(sum.data().begin(), sum.data().end(), bad.end() - 8);
    const auto read = decode_record(bad);
    if (!read) ++refused;
    else EXPECT_TRUE(decode_record(encode_record(*read)));
  }
  EXPECT_GT(refused, 100);
}

TEST(RecordFormat, AnotherVersionAndAnotherKindAreTold) {
  auto newer = encode_record(some_record());
  newer[8] = 2;
  Writer sum;
  sum.u64(checksum64(ByteView(newer).first(newer.size() - 8)));
  std::copy(sum.data().begin(), sum.data().end(), newer.end() - 8);
  EXPECT_EQ(decode_record(newer).error().code, ErrorCode::unsupported);
  EXPECT_EQ(decode_journal(encode_record(some_record())).error().code, ErrorCode::corrupt);
}

TEST(RecordFormat, FiguresThatAreNoTimesAreRefused) {
  for (const double figure :
       {-1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    auto record = some_record();
    record.rows[0].times_ms[1] = figure;
    EXPECT_FALSE(decode_record(encode_record(record))) << figure;
  }
}

TEST(RecordName, DependsOnEveryPartOfTheIdentity) {
  const auto identity = some_record().identity;
  std::vector<jit::TuningIdentity> others(10, identity);
  others[0].program.fill(9);
  others[1].settings["dtype"] = "f16";
  others[2].layouts.clear();
  others[3].align["A"] = 4;
  others[4].classes["M"] = "9";
  others[5].target = "host:avx512";
  others[6].device_class = "host: some processor, 4 threads";
  others[7].version = "another";
  others[8].of_candidates = "00";
  others[9].settings["BM"] = "8";
  const auto name = record_id(identity);
  EXPECT_EQ(name.size(), 64u);
  EXPECT_EQ(name, record_id(some_record().identity));
  for (std::size_t i = 0; i < others.size(); ++i) EXPECT_NE(record_id(others[i]), name) << i;
}

}  // namespace
}  // namespace kiln::tune
