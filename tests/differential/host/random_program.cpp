#include "tests/differential/host/random_program.hpp"

#include <random>
#include <utility>
#include <vector>

namespace kiln::test {
namespace {

struct Tile {
  std::string name, type;
};

bool is_real(const std::string& type) { return type[0] == 'f' || type == "bf16"; }

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed), more_(seed ^ 0x5851f42d4c957f2du) {
    uniform_ = more_() % 3 == 0;
  }
  RandomProgram make();

 private:
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  bool chance(int percent) { return below(100) < static_cast<std::uint64_t>(percent); }
  std::string number(std::int64_t low, std::int64_t high) {
    return std::to_string(low + static_cast<std::int64_t>(below(high - low + 1)));
  }
  template <class... T>
  std::string one_of(T... choices) {
    const std::string list[] = {choices...};
    return list[below(sizeof...(choices))];
  }
  std::string any_type() {
    if (integers_) return one_of("i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8");
    return one_of("f32", "f16", "bf16", "f32", "f64");
  }
  std::string literal(const std::string& type);
  std::string element(const std::string& type, bool elsewhere);
  std::string tensor_element(const std::string& type);
  std::string expression(const std::string& type, int depth);
  std::string condition(int depth);
  std::string where();
  void output(const Tile& out, const std::string& type, const std::string& limit);
  std::string integer_operation(const std::string& type, int depth);
  std::string real_operation(const std::string& type, int depth);
  void statement(int depth);
  void map(bool function);
  void tile_copy();
  void reduction();
  void product();
  void elements_decide();
  void gather();
  void scan();
  void place();
  void count();
  void add(const std::string& json) { body_ += (body_.empty() ? "\n    " : ",\n    ") + json; }
  void alloc(const Tile& tile, const std::string& shape, bool accumulator = false) {
    allocs_ += "\n    {\"op\": \"alloc\", \"name\": \"" + tile.name + "\", \"space\": \"" +
               (accumulator ? "fragment" : one_of("fragment", "shared", "fragment")) + "\", \"dtype\": \"" + tile.type +
               "\", \"shape\": [" + shape + "]},";
  }

  std::mt19937_64 random_;
  std::mt19937_64 more_;     // decides what came later: the programs of a seed stay what they were otherwise
  bool counts_ = false;      // atomics on the tensor Count
  bool uniform_ = false;     // lets read elements of the tensor I
  bool integers_ = false, sums_ = false, functions_ = false;
  std::vector<Tile> tiles_;  // all [BM, BN]
  int target_ = -1;          // of the map being written
  std::vector<std::string> lets_, let_types_;
  std::string allocs_, prologue_, body_;
  int names_ = 0;
};

std::string Generator::literal(const std::string& type) {
  if (!is_real(type)) return number(0, 100);
  return one_of("0.0", "1.0", "0.5", "3.0", "0.125", "100.0", "1e-3");
}

// An element of a tile, converted; elsewhere: at another index of a tile that this map does not write.
std::string Generator::element(const std::string& type, bool elsewhere) {
  const auto number_of = static_cast<int>(below(tiles_.size()));
  std::string index = "[i, j]";
  if (elsewhere && number_of != target_) {
    index = one_of("[BM - 1 - i, j]", "[i, BN - 1 - j]", "[j % BM, i % BN]", "[i, 0]", "[0, j]", "[i // 2, j // 3]",
                   "[(i * 7 + j) % BM, (j * 5) % BN]", "[i, (j + 3) % BN]");
  }
  const std::string read = tiles_[number_of].name + index;
  return tiles_[number_of].type == type ? read : "cast(" + read + ", " + type + ")";
}

// An element of the tensor X around the block's place, read only where it exists.
std::string Generator::tensor_element(const std::string& type) {
  const std::string row = "bid.y * BM + i" + one_of("", " - 1", " + 2"),
                    column = "bid.x * BN + j" + one_of("", " - 3", " + 1", " - 1");
  const std::string inside = row + " >= 0 && " + row + " < M && " + column + " >= 0 && " + column + " < N";
  return "(cast(X[" + row + ", " + column + "], " + type + ") if " + inside + " else cast(" + literal(type) + ", " +
         type + "))";
}

std::string Generator::condition(int depth) {
  if (chance(30))
    return one_of("i < j", "j >= i + 2", "i == j", "bid.x * BN + j < N", "(i + j) % 3 != 1", "i * 2 - j <= 5");
  if (chance(20) && depth > 0) return "(" + condition(depth - 1) + one_of(" && ", " || ") + condition(depth - 1) + ")";
  const std::string type = any_type();
  return expression(type, depth - 1) + one_of(" < ", " <= ", " > ", " >= ", " == ", " != ") +
         expression(type, depth - 1);
}

