// Streams and events.
#include "engine/emulator/hip/calls.hpp"

using namespace kiln;
using namespace kiln::emulator;

namespace {

constexpr unsigned event_flags = 0x1 | hip::event_disable_timing | hip::event_interprocess | 0xe0000000u;

hip::Code create_stream(hip::Stream* stream, unsigned flags) {
  return call([&](Runtime& runtime) {
    if (stream == nullptr || (flags & ~hip::stream_non_blocking) != 0) return hip::invalid_value;
    *stream = runtime.add_stream(call_state().device, (flags & hip::stream_non_blocking) == 0);
    return hip::success;
  });
}

hip::Code create_event(hip::Event* event, unsigned flags) {
  return call([&](Runtime& runtime) {
    if (event == nullptr || (flags & ~event_flags) != 0) return hip::invalid_value;
    const bool interprocess = (flags & hip::event_interprocess) != 0;
    if (interprocess && (flags & hip::event_disable_timing) == 0)
      return failed(hip::invalid_value, "an event for other processes cannot be timed: add hipEventDisableTiming");
    SharedEvent* shared = nullptr;
    if (interprocess) {
      auto memory = runtime.memory().allocate(sizeof(SharedEvent), call_state().device);
      if (!memory) return failed(memory.error());
      shared = static_cast<SharedEvent*>(*memory);  // zero: never recorded
    }
    *event = runtime.add_event(interprocess ? std::make_shared<Event>(flags, shared, [&runtime, shared] {
      (void)runtime.memory().release(shared);
    })
                                            : std::make_shared<Event>(flags));
    return hip::success;
  });
}

// body(Runtime&, Event&).
template <class Body> hip::Code call_event(hip::Event handle, Body&& body) {
  return call([&](Runtime& runtime) -> hip::Code {
    const auto event = runtime.event(handle);
    if (event == nullptr) return failed(hip::invalid_handle, "no such event");
    return body(runtime, *event);
  });
}

}  // namespace

KILN_EXPORT hip::Code hipStreamCreate(hip::Stream* stream) { return create_stream(stream, 0); }
KILN_EXPORT hip::Code hipStreamCreateWithFlags(hip::Stream* stream, unsigned flags) {
  return create_stream(stream, flags);
}

KILN_EXPORT hip::Code hipStreamDestroy(hip::Stream stream) {
  return call([&](Runtime& runtime) {
    return runtime.remove_stream(stream) ? hip::success : failed(hip::invalid_handle, "no such stream");
  });
}

KILN_EXPORT hip::Code hipStreamSynchronize(hip::Stream handle) {
  return call_on(handle, [](Runtime&, const std::shared_ptr<Stream>& stream) { return stream->synchronize(); });
}

KILN_EXPORT hip::Code hipStreamQuery(hip::Stream handle) {
  return call_on(handle, [](Runtime&, const std::shared_ptr<Stream>& stream) { return stream->query(); });
}

KILN_EXPORT hip::Code hipStreamWaitEvent(hip::Stream handle, hip::Event event_handle, unsigned) {
  return call_on(handle, [&](Runtime& runtime, const std::shared_ptr<Stream>& stream) -> hip::Code {
    const auto event = runtime.event(event_handle);
    if (event == nullptr) return failed(hip::invalid_handle, "no such event");
    // The event lives until the wait is over: its memory may be another process's mapping. The stream outlives its work.
    runtime.submit(stream, [event, wait = event->waiter(), on = stream.get()] { return wait(&on->cancelled()); }, true);
    return hip::success;
  });
}

KILN_EXPORT hip::Code hipEventCreate(hip::Event* event) { return create_event(event, 0); }
KILN_EXPORT hip::Code hipEventCreateWithFlags(hip::Event* event, unsigned flags) { return create_event(event, flags); }

KILN_EXPORT hip::Code hipEventRecord(hip::Event event_handle, hip::Stream handle) {
  return call_on(handle, [&](Runtime& runtime, const std::shared_ptr<Stream>& stream) -> hip::Code {
    const auto event = runtime.event(event_handle);
    if (event == nullptr) return failed(hip::invalid_handle, "no such event");
    runtime.submit(stream, [event, complete = event->record()] { return complete(); }, true);
    return hip::success;
  });
}

KILN_EXPORT hip::Code hipEventSynchronize(hip::Event handle) {
  return call_event(handle, [](Runtime&, Event& event) { return event.waiter()(nullptr); });
}

KILN_EXPORT hip::Code hipEventQuery(hip::Event handle) {
  return call_event(handle, [](Runtime&, Event& event) { return event.query(); });
}

KILN_EXPORT hip::Code hipEventElapsedTime(float* milliseconds, hip::Event from, hip::Event to) {
  return call_event(from, [&](Runtime& runtime, Event& first) -> hip::Code {
    const auto second = runtime.event(to);
    if (milliseconds == nullptr) return hip::invalid_value;
    if (second == nullptr) return failed(hip::invalid_handle, "no such event");
    return Event::elapsed(first, *second, *milliseconds);
  });
}

KILN_EXPORT hip::Code hipEventDestroy(hip::Event handle) {
  return call([&](Runtime& runtime) {
    return runtime.remove_event(handle) != nullptr ? hip::success : failed(hip::invalid_handle, "no such event");
  });
}
