// Kernel programs made by hand, their HIP text executed: what built-ins use seldom or not at all.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <cstring>
#include <numeric>
#include <random>

#include "engine/emit/emit.hpp"
#include "tests/support/hip_fibers/hip_fibers.hpp"
#include "tests/unit/kernel/gemm_program.hpp"

namespace kiln::test {
namespace {

using namespace kiln::kernel;

bound::Tensor tensor(const std::string& name, std::vector<std::int64_t> shape, DType dtype, Access access) {
  bound::Tensor one;
  one.name = name;
  one.dtype = dtype;
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t axis = shape.size() - 1; axis > 0; --axis) strides[axis - 1] = strides[axis] * shape[axis];
  one.shape = bound::extents_of(shape);
  one.strides = bound::extents_of(strides);
  one.access = access;
  return one;
}

Program program_of(std::vector<bound::Tensor> tensors, Launch launch, const std::string& target) {
  Program program;
  program.name = "kernel";
  program.target = target;
  program.tensors = std::move(tensors);
  launch.symbol = "kernel_0";
  program.launches.push_back(std::move(launch));
  return program;
}

GlobalRef whole(int tensor, std::size_t rank) {
  GlobalRef ref;
  ref.tensor = tensor;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    ref.start.push_back(integer(0));
    ref.tile_axis.push_back(static_cast<int>(axis));
    ref.checked.push_back(false);
    ref.limit.push_back(nullptr);
  }
  return ref;
}

void run_text(const Program& program, const std::vector<std::span<std::uint8_t>>& arguments) {
  const auto target = target::parse_target(program.target);
  ASSERT_TRUE(target);
  const auto text = emit::emit_hip(program, *target);
  ASSERT_TRUE(text) << to_text(text.error());
  auto module = HipModule::compile(*text, program, *target, KILN_SOURCE_DIR);
  ASSERT_TRUE(module) << to_text(module.error()) << *text;
  const auto status = module->run(arguments, 1);
  ASSERT_TRUE(status) << to_text(status.error()) << *text;
}

std::span<std::uint8_t> bytes_of(std::vector<std::int32_t>& values) {
  return {reinterpret_cast<std::uint8_t*>(values.data()), values.size() * 4};
}

// Each block takes a ticket a lane of `T`, and keeps what it took in C[z, y, x, lane].
Program tickets_of_blocks(std::int64_t nx, std::int64_t ny, std::int64_t nz, BlockOrder order) {
  Launch launch;
  launch.grid = {nx, ny, nz};
  launch.threads = launch.wave = 64;
  launch.order = order;
  launch.variables = {{"i", DType::index}, {"ticket", DType::i32}};
  Map map;
  map.index = {0};
  map.extent = {64};
  map.iteration = *layout::make_layout({64}, {{layout::BitSource::lane, 6, 0}});
  bound::MapItem ticket;
  ticket.tensor = true;
  ticket.target = 0;
  ticket.indices = {integer(0)};
  ticket.value = bound::make_integer(1, DType::i32);
  ticket.atomic = tile::AtomicOp::add;
  ticket.old = 1;
  bound::MapItem kept;
  kept.tensor = true;
  kept.target = 1;
  for (const int axis : {2, 1, 0}) kept.indices.push_back(expr_of(bound::Expr::Kind::block, axis));
  kept.indices.push_back(variable(0));
  kept.value = expr_of(bound::Expr::Kind::variable, 1, DType::i32);
  map.body = {ticket, kept};
  launch.roles = {{"all", 0, 1, 0, {statement(map)}}};
  return program_of({tensor("T", {1}, DType::i32, Access::readwrite),
                     tensor("C", {nz, ny, nx, 64}, DType::i32, Access::readwrite)},
                    launch, "gfx942");
}

