"""What more operations of ``kiln.language`` do while a kernel is read: those of _functions_more.py."""

from __future__ import annotations

from typing import Any, List, Optional, Tuple

from ._access import Reader
from ._arithmetic import (Mistake, as_dim, binary, broadcast, broadcast_shape, call, cast, constant, index_of,
                          is_number, same_shape, shape_text, truth, where)
from ._expr import ELEMENT, STATIC, BlockPointer, Dot, Expr, Param, Pointer, Poly, Region, Tile, Transposed
from ._functions_more import LIBDEVICE_ABSENT, LIBDEVICE_COMPUTED, tensor, tensor_descriptor
from ._memory import describe
from ._operations import OPERATIONS, _axis, operation, reduce
from ._types import DType, constexpr

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
    source = t.tile(input, hint + "_in", "fragment")
    made = t.builder.alloc(hint, "fragment", source.dtype, source.shape, True)
    statement = {
        "op": "scan", "kind": kind, "from": source.name, "to": made.name, "axis": _axis(axis, len(source.shape))}
    if reverse:
        statement["reverse"] = True
    t.builder.emit(statement)
    return made


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


@operation("sort", "topk")
def _sort(t: Reader, *_: Any, **__: Any) -> None:
    raise Mistake(
        "sorting inside a kernel is not there yet",
        "tl.max(x, axis, return_indices=True) takes one at a time: repeat it k times, with the taken "
        "element replaced by -inf")


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


# -- shapes


@operation("flip")
def _flip(t: Reader, x: Any, dim: Any = None) -> Expr:
    value = t.expr(x)
    if not value.shape:
        raise Mistake("a number has no axis to flip")
    k = _axis(-1 if dim is None else dim, len(value.shape))
    axes = {n: "$%d" % n for n in range(len(value.shape))}
    axes[k] = "(%s - $%d)" % (Poly.of(value.shape[k]) - Poly.of(1), k)
    return value.moved(axes, value.shape)


def _pair(t: Reader, a: Any, b: Any) -> Tuple[Expr, Expr]:
    left, right = t.expr(a), t.expr(b)
    shape = broadcast_shape(left.shape, right.shape)
    return broadcast(left, shape), broadcast(right, shape)


@operation("join")
def _join(t: Reader, a: Any, b: Any) -> Expr:
    left, right = _pair(t, a, b)
    last = len(left.shape)
    shape = left.shape + (2,)
    axes = {k: "$%d" % k for k in range(last)}
    second = Expr("index", None, shape, STATIC, Poly.of("$%d" % last))
    return t.expr(where(binary("==", second, 0), left.moved(axes, shape), right.moved(axes, shape)))


@operation("split")
def _split(t: Reader, a: Any) -> Tuple[Expr, Expr]:
    value = t.expr(a)
    if not value.shape or value.shape[-1] != 2:
        raise Mistake("a split of shape %s" % shape_text(value.shape),
                      "the last axis has extent 2: reshape to [..., 2] first")
    axes = {k: "$%d" % k for k in range(len(value.shape) - 1)}
    return tuple(value.moved({**axes, len(value.shape) - 1: str(n)}, value.shape[:-1])
                 for n in (0, 1))  # type: ignore[return-value]


@operation("interleave")
def _interleave(t: Reader, a: Any, b: Any) -> Expr:
    joined = t.tile(_join(t, a, b), t.hint)
    shape = joined.shape[:-2] + (as_dim(binary("*", t.operand(_size(joined.shape[-2])), 2)),)
    return t.reshaped(joined.read(), shape)


def _size(n: Any) -> Any:
    return Expr("index", None, (), STATIC, n) if isinstance(n, Poly) else n


