// The table of methods: dispatch, checks of parameter names, and rpc.discover all come from it.
#include <algorithm>

#include "api/service/state.hpp"

namespace kiln::service {
namespace {

using protocol::Json;

// What kernel.compile takes; others that may compile take the same.
std::vector<ParamInfo> with_compile(std::vector<ParamInfo> more) {
  std::vector<ParamInfo> all{
      {"program", "string | object", false, "a built-in's name, or a tile/1 program"},
      {"digest", "string", false, "digest of a program that was sent before, instead of program"},
      {"set", "object", false, "symbols, options and tunables by name: integers, strings, booleans"},
      {"layouts", "object", false, "layouts of shared tiles by tile: auto, row_major, pad:BYTES, swizzle:CHUNK,DIVISOR,ROWS"},
      {"align", "object", false, "alignment class in bytes (1 to 16) of a tensor's base, by parameter"},
      {"target", "string", false, "host, gfx90a, gfx942, gfx950, gfx1100, with features; default host"},
      {"must_hit", "boolean", false, "answer with must_hit instead of compiling"},
      {"tuned", "boolean", false, "false: by the program's defaults, whatever tuning records say"}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

const ParamInfo runs_on{"device", "string", false, "where it is to run: its target where none is given, its tuning records"};

const std::vector<ParamInfo> launch_params = with_compile({
    {"key", "string", false, "a compiled kernel, instead of program and set"},
    {"device", "string", false, "default host"},
    {"args", "object | array", true, "arguments by name or in order: {\"buffer\": id, \"offset\": bytes} or a scalar's number"},
    {"symbols", "object", false, "values of dynamic symbols by name; needed with key, else those of set count"},
    {"switches", "object", false, "of the emulated card for this launch: check (races, uninitialised, barriers, all …), seed, order, budget"},
    {"capture", "string", false, "always, or fault: the launch as a file to be replayed, beside the answer"},
    {"seeds", "object", false, "seeds of Kiln's generator by tensor, for a capture to hold in place of the bytes that they make"}});

// kernel.launch takes more than verify and profile.
std::vector<ParamInfo> with_order(std::vector<ParamInfo> params) {
  params.insert(params.end(), {
      {"stream", "integer", false, "of stream.create; launches of one stream run in order; default the connection's own"},
      {"wait", "array", false, "events that the card waits for before it begins"},
      {"event", "integer", false, "an event that the card records behind the launch, which is answered when that is enqueued"}});
  return params;
}

std::vector<MethodInfo> make_methods() {
  using enum MethodInfo::Runs;
  return {
      {"hello", "protocol version, build, limits, devices; never waits for a device", false, at_once, hello,
       {{"protocol", "string", false, "the client's protocol version, major.minor"}, {"client", "string", false, "the client's name, for logs"}}},
      {"ping", "an empty answer", false, at_once, ping, {}},
      {"rpc.discover", "the OpenRPC document of these methods", false, at_once, discover, {}},
      {"shutdown", "end the daemon: no new work, running work gets 10 s", true, at_once, shut_down, {}},
      {"program.check", "all diagnostics of a program; with set and target also those of a binding", false, long_work, program_check, with_compile({})},
      {"program.list", "the built-in programs", false, at_once, program_list, {}},
      {"program.show", "a built-in program and what it takes", false, short_work, program_show, {{"name", "string", true, "a built-in's name"}}},
      {"kernel.compile", "compile or find a kernel", false, at_once, kernel_compile, with_compile({
           runs_on, {"explain_key", "boolean", false, "also the parts of the key with their hashes"},
           {"want", "string", false, "\"fd\": also the code object, as a sealed memfd"}})},
      {"kernel.prepare", "compile many kernels, with progress", false, long_work, kernel_prepare,
       {{"kernels", "array", true, "objects with the parameters of kernel.compile"}}},
      {"kernel.load", "load a kernel on a device ahead of its first launch", false, long_work, kernel_load,
       {{"key", "string", true, "a compiled kernel"}, {"device", "string", false, "default host"}}},
      {"kernel.launch", "run a kernel on buffers; answers at completion, with event at enqueue", false, at_once, kernel_launch, with_order(launch_params)},
      {"kernel.verify", "run a kernel and compare what it wrote with the interpreter", false, at_once, kernel_verify, launch_params},
      {"kernel.profile", "run a kernel and report what it executed: counters on an emulated card, the duration elsewhere", false, at_once, kernel_profile, launch_params},
      {"kernel.explain", "the whole report of a kernel", false, at_once, kernel_explain, with_compile({runs_on, {"key", "string", false, "a compiled kernel"}})},
      {"kernel.tune", "measure candidates and keep the best: later compiles use it", false, at_once, kernel_tune, {
           {"program", "string | object", false, "a built-in's name, or a tile/1 program"},
           {"digest", "string", false, "digest of a program that was sent before, instead of program"},
           {"set", "object", false, "symbols, options and the tunables that stay as they are"},
           {"layouts", "object", false, "layouts of shared tiles that stay as they are"},
           {"align", "object", false, "alignment class in bytes (1 to 16) of a tensor's base, by parameter"},
           {"target", "string", false, "default the device's"},
           {"device", "string", false, "where to measure; default the target's: host, or its emulated card"},
           {"candidates", "array", false, "these alone: objects with name, set, layouts, program; default the program's tunables"},
           {"rounds_max", "integer", false, "of measuring, default 30"},
           {"candidates_max", "integer", false, "of the program's own, the nearest to the defaults; default 64"},
           {"candidate_deadline_ms", "integer", false, "of one launch, default 10000: a candidate that takes longer is left out"},
           {"check_deadline_ms", "integer", false, "of one interpretation of the definition, default 60000; else the defaults' result is the yardstick"},
           {"args", "object", false, "scalars, and tensors to measure on, which are only read; default seeded normals"},
           {"recorded", "boolean", false, "measure nothing: the record of these candidates, or not_found"},
           {"force", "boolean", false, "measure anew, whatever is known"}}},
      {"tuning.list", "tuning records", false, short_work, tuning_list, {{"record", "string", false, "this one alone, whole"}}},
      {"tuning.remove", "forget a tuning record", true, short_work, tuning_remove, {{"record", "string", true, "its name, 64 hex digits"}}},
      {"tuning.import", "take over tuning records", true, short_work, tuning_import, {{"records", "object", true, "a tuning/1 file"},
           {"force", "boolean", false, "also over other records that are there"}}},
      {"kernel.list", "kernels known to this daemon", false, at_once, kernel_list, {}},
      {"kernel.unload", "forget a kernel and unload it from devices; its cache entry stays", false, at_once, kernel_unload,
       {{"key", "string", true, "a compiled kernel"}}},
      {"buffer.register", "hand memory over: one descriptor, or a HIP IPC handle", false, at_once, buffer_register,
       {{"fd", "object", false, "{\"fd\": 0}, the first descriptor of this request"},
        {"ipc", "string", false, "a HIP IPC memory handle, 128 hex digits, instead of fd"},
        {"device", "string", false, "the card whose memory it is; needed with ipc; with fd: the card imports the descriptor (dma-buf)"},
        {"offset", "integer", false, "first byte, default 0; needed with ipc: from the allocation's first byte"},
        {"size", "integer", false, "bytes, default up to the end; needed with a device"}}},
      {"buffer.alloc", "memory of the daemon, answered as a descriptor, or of a card, answered as a HIP IPC handle", false, at_once, buffer_alloc,
       {{"size", "integer", true, "bytes"}, {"device", "string", false, "the card that allocates it"}}},
      {"buffer.unregister", "give memory back; answers when launches in flight are done", false, at_once, buffer_unregister,
       {{"buffer", "integer", true, "a buffer's id"}}},
      {"buffer.list", "this connection's buffers", false, at_once, buffer_list, {}},
      {"event.import", "open another process's HIP event", false, long_work, event_import,
       {{"ipc", "string", true, "its IPC handle, 128 hex digits"}, {"device", "string", true, "the card"}}},
      {"event.export", "make an event of a card, with its IPC handle", false, long_work, event_export, {{"device", "string", true, "the card"}}},
      {"event.release", "close an event, behind the launches that use it", false, short_work, event_release, {{"event", "integer", true, "an event's id"}}},
      {"stream.create", "one more stream of this connection", false, at_once, stream_create, {}},
      {"stream.synchronize", "wait for a stream's launches; the first error of those that were answered at enqueue", false, at_once, stream_synchronize,
       {{"stream", "integer", false, "default the connection's own"}}},
      {"stream.cancel", "stop a stream's launches that were answered at enqueue", false, short_work, stream_cancel,
       {{"stream", "integer", false, "default the connection's own"}}},
      {"stream.release", "give a stream back, behind its launches", false, at_once, stream_release, {{"stream", "integer", true, "a stream's id"}}},
      {"plan.create", "record launches, to be run by one message", false, long_work, plan_create,
       {{"launches", "array", true, "objects with what kernel.launch takes of kernel, args and symbols"},
        {"device", "string", false, "default host"}}},
      {"plan.run", "run a plan's launches one after the other; answers at completion", false, at_once, plan_run,
       {{"plan", "integer", true, "a plan's id"},
        {"stream", "integer", false, "of stream.create; default the connection's own"}}},
      {"plan.release", "give a plan back, behind its runs", false, short_work, plan_release,
       {{"plan", "integer", true, "a plan's id"}}},
      {"ring.create", "memory by which plans are run without a message", false, long_work, ring_create,
       {{"device", "string", false, "default host"},
        {"slots", "integer", false, "entries each way, a power of two from 2 to 4096; default 256"}}},
      {"ring.attach", "let a ring's submissions name a plan", false, long_work, ring_attach,
       {{"ring", "integer", true, "a ring's id"}, {"plan", "integer", true, "a plan's id"}}},
      {"ring.release", "give a ring back; its run in flight is stopped", false, long_work, ring_release,
       {{"ring", "integer", true, "a ring's id"}}},
      {"cache.stats", "counters and limits of the cache", false, at_once, cache_stats, {}},
      {"cache.list", "entries, newest use first", false, long_work, cache_list, {{"limit", "integer", false, "at most so many, default 1000"}}},
      {"cache.verify", "read every entry; damaged ones are set aside", false, long_work, cache_verify, {}},
      {"cache.evict", "remove least recently used entries, or one", true, long_work, cache_evict,
       {{"bytes_max", "integer", false, "down to so many bytes"}, {"entries_max", "integer", false, "down to so many entries"},
        {"key", "string", false, "this entry"}}},
      {"cache.export", "kernels of the cache as one file, a bundle", true, long_work, cache_export,
       {{"keys", "array", false, "these entries; default all"},
        {"programs", "array", false, "of these programs alone, by name"},
        {"targets", "array", false, "for these targets alone: gfx942 with whatever features, or exactly as it says"}}},
      {"cache.import", "take over what a bundle holds and the cache does not", true, at_once, cache_import,
       {{"fd", "object", true, "{\"fd\": 0}, the first descriptor of this request"}}},
      {"device.list", "devices and what they are", false, long_work, device_list,
       {{"device", "string", false, "this one alone, by any of its names"}}},
      {"engine.stats", "counters of the daemon", false, at_once, engine_stats, {}},
      {"engine.metrics", "the counters as Prometheus text", false, at_once, engine_metrics, {}},
      {"engine.connections", "who is connected, what they hold, and what runs for them", false, short_work, engine_connections, {}},
  };
}

Json schema_of(const char* type) {
  const std::string text = type;
  if (text.find('|') == std::string::npos) return {{"type", text}};
  Json any = Json::array();
  for (std::size_t begin = 0; begin < text.size();) {
    auto end = text.find(" | ", begin);
    if (end == std::string::npos) end = text.size();
    any.push_back({{"type", text.substr(begin, end - begin)}});
    begin = end + 3;
  }
  return {{"anyOf", std::move(any)}};
}

}  // namespace

const std::vector<MethodInfo>& methods() {
  static const auto table = make_methods();
  return table;
}

const MethodInfo* method_named(const std::string& name) {
  const auto& table = methods();
  const auto it = std::find_if(table.begin(), table.end(), [&](const MethodInfo& m) { return name == m.name; });
  return it == table.end() ? nullptr : &*it;
}

Json discover_json(const ServiceState& state) {
  Json list = Json::array();
  for (const auto& method : methods()) {
    Json params = Json::array();
    for (const auto& p : method.params)
      params.push_back({{"name", p.name}, {"required", p.required}, {"summary", p.summary}, {"schema", schema_of(p.type)}});
    params.push_back({{"name", "deadline_ms"}, {"required", false}, {"summary", "give up after so long"}, {"schema", schema_of("integer")}});
    list.push_back({{"name", method.name}, {"summary", method.summary}, {"paramStructure", "by-name"}, {"params", std::move(params)},
                    {"result", {{"name", "result"}, {"schema", {{"type", "object"}}}}}});
  }
  return {{"openrpc", "1.2.6"},
          {"info", {{"title", "Kiln"}, {"version", std::to_string(protocol::version_major) + "." + std::to_string(protocol::version_minor)},
                    {"description", "build " + state.options.build_id}}},
          {"methods", std::move(list)}};
}

}  // namespace kiln::service
