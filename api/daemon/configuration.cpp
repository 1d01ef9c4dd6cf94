#include "api/daemon/configuration.hpp"

#include <grp.h>

#include <charconv>
#include <filesystem>

#include "cache/disk_store.hpp"
#include "engine/base/fd.hpp"
#include "engine/base/process.hpp"
#include "engine/compile/compiler.hpp"
#include "engine/compile/toolchain.hpp"
#include "engine/emit/emit.hpp"
#include "engine/jit/build_identity.hpp"

namespace kiln::daemon {

using protocol::Fields;
using protocol::Json;

namespace {

// Told in `hello` and not settable: the workers' own, whose texts are part of what is stored under a key.
static_assert(protocol::Limits{}.log_bytes_max == compile::log_bytes_max);
static_assert(protocol::Limits{}.text_bytes_max == emit::text_bytes_max);

// By their names in `hello`.
std::map<std::string, std::uint64_t*> settable_limits(protocol::Limits& l) {
  return {{"line_bytes_max", &l.line_bytes_max}, {"depth_max", &l.depth_max}, {"nodes_max", &l.nodes_max}, {"id_bytes_max", &l.id_bytes_max},
          {"connections_max", &l.connections_max}, {"requests_in_flight_max", &l.requests_in_flight_max}, {"batch_max", &l.batch_max},
          {"output_bytes_max", &l.output_bytes_max}, {"output_stall_ms_max", &l.output_stall_ms_max}, {"fds_queued_max", &l.fds_queued_max},
          {"fds_unclaimed_ms_max", &l.fds_unclaimed_ms_max}, {"fds_held_max", &l.fds_held_max}, {"buffers_max", &l.buffers_max},
          {"streams_max", &l.streams_max}, {"events_max", &l.events_max}, {"plans_max", &l.plans_max},
          {"plan_launches_max", &l.plan_launches_max}, {"rings_max", &l.rings_max},
          {"buffer_bytes_max", &l.buffer_bytes_max}, {"compiles_queued_max", &l.compiles_queued_max}};
}

std::optional<gid_t> group_id(const std::string& name) {
  group entry{};
  group* found = nullptr;
  std::vector<char> names(1 << 16);
  if (::getgrnam_r(name.c_str(), &entry, names.data(), names.size(), &found) == 0 && found) return found->gr_gid;
  gid_t number = 0;
  const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (failure != std::errc() || end != name.data() + name.size() || name.empty()) return std::nullopt;
  return number;
}

// Reads one setting of config.json into `slot` and notes the source.
class ConfigReader {
 public:
  ConfigReader(const Json& root, Configuration& out) : root_(root), out_(out) {}

