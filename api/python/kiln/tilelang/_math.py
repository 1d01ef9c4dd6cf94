"""T.*: numbers and elementwise functions. On numbers, outside kernels too."""

from __future__ import annotations

import builtins
import math
from typing import TYPE_CHECKING, Any, Callable, Dict

from ._functions import Operation
from ._types import Size, dtype as _dtype

__all__: "list[str]" = []
_op = Operation.mark

if TYPE_CHECKING:  # functions that _elementwise makes

    def __getattr__(name: str) -> Operation: ...


def _size_or(op: str, function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def apply(a: Any, b: Any) -> Any:
        return Size(op=op, parts=(a, b)) if isinstance(a, Size) or isinstance(b, Size) else function(a, b)

    return apply


def _infinity(dtype: Any) -> float:
    return math.inf


def _extreme(least: bool) -> Callable[[Any], Any]:
    largest = {
        "float64": 1.7976931348623157e308,
        "float32": 3.4028234663852886e38,
        "float16": 65504.0,
        "bfloat16": 3.3895313892515355e38,
    }

    def value(dtype: Any) -> Any:
        kind = _dtype(dtype)
        if kind in largest:
            return -largest[str(kind)] if least else largest[str(kind)]
        if kind.startswith("uint"):
            return 0 if least else 2**kind.bits - 1
        return -(2 ** (kind.bits - 1)) if least else 2 ** (kind.bits - 1) - 1

    return value


def _add(*names: str) -> None:
    __all__.extend(names)


@_op(outside=_size_or("ceildiv", lambda a, b: -(-a // b)))
def ceildiv(lhs: Any, rhs: Any) -> Any:
    """The quotient, rounded up."""


@_op(outside=_size_or("//", lambda a, b: a // b))
def floordiv(a: Any, b: Any) -> Any:
    """The quotient, rounded down."""


@_op(outside=_size_or("%", lambda a, b: a % b))
def floormod(a: Any, b: Any) -> Any:
    """What floordiv leaves."""


@_op(outside=_size_or("max", builtins.max))
def max(a: Any, b: Any) -> Any:  # noqa: A001 - TileLang's name
    """The larger one; NaN wins."""


@_op(outside=_size_or("min", builtins.min))
def min(a: Any, b: Any) -> Any:  # noqa: A001 - TileLang's name
    """The smaller one; NaN wins."""


@_op(outside=_infinity)
def infinity(dtype: Any) -> Any:
    """Infinity of a float type."""


@_op(outside=_extreme(True))
def min_value(dtype: Any) -> Any:
    """The least finite number of a type."""


@_op(outside=_extreme(False))
def max_value(dtype: Any) -> Any:
    """The largest finite number of a type."""


@_op(outside=lambda condition, a, b: a if condition else b)
def if_then_else(condition: Any, true_value: Any, false_value: Any) -> Any:
    """``true_value`` where the condition holds."""


@_op()
def Select(condition: Any, true_value: Any, false_value: Any) -> Any:
    """As if_then_else."""


@_op(outside=lambda dtype, value: _dtype(dtype)(value))
def Cast(dtype: Any, value: Any) -> Any:
    """``value`` converted; conversions to integers saturate."""


@_op(outside=lambda value, dtype: _dtype(dtype)(value))
def cast(value: Any, dtype: Any) -> Any:
    """``value`` converted; conversions to integers saturate."""


@_op()
def reinterpret(value: Any, dtype: Any) -> Any:
    """The bits of ``value`` as another type of the same size; the arguments may be exchanged."""


@_op()
def clamp(value: Any, min_val: Any, max_val: Any) -> Any:
    """``value``, at least ``min_val`` and at most ``max_val``."""


@_op()
def index_to_coordinates(index: Any, shape: Any) -> Any:
    """A row-major position as an index an axis."""


@_op()
def any_of(buffer: Any) -> Any:
    """Whether any element of a tile is not 0."""


@_op()
def all_of(buffer: Any) -> Any:
    """Whether all elements of a tile are not 0."""


def _elementwise(name: str, meaning: str, arity: int = 1, outside: Any = None) -> None:
    signatures: Dict[int, Callable[..., Any]] = {1: lambda x: None, 2: lambda x, y: None, 3: lambda x, y, z: None}
    function = signatures[arity]
    function.__name__ = function.__qualname__ = name
    function.__doc__ = meaning
    globals()[name] = Operation(function, "T." + name, outside=outside)
    __all__.append(name)


for _name in ("exp", "exp2", "log", "log2", "log1p", "sqrt", "tanh", "sin", "cos", "erf", "floor", "ceil"):
    _elementwise(_name, "Elementwise %s." % _name, outside=getattr(math, _name, None))
_elementwise("exp10", "10 to the power of x.")
_elementwise("log10", "The decimal logarithm.", outside=math.log10)
_elementwise("rsqrt", "1 / sqrt(x).", outside=lambda x: 1 / math.sqrt(x))
_elementwise("sigmoid", "1 / (1 + exp(-x)).", outside=lambda x: 1 / (1 + math.exp(-x)))
_elementwise("abs", "The magnitude.", outside=abs)
_elementwise("round", "To the nearest integer, halves to the even one.", outside=round)
_elementwise("nearbyint", "As round.", outside=round)
_elementwise("trunc", "Towards zero.", outside=math.trunc)
_elementwise("isnan", "Whether it is NaN.", outside=math.isnan)
_elementwise("isinf", "Whether it is infinite.", outside=math.isinf)
_elementwise("popcount", "Bits that are set.")
_elementwise("clz", "Leading bits that are not set.")
_elementwise("bitwise_not", "All bits exchanged.", outside=lambda x: ~x)
_elementwise("Not", "The opposite of a condition.", outside=lambda x: not x)
for _name, _meaning, _function in (
    ("bitwise_and", "The bits that both have.", lambda x, y: x & y),
    ("bitwise_or", "The bits that either has.", lambda x, y: x | y),
    ("bitwise_xor", "The bits that one of them has.", lambda x, y: x ^ y),
    ("shift_left", "Bits moved up.", lambda x, y: x << y),
    ("shift_right", "Bits moved down; signed ones keep the sign.", lambda x, y: x >> y),
    ("pow", "x to the power of y.", pow),
    ("truncdiv", "The quotient, rounded towards zero.", lambda x, y: int(x / y)),
    ("truncmod", "What truncdiv leaves.", math.fmod),
    ("And", "Both conditions.", lambda x, y: x and y),
    ("Or", "Either condition.", lambda x, y: x or y),
):
    _elementwise(_name, _meaning, 2, _function)
_elementwise("fma", "x·y + z, rounded once.", 3)
_add(
    "ceildiv",
    "floordiv",
    "floormod",
    "max",
    "min",
    "infinity",
    "min_value",
    "max_value",
    "if_then_else",
    "Select",
    "Cast",
    "cast",
    "reinterpret",
    "clamp",
    "index_to_coordinates",
    "any_of",
    "all_of",
)
