"""TileLang's operations: ``import kiln.tilelang.language as T``. A kernel that uses them is read, never run.

Shapes are those of tiles and tensors; *place* means a tile, a tensor, or a piece of one: ``A[i, j]`` (a start; extents
follow the
other side), ``A[a:b, c:d]``. What each does is in ``kiln.language._tilelang``; what has no meaning here is in
``_absent``.
"""

from __future__ import annotations

from typing import Any

from ._absent import *  # noqa: F401,F403
from ._absent import __all__ as _absent_names
from ._functions import Operation
from ._math import *  # noqa: F401,F403
from ._math import __all__ as _math_names
from ._prim_func import macro, prim_func
from ._types import GemmWarpPolicy, StridedTensor, Tensor, dtype, dynamic
from .layout import Fragment, Layout

symbolic = dynamic
Buffer = SharedBuffer = FragmentBuffer = LocalBuffer = Tensor
float64, float32, float16, bfloat16 = dtype("float64"), dtype("float32"), dtype("float16"), dtype("bfloat16")
int64, int32, int16, int8 = dtype("int64"), dtype("int32"), dtype("int16"), dtype("int8")
uint64, uint32, uint16, uint8 = dtype("uint64"), dtype("uint32"), dtype("uint16"), dtype("uint8")
float8_e4m3, float8_e4m3fn, float8_e4m3fnuz = dtype("float8_e4m3"), dtype("float8_e4m3fn"), dtype("float8_e4m3fnuz")
float8_e5m2, float8_e5m2fnuz, float8_e8m0fnu = dtype("float8_e5m2"), dtype("float8_e5m2fnuz"), dtype("float8_e8m0fnu")
float4_e2m1fn, float4_e2m1_unpacked, tfloat32 = dtype("float4_e2m1fn"), dtype("float4_e2m1_unpacked"), dtype("tfloat32")
int4, uint4, int2, uint2, uint1 = dtype("int4"), dtype("uint4"), dtype("int2"), dtype("uint2"), dtype("uint1")
double, half, bool_ = dtype("float64"), dtype("float16"), dtype("bool")
handle = dtype("handle")
_op = Operation.mark


# -- launches and memory


@_op()
def Kernel(*blocks: Any, threads: Any = None, prelude: Any = None, is_cpu: bool = False, is_npu: bool = False) -> Any:
    """A launch: ``with T.Kernel(gx, gy, threads=128) as (bx, by)``. ``blocks`` are 1 to 3 extents of the grid; the
    names are the
    block's position. Several in one function are launches in order."""


@_op()
def alloc_shared(shape: Any, dtype: Any = "float32", scope: Any = None) -> Any:
    """A tile in shared memory (LDS)."""


@_op()
def alloc_fragment(shape: Any, dtype: Any = "float32", scope: Any = None) -> Any:
    """A tile in registers, spread over the block."""


@_op()
def alloc_local(shape: Any, dtype: Any = "float32", scope: Any = None) -> Any:
    """A tile in the block's local memory: the block's, not a thread's."""


@_op()
def alloc_var(dtype: Any, *init: Any, scope: Any = None, **more: Any) -> Any:
    """A number that the block may change: ``x = T.alloc_var(T.int32)``, then ``x = …``."""


@_op()
def alloc_global(shape: Any, dtype: Any = "float32", scope: Any = None) -> Any:
    """Memory for the length of a call, shared by its launches. Outside ``T.Kernel``."""


@_op()
def empty(*shape: Any, dtype: Any = "float32") -> Any:
    """A result of a function marked ``@tilelang.jit``: allocated by each call, and what it returns."""


@_op()
def const(names: str, dtype: Any = "int32") -> Any:
    """Sizes that are known when the kernel is compiled, taken from the arguments' shapes: ``M, N = T.const("M,
    N")``.
    """


@_op(places=True)
def copy(
    src: Any,
    dst: Any,
    coalesced_width: Any = None,
    disable_tma: bool = False,
    eviction_policy: Any = None,
    prefer_instruction: Any = None,
    annotations: Any = None,
    loop_layout: Any = None,
) -> None:
    """Copies a place to a place, converting elements. What lies outside a tensor is read as 0 and not written."""


@_op(places=True)
def async_copy(src: Any, dst: Any, **hints: Any) -> None:
    """As :func:`copy`: it is done when the next statement begins; fetching ahead is the loop's (``T.Pipelined``)."""


@_op(places=True)
def transpose(src: Any, dst: Any) -> None:
    """``dst[j, i] = src[i, j]``."""


