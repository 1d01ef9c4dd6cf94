#include "tests/differential/faults/emulated_text.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "engine/base/fd.hpp"
#include "engine/base/paths.hpp"
#include "engine/compile/toolchain.hpp"
#include "engine/emit/emit.hpp"
#include "engine/emulator/machine/core_loader.hpp"
#include "engine/emulator/machine/launch.hpp"
#include "engine/emulator/machine/program.hpp"
#include "engine/ir/tile/program.hpp"
#include "engine/lower/lower.hpp"
#include "engine/reference/interpreter.hpp"
#include "engine/specialize/specialize.hpp"
#include "tests/support/random_arguments.hpp"

namespace kiln::test {

// ---- compiling -----------------------------------------------------------------------------------------------------
Result<std::unique_ptr<TextCompiler>> TextCompiler::start() {
  KILN_TRY(const auto environment, process_environment());
  KILN_TRY(const auto folder, toolchains_folder(environment));
  SpawnOptions options;
  options.command = {std::string(KILN_TEST_DIR) + "/hip_text_compiler"};
  const auto toolchains = compile::list_toolchains(folder.path);
  if (!toolchains.empty()) options.command = compile::through_toolchain(toolchains[0], options.command[0]);
  options.command.push_back(std::string(KILN_SOURCE_DIR) + "/kernels/include");
  options.environment = environment.all;
  int request[2], answer[2];
  if (::pipe2(request, O_CLOEXEC) != 0 || ::pipe2(answer, O_CLOEXEC) != 0) return errno_error(errno, "pipe");
  std::unique_ptr<TextCompiler> compiler(new TextCompiler);
  const UniqueFd theirs_in(request[0]), theirs_out(answer[1]);
  compiler->requests_ = UniqueFd(request[1]);
  compiler->answers_ = UniqueFd(answer[0]);
  options.descriptors = {{request[0], 3}, {answer[1], 4}};
  KILN_TRY(compiler->child_, ChildProcess::spawn(options));
  return compiler;
}

Result<Bytes> TextCompiler::compile(const std::string& text, const std::string& target) {
  const std::string source = folder_ / "kernel.hip", object = folder_ / "kernel.co";
  std::ofstream(source) << text;
  const std::string request = target + " " + source + " " + object + "\n";
  if (::write(requests_.get(), request.data(), request.size()) != static_cast<ssize_t>(request.size()))
    return Error(ErrorCode::no_compiler, "the compiling process has ended");
  std::string line;
  for (char c = 0; c != '\n'; line += c)
    if (::read(answers_.get(), &c, 1) != 1) return Error(ErrorCode::no_compiler, "the compiling process has ended");
  if (line != "ok\n") return Error(ErrorCode::compile_failed, line);
  return read_file(object);
}

// ---- subjects ------------------------------------------------------------------------------------------------------
namespace {

// What the interpreter makes of the tensors, and what the comparison needs beside.
struct Wanted {
  bound::Program program;
  std::vector<Bytes> tensors;
  std::vector<std::vector<double>> scale;
};

std::string wrong_tensors(const Wanted& wanted, const std::vector<Bytes>& got) {
  const auto& program = wanted.program;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto& tensor = program.tensors[i];
    if (tensor.access == Access::read) {
      if (got[i] != wanted.tensors[i]) return tensor.name + " was written";
      continue;
    }
    const auto result = reference::compare(tensor.dtype, got[i], wanted.tensors[i], wanted.scale[i],
                                           reference::tolerance_of(program));
    if (result.wrong != 0)
      return tensor.name + ": " + std::to_string(result.wrong) + " of " + std::to_string(result.elements) + " wrong";
  }
  return "";
}

}  // namespace

