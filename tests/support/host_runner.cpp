#include "tests/support/host_runner.hpp"

#include <cmath>
#include <cstring>
#include <future>
#include <random>
#include <sstream>

#include "engine/base/deadline.hpp"
#include "engine/compile/host_compiler.hpp"
#include "engine/compile/launch_sizes.hpp"
#include "engine/device/host/host_device.hpp"
#include "engine/ir/bound/arithmetic.hpp"
#include "engine/ir/bound/symbols.hpp"
#include "engine/ir/target/target.hpp"
#include "engine/ir/tile/program.hpp"
#include "engine/specialize/specialize.hpp"

namespace kiln::test {

Result<bound::Program> bind_text(const std::string& json, const std::map<std::string, std::string>& set,
                                 const std::string& target) {
  KILN_TRY(const auto program, tile::read_program(json));
  KILN_TRY(const auto traits, target::parse_target(target));
  specialize::Bindings bindings;
  bindings.set = set;
  Budget budget(10000000);
  return specialize::specialize(program, bindings, traits, budget);
}

Result<bound::Program> bind_builtin(const std::string& name, const std::map<std::string, std::string>& set,
                                    const std::string& target) {
  KILN_TRY(const auto bytes, read_file(std::string(KILN_SOURCE_DIR) + "/kernels/programs/" + name + ".json"));
  return bind_text(std::string(text(bytes)), set, target);
}

Result<compile::Compiled> compile_for_host(const bound::Program& program) {
  KILN_TRY(const auto target, target::parse_target(program.target));
  Budget budget(10000000);
  return compile::make_host_compiler()->compile(program, target, budget);
}

HostRunner::HostRunner(int threads) {
  auto loader = device::host::make_object_loader();
  KILN_ASSERT(loader);
  device_ = device::host::make_host_device(std::move(*loader), {threads});
}

Result<device::KernelId> HostRunner::load(const compile::Compiled& compiled) {
  return device_->load(compiled.metadata, compiled.object);
}

Result<SharedBuffer> HostRunner::buffer(std::size_t bytes) {
  SharedBuffer buffer;
  KILN_TRY(buffer.fd, create_memfd("test", std::max<std::size_t>(bytes, 1)));
  KILN_TRY(buffer.mapping, Mapping::map(buffer.fd.get(), std::max<std::size_t>(bytes, 1), true));
  KILN_TRY(buffer.id, device_->map(buffer.fd.get(), 0, bytes, true));
  return buffer;
}

Result<double> HostRunner::run(device::KernelId kernel, const std::vector<const SharedBuffer*>& buffers) {
  std::vector<device::LaunchArgument> arguments;
  for (const auto* buffer : buffers) arguments.push_back({buffer->id, 0, buffer->mapping.size(), {}});
  std::promise<Result<device::LaunchReport>> promise;
  device_->launch(kernel, std::move(arguments), 0,
                  [&](Result<device::LaunchReport> report) { promise.set_value(std::move(report)); });
  KILN_TRY(const auto report, promise.get_future().get());
  return report.duration_ms;
}

namespace {
constexpr std::size_t page_bytes = 4096;
std::size_t room(const Bytes& tensor) { return (tensor.size() + 15) / 16 * 16; }
}  // namespace

// At the end of the descriptor's last page, and mapped one page further: reading or writing beyond it kills the
// process.
Result<SharedBuffer> HostRunner::guarded_buffer(const Bytes& tensor) {
  SharedBuffer buffer;
  const std::size_t bytes = (room(tensor) / page_bytes + 1) * page_bytes;
  KILN_TRY(buffer.fd, create_memfd("test", bytes));
  KILN_TRY(buffer.mapping, Mapping::map(buffer.fd.get(), bytes, true));
  KILN_TRY(buffer.id, device_->map(buffer.fd.get(), 0, bytes + page_bytes, true));
  if (!tensor.empty()) std::memcpy(buffer.mapping.data() + bytes - room(tensor), tensor.data(), tensor.size());
  return buffer;
}

Result<std::vector<Bytes>> HostRunner::run_once(const bound::Program& program, const std::vector<Bytes>& tensors,
                                                const bound::SymbolValues& symbols) {
  KILN_TRY(const auto compiled, compile_for_host(program));
  KILN_TRY(const auto kernel, load(compiled));
  KILN_TRY(auto result, run_loaded(kernel, program, tensors, symbols));
  KILN_CHECK(device_->unload(kernel));
  return result;
}

Result<std::vector<Bytes>> HostRunner::run_loaded(device::KernelId kernel, const bound::Program& program,
                                                  const std::vector<Bytes>& tensors,
                                                  const bound::SymbolValues& symbols) {
  std::vector<SharedBuffer> buffers;
  std::vector<device::LaunchArgument> arguments;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (program.tensors[i].scalar) {
      buffers.emplace_back();
      arguments.push_back({0, 0, 0, tensors[i]});
      continue;
    }
    KILN_TRY(auto one, guarded_buffer(tensors[i]));
    arguments.push_back({one.id, one.mapping.size() - room(tensors[i]), tensors[i].size(), {}});
    buffers.push_back(std::move(one));
  }
  for (const auto value : symbols) arguments.push_back({0, 0, 0, compile::symbol_argument(value)});
  std::promise<Result<device::LaunchReport>> promise;
  device_->launch(kernel, std::move(arguments), 0,
                  [&](Result<device::LaunchReport> report) { promise.set_value(std::move(report)); });
  KILN_CHECK(promise.get_future().get());
  std::vector<Bytes> result;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (program.tensors[i].scalar) {
      result.push_back(tensors[i]);
      continue;
    }
    const auto* end = buffers[i].mapping.data() + buffers[i].mapping.size();
    const auto* data = end - room(tensors[i]);
    for (const auto* byte = buffers[i].mapping.data(); byte < data; ++byte) {
      if (*byte != 0) return Error(ErrorCode::internal, program.tensors[i].name + ": written in front of the tensor");
    }
    result.emplace_back(data, data + tensors[i].size());
    KILN_CHECK(device_->unmap(buffers[i].id));
  }
  return result;
}

