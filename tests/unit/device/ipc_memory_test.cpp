// Handles of others' memory, each open once, against a driver of the test's.
#include <gtest/gtest.h>

#include <future>

#include "engine/device/hip/ipc_memory.hpp"

namespace kiln::device {
namespace {

// ---- a driver as strict as one may be: a handle that is open is not opened again -----------------------------------
struct StrictDriver {
  static inline int opened = 0, closed = 0;
  static inline hip::Code answer = hip::success;
  static inline bool is_open = false;
  static inline std::promise<void>* closing = nullptr;          // set: a close tells here that it has begun,
  static inline std::future<void>* may_close = nullptr;         // and waits for this

  static hip::Table table() {
    opened = closed = 0;
    answer = hip::success;
    is_open = false;
    hip::Table made;
    made.hipGetErrorName = [](hip::Code) -> const char* { return "hipErrorOfTheTest"; };
    made.hipGetErrorString = [](hip::Code) -> const char* { return "as told"; };
    made.hipIpcOpenMemHandle = [](void** pointer, hip::IpcBytes, unsigned) -> hip::Code {
      if (answer != hip::success || is_open) return is_open ? hip::already_registered : answer;
      is_open = true;
      ++opened;
      *pointer = reinterpret_cast<void*>(0x2040);
      return hip::success;
    };
    made.hipIpcCloseMemHandle = [](void* pointer) -> hip::Code {
      EXPECT_EQ(pointer, reinterpret_cast<void*>(0x2040));
      if (closing != nullptr) closing->set_value();
      if (may_close != nullptr) may_close->wait();
      is_open = false;
      ++closed;
      return hip::success;
    };
    made.hipMemGetAddressRange = [](void** base, std::size_t* size, void*) -> hip::Code {
      *base = reinterpret_cast<void*>(0x2000);
      *size = 0x1000;
      return hip::success;
    };
    return made;
  }
};

TEST(IpcMemory, OpensAHandleOnceAndClosesItWithItsLastUser) {
  const auto table = StrictDriver::table();
  hip::IpcMemory memory(table);
  const IpcHandle handle{1};
  for (int round = 1; round <= 2; ++round) {
    for (int user = 0; user < 3; ++user) {
      const auto range = memory.open(handle);
      ASSERT_TRUE(range) << to_text(range.error());
      EXPECT_EQ(range->base, 0x2000u);   // the allocation's, not where the handle's pointer lies
      EXPECT_EQ(range->bytes, 0x1000u);
    }
    for (int user = 0; user < 3; ++user) {
      EXPECT_EQ(StrictDriver::closed, round - 1);
      memory.close(handle);
    }
    EXPECT_EQ(StrictDriver::opened, round);
    EXPECT_EQ(StrictDriver::closed, round);
  }
}

TEST(IpcMemory, WhoeverNeedsAHandleThatIsBeingClosedWaitsForIt) {
  const auto table = StrictDriver::table();
  hip::IpcMemory memory(table);
  const IpcHandle handle{1};
  ASSERT_TRUE(memory.open(handle));
  std::promise<void> begun, let;
  auto may = let.get_future();
  StrictDriver::closing = &begun;
  StrictDriver::may_close = &may;
  auto closing = std::async(std::launch::async, [&] { memory.close(handle); });
  begun.get_future().wait();
  StrictDriver::closing = nullptr;
  StrictDriver::answer = hip::invalid_handle;
  EXPECT_EQ(memory.open(IpcHandle{2}).error().code, ErrorCode::invalid_argument);   // others do not wait: the driver is asked
  StrictDriver::answer = hip::success;
  auto again = std::async(std::launch::async, [&] { return memory.open(handle); });
  let.set_value();
  closing.get();
  const auto range = again.get();
  EXPECT_TRUE(range) << to_text(range.error());
  EXPECT_EQ(StrictDriver::opened, 2);
  StrictDriver::may_close = nullptr;
  memory.close(handle);
  EXPECT_EQ(StrictDriver::closed, 2);
}

TEST(IpcMemory, RefusalsSayWhatIsWrongWithTheHandle) {
  const auto table = StrictDriver::table();
  hip::IpcMemory memory(table);
  const IpcHandle handle{1};
  const auto refused = [&](hip::Code code) {
    StrictDriver::answer = code;
    return memory.open(handle).error();
  };
  for (const auto code : {hip::invalid_context, hip::invalid_device_pointer}) {
    const auto error = refused(code);
    EXPECT_EQ(error.code, ErrorCode::invalid_argument);
    EXPECT_NE(error.message.find("device process's own memory"), std::string::npos) << error.message;
    EXPECT_NE(error.message.find("hipIpcOpenMemHandle: hipErrorOfTheTest"), std::string::npos) << error.message;
  }
  EXPECT_EQ(refused(hip::invalid_value).code, ErrorCode::invalid_argument);
  EXPECT_EQ(refused(hip::invalid_handle).code, ErrorCode::not_found);
  EXPECT_EQ(refused(hip::map_failed).code, ErrorCode::not_found);
  EXPECT_EQ(refused(hip::out_of_memory).code, ErrorCode::out_of_memory);
  EXPECT_EQ(refused(hip::not_supported).code, ErrorCode::unsupported);
  StrictDriver::answer = hip::success;
  memory.gave(handle);
  const auto own = memory.open(handle);
  ASSERT_FALSE(own);
  EXPECT_EQ(own.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(StrictDriver::opened, 0);   // the driver was not even asked
  memory.took_back(handle);
  EXPECT_TRUE(memory.open(handle));
  memory.close(handle);
}

}  // namespace
}  // namespace kiln::device
