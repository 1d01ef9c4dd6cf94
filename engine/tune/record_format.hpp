// The bytes of records and journals: magic, version, the value in the engine's typed encoding, a checksum over all of
// it. Bytes may be damaged anywhere: everything is checked, nothing crashes.
#pragma once

#include <optional>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/jit/tuning.hpp"

namespace kiln::tune {

inline constexpr std::uint32_t record_version = 1;
inline constexpr std::size_t record_bytes_max = std::size_t(4) << 20;

void write_words(Writer& w, const jit::Words& words);
void write_identity(Writer& w, const jit::TuningIdentity& identity);

Bytes encode_record(const jit::TuningRecord& record);
// Errors: corrupt, for any bytes that encode_record does not give; unsupported, for another release's version.
Result<jit::TuningRecord> decode_record(ByteView bytes);

// What an interrupted tune keeps: of each candidate, by digest, its verdict or its times.
struct JournalEntry {
  Digest candidate{};
  bool checked = false;        // its result is right
  jit::TuneRow row;
  bool operator==(const JournalEntry&) const = default;
};
struct Journal {
  jit::TuningIdentity identity;
  std::string asked;           // digest of what was asked for
  std::vector<JournalEntry> entries;
  bool operator==(const Journal&) const = default;
};
Bytes encode_journal(const Journal& journal);
Result<Journal> decode_journal(ByteView bytes);   // errors as decode_record's

}  // namespace kiln::tune
