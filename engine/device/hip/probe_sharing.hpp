// The trials that need a second process, and those of descriptors. Internal to the probes.
#pragma once

#include "engine/base/bytes.hpp"
#include "engine/base/channel.hpp"
#include "engine/base/process.hpp"
#include "engine/device/hip/ipc_memory.hpp"
#include "engine/device/hip/probes.hpp"
#include "engine/device/hip/table.hpp"

namespace kiln::device::hip {

inline constexpr std::size_t probe_bytes = 1 << 20;
// Bytes that no other seed gives.
Bytes probe_pattern(std::uint8_t seed);

// In the order of the functions; each gives what it found.
class SharingTrial {
 public:
  // `memory`: probe_bytes of the card's, whose contents are lost; it and the stream outlive this.
  SharingTrial(const Table& table, const ProbeOptions& options, int ordinal, void* memory, Stream stream)
      : table_(table), options_(options), ordinal_(ordinal), memory_(memory), stream_(stream) {}
  ~SharingTrial();
  SharingTrial(const SharingTrial&) = delete;
  Result<std::string> own_handle();
  Result<std::string> export_all();
  Result<std::string> second_opens();
  Result<std::string> second_answers();
  Result<std::string> dma_buf();

 private:
  Status call(Code code, const char* name) const { return table_.check(code, name); }
  Result<std::string> hear();

  const Table& table_;
  const ProbeOptions& options_;
  const int ordinal_;
  void* const memory_;
  const Stream stream_;
  Event ready_ = nullptr, done_ = nullptr;
  IpcBytes memory_handle_{}, ready_handle_{}, done_handle_{};
  ChildProcess second_;
  UniqueFd socket_;
};

}  // namespace kiln::device::hip
