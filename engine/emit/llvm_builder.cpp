#include "engine/emit/llvm_builder.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <utility>

namespace kiln::emit::llvm_text {
namespace {

std::string scalar_text(const Type& type) {
  if (type.kind == Type::Kind::pointer) return "ptr";
  if (type.kind == Type::Kind::integer) return "i" + std::to_string(type.bits);
  return type.bits == 64 ? "double" : type.bits == 32 ? "float" : "half";
}

// LLVM writes floats as the bits of the double of equal value.
std::string real_text(double value, int bits) {
  if (bits == 32) value = static_cast<float>(value);
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "0x%016llX",
                static_cast<unsigned long long>(std::bit_cast<std::uint64_t>(value)));
  return buffer;
}

std::string splatted(const std::string& constant, const Type& type) {
  return type.lanes == 1 ? constant : "splat (" + scalar_text(type) + " " + constant + ")";
}

bool both_known(const Value& a, const Value& b) { return a.known && b.known && a.type.lanes == 1 && a.type.bits == 64; }

}  // namespace

std::string text(const Type& type) {
  if (type.lanes == 1) return scalar_text(type);
  return "<" + std::to_string(type.lanes) + " x " + scalar_text(type) + ">";
}

std::string mangled(const Type& type) {
  const std::string scalar = type.kind == Type::Kind::pointer   ? "p0"
                             : type.kind == Type::Kind::integer ? "i" + std::to_string(type.bits)
                                                                : "f" + std::to_string(type.bits);
  return type.lanes == 1 ? scalar : "v" + std::to_string(type.lanes) + scalar;
}

Value Builder::constant(std::int64_t value, Type type) {
  const std::string digits = type.bits == 1 ? (value ? "true" : "false") : std::to_string(value);
  Value result{splatted(digits, type), type, std::nullopt};
  if (type.lanes == 1) result.known = value;
  return result;
}

Value Builder::real_constant(double value, Type type) {
  return {splatted(real_text(value, type.bits), type), type, std::nullopt};
}

Value Builder::lane_numbers(Type type, int start) {
  std::string list = "<";
  for (int lane = 0; lane < type.lanes; ++lane) {
    list += (lane ? ", " : "") + scalar_text(type) + " " + std::to_string(start + lane);
  }
  return {list + ">", type, std::nullopt};
}

Value Builder::lane_mask(int lanes, int active) {
  std::string list = "<";
  for (int lane = 0; lane < lanes; ++lane)
    list += std::string(lane ? ", " : "") + (lane < active ? "i1 true" : "i1 false");
  return {list + ">", integer(1, lanes), std::nullopt};
}

Value Builder::zero(Type type) {
  if (type.is_real()) return real_constant(0.0, type);
  if (type.kind == Type::Kind::pointer) return {"null", type, std::nullopt};
  return constant(0, type);
}

Value Builder::instruction(Type type, const std::string& text) {
  Value result{fresh(), type, std::nullopt};
  body_ += "  " + result.name + " = " + text + "\n";
  return result;
}

Value Builder::op(std::string_view opcode, const Value& a, const Value& b) {
  return instruction(a.type, std::string(opcode) + " " + a.typed() + ", " + b.name);
}

Value Builder::op1(std::string_view opcode, const Value& value) {
  return instruction(value.type, std::string(opcode) + " " + value.typed());
}

Value Builder::add(const Value& a, const Value& b) {
  std::int64_t sum = 0;
  if (both_known(a, b) && !__builtin_add_overflow(*a.known, *b.known, &sum)) return constant(sum);
  if (a.known == 0 && a.type == b.type) return b;
  if (b.known == 0 && a.type == b.type) return a;
  return op("add", a, b);
}

Value Builder::sub(const Value& a, const Value& b) {
  std::int64_t difference = 0;
  if (both_known(a, b) && !__builtin_sub_overflow(*a.known, *b.known, &difference)) return constant(difference);
  if (b.known == 0) return a;
  return op("sub", a, b);
}

Value Builder::mul(const Value& a, const Value& b) {
  std::int64_t product = 0;
  if (both_known(a, b) && !__builtin_mul_overflow(*a.known, *b.known, &product)) return constant(product);
  if (a.known == 1 && a.type == b.type) return b;
  if (b.known == 1 && a.type == b.type) return a;
  if (a.known == 0 || b.known == 0) return constant(0, a.type);
  return op("mul", a, b);
}

Value Builder::compare(std::string_view predicate, const Value& a, const Value& b) {
  return instruction(integer(1, a.type.lanes), std::string(predicate) + " " + a.typed() + ", " + b.name);
}

Value Builder::select(const Value& condition, const Value& a, const Value& b) {
  const int lanes = std::max({condition.type.lanes, a.type.lanes, b.type.lanes});
  if (condition.known && condition.type.lanes == 1) return splat(*condition.known ? a : b, lanes);
  const Value x = splat(a, lanes), y = splat(b, lanes);
  return instruction(x.type, "select " + condition.typed() + ", " + x.typed() + ", " + y.typed());
}