@_op(places=True)
def im2col(
    img: Any, col: Any, nhw_step: Any, c_step: Any, kernel: Any, stride: Any, dilation: Any, pad: Any, **hints: Any
) -> None:
    """A block of the matrix that a convolution multiplies: rows are output positions, columns kernel positions and
    channels.
    """


c2d_im2col = im2col


@_op(places=True)
def fill(buffer: Any, value: Any, annotations: Any = None) -> None:
    """Every element of a place."""


@_op(places=True)
def clear(buffer: Any, annotations: Any = None) -> None:
    """Every element of a place to 0."""


@_op(places=True)
def view(src: Any, shape: Any = None, dtype: Any = None) -> Any:
    """The same memory under another shape."""


@_op(places=True)
def reshape(src: Any, shape: Any) -> Any:
    """As :func:`view`."""


# -- products and reductions


@_op(places=True)
def gemm(
    A: Any,
    B: Any,
    C: Any,
    transpose_A: Any = False,
    transpose_B: Any = False,
    policy: Any = None,
    clear_accum: Any = False,
    k_pack: Any = 1,
    wg_wait: Any = 0,
    mbar: Any = None,
    annotations: Any = None,
) -> None:
    """C += A·B on tiles; with ``clear_accum`` C = A·B. ``policy`` (``FullRow``, ``FullCol``) and ``k_pack`` are
    hints: ``explain`` tells which were honoured.
    """


@_op(places=True)
def reduce(buffer: Any, out: Any, reduce_type: str, dim: Any, clear: Any = True, **hints: Any) -> None:
    """``reduce_type`` (sum, max, min, abssum, absmax) along an axis."""


@_op(places=True)
def reduce_max(buffer: Any, out: Any, dim: Any = -1, clear: Any = True, **hints: Any) -> None:
    """The largest along an axis, and of ``out`` unless ``clear``. NaN wins."""


@_op(places=True)
def reduce_min(buffer: Any, out: Any, dim: Any = -1, clear: Any = True, **hints: Any) -> None:
    """The smallest along an axis, and of ``out`` unless ``clear``. NaN wins."""


@_op(places=True)
def reduce_sum(buffer: Any, out: Any, dim: Any = -1, clear: Any = True, **hints: Any) -> None:
    """The sum along an axis, added to ``out`` unless ``clear``."""


@_op(places=True)
def reduce_abssum(buffer: Any, out: Any, dim: Any = -1, clear: Any = True, **hints: Any) -> None:
    """The sum of magnitudes along an axis."""


@_op(places=True)
def reduce_absmax(buffer: Any, out: Any, dim: Any = -1, clear: Any = True, **hints: Any) -> None:
    """The largest magnitude along an axis, and of ``out`` unless ``clear``."""


@_op(places=True)
def cumsum(src: Any, dst: Any = None, dim: Any = 0, reverse: Any = False) -> None:
    """Running sums along an axis; in place without ``dst``."""


@_op(places=True)
def cummax(src: Any, dst: Any = None, dim: Any = 0, reverse: Any = False) -> None:
    """Running maxima along an axis; in place without ``dst``."""


# -- loops


@_op()
def Parallel(
    *extents: Any,
    coalesced_width: Any = None,
    loop_layout: Any = None,
    prefer_async: Any = None,
    annotations: Any = None,
) -> Any:
    """An elementwise loop: ``for i, j in T.Parallel(m, n)``; iterations are independent."""


@_op()
def Pipelined(
    start: Any,
    stop: Any = None,
    num_stages: Any = 0,
    order: Any = None,
    stage: Any = None,
    sync: Any = None,
    group: Any = None,
) -> Any:
    """A loop whose copies are fetched ahead. ``num_stages`` is how far (0: lowering decides); ``order`` and ``stage``
    say for each statement (with ``group`` for each group of them) where it stands and how many iterations it is behind:
    hints, of which ``explain`` tells whether they were honoured.
    """


@_op()
def serial(start: Any, stop: Any = None, step: Any = None, annotations: Any = None) -> Any:
    """A loop."""


@_op()
def unroll(
    start: Any,
    stop: Any = None,
    step: Any = None,
    explicit: Any = False,
    unroll_factor: Any = None,
    annotations: Any = None,
) -> Any:
    """A loop that is written out."""


@_op()
def vectorized(start: Any, stop: Any = None, annotations: Any = None) -> Any:
    """An elementwise loop over one index; widths of accesses are lowering's."""


@_op()
def Persistent(domain: Any, wave_size: Any, index: Any, group_size: Any = 8) -> Any:
    """The positions of ``domain`` that block ``index`` of ``wave_size`` blocks works on."""


