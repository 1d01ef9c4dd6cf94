#include "engine/specialize/settings.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "engine/base/bytes.hpp"
#include "engine/ir/tile/nearest_name.hpp"

namespace kiln::specialize {
namespace {

constexpr std::int64_t size_max = (std::int64_t(1) << 31) - 1, align_bytes_max = 16;
constexpr std::int64_t tensor_bytes_max = std::int64_t(1) << 62;
__extension__ typedef __int128 Wide;

std::optional<std::int64_t> parse_integer(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string quoted(const std::string& text) { return "'" + make_valid_utf8(text.substr(0, 64)) + "'"; }

class Settings {
 public:
  Settings(BindContext& context, const tile::Program& program, const Bindings& bindings, bool sample)
      : context_(context), program_(program), bindings_(bindings), sample_(sample), binder_(context) {}

  std::vector<ResolvedBinding> run() {
    unknown_names();
    for (const auto& symbol : program_.symbols) bind_symbol(symbol);
    for (const auto& option : program_.options) bind_option(option);
    for (const auto& tunable : program_.tunables) bind_tunable(tunable);
    if (settled_) constraints();
    return std::move(resolved_);
  }

 private:
  void mistake(const std::string& pointer, About about, Finding finding) {
    context_.findings.add(pointer, about, std::move(finding));
  }

  const std::string* given(const std::string& name) const {
    const auto found = bindings_.set.find(name);
    return found == bindings_.set.end() ? nullptr : &found->second;
  }

  void unknown_names() {
    std::vector<std::string> known;
    for (const auto& symbol : program_.symbols) known.push_back(symbol.name);
    for (const auto& option : program_.options) known.push_back(option.name);
    for (const auto& tunable : program_.tunables) known.push_back(tunable.name);
    for (const auto& [name, value] : bindings_.set) {
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      std::string hint = tile::nearest_hint(name, known);
      mistake("/bindings/set/" + make_valid_utf8(name.substr(0, 64)), About::structure,
              {"the program has no symbol, option or tunable " + quoted(name), tile::name_list(known), "",
               std::move(hint)});
    }
  }

  void declare(const char* kind, const std::string& name, Value value, std::string text, bool was_given) {
    if (!value) settled_ = false;
    if (value) resolved_.push_back({kind, name, std::move(text), was_given});
    context_.names.declare(name, std::move(value));
  }

  static std::int64_t sample_size(const tile::Symbol& symbol) {
    const std::int64_t least =
        std::max<std::int64_t>({symbol.min.value_or(1), std::min<std::int64_t>(256, symbol.max.value_or(256)), 1});
    const std::int64_t up = symbol.multiple_of - 1;
    return least > size_max - up ? least : (least + up) / symbol.multiple_of * symbol.multiple_of;
  }

  void bind_symbol(const tile::Symbol& symbol) {
    const std::string pointer = "/bindings/symbols/" + symbol.name;
    const std::string* text = given(symbol.name);
    if (!text && !sample_) {
      mistake(pointer, About::structure,
              {"the symbol '" + symbol.name + "' has no value", "an integer from 0 to 2147483647", "nothing",
               "set " + symbol.name + "=…"});
      return declare("symbol", symbol.name, {}, "", false);
    }
    const auto value = text ? parse_integer(*text) : std::optional(sample_size(symbol));
    if (!value || *value < 0 || *value > size_max) {
      mistake(
          pointer, About::structure,
          {"the symbol '" + symbol.name + "' is a size", "an integer from 0 to 2147483647", quoted(text ? *text : "")});
      return declare("symbol", symbol.name, {}, "", true);
    }
    if (*value % symbol.multiple_of != 0)
      mistake(pointer, About::size,
              {"the program promises that '" + symbol.name + "' is a multiple of " + std::to_string(symbol.multiple_of),
               "a multiple of " + std::to_string(symbol.multiple_of), std::to_string(*value)});
    if ((symbol.min && *value < *symbol.min) || (symbol.max && *value > *symbol.max))
      mistake(pointer, About::size,
              {"the program promises a range for '" + symbol.name + "'",
               std::to_string(symbol.min.value_or(0)) + " to " + std::to_string(symbol.max.value_or(size_max)),
               std::to_string(*value)});
    declare("symbol", symbol.name, integer_value(*value), std::to_string(*value), text != nullptr);
  }

  void bind_option(const tile::Option& option) {
    for (const auto& choice : option.choices)
      if (option.kind == tile::Option::Kind::name && !context_.names.find(choice))
        context_.names.declare(choice, word_value(choice));
    const std::string* text = given(option.name);
    Value value = text ? given_option(option, *text) : default_option(option);
    std::string shown;
    if (value.kind == Value::Kind::type) shown = dtype_name(value.dtype);
    if (value.kind == Value::Kind::word) shown = value.text;
    if (value.is_typed()) shown = value.expr->integer ? "true" : "false";
    declare("option", option.name, std::move(value), shown, text != nullptr);
  }

  Value given_option(const tile::Option& option, const std::string& text) {
    const std::string pointer = "/bindings/options/" + option.name;
    if (option.kind == tile::Option::Kind::boolean) {
      if (text == "true" || text == "1") return boolean_value(true);
      if (text == "false" || text == "0") return boolean_value(false);
      mistake(pointer, About::structure,
              {"the option '" + option.name + "' is a boolean", "true or false", quoted(text)});
      return {};
    }
    std::vector<std::string> choices = option.choices;
    if (choices.empty())
      for (int i = 0; i < static_cast<int>(DType::index); ++i) choices.emplace_back(dtype_name(static_cast<DType>(i)));
    if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
      mistake(pointer, About::structure,
              {"the option '" + option.name + "' cannot be " + quoted(text), tile::name_list(choices), quoted(text),
               tile::nearest_hint(text, choices)});
      return {};
    }
    if (option.kind == tile::Option::Kind::name) return word_value(text);
    const auto type = dtype_from_name(text);
    return type ? type_value(*type) : Value{};
  }

  Value default_option(const tile::Option& option) {
    static constexpr const char* kinds[] = {"a type", "a boolean", "one of its choices"};
    Value value = binder_.bind(option.default_value);
    if (!value) return {};
    bool fits = false;
    switch (option.kind) {
      case tile::Option::Kind::dtype:
        fits = value.kind == Value::Kind::type && in_choices(option, dtype_name(value.dtype));
        break;
      case tile::Option::Kind::boolean: fits = value.constant() && value.type() == DType::boolean; break;
      case tile::Option::Kind::name: fits = value.kind == Value::Kind::word && in_choices(option, value.text); break;
    }
    if (fits) return value;
    context_.findings.add(
        option.default_value, *option.default_value.expr, About::structure,
        {"the default of option '" + option.name + "' does not fit",
         kinds[static_cast<int>(option.kind)] + (option.choices.empty() ? "" : ": " + tile::name_list(option.choices)),
         type_words(value), "set " + option.name + "=…, or mend the default"});
    return {};
  }

  static bool in_choices(const tile::Option& option, const std::string& name) {
    return option.choices.empty() ||
           std::find(option.choices.begin(), option.choices.end(), name) != option.choices.end();
  }

  void bind_tunable(const tile::Tunable& tunable) {
    const std::string* text = given(tunable.name);
    std::optional<std::int64_t> value;
    if (text) {
      value = parse_integer(*text);
      if (!value || *value < 0 || *value > size_max) {
        mistake("/bindings/tunables/" + tunable.name, About::structure,
                {"the tunable '" + tunable.name + "' is an integer", "0 to 2147483647", quoted(*text)});
        value.reset();
      }
    } else if (settled_) {
      value = binder_.constant(tunable.default_value, 0, size_max, "the default of tunable '" + tunable.name + "'");
    }
    declare("tunable", tunable.name, value ? integer_value(*value) : Value{}, value ? std::to_string(*value) : "",
            text != nullptr);
  }

  void constraints() {
    for (const auto& text : program_.constraints) {
      const auto holds = binder_.condition(text);
      if (!holds || *holds) continue;
      std::string values;
      for (const auto& item : resolved_)
        if (mentions(*text.expr, item.name)) values += (values.empty() ? "" : ", ") + item.name + " = " + item.value;
      context_.findings.add(text, *text.expr, About::size,
                            {"a constraint of the program does not hold", "true", values});
    }
  }

  static bool mentions(const tile::Expr& expr, const std::string& name) {
    if (expr.kind == tile::Expr::Kind::name && expr.text == name) return true;
    return std::any_of(expr.args.begin(), expr.args.end(), [&](const auto& arg) { return mentions(*arg, name); });
  }

  BindContext& context_;
  const tile::Program& program_;
  const Bindings& bindings_;
  bool sample_;
  bool settled_ = true;  // everything so far has a value: later defaults and constraints mean something
  ExpressionBinder binder_;
  std::vector<ResolvedBinding> resolved_;
};

class Params {
 public:
  Params(BindContext& context, const Bindings& bindings) : context_(context), bindings_(bindings), binder_(context) {}

