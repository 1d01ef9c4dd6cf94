#include "api/cli/report_chart.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "api/cli/compare_counts.hpp"
#include "api/cli/context.hpp"

namespace kiln::cli {

using protocol::Json;

namespace {

struct Bar {
  double value = 0, low = 0, high = 0;  // low and high: quartiles, equal where there are none
  std::string text;
};
struct Group {
  std::string title;
  Bar a, b;
};

constexpr int width = 760, left = 90, bars_width = 520;
constexpr std::size_t title_characters_max = 88;
constexpr int bar_height = 16, group_height = 68, top = 64;

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

// A headline that does not run out of the picture; the whole title is in its <title>.
std::string shortened(const std::string& title) {
  std::size_t characters = 0;
  for (std::size_t at = 0; at < title.size(); ++at) {
    if ((static_cast<unsigned char>(title[at]) & 0xc0) == 0x80) continue;
    if (++characters > title_characters_max) return title.substr(0, at) + "…";
  }
  return title;
}

std::string fixed(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

Bar time_bar(const Json& side) {
  const auto& ms = side["ms"];
  return {ms.value("median", 0.0), ms.value("q1", 0.0), ms.value("q3", 0.0),
          number_text(ms.value("median", 0.0)) + " ms"};
}

Bar count_bar(const Json& side, const char* name, const char* unit) {
  const double value = side["counts"].value(name, 0.0);
  return {value, value, value, count_text(value) + " " + unit};
}

std::vector<Group> groups_of(const Json& document) {
  std::vector<Group> groups;
  for (const auto& row : document["rows"]) {
    if (row["kind"] != "timed") continue;
    groups.push_back(
        {row.value("size", "") + " on " + row.value("device", "") + ", time", time_bar(row["a"]), time_bar(row["b"])});
  }
  for (const char* list : {"rows", "also"}) {
    for (const auto& row : document[list]) {
      if (row["kind"] != "counted" || row.contains("not_run")) continue;
      const auto place = row.value("size", "") + " on " + row.value("target", "") + ", counted: ";
      groups.push_back({place + "estimated cycles of the busiest unit", count_bar(row["a"], "cycles_busiest", "cycles"),
                        count_bar(row["b"], "cycles_busiest", "cycles")});
      const auto a = count_bar(row["a"], "SQ_LDS_BANK_CONFLICT", "cycles"),
                 b = count_bar(row["b"], "SQ_LDS_BANK_CONFLICT", "cycles");
      if (a.value != 0 || b.value != 0) groups.push_back({place + "SQ_LDS_BANK_CONFLICT", a, b});
    }
  }
  return groups;
}

std::string bar_svg(const Bar& bar, double largest, int y, const char* name) {
  const double scale = largest > 0 ? bars_width / largest : 0;
  const auto x = [&](double value) { return fixed(left + value * scale); };
  const auto middle = fixed(y + bar_height / 2.0);
  const bool letter_a = name[0] == 'A';
  std::string svg = "<text class=\"name\" x=\"" + std::to_string(left - 8) + "\" y=\"" + std::to_string(y + 13) +
                    "\" text-anchor=\"end\">" + name + "</text>\n<rect class=\"" + (letter_a ? "a" : "b") + "\" x=\"" +
                    std::to_string(left) + "\" y=\"" + std::to_string(y) + "\" width=\"" +
                    fixed(std::max(1.0, bar.value * scale)) + "\" height=\"" + std::to_string(bar_height) + "\"/>\n";
  double end = bar.value * scale;
  if (bar.high > bar.low) {
    svg += "<path class=\"spread\" d=\"M" + x(bar.low) + " " + middle + "H" + x(bar.high) + "M" + x(bar.low) + " " +
           std::to_string(y + 4) + "v" + std::to_string(bar_height - 8) + "M" + x(bar.high) + " " +
           std::to_string(y + 4) + "v" + std::to_string(bar_height - 8) + "\"/>\n";
    end = std::max(end, bar.high * scale);
  }
  return svg + "<text x=\"" + fixed(left + end + 6) + "\" y=\"" + std::to_string(y + 13) + "\">" + escaped(bar.text) +
         "</text>\n";
}

constexpr const char* style =
    "<style>\n"
    "svg { color-scheme: light dark; }\n"
    "text { font: 13px system-ui, sans-serif; fill: #1f2328; }\n"
    ".title { font-weight: 600; font-size: 15px; }\n"
    ".ground { fill: #ffffff; }\n"
    ".a { fill: #d0d7de; stroke: #57606a; stroke-dasharray: 3 2; }\n"
    ".b { fill: #0969da; stroke: #0550ae; }\n"
    ".spread { fill: none; stroke: #1f2328; stroke-width: 1.5; }\n"
    "@media (prefers-color-scheme: dark) {\n"
    "text { fill: #e6edf3; }\n"
    ".ground { fill: #0d1117; }\n"
    ".a { fill: #30363d; stroke: #8b949e; }\n"
    ".b { fill: #4493f8; stroke: #79c0ff; }\n"
    ".spread { stroke: #e6edf3; }\n"
    "}\n"
    "</style>\n";

}  // namespace

std::string chart_words(const Json& document) {
  std::string words;
  for (const auto& group : groups_of(document))
    words += group.title + ": A " + group.a.text + ", B " + group.b.text + ". ";
  if (!words.empty()) words.pop_back();
  return words;
}

std::string chart_svg(const Json& document, const std::string& title) {
  const auto groups = groups_of(document);
  const int height = top + int(groups.size()) * group_height + 8;
  const auto w = std::to_string(width), h = std::to_string(height);
  std::string svg =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + w + "\" height=\"" + h + "\" viewBox=\"0 0 " + w + " " +
      h + "\" role=\"img\" aria-labelledby=\"title desc\">\n<title id=\"title\">" + escaped(title) +
      "</title>\n<desc id=\"desc\">" + escaped(chart_words(document)) + "</desc>\n" + style +
      "<rect class=\"ground\" width=\"" + w + "\" height=\"" + h + "\"/>\n" +
      "<text class=\"title\" x=\"16\" y=\"26\">" + escaped(shortened(title)) + "</text>\n<text x=\"16\" y=\"48\">" +
      "A: baseline, dashed outline. B: optimized, filled. Shorter is better; each pair has a scale of "
      "its own.</text>\n";
  int y = top;
  for (const auto& group : groups) {
    const double largest = std::max({group.a.value, group.a.high, group.b.value, group.b.high});
    svg += "<text x=\"16\" y=\"" + std::to_string(y + 14) + "\">" + escaped(group.title) + "</text>\n";
    svg += bar_svg(group.a, largest, y + 20, "A") + bar_svg(group.b, largest, y + 20 + bar_height + 4, "B");
    y += group_height;
  }
  return svg + "</svg>\n";
}

std::string base64(const std::string& bytes) {
  constexpr const char* digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const auto byte = [&](std::size_t i) {
      return i < bytes.size() ? std::uint32_t(static_cast<unsigned char>(bytes[i])) : 0U;
    };
    const std::uint32_t three = byte(at) << 16 | byte(at + 1) << 8 | byte(at + 2);
    for (std::size_t i = 0; i < 4; ++i)
      text += i < 2 || at + i - 1 < bytes.size() ? digits[three >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

}  // namespace kiln::cli
