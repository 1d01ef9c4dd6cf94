#include "engine/capture/finding.hpp"

#include <cctype>

namespace kiln::capture {
namespace {

bool digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// Numbers become '#', and bytes have one plural; what follows an address depends on where memory happens to lie.
std::string kind_of(const std::string& message) {
  std::string text;
  for (std::size_t i = 0; i < message.size();) {
    const bool inside_word = i > 0 && (std::isalnum(static_cast<unsigned char>(message[i - 1])) || message[i - 1] == '_');
    if (!digit(message[i]) || inside_word) { text += message[i++]; continue; }
    if (message.compare(i, 2, "0x") == 0) i += 2;
    while (i < message.size() && std::isxdigit(static_cast<unsigned char>(message[i]))) ++i;
    text += '#';
    if (message.compare(i, 5, " byte") == 0 && message.compare(i, 6, " bytes") != 0) {
      text += " bytes";
      i += 5;
    }
  }
  return text.substr(0, text.find(" at #"));
}

bool starts(const std::string& line, const char* with) { return line.rfind(with, 0) == 0; }

}  // namespace

Finding finding_of(const Error& error) {
  Finding finding;
  finding.kind = kind_of(error.message);
  for (const auto& line : error.context) {
    if (starts(line, "kernel ") && line.find(", block ") != std::string::npos) {
      const auto block = line.find(", block ");
      finding.kernel = line.substr(7, block - 7);
      finding.place = line.substr(block + 2);
    } else if (starts(line, "instruction: ")) {
      finding.instruction = line.substr(13);
    }
  }
  return finding;
}

}  // namespace kiln::capture
