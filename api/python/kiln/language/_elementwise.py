"""Elementwise operations of ``kiln.language``, those of ``math`` and ``libdevice`` among them."""

from __future__ import annotations

from typing import Any, Tuple

from ._access import Reader
from ._arithmetic import (FLOATS, Mistake, binary, bitcast as bits_as, call, cast, ceildiv, constant, is_number,
                          logical, negate, reading, truncated, where)
from ._expr import Expr
from ._functions_triton import LIBDEVICE_ABSENT, LIBDEVICE_COMPUTED
from ._memory import describe
from ._operations import operation
from ._types import DType, as_dtype


def _elementwise(name: str, function: str) -> None:
    @operation(name)
    def run(t: Reader, *operands: Any) -> Any:
        return call(function, *[t.operand(x) for x in operands])


for _name in ("exp", "exp2", "log", "log2", "log1p", "expm1", "sqrt", "rsqrt", "tanh", "sigmoid", "erf", "sin", "cos",
              "floor", "ceil", "round", "fma", "isnan", "isinf", "pow", "popcount", "clz"):
    _elementwise(_name, _name)


@operation("abs")
def _abs(t: Reader, x: Any) -> Any:
    return abs(x) if is_number(x) else call("abs", t.operand(x))


def extreme(t: Reader, op: str, x: Any, y: Any, propagate_nan: Any) -> Any:
    """The larger (``max``) or smaller (``min``) one. Of a number and a NaN: the NaN with ``PropagateNan.ALL``, and
    without a word in kernels of ``kiln.language``; the number with ``NONE``, and without a word in Triton's.
    """
    if propagate_nan is not None and not isinstance(propagate_nan, int):
        raise Mistake("propagate_nan=%s" % describe(propagate_nan), "tl.PropagateNan.ALL or tl.PropagateNan.NONE")
    nan_wins = not reading.triton if propagate_nan is None else bool(propagate_nan)
    a, b = t.operand(x), t.operand(y)
    if is_number(a):
        a, b = b, a
    if is_number(a):  # both
        if a != a or b != b:
            return (a if a != a else b) if nan_wins else (b if a != a else a)
        return binary(op, a, b)
    joined = binary(op, a, b)
    if nan_wins or joined.dtype not in FLOATS:
        return joined
    chosen: Any = binary(">" if op == "max" else "<", a, b)
    if isinstance(b, Expr):
        chosen = logical("||", chosen, call("isnan", b)) if b.dtype in FLOATS else chosen
    elif b != b:
        return a
    return where(chosen, a, b)


@operation("maximum", "fmax")
def _maximum(t: Reader, x: Any, y: Any, propagate_nan: Any = None) -> Any:
    return extreme(t, "max", x, y, propagate_nan)


@operation("minimum", "fmin")
def _minimum(t: Reader, x: Any, y: Any, propagate_nan: Any = None) -> Any:
    return extreme(t, "min", x, y, propagate_nan)


@operation()
def _clamp(t: Reader, x: Any, min: Any, max: Any, propagate_nan: Any = None) -> Any:  # noqa: A002 - Triton's names
    return extreme(t, "min", extreme(t, "max", x, min, propagate_nan), max, propagate_nan)


@operation()
def _where(t: Reader, condition: Any, x: Any, y: Any) -> Any:
    return where(t.operand(condition), t.operand(x), t.operand(y))


@operation("cdiv", "ceildiv")
def _cdiv(t: Reader, x: Any, div: Any) -> Any:
    return ceildiv(t.operand(x), t.operand(div))


@operation("fdiv", "div_rn")
def _fdiv(t: Reader, x: Any, y: Any, ieee_rounding: bool = False) -> Any:
    return binary("/", t.operand(x), t.operand(y))


@operation("sqrt_rn")
def _sqrt_rn(t: Reader, x: Any) -> Any:
    return call("sqrt", t.operand(x))


@operation()
def _cast(t: Reader, input: Any, dtype: Any, fp_downcast_rounding: Any = None, bitcast: bool = False) -> Any:
    return _to(t, input, dtype, fp_downcast_rounding, bitcast)


@operation("to")
def _to(t: Reader, input: Any, dtype: Any, fp_downcast_rounding: Any = None, bitcast: bool = False) -> Any:
    if fp_downcast_rounding not in (None, "rtne"):
        raise Mistake("fp_downcast_rounding=%r is not there yet" % (fp_downcast_rounding,),
                      "\"rtne\", to nearest even, which is how all is rounded")
    if not isinstance(bitcast, (bool, int)):
        raise Mistake("bitcast=%s" % describe(bitcast), "True or False, known when the kernel is read")
    return _bitcast(t, input, dtype) if bitcast else t.converted(input, _element_type(dtype))