Value Builder::cast(std::string_view opcode, const Value& value, Type type) {
  if (opcode == "bitcast" && value.type == type) return value;
  return instruction(type, std::string(opcode) + " " + value.typed() + " to " + text(type));
}

Value Builder::splat(const Value& value, int lanes) {
  if (value.type.lanes == lanes) return value;
  const Type type = value.type.with_lanes(lanes);
  if (value.name[0] != '%' && value.name[0] != '@') return {splatted(value.name, type), type, std::nullopt};
  const Value first = instruction(type, "insertelement " + text(type) + " poison, " + value.typed() + ", i64 0");
  return instruction(type, "shufflevector " + first.typed() + ", " + text(type) + " poison, <" + std::to_string(lanes) +
                               " x i32> zeroinitializer");
}

Value Builder::extract(const Value& value, int lane) {
  if (value.type.lanes == 1) return value;
  return instruction(value.type.with_lanes(1), "extractelement " + value.typed() + ", i64 " + std::to_string(lane));
}

Value Builder::insert(const Value& vector, const Value& element, int lane) {
  return instruction(vector.type,
                     "insertelement " + vector.typed() + ", " + element.typed() + ", i64 " + std::to_string(lane));
}

Value Builder::shuffle(const Value& a, const Value& b, const std::vector<int>& mask) {
  std::string list = "<" + std::to_string(mask.size()) + " x i32> <";
  for (std::size_t i = 0; i < mask.size(); ++i) list += (i ? ", i32 " : "i32 ") + std::to_string(mask[i]);
  return instruction(a.type.with_lanes(static_cast<int>(mask.size())),
                     "shufflevector " + a.typed() + ", " + b.typed() + ", " + list + ">");
}

void Builder::declare(const std::string& name, const std::string& result, const std::vector<Value>& args) {
  if (helper_names_.contains(name)) return;
  std::string list;
  for (const Value& arg : args) list += (list.empty() ? "" : ", ") + text(arg.type);
  declarations_.emplace(name, "declare " + result + " @" + name + "(" + list + ")");
}

namespace {
std::string argument_list(const std::vector<Value>& args, const std::vector<std::string>& attributes) {
  std::string list;
  for (std::size_t i = 0; i < args.size(); ++i) {
    list += (i ? ", " : "") + text(args[i].type) + " ";
    if (i < attributes.size() && !attributes[i].empty()) list += attributes[i] + " ";
    list += args[i].name;
  }
  return list;
}
}  // namespace

Value Builder::call(const std::string& name, Type result, const std::vector<Value>& args,
                    const std::vector<std::string>& attributes) {
  declare(name, text(result), args);
  return instruction(result, "call " + text(result) + " @" + name + "(" + argument_list(args, attributes) + ")");
}

void Builder::call_void(const std::string& name, const std::vector<Value>& args,
                        const std::vector<std::string>& attributes) {
  declare(name, "void", args);
  body_ += "  call void @" + name + "(" + argument_list(args, attributes) + ")\n";
}

Value Builder::min_signed(const Value& a, const Value& b) {
  if (both_known(a, b)) return constant(std::min(*a.known, *b.known));
  return call("llvm.smin." + mangled(a.type), a.type, {a, b});
}

Value Builder::max_signed(const Value& a, const Value& b) {
  if (both_known(a, b)) return constant(std::max(*a.known, *b.known));
  return call("llvm.smax." + mangled(a.type), a.type, {a, b});
}

Value Builder::offset(const Value& base, const Value& bytes) {
  if (bytes.known == 0 && bytes.type.lanes == 1) return base;
  return instruction(pointer(bytes.type.lanes), "getelementptr i8, " + base.typed() + ", " + bytes.typed());
}

Value Builder::load(Type type, const Value& at, int align, const std::string& scope) {
  return instruction(type, "load " + text(type) + ", " + at.typed() + ", align " + std::to_string(align) + scope);
}

void Builder::store(const Value& value, const Value& at, int align, const std::string& scope) {
  body_ += "  store " + value.typed() + ", " + at.typed() + ", align " + std::to_string(align) + scope + "\n";
}

Value Builder::opaque(const Value& mask) {
  const int lanes = mask.type.lanes;
  if (predicates_) {
    const Type word = integer(lanes > 32 ? 64 : 32);
    Value bits = cast("bitcast", mask, integer(lanes));
    if (lanes < word.bits) bits = cast("zext", bits, word);
    Value same = instruction(word, "call " + text(word) + " asm \"\", \"=r,0\"(" + bits.typed() + ")");
    if (lanes < word.bits) same = cast("trunc", same, integer(lanes));
    return cast("bitcast", same, mask.type);
  }
  const Type wide = integer(lanes >= 8 ? 256 / lanes : std::max(32, 128 / lanes), lanes);  // a whole register
  const Value bits = cast("sext", mask, wide);
  const Value same = instruction(wide, "call " + text(wide) + " asm \"\", \"=x,0\"(" + bits.typed() + ")");
  return compare("icmp slt", same, zero(wide));
}

