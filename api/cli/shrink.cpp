#include "api/cli/shrink.hpp"

#include <algorithm>
#include <charconv>

#include "api/cli/backend.hpp"
#include "engine/compile/launch_sizes.hpp"
#include "engine/ir/bound/symbols.hpp"

namespace kiln::cli {

namespace {

constexpr int tries_max = 200;

// One size that can be made smaller: a symbol, or one side of a grid.
struct Size {
  std::string name;
  std::int64_t value = 0, least = 1, step = 1;
};
using Sizes = std::vector<Size>;
using Shows = std::function<Result<bool>(const Sizes&)>;

std::int64_t half(const Size& size) {
  const auto halved = size.value / 2 / size.step * size.step;
  return std::max(halved, size.least);
}

// `sizes` show it; sets them to the smallest that do, as far as halving and then bisecting each finds them.
Status minimize(Sizes& sizes, const Shows& shows) {
  const auto try_sizes = [&](const Sizes& tried) -> Result<bool> {
    KILN_TRY(const bool shown, shows(tried));
    if (shown) sizes = tried;
    return shown;
  };
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (std::size_t i = 0; i <= sizes.size(); ++i) {  // the last round: all together
      for (bool shown = true; shown;) {
        auto tried = sizes;
        bool changed = false;
        for (std::size_t k = 0; k < tried.size(); ++k) {
          if (i != k && i != sizes.size()) continue;
          const auto value = half(tried[k]);
          changed = changed || value < tried[k].value;
          tried[k].value = std::min(value, tried[k].value);
        }
        if (!changed) break;
        KILN_TRY(shown, try_sizes(tried));
        smaller = smaller || shown;
      }
    }
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {  // between half, which shows nothing, and the size that does
    auto low = half(sizes[i]) / sizes[i].step, high = sizes[i].value / sizes[i].step;
    while (low + 1 < high) {
      auto tried = sizes;
      const auto middle = low + (high - low) / 2;
      tried[i].value = middle * tried[i].step;
      KILN_TRY(const bool shown, try_sizes(tried));
      (shown ? high : low) = middle;
    }
  }
  return ok();
}

std::string sizes_text(const Sizes& sizes) {
  std::string line;
  for (const auto& s : sizes) line += (line.empty() ? "" : " ") + s.name + "=" + std::to_string(s.value);
  return line;
}

// The part of `from` that lies within the smaller tensor, by index; elements that the larger one lacks are 0.
Bytes crop(const compile::TensorInfo& from, const Bytes& bytes, const compile::TensorInfo& to) {
  Bytes out(std::size_t(std::max<std::int64_t>(to.bytes.value(), 0)), 0);
  const auto rank = to.shape.size();
  const auto step = std::int64_t(dtype_bytes(to.dtype));
  if (from.shape.size() != rank || from.dtype != to.dtype || from.strides.size() != rank || to.strides.size() != rank) return out;
  if (std::any_of(to.shape.begin(), to.shape.end(), [](const auto& n) { return n.value() <= 0; })) return out;
  std::vector<std::int64_t> index(rank, 0);
  for (;;) {
    std::int64_t source = 0, target = 0;
    bool inside = true;
    for (std::size_t i = 0; i < rank; ++i) {
      inside = inside && index[i] < from.shape[i].value();
      source += index[i] * from.strides[i].value();
      target += index[i] * to.strides[i].value();
    }
    source *= step;
    target *= step;
    if (inside && source >= 0 && target >= 0 && source + step <= std::int64_t(bytes.size()) && target + step <= std::int64_t(out.size()))
      std::memcpy(out.data() + target, bytes.data() + source, std::size_t(step));
    std::size_t axis = rank;
    while (axis > 0 && ++index[axis - 1] == to.shape[axis - 1].value()) index[--axis] = 0;
    if (axis == 0) return out;
  }
}

class Shrinker {
 public:
  Shrinker(jit::Session& session, const capture::CaptureFile& file, const RunResult& full, const RunSettings& settings,
           const std::function<void(const std::string&)>& progress)
      : session_(session), file_(file), settings_(settings), progress_(progress), failed_(full.failed()) {
    if (failed_) wanted_ = full.finding();
    best_.result = full;
    settings_.count = false;
  }

  Result<Shrunk> run() {
    KILN_TRY(full_, launchable(file_));
    best_.launch = full_;
    best_.set = file_.capture().set;
    auto program = captured_program(file_.capture());
    if (program) {
      program_ = std::move(*program);
      KILN_TRY(const bool shown, by_symbols());
      if (shown) return std::move(best_);
      best_.note = "compiled by this build at the captured sizes, the program does not show it: the captured object itself is shrunk";
    } else {
      best_.note = "the capture holds no program: the captured object itself is shrunk";
    }
    if (!failed_)
      return Error(ErrorCode::unsupported, best_.note + "; a difference from the interpreter cannot be shown on part of a grid");
    KILN_CHECK(by_grid());
    return std::move(best_);
  }

