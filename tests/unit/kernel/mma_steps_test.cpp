#include <gtest/gtest.h>

#include <map>
#include <random>

#include "engine/ir/kernel/matrix_layouts.hpp"
#include "engine/ir/kernel/program.hpp"
#include "tests/unit/kernel/gemm_program.hpp"

namespace kiln::kernel {
namespace {

using layout::RegLayout;

// What the hardware does with one wave's registers, by the instruction's lane maps alone: the reference for the steps.
using Registers = std::vector<std::vector<double>>;  // [lane][register]

Registers filled(const RegLayout& layout, int wave, const std::function<double(std::int64_t, std::int64_t)>& value) {
  Registers lanes(1 << layout.lane.bits());
  for (int lane = 0; lane < static_cast<int>(lanes.size()); ++lane) {
    for (int r = 0; r < layout.registers(); ++r) {
      const auto place = layout.at(r, lane, wave);
      lanes[lane].push_back(value(place[0], place[1]));
    }
  }
  return lanes;
}

void execute(const target::MatrixInstruction& instruction, const Registers& first, int first_at,
             const Registers& second, int second_at, Registers& c, int c_at) {
  const int lanes = static_cast<int>(c.size());
  std::vector<std::vector<double>> a(instruction.m, std::vector<double>(instruction.k)),
      b(instruction.n, std::vector<double>(instruction.k));
  for (int lane = 0; lane < lanes; ++lane) {
    for (int e = 0; e < instruction.operand_elements; ++e) {
      a[instruction.operand_row(lane)][instruction.operand_k(lane, e)] = first[lane][first_at + e];
      b[instruction.operand_row(lane)][instruction.operand_k(lane, e)] = second[lane][second_at + e];
    }
  }
  for (int lane = 0; lane < lanes; ++lane) {
    for (int r = 0; r < instruction.result_elements; ++r) {
      for (int k = 0; k < instruction.k; ++k) {
        c[lane][c_at + r] += a[instruction.result_row(lane, r)][k] * b[instruction.result_column(lane, r)][k];
      }
    }
  }
}

struct Case {
  Launch launch;
  Mma mma;
};

Case make_case(const target::Target& target, const target::MatrixInstruction& instruction, RegLayout a, RegLayout b,
               RegLayout c) {
  Case one;
  one.launch.wave = target.wave;
  one.launch.storages = {registers("a", instruction.operand, std::move(a), 1),
                         registers("b", instruction.operand, std::move(b), 1),
                         registers("c", instruction.result, std::move(c), 1)};
  one.mma.instruction = instruction.name;
  one.mma.a = 0;
  one.mma.b = 1;
  one.mma.c = 2;
  one.mma.k = one.launch.storages[0].shape[1];
  return one;
}

// Runs the steps of every wave and compares with the product, k of a from a_k and of b from b_k on.
void expect_product(const Case& one, const target::MatrixInstruction& instruction) {
  const auto steps = mma_steps(one.launch, one.mma, instruction);
  ASSERT_TRUE(steps.has_value()) << steps.error().message;
  const auto& storages = one.launch.storages;
  const auto value_a = [](std::int64_t m, std::int64_t k) { return double((m * 7 + k * 3) % 11 - 5); };
  const auto value_b = [](std::int64_t n, std::int64_t k) { return double((n * 5 + k * 13) % 7 - 3); };
  for (int wave = 0; wave < 1 << storages[2].reg_layout.wave.bits(); ++wave) {
    const auto a = filled(storages[0].reg_layout, wave, value_a), b = filled(storages[1].reg_layout, wave, value_b);
    auto c = filled(storages[2].reg_layout, wave, [](auto, auto) { return 0.0; });
    for (const auto& step : *steps) {
      if (one.mma.swapped) execute(instruction, b, step.b, a, step.a, c, step.c);
      else execute(instruction, a, step.a, b, step.b, c, step.c);
    }
    for (int lane = 0; lane < one.launch.wave; ++lane) {
      for (int r = 0; r < storages[2].reg_layout.registers(); ++r) {
        const auto place = storages[2].reg_layout.at(r, lane, wave);
        double expected = 0;
        for (std::int64_t k = 0; k < one.mma.k; ++k) {
          expected += value_a(place[0], one.mma.a_k + k) * value_b(place[1], one.mma.b_k + k);
        }
        ASSERT_EQ(c[lane][r], expected) << "wave " << wave << " lane " << lane << " register " << r;
      }
    }
  }
}

TEST(MmaSteps, EveryInstructionComputesTheProduct) {
  for (const char* name : {"gfx90a", "gfx942", "gfx950", "gfx1100"}) {
    const auto target = *target::parse_target(name);
    for (const auto& instruction : target.matrix) {
      for (const bool swapped : {false, true}) {
        for (const int pack : {1, 2}) {
          SCOPED_TRACE(std::string(name) + " " + instruction.name + (swapped ? " swapped" : "") + " pack " +
                       std::to_string(pack));
          const WaveGrid grid{1, 1};
          const std::int64_t m = instruction.m * 4, n = instruction.n * 2, k = instruction.k * 4;
          auto one = make_case(target, instruction, *operand_layout(instruction, Operand::a, m, k, grid, pack),
                               *operand_layout(instruction, Operand::b, n, k, grid, pack),
                                   *result_layout(instruction, m, n, grid, swapped));
          one.mma.swapped = swapped;
          for (const auto& storage : one.launch.storages) ASSERT_TRUE(storage.reg_layout.covers());
          expect_product(one, instruction);
        }
      }
    }
  }
}

TEST(MmaSteps, OddNumbersOfUnits) {
  const auto target = *target::parse_target("gfx942");
  const auto& instruction = *target.matrix_named("v_mfma_f32_16x16x16_f16");
  const WaveGrid grid{1, 0};
  for (const bool swapped : {false, true}) {
    auto one = make_case(target, instruction, *operand_layout(instruction, Operand::a, 96, 48, grid),
                         *operand_layout(instruction, Operand::b, 48, 48, grid),
                         *result_layout(instruction, 96, 48, grid, swapped));
    one.mma.swapped = swapped;
    expect_product(one, instruction);
  }
}

TEST(MmaSteps, PartOfLongerOperands) {
  const auto target = *target::parse_target("gfx942");
  const auto& instruction = *target.matrix_named("v_mfma_f32_16x16x16_f16");
  auto one = make_case(target, instruction, *operand_layout(instruction, Operand::a, 32, 64, {}),
                       *operand_layout(instruction, Operand::b, 32, 32, {}),
                       *result_layout(instruction, 32, 32, {}, true));
  one.mma.swapped = true;
  one.mma.k = 32;
  one.mma.a_k = 32;
  expect_product(one, instruction);
  one.mma.a_k = 8;
  EXPECT_FALSE(mma_steps(one.launch, one.mma, instruction)) << "cuts through an instruction's operand";
  one.mma.a_k = 48;
  EXPECT_FALSE(mma_steps(one.launch, one.mma, instruction)) << "leaves the operand";
}

// Attention: the first product's result, transposed, is the second's operand as it lies.
TEST(MmaSteps, ASwappedResultIsTheNextOperand) {
  const auto target = *target::parse_target("gfx942");
  for (const char* name : {"v_mfma_f32_16x16x16_f16", "v_mfma_f32_32x32x8_f16"}) {
    const auto& instruction = *target.matrix_named(name);
    const WaveGrid grid{2, 0};
    const auto scores = *result_layout(instruction, 128, 64, grid, true);
    EXPECT_EQ(layout::conversion(scores, *operand_layout(instruction, Operand::a, 128, 64, grid)),
              layout::Conversion::none) << name;
    auto one = make_case(target, instruction, scores, *operand_layout(instruction, Operand::b, 32, 64, grid),
                         *result_layout(instruction, 128, 32, grid, true));
    one.mma.swapped = true;
    expect_product(one, instruction);
  }
}

// Where it is not the operand's own order of k, the partner takes that order.
TEST(MmaSteps, APartnerInTheOrderOfAResult) {
  const auto target = *target::parse_target("gfx950");
  for (const char* name : {"v_mfma_f32_16x16x32_f16", "v_mfma_f32_32x32x16_f16"}) {
    const auto& instruction = *target.matrix_named(name);
    const WaveGrid grid{2, 0};
    const auto scores = *result_layout(instruction, 128, 64, grid, true);
    EXPECT_NE(layout::conversion(scores, *operand_layout(instruction, Operand::a, 128, 64, grid)),
              layout::Conversion::none) << name;
    const auto partner = operand_layout_like(instruction, Operand::b, 32, scores, grid);
    ASSERT_TRUE(partner.has_value()) << partner.error().message;
    ASSERT_TRUE(partner->covers());
    auto one = make_case(target, instruction, scores, *partner, *result_layout(instruction, 128, 32, grid, true));
    one.mma.swapped = true;
    expect_product(one, instruction);
  }
  // RDNA3's halves of a wave hold different columns of a result, and the same k of an operand.
  const auto rdna = *target::parse_target("gfx1100");
  const auto scores = *result_layout(rdna.matrix.front(), 16, 32, {}, true);
  auto one = make_case(rdna, rdna.matrix.front(), scores, *operand_layout(rdna.matrix.front(), Operand::b, 16, 32, {}),
                       *result_layout(rdna.matrix.front(), 16, 16, {}, true));
  one.mma.swapped = true;
  EXPECT_FALSE(mma_steps(one.launch, one.mma, rdna.matrix.front()));
}

TEST(MmaSteps, OperandsThatDoNotFitAreRefused) {
  const auto target = *target::parse_target("gfx942");
  const auto& instruction = *target.matrix_named("v_mfma_f32_16x16x16_f16");
  const auto a = *operand_layout(instruction, Operand::a, 32, 64, {}), b = *operand_layout(instruction, Operand::b, 32,
      64, {});
  const auto c = *result_layout(instruction, 32, 32, {}, false);
  const auto refused = [&](RegLayout la, RegLayout lb, RegLayout lc, const char* why) {
    auto one = make_case(target, instruction, std::move(la), std::move(lb), std::move(lc));
    one.mma.k = 64;
    const auto steps = mma_steps(one.launch, one.mma, instruction);
    ASSERT_FALSE(steps) << why;
    EXPECT_NE(steps.error().message.find(why), std::string::npos) << steps.error().message;
  };
  refused(a, *operand_layout(instruction, Operand::b, 32, 64, {}, 2), c, "same slots");
  refused(a, b, *result_layout(instruction, 32, 32, {}, true), "do not hold the result");
  refused(c, b, c, "k leaves an operand");
  refused(*operand_layout(instruction, Operand::a, 64, 64, {}), b, c, "rows of a and b");
  refused(*result_layout(instruction, 32, 64, {}, false), b, c, "do not hold the operand");
  refused(*operand_layout(*target.matrix_named("v_mfma_f32_32x32x8_f16"), Operand::a, 32, 64, {}), b, c,
          "do not hold the operand");
  refused(*operand_layout(instruction, Operand::a, 32, 64, {1, 0}), b, c, "different waves");
  const WaveGrid two{1, 0};
  refused(*operand_layout(instruction, Operand::b, 32, 64, two), *operand_layout(instruction, Operand::b, 32, 64, two),
          *result_layout(instruction, 32, 32, two, false), "a wave's rows");
}

}  // namespace
}  // namespace kiln::kernel
