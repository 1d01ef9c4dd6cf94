#include "api/cli/report_text.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "api/cli/compare_counts.hpp"
#include "api/cli/compare_tables.hpp"
#include "api/cli/context.hpp"
#include "api/cli/report_chart.hpp"
#include "api/cli/report_diff.hpp"

namespace kiln::cli {

using protocol::Json;

namespace {

constexpr std::size_t diff_bytes_max = 60000;

std::string text_of(const Json& object, const char* name) { return object.value(name, ""); }

std::string joined(const std::vector<std::string>& parts, const char* between) {
  std::string text;
  for (const auto& part : parts) text += (text.empty() ? "" : between) + part;
  return text;
}

std::string fixed(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

std::vector<const Json*> counted_rows(const Json& document) {
  std::vector<const Json*> rows;
  for (const char* list : {"rows", "also"})
    for (const auto& row : document[list])
      if (row["kind"] == "counted" && !row.contains("not_run")) rows.push_back(&row);
  return rows;
}

Json as_array(const std::vector<const Json*>& rows) {
  Json list = Json::array();
  for (const auto* row : rows) list.push_back(*row);
  return list;
}

// "1.12x to 1.31x"
std::string range_of(const std::vector<double>& ratios) {
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  return fixed(*least) + "x" + (ratios.size() > 1 ? " to " + fixed(*most) + "x" : "");
}

std::string timed_sentence(const Json& document) {
  std::vector<double> faster, slower;
  int equal = 0;
  for (const auto& row : document["rows"]) {
    const double ratio = row["improvement"].value("ratio", 1.0);
    if (row["verdict"] == "faster")
      faster.push_back(ratio);
    else if (row["verdict"] == "slower")
      slower.push_back(1 / ratio);
    else
      ++equal;
  }
  const auto all = faster.size() + slower.size() + std::size_t(equal);
  const auto of_all = [&](std::size_t count) {
    return all == 1 ? std::string() : " at " + std::to_string(count) + " of " + std::to_string(all) + " sizes";
  };
  std::vector<std::string> parts;
  if (!faster.empty()) parts.push_back("B is faster than A" + of_all(faster.size()) + ", by " + range_of(faster));
  if (!slower.empty()) parts.push_back("B is slower than A" + of_all(slower.size()) + ", by " + range_of(slower));
  if (equal > 0) parts.push_back("there is no difference beyond the spread of the rounds" + of_all(std::size_t(equal)));
  return "On " + text_of(document, "device") + ", " + joined(parts, "; ") + ".";
}

// Of one card, at all its sizes.
std::string counted_sentence(const std::vector<const Json*>& rows, const std::string& target) {
  std::vector<std::string> worse, better;
  std::size_t all = 0;
  double before = 0, after = 0;
  for (const auto* row : rows) {
    if (text_of(*row, "target") != target) continue;
    ++all;
    before += (*row)["a"]["counts"].value("SQ_LDS_BANK_CONFLICT", 0.0);
    after += (*row)["b"]["counts"].value("SQ_LDS_BANK_CONFLICT", 0.0);
    if ((*row)["verdict"] == "worse")
      worse.push_back(text_of(*row, "size") + " (" + text_of(*row, "verdict_text") + ")");
    if ((*row)["verdict"] == "better") better.push_back(text_of(*row, "size"));
  }
  std::string text = "Counted on an emulated " + target + ", B is ";
  if (worse.empty())
    text += "no worse than A" + std::string(all > 1 ? " at any of " + std::to_string(all) + " sizes" : "");
  else
    text += "worse than A at " + joined(worse, "; ");
  if (worse.empty() && better.empty()) text += ": estimated cycles and bank conflicts are the same";
  if (worse.empty() && !better.empty())
    text += "; estimated cycles or bank conflicts fall" + (better.size() == all ? "" : " at " + joined(better, ", "));
  if (before != after) text += "; LDS bank conflict cycles go from " + count_text(before) + " to " + count_text(after);
  return text + ".";
}

std::string check_sentence(const Json& document) {
  bool wrong = false, unchecked = false, against_a = false, against_definition = false;
  double largest = 0;
  for (const char* list : {"rows", "also"}) {
    for (const auto& row : document[list]) {
      if (!row.contains("check")) continue;
      const auto& check = row["check"];
      if (check["passed"].is_null()) {
        unchecked = true;
        continue;
      }
      wrong = wrong || !check["passed"].get<bool>();
      (check["by"] == "a" ? against_a : against_definition) = true;
      for (const char* side : {"a", "b"})
        if (check[side].is_object())
          largest = std::max(largest, check[side]["ratio_max"].is_number() ? check[side]["ratio_max"].get<double>()
                                                                           : std::numeric_limits<double>::infinity());
    }
  }
  if (wrong) return "**The results differ**: see \"Checked\"; the figures are of no use until that is mended.";
  std::string text;
  const auto share = largest == 0
                         ? std::string(", exactly")
                         : ", the largest error being " + number_text(100 * largest) + " % of what is tolerated";
  if (against_definition)
    text = std::string("Both give the results of A's definition within its tolerance") +
           (against_a ? " where the interpreter could run it, and B gives A's results elsewhere" : "") + share + ".";
  else if (against_a)
    text = "B gives A's results within A's tolerance" + share + "; A itself was not checked.";
  if (unchecked) text += std::string(text.empty() ? "" : " ") + "Not all results were checked.";
  return text;
}

// Words of the user's inside Markdown, on one line: no markup of theirs is any.
std::string plain_line(const std::string& text) {
  std::string line;
  for (const char c : text) {
    if (std::string_view("\\`*_[]<>#|~").find(c) != std::string_view::npos) line += '\\';
    line += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return line;
}

// A code span, whatever backticks are in it.
std::string code(const std::string& text) {
  std::string fence = "`", line;
  while (text.find(fence) != std::string::npos) fence += "`";
  for (const char c : text) line += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  const bool apart = line.find('`') != std::string::npos;
  return fence + (apart ? " " : "") + line + (apart ? " " : "") + fence;
}

std::string side_name(const Json& side) {
  const auto commit = text_of(side, "commit");
  return code(text_of(side, "name")) + (commit.empty() ? "" : " (" + commit + ")");
}

std::string fenced(const std::string& text, const std::string& language) {
  std::string fence = "```";
  while (text.find(fence) != std::string::npos) fence += "`";
  return fence + language + "\n" + text + (text.ends_with('\n') ? "" : "\n") + fence + "\n";
}

// What of a side's source is compared: its function where both lie in one file, else the file.
std::string compared_text(const Json& document, const char* side) {
  const auto &a = document["a"], &b = document["b"];
  const auto& own = document[side];
  const bool python = a["kind"] == "python" && b["kind"] == "python";
  if (!python && a["kind"] != b["kind"]) return text_of(own, "program");
  if (a["kind"] == "builtin") return text_of(own, "program");
  if (!python || a["file"] != b["file"] || a["function"] == b["function"]) return text_of(own, "text");
  const auto function = python_function(text_of(own, "text"), text_of(own, "function"));
  return function.empty() ? text_of(own, "text") : function;
}

std::string settings_changes(const Json& document) {
  Table table{{"", "baseline", "optimized"}};
  for (const char* kind : {"set", "layouts"}) {
    Json names = document["a"][kind];
    names.update(document["b"][kind]);
    for (const auto& [name, ignored] : names.items()) {
      const auto before = document["a"][kind].value(name, "as the program says"),
                 after = document["b"][kind].value(name, "as the program says");
      if (before != after) table.push_back({std::string(kind[0] == 's' ? "" : "layout of ") + name, before, after});
    }
  }
  return table.size() == 1 ? "" : markdown_table(table);
}

std::string changes_section(const Json& document) {
  const auto settings = settings_changes(document);
  const auto name = [&](const char* side) { return text_of(document[side], "name"); };
  auto diff = unified_diff(compared_text(document, "a"), compared_text(document, "b"), name("a"), name("b"));
  if (diff.size() > diff_bytes_max)
    diff = diff.substr(0, diff.rfind('\n', diff_bytes_max)) + "\n… and so on, " + std::to_string(diff.size()) +
           " bytes in all\n";
  std::string text = "## What changed\n\nA, the baseline: " + side_name(document["a"]) +
                     ". B, the optimized one: " + side_name(document["b"]) + ".\n\n";
  if (!diff.empty()) text += fenced(diff, "diff") + "\n";
  if (!settings.empty()) text += settings + "\n";
  if (diff.empty() && settings.empty()) text += "Nothing: both sides are the same program with the same settings.\n\n";
  return text;
}

// Bank conflicts' advice of both sides, each once.
std::string advice_of(const std::vector<const Json*>& rows, const char* side) {
  std::vector<std::string> told;
  for (const auto* row : rows)
    for (const auto& advice : (*row)[side].value("advice", Json::array())) {
      auto text =
          "  - " + text_of(*row, "target") + ", " + text_of(*row, "size") + ": " + text_of(advice, "text") + "\n";
      if (std::find(told.begin(), told.end(), text) == told.end()) told.push_back(std::move(text));
    }
  return joined(told, "");
}

std::string counters_section(const Json& document) {
  const auto rows = counted_rows(document);
  std::string text = "## Counters\n\n";
  if (rows.empty()) return text + "None: no AMD target was asked for (`--also gfx942` counts on an emulated card).\n\n";
  text += "Counted on emulated cards: exact, but for cycles, which are an estimate.\n\n" +
          markdown_table(counted_table(as_array(rows))) + "\n" + markdown_table(verdict_table(as_array(rows))) + "\n";
  for (const char* side : {"a", "b"}) {
    const auto advice = advice_of(rows, side);
    text +=
        std::string("- ") + (side[0] == 'a' ? "A" : "B") +
        (advice.empty() ? ": no bank conflicts of a shared tile to mend.\n" : ": advice on bank conflicts\n" + advice);
  }
  return text + "\n";
}

std::string layouts_text(const Json& side) {
  std::vector<std::string> parts;
  for (const auto& tile : side["shared_tiles"]) parts.push_back(text_of(tile, "tile") + " " + text_of(tile, "layout"));
  return parts.empty() ? "-" : joined(parts, "; ");
}

std::string resources_section(const Json& document) {
  Table table{{"card", "size", "side", "VGPRs", "AGPRs", "SGPRs", "spills", "LDS bytes", "scratch bytes",
               "waves a SIMD", "shared tiles"}};
  for (const auto* row : counted_rows(document)) {
    for (const char* name : {"a", "b"}) {
      const auto& side = (*row)[name];
      const auto& r = side["resources"];
      const auto number = [&](const char* field) { return protocol::dump(r.value(field, Json(0))); };
      const auto occupancy = side.value("occupancy", Json::object());
      table.push_back({name[0] == 'a' ? text_of(*row, "target") : "", name[0] == 'a' ? text_of(*row, "size") : "",
                       name[0] == 'a' ? "A" : "B", number("vgprs"), number("agprs"), number("sgprs"),
                       std::to_string(r.value("vgpr_spills", 0) + r.value("sgpr_spills", 0)), number("lds_bytes"),
                       number("scratch_bytes"),
                       protocol::dump(occupancy.value("waves_per_simd", Json(0))) + " of " +
                           protocol::dump(occupancy.value("waves_max", Json(0))) + ", by " +
                           text_of(occupancy, "limit"),
                       layouts_text(side)});
    }
  }
  return table.size() == 1 ? "" : "## Resources\n\n" + markdown_table(table) + "\n";
}

std::string measured_section(const Json& document, const ReportFacts& facts) {
  const bool timed = !document["rows"].empty() && document["rows"][0]["kind"] == "timed";
  std::string text = "## Measured\n\n";
  if (timed)
    text += markdown_table(timed_table(document["rows"])) + "\n";
  else
    text += markdown_table(verdict_table(document["rows"])) + "\nNo time was measured: see \"Counters\".\n\n";
  if (!facts.chart.empty()) {
    std::string words = chart_words(document);
    for (auto& c : words)
      if (c == '[' || c == ']' || c == '\n') c = ' ';
    text += "![" + words + "](" + facts.chart + ")\n\n";
  }
  return text;
}

std::string versions_section(const Json& document, const ReportFacts& facts) {
  Table table{{"", "version"}};
  table.push_back({"Kiln", text_of(document["machine"], "kiln")});
  for (const char* list : {"rows", "also"}) {
    for (const auto& row : document[list]) {
      if (!row.contains("a")) continue;
      const std::vector<std::string> entry{"compiler for " + text_of(row, "target"), text_of(row["a"], "compiler")};
      if (std::find(table.begin(), table.end(), entry) == table.end()) table.push_back(entry);
    }
  }
  for (const auto& card : facts.cards) {
    table.push_back({text_of(card, "device"), text_of(card, "description")});
    if (!text_of(card, "driver").empty()) table.push_back({text_of(card, "device") + ", HIP", text_of(card, "driver")});
  }
  table.push_back({"processor", text_of(document["machine"], "cpu") + ", " +
                                    protocol::dump(document["machine"]["cores"]) + " cores, load " +
                                    protocol::dump(document["machine"]["load"])});
  table.push_back({"system", facts.system + ", " + facts.kernel});
  if (!facts.python.empty()) table.push_back({"Python", facts.python});
  table.push_back({"date", text_of(document["machine"], "date")});
  return "## Versions\n\n" + markdown_table(table) + "\n";
}

std::string checks_section(const Json& document) {
  std::string text = "## Checked, and not proven\n\n";
  for (const auto& note : document["notes"]) text += "- " + note.get<std::string>() + "\n";
  const bool timed_on_card = text_of(document, "device").starts_with("hip:");
  if (!timed_on_card) text += "- no AMD card ran this: what its time is, nobody has measured\n";
  text += "- inputs: seeded normals (integers from -8 to 8), seed " + protocol::dump(document["seed"]) +
          "; other inputs were not tried\n";
  return text;
}

std::string title_of(const Json& document, const std::string& a, const std::string& b) {
  if (a != b) return b + " in place of " + a;
  const bool settings = document["a"]["set"] != document["b"]["set"] || document["a"]["layouts"] != document["b"]["layouts"];
  return a + (settings ? ": other settings" : " compared with itself");
}
std::string report_heading(const Json& document) {
  return title_of(document, plain_line(text_of(document["a"], "name")), plain_line(text_of(document["b"], "name")));
}

}  // namespace

std::string report_title(const Json& document) {
  return title_of(document, text_of(document["a"], "name"), text_of(document["b"], "name"));
}

std::string result_paragraph(const Json& document) {
  std::vector<std::string> sentences;
  if (!document["rows"].empty() && document["rows"][0]["kind"] == "timed")
    sentences.push_back(timed_sentence(document));
  const auto rows = counted_rows(document);
  std::vector<std::string> targets;
  for (const auto* row : rows)
    if (std::find(targets.begin(), targets.end(), text_of(*row, "target")) == targets.end())
      targets.push_back(text_of(*row, "target"));
  for (const auto& target : targets) sentences.push_back(counted_sentence(rows, target));
  sentences.push_back(check_sentence(document));
  std::erase(sentences, "");
  return joined(sentences, " ");
}

std::string report_text(const Json& document, const ReportFacts& facts) {
  return "# " + (facts.title.empty() ? report_heading(document) : plain_line(facts.title)) + "\n\n" + result_paragraph(document) +
         "\n\n" + measured_section(document, facts) + changes_section(document) + counters_section(document) +
         resources_section(document) + "## Repeat\n\n" + fenced(text_of(document, "command"), "sh") + "\n" +
         versions_section(document, facts) + checks_section(document);
}

}  // namespace kiln::cli
