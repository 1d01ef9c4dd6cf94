// kiln-doctor-hip LIBRARY CARD [OBJECT SYMBOL]: tries a HIP library and its cards (CARD: a number, UUID or PCI address;
// -1: all), and prints a verdict a line, "ok", "bad" or "absent", what was tried and what came of it, with tabs between. LIBRARY: path of
// libamdhip64, "" for the system's. A process of its own, because a driver may end the process, or hang.
// kiln-doctor-hip --second LIBRARY ORDINAL is the second process of its trials.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/base/process.hpp"
#include "engine/device/card_names.hpp"
#include "engine/device/hip/probes.hpp"

namespace {

using namespace kiln;

void print(const device::hip::Verdict& verdict) {
  static constexpr const char* words[] = {"ok", "bad", "absent"};
  auto text = verdict.text;
  std::replace_if(text.begin(), text.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
  std::printf("%s\t%s\t%s\n", words[static_cast<int>(verdict.state)], verdict.what.c_str(), text.c_str());
  std::fflush(stdout);
}

bool number(const std::string& text, int& value) {
  const char* const end = text.data() + text.size();
  return !text.empty() && std::from_chars(text.data(), end, value).ptr == end;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  const bool second = !words.empty() && words[0] == "--second";
  if (second) words.erase(words.begin());
  device::hip::ProbeOptions options;
  const bool counted = words.size() == 2 || (words.size() == 4 && !second);
  const bool by_number = counted && number(words[1], options.ordinal);
  if (!counted || (!by_number && (second || !device::may_name_card(words[1])))) {
    std::fprintf(stderr, "kiln-doctor-hip takes the path of libamdhip64 and a card, or -1; `kiln doctor` starts it\n");
    return 2;
  }
  if (!by_number) options.card = words[1];
  // The second process is started elsewhere.
  std::error_code error;
  const bool named = words[0].find('/') == std::string::npos;
  options.library = named ? words[0] : std::filesystem::absolute(words[0], error).string();
  if (second) return device::hip::second_process(options.library, options.ordinal);
  if (words.size() == 4) {
    options.object = words[2];
    options.symbol = words[3];
  }
  options.second = {executable_folder() + "/kiln-doctor-hip", "--second"};
  device::hip::probe(options, print);
  return 0;
}
