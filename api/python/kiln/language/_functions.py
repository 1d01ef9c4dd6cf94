"""Operations of the language: their names, signatures and meanings. What they do is in _operations.py."""

from __future__ import annotations

from ._types import Builtin, Value

__all__: "list[str]" = []


def _language(function):  # type: ignore[no-untyped-def]
    __all__.append(function.__name__)
    return Builtin(function, function.__name__)


@_language
def program_id(axis):  # type: ignore[no-untyped-def]
    """This block's number along ``axis`` (0, 1, 2) of the grid: an index."""


@_language
def num_programs(axis):  # type: ignore[no-untyped-def]
    """Blocks along ``axis`` of the grid, where a grid is given."""


@_language
def get_wavefront_size():  # type: ignore[no-untyped-def]
    """Lanes of a wave of the target, known when compiled: 64 on MI200 and MI300, 32 on RDNA, a vector's floats on the host."""


@_language
def target():  # type: ignore[no-untyped-def]
    """The target's name, such as ``"gfx942"`` or ``"host"``: a Python string, known when the kernel is read."""


@_language
def alloc_shared(shape, dtype=None, layout=None):  # type: ignore[no-untyped-def]
    """A tile of ``shape`` in shared memory (LDS). Without ``dtype`` it takes the one of what is first written. ``layout``:
    ``"auto"`` (the default: conflicts are counted, the best is taken), ``"row_major"``, :func:`make_block_layout`,
    :func:`swizzle`. It changes no result.
    """


@_language
def alloc_fragment(shape, dtype=None):  # type: ignore[no-untyped-def]
    """A tile of ``shape`` in registers, spread over the block."""


@_language
def alloc_local(shape, dtype=None):  # type: ignore[no-untyped-def]
    """A tile of ``shape`` in local memory."""


@_language
def zeros(shape, dtype=None):  # type: ignore[no-untyped-def]
    """A tile of ``shape`` of zeros; f32 without ``dtype``."""


@_language
def full(shape, value, dtype=None):  # type: ignore[no-untyped-def]
    """A tile of ``shape`` that holds ``value`` everywhere; f32 without ``dtype``."""


@_language
def zeros_like(x):  # type: ignore[no-untyped-def]
    """Zeros of x's shape and type."""


@_language
def full_like(x, value):  # type: ignore[no-untyped-def]
    """``value`` in x's shape and type."""


@_language
def arange(start, end=None):  # type: ignore[no-untyped-def]
    """The indices ``start`` to ``end - 1`` (or 0 to ``start - 1``): ``[end - start]``; any length."""


@_language
def make_block_layout(shape, order=None, origin=None):  # type: ignore[no-untyped-def]
    """A layout for a shared tile (:class:`BlockLayout`): a ``shape`` wider than the tile is padding. ``layout(i, j)`` is an
    offset in elements.
    """


@_language
def swizzle(chunk_bytes=16, row_divisor=1, rows_mod=8):  # type: ignore[no-untyped-def]
    """A layout whose chunks of ``chunk_bytes`` are exchanged by row: chunk XOR (row // row_divisor) % rows_mod."""


@_language
def load(pointer, mask=None, other=None, block_shape=None, boundary_check=(), padding_option="", cache_modifier="", eviction_policy="", volatile=False):  # type: ignore[no-untyped-def]
    """What ``pointer`` points to, a tile of the pointer's shape, ``other`` (0) where ``mask`` is false; a slice of a parameter
    as a tile; or, with ``block_shape``, this program's block of a parameter: program id 0 counts blocks along the block's
    first axis, id 1 along the second; leading axes that the block lacks are indexed by the following ids, the last of them
    first. Outside the parameter everything is 0.
    """


@_language
def store(pointer, value, mask=None, boundary_check=(), cache_modifier="", eviction_policy=""):  # type: ignore[no-untyped-def]
    """Writes ``value``, converted, where ``pointer`` points and ``mask`` is true; to a slice; or to this program's block of a
    parameter, as :func:`load` finds it. What lies outside is dropped.
    """


@_language
def sync_threads():  # type: ignore[no-untyped-def]
    """Nothing: barriers are placed where they are needed, and ``explain`` shows them. Kept so that kernels that have one can
    stay as they are.
    """


@_language
def debug_barrier():  # type: ignore[no-untyped-def]
    """As :func:`sync_threads`."""


@_language
def dot(input, other, acc=None, input_precision=None, allow_tf32=None, out_dtype=None, trans_a=False, trans_b=False, max_num_imprecise_acc=None):  # type: ignore[no-untyped-def]
    """The matrix product ``[m, k] x [k, n] -> [m, n]`` (plus ``acc``): f16, bf16, f32 into f32, i8 into i32."""


@_language
def trans(x, *order):  # type: ignore[no-untyped-def]
    """The axes exchanged (the last two, or in ``order``); of a tile, an expression or a slice of a parameter. Products read it
    without moving anything.
    """


@_language
def transpose(x, *order):  # type: ignore[no-untyped-def]
    """As :func:`trans`."""


@_language
def permute(x, *order):  # type: ignore[no-untyped-def]
    """As :func:`trans`."""