std::string Generator::integer_operation(const std::string& type, int depth) {
  const auto sub = [&] { return expression(type, depth - 1); };
  switch (below(12)) {
    case 0: return "(" + sub() + " * " + sub() + ")";
    case 1: return "(" + sub() + one_of(" // ", " % ") + element(type, false) + ")";
    case 2: return "(" + sub() + one_of(" << ", " >> ") + element(type, false) + ")";
    case 3: return "(" + sub() + one_of(" & ", " | ", " ^ ") + sub() + ")";
    case 4: return one_of("min(", "max(", "mulhi(") + sub() + ", " + sub() + ")";
    case 5: return one_of("popcount(", "clz(", "abs(") + element(type, true) + ")";
    case 6: return "(~" + element(type, false) + ")";
    case 7: return "ceildiv(" + sub() + ", " + element(type, false) + ")";
    case 8: return "(-" + element(type, false) + ")";
    default: return "(" + sub() + one_of(" + ", " - ") + sub() + ")";
  }
}

std::string Generator::real_operation(const std::string& type, int depth) {
  const auto sub = [&] { return expression(type, depth - 1); };
  switch (below(11)) {
    case 0:
    case 1: return "(" + sub() + " * " + sub() + ")";
    case 2: return "(" + sub() + " / " + sub() + ")";
    case 3: return one_of("min(", "max(") + sub() + ", " + sub() + ")";
    case 4: return one_of("abs(", "floor(", "ceil(", "round(", "sqrt(") + sub() + ")";
    case 5: return type == "f16" || type == "bf16" ? sub() : "fma(" + sub() + ", " + sub() + ", " + sub() + ")";
    case 6:
      return "(" + literal(type) + " if " + one_of("isnan(", "isinf(") + element(type, false) + ") else " + sub() + ")";
    case 7: return "(-" + element(type, true) + ")";
    default: return "(" + sub() + one_of(" + ", " - ") + sub() + ")";
  }
}

std::string Generator::expression(const std::string& type, int depth) {
  if (depth <= 0 || chance(15)) {
    for (std::size_t i = 0; i < lets_.size(); ++i) {
      if (let_types_[i] == type && chance(40)) return lets_[i];
    }
    if (chance(15)) return literal(type) == "" ? "" : "cast(" + literal(type) + ", " + type + ")";
    if (chance(15)) return "cast(" + one_of("i", "j", "i * 3 + j", "bid.x + j") + ", " + type + ")";
    if (chance(12)) return tensor_element(type);
    return element(type, chance(30));
  }
  if (chance(15))
    return "(" + expression(type, depth - 1) + " if " + condition(depth - 1) + " else " + expression(type, depth - 1) +
           ")";
  if (chance(10)) return "cast(" + expression(any_type(), depth - 1) + ", " + type + ")";
  return is_real(type) ? real_operation(type, depth) : integer_operation(type, depth);
}

void Generator::map(bool function) {
  target_ = static_cast<int>(below(tiles_.size()));
  const Tile& tile = tiles_[target_];
  lets_.clear();
  let_types_.clear();
  std::string items;
  for (int i = 0; i < static_cast<int>(below(3)); ++i) {
    const std::string type = any_type(), value = expression(type, 2), name = "v" + std::to_string(names_++);
    items += "{\"let\": \"" + name + "\", \"value\": \"" + value + "\"}, ";
    lets_.push_back(name);
    let_types_.push_back(type);
  }
  std::string value = expression(tile.type, function ? 1 : 3);
  if (function) value = one_of("exp2(", "exp(", "tanh(", "sigmoid(") + "min(max(" + value + ", -5.0), 5.0))";
  items += "{\"set\": \"" + tile.name + "[i, j]\", \"value\": \"" + value + "\"" + where() + "}";
  add("{\"op\": \"map\", \"index\": [\"i\", \"j\"], \"extent\": [\"BM\", \"BN\"], \"body\": [" + items + "]}");
  target_ = -1;
}

void Generator::tile_copy() {
  const auto from = below(tiles_.size()), to = below(tiles_.size());
  if (from != to)
    add("{\"op\": \"copy\", \"from\": \"" + tiles_[from].name + "\", \"to\": \"" + tiles_[to].name + "\"}");
}

