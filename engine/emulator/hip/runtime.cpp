#include "engine/emulator/hip/runtime.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "engine/emulator/machine/core_loader.hpp"

namespace kiln::emulator {
namespace {

constexpr std::size_t profiles_max = 64;
constexpr const char* default_cards = "gfx942:sramecc+:xnack-";

// Options exist before the runtime: they say how to make it.
struct Shared {
  std::mutex mutex;
  std::optional<Options> options, initial;
  std::optional<Error> options_error;
  std::unique_ptr<Runtime> runtime;
  std::optional<Error> error;

  Options& current() {   // with the lock held
    if (!options) {
      auto read = read_options([](const char* name) { return static_cast<const char*>(::secure_getenv(name)); });
      if (!read) options_error = read.error();
      options = initial = read ? *read : Options{};
    }
    return *options;
  }
};
Shared& shared() {
  static Shared* const state = new Shared;  // outlives the process's own end
  return *state;
}

Options current_options() {
  Shared& state = shared();
  const std::lock_guard lock(state.mutex);
  return state.current();
}

std::uint64_t physical_bytes() {
  return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGE_SIZE));
}

template <class Handle, class Value>
std::shared_ptr<Value> found(const std::map<Handle, std::shared_ptr<Value>>& map, Handle handle) {
  const auto at = map.find(handle);
  return at == map.end() ? nullptr : at->second;
}

}  // namespace

Result<Runtime*> Runtime::get() {
  Shared& state = shared();
  const std::lock_guard lock(state.mutex);
  if (state.runtime != nullptr) return state.runtime.get();
  if (state.error) return *state.error;
  state.current();
  auto made = state.options_error ? Result<std::unique_ptr<Runtime>>(*state.options_error) : make();
  if (!made) {
    state.error = made.error();
    std::fprintf(stderr, "kiln's emulated card: %s\n", to_text(*state.error).c_str());
    return *state.error;
  }
  state.runtime = std::move(*made);
  return state.runtime.get();
}

Status Runtime::set_option(std::string_view name, std::string_view value) {
  Shared& state = shared();
  const std::lock_guard lock(state.mutex);
  return emulator::set_option(state.current(), name, value);
}

void Runtime::reset_options() {
  Shared& state = shared();
  const std::lock_guard lock(state.mutex);
  state.current();
  state.options = state.initial;
}

// With the lock of the shared state held.
Result<std::unique_ptr<Runtime>> Runtime::make() {
  const Options& options = shared().current();
  std::unique_ptr<Runtime> runtime(new Runtime);
  const char* cards = ::secure_getenv("KILN_EMULATOR_TARGETS");
  KILN_TRY(runtime->cards_, parse_cards(cards == nullptr || *cards == '\0' ? default_cards : cards));
  KILN_TRY(runtime->core_, load_core(options.core, options.core_folder));
  std::uint64_t bytes = options.memory_bytes;
  if (bytes == 0) bytes = std::min(runtime->cards_[0].memory_bytes, physical_bytes());
  runtime->memory_ = std::make_unique<Memory>(bytes);
  runtime->workers_ = std::make_unique<Workers>(options.threads);
  runtime->default_streams_.resize(runtime->cards_.size());
  return runtime;
}

std::shared_ptr<Stream> Runtime::stream(hip::Stream handle, int device) {
  const std::lock_guard lock(mutex_);
  // hipStreamLegacy is 1, hipStreamPerThread 2.
  if (reinterpret_cast<std::uintptr_t>(handle) > 2) return found(streams_, handle);
  if (card(device) == nullptr) return nullptr;
  auto& stream = default_streams_[device];
  if (stream == nullptr) stream = std::make_shared<Stream>(device, true);
  return stream;
}

hip::Stream Runtime::add_stream(int device, bool blocking) {
  auto stream = std::make_shared<Stream>(device, blocking);
  const auto handle = reinterpret_cast<hip::Stream>(stream.get());
  const std::lock_guard lock(mutex_);
  streams_.emplace(handle, std::move(stream));
  return handle;
}

bool Runtime::remove_stream(hip::Stream handle) {
  std::shared_ptr<Stream> last;  // ends outside the lock, after its work
  const std::lock_guard lock(mutex_);
  const auto at = streams_.find(handle);
  if (at == streams_.end()) return false;
  last = std::move(at->second);
  streams_.erase(at);
  return true;
}

std::shared_ptr<Event> Runtime::event(hip::Event handle) {
  const std::lock_guard lock(mutex_);
  return found(events_, handle);
}

hip::Event Runtime::add_event(std::shared_ptr<Event> event) {
  const auto handle = reinterpret_cast<hip::Event>(event.get());
  const std::lock_guard lock(mutex_);
  events_.emplace(handle, std::move(event));
  return handle;
}

std::shared_ptr<Event> Runtime::remove_event(hip::Event handle) {
  const std::lock_guard lock(mutex_);
  const auto event = found(events_, handle);
  events_.erase(handle);
  return event;
}

std::shared_ptr<LoadedModule> Runtime::module(hip::Module handle) {
  const std::lock_guard lock(mutex_);
  return found(modules_, handle);
}

hip::Module Runtime::add_module(std::shared_ptr<LoadedModule> module) {
  const auto handle = reinterpret_cast<hip::Module>(module.get());
  const std::lock_guard lock(mutex_);
  modules_.emplace(handle, std::move(module));
  return handle;
}