std::vector<Bytes> random_tensors(const bound::Program& program, std::uint64_t seed, double scale) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<Bytes> tensors;
  for (const auto& tensor : program.tensors) {
    if (tensor.workspace) continue;
    const std::size_t size = tensor.scalar ? dtype_bytes(tensor.dtype) : tensor.bytes();
    if (tensor.access == Access::write) {
      tensors.emplace_back(size, std::uint8_t(0xff));  // NaN in every float type
      continue;
    }
    Bytes bytes(size);
    const auto store = bound::store_function(tensor.dtype);
    const auto width = static_cast<std::size_t>(dtype_bytes(tensor.dtype));
    for (std::size_t at = 0; at + width <= size; at += width) {
      const double value = normal(random) * scale;
      const auto whole = static_cast<std::int64_t>(random() % 17) - (is_signed(tensor.dtype) ? 8 : 0);
      store(bytes.data() + at, is_float(tensor.dtype) ? bound::real_value(bound::round_real(tensor.dtype, value))
                                                      : bound::integer_value(bound::wrap_integer(tensor.dtype, whole)));
    }
    tensors.push_back(std::move(bytes));
  }
  return tensors;
}

std::string differences(HostRunner& runner, const bound::Program& compiled, const std::vector<Bytes>& tensors,
                        bool check_races, const bound::SymbolValues& symbols,
                        std::optional<device::KernelId> loaded) {
  const auto known = bound::with_values(compiled, symbols);
  if (!known) return to_text(known.error());
  const bound::Program& program = *known;
  std::vector<Bytes> want = tensors;
  std::vector<reference::Argument> arguments;
  for (auto& bytes : want) arguments.push_back({bytes.data(), bytes.size()});
  reference::RunOptions options;
  options.check_races = check_races;
  std::vector<std::vector<double>> scale;
  if (auto status = reference::run(program, arguments, options, &scale); !status)
    return "interpreter: " + to_text(status.error());
  const auto got = loaded ? runner.run_loaded(*loaded, compiled, tensors, symbols)
                          : runner.run_once(compiled, tensors, symbols);
  if (!got) return "host: " + to_text(got.error());
  std::ostringstream out;
  const auto spec = reference::tolerance_of(program);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (program.tensors[i].access == Access::read) {
      if ((*got)[i] != tensors[i]) out << program.tensors[i].name << " was written\n";
      continue;
    }
    const auto result = reference::compare(program.tensors[i].dtype, (*got)[i], want[i], scale[i], spec);
    if (result.wrong == 0) continue;
    const auto load = bound::load_function(program.tensors[i].dtype);
    const auto at = static_cast<std::size_t>(result.first_wrong) * dtype_bytes(program.tensors[i].dtype);
    const auto show = [&](const Bytes& bytes) {
      const auto value = load(bytes.data() + at);
      return is_float(program.tensors[i].dtype) ? value.real : static_cast<double>(value.integer);
    };
    out.precision(17);
    out << program.tensors[i].name << ": " << result.wrong << " of " << result.elements << " wrong, first at "
        << result.first_wrong << ": host " << show((*got)[i]) << ", definition " << show(want[i]) << ", largest error "
        << result.error_max << " (tolerance " << result.tolerance_at_max << ")\n";
  }
  return out.str();
}

}  // namespace kiln::test
