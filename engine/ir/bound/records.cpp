#include "engine/ir/bound/records.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <tuple>

namespace kiln::bound {
namespace {

Error damaged() { return Error(ErrorCode::corrupt, "the launch's records of prints and asserts are damaged"); }

std::string tuple_text(const std::vector<std::int64_t>& values) {
  std::string text;
  for (const auto value : values) text += (text.empty() ? "" : ", ") + std::to_string(value);
  return "(" + text + ")";
}

// Words of the workspace, by number.
class Words {
 public:
  explicit Words(ByteView bytes) : bytes_(bytes) {}
  [[nodiscard]] std::int64_t at(std::int64_t number) const {
    std::int64_t word = 0;
    std::memcpy(&word, bytes_.data() + number * 8, sizeof word);
    return word;
  }

 private:
  ByteView bytes_;
};

Value value_of(DType type, std::int64_t word) {
  if (!is_float(type)) return integer_value(type == DType::index ? word : wrap_integer(type, word));
  std::uint8_t bytes[8];
  std::memcpy(bytes, &word, sizeof bytes);
  return load_function(type)(bytes);
}

Result<Record> read_slot(const Words& words, std::int64_t slot, bool asserts, const std::vector<RecordSite>& sites) {
  const std::int64_t first = header_words + slot * slot_words;
  const auto place = static_cast<std::uint64_t>(words.at(first));
  const auto more = static_cast<std::uint64_t>(words.at(first + 1));
  Record record;
  record.site = static_cast<std::size_t>(more >> 32);
  if (record.site >= sites.size() || sites[record.site].asserts != asserts) return damaged();
  const RecordSite& site = sites[record.site];
  const std::uint64_t low = 0xffffffff;
  record.block = {static_cast<std::int64_t>(place & low), static_cast<std::int64_t>(place >> 32),
                  static_cast<std::int64_t>(more & low)};
  std::int64_t iteration = words.at(first + 2);
  record.index.resize(site.extent.size());
  for (std::size_t axis = site.extent.size(); axis-- > 0;) {
    const std::int64_t extent = site.extent[axis];
    if (extent < 1 || iteration < 0) return damaged();
    record.index[axis] = iteration % extent;
    iteration /= extent;
  }
  if (iteration != 0) return damaged();
  for (std::size_t i = 0; i < site.values.size(); ++i)
    record.values.push_back(value_of(site.values[i], words.at(first + value_word + static_cast<std::int64_t>(i))));
  return record;
}

void sort(std::vector<Record>& records) {
  std::stable_sort(records.begin(), records.end(), [](const Record& a, const Record& b) {
    const auto key = [](const Record& r) { return std::tie(r.block[2], r.block[1], r.block[0], r.site, r.index); };
    return key(a) < key(b);
  });
}

Result<std::vector<Record>> read_slots(const Words& words, bool asserts, const std::vector<RecordSite>& sites,
                                       std::uint64_t& dropped) {
  const std::int64_t count = words.at(asserts ? 1 : 0), most = asserts ? failures_max : prints_max;
  if (count < 0) return damaged();
  dropped = static_cast<std::uint64_t>(std::max<std::int64_t>(count - most, 0));
  std::vector<Record> records;
  for (std::int64_t slot = 0; slot < std::min(count, most); ++slot) {
    KILN_TRY(auto record, read_slot(words, slot + (asserts ? prints_max : 0), asserts, sites));
    records.push_back(std::move(record));
  }
  sort(records);
  return records;
}

template <class Number> std::string shortest(Number value) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, value);
  return {text, end.ptr};
}

}  // namespace

Result<Records> read_records(ByteView bytes, const std::vector<RecordSite>& sites) {
  if (bytes.size() != static_cast<std::size_t>(records_words) * 8) return damaged();
  const Words words(bytes);
  Records records;
  KILN_TRY(records.prints, read_slots(words, false, sites, records.prints_dropped));
  KILN_TRY(records.failures, read_slots(words, true, sites, records.failures_dropped));
  return records;
}

std::string value_text(DType type, Value value) {
  if (type == DType::boolean) return value.integer != 0 ? "true" : "false";
  if (type == DType::u64) return shortest(static_cast<std::uint64_t>(value.integer));
  if (!is_float(type)) return shortest(value.integer);
  if (std::isnan(value.real)) return "nan";
  if (std::isinf(value.real)) return value.real < 0 ? "-inf" : "inf";
  return type == DType::f64 ? shortest(value.real) : shortest(static_cast<float>(value.real));
}

std::string record_text(const Record& record, const RecordSite& site) {
  std::string text = "block " + tuple_text({record.block.begin(), record.block.end()});
  if (!record.index.empty()) text += ", index " + tuple_text(record.index);
  for (std::size_t i = 0; i < record.values.size(); ++i)
    text += (i == 0 ? ": " : ", ") + value_text(site.values[i], record.values[i]);
  return text;
}

Status check_assertions(const Records& records, const std::vector<RecordSite>& sites) {
  if (records.failures.empty()) return ok();
  const auto what = [&](const Record& record) {
    const std::string& text = sites[record.site].text;
    return "an assertion failed" + (text.empty() ? "" : ": " + text);
  };
  const Record& first = records.failures.front();
  Error error(ErrorCode::assertion_failed, what(first) + ", in " + record_text(first, sites[first.site]));
  const std::size_t more = records.failures.size() - 1 + static_cast<std::size_t>(records.failures_dropped);
  if (more > 0) error.message += " (and " + std::to_string(more) + " more)";
  for (const auto& record : records.failures) {
    Diagnostic d;
    d.pointer = sites[record.site].pointer;
    d.message = what(record);
    d.expected = "a condition that holds";
    d.found = record_text(record, sites[record.site]);
    error.diagnostics.push_back(std::move(d));
  }
  return error;
}

}  // namespace kiln::bound
