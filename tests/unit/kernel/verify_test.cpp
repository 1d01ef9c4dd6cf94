#include <gtest/gtest.h>

#include <functional>

#include "engine/ir/kernel/matrix_layouts.hpp"
#include "tests/unit/kernel/gemm_program.hpp"

namespace kiln::kernel {
namespace {

using namespace gemm;

Body& body_of(Program& program) { return program.launches[0].roles[0].body; }
Body& loop_of(Program& program) { return std::get<For>(body_of(program)[loop].node).body; }
Storage& storage_of(Program& program, int id) { return program.launches[0].storages[id]; }
template <class Node>
Node& node_of(Body& body, int at) { return std::get<Node>(body[at].node); }
void drop(Body& body, int at) { body.erase(body.begin() + at); }
void put(Body& body, int at, Stmt stmt) { body.insert(body.begin() + at, std::move(stmt)); }
int add(Program& program, Storage storage) {
  program.launches[0].storages.push_back(std::move(storage));
  return static_cast<int>(program.launches[0].storages.size()) - 1;
}

Status verified(const Program& program, const char* target = "gfx942") {
  return verify(program, *target::parse_target(target));
}

std::string findings(const Status& status) {
  std::string text;
  if (!status) {
    for (const auto& line : status.error().context) text += line + "\n";
  }
  return text;
}

TEST(Verify, TheExampleIsRight) {
  const auto status = verified(gemm_program());
  EXPECT_TRUE(status) << findings(status);
}

// One thing broken in the example, and the finding that must say so.
struct Broken {
  const char* name;
  void (*breaks)(Program&);
  const char* place;   // where the finding stands
  const char* reason;  // what it says
};
void PrintTo(const Broken& broken, std::ostream* to) { *to << broken.name; }

class BrokenProgram : public testing::TestWithParam<Broken> {};

TEST_P(BrokenProgram, IsRejectedForTheRightReason) {
  auto program = gemm_program();
  GetParam().breaks(program);
  const auto status = verified(program);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::internal);
  bool said = false;
  for (const auto& line : status.error().context) {
    said = said || (line.find(std::string("launch gemm_nt_0") + GetParam().place) == 0 &&
                    line.find(GetParam().reason) != std::string::npos);
  }
  EXPECT_TRUE(said) << findings(status);
}

layout::RegLayout rows_of_acc(const Program& program) {
  return layout::slice(program.launches[0].storages[acc].reg_layout, 1);
}

ExprPtr element(int storage, std::vector<ExprPtr> indices, DType type) {
  return expr_of(bound::Expr::Kind::tile, storage, type, std::move(indices));
}

const Broken broken_programs[] = {
    // barriers
    {"no barrier between store and load", [](Program& p) { drop(loop_of(p), l_barrier_stored); }, ", body/3/for/5",
     "another wave wrote at body/3/for/1, no barrier"},
     {"no barrier before the next store", [](Program& p) { drop(loop_of(p), l_barrier); }, ", body/3/for/0",
      "another wave may still read at body/3/for/5, no barrier"},
      {"the last tile overwrites what the loop still reads", [](Program& p) { drop(body_of(p), barrier_last); },
       ", body/4", "another wave may still read at body/3/for/6"}, {"a barrier on one branch only",
     [](Program& p) {
       auto& body = loop_of(p);
       body[l_barrier_stored] =
           statement(If{bound::make_binary(Op::lt, expr_of(bound::Expr::Kind::block, 0), integer(2)),
                        {statement(Barrier{})}, {}});
     },
     ", body/3/for/6", "no barrier between"},
    {"a barrier for some lanes only",
     [](Program& p) {
       const auto condition = bound::make_binary(Op::gt, element(acc, {integer(0), integer(0)}, DType::f32),
                                                 expr_of(bound::Expr::Kind::integer, 0, DType::f32));
       loop_of(p)[l_barrier_stored] = statement(If{condition, {statement(Barrier{})}, {statement(Barrier{})}});
     },
     ", body/3/for/3/then/0", "a condition that differs between lanes"},
    {"buffers that share bytes and are alive together", [](Program& p) { storage_of(p, Bs).offset_bytes = 0; },
     ", body/3/for/6", "As is read where 8192 elements were never written"}, // values
    {"an accumulator that was never cleared", [](Program& p) { drop(body_of(p), clear); }, ", body/2/for/8",
     "acc is read before it is written"},
     {"registers stored before they were loaded", [](Program& p) { drop(body_of(p), first_load_a); }, ", body/2/for/1",
      "ga is read before it is written"}, {"LDS written in part and read whole",
     [](Program& p) {
       storage_of(p, As).shape = storage_of(p, As).lds_layout.shape = {144, 64};
       storage_of(p, Bs).offset_bytes = 144 * 128;
       p.launches[0].lds_bytes = 144 * 128 + 16384;
       node_of<LoadLds>(loop_of(p), l_load_a).from.start = {16, 0};
     },
     ", body/3/for/6", "As is read where 1024 elements were never written"},
    {"a variable outside its loop", [](Program& p) { node_of<StoreGlobal>(body_of(p), 11).to.start[0] = variable(k); },
     ", body/11", "variable k is read before it has a value"}, {"a value that only a loop which may not run writes",
     [](Program& p) {
       node_of<For>(body_of(p), loop).to = bound::make_binary(Op::mul, expr_of(bound::Expr::Kind::block, 2),
                                                              integer(64));
       drop(body_of(p), barrier_last + 4);  // the last tile's load of a
     },
     ", body/9", "a is read before it is written"},
    // bounds
    {"an LDS access beyond its buffer", [](Program& p) { node_of<LoadLds>(loop_of(p), l_load_b).from.start = {64, 0}; },
     ", body/3/for/7", "it leaves Bs along axis 0"},
     {"a stage that does not exist",
         [](Program& p) { node_of<StoreLds>(loop_of(p), l_store_a).to.stage = variable(k); }, ", body/3/for/1",
             "a stage of As is not proved to be one of its 1"},
             {"a global access that leaves its tensor",
                 [](Program& p) { node_of<LoadGlobal>(body_of(p), first_load_a).from.start[1] = integer(480); },
                     ", body/0", "it leaves axis 1 of A unchecked"},
                     {"a store to what is read only",
                         [](Program& p) { node_of<StoreGlobal>(body_of(p), 11).to.tensor = A; }, ", body/11",
                             "A is read only"}, // layouts and vectors
    {"a layout that leaves elements out", [](Program& p) { storage_of(p, acc).reg_layout.reg.vectors[0] = {0, 0}; }, "",
     "regs acc: layout: no register, lane and wave holds element [0,1]"},
     {"a layout over too few lanes", [](Program& p) { storage_of(p, ga).reg_layout.lane.vectors.pop_back(); }, "",
      "regs ga"},
      {"a swizzle that leaves its row", [](Program& p) { storage_of(p, As).lds_layout.xor_basis[2] = 8; }, "",
       "lds As: its swizzle leaves the row"},
       {"vectors wider than the swizzle's chunk",
           [](Program& p) { auto& lds = storage_of(p, Bs).lds_layout; lds = layout::with_swizzle(lds, 8, 1, 8); },
               ", body/3/for/2", "vectors of 16 bytes; Bs is contiguous and aligned for 8"},
               {"vectors that a lane does not hold",
                   [](Program& p) { storage_of(p, ga).reg_layout = *layout::make_layout({128, 64},
                       {{layout::BitSource::lane, 6, 1}, {layout::BitSource::wave, 2, 0}}); }, ", body/0",
                           "nearer than a vector of 16 bytes"},
                           {"vectors beyond a tensor's alignment", [](Program& p) { p.tensors[A].align_bytes = 4; },
                            ", body/0", "a vector of 16 bytes on A, aligned to 4"},
                            {"different element types", [](Program& p) { storage_of(p, As).dtype = DType::bf16; },
                             ", body/3/for/1", "ga and As differ in type"}, // matrix instructions
    {"an instruction of another target",
        [](Program& p) { node_of<Mma>(loop_of(p), l_multiply).instruction = "v_mfma_f32_16x16x32_f16"; },
            ", body/3/for/8", "gfx942 has no v_mfma_f32_16x16x32_f16"},
            {"operands in another instruction's layout",
                [](Program& p) { node_of<Mma>(loop_of(p), l_multiply).instruction = "v_mfma_f32_16x16x16_f16"; },
                    ", body/3/for/8", "its lanes do not hold the operand of v_mfma_f32_16x16x16_f16"},
                    {"a result that is not transposed",
                        [](Program& p) { node_of<Mma>(loop_of(p), l_multiply).swapped = false; }, ", body/3/for/8",
                            "acc: its lanes do not hold the result"}, {"operands that hold k in different orders",
     [](Program& p) {
       const auto target = *target::parse_target("gfx942");
       storage_of(p, b).reg_layout = *operand_layout(*target.matrix_named("v_mfma_f32_32x32x8_f16"), Operand::b, 128,
                                                     64, {1, 1}, 1);
       storage_of(p, b).vector_elements = 4;
       for (auto* body : {&loop_of(p), &body_of(p)}) {
         for (auto& stmt : *body) {
           if (auto* load = std::get_if<LoadLds>(&stmt.node); load && load->regs == b) load->vector_bytes = 8;
         }
       }
     },
     ", body/3/for/8", "b does not hold k in the same slots as a"},
    // resources
    {"more LDS than the target has", [](Program& p) { p.launches[0].lds_bytes = 65537; }, "",
     "LDS of 65537 bytes; the target has 65536"},
     {"a buffer beyond the block's LDS", [](Program& p) { p.launches[0].lds_bytes = 16384; }, "",
      "lds Bs: it ends at byte 32768"},
      {"more registers than a lane has", [](Program& p) { p.launches[0].waves_per_simd = 4; }, "",
       "registers are alive at once, the budget is 128"},
       {"a wave without a role", [](Program& p) { p.launches[0].threads = 320; }, "", "a wave has no role"},
    {"too many threads", [](Program& p) { p.launches[0].threads = 2048; }, "",
     "2048 threads are no whole number of waves up to 1024"}, // reductions and conversions
    {"a reduction across waves without scratch",
     [](Program& p) {
       const int rows = add(p, registers("rows", DType::f32, rows_of_acc(p), 1));
       put(body_of(p), 11, statement(Reduce{tile::ReduceOp::max, acc, rows, 1, false, -1}));
     },
     ", body/11", "waves divide the axis: it needs LDS scratch"},
    {"scratch of one reduction used by the next without a barrier",
     [](Program& p) {
       const int rows = add(p, registers("rows", DType::f32, rows_of_acc(p), 1));
       const int scratch = add(p, shared_tile("scratch", DType::f32, {2, 128}, 32768));
       p.launches[0].lds_bytes += 1024;
       for (int i = 0; i < 2; ++i) {
         put(body_of(p), 11, statement(Reduce{tile::ReduceOp::max, acc, rows, 1, false, scratch}));
       }
     },
     ", body/12", "overwrites bytes of scratch that another wave may still read at body/11"},
    {"a conversion that moves too little",
     [](Program& p) {
       const int moved = add(p,
           registers("moved", DType::f32,
               *layout::make_layout({128, 128}, {{layout::BitSource::reg, 2, 1}, {layout::BitSource::lane, 5, 1},
                   {layout::BitSource::lane, 1, 0}, {layout::BitSource::wave, 2, 0}}), 1));
       put(body_of(p), 11, statement(Convert{acc, moved, layout::Conversion::lanes, -1}));
     },
     ", body/11", "this conversion needs more than its method moves"},
    // elementwise
    {"a map whose operand lies elsewhere",
     [](Program& p) {
       const int i = 1, j = 2;
       p.launches[0].variables.push_back({"i", DType::index});
       p.launches[0].variables.push_back({"j", DType::index});
       bound::MapItem item;
       item.target = ga;
       item.indices = {variable(i), variable(j)};
       item.value = element(a, {variable(i), variable(j)}, DType::f16);
       put(body_of(p), 11, statement(Map{{i, j}, {128, 64}, storage_of(p, ga).reg_layout, {item}, {}}));
     },
     ", body/11", "a lies otherwise than the map's iteration"},
    {"a map that leaves an LDS buffer",
     [](Program& p) {
       p.launches[0].variables.push_back({"i", DType::index});
       p.launches[0].variables.push_back({"j", DType::index});
       bound::MapItem item;
       item.target = As;
       item.indices = {variable(1), bound::make_binary(Op::add, variable(2), integer(1))};
       item.value = element(ga, {variable(1), variable(2)}, DType::f16);
       put(body_of(p), 11, statement(Map{{1, 2}, {128, 64}, storage_of(p, ga).reg_layout, {item}, {false, false}}));
     },
     ", body/11", "it leaves As along axis 1"},
    // ids
    {"a storage that does not exist", [](Program& p) { node_of<StoreLds>(loop_of(p), l_store_a).regs = 99; },
     ", body/3/for/1", "no such register array"},
     {"an expression without its variable",
         [](Program& p) { node_of<LoadGlobal>(loop_of(p), l_fetch_a).from.start[1] = variable(7); }, ", body/3/for/4",
             "an expression names what does not exist"}, };
INSTANTIATE_TEST_SUITE_P(Verify, BrokenProgram, testing::ValuesIn(broken_programs));

TEST(Verify, AllFindingsAtOnce) {
  auto program = gemm_program();
  drop(loop_of(program), l_barrier_stored);
  drop(body_of(program), clear);
  const auto status = verified(program);
  ASSERT_FALSE(status);
  EXPECT_NE(findings(status).find("acc is read before it is written"), std::string::npos);
  EXPECT_NE(findings(status).find("no barrier between"), std::string::npos);
}

TEST(Verify, TheTargetIsTheProgramsOwn) {
  EXPECT_FALSE(verified(gemm_program(), "gfx90a"));
}

// ---- two stages: a barrier a tile is enough, because the next tile goes to the other stage ----

Program two_stages(bool right) {
  auto program = gemm_program();
  storage_of(program, Bs).offset_bytes = 32768;
  program.launches[0].lds_bytes = 65536;
  for (const int id : {As, Bs}) storage_of(program, id).stages = 2;
  const auto stage = [&](std::int64_t tile) {
    const auto number = bound::make_binary(Op::add, bound::make_binary(Op::floordiv, variable(k), integer(64)),
                                           integer(tile));
    return bound::make_binary(Op::mod, number, integer(2));
  };
  const Stmt multiply = gemm_products(false).back();
  const auto tile = [&](int tensor, int axis, const ExprPtr& column) {
    return GlobalRef{tensor, {block_start(axis, 128), column}, {0, 1}, {false, false}, {}};
  };
  const auto next = bound::make_binary(Op::add, variable(k), integer(64));
  // store tile k+1 to the other stage while the products read tile k; one barrier for both.
  Body inner = {statement(LoadGlobal{ga, tile(A, 1, next), 16, Addressing::buffer, nullptr}),
                statement(LoadGlobal{gb, tile(B, 0, next), 16, Addressing::buffer, nullptr}),
                statement(LoadLds{a, {As, stage(0), {}}, 16}), statement(LoadLds{b, {Bs, stage(0), {}}, 16}), multiply,
                statement(StoreLds{ga, {As, stage(right ? 1 : 0), {}}, 16}),
                    statement(StoreLds{gb, {Bs, stage(1), {}}, 16}), statement(Barrier{})};
  auto& body = body_of(program);
  const Stmt store = body.back();
  body.resize(clear + 1);
  body.push_back(statement(StoreLds{ga, {As, nullptr, {}}, 16}));
  body.push_back(statement(StoreLds{gb, {Bs, nullptr, {}}, 16}));
  body.push_back(statement(Barrier{}));
  body.push_back(statement(For{k, integer(0), integer(448), integer(64), false, std::move(inner)}));
  body.push_back(statement(LoadLds{a, {As, integer(1), {}}, 16}));
  body.push_back(statement(LoadLds{b, {Bs, integer(1), {}}, 16}));
  body.push_back(multiply);
  body.push_back(store);
  return program;
}

TEST(Verify, StagesAreToldApart) {
  const auto right = verified(two_stages(true));
  EXPECT_TRUE(right) << findings(right);
  const auto wrong = verified(two_stages(false));
  ASSERT_FALSE(wrong);
  EXPECT_NE(findings(wrong).find("overwrites bytes of As that another wave may still read"), std::string::npos)
      << findings(wrong);
}

TEST(Verify, TheLastTileOfAnOddNumberIsInTheOtherStage) {
  auto program = two_stages(true);
  // Six tiles in the loop instead of seven: its last store went to stage 0, and nothing orders stage 1's read … which
  // is only the wrong tile, not a hazard; a store to the stage that the loop's last products read is one.
  auto& body = body_of(program);
  std::get<For>(body[6].node).to = integer(384);
  put(body, 7, statement(StoreLds{ga, {As, integer(0), {}}, 16}));
  EXPECT_TRUE(verified(program)) << "ordered by the loop's last barrier";
  // Without that barrier: stage 0 was just written by other waves.
  auto& inner = std::get<For>(body[6].node).body;
  inner.pop_back();
  EXPECT_FALSE(verified(program));
}

// ---- asynchronous copies ----

Program with_async(int pending, bool wait, bool barrier) {
  auto program = gemm_program();
  program.target = "gfx950";
  auto& launch = program.launches[0];
  launch.order.xcds = 1;
  const auto copy = [](int tensor, int axis, int storage, int token) {
    Direct direct;
    direct.global = {tensor, {block_start(axis, 128), integer(0)}, {0, 1}, {false, false}, {}};
    direct.lds = {storage, nullptr, {}};
    direct.shape = {128, 64};
    direct.token = token;
    direct.vector_bytes = 16;
    return statement(direct);
  };
  auto& body = launch.roles[0].body;
  const Stmt store = body.back();
  const Body products = gemm_products(false);
  body = {statement(Fill{acc, integer(0)}), copy(A, 1, As, 0), copy(B, 0, Bs, 1)};
  if (wait) {
    body.push_back(statement(Wait{0, 0}));
    body.push_back(statement(Wait{1, pending}));
  }
  if (barrier) body.push_back(statement(Barrier{}));
  for (std::size_t i = 4; i < products.size(); ++i) body.push_back(products[i]);
  body.push_back(store);
  return program;
}

TEST(Verify, TokensAreWaitedFor) {
  const auto right = verified(with_async(0, true, true), "gfx950");
  EXPECT_TRUE(right) << findings(right);
  const auto never = verified(with_async(0, false, true), "gfx950");
  ASSERT_FALSE(never);
  EXPECT_NE(findings(never).find("token 0 is not waited for"), std::string::npos) << findings(never);
  const auto counted = verified(with_async(1, true, true), "gfx950");
  ASSERT_FALSE(counted);
  EXPECT_NE(findings(counted).find("token 1 is not waited for"), std::string::npos) << findings(counted);
  EXPECT_EQ(findings(counted).find("token 0"), std::string::npos);
  const auto unordered = verified(with_async(0, true, false), "gfx950");
  ASSERT_FALSE(unordered);
  EXPECT_NE(findings(unordered).find("that another wave wrote at body/1, no barrier"), std::string::npos)
      << findings(unordered);
}

TEST(Verify, DirectCopiesAsWideAsTheTargetTakesThem) {
  auto program = with_async(0, true, true);
  program.target = "gfx942";
  const auto status = verified(program, "gfx942");
  ASSERT_FALSE(status);
  EXPECT_NE(findings(status).find("direct copies of 16 bytes a lane; the target has 0"), std::string::npos)
      << findings(status);
}

// ---- roles: one group of waves fills LDS, the other reads it ----

Program two_roles(bool second_barrier) {
  const auto coalesced = *layout::make_layout({64, 64},
      {{layout::BitSource::reg, 3, 1}, {layout::BitSource::lane, 3, 1}, {layout::BitSource::lane, 3, 0},
       {layout::BitSource::wave, 1, 0}});
  Program program;
  program.name = "copy";
  program.target = "gfx942";
  program.tensors = {matrix("X", DType::f16, 512, 64, Access::read), matrix("Y", DType::f16, 512, 64, Access::write)};
  Launch launch;
  launch.symbol = "copy_0";
  launch.grid = {1, 1, 1};
  launch.threads = 256;
  launch.lds_bytes = 8192;
  launch.variables = {{"i", DType::index}, {"j", DType::index}};
  launch.storages = {shared_tile("S", DType::f16, {64, 64}, 0), registers("x", DType::f16, coalesced, 8),
                     registers("y", DType::f16, coalesced, 8)};
  const auto rows = [](int tensor, int i) { return GlobalRef{tensor, {variable(i), integer(0)}, {0, 1}, {false, false},
                                                             {}}; };
  Body produce = {statement(LoadGlobal{1, rows(0, 0), 16, Addressing::global, nullptr}),
                  statement(StoreLds{1, {0, nullptr, {}}, 16}), statement(Barrier{}), statement(Barrier{})};
  Body consume = {statement(Barrier{}), statement(LoadLds{2, {0, nullptr, {}}, 16}), statement(Barrier{}),
                  statement(StoreGlobal{2, rows(1, 1), 16})};
  if (!second_barrier) {
    produce.pop_back();
    drop(consume, 2);
  }
  launch.roles =
      {{"producer", 0, 2, 64, {statement(For{0, integer(0), integer(512), integer(64), false, std::move(produce)})}},
      {"consumer", 2, 2, 64, {statement(For{1, integer(0), integer(512), integer(64), false, std::move(consume)})}}};
  program.launches.push_back(std::move(launch));
  return program;
}

TEST(Verify, RolesMeetAtBarriers) {
  const auto right = verified(two_roles(true));
  EXPECT_TRUE(right) << findings(right);
  const auto racing = verified(two_roles(false));
  ASSERT_FALSE(racing);
  EXPECT_NE(findings(racing).find("that another role uses at producer/0/for/1"), std::string::npos) << findings(racing);
  auto uneven = two_roles(true);
  std::get<For>(uneven.launches[0].roles[1].body[0].node).to = integer(448);
  EXPECT_NE(findings(verified(uneven)).find("different numbers of barriers"), std::string::npos);
}

TEST(Verify, ARolesBudget) {
  auto program = two_roles(true);
  program.launches[0].roles[0].register_budget = 15;
  EXPECT_NE(findings(verified(program)).find("16 registers are alive at once, the budget is 15"), std::string::npos)
      << findings(verified(program));
}

}  // namespace
}  // namespace kiln::kernel