@_language
def sum(input, axis=None, keep_dims=False, dtype=None):  # type: ignore[no-untyped-def]
    """The sum along ``axis``, or of all: x's shape without the axis."""


@_language
def max(input, axis=None, keep_dims=False, return_indices=False, return_indices_tie_break_left=True):  # type: ignore[no-untyped-def]
    """The largest along ``axis``; NaN wins."""


@_language
def min(input, axis=None, keep_dims=False, return_indices=False, return_indices_tie_break_left=True):  # type: ignore[no-untyped-def]
    """The smallest along ``axis``; NaN wins."""


@_language
def prod(input, axis=None, keep_dims=False):  # type: ignore[no-untyped-def]
    """The product along ``axis``."""


@_language
def argmax(input, axis=None, keep_dims=False, tie_break_left=True):  # type: ignore[no-untyped-def]
    """The index (i32) of the first largest along ``axis``."""


@_language
def argmin(input, axis=None, keep_dims=False, tie_break_left=True):  # type: ignore[no-untyped-def]
    """The index (i32) of the first smallest along ``axis``."""


@_language
def any(input, axis=None, keep_dims=False):  # type: ignore[no-untyped-def]
    """Whether any is true along ``axis``."""


@_language
def all(input, axis=None, keep_dims=False):  # type: ignore[no-untyped-def]
    """Whether all are true along ``axis``."""


@_language
def absmax(input, axis=None, keep_dims=False):  # type: ignore[no-untyped-def]
    """The largest magnitude along ``axis``."""


@_language
def cumsum(input, axis=0, reverse=False, dtype=None):  # type: ignore[no-untyped-def]
    """Running sums along ``axis``, the element itself included."""


@_language
def cumprod(input, axis=0, reverse=False, dtype=None):  # type: ignore[no-untyped-def]
    """Running products along ``axis``."""


@_language
def cummax(input, axis=0, reverse=False, dtype=None):  # type: ignore[no-untyped-def]
    """Running maxima along ``axis``."""


@_language
def where(condition, x, y):  # type: ignore[no-untyped-def]
    """``x`` where ``condition``, else ``y``, elementwise."""


@_language
def maximum(x, y, propagate_nan=None):  # type: ignore[no-untyped-def]
    """The larger, elementwise; NaN wins."""


@_language
def minimum(x, y, propagate_nan=None):  # type: ignore[no-untyped-def]
    """The smaller, elementwise; NaN wins."""


@_language
def clamp(x, min, max, propagate_nan=None):  # type: ignore[no-untyped-def]
    """``x`` held between ``min`` and ``max``."""


@_language
def cdiv(x, div):  # type: ignore[no-untyped-def]
    """``x / div`` rounded up."""


@_language
def ceildiv(x, div):  # type: ignore[no-untyped-def]
    """``x / div`` rounded up."""


@_language
def fdiv(x, y, ieee_rounding=False):  # type: ignore[no-untyped-def]
    """``x / y``."""


@_language
def div_rn(x, y):  # type: ignore[no-untyped-def]
    """``x / y``, rounded to nearest."""


@_language
def softmax(x, dim=0, keep_dims=False, ieee_rounding=False):  # type: ignore[no-untyped-def]
    """exp(x - max) / sum along ``dim``."""


@_language
def cast(input, dtype, fp_downcast_rounding=None, bitcast=False):  # type: ignore[no-untyped-def]
    """Converted to ``dtype``; with ``bitcast`` the same bits."""


@_language
def next_power_of_2(n):  # type: ignore[no-untyped-def]
    """The least power of two that is at least ``n``, of a number known now."""


@_language
def broadcast_to(x, *shape):  # type: ignore[no-untyped-def]
    """``x`` over a larger shape."""


@_language
def broadcast(x, y):  # type: ignore[no-untyped-def]
    """Both over their common shape."""


@_language
def expand_dims(x, axis):  # type: ignore[no-untyped-def]
    """With a new axis of extent 1."""


@_language
def reshape(x, *shape, can_reorder=False):  # type: ignore[no-untyped-def]
    """The same elements, row-major, under another shape."""


@_language
def view(x, *shape):  # type: ignore[no-untyped-def]
    """As :func:`reshape`."""


@_language
def ravel(x):  # type: ignore[no-untyped-def]
    """As one axis."""


@_language
def gather(src, index, axis):  # type: ignore[no-untyped-def]
    """``src`` at ``index`` along ``axis``: ``index``'s shape."""


@_language
def range(*args, num_stages=None, loop_unroll_factor=None, disallow_acc_multi_buffer=False, flatten=False, warp_specialize=False, disable_licm=False):  # type: ignore[no-untyped-def]
    """As Python's ``range``; with ``num_stages`` the loads of the next iterations are issued ahead."""


@_language
def pipelined(*args, stages=None):  # type: ignore[no-untyped-def]
    """A loop whose loads are issued ``stages - 1`` iterations ahead (lowering's choice without ``stages``). It changes no
    result.
    """


@_language
def static_range(*args):  # type: ignore[no-untyped-def]
    """A loop that is written out while the kernel is read; its variable is a number."""


