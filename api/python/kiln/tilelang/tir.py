"""The few names of TVM that authors import beside TileLang: ``from kiln.tilelang import tir`` (for ``tvm.tir``,
``tvm.tirx``).
"""

from __future__ import annotations

import builtins
from typing import Any

from ._functions import Operation
from ._math import (
    Cast,
    Select,
    abs,
    bitwise_and,
    bitwise_not,
    bitwise_or,
    bitwise_xor,
    ceil,
    ceildiv,
    clz,
    cos,
    exp,
    exp2,
    floor,
    floordiv,  # noqa: A004
    floormod,
    if_then_else,
    infinity,
    isnan,
    log,
    log2,
    max,
    max_value,
    min,
    min_value,
    popcount,
    reinterpret,
    round,
    rsqrt,
    shift_left,
    shift_right,
    sigmoid,
    sin,
    sqrt,
    tanh,
    trunc,
    truncdiv,
    truncmod,
)
from ._types import dtype as _dtype

PrimExpr = Var = Buffer = BufferLoad = BufferRegion = Any  # annotations of helper functions


@Operation.mark(outside=lambda value, dtype="int32": _dtype(dtype)(value))
def const(value: Any, dtype: Any = "int32") -> Any:
    """A number of a type."""


@Operation.mark(outside=lambda *conditions: builtins.all(conditions))
def all(*conditions: Any) -> Any:  # noqa: A001 - TVM's name
    """Whether all conditions hold."""


@Operation.mark(outside=lambda *conditions: builtins.any(conditions))
def any(*conditions: Any) -> Any:  # noqa: A001 - TVM's name
    """Whether a condition holds."""


__all__ = [
    "Buffer",
    "BufferLoad",
    "BufferRegion",
    "Cast",
    "PrimExpr",
    "Select",
    "Var",
    "abs",
    "all",
    "any",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "ceil",
    "ceildiv",
    "clz",
    "const",
    "cos",
    "exp",
    "exp2",
    "floor",
    "floordiv",
    "floormod",
    "if_then_else",
    "infinity",
    "isnan",
    "log",
    "log2",
    "max",
    "max_value",
    "min",
    "min_value",
    "popcount",
    "reinterpret",
    "round",
    "rsqrt",
    "shift_left",
    "shift_right",
    "sigmoid",
    "sin",
    "sqrt",
    "tanh",
    "trunc",
    "truncdiv",
    "truncmod",
]
