#include "engine/tune/bench.hpp"

#include <algorithm>
#include <future>

namespace kiln::tune {
namespace {

constexpr auto look_every = std::chrono::milliseconds(20);   // whether somebody stopped the tune

std::size_t mapped_bytes(std::uint64_t bytes) { return std::max<std::size_t>(static_cast<std::size_t>(bytes), 1); }

}  // namespace

Result<std::unique_ptr<Bench>> Bench::open(jit::Session& session, const std::string& device,
                                           const bound::Program& program, std::vector<jit::TuneInput> inputs,
                                           const decltype(jit::TuneRequest::account)& account) {
  std::unique_ptr<Bench> bench(new Bench(session, device, program, std::move(inputs)));
  bench->account_ = account;
  KILN_CHECK(bench->take_memory(account));
  KILN_CHECK(bench->restart());
  return bench;
}

Status Bench::restart() {
  kernels_.clear();
  device_.reset();
  KILN_TRY(device_, session_.private_device(device_name_));
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    auto& argument = arguments_[i];
    if (program_.tensors[i].scalar) continue;
    const int fd = argument.own ? argument.own.get() : inputs_[i].memory.get();
    KILN_TRY(argument.buffer, device_->map(fd, 0, mapped_bytes(argument.bytes), bool(argument.own)));
  }
  return ok();
}

std::uint64_t Bench::written_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& tensor : program_.tensors)
    if (!tensor.scalar && !tensor.workspace && tensor.access != Access::read)
      bytes += static_cast<std::uint64_t>(tensor.bytes());
  return bytes;
}

Status Bench::take_memory(const decltype(jit::TuneRequest::account)& account) {
  if (inputs_.size() != program_.arguments())
    return Error(ErrorCode::internal, "a tune has other arguments than its program");
  KILN_TRY(counted_, account(written_bytes()));
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const auto& tensor = program_.tensors[i];
    Argument argument;
    argument.access = tensor.access;
    argument.bytes = inputs_[i].bytes;
    if (!tensor.scalar) {
      KILN_TRY(argument.input, Mapping::map(inputs_[i].memory.get(), mapped_bytes(argument.bytes), false));
    }
    if (!tensor.scalar && tensor.access != Access::read) {
      KILN_TRY(argument.own, create_memfd("kiln-tune", mapped_bytes(argument.bytes)));
      KILN_TRY(argument.own_bytes, Mapping::map(argument.own.get(), mapped_bytes(argument.bytes), true));
    }
    arguments_.push_back(std::move(argument));
  }
  return ok();
}

void Bench::restore(bool all) {
  for (auto& argument : arguments_)
    if (argument.own && (all || argument.access == Access::readwrite))
      std::memcpy(argument.own_bytes.data(), argument.input.data(), argument.bytes);
}

void Bench::restore() { restore(true); }
void Bench::restore_read_ones() { restore(false); }

LaunchEnd Bench::launch(const std::shared_ptr<const jit::Kernel>& kernel, const LaunchLimits& limits, bool profile) {
  using enum LaunchEnd::How;
  auto place = kernels_.find(kernel->key);
  if (place == kernels_.end()) {
    auto loaded = device_->load(kernel->metadata, kernel->stored->object);
    if (!loaded) return {failed, {}, std::move(loaded).error()};
    place = kernels_.emplace(kernel->key, *loaded).first;
  }
  std::vector<device::LaunchArgument> arguments;
  for (std::size_t i = 0; i < arguments_.size(); ++i)
    arguments.push_back({arguments_[i].buffer, 0, arguments_[i].bytes, inputs_[i].scalar});
  device::LaunchSettings settings(1);
  settings.profile = profile;
  auto promise = std::make_shared<std::promise<Result<device::LaunchReport>>>();
  auto ended = promise->get_future();
  const auto own_deadline = limits.candidate.count() > 0 ? Deadline::after(limits.candidate) : Deadline();
  const auto id =
      device_->launch(place->second, std::move(arguments), std::move(settings),
                      [promise](Result<device::LaunchReport> report) { promise->set_value(std::move(report)); });
  bool late = false, stop = false;
  while (ended.wait_for(look_every) != std::future_status::ready) {
    if (late || stop) continue;    // told already: the device answers within its own limits
    stop = limits.cancel.cancelled() || limits.deadline.passed();
    late = !stop && own_deadline.passed();
    if (late || stop) device_->cancel(id);
  }
  auto report = ended.get();
  if (report)
    if (auto held = compile::check_records(kernel->metadata, report->records); !held) report = std::move(held).error();
  if (report) return {done, std::move(*report), {}};
  if (stop) return {stopped, {}, std::move(report).error()};
  (void)device_->unload(place->second);
  kernels_.erase(place);
  if (late)
    return {hung,
            {},
            Error(ErrorCode::deadline_exceeded, "not done after " + std::to_string(limits.candidate.count()) + " ms")};
  return {failed, {}, std::move(report).error()};
}

Result<Results> Bench::results() {
  Results results;
  KILN_TRY(results.counted, account_(written_bytes()));
  for (const auto& argument : arguments_) {
    results.memory.emplace_back();
    if (!argument.own) continue;
    KILN_TRY(results.memory.back(), create_memfd("kiln-tune-result", mapped_bytes(argument.bytes)));
    KILN_CHECK(write_all(results.memory.back().get(), ByteView(argument.own_bytes.data(), argument.bytes)));
  }
  return results;
}

std::vector<jit::Session::VerifyArgument> Bench::before() const {
  std::vector<jit::Session::VerifyArgument> all;
  for (const auto& input : inputs_) all.push_back({input.memory.get(), 0, input.bytes, input.scalar});
  return all;
}

std::vector<jit::Session::VerifyArgument> Bench::after(const Results& results) const {
  auto all = before();
  for (std::size_t i = 0; i < all.size(); ++i)
    if (results.memory[i]) all[i].fd = results.memory[i].get();
  return all;
}

}  // namespace kiln::tune