@_language
def multiple_of(x, values):  # type: ignore[no-untyped-def]
    """``x``: what it promises is proved where it matters."""


@_language
def max_contiguous(x, values):  # type: ignore[no-untyped-def]
    """``x``."""


@_language
def max_constancy(x, values):  # type: ignore[no-untyped-def]
    """``x``."""


@_language
def assume(cond):  # type: ignore[no-untyped-def]
    """Nothing: what can be assumed is proved."""


@_language
def static_assert(cond, msg=""):  # type: ignore[no-untyped-def]
    """An error, ``msg``, where ``cond`` does not hold when the kernel is compiled."""


@_language
def static_print(*values):  # type: ignore[no-untyped-def]
    """Nothing."""


@_language
def exp(x):  # type: ignore[no-untyped-def]
    """``exp`` of each element."""


@_language
def exp2(x):  # type: ignore[no-untyped-def]
    """``exp2`` of each element."""


@_language
def log(x):  # type: ignore[no-untyped-def]
    """``log`` of each element."""


@_language
def log2(x):  # type: ignore[no-untyped-def]
    """``log2`` of each element."""


@_language
def log1p(x):  # type: ignore[no-untyped-def]
    """``log1p`` of each element."""


@_language
def expm1(x):  # type: ignore[no-untyped-def]
    """``expm1`` of each element."""


@_language
def sqrt(x):  # type: ignore[no-untyped-def]
    """``sqrt`` of each element."""


@_language
def rsqrt(x):  # type: ignore[no-untyped-def]
    """``rsqrt`` of each element."""


@_language
def tanh(x):  # type: ignore[no-untyped-def]
    """``tanh`` of each element."""


@_language
def sigmoid(x):  # type: ignore[no-untyped-def]
    """``sigmoid`` of each element."""


@_language
def erf(x):  # type: ignore[no-untyped-def]
    """``erf`` of each element."""


@_language
def sin(x):  # type: ignore[no-untyped-def]
    """``sin`` of each element."""


@_language
def cos(x):  # type: ignore[no-untyped-def]
    """``cos`` of each element."""


@_language
def floor(x):  # type: ignore[no-untyped-def]
    """``floor`` of each element."""


@_language
def ceil(x):  # type: ignore[no-untyped-def]
    """``ceil`` of each element."""


@_language
def round(x):  # type: ignore[no-untyped-def]
    """``round`` of each element."""


@_language
def abs(x):  # type: ignore[no-untyped-def]
    """``abs`` of each element."""


@_language
def isnan(x):  # type: ignore[no-untyped-def]
    """``isnan`` of each element."""


@_language
def isinf(x):  # type: ignore[no-untyped-def]
    """``isinf`` of each element."""


@_language
def pow(x, y):  # type: ignore[no-untyped-def]
    """``x`` to the power ``y``, elementwise."""


@_language
def fma(x, y, z):  # type: ignore[no-untyped-def]
    """``x * y + z`` with one rounding, elementwise."""


@_language
def umulhi(x, y):  # type: ignore[no-untyped-def]
    """The upper half of the product of two integers."""


@_language
def sqrt_rn(x):  # type: ignore[no-untyped-def]
    """The square root, rounded to nearest."""


@_language
def atomic_add(pointer, val, mask=None, sem=None, scope=None):  # type: ignore[no-untyped-def]
    """Replaces what ``pointer`` points to by the sum of it and ``val``, one writer at a time, where ``mask`` is true."""


@_language
def atomic_max(pointer, val, mask=None, sem=None, scope=None):  # type: ignore[no-untyped-def]
    """Replaces what ``pointer`` points to by the larger of it and ``val``, one writer at a time, where ``mask`` is true."""


@_language
def atomic_min(pointer, val, mask=None, sem=None, scope=None):  # type: ignore[no-untyped-def]
    """Replaces what ``pointer`` points to by the smaller of it and ``val``, one writer at a time, where ``mask`` is true."""


@_language
def atomic_and(pointer, val, mask=None, sem=None, scope=None):  # type: ignore[no-untyped-def]
    """Replaces what ``pointer`` points to by the bitwise and of it and ``val``, one writer at a time, where ``mask`` is true."""


@_language
def atomic_or(pointer, val, mask=None, sem=None, scope=None):  # type: ignore[no-untyped-def]
    """Replaces what ``pointer`` points to by the bitwise or of it and ``val``, one writer at a time, where ``mask`` is true."""


@_language
def atomic_xor(pointer, val, mask=None, sem=None, scope=None):  # type: ignore[no-untyped-def]
    """Replaces what ``pointer`` points to by the bitwise exclusive or of it and ``val``, one writer at a time, where ``mask``
    is true.
    """


@_language
def atomic_xchg(pointer, val, mask=None, sem=None, scope=None):  # type: ignore[no-untyped-def]
    """Replaces what ``pointer`` points to by the new value, one writer at a time, where ``mask`` is true."""


sequence_length = Value("sequence_length", "The extent of the attention operands' sequence axis: the second last of the parameter Q, q or query, else of the first with two axes.")
__all__.append("sequence_length")
