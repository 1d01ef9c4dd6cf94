// JSON written straight into text, without a tree of values in between: for the answers that are long or made often.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kiln::service {

// Writes values in order; commas come by themselves. The caller balances begin and end, and gives each value of an
// object its key. Not thread-safe.
class JsonText {
 public:
  JsonText() { text_.reserve(8192); }
  void begin_object() { comma(), text_ += '{'; }
  void end_object() { text_ += '}'; }
  void begin_array() { comma(), text_ += '['; }
  void end_array() { text_ += ']'; }
  // `name` is written as it is: letters, digits and '_'.
  void key(std::string_view name);

  void value(std::string_view text);  // what is no UTF-8 is replaced
  void value(const char* text) { value(std::string_view(text)); }
  void value(const std::string& text) { value(std::string_view(text)); }
  void value(double number);          // finite
  template <std::same_as<bool> T> void value(T truth) { comma(), text_ += truth ? "true" : "false"; }
  template <std::integral T> requires(!std::same_as<T, bool>) void value(T number) { comma(), text_ += std::to_string(number); }
  template <class T> void value(const std::vector<T>& list) {
    begin_array();
    for (const auto& item : list) value(item);
    end_array();
  }
  template <class T> void field(std::string_view name, const T& what) { key(name), value(what); }

  // The text so far; empties this.
  std::string take() { return std::exchange(text_, {}); }

 private:
  void comma() {
    if (!text_.empty() && text_.back() != '{' && text_.back() != '[' && text_.back() != ':') text_ += ',';
  }
  void quoted(std::string_view text, std::string_view end);
  std::string text_;
};

}  // namespace kiln::service
