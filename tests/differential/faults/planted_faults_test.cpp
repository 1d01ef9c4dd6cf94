// Faults planted one at a time in the HIP texts that Kiln emits: each one is caught, by a check of the emulated card or
// by comparison with the definition, and the texts as they are pass all of them. Prints a table of what was planted
// where and what caught it.
//
// A seed chooses the bindings, targets, data, schedules and places: KILN_SEED=N repeats a run, KILN_FAULT=NAME
// plants one only, KILN_TARGET=gfx1100 on that target only. KILN_NIGHTLY=N: new seeds for N minutes.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <random>
#include <thread>

#include "tests/differential/faults/emulated_text.hpp"
#include "tests/differential/faults/plants.hpp"

namespace kiln::test {
namespace {

using Settings = std::map<std::string, std::string>;

std::vector<std::string> targets() {
  if (const char* const only = std::getenv("KILN_TARGET")) return {only};
  return {"gfx90a", "gfx942", "gfx950", "gfx1100"};
}

// f32 to bf16, each element for itself: there is one right result, to the last bit.
constexpr const char* convert_program = R"json({"kiln": "tile/1", "name": "convert", "symbols": ["N"],
 "params": [{"name": "X", "dtype": "f32", "shape": ["N"], "access": "read"},
            {"name": "Y", "dtype": "bf16", "shape": ["N"], "access": "write"}],
 "launches": [{"grid": ["ceildiv(N, 256)"], "threads": "64", "body": [
   {"op": "alloc", "name": "x", "space": "fragment", "dtype": "f32", "shape": ["256"]},
   {"op": "alloc", "name": "y", "space": "fragment", "dtype": "bf16", "shape": ["256"]},
   {"op": "copy", "from": "X[bid.x * 256:]", "to": "x"},
   {"op": "map", "index": ["i"], "extent": ["256"], "body": [{"set": "y[i]", "value": "cast(x[i], bf16)"}]},
   {"op": "copy", "from": "y", "to": "Y[bid.x * 256:]"}]}]})json";

// Bindings under which every fault that the program has places for shows: several trips of each loop, a rest at each
// end, more than one block.
std::vector<Settings> bindings_of(const std::string& program) {
  if (program == "gemm") {
    const Settings tile = {{"BM", "64"}, {"BN", "64"}};
    std::vector<Settings> all = {
        {{"M", "65"}, {"N", "80"}, {"K", "129"}, {"dtype", "f16"}},
        {{"M", "100"}, {"N", "72"}, {"K", "200"}, {"dtype", "bf16"}, {"transpose_b", "true"}},
        {{"M", "70"}, {"N", "67"}, {"K", "136"}, {"dtype", "f16"}, {"transpose_a", "true"}},
        {{"M", "72"}, {"N", "80"}, {"K", "144"}, {"dtype", "i8"}, {"transpose_b", "true"}}};
    for (auto& one : all) one.insert(tile.begin(), tile.end());
    return all;
  }
  if (program == "flash_attention") {
    const Settings common = {{"B", "1"}, {"H", "4"}, {"HKV", "2"}, {"D", "64"}, {"dtype", "f16"}, {"causal", "true"}};
    std::vector<Settings> all = {{{"S", "129"}, {"SK", "129"}}, {{"S", "150"}, {"SK", "150"}}};
    for (auto& one : all) one.insert(common.begin(), common.end());
    return all;
  }
  if (program == "convert") return {{{"N", "1000"}}};
  return {{{"M", "9"}, {"N", "300"}}, {{"M", "6"}, {"N", "203"}}};
}

// ---- fp8 -----------------------------------------------------------------------------------------------------------
// No built-in has 8-bit floats yet: a product of one wave in the style of what is emitted. The values are such that
// both encodings hold them exactly.
constexpr const char* fp8_text = R"hip(#include <kiln/kernel.hpp>

