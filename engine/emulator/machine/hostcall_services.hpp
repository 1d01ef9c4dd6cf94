// What a launch gives its kernel beside arguments: calls to the host, a buffer for printf, the barrier of its grid.
// Each is made where the kernel's metadata asks for it.
#pragma once

#include <atomic>
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
#include "engine/emulator/machine/report.hpp"

namespace kiln::emulator {

class HostServices {
 public:
  // Whether the kernel may print: only then it needs a sink.
  static bool prints(const Kernel& kernel);
  // Whether what it prints lies in a buffer, in the order in which its waves have taken room there.
  static bool prints_to_buffer(const Kernel& kernel);
  // What both kinds of printf need; pointers are kept until finish.
  struct Printing {
    PrintSink sink;                                       // where text goes
    std::uint64_t bytes_max = 0;
    const std::vector<std::string>* formats = nullptr;    // the object's; null: it has none
    const std::atomic<bool>* cancelled = nullptr;         // the launch is: nothing more is printed; null: never
  };
  // `waves`: under way at once, at most. Errors: out_of_memory.
  static Result<std::unique_ptr<HostServices>> make(const Kernel& kernel, const Geometry& geometry, std::uint64_t waves,
                                                    Printing printing);
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
  // What a wave has last printed to stderr; where nothing is known of it, what it or a wave beside it has.
  [[nodiscard]] PrintedError error_text(std::uint64_t group, std::uint32_t wave) const;
  // When the launch has ended: prints what is left, unless it was cancelled. Errors: corrupt; after a fault that is not
  // looked at.
  Status finish(bool faulted);

 private:
  HostServices(Printing printing, const std::string& kernel)
      : output_(std::move(printing.sink), printing.bytes_max, kernel, printing.cancelled), calls_(output_),
        formats_(printing.formats) {}
  Status open_grid_barrier(const Geometry& geometry);
  void share(const HostPages& pages, const char* name);

  struct ErrorText {
    std::uint64_t group = 0;
    std::uint32_t wave = 0;
    PrintedError printed;
  };
  PrintedOutput output_;
  HostCalls calls_;
  PrintBuffer printed_;
  HostPages grid_barrier_;
  HiddenAddresses addresses_;
  std::vector<Shared> shared_;
  const std::vector<std::string>* formats_;
  mutable std::mutex mutex_;           // guards what follows
  std::deque<ErrorText> error_texts_;  // the last ones
};

}  // namespace kiln::emulator
