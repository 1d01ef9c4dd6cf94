#include "api/cli/compare_check.hpp"

#include <algorithm>
#include <cmath>

#include "api/cli/compare_work.hpp"
#include "api/service/report.hpp"
#include "engine/compile/worker_pool.hpp"
#include "engine/ir/bound/arithmetic.hpp"
#include "engine/reference/process.hpp"

namespace kiln::cli {

using protocol::Json;

namespace {

// An estimate is one: the interpreter may take so many times as long before it is ended.
constexpr int overrun = 4;

Bytes scalar_bytes(const Json& value, DType type) {
  Bytes bytes(std::size_t(dtype_bytes(type)));
  const auto number = value.is_boolean() ? double(value.get<bool>()) : value.get<double>();
  const auto stored = is_float(type) ? bound::real_value(bound::round_real(type, number))
                                     : bound::integer_value(value.is_number_integer() ? value.get<std::int64_t>()
                                                                                      : std::int64_t(number));
  bound::store_function(type)(bytes.data(), stored);
  return bytes;
}

reference::Memory memory_of(const Operand& operand) {
  if (operand.scalar)
    return {-1, 0, std::size_t(dtype_bytes(operand.dtype)), scalar_bytes(operand.value, operand.dtype)};
  return {operand.memory.get(), 0, operand.bytes, {}};
}

struct Candidates {
  std::vector<reference::Candidate> list;
  // Adds the results for the written parameters of a program whose i-th parameter is operand `order[i]`.
  void add(const CheckInput& input, const Results& results, const std::vector<std::size_t>& order) {
    for (std::size_t i = 0; i < order.size(); ++i)
      if (results[order[i]])
        list.push_back({int(i), {results[order[i]].get(), 0, (*input.operands)[order[i]].bytes, {}}});
  }
};

Result<std::vector<reference::TensorComparison>> interpret(Context& context, const CheckInput& input,
                                                           const bound::Program& program,
                                                           const std::vector<std::size_t>& order,
                                                           Candidates candidates) {
  KILN_CHECK(context.configure());
  const auto& configuration = *context.configuration;
  reference::RunRequest request;
  request.program = bound::encode(program, true);
  for (const auto at : order) request.arguments.push_back(memory_of((*input.operands)[at]));
  request.candidates = std::move(candidates.list);
  KILN_TRY(auto process,
           reference::ReferenceProcess::start(
               {configuration.reference, compile::scrubbed_environment(configuration.environment), "", 0}));
  const auto deadline = Deadline::after(std::chrono::seconds(std::max(10, overrun * input.seconds)));
  KILN_TRY(auto reply, process.run(request, deadline, interrupt_token()));
  return std::move(reply.comparisons);
}

// One side's comparisons, the worst of them in front.
Json side_json(const bound::Program& program, const std::vector<reference::TensorComparison>& comparisons) {
  Json tensors = Json::array();
  double worst = 0, error = 0;
  std::uint64_t wrong = 0, elements = 0;
  for (const auto& compared : comparisons) {
    auto entry = service::comparison_json(compared.comparison);
    entry["name"] = program.tensors[std::size_t(compared.tensor)].name;
    tensors.push_back(std::move(entry));
    worst = std::max(worst, compared.comparison.ratio_max);
    error = std::max(error, compared.comparison.error_max);
    wrong += compared.comparison.wrong;
    elements += compared.comparison.elements;
  }
  const auto number = [](double value) { return std::isfinite(value) ? Json(value) : Json("inf"); };
  return {{"error_max", number(error)},
          {"ratio_max", number(worst)},
          {"wrong", wrong},
          {"elements", elements},
          {"tensors", std::move(tensors)}};
}

// Why B's results are not those of A's program.
std::string why_wrong(Context& context, const CheckInput& input) {
  Candidates own;
  own.add(input, *input.results_b, input.order_b);
  const auto compared = interpret(context, input, *input.b, input.order_b, std::move(own));
  if (!compared) return "";
  const bool equal =
      std::all_of(compared->begin(), compared->end(), [](const auto& c) { return c.comparison.wrong == 0; });
  return equal ? "; B is equal to its own definition: the two programs define different results"
               : "; B differs from its own definition too";
}

std::string passed_text(bool good) { return good ? "" : "DIFFERENT: "; }

Result<Json> by_definition(Context& context, const CheckInput& input) {
  Candidates candidates;
  candidates.add(input, *input.results_a, input.order_a);
  const auto of_a = candidates.list.size();
  candidates.add(input, *input.results_b, input.order_a);
  KILN_TRY(const auto compared, interpret(context, input, *input.a, input.order_a, std::move(candidates)));
  const auto split = compared.begin() + std::ptrdiff_t(std::min(of_a, compared.size()));
  Json a = side_json(*input.a, {compared.begin(), split}), b = side_json(*input.a, {split, compared.end()});
  const bool a_good = a["wrong"] == 0, b_good = b["wrong"] == 0;
  std::string text = "A and B against the interpreter running A's program";
  if (!a_good) text += "; A is wrong";
  if (!b_good) text += "; B is wrong" + why_wrong(context, input);
  return Json{{"by", "definition"},
              {"text", passed_text(a_good && b_good) + text},
              {"passed", a_good && b_good},
              {"a", std::move(a)},
              {"b", std::move(b)}};
}

// A result's values, each as a double.
Result<std::vector<double>> values_of(const UniqueFd& file, const Operand& operand) {
  KILN_TRY(const auto bytes, read_all(file.get(), operand.bytes + 1));
  const auto load = bound::load_function(operand.dtype);
  const auto step = std::size_t(dtype_bytes(operand.dtype));
  std::vector<double> values;
  for (std::size_t at = 0; at + step <= bytes.size(); at += step) {
    const auto value = load(bytes.data() + at);
    values.push_back(is_float(operand.dtype) ? std::abs(value.real) : std::abs(double(value.integer)));
  }
  return values;
}

// B against A. `why`: the definition was not run.
Result<Json> by_a(const CheckInput& input, const std::string& why) {
  auto spec = reference::tolerance_of(*input.a);
  using Kind = reference::ToleranceClass;
  const bool needs_scale = spec.kind == Kind::gemm || (spec.kind == Kind::rowwise && spec.k > 0);
  if (needs_scale && spec.kind != Kind::gemm)
    return Json{
        {"by", "none"},
        {"passed", nullptr},
        {"a", nullptr},
        {"b", nullptr},
        {"text", "not checked: " + why + ", and what this program tolerates is known from the definition alone"}};
  Results scales;
  if (needs_scale) { KILN_TRY(scales, input.on_absolute_inputs()); }
  spec.operand_max = 8;  // seeded normals and small integers stay below it
  std::vector<reference::TensorComparison> compared;
  for (std::size_t i = 0; i < input.operands->size(); ++i) {
    const auto& operand = (*input.operands)[i];
    if (!(*input.results_a)[i]) continue;
    KILN_TRY(const auto want, read_all((*input.results_a)[i].get(), operand.bytes + 1));
    KILN_TRY(const auto got, read_all((*input.results_b)[i].get(), operand.bytes + 1));
    std::vector<double> scale;
    if (needs_scale && is_float(operand.dtype)) { KILN_TRY(scale, values_of(scales[i], operand)); }
    compared.push_back(
        {int(i),
         reference::compare(operand.dtype, {got.data(), operand.bytes}, {want.data(), operand.bytes}, scale, spec),
         spec});
  }
  auto b = side_json(*input.a, compared);
  const bool good = b["wrong"] == 0;
  return Json{{"by", "a"},
              {"text", passed_text(good) + "B against A within A's tolerance, A itself unchecked: " + why},
              {"passed", good},
              {"a", nullptr},
              {"b", std::move(b)}};
}

}  // namespace

Result<Json> check_sides(Context& context, const CheckInput& input) {
  const auto seconds = interpreter_seconds(work_of(*input.a));
  if (seconds > input.seconds)
    return by_a(input, "the interpreter is estimated to take " + number_text(seconds) + " s, more than --seconds " +
                           std::to_string(input.seconds));
  auto checked = by_definition(context, input);
  if (checked || checked.error().code != ErrorCode::deadline_exceeded) return checked;
  return by_a(input,
              "the interpreter did not end within " + std::to_string(std::max(10, overrun * input.seconds)) + " s");
}

}  // namespace kiln::cli
