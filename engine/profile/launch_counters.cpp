#include "engine/profile/launch_counters.hpp"

#include <nlohmann/json.hpp>

namespace kiln::profile {
namespace {

using Json = nlohmann::json;

// Reads members; remembers whether any was missing or of another type.
struct Members {
  const Json& object;
  bool& sound;

  template <class T> T get(const char* name, bool needed = true) const {
    const auto found = object.find(name);
    const bool fits = found != object.end() && (std::is_same_v<T, std::string> ? found->is_string()
                      : std::is_same_v<T, double> ? found->is_number() : found->is_number_unsigned());
    if (fits) return found->get<T>();
    sound = sound && !needed && found == object.end();
    return T{};
  }
  const Json& child(const char* name, Json::value_t type) const {
    static const Json none;
    const auto found = object.find(name);
    if (found != object.end() && found->type() == type) return *found;
    sound = false;
    return none;
  }
};

CountedInstruction read_row(const Json& value, bool& sound) {
  CountedInstruction row;
  if (!value.is_object()) {
    sound = false;
    return row;
  }
  const Members m{value, sound};
  row.offset = m.get<std::uint64_t>("offset");
  row.text = m.get<std::string>("text");
  row.executed = m.get<std::uint64_t>("executed");
  row.lds_cycles = m.get<std::uint64_t>("lds_cycles", false);
  row.lds_conflicts = m.get<std::uint64_t>("lds_conflicts", false);
  row.bytes = m.get<std::uint64_t>("bytes", false);
  row.segments = m.get<std::uint64_t>("segments", false);
  row.file = m.get<std::string>("file", false);
  row.line = static_cast<std::uint32_t>(m.get<std::uint64_t>("line", false));
  return row;
}

void read_triple(const Json& value, std::array<std::uint64_t, 3>& triple, bool& sound) {
  sound = sound && value.size() == triple.size();
  for (std::size_t i = 0; sound && i < triple.size(); ++i) {
    sound = value[i].is_number_unsigned();
    if (sound) triple[i] = value[i].get<std::uint64_t>();
  }
}

CacheModelNote read_model(const Json& value, bool& sound) {
  const Members m{value, sound};
  CacheModelNote note;
  note.text = m.get<std::string>("text");
  note.line_bytes = m.get<std::uint64_t>("line_bytes");
  note.bytes = m.get<std::uint64_t>("bytes");
  note.ways = m.get<std::uint64_t>("ways");
  note.caches = m.get<std::uint64_t>("caches");
  const auto complete = value.find("complete");
  note.complete = complete != value.end() && complete->is_boolean() && complete->get<bool>();
  return note;
}

LaunchCounters read_launch(const Json& value, bool& sound) {
  LaunchCounters launch;
  if (!value.is_object()) {
    sound = false;
    return launch;
  }
  const Members m{value, sound};
  launch.kernel = m.get<std::string>("kernel");
  launch.target = m.get<std::string>("target");
  read_triple(m.child("blocks", Json::value_t::array), launch.blocks, sound);
  read_triple(m.child("threads", Json::value_t::array), launch.threads, sound);
  launch.lds_bytes = m.get<std::uint64_t>("lds_bytes");
  launch.waves = m.get<std::uint64_t>("waves");
  launch.instructions = m.get<std::uint64_t>("instructions_executed");
  launch.duration_ms = m.get<double>("duration_ms");
  for (const auto& [name, count] : m.child("counters", Json::value_t::object).items()) {
    sound = sound && count.is_number_unsigned();
    if (sound) launch.counters[name] = count.get<std::uint64_t>();
  }
  for (const auto& name : value.value("modelled", Json::array())) {
    sound = sound && name.is_string();
    if (sound) launch.modelled.push_back(name.get<std::string>());
  }
  if (const auto models = value.find("models"); models != value.end() && models->is_object()) {
    if (const auto l2 = models->find("l2"); l2 != models->end() && l2->is_object()) launch.l2_model = read_model(*l2, sound);
  }
  for (const auto& row : m.child("instructions", Json::value_t::array)) launch.rows.push_back(read_row(row, sound));
  return launch;
}

}  // namespace

Result<std::vector<LaunchCounters>> read_launch_counters(std::string_view json) {
  const auto value = Json::parse(json.begin(), json.end(), nullptr, false);
  bool sound = value.is_array();
  std::vector<LaunchCounters> launches;
  if (sound)
    for (const auto& launch : value) launches.push_back(read_launch(launch, sound));
  if (!sound) return Error(ErrorCode::corrupt, "the card's counters are not what it says that they are");
  return launches;
}

}  // namespace kiln::profile
