#include "api/cli/compare_tables.hpp"

#include <algorithm>
#include <cstdio>

#include "api/cli/compare_counts.hpp"
#include "api/cli/context.hpp"

namespace kiln::cli {

using protocol::Json;

namespace {

std::string fixed(double value, const char* format = "%.2f") {
  char text[48];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// Rows as lines, columns padded; numbers to the left like words: cells hold both.
std::string plain_table(const Table& table) {
  std::vector<std::size_t> widths;
  const auto columns = [](const std::string& cell) {
    return std::size_t(
        std::count_if(cell.begin(), cell.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
  };
  for (const auto& row : table) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns(row[i]));
  }
  std::string text;
  for (const auto& row : table) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i)
      line += (i ? "  " : "") + row[i] + std::string(widths[i] - columns(row[i]), ' ');
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string table_text(const Table& table, bool markdown) {
  return markdown ? markdown_table(table) : plain_table(table);
}

std::string both_errors(const Json& check) {
  const auto a = error_text(check, "a"), b = error_text(check, "b");
  return a == "-" ? b : a + " → " + b;
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

std::string error_text(const Json& check, const char* side) {
  if (!check.is_object() || !check[side].is_object()) return "-";
  const auto& s = check[side];
  const auto number = [&](const char* name) { return s[name].is_number() ? s[name].get<double>() : -1.0; };
  if (number("ratio_max") < 0) return "unbounded";
  return number_text(100 * number("ratio_max")) + " % (" + number_text(number("error_max"), 2) + ")";
}

std::string time_text(const Json& ms) {
  return number_text(ms.value("median", 0.0)) + " ms [" + number_text(ms.value("q1", 0.0)) + ", " +
         number_text(ms.value("q3", 0.0)) + "]";
}

std::string improvement_text(const Json& row) {
  const auto& i = row["improvement"];
  return fixed(i.value("ratio", 0.0)) + "x [" + fixed(i.value("q1", 0.0)) + ", " + fixed(i.value("q3", 0.0)) + "]";
}

Table timed_table(const Json& rows) {
  Table table{{"size", "baseline", "optimized", "improvement", "error, share of tolerance (largest)", "verdict"}};
  for (const auto& row : rows)
    table.push_back({row.value("size", ""), time_text(row["a"]["ms"]), time_text(row["b"]["ms"]), improvement_text(row),
                     both_errors(row["check"]), row.value("verdict_text", "")});
  return table;
}

Table counted_table(const Json& rows) {
  Table table{{"size", "card", "counted", "baseline", "optimized", "change"}};
  for (const auto& row : rows) {
    if (row.contains("not_run")) continue;
    const auto &a = row["a"]["counts"], &b = row["b"]["counts"];
    bool first = true;
    for (const auto& [name, title] : counted_figures) {
      const double before = a.value(name, 0.0), after = b.value(name, 0.0);
      if (before == 0 && after == 0 && std::string(name) != "SQ_LDS_BANK_CONFLICT") continue;
      table.push_back({first ? row.value("size", "") : "", first ? row.value("target", "") : "", title,
                       count_text(before), count_text(after), change_text(before, after)});
      first = false;
    }
  }
  return table;
}

Table verdict_table(const Json& rows) {
  Table table{{"size", "card", "verdict", "error, share of tolerance (largest)"}};
  for (const auto& row : rows) {
    if (row.contains("not_run"))
      table.push_back({row.value("size", ""), row.value("target", ""), "not counted", "-"});
    else
      table.push_back(
          {row.value("size", ""), row.value("target", ""), row.value("verdict_text", ""), both_errors(row["check"])});
  }
  return table;
}

std::string markdown_table(const Table& table) {
  std::string text;
  for (std::size_t r = 0; r < table.size(); ++r) {
    text += "|";
    for (const auto& cell : table[r]) {
      std::string escaped;
      for (const char c : cell) escaped += c == '|' ? std::string("\\|") : std::string(1, c);
      text += " " + escaped + " |";
    }
    text += "\n";
    if (r == 0)
      text += "|" + [&] {
        std::string rule;
        for (std::size_t i = 0; i < table[0].size(); ++i) rule += "---|";
        return rule;
      }() + "\n";
  }
  return text;
}

std::string comparison_text(const Json& document, bool markdown) {
  const auto &a = document["a"], &b = document["b"];
  const bool timed = !document["rows"].empty() && document["rows"][0]["kind"] == "timed";
  std::string text = "A, baseline: " + a.value("name", "") + "; B, optimized: " + b.value("name", "") + "; on " +
                     document.value("device", "") + (timed ? ", timed\n\n" : ", counted\n\n");
  Json counted = timed ? Json::array() : document["rows"];
  for (const auto& row : document["also"]) counted.push_back(row);
  if (timed) text += table_text(timed_table(document["rows"]), markdown) + "\n";
  if (!counted.empty())
    text += table_text(counted_table(counted), markdown) + "\n" + table_text(verdict_table(counted), markdown) + "\n";
  for (const auto& note : document["notes"]) text += "- " + note.get<std::string>() + "\n";
  return text;
}

Status write_comparison_csv(const std::string& path, const Json& document) {
  std::string text = "size,device,side,figure,value\n";
  for (const char* list : {"rows", "also"}) {
    for (const auto& row : document[list]) {
      const auto line = [&](const std::string& side, const std::string& figure, const Json& value) {
        text += csv_cell(row.value("size", "")) + "," + row.value("device", "") + "," + side + "," + csv_cell(figure) +
                "," + csv_cell(value.is_string() ? value.get<std::string>() : protocol::dump(value)) + "\n";
      };
      if (row.contains("not_run")) {
        line("", "not_run", row["not_run"]);
        continue;
      }
      for (const char* name : {"a", "b"}) {
        const auto& side = row[name];
        for (const char* figure : {"median", "q1", "q3"})
          if (side.contains("ms")) line(name, std::string("ms_") + figure, side["ms"][figure]);
        const auto counts = side.value("counts", Json::object());
        for (const auto& [figure, value] : counts.items()) line(name, figure, value);
        if (const auto& error = row["check"][name]; error.is_object()) {
          line(name, "error_max", error["error_max"]);
          line(name, "error_share_of_tolerance", error["ratio_max"]);
        }
      }
      for (const char* figure : {"ratio", "q1", "q3"})
        if (row.contains("improvement")) line("", std::string("improvement_") + figure, row["improvement"][figure]);
      line("", "verdict", row["verdict_text"]);
    }
  }
  return write_file(path, ByteView(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
}

}  // namespace kiln::cli
