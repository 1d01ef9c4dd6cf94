#include "engine/emulator/machine/hostcall_services.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace kiln::emulator {
namespace {

constexpr std::size_t error_texts_max = 256, error_text_bytes_max = 1024;

// How the device libraries see a grid that synchronises (ockl's cg.cl; clr's MGSyncInfo).
struct GridInfo {
  std::uint64_t grids_barrier = 0;     // address of two words: of all grids
  std::uint32_t grid = 0, grids = 1;
  std::uint64_t threads_before = 0, threads = 0;   // in the grids before, in all
  std::uint32_t barrier[2] = {};       // of this grid's work groups
  std::uint32_t groups = 0, reserved = 0;
  std::uint32_t only_grid[2] = {};     // where grids_barrier points
};
static_assert(sizeof(GridInfo) == 56);

bool asks_for(const Kernel& kernel, const char* kind) {
  return std::any_of(kernel.arguments.begin(), kernel.arguments.end(),
                     [&](const auto& argument) { return argument.kind == kind && argument.size == 8; });
}

// Whether it has just sent an interrupt: it has asked for something. Others that sleep wait for it only.
bool has_asked(const Wave& wave) {
  const Execution& execution = *wave.execution;
  return wave.next != 0 && wave.next <= execution.instructions &&
         std::string_view(execution.code[wave.next - 1].name) == "s_sendmsg";
}

}  // namespace

bool HostServices::prints(const Kernel& kernel) {
  return asks_for(kernel, "hidden_hostcall_buffer") || asks_for(kernel, "hidden_printf_buffer");
}

bool HostServices::prints_to_buffer(const Kernel& kernel) { return asks_for(kernel, "hidden_printf_buffer"); }

void HostServices::share(const HostPages& pages, const char* name) {
  shared_.push_back({{pages.begin(), pages.begin() + pages.bytes(), true}, name});
}

Status HostServices::open_grid_barrier(const Geometry& geometry) {
  KILN_CHECK(grid_barrier_.map(sizeof(GridInfo), "the barrier of a launch's grid"));
  GridInfo info;
  info.grids_barrier = grid_barrier_.begin() + offsetof(GridInfo, only_grid);
  info.groups = geometry.blocks[0] * geometry.blocks[1] * geometry.blocks[2];
  info.threads = std::uint64_t(info.groups) * geometry.threads[0] * geometry.threads[1] * geometry.threads[2];
  std::memcpy(grid_barrier_.at(0), &info, sizeof info);
  return ok();
}

Result<std::unique_ptr<HostServices>> HostServices::make(const Kernel& kernel, const Geometry& geometry,
                                                         std::uint64_t waves, Printing printing) {
  std::unique_ptr<HostServices> services(new HostServices(std::move(printing), kernel.name));
  if (asks_for(kernel, "hidden_hostcall_buffer")) {
    KILN_CHECK(services->calls_.open(waves));
    services->addresses_.hostcall_buffer = services->calls_.memory().begin();
    services->share(services->calls_.memory(), "the buffer of the kernel's calls to its host");
  }
  if (prints_to_buffer(kernel)) {
    KILN_CHECK(services->printed_.open());
    services->addresses_.printf_buffer = services->printed_.memory().begin();
    services->share(services->printed_.memory(), "the buffer of the kernel's printf");
  }
  if (asks_for(kernel, "hidden_multigrid_sync_arg")) {
    KILN_CHECK(services->open_grid_barrier(geometry));
    services->addresses_.grid_barrier = services->grid_barrier_.begin();
    services->share(services->grid_barrier_, "the barrier of the launch's grid");
  }
  return services;
}

MemoryRange HostServices::grid_barrier() const {
  return {grid_barrier_.begin(), grid_barrier_.begin() + grid_barrier_.bytes(), true};
}

bool HostServices::serve(Wave& wave, std::uint64_t group) {
  if (addresses_.hostcall_buffer == 0) return true;
  auto answer = calls_.serve();
  if (!answer.error_text.empty()) {
    const std::lock_guard lock(mutex_);
    if (error_texts_.size() == error_texts_max) error_texts_.pop_front();
    answer.error_text.resize(std::min(answer.error_text.size(), error_text_bytes_max));
    // Packets do not say whose they are.
    const bool own = answer.packets == 1 && has_asked(wave);
    error_texts_.push_back({group, wave.index, {std::move(answer.error_text), own}});
  }
  if (answer.fault != HostCallFault::none) {
    Fault fault;
    fault.kind = FaultKind::host_call;
    fault.instruction = wave.next == 0 ? 0 : wave.next - 1;
    fault.address = static_cast<std::uint64_t>(answer.fault);
    wave.stop(fault);
    return false;
  }
  if (answer.packets != 0) wave.status = WaveStatus::running;
  return true;
}

PrintedError HostServices::error_text(std::uint64_t group, std::uint32_t wave) const {
  const std::lock_guard lock(mutex_);
  for (const bool own : {true, false}) {
    const auto found = std::find_if(error_texts_.rbegin(), error_texts_.rend(), [&](const auto& one) {
      return one.group == group && one.printed.own == own && (!own || one.wave == wave);
    });
    if (found != error_texts_.rend()) return found->printed;
  }
  return {};
}

Status HostServices::finish(bool faulted) {
  Status printed = ok();
  if (addresses_.printf_buffer != 0 && !output_.cancelled()) {
    static const std::vector<std::string> none;
    printed = printed_.print(PrintFormats(formats_ == nullptr ? none : *formats_), output_);
  }
  output_.flush();
  // Where the launch was stopped its last piece may be half written.
  return faulted ? ok() : printed;
}

}  // namespace kiln::emulator
