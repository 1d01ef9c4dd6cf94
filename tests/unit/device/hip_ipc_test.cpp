// Memory that the HIP device's process shares with others, on the emulated card. This process is the other one.
#include <signal.h>

#include "tests/unit/device/hip_sharing.hpp"

namespace kiln::device {
namespace {

TEST_F(HipIpcTest, RunsOnMemoryOfThisProcess) {
  const Memory in(1), out(0);
  const auto x = open(in.handle()), y = open(out.handle());
  const auto report = launch(y, x).get();
  ASSERT_TRUE(report) << to_text(report.error());
  EXPECT_EQ(out.words(), expected(1));
  const auto read = contents(y);
  ASSERT_TRUE(read) << to_text(read.error());
  EXPECT_EQ(*read, out.words());
  EXPECT_TRUE(device_->unmap(x));
  EXPECT_TRUE(device_->unmap(y));
}

TEST_F(HipIpcTest, AHandleIsOpenOnceHoweverOftenItIsAskedFor) {
  const Memory both(1, 2 * bytes);
  const auto handle = both.handle();
  const auto first = open(handle, 0, 2 * bytes), second = open(handle, bytes);
  EXPECT_TRUE(device_->unmap(first));
  const auto again = open(handle);
  const auto report = launch(second, again).get();
  ASSERT_TRUE(report) << to_text(report.error());
  const auto words = both.words(2 * bytes);
  EXPECT_EQ(std::vector<std::uint32_t>(words.begin() + n, words.end()), expected(1));
  EXPECT_TRUE(device_->unmap(second));
  EXPECT_TRUE(device_->unmap(again));
  const auto last = open(handle);   // opened anew
  EXPECT_TRUE(device_->unmap(last));
}

TEST_F(HipIpcTest, RangesAndHandlesAreChecked) {
  const Memory memory(1);
  const auto handle = memory.handle();
  EXPECT_EQ(refused(handle, 0, bytes + 1), ErrorCode::invalid_argument);
  EXPECT_EQ(refused(handle, bytes, 1), ErrorCode::invalid_argument);
  EXPECT_EQ(refused(handle, ~std::uint64_t(0), 8), ErrorCode::invalid_argument);
  EXPECT_EQ(refused(handle, 8, ~std::uint64_t(0)), ErrorCode::invalid_argument);
  EXPECT_EQ(refused(handle, 0, 0), ErrorCode::invalid_argument);
  EXPECT_EQ(refused(IpcHandle{}), ErrorCode::invalid_argument);
  // An inner pointer's handle names the same allocation, and what overlaps there is noticed.
  const auto inner = handle_of(static_cast<char*>(memory.pointer) + 64);
  const auto x = open(handle), y = open(inner);
  EXPECT_EQ(launch(y, x).get().error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(device_->open_event(handle).error().code, ErrorCode::invalid_argument);
  const SharedEvent event;
  EXPECT_EQ(refused(event.handle), ErrorCode::invalid_argument);
}

TEST_F(HipIpcTest, FreedMemoryIsNotFoundAndTheCauseIsNamed) {
  IpcHandle handle;
  {
    const Memory memory(1);
    handle = memory.handle();
  }
  const auto gone = device_->open_memory(handle, 0, bytes);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, ErrorCode::not_found);
  const auto text = to_text(gone.error());
  for (const char* part : {"hipIpcOpenMemHandle", "hipErrorInvalidHandle", "freed", "HSA_ENABLE_IPC_MODE_LEGACY", "namespaces"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST_F(HipIpcTest, AllocatesMemoryForOthers) {
  const auto made = device_->allocate(2 * bytes);
  ASSERT_TRUE(made) << to_text(made.error());
  hip::IpcBytes from;
  std::memcpy(&from, made->handle.data(), sizeof from);
  void* pointer = nullptr;
  check(own_hip().hipIpcOpenMemHandle(&pointer, from, hip::ipc_lazy_peer_access));
  std::vector<std::uint32_t> words(2 * n, 1);
  check(own_hip().hipMemcpyDtoH(words.data(), pointer, 2 * bytes));
  EXPECT_EQ(words, std::vector<std::uint32_t>(2 * n));
  for (std::uint32_t i = 0; i < n; ++i) words[i] = i + 1;
  check(own_hip().hipMemcpyHtoD(pointer, words.data(), bytes));
  const auto report = launch(made->buffer, made->buffer, {}, bytes).get();
  ASSERT_TRUE(report) << to_text(report.error());
  const auto read = contents(made->buffer, bytes);
  ASSERT_TRUE(read) << to_text(read.error());
  EXPECT_EQ(*read, expected(1));
  const auto own = device_->open_memory(made->handle, 0, bytes);
  ASSERT_FALSE(own);
  EXPECT_EQ(own.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(own.error().message.find("own memory"), std::string::npos) << own.error().message;
  check(own_hip().hipIpcCloseMemHandle(pointer));
  EXPECT_TRUE(device_->unmap(made->buffer));
  EXPECT_EQ(device_->allocate(std::uint64_t(1) << 50).error().code, ErrorCode::out_of_memory);
}

TEST_F(HipIpcTest, ImportsADescriptorOfTheCardsMemory) {
  const Memory in(1), out(0);
  const auto import = [&](const Memory& memory) -> BufferId {
    int fd = -1;
    check(own_hip().hipMemGetHandleForAddressRange(&fd, memory.pointer, bytes, hip::dma_buf_handle, 0));
    const UniqueFd held(fd);
    const auto id = device_->import_memory(fd, 0, bytes);
    EXPECT_TRUE(id) << to_text(id.error());
    EXPECT_EQ(device_->import_memory(fd, 0, 1 << 20).error().code, ErrorCode::invalid_argument);
    return id.value_or(0);
  };
  const auto report = launch(import(out), import(in)).get();
  ASSERT_TRUE(report) << to_text(report.error());
  EXPECT_EQ(out.words(), expected(1));
}

TEST_F(HipIpcTest, WhatTheProcessOwnedIsLostWithItAndTheRestIsOpenedAgain) {
  const Memory in(1), out(0);
  const auto x = open(in.handle()), y = open(out.handle());
  const SharedEvent event;
  const auto imported = open(event);
  const auto own = device_->allocate(bytes);
  const auto made = device_->make_event();
  ASSERT_TRUE(own && made);
  for (const auto pid : children()) ASSERT_EQ(::kill(pid, SIGKILL), 0);
  LaunchSettings waits;
  waits.wait = {imported};
  Result<LaunchReport> report = Error(ErrorCode::internal, "");
  do report = launch(y, x, waits).get();
  while (!report && report.error().code == ErrorCode::device_lost && report.error().retryable);
  ASSERT_TRUE(report) << to_text(report.error());
  EXPECT_EQ(out.words(), expected(1));
  const auto lost = launch(own->buffer, x).get();
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, ErrorCode::device_lost);
  EXPECT_FALSE(lost.error().retryable);
  EXPECT_NE(lost.error().message.find("allocate it again"), std::string::npos) << lost.error().message;
  EXPECT_EQ(contents(own->buffer).error().code, ErrorCode::device_lost);
  waits.wait = {made->event};
  EXPECT_EQ(launch(y, x, waits).get().error().code, ErrorCode::device_lost);
  EXPECT_TRUE(device_->unmap(own->buffer));
  EXPECT_TRUE(device_->close_event(made->event));
  EXPECT_EQ(device_->unmap(own->buffer).error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace kiln::device
