#include "api/service/capture.hpp"

#include <sys/stat.h>
#include <sys/utsname.h>

#include <algorithm>

#include "api/service/records_json.hpp"
#include "engine/base/processor.hpp"
#include "engine/ir/types.hpp"
#include "engine/compile/launch_sizes.hpp"

namespace kiln::service {

using protocol::Json;

namespace {

// What runs here; nothing that names the machine or its users.
capture::Origin origin_of(const LaunchRecord& record) {
  capture::Origin origin;
  origin.build = record.build;
  origin.compiler = record.kernel->metadata.compiler;
  utsname system{};
  if (::uname(&system) == 0) origin.system = std::string(system.sysname) + " " + system.release + " " + system.machine;
  origin.processor = processor_name();
  if (auto info = record.device->info()) {
    origin.device = info->description;
    origin.device_target = info->target;
  }
  return origin;
}

void put_source(const KernelSource& source, capture::Capture& c) {
  c.program = tile::write_program(*source.program);
  c.set = source.bindings.set;
  for (const auto& [name, layout] : source.bindings.layouts) c.layouts[name] = layout_spec_text(layout);
  c.align = source.bindings.align_bytes;
  c.target = source.target;
}

Result<ByteView> bytes_of(std::vector<Mapping>& mappings, int fd, std::uint64_t bytes) {
  if (bytes == 0) return ByteView();
  KILN_TRY(auto mapping, Mapping::map(fd, std::size_t(bytes), false));
  mappings.push_back(std::move(mapping));
  return mappings.back().bytes();
}

}  // namespace

bool CaptureWish::wants(const capture::Outcome& outcome) const {
  using enum capture::Outcome::Kind;
  const bool stopped = outcome.kind == failed && (outcome.error.code == ErrorCode::cancelled || outcome.error.code == ErrorCode::deadline_exceeded);
  if (when == When::never || stopped) return false;
  if (when == When::always) return true;
  return outcome.kind == wrong ||
         (outcome.kind == failed &&
          (outcome.error.code == ErrorCode::launch_failed || outcome.error.code == ErrorCode::device_lost ||
           outcome.error.code == ErrorCode::assertion_failed));
}

Result<CaptureWish> read_capture_wish(const protocol::Fields& fields) {
  CaptureWish wish;
  KILN_TRY(const auto when, fields.text_or("capture", ""));
  if (when == "always") wish.when = CaptureWish::When::always;
  else if (when == "fault") wish.when = CaptureWish::When::fault;
  else if (fields.has("capture")) return fields.error("capture", "\"always\" or \"fault\"");
  if (wish.any() && (fields.has("wait") || fields.has("event")))
    return fields.error("capture", "a launch without wait and event: its tensors are copied before the card is asked, and it is answered at its end");
  if (!fields.has("seeds")) return wish;
  KILN_TRY(const Json* seeds, fields.object("seeds"));
  const protocol::Fields values(*seeds, fields.pointer("seeds"));
  for (const auto& [name, value] : seeds->items()) {
    KILN_TRY(const auto seed, values.integer(name, 0, protocol::integer_magnitude_max));
    wish.seeds[name] = std::uint64_t(seed);
  }
  return wish;
}

Result<UniqueFd> capture_launch(const LaunchRecord& record, const CaptureWish& wish) {
  capture::Capture c;
  if (record.source) put_source(*record.source, c);
  else c.target = record.kernel->metadata.target;
  c.key = record.kernel->key.hex();
  c.purpose = record.purpose;
  bound::SymbolValues values;
  for (const auto& [name, value] : record.symbols) {
    c.set[name] = std::to_string(value);
    values.push_back(value);
  }
  KILN_TRY(c.metadata, compile::with_values(record.kernel->metadata, values));
  if (!record.kernel->stored) return Error(ErrorCode::internal, "the kernel's object is not held any more");
  c.object = record.kernel->stored->object;
  c.device = record.device_name;
  c.switches = record.switches;
  c.outcome = record.outcome;
  c.origin = origin_of(record);
  std::vector<Mapping> mappings;
  std::vector<capture::Source> before;
  std::vector<std::optional<ByteView>> after;
  for (std::size_t i = 0; i < record.arguments.size(); ++i) {
    const auto& a = record.arguments[i];
    capture::Argument argument;
    argument.scalar = a.scalar;
    c.arguments.push_back(std::move(argument));
    c.metadata.tensors[i].name = a.name;   // this client's
    before.emplace_back();
    after.emplace_back();
    if (c.metadata.tensors[i].scalar) continue;
    KILN_TRY(before.back().bytes, bytes_of(mappings, a.before, a.bytes));
    if (const auto seed = wish.seeds.find(a.name); seed != wish.seeds.end()) before.back().seed = seed->second;
    if (a.after >= 0) {
      KILN_TRY(after.back(), bytes_of(mappings, a.after, a.bytes));
    }
  }
  for (const auto& [name, value] : record.symbols) {  // scalars behind the tensors
    c.metadata.tensors[c.arguments.size()].name = name;
    capture::Argument argument;
    argument.scalar = compile::symbol_argument(value);
    c.arguments.push_back(std::move(argument));
    before.emplace_back();
    after.emplace_back();
  }
  return capture::write_capture(c, before, after);
}

void attach_capture(Reply& reply, Result<UniqueFd> file) {
  Json value;
  if (!file) {
    value = {{"error", protocol::error_json(file.error())}};
  } else {
    struct stat state{};
    const auto bytes = ::fstat(file->get(), &state) == 0 ? std::uint64_t(state.st_size) : 0;
    value = {{"fd", reply.fds.size()}, {"bytes", bytes}};
    reply.fds.push_back(std::move(*file));
  }
  add_members(reply, {{"capture", std::move(value)}});
}

}  // namespace kiln::service
