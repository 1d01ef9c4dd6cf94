#include "engine/compile/apt_sources.hpp"

#include <dirent.h>

#include <algorithm>
#include <sstream>

#include "engine/base/fd.hpp"

namespace kiln::compile {
namespace {

constexpr std::size_t file_bytes_max = 1 << 20;
constexpr const char* debian_keyring = "/usr/share/keyrings/debian-archive-keyring.gpg";

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

std::optional<AptSource> source_of_line(std::string line) {
  line = line.substr(0, line.find('#'));
  AptSource source;
  if (const auto open = line.find('['); open != std::string::npos) {
    const auto close = line.find(']', open);
    if (close == std::string::npos) return std::nullopt;
    for (const auto& option : words_of(line.substr(open + 1, close - open - 1))) {
      if (option.starts_with("signed-by=/")) source.signed_by = option.substr(10);
    }
    line.erase(open, close - open + 1);
  }
  const auto words = words_of(line);
  if (words.size() < 3 || words[0] != "deb") return std::nullopt;
  source.uris = {words[1]};
  source.suites = {words[2]};
  source.components.assign(words.begin() + 3, words.end());
  return source;
}

// One stanza's fields; continuation lines belong to the field before.
void add_stanza(const std::vector<std::pair<std::string, std::string>>& fields, std::vector<AptSource>& sources) {
  AptSource source;
  bool packages = false, enabled = true;
  for (const auto& [name, value] : fields) {
    const auto words = words_of(value);
    if (name == "types") packages = std::find(words.begin(), words.end(), "deb") != words.end();
    if (name == "uris") source.uris = words;
    if (name == "suites") source.suites = words;
    if (name == "components") source.components = words;
    if (name == "enabled") enabled = words.empty() || lower_case(words[0]) != "no";
    if (name == "signed-by" && words.size() == 1 && words[0].starts_with("/")) source.signed_by = words[0];
  }
  if (packages && enabled && !source.uris.empty()) sources.push_back(std::move(source));
}

std::string contents(const std::string& path) {
  const auto bytes = read_file(path, file_bytes_max);
  return bytes ? std::string(text(*bytes)) : "";
}

bool is_debian_suite(const std::string& suite) {
  static const std::vector<std::string> known = {"bullseye", "bookworm",  "trixie", "forky",   "duke",
                                                 "sid",      "oldstable", "stable", "testing", "unstable"};
  return std::find(known.begin(), known.end(), suite) != known.end();
}

}  // namespace

std::vector<AptSource> parse_sources_list(const std::string& text) {
  std::vector<AptSource> sources;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (auto source = source_of_line(line)) sources.push_back(std::move(*source));
  }
  return sources;
}

std::vector<AptSource> parse_deb822(const std::string& text) {
  std::vector<AptSource> sources;
  std::vector<std::pair<std::string, std::string>> fields;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) {
      add_stanza(fields, sources);
      fields.clear();
    } else if (line[0] == '#') {
      continue;
    } else if (line[0] == ' ' || line[0] == '\t') {
      if (!fields.empty()) fields.back().second += " " + line;
    } else if (const auto colon = line.find(':'); colon != std::string::npos) {
      fields.emplace_back(lower_case(line.substr(0, colon)), line.substr(colon + 1));
    }
  }
  add_stanza(fields, sources);
  return sources;
}

std::vector<AptSource> read_apt_sources(const std::string& apt_folder) {
  auto sources = parse_sources_list(contents(apt_folder + "/sources.list"));
  std::vector<std::string> names;
  const std::string parts = apt_folder + "/sources.list.d";
  if (DIR* listing = opendir(parts.c_str())) {
    while (const dirent* entry = readdir(listing)) names.push_back(entry->d_name);
    closedir(listing);
  }
  std::sort(names.begin(), names.end());
  for (const auto& name : names) {
    std::vector<AptSource> more;
    if (name.ends_with(".list")) more = parse_sources_list(contents(parts + "/" + name));
    if (name.ends_with(".sources")) more = parse_deb822(contents(parts + "/" + name));
    sources.insert(sources.end(), more.begin(), more.end());
  }
  return sources;
}

std::optional<DebianMirror> debian_mirror(const std::vector<AptSource>& sources) {
  for (const auto& source : sources) {
    const bool main = std::find(source.components.begin(), source.components.end(), "main") != source.components.end();
    if (!main || std::none_of(source.suites.begin(), source.suites.end(), &is_debian_suite)) continue;
    for (const auto& uri : source.uris) {
      if (uri.starts_with("http://") || uri.starts_with("https://") || uri.starts_with("mirror+") ||
          uri.starts_with("file:")) {
        return DebianMirror{uri, source.signed_by.empty() ? debian_keyring : source.signed_by};
      }
    }
  }
  return std::nullopt;
}

}  // namespace kiln::compile