Value Builder::load_masked(Type type, const Value& at, int align, const Value& mask, const Value& otherwise) {
  return call("llvm.masked.load." + mangled(type) + ".p0", type, {at, opaque(mask), otherwise},
              {"align " + std::to_string(align)});
}

void Builder::store_masked(const Value& value, const Value& at, int align, const Value& mask) {
  call_void("llvm.masked.store." + mangled(value.type) + ".p0", {value, at, opaque(mask)},
            {"", "align " + std::to_string(align)});
}

Value Builder::gather(Type type, const Value& pointers, int align, const Value& mask, const Value& otherwise) {
  return call("llvm.masked.gather." + mangled(type) + "." + mangled(pointers.type), type,
              {pointers, opaque(mask), otherwise}, {"align " + std::to_string(align)});
}

void Builder::scatter(const Value& value, const Value& pointers, int align, const Value& mask) {
  call_void("llvm.masked.scatter." + mangled(value.type) + "." + mangled(pointers.type),
            {value, pointers, opaque(mask)}, {"", "align " + std::to_string(align)});
}

std::string Builder::label(std::string_view hint) { return std::string(hint) + std::to_string(next_++); }

void Builder::place(const std::string& label) {
  body_ += label + ":\n";
  current_ = label;
}

void Builder::jump(const std::string& label) { body_ += "  br label %" + label + "\n"; }

void Builder::jump_if(const Value& condition, const std::string& then, const std::string& otherwise) {
  body_ += "  br " + condition.typed() + ", label %" + then + ", label %" + otherwise + "\n";
}

void Builder::loop(const Value& begin, const Value& end, std::int64_t step,
                   const std::function<void(const Value&)>& body) {
  loop_carrying(begin, end, step, {}, [&](const Value& index, const std::vector<Value>&) {
    body(index);
    return std::vector<Value>();
  });
}

std::vector<Value> Builder::loop_carrying(
    const Value& begin, const Value& end, std::int64_t step, std::vector<Value> initial,
    const std::function<std::vector<Value>(const Value&, const std::vector<Value>&)>& body) {
  if (begin.known && end.known) {
    if (*begin.known >= *end.known) return initial;
    if (*end.known - *begin.known <= step) return body(begin, initial);
  }
  const std::string head = label("head"), inside = label("body"), done = label("done"), before = current_;
  const Value index{fresh(), begin.type, std::nullopt}, next{fresh(), begin.type, std::nullopt};
  std::vector<Value> carried;
  for (const Value& value : initial) carried.push_back({fresh(), value.type, std::nullopt});
  jump(head);
  // The phis need the last block of the body, so the body's text is put together first.
  std::string outer = std::exchange(body_, std::string());
  place(inside);
  const std::vector<Value> results = body(index, carried);
  body_ += "  " + next.name + " = add " + index.typed() + ", " + std::to_string(step) + "\n";
  jump(head);
  std::string inner = std::exchange(body_, std::move(outer));
  const std::string last = std::exchange(current_, before);
  place(head);
  const auto phi = [&](const Value& value, const std::string& from_before, const std::string& from_body) {
    body_ += "  " + value.name + " = phi " + text(value.type) + " [ " + from_before + ", %" + before + " ], [ " +
             from_body + ", %" + last + " ]\n";
  };
  phi(index, begin.name, next.name);
  for (std::size_t i = 0; i < carried.size(); ++i) phi(carried[i], initial[i].name, results[i].name);
  jump_if(compare("icmp slt", index, end), inside, done);
  body_ += inner;
  place(done);
  return carried;
}

void Builder::branch(const Value& condition, const std::function<void()>& then,
                     const std::function<void()>& otherwise) {
  if (condition.known) {
    if (*condition.known)
      then();
    else if (otherwise)
      otherwise();
    return;
  }
  const std::string yes = label("then"), no = label("else"), done = label("join");
  jump_if(condition, yes, otherwise ? no : done);
  place(yes);
  then();
  jump(done);
  if (otherwise) {
    place(no);
    otherwise();
    jump(done);
  }
  place(done);
}

void Builder::begin_function(const std::string& header) {
  body_ += header + " {\n";
  place("entry");
}

void Builder::helper(const std::string& name, const std::function<void()>& write) {
  if (!helper_names_.emplace(name, true).second) return;
  std::string outer = std::exchange(body_, std::string());
  const std::string outer_block = current_;
  write();
  helpers_ += std::exchange(body_, std::move(outer));
  current_ = outer_block;
}

std::string Builder::module() const {
  std::string result = globals_ + "\n";
  for (const auto& [name, declaration] : declarations_) result += declaration + "\n";
  return result + "\n" + helpers_ + body_;
}

}  // namespace kiln::emit::llvm_text
