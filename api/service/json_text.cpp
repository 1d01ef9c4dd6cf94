#include "api/service/json_text.hpp"

#include <algorithm>
#include <cstring>

#include "api/protocol/json.hpp"

namespace kiln::service {
namespace {

bool plain(char c) { return c >= ' ' && c < 0x7f && c != '"' && c != '\\'; }

}  // namespace

void JsonText::key(std::string_view name) {
  comma();
  quoted(name, "\":");
}

void JsonText::quoted(std::string_view text, std::string_view end) {
  const auto at = text_.size();
  text_.resize(at + 1 + text.size() + end.size());
  text_[at] = '"';
  std::memcpy(text_.data() + at + 1, text.data(), text.size());
  std::memcpy(text_.data() + at + 1 + text.size(), end.data(), end.size());
}

void JsonText::value(std::string_view text) {
  comma();
  if (std::all_of(text.begin(), text.end(), plain)) {
    quoted(text, "\"");
  } else {
    text_ += protocol::dump(protocol::Json(text));
  }
}

void JsonText::value(double number) {
  comma();
  text_ += protocol::dump(protocol::Json(number));
}

}  // namespace kiln::service
