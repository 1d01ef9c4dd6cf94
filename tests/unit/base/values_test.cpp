// Errors, diagnostics, bytes and hashes.
#include <gtest/gtest.h>

#include <cerrno>
#include <set>

#include "engine/base/bytes.hpp"
#include "engine/base/deadline.hpp"
#include "engine/base/diagnostics.hpp"
#include "engine/base/hash.hpp"
#include "engine/base/result.hpp"

namespace kiln {
namespace {

TEST(Error, every_code_has_a_name_of_its_own) {
  std::set<std::string> names;
  for (int i = 0; i < error_code_count; ++i) names.insert(error_name(static_cast<ErrorCode>(i)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(error_code_count));
  EXPECT_STREQ(error_name(ErrorCode::internal), "internal");
}

TEST(Error, errno_maps_to_codes) {
  EXPECT_EQ(errno_error(ENOENT, "x").code, ErrorCode::not_found);
  EXPECT_EQ(errno_error(ENOSPC, "x").code, ErrorCode::disk_full);
  EXPECT_EQ(errno_error(EDQUOT, "x").code, ErrorCode::disk_full);
  EXPECT_EQ(errno_error(EROFS, "x").code, ErrorCode::permission_denied);
  EXPECT_EQ(errno_error(EIO, "x").code, ErrorCode::io_error);
  EXPECT_TRUE(errno_error(EMFILE, "x").retryable);
  EXPECT_EQ(errno_error(EIO, "cannot read").message, "cannot read: Input/output error");
}

Result<int> half_of(int x) {
  if (x % 2) return Error(ErrorCode::invalid_argument, "odd").with("in half_of");
  return x / 2;
}
Result<int> quarter_of(int x) {
  KILN_TRY(const int half, half_of(x));
  KILN_CHECK(half_of(half));
  return half_of(half);
}

TEST(Error, try_and_check_propagate) {
  EXPECT_EQ(quarter_of(8).value(), 2);
  ASSERT_FALSE(quarter_of(6));
  EXPECT_EQ(to_text(quarter_of(6).error()), "invalid_argument: odd\n  in half_of");
  EXPECT_TRUE(ok().has_value());
}

TEST(Error, broken_invariants_abort) { EXPECT_DEATH(KILN_ASSERT(1 + 1 == 3), "1 \\+ 1 == 3"); }

TEST(Diagnostic, text_has_place_reason_and_hint) {
  Diagnostic d;
  d.pointer = "/launches/0/body/3/value";
  d.message = "unknown name";
  d.expected = "a tile";
  d.found = "'Q'";
  d.hint = "declare it first";
  EXPECT_EQ(to_text(d), "error at /launches/0/body/3/value: unknown name (expected a tile, found 'Q'); hint: declare it first");
}

TEST(Diagnostic, caret_stands_below_the_characters) {
  Diagnostic d;
  d.pointer = "/a";
  d.message = "no such name";
  d.source = "é + bad * 2";
  d.offset = 5;  // é has two bytes
  d.length = 3;
  EXPECT_EQ(to_text(d), "error at /a:5: no such name\n  é + bad * 2\n      ^^^");
  d.source = "a\nb c";
  d.offset = 4;
  d.length = 9;
  EXPECT_EQ(to_text(d), "error at /a:4: no such name\n  b c\n    ^");
  d.offset = 77;  // beyond the end: at the end
  EXPECT_EQ(to_text(d), "error at /a:77: no such name\n  b c\n     ^");
}

TEST(Diagnostics, limit_keeps_the_first_and_counts_on) {
  Diagnostics all(2);
  all.add({Severity::warning, "/0", "w"});
  EXPECT_FALSE(all.has_errors());
  all.add({Severity::note, "/1", "n"});
  all.add({Severity::error, "/2", "e"});
  EXPECT_TRUE(all.has_errors());
  EXPECT_EQ(all.list().size(), 2u);
}

TEST(Diagnostics, long_finds_are_cut_between_characters) {
  Diagnostics all;
  Diagnostic d;
  for (int i = 0; i < 150; ++i) d.found += "é";
  all.add(d);
  const auto& found = all.list()[0].found;
  EXPECT_LE(found.size(), 200u);
  EXPECT_EQ(make_valid_utf8(found), found);
  EXPECT_TRUE(found.ends_with("…"));
}

TEST(Bytes, writer_and_reader_agree) {
  enum class Kind : std::uint8_t { a, b, c };
  Writer w;
  w.u8(7); w.u32(1u << 31); w.u64(~0ull); w.i64(-5); w.f64(-0.5); w.boolean(true); w.string("hé"); w.bytes(Bytes{1, 2});
  w.enumeration(Kind::c);
  w.list(std::vector<int>{3, 4}, [](Writer& to, int item) { to.i64(item); });
  Reader r(w.data());
  EXPECT_EQ(r.u8(), 7); EXPECT_EQ(r.u32(), 1u << 31); EXPECT_EQ(r.u64(), ~0ull); EXPECT_EQ(r.i64(), -5);
  EXPECT_EQ(r.f64(), -0.5); EXPECT_TRUE(r.boolean()); EXPECT_EQ(r.string(), "hé"); EXPECT_EQ(r.bytes().size(), 2u);
  EXPECT_EQ(r.enumeration(Kind::c), Kind::c);
  EXPECT_EQ(r.list<int>([](Reader& from) { return int(from.i64()); }), (std::vector<int>{3, 4}));
  EXPECT_TRUE(r.finish());
}

TEST(Bytes, every_cut_is_refused) {
  Writer w;
  w.string("abc");
  w.list(std::vector<int>{1, 2, 3}, [](Writer& to, int item) { to.u32(item); });
  for (std::size_t n = 0; n < w.data().size(); ++n) {
    Reader r(ByteView(w.data()).first(n));
    r.string();
    r.list<std::uint32_t>([](Reader& from) { return from.u32(); });
    EXPECT_FALSE(r.finish()) << n;
  }
  Reader more(w.data());
  more.string();
  EXPECT_FALSE(more.finish());
}

TEST(Bytes, impossible_counts_are_refused) {
  Writer w;
  w.u32(0xffffffffu);
  Reader text(w.data()), list(w.data());
  EXPECT_EQ(text.string(), "");
  EXPECT_FALSE(text.ok());
  EXPECT_EQ(list.count(8), 0u);
  EXPECT_FALSE(list.ok());
}

TEST(Bytes, hex) {
  EXPECT_EQ(to_hex(Bytes{0, 15, 255}), "000fff");
  EXPECT_EQ(from_hex("000FfF").value(), (Bytes{0, 15, 255}));
  EXPECT_FALSE(from_hex("abc"));
  EXPECT_FALSE(from_hex("0g"));
  EXPECT_EQ(from_hex("").value(), Bytes());
}

TEST(Bytes, utf8_is_made_valid) {
  const std::string mark = "\xef\xbf\xbd";
  EXPECT_EQ(make_valid_utf8("aé€𝄞"), "aé€𝄞");
  EXPECT_EQ(make_valid_utf8("\xff" "a"), mark + "a");
  EXPECT_EQ(make_valid_utf8("\xc0\xaf"), mark + mark);                  // overlong
  EXPECT_EQ(make_valid_utf8("\xed\xa0\x80"), mark + mark + mark);       // surrogate
  EXPECT_EQ(make_valid_utf8("\xf4\x90\x80\x80"), mark + mark + mark + mark);
  EXPECT_EQ(make_valid_utf8("\xe2\x82"), mark);                         // cut short
  EXPECT_EQ(make_valid_utf8("\xf0\x9d\x84" "x"), mark + "x");
  EXPECT_EQ(make_valid_utf8(std::string_view("\0", 1)), std::string(1, '\0'));
}

TEST(Hash, known_answers) {
  // FIPS 180-4 examples: "abc" and the empty message.
  EXPECT_EQ(to_hex(sha256(view("abc"))), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(to_hex(sha256({})), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(checksum64({}), 0x2d06800538d394c2ull);  // XXH3_64bits of nothing
  EXPECT_NE(checksum64(view("a")), checksum64(view("b")));
}

// RFC 4231, test cases 1, 2, 6.
TEST(Hash, HmacOfKnownTexts) {
  EXPECT_EQ(to_hex(hmac_sha256(Bytes(20, 0x0b), view("Hi There"))),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(to_hex(hmac_sha256(view("Jefe"), view("what do ya want for nothing?"))),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(to_hex(hmac_sha256(Bytes(131, 0xaa), view("Test Using Larger Than Block-Size Key - Hash Key First"))),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Hash, EqualInConstantTimeIsEqual) {
  auto digest = sha256(view("abc"));
  const auto same = digest;
  EXPECT_TRUE(equal_in_constant_time(digest, same));
  for (auto& byte : digest) {
    byte ^= 1;
    EXPECT_FALSE(equal_in_constant_time(digest, same));
    byte ^= 1;
  }
}

TEST(Deadline, never_past_and_earlier) {
  const Deadline never;
  EXPECT_FALSE(never.passed());
  EXPECT_EQ(never.left_ms(), -1);
  const auto past = Deadline::after(std::chrono::milliseconds(-1));
  EXPECT_TRUE(past.passed());
  EXPECT_EQ(past.left_ms(), 0);
  const auto late = Deadline::after(std::chrono::hours(1));
  EXPECT_FALSE(late.passed());
  EXPECT_TRUE(late.earlier(past).passed());
  EXPECT_TRUE(never.earlier(past).passed());
  EXPECT_FALSE(never.earlier(late).never());
}

TEST(Budget, units_cancel_and_deadline_end_it) {
  Budget units(2);
  EXPECT_TRUE(units.spend(2));
  EXPECT_EQ(units.spend().error().code, ErrorCode::resource_limit);
  const auto until_error = [](Budget budget) {
    for (int i = 0; i < 5000; ++i)
      if (auto status = budget.spend(); !status) return status.error().code;
    return ErrorCode::internal;
  };
  CancelToken token;
  token.cancel();
  EXPECT_EQ(until_error(Budget(1000000, {}, token)), ErrorCode::cancelled);
  EXPECT_EQ(until_error(Budget(1000000, Deadline::after(std::chrono::milliseconds(-1)))), ErrorCode::deadline_exceeded);
}

}  // namespace
}  // namespace kiln
