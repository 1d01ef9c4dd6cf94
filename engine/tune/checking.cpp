#include "engine/tune/checking.hpp"

#include <algorithm>
#include <cmath>

#include "engine/ir/bound/arithmetic.hpp"
#include "engine/tune/shape_class.hpp"
#include "engine/tune/work.hpp"

namespace kiln::tune {
namespace {

constexpr std::int64_t specialize_budget = std::int64_t(32) << 20;
constexpr std::uint64_t results_held_max = std::uint64_t(256) << 20;
constexpr std::size_t launches_checked_max = 200;   // of one interpretation: each brings descriptors

std::int64_t halved(std::int64_t size) {
  const bool whole = size % whole_piece == 0;
  auto half = size / 2;
  if (whole) return std::max((half + whole_piece - 1) / whole_piece * whole_piece, exact_size_max + whole_piece);
  if (half % whole_piece == 0) ++half;
  return std::max(half, exact_size_max + 1);
}

std::optional<std::string> mistake(const std::string& tensor, const reference::Comparison& c) {
  if (c.wrong == 0) return std::nullopt;
  char ratio[32];
  std::snprintf(ratio, sizeof ratio, "%.3g", c.ratio_max);
  return tensor + ": " + std::to_string(c.wrong) + " of " + std::to_string(c.elements) +
         " elements are wrong, the first at " + std::to_string(c.first_wrong) + ", by up to " + ratio + " tolerances";
}

std::optional<std::string> mistake(const bound::Program& program, const jit::Session::VerifyResult& result) {
  for (std::size_t i = 0; i < result.tensors.size(); ++i)
    if (result.tensors[i])
      if (auto text = mistake(program.tensors[i].name, *result.tensors[i])) return text;
  return std::nullopt;
}

// The values' magnitudes in place of a tensor of floats; the largest of them.
double make_absolute(const bound::Tensor& tensor, std::span<std::uint8_t> bytes) {
  double largest = 1;
  const auto load = bound::load_function(tensor.dtype);
  const auto store = bound::store_function(tensor.dtype);
  const auto step = static_cast<std::size_t>(dtype_bytes(tensor.dtype));
  for (std::size_t at = 0; at + step <= bytes.size(); at += step) {
    auto value = load(bytes.data() + at);
    value.real = std::fabs(value.real);
    if (std::isfinite(value.real)) largest = std::max(largest, value.real);
    store(bytes.data() + at, value);
  }
  return largest;
}

double finite_magnitude(double value) { return std::isfinite(value) ? std::fabs(value) : 0; }

Error not_right(LaunchEnd end, const std::string& what) {
  return std::move(end.error).with("it is of " + what);
}

}  // namespace

std::optional<specialize::Bindings> smaller_bindings(const tile::Program& program, const specialize::Bindings& bindings,
                                                     const jit::Words& fixed, const target::Target& target,
                                                     std::int64_t steps_max) {
  auto smaller = bindings;
  for (const auto& [name, value] : fixed) smaller.set[name] = value;
  for (;;) {
    std::string* largest = nullptr;
    std::int64_t size = exact_size_max;
    for (const auto& symbol : program.symbols) {
      const auto found = smaller.set.find(symbol.name);
      if (found == smaller.set.end()) continue;
      const auto value = std::strtoll(found->second.c_str(), nullptr, 10);
      if (value > size && halved(value) < value) size = value, largest = &found->second;
    }
    if (largest == nullptr) return std::nullopt;
    *largest = std::to_string(halved(size));
    Budget budget(specialize_budget);
    const auto bound = specialize::specialize(program, smaller, target, budget);
    if (bound && interpreter_steps(*bound) <= steps_max) return smaller;
  }
}

Result<std::unique_ptr<Checker>> Checker::create(jit::Session& session, const jit::TuneRequest& request,
                                                 const jit::CompileOutcome& base, Bench& bench,
                                                 const LaunchLimits& limits) {
  std::unique_ptr<Checker> checker(new Checker(session, request, base, bench, limits));
  checker->steps_ = interpreter_steps(*base.program);
  checker->tolerance_ = reference::tolerance_of(*base.program);
  checker->against_ = "the interpreter";
  if (checker->steps_ <= interpreter_steps_max) return checker;
  KILN_TRY(const auto target, target::parse_target(request.base.target));
  KILN_TRY(const auto resolved, specialize::describe_bindings(*request.base.program, request.base.bindings, target));
  jit::Words tunables;
  for (const auto& binding : resolved)
    if (binding.kind == "tunable") tunables[binding.name] = binding.value;
  auto bindings =
      smaller_bindings(*request.base.program, request.base.bindings, tunables, target, interpreter_steps_max);
  if (!bindings) return checker;   // the interpreter has to try
  auto smaller = request.base;
  smaller.bindings = std::move(*bindings);
  KILN_TRY(const bool checked, checker->check_smaller(smaller));
  std::string at = "the defaults' result, whose kernel the interpreter checked at";
  for (const auto& symbol : request.base.program->symbols)
    if (const auto size = smaller.bindings.set.find(symbol.name); size != smaller.bindings.set.end())
      at += " " + symbol.name + "=" + size->second;
  KILN_CHECK(checker->use_defaults(checked ? at : checker->unchecked()));
  return checker;
}

Deadline Checker::interpreter_deadline() const {
  return limits_.deadline.earlier(Deadline::after(request_.interpreter_limit));
}

bool Checker::took_too_long(const Error& error) const {
  return error.code == ErrorCode::deadline_exceeded && !limits_.deadline.passed();
}

std::string Checker::unchecked() const {
  return "the defaults' result, which nothing checked: the interpreter was not done after " +
         std::to_string(request_.interpreter_limit.count()) + " ms";
}

Status Checker::use_defaults(std::string against) {
  KILN_CHECK(take_error_scale());
  bench_.restore();
  auto end = bench_.launch(base_.kernel, limits_);
  if (end.how != LaunchEnd::How::done) return not_right(std::move(end), "the defaults");
  KILN_TRY(defaults_, bench_.results());
  against_ = std::move(against);
  return ok();
}

Result<bool> Checker::check_smaller(const jit::CompileRequest& smaller) {
  KILN_TRY(const auto compiled, session_.compile_now(smaller));
  KILN_TRY(auto inputs, request_.inputs(*compiled.program));
  KILN_TRY(auto bench, Bench::open(session_, request_.device, *compiled.program, std::move(inputs), request_.account));
  bench->restore();
  auto end = bench->launch(compiled.kernel, limits_);
  if (end.how != LaunchEnd::How::done) return not_right(std::move(end), "the defaults at a smaller shape");
  KILN_TRY(const auto results, bench->results());
  const auto verified = session_.verify(*compiled.program, bench->before(), bench->after(results),
                                        interpreter_deadline(), limits_.cancel);
  if (!verified && took_too_long(verified.error())) return false;
  if (!verified) return verified.error();
  if (const auto wrong = mistake(*compiled.program, *verified))
    return Error(ErrorCode::launch_failed,
                 "the defaults compute another result than the definition at a smaller shape: " + *wrong);
  return true;
}

// Σ|a·b| behind an element is what the program makes of its inputs' magnitudes, but for what rounds on the way.
Status Checker::take_error_scale() {
  scale_.resize(base_.program->tensors.size());
  if (tolerance_.k == 0) return ok();
  std::vector<jit::TuneInput> magnitudes;
  std::vector<std::shared_ptr<const void>> counted;
  for (std::size_t i = 0; i < bench_.inputs().size(); ++i) {
    const auto& tensor = base_.program->tensors[i];
    const auto& input = bench_.inputs()[i];
    jit::TuneInput copy{UniqueFd(), input.bytes, input.scalar};
    if (!tensor.scalar) {
      KILN_TRY(auto share, request_.account(input.bytes));
      counted.push_back(std::move(share));
      KILN_TRY(copy.memory, create_memfd("kiln-tune-magnitudes", std::max<std::size_t>(input.bytes, 1)));
      KILN_TRY(const auto mapped, Mapping::map(copy.memory.get(), std::max<std::size_t>(input.bytes, 1), true));
      std::memcpy(mapped.data(), bench_.input(i).data(), input.bytes);
      if (is_float(tensor.dtype) && tensor.access != Access::write)
        tolerance_.operand_max = std::max(tolerance_.operand_max, make_absolute(tensor, {mapped.data(), input.bytes}));
    }
    magnitudes.push_back(std::move(copy));
  }
  KILN_TRY(auto bench, Bench::open(session_, request_.device, *base_.program, std::move(magnitudes), request_.account));
  bench->restore();
  auto end = bench->launch(base_.kernel, limits_);
  if (end.how != LaunchEnd::How::done) return not_right(std::move(end), "the defaults on their inputs' magnitudes");
  KILN_TRY(const auto results, bench->results());
  for (std::size_t i = 0; i < results.memory.size(); ++i) {
    const auto& tensor = base_.program->tensors[i];
    if (!results.memory[i] || !is_float(tensor.dtype)) continue;
    KILN_TRY(const auto bytes, read_all(results.memory[i].get(), std::size_t(1) << 40));
    const auto load = bound::load_function(tensor.dtype);
    const auto step = static_cast<std::size_t>(dtype_bytes(tensor.dtype));
    for (std::size_t at = 0; at + step <= bytes.size() && scale_[i].size() < std::size_t(tensor.elements_span());
         at += step)
      scale_[i].push_back(finite_magnitude(load(bytes.data() + at).real));
  }
  tolerance_.k = 2 * tolerance_.k + 8;   // both results round: (K + 8) of each
  return ok();
}

std::size_t Checker::batch() const {
  if (defaults_) return 1;
  const auto bytes = std::max<std::uint64_t>(bench_.written_bytes(), 1);
  return std::clamp<std::size_t>(static_cast<std::size_t>(results_held_max / bytes), 1, launches_checked_max);
}

Result<std::vector<reference::Comparison>> Checker::compare(const Results& results) const {
  std::vector<reference::Comparison> all(results.memory.size());
  for (std::size_t i = 0; i < results.memory.size(); ++i) {
    if (!results.memory[i]) continue;
    const auto& tensor = base_.program->tensors[i];
    const auto bytes = static_cast<std::size_t>(tensor.bytes());
    if (bytes == 0) continue;
    KILN_TRY(const auto got, Mapping::map(results.memory[i].get(), bytes, false));
    KILN_TRY(const auto want, Mapping::map(defaults_->memory[i].get(), bytes, false));
    all[i] = reference::compare(tensor.dtype, got.bytes(), want.bytes(), scale_[i], tolerance_);
  }
  return all;
}

Result<std::vector<std::optional<std::string>>> Checker::check_by_definition(const std::vector<Results>& results) {
  std::vector<std::vector<jit::Session::VerifyArgument>> after;
  for (const auto& one : results) after.push_back(bench_.after(one));
  KILN_TRY(const auto verified,
           session_.verify_all(*base_.program, bench_.before(), after, interpreter_deadline(), limits_.cancel));
  std::vector<std::optional<std::string>> mistakes;
  for (const auto& one : verified) mistakes.push_back(mistake(*base_.program, one));
  return mistakes;
}

Result<std::vector<std::optional<std::string>>> Checker::check(const std::vector<Results>& results) {
  if (!defaults_) {
    auto checked = check_by_definition(results);
    if (checked || !took_too_long(checked.error())) return checked;
    KILN_CHECK(use_defaults(unchecked()));
  }
  std::vector<std::optional<std::string>> mistakes;
  for (const auto& one : results) {
    KILN_TRY(const auto compared, compare(one));
    mistakes.emplace_back();
    for (std::size_t i = 0; i < compared.size() && !mistakes.back(); ++i)
      mistakes.back() = mistake(base_.program->tensors[i].name, compared[i]);
  }
  return mistakes;
}

}  // namespace kiln::tune
