"""Operators and functions on values of a kernel: types, shapes, and their text in the program format."""

from __future__ import annotations

import math
import threading
from typing import Any, Callable, Dict, FrozenSet, List, Optional, Tuple, Union

from . import _division
from ._expr import STATIC, Dim, Expr, Mistake, Poly, dim  # noqa: F401 - Mistake is of this module for others
from ._types import DTYPES

Operand = Union[Expr, int, float, bool]
Shape = Tuple[Dim, ...]

_RANK = {"bool": 0, "i8": 1, "u8": 1, "i16": 2, "u16": 2, "i32": 3, "u32": 3, "i64": 4, "u64": 4, "f16": 5, "bf16": 5, "f32": 6, "f64": 7}
FLOATS = ("f16", "bf16", "f32", "f64")
_FAR = 2 ** 48  # elements: beyond all memory, and still far from 2^63 when it is multiplied by a pitch
_PYTHON: Dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a / b, "//": lambda a, b: a // b,
    "%": lambda a, b: a % b, "**": lambda a, b: a ** b, "&": lambda a, b: a & b, "|": lambda a, b: a | b, "^": lambda a, b: a ^ b,
    "<<": lambda a, b: a << b, ">>": lambda a, b: a >> b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b, "==": lambda a, b: a == b, "!=": lambda a, b: a != b, "min": min, "max": max}
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, Expr)


def shape_text(shape: Shape) -> str:
    return "[%s]" % ", ".join(str(n) for n in shape)


def fits(value: Any, dtype: str) -> bool:
    """Whether a number is one of an element type; a negative one is of an unsigned type too, whose bits it names."""
    if isinstance(value, float) or dtype in FLOATS + ("index", "bool") or dtype not in DTYPES:
        return True
    bits = 8 * DTYPES[dtype].bytes
    return -(2 ** (bits - 1)) <= value < 2 ** (bits if dtype.startswith("u") else bits - 1)


# -- literals and conversion


def literal(value: Union[int, float, bool]) -> str:
    """A number's text; negative ones in parentheses."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if value >= 0 else "(%d)" % value
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "(-inf)"
    return repr(value) if math.copysign(1, value) > 0 else "(%r)" % value


def constant(value: Union[int, float, bool], dtype: Optional[str] = None) -> Expr:
    """A number as an expression; without ``dtype`` an integer is an index, a float f32."""
    if isinstance(value, bool) and dtype in (None, "bool"):
        return Expr("bool", literal(value), level=STATIC)
    if dtype is None:
        dtype = "f32" if isinstance(value, float) else "index"
    if dtype == "index":
        return Expr("index", level=STATIC, poly=Poly.of(int(value)))
    if dtype in FLOATS:
        return Expr(dtype, literal(float(value)), level=STATIC)
    return Expr(dtype, "cast(%s, %s)" % (literal(value), dtype), level=STATIC)


def cast(value: Operand, dtype: str) -> Expr:
    """Converted as the program format's ``cast`` does; a number that is known now must fit."""
    if not isinstance(value, Expr):
        if not fits(value, dtype):
            raise Mistake("%d is no %s" % (value, dtype), "a wider type, such as tl.int64, or .to(tl.%s), which wraps"
                          % (DTYPES[dtype].long_name or dtype))
        return constant(value, dtype)
    if value.dtype == dtype:
        return value
    if dtype == "index":
        return Expr("index", None, value.shape, value.level, _place(value), value.reads)
    return Expr(dtype, "cast(%s, %s)" % (value.text, dtype), value.shape, value.level, None, value.reads)


def _place(value: Expr) -> Poly:
    """An integer as an index. One of 64 bits is kept within what memory can hold, so that index arithmetic stays in 64 bits: what
    lies farther away is outside of every tensor, here as there."""
    if value.whole is not None:
        return value.whole
    if value.dtype in FLOATS:
        value = cast(value, "i64")
    if value.dtype == "i64":
        return Poly.of("min(max(cast(%s, index), (-%d)), %d)" % (value.text, _FAR, _FAR))
    if value.dtype == "u64":
        return Poly.of("min(max(cast(min(%s, %d), index), 0), %d)" % (value.text, _FAR, _FAR))
    return Poly.of("cast(%s, index)" % (cast(value, "i32") if value.dtype == "bool" else value).text)