parallel, grid, Serial, Unroll, Vectorized = Parallel, Parallel, serial, unroll, vectorized


# -- atomics


@_op(places=True)
def atomic_add(
    dst: Any,
    value: Any,
    memory_order: Any = None,
    return_prev: Any = False,
    use_tma: Any = False,
    annotations: Any = None,
) -> None:
    """Adds to one element of a tensor, or to a piece of it the elements of a tile."""


@_op(places=True)
def atomic_max(
    dst: Any, value: Any, memory_order: Any = None, return_prev: Any = False, annotations: Any = None
) -> None:
    """The larger one, as :func:`atomic_add`."""


@_op(places=True)
def atomic_min(
    dst: Any, value: Any, memory_order: Any = None, return_prev: Any = False, annotations: Any = None
) -> None:
    """The smaller one, as :func:`atomic_add`."""


@_op(places=True)
def atomic_or(dst: Any, value: Any, memory_order: Any = None) -> None:
    """The bits of both, as :func:`atomic_add`."""


@_op(places=True)
def atomic_addx2(dst: Any, value: Any, return_prev: Any = False) -> None:
    """Adds two neighbouring elements to two neighbouring elements."""


@_op(places=True)
def atomic_addx4(dst: Any, value: Any, return_prev: Any = False) -> None:
    """Adds four neighbouring elements to four neighbouring elements."""


# -- hints


@_op()
def use_swizzle(panel_size: Any = 8, order: Any = "row", enable: Any = True) -> None:
    """The order in which blocks start: panels of ``panel_size`` rows of the grid (``order="column"``: of columns), each
    walked along the other axis. It changes no result.
    """


@_op()
def annotate_layout(layout_map: Any) -> None:
    """Layouts of tiles. A padded one of a shared tile is used; others are hints, lowering counts conflicts and
    chooses.
    """


@_op()
def annotate_safe_value(values: Any) -> None:
    """What reads outside a tensor give: 0 is what they give here, any other value is refused."""


@_op()
def annotate_l2_hit_ratio(ratios: Any) -> None:
    """A hint, without effect."""


@_op()
def annotate_pass_configs(configs: Any) -> None:
    """Settings of TileLang's compiler, without effect here."""


@_op()
def annotate_compile_flags(flags: Any) -> None:
    """Settings of TileLang's compiler, without effect here."""


@_op()
def no_set_max_nreg() -> None:
    """A hint, without effect."""


@_op()
def disable_warp_group_reg_alloc() -> None:
    """A hint, without effect."""


@_op()
def assume(condition: Any) -> None:
    """A promise, without effect: what matters is proved."""


@_op()
def sync_threads(barrier_id: Any = None, arrive_count: Any = None) -> None:
    """Nothing: barriers are placed where they are needed."""


@_op()
def sync_warp(mask: Any = None) -> None:
    """Nothing: barriers are placed where they are needed."""


@_op()
def get_block_binding(dim: Any = 0) -> Any:
    """The block's position along an axis of the grid."""


@_op()
def get_block_bindings() -> Any:
    """The block's position along every axis of the grid."""


@_op()
def get_thread_extent(dim: Any = 0) -> Any:
    """Threads of a block as ``T.Kernel`` gives them."""


@_op()
def make_swizzled_layout(buffer: Any, *hints: Any, **more: Any) -> Any:
    """A hint: lowering counts the conflicts of a shared tile and chooses a swizzle by itself."""


@_op()
def print(obj: Any = None, msg: str = "", warp_group_id: int = 0, warp_id: int = 0) -> None:  # noqa: A001
    """Records a value, or each element of a tile; the launch's caller sees them as lines with ``msg`` in front."""


@_op()
def device_assert(condition: Any, msg: str = "", no_stack_info: bool = False) -> None:
    """Ends the block, and fails its launch, where the condition does not hold (for any element)."""


globals().update({"float": float32, "int": int32, "uint": uint32, "bool": bool_})
_LANGUAGE = [
    name
    for name, value in list(globals().items())
    if isinstance(value, (Operation, dtype)) and not name.startswith("_")
]
__all__ = sorted(
    set(
        _LANGUAGE
        + _absent_names
        + _math_names
        + [
            "Buffer",
            "Fragment",
            "FragmentBuffer",
            "GemmWarpPolicy",
            "Layout",
            "LocalBuffer",
            "SharedBuffer",
            "StridedTensor",
            "Tensor",
            "dtype",
            "dynamic",
            "macro",
            "prim_func",
            "symbolic",
        ]
    )
)