void Generator::reduction() {
  const Tile from = tiles_[below(tiles_.size())];
  const bool rows = chance(50), adds = !is_real(from.type) || (sums_ && from.type != "f16");
  const Tile to{"r" + std::to_string(names_++), from.type};
  alloc(to, rows ? "\"BM\"" : "\"BN\"");
  // Written also where the branch around this is decided to be dead when the program is bound.
  prologue_ += "\n    {\"op\": \"fill\", \"tile\": \"" + to.name + "\", \"value\": \"" + literal(to.type) + "\"},";
  const std::string kind = adds && chance(60) ? one_of("sum", "sum", "max") : one_of("max", "min", "absmax");
  const bool accumulate = chance(30);
  add("{\"op\": \"reduce\", \"kind\": \"" + kind + "\", \"from\": \"" + from.name + "\", \"to\": \"" + to.name +
      "\", \"axis\": " + (rows ? "1" : "0") + (accumulate ? ", \"accumulate\": true}" : "}"));
  // Back into a tile of the same type, so that it reaches the output.
  for (const Tile& tile : tiles_) {
    if (tile.type != from.type) continue;
    add("{\"op\": \"map\", \"index\": [\"i\", \"j\"], \"extent\": [\"BM\", \"BN\"], \"body\": [{\"set\": \"" +
        tile.name + "[i, j]\", \"value\": \"" + to.name + (rows ? "[i]" : "[j]") + "\"}]}");
    break;
  }
}

void Generator::statement(int depth) {
  switch (below(8)) {
    case 0: return tile_copy();
    case 1: return reduction();
    case 2: {
      if (depth == 0 || sums_) return map(false);
      const std::string outer = std::exchange(body_, std::string());
      for (int i = 0; i < 2; ++i) statement(depth - 1);
      const std::string inner = std::exchange(body_, outer);
      if (inner.empty()) return;
      const std::string name = "n" + std::to_string(names_++);
      if (chance(50))
        add("{\"op\": \"for\", \"var\": \"" + name +
            "\", \"from\": \"bid.x\", \"to\": \"bid.x + 3\", \"step\": \"2\", \"body\": [" + inner + "]}");
      else
        add("{\"op\": \"if\", \"condition\": \"" + one_of("bid.x % 2 == 0", "bid.y * BM + BM > M", "N > 13 + bid.x") +
            "\", \"then\": [" + inner + "]}");
      return;
    }
    default: return sums_ ? tile_copy() : map(false);
  }
}

void Generator::product() {
  const std::string type = integers_ ? "i8" : one_of("f32", "f16", "bf16"), result = integers_ ? "i32" : "f32";
  const bool ta = chance(50), tb = chance(50);
  const Tile a{"a", type}, b{"b", type}, c{"c", result};
  alloc(a, ta ? "\"BK\", \"BM\"" : "\"BM\", \"BK\"");
  alloc(b, tb ? "\"BN\", \"BK\"" : "\"BK\", \"BN\"");
  alloc(c, "\"BM\", \"BN\"", true);
  const bool direct = chance(60);
  add(std::string("{\"op\": \"copy\", \"from\": \"X[") + (ta ? "1:, bid.y * BM:" : "bid.y * BM:, 1:") +
      "]\", \"to\": \"a\"}");
  add(std::string("{\"op\": \"copy\", \"from\": \"Y[") + (tb ? "bid.x * BN:, -2:" : "-2:, bid.x * BN:") +
      "]\", \"to\": \"b\"}");
  if (!direct) add("{\"op\": \"fill\", \"tile\": \"c\", \"value\": \"0\"}");
  const std::string flags = std::string(ta ? ", \"transpose_a\": true" : "") + (tb ? ", \"transpose_b\": true" : "");
  add("{\"op\": \"gemm\", \"a\": \"a\", \"b\": \"b\", \"c\": \"c\"" + flags + (direct ? ", \"clear\": true}" : "}"));
  if (chance(50)) add("{\"op\": \"gemm\", \"a\": \"a\", \"b\": \"b\", \"c\": \"c\"" + flags + "}");
  tiles_ = {c};
}

// The condition of a set, or nothing. Its own random numbers: those of the program stay what they are without it.
std::string Generator::where() {
  if (more_() % 3 != 0) return "";
  std::swap(random_, more_);
  const std::string text = ", \"where\": \"" + condition(2) + "\"";
  std::swap(random_, more_);
  return text;
}