  Status number(const char* name, std::int64_t& slot, std::int64_t min, std::int64_t max) {
    const Fields fields(root_, "");
    if (!fields.has(name)) return ok();
    KILN_TRY(slot, fields.integer(name, min, max));
    out_.sources[name] = "config.json";
    return ok();
  }
  Status number(const char* name, std::uint64_t& slot) {
    auto value = std::int64_t(slot);
    KILN_CHECK(number(name, value, 1, protocol::integer_magnitude_max));
    slot = std::uint64_t(value);
    return ok();
  }
  Status boolean(const char* name, bool& slot) {
    const Fields fields(root_, "");
    if (!fields.has(name)) return ok();
    KILN_TRY(slot, fields.boolean_or(name, slot));
    out_.sources[name] = "config.json";
    return ok();
  }
  Status words(const char* name, std::vector<std::string>& slot) {
    const Fields fields(root_, "");
    if (!fields.has(name)) return ok();
    KILN_TRY(const Json* list, fields.array(name, 1000));
    std::vector<std::string> read;
    for (const auto& item : *list) {
      if (!item.is_string()) return fields.error(name, "an array of strings");
      read.push_back(item.get<std::string>());
    }
    slot = std::move(read);
    out_.sources[name] = "config.json";
    return ok();
  }
  // A group by its name or number.
  Status group() {
    const Fields fields(root_, "");
    if (!fields.has("group")) return ok();
    KILN_TRY(out_.group, fields.text("group"));
    out_.group_id = group_id(out_.group);
    if (!out_.group_id) return fields.error("group", "the name or number of a group of this machine");
    out_.sources["group"] = "config.json";
    return ok();
  }
  // An absolute path, or "" for none.
  Status path(const char* name, LocatedPath& slot) {
    const Fields fields(root_, "");
    if (!fields.has(name)) return ok();
    KILN_TRY(auto value, fields.text(name));
    if (!value.empty() && !value.starts_with('/')) return fields.error(name, "an absolute path, or \"\" for none");
    slot = {std::move(value), "config.json"};
    return ok();
  }
  // The key file that vouches for code objects; it is read at once, so that a wrong one is not found out about later.
  Status trust_key() {
    const Fields fields(root_, "");
    if (!fields.has("trust_key")) return ok();
    KILN_TRY(out_.trust_key_file, fields.text("trust_key"));
    auto key = cache::TrustKey::read(out_.trust_key_file);
    if (!key) return Error(key.error().code, fields.pointer("trust_key") + ": " + key.error().message);
    out_.trust_key = std::move(*key);
    out_.sources["trust_key"] = "config.json";
    return ok();
  }
  Status limits() {
    const Fields fields(root_, "");
    if (!fields.has("limits")) return ok();
    KILN_TRY(const Json* object, fields.object("limits"));
    // Below these a client's first words would not pass.
    const std::map<std::string, std::int64_t> least{
        {"line_bytes_max", 4096}, {"depth_max", 8}, {"nodes_max", 256}, {"id_bytes_max", 16}, {"output_bytes_max", 65536}};
    const auto slots = settable_limits(out_.limits);
    const Fields values(*object, "/limits");
    for (const auto& [name, value] : object->items()) {
      const auto slot = slots.find(name);
      if (name == "log_bytes_max" || name == "text_bytes_max") return values.error(name, "no setting: this limit is fixed");
      if (slot == slots.end()) return values.error(name, "a limit's name as in `hello`");
      const auto minimum = least.find(name);
      KILN_TRY(const auto n, values.integer(name, minimum == least.end() ? 1 : minimum->second, std::int64_t(1) << 40));
      *slot->second = std::uint64_t(n);
      out_.sources["limits." + name] = "config.json";
    }
    return ok();
  }

