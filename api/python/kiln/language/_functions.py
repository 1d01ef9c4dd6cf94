"""Operations of the language: their names, signatures and meanings. What they do is in _operations.py."""

from __future__ import annotations

from typing import Any, Callable, Iterator, List, Optional, Sequence, Tuple, TypeVar, Union, cast as _as

from ._types import BlockLayout, Builtin, DTypeLike, LayoutLike, Operand, Shape, Swizzle, Tensor, Value

__all__: List[str] = []
_F = TypeVar("_F", bound=Callable[..., Any])


def _language(function: _F) -> _F:
    __all__.append(function.__name__)
    return _as(_F, Builtin(function, function.__name__))


@_language
def program_id(axis: int) -> Tensor:
    """This block's number along ``axis`` (0, 1, 2) of the grid: an index."""
    raise NotImplementedError


@_language
def num_programs(axis: int) -> Tensor:
    """Blocks along ``axis`` of the grid, where a grid is given."""
    raise NotImplementedError


@_language
def get_wavefront_size() -> Tensor:
    """Lanes of a wave of the target, known when compiled: 64 on MI200 and MI300, 32 on RDNA, a vector's floats on the
    host.
    """
    raise NotImplementedError


@_language
def target() -> str:
    """The target's name, such as ``"gfx942"`` or ``"host"``: a Python string, known when the kernel is read."""
    raise NotImplementedError


@_language
def alloc_shared(shape: Shape, dtype: Optional[DTypeLike] = None, layout: Optional[LayoutLike] = None) -> Tensor:
    """A tile of ``shape`` in shared memory (LDS). Without ``dtype`` it takes the one of what is first written.
    ``layout``: ``"auto"`` (the default: conflicts are counted, the best is taken), ``"row_major"``,
    :func:`make_block_layout`, :func:`swizzle`. It changes no result.
    """
    raise NotImplementedError


@_language
def alloc_fragment(shape: Shape, dtype: Optional[DTypeLike] = None) -> Tensor:
    """A tile of ``shape`` in registers, spread over the block."""
    raise NotImplementedError


@_language
def alloc_local(shape: Shape, dtype: Optional[DTypeLike] = None) -> Tensor:
    """A tile of ``shape`` in local memory."""
    raise NotImplementedError


@_language
def zeros(shape: Shape, dtype: Optional[DTypeLike] = None) -> Tensor:
    """A tile of ``shape`` of zeros; f32 without ``dtype``."""
    raise NotImplementedError


@_language
def full(shape: Shape, value: Operand, dtype: Optional[DTypeLike] = None) -> Tensor:
    """A tile of ``shape`` that holds ``value`` everywhere; f32 without ``dtype``."""
    raise NotImplementedError


@_language
def zeros_like(input: Operand) -> Tensor:
    """Zeros of input's shape and type."""
    raise NotImplementedError


@_language
def full_like(input: Operand, value: Operand) -> Tensor:
    """``value`` in input's shape and type."""
    raise NotImplementedError


@_language
def arange(start: Operand, end: Optional[Operand] = None) -> Tensor:
    """The indices ``start`` to ``end - 1`` (or 0 to ``start - 1``): ``[end - start]``; any length."""
    raise NotImplementedError


@_language
def make_block_layout(shape: Shape, order: Optional[Sequence[int]] = None, origin: Optional[Sequence[int]] = None) -> BlockLayout:
    """A layout for a shared tile (:class:`BlockLayout`): a ``shape`` wider than the tile is padding. ``layout(i, j)``
    is an offset in elements.
    """
    raise NotImplementedError


@_language
def swizzle(chunk_bytes: int = 16, row_divisor: int = 1, rows_mod: int = 8) -> Swizzle:
    """A layout whose chunks of ``chunk_bytes`` are exchanged by row: chunk XOR (row // row_divisor) % rows_mod."""
    raise NotImplementedError


@_language
def load(pointer: Any, mask: Optional[Operand] = None, other: Optional[Operand] = None, boundary_check: Sequence[int] = (),
         padding_option: str = "", cache_modifier: str = "", eviction_policy: str = "", volatile: bool = False,
         block_shape: Optional[Shape] = None) -> Tensor:
    """What ``pointer`` points to, a tile of the pointer's shape, ``other`` (0) where ``mask`` is false; a slice of a
    parameter as a tile; or, with ``block_shape``, this program's block of a parameter: program id 0 counts blocks
    along the block's first axis, id 1 along the second; leading axes that the block lacks are indexed by the
    following ids, the last of them first. Outside the parameter everything is 0.
    """
    raise NotImplementedError


@_language
def store(pointer: Any, value: Operand, mask: Optional[Operand] = None, boundary_check: Sequence[int] = (),
          cache_modifier: str = "", eviction_policy: str = "") -> None:
    """Writes ``value``, converted, where ``pointer`` points and ``mask`` is true; to a slice; or to this program's
    block of a parameter, as :func:`load` finds it. What lies outside is dropped.
    """
    raise NotImplementedError


