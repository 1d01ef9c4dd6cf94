#include "tests/differential/emulator/built_in_case.hpp"

#include <cmath>
#include <functional>

#include "engine/ir/bound/arithmetic.hpp"
#include "tests/differential/emulator/random_choice.hpp"

namespace kiln::test {
namespace {

using Settings = std::map<std::string, std::string>;

constexpr std::uint32_t extents[] = {1,  2,   7,   16,  31,  32,  33,  48,  64,  65,
                                     96, 100, 127, 128, 129, 160, 192, 200, 256, 257};

std::string text_of(std::uint32_t number) { return std::to_string(number); }
std::string yes_or_no(Choice& choice) { return choice.one_in(2) ? "true" : "false"; }

void set_gemm(Choice& choice, BuiltInCase& one) {
  Settings& set = one.bindings.set;
  std::uint32_t m = choice.in(extents), n = choice.in(extents), k = choice.in(extents);
  if (choice.one_in(4)) k *= 3;
  set["M"] = text_of(m), set["N"] = text_of(n), set["K"] = text_of(k);
  set["dtype"] = choice.of<std::string>({"f32", "f16", "bf16", "i8", "f8e4m3fn", "f8e4m3fnuz", "f8e5m2"});
  set["transpose_a"] = yes_or_no(choice), set["transpose_b"] = yes_or_no(choice), set["bias"] = yes_or_no(choice);
  if (set["dtype"] != "i8" && choice.one_in(3)) set["out_dtype"] = choice.of<std::string>({"f32", "f16", "bf16"});
  if (one.inputs == Inputs::normal && set["dtype"] != "i8" && choice.one_in(3)) set["activation"] = "gelu";
  if (choice.one_in(3)) return;
  set["BM"] = choice.of<std::string>({"32", "64", "96", "128"});
  set["BN"] = choice.of<std::string>({"32", "64", "128"});
  set["BK"] = choice.of<std::string>({"16", "32", "64"}), set["THREADS"] = choice.of<std::string>({"64", "128", "256"});
}

void set_attention(Choice& choice, BuiltInCase& one) {
  static constexpr std::uint32_t lengths[] = {1, 5, 16, 17, 33, 64, 65, 96, 100, 128, 129};
  static constexpr std::uint32_t depths[] = {16, 24, 32, 40, 64, 80, 96, 128};
  Settings& set = one.bindings.set;
  const std::uint32_t groups = 1 + choice.below(3), heads = 1 + choice.below(2);
  const std::uint32_t rows = choice.in(lengths), columns = choice.one_in(2) ? rows : choice.in(lengths);
  set["B"] = text_of(1 + choice.below(2)), set["H"] = text_of(groups * heads), set["HKV"] = text_of(heads);
  set["S"] = text_of(rows), set["SK"] = text_of(columns), set["D"] = text_of(choice.in(depths));
  set["dtype"] = choice.of<std::string>({"f16", "bf16", "f32"});
  set["causal"] = yes_or_no(choice), set["custom_scale"] = yes_or_no(choice);
  if (choice.one_in(2)) return;
  set["BM"] = choice.of<std::string>({"16", "32", "64", "128"}), set["BN"] = choice.of<std::string>({"16", "32", "64"});
  set["THREADS"] = choice.of<std::string>({"64", "128", "256"});
}

void set_rows(Choice& choice, BuiltInCase& one) {
  static constexpr std::uint32_t rows[] = {1, 2, 3, 4, 5, 16, 33};
  static constexpr std::uint32_t columns[] = {1, 7, 16, 63, 64, 65, 100, 255, 256, 257, 1000, 1024, 1025, 3000};
  Settings& set = one.bindings.set;
  set["M"] = text_of(choice.in(rows)), set["N"] = text_of(choice.in(columns));
  set["dtype"] = choice.of<std::string>({"f16", "bf16", "f32"});
  const bool exact = one.inputs == Inputs::exact;
  if (one.program == "rmsnorm" || one.program == "layernorm") set["custom_eps"] = exact ? "true" : yes_or_no(choice);
  if (one.program == "layernorm") set["bias"] = yes_or_no(choice);
  if (one.program == "reduce") {
    set["kind"] = choice.of<std::string>({"sum", "mean", "maximum", "minimum"});
    set["axis"] = choice.of<std::string>({"last", "first"});
    if (set["axis"] == "first") std::swap(set["M"], set["N"]);
    set["out_dtype"] = choice.of<std::string>({"f32", set["dtype"]});
  }
  if (choice.one_in(2)) return;
  set["BM"] = choice.of<std::string>({"1", "2", "4", "8"});
  set["BN"] = choice.of<std::string>({"64", "128", "256", "512", "1024"});
  set["THREADS"] = choice.of<std::string>({"64", "128", "256"});
}

void set_elementwise(Choice& choice, BuiltInCase& one) {
  Settings& set = one.bindings.set;
  set["M"] = text_of(choice.in(extents)), set["N"] = text_of(choice.in(extents));
  set["dtype"] = choice.of<std::string>({"f16", "bf16", "f32"});
  set["activation"] = one.inputs == Inputs::exact
                          ? choice.of<std::string>({"none", "relu"})
                          : choice.of<std::string>({"none", "relu", "silu", "gelu", "gelu_tanh"});
  set["combine"] = choice.of<std::string>({"none", "add", "sub", "mul"});
  set["combine_first"] = yes_or_no(choice), set["row"] = yes_or_no(choice), set["scaled"] = yes_or_no(choice);
  if (choice.one_in(2)) return;
  set["BM"] = choice.of<std::string>({"1", "2", "8"}), set["BN"] = choice.of<std::string>({"64", "128", "512"});
  set["THREADS"] = choice.of<std::string>({"64", "128", "256"});
}

void set_transpose(Choice& choice, BuiltInCase& one) {
  Settings& set = one.bindings.set;
  set["M"] = text_of(choice.in(extents)), set["N"] = text_of(choice.in(extents));
  set["dtype"] = choice.of<std::string>({"f16", "bf16", "f32", "i8"});
  if (choice.one_in(2)) return;
  set["BM"] = choice.of<std::string>({"16", "32", "64"}), set["BN"] = choice.of<std::string>({"16", "32", "64"});
  set["THREADS"] = choice.of<std::string>({"64", "128", "256"});
}

// Bases that are less aligned, and layouts of shared tiles that conflict: both change instructions, not results.
void set_places(Choice& choice, BuiltInCase& one) {
  using Names = std::vector<std::string>;
  const Names parameters = one.program == "gemm"              ? Names{"A", "B", "C"}
                           : one.program == "flash_attention" ? Names{"Q", "K", "V", "O"}
                                                              : Names{"X", "Y"};
  for (const auto& name : parameters)
    if (choice.one_in(6)) one.bindings.align_bytes[name] = choice.of<std::int64_t>({1, 2, 4, 8});
  const Names tiles = one.program == "gemm"              ? Names{"As", "Bs"}
                      : one.program == "flash_attention" ? Names{"Qs", "Ks", "Vs"}
                      : one.program == "transpose"       ? Names{"tile"}
                                                         : Names{};
  for (const auto& name : tiles)
    if (choice.one_in(6))
      one.bindings.layouts[name] = *layout_spec_from_text(choice.of<std::string>({"row_major", "pad:16", "pad:8"}));
}

using Element = std::function<double(const std::vector<std::int64_t>&)>;

// Fills a tensor by its indices; dense tensors only, as the built-ins have.
Bytes filled(const bound::Tensor& tensor, const Element& element) {
  const auto width = static_cast<std::size_t>(dtype_bytes(tensor.dtype));
  Bytes bytes(tensor.scalar ? width : static_cast<std::size_t>(tensor.bytes()), 0xff);
  const auto store = bound::store_function(tensor.dtype);
  std::vector<std::int64_t> index(tensor.shape.size(), 0);
  for (std::size_t at = 0; at + width <= bytes.size(); at += width) {
    const double value = element(index);
    const auto whole = static_cast<std::int64_t>(value);
    store(bytes.data() + at, is_float(tensor.dtype) ? bound::real_value(bound::round_real(tensor.dtype, value))
                                                    : bound::integer_value(bound::wrap_integer(tensor.dtype, whole)));
    for (std::size_t axis = index.size(); axis-- > 0;) {
      if (++index[axis] < tensor.shape[axis].value()) break;
      index[axis] = 0;
    }
  }
  return bytes;
}

// A number that depends on the seed and the indices alone.
std::uint64_t number_at(std::uint64_t seed, const std::vector<std::int64_t>& index) {
  for (const auto one : index) {
    seed = (seed ^ static_cast<std::uint64_t>(one)) * 0x9e3779b97f4a7c15u;
    seed ^= seed >> 29;
  }
  return (seed * 0xbf58476d1ce4e5b9u) >> 20;
}

Element whole_numbers(std::uint64_t seed, int most) {
  return [=](const auto& index) { return static_cast<double>(number_at(seed, index) % (2 * most + 1)) - most; };
}

// What makes softmax of a row 1 in one place and 0 in all others: 0 there, -300 or less elsewhere.
Element one_high(std::uint64_t seed, std::int64_t columns) {
  return [=](const std::vector<std::int64_t>& index) {
    const auto chosen = static_cast<std::int64_t>(number_at(seed, {index[0]}) % static_cast<std::uint64_t>(columns));
    return index[1] == chosen ? 0.0 : -300.0 - static_cast<double>(number_at(seed + 1, index) % 100);
  };
}

// Rows of +-1 times `size`: a row with itself gives D size², with any other at least 2 size less.
Element signs(std::uint64_t seed, double size, const std::function<std::int64_t(std::int64_t)>& row) {
  return [=](const std::vector<std::int64_t>& index) {
    std::vector<std::int64_t> at = {row(index[2]), index[3]};
    return number_at(seed, at) & 1 ? size : -size;
  };
}

// What makes the statistics of a row exact: pairs of +-1, whose mean is 0 and variance 1; where one would be left over,
// rows of one number, whose variance is 0.
Element paired_signs(std::uint64_t seed, std::int64_t columns) {
  return [=](const std::vector<std::int64_t>& index) {
    if (columns % 2 != 0) return static_cast<double>(number_at(seed, {index[0]}) % 9);
    return ((number_at(seed, {index[0], index[1] / 2}) ^ static_cast<std::uint64_t>(index[1])) & 1) != 0 ? 1.0 : -1.0;
  };
}

Element exact_element(const BuiltInCase& one, const bound::Tensor& tensor, const bound::Program& program) {
  const bool second = one.seed & 1;   // of the two ways that a program has
  const std::uint64_t seed = one.seed + static_cast<std::uint64_t>(tensor.name[0]);
  const bool layernorm = one.program == "layernorm";
  if (tensor.name == "eps") return [=](const auto&) { return layernorm ? 3.0 : 0.0; };  // the root of 1 + 3 is exact
  if (tensor.name == "scale") return [](const auto&) { return 0.25; };
  if (one.program == "gemm") return whole_numbers(seed, one.bindings.set.at("dtype") == "i8" ? 127 : 3);
  if (one.program == "softmax") {
    if (second) return one_high(seed, tensor.shape[1].value());
    return [=](const auto& index) { return static_cast<double>(number_at(seed, {index[0]}) % 9) - 4; };
  }
  if (layernorm && tensor.name == "X") return paired_signs(seed, tensor.shape[1].value());
  if (layernorm || one.program == "transpose" || one.program == "elementwise") return whole_numbers(seed, 40);
  if (one.program == "reduce") return whole_numbers(seed, 8);
  if (one.program == "rmsnorm") {
    if (tensor.name == "Weight") return whole_numbers(seed, 40);
    return [=](const auto& index) {
      const double size = std::ldexp(1.0, static_cast<int>(number_at(seed, {index[0]}) % 9) - 4);
      return number_at(seed, index) & 1 ? size : -size;
    };
  }
  if (tensor.name == "V") return whole_numbers(seed, 8);
  const std::int64_t columns = program.tensors[1].shape[2].value();
  if (!second) return tensor.name == "Q" ? Element([](const auto&) { return 0.0; }) : whole_numbers(seed, 4);
  // Query row i is key row i * 7 + 3, larger: its own score is ahead of all others by more than 2^11.
  if (tensor.name == "K") return signs(one.seed, 1, [](std::int64_t row) { return row; });
  return signs(one.seed, 4096, [columns](std::int64_t row) { return (row * 7 + 3) % columns; });
}

}  // namespace

std::string BuiltInCase::words() const {
  std::string text = program;
  for (const auto& [name, value] : bindings.set) text += " " + name + "=" + value;
  for (const auto& [name, layout] : bindings.layouts) text += ", layout " + name + "=" + layout_spec_text(layout);
  for (const auto& [name, bytes] : bindings.align_bytes) text += ", " + name + " aligned to " + std::to_string(bytes);
  return text + (inputs == Inputs::exact ? ", exact inputs" : ", normal inputs");
}

BuiltInCase random_case(std::uint64_t seed, int index) {
  Choice choice(seed * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(index) * 0x94d049bb133111ebu + 7);
  BuiltInCase one;
  static constexpr const char* programs[] = {"gemm",      "flash_attention", "softmax", "rmsnorm",         "layernorm",
                                             "transpose", "elementwise",     "gemm",    "flash_attention", "reduce"};
  one.program = programs[index % 10];
  one.inputs = choice.one_in(3) ? Inputs::normal : Inputs::exact;
  if (one.program == "gemm") set_gemm(choice, one);
  else if (one.program == "flash_attention") set_attention(choice, one);
  else if (one.program == "elementwise") set_elementwise(choice, one);
  else if (one.program == "transpose") set_transpose(choice, one);
  else set_rows(choice, one);
  set_places(choice, one);
  one.seed = choice.bits() >> 8;
  return one;
}

std::vector<Bytes> make_inputs(const BuiltInCase& one, const bound::Program& program) {
  std::mt19937_64 random(one.seed);
  std::normal_distribution<double> normal;
  std::vector<Bytes> made;
  for (const auto& tensor : program.tensors) {
    if (tensor.access == Access::write) {
      made.emplace_back(static_cast<std::size_t>(tensor.bytes()), 0xff);
      continue;
    }
    if (one.inputs == Inputs::exact) made.push_back(filled(tensor, exact_element(one, tensor, program)));
    else if (tensor.scalar) made.push_back(filled(tensor, [](const auto&) { return 0.125; }));
    else if (is_float(tensor.dtype)) made.push_back(filled(tensor, [&](const auto&) { return normal(random); }));
    else made.push_back(filled(tensor, whole_numbers(one.seed, 100)));
  }
  return made;
}

}  // namespace kiln::test