 private:
  const Json& root_;
  Configuration& out_;
};

Status read_config_file(Configuration& out) {
  auto bytes = read_file(out.config.path, 1 << 20);
  if (!bytes) return bytes.error().code == ErrorCode::not_found ? ok() : Status(std::move(bytes).error().with("in " + out.config.path));
  auto root = protocol::parse_json(text(*bytes), protocol::Limits{});
  if (!root) return std::move(root).error().with("in " + out.config.path);
  const Fields fields(*root, "");
  auto known = fields.only({"worker_hip", "worker_host", "device_host", "device_hip", "reference", "group", "cache_bytes_max", "cache_entries_max", "idle_exit_s",
                            "metrics_socket", "metrics_port", "workers_max", "compile_deadline_ms", "limits", "trust_key", "cache_layers",
                            "cache_tier", "cache_trust_other_owner"});
  if (!known) return std::move(known).error().with("in " + out.config.path);
  ConfigReader reader(*root, out);
  auto read = [&]() -> Status {
    KILN_CHECK(reader.words("worker_hip", out.worker_hip));
    if (out.sources.contains("worker_hip")) out.own_worker_hip.clear();
    KILN_CHECK(reader.words("worker_host", out.worker_host));
    KILN_CHECK(reader.words("device_host", out.device_host));
    KILN_CHECK(reader.words("device_hip", out.device_hip));
    KILN_CHECK(reader.words("reference", out.reference));
    KILN_CHECK(reader.group());
    KILN_CHECK(reader.trust_key());
    KILN_CHECK(reader.words("cache_layers", out.cache_layers));
    KILN_CHECK(reader.boolean("cache_trust_other_owner", out.cache_trust_other_owner));
    KILN_TRY(out.cache_tier, read_tier_setting(*root));
    if (!out.cache_tier.url.empty()) out.sources["cache_tier"] = "config.json";
    KILN_CHECK(reader.number("cache_bytes_max", out.cache_bytes_max));
    KILN_CHECK(reader.number("cache_entries_max", out.cache_entries_max));
    KILN_CHECK(reader.number("idle_exit_s", out.idle_exit_s, 1, 1000000000));
    KILN_CHECK(reader.path("metrics_socket", out.metrics_socket));
    KILN_CHECK(reader.number("metrics_port", out.metrics_port, 0, 65535));
    KILN_CHECK(reader.number("workers_max", out.workers_max, 0, 1024));
    KILN_CHECK(reader.number("compile_deadline_ms", out.compile_deadline_ms, 1, 1000000000));
    return reader.limits();
  };
  if (auto status = read(); !status) return std::move(status).error().with("in " + out.config.path);
  return ok();
}

// Kiln's worker through a private prefix; without one the worker looks for the system's hipRTC itself and says when
// there is none.
std::vector<std::string> own_hip_command(const Configuration& c, const std::optional<compile::Toolchain>& newest) {
  auto command = newest ? compile::through_toolchain(*newest, c.own_worker_hip) : std::vector{c.own_worker_hip};
  command.insert(command.end(), c.worker_hip_arguments.begin(), c.worker_hip_arguments.end());
  return command;
}

// Programs lie beside this one; data in ../share/kiln.
Status find_own_files(Configuration& out) {
  const auto bin = executable_folder();
  const auto share = (std::filesystem::path(bin).parent_path() / "share/kiln").string();
  out.programs_folder = share + "/programs";
  out.tuning_folder = share + "/tuning";
  out.include_folder = share + "/include";
  auto program = [&](const char* name) {
    const auto path = bin + "/" + name;
    std::error_code error;
    return std::filesystem::exists(path, error) ? std::vector<std::string>{path} : std::vector<std::string>{};
  };
  out.worker_host = program("kiln-compile-host");
  out.device_host = program("kiln-device-host");
  out.device_hip = program("kiln-device-hip");
  const auto emulated = std::filesystem::path(bin).parent_path() / "lib/kiln/emulated/libamdhip64.so.6";
  if (std::error_code error; std::filesystem::exists(emulated, error)) out.emulated_hip = emulated.string();
  out.reference = program("kiln-reference");
  const auto worker = program("kiln-compile-hip");
  if (worker.empty()) {
    out.no_hip = "kiln-compile-hip is not installed beside " + bin;
    return ok();
  }
  out.own_worker_hip = worker[0];
  const auto installed = compile::list_toolchains(out.toolchains.path);
  out.worker_hip = own_hip_command(out, installed.empty() ? std::nullopt : std::optional(installed.front()));
  return ok();
}

Status override_worker(Configuration& out, const std::string& family, const std::string& command, const std::string& source, bool append) {
  auto* slot = family == "hip" ? &out.worker_hip : family == "host" ? &out.worker_host : nullptr;
  if (!slot) return Error(ErrorCode::invalid_argument, source + ": no worker family \"" + family + "\"; there are hip and host");
  auto words = split_command(command);
  if (!words) return std::move(words).error().with("in " + source);
  auto& arguments = out.worker_hip_arguments;
  if (family == "hip" && append) arguments.insert(arguments.end(), words->begin(), words->end());
  if (family == "hip" && !append) out.own_worker_hip.clear();
  if (append) slot->insert(slot->end(), words->begin(), words->end());
  else *slot = std::move(*words);
  out.sources["worker_" + family] = source;
  return ok();
}

Status apply_flags(Configuration& out, const std::vector<std::string>& flags, const std::string& flag, bool append) {
  for (const auto& entry : flags) {
    const auto equals = entry.find('=');
    if (equals == std::string::npos) return Error(ErrorCode::invalid_argument, flag + " " + entry + ": expected FAMILY=COMMAND, as in hip=/path/worker");
    KILN_CHECK(override_worker(out, entry.substr(0, equals), entry.substr(equals + 1), "flag " + flag, append));
  }
  return ok();
}

// As in PATH, but that nothing between colons is nothing.
std::vector<std::string> split_paths(const std::string& text) {
  std::vector<std::string> paths;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find(':', begin), text.size());
    if (end > begin) paths.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return paths;
}

// Children start in `/`, and so do daemons: a relative path would mean something else there.
Status check_commands(const Configuration& c) {
  const std::map<std::string, const std::vector<std::string>*> commands{
      {"worker_hip", &c.worker_hip}, {"worker_host", &c.worker_host}, {"device_host", &c.device_host}, {"device_hip", &c.device_hip}, {"reference", &c.reference}};
  for (const auto& [name, command] : commands) {
    if (command->empty() || command->front().starts_with('/') || command->front().find('/') == std::string::npos) continue;
    const auto source = c.sources.find(name);
    return Error(ErrorCode::invalid_argument, (source == c.sources.end() ? "" : source->second + ": ") + name + " starts with \"" + command->front() +
                 "\": expected an absolute path, or a name on PATH");
  }
  return ok();
}

}  // namespace

