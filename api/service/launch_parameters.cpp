// What a launch's request says.
#include <algorithm>
#include <bit>
#include <cmath>

#include "api/service/launch_job.hpp"
#include "engine/base/half.hpp"
#include "engine/ir/bound/symbols.hpp"
#include "engine/ir/float8.hpp"

namespace kiln::service {

using protocol::Json;

namespace {

constexpr std::size_t waits_max = 64;

Result<Bytes> scalar_bytes(const Json& value, DType type, const Error& mistake) {
  Writer writer;
  if (type == DType::boolean && value.is_boolean()) { writer.boolean(value.get<bool>()); return writer.take(); }
  if (!value.is_number() || (is_integer(type) && !value.is_number_integer())) return mistake;
  const double real = value.get<double>();
  const std::int64_t integer = is_integer(type) ? value.get<std::int64_t>() : 0;
  const int bits = dtype_bits(type);
  if (is_integer(type)) {
    const auto low = is_signed(type) ? -(std::int64_t(1) << std::min(bits - 1, 62)) : 0;
    const auto high = bits >= 63 ? std::int64_t(1) << 62 : (std::int64_t(1) << (is_signed(type) ? bits - 1 : bits)) - 1;
    if (integer < low || integer > high) return mistake;
    writer.i64(integer);
    auto bytes = writer.take();
    bytes.resize(std::size_t(dtype_bytes(type)));
    return bytes;
  }
  if (type == DType::f64) writer.f64(real);
  else if (type == DType::f32) writer.u32(std::bit_cast<std::uint32_t>(float(real)));
  else if (type == DType::f16 || type == DType::bf16) {
    const auto half = type == DType::f16 ? f64_to_f16(real) : f64_to_bf16(real);
    writer.u8(std::uint8_t(half & 255));
    writer.u8(std::uint8_t(half >> 8));
  } else if (const auto format = float8_format(type)) {
    writer.u8(f64_to_f8(*format, real));
  } else return mistake;
  return writer.take();
}

Error argument_error(const std::string& pointer, const std::string& message, const std::string& expected,
                     const std::string& found) {
  Diagnostic d;
  d.pointer = pointer;
  d.message = message;
  d.expected = expected;
  d.found = found;
  Error error(ErrorCode::invalid_argument, pointer + ": " + message +
              (expected.empty() ? "" : "; expected " + expected) + (found.empty() ? "" : ", found " + found));
  error.diagnostics.push_back(std::move(d));
  return error;
}

Result<Argument> buffer_argument(LaunchJob& job, const Json& value, const compile::TensorInfo& tensor,
                                 const std::string& pointer) {
  const protocol::Fields fields(value, pointer);
  KILN_CHECK(fields.only({"buffer", "offset"}));
  constexpr auto most = protocol::integer_magnitude_max;
  KILN_TRY(const auto id, fields.integer("buffer", 1, most));
  KILN_TRY(const auto offset, fields.integer_or("offset", 0, 0, most));
  Argument argument;
  {
    std::lock_guard lock(job.call->state.mutex);
    const auto it = job.call->connection->buffers.find(std::uint64_t(id));
    if (it == job.call->connection->buffers.end())
      return argument_error(pointer + "/buffer", "this connection has no such buffer",
                            "an id from buffer.register or buffer.alloc", std::to_string(id));
    argument.buffer = it->second;
    argument.buffer_id = it->first;
  }
  argument.offset = std::uint64_t(offset);
  argument.bytes = std::uint64_t(tensor.bytes.value());
  argument.access = tensor.access;
  const auto size = argument.buffer->size();
  if (argument.offset > size || argument.bytes > size - argument.offset)
    return argument_error(pointer, "the buffer is too short for the tensor",
                          std::to_string(argument.bytes) + " bytes at offset " + std::to_string(offset),
                          std::to_string(size) + " bytes in all");
  if (tensor.access != Access::read && !argument.buffer->writable())
    return argument_error(pointer, "the kernel writes this tensor and the buffer is read-only",
                          "a descriptor that is open for writing", "");
  if (tensor.align_bytes > 1 && argument.offset % std::uint64_t(tensor.align_bytes) != 0)
    return argument_error(pointer + "/offset", "the kernel was compiled for an aligned base",
                          "a multiple of " + std::to_string(tensor.align_bytes) +
                              " (or bind a smaller alignment with \"align\")",
                          std::to_string(offset));
  return argument;
}

// Tensors that a kernel writes may not overlap others, unless the program says so.
Status check_overlaps(const LaunchJob& job) {
  const auto& tensors = job.tensors();
  for (std::size_t i = 0; i < tensors.size(); ++i)
    for (std::size_t j = 0; j < tensors.size(); ++j) {
      const auto& a = job.arguments[i];
      const auto& b = job.arguments[j];
      if (i == j || !a.buffer || !b.buffer || tensors[i].access == Access::read) continue;
      if (tensors[i].may_alias || tensors[j].may_alias) continue;
      if (a.bytes == 0 || b.bytes == 0 || !a.buffer->same_file(*b.buffer)) continue;
      const auto a_begin = a.buffer->file_offset() + a.offset, b_begin = b.buffer->file_offset() + b.offset;
      if (a_begin < b_begin + b.bytes && b_begin < a_begin + a.bytes)
        return argument_error(job.fields->pointer("args"), "\"" + job.name(i) + "\" is written and overlaps \"" + job.name(j) + "\"",
                              "memory of its own (or may_alias in the program)", "");
    }
  return ok();
}

// A list of strings as the switch takes it, "races,barriers"; empty for anything else.
std::string words_of(const Json& value) {
  std::string words;
  if (!value.is_array()) return words;
  for (const auto& word : value) {
    if (!word.is_string()) return {};
    words += (words.empty() ? "" : ",") + word.get<std::string>();
  }
  return words;
}

bool is_event_id(const Json& id) { return id.is_number_integer() && id.get<std::int64_t>() > 0; }

Result<std::shared_ptr<CardEvent>> find_event(const LaunchJob& job, const Json& id, const std::string& pointer) {
  std::shared_ptr<CardEvent> event;
  if (is_event_id(id)) {
    const auto found = job.named_events.find(id.get<std::uint64_t>());
    if (found != job.named_events.end()) event = found->second;
  }
  if (!event)
    return argument_error(pointer, "this connection has no such event", "an id from event.import or event.export",
                          protocol::dump(id).substr(0, 80));
  if (&event->device() != job.device)
    return argument_error(pointer, "the event is of another device than the launch", "an event of " + job.device_name,
                          "one of " + event->device_name());
  return event;
}

std::string promise_of(const bound::Symbol& symbol) {
  return "an integer from " + std::to_string(symbol.min) + " to " + std::to_string(symbol.max) +
         (symbol.multiple_of > 1 ? ", a multiple of " + std::to_string(symbol.multiple_of) : "");
}

// One symbol's value: of "symbols", else of "set" where the request names the program.
Result<std::int64_t> symbol_value(const LaunchJob& job, const bound::Symbol& symbol, const Json* given) {
  const auto pointer = job.fields->pointer("symbols/" + symbol.name);
  const Json* value = given && given->contains(symbol.name) ? &(*given)[symbol.name] : nullptr;
  if (value && value->is_number_integer()) return value->get<std::int64_t>();
  if (value) return argument_error(pointer, "not a size", promise_of(symbol), protocol::dump(*value).substr(0, 80));
  if (!job.fields->has("key") && job.source) {
    const auto set = specialize::symbol_values({symbol}, job.source->bindings.set);
    if (set) return set->front();
  }
  return argument_error(pointer, "the kernel's dynamic symbol has no value", promise_of(symbol), "nothing");
}

}  // namespace

Status read_symbols(LaunchJob& job) {
  const auto& symbols = symbols_of(job.kernel->metadata, job.program.get());
  const Json* given = nullptr;
  if (job.fields->has("symbols")) {
    KILN_TRY(given, job.fields->object("symbols"));
    for (const auto& [name, value] : given->items()) {
      const auto named = [&, &n = name](const bound::Symbol& symbol) { return symbol.name == n; };
      if (std::none_of(symbols.begin(), symbols.end(), named))
        return argument_error(job.fields->pointer("symbols/" + name.substr(0, 100)), "the kernel has no such dynamic symbol",
                              "", "");
    }
  }
  if (symbols.empty()) return ok();
  for (const auto& symbol : symbols) {
    KILN_TRY(const auto value, symbol_value(job, symbol, given));
    const auto kept = bound::check_values({symbol}, std::vector<std::int64_t>{value});
    if (!kept)
      return argument_error(job.fields->pointer("symbols/" + symbol.name), "the program promises another value",
                            promise_of(symbol), std::to_string(value));
    job.symbols.push_back(value);
  }
  KILN_TRY(auto sizes, compile::sizes_at(job.kernel->metadata, job.symbols));
  job.sizes = std::make_shared<const compile::LaunchSizes>(std::move(sizes));
  return ok();
}

Result<Bytes> read_scalar(const Json& value, DType type, const std::string& pointer) {
  const auto mistake = argument_error(pointer, "wrong scalar", std::string("a ") + dtype_name(type),
                                      protocol::dump(value).substr(0, 80));
  return scalar_bytes(value, type, mistake);
}

Status read_arguments(LaunchJob& job) {
  const auto& tensors = job.tensors();
  const Json* args = job.fields->find("args");
  if (!args || !(args->is_object() || args->is_array()))
    return job.fields->error("args", "an object by name, or an array in order");
  if (args->size() != tensors.size() && args->is_array())
    return argument_error(job.fields->pointer("args"), "wrong number of arguments", std::to_string(tensors.size()),
                          std::to_string(args->size()));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto& name = job.name(i);
    const auto pointer = job.fields->pointer("args/") + (args->is_array() ? std::to_string(i) : name);
    const Json* value = args->is_array() ? &(*args)[i] : args->contains(name) ? &(*args)[name] : nullptr;
    if (!value)
      return argument_error(pointer, "missing argument", tensors[i].scalar ? "a number" : "{\"buffer\": id}",
                            "nothing");
    if (tensors[i].scalar) {
      Argument argument;
      KILN_TRY(argument.scalar, read_scalar(*value, tensors[i].dtype, pointer));
      job.arguments.push_back(std::move(argument));
      continue;
    }
    KILN_TRY(auto argument, buffer_argument(job, *value, tensors[i], pointer));
    job.arguments.push_back(std::move(argument));
  }
  if (args->is_object())
    for (const auto& [name, value] : args->items())
      if (!job.has_argument(name))
        return argument_error(job.fields->pointer("args/" + name.substr(0, 100)), "the kernel has no such argument", "", "");
  return check_overlaps(job);
}

