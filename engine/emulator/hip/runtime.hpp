// The state behind the emulated HIP functions of this process: cards, memory, streams, events, modules. Made at the
// first call, never destroyed: threads may call while the process ends. Thread-safe.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "engine/base/result.hpp"
#include "engine/emulator/hip/stream.hpp"
#include "engine/emulator/machine/card.hpp"
#include "engine/emulator/machine/launch.hpp"
#include "engine/emulator/machine/memory.hpp"
#include "engine/emulator/machine/options.hpp"
#include "engine/emulator/machine/program.hpp"
#include "engine/emulator/machine/workers.hpp"

namespace kiln::emulator {

struct LoadedModule {
  int device = 0;
  std::unique_ptr<Program> program;
};
struct LoadedFunction {
  std::shared_ptr<LoadedModule> module;
  const Kernel* kernel = nullptr;
};

class Runtime {
 public:
  // The process's one. Errors: what stood in the way at the first call, again and again.
  static Result<Runtime*> get();
  // Options before there is a runtime, or its own.
  static Status set_option(std::string_view name, std::string_view value);
  static void reset_options();   // to what they were at the start

  [[nodiscard]] const std::vector<Card>& cards() const { return cards_; }
  [[nodiscard]] const Card* card(int device) const {
    return device >= 0 && device < static_cast<int>(cards_.size()) ? &cards_[device] : nullptr;
  }
  Memory& memory() { return *memory_; }
  const Core& core() const { return *core_; }

  // Handles. Null or unknown ones give null; 0 (and HIP's two special streams) is the default stream of `device`.
  std::shared_ptr<Stream> stream(hip::Stream handle, int device);
  hip::Stream add_stream(int device, bool blocking);
  bool remove_stream(hip::Stream handle);
  std::shared_ptr<Event> event(hip::Event handle);
  hip::Event add_event(std::shared_ptr<Event> event);
  std::shared_ptr<Event> remove_event(hip::Event handle);
  std::shared_ptr<LoadedModule> module(hip::Module handle);
  hip::Module add_module(std::shared_ptr<LoadedModule> module);
  bool remove_module(hip::Module handle);
  hip::Function add_function(hip::Module module, const std::string& name);   // null: no such kernel
  std::shared_ptr<LoadedFunction> function(hip::Function handle);

  // Appends work to a stream, after what HIP says it waits for: the default stream's work for that of blocking streams,
  // and the other way round.
  void submit(const std::shared_ptr<Stream>& stream, Stream::Work work, bool always = false);
  // Waits for all streams of the device (-1: of all); the first error that sticks to one.
  hip::Code synchronize(int device);
  [[nodiscard]] hip::Code sticking_error(int device);

  // Runs a launch on the calling thread, the stream's; keeps its report, with the stream too, and its profile.
  hip::Code launch(const LoadedFunction& function, const Geometry& geometry, Bytes arguments, Stream& stream);
  // Whether [address, address + bytes) is memory that the cards know: allocated, registered, or of a module's image.
  bool known(const void* address, std::size_t bytes);

  std::string report();
  std::string profiles();
  void clear();

 private:
  Runtime() = default;
  static Result<std::unique_ptr<Runtime>> make();
  std::vector<std::shared_ptr<Stream>> streams_of(int device);

  std::vector<Card> cards_;
  const Core* core_ = nullptr;
  std::unique_ptr<Memory> memory_;
  std::unique_ptr<Workers> workers_;

  std::mutex mutex_;
  std::map<hip::Stream, std::shared_ptr<Stream>> streams_;
  std::vector<std::shared_ptr<Stream>> default_streams_;   // by device; made at first use
  std::map<hip::Event, std::shared_ptr<Event>> events_;
  std::map<hip::Module, std::shared_ptr<LoadedModule>> modules_;
  std::map<hip::Function, std::shared_ptr<LoadedFunction>> functions_;

  std::mutex results_mutex_;
  std::string report_;
  std::deque<std::shared_ptr<const Profile>> profiles_;
};

}  // namespace kiln::emulator
