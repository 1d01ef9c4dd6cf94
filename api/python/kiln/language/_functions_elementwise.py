"""Elementwise operations: names, signatures and meanings. What they do is in _elementwise.py."""

from __future__ import annotations

from typing import Any, List, Optional

from ._functions import language
from ._types import DTypeLike, Operand, Tensor

__all__: List[str] = []
_language = language(__all__)


@_language
def where(condition: Operand, x: Operand, y: Operand) -> Tensor:
    """``x`` where ``condition``, else ``y``, elementwise."""
    raise NotImplementedError


@_language
def maximum(x: Operand, y: Operand, propagate_nan: Any = None) -> Tensor:
    """The larger, elementwise. Of a number and a NaN what ``propagate_nan`` says (``tl.PropagateNan``): without it NaN,
    in kernels of ``kiln.triton`` the number.
    """
    raise NotImplementedError


@_language
def minimum(x: Operand, y: Operand, propagate_nan: Any = None) -> Tensor:
    """The smaller, elementwise. Of a number and a NaN what ``propagate_nan`` says (``tl.PropagateNan``): without it
    NaN, in kernels of ``kiln.triton`` the number.
    """
    raise NotImplementedError


@_language
def clamp(x: Operand, min: Operand, max: Operand, propagate_nan: Any = None) -> Tensor:
    """``x`` held between ``min`` and ``max``; a NaN as in :func:`maximum`."""
    raise NotImplementedError


@_language
def cdiv(x: Operand, div: Operand) -> Tensor:
    """``x / div`` rounded up."""
    raise NotImplementedError


@_language
def ceildiv(x: Operand, div: Operand) -> Tensor:
    """``x / div`` rounded up."""
    raise NotImplementedError


@_language
def fdiv(x: Operand, y: Operand, ieee_rounding: bool = False) -> Tensor:
    """``x / y``."""
    raise NotImplementedError


@_language
def div_rn(x: Operand, y: Operand) -> Tensor:
    """``x / y``, rounded to nearest."""
    raise NotImplementedError


@_language
def cast(input: Operand, dtype: Optional[DTypeLike], fp_downcast_rounding: Optional[str] = None,
         bitcast: bool = False) -> Tensor:
    """Converted to ``dtype``; with ``bitcast`` the same bits."""
    raise NotImplementedError


@_language
def next_power_of_2(n: int) -> int:
    """The least power of two that is at least ``n``, of a number known now."""
    raise NotImplementedError


@_language
def exp(x: Operand) -> Tensor:
    """``exp`` of each element."""
    raise NotImplementedError


@_language
def exp2(x: Operand) -> Tensor:
    """``exp2`` of each element."""
    raise NotImplementedError


@_language
def log(x: Operand) -> Tensor:
    """``log`` of each element."""
    raise NotImplementedError


@_language
def log2(x: Operand) -> Tensor:
    """``log2`` of each element."""
    raise NotImplementedError


@_language
def log1p(x: Operand) -> Tensor:
    """``log1p`` of each element."""
    raise NotImplementedError


@_language
def expm1(x: Operand) -> Tensor:
    """``expm1`` of each element."""
    raise NotImplementedError


@_language
def sqrt(x: Operand) -> Tensor:
    """``sqrt`` of each element."""
    raise NotImplementedError


@_language
def rsqrt(x: Operand) -> Tensor:
    """``rsqrt`` of each element."""
    raise NotImplementedError


@_language
def tanh(x: Operand) -> Tensor:
    """``tanh`` of each element."""
    raise NotImplementedError


@_language
def sigmoid(x: Operand) -> Tensor:
    """``sigmoid`` of each element."""
    raise NotImplementedError


@_language
def erf(x: Operand) -> Tensor:
    """``erf`` of each element."""
    raise NotImplementedError


@_language
def sin(x: Operand) -> Tensor:
    """``sin`` of each element."""
    raise NotImplementedError


@_language
def cos(x: Operand) -> Tensor:
    """``cos`` of each element."""
    raise NotImplementedError


@_language
def floor(x: Operand) -> Tensor:
    """``floor`` of each element."""
    raise NotImplementedError


@_language
def ceil(x: Operand) -> Tensor:
    """``ceil`` of each element."""
    raise NotImplementedError


@_language
def round(x: Operand) -> Tensor:  # noqa: A001
    """``round`` of each element."""
    raise NotImplementedError


@_language
def abs(x: Operand) -> Tensor:  # noqa: A001
    """``abs`` of each element."""
    raise NotImplementedError


@_language
def isnan(x: Operand) -> Tensor:
    """``isnan`` of each element."""
    raise NotImplementedError


@_language
def isinf(x: Operand) -> Tensor:
    """``isinf`` of each element."""
    raise NotImplementedError


@_language
def pow(x: Operand, y: Operand) -> Tensor:  # noqa: A001
    """``x`` to the power ``y``, elementwise."""
    raise NotImplementedError


@_language
def fma(x: Operand, y: Operand, z: Operand) -> Tensor:
    """``x * y + z`` with one rounding, elementwise."""
    raise NotImplementedError


@_language
def umulhi(x: Operand, y: Operand) -> Tensor:
    """The upper half of the product of two integers."""
    raise NotImplementedError


@_language
def sqrt_rn(x: Operand) -> Tensor:
    """The square root, rounded to nearest."""
    raise NotImplementedError