// "switches": of the emulated card, for this launch alone.
Status read_settings(LaunchJob& job) {
  const auto& call = *job.call;
  {
    std::lock_guard lock(call.state.mutex);
    job.settings.stream = call.connection->streams.at(job.stream).number;
  }
  job.settings.profile = job.purpose == LaunchPurpose::profile && counts(job.device_name);
  if (!call.fields.has("switches")) return ok();
  KILN_TRY(const Json* switches, call.fields.object("switches"));
  const protocol::Fields fields(*switches, "/params/switches");
  KILN_CHECK(fields.only({"check", "seed", "order", "budget"}));
  for (const auto& [name, value] : switches->items()) {
    const auto* const words = value.get_ptr<const std::string*>();
    if (words != nullptr && (words->empty() || words->find('\0') != std::string::npos))
      return fields.error(name, "words, not nothing, and without a null character");
    if (value.is_string()) job.settings.switches.emplace_back(name, value.get<std::string>());
    else if (value.is_number_integer() && value.get<std::int64_t>() >= 0)
      job.settings.switches.emplace_back(name, std::to_string(value.get<std::int64_t>()));
    else if (const auto list = words_of(value); !list.empty()) job.settings.switches.emplace_back(name, list);
    else return fields.error(name, "a string, a list of strings or a number from 0");
  }
  return ok();
}