Result<std::vector<std::string>> split_command(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == 0 && (c == ' ' || c == '\t' || c == '\n')) {
      if (in_word) words.push_back(std::move(word));
      word.clear();
      in_word = false;
      continue;
    }
    in_word = true;
    if (c == quote) quote = 0;
    else if (quote == 0 && (c == '\'' || c == '"')) quote = c;
    else if (c == '\\' && quote != '\'' && i + 1 < text.size()) word += text[++i];
    else word += c;
  }
  if (quote != 0) return Error(ErrorCode::parse_error, "a quote is not closed in the command: " + text);
  if (in_word) words.push_back(std::move(word));
  return words;
}

Result<Configuration> load_configuration(const Environment& environment, const Overrides& overrides) {
  Configuration out;
  KILN_TRY(out.socket, socket_path(environment));
  // The same path by a flag keeps its source: an auto-started daemon is told the path that its starter found.
  // Relative ones count from here, not from the folder of a daemon that is started with them.
  const auto from_here = [&](const std::string& path) { return path.starts_with('/') ? path : environment.folder + "/" + path; };
  if (!overrides.socket.empty() && from_here(overrides.socket) != out.socket.path) out.socket = {from_here(overrides.socket), "flag --socket"};
  if (auto folder = cache_folder(environment)) out.cache = std::move(*folder);
  const auto& at = out.socket.path;
  out.metrics_socket = {(at.ends_with(".sock") ? at.substr(0, at.size() - 5) : at) + "-metrics.sock", "beside the socket"};
  if (!overrides.cache.empty()) out.cache = {from_here(overrides.cache), "flag --cache"};
  if (auto file = log_file(environment)) out.log = std::move(*file);
  if (auto file = config_file(environment)) out.config = std::move(*file);
  if (auto folder = toolchains_folder(environment)) out.toolchains = std::move(*folder);
  out.temporary_folder = environment.temporary;
  out.environment = environment.all;
  KILN_CHECK(find_own_files(out));
  if (!out.config.path.empty()) KILN_CHECK(read_config_file(out));
  for (const char* family : {"hip", "host"}) {
    const std::string variable = std::string("KILN_WORKER_") + (family == std::string("hip") ? "HIP" : "HOST");
    if (const auto command = environment.get(variable); !command.empty())
      KILN_CHECK(override_worker(out, family, command, "environment " + variable, false));
  }
  if (const auto layers = environment.get("KILN_CACHE_LAYERS"); !layers.empty()) {
    out.cache_layers = split_paths(layers);
    out.sources["cache_layers"] = "environment KILN_CACHE_LAYERS";
  }
  if (const auto url = environment.get("KILN_CACHE_TIER"); !url.empty()) {
    out.cache_tier = {url};
    out.sources["cache_tier"] = "environment KILN_CACHE_TIER";
  }
  KILN_CHECK(apply_flags(out, overrides.workers, "--worker", false));
  KILN_CHECK(apply_flags(out, overrides.worker_arguments, "--worker-argument", true));
  KILN_CHECK(check_commands(out));
  return out;
}

