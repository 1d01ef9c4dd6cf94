#include "engine/reference/interpreter.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <new>

#include "engine/reference/machine.hpp"

namespace kiln::reference {
namespace {

// Whether two indices may address one element: with the axes ordered by stride, each must step over what the smaller
// ones span.
bool strides_overlap(const bound::Tensor& t) {
  if (t.elements_span() == 0) return false;
  std::vector<std::pair<std::int64_t, std::int64_t>> axes;  // stride, extent
  for (std::size_t i = 0; i < t.shape.size(); ++i)
    if (t.shape[i].value() > 1) axes.emplace_back(t.strides[i].value(), t.shape[i].value());
  std::sort(axes.begin(), axes.end());
  std::int64_t span = 1;
  for (const auto& [stride, extent] : axes) {
    if (stride < span) return true;
    span += (extent - 1) * stride;
  }
  return false;
}

Status check_arguments(const bound::Program& program, std::span<const Argument> arguments) {
  const auto count = program.arguments();
  if (arguments.size() != count)
    return argument_finding(std::min(arguments.size(), count), "wrong number of arguments",
                            std::to_string(count) + " arguments", std::to_string(arguments.size()));
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto& tensor = program.tensors[i];
    const auto needed = static_cast<std::size_t>(tensor.scalar ? dtype_bytes(tensor.dtype) : tensor.bytes());
    if (arguments[i].size < needed || (needed > 0 && !arguments[i].data))
      return argument_finding(i, "the buffer of parameter " + tensor.name + " is too short",
                              "at least " + std::to_string(needed) + " bytes",
                              std::to_string(arguments[i].size) + " bytes");
    if (tensor.access != Access::read && strides_overlap(tensor))
      return argument_finding(i, "two indices of the written parameter " + tensor.name + " address one element",
                              "strides that keep elements apart", "overlapping strides");
  }
  return {};
}

// Arguments that overlap although one of them is written and not both are declared may_alias.
Status check_overlap(const bound::Program& program, std::span<const Argument> arguments) {
  const auto extent = [&](std::size_t i) { return static_cast<std::size_t>(program.tensors[i].bytes()); };
  for (std::size_t i = 0; i < arguments.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const auto &a = program.tensors[i], &b = program.tensors[j];
      if ((a.access == Access::read && b.access == Access::read) || (a.may_alias && b.may_alias) || !extent(i) ||
          !extent(j))
        continue;
      const std::less<const std::uint8_t*> before;
      const auto *a_data = arguments[i].data, *b_data = arguments[j].data;
      if (before(a_data, b_data + extent(j)) && before(b_data, a_data + extent(i)))
        return argument_finding(i, "parameters " + b.name + " and " + a.name + " overlap, and one of them is written",
                                "separate buffers, or may_alias on both", "overlapping buffers");
    }
  return {};
}

// The interpreter's own memory for a program's workspace.
struct OwnMemory {
  std::vector<std::vector<std::uint8_t>> bytes;
  std::vector<std::vector<double>> scales;
};

std::vector<TensorState> make_states(const bound::Program& program, std::span<const Argument> arguments,
                                     OwnMemory& own) {
  std::vector<TensorState> states;
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    auto& state = states.emplace_back();
    state.tensor = &program.tensors[i];
    state.extents = bound::values(state.tensor->shape);
    state.strides = bound::values(state.tensor->strides);
    if (i < arguments.size()) {
      state.data = arguments[i].data;
    } else {
      state.data = own.bytes.emplace_back(static_cast<std::size_t>(state.tensor->bytes())).data();
      if (!state.tensor->zeroed) state.written.resize(static_cast<std::size_t>(state.tensor->elements_span()));
    }
    state.element_bytes = dtype_bytes(state.tensor->dtype);
    state.load = bound::load_function(state.tensor->dtype);
    state.store = bound::store_function(state.tensor->dtype);
  }
  return states;
}

// What prints and asserts have left, and whether an assertion failed.
Status finish_records(const bound::Program& program, const OwnMemory& own, Bytes* records) {
  if (records != nullptr) records->clear();
  if (program.records < 0) return ok();
  const auto& bytes = own.bytes[static_cast<std::size_t>(program.records) - program.arguments()];
  KILN_TRY(const auto read, bound::read_records(bytes, program.sites));
  if (records != nullptr) *records = bytes;
  return bound::check_assertions(read, program.sites);
}

Status run_launches(const bound::Program& program, std::span<const Argument> arguments, const RunOptions& options,
                    std::vector<std::vector<double>>* error_scale, Bytes* records) {
  OwnMemory own;
  auto states = make_states(program, arguments, own);
  if (error_scale) {
    error_scale->assign(arguments.size(), {});
    for (std::size_t i = 0; i < states.size(); ++i) {
      if (program.tensors[i].access == Access::read) continue;
      auto& scale = i < arguments.size() ? (*error_scale)[i] : own.scales.emplace_back();
      scale.resize(static_cast<std::size_t>(program.tensors[i].elements_span()));
      states[i].scale = scale.data();
    }
  }
  Budget budget(options.steps_max > 0 ? options.steps_max : std::numeric_limits<std::int64_t>::max(), options.deadline,
                options.cancel);
  for (const auto& launch : program.launches)
    KILN_CHECK(Machine(program, launch, states, budget, options.check_races, error_scale != nullptr).run());
  return finish_records(program, own, records);
}

}  // namespace

Status run(const bound::Program& program, std::span<const Argument> arguments, const RunOptions& options,
           std::vector<std::vector<double>>* error_scale, Bytes* records) {
  if (!program.symbols.empty())
    return Error(ErrorCode::invalid_argument, "the interpreter needs the values of the program's dynamic symbols");
  KILN_CHECK(check_arguments(program, arguments));
  KILN_CHECK(check_overlap(program, arguments));
  try {
    return run_launches(program, arguments, options, error_scale, records);
  } catch (const std::bad_alloc&) {
    return Error(ErrorCode::out_of_memory, "the interpreter has no memory for its tiles and watches");
  }
}

}  // namespace kiln::reference
