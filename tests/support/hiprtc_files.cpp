// Compiles files with hipRTC: started through a private toolchain's loader where the machine has no hipRTC of its own.
//   hiprtc_files JOBS
// JOBS is a file of lines: source, object and options, separated by tabs. What was refused has its log beside the
// object, as OBJECT.log, and no object. Ends with 0, with 3 where there is no hipRTC, with 1 where a file cannot be
// used.
#include <cstdio>
#include <sstream>

#include "engine/base/fd.hpp"
#include "engine/compile/hiprtc.hpp"

namespace {

kiln::Status compile(kiln::compile::Hiprtc& rtc, const std::string& job) {
  std::istringstream words(job);
  std::string source, object, word;
  std::getline(words, source, '\t');
  std::getline(words, object, '\t');
  std::vector<std::string> options;
  while (std::getline(words, word, '\t')) options.push_back(word);
  KILN_TRY(const auto bytes, kiln::read_file(source));
  const auto output = rtc.compile(std::string(kiln::text(bytes)), {}, options);
  if (output) return kiln::write_file(object, output->object);
  const std::string log = kiln::to_text(output.error());
  return kiln::write_file(object + ".log", {reinterpret_cast<const std::uint8_t*>(log.data()), log.size()});
}

}  // namespace

int main(int argc, char** argv) {
  const auto jobs = kiln::read_file(argc == 2 ? argv[1] : "");
  auto rtc = kiln::compile::Hiprtc::load();
  if (!rtc) {
    std::fprintf(stderr, "%s\n", kiln::to_text(rtc.error()).c_str());
    return 3;
  }
  std::istringstream lines{jobs ? std::string(kiln::text(*jobs)) : std::string()};
  for (std::string job; std::getline(lines, job);) {
    if (const auto status = compile(*rtc, job); !status) {
      std::fprintf(stderr, "%s\n", kiln::to_text(status.error()).c_str());
      return 1;
    }
  }
  return jobs ? 0 : 1;
}
