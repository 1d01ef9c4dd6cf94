"""Where two ways of a branch meet: one value for the two that a name has at their ends."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Set, Tuple

from ._arithmetic import FLOATS, cast, index_of, is_number, promoted, same_shape, shape_text, where
from ._expr import STATIC, BlockPointer, Expr, Param, Pointer, Tile, Transposed, index_expr
from ._memory import describe
from ._predication import declared
from ._types import DTYPES

_BOTH = "%s in one branch of an if and %s in the other"


class Side:
    """One way of a branch: the names at its end, its statements, and the tiles that were made in it."""

    def __init__(self, names: Dict[str, Any], statements: List[Dict[str, Any]], made: Set[str]) -> None:
        self.names, self.statements, self.made = names, statements, made


class Unlike(Exception):
    """Why a name's values on two ways have no common one."""

    def __init__(self, told: str, hint: str = "give it values of one shape and element type on both ways") -> None:
        super().__init__(told)
        self.hint = hint


class Meeting:
    """Joins values of the two sides of one ``if``.

    Args:
        tracer: the reader, whose builder has the statements around the ``if`` open.
        condition: as it stands in the program; if it reads a tile, both sides are done.
    """

    def __init__(self, tracer: Any, condition: Expr, sides: Tuple[Side, Side]) -> None:
        self._tracer, self._condition, self.sides = tracer, condition, sides
        self._local = [declared(side.statements) for side in sides]  # no name of these is known behind the if

    def joined(self, name: str, a: Any, b: Any, wide: bool = False) -> Any:
        """A number, an expression that chooses, or a tile that both ways write at their ends.

        Args:
            wide: whole numbers are places of memory, of 64 bits.
        Raises:
            Unlike: there is no such value; the text says what the two are.
        """
        if a is b or is_number(a) and type(a) is type(b) and (a == b or a != a and b != b):
            return a
        if isinstance(a, (tuple, list)) and type(a) is type(b) and len(a) == len(b):
            return type(a)(self.joined(name, x, y, wide) for x, y in zip(a, b))
        if isinstance(a, (Pointer, Param)) and isinstance(b, (Pointer, Param)):
            return self._pointer(name, a, b)
        if isinstance(a, BlockPointer) and isinstance(b, BlockPointer):
            return self._block_pointer(name, a, b)
        if not (_is_value(a) and _is_value(b)):
            if _equal(a, b):
                return a
            raise Unlike(_BOTH % (describe(a), describe(b)))
        if not same_shape(getattr(a, "shape", ()), getattr(b, "shape", ())):
            raise Unlike("of shape %s" % (_BOTH % (_shape(a), "of shape " + _shape(b))))
        if not self._condition.reads and self._is_known_behind(a, 0) and self._is_known_behind(b, 1):
            return self._chosen(name, a, b)
        return self._tile(name, a, b, wide)

    def _is_known_behind(self, value: Any, side: int) -> bool:
        return is_number(value) or isinstance(value, Expr) and not value.reads and not _words(value) & self._local[side]

    def _chosen(self, name: str, a: Any, b: Any) -> Any:
        merged = where(self._condition, a, b)
        static = isinstance(merged, Expr) and merged.level == STATIC and self._condition.level == STATIC
        if static and merged.dtype == "index" and not merged.shape:
            return index_expr(self._tracer.builder.tunable(name, merged.text), STATIC)
        return merged

    def _tile(self, name: str, a: Any, b: Any, wide: bool) -> Tile:
        t = self._tracer
        dtype = _common_type(a, b)
        whole = [t.expr(v) for v in (a, b) if isinstance(v, (int, Expr)) and getattr(v, "dtype", "index") == "index"]
        if dtype in ("index", "i32"):
            dtype = "i64" if wide and dtype == "index" or any(t.width_of(v) == "i64" for v in whole) else "i32"
        made = a if self._is_free(a, dtype) else None
        if made is None:
            space = "shared" if name in t.product_names else "fragment"
            made = t.builder.alloc(name, space, dtype, getattr(a, "shape", ()), True)
        made.fresh = False
        for side, value in zip(self.sides, (a, b)):
            if value is not made:
                t.builder.open(side.statements)
                t.write(made, value if isinstance(value, Tile) else cast(t.expr(value), dtype))
                t.builder.close()
        return made

    def _is_free(self, value: Any, dtype: str) -> bool:
        """Whether the first side's tile takes the other side's value too: nothing else means it, it always exists."""
        return isinstance(value, Tile) and value.name in self.sides[0].made and value.dtype == dtype \
            and self._condition.level != STATIC and not self._tracer.dependents(value)

    def _pointer(self, name: str, a: Any, b: Any) -> Pointer:
        one, other = (x if isinstance(x, Pointer) else Pointer(x, index_expr(0, STATIC)) for x in (a, b))
        sliced = any(isinstance(x, Param) and x.mode == "axes" for x in (a, b))
        if one.param is not other.param or sliced:
            raise Unlike("a pointer to %s" % (_BOTH % (one.param.name, "to " + other.param.name)),
                         "load in each branch, and use behind it what was loaded")
        self._tracer.use_flat(one.param)
        return Pointer(one.param, self._place(name + "_at", one.offset, other.offset))

    def _block_pointer(self, name: str, a: BlockPointer, b: BlockPointer) -> BlockPointer:
        told = [[x.param, x.block] + [e.text for e in list(x.shape) + list(x.strides)] for x in (a, b)]
        if told[0] != told[1]:
            raise Unlike("a block pointer to %s, or of another shape" % (_BOTH % (a.param.name, "to " + b.param.name)),
                         "load in each branch, and use behind it what was loaded")
        pairs = zip(list(a.offsets) + [a.base], list(b.offsets) + [b.base])
        places = [self._place(name + "_at", x, y) for x, y in pairs]
        return BlockPointer(a.param, a.shape, a.strides, places[:-1], a.block, places[-1])

    def _place(self, name: str, a: Expr, b: Expr) -> Expr:
        same = a.text == b.text and same_shape(a.shape, b.shape) and not a.reads | b.reads
        if same and self._is_known_behind(a, 0):
            return a
        return index_of(self._tracer.operand(self.joined(name, a, b, True)))


