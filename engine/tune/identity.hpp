// What a record is for, and the name that this gives it.
#pragma once

#include <string>

#include "engine/jit/tuning.hpp"
#include "engine/specialize/specialize.hpp"

namespace kiln::tune {

// A program as a request puts it, before its tunables are chosen.
struct Place {
  const tile::Program* program = nullptr;
  Digest program_digest{};
  const specialize::Bindings* bindings = nullptr;
  std::string target;          // full
  std::string device_class;
};

// The first 32 digits of a record's name: a hash over program, target, device class, build and the classes of the
// symbols that are set. Cheap; where no record has it there is none for the place.
std::string place_prefix(const Place& place);
// Errors: program_invalid (settings that the program cannot take).
Result<jit::TuningIdentity> identity_of(const Place& place);
// 64 hex digits: the place's prefix and a hash over the whole.
std::string record_id(const jit::TuningIdentity& identity);

// "host: AMD EPYC …, 2 threads"; "emulated", wherever it runs; a card's own description.
std::string device_class_of_host();
inline constexpr const char* device_class_of_emulated = "emulated";
std::string device_class_of_card(const device::DeviceInfo& info);

}  // namespace kiln::tune