std::map<std::uint64_t, std::shared_ptr<CardEvent>> named_events(const ActiveCall& call) {
  std::map<std::uint64_t, std::shared_ptr<CardEvent>> named;
  const Json* const wait = call.fields.find("wait");
  const Json* const event = call.fields.find("event");
  std::lock_guard lock(call.state.mutex);
  const auto add = [&](const Json& id) {
    if (!is_event_id(id) || named.size() > waits_max) return;
    const auto found = call.connection->events.find(id.get<std::uint64_t>());
    if (found != call.connection->events.end()) named.insert(*found);
  };
  if (event != nullptr) add(*event);
  if (wait != nullptr && wait->is_array()) std::for_each(wait->begin(), wait->end(), add);
  return named;
}

// "wait" and "event".
Status read_events(LaunchJob& job) {
  const auto& fields = job.call->fields;
  if (fields.has("wait")) {
    KILN_TRY(const Json* wait, fields.array("wait", waits_max));
    for (std::size_t i = 0; i < wait->size(); ++i) {
      KILN_TRY(auto event, find_event(job, (*wait)[i], "/params/wait/" + std::to_string(i)));
      job.settings.wait.push_back(event->id());
      job.events.push_back(std::move(event));
    }
  }
  if (const Json* id = fields.find("event")) {
    KILN_TRY(auto event, find_event(job, *id, "/params/event"));
    job.settings.record = event->id();
    job.events.push_back(std::move(event));
  }
  if (!job.events.empty() && job.copies())
    return Error(ErrorCode::invalid_argument,
                 "a buffer that is copied in and out by the daemon cannot be ordered by events of the card: register a "
                 "memfd that can be sealed");
  return ok();
}

}  // namespace kiln::service
