// What the emulated card's library exports beside HIP's functions: switches, reports, counters. Found by dlsym; a real
// library has none of them. All may be called by any thread; text is NUL-terminated, cut to `bytes`, and the length
// that the whole would take (without NUL) is given back.
#pragma once

#include <cstddef>

#define KILN_EXPORT extern "C" __attribute__((visibility("default")))

// Sets an option (engine/emulator/machine/options.hpp) for launches from now on. 0, or hipErrorInvalidValue with
// kiln_emulator_message. "core", "core_folder", "threads" and "memory" count only before the first other call. A null
// name: all options as they were at the start.
KILN_EXPORT int kiln_emulator_set_option(const char* name, const char* value);
// What the last failed call of this thread had to say.
KILN_EXPORT std::size_t kiln_emulator_message(char* text, std::size_t bytes);
// The report of the first launch that failed on the stream (null: the default stream's), "" when none did since the
// stream was made and since kiln_emulator_clear. It goes with the stream.
KILN_EXPORT std::size_t kiln_emulator_stream_report(void* stream, char* text, std::size_t bytes);
// The last fault's report on any stream, "" when there was none since kiln_emulator_clear.
KILN_EXPORT std::size_t kiln_emulator_report(char* text, std::size_t bytes);
// The profiles (machine/counters.hpp, to_json) of the launches since kiln_emulator_clear, at most the last 64, as a
// JSON array. Launches are profiled while the option "profile" is 1.
KILN_EXPORT std::size_t kiln_emulator_profiles(char* json, std::size_t bytes);
// Forgets reports, profiles and the errors that stick to streams.
KILN_EXPORT void kiln_emulator_clear();
// Stops the launches that the stream holds (null: the default stream's); it fails with hipErrorLaunchFailure then.
KILN_EXPORT void kiln_emulator_cancel(void* stream);
// The same of what the stream was given after its first `count` pieces of work; those go on. How many it has been given
// by now.
KILN_EXPORT void kiln_emulator_cancel_behind(void* stream, std::size_t count);
KILN_EXPORT std::size_t kiln_emulator_submitted(void* stream);
