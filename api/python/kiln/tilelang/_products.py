"""Products, reductions, running sums, atomics, and elementwise functions of TileLang's style."""

from __future__ import annotations

from typing import Any, List, Optional, Tuple

from ..language._arithmetic import (FLOATS, Mistake, binary, bitcast, call, cast, ceildiv, constant, index_of, is_number, negate, same_shape, shape_text,
                                    truth, where)
from ..language._expr import Expr, Param, Tile
from ..language._memory import describe
from ..language._operations import OPERATIONS, dtype_name, operation
from ..language._tilelang import Access
from ..language._types import DTYPES, as_dtype
from ._places import area_of, move, tile_of
from ._types import canonical

Reader = Any


# -- products


@operation("T.gemm")
def _gemm(t: Reader, A: Any, B: Any, C: Any, transpose_A: Any = False, transpose_B: Any = False, policy: Any = None, clear_accum: Any = False,
          k_pack: Any = 1, wg_wait: Any = 0, mbar: Any = None, annotations: Any = None) -> None:
    a, b = tile_of(t, A, "a", "shared"), tile_of(t, B, "b", "shared")
    c = tile_of(t, C, "c")
    a, b = _matrix(t, a), _matrix(t, b)
    cleared = t.operand(clear_accum) if not isinstance(clear_accum, bool) else clear_accum
    if isinstance(cleared, Expr):  # decided while it runs
        cleared = where(cleared, 0.0, 1.0)
        t.write(c, binary("*", c.read(), cast(cleared, c.dtype)))  # type: ignore[arg-type]
        cleared = False
    dot = OPERATIONS["dot"](t, a, b, None, trans_a=_known(transpose_A), trans_b=_known(transpose_B))
    if len(c.shape) != 2 or not same_shape(dot.shape, c.shape):
        raise Mistake("a product of shape %s does not fit C, of shape %s" % (shape_text(dot.shape), shape_text(c.shape)),
                      "A is [m, k], with transpose_A [k, m]; B is [k, n], with transpose_B [n, k]")
    if not cleared:
        dot.added = c
    t.multiply(c, dot)
    if c is not C:
        move(t, area_of(t, c), area_of(t, C))


def _known(value: Any) -> bool:
    if not isinstance(value, (bool, int)):
        raise Mistake("whether an operand is transposed must be known when the kernel is read")
    return bool(value)


def _matrix(t: Reader, tile: Tile) -> Tile:
    """A tile with two axes; leading ones of extent 1 are taken off."""
    if len(tile.shape) == 2 or any(n != 1 for n in tile.shape[:-2]):
        return tile
    made = t.builder.alloc("matrix", "shared", tile.dtype, tile.shape[-2:], True)
    move(t, area_of(t, tile), area_of(t, made))
    return made


# -- reductions


def _axis(tile: Tile, axis: Any) -> int:
    if not isinstance(axis, int) or not -len(tile.shape) <= axis < len(tile.shape):
        raise Mistake("axis %r of a tile of shape %s" % (axis, shape_text(tile.shape)))
    return axis % len(tile.shape)


def reduce(t: Reader, kind: str, buffer: Any, out: Any, dim: Any, clear: Any) -> None:
    source = tile_of(t, buffer, "source")
    axis = _axis(source, dim)
    if not isinstance(clear, bool):
        raise Mistake("whether the result is cleared must be known when the kernel is read")
    if t.scope is not None:
        raise Mistake("a reduction inside an elementwise loop", "move it behind the loop")
    target = area_of(t, out)
    dtype = target.of.dtype
    assert dtype is not None and source.dtype is not None
    if kind == "abssum":
        source, kind = t.tile(cast(call("abs", source.read()), dtype), "magnitudes", "fragment"), "sum"
    elif source.dtype != dtype:
        source = t.tile(cast(source.read(), dtype), "converted", "fragment")
    shape = source.shape[:axis] + source.shape[axis + 1:] or (1,)
    direct = target.whole and same_shape(target.of.shape, shape)
    into = target.of if direct else t.builder.alloc("reduced", "fragment", dtype, shape, True)
    if target.follows:
        target.follow(shape)
    if not direct and not clear:
        move(t, target, area_of(t, into))
    statement = {"op": "reduce", "kind": kind, "from": source.name, "to": into.name, "axis": axis}
    if not clear:
        statement["accumulate"] = True
    t.builder.emit(statement)
    if not direct:
        move(t, area_of(t, into), target)