Result<std::shared_ptr<jit::Session>> open_session(const Configuration& configuration,
                                                   std::function<void(const std::string&)> warn,
                                                   const std::string& children_log) {
  jit::SessionOptions options;
  cache::StoreOptions store;
  store.folder = configuration.cache.path;
  store.bytes_max = configuration.cache_bytes_max;
  store.entries_max = configuration.cache_entries_max;
  store.temporary_root = configuration.temporary_folder;
  store.trust = configuration.trust_key;
  store.layers = configuration.cache_layers;
  store.trust_other_owner = configuration.cache_trust_other_owner;
  store.warn = warn;
  options.store = cache::open_store(store);
  auto with_include = [include = configuration.include_folder](std::vector<std::string> command) {
    if (!command.empty()) command.insert(command.end(), {"--include", include});
    return command;
  };
  auto tier = open_tier(configuration.cache_tier, configuration.trust_key, std::move(warn));
  if (!tier) return std::move(tier).error().with("the setting cache_tier: " + configuration.sources.at("cache_tier"));
  options.tier = std::move(*tier);
  compile::WorkerCommand hip{"hip", with_include(configuration.worker_hip), configuration.no_hip, {}};
  if (!configuration.own_worker_hip.empty()) {  // toolchains come and go while we run
    const auto watch = std::make_shared<compile::ToolchainWatch>(configuration.toolchains.path);
    hip.look = [=, c = configuration]() -> compile::WorkerStart {
      const auto seen = watch->look();
      return {with_include(own_hip_command(c, seen.newest)), seen.change};
    };
    hip.command = hip.look().command;
  }
  options.pool.commands.push_back(std::move(hip));
  options.pool.commands.push_back(
      {"host", with_include(configuration.worker_host), "kiln-compile-host is not installed (built without LLVM)", {}});
  options.pool.workers_max = int(configuration.workers_max);
  options.pool.queue_max = std::size_t(configuration.limits.compiles_queued_max);
  options.pool.compile_deadline = std::chrono::milliseconds(configuration.compile_deadline_ms);
  options.pool.environment = configuration.environment;
  options.pool.temporary_folder = configuration.temporary_folder;
  options.log_path = children_log;
  options.header_folder = configuration.include_folder;
  options.device_host_command = configuration.device_host;
  options.device_hip_command = configuration.device_hip;
  options.emulated_hip = configuration.emulated_hip;
  options.reference_command = configuration.reference;
  KILN_TRY(auto session, jit::Session::create(std::move(options)));
  return std::shared_ptr<jit::Session>(std::move(session));
}

Json configuration_json(const Configuration& c) {
  Json value = Json::object();
  auto add = [&](const std::string& name, Json setting) {
    const auto source = c.sources.find(name);
    value[name] = {{"value", std::move(setting)}, {"source", source == c.sources.end() ? "default" : source->second}};
  };
  auto place = [&](const char* name, const LocatedPath& path) { value[name] = {{"value", path.path}, {"source", path.source}}; };
  place("socket", c.socket);
  place("cache", c.cache);
  place("log", c.log);
  place("config", c.config);
  place("toolchains", c.toolchains);
  add("worker_hip", c.worker_hip);
  add("worker_host", c.worker_host);
  add("device_host", c.device_host);
  add("device_hip", c.device_hip);
  add("emulated_hip", c.emulated_hip);
  add("reference", c.reference);
  add("group", c.group);
  add("trust_key", c.trust_key_file);
  add("cache_layers", c.cache_layers);
  add("cache_trust_other_owner", c.cache_trust_other_owner);
  add("cache_bytes_max", c.cache_bytes_max);
  add("cache_entries_max", c.cache_entries_max);
  add("cache_tier", tier_setting_json(c.cache_tier));
  place("metrics_socket", c.metrics_socket);
  add("metrics_port", c.metrics_port);
  add("idle_exit_s", c.idle_exit_s);
  add("workers_max", c.workers_max);
  add("compile_deadline_ms", c.compile_deadline_ms);
  auto limits = c.limits;
  for (const auto& [name, limit] : settable_limits(limits)) add("limits." + name, *limit);
  return value;
}

std::string build_id() { return std::string("kiln 0.1.0 ") + std::string(jit::source_identity()).substr(0, 12); }

}  // namespace kiln::daemon
