#include "engine/device/hip/hip_kernel.hpp"

#include <algorithm>

#include "engine/compile/code_object.hpp"

namespace kiln::device::hip {
namespace {

constexpr std::int64_t argument_bytes_max = 4096;

// The explicit arguments must be the program's, one for one.
Status check_arguments(const compile::LaunchInfo& launch, const compile::Metadata& metadata) {
  const auto& tensors = metadata.tensors;
  const std::size_t count = tensors.size() + metadata.workspaces.size();
  const auto corrupt = [&](const std::string& what) {
    return Error(ErrorCode::corrupt, "kernel " + launch.symbol + ": " + what);
  };
  std::size_t next = 0;
  for (const auto& argument : launch.arguments) {
    if (argument.kind.starts_with("hidden_")) continue;
    if (next == count) return corrupt("it has more arguments than the program");
    const bool tensor = next < tensors.size();
    const auto& name = tensor ? tensors[next].name : metadata.workspaces[next - tensors.size()].name;
    const std::int64_t wanted = tensor && tensors[next].scalar ? tensors[next].bytes : 8;
    ++next;
    if (argument.size != wanted || argument.offset < 0 || argument.offset > argument_bytes_max - wanted)
      return corrupt("its argument " + name + " has another size or place than the program's");
  }
  if (next != count) return corrupt("it has fewer arguments than the program");
  if (launch.grid.size() != 3 || launch.threads < 1 || launch.threads > 1024) return corrupt("bad launch description");
  for (const std::int64_t extent : launch.grid)
    if (extent < 0 || extent > 0x7fffffff) return corrupt("a grid that no card takes");
  return ok();
}

}  // namespace

Result<std::shared_ptr<const Kernel>> Kernel::load(const Table& table, const compile::Metadata& metadata,
                                                   ByteView object, const target::Target& card, const LetGo& let_go) {
  KILN_TRY(const auto made_for, target::parse_target(metadata.target));
  if (made_for.is_host() || !target::serves(made_for, card))
    return Error(ErrorCode::unsupported, "a kernel for " + metadata.target + " does not run on a card that is " +
                 card.full);
  KILN_TRY(const auto code, compile::read_code_object(object));
  KILN_CHECK(compile::check_code_object(code, made_for));
  for (const auto& launch : metadata.launches) KILN_CHECK(check_arguments(launch, metadata));
  std::shared_ptr<Kernel> kernel(new Kernel(table));
  kernel->metadata_ = metadata;
  kernel->metadata_.source.clear();
  kernel->metadata_.kernel_program.clear();
  kernel->metadata_.log.clear();
  kernel->object_.assign(object.begin(), object.end());
  KILN_CHECK(table.check(table.hipModuleLoadData(&kernel->module_, kernel->object_.data()), "hipModuleLoadData"));
  for (const auto& launch : metadata.launches) {
    Function function = nullptr;
    if (auto status = table.check(table.hipModuleGetFunction(&function, kernel->module_, launch.symbol.c_str()),
                                  "hipModuleGetFunction"); !status) {
      let_go(std::move(kernel));
      return std::move(status).error();
    }
    kernel->functions_.push_back(function);
  }
  return std::shared_ptr<const Kernel>(std::move(kernel));
}

Kernel::~Kernel() {
  if (module_ != nullptr) (void)table_.hipModuleUnload(module_);
}

Status Kernel::submit(std::size_t index, const std::vector<Bytes>& values, Stream stream) const {
  const auto& launch = metadata_.launches[index];
  if (std::any_of(launch.grid.begin(), launch.grid.end(), [](std::int64_t extent) { return extent == 0; })) return ok();
  Bytes arguments;
  std::size_t next = 0;
  for (const auto& argument : launch.arguments) {
    if (argument.kind.starts_with("hidden_")) continue;
    const Bytes& value = values[next++];
    const auto offset = static_cast<std::size_t>(argument.offset);
    arguments.resize(std::max(arguments.size(), offset + value.size()));
    std::copy(value.begin(), value.end(), arguments.begin() + static_cast<std::ptrdiff_t>(offset));
  }
  std::size_t bytes = arguments.size();
  void* extra[] = {launch_buffer, arguments.data(), launch_buffer_size, &bytes, launch_end};
  const auto extent = [&](int i) { return static_cast<unsigned>(launch.grid[static_cast<std::size_t>(i)]); };
  return table_.check(table_.hipModuleLaunchKernel(functions_[index], extent(0), extent(1), extent(2),
                                                   static_cast<unsigned>(launch.threads), 1, 1, 0, stream, nullptr,
                                                   extra),
                      "hipModuleLaunchKernel");
}

}  // namespace kiln::device::hip
