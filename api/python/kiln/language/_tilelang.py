"""What the operations of TileLang's style (T.*) do while a kernel is read: launches, memory, loops."""

from __future__ import annotations

from typing import Any, List, Optional, Tuple, Union

from ._arithmetic import Mistake, binary, cast, constant, is_number
from ._expr import STATIC, Expr, Param, Tile, index_expr
from ._loops import Parallel, Range
from ._memory import describe
from ._operations import OPERATIONS, alloc, dtype_name, operation
from ._schedule import set_block_order
from ._turns import Turns
from ._types import DTYPES

Reader = Any  # kiln.tilelang's, which knows what these need


class Access:
    """``A[…]`` as an argument of an operation: where, not what."""

    def __init__(self, of: Union[Param, Tile], items: List[Any]) -> None:
        self.of, self.items = of, items

    @property
    def dtype(self) -> Optional[str]:
        return self.of.dtype

    @property
    def start_only(self) -> bool:
        return not any(isinstance(x, slice) or x is Ellipsis for x in self.items) and len(self.items) == len(
            self.of.shape
        )


class Variable:
    """``T.alloc_var``: a number of an element type that its name may change."""

    def __init__(self, dtype: str, init: Any) -> None:
        self.dtype, self.init = dtype, init

    def initial(self) -> Any:
        value = 0 if self.init is None else self.init
        if not is_number(value):
            return cast(value, self.dtype) if self.dtype not in ("i32", "i64", "u32", "u64") else value
        if DTYPES[self.dtype].is_float:
            return constant(float(value), self.dtype)
        return bool(value) if self.dtype == "bool" else int(value)


class Decoded:
    """Positions of a domain, computed from one number that counts ``start``, ``start + step``, … below ``total``."""

    def __init__(self, domain: List[Any], start: Any, step: Any, total: Any) -> None:
        self.domain, self.start, self.step, self.total = domain, start, step, total

    def position(self, number: Any) -> Tuple[Any, ...]:
        """An index an axis, the last one fastest."""
        found: List[Any] = []
        for extent in reversed(self.domain[1:]):
            found.append(binary("%", number, extent))
            number = binary("//", number, extent)
        return tuple(reversed(found + [number]))


class KernelFrame:
    """``with T.Kernel(…)``: one launch."""

    def __init__(self, grid: List[str], threads: int) -> None:
        self.grid, self.threads = grid, threads

    def enter_kernel(self, t: Reader) -> Any:
        if t.builder.inside:
            raise Mistake("T.Kernel inside T.Kernel", "write them one behind the other")
        launch = t.builder.begin_launch()
        launch.place = t.builder.place
        t.builder.inside = True
        launch.grid, launch.threads = self.grid, "1 if target.is_host else %d" % self.threads
        t.launch_threads = self.threads
        ids = tuple(index_expr("bid." + "xyz"[k]) for k in range(len(self.grid)))
        return ids[0] if len(ids) == 1 else ids

    def leave_kernel(self, t: Reader) -> None:
        t.builder.inside = False


@operation("T.Kernel")
def _kernel(
    t: Reader, *blocks: Any, threads: Any = None, prelude: Any = None, is_cpu: bool = False, is_npu: bool = False
) -> KernelFrame:
    if prelude is not None:
        raise Mistake("text of another language in front of a kernel", "write it with T's operations")
    if len(blocks) > 3:
        raise Mistake(
            "a grid of %d extents" % len(blocks), "a grid has 1 to 3: join two of them, and divide the block's position"
        )
    grid = []
    for extent in blocks or (1,):
        value = t.operand(extent)
        if isinstance(value, Expr) and (value.level != STATIC or value.poly is None):
            raise Mistake(
                "the grid's extent %s is not known when the kernel is launched" % value.text,
                "it comes from sizes and from whole-number parameters of the function",
            )
        if not isinstance(value, (int, Expr)) or isinstance(value, bool) or isinstance(value, int) and value < 0:
            raise Mistake("%r is no extent of a grid" % (value,), "a whole number from 0 on, such as T.ceildiv(M, 64): with // and not /")
        grid.append(str(value.poly) if isinstance(value, Expr) else str(value))
    parts = [128] if threads is None else list(threads) if isinstance(threads, (tuple, list)) else [threads]
    count = 1
    for part in parts:
        if not isinstance(part, int) or isinstance(part, bool) or part < 1:
            raise Mistake("%r is no number of threads" % (part,), "a whole number from 1 to 1024, or the factors of one")
        count *= part
    if count > 1024:
        raise Mistake("%d threads in a block" % count, "a block has at most 1024")
    return KernelFrame(grid, count)


