// A map while it is bound. Internal to the statement binder.
#pragma once

#include "engine/specialize/map_writes.hpp"
#include "engine/specialize/statement_binder.hpp"

namespace kiln::specialize {

struct StatementBinder::MapState {
  const Stmt& stmt;
  const tile::Map& map;
  bound::Map bound;
  MapSpace space;
  bool good = true;
  bool empty = false;       // an extent is 0
  bool in_program = true;   // false: made for a message that stands by itself
  bound::ExprPtr failed;    // whether an assertion of the iteration has failed; null: there is none
  int failed_tile = -1;     // where that is kept
  bound::ExprPtr leave;     // the same for the whole block, where it is known without a tile
};

inline bound::ExprPtr variable_of(int id, DType type) {
  bound::Expr variable;
  variable.kind = bound::Expr::Kind::variable;
  variable.type = type;
  variable.integer = id;
  return std::make_shared<const bound::Expr>(std::move(variable));
}

}  // namespace kiln::specialize
