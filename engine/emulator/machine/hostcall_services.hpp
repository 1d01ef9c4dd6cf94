// What a launch gives its kernel beside arguments: calls to the host, a buffer for printf, the barrier of its grid.
// Each is made where the kernel's metadata asks for it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/base/result.hpp"
#include "engine/emulator/core/wave.hpp"
#include "engine/emulator/machine/hostcall.hpp"
#include "engine/emulator/machine/hostcall_memory.hpp"
#include "engine/emulator/machine/hostcall_output.hpp"
#include "engine/emulator/machine/hostcall_print_buffer.hpp"
#include "engine/emulator/machine/kernel_arguments.hpp"

namespace kiln::emulator {

class HostServices {
 public:
  // Whether the kernel may print: only then it needs a sink.
  static bool prints(const Kernel& kernel);
  // `waves`: under way at once, at most. `sink`: where text goes. `formats`: the object's; null: it has none; kept
  // until finish. Errors: out_of_memory.
  static Result<std::unique_ptr<HostServices>> make(const Kernel& kernel, const Geometry& geometry, std::uint64_t waves,
                                                    PrintSink sink, std::uint64_t print_bytes_max,
                                                    const std::vector<std::string>* formats);
  HostServices(const HostServices&) = delete;

  struct Shared {
    MemoryRange range;
    const char* name = "";
  };
  [[nodiscard]] const HiddenAddresses& addresses() const { return addresses_; }
  [[nodiscard]] const std::vector<Shared>& shared() const { return shared_; }       // what kernels may touch of it
  // The barrier's words, by which waves of different work groups are ordered; empty where there is none.
  [[nodiscard]] MemoryRange grid_barrier() const;

  // Answers what the kernel has asked for, when `wave` of work group `group` gave way; it runs on then. False: the wave
  // has stopped with a fault. Any thread.
  bool serve(Wave& wave, std::uint64_t group);
  // What a wave has last printed to stderr, maybe; "" when nothing is known.
  [[nodiscard]] std::string error_text(std::uint64_t group, std::uint32_t wave) const;
  // When the launch has ended: prints what is left. Errors: corrupt; after a fault that is not looked at.
  Status finish(bool faulted);

 private:
  HostServices(PrintSink sink, std::uint64_t print_bytes_max, const std::string& kernel)
      : output_(std::move(sink), print_bytes_max, kernel), calls_(output_) {}
  Status open_grid_barrier(const Geometry& geometry);
  void share(const HostPages& pages, const char* name);

  struct ErrorText {
    std::uint64_t group = 0;
    std::uint32_t wave = 0;
    std::string text;
  };
  PrintedOutput output_;
  HostCalls calls_;
  PrintBuffer printed_;
  HostPages grid_barrier_;
  HiddenAddresses addresses_;
  std::vector<Shared> shared_;
  const std::vector<std::string>* formats_ = nullptr;
  mutable std::mutex mutex_;           // guards what follows
  std::deque<ErrorText> error_texts_;  // the last ones
};

}  // namespace kiln::emulator