@operation("T.get_block_binding")
def _block_binding(t: Reader, dim: Any = 0) -> Any:  # noqa: A002 - TileLang's name
    return OPERATIONS["program_id"](t, dim)


@operation("T.get_block_bindings")
def _block_bindings(t: Reader) -> Any:
    return tuple(index_expr("bid." + "xyz"[k]) for k in range(len(t.builder.launch.grid)))


@operation("T.get_thread_extent")
def _thread_extent(t: Reader, dim: Any = 0) -> int:  # noqa: A002 - TileLang's name
    return t.launch_threads


# -- memory


@operation("T.alloc_shared")
def _alloc_shared(t: Reader, shape: Any, dtype: Any = "float32", scope: Any = None) -> Tile:
    return alloc(t, "shared", shape, dtype)


@operation("T.alloc_fragment")
def _alloc_fragment(t: Reader, shape: Any, dtype: Any = "float32", scope: Any = None) -> Tile:
    return alloc(t, "fragment", shape, dtype)


@operation("T.alloc_local")
def _alloc_local(t: Reader, shape: Any, dtype: Any = "float32", scope: Any = None) -> Tile:
    return alloc(t, "local", shape, dtype)


@operation("T.alloc_var")
def _alloc_var(t: Reader, dtype: Any, *init: Any, scope: Any = None, **more: Any) -> Variable:
    given = more.get("init", init[0] if init and not isinstance(init[0], str) else None)
    if isinstance(given, Tile):
        given = t.expr(given)
    return Variable(dtype_name(dtype), given)


@operation("T.alloc_global")
def _alloc_global(t: Reader, shape: Any, dtype: Any = "float32", scope: Any = None) -> Param:
    if t.builder.inside:
        raise Mistake("T.alloc_global inside T.Kernel", "move it before the first T.Kernel")
    return t.specializer.allocated(t.hint, shape if isinstance(shape, (tuple, list)) else (shape,), dtype, False)


@operation("T.empty")
def _empty(t: Reader, *shape: Any, dtype: Any = "float32") -> Param:
    if t.builder.inside:
        raise Mistake("T.empty inside T.Kernel", "move it before T.Kernel; tiles are made by T.alloc_fragment")
    parts = list(shape)
    if len(parts) == 2 and isinstance(parts[0], (tuple, list)):
        dtype = parts.pop()
    extents = parts[0] if len(parts) == 1 and isinstance(parts[0], (tuple, list)) else parts
    return t.specializer.allocated(t.hint, tuple(extents), dtype, True)


@operation("T.const")
def _const(t: Reader, names: Any, dtype: Any = "int32") -> Any:
    if not isinstance(names, str):  # TVM's: a number of a type
        return OPERATIONS["T.Cast"](t, dtype, names)
    words = [word.strip() for word in names.split(",") if word.strip()]
    body = t.frame.source.tree.body
    found = tuple(t.specializer.const(word, body, t.eval) for word in words)
    return found[0] if len(found) == 1 else found


@operation("T.fill")
def _fill(t: Reader, buffer: Any, value: Any, annotations: Any = None) -> None:
    if isinstance(buffer, Tile):
        return t.write(buffer, value)
    if isinstance(buffer, Param):
        buffer = Access(buffer, [slice(None)] * len(buffer.shape))
    if not isinstance(buffer, Access):
        raise Mistake("T.fill of %s" % describe(buffer), "fill a tile, or a piece of a tile or tensor")
    return t.store_item(buffer.of, buffer.items, value)


@operation("T.clear")
def _clear(t: Reader, buffer: Any, annotations: Any = None) -> None:
    _fill(t, buffer, 0)


# -- loops


def _ends(start: Any, stop: Any, step: Any = None) -> Tuple[Any, Any, Any]:
    return (0, start, 1 if step is None else step) if stop is None else (start, stop, 1 if step is None else step)


@operation("T.Parallel")
def _parallel(t: Reader, *extents: Any, **hints: Any) -> Parallel:
    if not extents:
        raise Mistake("an elementwise loop without an extent", "for i, j in T.Parallel(m, n)")
    return Parallel(tuple(extents))


