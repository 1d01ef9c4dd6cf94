// What prints and asserts leave behind: records in a workspace of their own, which whoever ran a launch reads after it.
//
// The workspace holds i64, starts as zeros and is laid out as
//   header_words     0: how many prints came, 1: how many asserts failed; counted also where no slot was left
//   prints_max       slots of prints, in the order in which they came
//   failures_max     slots of failed asserts: prints do not take them
// A slot has slot_words: x | y << 32 of the block; z | site << 32; the iteration of the site's map, row-major; its
// values (integers, booleans and indices as i64, floats as their bits, sign-extended); nothing. engine/specialize
// writes the statements that fill it, from what is said here.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/base/result.hpp"
#include "engine/ir/bound/arithmetic.hpp"
#include "engine/ir/types.hpp"

namespace kiln::bound {

inline constexpr std::int64_t header_words = 8, slot_words = 8, prints_max = 1024, failures_max = 64;
inline constexpr std::int64_t value_word = 3;   // of a slot, the first one
inline constexpr std::int64_t records_words = header_words + (prints_max + failures_max) * slot_words;

// One print or assert of a program; records name it by its number.
struct RecordSite {
  std::string pointer;               // the statement's, or the map item's
  std::string text;
  bool asserts = false;
  std::vector<std::int64_t> extent;  // of the map that it stands in; empty: in none
  std::vector<DType> values;         // index stands for index arithmetic
};

struct Record {
  std::size_t site = 0;
  std::array<std::int64_t, 3> block{};
  std::vector<std::int64_t> index;   // of the map that it stands in
  std::vector<Value> values;         // canonical, of the site's types
};
// Sorted by block (z, then y, then x), site and iteration; equal ones as they came, which is their order in the block.
struct Records {
  std::vector<Record> prints, failures;
  std::uint64_t prints_dropped = 0, failures_dropped = 0;
};

// Of the workspace's bytes, as a launch left them. `corrupt` when they are not what a program with these sites writes.
Result<Records> read_records(ByteView bytes, const std::vector<RecordSite>& sites);

// "1.5", "-3", "true", "nan": the shortest decimal that reads back as the value.
std::string value_text(DType type, Value value);
// "block (1, 0, 0), index (3, 4): x = 1.5, 2": where, and what with.
std::string record_text(const Record& record, const RecordSite& site);

// What launches that failed an assert are answered with: assertion_failed, a diagnostic a failure. Nothing where none
// did. Requires records of these sites.
Status check_assertions(const Records& records, const std::vector<RecordSite>& sites);

}  // namespace kiln::bound
