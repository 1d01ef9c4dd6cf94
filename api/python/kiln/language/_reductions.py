"""Reductions and running results of ``kiln.language``."""

from __future__ import annotations

from typing import Any

from ._access import Reader
from ._arithmetic import Mistake, as_dim, binary, call, cast, index_of, is_number, truth
from ._expr import ELEMENT, STATIC, Expr, Poly, Tile
from ._memory import describe
from ._operations import axis_of, dtype_name, operation

# Sums of narrow integers are counted in 32 bits and those of bf16 in f32, as in Triton. Extremes of narrow types are
# given wider.
_SUMS = {"bool": "i32", "i8": "i32", "i16": "i32", "u8": "u32", "u16": "u32", "bf16": "f32"}
_EXTREMES = {"bool": "i32", "i8": "i32", "i16": "i32", "u8": "i32", "u16": "i32", "f16": "f32", "bf16": "f32"}


def reduce(t: Reader, kind: str, x: Any, axis: Any, keep_dims: bool) -> Any:
    """``x`` reduced along ``axis`` (None: all), in its own type; argmax and argmin in i32."""
    source = t.expr(x)
    if not source.shape:
        return source
    if source.dtype == "bool" and kind not in ("any", "all"):
        source = cast(source, "i32")
    rank = len(source.shape)
    if axis is None and kind in ("argmax", "argmin") and rank > 1:  # the place among all elements
        shape = (1,) * rank
        found = reduce(t, kind, t.reshaped(source, (_elements(source),)), 0, False)
        return t.reshaped(t.expr(found), shape) if keep_dims else found
    axes = sorted(range(rank) if axis is None else [axis_of(axis, source.shape)], reverse=True)
    hint = t.hint
    for k in axes:
        whole = isinstance(x, Tile) and x.dtype == source.dtype and k == axes[0] and source.text == x.read().text
        from_tile = x if whole else t.tile(source, hint + "_in", "fragment")
        shape = from_tile.shape[:k] + from_tile.shape[k + 1:]
        dtype = "i32" if kind in ("argmax", "argmin") else from_tile.dtype
        x = t.builder.alloc(hint, "fragment", dtype, shape, True)
        t.builder.emit({"op": "reduce", "kind": kind, "from": from_tile.name, "to": x.name, "axis": k})
        source = x.read()
    if not keep_dims:
        return x
    return t.reshaped(source, (1,) * rank if axis is None else x.shape[:axes[0]] + (1,) + x.shape[axes[0]:])


def _elements(value: Expr) -> Any:
    total = Poly.of(1)
    for n in value.shape:
        total = total * Poly.of(n)
    return as_dim(Expr("index", None, (), STATIC, total))


def _as(t: Reader, x: Any, dtype: Any, wider: Any) -> Any:
    """What is summed: ``x`` in the type ``dtype``, or in that of ``wider`` for its own; itself if that is its own."""
    own = t.expr(x)
    wanted = wider.get(own.dtype, own.dtype) if dtype is None else dtype_name(dtype)
    return x if wanted == own.dtype else cast(own, wanted)


def _sum(name: str, kind: str) -> None:
    @operation(name)
    def run(t: Reader, input: Any, axis: Any = None, keep_dims: bool = False, dtype: Any = None) -> Any:
        if is_number(input):
            return input if dtype is None else cast(input, dtype_name(dtype))
        return reduce(t, kind, _as(t, input, dtype, _SUMS), axis, keep_dims)


_sum("sum", "sum")
_sum("prod", "prod")


def _extremes(name: str) -> None:
    """The largest or smallest element. Which of several equal ones an index names is not open here: the first, which
    ``tie_break_left=False`` leaves open."""

    @operation(name)
    def run(t: Reader, input: Any, axis: Any = None, return_indices: bool = False,
            return_indices_tie_break_left: bool = True,
            keep_dims: bool = False) -> Any:
        if is_number(input):
            return (input, 0) if return_indices else input
        found = reduce(t, name, input, axis, keep_dims)
        if not return_indices:
            return _as(t, found, None, _EXTREMES)
        value = _as(t, found, None, {"bf16": "f32"})
        return value, reduce(t, "arg" + name, input, axis, keep_dims)

    @operation("arg" + name)
    def place(t: Reader, input: Any, axis: Any = None, tie_break_left: bool = True, keep_dims: bool = False) -> Any:
        return 0 if is_number(input) else reduce(t, "arg" + name, input, axis, keep_dims)


