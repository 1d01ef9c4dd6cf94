// What a launch gives its kernel, with a test in the kernel's place: whose text it is, and launches that are cancelled.
#include "engine/emulator/machine/hostcall_services.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace kiln::emulator {
namespace {

// The layout of the buffer is hostcall.hpp's.
class Services : public testing::Test {
 protected:
  Services() {
    code_[0].name = "s_sendmsg";
    code_[1].name = "s_sleep";
    execution_.code = code_;
    execution_.instructions = 2;
  }
  void make(const char* argument) {
    Kernel kernel;
    kernel.name = "kernel";
    kernel.arguments.push_back({argument, 0, 8});
    const auto sink = [this](bool, std::string_view text) {
      printed_ += text;
      if (cancels_ && !text.empty()) cancelled_ = true;
    };
    auto made = HostServices::make(kernel, {}, 8, {sink, 1 << 20, &formats_, &cancelled_});
    ASSERT_TRUE(made) << to_text(made.error());
    services_ = std::move(*made);
  }
  std::uint8_t* buffer() { return reinterpret_cast<std::uint8_t*>(services_->shared().at(0).range.begin); }
  template <class T> T& word(std::uint64_t offset) { return *reinterpret_cast<T*>(buffer() + offset); }
  std::uint32_t& control(std::uint64_t packet) { return word<std::uint32_t>(256 + packet * 24 + 20); }

  // One lane's message of less than 8 bytes to stderr.
  void ask(std::uint64_t packet, const char* text) {
    auto* const payloads = reinterpret_cast<std::uint8_t*>(word<std::uint64_t>(8));   // NOLINT: in the buffer
    std::uint64_t words[3] = {1 | 2 | 2 << 5, 1};
    std::memcpy(words + 2, text, std::strlen(text));
    std::memcpy(payloads + packet * 4096, words, sizeof words);
    word<std::uint64_t>(256 + packet * 24) = word<std::uint64_t>(32);
    word<std::uint64_t>(256 + packet * 24 + 8) = 1;
    word<std::uint32_t>(256 + packet * 24 + 16) = 2;
    control(packet) = 1;
    word<std::uint64_t>(32) = packet;
  }
  // Wave `index` of work group 5 gives way; `asked`: by an interrupt.
  void give_way(std::uint32_t index, bool asked) {
    Wave wave;
    wave.index = index;
    wave.execution = &execution_;
    wave.next = asked ? 1 : 2;
    EXPECT_TRUE(services_->serve(wave, 5));
  }
  void expect(std::uint32_t wave, const std::string& text, bool own) {
    const auto found = services_->error_text(5, wave);
    EXPECT_EQ(found.text, text) << wave;
    EXPECT_EQ(found.own, own) << wave;
  }

  Instruction code_[2];
  Execution execution_;
  std::vector<std::string> formats_;
  std::atomic<bool> cancelled_{false};
  bool cancels_ = false;               // the first text cancels the launch
  std::string printed_;
  std::unique_ptr<HostServices> services_;
};

TEST_F(Services, TextIsItsWavesWhereOneHasAsked) {
  make("hidden_hostcall_buffer");
  ask(1, "first");
  give_way(2, true);
  EXPECT_EQ(control(1), 0u);
  expect(2, "first", true);
  expect(3, "", false);
  ask(2, "second");
  give_way(2, true);
  expect(2, "second", true);
}

TEST_F(Services, TextOfOneOfSeveralIsTheWorkGroups) {
  make("hidden_hostcall_buffer");
  ask(1, "first");
  ask(2, "second");
  give_way(2, true);
  EXPECT_EQ(printed_, "firstsecond");
  expect(2, "first", false);
  expect(3, "first", false);
  EXPECT_EQ(services_->error_text(6, 2).text, "");
}

// A wave that only sleeps answers for those that have asked.
TEST_F(Services, TextIsNotThatOfAWaveThatSleeps) {
  make("hidden_hostcall_buffer");
  ask(1, "first");
  give_way(0, false);
  expect(0, "first", false);
  ask(2, "second");
  give_way(1, true);
  expect(0, "first", false);
  expect(1, "second", true);
}

TEST_F(Services, CancellationStopsBetweenRequests) {
  make("hidden_hostcall_buffer");
  cancels_ = true;
  for (const std::uint64_t packet : {1, 2, 3}) ask(packet, "text");
  give_way(0, true);
  EXPECT_EQ(printed_, "text");
  EXPECT_EQ(control(1), 0u);
  EXPECT_EQ(control(2), 1u);
  EXPECT_EQ(control(3), 1u);
}

TEST_F(Services, CancellationStopsThePrintingOfABuffer) {
  formats_ = {"1:0:text"};
  make("hidden_printf_buffer");
  cancels_ = true;
  word<std::uint32_t>(0) = 12;
  for (int i = 0; i < 3; ++i) word<std::uint32_t>(8 + 4 * i) = 1;
  EXPECT_TRUE(services_->finish(false));
  EXPECT_EQ(printed_, "text");
  word<std::uint32_t>(0) = ~0u;        // no right kernel leaves that, but nobody looks at it any more
  EXPECT_TRUE(services_->finish(false));
  EXPECT_EQ(printed_, "text");
}

}  // namespace
}  // namespace kiln::emulator
