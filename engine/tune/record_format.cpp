#include "engine/tune/record_format.hpp"

#include <algorithm>
#include <cmath>

namespace kiln::tune {
namespace {

using jit::TuneRow, jit::TuningIdentity, jit::TuningRecord, jit::Words;

constexpr std::string_view record_magic = "KILNTUNR", journal_magic = "KILNTUNJ";
constexpr std::size_t magic_bytes = 8, head_bytes = magic_bytes + 4, checksum_bytes = 8;

void write_digest(Writer& w, const Digest& digest) {
  for (const auto byte : digest) w.u8(byte);
}

Digest read_digest(Reader& r) {
  Digest digest;
  for (auto& byte : digest) byte = r.u8();
  return digest;
}

// In order and each name once, as write_words gives them: one value has one encoding.
template <class Map, class F> Map read_map(Reader& r, F&& read_value) {
  Map map;
  const auto count = r.count();
  for (std::size_t i = 0; i < count && r.ok(); ++i) {
    auto name = r.string();
    if (!map.empty() && name <= map.rbegin()->first) r.fail();
    map.emplace_hint(map.end(), std::move(name), read_value());
  }
  return map;
}

Words read_words(Reader& r) {
  return read_map<Words>(r, [&] { return r.string(); });
}

TuningIdentity read_identity(Reader& r) {
  TuningIdentity i;
  i.program = read_digest(r);
  i.program_name = r.string();
  i.settings = read_words(r);
  i.layouts = read_words(r);
  i.align = read_map<std::map<std::string, std::int64_t>>(r, [&] { return r.i64(); });
  i.classes = read_words(r);
  i.target = r.string();
  i.device_class = r.string();
  i.version = r.string();
  i.of_candidates = r.string();
  return i;
}

void write_row(Writer& w, const TuneRow& row) {
  w.string(row.name);
  write_words(w, row.set);
  write_words(w, row.layouts);
  w.enumeration(row.verdict);
  w.string(row.reason);
  w.list(row.times_ms, [](Writer& out, double ms) { out.f64(ms); });
  w.f64(row.cycles);
  w.f64(row.ratio);
}

// Figures are finite and not negative: what is computed with them stays so.
double read_figure(Reader& r) {
  const double value = r.f64();
  if (!std::isfinite(value) || value < 0) r.fail();
  return value;
}

TuneRow read_row(Reader& r) {
  TuneRow row;
  row.name = r.string();
  row.set = read_words(r);
  row.layouts = read_words(r);
  row.verdict = r.enumeration(jit::tune_verdict_last);
  row.reason = r.string();
  row.times_ms = r.list<double>(read_figure);
  row.cycles = read_figure(r);
  row.ratio = read_figure(r);
  return row;
}

Bytes sealed(std::string_view magic, const Bytes& value) {
  Writer w;
  for (const char c : magic) w.u8(static_cast<std::uint8_t>(c));
  w.u32(record_version);
  auto bytes = w.take();
  bytes.insert(bytes.end(), value.begin(), value.end());
  Writer sum;
  sum.u64(checksum64(bytes));
  bytes.insert(bytes.end(), sum.data().begin(), sum.data().end());
  return bytes;
}

Result<ByteView> opened(std::string_view magic, ByteView bytes) {
  if (bytes.size() < head_bytes + checksum_bytes || bytes.size() > record_bytes_max)
    return Error(ErrorCode::corrupt, "a tuning record of " + std::to_string(bytes.size()) + " bytes");
  if (!std::equal(magic.begin(), magic.end(), bytes.begin()))
    return Error(ErrorCode::corrupt, "no tuning record: it begins otherwise");
  const auto body = bytes.first(bytes.size() - checksum_bytes);
  if (Reader(bytes.subspan(body.size())).u64() != checksum64(body))
    return Error(ErrorCode::corrupt, "the tuning record's checksum is wrong");
  if (const auto version = Reader(bytes.subspan(magic_bytes)).u32(); version != record_version)
    return Error(ErrorCode::unsupported, "a tuning record of version " + std::to_string(version));
  return body.subspan(head_bytes);
}

}  // namespace

void write_words(Writer& w, const Words& words) {
  w.list(words, [](Writer& out, const auto& entry) {
    out.string(entry.first);
    out.string(entry.second);
  });
}

void write_identity(Writer& w, const TuningIdentity& i) {
  write_digest(w, i.program);
  w.string(i.program_name);
  write_words(w, i.settings);
  write_words(w, i.layouts);
  w.list(i.align, [](Writer& out, const auto& entry) {
    out.string(entry.first);
    out.i64(entry.second);
  });
  write_words(w, i.classes);
  w.string(i.target);
  w.string(i.device_class);
  w.string(i.version);
  w.string(i.of_candidates);
}

Bytes encode_record(const TuningRecord& record) {
  Writer w;
  write_identity(w, record.identity);
  write_words(w, record.symbols);
  w.string(record.ranked_by);
  w.string(record.checked_against);
  w.string(record.baseline);
  write_words(w, record.set);
  write_words(w, record.layouts);
  w.string(record.winner);
  w.f64(record.ratio);
  w.i64(record.made_unix_s);
  w.string(record.asked);
  w.list(record.rows, write_row);
  return sealed(record_magic, w.data());
}

Result<TuningRecord> decode_record(ByteView bytes) {
  KILN_TRY(const auto value, opened(record_magic, bytes));
  Reader r(value);
  TuningRecord record;
  record.identity = read_identity(r);
  record.symbols = read_words(r);
  record.ranked_by = r.string();
  record.checked_against = r.string();
  record.baseline = r.string();
  record.set = read_words(r);
  record.layouts = read_words(r);
  record.winner = r.string();
  record.ratio = read_figure(r);
  record.made_unix_s = r.i64();
  record.asked = r.string();
  record.rows = r.list<TuneRow>(read_row);
  KILN_CHECK(r.finish());
  return record;
}

Bytes encode_journal(const Journal& journal) {
  Writer w;
  write_identity(w, journal.identity);
  w.string(journal.asked);
  w.list(journal.entries, [](Writer& out, const JournalEntry& entry) {
    write_digest(out, entry.candidate);
    out.boolean(entry.checked);
    write_row(out, entry.row);
  });
  return sealed(journal_magic, w.data());
}

Result<Journal> decode_journal(ByteView bytes) {
  KILN_TRY(const auto value, opened(journal_magic, bytes));
  Reader r(value);
  Journal journal;
  journal.identity = read_identity(r);
  journal.asked = r.string();
  journal.entries = r.list<JournalEntry>([](Reader& in) {
    JournalEntry entry;
    entry.candidate = read_digest(in);
    entry.checked = in.boolean();
    entry.row = read_row(in);
    return entry;
  });
  KILN_CHECK(r.finish());
  return journal;
}

}  // namespace kiln::tune