_extremes("max")
_extremes("min")


@operation()
def _absmax(t: Reader, input: Any, axis: Any = None, keep_dims: bool = False) -> Any:
    return abs(input) if is_number(input) else reduce(t, "absmax", _as(t, input, None, _EXTREMES), axis, keep_dims)


def _logical(name: str) -> None:
    @operation(name)
    def run(t: Reader, input: Any, axis: Any = None, keep_dims: bool = False) -> Any:
        return bool(input) if is_number(input) else reduce(t, name, truth(t.expr(input)), axis, keep_dims)


_logical("any")
_logical("all")


def scan(t: Reader, kind: str, input: Any, axis: Any, reverse: Any) -> Tile:
    """Running results along ``axis``, in the elements' own type."""
    hint = t.hint
    if not isinstance(reverse, (bool, int)):
        raise Mistake("the direction of a scan, reverse=%s" % describe(reverse),
                      "True or False, known when the kernel is read")
    source = t.tile(input, hint + "_in", "fragment")
    made = t.builder.alloc(hint, "fragment", source.dtype, source.shape, True)
    statement = {"op": "scan", "kind": kind, "from": source.name, "to": made.name, "axis": axis_of(axis, source.shape)}
    if reverse:
        statement["reverse"] = True
    t.builder.emit(statement)
    return made


def _scan(name: str, kind: str, wider: Any) -> None:
    @operation(name)
    def run(t: Reader, input: Any, axis: Any = 0, reverse: bool = False, dtype: Any = None) -> Tile:
        return scan(t, kind, _as(t, input, dtype, wider), axis, reverse)


_scan("cumsum", "sum", _SUMS)
_scan("cumprod", "prod", {"bool": "i32", "bf16": "f32"})
_scan("cummax", "max", {"bool": "i32", "bf16": "f32"})


@operation()
def _softmax(t: Reader, x: Any, dim: Any = None, keep_dims: bool = False, ieee_rounding: bool = False) -> Any:
    values = t.tile(x, t.hint + "_in")
    axis = axis_of(0 if dim is None else dim, values.shape)
    top = t.expr(reduce(t, "max", values, axis, len(values.shape) > 1))
    raised = t.tile(call("exp", binary("-", values.read(), top)), t.hint + "_exp")
    total = t.expr(reduce(t, "sum", raised, axis, len(values.shape) > 1))
    return binary("/", raised.read(), total)


# -- scans and reductions with a function

_LEFT, _RIGHT = "combine_lhs", "combine_rhs"


def combination(t: Reader, combine: Any, dtype: str) -> str:
    """Which of the format's reductions a function of two values is: ``sum``, ``prod``, ``max``, ``min``, ``and``,
    ``or``, ``xor``.

    The function is read with two names for its arguments, and its text compared: the order of the two does not matter.
    """
    function = getattr(combine, "kernel_function", combine)
    if getattr(function, "name", None) in ("maximum", "minimum"):
        return "max" if function.name == "maximum" else "min"
    if not hasattr(function, "__code__"):
        raise Mistake("a combine function that is %s" % describe(combine), "a @tl.jit function of two values")
    if function.__code__.co_argcount != 2:
        raise Mistake(
            "a combine function of %d values: reductions of tuples are not there yet" % function.__code__.co_argcount,
            "reduce one tile at a time; tl.argmax and tl.argmin give indices")
    before = t.builder.depth, len(t.builder.launch.allocs)
    left, right = Expr(dtype, _LEFT, (), ELEMENT), Expr(dtype, _RIGHT, (), ELEMENT)
    result = t.inline(function, [left, right], {})
    told = t.expr(result).text if not is_number(result) else repr(result)
    if (t.builder.depth, len(t.builder.launch.allocs)) != before:
        told = "statements"
    kind = _TEXTS.get(told)
    if kind is None:
        raise Mistake(
            "a combine function that is neither sum, product, maximum nor minimum is not there yet: it is %s" %
            told.replace(_LEFT, "a").replace(_RIGHT, "b"),
            "return a + b, a * b, tl.maximum(a, b), tl.minimum(a, b), a & b, a | b of conditions")
    return kind