// Any grouping and dealing of blocks runs each block once; without dealing in the order that the host walks too.
TEST(HipKernel, BlockOrdersArePermutations) {
  const struct { std::int64_t nx, ny, nz; BlockOrder order;
  } cases[] = {{5, 7, 1, {1, 1}}, {5, 7, 2, {4, 1}}, {4, 8, 1, {4, 8}}, {5, 7, 1, {3, 8}},
               {3, 2, 1, {8, 8}}, {1, 9, 1, {4, 4}}, {9, 1, 1, {4, 2}}, {13, 11, 1, {1, 8}},
               {5, 7, 1, {1, 1, true}}, {5, 7, 2, {4, 1, true}}, {8, 4, 1, {4, 8, true}}, {7, 5, 1, {3, 8, true}},
               {2, 3, 1, {8, 8, true}}, {9, 1, 1, {4, 4, true}}, {1, 9, 1, {4, 2, true}}, {6, 5, 1, {2, 1}}};
  for (const auto& one : cases) {
    SCOPED_TRACE(std::to_string(one.nx) + "x" + std::to_string(one.ny) + " group " + std::to_string(one.order.group) +
                 " xcds " + std::to_string(one.order.xcds) + (one.order.columns ? " columns" : ""));
    const auto program = tickets_of_blocks(one.nx, one.ny, one.nz, one.order);
    std::vector<std::int32_t> next(1, 0), kept(one.nz * one.ny * one.nx * 64, -1);
    run_text(program, {bytes_of(next), bytes_of(kept)});  // on one thread: block after block
    const std::int64_t blocks = one.nx * one.ny * one.nz;
    EXPECT_EQ(next[0], blocks * 64);
    std::vector<std::int64_t> turns;  // by block: how the manieth it was
    for (std::int64_t block = 0; block < blocks; ++block)
      turns.push_back(*std::min_element(kept.begin() + block * 64, kept.begin() + block * 64 + 64) / 64);
    std::vector<std::int64_t> sorted = turns, all(blocks);
    std::sort(sorted.begin(), sorted.end());
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(sorted, all);
    if (one.order.xcds > 1) continue;
    for (std::int64_t turn = 0; turn < blocks; ++turn) {
      const auto place = bound::block_at({one.order.group, one.order.columns}, one.nx, one.ny,
                                         turn % (one.nx * one.ny));
      const std::int64_t z = turn / (one.nx * one.ny);
      EXPECT_EQ(turns[(z * one.ny + place.y) * one.nx + place.x], turn);
    }
  }
}

// A random linear layout of a tile of 2^bits elements over registers, lanes, waves; `free` bits replicate.
layout::RegLayout random_layout(std::mt19937& random, int rows_bits, int columns_bits, int lane_bits,
                                const std::vector<int>& wave_axes) {
  std::vector<std::pair<int, int>> bits;  // (axis, bit) not yet given away
  std::vector<int> next = {0, 0};
  layout::RegLayout made;
  made.unit = {std::int64_t(1) << rows_bits, std::int64_t(1) << columns_bits};
  made.repeat = {1, 1};
  const int limits[2] = {rows_bits, columns_bits};
  for (int axis = 0; axis < 2; ++axis) for (int bit = 0; bit < limits[axis]; ++bit) bits.emplace_back(axis, bit);
  const auto vector_of = [](std::pair<int, int> bit) {
    layout::Coordinate vector(2, 0);
    vector[bit.first] = std::int64_t(1) << bit.second;
    return vector;
  };
  for (const int axis : wave_axes) {  // the same in all layouts of a test: the highest bits
    const auto at = std::find_if(bits.rbegin(), bits.rend(), [&](const auto& bit) { return bit.first == axis; });
    made.wave.vectors.push_back(vector_of(*at));
    bits.erase(std::next(at).base());
  }
  std::shuffle(bits.begin(), bits.end(), random);
  for (int i = 0; i < lane_bits; ++i) made.lane.vectors.push_back(vector_of(bits[i]));
  for (std::size_t i = lane_bits; i < bits.size(); ++i) made.reg.vectors.push_back(vector_of(bits[i]));
  return made;
}

class HipConversions : public testing::TestWithParam<std::string> {};

