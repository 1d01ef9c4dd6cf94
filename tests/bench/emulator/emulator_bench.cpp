// How fast one host thread executes wave instructions of the emulated card, in the loops of area `emulator` of
// `kiln bench`: prints {"vector": [ns an instruction, …], "matrix": […], "scalar": […]}, a value a round.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/support/emulator/small_wave.hpp"

namespace {

using kiln::emulator_test::SmallWave;

// A loop of `count` times eight instructions.
std::string loop(int count, const std::string& eight) {
  return "s_mov_b32 s0, " + std::to_string(count) + "\nagain:\n" + eight +
         "s_sub_u32 s0, s0, 1\ns_cmp_lg_u32 s0, 0\ns_cbranch_scc1 again\n";
}

std::string vector_loop() {
  std::string text;
  for (int i = 0; i < 4; ++i) {
    const auto n = std::to_string(10 + i);
    text += "v_fma_f32 v" + n + ", v1, v2, v" + n + "\nv_add_u32_e32 v" + n + ", v3, v" + n + "\n";
  }
  return text;
}

std::string matrix_loop() {
  std::string text;
  for (int i = 0; i < 8; ++i) {
    const auto first = std::to_string(16 + 16 * (i % 4)), last = std::to_string(31 + 16 * (i % 4));
    text += "v_mfma_f32_32x32x8_f16 v[" + first + ":" + last + "], v[2:3], v[4:5], v[" + first + ":" + last + "]\n";
  }
  return text;
}

std::string scalar_loop() {
  std::string text;
  for (int i = 0; i < 8; ++i) text += "s_add_u32 s" + std::to_string(4 + i) + ", s" + std::to_string(4 + i) + ", s3\n";
  return text;
}

double run_ms(SmallWave& wave, const std::string& text) {
  const auto begin = std::chrono::steady_clock::now();
  if (wave.run(text) != kiln::emulator::WaveStatus::ended) {
    std::fprintf(stderr, "a loop did not end\n");
    std::exit(1);
  }
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

// Nanoseconds an instruction: a long loop less a short one, so that assembling and decoding do not count.
double nanoseconds(SmallWave& wave, const std::string& eight, int count) {
  const double all = run_ms(wave, loop(count + 10, eight)), less = run_ms(wave, loop(10, eight));
  return (all - less) * 1e6 / (count * 11.0);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 9;
  std::vector<double> times[3];
  SmallWave wave("gfx942");
  for (int round = 0; round <= rounds; ++round) {
    const double now[3] = {nanoseconds(wave, vector_loop(), 60000), nanoseconds(wave, matrix_loop(), 4000),
                           nanoseconds(wave, scalar_loop(), 60000)};
    for (int i = 0; round > 0 && i < 3; ++i) times[i].push_back(now[i]);
  }
  const char* names[3] = {"vector", "matrix", "scalar"};
  for (int i = 0; i < 3; ++i) {
    std::printf("%s\"%s\": [", i == 0 ? "{" : ", ", names[i]);
    for (std::size_t k = 0; k < times[i].size(); ++k) std::printf("%s%.3f", k == 0 ? "" : ", ", times[i][k]);
    std::printf("]");
  }
  std::printf("}\n");
  return 0;
}
