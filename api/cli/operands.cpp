#include "api/cli/operands.hpp"

#include <unistd.h>

#include <algorithm>
#include <limits>

#include "engine/base/memory_left.hpp"
#include "api/cli/usage.hpp"
#include "api/client/capture_files.hpp"
#include "api/daemon/flags.hpp"
#include "engine/capture/capture.hpp"
#include "engine/ir/tile/nearest_name.hpp"

namespace kiln::cli {

using protocol::Json;

namespace {

Result<Json> named_files(Context& context, const std::vector<std::string>& words, const std::string& flag) {
  KILN_TRY(auto files, name_values(context, words, flag));
  for (const auto& [name, file] : files.items())
    if (file.get_ref<const std::string&>().empty()) return context.usage_error(flag + " " + name + "=: expected NAME=FILE");
  return files;
}

Result<Named> read_named(Context& context, const RunOptions& options) {
  Named named;
  KILN_TRY(named.inputs, named_files(context, options.inputs, "--input"));
  KILN_TRY(named.outputs, named_files(context, options.outputs, "--output"));
  KILN_TRY(named.scalars, scalar_values(context, options.scalars));
  return named;
}

// Every name of a flag is one of the kernel's tensors, or scalars.
Status check_names(const Json& given, const Json& tensors, const std::string& flag, bool scalars) {
  std::vector<std::string> known;
  for (const auto& tensor : tensors)
    if (tensor.value("scalar", false) == scalars) known.push_back(tensor.value("name", ""));
  for (const auto& [name, value] : given.items()) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return Error(ErrorCode::invalid_argument, flag + " " + name + ": the kernel has no such " + (scalars ? "scalar" : "tensor") +
                 (known.empty() ? "" : "; there are " + tile::name_list(known)));
  }
  return ok();
}

// Before anything is mapped and filled.
Status check_memory(const std::string& program, const Json& tensors, const Json& workspace) {
  std::uint64_t total = 0;
  for (const auto& tensor : tensors) {
    if (tensor.value("scalar", false)) continue;
    if (__builtin_add_overflow(total, tensor.value("bytes", std::uint64_t(0)), &total)) total = std::numeric_limits<std::uint64_t>::max();
  }
  for (const auto& one : workspace) total += one.value("bytes", std::uint64_t(0));
  return check_memory_left(total, "the tensors of " + program);
}

Status prepare_operand(Context& context, const Json& inputs, std::uint64_t seed, Operand& operand) {
  KILN_TRY(operand.memory, create_memfd("kiln-" + operand.name, std::max<std::size_t>(operand.bytes, 1)));
  KILN_TRY(operand.mapping, Mapping::map(operand.memory.get(), std::max<std::size_t>(operand.bytes, 1), true));
  if (!inputs.contains(operand.name)) {
    operand.seed = seed;
    capture::generate(operand.dtype, operand.read, seed, {operand.mapping.data(), operand.bytes});
  } else {
    const auto file = inputs[operand.name].get<std::string>();
    KILN_TRY(const auto bytes, read_file(file));
    if (bytes.size() != operand.bytes)
      return Error(ErrorCode::invalid_argument, file + " has " + std::to_string(bytes.size()) + " bytes, " + operand.name + " takes " + std::to_string(operand.bytes));
    if (!bytes.empty()) std::memcpy(operand.mapping.data(), bytes.data(), bytes.size());
  }
  KILN_TRY(const auto answer, context.ask("buffer.register", Json{{"fd", {{"fd", 0}}}}, {operand.memory.get()}));
  operand.buffer = answer.value("buffer", std::int64_t(0));
  return ok();
}

}  // namespace

Result<Json> scalar_values(Context& context, const std::vector<std::string>& words) {
  KILN_TRY(const auto given, name_values(context, words, "--scalar"));
  Json scalars = Json::object();
  for (const auto& [name, text] : given.items()) {
    auto value = protocol::parse_json(text.get_ref<const std::string&>(), protocol::Limits{});
    if (!value || !(value->is_number() || value->is_boolean()))
      return context.usage_error("--scalar " + name + "=" + text.get<std::string>() + ": expected a number");
    scalars[name] = std::move(*value);
  }
  return scalars;
}

Result<std::vector<Operand>> prepare_operands(Context& context, const Named& named, std::uint64_t seed, const std::string& program,
                                              const Json& compiled) {
  const auto& tensors = compiled["tensors"];
  KILN_CHECK(check_names(named.scalars, tensors, "--scalar", true));
  KILN_CHECK(check_memory(program, tensors, compiled.value("workspace", Json::array())));
  std::vector<Operand> operands;
  for (const auto& tensor : tensors) {
    Operand operand;
    operand.name = tensor.value("name", "");
    operand.dtype = dtype_from_name(tensor.value("dtype", "")).value_or(DType::f32);
    operand.scalar = tensor.value("scalar", false);
    const auto access = tensor.value("access", "read");
    operand.read = access != "write";
    operand.written = access != "read";
    operand.bytes = tensor.value("bytes", std::size_t(0));
    if (operand.scalar) {
      if (!named.scalars.contains(operand.name))
        return Error(ErrorCode::invalid_argument, "the kernel takes a scalar: --scalar " + operand.name + "=NUMBER");
      operand.value = named.scalars[operand.name];
    } else {
      KILN_CHECK(prepare_operand(context, named.inputs, capture::tensor_seed(seed, operands.size()), operand));
    }
    operands.push_back(std::move(operand));
  }
  return operands;
}

