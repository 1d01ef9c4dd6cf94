// What an expression of a tile program is worth while it is bound: a typed expression, a literal, a type or a word.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "engine/ir/bound/interval.hpp"
#include "engine/ir/bound/program.hpp"

namespace kiln::specialize {

using bound::decide;
using bound::hull;
using bound::point;
using bound::Range;
using bound::range_of;
using bound::range_of_type;

struct Value {
  enum class Kind : std::uint8_t {
    mistake,  // reported already; whatever is made of it is a mistake, without another report
    typed,    // expr
    type,     // dtype
    word,     // text: a choice of an option of type `name`
  } kind = Kind::mistake;
  bound::ExprPtr expr;
  bool literal = false;         // typed: a literal (index or f64) that takes the other operand's type
  bool reads_elements = false;  // typed: depends on elements of tiles or tensors
  Range range;                  // typed, of an integer type or index
  bool exact = false;           // both ends of `range` are reached by iterations of the map around it
  unsigned map_indices = 0;     // exact: which of the map's indices it is made of, a bit each
  DType dtype = DType::index;
  std::string text;

  explicit operator bool() const { return kind != Kind::mistake; }
  [[nodiscard]] bool is_typed() const { return kind == Kind::typed; }
  [[nodiscard]] DType type() const { return expr->type; }
  [[nodiscard]] bool constant() const { return is_typed() && bound::is_constant(*expr); }
};

inline Value integer_value(std::int64_t value, DType type = DType::index) {
  Value v;
  v.kind = Value::Kind::typed;
  v.expr = bound::make_integer(value, type);
  v.range = point(v.expr->integer);
  v.exact = true;
  return v;
}
inline Value boolean_value(bool value) { return integer_value(value ? 1 : 0, DType::boolean); }
inline Value type_value(DType type) {
  Value v;
  v.kind = Value::Kind::type;
  v.dtype = type;
  return v;
}
inline Value word_value(std::string text) {
  Value v;
  v.kind = Value::Kind::word;
  v.text = std::move(text);
  return v;
}
inline Value typed_value(bound::ExprPtr expr, Range range = {}, bool reads_elements = false) {
  Value v;
  v.kind = Value::Kind::typed;
  v.range = expr->kind == bound::Expr::Kind::integer ? point(expr->integer) : range;
  v.expr = std::move(expr);
  v.reads_elements = reads_elements;
  return v;
}

// What a name stands for.
struct Named {
  // absent: its `when` is false; unset: a dynamic symbol without a value, where one is needed
  enum class Kind : std::uint8_t { value, tensor, tile, absent, unset } kind = Kind::value;
  Value value;
  int id = -1;  // tensor: position; tile: position in the binder's list
};

// Names in scope. Inner declarations are undone by `leave`.
class Names {
 public:
  [[nodiscard]] const Named* find(const std::string& name) const {
    const auto found = names_.find(name);
    return found == names_.end() ? nullptr : &found->second;
  }
  void declare(const std::string& name, Named named) {
    names_.insert_or_assign(name, std::move(named));
    declared_.push_back(name);
  }
  void declare(const std::string& name, Value value) {
    Named named;
    named.value = std::move(value);
    declare(name, std::move(named));
  }
  [[nodiscard]] std::size_t mark() const { return declared_.size(); }
  void leave(std::size_t mark) {
    while (declared_.size() > mark) {
      names_.erase(declared_.back());
      declared_.pop_back();
    }
  }

 private:
  std::unordered_map<std::string, Named> names_;
  std::vector<std::string> declared_;
};

}  // namespace kiln::specialize