  void bind(const tile::Param& param) {
    Named named;
    if (param.when) {
      const auto exists = binder_.condition(param.when);
      if (!exists || !*exists) {
        named.kind = exists ? Named::Kind::absent : Named::Kind::value;
        return context_.names.declare(param.name, std::move(named));
      }
    }
    bound::Tensor tensor;
    tensor.name = param.name;
    tensor.scalar = param.scalar;
    tensor.access = param.access;
    tensor.may_alias = param.may_alias;
    const auto dtype = binder_.element_type(param.dtype);
    const bool shaped = bind_shape(param, tensor);
    if (!dtype || !shaped) return context_.names.declare(param.name, Value{});
    tensor.dtype = *dtype;
    tensor.align_bytes = alignment(tensor);
    check_size(param, tensor);
    named.id = static_cast<int>(context_.tensors.size());
    named.kind = Named::Kind::tensor;
    if (param.scalar) named = scalar(tensor, named.id);
    context_.tensors.push_back(std::move(tensor));
    context_.names.declare(param.name, std::move(named));
  }

  void bind(const tile::Workspace& workspace) {
    tile::Param param;
    param.name = workspace.name;
    param.pointer = workspace.pointer;
    param.dtype = workspace.dtype;
    param.shape = workspace.shape;
    param.access = Access::readwrite;
    param.when = workspace.when;
    const std::size_t before = context_.tensors.size();
    bind(param);
    if (context_.tensors.size() == before) return;  // there is none, or its mistake is reported
    context_.tensors.back().workspace = true;
    context_.tensors.back().zeroed = workspace.zeroed;
  }