@operation("cat")
def _cat(t: Reader, input: Any, other: Any, can_reorder: bool = False, dim: Any = 0) -> Expr:
    left, right = t.expr(input), t.expr(other)
    if len(left.shape) != len(right.shape) or not left.shape:
        raise Mistake("a concatenation of shapes %s and %s" % (shape_text(left.shape), shape_text(right.shape)))
    k = _axis(dim, len(left.shape))
    rest = [s[:k] + s[k + 1:] for s in (left.shape, right.shape)]
    if not same_shape(rest[0], rest[1]):
        raise Mistake("a concatenation of shapes %s and %s along axis %d" %
                      (shape_text(left.shape), shape_text(right.shape), k))
    size = Poly.of(left.shape[k])
    extent = as_dim(binary("+", _size(left.shape[k]), _size(right.shape[k])))
    shape = left.shape[:k] + (extent,) + left.shape[k + 1:]
    axes = {n: "$%d" % n for n in range(len(shape))}
    first = Expr("index", None, shape, STATIC, Poly.of("$%d" % k))
    inside = "min($%d, %s)" % (k, size - Poly.of(1)), "max($%d - %s, 0)" % (k, _grouped(size))
    parts = [value.moved({**axes, k: at}, shape) for value, at in zip((left, right), inside)]
    return t.expr(where(binary("<", first, Expr("index", None, (), STATIC, size)), parts[0], parts[1]))


def _grouped(poly: Poly) -> str:
    text = str(poly)
    return text if text.isidentifier() or text.isdigit() else "(%s)" % text


@operation("squeeze")
def _squeeze(t: Reader, x: Any, dim: Any) -> Expr:
    value = t.expr(x)
    k = _axis(dim, len(value.shape))
    if value.shape[k] != 1:
        raise Mistake("axis %d of shape %s has not extent 1" % (k, shape_text(value.shape)))
    return t.reshaped(value, value.shape[:k] + value.shape[k + 1:])


@operation("unsqueeze")
def _unsqueeze(t: Reader, x: Any, dim: Any) -> Expr:
    return OPERATIONS["expand_dims"](t, x, dim)


@operation("swizzle2d")
def _swizzle2d(t: Reader, i: Any, j: Any, size_i: Any, size_j: Any, size_g: Any) -> Tuple[Any, Any]:
    row, column, rows, columns, group = (t.operand(x) for x in (i, j, size_i, size_j, size_g))
    position = binary("+", binary("*", row, columns), column)
    in_group = binary("*", group, columns)
    first = binary("*", binary("//", position, in_group), group)
    height = binary("min", binary("-", rows, first), group)
    within = binary("%", position, in_group)
    return binary("+", first, binary("%", within, height)), binary("//", within, height)


@operation("gdc_wait", "gdc_launch_dependents")
def _in_order(t: Reader) -> None:
    return None


@operation("map_elementwise")
def _map_elementwise(t: Reader, scalar_fn: Any, *args: Any, pack: int = 1) -> Any:
    if pack != 1:
        raise Mistake("map_elementwise with pack=%r is not there yet" % (pack,), "pack=1")
    return t.call(scalar_fn, [t.operand(x) for x in args], {})


# -- numbers


@operation("to_tensor")
def _to_tensor(t: Reader, x: Any) -> Any:
    return constant(x, None if not isinstance(x, bool) else "bool") if is_number(x) else x


for _name, _op in (("add", "+"), ("sub", "-"), ("mul", "*")):
    def _register(name: str, op: str) -> None:
        @operation(name)
        def run(t: Reader, x: Any, y: Any, sanitize_overflow: bool = True) -> Any:
            return t.operate(op, x, y)

    _register(_name, _op)


@operation("python.isinstance")
def _isinstance(t: Reader, x: Any, kinds: Any) -> bool:
    """Of a kernel's values: ``tl.tensor``, ``tl.tensor_descriptor``, ``tl.constexpr`` (what is known now), or Python's
    types.
    """
    for kind in kinds if isinstance(kinds, tuple) else (kinds,):
        if kind is tensor_descriptor:
            found = isinstance(x, BlockPointer)
        elif kind is tensor:
            found = isinstance(x, (Expr, Tile, Param, Pointer, Region, Dot, Transposed))
        elif kind is constexpr:
            found = x is None or isinstance(x, (int, float, str, DType))
        else:
            found = isinstance(kind, type) and isinstance(x, kind)
        if found:
            return True
    return False


