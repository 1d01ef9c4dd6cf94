#include "tests/differential/emulator/function_run.hpp"

#include <cmath>
#include <cstdio>
#include <cstring>

#include "engine/base/half.hpp"
#include "tests/differential/emulator/random_choice.hpp"

namespace kiln::test {
namespace {

constexpr std::uint32_t inputs = 1024;   // INPUTS of portable_memory.h
constexpr std::uint32_t own_bytes = 64;  // of global memory, a thread
constexpr std::uint32_t counters = 64;

template <class T> void put(Bytes& bytes, std::size_t index, T value) {
  std::memcpy(bytes.data() + index * sizeof(T), &value, sizeof(T));
}
template <class T> T get(const Bytes& bytes, std::size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

// Small numbers, every size of number, and the special ones; never a signalling NaN.
double real(Choice& choice, int exponent_max) {
  const double fraction = 1.0 + static_cast<double>(choice.bits() >> 12) * 0x1p-52;
  const double sign = choice.one_in(2) ? -1.0 : 1.0;
  switch (choice.below(8)) {
    case 0: return sign * choice.below(9);
    case 1: return sign * 0.25 * choice.below(64);
    case 2: case 3: {
      const double power = std::ldexp(1.0, static_cast<int>(choice.below(2 * exponent_max + 24)) - exponent_max - 24);
      return sign * fraction * power;
    }
    case 4:
      if (choice.one_in(3)) return sign * __builtin_inf();
      return choice.one_in(2) ? __builtin_nan("") : sign * 0.0;
    default: return sign * fraction * std::ldexp(1.0, static_cast<int>(choice.below(8)) - 4);
  }
}

}  // namespace

FunctionMemory make_memory(const RandomFunction& function, std::uint64_t seed) {
  Choice choice(seed ^ 0x5851f42d4c957f2du);
  FunctionMemory made;
  for (const std::size_t width : {8, 4, 8, 2}) made.inputs.emplace_back(inputs * width);  // in_i is read as u64, too
  for (std::uint32_t i = 0; i < 2 * inputs; ++i) {
    static constexpr std::uint32_t edges[] = {0, 1, 2, 0x7fffffff, 0x80000000, 0xffffffff, 0xffff, 0x8000, 31, 32, 64};
    const std::uint64_t any = choice.bits() >> choice.below(60);
    put(made.inputs[0], i, choice.one_in(4) ? choice.in(edges) : static_cast<std::uint32_t>(any));
  }
  for (std::uint32_t i = 0; i < inputs; ++i) {
    put<float>(made.inputs[1], i, static_cast<float>(real(choice, 126)));
    put<double>(made.inputs[2], i, real(choice, 1000));
    put<std::uint16_t>(made.inputs[3], i, f64_to_f16(real(choice, 14)));
  }
  const std::size_t threads = function.threads * function.blocks;
  made.memory.resize(threads * own_bytes);
  for (auto& byte : made.memory) byte = static_cast<std::uint8_t>(choice.one_in(2) ? choice.below(4) : choice.bits());
  made.counts.resize(counters * 4);
  for (auto& byte : made.counts) byte = static_cast<std::uint8_t>(choice.bits());
  made.out.assign(threads * function.variables.size() * 8, 0xee);
  const auto scalar = [&](int index, auto value) {
    made.scalars[index].resize(sizeof value);
    put(made.scalars[index], 0, value);
  };
  scalar(0, static_cast<std::uint8_t>(choice.bits()));
  scalar(1, static_cast<std::uint16_t>(choice.bits()));
  scalar(2, static_cast<std::uint32_t>(choice.bits() >> choice.below(60)));
  scalar(3, choice.bits() >> choice.below(60));
  scalar(4, static_cast<float>(real(choice, 30)));
  scalar(5, real(choice, 60));
  scalar(6, f64_to_f16(real(choice, 10)));
  scalar(7, static_cast<std::int32_t>(choice.bits()));
  return made;
}

void run_on_host(HostLibrary::Function function, FunctionMemory& memory) {
  std::vector<void*> buffers, arguments;
  for (auto& input : memory.inputs) buffers.push_back(input.data());
  for (auto* output : {&memory.memory, &memory.counts, &memory.out}) buffers.push_back(output->data());
  for (auto& buffer : buffers) arguments.push_back(&buffer);
  for (auto& scalar : memory.scalars) arguments.push_back(scalar.data());
  function(arguments.data());
}

Status run_on_card(EmulatedCard& card, const RandomFunction& function, FunctionMemory& memory) {
  std::vector<CardArgument> arguments;
  for (auto& input : memory.inputs) arguments.push_back({&input, false, 0});
  for (auto* output : {&memory.memory, &memory.counts, &memory.out}) arguments.push_back({output, false, 0});
  for (auto& scalar : memory.scalars) arguments.push_back({&scalar, true, 0});
  emulator::Geometry geometry;
  geometry.blocks[0] = function.blocks, geometry.threads[0] = function.threads;
  return card.run(function.name, geometry, arguments);
}

std::string difference(const RandomFunction& function, const FunctionMemory& card, const FunctionMemory& host) {
  char text[256];
  const std::size_t variables = function.variables.size();
  for (std::size_t i = 0; i < card.out.size() / 8; ++i) {
    const auto got = get<unsigned long long>(card.out, i), want = get<unsigned long long>(host.out, i);
    if (got == want) continue;
    const std::size_t thread = i / variables;
    const auto& variable = function.variables[i % variables];
    std::snprintf(text, sizeof text, "block %zu thread %zu: %s (%s) is %#llx, on the host %#llx",
                  thread / function.threads, thread % function.threads, variable.name.c_str(), variable.type.c_str(),
                  got, want);
    return text;
  }
  for (std::size_t i = 0; i < card.memory.size(); ++i) {
    if (card.memory[i] == host.memory[i]) continue;
    std::snprintf(text, sizeof text, "block %zu thread %zu: byte %zu of its memory is %#x, on the host %#x",
                  i / own_bytes / function.threads, i / own_bytes % function.threads, i % own_bytes, card.memory[i],
                  host.memory[i]);
    return text;
  }
  for (std::size_t i = 0; i < counters; ++i) {
    const auto got = get<std::uint32_t>(card.counts, i), want = get<std::uint32_t>(host.counts, i);
    if (got == want) continue;
    std::snprintf(text, sizeof text, "counter %zu is %#x, on the host %#x", i, got, want);
    return text;
  }
  return "";
}

}  // namespace kiln::test
