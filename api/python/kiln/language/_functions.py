"""Operations of the language on blocks, tiles, memory, shapes and loops: their names, signatures and meanings.

What they do is in _operations.py, _products.py, _shapes.py and _atomics.py.
"""

from __future__ import annotations

from typing import Any, Callable, Iterator, List, Optional, Sequence, Tuple, TypeVar, Union, cast as _as

from ._types import BlockLayout, Builtin, DTypeLike, LayoutLike, Operand, Shape, Swizzle, Tensor, Value

__all__: List[str] = []
_F = TypeVar("_F", bound=Callable[..., Any])


def language(names: List[str]) -> Callable[[_F], _F]:
    """Marks functions as operations of the language, and adds their names to ``names``."""

    def mark(function: _F) -> _F:
        names.append(function.__name__)
        return _as(_F, Builtin(function, function.__name__))

    return mark


_language = language(__all__)


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
def load(pointer: Any, mask: Optional[Operand] = None, other: Optional[Operand] = None,
         boundary_check: Sequence[int] = (),
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