@operation("umulhi")
def _umulhi(t: Reader, x: Any, y: Any) -> Any:
    """The upper half; an index counts as i32, whose bits are taken as unsigned."""
    parts = [t.operand(v) for v in (x, y)]
    widths = [v.dtype for v in parts if isinstance(v, Expr) and v.dtype != "index"]
    dtype = "u64" if any(w in ("i64", "u64") for w in widths) else "u32"
    return call("mulhi", *[constant(v, dtype) if is_number(v) else cast(v, dtype) for v in parts])


def _finite(x: Any) -> Any:
    return binary("<", call("abs", x), float("inf"))


def _computed(t: Reader, name: str, x: Any, y: Any = None) -> Any:
    """libdevice's functions that are short expressions."""
    up, down = (lambda: call("exp", x)), (lambda: call("exp", binary("*", x, -1.0)))
    table = {
        "add_rn": lambda: binary("+", x, y), "sub_rn": lambda: binary("-", x, y), "mul_rn": lambda: binary("*", x, y),
        "rcp_rn": lambda: binary("/", 1.0, x), "exp10": lambda: call("pow", 10.0, x),
        "log10": lambda: binary("*", call("log", x), 0.4342944819032518),
        "erfc": lambda: binary("-", 1.0, call("erf", x)), "tan": lambda: binary("/", call("sin", x), call("cos", x)),
        "cosh": lambda: binary("*", binary("+", up(), down()), 0.5),
        "sinh": lambda: binary("*", binary("-", up(), down()), 0.5),
        "fdim": lambda: binary("max", binary("-", x, y), 0.0),
        "hypot": lambda: call("sqrt", binary("+", binary("*", x, x), binary("*", y, y))),
        "saturatef": lambda: binary("min", binary("max", x, 0.0), 1.0), "finitef": lambda: _finite(x),
        "isfinited": lambda: _finite(x), "trunc": lambda: where(binary("<", x, 0.0), call("ceil", x), call("floor", x))}
    return table[name]()


def _libdevice() -> None:
    for name in LIBDEVICE_COMPUTED:
        def register(word: str) -> None:
            @operation("libdevice." + word)
            def run(t: Reader, x: Any, y: Any = None) -> Any:
                return _computed(t, word, t.operand(x), None if y is None else t.operand(y))

        register(name)
    for name in LIBDEVICE_ABSENT:
        def refuse(word: str) -> None:
            @operation("libdevice." + word)
            def run(t: Reader, *_: Any, **__: Any) -> None:
                raise Mistake(
                    "%s is not there yet" % word,
                    "exp, exp2, log, log2, log1p, expm1, sqrt, rsqrt, tanh, erf, sin, cos, pow, floor, ceil and "
                    "round are; compute it of them, or before the launch")

        refuse(name)


_libdevice()


# -- what has no counterpart, or none yet


def _refused(names: str, message: str, hint: str) -> None:
    @operation(*names.split())
    def run(t: Reader, *_: Any, **__: Any) -> None:
        raise Mistake(message, hint)


_refused("dot_scaled", "products of blocks with scales (f8, f6, f4) are not there yet",
         "convert the operands and multiply with the scales first: tl.dot((x.to(tl.float32) * s).to(tl.float16), y)")
_refused("inline_asm_elementwise", "inline assembly",
         "a kernel is compiled for every target: write it with tl.* and bit operations")
_refused("pointer_type", "pointers that lie in memory",
         "pass one buffer that holds all operands one after the other, and where each begins as offsets")
_refused("async_task", "waves specialized by hand",
         "tl.range(…, num_stages=n): lowering decides which waves load ahead")