 private:
  // Whether this is what is looked for.
  [[nodiscard]] bool same_finding(const RunResult& result) const {
    if (!failed_) return !result.failed() && result.differs_from_interpreter();
    if (!result.failed()) return false;
    const auto found = result.finding();
    return found.kind == wanted_.kind && found.kernel == wanted_.kernel;
  }
  Result<bool> run_and_keep(Launchable launch, const bound::Program* interpret, const std::map<std::string, std::string>& set) {
    auto settings = settings_;
    settings.interpret = failed_ ? nullptr : interpret;
    auto result = run_launch(session_, launch, settings);
    if (!result && result.error().code == ErrorCode::cancelled) return std::move(result).error();
    if (!result || !same_finding(*result)) return false;
    best_.launch = std::move(launch);
    best_.set = set;
    best_.result = std::move(*result);
    return true;
  }
  Result<bool> count_try(const Sizes& sizes) {
    if (interrupt_token().cancelled()) return Error(ErrorCode::cancelled, "cancelled");
    if (best_.tries >= tries_max) return false;
    ++best_.tries;
    progress_(sizes_text(sizes));
    return true;
  }

  Result<bool> try_symbols(const Sizes& sizes) {
    KILN_TRY(const bool allowed, count_try(sizes));
    if (!allowed) return false;
    jit::CompileRequest request;
    request.program = program_.program;
    request.bindings = program_.bindings;
    for (const auto& s : sizes) request.bindings.set[s.name] = std::to_string(s.value);
    request.target = program_.target;
    request.cancel = interrupt_token();
    const auto set = request.bindings.set;
    auto compiled = session_.compile_now(std::move(request));
    if (!compiled) return compiled.error().code == ErrorCode::cancelled ? Result<bool>(std::move(compiled).error()) : Result<bool>(false);
    const auto values = specialize::symbol_values(compiled->program->symbols, set);
    if (!values) return false;
    KILN_TRY(auto metadata, compile::with_values(compiled->kernel->metadata, *values));
    Launchable launch{std::move(metadata), compiled->kernel->stored->object, {}};
    if (launch.metadata.tensors.size() != full_.metadata.tensors.size()) return false;
    const std::size_t parameters = launch.metadata.tensors.size() - values->size();
    for (std::size_t i = 0; i < parameters; ++i) {
      auto& to = launch.metadata.tensors[i];
      to.name = full_.metadata.tensors[i].name;
      launch.arguments.push_back(to.scalar ? full_.arguments[i] : crop(full_.metadata.tensors[i], full_.arguments[i], to));
    }
    for (const auto value : *values) launch.arguments.push_back(compile::symbol_argument(value));
    KILN_TRY(const auto program, bound::with_values(*compiled->program, *values));
    return run_and_keep(std::move(launch), &program, set);
  }

  Result<bool> by_symbols() {
    Sizes sizes;
    for (const auto& symbol : program_.program->symbols) {
      const auto given = program_.bindings.set.find(symbol.name);
      if (given == program_.bindings.set.end()) continue;
      Size size{symbol.name, 0, 1, std::max<std::int64_t>(symbol.multiple_of, 1)};
      const auto& text = given->second;
      if (std::from_chars(text.data(), text.data() + text.size(), size.value).ec != std::errc()) continue;
      const auto least = std::max<std::int64_t>(symbol.min.value_or(1), 1);
      size.least = (least + size.step - 1) / size.step * size.step;
      if (size.value >= size.least) sizes.push_back(std::move(size));
    }
    KILN_TRY(const bool shown, try_symbols(sizes));
    if (!shown) return false;
    best_.recompiled = true;
    best_.before = sizes_text(sizes);
    KILN_CHECK(minimize(sizes, [this](const Sizes& tried) { return try_symbols(tried); }));
    best_.after = sizes_text(sizes);
    return true;
  }

  Status by_grid() {
    auto& launches = full_.metadata.launches;
    const auto faulty = std::find_if(launches.begin(), launches.end(), [this](const auto& l) { return l.symbol == wanted_.kernel; });
    if (faulty == launches.end()) return Error(ErrorCode::unsupported, "the fault names no grid of the kernel that could be made smaller");
    const auto which = std::size_t(faulty - launches.begin());
    Sizes sizes;
    for (std::size_t i = 0; i < faulty->grid.size() && i < 3; ++i)
      sizes.push_back({std::string("grid.") + "xyz"[i], faulty->grid[i].value(), 1, 1});
    best_.before = sizes_text(sizes);
    KILN_CHECK(minimize(sizes, [&](const Sizes& tried) -> Result<bool> {
      KILN_TRY(const bool allowed, count_try(tried));
      if (!allowed) return false;
      auto launch = full_;
      for (std::size_t i = 0; i < tried.size(); ++i) launch.metadata.launches[which].grid[i] = tried[i].value;
      return run_and_keep(std::move(launch), nullptr, file_.capture().set);
    }));
    best_.after = sizes_text(sizes);
    return ok();
  }

  jit::Session& session_;
  const capture::CaptureFile& file_;
  RunSettings settings_;
  const std::function<void(const std::string&)>& progress_;
  bool failed_;
  capture::Finding wanted_;
  CapturedProgram program_;
  Launchable full_;
  Shrunk best_;
};

}  // namespace

Result<Shrunk> shrink(jit::Session& session, const capture::CaptureFile& file, const RunResult& full, const RunSettings& settings,
                      const std::function<void(const std::string&)>& progress) {
  return Shrinker(session, file, full, settings, progress).run();
}

}  // namespace kiln::cli