Result<Subject> emitted_subject(const std::string& program_name, const std::map<std::string, std::string>& set,
                                const std::string& target_name, std::uint64_t seed) {
  std::string json = program_name;
  if (!json.starts_with('{')) {
    KILN_TRY(const auto bytes, read_file(std::string(KILN_SOURCE_DIR) + "/kernels/programs/" + json + ".json"));
    json = text(bytes);
  }
  KILN_TRY(const auto program, tile::read_program(json));
  KILN_TRY(const auto target, target::parse_target(target_name));
  Budget budget(10000000);
  auto wanted = std::make_shared<Wanted>();
  KILN_TRY(wanted->program, specialize::specialize(program, {set, {}, {}}, target, budget));
  KILN_TRY(const auto lowered, lower::lower(wanted->program, target, 0, budget));
  Subject subject;
  subject.target = target_name;
  subject.name = wanted->program.name;
  for (const auto& [name, value] : set) subject.name += " " + name + "=" + value;
  KILN_TRY(subject.text, emit::emit_hip(lowered.program, target));
  for (const auto& launch : lowered.program.launches) {
    emulator::Geometry geometry;
    for (std::size_t i = 0; i < launch.grid.size() && i < 3; ++i)
      geometry.blocks[i] = static_cast<std::uint32_t>(launch.grid[i].value());
    geometry.threads[0] = static_cast<std::uint32_t>(launch.threads);
    subject.launches.push_back({launch.symbol, geometry});
  }
  subject.arguments = random_arguments(wanted->program, seed);
  for (const auto& tensor : wanted->program.tensors) subject.by_value.push_back(tensor.scalar);
  wanted->tensors = subject.arguments;
  std::vector<reference::Argument> arguments;
  for (auto& bytes : wanted->tensors) arguments.push_back({bytes.data(), bytes.size()});
  KILN_CHECK(reference::run(wanted->program, arguments, {}, &wanted->scale));
  subject.wrong = [wanted](const std::vector<Bytes>& tensors) { return wrong_tensors(*wanted, tensors); };
  return subject;
}

// ---- running -------------------------------------------------------------------------------------------------------
namespace {

// Loops that end need far fewer instructions; one that does not uses this up in a moment.
constexpr std::uint64_t budget_of_a_launch = 2'000'000;

class Card {
 public:
  Card(const Subject& subject, std::uint64_t seed) : subject_(subject) {
    options_.budget = budget_of_a_launch;
    options_.seed = seed;
  }

  Result<Finding> run(const Bytes& object) {
    KILN_CHECK(emulator::set_option(options_, "check", "all"));
    KILN_TRY(const auto* core, emulator::load_core("", ""));
    KILN_TRY(const auto card, emulator::parse_card(subject_.target));
    KILN_TRY(const auto program, emulator::Program::load(object, card, *core));
    KILN_CHECK(allocate());
    for (const auto& launch : subject_.launches) {
      const auto* kernel = program->kernel(launch.symbol);
      if (kernel == nullptr) return Error(ErrorCode::not_found, "no kernel " + launch.symbol);
      emulator::LaunchOrder order;
      order.core = core;
      order.workers = &workers_;
      order.memory = &memory_;
      order.card = &card;
      order.options = options_;
      order.code = &program->code();
      order.kernel = kernel;
      order.geometry = launch.geometry;
      KILN_TRY(order.arguments, emulator::gather_arguments(*kernel, pointers_.data()));
      KILN_TRY(const auto result, emulator::run_launch(order));
      if (result.fault) return Finding{emulator::fault_name(result.fault->fault.kind), result.fault->text};
    }
    return compared();
  }

 private:
  Status allocate() {
    for (std::size_t i = 0; i < subject_.arguments.size(); ++i) {
      const auto& bytes = subject_.arguments[i];
      if (subject_.by_value[i]) {
        addresses_.push_back(const_cast<std::uint8_t*>(bytes.data()));
        continue;
      }
      KILN_TRY(void* memory, memory_.allocate(bytes.size(), 0));
      std::memcpy(memory, bytes.data(), bytes.size());
      addresses_.push_back(memory);
    }
    for (std::size_t i = 0; i < addresses_.size(); ++i)
      pointers_.push_back(subject_.by_value[i] ? addresses_[i] : &addresses_[i]);
    return ok();
  }

  Finding compared() const {
    std::vector<Bytes> tensors;
    for (std::size_t i = 0; i < addresses_.size(); ++i) {
      const auto* data = static_cast<const std::uint8_t*>(addresses_[i]);
      tensors.emplace_back(data, data + subject_.arguments[i].size());
    }
    const std::string wrong = subject_.wrong(tensors);
    return wrong.empty() ? Finding{} : Finding{"comparison", wrong};
  }

  const Subject& subject_;
  emulator::Options options_;
  emulator::Memory memory_{std::uint64_t(1) << 32};
  emulator::Workers workers_{1};
  std::vector<void*> addresses_, pointers_;
};

}  // namespace

Result<Finding> run_subject(const Subject& subject, const Bytes& object, std::uint64_t seed) {
  return Card(subject, seed).run(object);
}

}  // namespace kiln::test
