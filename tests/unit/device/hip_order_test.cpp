// How launches on the emulated card are ordered by events and streams. This process is the other one that has them.
#include <deque>
#include <iostream>
#include <numeric>

#include "tests/unit/device/hip_sharing.hpp"

namespace kiln::device {
namespace {

TEST_F(HipIpcTest, EventsOrderTheLaunch) {
  const Memory in(1), out(0);
  const auto x = open(in.handle()), y = open(out.handle());
  const SharedEvent ready;
  const auto made = device_->make_event();
  ASSERT_TRUE(made) << to_text(made.error());
  hip::IpcBytes from;
  std::memcpy(&from, made->handle.data(), sizeof from);
  hip::Event done = nullptr;
  check(own_hip().hipIpcOpenEventHandle(&done, from));
  const Busy busy;
  check(own_hip().hipEventRecord(ready.event, busy.stream));
  std::promise<void> enqueued;
  LaunchSettings settings;
  settings.wait = {open(ready)};
  settings.record = made->event;
  settings.enqueued = [&] { enqueued.set_value(); };
  auto report = launch(y, x, std::move(settings));
  enqueued.get_future().get();
  EXPECT_EQ(own_hip().hipEventQuery(done), hip::not_ready);
  EXPECT_EQ(report.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  busy.let_go();
  check(own_hip().hipEventSynchronize(done));
  EXPECT_EQ(out.words(), expected(1));
  EXPECT_TRUE(report.get());
  EXPECT_TRUE(device_->close_event(made->event));
  EXPECT_EQ(device_->close_event(made->event).error().code, ErrorCode::not_found);
}

TEST_F(HipIpcTest, NothingWaitsForALaunchThatWaits) {
  const Memory in(1), out(0), others(1, 2 * bytes);
  const auto x = open(in.handle()), y = open(out.handle());
  const SharedEvent ready;
  const Busy busy;
  check(own_hip().hipEventRecord(ready.event, busy.stream));
  LaunchSettings settings;
  settings.wait = {open(ready)};
  auto waiting = launch(y, x, settings);
  const auto waiting_id = last_;
  // What HIP does behind everything that runs on the card must not hold others up.
  for (int round = 0; round < 3; ++round) {
    const auto from = open(others.handle()), to = open(others.handle(), bytes);
    EXPECT_TRUE(launch(to, from, LaunchSettings(std::uint64_t(10 + round))).get());
    EXPECT_TRUE(device_->unmap(from));
    EXPECT_TRUE(device_->unmap(to));
  }
  const auto own = device_->allocate(bytes);
  ASSERT_TRUE(own) << to_text(own.error());
  EXPECT_TRUE(contents(own->buffer));
  EXPECT_TRUE(device_->unmap(own->buffer));
  const auto before = children();
  const auto begin = std::chrono::steady_clock::now();
  device_->cancel(waiting_id);
  const auto report = waiting.get();
  const auto took = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  std::cout << "a launch that waits was cancelled in " << took << " ms (promised: 100)\n";
  EXPECT_EQ(report.error().code, ErrorCode::cancelled);
  EXPECT_TRUE(launch(y, x).get());
  EXPECT_EQ(children(), before);   // it ended by itself
}

std::vector<std::uint32_t> untouched() {   // what Memory(0) holds
  std::vector<std::uint32_t> words(n);
  std::iota(words.begin(), words.end(), 0u);
  return words;
}

// What the caller of a launch with an event hears of it.
struct Enqueued {
  std::promise<void> told;
  std::future<void> heard = told.get_future();
  LaunchSettings settings(EventId record, std::vector<EventId> wait = {}) {
    LaunchSettings made;
    made.record = record;
    made.wait = std::move(wait);
    made.enqueued = [this] { told.set_value(); };
    return made;
  }
};

TEST_F(HipIpcTest, LaunchesOfOneStreamAreGivenToTheCardWhileEarlierOnesWait) {
  const Memory in(1), first(0), second(0);
  const auto x = open(in.handle()), y = open(first.handle()), z = open(second.handle());
  const SharedEvent ready, one, two;
  const Busy busy;
  check(own_hip().hipEventRecord(ready.event, busy.stream));
  Enqueued a, b;
  auto front = launch(y, x, a.settings(open(one), {open(ready)}));
  auto behind = launch(z, y, b.settings(open(two)));
  a.heard.get();
  b.heard.get();
  EXPECT_EQ(own_hip().hipEventQuery(two.event), hip::not_ready);
  EXPECT_EQ(second.words(), untouched());
  busy.let_go();
  check(own_hip().hipEventSynchronize(two.event));
  EXPECT_EQ(first.words(), expected(1));
  std::vector<std::uint32_t> twice(n);   // of what the first one wrote
  for (std::uint32_t i = 0; i < n; ++i) twice[i] = 7 * i + expected(1)[i];
  EXPECT_EQ(second.words(), twice);
  EXPECT_TRUE(front.get());
  EXPECT_TRUE(behind.get());
}

TEST_F(HipIpcTest, OneThatIsCancelledTakesThoseBehindItAlongAndLeavesThoseBeforeIt) {
  const Memory in(1), first(0), second(0), third(0);
  const auto x = open(in.handle()), y = open(first.handle()), z = open(second.handle()), w = open(third.handle());
  const SharedEvent ready, one, two, three;
  const Busy busy;
  check(own_hip().hipEventRecord(ready.event, busy.stream));
  Enqueued a, b, c;
  auto front = launch(y, x, a.settings(open(one), {open(ready)}));
  auto cancelled = launch(z, x, b.settings(open(two)));
  const auto middle = last_;
  auto behind = launch(w, x, c.settings(open(three)));
  c.heard.get();
  const auto before = children();
  device_->cancel(middle);
  ASSERT_TRUE(device_->make_event());   // answered behind the cancellation, which nobody answers
  EXPECT_EQ(own_hip().hipEventQuery(one.event), hip::not_ready);   // the front one waits on
  busy.let_go();
  EXPECT_TRUE(front.get());
  EXPECT_EQ(cancelled.get().error().code, ErrorCode::cancelled);
  EXPECT_EQ(behind.get().error().code, ErrorCode::cancelled);
  for (const auto* event : {&one, &two, &three}) check(own_hip().hipEventSynchronize(event->event));   // nobody hangs
  EXPECT_EQ(first.words(), expected(1));
  EXPECT_EQ(second.words(), untouched());
  EXPECT_EQ(third.words(), untouched());
  EXPECT_TRUE(launch(w, x).get());   // the stream goes on
  EXPECT_EQ(children(), before);
}

TEST_F(HipIpcTest, MemoryIsHeldUntilItIsFree) {
  const Memory in(1), out(0);
  const auto x = open(in.handle()), y = open(out.handle());
  const auto own = device_->allocate(bytes);
  ASSERT_TRUE(own) << to_text(own.error());
  const SharedEvent ready;
  const Busy busy;
  check(own_hip().hipEventRecord(ready.event, busy.stream));
  Enqueued card;
  auto waiting = launch(y, x, card.settings(0, {open(ready)}));
  card.heard.get();   // else nothing would be in the way
  std::promise<void> freed;
  auto free = freed.get_future();
  // HIP frees behind everything that runs on the card, and that waits.
  std::shared_ptr<const void> until_free(nullptr, [&](const void*) { freed.set_value(); });
  EXPECT_TRUE(device_->unmap(own->buffer, std::move(until_free)));
  EXPECT_EQ(free.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  busy.let_go();
  EXPECT_TRUE(waiting.get());
  free.get();
}

TEST_F(HipIpcTest, MemoryThatAFailureLeavesBehindIsHeldUntilItIsFree) {
  const Memory in(1), out(0);
  const auto x = open(in.handle()), y = open(out.handle());
  const Memory other(1);
  const SharedEvent ready;
  const Busy busy;
  check(own_hip().hipEventRecord(ready.event, busy.stream));
  Enqueued card;
  auto waiting = launch(y, x, card.settings(0, {open(ready)}));
  card.heard.get();   // else nothing would be in the way
  std::promise<void> freed, at_once;
  auto free = freed.get_future();
  const auto refused = device_->open_memory(other.handle(), 0, bytes + 1,
                                            {nullptr, [&](const void*) { freed.set_value(); }});
  EXPECT_FALSE(refused);
  EXPECT_EQ(free.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  EXPECT_TRUE(device_->open_memory(other.handle(), 0, bytes, {nullptr, [&](const void*) { at_once.set_value(); }}));
  at_once.get_future().get();
  busy.let_go();
  EXPECT_TRUE(waiting.get());
  free.get();
}

// More of them than the card is given at a time.
TEST_F(HipIpcTest, WhatWaitsToBeGivenToTheCardIsCancelledWithTheOneBeforeIt) {
  const Memory in(1), first(0), others(0);
  const auto x = open(in.handle()), y = open(first.handle()), z = open(others.handle());
  const SharedEvent ready, one, rest;
  const Busy busy;
  check(own_hip().hipEventRecord(ready.event, busy.stream));
  LaunchSettings records;
  Enqueued card;
  auto front = launch(y, x, card.settings(open(one), {open(ready)}));
  const auto front_id = last_;
  card.heard.get();   // one that waits itself would be taken out alone
  records.record = open(rest);
  std::vector<Reported> behind;
  for (int i = 0; i < 300; ++i) behind.push_back(launch(z, x, records));
  device_->cancel(last_);   // of those that wait it is taken out alone
  EXPECT_EQ(behind.back().get().error().code, ErrorCode::cancelled);
  behind.pop_back();
  device_->cancel(front_id);
  EXPECT_EQ(front.get().error().code, ErrorCode::cancelled);
  for (auto& report : behind) {
    const auto told = report.get();
    ASSERT_FALSE(told);
    ASSERT_EQ(told.error().code, ErrorCode::cancelled);
  }
  EXPECT_EQ(others.words(), untouched());
  EXPECT_TRUE(launch(z, x, records).get());   // the stream goes on
  EXPECT_EQ(others.words(), expected(1));
}

// Launches whose events are there already do not wait: memory is freed behind them, however many there are.
TEST_F(HipIpcTest, AStreamThatIsNeverIdleDoesNotKeepOthersMemory) {
  const Memory in(1), out(0);
  const auto x = open(in.handle()), y = open(out.handle());
  const SharedEvent ready, done;
  check(own_hip().hipEventRecord(ready.event, nullptr));
  check(own_hip().hipEventSynchronize(ready.event));
  const auto own = device_->allocate(bytes);
  ASSERT_TRUE(own) << to_text(own.error());
  LaunchSettings settings;
  settings.wait = {open(ready)};
  settings.record = open(done);
  metadata_.launches.assign(64, metadata_.launches[0]);   // they take the card longer than this thread
  load();
  std::deque<Reported> running;
  for (int i = 0; i < 64; ++i) running.push_back(launch(y, x, settings));
  const auto freed = std::make_shared<std::promise<void>>();
  auto free = freed->get_future();
  EXPECT_TRUE(device_->unmap(own->buffer, {nullptr, [freed](const void*) { freed->set_value(); }}));
  const auto hopeless = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (free.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    ASSERT_LT(std::chrono::steady_clock::now(), hopeless);
    ASSERT_TRUE(running.front().get());
    running.pop_front();
    running.push_back(launch(y, x, settings));
  }
  for (auto& report : running) EXPECT_TRUE(report.get());
}

}  // namespace
}  // namespace kiln::device