bool Runtime::remove_module(hip::Module handle) {
  const std::lock_guard lock(mutex_);
  const auto module = found(modules_, handle);
  if (module == nullptr) return false;
  std::erase_if(functions_, [&](const auto& entry) { return entry.second->module == module; });
  modules_.erase(handle);
  return true;
}

hip::Function Runtime::add_function(hip::Module handle, const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto module = found(modules_, handle);
  const Kernel* kernel = module == nullptr ? nullptr : module->program->kernel(name);
  if (kernel == nullptr) return nullptr;
  for (const auto& [known, function] : functions_)
    if (function->kernel == kernel) return known;
  auto function = std::make_shared<LoadedFunction>(LoadedFunction{module, kernel});
  const auto made = reinterpret_cast<hip::Function>(function.get());
  functions_.emplace(made, std::move(function));
  return made;
}

std::shared_ptr<LoadedFunction> Runtime::function(hip::Function handle) {
  const std::lock_guard lock(mutex_);
  return found(functions_, handle);
}

void Runtime::submit(const std::shared_ptr<Stream>& stream, Stream::Work work, bool always) {
  const std::lock_guard lock(mutex_);
  std::vector<Stream::Mark> after;
  const auto& ours = default_streams_[stream->device()];
  const auto add = [&](const std::shared_ptr<Stream>& other) {
    if (other != nullptr && other->query() == hip::not_ready) after.push_back({other, other->submitted()});
  };
  if (stream == ours) {
    for (const auto& [handle, other] : streams_)
      if (other->device() == stream->device() && other->blocking()) add(other);
  } else if (stream->blocking()) {
    add(ours);
  }
  stream->submit(std::move(work), std::move(after), always);
}

std::vector<std::shared_ptr<Stream>> Runtime::streams_of(int device) {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Stream>> all;
  const auto add = [&](const std::shared_ptr<Stream>& stream) {
    if (stream != nullptr && (device < 0 || stream->device() == device)) all.push_back(stream);
  };
  for (const auto& stream : default_streams_) add(stream);
  for (const auto& [handle, stream] : streams_) add(stream);
  return all;
}

hip::Code Runtime::synchronize(int device) {
  hip::Code first = hip::success;
  for (const auto& stream : streams_of(device)) {
    const auto code = stream->synchronize();
    if (first == hip::success) first = code;
  }
  return first;
}

hip::Code Runtime::sticking_error(int device) {
  for (const auto& stream : streams_of(device))
    if (const auto code = stream->error(); code != hip::success) return code;
  return hip::success;
}

namespace {

// With its line of the source in launches that are profiled: only their objects' line tables are read.
std::string fault_text(const LoadedFunction& function, const FaultReport& fault, bool with_line) {
  const auto lines = with_line ? function.module->program->lines_of(*function.kernel, fault) : std::string();
  return fault.text + (lines.empty() ? "" : "\n  source: " + lines);
}

}  // namespace

hip::Code Runtime::launch(const LoadedFunction& function, const Geometry& geometry, Bytes arguments,
                          Stream& stream) {
  LaunchOrder order;
  order.core = core_;
  order.workers = workers_.get();
  order.memory = memory_.get();
  order.card = &cards_[function.module->device];
  order.options = current_options();
  order.code = &function.module->program->code();
  order.kernel = function.kernel;
  order.geometry = geometry;
  order.arguments = std::move(arguments);
  order.cancelled = &stream.cancelled();
  auto result = run_launch(order);
  std::string report;
  if (!result) report = "kernel " + function.kernel->name + ": " + result.error().message;
  else if (result->fault) report = fault_text(function, *result->fault, order.options.profile);
  else if (result->cancelled) report = "kernel " + function.kernel->name + " was cancelled";
  if (!report.empty()) std::fprintf(stderr, "kiln's emulated card: %s\n", report.c_str());
  std::shared_ptr<Profile> profile;
  if (result && result->profile != nullptr) {
    profile = std::make_shared<Profile>(*result->profile);
    function.module->program->add_lines(*function.kernel, *profile);
  }
  const std::lock_guard lock(results_mutex_);
  if (profile != nullptr) {
    profiles_.push_back(std::move(profile));
    if (profiles_.size() > profiles_max) profiles_.pop_front();
  }
  if (report.empty()) return hip::success;
  stream.keep_report(report);
  report_ = std::move(report);
  return hip::launch_failure;
}

bool Runtime::known(const void* pointer, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uint64_t>(pointer);
  if (const auto allocation = memory_->find(address)) return bytes <= allocation->end() - address;
  const std::lock_guard lock(mutex_);
  return std::any_of(modules_.begin(), modules_.end(),
                     [&](const auto& entry) { return entry.second->program->holds(address, bytes); });
}

std::string Runtime::report() {
  const std::lock_guard lock(results_mutex_);
  return report_;
}

std::string Runtime::profiles() {
  std::vector<std::shared_ptr<const Profile>> all;
  {
    const std::lock_guard lock(results_mutex_);
    all.assign(profiles_.begin(), profiles_.end());
  }
  std::string json = "[";
  for (const auto& profile : all) json += (json.size() > 1 ? "," : "") + to_json(*profile);
  return json + "]";
}

void Runtime::clear() {
  {
    const std::lock_guard lock(results_mutex_);
    report_.clear();
    profiles_.clear();
  }
  for (const auto& stream : streams_of(-1)) stream->clear_error();   // and its report
}

}  // namespace kiln::emulator
