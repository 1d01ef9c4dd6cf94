// Typed binary encoding, the one that keys hash and that workers, device processes and cache entries speak.
// Little endian, fixed widths; strings and lists carry a u32 count. Reading is bounds-checked and never throws.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.hpp"

namespace kiln {

using Bytes = std::vector<std::uint8_t>;
using ByteView = std::span<const std::uint8_t>;

inline ByteView view(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}
inline std::string_view text(ByteView bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

class Writer {
 public:
  void u8(std::uint8_t v) { bytes_.push_back(v); }
  void u32(std::uint32_t v) { raw(&v, sizeof v); }
  void u64(std::uint64_t v) { raw(&v, sizeof v); }
  void i64(std::int64_t v) { raw(&v, sizeof v); }
  void f64(double v) { raw(&v, sizeof v); }
  void boolean(bool v) { u8(v ? 1 : 0); }
  void string(std::string_view v) { count(v.size()); raw(v.data(), v.size()); }
  void bytes(ByteView v) { count(v.size()); raw(v.data(), v.size()); }
  void count(std::size_t n) { u32(static_cast<std::uint32_t>(n)); }
  template <class E> requires std::is_enum_v<E> void enumeration(E v) { u8(static_cast<std::uint8_t>(v)); }
  template <class List, class F> void list(const List& items, F&& write_item) {
    count(items.size());
    for (const auto& item : items) write_item(*this, item);
  }
  [[nodiscard]] const Bytes& data() const { return bytes_; }
  Bytes take() { return std::move(bytes_); }

 private:
  void raw(const void* p, std::size_t n) {
    if (n == 0) return;
    const auto old = bytes_.size();
    bytes_.resize(old + n);
    std::memcpy(bytes_.data() + old, p, n);
  }
  Bytes bytes_;
};

// Reads what Writer wrote. After the first short or impossible read `ok()` is false and every further read gives zeros
// and empty values; callers check `finish()` once at the end.
class Reader {
 public:
  explicit Reader(ByteView bytes) : rest_(bytes) {}
  std::uint8_t u8() { std::uint8_t v{}; raw(&v, sizeof v); return v; }
  std::uint32_t u32() { std::uint32_t v{}; raw(&v, sizeof v); return v; }
  std::uint64_t u64() { std::uint64_t v{}; raw(&v, sizeof v); return v; }
  std::int64_t i64() { std::int64_t v{}; raw(&v, sizeof v); return v; }
  double f64() { double v{}; raw(&v, sizeof v); return v; }
  bool boolean() { return u8() != 0; }
  std::string string() { auto v = bytes(); return std::string(text(v)); }
  ByteView bytes() {
    const std::size_t n = u32();
    if (n > rest_.size()) { fail(); return {}; }
    auto v = rest_.first(n);
    rest_ = rest_.subspan(n);
    return v;
  }
  // A list's count; refused when the items, `item_bytes_min` each, could not be in what is left.
  std::size_t count(std::size_t item_bytes_min = 1) {
    const std::size_t n = u32();
    if (n * item_bytes_min > rest_.size()) { fail(); return 0; }
    return n;
  }
  // An enumerator; values from `limit` on are refused.
  template <class E> E enumeration(E last) {
    const auto v = u8();
    if (v > static_cast<std::uint8_t>(last)) { fail(); return E{}; }
    return static_cast<E>(v);
  }
  template <class T, class F> std::vector<T> list(F&& read_item) {
    std::vector<T> items;
    const auto n = count();
    for (std::size_t i = 0; i < n && ok_; ++i) items.push_back(read_item(*this));
    return items;
  }
  void fail() { ok_ = false; rest_ = {}; }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] std::size_t left() const { return rest_.size(); }
  // Success when everything was read and nothing is left.
  Status finish() const {
    if (!ok_ || !rest_.empty()) return Error(ErrorCode::corrupt, ok_ ? "bytes left over" : "value cut short or out of range");
    return {};
  }

 private:
  void raw(void* p, std::size_t n) {
    if (n > rest_.size()) { fail(); return; }
    std::memcpy(p, rest_.data(), n);
    rest_ = rest_.subspan(n);
  }
  ByteView rest_;
  bool ok_ = true;
};

std::string to_hex(ByteView bytes);                  // lower case
Result<Bytes> from_hex(std::string_view hex);        // even length, [0-9a-fA-F]
std::string make_valid_utf8(std::string_view text);  // bad bytes become U+FFFD

}  // namespace kiln