def bitcast(value: Expr, dtype: str) -> Expr:
    if value.dtype == "index" or DTYPES[value.dtype].bytes != DTYPES[dtype].bytes:
        raise Mistake("a value of type %s has not the size of %s" % (value.dtype, dtype), "bitcast keeps the bits; use .to(…) to convert")
    return value if value.dtype == dtype else Expr(dtype, "bitcast(%s, %s)" % (value.text, dtype), value.shape, value.level, None, value.reads)


def promoted(a: str, b: str) -> str:
    """The type of an operation on operands of two types: the wider one, a float before integers; f16 beside bf16 is f32.

    An index beside u32 or an integer of 64 bits takes that type, which wraps; beside a narrower one or i32 it stays an index.
    """
    if a == b:
        return a
    if {a, b} == {"f16", "bf16"}:
        return "f32"
    if "index" in (a, b):
        other = b if a == "index" else a
        return other if other in FLOATS + ("u32", "i64", "u64") else "index"
    unknown = [t for t in (a, b) if t not in _RANK]
    if unknown:
        raise Mistake("%s is known only when the kernel is compiled, and so would be the type of this operation" % unknown[0],
                      "convert first: x.to(tl.float32), or copy into a tile with a type of its own")
    if _RANK[a] == _RANK[b]:
        return a if a.startswith("u") else b
    return a if _RANK[a] > _RANK[b] else b


# -- shapes


class _Reading(threading.local):
    """Of the kernel that this thread reads.

    Attributes:
        same: when two extents count as equal.
        triton: whether it follows Triton's rules: // and % truncate, % takes floats, the larger one of a number and a NaN is the number.
        never_negative: whether an index is surely not negative.
    """

    same: Callable[[Dim, Dim], bool] = staticmethod(lambda a, b: a == b)
    triton = False
    never_negative: Callable[[Poly], bool] = staticmethod(lambda poly: False)


reading = _Reading()


def same_shape(a: Shape, b: Shape) -> bool:
    return len(a) == len(b) and all(n == m or reading.same(n, m) for n, m in zip(a, b))


