#include "engine/device/host/host_order.hpp"

namespace kiln::device::host {

std::int64_t block_count(const std::vector<std::int64_t>& grid) {
  std::int64_t count = 1;
  for (const std::int64_t extent : grid) count *= extent;
  return count;
}

// Zeros, whatever the program asks for: a launch sees nothing that another one has left. Large ones cost nothing until
// they are touched.
Status Order::enter_step() {
  constexpr std::size_t align = 64;
  arguments = now().arguments;
  std::size_t place = now().sizes->tensors.size();
  for (const auto& info : now().kernel->metadata.workspaces) {
    Workspace memory(std::calloc(static_cast<std::size_t>(info.bytes) + align, 1));
    if (memory == nullptr)
      return Error(ErrorCode::out_of_memory, "no memory for the launch's workspace " + info.name + " of " +
                                                 std::to_string(info.bytes) + " bytes");
    const auto address = reinterpret_cast<std::uintptr_t>(memory.get());
    arguments[place++] = reinterpret_cast<void*>((address + align - 1) / align * align);
    workspaces.push_back(std::move(memory));
  }
  entered = true;
  return ok();
}

// What prints and asserts have left is kept.
void Order::leave_step() {
  if (const int which = now().kernel->metadata.records; which >= 0) {
    const auto* const first =
        static_cast<const std::uint8_t*>(arguments[now().sizes->tensors.size() + static_cast<std::size_t>(which)]);
    report.steps.push_back({step, {first, first + bound::records_words * 8}});
  }
  workspaces.clear();
  entered = false;
  grid = 0;
  ++step;
}

Status Order::find_grid() {
  for (; !over(); leave_step()) {
    if (!entered) KILN_CHECK(enter_step());
    const auto grids = now().kernel->metadata.launches.size();
    while (grid < grids && block_count(blocks()) == 0) ++grid;
    if (grid < grids) return ok();
  }
  return ok();
}

bool Order::run_block(std::int64_t block, std::uint8_t* arena) {
  if (cancelled->load(std::memory_order_relaxed) != 0) return false;
  const auto* cancel = reinterpret_cast<const volatile std::uint8_t*>(cancelled);
  const auto x = blocks()[0], y = blocks()[1];
  const auto place = bound::block_at(now().kernel->metadata.launches[grid].order, x, y, block % (x * y));
  const auto function = now().kernel->object->function(grid);
  return function(arguments.data(), arena, place.x, place.y, block / (x * y), cancel) == 0;
}

bool Order::run_small_grids(std::uint8_t* arena) {
  constexpr auto while_others_wait = std::chrono::microseconds(100);
  const auto until = std::chrono::steady_clock::now() + while_others_wait;
  do {
    if (!run_block(0, arena)) return false;
    ++grid;
    failure = find_grid();
    passed = true;
    if (!failure || over() || block_count(blocks()) != 1) return true;
    passed = false;
  } while (std::chrono::steady_clock::now() < until);
  passed = true;
  return true;
}

}  // namespace kiln::device::host
