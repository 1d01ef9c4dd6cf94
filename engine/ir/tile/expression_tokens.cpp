#include "engine/ir/tile/expression_tokens.hpp"

#include <array>
#include <charconv>
#include <cmath>

namespace kiln::tile {
namespace {

constexpr std::size_t expression_bytes_max = 65536;
// Longest first, so that the first match is the right one.
constexpr std::array<std::string_view, 29> symbols{"//", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+",
                                                   "-",  "*",  "/",  "%",  "&",  "|",  "^",  "~",  "!",  "<",
                                                   ">",  "(",  ")",  "[",  "]",  ",",  ".",  ":",  "="};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

Diagnostic at(std::size_t offset, std::size_t length, std::string message) {
  Diagnostic d;
  d.message = std::move(message);
  d.offset = offset;
  d.length = length;
  return d;
}

class Tokenizer {
 public:
  explicit Tokenizer(std::string_view source) : source_(source) {}

  Result<std::vector<Token>> run() {
    if (source_.size() > expression_bytes_max) {
      auto d = at(0, 0, "the expression is longer than " + std::to_string(expression_bytes_max) + " bytes");
      return expression_error(source_.substr(0, 64), std::move(d));
    }
    std::vector<Token> tokens;
    while (true) {
      while (next_ < source_.size() && (source_[next_] == ' ' || source_[next_] == '\t' || source_[next_] == '\n'))
        ++next_;
      Token token;
      token.begin = static_cast<std::uint32_t>(next_);
      KILN_CHECK(read(token));
      token.end = static_cast<std::uint32_t>(next_);
      tokens.push_back(token);
      if (token.kind == Token::Kind::end) return tokens;
    }
  }

 private:
  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return next_ + ahead < source_.size() ? source_[next_ + ahead] : '\0';
  }

  Status read(Token& token) {
    if (next_ >= source_.size()) return ok();
    const char c = source_[next_];
    if (is_letter(c)) return read_name(token);
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return read_number(token);
    for (const auto symbol : symbols) {
      if (source_.substr(next_, symbol.size()) != symbol) continue;
      token.kind = Token::Kind::symbol;
      token.text = symbol;
      if (symbol == "*" && peek(1) == '*') return power_error();
      next_ += symbol.size();
      return ok();
    }
    std::size_t length = 1;
    while ((static_cast<unsigned char>(peek(length)) & 0xc0) == 0x80) ++length;
    auto d = at(next_, length, "a character that no expression has");
    d.found = std::string(source_.substr(next_, length));
    return expression_error(source_, std::move(d));
  }

  Status power_error() {
    auto d = at(next_, 2, "there is no operator '**'");
    d.hint = "write pow(a, b) on floats, or a product";
    return expression_error(source_, std::move(d));
  }

  Status read_name(Token& token) {
    const std::size_t begin = next_;
    while (is_letter(peek()) || is_digit(peek())) ++next_;
    token.kind = Token::Kind::name;
    token.text = source_.substr(begin, next_ - begin);
    if (token.text == "and" || token.text == "or" || token.text == "not") {
      token.kind = Token::Kind::symbol;
      token.text = token.text == "and" ? "&&" : token.text == "or" ? "||" : "!";
    }
    return ok();
  }

  Status read_number(Token& token) {
    const std::size_t begin = next_;
    bool real = false;
    int base = 10;
    if (peek() == '0' && (peek(1) == 'x' || peek(1) == 'X')) {
      base = 16;
      next_ += 2;
      while (is_letter(peek()) || is_digit(peek())) ++next_;
    } else {
      while (is_digit(peek())) ++next_;
      if (peek() == '.') {
        real = true;
        ++next_;
      }
      while (is_digit(peek())) ++next_;
      const bool sign = peek(1) == '+' || peek(1) == '-';
      if ((peek() == 'e' || peek() == 'E') && is_digit(peek(sign ? 2 : 1))) {
        real = true;
        next_ += sign ? 2 : 1;
        while (is_digit(peek())) ++next_;
      }
      while (is_letter(peek()) || is_digit(peek())) {
        base = 0;
        ++next_;
      }  // "12ab" is no number
    }
    const auto text = source_.substr(begin, next_ - begin);
    const bool leading_zero = !real && base == 10 && text.size() > 1 && text[0] == '0';
    if (base == 0 || leading_zero) return number_error(begin, "not a number");
    return real ? convert_real(token, text, begin) : convert_integer(token, text, base, begin);
  }

  Status convert_real(Token& token, std::string_view text, std::size_t begin) {
    token.kind = Token::Kind::real;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), token.real);
    if (error == std::errc::result_out_of_range) return number_error(begin, "the number is out of the range of f64");
    if (error != std::errc() || end != text.data() + text.size()) return number_error(begin, "not a number");
    return ok();
  }

  Status convert_integer(Token& token, std::string_view text, int base, std::size_t begin) {
    token.kind = Token::Kind::integer;
    if (base == 16) text.remove_prefix(2);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), token.integer, base);
    if (error == std::errc::result_out_of_range)
      return number_error(begin, "the integer does not fit in 64 bits", "at most 9223372036854775807");
    if (error != std::errc() || end != text.data() + text.size()) return number_error(begin, "not a number");
    return ok();
  }

  Status number_error(std::size_t begin, std::string message, std::string expected = "") {
    auto d = at(begin, next_ - begin, std::move(message));
    d.expected =
        expected.empty() ? "an integer such as 12 or 0x1f, or a number such as 1.5 or 1e-5" : std::move(expected);
    d.found = std::string(source_.substr(begin, next_ - begin));
    return expression_error(source_, std::move(d));
  }

  std::string_view source_;
  std::size_t next_ = 0;
};

}  // namespace

Result<std::vector<Token>> tokenize(std::string_view source) { return Tokenizer(source).run(); }

Error expression_error(std::string_view source, Diagnostic diagnostic) {
  diagnostic.source = std::string(source);
  Error error(ErrorCode::parse_error, diagnostic.message);
  error.diagnostics.push_back(std::move(diagnostic));
  return error;
}

}  // namespace kiln::tile
