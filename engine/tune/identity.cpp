#include "engine/tune/identity.hpp"

#include <charconv>

#include "engine/base/processor.hpp"
#include "engine/jit/build_identity.hpp"
#include "engine/tune/record_format.hpp"
#include "engine/tune/shape_class.hpp"

namespace kiln::tune {
namespace {

constexpr std::size_t digits_of_part = 16, digits_of_whole = 32;

std::string prefix_of(const Digest& program, const std::string& target, const std::string& device_class,
                      const std::string& version, const jit::Words& classes) {
  Writer w;
  w.string(target);
  w.string(device_class);
  w.string(version);
  write_words(w, classes);
  return to_hex(program).substr(0, digits_of_part) + to_hex(sha256(w.data())).substr(0, digits_of_part);
}

// Classes of the symbols that have a size. One that has none, or nonsense, is a mistake that binding reports.
jit::Words classes_of(const tile::Program& program, const specialize::Bindings& bindings) {
  jit::Words classes;
  for (const auto& symbol : program.symbols) {
    const auto given = bindings.set.find(symbol.name);
    if (given == bindings.set.end()) continue;
    std::int64_t size = -1;
    const auto& text = given->second;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (error == std::errc() && end == text.data() + text.size() && size >= 0) classes[symbol.name] = shape_class(size);
  }
  return classes;
}

}  // namespace

std::string place_prefix(const Place& place) {
  return prefix_of(place.program_digest, place.target, place.device_class, std::string(jit::source_identity()),
                   classes_of(*place.program, *place.bindings));
}

Result<jit::TuningIdentity> identity_of(const Place& place) {
  KILN_TRY(const auto target, target::parse_target(place.target));
  KILN_TRY(const auto resolved, specialize::describe_bindings(*place.program, *place.bindings, target));
  jit::TuningIdentity identity;
  identity.program = place.program_digest;
  identity.program_name = place.program->name;
  for (const auto& binding : resolved)
    if (binding.kind == "option" || (binding.kind == "tunable" && binding.given))
      identity.settings[binding.name] = binding.value;
  for (const auto& [tile, layout] : place.bindings->layouts) identity.layouts[tile] = layout_spec_text(layout);
  identity.align = place.bindings->align_bytes;
  identity.classes = classes_of(*place.program, *place.bindings);
  identity.target = place.target;
  identity.device_class = place.device_class;
  identity.version = jit::source_identity();
  return identity;
}

std::string record_id(const jit::TuningIdentity& identity) {
  Writer w;
  write_identity(w, identity);
  return prefix_of(identity.program, identity.target, identity.device_class, identity.version, identity.classes) +
         to_hex(sha256(w.data())).substr(0, digits_of_whole);
}

std::string device_class_of_host() {
  static const std::string text = "host: " + processor_name() + ", " + std::to_string(usable_cores()) + " threads";
  return text;
}

std::string device_class_of_card(const device::DeviceInfo& info) {
  return "card: " + info.description + ", " + std::to_string(info.compute_units) + " compute units";
}

}  // namespace kiln::tune