@_language
def sync_threads() -> None:
    """Nothing: barriers are placed where they are needed, and ``explain`` shows them. Kept so that kernels that have
    one can stay as they are.
    """
    raise NotImplementedError


@_language
def debug_barrier() -> None:
    """As :func:`sync_threads`."""
    raise NotImplementedError


@_language
def dot(input: Operand, other: Operand, acc: Optional[Tensor] = None, input_precision: Optional[str] = None,
        allow_tf32: Optional[bool] = None, max_num_imprecise_acc: Optional[int] = None, out_dtype: Optional[DTypeLike] =
        None, trans_a: bool = False, trans_b: bool = False) -> Tensor:
    """The matrix product ``[m, k] x [k, n] -> [m, n]`` (plus ``acc``): f16, bf16, f32 into f32, i8 into i32; with
    ``out_dtype=tl.float16`` that of f16 is rounded to f16. f32 is multiplied as f32, whatever ``input_precision``,
    ``allow_tf32`` and ``max_num_imprecise_acc`` permit.
    """
    raise NotImplementedError


@_language
def trans(x: Operand, *order: Any) -> Tensor:
    """The axes exchanged (the last two, or in ``order``); of a tile, an expression or a slice of a parameter. Products
    read it without moving anything.
    """
    raise NotImplementedError


@_language
def transpose(x: Operand, *order: Any) -> Tensor:
    """As :func:`trans`."""
    raise NotImplementedError


@_language
def permute(x: Operand, *order: Any) -> Tensor:
    """As :func:`trans`."""
    raise NotImplementedError


@_language
def sum(input: Operand, axis: Optional[int] = None, keep_dims: bool = False, dtype: Optional[DTypeLike] = None) -> Tensor:  # noqa: A001
    """The sum along ``axis``, or of all: x's shape without the axis. In ``dtype``; without one integers and conditions
    narrower than 32 bits are summed as i32 or u32, bf16 as f32, others in their own type.
    """
    raise NotImplementedError


@_language
def max(input: Operand, axis: Optional[int] = None, return_indices: bool = False, return_indices_tie_break_left: bool =
        True, keep_dims: bool = False) -> Any:  # noqa: A001
    """The largest along ``axis``; NaN wins. Of types narrower than 32 bits as i32 or f32; with ``return_indices`` in its own
    type (bf16 as f32), and where the first one is.
    """
    raise NotImplementedError


@_language
def min(input: Operand, axis: Optional[int] = None, return_indices: bool = False, return_indices_tie_break_left: bool =
        True, keep_dims: bool = False) -> Any:  # noqa: A001
    """The smallest along ``axis``; NaN wins. Of types narrower than 32 bits as i32 or f32; with ``return_indices`` in its own
    type (bf16 as f32), and where the first one is.
    """
    raise NotImplementedError


@_language
def prod(input: Operand, axis: Optional[int] = None, keep_dims: bool = False, dtype: Optional[DTypeLike] = None) -> Tensor:
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
def where(condition: Operand, x: Operand, y: Operand) -> Tensor:
    """``x`` where ``condition``, else ``y``, elementwise."""
    raise NotImplementedError


@_language
def maximum(x: Operand, y: Operand, propagate_nan: Any = None) -> Tensor:
    """The larger, elementwise. Of a number and a NaN what ``propagate_nan`` says (``tl.PropagateNan``): without it NaN, in
    kernels of ``kiln.triton`` the number.
    """
    raise NotImplementedError


@_language
def minimum(x: Operand, y: Operand, propagate_nan: Any = None) -> Tensor:
    """The smaller, elementwise. Of a number and a NaN what ``propagate_nan`` says (``tl.PropagateNan``): without it NaN, in
    kernels of ``kiln.triton`` the number.
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
def softmax(x: Operand, dim: Optional[int] = None, keep_dims: bool = False, ieee_rounding: bool = False) -> Tensor:
    """exp(x - max) / sum along ``dim``, the first axis without one. All have x's shape, whatever ``keep_dims``; every
    division is rounded once, whatever ``ieee_rounding``.
    """
    raise NotImplementedError


@_language
def cast(input: Operand, dtype: Optional[DTypeLike], fp_downcast_rounding: Optional[str] = None, bitcast: bool = False) -> Tensor:
    """Converted to ``dtype``; with ``bitcast`` the same bits."""
    raise NotImplementedError


@_language
def next_power_of_2(n: int) -> int:
    """The least power of two that is at least ``n``, of a number known now."""
    raise NotImplementedError


@_language
def broadcast_to(x: Operand, *shape: Any) -> Tensor:
    """``x`` over a larger shape."""
    raise NotImplementedError


@_language
def broadcast(x: Operand, y: Operand) -> Tuple[Tensor, Tensor]:
    """Both over their common shape."""
    raise NotImplementedError


@_language
def expand_dims(x: Operand, axis: Union[int, Sequence[int]]) -> Tensor:
    """With a new axis of extent 1."""
    raise NotImplementedError


@_language
def reshape(x: Operand, *shape: Any, can_reorder: bool = False) -> Tensor:
    """The same elements, row-major, under another shape."""
    raise NotImplementedError


@_language
def view(x: Operand, *shape: Any) -> Tensor:
    """As :func:`reshape`."""
    raise NotImplementedError


@_language
def ravel(x: Operand) -> Tensor:
    """As one axis."""
    raise NotImplementedError


@_language
def gather(src: Operand, index: Operand, axis: int) -> Tensor:
    """``src`` at ``index`` along ``axis``: ``index``'s shape."""
    raise NotImplementedError


