#include "api/cli/compare_trial.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "api/cli/compare_counts.hpp"
#include "api/cli/paired_ratio.hpp"
#include "api/cli/terminal.hpp"
#include "api/service/report.hpp"
#include "engine/capture/capture.hpp"
#include "engine/ir/bound/symbols.hpp"

namespace kiln::cli {

using protocol::Json;

namespace {

// A sample of a short kernel is the median of several launches, which take about so long together.
constexpr double sample_ms = 4;
constexpr int launches_a_sample_max = 32;

std::string type_text(const Json& tensor) {
  if (tensor.value("scalar", false)) return "scalar " + tensor.value("dtype", "");
  std::string shape;
  for (const auto& extent : tensor["shape"]) shape += (shape.empty() ? "" : ",") + protocol::dump(extent);
  return tensor.value("dtype", "") + "[" + shape + "]";
}

std::string tensor_text(const Json& tensor) {
  return type_text(tensor) + (tensor.value("scalar", false) ? "" : ", " + tensor.value("access", ""));
}

std::string list_text(const Json& tensors) {
  std::string text;
  for (const auto& tensor : tensors)
    text += (text.empty() ? "" : "; ") + tensor.value("name", "") + " " + tensor_text(tensor);
  return text.empty() ? "nothing" : text;
}

// The sign bits of floats cleared: their absolute values.
void make_absolute(const Operand& operand) {
  const auto step = std::size_t(dtype_bytes(operand.dtype));
  for (std::size_t at = step - 1; at < operand.bytes; at += step) operand.mapping.data()[at] &= 0x7f;
}

}  // namespace

Trial::Trial(Context& context, const ComparePlan& plan, const SidePair& sides, std::string device)
    : context_(context), plan_(plan), sides_(sides), device_(std::move(device)) {
  emulated_ = device_.starts_with("emu:");
  a_.program = &sides_.a;
  b_.program = &sides_.b;
}

Trial::~Trial() {
  for (const auto& operand : operands_)
    if (operand.buffer != 0) (void)context_.ask("buffer.unregister", {{"buffer", operand.buffer}});
}

void Trial::progress(const std::string& text) const {
  if (context_.quiet || context_.json || !::isatty(STDERR_FILENO)) return;
  std::fprintf(stderr, "\r\033[K%s", printable(text).c_str());
  std::fflush(stderr);
}

Status Trial::compile_side(SideState& side) {
  Json request = side.program->params;
  KILN_TRY(const auto target, device_target(context_, device_));
  request["target"] = target;
  auto answer = context_.ask("kernel.compile", request);
  if (!answer) return side.program->located(context_, std::move(answer).error());
  side.compiled = std::move(*answer);
  KILN_TRY(side.symbols, symbol_values(context_, side.compiled["symbols"], request["set"]));
  KILN_TRY(auto explained, context_.ask("kernel.explain", {{"key", side.compiled["key"]}}));
  side.compiled["compiler"] = explained["compiler"];
  side.compiled["shared_tiles"] = explained["shared_tiles"];
  KILN_TRY(const auto bindings, service::read_bindings(request));
  KILN_TRY(const auto parsed, target::parse_target(side.compiled.value("target", "")));
  Budget budget(std::int64_t(1) << 28, {}, interrupt_token());
  KILN_TRY(const auto bound, specialize::specialize(*side.program->program, bindings, parsed, budget));
  KILN_TRY(const auto values, specialize::symbol_values(bound.symbols, bindings.set));
  KILN_TRY(side.bound, bound::with_values(bound, values));
  return ok();
}

Status Trial::compile() {
  KILN_CHECK(compile_side(a_));
  KILN_CHECK(compile_side(b_));
  return match_tensors();
}

// Whether both hold the same elements without gaps: a flat tensor and the same memory by rows.
bool same_memory(const bound::Tensor& a, const bound::Tensor& b) {
  const auto elements = [](const bound::Tensor& tensor) {
    std::int64_t product = 1;
    for (const auto extent : bound::values(tensor.shape)) product *= extent;
    return product;
  };
  const auto count = elements(a);
  return count == elements(b) && count == a.elements_span() && count == b.elements_span();
}

// The operand that is B's parameter: A's of that name, or a scalar of B's own; nothing: A has no such tensor. Errors: it
// is of another type.
Result<std::optional<std::size_t>> Trial::operand_of(const Json& parameter, std::size_t number) {
  const auto own = parameter.value("name", "");
  const auto name = plan_.renamed.value(own, own);
  const auto& a = a_.compiled["tensors"];
  const auto found = std::find_if(a.begin(), a.end(), [&](const Json& other) { return other["name"] == name; });
  if (found == a.end() && parameter.value("scalar", false)) {
    parameters_.push_back(parameter);
    return std::optional(parameters_.size() - 1);
  }
  if (found == a.end()) return std::optional<std::size_t>();
  const std::optional at = std::size_t(found - a.begin());
  if (tensor_text(*found) == tensor_text(parameter)) return at;
  const bool same_kind = found->value("scalar", false) == parameter.value("scalar", false) &&
                         (*found)["dtype"] == parameter["dtype"] && (*found)["access"] == parameter["access"];
  if (same_kind && same_memory(a_.bound->tensors[*at], b_.bound->tensors[number])) {
    reshaped_ += (reshaped_.empty() ? "" : "; ") + name + " is " + type_text(*found) + " for A and " +
                 type_text(parameter) + " for B";
    return at;
  }
  return Error(ErrorCode::invalid_argument, "A (" + sides_.a.known_as + ") and B (" + sides_.b.known_as +
                                                ") differ in " + name + ": A has " + tensor_text(*found) +
                                                ", B has " + tensor_text(parameter));
}

// By name; each tensor of one side is the other's, too. A scalar may be of one side alone.
Status Trial::match_tensors() {
  const auto &a = a_.compiled["tensors"], &b = b_.compiled["tensors"];
  parameters_ = a;
  reshaped_.clear();
  a_.order.clear();
  b_.order.clear();
  for (std::size_t i = 0; i < a.size(); ++i) a_.order.push_back(i);
  for (const auto& [own, name] : plan_.renamed.items()) {
    const auto named = [&, key = own](const Json& tensor) { return tensor["name"] == key; };
    if (std::none_of(b.begin(), b.end(), named))
      return context_.usage_error("--rename " + own + "=" + name.get<std::string>() + ": B (" + sides_.b.known_as +
                                  ") takes " + list_text(b));
  }
  std::vector<bool> taken(a.size());
  bool same = true;
  for (std::size_t i = 0; same && i < b.size(); ++i) {
    KILN_TRY(const auto operand, operand_of(b[i], i));
    same = operand && (*operand >= a.size() || !taken[*operand]);
    if (!same) break;
    if (*operand < a.size()) taken[*operand] = true;
    b_.order.push_back(*operand);
  }
  for (std::size_t i = 0; i < a.size(); ++i) same = same && (taken[i] || a[i].value("scalar", false));
  if (same) return ok();
  return Error(ErrorCode::invalid_argument, "A and B do not take the same tensors, by name: A (" + sides_.a.known_as +
                                                ") takes " + list_text(a) + "; B (" + sides_.b.known_as + ") takes " +
                                                list_text(b) + " (--rename NAME_OF_B=NAME_OF_A where one is another's)");
}

Work Trial::work() const {
  auto work = work_of(*a_.bound);
  const auto of_b = work_of(*b_.bound);
  work.products += of_b.products;
  work.elements += of_b.elements;
  return work;
}

void Trial::fill_written() {
  for (const auto& operand : operands_)
    if (operand.written && !operand.scalar)
      capture::generate(operand.dtype, operand.read, *operand.seed, {operand.mapping.data(), operand.bytes});
}

// In the order of the kernel's parameters: the names of a kernel that is found by its key may be another program's.
Json Trial::arguments(const SideState& side) const {
  Json list = Json::array();
  for (const auto at : side.order) {
    const auto& operand = operands_[at];
    list.push_back(operand.scalar ? operand.value : Json{{"buffer", operand.buffer}});
  }
  return list;
}

Result<Json> Trial::launch(const SideState& side) {
  Json request = emulated_ ? side.program->params : Json{{"key", side.compiled["key"]}};
  if (emulated_) request["target"] = side.compiled["target"];
  request["device"] = device_;
  request["args"] = arguments(side);
  if (!side.symbols.empty()) request["symbols"] = side.symbols;
  request["deadline_ms"] = std::int64_t(plan_.words.launch_seconds) * 1000;
  auto answer = context_.ask(emulated_ ? "kernel.profile" : "kernel.launch", std::move(request));
  if (!answer) {
    auto error = side.program->located(context_, std::move(answer).error());
    if (error.code == ErrorCode::deadline_exceeded)
      error.message += ": one launch may take " + std::to_string(plan_.words.launch_seconds) + " s (--launch-seconds)";
    return error;
  }
  return answer;
}

Result<Results> Trial::copy_results() const {
  Results results;
  for (const auto& operand : operands_) {
    results.emplace_back();
    if (operand.scalar || !operand.written) continue;
    KILN_TRY(results.back(), create_memfd("kiln-result", 0));
    KILN_CHECK(write_all(results.back().get(), ByteView(operand.mapping.data(), operand.bytes)));
  }
  return results;
}

// One launch of each on the same contents; what an emulated card counts comes with it.
Status Trial::first_runs() {
  for (auto* side : {&a_, &b_}) {
    fill_written();
    KILN_TRY(const auto answer, launch(*side));
    side->first_ms = answer.value("duration_ms", 0.0);
    for (const char* name : {"key", "compile_ms", "compiler", "resources", "launches", "shared_tiles"})
      side->row[name] = side->compiled[name];
    if (emulated_) add_counts(answer, side->row);
    KILN_TRY(side->results, copy_results());
  }
  return ok();
}

Result<Results> Trial::on_absolute_inputs() {
  fill_written();
  for (const auto& operand : operands_)
    if (operand.read && !operand.scalar && is_float(operand.dtype)) make_absolute(operand);
  auto answer = launch(a_);
  auto results = copy_results();
  for (const auto& operand : operands_)
    if (operand.read && !operand.scalar)
      capture::generate(operand.dtype, true, *operand.seed, {operand.mapping.data(), operand.bytes});
  KILN_CHECK(answer ? ok() : Status(answer.error()));
  return results;
}

Result<Json> Trial::check() {
  if (plan_.words.no_check)
    return Json{
        {"by", "none"}, {"text", "not checked: --no-check"}, {"passed", nullptr}, {"a", nullptr}, {"b", nullptr}};
  fill_written();
  CheckInput input;
  input.a = &*a_.bound;
  input.b = &*b_.bound;
  input.operands = &operands_;
  input.order_a = a_.order;
  input.order_b = b_.order;
  input.results_a = &a_.results;
  input.results_b = &b_.results;
  input.seconds = plan_.words.seconds;
  input.on_absolute_inputs = [this] { return on_absolute_inputs(); };
  auto checked = check_sides(context_, input);
  if (!checked && checked.error().code == ErrorCode::program_invalid)  // what the interpreter found in A's program
    return sides_.a.located(context_, std::move(checked).error());
  return checked;
}

Status Trial::time_rounds(const std::string& where, Json& row) {
  const double longest = std::max({a_.first_ms, b_.first_ms, 1e-6});
  const int launches = int(std::clamp(sample_ms / longest, 1.0, double(launches_a_sample_max)));
  const bool accumulates =
      std::any_of(operands_.begin(), operands_.end(), [](const auto& o) { return o.read && o.written; });
  std::vector<double> a, b;
  for (int round = 0; round < plan_.words.rounds; ++round) {
    for (const int turn : {0, 1}) {
      const bool first = (turn == 0) == (round % 2 == 0);  // A B, B A, …
      std::vector<double> times;
      for (int i = 0; i < launches; ++i) {
        if (interrupt_token().cancelled()) return Error(ErrorCode::cancelled, "interrupted");
        if (accumulates) fill_written();
        progress(where + ": round " + std::to_string(round + 1) + " of " + std::to_string(plan_.words.rounds));
        KILN_TRY(const auto answer, launch(first ? a_ : b_));
        times.push_back(std::max(answer.value("duration_ms", 0.0), 1e-6));
      }
      (first ? a : b).push_back(quantile(times, 0.5));
    }
  }
  for (auto* side : {&a_, &b_}) {
    const auto& samples = side == &a_ ? a : b;
    const auto spread = spread_of(samples);
    side->row["ms"] = {{"median", spread.median}, {"q1", spread.q1}, {"q3", spread.q3}, {"samples", samples}};
  }
  const auto ratio = paired_ratio(a, b);
  const bool same = row["same_kernel"].get<bool>();
  const auto verdict = same ? Verdict::no_difference : verdict_of(ratio);
  row["improvement"] = {{"ratio", ratio.ratio},
                        {"q1", ratio.q1},
                        {"q3", ratio.q3},
                        {"rounds", ratio.rounds},
                        {"rounds_faster", ratio.faster},
                        {"rounds_slower", ratio.slower},
                        {"launches_a_sample", launches}};
  row["verdict"] = verdict == Verdict::faster ? "faster" : verdict == Verdict::slower ? "slower" : "no difference";
  row["verdict_text"] = verdict_text(verdict) + (same ? " (A and B are one kernel)" : "");
  return ok();
}

Result<Json> Trial::run(const std::string& where) {
  progress(where);
  Named named;
  named.inputs = named.outputs = Json::object();
  named.scalars = plan_.scalars;
  auto both = a_.compiled;
  both["tensors"] = parameters_;
  KILN_TRY(operands_, prepare_operands(context_, named, plan_.words.seed, sides_.a.known_as, both));
  Json row{{"device", device_},
           {"target", a_.compiled["target"]},
           {"emulated", emulated_},
           {"kind", emulated_ ? "counted" : "timed"},
           {"same_kernel", a_.compiled["key"] == b_.compiled["key"]}};
  const auto& tensors = a_.compiled["tensors"];
  row["reshaped"] = reshaped_;
  row["first_tensor"] = tensors.empty() ? "" : tensors[0].value("name", "") + " " + type_text(tensors[0]);
  KILN_CHECK(first_runs());
  progress(where + ": checking");
  KILN_TRY(row["check"], check());
  if (!emulated_) KILN_CHECK(time_rounds(where, row));
  if (emulated_) row.update(counted_verdict(a_.row["counts"], b_.row["counts"]));
  for (auto* side : {&a_, &b_}) side->row["first_ms"] = side->first_ms;
  row["a"] = std::move(a_.row);
  row["b"] = std::move(b_.row);
  progress("");
  return row;
}

}  // namespace kiln::cli