@operation("T.Pipelined")
def _pipelined(
    t: Reader,
    start: Any,
    stop: Any = None,
    num_stages: Any = 0,
    order: Any = None,
    stage: Any = None,
    sync: Any = None,
    group: Any = None,
) -> Range:
    if not isinstance(num_stages, int) or num_stages < 0:
        raise Mistake("%r is no number of stages" % (num_stages,))
    for word, hint in (("order", order), ("stage", stage)):
        if hint is not None and not (isinstance(hint, (list, tuple)) and all(isinstance(n, int) for n in hint)):
            raise Mistake("%s=%r is no list of whole numbers" % (word, hint), "one number a statement of the loop")
    turns = Turns(order or None, stage or None, group or None) if order or stage else None
    return Range(
        *_ends(start, stop), kind="pipelined", stages=min(num_stages, 2) or None, turns=turns
    )  # lowering fetches one iteration ahead at most


@operation("T.serial")
def _serial(t: Reader, start: Any, stop: Any = None, step: Any = None, annotations: Any = None) -> Range:
    return Range(*_ends(start, stop, step))


@operation("T.unroll")
def _unroll(
    t: Reader,
    start: Any,
    stop: Any = None,
    step: Any = None,
    explicit: Any = False,
    unroll_factor: Any = None,
    annotations: Any = None,
) -> Range:
    ends = _ends(start, stop, step)
    known = all(isinstance(e, int) or isinstance(e, Expr) and e.level == STATIC for e in ends)
    return Range(*ends, kind="unrolled" if known else "serial")


@operation("T.vectorized")
def _vectorized(t: Reader, start: Any, stop: Any = None, annotations: Any = None) -> Union[Range, Parallel]:
    low, high, _ = _ends(start, stop)
    return Parallel((high,)) if low == 0 else Range(low, high, 1)


@operation("T.Persistent")
def _persistent(t: Reader, domain: Any, wave_size: Any, index: Any, group_size: Any = 8) -> Decoded:
    total: Any = 1
    for extent in domain:
        total = binary("*", total, t.operand(extent))
    return Decoded([t.operand(n) for n in domain], index, t.operand(wave_size), total)


# -- schedules and hints


@operation("T.use_swizzle")
def _use_swizzle(t: Reader, panel_size: Any = 8, order: Any = "row", enable: Any = True) -> None:
    if order not in ("row", "column", "col"):
        raise Mistake("%r is no order of blocks" % (order,), 'order="row" or order="column"')
    if enable and t.builder.launches:
        set_block_order(t, panel_size, "x" if order == "row" else "y", hint=True)


def _hint(t: Reader, *_: Any, **__: Any) -> None:
    return None


for _name in (
    "annotate_l2_hit_ratio",
    "annotate_pass_configs",
    "annotate_compile_flags",
    "no_set_max_nreg",
    "disable_warp_group_reg_alloc",
    "assume",
):
    OPERATIONS["T." + _name] = _hint


@operation("T.make_swizzled_layout")
def _make_swizzled_layout(t: Reader, buffer: Any, *hints: Any, **more: Any) -> str:
    return "auto"


@operation("T.annotate_layout")
def _annotate_layout(t: Reader, layout_map: Any) -> None:
    if not isinstance(layout_map, dict):
        raise Mistake(
            "%s is no map from tiles to layouts" % describe(layout_map), "T.annotate_layout({A_shared: T.Layout(…)})"
        )
    for tile, layout in layout_map.items():
        if isinstance(tile, Param):  # the memory of tensors is what callers see: row-major, or with strides
            continue
        if not isinstance(tile, Tile):
            raise Mistake("a layout for %s" % describe(tile), "layouts are of tiles: T.annotate_layout({A_shared: …})")
        pitch = layout.row_pitch() if hasattr(layout, "row_pitch") else None
        if pitch is None or tile.space != "shared" or len(tile.shape) != 2 or tuple(layout.shape) != tuple(tile.shape):
            continue
        assert tile.dtype is not None
        pad = (pitch - layout.shape[1]) * DTYPES[tile.dtype].bytes
        tile.entry["layout"] = {"pad": pad} if pad else "row_major"


@operation("T.annotate_safe_value")
def _annotate_safe_value(t: Reader, values: Any) -> None:
    for value in (values or {}).values():
        if not is_number(value) or value != 0:
            raise Mistake(
                "a tensor that reads as %r outside itself" % (value,),
                "it reads as 0: choose with T.if_then_else(i < n, A[i], value)",
            )


@operation("T.sync_threads", "T.sync_warp")
def _sync_threads(t: Reader, *_: Any, **__: Any) -> None:
    if t.scope is None:
        t.builder.emit({"op": "sync"})
