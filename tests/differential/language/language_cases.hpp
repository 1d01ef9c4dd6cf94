// Programs that use what the built-in programs do not: elements that decide where blocks work, several launches,
// workspace, atomics, scans. Their integers may be any of the generators': -8 to 8, unsigned ones 0 to 8.
#pragma once

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace kiln::test {

struct LanguageCase {
  std::string line;  // of cases.txt
  std::string text;  // the program
  std::map<std::string, std::string> set;
};

// The lines of tests/differential/language/cases.txt: a program's file and what is set.
inline std::vector<LanguageCase> language_cases() {
  const std::string folder = KILN_SOURCE_DIR "/tests/differential/language/";
  std::ifstream list(folder + "cases.txt");
  std::vector<LanguageCase> cases;
  for (std::string line; std::getline(list, line);) {
    std::istringstream words(line);
    LanguageCase one;
    one.line = line;
    std::string word;
    words >> word;
    std::ifstream file(folder + word + ".json");
    one.text.assign(std::istreambuf_iterator<char>(file), {});
    while (words >> word) one.set[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
    cases.push_back(std::move(one));
  }
  return cases;
}

}  // namespace kiln::test