def _is_value(value: Any) -> bool:
    return is_number(value) or isinstance(value, (Expr, Transposed)) or isinstance(value, Tile) and value.by_value


def _equal(a: Any, b: Any) -> bool:
    try:
        return bool(a == b)
    except Exception:  # noqa: BLE001 - values of any type, with any notion of equality
        return False


def _words(value: Expr) -> Set[str]:
    return set(re.findall(r"[A-Za-z_]\w*", value.text))


def _shape(value: Any) -> str:
    return shape_text(getattr(value, "shape", ()))


def _common_type(a: Any, b: Any) -> str:
    """The element type of a tile that takes either value."""
    one, other = _type_beside(a, b), _type_beside(b, a)
    if one == other:
        return one
    kinds = ["i32" if kind == "bool" else kind for kind in (one, other)]
    if "index" in kinds:
        element = kinds[kinds[0] == "index"]
        return element if element in FLOATS + ("i32", "u32", "i64", "u64") else "index"
    return promoted(*kinds)


def _type_beside(value: Any, other: Any) -> str:
    """A value's element type; a number takes that of the other value, if it fits."""
    if not is_number(value):
        return "i32" if value.dtype is None else str(value.dtype)
    if isinstance(value, bool):
        return "bool"
    kind = "bool" if is_number(other) else str(other.dtype)
    if isinstance(value, float):
        return kind if kind in FLOATS else "f32"
    if kind in FLOATS:
        return kind
    bits = 0 if kind in ("bool", "index") else 8 * DTYPES[kind].bytes
    low, high = (0, 2 ** bits) if kind.startswith("u") else (-(2 ** bits // 2), 2 ** bits // 2)
    return kind if low <= value < high else "index"