def _reduction(name: str, kind: str) -> None:
    @operation("T." + name)
    def run(t: Reader, buffer: Any, out: Any, dim: Any = -1, clear: Any = True, **hints: Any) -> None:
        reduce(t, kind, buffer, out, dim, clear)


for _name in ("max", "min", "sum", "abssum", "absmax"):
    _reduction("reduce_" + _name, _name)


@operation("T.reduce")
def _reduce(t: Reader, buffer: Any, out: Any, reduce_type: str, dim: Any, clear: Any = True, **hints: Any) -> None:
    if reduce_type not in ("sum", "max", "min", "abssum", "absmax"):
        raise Mistake("a reduction of kind %r" % (reduce_type,), "there are sum, max, min, abssum, absmax")
    reduce(t, reduce_type, buffer, out, dim, clear)


def _running(name: str, kind: str) -> None:
    @operation("T." + name)
    def run(t: Reader, src: Any, dst: Any = None, dim: Any = 0, reverse: Any = False) -> None:
        source = tile_of(t, src, "source")
        target = area_of(t, src if dst is None else dst)
        assert source.dtype is not None
        direct = target.whole and target.of is not source and target.of.dtype == source.dtype
        into = target.of if direct else t.builder.alloc("running", "fragment", source.dtype, source.shape, True)
        statement = {"op": "scan", "kind": kind, "from": source.name, "to": into.name, "axis": _axis(source, dim)}
        if _known(reverse):
            statement["reverse"] = True
        t.builder.emit(statement)
        if not direct:
            if target.follows:
                target.follow(source.shape)
            move(t, area_of(t, into), target)


_running("cumsum", "sum")
_running("cummax", "max")


# -- atomics


def _atomic(name: str, kind: str) -> None:
    @operation("T." + name)
    def run(t: Reader, dst: Any, value: Any, memory_order: Any = None, return_prev: Any = False, use_tma: Any = False, annotations: Any = None) -> None:
        atomic(t, kind, dst, value, return_prev)


def atomic(t: Reader, kind: str, dst: Any, value: Any, return_prev: Any = False) -> None:
    of = dst.of if isinstance(dst, Access) else dst
    if not isinstance(of, Param):
        raise Mistake("an atomic operation on %s" % describe(of), "atomics are on tensors; a tile belongs to one block: T.reduce_sum, or +=")
    if return_prev:
        raise Mistake("the old value of an atomic operation", "leave return_prev out")
    of.atomic = True
    if isinstance(dst, Access) and dst.start_only and not isinstance(value, (Tile, Param)) and not (isinstance(value, Access) and not value.start_only):
        given = t.item(value.of, value.items) if isinstance(value, Access) else value
        return t.set_element(t.region(of, dst.items), given, kind)
    _atomic_tile(t, kind, dst, value)
    return None


def _atomic_tile(t: Reader, kind: str, dst: Any, value: Any) -> None:
    if t.scope is not None:
        raise Mistake("a tile inside an elementwise loop", "name its element: v[i, j]")
    source, target = tile_of(t, value, "value"), area_of(t, dst)
    if target.follows:
        target.follow(source.shape)
    wide = [a for a in target.axes if a.extent != 1]
    expr = t.reshaped(source.read(), tuple(n for n in source.shape if n != 1))
    if not same_shape(tuple(a.extent for a in wide), expr.shape):  # type: ignore[arg-type]
        raise Mistake("a value of shape %s does not fit shape %s" % (shape_text(source.shape), shape_text(target.shape)))
    indices, number = [], 0
    for axis in target.axes:
        if axis.extent != 1:
            indices.append("%s + $%d" % (axis.start.grouped, number))
            number += 1
        else:
            indices.append(axis.start.text)
    target.of.written = True  # type: ignore[union-attr]
    assert target.of.dtype is not None
    t.map(expr.shape, "%s[%s]" % (target.of.name, ", ".join(indices)), cast(expr, target.of.dtype), None, atomic=kind)


for _name, _kind in (("atomic_add", "add"), ("atomic_max", "max"), ("atomic_min", "min"), ("atomic_or", "or")):
    _atomic(_name, _kind)


def _atomic_neighbours(count: int) -> None:
    @operation("T.atomic_addx%d" % count)
    def run(t: Reader, dst: Any, value: Any, return_prev: Any = False) -> None:
        if not (isinstance(dst, Access) and dst.start_only and isinstance(value, Access) and value.start_only):
            raise Mistake("T.atomic_addx%d takes the first of %d neighbours on both sides" % (count, count), "T.atomic_addx%d(C[i, j], v[i, j])" % count)
        for k in range(count):
            near = [Access(side.of, side.items[:-1] + [t.operate("+", side.items[-1], k)]) for side in (dst, value)]
            atomic(t, "add", near[0], near[1], return_prev)