// As a copy, or element by element where they exist.
void Generator::output(const Tile& out, const std::string& type, const std::string& limit) {
  if (more_() % 4 != 0 || !limit.empty())
    return add("{\"op\": \"copy\", \"from\": \"" + out.name + "\", \"to\": \"Out[bid.y * BM:, bid.x * BN:]\"" +
               limit + "}");
  const std::string element = out.name + "[i, j]";
  const std::string value = out.type == type ? element : "cast(" + element + ", " + type + ")";
  add(R"json({"op": "map", "index": ["i", "j"], "extent": ["BM", "BN"], "body": [
      {"let": "row", "value": "bid.y * BM + i"}, {"let": "inside", "value": "row < M && bid.x * BN + j < N"},
      {"set": "Out[row, bid.x * BN + j]", "value": ")json" + value + R"json(", "where": "inside"}]})json");
}

// Rows of Y that elements choose.
void Generator::gather() {
  const Tile& tile = tiles_[more_() % tiles_.size()];
  add("{\"op\": \"map\", \"index\": [\"i\", \"j\"], \"extent\": [\"BM\", \"BN\"], \"body\": ["
      "{\"let\": \"row\", \"value\": \"min(max(cast(I[(i + j) % 4], index), 0), M - 1)\"}, {\"set\": \"" +
      tile.name + "[i, j]\", \"value\": \"cast(Y[row, min(j, N - 1)], " + tile.type + ")\"}]}");
}

// Back into the tile that is scanned, so that it reaches the output.
void Generator::scan() {
  const Tile from = tiles_[more_() % tiles_.size()], to{"scanned", from.type};
  alloc(to, "\"BM\", \"BN\"");
  prologue_ += "\n    {\"op\": \"fill\", \"tile\": \"scanned\", \"value\": \"1\"},";
  const char* const kinds[] = {"max", "min", "sum", "prod"};
  const std::string kind = kinds[more_() % (is_real(from.type) ? 2 : 4)];
  add("{\"op\": \"scan\", \"kind\": \"" + kind + "\", \"from\": \"" + from.name +
      "\", \"to\": \"scanned\", \"axis\": " + std::to_string(more_() % 2) + (more_() % 2 == 0 ? ", \"reverse\": true}" : "}"));
  add("{\"op\": \"copy\", \"from\": \"scanned\", \"to\": \"" + from.name + "\"}");
}

void Generator::place() {
  const Tile from = tiles_[more_() % tiles_.size()];
  const bool rows = more_() % 2 == 0;
  alloc({"place", "i32"}, rows ? "\"BM\"" : "\"BN\"");
  add(std::string("{\"op\": \"reduce\", \"kind\": \"") + (more_() % 2 == 0 ? "argmax" : "argmin") + "\", \"from\": \"" +
      from.name + "\", \"to\": \"place\", \"axis\": " + (rows ? "1}" : "0}"));
  add("{\"op\": \"map\", \"index\": [\"i\", \"j\"], \"extent\": [\"BM\", \"BN\"], \"body\": [{\"set\": \"" + from.name +
      "[i, j]\", \"value\": \"cast(place[" + (rows ? "i" : "j") + "], " + from.type + ")\"}]}");
}

// Updates of few elements by all blocks, in an order that cannot matter.
void Generator::count() {
  const char* const kinds[] = {"add", "max", "min", "xor", "or", "and"};
  lets_.clear();  // of an earlier map
  let_types_.clear();
  add(std::string("{\"op\": \"map\", \"index\": [\"i\", \"j\"], \"extent\": [\"BM\", \"BN\"], \"body\": [{\"atomic\": \"") +
      kinds[more_() % 6] + "\", \"to\": \"Count[(i * 3 + j) % 4]\", \"value\": \"cast(i + j * 2 + bid.x, i32)\"" +
      (sums_ ? "" : where()) + "}]}");
}

// Loops and conditions whose bounds are elements.
void Generator::elements_decide() {
  const std::string outer = std::exchange(body_, std::string());
  map(false);
  const std::string inner = std::exchange(body_, outer);
  const bool loop = more_() % 2 == 0;
  add(loop ? "{\"op\": \"for\", \"var\": \"turn\", \"from\": \"-1\", \"to\": \"near\", \"step\": 2, \"body\": [" +
                 inner + "]}"
           : "{\"op\": \"if\", \"condition\": \"far > near || near == 5\", \"then\": [" + inner + "]}");
}