def broadcast_shape(a: Shape, b: Shape) -> Shape:
    """NumPy's rule: aligned at the last axis, 1 fits anything."""
    rank = max(len(a), len(b))
    wide_a, wide_b = (1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b
    shape: List[Dim] = []
    for n, m in zip(wide_a, wide_b):
        if n != 1 and m != 1 and not reading.same(n, m):
            raise Mistake("shapes %s and %s do not fit together" % (shape_text(a), shape_text(b)),
                          "axes are aligned at the last one and are equal or 1; x[:, None] adds an axis")
        shape.append(m if n == 1 else n)
    return tuple(shape)


def broadcast(value: Expr, shape: Shape) -> Expr:
    """The value over a larger shape."""
    if value.shape == shape:
        return value
    if not same_shape(broadcast_shape(value.shape, shape), shape):
        raise Mistake("a value of shape %s does not fit shape %s" % (shape_text(value.shape), shape_text(shape)),
                      "axes are aligned at the last one and are equal or 1; x[:, None] adds an axis")
    ahead = len(shape) - len(value.shape)
    axes = {k: "$%d" % (k + ahead) if n != 1 or shape[k + ahead] == 1 else "0" for k, n in enumerate(value.shape)}
    return value.moved(axes, shape)


# -- operators


def binary(op: str, a: Operand, b: Operand) -> Union[Expr, int, float, bool]:
    """``a op b`` for Python's operators and min, max. Numbers among themselves are computed now.

    Raises:
        Mistake: types or shapes that do not fit.
    """
    if not isinstance(a, Expr) and not isinstance(b, Expr):
        try:
            return _PYTHON[op](a, b)
        except (TypeError, ZeroDivisionError, ValueError) as error:
            raise Mistake("%r %s %r: %s" % (a, op, b, error),
                          "numbers that are known while the kernel is read are Python's") from None
    if op == "**":
        return power(a, b)
    return _typed(op, *_common(op, a, b), reading.triton)


def truncated(op: str, a: Operand, b: Operand) -> Union[Expr, int, float]:
    """``a // b`` or ``a % b`` as C and Triton have them: towards zero, with the sign of ``a``; ``%`` of floats too."""
    if not isinstance(a, Expr) and not isinstance(b, Expr):
        if not b:
            raise Mistake("%r %s %r" % (a, op, b), "a divisor other than 0")
        if op == "%":
            return math.fmod(a, b) if isinstance(a, float) or isinstance(b, float) else _of_numbers("%", a, b, True)
        return _of_numbers("//", int(a), int(b), True)
    return _typed(op, *_common(op, a, b, True), True)


def _typed(op: str, left: Expr, right: Expr, truncates: bool) -> Expr:
    """An operation on operands of one type."""
    shape = broadcast_shape(left.shape, right.shape)
    left, right = broadcast(left, shape), broadcast(right, shape)
    level, reads = max(left.level, right.level), left.reads | right.reads
    if op in _COMPARISONS:
        return Expr("bool", "%s %s %s" % (left.grouped, op, right.grouped), shape, level, None, reads, _bounds(op, left, right))
    if left.dtype == "index":
        return Expr("index", None, shape, level, _index(op, left, right, truncates), reads)
    if op in ("//", "%") and truncates:
        return Expr(left.dtype, _truncated(op, left, right), shape, level, None, reads)
    bounds = None
    if op == "&" and left.dtype == "bool" and left.bounds is not None and right.bounds is not None:
        bounds = left.bounds + right.bounds
    text = "%s(%s, %s)" % (op, left.text, right.text) if op in ("min", "max") else "%s %s %s" % (left.grouped, op, right.grouped)
    whole = None
    if op in ("min", "max") and left.dtype not in FLOATS + ("bool",):
        whole = Poly.of("%s(%s, %s)" % (op, cast(left, "index").text, cast(right, "index").text))
    return Expr(left.dtype, text, shape, level, None, reads, bounds, whole)


def _truncated(op: str, a: Expr, b: Expr) -> str:
    """Triton's quotient or remainder of numbers of one type that is no index."""
    if a.dtype in FLOATS:
        return _division.float_remainder(cast(a, "f64").grouped, cast(b, "f64").grouped, a.dtype)
    if a.dtype.startswith("u"):
        return "%s %s %s" % (a.grouped, op, b.grouped)
    return _division.truncated(op, a.grouped, b.grouped, _not_negative(a), _not_negative(b))


def _not_negative(value: Expr) -> bool:
    whole = value.whole if value.poly is None else value.poly
    return value.text.isdigit() or whole is not None and reading.never_negative(whole)


def _common(op: str, a: Operand, b: Operand, floats: bool = False) -> Tuple[Expr, Expr]:
    """Both operands as expressions of one type that has the operation; with ``floats`` % takes those too."""
    left = a if isinstance(a, Expr) else _beside(a, b)
    right = b if isinstance(b, Expr) else _beside(b, a)
    dtype = promoted(left.dtype, right.dtype)
    if op in _COMPARISONS and "index" in (left.dtype, right.dtype) and dtype in ("u32", "i64"):
        return _exact(left), _exact(right)
    if op == "/" and dtype not in FLOATS:
        dtype = "f32"
    if op in ("+", "-", "*", "//", "%", "<<", ">>", "min", "max") and dtype == "bool":
        dtype = "i32"
    remainder = op == "%" and (floats or reading.triton)
    if op in ("//", "%", "<<", ">>", "&", "|", "^") and dtype in FLOATS and not remainder:
        raise Mistake("%s is for integers%s, not for %s" % (op, " and conditions" if op in "&|^" else "", dtype),
                      "tl.floor(x / y) for the quotient of floats" if op in ("//", "%") else "convert with .to(tl.int32), or .to(tl.int32, bitcast=True) for the bits")
    return cast(left, dtype), cast(right, dtype)


def _exact(value: Expr) -> Expr:
    """An integer as an index of the same value, to be compared."""
    poly = Poly.of("cast(%s, index)" % value.text) if value.poly is None else value.poly
    return Expr("index", None, value.shape, value.level, poly, value.reads)


def _beside(number: Union[int, float, bool], other: Any) -> Expr:
    """A number takes the other operand's type; a float beside an integer is f32."""
    dtype = other.dtype
    if isinstance(number, bool):
        return constant(number)
    if isinstance(number, float):
        return constant(number, dtype if dtype in FLOATS else "f32")
    if dtype == "bool":
        return constant(number, "i32")
    if dtype == "index" or dtype in FLOATS:
        return constant(number, dtype)
    bits = 8 * DTYPES[dtype].bytes
    low, high = (0, 2 ** bits - 1) if dtype.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    if not low <= number <= high:
        raise Mistake("%d is no %s" % (number, dtype), "convert the other operand first: x.to(tl.int32)")
    return Expr(dtype, literal(number), level=STATIC)


def _bounds(op: str, a: Expr, b: Expr) -> Optional[List[Tuple[Poly, Poly]]]:
    if a.poly is None or b.poly is None:
        return None
    one = Poly.of(1)
    return {"<": [(a.poly, b.poly)], "<=": [(a.poly, b.poly + one)], ">": [(b.poly, a.poly)], ">=": [(b.poly, a.poly + one)]}.get(op)


def _index(op: str, a: Expr, b: Expr, truncates: bool) -> Poly:
    assert a.poly is not None and b.poly is not None
    if op == "+":
        return a.poly + b.poly
    if op == "-":
        return a.poly - b.poly
    if op == "*":
        return a.poly * b.poly
    x, y = a.poly.constant, b.poly.constant
    if x is not None and y is not None:
        return Poly.of(_of_numbers(op, x, y, truncates))
    if op in ("//", "%"):
        quotient = a.poly.divided(b.poly)
        if quotient is not None:
            return quotient if op == "//" else Poly()
        if truncates:
            return Poly.of("(%s)" % _division.truncated(op, a.grouped, b.grouped, _not_negative(a), _not_negative(b)))
    if op in ("&", "|", "^", "<<", ">>"):
        if op == "<<" and y is not None and 0 <= y < 31:
            return a.poly * Poly.of(1 << y)
        if op == ">>" and y is not None and 0 <= y < 31:
            return Poly.of("(%s // %d)" % (a.grouped, 1 << y))
        return Poly.of("cast(cast(%s, i64) %s cast(%s, i64), index)" % (a.text, op, b.text))
    if op in ("min", "max"):
        return Poly.of("%s(%s, %s)" % (op, a.text, b.text))
    return Poly.of("(%s %s %s)" % (a.grouped, op, b.grouped))


def _of_numbers(op: str, x: int, y: int, truncates: bool) -> int:
    """Of two numbers that are known now."""
    if op not in ("//", "%"):
        return int(_PYTHON[op](x, y))
    if not y:
        return 0
    down = x // y
    quotient = down + (truncates and down < 0 and down * y != x)
    return quotient if op == "//" else x - quotient * y


def power(a: Operand, b: Operand) -> Expr:
    """``a ** b``: products for whole exponents up to 4, else ``pow``."""
    if isinstance(a, Expr) and isinstance(b, int) and 1 <= b <= 4:
        result: Any = a
        for _ in range(b - 1):
            result = binary("*", result, a)
        return result
    left, right = _common("/", a, b)
    return call("pow", left, right)


def ceildiv(a: Operand, b: Operand) -> Union[Expr, int]:
    if not isinstance(a, Expr) and not isinstance(b, Expr):
        if not isinstance(a, int) or not isinstance(b, int) or b == 0:
            raise Mistake("the quotient of %r and %r, rounded up" % (a, b), "whole numbers, the second one not 0")
        return -(-a // b)
    left, right = (x if isinstance(x, Expr) else _beside(x, y) for x, y in ((a, b), (b, a)))
    dtype = promoted(left.dtype, right.dtype)
    if dtype in FLOATS + ("bool",):
        raise Mistake("a quotient of %s, rounded up" % dtype, "tl.ceil(x / y) for floats")
    if dtype in ("u32", "i64", "u64"):  # what an index could not hold, or not as it is
        shape = broadcast_shape(left.shape, right.shape)
        left, right = broadcast(cast(left, dtype), shape), broadcast(cast(right, dtype), shape)
        return Expr(dtype, "ceildiv(%s, %s)" % (left.text, right.text), shape, max(left.level, right.level), None,
                    left.reads | right.reads)
    left, right = cast(left, "index"), cast(right, "index")
    assert left.poly is not None and right.poly is not None
    quotient = left.poly.divided(right.poly)
    level = max(left.level, right.level)
    shape = broadcast_shape(left.shape, right.shape)
    left, right = broadcast(left, shape), broadcast(right, shape)
    poly = quotient if quotient is not None else Poly.of("ceildiv(%s, %s)" % (left.text, right.text))
    return Expr("index", None, shape, level, poly, left.reads | right.reads)


def negate(value: Operand) -> Union[Expr, int, float]:
    if not isinstance(value, Expr):
        return -value
    if value.poly is not None:
        return Expr("index", None, value.shape, value.level, -value.poly, value.reads)
    if value.dtype == "bool":
        raise Mistake("- of a condition", "~x, or tl.where(x, a, b)")
    return Expr(value.dtype, "-%s" % value.grouped, value.shape, value.level, None, value.reads)


def invert(value: Operand) -> Union[Expr, int]:
    """``~x``: of a condition its opposite."""
    if not isinstance(value, Expr):
        if isinstance(value, float):
            raise Mistake("~ is for integers and conditions, not for a float", "-x negates")
        return (not value) if isinstance(value, bool) else ~value
    if value.dtype in FLOATS:
        raise Mistake("~ is for integers and conditions, not for %s" % value.dtype,
                      "-x negates; x.to(tl.int32, bitcast=True) has the bits")
    if value.poly is not None:
        value = cast(value, "i64")
    text = "!(%s)" % value.text if value.dtype == "bool" else "~%s" % value.grouped
    return Expr(value.dtype, text, value.shape, value.level, None, value.reads)


def truth(value: Operand) -> Union[Expr, bool]:
    """As a condition."""
    if not isinstance(value, Expr):
        return bool(value)
    return value if value.dtype == "bool" else binary("!=", value, 0)  # type: ignore[return-value]


def logical(op: str, a: Operand, b: Operand) -> Union[Expr, bool]:
    """``and`` and ``or`` (``&&``, ``||``) of conditions."""
    left, right = truth(a), truth(b)
    for known, other in ((left, right), (right, left)):
        if isinstance(known, bool):
            return other if known == (op == "&&") else known
    assert isinstance(left, Expr) and isinstance(right, Expr)
    shape = broadcast_shape(left.shape, right.shape)
    left, right = broadcast(left, shape), broadcast(right, shape)
    bounds = left.bounds + right.bounds if op == "&&" and left.bounds is not None and right.bounds is not None else None
    return Expr("bool", "%s %s %s" % (left.grouped, op, right.grouped), shape, max(left.level, right.level), None, left.reads | right.reads, bounds)


def where(condition: Operand, a: Operand, b: Operand) -> Union[Expr, int, float]:
    """``a if condition else b``, elementwise."""
    chosen = truth(condition)
    if isinstance(chosen, bool):
        return a if chosen else b
    if not isinstance(a, Expr) and not isinstance(b, Expr):
        both_whole = isinstance(a, int) and isinstance(b, int)
        left, right = (constant(a), constant(b)) if both_whole and isinstance(a, bool) == isinstance(b, bool) else (cast(a, "f32"), cast(b, "f32"))
    else:
        left, right = (a if isinstance(a, Expr) else _beside(a, b)), (b if isinstance(b, Expr) else _beside(b, a))
    dtype = promoted(left.dtype, right.dtype)
    left, right = cast(left, dtype), cast(right, dtype)
    shape = broadcast_shape(broadcast_shape(chosen.shape, left.shape), right.shape)
    chosen, left, right = broadcast(chosen, shape), broadcast(left, shape), broadcast(right, shape)
    text = "%s if %s else %s" % (left.grouped, chosen.grouped, right.grouped)
    level, reads = max(chosen.level, left.level, right.level), chosen.reads | left.reads | right.reads
    if dtype == "index":
        return Expr(dtype, None, shape, level, Poly.of("(%s)" % text), reads)
    return Expr(dtype, text, shape, level, None, reads)


# -- functions

_ON_FLOATS = ("exp", "exp2", "log", "log2", "log1p", "expm1", "sqrt", "rsqrt", "tanh", "sigmoid", "erf", "sin", "cos", "pow", "floor", "ceil",
              "round", "fma")
_NOW: Dict[str, Callable[..., Any]] = {
    "exp": math.exp, "exp2": lambda x: 2.0 ** x, "log": math.log, "log2": math.log2, "log1p": math.log1p, "expm1": math.expm1,
    "sqrt": math.sqrt, "rsqrt": lambda x: 1 / math.sqrt(x), "tanh": math.tanh, "sigmoid": lambda x: 1 / (1 + math.exp(-x)), "erf": math.erf,
    "sin": math.sin, "cos": math.cos, "floor": math.floor, "ceil": math.ceil, "round": round, "abs": abs, "pow": pow,
    "isnan": math.isnan, "isinf": math.isinf, "fma": lambda a, b, c: a * b + c}


def call(name: str, *operands: Operand) -> Union[Expr, int, float, Any]:
    """A function of the program format, elementwise; computed now where all operands are numbers."""
    if not any(isinstance(x, Expr) for x in operands) and name in _NOW:
        try:
            return _NOW[name](*operands)
        except (ValueError, ArithmeticError) as error:
            raise Mistake("%s(%s): %s" % (name, ", ".join(map(repr, operands)), error),
                          "of a number that is known while the kernel is read: write the result") from None
    given = [x for x in operands if isinstance(x, Expr)]
    dtype = given[0].dtype
    for x in given[1:]:
        dtype = promoted(dtype, x.dtype)
    if (name in _ON_FLOATS or name in ("isnan", "isinf")) and dtype not in FLOATS:
        dtype = "f32"
    parts = [cast(x, dtype) if isinstance(x, Expr) else (constant(x, dtype) if dtype in FLOATS + ("index",) else _beside(x, given[0])) for x in operands]
    shape: Shape = ()
    reads: FrozenSet[str] = frozenset()
    for x in parts:
        shape, reads = broadcast_shape(shape, x.shape), reads | x.reads
    parts = [broadcast(x, shape) for x in parts]
    level = max(x.level for x in parts)
    text = "%s(%s)" % (name, ", ".join(x.text for x in parts))
    if dtype == "index" and name == "abs":
        return where(binary("<", parts[0], 0), negate(parts[0]), parts[0])
    result = {"isnan": "bool", "isinf": "bool", "popcount": dtype, "clz": dtype}.get(name, dtype)
    return Expr(result, text, shape, level, None, reads)


def as_dim(value: Any) -> Dim:
    """An extent of a tile: known when compiled."""
    if isinstance(value, bool) or not isinstance(value, (int, Expr)):
        raise Mistake("an extent is a whole number, not %r" % (value,), "tl.constexpr parameters, // for quotients")
    if isinstance(value, Expr):
        if value.level != STATIC or value.poly is None:
            raise Mistake("an extent must be known when the kernel is compiled, and %s is not" % value.text,
                          "sizes of tiles come from constants, tl.constexpr parameters and symbols")
        return dim(value.poly)
    return value


def index_of(value: Operand) -> Expr:
    """An index, of a number or an integer expression."""
    if isinstance(value, bool) or isinstance(value, float):
        raise Mistake("an index is a whole number, not %r" % (value,),
                      "// for quotients, int(x) for a number that is known now")
    if isinstance(value, Expr) and value.dtype in FLOATS + ("bool",):
        raise Mistake("an index is a whole number, not of type %s" % value.dtype, "convert it with .to(tl.int32)")
    return cast(value, "index")
