#include "cache/entry.hpp"

#include <gtest/gtest.h>

#include <random>

#include "engine/base/fd.hpp"
#include "tests/support/page_example.hpp"
#include "tests/unit/cache/cache_test.hpp"

namespace kiln::cache {
namespace {

TEST(Entry, round_trip_of_all_sizes) {
  for (const std::size_t metadata : {0, 1, 300})
    for (const std::size_t object : {0, 1, 70000}) {
      const auto bytes = encode_entry(key_of(1), content_of(2, metadata), content_of(3, object));
      EXPECT_EQ(bytes.size(), entry_bytes(metadata, object));
      const auto entry = decode_entry(key_of(1), bytes);
      ASSERT_TRUE(entry);
      EXPECT_EQ(entry->key, key_of(1));
      EXPECT_TRUE(entry->metadata == content_of(2, metadata));
      EXPECT_TRUE(entry->object == content_of(3, object));
    }
}

// The example of the normative page is an entry as we write it.
TEST(Entry, the_documents_example) {
  const auto example = test::page_example(KILN_SOURCE_DIR "/cache/ENTRY.md", "");
  ASSERT_TRUE(example);
  const jit::Key key{sha256(view("example"))};
  EXPECT_TRUE(*example == encode_entry(key, view("meta"), view("object")));
  EXPECT_TRUE(decode_entry(key, *example));
}

TEST(Entry, every_flipped_bit_is_a_defect) {
  const auto sound = encode_entry(key_of(1), view("metadata"), content_of(1, 50));
  for (std::size_t bit = 0; bit < sound.size() * 8; ++bit) {
    auto bytes = sound;
    bytes[bit / 8] ^= std::uint8_t(1u << (bit % 8));
    EXPECT_FALSE(decode_entry(key_of(1), bytes)) << "bit " << bit;
  }
}

TEST(Entry, every_cut_and_every_tail_is_a_defect) {
  auto bytes = encode_entry(key_of(1), view("metadata"), content_of(1, 50));
  for (std::size_t n = 0; n < bytes.size(); ++n) EXPECT_FALSE(decode_entry(key_of(1), ByteView(bytes).first(n))) << n;
  bytes.push_back(0);
  EXPECT_EQ(decode_entry(key_of(1), bytes).error(), Defect::long_entry);
}

TEST(Entry, another_keys_entry_is_a_defect) {
  const auto bytes = encode_entry(key_of(1), {}, {});
  EXPECT_EQ(decode_entry(key_of(2), bytes).error(), Defect::wrong_key);
}

TEST(Entry, impossible_sizes_are_defects) {
  const std::uint64_t huge[] = {~0ull, ~0ull - 71, 1ull << 63, 51, 0};
  for (const auto metadata : huge)
    for (const auto object : huge) {
      auto bytes = encode_entry(key_of(1), {}, content_of(1, 50));
      std::memcpy(bytes.data() + 48, &metadata, 8);
      std::memcpy(bytes.data() + 56, &object, 8);
      const auto checksum = checksum64(ByteView(bytes).first(bytes.size() - 8));  // of one who means it
      std::memcpy(bytes.data() + bytes.size() - 8, &checksum, 8);
      EXPECT_FALSE(decode_entry(key_of(1), bytes)) << metadata << " " << object;
    }
}

TEST(Entry, random_bytes_are_defects) {
  const std::uint64_t seed = 5;
  std::mt19937_64 random(seed);
  for (int i = 0; i < 2000; ++i) {
    auto bytes = content_of(random(), random() % 200);
    if (bytes.size() > 16 && i % 2) std::memcpy(bytes.data(), encode_entry(key_of(1), {}, {}).data(), 16);
    EXPECT_FALSE(decode_entry(key_of(1), bytes)) << "seed " << seed << ", case " << i;
  }
}

}  // namespace
}  // namespace kiln::cache
