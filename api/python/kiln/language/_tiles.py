"""Values as expressions and as tiles, and the statements that write tiles."""

from __future__ import annotations

import re
import types
from typing import Any, Dict, List, Optional, Tuple

from ._arithmetic import Mistake, binary, broadcast, call, cast, constant, fits, is_number, same_shape, shape_text
from ._builder import Builder
from ._expr import ELEMENT, BlockPointer, Dim, Dot, Expr, Param, Pointer, Region, Tile, Transposed, mentions
from ._types import constexpr

Shape = Tuple[Dim, ...]
INDEX_NAMES = ("i0", "i1", "i2", "i3")


def placed(text: str) -> str:
    """An expression over a tile's elements in a map: ``$0`` as the map's first index, and so on."""
    return re.sub(r"\$(\d)", lambda m: INDEX_NAMES[int(m.group(1))], text)


class MapScope:
    """The body of an elementwise loop that is being read (``T.Parallel``): assignments become its items."""

    def __init__(self, names: List[str], extents: Shape) -> None:
        self.names, self.extents = names, extents
        self.items: List[Dict[str, Any]] = []
        self.conditions: List[Expr] = []


class Tiles:
    """The part of the tracer that puts values into tiles.

    Needs ``builder``, ``scope`` (a MapScope or None) and ``product_names``.
    """

    builder: Builder
    scope: Optional[MapScope]
    product_names: Any
    views: Any

    # -- as an expression, as a tile

    def expr(self, value: Any) -> Expr:
        """An elementwise expression of a value; regions and products are put into tiles first."""
        if isinstance(value, Expr):
            return value
        if isinstance(value, constexpr):
            value = value.value
        if is_number(value):
            return constant(value)
        if isinstance(value, Tile):
            if value.dtype is None:
                raise Mistake("%s has not been written" % value.name,
                              "fill it first: a copy, tl.zeros or an assignment")
            return value.read()
        if isinstance(value, (Region, Dot)):
            return self.tile(value).read()
        if isinstance(value, Transposed):
            source = self.expr(value.of)
            last = len(source.shape) - 1
            axes = {k: "$%d" % (k if k < last - 1 else 2 * last - 1 - k) for k in range(last + 1)}
            return source.moved(axes, value.shape)
        if isinstance(value, Pointer):
            raise Mistake("%s is a pointer, not a value" % value.param.name, "tl.load(pointer) reads what it points to")
        if isinstance(value, Param):
            if value.mode != "flat" and value.shape:
                return self.expr(self.whole(value))
            raise Mistake("%s is a pointer, not a value" % value.name,
                          "tl.load(%s + offsets) reads what it points to" % value.name)
        raise Mistake("expected a number or a tile, found %s" % describe(value),
                      "a kernel computes with numbers, tiles and parameters")

    def operand(self, value: Any) -> Any:
        """For operators: numbers as they are, everything else as an expression."""
        if isinstance(value, constexpr):
            value = value.value
        return value if is_number(value) else self.expr(value)

    def tile(self, value: Any, hint: str = "t", space: Optional[str] = None) -> Tile:
        """A tile that holds the value: itself, or a new one."""
        if isinstance(value, Tile):
            return value
        if space is None:
            space = "shared" if hint in self.product_names else "fragment"
        if isinstance(value, Param):
            value = self.whole(value)
        if isinstance(value, Region):
            assert value.dtype is not None
            made = self.builder.alloc(hint, space, value.dtype, value.shape, True)
            self.copy_region(value, made)
            return made
        if isinstance(value, Dot):
            made = self.builder.alloc(hint, "fragment", value.dtype, value.shape, True)
            self.write(made, value)
            return made
        expr = self.expr(value)
        dtype = self.width_of(expr) if expr.dtype == "index" else expr.dtype
        made = self.builder.alloc(hint, space, dtype, expr.shape, True)
        self.write(made, expr)
        return made

    def width_of(self, value: Expr) -> str:
        """The element type that holds an index: i32, where nothing tells that it needs more."""
        found = self.views.ranges.fixed(value.poly) if value.poly is not None and not value.reads else None
        if found is None:
            numbers = [int(digits) for digits in re.findall(r"(?<![\w.$])\d+", value.text)]
            return "i32" if all(fits(number, "i32") for number in numbers) else "i64"
        if fits(found[0], "i32") and fits(found[1], "i32"):
            return "i32"
        if not (fits(found[0], "i64") and fits(found[1], "i64")):
            raise Mistake("a number up to %d, which no integer type holds" % found[1],
                          "a float, such as %r" % float(2 ** 64))
        return "i64"

    def increased(self, value: Any, steps: Any, own: bool) -> Any:
        """A number plus an index that adds up steps; ``own``: which are of value's type. An integer of a width wraps, and
        as a place it is what it would be if it did not.
        """
        if not own or not isinstance(value, Expr) or value.poly is not None:
            return binary("+", value, steps)
        exact: Any = binary("+", cast(value, "index"), steps)
        made = cast(exact, value.dtype)
        made.whole = exact.poly
        return made

    # -- writing tiles

    def write(self, tile: Tile, value: Any) -> None:
        """All of a tile."""
        if isinstance(value, Dot):
            return self.multiply(tile, value)
        if isinstance(value, Param):
            value = self.whole(value)
        if tile.dtype is None:
            self.builder.set_dtype(tile, self.type_of(value))
        if isinstance(value, Region):
            return self.copy_region(value, tile)
        if isinstance(value, Tile) and (value.shape or not tile.shape):
            if value is not tile:
                self._same_shape(value.shape, tile.shape)
                self.builder.emit({"op": "copy", "from": value.name, "to": tile.name})
            return None
        assert tile.dtype is not None
        expr = broadcast(cast(self.operand(value), tile.dtype), tile.shape)
        own = tile.element(["$%d" % k for k in range(len(tile.shape))])
        if self._reads_others(expr, own):
            return self.write(tile, self.tile(expr, tile.name))  # it reads elements that the map itself may have set
        if self._accumulated(tile, expr):
            return None
        if "$" not in expr.text and not expr.reads and expr.level < ELEMENT:
            self.builder.emit({"op": "fill", "tile": tile.name, "value": expr.text})
            return None
        self.map(tile.shape, own, expr)
        return None

    def _accumulated(self, tile: Tile, expr: Expr) -> bool:
        """``row_sum += tl.sum(x, axis=1)``: a reduction that was just made for this alone goes into the tile itself."""
        last = self.builder.last
        if last is None or last["op"] != "reduce" or "accumulate" in last or last["from"] == tile.name:
            return False
        made = next(t for t in reversed(self.builder.tiles) if t.name == last["to"])
        if not made.fresh or made.dtype != tile.dtype or not same_shape(made.shape, tile.shape):
            return False
        old, new = tile.read(), made.read()
        joined = {"sum": lambda a, b: binary("+", a, b), "max": lambda a, b: call("max", a, b), "min": lambda a,
                  b: call("min", a, b)}.get(last["kind"])
        if joined is None or expr.text not in (joined(old, new).text, joined(new, old).text):
            return False
        last["to"], last["accumulate"] = tile.name, True
        self.builder.drop(made)
        return True

    def type_of(self, value: Any) -> str:
        """The element type that a tile without one takes from what is first written."""
        if is_number(value):
            raise Mistake("the element type of this tile is not known yet",
                          "give it with dtype=, or write a tile or a slice first")
        found = value.dtype if isinstance(value, (Region, Dot, Tile, Expr, Transposed)) else self.expr(value).dtype
        if found is None:
            raise Mistake("a tile is read before it is written", "fill it first: a copy, tl.zeros or an assignment")
        return "i32" if found == "index" else found

    def map(self, shape: Shape, target: str, value: Expr, where: Optional[Expr] = None, **more: Any) -> None:
        """A map over ``shape`` that sets ``target`` (text with ``$k``) to ``value``."""
        if len(shape) > 4:
            raise Mistake("a tile has at most 4 axes, this one %d" % len(shape),
                          "join axes that lie side by side into one")
        if shape:
            value = self._beforehand(value, target)
            where = None if where is None else self._beforehand(where, target)
        item: Dict[str, Any] = {"set": placed(target), "value": placed(value.text)}
        item.update({k: placed(v) for k, v in more.items()})
        if "atomic" in more:
            item["to"] = item.pop("set")
        if where is not None:
            item["where"] = placed(where.text)
        extent = [str(n) for n in shape] or ["1"]
        self.builder.emit({"op": "map", "index": list(INDEX_NAMES[: max(1, len(shape))]), "extent": extent,
                           "body": [item]})

    def _beforehand(self, value: Expr, target: str) -> Expr:
        """What a map takes, computed in front of it where it reads elements that other iterations may have set."""
        return self.tile(value, target.partition("[")[0]).read() if self._reads_others(value, target) else value

    def _reads_others(self, value: Expr, target: str) -> bool:
        """Whether it reads elements of the memory that ``target`` is an element of, and not only this one."""
        memory = target.partition("[")[0]
        return memory in value.reads and mentions(re.sub(r"(?<![\w.$])" + re.escape(target), "", value.text), memory)

    def multiply(self, tile: Tile, dot: Dot) -> None:
        """``tile`` = what the product is added to + the product."""
        self._same_shape(dot.shape, tile.shape)
        if tile.dtype is None:
            self.builder.set_dtype(tile, dot.dtype)
        if tile.dtype != dot.dtype or tile.space == "shared" or tile.name in (dot.a.name, dot.b.name):
            made = self.builder.alloc(tile.name, "fragment", dot.dtype, dot.shape, True)
            self.multiply(made, Dot(dot.a, dot.b, dot.transpose_a, dot.transpose_b, dot.shape, dot.dtype, dot.added,
                                     dot.schedule))
            return self.write(tile, made.read())
        if dot.added is not None and dot.added is not tile:
            self.write(tile, dot.added)
        statement: Dict[str, Any] = {"op": "gemm", "a": dot.a.name, "b": dot.b.name, "c": tile.name}
        for name in ("transpose_a", "transpose_b"):
            if getattr(dot, name):
                statement[name] = "true"
        if dot.added is None:
            statement["clear"] = "true"
        if dot.schedule:
            statement["schedule"] = dot.schedule
        self.builder.emit(statement)
        return None

    def _same_shape(self, given: Shape, wanted: Shape) -> None:
        if not same_shape(given, wanted):
            raise Mistake("a value of shape %s does not fit shape %s" % (shape_text(given), shape_text(wanted)),
                          "both have one shape: slice, reshape or broadcast one of them")


def describe(value: Any) -> str:
    """What a value is, for error messages."""
    if isinstance(value, Tile):
        return "a tile of shape %s" % shape_text(value.shape)
    if isinstance(value, Expr):
        if value.shape:
            return "a tile of shape %s" % shape_text(value.shape)
        return "an expression of type %s" % value.dtype
    names = {Region: "a slice", Pointer: "a pointer", Param: "a tensor parameter", Dot: "a product",
             Transposed: "a transposed tile",
             types.ModuleType: "the module %s" % getattr(value, "__name__", "")}
    if isinstance(value, BlockPointer):
        return "a block pointer or descriptor"
    return names.get(type(value), "%s %r" % (type(value).__name__, value) if not callable(value) else repr(value))
