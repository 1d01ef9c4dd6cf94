#include "engine/emulator/machine/report.hpp"

#include <algorithm>
#include <bit>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>

#include "engine/emulator/machine/hostcall.hpp"

namespace kiln::emulator {
namespace {

[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...) {
  char text[512];
  std::va_list list;
  va_start(list, pattern);
  std::vsnprintf(text, sizeof text, pattern, list);
  va_end(list);
  return text;
}

std::string triple(const std::uint32_t value[3]) { return format("(%u, %u, %u)", value[0], value[1], value[2]); }

std::string plural(std::uint64_t n, const char* what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

// The function, no kernel under way, that an address lies in; null: none is known.
const ObjectFunction* function_at(const FaultPlace& place, std::uint64_t address) {
  if (place.functions == nullptr) return nullptr;
  const auto after = std::upper_bound(place.functions->begin(), place.functions->end(), address,
                                      [](std::uint64_t value, const auto& one) { return value < one.address; });
  if (after == place.functions->begin()) return nullptr;
  const ObjectFunction& function = *(after - 1);
  const bool inside = function.bytes == 0 || address - function.address < function.bytes;
  return inside && function.address != place.kernel->entry ? &function : nullptr;
}

std::string instruction_text(const FaultPlace& place, std::uint32_t index) {
  if (index >= place.instructions) return "(past the end of the code)";
  const auto address = place.code[index].address;
  const auto* const function = function_at(place, address);
  const auto offset = address - (function == nullptr ? place.kernel->entry : function->address);
  const auto& name = function == nullptr ? place.kernel->name : function->name;
  return (index < place.assembly->size() ? (*place.assembly)[index] : std::string(place.code[index].name)) +
         format(", at %s%s0x%" PRIx64, name.substr(0, 200).c_str(),
                static_cast<std::int64_t>(offset) < 0 ? "-" : "+",
                static_cast<std::int64_t>(offset) < 0 ? ~offset + 1 : offset);
}

std::string encoding(const Instruction& instruction) {
  std::string words;
  for (int i = 0; i < instruction.bytes / 4 && i < 5; ++i)
    words += format("%s%08x", i ? " " : "", instruction.words[i]);
  return words;
}

// Nothing is ever mapped below: what is accessed there was reached from a null pointer.
constexpr std::uint64_t near_null = 1 << 20;

// A null pointer may be one that the card should have given.
std::string missing_service(const FaultPlace& place, const Fault& fault) {
  if (fault.address >= near_null) return {};
  const auto absent = absent_services(*place.kernel);
  if (absent.empty()) return {};
  return "\n  the emulated card does not provide what this kernel may use: " + absent + "; its pointer is null";
}

// The lines of a report have a meaning: of what the kernel has printed it takes the first.
std::string stop_text(const FaultPlace& place, const Fault& fault) {
  const auto printed = place.printed.text.substr(0, place.printed.text.find_first_of("\r\n"));
  const auto* const who = place.printed.own ? ", after it printed: " : ", after it or a wave beside it printed: ";
  return format("trap %" PRIu64 " (the kernel stopped itself)", fault.address) +
         (printed.empty() ? "" : who + printed);
}

const char* access(const Fault& fault) { return fault.store ? "store" : "load"; }

// Scalar registers are numbered from 1000 (core/register_checks.hpp).
std::string register_name(std::uint64_t number) {
  if (number >= 1000 + code::vcc && number <= 1001 + code::vcc) return "vcc";
  if (number == 1000 + code::m0) return "m0";
  if (number >= 1000) return format("s%" PRIu64, number - 1000);
  return number >= 256 ? format("a%" PRIu64, number - 256) : format("v%" PRIu64, number);
}

std::string register_index_text(const Fault& fault) {
  const std::uint32_t count = std::max(1u, fault.bytes / 4);
  const auto* const kind = fault.scalar ? "scalar" : "vector";
  return format("%s of %s%s register%s by an index: %s%" PRIu64 ", and the kernel's are 0 to %u",
                fault.store ? "write" : "read", count == 1 ? "a " : (std::to_string(count) + " ").c_str(), kind,
                count == 1 ? "" : "s", count == 1 ? "number " : "numbers from ", fault.address, fault.registers - 1);
}

// What went wrong, one line without its place.
std::string cause(const FaultPlace& place, const Fault& fault) {
  const auto lds = format("%s of %s at LDS byte 0x%" PRIx64, access(fault), plural(fault.bytes, "byte").c_str(),
                          fault.address);
  switch (fault.kind) {
    case FaultKind::none: return "no fault";
    case FaultKind::out_of_range:
      if (fault.address >> 32 == private_aperture >> 32)
        return format("%s of %s at byte 0x%" PRIx64 " of the lane's stack, which has %s", access(fault),
                      plural(fault.bytes, "byte").c_str(), fault.address - private_aperture,
                      plural(private_bytes_of(*place.kernel), "byte").c_str());
      return format("out-of-range %s of %s at 0x%" PRIx64 ": ", access(fault), plural(fault.bytes, "byte").c_str(),
                    fault.address) +
             (fault.address < near_null ? "beside a null pointer"
                                        : describe_address(*place.ranges, fault.address, fault.bytes)) +
             missing_service(place, fault);
    case FaultKind::read_only:
      return format("store of %s to read-only memory at 0x%" PRIx64 ": ", plural(fault.bytes, "byte").c_str(),
                    fault.address) +
             describe_address(*place.ranges, fault.address, fault.bytes);
    case FaultKind::lds_out_of_range: return "out-of-range " + lds;
    case FaultKind::register_index: return register_index_text(fault);
    case FaultKind::misaligned:
      return format("misaligned %s of %s at 0x%" PRIx64, access(fault), plural(fault.bytes, "byte").c_str(),
                    fault.address);
    case FaultKind::not_covered:
      return "an instruction that the emulator does not cover" +
             (fault.instruction < place.instructions
                  ? ": " + std::string(place.code[fault.instruction].name) + ", encoded " +
                        encoding(place.code[fault.instruction])
                  : std::string());
    case FaultKind::bad_program_counter:
      return format("no instruction begins at 0x%" PRIx64 ", where the program went", fault.address);
    case FaultKind::trap: return stop_text(place, fault);
    case FaultKind::host_call:
      return std::string("a call of the kernel to its host: ") + describe(static_cast<HostCallFault>(fault.address));
    case FaultKind::budget: return "the launch has used up its budget of instructions: an endless loop, or raise it";
    case FaultKind::lds_race: return "race in LDS: " + lds + " without a barrier after another wave's access";
    case FaultKind::global_race:
      return format("race in global memory: %s of %s at 0x%" PRIx64, access(fault),
                    plural(fault.bytes, "byte").c_str(), fault.address) +
             ", " + describe_address(*place.ranges, fault.address, 1) +
             (fault.other_lane < 0 ? ", and nothing orders it after another wave's access"
                                   : ", where another lane stores another value");
    case FaultKind::uninitialised_lds: return lds + " that the work group has not written";
    case FaultKind::uninitialised_register:
      return "read of " + register_name(fault.address) + ", which was not written";
    case FaultKind::divergent_barrier: return "a barrier that other waves of the block have ended without";
  }
  return "unknown fault";
}

}  // namespace

const char* fault_name(FaultKind kind) {
  switch (kind) {
    case FaultKind::none: return "none";
    case FaultKind::out_of_range: return "out_of_range";
    case FaultKind::read_only: return "read_only";
    case FaultKind::lds_out_of_range: return "lds_out_of_range";
    case FaultKind::register_index: return "register_index";
    case FaultKind::misaligned: return "misaligned";
    case FaultKind::not_covered: return "not_covered";
    case FaultKind::bad_program_counter: return "bad_program_counter";
    case FaultKind::trap: return "trap";
    case FaultKind::host_call: return "host_call";
    case FaultKind::budget: return "budget";
    case FaultKind::lds_race: return "lds_race";
    case FaultKind::global_race: return "global_race";
    case FaultKind::uninitialised_lds: return "uninitialised_lds";
    case FaultKind::uninitialised_register: return "uninitialised_register";
    case FaultKind::divergent_barrier: return "divergent_barrier";
  }
  return "unknown";
}

std::string describe_address(const std::vector<NamedRange>& ranges, std::uint64_t address, std::uint64_t bytes) {
  const NamedRange* nearest = nullptr;
  std::uint64_t least = ~std::uint64_t(0);
  for (const auto& range : ranges) {
    // The end itself lies outside; of two neighbours the one that holds the address is meant.
    const std::uint64_t distance = address < range.begin  ? range.begin - address
                                   : address >= range.end ? address - range.end + 1
                                                          : 0;
    if (distance >= least) continue;
    nearest = &range;
    least = distance;
  }
  if (nearest == nullptr) return "nothing is allocated";
  const std::string where = nearest->name + format(" at 0x%" PRIx64, nearest->begin);
  if (address < nearest->begin) return plural(nearest->begin - address, "byte") + " before " + where;
  if (address < nearest->end) {
    const std::uint64_t beyond = address + bytes > nearest->end ? address + bytes - nearest->end : 0;
    if (beyond == 0) return format("byte %" PRIu64 " of ", address - nearest->begin) + where;
    return "its last " + plural(beyond, "byte") + (beyond == 1 ? " is" : " are") + " past the end of " + where;
  }
  if (address == nearest->end) return "at the end of " + where;
  return plural(address - nearest->end, "byte") + " past the end of " + where;
}

namespace {

// "block (1, 0, 0), wave 2, "
std::string other_place(const FaultPlace& place, const Fault& fault, FaultReport& report) {
  std::copy(report.block, report.block + 3, report.other_block);
  std::string text;
  if (fault.other_group != ~std::uint64_t(0)) {
    const auto* const blocks = place.geometry->blocks;
    report.other_block[0] = static_cast<std::uint32_t>(fault.other_group % blocks[0]);
    report.other_block[1] = static_cast<std::uint32_t>(fault.other_group / blocks[0] % blocks[1]);
    report.other_block[2] = static_cast<std::uint32_t>(fault.other_group / blocks[0] / blocks[1]);
    text = "block " + triple(report.other_block) + ", ";
  }
  text += fault.other_wave >= 0 ? format("wave %d, ", fault.other_wave) : std::string("another wave, ");
  if (fault.other_lane >= 0) text += format("lane %d, ", fault.other_lane);
  return text;
}

}  // namespace

FaultReport report_fault(const FaultPlace& place, const Wave& wave) {
  FaultReport report;
  const Fault& fault = report.fault = wave.fault;
  report.kernel = place.kernel->name;
  std::copy(wave.group->id, wave.group->id + 3, report.block);
  report.wave = wave.index;
  if (fault.instruction < place.instructions)
    report.instruction_offset = place.code[fault.instruction].address - place.kernel->entry;
  report.instruction = instruction_text(place, fault.instruction);
  std::string lane;
  // All lanes that are switched on have stopped; the first one stands for them.
  if (fault.kind == FaultKind::trap && fault.lane < 0 && wave.exec() != 0)
    report.fault.lane = std::countr_zero(wave.exec());
  if (fault.lane >= 0) {
    const auto* const threads = place.geometry->threads;
    const std::uint32_t linear = wave.index * wave.size + static_cast<std::uint32_t>(fault.lane);
    report.thread[0] = linear % threads[0];
    report.thread[1] = linear / threads[0] % threads[1];
    report.thread[2] = linear / threads[0] / threads[1];
    lane = format(", lane %d, thread ", fault.lane) + triple(report.thread);
  }
  report.text = cause(place, fault) + "\n  kernel " + report.kernel.substr(0, 400) + ", block " + triple(report.block) +
                format(", wave %u", report.wave) + lane + "\n  instruction: " + report.instruction;
  const bool race = fault.kind == FaultKind::lds_race || fault.kind == FaultKind::global_race;
  if (race || fault.kind == FaultKind::divergent_barrier) {
    report.other_instruction = instruction_text(place, fault.other_instruction);
    if (fault.other_instruction < place.instructions)
      report.other_offset = place.code[fault.other_instruction].address - place.kernel->entry;
    report.text += (race ? "\n  the other access: " : "\n  ended: ") + other_place(place, fault, report) +
                   report.other_instruction;
  }
  return report;
}

}  // namespace kiln::emulator
