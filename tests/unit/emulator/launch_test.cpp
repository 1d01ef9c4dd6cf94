// The machine below HIP: memory, arguments, first registers, work groups, reports, counters.
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "engine/emulator/machine/initial_state.hpp"
#include "tests/unit/emulator/launching.hpp"

namespace kiln::emulator {
namespace {

class Launching : public LaunchingObject {
  std::string stem() const override { return "launch"; }
};
INSTANTIATE_TEST_SUITE_P(Cards, Launching,
                         testing::Values("gfx90a", "gfx942", "gfx950", "gfx942_preload", "gfx90a_v4"));

TEST_P(Launching, RunsOnEveryThreadOfTheGrid) {
  const auto result = every_thread_of_the_grid();
  EXPECT_EQ(result.waves, 16u);
  EXPECT_GT(result.instructions, 16u * 5);
}

TEST_P(Launching, AnIncompleteLastWave) {
  an_incomplete_last_wave();
}

TEST_P(Launching, TellsThreadsWhereTheyAre) {
  const auto* rows = threads_know_where_they_are();
  for (std::uint32_t i = 0; i < 5 * 4 * 7 * 3 * 2 * 4; ++i) {
    ASSERT_EQ(rows[i * 8 + 4], 8u) << i;
    ASSERT_EQ(rows[i * 8 + 5], 28u) << i;
  }
}

TEST_P(Launching, WavesMeetAtBarriers) {
  waves_meet_at_barriers();
}

TEST_P(Launching, BringsLds) {
  auto* data = allocate(256);
  for (std::uint32_t i = 0; i < 256; ++i) data[i] = i;
  run("reverse_dynamic", {{1, 1, 1}, {256, 1, 1}, 1024}, data, 0u);
  for (std::uint32_t i = 0; i < 256; ++i) ASSERT_EQ(data[i], 255 - i);
}

TEST_P(Launching, SumsOfFloatsAreTheSameEveryTime) {
  EXPECT_TRUE(program_->code().order_matters);
  auto* values = reinterpret_cast<float*>(allocate(64 * 200));
  for (int i = 0; i < 64 * 200; ++i) values[i] = 1.0f / static_cast<float>(i + 1);
  auto* sum = reinterpret_cast<float*>(allocate(1));
  run("sums", {{200, 1, 1}, {64, 1, 1}}, sum, values);
  const float first = *sum;
  EXPECT_NEAR(first, 10.04f, 0.01f);
  for (int round = 0; round < 5; ++round) {
    *sum = 0;
    run("sums", {{200, 1, 1}, {64, 1, 1}}, sum, values);
    ASSERT_EQ(*sum, first);
  }
}

TEST_P(Launching, ReportsARaceWhereTheBarrierIsMissing) {
  options_.check_races = true;
  auto* data = allocate(256);
  const auto clean = run("reverse", {{1, 1, 1}, {256, 1, 1}}, data);
  const auto racing = launch("reverse_racing", {{1, 1, 1}, {256, 1, 1}}, data);
  ASSERT_TRUE(racing);
  ASSERT_TRUE(racing->fault);
  EXPECT_EQ(racing->fault->fault.kind, FaultKind::lds_race);
  EXPECT_NE(racing->fault->text.find("the other access: wave"), std::string::npos) << racing->fault->text;
}

TEST_P(Launching, AShuffledScheduleShowsTheMissingBarrierToo) {
  bool wrong = false;
  for (std::uint64_t seed = 0; seed < 8 && !wrong; ++seed) {
    options_.seed = seed;
    auto* data = allocate(256);
    for (std::uint32_t i = 0; i < 256; ++i) data[i] = i;
    run("reverse_racing", {{1, 1, 1}, {256, 1, 1}}, data);
    for (std::uint32_t i = 0; i < 256; ++i) wrong = wrong || data[i] != 255 - i;
  }
  EXPECT_TRUE(wrong);
}

TEST_P(Launching, ReportsReadsOfUnwrittenLds) {
  auto* out = allocate(64);
  run("unwritten", {{1, 1, 1}, {64, 1, 1}}, out);
  EXPECT_EQ(out[31], 31u);
  EXPECT_EQ(out[32], 0xffffffffu);  // what LDS holds at first is no number
  options_.check_uninitialised_lds = true;
  const auto result = launch("unwritten", {{1, 1, 1}, {64, 1, 1}}, out);
  ASSERT_TRUE(result);
  ASSERT_TRUE(result->fault);
  EXPECT_EQ(result->fault->fault.kind, FaultKind::uninitialised_lds);
  EXPECT_EQ(result->fault->thread[0], 32u);
}

TEST_P(Launching, ThreadsHavePrivateMemory) {
  auto* out = allocate(64 * 30);
  run("private_memory", {{30, 1, 1}, {64, 1, 1}}, out, 3u);
  for (std::uint32_t i = 0; i < 64 * 30; ++i) ASSERT_EQ(out[i], i * 100 + (i + 3) % 40) << i;
}

TEST_P(Launching, FindsTheVariablesOfTheObject) {
  auto* out = allocate(1);
  run("globals", {{1, 1, 1}, {64, 1, 1}}, out);
  run("globals", {{1, 1, 1}, {64, 1, 1}}, out);
  EXPECT_EQ(out[0], 10u);
  const auto* counter = program_->variable("counter");
  ASSERT_NE(counter, nullptr);
  EXPECT_EQ(counter->bytes, 4u);
  EXPECT_EQ(*reinterpret_cast<const std::uint32_t*>(counter->address), 7u);
}

TEST_P(Launching, AnAccessOutsideIsLocated) {
  auto *in = allocate(1024), *out = allocate(1000);
  const auto result = launch("scale_add", {{4, 1, 1}, {256, 1, 1}}, out, in, 1u, 1024u);
  ASSERT_TRUE(result);
  ASSERT_TRUE(result->fault);
  const auto& report = *result->fault;
  EXPECT_EQ(report.fault.kind, FaultKind::out_of_range);
  EXPECT_TRUE(report.fault.store);
  EXPECT_EQ(report.kernel, "scale_add");
  EXPECT_EQ(report.block[0], 3u);
  EXPECT_EQ(report.wave, 3u);
  EXPECT_EQ(report.fault.lane, 1000 - 3 * 256 - 3 * 64);
  EXPECT_EQ(report.thread[0], 1000u - 3 * 256);
  EXPECT_NE(report.text.find("at the end of a 4000-byte allocation"), std::string::npos) << report.text;
  EXPECT_NE(report.text.find("global_store_dword"), std::string::npos) << report.text;
  EXPECT_NE(report.text.find("scale_add+0x"), std::string::npos) << report.text;
}

TEST_P(Launching, AnEndlessLoopUsesItsBudgetUp) {
  options_.budget = 100000;
  auto* flag = allocate(1);
  const auto result = launch("endless", {{1, 1, 1}, {64, 1, 1}}, flag);
  ASSERT_TRUE(result);
  ASSERT_TRUE(result->fault);
  EXPECT_EQ(result->fault->fault.kind, FaultKind::budget);
  EXPECT_GE(result->instructions, 100000u);
  EXPECT_LT(result->instructions, 200000u);
}

TEST_P(Launching, CanBeCancelled) {
  auto* flag = allocate(1);
  cancelled_ = true;
  const auto result = launch("endless", {{8, 1, 1}, {64, 1, 1}}, flag);
  ASSERT_TRUE(result);
  EXPECT_FALSE(result->fault);
  EXPECT_TRUE(result->cancelled);
}

TEST_P(Launching, ABlockMayWaitForALaterOne) {
  options_.order = Options::Order::serial;
  auto* words = allocate(2);
  run("waits_for_the_last", {{100, 1, 1}, {64, 1, 1}}, words, 100u);
  EXPECT_EQ(words[1], 8u);
}

TEST_P(Launching, ATrapStopsTheKernel) {
  auto* out = allocate(64);
  const auto result = launch("gives_up", {{1, 1, 1}, {64, 1, 1}}, out);
  ASSERT_TRUE(result);
  ASSERT_TRUE(result->fault);
  EXPECT_EQ(result->fault->fault.kind, FaultKind::trap);
}

TEST_P(Launching, CountsAsRocprofDoes) {
  options_.profile = true;
  auto* data = allocate(512);
  const auto result = run("reverse", {{2, 1, 1}, {256, 1, 1}}, data);
  ASSERT_NE(result.profile, nullptr);
  std::map<std::string, std::uint64_t> counters;
  for (const auto& counter : result.profile->counters) counters[counter.name] = counter.value;
  EXPECT_EQ(counters["SQ_WAVES"], 8u);
  EXPECT_EQ(counters["SQ_INSTS"], result.instructions);
  EXPECT_EQ(counters["SQ_INSTS_LDS"], 16u);                // a write and a read a wave
  EXPECT_EQ(counters["SQ_INSTS_VMEM_RD"], 8u);
  EXPECT_EQ(counters["SQ_INSTS_VMEM_WR"], 8u);
  EXPECT_EQ(counters["KILN_BARRIERS"], 8u);
  EXPECT_EQ(counters["SQ_INSTS_MFMA"], 0u);
  EXPECT_EQ(counters["SQ_LDS_BANK_CONFLICT"], 0u);
  EXPECT_EQ(counters["SQ_LDS_IDX_ACTIVE"], 32u);           // two phases of 32 lanes each
  EXPECT_EQ(counters["KILN_GLOBAL_READ_BYTES"], 2048u);
  EXPECT_EQ(counters["KILN_GLOBAL_WRITE_BYTES"], 2048u);
  EXPECT_EQ(counters["KILN_GLOBAL_SEGMENTS"], 64u);
  std::uint64_t sum = 0;
  for (const auto& row : result.profile->rows) sum += row.executed;
  EXPECT_EQ(sum, result.instructions);
  EXPECT_NE(to_json(*result.profile).find("\"SQ_WAVES\":8"), std::string::npos);
}

TEST_P(Launching, RefusesWhatTheCardCannotTake) {
  auto* data = allocate(256);
  EXPECT_EQ(launch("reverse", {{0, 1, 1}, {256, 1, 1}}, data).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(launch("reverse", {{1, 1, 1}, {1024, 2, 1}}, data).error().code, ErrorCode::resource_limit);
  EXPECT_EQ(launch("reverse", {{1, 1, 1}, {512, 1, 1}}, data).error().code, ErrorCode::resource_limit);
  EXPECT_EQ(launch("reverse", {{1, 1, 1}, {256, 1, 1}, 1u << 20}, data).error().code, ErrorCode::resource_limit);
}

TEST(Program, RefusesOtherCardsAndDamage) {
  const auto core = load_core("", "");
  ASSERT_TRUE(core);
  const auto bytes = read_file(corpus("launch_gfx942.co"));
  ASSERT_TRUE(bytes);
  EXPECT_EQ(Program::load(*bytes, *parse_card("gfx90a"), **core).error().code, ErrorCode::unsupported);
  const auto card = parse_card("gfx942");
  for (std::size_t size : {0u, 16u, 64u, 1000u, 10000u})
    EXPECT_FALSE(Program::load(ByteView(*bytes).first(size), *card, **core)) << size;
}

// ---- memory --------------------------------------------------------------------------------------------------------
TEST(Memory, KnowsItsAllocations) {
  Memory memory(1 << 20);
  EXPECT_EQ(memory.allocate(0, 0).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(memory.allocate(2 << 20, 0).error().code, ErrorCode::out_of_memory);
  const auto pointer = memory.allocate(1000, 0);
  ASSERT_TRUE(pointer);
  const auto address = reinterpret_cast<std::uint64_t>(*pointer);
  EXPECT_EQ(memory.find(address + 999)->begin, address);
  EXPECT_FALSE(memory.find(address + 1000));
  EXPECT_FALSE(memory.release(static_cast<char*>(*pointer) + 1));
  EXPECT_TRUE(memory.release(*pointer));
  EXPECT_FALSE(memory.release(*pointer));
  EXPECT_EQ(memory.used_bytes(), 0u);
}

TEST(Memory, RegistersWhatIsMapped) {
  Memory memory(1 << 20);
  std::vector<char> bytes(1000);
  EXPECT_TRUE(memory.register_host(bytes.data(), bytes.size(), false));
  EXPECT_EQ(memory.register_host(bytes.data() + 10, 10, false).error().code, ErrorCode::busy);
  EXPECT_TRUE(memory.find(reinterpret_cast<std::uint64_t>(bytes.data()))->writable);
  EXPECT_TRUE(memory.unregister_host(bytes.data()));
  EXPECT_FALSE(memory.register_host(reinterpret_cast<void*>(0x1000), 4096, false));
  EXPECT_FALSE(memory.register_host(reinterpret_cast<void*>(~std::uint64_t(0) - 10), 4096, false));
  void* constant = ::mmap(nullptr, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_TRUE(memory.register_host(constant, 8192, false));
  EXPECT_FALSE(memory.find(reinterpret_cast<std::uint64_t>(constant))->writable);
  ::munmap(constant, 8192);
}

TEST(Memory, DoesNotTrustHandles) {
  Memory memory(1 << 20);
  const auto pointer = memory.allocate(1000, 0);
  ASSERT_TRUE(pointer);
  auto handle = memory.export_handle(static_cast<char*>(*pointer) + 8);
  ASSERT_TRUE(handle);
  EXPECT_EQ(handle->offset, 8u);
  const auto own = memory.open_handle(*handle);
  ASSERT_FALSE(own);
  EXPECT_NE(own.error().message.find("this very process"), std::string::npos);
  IpcHandle other = *handle;
  other.pid = ::getppid();
  EXPECT_EQ(memory.open_handle(other).error().code, ErrorCode::not_found);   // another start time
  other.start_time = process_start_time(other.pid);
  EXPECT_FALSE(memory.open_handle(other));
  other = *handle;
  other.magic ^= 1;
  EXPECT_EQ(memory.open_handle(other).error().code, ErrorCode::invalid_argument);
  other = *handle;
  other.offset = other.bytes;
  EXPECT_EQ(memory.open_handle(other).error().code, ErrorCode::invalid_argument);
}

TEST(Memory, ExportsItselfAsADescriptor) {
  Memory memory(1 << 20);
  const auto pointer = memory.allocate(5000, 0);
  ASSERT_TRUE(pointer);
  static_cast<char*>(*pointer)[4999] = 'k';
  std::uint64_t offset = 1;
  const auto fd = memory.export_descriptor(static_cast<char*>(*pointer) + 100, &offset);
  ASSERT_TRUE(fd);
  EXPECT_EQ(offset, 100u);
  const auto again = memory.import_descriptor(fd->get(), 4000, 1000);
  ASSERT_TRUE(again) << to_text(again.error());
  EXPECT_EQ(static_cast<char*>(*again)[999], 'k');
  EXPECT_TRUE(memory.close_handle(*again));
  EXPECT_FALSE(memory.close_handle(*again));
  EXPECT_FALSE(memory.import_descriptor(fd->get(), 0, 1 << 20));
}

// ---- arguments and first registers ---------------------------------------------------------------------------------
Kernel small_kernel() {
  Kernel kernel;
  kernel.name = "k";
  kernel.kernarg_bytes = 280;
  kernel.arguments = {{"global_buffer", 0, 8},          {"by_value", 8, 4},
                      {"hidden_block_count_x", 16, 4},  {"hidden_block_count_y", 20, 4},
                      {"hidden_block_count_z", 24, 4},  {"hidden_group_size_x", 28, 2},
                      {"hidden_group_size_y", 30, 2},   {"hidden_group_size_z", 32, 2},
                      {"hidden_remainder_x", 34, 2},    {"hidden_global_offset_x", 56, 8},
                      {"hidden_grid_dims", 80, 2},      {"hidden_dynamic_lds_size", 136, 4},
                      {"hidden_private_base", 208, 4},  {"hidden_shared_base", 212, 4},
                      {"hidden_queue_ptr", 216, 8}};
  return kernel;
}

template <class T> T at(std::uint64_t address, std::uint64_t offset) {
  T value;
  std::memcpy(&value, reinterpret_cast<const void*>(address + offset), sizeof value);
  return value;
}

TEST(Arguments, HiddenOnesSayTheLaunchsShape) {
  const Kernel kernel = small_kernel();
  std::uint64_t pointer = 0x123456789a;
  std::uint32_t value = 77;
  void* pointers[] = {&pointer, &value};
  auto bytes = gather_arguments(kernel, pointers);
  ASSERT_TRUE(bytes);
  EXPECT_EQ(bytes->size(), 280u);
  const auto memory = LaunchMemory::make(kernel, {{5, 6, 7}, {64, 2, 1}, 512}, *bytes);
  ASSERT_TRUE(memory);
  const std::uint64_t a = (*memory)->arguments();
  EXPECT_EQ(at<std::uint64_t>(a, 0), pointer);
  EXPECT_EQ(at<std::uint32_t>(a, 8), 77u);
  EXPECT_EQ(at<std::uint32_t>(a, 16), 5u);
  EXPECT_EQ(at<std::uint32_t>(a, 20), 6u);
  EXPECT_EQ(at<std::uint32_t>(a, 24), 7u);
  EXPECT_EQ(at<std::uint16_t>(a, 28), 64u);
  EXPECT_EQ(at<std::uint16_t>(a, 30), 2u);
  EXPECT_EQ(at<std::uint16_t>(a, 34), 0u);
  EXPECT_EQ(at<std::uint16_t>(a, 80), 3u);
  EXPECT_EQ(at<std::uint32_t>(a, 136), 512u);
  EXPECT_EQ(at<std::uint32_t>(a, 208), private_aperture >> 32);
  EXPECT_EQ(at<std::uint32_t>(a, 212), shared_aperture >> 32);
  EXPECT_EQ(at<std::uint64_t>(a, 216), (*memory)->queue());
  const std::uint64_t p = (*memory)->packet();
  EXPECT_EQ(at<std::uint16_t>(p, 4), 64u);
  EXPECT_EQ(at<std::uint32_t>(p, 12), 320u);
  EXPECT_EQ(at<std::uint32_t>(p, 16), 12u);
  EXPECT_EQ(at<std::uint32_t>(p, 28), 512u);
  EXPECT_EQ(at<std::uint64_t>(p, 40), a);
}

TEST(Arguments, HostileMetadataIsRefused) {
  Kernel kernel = small_kernel();
  Bytes buffer(8);
  EXPECT_EQ(gather_arguments(kernel, buffer).error().code, ErrorCode::invalid_argument);
  buffer.resize(12);
  EXPECT_TRUE(gather_arguments(kernel, buffer));
  kernel.arguments.push_back({"by_value", -8, 16});
  EXPECT_EQ(gather_arguments(kernel, buffer).error().code, ErrorCode::corrupt);
  kernel.arguments.back() = {"by_value", std::int64_t(1) << 40, 16};
  EXPECT_EQ(gather_arguments(kernel, buffer).error().code, ErrorCode::corrupt);
  kernel.arguments.pop_back();
  kernel.kernarg_bytes = 0xffffffff;
  EXPECT_EQ(gather_arguments(kernel, buffer).error().code, ErrorCode::corrupt);
}

// Expected places: LLVM's AMDGPUUsage, the order of the table "SGPR Register Set Up Order".
TEST(FirstRegisters, FollowTheDescriptor) {
  Kernel kernel = small_kernel();
  kernel.entry = 0x10000;
  kernel.properties = 1 | 2 | 4 | 8 | 16 | 32 | 64;
  kernel.preload_dwords = 2, kernel.preload_offset = 2;   // dwords 2 and 3 of the arguments
  kernel.rsrc1 = 3 | 0xc0 << 12 | 1 << 23 | 1 << 21;
  kernel.rsrc2 = 1 | 17 << 1 | 1 << 7 | 1 << 9 | 2 << 11;  // private segment, 17 user registers, block ids x and z
  kernel.rsrc3 = 3;
  kernel.private_bytes = 24;
  Bytes arguments(280);
  arguments[8] = 0x11, arguments[12] = 0x22;
  const auto memory = LaunchMemory::make(kernel, {}, arguments);
  ASSERT_TRUE(memory);
  const std::uint64_t scratch = 0x7000000000;
  const auto state = initial_state(kernel, Family::gfx90a, **memory, scratch, 6144);
  ASSERT_TRUE(state) << to_text(state.error());
  EXPECT_EQ(state->entry, 0x10100u);                // past the prologue
  EXPECT_EQ(state->mode, 0xc0u | 0x300);
  EXPECT_EQ(state->vector_rows, 16u);
  EXPECT_EQ(state->accumulation_rows, 16u);
  std::vector<std::uint32_t> file(512 * 64);
  Wave wave;
  wave.vector = reinterpret_cast<std::uint32_t(*)[64]>(file.data());
  const Geometry geometry{{9, 9, 9}, {50, 3, 1}};
  const std::uint32_t id[3] = {4, 5, 6};
  set_registers(wave, *state, geometry, id, 1, scratch, 4096);
  EXPECT_EQ(wave.scalar64(0) & 0xffffffffffff, scratch);
  EXPECT_EQ(wave.scalar64(4), (*memory)->packet());
  EXPECT_EQ(wave.scalar64(6), (*memory)->queue());
  EXPECT_EQ(wave.scalar64(8), (*memory)->arguments());
  EXPECT_EQ(wave.scalar64(10), 0u);
  EXPECT_EQ(wave.scalar64(12), scratch);
  EXPECT_EQ(wave.scalar[14], 24u);
  EXPECT_EQ(wave.scalar[15], 0x11u);
  EXPECT_EQ(wave.scalar[16], 0x22u);
  EXPECT_EQ(wave.scalar[17], 4u);
  EXPECT_EQ(wave.scalar[18], 6u);
  EXPECT_EQ(wave.scalar[19], 4096u);                // offset of the wave's private memory
  EXPECT_EQ(wave.vector[0][0], 14u | 1u << 10);     // thread 64 of 50 x 3
  EXPECT_EQ(wave.vector[0][36], 0u | 2u << 10);
  EXPECT_EQ(wave.exec(), ~std::uint64_t(0));
  set_registers(wave, *state, geometry, id, 2, scratch, 0);
  EXPECT_EQ(wave.exec(), (std::uint64_t(1) << 22) - 1);
  const auto newer = initial_state(kernel, Family::gfx942, **memory, scratch, 6144);
  ASSERT_TRUE(newer);
  set_registers(wave, *newer, geometry, id, 1, scratch, 4096);
  EXPECT_EQ(wave.scalar64(code::flat_scratch), scratch + 4096);   // set by the card itself
  EXPECT_EQ(wave.scalar[19], 0xffffffffu);
  kernel.rsrc2 = 3 << 1;
  EXPECT_EQ(initial_state(kernel, Family::gfx942, **memory, scratch, 0).error().code, ErrorCode::corrupt);
}

// ---- reports, counters, options ------------------------------------------------------------------------------------
TEST(Report, NamesTheNearestAllocation) {
  const std::vector<NamedRange> ranges = {{0x1000, 0x1040, "A"}, {0x1040, 0x1080, "B"}, {0x9000, 0x9010, "C"}};
  EXPECT_EQ(describe_address(ranges, 0x1040, 4), "byte 0 of B at 0x1040");
  EXPECT_EQ(describe_address(ranges, 0x107e, 4), "its last 2 bytes are past the end of B at 0x1040");
  EXPECT_EQ(describe_address(ranges, 0x1080, 4), "at the end of B at 0x1040");
  EXPECT_EQ(describe_address(ranges, 0x108c, 4), "12 bytes past the end of B at 0x1040");
  EXPECT_EQ(describe_address(ranges, 0x8ff0, 4), "16 bytes before C at 0x9000");
  EXPECT_EQ(describe_address({}, 0x8ff0, 4), "nothing is allocated");
}

TEST(Counters, KnowMatrixOperations) {
  const auto operations = [](const char* name) {
    Instruction instruction;
    instruction.format = Format::mai;
    instruction.name = name;
    const auto c = classify(instruction);
    EXPECT_TRUE(c.mfma && c.valu) << name;
    return std::pair<std::string, std::uint64_t>(c.mfma_type, c.mfma_operations);
  };
  using P = std::pair<std::string, std::uint64_t>;
  EXPECT_EQ(operations("v_mfma_f32_32x32x8_f16"), P("F16", 2 * 32 * 32 * 8));
  EXPECT_EQ(operations("v_mfma_f32_32x32x8f16"), P("F16", 2 * 32 * 32 * 8));
  EXPECT_EQ(operations("v_mfma_f32_32x32x4f16"), P("F16", 2 * 32 * 32 * 4 * 2));
  EXPECT_EQ(operations("v_mfma_f32_32x32x4_2b_f16"), P("F16", 2 * 32 * 32 * 4 * 2));
  EXPECT_EQ(operations("v_mfma_f32_16x16x16bf16_1k"), P("BF16", 2 * 16 * 16 * 16));
  EXPECT_EQ(operations("v_mfma_f32_4x4x1f32"), P("F32", 2 * 4 * 4 * 16));
  EXPECT_EQ(operations("v_mfma_f64_16x16x4f64"), P("F64", 2 * 16 * 16 * 4));
  EXPECT_EQ(operations("v_mfma_i32_32x32x16_i8"), P("I8", 2 * 32 * 32 * 16));
  EXPECT_EQ(operations("v_mfma_f32_16x16x32_fp8_bf8"), P("F8", 2 * 16 * 16 * 32));
}

TEST(Options, AreReadFromTheEnvironment) {
  const auto read = [](std::map<std::string, std::string> environment) {
    return read_options([environment](const char* name) {
      const auto found = environment.find(name);
      return found == environment.end() ? nullptr : found->second.c_str();
    });
  };
  const auto options = read({{"KILN_EMULATOR_THREADS", "3"}, {"KILN_EMULATOR_CHECK", "races,registers"},
                             {"KILN_EMULATOR_BUDGET", "1000"}, {"KILN_EMULATOR_ORDER", "serial"},
                             {"KILN_EMULATOR_SEED", "9"}, {"KILN_EMULATOR_PROFILE", "1"}});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->threads, 3);
  EXPECT_TRUE(options->check_races && options->check_uninitialised_registers && options->profile);
  EXPECT_FALSE(options->check_uninitialised_lds || options->check_barriers);
  EXPECT_EQ(options->budget, 1000u);
  EXPECT_EQ(options->seed, 9u);
  EXPECT_EQ(options->order, Options::Order::serial);
  for (const char* wrong : {"x", "-1", "1x", "99999999999999999999", ""}) {
    const auto result = read({{"KILN_EMULATOR_THREADS", wrong}});
    ASSERT_FALSE(result) << wrong;
    EXPECT_EQ(result.error().code, ErrorCode::invalid_argument);
  }
  EXPECT_FALSE(read({{"KILN_EMULATOR_CHECK", "nothing"}}));
}

TEST(Cards, AreListed) {
  const auto cards = parse_cards("gfx942:sramecc+:xnack-,gfx90a");
  ASSERT_TRUE(cards);
  ASSERT_EQ(cards->size(), 2u);
  EXPECT_EQ((*cards)[0].target.full, "gfx942:sramecc+:xnack-");
  EXPECT_EQ((*cards)[1].target.full, "gfx90a:sramecc+:xnack-");
  EXPECT_EQ((*cards)[0].compute_units, 304);
  EXPECT_FALSE(parse_cards(""));
  EXPECT_FALSE(parse_cards("gfx942,,gfx90a"));
  EXPECT_FALSE(parse_cards("host"));
}

TEST(Workers, RunSharesSideBySide) {
  Workers workers(4);
  std::vector<std::thread> callers;
  std::atomic<int> total{0};
  for (int c = 0; c < 3; ++c) {
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        std::atomic<int> next{0}, done{0};
        workers.run(4, [&](int) {
          while (next.fetch_add(1) < 50) done.fetch_add(1);
        });
        EXPECT_EQ(done.load(), 50);
        total.fetch_add(done.load());
      }
    });
  }
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(total.load(), 3 * 200 * 50);
}

}  // namespace
}  // namespace kiln::emulator
