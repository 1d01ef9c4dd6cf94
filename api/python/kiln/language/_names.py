"""Names: what they hold, and how a value gets into one."""

from __future__ import annotations

import ast
from typing import Any, Callable, List, Tuple

from ._arithmetic import Mistake, cast, index_of, is_number, logical, same_shape, where
from ._expr import ELEMENT, UNIFORM, BlockPointer, Dot, Expr, Param, Pointer, Region, Tile, Transposed, index_expr
from ._loops import Loops
from ._memory import describe
from ._types import constexpr


class Names(Loops):
    """The part of the tracer for assignments."""

    arguments_are_values = True  # of functions that are read where they are called

    info: Any
    hint: str
    item: Callable[[Any, List[Any]], Any]
    reshaped: Callable[[Expr, Any], Expr]
    scatter: Callable[[Any, List[Any], Any], None]
    _items: Callable[[ast.AST], List[Any]]

    def bind(self, target: ast.AST, value: Any) -> None:
        if isinstance(target, ast.Name):
            self.assign(target.id, value, target)
        elif isinstance(target, (ast.Tuple, ast.List)):
            values = list(value) if isinstance(value, (tuple, list)) else None
            if values is None or len(values) != len(target.elts):
                given = "%d values" % len(values) if values is not None else describe(value)
                self.fail("%d names for %s" % (len(target.elts), given), target, "as many names as values")
            carried, parts = self.frame.carried, list(ast.walk(target))
            if any(getattr(part, "id", None) in carried or isinstance(part, ast.Subscript) for part in parts):
                values = [values[0]] + [self.held(v) for v in values[1:]]  # type: ignore[index]
            for part, item in zip(target.elts, values or []):
                self.hint = getattr(part, "id", "t")
                self.bind(part, item)
        elif isinstance(target, ast.Subscript):
            self.assign_item(target, value)
        else:
            self.fail("this cannot be assigned to", target, "assign to a name, a tile or a slice")

    def assign(self, name: str, value: Any, node: ast.AST) -> None:
        frame = self.frame
        if self.scope is not None and self.scope.conditions and name in frame.names and value is not frame.names[name]:
            if isinstance(value, (Tile, Pointer)):
                self.fail("%s would mean %s only where a condition holds, in an elementwise loop" % (name, describe(value)),
                          node, "choose among elements: a[i] if c else b[i]")
            condition: Any = self.scope.conditions[0]
            for more in self.scope.conditions[1:]:
                condition = logical("&&", condition, more)
            value = where(condition, self.operand(value), self.operand(frame.names[name]))
        carried = frame.carried.get(name)
        if carried is not None and self.scope is None:
            if _fits(carried, value):
                self.set_carried(name, carried, value)
                return
            if name not in frame.loose:
                self.fail("%s changes its type here, from %s to %s" % (name, _kind(carried), _kind(value)), node,
                          "a name that a loop or branch changes keeps its shape and element type: convert with .to(…)")
            del frame.carried[name]
            frame.loose.discard(name)
        frame.names[name] = self.owned(value, name)
        frame.borrowed.discard(name)
        frame.gone.pop(name, None)
        frame.hints.pop(name, None)

    def set_carried(self, name: str, carried: Any, value: Any) -> None:
        """Into the tile, or tuple of tiles, that a loop or branch keeps for the name."""
        frame = self.frame
        if isinstance(carried, (tuple, list)):
            value = self._copied(value)  # its parts may be the tiles that are written first
        self._set_parts(carried, value)
        frame.names[name] = carried

    def _copied(self, value: Any) -> Any:
        if isinstance(value, (tuple, list)):
            return type(value)(self._copied(part) for part in value)
        return self.held(value)

    def _set_parts(self, carried: Any, value: Any) -> None:
        if isinstance(carried, (tuple, list)):
            for one, other in zip(carried, value):
                self._set_parts(one, other)
            return
        waiting = self.dependents(carried)
        if waiting:
            value = self.held(value)
        for name in waiting:
            self.frame.names[name] = self._settled(self.frame.names[name], name)
        self.write(carried, value)

    def _settled(self, value: Any, name: str) -> Any:
        """A value that means elements of tiles, put into a tile now."""
        if isinstance(value, (tuple, list)):
            return type(value)(self._settled(part, name) for part in value)
        if isinstance(value, Transposed):
            return self._made(self.expr(value), name)
        if isinstance(value, Pointer):
            return Pointer(value.param, self._settled_place(value.offset, name))
        if isinstance(value, BlockPointer):
            places = [self._settled_place(e, name) for e in list(value.offsets) + [value.base]]
            return BlockPointer(value.param, value.shape, value.strides, places[:-1], value.block, places[-1])
        return value

    def _settled_place(self, place: Expr, name: str) -> Expr:
        return index_of(self._made(cast(place, "i64"), name + "_at").read()) if place.reads else place

    def owned(self, value: Any, name: str) -> Any:
        """The value as a name holds it: what depends on memory that may change is put into a tile now."""
        if isinstance(value, constexpr):
            return value.value
        if type(value) in (tuple, list):
            return type(value)(self._owned_part(part, name) for part in value)
        if isinstance(value, Tile):
            if value.fresh or not value.by_value:
                value.fresh = False
                return value
            value = value.read()
        if self.scope is not None:
            return self._local(value, name)
        if isinstance(value, (Dot, Region)):
            value = self.tile(value, name)
        elif isinstance(value, Expr) and value.reads:
            if not value.shape and value.level == UNIFORM and not self._written(value):
                return self.let(value, name)
            value = self.tile(value, name)
        elif isinstance(value, Transposed) and isinstance(value.of, Tile):
            value.of.aliased = True
        elif isinstance(value, (Pointer, BlockPointer)) and self._counts_memory(value):
            value = self._settled(value, name)
        if isinstance(value, Tile):
            value.fresh = False
        return value

    def passed(self, name: str, value: Any) -> Any:
        """An argument as the function's name holds it: elements of memory are what they are now."""
        if not self.arguments_are_values or self.scope is not None or not isinstance(value, Expr):
            return value
        return self.owned(value, name) if value.reads and self._reads_memory(value.reads) else value

    def _reads_memory(self, names: Any) -> bool:
        """Whether some of what is read may be changed by a statement: the author's tiles, tensors."""
        return not set(names) <= {tile.name for tile in self.builder.tiles if tile.by_value}

    def _owned_part(self, value: Any, name: str) -> Any:
        """An element of a tuple: its transpose would not be found when the tile changes in place."""
        owned = self.owned(value, name)
        return self._settled(owned, name) if isinstance(owned, Transposed) else owned

    def held(self, value: Any) -> Any:
        """The value as it is now, whatever is written next."""
        if isinstance(value, Tile) and value.by_value and not value.fresh:
            value = value.read()
        if self.scope is not None:
            return self._local(value, "t")
        changes = isinstance(value, (Dot, Region)) or isinstance(value, Expr) and value.reads
        return self.tile(value) if changes else value

    def _counts_memory(self, value: Any) -> bool:
        """Whether a pointer's place is told by memory that may change: the author's tiles, tensors that are written."""
        places = [value.offset] if isinstance(value, Pointer) else list(value.offsets) + [value.base]
        return self._reads_memory({name for place in places for name in place.reads})

    def _written(self, value: Expr) -> bool:
        params = self.info["params"]
        return any(params[r].written for r in value.reads if r in params)

    def let(self, value: Expr, name: str) -> Expr:
        """Names a value that is the same for the whole block, read once."""
        claimed = self.builder.claim(name)
        self.builder.emit({"op": "let", "name": claimed, "value": value.text})
        if value.dtype == "index":
            return index_expr(claimed)
        return Expr(value.dtype, claimed, (), UNIFORM)

    def _local(self, value: Any, name: str) -> Any:
        """Inside an elementwise loop: a let, so that it is computed once and holds what it was."""
        if isinstance(value, (Region, Dot)):
            raise Mistake("%s inside an elementwise loop" % describe(value), "index its elements: A[i, j]")
        if isinstance(value, Expr) and value.reads and not value.shape:
            assert self.scope is not None
            claimed = self.builder.claim(name)
            self.scope.items.append({"let": claimed, "value": value.text, "_at": self.builder.place})
            return index_expr(claimed, ELEMENT) if value.dtype == "index" else Expr(value.dtype, claimed, (), ELEMENT)
        return value

    def assign_item(self, target: ast.Subscript, value: Any) -> None:
        self.assign_at(target, self.eval(target.value), self._items(target.slice), value)

    def assign_at(self, target: ast.Subscript, base: Any, items: List[Any], value: Any) -> None:
        if isinstance(base, (Tile, Param)):
            self.store_item(base, items, value)
        elif isinstance(base, Pointer):
            self.fail("a pointer cannot be indexed", target, "tl.store(pointer + offset, value)")
        else:
            self.fail("%s cannot be assigned to" % describe(base), target,
                      "assign to a name, a tile or a slice of a parameter")

    def store_item(self, base: Any, items: List[Any], value: Any) -> None:
        whole = all(isinstance(x, slice) and x == slice(None) or x is Ellipsis for x in items)
        if isinstance(base, Tile) and whole:
            self.write(base, self._fitted(value, base.shape))
            return
        if any(isinstance(x, Expr) and x.shape or isinstance(x, Tile) for x in items):
            self.scatter(base, items, value)
            return
        self.store_region(self.region(base, items), value)

    def _fitted(self, value: Any, shape: Any) -> Any:
        """A tile or slice whose axes of extent 1 differ, as an expression of the wanted shape."""
        given = getattr(value, "shape", shape)
        if given == shape or is_number(value):
            return value
        if [n for n in given if n != 1] == [n for n in shape if n != 1]:
            return self.reshaped(self.expr(value), shape)
        return value if isinstance(value, Dot) else self.expr(value)


def _type_of(value: Any) -> Tuple[Any, Any]:
    if isinstance(value, (Tile, Expr, Dot, Region, Transposed)):
        dtype = value.dtype
        return value.shape, "i32" if dtype == "index" else dtype
    return None, None


def _fits(carried: Any, value: Any) -> bool:
    """Whether the tiles that a loop or branch keeps for a name take its new value."""
    if isinstance(carried, (tuple, list)):
        return type(value) is type(carried) and len(value) == len(carried) and all(map(_fits, carried, value))
    shape, dtype = _type_of(value)
    return is_number(value) or shape is not None and same_shape(shape, carried.shape) and dtype in (None, carried.dtype)


def _kind(value: Any) -> str:
    """A value's type and shape, for error messages."""
    if isinstance(value, (tuple, list)):
        return "(%s)" % ", ".join(_kind(part) for part in value)
    shape, dtype = _type_of(value)
    if shape is None:
        return describe(value)
    return "%s%s" % (dtype, "[%s]" % ", ".join(str(n) for n in shape) if shape else "")
