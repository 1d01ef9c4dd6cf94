"""Elementwise functions of TileLang's style, conditions over tiles, and the matrix of a convolution."""

from __future__ import annotations

import functools
from typing import Any, List, Optional, Tuple

from ..language._arithmetic import (
    FLOATS,
    Mistake,
    binary,
    bitcast,
    call,
    cast,
    ceildiv,
    constant,
    index_of,
    invert,
    is_number,
    truncated,
    truth,
    where,
)
from ..language._expr import ELEMENT, Expr, Param, Poly, Tile
from ..language._memory import describe
from ..language._operations import OPERATIONS, dtype_name, operation
from ..language._types import DTYPES, as_dtype
from ._math import _extreme
from ._types import canonical

Reader = Any


def _function(name: str, wanted: str) -> None:
    @operation("T." + name)
    def run(t: Reader, *operands: Any) -> Any:
        return call(wanted, *[t.operand(x) for x in operands])


for _name in (
    "exp",
    "exp2",
    "log",
    "log2",
    "log1p",
    "sqrt",
    "rsqrt",
    "tanh",
    "sigmoid",
    "sin",
    "cos",
    "erf",
    "floor",
    "ceil",
    "round",
    "abs",
    "isnan",
    "isinf",
    "popcount",
    "clz",
    "pow",
    "fma",
):
    _function(_name, _name)
_function("nearbyint", "round")


@operation("T.exp10")
def _exp10(t: Reader, x: Any) -> Any:
    return call("pow", cast(10.0, t.expr(x).dtype if t.expr(x).dtype in FLOATS else "f32"), t.operand(x))


@operation("T.log10")
def _log10(t: Reader, x: Any) -> Any:
    return binary("*", call("log2", t.operand(x)), 0.30102999566398120)


@operation("T.trunc")
def _trunc(t: Reader, x: Any) -> Any:
    value = t.operand(x)
    return where(binary("<", value, 0), call("ceil", value), call("floor", value))


def _operator(name: str, op: str) -> None:
    @operation("T." + name)
    def run(t: Reader, x: Any, y: Any) -> Any:
        return binary(op, t.operand(x), t.operand(y))


for _name, _op in (
    ("max", "max"),
    ("min", "min"),
    ("floordiv", "//"),
    ("floormod", "%"),
    ("bitwise_and", "&"),
    ("bitwise_or", "|"),
    ("bitwise_xor", "^"),
    ("shift_left", "<<"),
    ("shift_right", ">>"),
):
    _operator(_name, _op)


@operation("T.And")
def _and(t: Reader, x: Any, y: Any) -> Any:
    return binary("&", truth(t.operand(x)), truth(t.operand(y)))


@operation("T.Or")
def _or(t: Reader, x: Any, y: Any) -> Any:
    return binary("|", truth(t.operand(x)), truth(t.operand(y)))


@operation("T.Not", "T.bitwise_not")
def _not(t: Reader, x: Any) -> Any:
    return invert(t.operand(x))


def _fold(name: str, op: str) -> None:
    @operation("T." + name)
    def run(t: Reader, *conditions: Any) -> Any:
        found = [truth(t.operand(c)) for c in conditions]
        return functools.reduce(lambda a, b: binary(op, a, b), found)


_fold("all", "&")
_fold("any", "|")


@operation("T.truncdiv")
def _truncdiv(t: Reader, x: Any, y: Any) -> Any:
    return truncated("//", t.operand(x), t.operand(y))


@operation("T.truncmod")
def _truncmod(t: Reader, x: Any, y: Any) -> Any:
    return truncated("%", t.operand(x), t.operand(y))


@operation("T.ceildiv")
def _ceildiv(t: Reader, lhs: Any, rhs: Any) -> Any:
    return ceildiv(t.operand(lhs), t.operand(rhs))


@operation("T.if_then_else", "T.Select")
def _if_then_else(t: Reader, condition: Any, true_value: Any, false_value: Any) -> Any:
    return where(t.operand(condition), t.operand(true_value), t.operand(false_value))


@operation("T.clamp")
def _clamp(t: Reader, value: Any, min_val: Any, max_val: Any) -> Any:
    return binary("min", binary("max", t.operand(value), t.operand(min_val)), t.operand(max_val))


@operation("T.Cast")
def _cast(t: Reader, dtype: Any, value: Any = 0) -> Any:
    found = as_dtype(canonical(dtype)) if isinstance(dtype, str) else as_dtype(dtype)
    if found is None:
        raise Mistake(
            "%r is no element type, or not one that is supported yet" % (dtype,), 'such as T.float16 or "float16"'
        )
    if is_number(value):
        return (
            constant(value, found.name)
            if found.is_float or found.name not in ("i32", "i64", "u32", "u64")
            else int(value)
        )
    return t.converted(value, found)


