// printf's conversions for kernels' text, compared with this machine's, and the formats in an object's metadata.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "engine/emulator/machine/hostcall_format.hpp"
#include "engine/emulator/machine/hostcall_print_buffer.hpp"
#include "tests/unit/emulator/printed_text.hpp"

namespace kiln::emulator {
namespace {

class Words {
 public:
  Words& add(std::uint64_t word) {
    for (int i = 0; i < 8; ++i) bytes_.push_back(static_cast<std::uint8_t>(word >> i * 8));
    return *this;
  }
  Words& add(double value) {
    std::uint64_t word;
    std::memcpy(&word, &value, sizeof word);
    return add(word);
  }
  Words& add(const std::string& text) {
    bytes_.insert(bytes_.end(), text.begin(), text.end());
    bytes_.resize((bytes_.size() + 8) / 8 * 8);
    return *this;
  }
  [[nodiscard]] std::string print(std::string_view format, std::size_t bytes_max = 1 << 20) const {
    WordArguments arguments(bytes_);
    return format_print(format, arguments, bytes_max);
  }

 private:
  Bytes bytes_;
};

TEST(PrintFormat, IntegersOfEveryLength) {
  for (const std::uint64_t word : {0ull, 1ull, 0x7full, 0x80ull, 0xffffull, 0x80000000ull, 0xfffffffffedcba98ull}) {
    const auto i = static_cast<int>(word);
    const auto l = static_cast<long long>(word);
    EXPECT_EQ(Words().add(word).print("<%d>"), printed("<%d>", i));
    EXPECT_EQ(Words().add(word).print("<%+i>"), printed("<%+i>", i));
    EXPECT_EQ(Words().add(word).print("<%-12u>"), printed("<%-12u>", static_cast<unsigned>(i)));
    EXPECT_EQ(Words().add(word).print("<%#o>"), printed("<%#o>", static_cast<unsigned>(i)));
    EXPECT_EQ(Words().add(word).print("<%#012x>"), printed("<%#012x>", static_cast<unsigned>(i)));
    EXPECT_EQ(Words().add(word).print("<%lX>"), printed("<%lX>", static_cast<unsigned long>(word)));
    for (const char* length : {"l", "ll", "j", "z", "t", "q"})
      EXPECT_EQ(Words().add(word).print(std::string("<% ") + length + "d>"), printed("<% lld>", l)) << length;
    EXPECT_EQ(Words().add(word).print("<%hd %%>"), printed("<%hd %%>", static_cast<short>(word)));
    EXPECT_EQ(Words().add(word).print("<%hhu>"), printed("<%hhu>", static_cast<unsigned char>(word)));
    EXPECT_EQ(Words().add(word).print("<%20.9lld>"), printed("<%20.9lld>", l));
  }
}

TEST(PrintFormat, RealsCharactersStringsAndPointers) {
  for (const double value : {0.0, -0.0, 1.5, -1e300, 1e-310, 123456.789, std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(Words().add(value).print("%f"), printed("%f", value));
    EXPECT_EQ(Words().add(value).print("%+12.3E|"), printed("%+12.3E|", value));
    EXPECT_EQ(Words().add(value).print("%#g"), printed("%#g", value));
    EXPECT_EQ(Words().add(value).print("%a"), printed("%a", value));
    EXPECT_EQ(Words().add(value).print("%.200f"), printed("%.200f", value));
  }
  EXPECT_EQ(Words().add(std::uint64_t('x')).print("%c|%%"), "x|%");
  EXPECT_EQ(Words().add(std::uint64_t(0)).print("%c"), std::string(1, '\0'));
  EXPECT_EQ(Words().add(std::uint64_t('x')).print("%-3lc|"), "x  |");
  EXPECT_EQ(Words().add("eight888").add("b").print("%s%s"), "eight888b");   // its 0 takes another word
  EXPECT_EQ(Words().add("text").add("").print("%6.2s|%-3s|"), "    te|   |");
  EXPECT_EQ(Words().add(std::uint64_t(0xabc)).print("%8p|"), "   0xabc|");
  EXPECT_EQ(Words().add(std::uint64_t(0)).print("%p"), "(nil)");
}

TEST(PrintFormat, ExtentsFromArguments) {
  EXPECT_EQ(Words().add(std::uint64_t(6)).add(std::uint64_t(2)).add(1.25).print("%*.*f|"), "  1.25|");
  EXPECT_EQ(Words().add(std::uint64_t(-6)).add(std::uint64_t(7)).print("%*d|"), "7     |");
  EXPECT_EQ(Words().add(std::uint64_t(-1)).add(1.25).print("%.*f"), "1.250000");
  EXPECT_EQ(Words().add(0.0).print("%.f"), "0");
}

// Whatever stands there, the text is finite and nothing is read that is not there.
TEST(PrintFormat, WhatIsNoConversionPrintsItself) {
  EXPECT_EQ(Words().print("%d and %s %f %*d"), "%d and %s %f %*d");
  EXPECT_EQ(Words().add(std::uint64_t(5)).print("%y%d%"), "%y5%");
  EXPECT_EQ(Words().add(std::uint64_t(1)).add(std::uint64_t(2)).print("%n%d"), "2");
  EXPECT_EQ(Words().add(std::uint64_t(1)).print("%lll"), "%ll" "l");
  EXPECT_EQ(Words().add(std::uint64_t(1)).print("%99999999999999999999d").size(), 65535u);
  EXPECT_EQ(Words().add(std::uint64_t(0x7fffffff)).add(std::uint64_t(1)).print("%*d").size(), 65535u);
  EXPECT_EQ(Words().add(std::uint64_t(0x80000000)).add(std::uint64_t(1)).print("%*d").size(), 65535u);
  std::string wide;
  for (int i = 0; i < 1000; ++i) wide += "%60000d";
  Words many;
  for (std::uint64_t i = 0; i < 1000; ++i) many.add(i);
  EXPECT_LE(many.print(wide, 100000).size(), 200000u);
}

TEST(PrintFormat, OpenClSizes) {
  const std::uint32_t sizes[] = {4, 8, 4, 8, 8};
  Bytes bytes(32);
  const float f = 2.5f;
  const double d = -0.125;
  const std::int64_t l = -5;
  const std::uint32_t u = 7;
  std::memcpy(bytes.data(), &u, 4);
  std::memcpy(bytes.data() + 4, &l, 8);
  std::memcpy(bytes.data() + 12, &f, 4);
  std::memcpy(bytes.data() + 16, &d, 8);
  std::memcpy(bytes.data() + 24, "abc", 4);
  SizedArguments arguments(bytes, sizes, 5);
  EXPECT_EQ(format_print("%u %ld %g %g %s %d", arguments, 1000), "7 -5 2.5 -0.125 abc %d");
}

// An argument that has no bytes is not there: else conversions could come to nothing without an end.
TEST(PrintFormat, OpenClArgumentsOfNoSize) {
  const std::uint32_t sizes[] = {0, 4, 0, 0};
  const std::uint32_t u = 7;
  Bytes bytes(4);
  std::memcpy(bytes.data(), &u, 4);
  SizedArguments arguments(bytes, sizes, 4);
  EXPECT_EQ(format_print("%n %u %s %*d", arguments, 1000), "%n 7 %s %*d");
}

// Pieces of a buffer that print nothing, or little for how long they take, use up what a launch may print.
TEST(PrintBuffer, PiecesThatPrintNothingEndToo) {
  std::string none = "1:1024:";
  for (int i = 0; i < 1024; ++i) none += "0:";
  for (int i = 0; i < 1024; ++i) none += "%n";
  const std::pair<std::string, std::uint32_t> cases[] = {   // a format; bytes of a piece
      {"1:0:", 4}, {none, 4}, {"1:1:4:%" + std::string(8000, '0') + "n", 8}};
  for (const auto& [format, bytes] : cases) {
    PrintBuffer buffer;
    ASSERT_TRUE(buffer.open());
    constexpr std::uint32_t pieces = 4096;
    const std::uint32_t used = pieces * bytes, number = 1;
    std::memcpy(buffer.memory().at(0), &used, 4);
    for (std::uint32_t i = 0; i < pieces; ++i) std::memcpy(buffer.memory().at(8 + i * bytes), &number, 4);
    std::string printed, errors;
    const auto sink = [&](bool error, std::string_view text) { (error ? errors : printed) += text; };
    PrintedOutput output(sink, 3000, "kernel");
    EXPECT_TRUE(buffer.print(PrintFormats({format}), output));
    EXPECT_TRUE(output.dropping()) << format.substr(0, 20);
    EXPECT_LE(printed.size(), 3000u);
    EXPECT_NE(errors.find("kernel has printed what one launch may"), std::string::npos) << errors;
  }
}

TEST(PrintFormat, MetadataThatIsMalformedIsLeftOut) {
  const PrintFormats formats({"", ":", "1", "1:2:4:x", "2:1:4:a\\72b\\n\\ %d", "3:9999999999:",
                              "4:1:99999999999:a", "5:0:"});
  EXPECT_TRUE(formats.sized());
  ASSERT_NE(formats.by_number(1), nullptr);   // the compiler counts arguments that it gives no size
  EXPECT_EQ(formats.by_number(1)->sizes.size(), 1u);
  ASSERT_NE(formats.by_number(2), nullptr);
  EXPECT_EQ(formats.by_number(2)->text, "a:b\n\\ %d");
  EXPECT_EQ(formats.by_number(3), nullptr);
  EXPECT_EQ(formats.by_number(4), nullptr);
  EXPECT_NE(formats.by_number(5), nullptr);
  const PrintFormats hashed({"0:0:00ffee,a,b\n", "0:0:no number,x"});
  EXPECT_FALSE(hashed.sized());
  ASSERT_NE(hashed.by_hash(0xffee), nullptr);
  EXPECT_EQ(*hashed.by_hash(0xffee), "a,b\n");
}

}  // namespace
}  // namespace kiln::emulator