@_language
def range(*args: Any, num_stages: Optional[int] = None, loop_unroll_factor: Optional[int] = None,
          disallow_acc_multi_buffer: bool = False, flatten: bool = False, warp_specialize: bool = False, disable_licm:
          bool = False) -> Iterator[Any]:  # noqa: A001
    """As Python's ``range``; with ``num_stages`` the loads of the next iterations are issued ahead."""
    raise NotImplementedError


@_language
def pipelined(*args: Any, stages: Optional[int] = None) -> Iterator[Any]:
    """A loop whose loads are issued ``stages - 1`` iterations ahead (lowering's choice without ``stages``). It changes
    no result.
    """
    raise NotImplementedError


@_language
def static_range(*args: Any) -> Iterator[int]:
    """A loop that is written out while the kernel is read; its variable is a number."""
    raise NotImplementedError


@_language
def multiple_of(x: Operand, values: Any) -> Tensor:
    """``x``: what it promises is proved where it matters."""
    raise NotImplementedError


@_language
def max_contiguous(x: Operand, values: Any) -> Tensor:
    """``x``."""
    raise NotImplementedError


@_language
def max_constancy(x: Operand, values: Any) -> Tensor:
    """``x``."""
    raise NotImplementedError


@_language
def assume(cond: Any) -> None:
    """Nothing: what can be assumed is proved."""
    raise NotImplementedError


@_language
def static_assert(cond: Any, msg: str = "") -> None:
    """An error, ``msg``, where ``cond`` does not hold when the kernel is compiled."""
    raise NotImplementedError


@_language
def static_print(*values: Any) -> None:
    """Nothing."""
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


@_language
def atomic_add(pointer: Any, val: Operand, mask: Optional[Operand] = None, sem: Optional[str] = None, scope:
               Optional[str] = None) -> Any:
    """Replaces what ``pointer`` points to by the sum of it and ``val``, one writer at a time, where ``mask`` is true.
    Gives what was there before, as do all atomics on pointers; on a slice none does.
    """
    raise NotImplementedError


@_language
def atomic_max(pointer: Any, val: Operand, mask: Optional[Operand] = None, sem: Optional[str] = None, scope:
               Optional[str] = None) -> Any:
    """Replaces what ``pointer`` points to by the larger of it and ``val``, one writer at a time, where ``mask`` is
    true.
    """
    raise NotImplementedError


@_language
def atomic_min(pointer: Any, val: Operand, mask: Optional[Operand] = None, sem: Optional[str] = None, scope:
               Optional[str] = None) -> Any:
    """Replaces what ``pointer`` points to by the smaller of it and ``val``, one writer at a time, where ``mask`` is
    true.
    """
    raise NotImplementedError


@_language
def atomic_and(pointer: Any, val: Operand, mask: Optional[Operand] = None, sem: Optional[str] = None, scope:
               Optional[str] = None) -> Any:
    """Replaces what ``pointer`` points to by the bitwise and of it and ``val``, one writer at a time, where ``mask``
    is true.
    """
    raise NotImplementedError


@_language
def atomic_or(pointer: Any, val: Operand, mask: Optional[Operand] = None, sem: Optional[str] = None, scope:
              Optional[str] = None) -> Any:
    """Replaces what ``pointer`` points to by the bitwise or of it and ``val``, one writer at a time, where ``mask`` is
    true.
    """
    raise NotImplementedError


@_language
def atomic_xor(pointer: Any, val: Operand, mask: Optional[Operand] = None, sem: Optional[str] = None, scope:
               Optional[str] = None) -> Any:
    """Replaces what ``pointer`` points to by the bitwise exclusive or of it and ``val``, one writer at a time, where
    ``mask`` is true.
    """
    raise NotImplementedError


@_language
def atomic_xchg(pointer: Any, val: Operand, mask: Optional[Operand] = None, sem: Optional[str] = None, scope:
                Optional[str] = None) -> Any:
    """Replaces what ``pointer`` points to by the new value, one writer at a time, where ``mask`` is true."""
    raise NotImplementedError


sequence_length: Any = Value(
    "sequence_length", "The extent of the attention operands' sequence axis: the second last of the parameter Q, q or query, "
    "else of the first with two axes.")
__all__.append("sequence_length")