// Tensor -> registers of one random layout -> another -> tensor is a copy, by lanes and through LDS.
TEST_P(HipConversions, MoveEveryElementToItsPlace) {
  const auto target = target::parse_target(GetParam());
  ASSERT_TRUE(target);
  const int lane_bits = target->wave == 32 ? 5 : 6;
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const std::vector<int> wave_axes = seed % 2 ? std::vector<int>{0} : std::vector<int>{};
    Launch launch;
    launch.grid = {1, 1, 1};
    launch.wave = target->wave;
    launch.threads = target->wave << wave_axes.size();
    const auto first = random_layout(random, 5, 5, lane_bits, wave_axes),
               second = random_layout(random, 5, 5, lane_bits, wave_axes);
    const bool through_lds = seed % 3 == 0;
    launch.storages = {registers("from", DType::i32, first, 1), registers("to", DType::i32, second, 1)};
    if (through_lds) {
      launch.storages.push_back(shared_tile("scratch", DType::i32, {32, 32}, 0));
      launch.storages[2].lds_layout.xor_basis = {1, 2, 4};
      launch.lds_bytes = launch.storages[2].stage_bytes();
    }
    Convert convert{0, 1, through_lds ? layout::Conversion::lds : layout::Conversion::lanes, through_lds ? 2 : -1};
    launch.roles = {{"all",
                     0,
                     1 << static_cast<int>(wave_axes.size()),
                     0,
                     {statement(LoadGlobal{0, whole(0, 2), 4, Addressing::global, nullptr}), statement(convert),
                      statement(StoreGlobal{1, whole(1, 2), 4})}}};
    auto program =
        program_of({tensor("A", {32, 32}, DType::i32, Access::read), tensor("C", {32, 32}, DType::i32, Access::write)},
                   launch, GetParam());
    std::vector<std::int32_t> from(1024), to(1024, -1);
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::int32_t>(i * 7 + 1);
    run_text(program, {bytes_of(from), bytes_of(to)});
    EXPECT_EQ(from, to) << to_text(first) << " -> " << to_text(second);
  }
}

// Sums along either axis with the tile spread over lanes and waves at random.
TEST_P(HipConversions, ReduceOverRegistersLanesAndWaves) {
  const auto target = target::parse_target(GetParam());
  ASSERT_TRUE(target);
  const int lane_bits = target->wave == 32 ? 5 : 6;
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const int axis = static_cast<int>(seed % 2);
    Launch launch;
    launch.grid = {1, 1, 1};
    launch.wave = target->wave;
    launch.threads = target->wave * 4;
    const auto from = random_layout(random, 5, 6, lane_bits, {0, 1});
    const auto to = layout::slice(from, axis);
    const int parts = reduce_parts(from, axis).count();
    const std::int64_t kept = axis == 0 ? 64 : 32;
    launch.storages = {registers("from", DType::i32, from, 1), registers("to", DType::i32, to, 1),
                       shared_tile("scratch", DType::i32, {parts, kept}, 0)};
    launch.lds_bytes = launch.storages[2].stage_bytes();
    const bool accumulate = seed > 2;
    Reduce reduce{seed % 3 == 0 ? tile::ReduceOp::max : tile::ReduceOp::sum, 0, 1, axis, accumulate, 2};
    GlobalRef result = whole(1, 1);
    launch.roles = {{"all",
                     0,
                     4,
                     0,
                     {statement(LoadGlobal{0, whole(0, 2), 4, Addressing::global, nullptr}),
                      statement(Fill{1, bound::make_integer(5, DType::i32)}), statement(reduce),
                      statement(StoreGlobal{1, result, 4})}}};
    auto program =
        program_of({tensor("A", {32, 64}, DType::i32, Access::read), tensor("C", {kept}, DType::i32, Access::write)},
                   launch, GetParam());
    std::vector<std::int32_t> values(2048), results(kept, -1), want(kept, 0);
    for (auto& value : values) value = static_cast<std::int32_t>(random() % 1000) - 500;
    for (std::int64_t k = 0; k < kept; ++k) {
      std::int32_t folded = reduce.op == tile::ReduceOp::max ? INT32_MIN : 0;
      for (std::int64_t i = 0; i < (axis == 0 ? 32 : 64); ++i) {
        const std::int32_t value = values[axis == 0 ? i * 64 + k : k * 64 + i];
        folded = reduce.op == tile::ReduceOp::max ? std::max(folded, value) : folded + value;
      }
      want[k] = !accumulate ? folded : reduce.op == tile::ReduceOp::max ? std::max(folded, 5) : folded + 5;
    }
    run_text(program, {bytes_of(values), bytes_of(results)});
    EXPECT_EQ(results, want) << to_text(from);
  }
}

INSTANTIATE_TEST_SUITE_P(Waves, HipConversions, testing::Values("gfx942", "gfx1100"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace kiln::test