@operation("T.cast")
def _cast_value(t: Reader, value: Any, dtype: Any) -> Any:
    return _cast(t, dtype, value)


@operation("T.reinterpret")
def _reinterpret(t: Reader, value: Any, dtype: Any) -> Any:
    if isinstance(value, str):
        value, dtype = dtype, value
    name = dtype_name(dtype)
    expr = t.expr(value)
    if expr.dtype == "index":
        expr = cast(expr, {4: "i32", 8: "i64", 2: "i16", 1: "i8"}[DTYPES[name].bytes])
    return bitcast(expr, name)


@operation("T.infinity")
def _infinity(t: Reader, dtype: Any) -> Any:
    return float("inf") if DTYPES[dtype_name(dtype)].is_float else OPERATIONS["T.max_value"](t, dtype)


@operation("T.max_value")
def _max_value(t: Reader, dtype: Any) -> Any:
    return _extreme(False)(DTYPES[dtype_name(dtype)].long_name)


@operation("T.min_value")
def _min_value(t: Reader, dtype: Any) -> Any:
    return _extreme(True)(DTYPES[dtype_name(dtype)].long_name)


@operation("T.index_to_coordinates")
def _index_to_coordinates(t: Reader, index: Any, shape: Any) -> List[Any]:
    found: List[Any] = []
    rest = t.operand(index)
    for extent in reversed(list(shape)[1:]):
        found.append(binary("%", rest, t.operand(extent)))
        rest = binary("//", rest, t.operand(extent))
    return list(reversed(found + [rest]))


def _question(name: str, kind: str) -> None:
    @operation("T." + name)
    def run(t: Reader, buffer: Any) -> Any:
        tile = t.tile(truth(t.expr(buffer)), "set", "fragment")
        for axis in reversed(range(len(tile.shape))):
            made = t.builder.alloc(kind, "fragment", "bool", tile.shape[:axis] or (1,), True)
            t.builder.emit({"op": "reduce", "kind": kind, "from": tile.name, "to": made.name, "axis": axis})
            tile = made
        return t.item(tile, [0])


_question("any_of", "any")
_question("all_of", "all")


@operation("T.im2col")
def _im2col(
    t: Reader,
    img: Any,
    col: Any,
    nhw_step: Any,
    c_step: Any,
    kernel: Any,
    stride: Any,
    dilation: Any,
    pad: Any,
    **hints: Any,
) -> None:
    if not isinstance(img, Param) or not isinstance(col, Tile) or len(img.shape) != 4 or len(col.shape) != 2:
        raise Mistake(
            "T.im2col of %s to %s" % (describe(img), describe(col)), "from a tensor [n, h, w, c] to a tile of two axes"
        )
    t.use_axes(img)
    img.read = True
    rows, depth = col.shape
    sizes = t.attribute(img, "shape")
    taps = kernel if isinstance(kernel, (tuple, list)) else (kernel, kernel)
    high, wide = (_positions(n, k, stride, dilation, pad) for n, k in zip(sizes[1:3], taps))
    row, column = (Expr("index", None, tuple(col.shape), ELEMENT, Poly.of("$%d" % k)) for k in (0, 1))
    at = binary("+", row, binary("*", t.operand(nhw_step), t.operand(t.dim_value(rows))))
    k = binary("+", column, binary("*", t.operand(c_step), t.operand(t.dim_value(depth))))
    channels = sizes[3]
    tap = binary("//", k, channels)
    area = binary("*", high, wide)
    inside = binary("%", at, area)
    ys = _source(binary("//", inside, wide), binary("//", tap, taps[1]), stride, dilation, pad)
    xs = _source(binary("%", inside, wide), binary("%", tap, taps[1]), stride, dilation, pad)
    parts: Tuple[Any, ...] = (binary("//", at, area), ys, xs, binary("%", k, channels))
    value: Optional[Expr] = t.element(img, list(parts))
    for index, extent in zip(parts[1:3], sizes[1:3]):
        value = where(
            binary("&", binary(">=", index, 0), binary("<", index, extent)), value, constant(0.0, img.dtype)
        )  # type: ignore[assignment,arg-type]
    t.write(col, value)


def _positions(extent: Any, kernel: Any, stride: Any, dilation: Any, pad: Any) -> Any:
    """Output positions of a convolution along an axis."""
    span = binary("+", binary("*", dilation, binary("-", kernel, 1)), 1)
    return binary("+", binary("//", binary("-", binary("+", extent, 2 * pad), span), stride), 1)


def _source(position: Any, tap: Any, stride: Any, dilation: Any, pad: Any) -> Any:
    return index_of(binary("-", binary("+", binary("*", position, stride), binary("*", tap, dilation)), pad))
