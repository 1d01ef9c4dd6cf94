// Faults in words: what a report says of code and registers.
#include "engine/emulator/machine/report.hpp"

#include <gtest/gtest.h>

namespace kiln::emulator {
namespace {

class FaultText : public testing::Test {
 protected:
  FaultText() {
    kernel_.name = "kernel";
    kernel_.entry = 0x1100;
  }
  // Of a wave that has stopped with `fault` at `address`.
  FaultReport report(Fault fault, std::uint64_t address = 0x1100) {
    Instruction instruction;
    instruction.address = address;
    const std::vector<std::string> assembly{"s_trap 2"};
    FaultPlace place;
    place.kernel = &kernel_;
    place.geometry = &geometry_;
    place.assembly = &assembly;
    place.code = &instruction;
    place.instructions = 1;
    place.functions = &functions_;
    place.printed = printed_;
    WorkGroup group;
    Wave wave;
    wave.group = &group;
    wave.fault = fault;
    return report_fault(place, wave);
  }
  static Fault trap() {
    Fault fault;
    fault.kind = FaultKind::trap;
    return fault;
  }

  Kernel kernel_;
  Geometry geometry_;
  std::vector<ObjectFunction> functions_;
  PrintedError printed_;
};

TEST_F(FaultText, TellsAStackThatIsTooSmall) {
  Fault fault;
  fault.kind = FaultKind::out_of_range;
  fault.store = true;
  fault.bytes = 4;
  fault.address = private_aperture + 0x4130;
  kernel_.private_bytes = 16384;
  EXPECT_EQ(report(fault).text.substr(0, 80).find("store of 4 bytes at byte 0x4130 of the lane's stack, which has 16384 bytes"), 0u)
      << report(fault).text;
}

TEST_F(FaultText, NamesTheFunction) {
  functions_ = {{0x1000, 0x20, "_Z6helperi"}, {0x1100, 0x40, "kernel"}, {0x1200, 0, "unsized"}, {0x1400, 8, "last"}};
  const std::pair<std::uint64_t, const char*> cases[] = {
      {0xf00, "kernel-0x200"}, {0x1014, "_Z6helperi+0x14"}, {0x1020, "kernel-0xe0"}, {0x1100, "kernel+0x0"},
      {0x113c, "kernel+0x3c"}, {0x1140, "kernel+0x40"},     {0x1300, "unsized+0x100"}, {0x1404, "last+0x4"},
      {0x1408, "kernel+0x308"},
  };
  for (const auto& [address, where] : cases) {
    const auto found = report(trap(), address);
    EXPECT_EQ(found.instruction, std::string("s_trap 2, at ") + where);
    EXPECT_EQ(found.instruction_offset, address - 0x1100);   // source lines are found by it
  }
  functions_.clear();
  EXPECT_EQ(report(trap(), 0x1014).instruction, "s_trap 2, at kernel-0xec");
}

TEST_F(FaultText, NamesTheRegisterOfAnIndex) {
  Fault fault;
  fault.kind = FaultKind::register_index;
  fault.address = 300;
  fault.registers = 256;
  EXPECT_EQ(report(fault).text.find(
                "read of a vector register by an index: number 300, and the kernel's are 0 to 255\n  kernel kernel, "),
            0u) << report(fault).text;
  kernel_.arguments.push_back({"hidden_heap_v1", 0, 8});   // no pointer has to do with it
  fault.address = 105;
  fault.bytes = 8;
  fault.store = fault.scalar = true;
  fault.registers = 106;
  EXPECT_EQ(report(fault).text.find(
                "write of 2 scalar registers by an index: numbers from 105, and the kernel's are 0 to 105\n  kernel"),
            0u) << report(fault).text;
  EXPECT_EQ(std::string(fault_name(fault.kind)), "register_index");
}

TEST_F(FaultText, SaysWhoHasPrinted) {
  printed_ = {"a first line\nand another", true};
  EXPECT_EQ(report(trap()).text.find("trap 0 (the kernel stopped itself), after it printed: a first line\n  kernel "),
            0u) << report(trap()).text;
  printed_.own = false;
  EXPECT_NE(report(trap()).text.find(", after it or a wave beside it printed: a first line\n"), std::string::npos)
      << report(trap()).text;
  printed_ = {};
  EXPECT_EQ(report(trap()).text.find("trap 0 (the kernel stopped itself)\n"), 0u) << report(trap()).text;
}

}  // namespace
}  // namespace kiln::emulator