namespace kiln {

constexpr u32 bias = BIAS;

KILN_DEVICE u64 encoded(const f32* from) {
  u64 bytes = 0;
  for (u32 i = 0; i < 8; ++i) {
    const u32 bits = __builtin_bit_cast(u32, from[i]);
    const u32 exponent = ((bits >> 23) & 255u) - 127u + bias;
    const u32 byte = (bits >> 31) << 7 | exponent << 3 | ((bits >> 20) & 7u);
    bytes |= u64(from[i] == 0.0f ? 0u : byte) << (8u * i);
  }
  return bytes;
}

extern "C" KILN_KERNEL(64) void fp8_product_0(const void* p0, const void* p1, void* p2) {
  const u32 lane = thread_id();
  const f32* a = (const f32*)p0 + (lane & 15u) * 32u + (lane >> 4) * 8u;
  const f32* b = (const f32*)p1 + (lane & 15u) * 32u + (lane >> 4) * 8u;
  vec<f32, 4> r0 = vec<f32, 4>(0x0p+0f);
  r0 = __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8((i64)encoded(a), (i64)encoded(b), r0, 0, 0, 0);
  for (u32 i = 0; i < 4; ++i) ((f32*)p2)[((lane >> 4) * 4u + i) * 16u + (lane & 15u)] = r0[i];
}

}  // namespace kiln
)hip";

Subject fp8_subject(const std::string& target, std::uint64_t seed) {
  Subject subject;
  subject.name = "fp8_product";
  subject.target = target;
  subject.text = fp8_text;
  // gfx942 has the formats without negative zero, whose bias is 8; gfx950 has OCP's, whose bias is 7.
  subject.text.replace(subject.text.find("BIAS"), 4, target == "gfx942" ? "8" : "7");
  subject.launches = {{"fp8_product_0", {{1, 1, 1}, {64, 1, 1}}}};
  std::mt19937_64 random(seed);
  std::vector<float> a(16 * 32), b(16 * 32), want(16 * 16);
  constexpr float values[] = {0, 0.5f, -0.5f, 1, -1, 1.5f, -1.75f, 2, -3, 4};
  for (auto* matrix : {&a, &b})
    for (float& value : *matrix) value = values[random() % std::size(values)];
  for (int row = 0; row < 16; ++row)
    for (int column = 0; column < 16; ++column)
      for (int k = 0; k < 32; ++k) want[row * 16 + column] += a[row * 32 + k] * b[column * 32 + k];
  const auto bytes_of = [](const std::vector<float>& from) {
    Bytes bytes(from.size() * sizeof(float));
    std::memcpy(bytes.data(), from.data(), bytes.size());
    return bytes;
  };
  subject.arguments = {bytes_of(a), bytes_of(b), Bytes(want.size() * sizeof(float), 0xff)};
  subject.by_value = {false, false, false};
  subject.wrong = [want = bytes_of(want)](const std::vector<Bytes>& tensors) {
    return tensors[2] == want ? std::string() : std::string("the product is wrong");
  };
  return subject;
}

// ---- one fault -----------------------------------------------------------------------------------------------------
struct Row {
  std::string fault, subject, where, caught, detail;
  std::vector<std::string> without_effect;   // places tried before
};

class Planting {
 public:
  Planting(TextCompiler& compiler, std::uint64_t seed) : compiler_(compiler), random_(seed) {}

  // Plants it somewhere and runs it; the text without it first.
  Result<Row> run(const Plant& plant) {
    KILN_TRY(const Subject subject, choose(plant));
    const auto lines = lines_of_text(subject.text);
    const auto places = plant.places(lines);
    if (places.empty()) return Error(ErrorCode::internal, subject.name + " for " + subject.target + " has no place");
    const std::uint64_t schedule = random_() % 4;
    KILN_TRY(const Bytes clean, compiler_.compile(subject.text, subject.target));
    KILN_TRY(const Finding none, run_subject(subject, clean, schedule));
    if (!none.caught.empty())
      return Error(ErrorCode::internal, "without a fault " + subject.name + " for " + subject.target + " has a " +
                                            none.caught + ": " + none.detail);
    Row row{plant.name, subject.name.substr(0, subject.name.find(' ')) + " " + subject.target, "", "", ""};
    const std::string text = planted(lines, places[random_() % places.size()], row.where);
    KILN_TRY(const Bytes object, compiler_.compile(text, subject.target));
    KILN_TRY(Finding finding, run_subject(subject, object, schedule));
    row.caught = std::move(finding.caught);
    row.detail = subject.name + ": " + finding.detail;
    return row;
  }