def _texts() -> Any:
    found = {}
    for a, b in ((_LEFT, _RIGHT), (_RIGHT, _LEFT)):
        for op, kind in (("+", "sum"), ("*", "prod"), ("&", "and"), ("|", "or"), ("^", "xor"), ("&&", "and"), ("||",
                                                                                                               "or")):
            found["%s %s %s" % (a, op, b)] = kind
        for word in ("max", "min"):
            found["%s(%s, %s)" % (word, a, b)] = word
        for op, kinds in ((">", ("max", "min")), (">=", ("max", "min")), ("<", ("min", "max")), ("<=", ("min", "max"))):
            for x, y, kind in ((a, b, kinds[0]), (b, a, kinds[1])):
                found["%s if (%s %s %s) else %s" % (x, a, op, b, y)] = kind
    return found


_TEXTS = _texts()


@operation("associative_scan")
def _associative_scan(t: Reader, input: Any, axis: Any, combine_fn: Any, reverse: bool = False) -> Tile:
    hint = t.hint
    if isinstance(input, (tuple, list)):
        raise Mistake("a scan of several tiles at once is not there yet", "scan one tile at a time")
    values = t.expr(input)
    kind = combination(t, combine_fn, "i32" if values.dtype == "index" else values.dtype)
    if kind not in ("sum", "prod", "max", "min"):
        raise Mistake("a running %s is not there yet" % kind, "a running sum, product, maximum or minimum")
    t.hint = hint
    return scan(t, kind, cast(values, "i32") if values.dtype == "bool" else input, axis, reverse)


@operation("reduce")
def _reduce(t: Reader, input: Any, axis: Any, combine_fn: Any, keep_dims: bool = False) -> Any:
    if isinstance(input, (tuple, list)):
        raise Mistake("a reduction of several tiles at once is not there yet",
                      "tl.argmax and tl.argmin give indices; reduce one tile at a time")
    values = t.expr(input)
    return reduced(t, combination(t, combine_fn, "i32" if values.dtype == "index" else values.dtype), input, axis,
                   keep_dims)


def reduced(t: Reader, kind: str, input: Any, axis: Any, keep_dims: bool) -> Any:
    values = t.expr(input)
    if kind in ("and", "or") and values.dtype == "bool":
        return reduce(t, "all" if kind == "and" else "any", input, axis, keep_dims)
    if kind == "xor" and values.dtype == "bool":
        odd = reduce(t, "sum", cast(values, "i32"), axis, keep_dims)
        return binary("==", binary("%", t.expr(odd), 2), 1)
    if kind in ("and", "or", "xor"):
        raise Mistake("a bitwise %s of %s is not there yet" % (kind, values.dtype), "of conditions: reduce x != 0")
    return reduce(t, kind, input, axis, keep_dims)


@operation("reduce_or")
def _reduce_or(t: Reader, input: Any, axis: Any = None, keep_dims: bool = False) -> Any:
    return reduced(t, "or", input, axis, keep_dims)


@operation("xor_sum")
def _xor_sum(t: Reader, input: Any, axis: Any = None, keep_dims: bool = False) -> Any:
    return reduced(t, "xor", input, axis, keep_dims)


@operation("histogram")
def _histogram(t: Reader, input: Any, num_bins: Any, mask: Any = None) -> Any:
    values = t.expr(input)
    if len(values.shape) != 1 or values.dtype in ("f16", "bf16", "f32", "f64", "bool"):
        raise Mistake("a histogram of %s" % describe(input), "a tile of integers with one axis")
    bins = Expr("index", None, (as_dim(num_bins), 1), STATIC, Poly.of("$0"))
    hit = binary("==", t.expanded(index_of(values), [None, slice(None)]), bins)
    if mask is not None:
        hit = binary("&", hit, t.expanded(t.expr(truth(t.operand(mask))), [None, slice(None)]))
    return reduce(t, "sum", cast(t.expr(hit), "i32"), 1, False)