 private:
  static Named scalar(const bound::Tensor& tensor, int id) {
    bound::Expr node;
    node.kind = bound::Expr::Kind::scalar;
    node.type = tensor.dtype;
    node.integer = id;
    Named named;
    named.value = typed_value(std::make_shared<const bound::Expr>(std::move(node)), range_of_type(tensor.dtype));
    return named;
  }

  bool bind_shape(const tile::Param& param, bound::Tensor& tensor) {
    bool good = true;
    for (const auto& text : param.shape) {
      const auto extent = binder_.constant(text, 0, size_max, "an extent of '" + param.name + "'");
      good = good && extent;
      tensor.shape.push_back(extent.value_or(1));
    }
    for (const auto& text : param.strides) {
      const auto stride = binder_.constant(text, 0, INT64_MAX, "a stride of '" + param.name + "'");
      good = good && stride;
      tensor.strides.push_back(stride.value_or(0));
    }
    return param.strides.empty() ? row_major(param, tensor) && good : good;
  }

  bool row_major(const tile::Param& param, bound::Tensor& tensor) {
    Wide stride = 1;
    tensor.strides.assign(tensor.shape.size(), 0);
    for (std::size_t i = tensor.shape.size(); i-- > 0;) {
      if (stride > tensor_bytes_max) return too_large(param);
      tensor.strides[i] = static_cast<std::int64_t>(stride);
      stride *= std::max<std::int64_t>(tensor.shape[i], 1);
    }
    return true;
  }

  bool too_large(const tile::Param& param) {
    context_.findings.add(
        param.pointer, About::size,
        {"'" + param.name + "' is larger than 2^62 bytes at these sizes", "a tensor that memory can hold"});
    return false;
  }

  // The largest power of two that the pitches keep, at most what the caller says of the base.
  std::int64_t alignment(const bound::Tensor& tensor) {
    std::int64_t align = align_bytes_max;
    if (const auto given = bindings_.align_bytes.find(tensor.name); given != bindings_.align_bytes.end()) {
      const std::int64_t asked = given->second;
      if (asked == 1 || asked == 2 || asked == 4 || asked == 8 || asked == 16)
        align = asked;
      else
        context_.findings.add("/bindings/align_bytes/" + tensor.name, About::structure,
                              {"not an alignment class", "1, 2, 4, 8 or 16", std::to_string(asked)});
    }
    for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
      const Wide pitch = Wide(tensor.strides[i]) * dtype_bytes(tensor.dtype);
      const bool innermost = tensor.strides[i] == 1 && i + 1 == tensor.shape.size();
      if (innermost || tensor.shape[i] <= 1) continue;
      while (align > 1 && pitch % align != 0) align /= 2;
    }
    return align;
  }

  void check_size(const tile::Param& param, const bound::Tensor& tensor) {
    Wide span = 1;
    bool empty = false, overlapping = false;
    for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
      empty = empty || tensor.shape[i] == 0;
      overlapping = overlapping || (tensor.shape[i] > 1 && tensor.strides[i] == 0);
      if (tensor.shape[i] > 0) span += Wide(tensor.shape[i] - 1) * tensor.strides[i];
      if (span > tensor_bytes_max) break;
    }
    if (span > tensor_bytes_max / dtype_bytes(tensor.dtype)) too_large(param);
    if (overlapping && !empty && tensor.access != Access::read)
      context_.findings.add(
          param.pointer, About::size,
          {"'" + param.name + "' is written and has a stride of 0", "a stride of its own for every axis", "0",
           "only tensors that are read may repeat elements"});
  }

  BindContext& context_;
  const Bindings& bindings_;
  ExpressionBinder binder_;
};

}  // namespace

std::vector<ResolvedBinding> bind_settings(BindContext& context, const tile::Program& program, const Bindings& bindings,
                                           bool sample) {
  return Settings(context, program, bindings, sample).run();
}

void bind_params(BindContext& context, const tile::Program& program, const Bindings& bindings) {
  Params params(context, bindings);
  for (const auto& param : program.params) params.bind(param);
  for (const auto& workspace : program.workspace) params.bind(workspace);
  for (const auto& [name, align] : bindings.align_bytes) {
    const auto known = [&, &n = name](const tile::Param& param) { return param.name == n && !param.scalar; };
    if (std::any_of(program.params.begin(), program.params.end(), known)) continue;
    context.findings.add("/bindings/align_bytes/" + make_valid_utf8(name.substr(0, 64)), About::structure,
                         {"no tensor parameter is called " + quoted(name)});
  }
}

}  // namespace kiln::specialize