 private:
  // A program, its bindings and a target that have places for the fault.
  Result<Subject> choose(const Plant& plant) {
    const auto& programs = plant.programs;
    for (int attempt = 0; attempt < 50; ++attempt) {
      const std::string program = programs[random_() % programs.size()];
      const std::string target = targets_[random_() % targets_.size()];
      if (program == "fp8_product") {
        if (target == "gfx90a" || target == "gfx1100") continue;  // they have no such product
        return fp8_subject(target, random_());
      }
      const auto bindings = bindings_of(program);
      const auto& set = bindings[random_() % bindings.size()];
      KILN_TRY(auto subject, emitted_subject(program == "convert" ? convert_program : program, set, target, random_()));
      if (!plant.places(lines_of_text(subject.text)).empty()) return subject;
    }
    return Error(ErrorCode::not_found, "no text has a place for it");
  }

  TextCompiler& compiler_;
  std::mt19937_64 random_;
  const std::vector<std::string> targets_ = targets();
};

// At some places a text is as right without what is taken away: barriers that order nothing more than another one, lanes
// that hold the same value. Of four places nobody notices, one is a fault.
Result<Row> plant_with_effect(const Plant& plant, TextCompiler& compiler, std::uint64_t seed) {
  Planting planting(compiler, seed);
  std::vector<std::string> without_effect;
  for (int place = 1;; ++place) {
    KILN_TRY(Row row, planting.run(plant));
    if (row.caught.empty() && place < 4) {
      without_effect.push_back(row.detail + row.where);
      continue;
    }
    row.without_effect = std::move(without_effect);
    return row;
  }
}

// ---- all of them ---------------------------------------------------------------------------------------------------
void plant_all(std::uint64_t seed) {
  const auto& all = plants();
  constexpr std::size_t side_by_side = 2;
  std::vector<std::optional<Result<Row>>> rows(all.size());
  const char* const only = std::getenv("KILN_FAULT");
  std::vector<std::unique_ptr<TextCompiler>> compilers;
  for (std::size_t i = 0; i < side_by_side; ++i) {
    auto compiler = TextCompiler::start();
    ASSERT_TRUE(compiler) << to_text(compiler.error());
    compilers.push_back(std::move(*compiler));
  }
  std::atomic<std::size_t> next{0};
  const auto work = [&](TextCompiler& compiler) {
    for (std::size_t i; (i = next.fetch_add(1)) < all.size();)
      if (only == nullptr || std::string(only) == all[i].name)
        rows[i] = plant_with_effect(all[i], compiler, seed * 1000 + i);
  };
  std::thread other(work, std::ref(*compilers[1]));
  work(*compilers[0]);
  other.join();
  const std::string again = "repeat with KILN_SEED=" + std::to_string(seed) + " tests/test_planted_faults";
  std::size_t caught = 0, without_effect = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!rows[i]) continue;
    if (!*rows[i] && rows[i]->error().code == ErrorCode::no_compiler) GTEST_SKIP() << rows[i]->error().message;
    if (!*rows[i] && rows[i]->error().code == ErrorCode::not_found && targets().size() == 1) {
      std::printf("%-38s has no place on %s\n", all[i].name, targets()[0].c_str());
      continue;
    }
    ASSERT_TRUE(*rows[i]) << all[i].name << ": " << to_text(rows[i]->error()) << "\n" << again;
    const Row& row = **rows[i];
    std::printf("%-38s %-23s %-22s %s\n", row.fault.c_str(), row.subject.c_str(),
                row.caught.empty() ? "NOT CAUGHT" : row.caught.c_str(), row.where.substr(0, 150).c_str());
    EXPECT_FALSE(row.caught.empty()) << row.fault << " in " << row.detail << ", " << row.where << "\n" << again;
    for (const auto& place : row.without_effect) std::printf("  without effect: %s\n", place.substr(0, 200).c_str());
    caught += !row.caught.empty();
    without_effect += row.without_effect.size();
  }
  std::printf("%zu faults planted, %zu caught, %zu places without effect, seed %llu\n",
              only == nullptr ? all.size() : 1, caught, without_effect, static_cast<unsigned long long>(seed));
}

TEST(PlantedFaults, AreAllCaught) {
  ASSERT_GE(plants().size(), 20u);
  const char* const given = std::getenv("KILN_SEED");
  std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10)
                             : std::getenv("KILN_NIGHTLY") != nullptr ? std::random_device()() : 20261130;
  const char* const nightly = std::getenv("KILN_NIGHTLY");
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(nightly != nullptr ? std::atoi(nightly) : 0);
  do {
    plant_all(seed++);
  } while (!HasFatalFailure() && !IsSkipped() && std::chrono::steady_clock::now() < end);
}

}  // namespace
}  // namespace kiln::test
