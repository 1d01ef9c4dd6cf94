#include "api/service/tuning_json.hpp"

#include <algorithm>

namespace kiln::service {

using protocol::Fields;
using protocol::Json;

namespace {

constexpr std::size_t rows_max = 100000, rounds_max = 100000;

Json words_json(const jit::Words& words) {
  Json object = Json::object();
  for (const auto& [name, value] : words) object[name] = value;
  return object;
}

Result<jit::Words> words_from(const Fields& fields, const char* name) {
  jit::Words words;
  if (!fields.has(name)) return words;
  KILN_TRY(const Json* object, fields.object(name));
  for (const auto& [key, value] : object->items()) {
    if (!value.is_string()) return fields.error(name, "an object of strings");
    words[key] = value.get<std::string>();
  }
  return words;
}

Result<double> figure_from(const Fields& fields, const char* name) {
  const Json* value = fields.find(name);
  if (value == nullptr || value->is_null()) return 0.0;
  if (!value->is_number() || value->get<double>() < 0) return fields.error(name, "a number from 0");
  return value->get<double>();
}

Json time_json(const std::vector<double>& times) {
  const auto quartiles = jit::quartiles(times);
  return {
      {"median", quartiles.median}, {"lower", quartiles.lower}, {"upper", quartiles.upper}, {"rounds", times.size()}};
}

Json row_json(const jit::TuneRow& row) {
  Json value{{"name", row.name}, {"set", words_json(row.set)}, {"verdict", jit::tune_verdict_name(row.verdict)}};
  if (!row.layouts.empty()) value["layouts"] = words_json(row.layouts);
  if (!row.reason.empty()) value["reason"] = row.reason;
  if (!row.times_ms.empty()) {
    value["time_ms"] = time_json(row.times_ms);
    value["times_ms"] = row.times_ms;
  }
  if (row.cycles > 0) value["cycles"] = row.cycles;
  if (row.ratio > 0) value["ratio"] = row.ratio;
  return value;
}

Result<jit::TuneRow> row_from(const Json& value, const std::string& pointer) {
  const Fields fields(value, pointer);
  KILN_CHECK(fields.only({"name", "set", "layouts", "verdict", "reason", "time_ms", "times_ms", "cycles", "ratio"}));
  jit::TuneRow row;
  KILN_TRY(row.name, fields.text("name"));
  KILN_TRY(row.set, words_from(fields, "set"));
  KILN_TRY(row.layouts, words_from(fields, "layouts"));
  KILN_TRY(row.reason, fields.text_or("reason", ""));
  KILN_TRY(row.cycles, figure_from(fields, "cycles"));
  KILN_TRY(row.ratio, figure_from(fields, "ratio"));
  KILN_TRY(const auto verdict, fields.text("verdict"));
  for (int i = 0; i <= int(jit::tune_verdict_last); ++i)
    if (verdict == jit::tune_verdict_name(jit::TuneVerdict(i))) row.verdict = jit::TuneVerdict(i);
  if (verdict != jit::tune_verdict_name(row.verdict)) return fields.error("verdict", "a verdict of kernel.tune");
  if (!fields.has("times_ms")) return row;
  KILN_TRY(const Json* times, fields.array("times_ms", rounds_max));
  for (const auto& ms : *times) {
    if (!ms.is_number() || ms.get<double>() < 0) return fields.error("times_ms", "milliseconds from 0");
    row.times_ms.push_back(ms.get<double>());
  }
  return row;
}

Json identity_json(const jit::TuningIdentity& identity) {
  Json value{{"program", identity.program_name},
             {"digest", to_hex(identity.program)},
             {"settings", words_json(identity.settings)},
             {"classes", words_json(identity.classes)},
             {"target", identity.target},
             {"device_class", identity.device_class},
             {"version", identity.version}};
  if (!identity.layouts.empty()) value["layouts"] = words_json(identity.layouts);
  if (!identity.align.empty()) value["align"] = identity.align;
  if (!identity.of_candidates.empty()) value["of_candidates"] = identity.of_candidates;
  return value;
}

Result<jit::TuningIdentity> identity_from(const Json& value, const std::string& pointer) {
  const Fields fields(value, pointer);
  KILN_CHECK(fields.only({"program", "digest", "settings", "layouts", "align", "classes", "target", "device_class",
                          "version", "of_candidates"}));
  jit::TuningIdentity identity;
  KILN_TRY(identity.program_name, fields.text("program"));
  KILN_TRY(const auto digest, fields.text("digest"));
  const auto bytes = from_hex(digest);
  if (!bytes || bytes->size() != identity.program.size()) return fields.error("digest", "64 hex digits");
  std::copy(bytes->begin(), bytes->end(), identity.program.begin());
  KILN_TRY(identity.settings, words_from(fields, "settings"));
  KILN_TRY(identity.layouts, words_from(fields, "layouts"));
  KILN_TRY(identity.classes, words_from(fields, "classes"));
  KILN_TRY(identity.target, fields.text("target"));
  KILN_TRY(identity.device_class, fields.text("device_class"));
  KILN_TRY(identity.version, fields.text("version"));
  KILN_TRY(identity.of_candidates, fields.text_or("of_candidates", ""));
  if (!fields.has("align")) return identity;
  KILN_TRY(const Json* align, fields.object("align"));
  const Fields values(*align, fields.pointer("align"));
  for (const auto& [name, unused] : align->items()) {
    KILN_TRY(identity.align[name], values.integer(name, 1, 16));
  }
  return identity;
}

Status check_text(const Fields& fields, const char* name, const std::string& value) {
  if (jit::printable(value) && value.size() <= tuning_name_bytes_max) return ok();
  return fields.error(name, "printable text of at most " + std::to_string(tuning_name_bytes_max) + " bytes");
}

Status check_words(const Fields& fields, const char* name, const jit::Words& words) {
  for (const auto& [key, value] : words)
    for (const auto* word : {&key, &value}) KILN_CHECK(check_text(fields, name, *word));
  return ok();
}

// "8", "4096", "4096/16" (engine/tune/shape_class.hpp).
bool is_class(std::string_view word) {
  if (word.ends_with("/16")) word.remove_suffix(3);
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Status check_identity(const Fields& fields, const jit::TuningIdentity& identity) {
  KILN_CHECK(check_text(fields, "program", identity.program_name));
  KILN_CHECK(check_text(fields, "target", identity.target));
  KILN_CHECK(check_text(fields, "device_class", identity.device_class));
  KILN_CHECK(check_text(fields, "version", identity.version));
  KILN_CHECK(check_text(fields, "of_candidates", identity.of_candidates));
  KILN_CHECK(check_words(fields, "settings", identity.settings));
  KILN_CHECK(check_words(fields, "layouts", identity.layouts));
  for (const auto& [name, unused] : identity.align) KILN_CHECK(check_text(fields, "align", name));
  for (const auto& [name, word] : identity.classes) {
    KILN_CHECK(check_text(fields, "classes", name));
    if (!is_class(word)) return fields.error("classes", "classes of sizes, such as 8, 4096 or 4096/16");
  }
  return ok();
}

// What the record sets can be tunables alone: every option and every size is part of its identity.
Status check_choice(const Fields& fields, const jit::TuningRecord& record) {
  KILN_CHECK(check_words(fields, "set", record.set));
  if (!record.identity.of_candidates.empty()) return ok();   // decides no compile
  for (const auto* fixed : {&record.identity.settings, &record.identity.classes, &record.symbols})
    for (const auto& [name, value] : record.set)
      if (fixed->contains(name))
        return fields.error("set", "tunables that the request left open: " + name + " is what the record is for");
  return ok();
}

Status check_record(const Fields& fields, const jit::TuningRecord& record) {
  KILN_TRY(const Json* identity, fields.object("identity"));
  KILN_CHECK(check_identity(Fields(*identity, fields.pointer("identity")), record.identity));
  KILN_CHECK(check_words(fields, "symbols", record.symbols));
  KILN_CHECK(check_choice(fields, record));
  KILN_CHECK(check_words(fields, "layouts", record.layouts));
  for (const auto& [name, text] : {std::pair{"ranked_by", &record.ranked_by}, {"baseline", &record.baseline},
                                   {"checked_against", &record.checked_against}, {"winner", &record.winner},
                                   {"asked", &record.asked}})
    KILN_CHECK(check_text(fields, name, *text));
  if (record.ratio <= 0) return fields.error("ratio", "a number above 0");
  for (std::size_t i = 0; i < record.rows.size(); ++i) {
    const auto pointer = fields.pointer("candidates") + "/" + std::to_string(i);
    const Fields row((*fields.find("candidates"))[i], pointer);
    KILN_CHECK(check_text(row, "name", record.rows[i].name));
    KILN_CHECK(check_words(row, "set", record.rows[i].set));
    KILN_CHECK(check_words(row, "layouts", record.rows[i].layouts));
    KILN_CHECK(check_text(row, "reason", record.rows[i].reason));
  }
  return ok();
}

}  // namespace

Json record_json(const jit::TuningRecord& record) {
  Json rows = Json::array();
  for (const auto& row : record.rows) rows.push_back(row_json(row));
  return {{"identity", identity_json(record.identity)}, {"symbols", words_json(record.symbols)},
          {"ranked_by", record.ranked_by}, {"checked_against", record.checked_against}, {"baseline", record.baseline},
          {"winner", record.winner}, {"set", words_json(record.set)}, {"layouts", words_json(record.layouts)},
          {"ratio", record.ratio}, {"made_unix_s", record.made_unix_s}, {"asked", record.asked},
          {"candidates", std::move(rows)}};
}

Result<jit::TuningRecord> record_from_json(const Json& value, const std::string& pointer) {
  const Fields fields(value, pointer);
  KILN_CHECK(fields.only({"identity", "symbols", "ranked_by", "checked_against", "baseline", "winner", "set", "layouts",
                          "ratio", "made_unix_s", "asked", "candidates"}));
  jit::TuningRecord record;
  KILN_TRY(const Json* identity, fields.object("identity"));
  KILN_TRY(record.identity, identity_from(*identity, fields.pointer("identity")));
  KILN_TRY(record.symbols, words_from(fields, "symbols"));
  KILN_TRY(record.ranked_by, fields.text("ranked_by"));
  KILN_TRY(record.checked_against, fields.text("checked_against"));
  KILN_TRY(record.baseline, fields.text("baseline"));
  KILN_TRY(record.winner, fields.text("winner"));
  KILN_TRY(record.set, words_from(fields, "set"));
  KILN_TRY(record.layouts, words_from(fields, "layouts"));
  KILN_TRY(record.ratio, figure_from(fields, "ratio"));
  KILN_TRY(record.made_unix_s, fields.integer("made_unix_s", 0, protocol::integer_magnitude_max));
  KILN_TRY(record.asked, fields.text_or("asked", ""));
  KILN_TRY(const Json* rows, fields.array("candidates", rows_max));
  for (std::size_t i = 0; i < rows->size(); ++i) {
    KILN_TRY(auto row, row_from((*rows)[i], fields.pointer("candidates") + "/" + std::to_string(i)));
    record.rows.push_back(std::move(row));
  }
  for (const auto& [tile, layout] : record.layouts)
    if (!layout_spec_from_text(layout))
      return fields.error("layouts", "layouts: auto, row_major, pad:BYTES or swizzle:CHUNK,DIVISOR,ROWS");
  KILN_CHECK(check_record(fields, record));
  return record;
}

Json record_summary(const jit::NamedTuningRecord& named) {
  const auto& record = *named.record;
  Json value = identity_json(record.identity);
  value["record"] = named.id;
  value["symbols"] = words_json(record.symbols);
  value["set"] = words_json(record.set);
  if (!record.layouts.empty()) value["set_layouts"] = words_json(record.layouts);
  value["winner"] = record.winner;
  value["ratio"] = record.ratio;
  value["ranked_by"] = record.ranked_by;
  value["made_unix_s"] = record.made_unix_s;
  value["shipped"] = named.shipped;
  value["used"] = named.unusable.empty();
  if (!named.unusable.empty()) value["why_not_used"] = named.unusable;
  return value;
}

Json used_json(const jit::NamedTuningRecord& named) {
  Json value{{"record", named.id}, {"set", words_json(named.record->set)}, {"ratio", named.record->ratio},
             {"ranked_by", named.record->ranked_by}, {"symbols", words_json(named.record->symbols)}};
  if (!named.record->layouts.empty()) value["layouts"] = words_json(named.record->layouts);
  return value;
}

Result<std::vector<jit::TuningRecord>> records_from_file(const Json& file) {
  const Fields fields(file, "");
  KILN_CHECK(fields.only({"kiln", "records"}));
  KILN_TRY(const auto format, fields.text("kiln"));
  if (format != tuning_format) return fields.error("kiln", std::string("\"") + tuning_format + "\"");
  KILN_TRY(const Json* list, fields.array("records", tuning_records_max));
  std::vector<jit::TuningRecord> records;
  for (std::size_t i = 0; i < list->size(); ++i) {
    KILN_TRY(auto record, record_from_json((*list)[i], "/records/" + std::to_string(i)));
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace kiln::service