Result<std::string> device_target(Context& context, const std::string& device) {
  if (device == "host") return device;
  if (device.rfind("emu:", 0) == 0) return device.substr(4);
  KILN_TRY(const auto answer, context.ask("device.list", {{"device", device}}));
  return answer["devices"].at(0).value("target", "");
}

Result<Json> symbol_values(Context& context, const Json& symbols, const Json& set) {
  Json values = Json::object();
  for (const auto& symbol : symbols) {
    const auto name = symbol.value("name", "");
    if (!set.contains(name))
      return context.usage_error("the symbol " + name + " is dynamic, and a launch needs its value: --set " + name +
                                 "=NUMBER, " + protocol::dump(symbol["min"]) + " to " + protocol::dump(symbol["max"]));
    // The compile has seen that it is a number.
    KILN_TRY(values[name], protocol::parse_json(set[name].get<std::string>(), protocol::Limits{}));
  }
  return values;
}

void RunOptions::add_to(CLI::App& command) {
  kernel.add_to(command, "");
  command.add_option("--device", device, "where to run")->capture_default_str();
  command.add_option("--seed", seed, "of the generated inputs (normals; integers from -8 to 8)")
      ->check(whole_number())->capture_default_str();
  command.add_option("--input", inputs, "NAME=FILE …: raw bytes of an input")->expected(1, 100);
  command.add_option("--output", outputs, "NAME=FILE …: write a tensor's bytes after the launch")->expected(1, 100);
  command.add_option("--capture", capture, "FILE: write the launch as a file for `kiln replay`")->check(daemon::path_flag_mistake);
  command.add_option("--scalar", scalars, "NAME=NUMBER …: scalar arguments")->expected(1, 100);
  command.add_option("--check-memory", check_memory, "of an emulated card: races, uninitialised, barriers, bounds, all …");
  command.add_option("--order-seed", order_seed, "of an emulated card: not 0 shuffles the order of waves and work groups");
  command.add_option("--budget", budget, "of an emulated card: wave instructions of a launch at most");
}

void RunOptions::add_switches(Json& request) const {
  const std::pair<const char*, const std::string&> all[] = {{"check", check_memory}, {"seed", order_seed}, {"budget", budget}};
  for (const auto& [name, value] : all)
    if (!value.empty()) request["switches"][name] = value;
}

Json Prepared::arguments() const {
  Json args = Json::object();
  for (const auto& o : operands) args[o.name] = o.scalar ? o.value : Json{{"buffer", o.buffer}};
  return args;
}

Json Prepared::seeds() const {
  Json seeds = Json::object();
  for (const auto& o : operands)
    if (o.seed) seeds[o.name] = *o.seed;
  return seeds;
}

Status Prepared::write_outputs() const {
  for (const auto& o : operands)
    if (named.outputs.contains(o.name))
      KILN_CHECK(write_file(named.outputs[o.name].get<std::string>(), ByteView(o.mapping.data(), o.bytes)));
  if (!capture.empty() && ::access(capture.c_str(), F_OK) != 0)   // why was told as a warning
    return Error(ErrorCode::io_error, "the capture " + capture + " was not written");
  return ok();
}

Result<Prepared> prepare_run(Context& context, const RunOptions& options) {
  Prepared run;
  if (!options.capture.empty()) {
    KILN_CHECK(client::make_room(options.capture));
    context.capture = {options.capture, "always"};
    run.capture = options.capture;
  }
  KILN_TRY(run.named, read_named(context, options));
  auto kernel = options.kernel;
  kernel.device = options.device;
  if (kernel.target.empty()) {
    KILN_TRY(kernel.target, device_target(context, options.device));
  }
  KILN_TRY(run.params, kernel.params(context));
  for (const auto& [name, value] : context.numbers.items())
    if (!run.named.scalars.contains(name)) run.named.scalars[name] = value;
  KILN_TRY(run.outcome, context.ask("kernel.compile", run.params));
  KILN_TRY(run.symbols, symbol_values(context, run.outcome["symbols"], run.params["set"]));
  const auto& tensors = run.outcome["tensors"];
  KILN_CHECK(check_names(run.named.inputs, tensors, "--input", false));
  KILN_CHECK(check_names(run.named.outputs, tensors, "--output", false));
  const std::string name = run.outcome.value("program", "the kernel");
  KILN_TRY(run.operands, prepare_operands(context, run.named, options.seed, name, run.outcome));
  return run;
}

}  // namespace kiln::cli
