"""What the operations of ``kiln.language`` do while a kernel is read."""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, Dict, List, Optional, Tuple

from ..errors import KilnError
from ._access import Reader
from ._arithmetic import FLOATS, Mistake, as_dim, binary, cast, index_of, is_number, reading, shape_text, truth
from ._errors import how
from ._expr import STATIC, BlockPointer, Dot, Expr, Param, Pointer, Poly, Region, Tile, Transposed, index_expr
from ._functions_triton import tensor, tensor_descriptor
from ._loops import Range
from ._memory import describe
from ._types import DTYPES, BlockLayout, DType, Swizzle, as_dtype, constexpr

OPERATIONS: Dict[str, Callable[..., Any]] = {}


def operation(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers a function under its own name without the leading underscore, or under ``names``."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names or (function.__name__.lstrip("_"),):
            OPERATIONS[name] = _guarded(name, function)
        return function

    return register


def _guarded(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The operation, with whatever Python raises for operands that it was not written for as a mistake of the kernel."""

    @functools.wraps(function)
    def run(t: Reader, *args: Any, **kwargs: Any) -> Any:
        try:
            return function(t, *args, **kwargs)
        except (Mistake, KilnError):
            raise
        except Exception as error:  # noqa: BLE001 - any of them means that the operands do not fit the operation
            given = [describe(a) for a in args] + ["%s=%s" % (k, describe(v)) for k, v in kwargs.items()]
            word = name[2:] if name.startswith("T.") else name.rpartition(".")[2]
            raise Mistake("%s cannot be applied to %s (%s: %s)"
                          % (word, ", ".join(given) or "nothing", type(error).__name__, error),
                          "the signature is %s" % _signature(word, function)) from error

    return run


def _signature(word: str, function: Callable[..., Any]) -> str:
    parts = []
    for p in list(inspect.signature(function).parameters.values())[1:]:
        stars = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        parts.append(stars + p.name + ("" if p.default is p.empty else "=%r" % (p.default,)))
    return "%s(%s)" % (word, ", ".join(parts))


def dtype_name(value: Any, default: str = "f32") -> str:
    if value is None:
        return default
    dtype = as_dtype(value)
    if dtype is None:
        raise Mistake("%r is no element type" % (value,), "such as tl.float16 or \"float16\"")
    return dtype.name


def dims(value: Any) -> Tuple[Any, ...]:
    """A shape as the author gives it: a tuple or list of extents, or one extent."""
    shape = tuple(as_dim(n) for n in value) if isinstance(value, (tuple, list)) else (as_dim(value),)
    if len(shape) > 4:
        raise Mistake("a tile has at most 4 axes, this one %d" % len(shape), "join axes that lie side by side into one")
    return shape


def axis_of(axis: Any, shape: Tuple[Any, ...]) -> int:
    """An axis as the author counts it, from the end where it is negative."""
    rank = len(shape)
    if not isinstance(axis, int) or isinstance(axis, bool) or not -rank <= axis < rank:
        shown = describe(axis) if isinstance(axis, (Expr, Tile)) else repr(axis)
        raise Mistake("axis %s of a tile of shape %s" % (shown, shape_text(shape)),
                      "axes count from 0, or from the end: axis=-1, dim=-1")
    return axis % rank


# -- where a block is


@operation("program_id", "block_id")
def _program_id(t: Reader, axis: Any) -> Expr:
    axis = _grid_axis(axis)
    t.program_ids.setdefault(axis, t.builder.place)
    return index_expr("bid." + "xyz"[axis])


def _grid_axis(axis: Any) -> int:
    if isinstance(axis, (bool, Expr, Tile)) or axis not in (0, 1, 2):
        raise Mistake("axis %s of the grid" % (axis if isinstance(axis, int) else describe(axis)),
                      "the grid has axes 0, 1 and 2")
    return int(axis)


@operation()
def _num_programs(t: Reader, axis: Any) -> Any:
    axis = _grid_axis(axis)
    grid = t.info.get("grid")
    if grid is None:
        hint = how("kernel[grid](…), or @tl.kernel(grid=…)", "--grid 'cdiv(n, BLOCK), 1', or @tl.kernel(grid=…)")
        raise Mistake("the number of programs is known only with a grid that is given", hint)
    return grid[axis] if axis < len(grid) else 1


@operation("get_wavefront_size")
def _wavefront(t: Reader) -> Expr:
    return index_expr("target.wave", STATIC)


@operation()
def _sequence_length(t: Reader) -> Expr:
    found = t.info.get("sequence")
    if found is None:
        raise Mistake("the operands have no sequence axis", "tl.sequence_length is the second last extent of the parameter Q, q or query, "
                      "else of the first parameter with two axes or more")
    return t.info["sequence_used"]()


@operation()
def _target(t: Reader) -> Any:
    return t.info["target"]


# -- tiles


def layout_entry(layout: Any, shape: Tuple[Any, ...], dtype: Optional[str]) -> Any:
    """The program format's layout."""
    if layout is None or layout == "auto":
        return None
    if layout == "row_major":
        return layout
    if isinstance(layout, dict):
        return layout
    if isinstance(layout, Swizzle):
        return {"swizzle": {"chunk_bytes": layout.chunk_bytes, "row_divisor": layout.row_divisor, "rows_mod": layout.rows_mod}}
    if not isinstance(layout, BlockLayout):
        raise Mistake("%r is no layout" % (layout,), "tl.make_block_layout(shape=…, order=…), tl.swizzle(), \"row_major\" or \"auto\"")
    if len(layout.shape) != len(shape):
        raise Mistake("a layout of %d axes for a tile of shape %s" % (len(layout.shape), shape_text(shape)),
                      "a layout has as many axes as its tile")
    for axis, (n, wide, first) in enumerate(zip(shape, layout.shape, layout.origin)):
        if isinstance(n, int) and n + first > wide:
            raise Mistake("axis %d of the tile, %d elements from %d on, leaves the layout's %d" % (axis, n, first, wide),
                          "a layout is at least as large as its tile; more is padding")
    if layout.order != tuple(reversed(range(len(shape)))):
        raise Mistake("a shared tile whose order is %r" % (layout.order,), "tiles are row-major: allocate it with the axes exchanged, and use tl.trans")
    if not isinstance(shape[-1], int):
        raise Mistake("a layout for a tile whose row length is not a number known now", "use layout=\"auto\", or constant extents")
    if dtype is None:
        raise Mistake("a layout for a tile whose element type is not known", "give it: alloc_shared(shape, dtype=tl.float16, layout=…)")
    pad = (layout.shape[-1] - shape[-1]) * DTYPES[dtype].bytes
    return {"pad": pad} if pad else "row_major"


def alloc(t: Reader, space: str, shape: Any, dtype: Any = None, layout: Any = None, scope: Any = None) -> Tile:
    extents = dims(shape)
    if not 1 <= len(extents) <= 4:
        raise Mistake("a tile has 1 to 4 axes, this one %d" % len(extents), "join axes that lie side by side into one")
    name = None if dtype is None else dtype_name(dtype)
    late = name is None and isinstance(layout, BlockLayout)
    made = t.builder.alloc(t.hint, space, name, extents, False, None if late else layout_entry(layout, extents, name))
    if late:
        layout_entry(layout, extents, "i8")  # mistakes are told here, not where it is first written
        made.layout = layout
    return made


@operation()
def _alloc_shared(t: Reader, shape: Any, dtype: Any = None, layout: Any = None) -> Tile:
    return alloc(t, "shared", shape, dtype, layout)


@operation()
def _alloc_fragment(t: Reader, shape: Any, dtype: Any = None) -> Tile:
    return alloc(t, "fragment", shape, dtype)


@operation()
def _alloc_local(t: Reader, shape: Any, dtype: Any = None) -> Tile:
    return alloc(t, "local", shape, dtype)


@operation()
def _full(t: Reader, shape: Any, value: Any, dtype: Any = None) -> Tile:
    name = dtype_name(dtype)
    space = "shared" if t.hint in t.product_names else "fragment"
    made = t.builder.alloc(t.hint, space, name, dims(shape), True)
    t.write(made, value)
    return made


@operation()
def _zeros(t: Reader, shape: Any, dtype: Any = None) -> Tile:
    return _full(t, shape, 0, dtype)


@operation()
def _zeros_like(t: Reader, input: Any) -> Tile:
    return _full_like(t, input, 0)


@operation()
def _full_like(t: Reader, input: Any, value: Any) -> Tile:
    like = t.expr(input)
    return _full(t, like.shape, value, "i32" if like.dtype == "index" else like.dtype)


@operation()
def _arange(t: Reader, start: Any, end: Any = None) -> Expr:
    low, high = (0, start) if end is None else (start, end)
    size = as_dim(binary("-", high, low))
    if isinstance(size, int) and size <= 0:
        raise Mistake("an empty range: from %s to %s" % (low, high), "the end lies behind the start: tl.arange(0, n)")
    first = index_of(t.operand(low))
    return t.expr(binary("+", Expr("index", None, (size,), STATIC, Poly.of("$0")), first))


@operation()
def _make_block_layout(t: Reader, shape: Any, order: Any = None, origin: Any = None) -> BlockLayout:
    try:
        return BlockLayout(shape, order, origin)
    except (TypeError, ValueError) as error:
        raise Mistake(str(error), "extents of a layout are numbers known when the kernel is read") from None


@operation()
def _swizzle(t: Reader, chunk_bytes: int = 16, row_divisor: int = 1, rows_mod: int = 8) -> Swizzle:
    return Swizzle(chunk_bytes, row_divisor, rows_mod)


@operation()
def _layout_offset(t: Reader, layout: BlockLayout, *index: Any) -> Any:
    if len(index) != len(layout.shape):
        raise Mistake("%d coordinates for a layout of %d axes" % (len(index), len(layout.shape)),
                      "one coordinate an axis")
    total: Any = 0
    for i, origin, stride in zip(index, layout.origin, layout.strides):
        total = binary("+", total, binary("*", binary("+", index_of(t.operand(i)), origin), stride))
    return total


# -- memory


@operation("parameter.stride")
def _stride(t: Reader, param: Param, axis: Any) -> Any:
    return t.stride(param, axis_of(axis, param.shape))


@operation("parameter.size")
def _size(t: Reader, param: Param, axis: Any = None) -> Any:
    if axis is None:
        return t.attribute(param, "numel")
    return t.attribute(param, "shape")[axis_of(axis, param.shape)]


@operation()
def _load(t: Reader, pointer: Any, mask: Any = None, other: Any = None, boundary_check: Any = (),
          padding_option: str = "",
          cache_modifier: str = "", eviction_policy: str = "", volatile: bool = False, block_shape: Any = None) -> Any:
    hint = t.hint
    if isinstance(pointer, BlockPointer):
        if mask is not None or other is not None:
            raise Mistake("mask= and other= of a block pointer",
                          "boundary_check=(axis, …) and padding_option=\"zero\" or \"nan\"")
        return OPERATIONS["descriptor.load"](t, pointer, None, boundary_check, padding_option)
    if boundary_check or padding_option:
        raise Mistake("boundary_check= and padding_option= of %s" % describe(pointer),
                      "they are for block pointers; mask=offsets < n and other=0")
    if block_shape is not None:
        if not isinstance(pointer, Param):
            raise Mistake("block_shape is for a whole parameter, not for %s" % describe(pointer),
                          "tl.load(X, block_shape=[32, 64])")
        return t.load_region(program_block(t, pointer, dims(block_shape)), mask, other, hint)
    if isinstance(pointer, Region):
        return t.load_region(pointer, mask, other, hint)
    if isinstance(pointer, Param) and pointer.mode != "flat" and len(pointer.shape) > 1:
        return t.load_region(t.whole(pointer), mask, other, hint)
    if isinstance(pointer, Param):
        pointer = t.moved_pointer(pointer, 0)
    if not isinstance(pointer, Pointer):
        raise Mistake("tl.load of %s" % describe(pointer), "load from a pointer (x + offsets), a slice (x[a:b]) or a parameter with block_shape=")
    if other is not None and mask is None:
        raise Mistake("other= without mask=", "mask=offsets < n says where other= is taken")
    return t.load_pointer(pointer, mask, other, hint)


@operation()
def _store(t: Reader, pointer: Any, value: Any, mask: Any = None, boundary_check: Any = (), cache_modifier: str = "", eviction_policy: str = "") -> None:
    if isinstance(pointer, BlockPointer):
        if mask is not None:
            raise Mistake("mask= of a block pointer", "boundary_check=(axis, …) drops what lies outside")
        return OPERATIONS["descriptor.store"](t, pointer, None, value, boundary_check)
    if boundary_check:
        raise Mistake("boundary_check= of %s" % describe(pointer), "it is for block pointers; mask=offsets < n")
    if isinstance(pointer, Param) and pointer.mode != "flat" and not is_number(value) and getattr(value, "shape", ()):
        pointer = program_block(t, pointer, value.shape)
    if isinstance(pointer, Region):
        return t.store_region(pointer, value) if mask is None else t.store_region_where(pointer, value, mask)
    if isinstance(pointer, Param):
        pointer = t.moved_pointer(pointer, 0)
    if not isinstance(pointer, Pointer):
        raise Mistake("tl.store to %s" % describe(pointer), "store to a pointer (x + offsets), a slice (x[a:b]) or a parameter")
    return t.store_pointer(pointer, value, mask)


def program_block(t: Reader, param: Param, block: Tuple[Any, ...]) -> Region:
    """The program's own block of a parameter: program id 0 counts blocks along the first of the block's axes. A parameter with
    more axes than the block has its leading ones indexed by the following ids, the last of them first; with as many, id 1 counts
    along the second axis, and so on."""
    t.use_axes(param)
    ahead = len(param.shape) - len(block)
    if ahead < 0 or len(block) == 0:
        raise Mistake("a block of %d axes of %s, which has %d" % (len(block), param.name, len(param.shape)),
                      "at most as many axes as the parameter, and one at least")
    items: List[Any] = [None] * len(param.shape)
    if ahead:
        for k in range(ahead):
            items[k] = _program_id(t, ahead - k) if ahead - k < 3 else 0
    for k, n in enumerate(block):
        extent = param.shape[ahead + k]
        size = index_expr(n, STATIC)
        if reading.same(n, extent) or (ahead and k) or k > 2:  # all of the axis
            items[ahead + k] = slice(0, size)
        else:
            first = binary("*", _program_id(t, k), size)
            items[ahead + k] = slice(first, binary("+", first, size))
    return t.region(param, items)


@operation()
def _sync_threads(t: Reader) -> None:
    t.builder.emit({"op": "sync"})


# -- loops and hints


def _loop_range(args: Tuple[Any, ...]) -> Tuple[Any, Any, Any]:
    if not 1 <= len(args) <= 3:
        raise Mistake("a range takes 1 to 3 numbers", "range(end), range(start, end) or range(start, end, step)")
    return (0, args[0], 1) if len(args) == 1 else (args[0], args[1], args[2] if len(args) == 3 else 1)


@operation("python.range")
def _python_range(t: Reader, *args: Any) -> Range:
    return Range(*_loop_range(args))


@operation("range")
def _range(t: Reader, *args: Any, num_stages: Any = None, loop_unroll_factor: Any = None,
           disallow_acc_multi_buffer: Any = False,
           flatten: Any = False, warp_specialize: Any = False, disable_licm: Any = False) -> Range:
    return Range(*_loop_range(args), kind="pipelined" if num_stages else "serial", stages=min(num_stages, 2) if num_stages else None)


@operation()
def _pipelined(t: Reader, *args: Any, stages: Any = None) -> Range:
    return Range(*_loop_range(args), kind="pipelined", stages=stages)


@operation()
def _static_range(t: Reader, *args: Any) -> Range:
    return Range(*_loop_range(args), kind="now")


@operation("multiple_of", "max_contiguous", "max_constancy")
def _promise(t: Reader, x: Any, values: Any) -> Any:
    return x  # what is promised is proved where it matters


@operation("assume", "debug_barrier", "static_print", "gdc_wait", "gdc_launch_dependents")
def _ignored(t: Reader, *_: Any, **__: Any) -> None:
    return None


@operation()
def _static_assert(t: Reader, cond: Any, msg: Any = "") -> None:
    if isinstance(cond, Expr):
        if cond.level != STATIC:
            raise Mistake("a static assertion on values of the running kernel",
                          "of sizes, constants and types; mask or clamp the rest")
        said = t.text_of(msg) or "the static assertion does not hold"
        t.builder.assert_known(truth(cond).text, said)  # type: ignore[union-attr]
    elif not isinstance(cond, (bool, int, float, str, tuple, list, type(None))):
        raise Mistake("a static assertion on %s" % describe(cond),
                      "of sizes, constants and types; mask or clamp the rest")
    elif not cond:
        raise Mistake(t.text_of(msg) or "the static assertion does not hold",
                      "a condition of the author's own: other sizes or constants fulfil it")


# -- Python's own functions


@operation("python.len")
def _python_len(t: Reader, x: Any) -> int:
    if not isinstance(x, (tuple, list, str, dict)):
        raise Mistake("len of %s" % describe(x), "x.shape[0]")
    return len(x)


@operation("python.int")
def _python_int(t: Reader, x: Any) -> Any:
    if is_number(x) or isinstance(x, str):
        return int(x)
    value = t.expr(x)
    if value.dtype in FLOATS + ("bool",):
        raise Mistake("int of %s" % describe(value), "x.to(tl.int32)")
    return value


@operation("python.float")
def _python_float(t: Reader, x: Any) -> Any:
    return float(x) if is_number(x) or isinstance(x, str) else cast(t.operand(x), "f32")


@operation("python.isinstance")
def _isinstance(t: Reader, x: Any, kinds: Any) -> bool:
    """Of a kernel's values: ``tl.tensor``, ``tl.tensor_descriptor``, ``tl.constexpr`` (what is known now), or Python's
    types.
    """
    for kind in kinds if isinstance(kinds, tuple) else (kinds,):
        if kind is tensor_descriptor:
            found = isinstance(x, BlockPointer)
        elif kind is tensor:
            found = isinstance(x, (Expr, Tile, Param, Pointer, Region, Dot, Transposed))
        elif kind is constexpr:
            found = x is None or isinstance(x, (int, float, str, DType))
        else:
            found = isinstance(kind, type) and isinstance(x, kind)
        if found:
            return True
    return False