@operation("bitcast")
def _bitcast(t: Reader, input: Any, dtype: Any) -> Any:
    value = t.expr(input)
    return bits_as(cast(value, "i32") if value.dtype == "index" else value, _element_type(dtype).name)


def _element_type(dtype: Any) -> DType:
    found = as_dtype(dtype)
    if found is None:
        raise Mistake("%s is no element type" % (describe(dtype) if not isinstance(dtype, str) else repr(dtype)),
                      "such as tl.float16")
    return found


@operation()
def _next_power_of_2(t: Reader, n: Any) -> Any:
    if not isinstance(n, int):
        raise Mistake("the next power of two of a size that is not known now", "pass it as a tl.constexpr parameter")
    return 1 << max(0, n - 1).bit_length()


@operation("map_elementwise")
def _map_elementwise(t: Reader, scalar_fn: Any, *args: Any, pack: int = 1) -> Any:
    if pack != 1:
        raise Mistake("map_elementwise with pack=%r is not there yet" % (pack,), "pack=1")
    return t.call(scalar_fn, [t.operand(x) for x in args], {})


@operation("to_tensor")
def _to_tensor(t: Reader, x: Any) -> Any:
    return constant(x, None if not isinstance(x, bool) else "bool") if is_number(x) else x


for _name, _op in (("add", "+"), ("sub", "-"), ("mul", "*")):
    def _register(name: str, op: str) -> None:
        @operation(name)
        def run(t: Reader, x: Any, y: Any, sanitize_overflow: bool = True) -> Any:
            return t.operate(op, x, y)

    _register(_name, _op)


@operation("python.max")
def _python_max(t: Reader, *args: Any) -> Any:
    return _folded(t, "max", args)


@operation("python.min")
def _python_min(t: Reader, *args: Any) -> Any:
    return _folded(t, "min", args)


def _folded(t: Reader, op: str, args: Tuple[Any, ...]) -> Any:
    values = list(args[0]) if len(args) == 1 and isinstance(args[0], (tuple, list)) else list(args)
    if not values or len(args) == 1 and not isinstance(args[0], (tuple, list)):
        raise Mistake("%s of %s" % (op, describe(args[0]) if args else "nothing"),
                      "%s(x, y, …) of numbers; tl.%s(x, axis) of a tile" % (op, op))
    result = t.operand(values[0])
    for value in values[1:]:
        result = extreme(t, op, result, value, None)
    return result


@operation("python.any")
def _python_any(t: Reader, values: Any) -> Any:
    return _all_of(t, "any", "||", values)


@operation("python.all")
def _python_all(t: Reader, values: Any) -> Any:
    return _all_of(t, "all", "&&", values)


def _all_of(t: Reader, name: str, word: str, values: Any) -> Any:
    if not isinstance(values, (tuple, list, dict)):
        raise Mistake("%s of %s" % (name, describe(values)), "%s((a, b)) of conditions; tl.max(x > 0) of a tile" % name)
    held: Any = word == "&&"
    for value in values:
        part = value if value is None or isinstance(value, (str, tuple, list, dict)) else t.operand(value)
        if getattr(part, "shape", ()):
            raise Mistake("%s of %s among others" % (name, describe(part)), "& and | of tiles are elementwise")
        held = logical(word, held, part)
    return held


@operation("python.sum")
def _python_sum(t: Reader, values: Any, start: Any = 0) -> Any:
    if not isinstance(values, (tuple, list)):
        raise Mistake("sum of %s" % describe(values), "sum((a, b)) of numbers; tl.sum(x, axis) of a tile")
    total = start
    for value in values:
        total = t.operate("+", total, value)
    return total


@operation("python.abs")
def _python_abs(t: Reader, x: Any) -> Any:
    return _abs(t, x)


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
        "saturatef": lambda: where(binary(">", x, 0.0), binary("min", x, 1.0), 0.0), "finitef": lambda: _finite(x),
        "isfinited": lambda: _finite(x), "trunc": lambda: _whole(x), "round": lambda: _rounded(x),
        "fmod": lambda: truncated("%", x, y),
        "mulhi": lambda: call("mulhi", cast(t.expr(x), "i32"), cast(t.expr(y), "i32"))}
    return table[name]()


def _whole(x: Any) -> Any:
    return where(binary("<", x, 0.0), call("ceil", x), call("floor", x))


def _rounded(x: Any) -> Any:
    """To the nearest whole number, halves away from zero."""
    size = call("abs", x)
    down = call("floor", size)
    up = where(binary(">=", binary("-", size, down), 0.5), binary("+", down, 1.0), down)
    return where(binary("<", x, 0.0), negate(up), up)


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
