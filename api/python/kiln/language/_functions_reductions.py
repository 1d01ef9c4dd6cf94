"""Reductions and running results: names, signatures and meanings. What they do is in _reductions.py."""

from __future__ import annotations

from typing import Any, List, Optional

from ._functions import language
from ._types import DTypeLike, Operand, Tensor

__all__: List[str] = []
_language = language(__all__)


@_language
def sum(input: Operand, axis: Optional[int] = None, keep_dims: bool = False,
        dtype: Optional[DTypeLike] = None) -> Tensor:  # noqa: A001
    """The sum along ``axis``, or of all: x's shape without the axis. In ``dtype``; without one integers and conditions
    narrower than 32 bits are summed as i32 or u32, bf16 as f32, others in their own type.
    """
    raise NotImplementedError


@_language
def max(input: Operand, axis: Optional[int] = None, return_indices: bool = False, return_indices_tie_break_left: bool =
        True, keep_dims: bool = False) -> Any:  # noqa: A001
    """The largest along ``axis``; NaN wins. Of types narrower than 32 bits as i32 or f32; with ``return_indices`` in
    its own type (bf16 as f32), and where the first one is.
    """
    raise NotImplementedError


@_language
def min(input: Operand, axis: Optional[int] = None, return_indices: bool = False, return_indices_tie_break_left: bool =
        True, keep_dims: bool = False) -> Any:  # noqa: A001
    """The smallest along ``axis``; NaN wins. Of types narrower than 32 bits as i32 or f32; with ``return_indices`` in
    its own type (bf16 as f32), and where the first one is.
    """
    raise NotImplementedError


@_language
def prod(input: Operand, axis: Optional[int] = None, keep_dims: bool = False,
         dtype: Optional[DTypeLike] = None) -> Tensor:
    """The product along ``axis``, in the types of :func:`sum`."""
    raise NotImplementedError


@_language
def argmax(input: Operand, axis: Optional[int] = None, tie_break_left: bool = True, keep_dims: bool = False) -> Tensor:
    """The index (i32) of the first largest along ``axis``; without one, among all elements in row-major order."""
    raise NotImplementedError


@_language
def argmin(input: Operand, axis: Optional[int] = None, tie_break_left: bool = True, keep_dims: bool = False) -> Tensor:
    """The index (i32) of the first smallest along ``axis``; without one, among all elements in row-major order."""
    raise NotImplementedError


@_language
def any(input: Operand, axis: Optional[int] = None, keep_dims: bool = False) -> Tensor:  # noqa: A001
    """Whether any is true along ``axis``."""
    raise NotImplementedError


@_language
def all(input: Operand, axis: Optional[int] = None, keep_dims: bool = False) -> Tensor:  # noqa: A001
    """Whether all are true along ``axis``."""
    raise NotImplementedError


@_language
def absmax(input: Operand, axis: Optional[int] = None, keep_dims: bool = False) -> Tensor:
    """The largest magnitude along ``axis``, in the types of :func:`max`."""
    raise NotImplementedError


@_language
def cumsum(input: Operand, axis: int = 0, reverse: bool = False, dtype: Optional[DTypeLike] = None) -> Tensor:
    """Running sums along ``axis``, the element itself included, in the types of :func:`sum`."""
    raise NotImplementedError


@_language
def cumprod(input: Operand, axis: int = 0, reverse: bool = False, dtype: Optional[DTypeLike] = None) -> Tensor:
    """Running products along ``axis``, in ``dtype``; without one in x's type, bf16 as f32, conditions as i32."""
    raise NotImplementedError


@_language
def cummax(input: Operand, axis: int = 0, reverse: bool = False, dtype: Optional[DTypeLike] = None) -> Tensor:
    """Running maxima along ``axis``, in the types of :func:`cumprod`."""
    raise NotImplementedError


@_language
def softmax(x: Operand, dim: Optional[int] = None, keep_dims: bool = False, ieee_rounding: bool = False) -> Tensor:
    """exp(x - max) / sum along ``dim``, the first axis without one. All have x's shape, whatever ``keep_dims``; every
    division is rounded once, whatever ``ieee_rounding``.
    """
    raise NotImplementedError
