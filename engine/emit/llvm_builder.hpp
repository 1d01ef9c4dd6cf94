// Writes the text of one LLVM module: typed SSA values, structured loops and branches. Knows LLVM's syntax, nothing of
// kernels.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::emit::llvm_text {

struct Type {
  enum class Kind : std::uint8_t { integer, real, pointer } kind = Kind::integer;
  int bits = 64;
  int lanes = 1;  // 1: a scalar
  [[nodiscard]] Type with_lanes(int count) const { return {kind, bits, count}; }
  [[nodiscard]] bool is_real() const { return kind == Kind::real; }
  bool operator==(const Type&) const = default;
};
inline Type integer(int bits, int lanes = 1) { return {Type::Kind::integer, bits, lanes}; }
inline Type real(int bits, int lanes = 1) { return {Type::Kind::real, bits, lanes}; }
inline Type pointer(int lanes = 1) { return {Type::Kind::pointer, 64, lanes}; }
std::string text(const Type& type);     // "<16 x float>"
std::string mangled(const Type& type);  // "v16f32", as in intrinsics' names

// An SSA value or a constant. Integer scalar constants are known, so that index arithmetic folds while it is written.
struct Value {
  std::string name;
  Type type;
  std::optional<std::int64_t> known;
  [[nodiscard]] bool empty() const { return name.empty(); }
  [[nodiscard]] std::string typed() const { return text(type) + " " + name; }
};

class Builder {
 public:
  // ---- constants ----
  static Value constant(std::int64_t value, Type type = integer(64));
  static Value real_constant(double value, Type type);  // rounded to the type
  static Value lane_numbers(Type type, int start = 0);  // <start, start + 1, …>
  static Value lane_mask(int lanes, int active);        // i1: the first `active` lanes
  static Value zero(Type type);
  static Value truth(bool value, int lanes = 1) { return constant(value ? 1 : 0, integer(1, lanes)); }

  // ---- instructions ----
  Value add(const Value& a, const Value& b);  // integers; scalar constants fold
  Value sub(const Value& a, const Value& b);
  Value mul(const Value& a, const Value& b);
  Value op(std::string_view opcode, const Value& a, const Value& b);          // result has a's type
  Value compare(std::string_view predicate, const Value& a, const Value& b);  // "icmp slt", "fcmp olt"
  Value select(const Value& condition, const Value& a, const Value& b);       // a vector condition widens a and b
  Value cast(std::string_view opcode, const Value& value, Type type);
  Value negate(const Value& value) { return op1("fneg", value); }
  Value op1(std::string_view opcode, const Value& value);
  Value splat(const Value& value, int lanes);  // unchanged when it has them already
  Value extract(const Value& value, int lane);
  Value insert(const Value& vector, const Value& element, int lane);
  Value shuffle(const Value& a, const Value& b, const std::vector<int>& mask);
  // An intrinsic; declared once. `attributes` go in front of each argument ("align 4" for pointers), may be empty.
  Value call(const std::string& name, Type result, const std::vector<Value>& args,
             const std::vector<std::string>& attributes = {});
  void call_void(const std::string& name, const std::vector<Value>& args,
                 const std::vector<std::string>& attributes = {});
  Value min_signed(const Value& a, const Value& b);  // folds constants
  Value max_signed(const Value& a, const Value& b);
  Value instruction(Type type, const std::string& text);  // "%v7 = " text

  // ---- memory. `scope` is appended metadata ("" or ", !alias.scope …") ----
  Value offset(const Value& base, const Value& bytes);  // bytes: i64, or a vector of i64 for a vector of pointers
  Value load(Type type, const Value& at, int align, const std::string& scope = "");
  void store(const Value& value, const Value& at, int align, const std::string& scope = "");
  Value load_masked(Type type, const Value& at, int align, const Value& mask, const Value& otherwise);
  void store_masked(const Value& value, const Value& at, int align, const Value& mask);
  Value gather(Type type, const Value& pointers, int align, const Value& mask, const Value& otherwise);
  void scatter(const Value& value, const Value& pointers, int align, const Value& mask);

  // ---- control flow ----
  void loop(const Value& begin, const Value& end, std::int64_t step, const std::function<void(const Value&)>& body);
  // A loop with carried values: gives what they are at the end.
  std::vector<Value> loop_carrying(
      const Value& begin, const Value& end, std::int64_t step, std::vector<Value> initial,
      const std::function<std::vector<Value>(const Value&, const std::vector<Value>&)>& body);
  void branch(const Value& condition, const std::function<void()>& then, const std::function<void()>& otherwise = {});
  std::string label(std::string_view hint);  // a fresh label, not placed yet
  void place(const std::string& label);
  void jump(const std::string& label);
  void jump_if(const Value& condition, const std::string& then, const std::string& otherwise);

  // LLVM 22 breaks masked accesses whose masks it knows. A whole vector is loaded where it takes undefined lanes for
  // active ones (without AVX-512: combineMaskedLoadConstantMask); a store of one truncated element writes the element
  // as wide as it was before (reduceMaskedStoreToScalarStore: two i16 for one). Both touch memory that the mask
  // excludes. Masks therefore pass through an empty piece of assembly that it cannot look through. `predicates`: the
  // target has mask registers.
  void set_predicates(bool predicates) { predicates_ = predicates; }

  // ---- the module ----
  void line(const std::string& text) {
    body_ += text;
    body_ += '\n';
  }
  void comment(const std::string& text) { body_ += "  ; " + text + "\n"; }
  void begin_function(const std::string& header);  // "define … {" and the entry block
  void end_function() { body_ += "}\n\n"; }
  void global(const std::string& text) { globals_ += text + "\n"; }
  // A helper function, written once however often it is asked for; `write` gets a fresh body.
  void helper(const std::string& name, const std::function<void()>& write);
  [[nodiscard]] std::string module() const;
  [[nodiscard]] std::size_t size() const { return body_.size() + helpers_.size(); }

 private:
  void declare(const std::string& name, const std::string& result, const std::vector<Value>& args);
  Value opaque(const Value& mask);
  std::string fresh() { return "%v" + std::to_string(next_++); }

  std::string body_, helpers_, globals_, current_;
  std::map<std::string, std::string> declarations_;
  std::map<std::string, bool> helper_names_;
  int next_ = 0;
  bool predicates_ = false;
};

}  // namespace kiln::emit::llvm_text