_atomic_neighbours(2)
_atomic_neighbours(4)


# -- elementwise


def _function(name: str, wanted: str) -> None:
    @operation("T." + name)
    def run(t: Reader, *operands: Any) -> Any:
        return call(wanted, *[t.operand(x) for x in operands])


for _name in ("exp", "exp2", "log", "log2", "log1p", "sqrt", "rsqrt", "tanh", "sigmoid", "sin", "cos", "erf", "floor", "ceil", "round", "abs", "isnan",
              "isinf", "popcount", "clz", "pow", "fma"):
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


for _name, _op in (("max", "max"), ("min", "min"), ("floordiv", "//"), ("floormod", "%"), ("bitwise_and", "&"), ("bitwise_or", "|"), ("bitwise_xor", "^"),
                   ("shift_left", "<<"), ("shift_right", ">>")):
    _operator(_name, _op)


@operation("T.And")
def _and(t: Reader, x: Any, y: Any) -> Any:
    return binary("&", truth(t.operand(x)), truth(t.operand(y)))


@operation("T.Or")
def _or(t: Reader, x: Any, y: Any) -> Any:
    return binary("|", truth(t.operand(x)), truth(t.operand(y)))


@operation("T.Not", "T.bitwise_not")
def _not(t: Reader, x: Any) -> Any:
    from ..language._arithmetic import invert

    return invert(t.operand(x))


@operation("T.truncdiv")
def _truncdiv(t: Reader, x: Any, y: Any) -> Any:
    a, b = t.operand(x), t.operand(y)
    positive = binary("//", call("abs", t.expr(a)), call("abs", t.expr(b)))
    return where(binary("!=", binary("<", a, 0), binary("<", b, 0)), negate(positive), positive)


@operation("T.truncmod")
def _truncmod(t: Reader, x: Any, y: Any) -> Any:
    return binary("-", t.operand(x), binary("*", _truncdiv(t, x, y), t.operand(y)))


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
        raise Mistake("%r is no element type, or not one that is supported yet" % (dtype,), "such as T.float16 or \"float16\"")
    if is_number(value):
        return constant(value, found.name) if found.is_float or found.name not in ("i32", "i64", "u32", "u64") else int(value)
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
    from ._math import _extreme

    return _extreme(False)(DTYPES[dtype_name(dtype)].long_name)


@operation("T.min_value")
def _min_value(t: Reader, dtype: Any) -> Any:
    from ._math import _extreme

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
def _im2col(t: Reader, img: Any, col: Any, nhw_step: Any, c_step: Any, kernel: Any, stride: Any, dilation: Any, pad: Any, **hints: Any) -> None:
    if not isinstance(img, Param) or not isinstance(col, Tile) or len(img.shape) != 4 or len(col.shape) != 2:
        raise Mistake("T.im2col of %s to %s" % (describe(img), describe(col)), "from a tensor [n, h, w, c] to a tile of two axes")
    t.use_axes(img)
    img.read = True
    rows, depth = col.shape
    sizes = t.attribute(img, "shape")
    taps = kernel if isinstance(kernel, (tuple, list)) else (kernel, kernel)
    high, wide = (_positions(n, k, stride, dilation, pad) for n, k in zip(sizes[1:3], taps))
    row, column = (Expr("index", None, tuple(col.shape), 2, _placeholder(k)) for k in (0, 1))
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
        value = where(binary("&", binary(">=", index, 0), binary("<", index, extent)), value, constant(0.0, img.dtype))  # type: ignore[assignment,arg-type]
    t.write(col, value)


def _placeholder(axis: int) -> Any:
    from ..language._expr import Poly

    return Poly.of("$%d" % axis)


def _positions(extent: Any, kernel: Any, stride: Any, dilation: Any, pad: Any) -> Any:
    """Output positions of a convolution along an axis."""
    span = binary("+", binary("*", dilation, binary("-", kernel, 1)), 1)
    return binary("+", binary("//", binary("-", binary("+", extent, 2 * pad), span), stride), 1)


def _source(position: Any, tap: Any, stride: Any, dilation: Any, pad: Any) -> Any:
    return index_of(binary("-", binary("+", binary("*", position, stride), binary("*", tap, dilation)), pad))
