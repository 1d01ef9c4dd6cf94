// Kernel programs with numbers in them replaced at random: the verifier answers, and what it lets pass can be printed,
// expanded and counted.
#include <gtest/gtest.h>

#include <random>

#include "engine/profile/bank_conflicts.hpp"
#include "tests/unit/kernel/gemm_program.hpp"

namespace kiln::kernel {
namespace {

// Every number of a program, as a place to write to.
class Numbers {
 public:
  explicit Numbers(Program& program) {
    for (auto& launch : program.launches) {
      add(launch.threads, launch.wave, launch.lds_bytes, launch.waves_per_simd);
      for (auto& storage : launch.storages) visit(storage);
      for (auto& role : launch.roles) {
        add(role.first_wave, role.waves, role.register_budget);
        visit(role.body);
      }
    }
  }
  void write(std::size_t at, std::int64_t value) const {
    if (at < small_.size()) *small_[at] = static_cast<int>(value);
    else *large_[at - small_.size()] = value;
  }
  [[nodiscard]] std::size_t count() const { return small_.size() + large_.size(); }

 private:
  void add_one(int& number) { small_.push_back(&number); }
  void add_one(std::int64_t& number) { large_.push_back(&number); }
  void add_one(std::vector<int>& list) { for (auto& number : list) add_one(number); }
  void add_one(std::vector<std::int64_t>& list) { for (auto& number : list) add_one(number); }
  template <class... More> void add(More&... more) { (add_one(more), ...); }

  void visit(layout::RegLayout& layout) {
    add(layout.unit, layout.repeat);
    for (auto* basis : {&layout.reg, &layout.lane, &layout.wave}) {
      for (auto& vector : basis->vectors) add(vector);
    }
  }
  void visit(Storage& storage) {
    add(storage.shape, storage.vector_elements, storage.stages, storage.offset_bytes);
    visit(storage.reg_layout);
    auto& lds = storage.lds_layout;
    add(lds.shape, lds.element_bytes, lds.contiguous, lds.pad_bytes, lds.chunk_bytes, lds.xor_basis);
  }
  void visit(GlobalRef& ref) { add(ref.tensor, ref.tile_axis); }
  void visit(LdsRef& ref) { add(ref.storage, ref.start); }
  void visit(Body& body) {
    for (auto& stmt : body) std::visit([&](auto& node) { visit(node); }, stmt.node);
  }
  void visit(LoadGlobal& node) { add(node.regs, node.vector_bytes); visit(node.from); }
  void visit(StoreGlobal& node) { add(node.regs, node.vector_bytes); visit(node.to); }
  void visit(LoadLds& node) { add(node.regs, node.vector_bytes); visit(node.from); }
  void visit(StoreLds& node) { add(node.regs, node.vector_bytes); visit(node.to); }
  void visit(Mma& node) { add(node.a, node.b, node.c, node.a_k, node.b_k, node.k); }
  void visit(Fill& node) { add(node.storage); }
  void visit(For& node) { add(node.var); visit(node.body); }
  void visit(Reduce& node) { add(node.from, node.to, node.axis, node.scratch); }
  void visit(Convert& node) { add(node.from, node.to, node.scratch); }
  void visit(Direct& node) { add(node.shape, node.token, node.vector_bytes); visit(node.global); visit(node.lds); }
  void visit(Map& node) { add(node.index, node.extent); visit(node.iteration); }
  template <class Other> void visit(Other&) {}

  std::vector<int*> small_;
  std::vector<std::int64_t*> large_;
};

// The example with a reduction, a conversion and a map before its store.
Program longer_program() {
  auto program = gemm_program();
  auto& launch = program.launches[0];
  launch.variables.push_back({"i", DType::index});
  launch.variables.push_back({"j", DType::index});
  launch.storages.push_back(registers("rows", DType::f32, layout::slice(launch.storages[gemm::acc].reg_layout, 1), 1));
  launch.storages.push_back(shared_tile("scratch", DType::f32, {2, 128}, 0));
  launch.storages.push_back(registers("half", DType::f16, launch.storages[gemm::acc].reg_layout, 1));
  bound::MapItem item;
  item.target = gemm::acc;
  item.indices = {variable(1), variable(2)};
  item.value = expr_of(bound::Expr::Kind::tile, 7, DType::f32, {variable(1)});
  auto& body = launch.roles[0].body;
  const auto at = body.end() - 1;
  body.insert(at, {statement(Barrier{}), statement(Reduce{tile::ReduceOp::max, gemm::acc, 7, 1, false, 8}),
                   statement(Convert{gemm::acc, 9, layout::Conversion::none, -1}),
                   statement(Map{{1, 2}, {128, 128}, launch.storages[gemm::acc].reg_layout, {item}, {false, false}})});
  return program;
}

TEST(Damage, IsAnsweredNotCrashedOn) {
  const auto target = *target::parse_target("gfx942");
  const auto whole = longer_program();
  const auto status = verify(whole, target);
  ASSERT_TRUE(status) << status.error().message;
  const unsigned seed = 31337;
  std::mt19937_64 random(seed);
  constexpr std::int64_t values[] = {-1, 0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 32, 48, 64, 128, 256, 4096, 1 << 20, INT32_MAX,
                                     INT32_MIN};
  int passed = 0;
  for (int round = 0; round < 400; ++round) {
    SCOPED_TRACE("seed " + std::to_string(seed) + " round " + std::to_string(round));
    auto program = whole;
    const Numbers numbers(program);
    for (int i = 0; i <= round % 2; ++i) {
      numbers.write(random() % numbers.count(), values[random() % std::size(values)]);
    }
    if (!verify(program, target)) continue;
    ++passed;
    EXPECT_FALSE(print(program).empty());
    EXPECT_TRUE(profile::lds_instructions(program.launches[0], target).has_value());
  }
  EXPECT_GT(passed, 0);
  EXPECT_LT(passed, 200) << "most damage must be noticed";
}

}  // namespace
}  // namespace kiln::kernel