RandomProgram Generator::make() {
  integers_ = chance(35);
  const bool multiplies = chance(20);
  sums_ = !integers_ && (multiplies || chance(20));
  functions_ = !integers_ && !sums_ && chance(25);
  RandomProgram result;
  result.extremes = !sums_ && !functions_;
  const std::string x_type = multiplies ? (integers_ ? "i8" : one_of("f32", "f16", "bf16")) : any_type();
  const std::string y_type = multiplies ? x_type : any_type();
  if (multiplies) {
    product();
  } else {
    tiles_ = {{"x", chance(60) ? x_type : any_type()}, {"y", chance(60) ? y_type : any_type()}, {"z", any_type()}};
    for (const Tile& tile : tiles_) alloc(tile, "\"BM\", \"BN\"");
    const std::string fill = chance(30) ? ", \"fill\": \"" + literal(x_type) + "\"" : "";
    const std::string row = uniform_ ? " + near" : "", column = uniform_ ? " - far" : "";
    const std::string limit = chance(20) ? ", \"limit\": [\"M - 1\", null]" : "";
    add("{\"op\": \"copy\", \"from\": \"X[bid.y * BM" + one_of("", "", " - 1", " + 2") + row + ":, bid.x * BN" +
        one_of("", " - 3", " + 1") + ":]\", \"to\": \"x\"" + fill + limit + "}");
    if (chance(50))
      add("{\"op\": \"copy\", \"from\": \"Y[bid.y * BM:, bid.x * BN" + column + ":]\", \"to\": \"y\"}");
    else
      add("{\"op\": \"map\", \"index\": [\"i\", \"j\"], \"extent\": [\"BM\", \"BN\"], \"body\": [{\"set\": \"y[i, "
          "j]\", \"value\": \"cast(Y[min(bid.y * BM + i, M - 1), min(j, N - 1)], " +
          tiles_[1].type + ")\"}]}");
    add("{\"op\": \"fill\", \"tile\": \"z\", \"value\": \"" + literal(tiles_[2].type) + "\"}");
    for (int i = 0; i < 1 + static_cast<int>(below(5)); ++i) statement(1);
    if (uniform_ && !sums_) elements_decide();
    if (uniform_ && more_() % 2 == 0) gather();
    if (!functions_ && !sums_ && more_() % 4 == 0) scan();
    if (!functions_ && !sums_ && more_() % 4 == 0) place();
    counts_ = more_() % 3 == 0;
    if (counts_) count();
    if (functions_) map(true);
  }
  const Tile out = functions_ ? tiles_[0] : tiles_[below(tiles_.size())];
  const std::string out_type = chance(60) ? out.type : any_type();
  output(out, out_type, chance(15) ? ", \"limit\": [null, \"N - 1\"]" : "");
  const auto param = [](const std::string& name, const std::string& type, const std::string& access) {
    return "{\"name\": \"" + name + "\", \"dtype\": \"" + type + "\", \"shape\": [\"M\", \"N\"], \"access\": \"" +
           access + "\"}";
  };
  const std::string index = uniform_ ? R"(, {"name": "I", "dtype": "i32", "shape": [4], "access": "read"})" : "";
  const std::string count =
      counts_ ? R"(, {"name": "Count", "dtype": "i32", "shape": [4], "access": "readwrite"})" : "";
  const std::string lets = uniform_ ? R"json(
    {"op": "let", "name": "far", "value": "cast(I[bid.x % 4], index)"},
    {"op": "let", "name": "near", "value": "min(max(far + cast(I[bid.y % 4], index), -2), 5)"},)json" : "";
  result.text =
      "{\"kiln\": \"tile/1\", \"name\": \"random\", \"symbols\": [\"M\", \"N\"],\n  \"params\": [" +
      param("X", x_type, "read") + ", " + param("Y", y_type, "read") + ", " + param("Out", out_type, "write") + index +
      count +
      "],\n  \"tunables\": {\"BM\": {\"default\": \"" + number(1, 40) + "\"}, \"BN\": {\"default\": \"" +
      number(1, 70) + "\"}, \"BK\": {\"default\": \"" + number(1, 50) +
      "\"}},\n  \"launches\": [{\"grid\": [\"ceildiv(N, BN)\", \"ceildiv(M, BM)\"], \"threads\": \"1\", \"body\": [" +
      allocs_ + lets + prologue_ + body_ + "]}]}\n";
  result.set = {{"M", number(1, 60)}, {"N", number(1, 90)}};
  return result;
}

}  // namespace

RandomProgram with_dynamic_sizes(RandomProgram program) {
  const std::string known = "\"symbols\": [\"M\", \"N\"]";
  program.text.replace(program.text.find(known), known.size(),
                       "\"symbols\": {\"M\": {\"dynamic\": true, \"max\": 1000000}, \"N\": {\"dynamic\": true}}");
  return program;
}

RandomProgram random_program(std::uint64_t seed) { return Generator(seed * 0x9e3779b97f4a7c15u + 1).make(); }

}  // namespace kiln::test
