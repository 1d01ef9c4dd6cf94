"""What the operations of ``kiln.language`` do while a kernel is read."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Tuple

from ._access import Reader
from ._arithmetic import (FLOATS, Mistake, as_dim, binary, broadcast, broadcast_shape, call, cast, ceildiv, constant, index_of, is_number, literal, reading, same_shape,
                          shape_text, truth, where)
from ._expr import ELEMENT, STATIC, UNIFORM, BlockPointer, Dot, Expr, Param, Pointer, Poly, Region, Tile, Transposed, index_expr
from ._loops import Range
from ._memory import describe
from ._types import BlockLayout, DType, Swizzle, as_dtype

OPERATIONS: Dict[str, Callable[..., Any]] = {}


def operation(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers a function under its own name without the leading underscore, or under ``names``."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names or (function.__name__.lstrip("_"),):
            OPERATIONS[name] = function
        return function

    return register


def dtype_name(value: Any, default: str = "f32") -> str:
    if value is None:
        return default
    dtype = as_dtype(value)
    if dtype is None:
        raise Mistake("%r is no element type" % (value,), "such as tl.float16 or \"float16\"")
    return dtype.name


def dims(value: Any) -> Tuple[Any, ...]:
    """A shape as the author gives it: a tuple or list of extents, or one extent."""
    return tuple(as_dim(n) for n in value) if isinstance(value, (tuple, list)) else (as_dim(value),)


# -- where a block is


@operation("program_id", "block_id")
def _program_id(t: Reader, axis: Any) -> Expr:
    if axis not in (0, 1, 2):
        raise Mistake("axis %r of the grid" % (axis,), "the grid has axes 0, 1 and 2")
    t.program_ids.setdefault(axis, t.builder.place)
    return index_expr("bid." + "xyz"[axis])


@operation()
def _num_programs(t: Reader, axis: Any) -> Any:
    grid = t.info.get("grid")
    if grid is None:
        raise Mistake("the number of programs is known only with a grid that is given", "kernel[grid](…), or @tl.kernel(grid=…)")
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
        raise Mistake("a layout of %d axes for a tile of shape %s" % (len(layout.shape), shape_text(shape)))
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
    from ._types import DTYPES

    pad = (layout.shape[-1] - shape[-1]) * DTYPES[dtype].bytes
    return {"pad": pad} if pad else "row_major"


def alloc(t: Reader, space: str, shape: Any, dtype: Any = None, layout: Any = None, scope: Any = None) -> Tile:
    extents = dims(shape)
    if not 1 <= len(extents) <= 4:
        raise Mistake("a tile has 1 to 4 axes, this one %d" % len(extents))
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
    name = dtype_name(dtype, "f32" if isinstance(value, float) or dtype is None else "f32")
    space = "shared" if t.hint in t.product_names else "fragment"
    made = t.builder.alloc(t.hint, space, name, dims(shape), True)
    t.write(made, value)
    return made


@operation()
def _zeros(t: Reader, shape: Any, dtype: Any = None) -> Tile:
    return _full(t, shape, 0, dtype)


@operation()
def _zeros_like(t: Reader, x: Any) -> Tile:
    return _full(t, tuple(x.shape), 0, x.dtype)


@operation()
def _full_like(t: Reader, x: Any, value: Any) -> Tile:
    return _full(t, tuple(x.shape), value, x.dtype)


@operation()
def _arange(t: Reader, start: Any, end: Any = None) -> Expr:
    low, high = (0, start) if end is None else (start, end)
    size = as_dim(binary("-", high, low))
    if isinstance(size, int) and size <= 0:
        raise Mistake("an empty range: from %s to %s" % (low, high))
    assert not isinstance(low, float)
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
        raise Mistake("%d coordinates for a layout of %d axes" % (len(index), len(layout.shape)))
    total: Any = 0
    for i, origin, stride in zip(index, layout.origin, layout.strides):
        total = binary("+", total, binary("*", binary("+", index_of(t.operand(i)), origin), stride))
    return total


# -- memory


@operation()
def _load(t: Reader, pointer: Any, mask: Any = None, other: Any = None, block_shape: Any = None, boundary_check: Any = (), padding_option: str = "",
          cache_modifier: str = "", eviction_policy: str = "", volatile: bool = False) -> Any:
    hint = t.hint
    if isinstance(pointer, BlockPointer):
        return OPERATIONS["descriptor.load"](t, pointer, None, boundary_check, padding_option)
    if block_shape is not None:
        if not isinstance(pointer, Param):
            raise Mistake("block_shape is for a whole parameter, not for %s" % describe(pointer))
        return t.tile(program_block(t, pointer, dims(block_shape)), hint)
    if isinstance(pointer, Region):
        if mask is not None:
            raise Mistake("a mask for a slice", "what lies outside the tensor is 0 (or fill=) without one")
        return t.tile(pointer, hint)
    if isinstance(pointer, Param) and pointer.mode != "flat" and pointer.shape and mask is None and len(pointer.shape) > 1:
        return t.tile(t.whole(pointer), hint)
    if isinstance(pointer, Param):
        pointer = t.moved_pointer(pointer, 0)
    if not isinstance(pointer, Pointer):
        raise Mistake("tl.load of %s" % describe(pointer), "load from a pointer (x + offsets), a slice (x[a:b]) or a parameter with block_shape=")
    return t.load_pointer(pointer, mask, other, hint)


@operation()
def _store(t: Reader, pointer: Any, value: Any, mask: Any = None, boundary_check: Any = (), cache_modifier: str = "", eviction_policy: str = "") -> None:
    if isinstance(pointer, BlockPointer):
        return OPERATIONS["descriptor.store"](t, pointer, None, value, boundary_check)
    if isinstance(pointer, Region):
        return t.store_region(pointer, value)
    if isinstance(pointer, Param):
        shape = () if is_number(value) else getattr(value, "shape", ())
        if shape and pointer.mode != "flat":
            return t.store_region(program_block(t, pointer, shape), value)
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
        raise Mistake("a block of %d axes of %s, which has %d" % (len(block), param.name, len(param.shape)))
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


def _atomic(kind: str) -> None:
    @operation("atomic_" + kind)
    def run(t: Reader, pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> None:
        if isinstance(pointer, Param):
            pointer = t.moved_pointer(pointer, 0)
        if isinstance(pointer, Region):
            return t.atomic_region(pointer, val, kind)
        if not isinstance(pointer, Pointer):
            raise Mistake("tl.atomic_%s on %s" % (kind, describe(pointer)), "atomics are on memory: pointer + offsets")
        t.store_pointer(pointer, val, mask, "exchange" if kind == "xchg" else kind)


for _kind in ("add", "max", "min", "and", "or", "xor", "xchg"):
    _atomic(_kind)


# -- products and reductions


def product_operand(t: Reader, value: Any, hint: str) -> Tuple[Tile, bool]:
    """A tile, and whether it is read transposed."""
    if isinstance(value, Transposed):
        tile, flipped = product_operand(t, value.of, hint)
        return tile, not flipped
    if isinstance(value, Tile):
        if value.dtype is None:
            raise Mistake("%s is read before it is written" % value.name)
        return value, False
    return t.tile(value if isinstance(value, Region) else t.expr(value), hint, "shared"), False


@operation()
def _dot(t: Reader, input: Any, other: Any, acc: Any = None, input_precision: Any = None, allow_tf32: Any = None, out_dtype: Any = None,
         trans_a: bool = False, trans_b: bool = False, max_num_imprecise_acc: Any = None) -> Dot:
    a, transpose_a = product_operand(t, input, "a_tile")
    b, transpose_b = product_operand(t, other, "b_tile")
    transpose_a, transpose_b = transpose_a != bool(trans_a), transpose_b != bool(trans_b)
    if len(a.shape) != 2 or len(b.shape) != 2:
        raise Mistake("a product of shapes %s and %s" % (shape_text(a.shape), shape_text(b.shape)), "tl.dot takes tiles of two axes")
    (m, k), (k2, n) = a.shape[::-1] if transpose_a else a.shape, b.shape[::-1] if transpose_b else b.shape
    if k != k2 and not reading.same(k, k2):
        raise Mistake("a product of shapes [%s, %s] and [%s, %s]" % (m, k, k2, n), "the second extent of the first is the first of the second")
    if a.dtype != b.dtype:
        raise Mistake("a product of %s and %s" % (a.dtype, b.dtype), "both operands have one type: convert one with .to(…)")
    if a.dtype not in ("f16", "bf16", "f32", "i8"):
        raise Mistake("a product of tiles of %s" % a.dtype, "operands are f16, bf16, f32 or i8")
    dtype = "i32" if a.dtype == "i8" else "f32"
    added = None
    if acc is not None:
        added = acc if isinstance(acc, Tile) else t.expr(acc)
        if not same_shape(added.shape, (m, n)) or added.dtype != dtype:
            raise Mistake("an accumulator of type %s%s for a product of type %s[%s, %s]" % (added.dtype, shape_text(added.shape), dtype, m, n))
    return Dot(a, b, transpose_a, transpose_b, (m, n), dtype, added)


@operation("trans", "transpose")
def _trans(t: Reader, x: Any, *order: Any) -> Any:
    flat = tuple(order[0]) if len(order) == 1 and isinstance(order[0], (tuple, list)) else order
    rank = len(x.shape)
    if rank < 2:
        raise Mistake("a transpose of shape %s" % shape_text(x.shape))
    if not flat:
        flat = tuple(range(rank - 2)) + (rank - 1, rank - 2)
    elif len(flat) == 2 and rank > 2:  # torch's: two axes exchanged
        swapped = list(range(rank))
        swapped[flat[0]], swapped[flat[1]] = swapped[flat[1]], swapped[flat[0]]
        flat = tuple(swapped)
    if sorted(flat) != list(range(rank)):
        raise Mistake("%r is no order of %d axes" % (flat, rank))
    if flat == tuple(range(rank)):
        return x
    if rank == 2 and isinstance(x, Transposed):
        return x.of
    if rank == 2 and isinstance(x, (Tile, Region)):
        if isinstance(x, Region) and isinstance(x.of, Param):
            x.of.read = True
        return Transposed(x)
    source = t.expr(x)
    axes = {axis: "$%d" % k for k, axis in enumerate(flat)}
    return source.moved(axes, tuple(source.shape[axis] for axis in flat))


OPERATIONS["permute"] = _trans


def reduce(t: Reader, kind: str, x: Any, axis: Any, keep_dims: bool) -> Expr:
    source = t.expr(x)
    if not source.shape:
        return source
    if source.dtype == "bool" and kind in ("sum", "max", "min"):
        source = cast(source, "i32")
    axes = sorted(range(len(source.shape)) if axis is None else [_axis(axis, len(source.shape))], reverse=True)
    hint = t.hint
    for k in axes:
        from_tile = x if isinstance(x, Tile) and x.dtype == source.dtype and k == axes[0] and source.text == x.read().text else t.tile(source, hint + "_in", "fragment")
        shape = from_tile.shape[:k] + from_tile.shape[k + 1:]
        dtype = "i32" if kind in ("argmax", "argmin") else from_tile.dtype
        made = t.builder.alloc(hint, "fragment", dtype, shape, True)
        t.builder.emit({"op": "reduce", "kind": kind, "from": from_tile.name, "to": made.name, "axis": k})
        source = made.read()
        x = made
    if keep_dims:
        whole = tuple(1 if k in axes else n for k, n in enumerate(t.expr(x).shape if axis is None else _with(made.shape, axes[0])))
        return t.reshaped(source, whole if axis is not None else (1,) * len(axes))
    return x


def _with(shape: Tuple[Any, ...], axis: int) -> Tuple[Any, ...]:
    return shape[:axis] + (1,) + shape[axis:]


def _axis(axis: Any, rank: int) -> int:
    if not isinstance(axis, int) or not -rank <= axis < rank:
        raise Mistake("axis %r of a tile with %d axes" % (axis, rank))
    return axis % rank


def _reduction(name: str, kind: str) -> None:
    @operation(name)
    def run(t: Reader, input: Any, axis: Any = None, keep_dims: bool = False, return_indices: bool = False, **_: Any) -> Any:
        if is_number(input):
            return input
        found = reduce(t, kind, input, axis, keep_dims)
        return (found, reduce(t, "arg" + kind, input, axis, keep_dims)) if return_indices else found


for _name, _kind in (("sum", "sum"), ("max", "max"), ("min", "min"), ("prod", "prod"), ("argmax", "argmax"), ("argmin", "argmin"), ("any", "any"), ("all", "all"),
                     ("absmax", "absmax")):
    _reduction(_name, _kind)


def _scan(name: str, kind: str) -> None:
    @operation(name)
    def run(t: Reader, input: Any, axis: Any = 0, reverse: bool = False, dtype: Any = None) -> Tile:
        hint = t.hint
        source = t.tile(input, hint + "_in", "fragment")
        made = t.builder.alloc(hint, "fragment", source.dtype, source.shape, True)
        statement = {"op": "scan", "kind": kind, "from": source.name, "to": made.name, "axis": _axis(axis, len(source.shape))}
        if reverse:
            statement["reverse"] = True
        t.builder.emit(statement)
        return made


for _name, _kind in (("cumsum", "sum"), ("cumprod", "prod"), ("cummax", "max")):
    _scan(_name, _kind)


# -- elementwise


def _elementwise(name: str, function: str) -> None:
    @operation(name)
    def run(t: Reader, *operands: Any, **kwargs: Any) -> Any:
        return call(function, *[t.operand(x) for x in operands])


for _name in ("exp", "exp2", "log", "log2", "log1p", "expm1", "sqrt", "rsqrt", "tanh", "sigmoid", "erf", "sin", "cos", "floor", "ceil", "round", "fma", "isnan",
              "isinf", "pow", "popcount", "clz"):
    _elementwise(_name, _name)
_elementwise("umulhi", "mulhi")
_elementwise("math_abs", "abs")


@operation("abs")
def _abs(t: Reader, x: Any) -> Any:
    return abs(x) if is_number(x) else call("abs", t.operand(x))


@operation("maximum", "fmax")
def _maximum(t: Reader, x: Any, y: Any, propagate_nan: Any = None) -> Any:
    return binary("max", t.operand(x), t.operand(y))


@operation("minimum", "fmin")
def _minimum(t: Reader, x: Any, y: Any, propagate_nan: Any = None) -> Any:
    return binary("min", t.operand(x), t.operand(y))


@operation()
def _clamp(t: Reader, x: Any, min: Any, max: Any, propagate_nan: Any = None) -> Any:  # noqa: A002 - Triton's names
    return binary("min", binary("max", t.operand(x), t.operand(min)), t.operand(max))


@operation()
def _where(t: Reader, condition: Any, x: Any, y: Any) -> Any:
    return where(t.operand(condition), t.operand(x), t.operand(y))


@operation("cdiv", "ceildiv")
def _cdiv(t: Reader, x: Any, div: Any) -> Any:
    return ceildiv(t.operand(x), t.operand(div))


@operation("fdiv", "div_rn")
def _fdiv(t: Reader, x: Any, y: Any, ieee_rounding: bool = False) -> Any:
    return binary("/", t.operand(x), t.operand(y))


@operation("sqrt_rn")
def _sqrt_rn(t: Reader, x: Any) -> Any:
    return call("sqrt", t.operand(x))


@operation()
def _softmax(t: Reader, x: Any, dim: Any = 0, keep_dims: bool = False, ieee_rounding: bool = False) -> Any:
    values = t.tile(x, t.hint + "_in")
    axis = _axis(dim, len(values.shape))
    top = t.expr(reduce(t, "max", values, axis, True)) if len(values.shape) > 1 else t.expr(reduce(t, "max", values, axis, False))
    raised = t.tile(call("exp", binary("-", values.read(), top)), t.hint + "_exp")
    total = t.expr(reduce(t, "sum", raised, axis, len(values.shape) > 1))
    return binary("/", raised.read(), total)


@operation()
def _cast(t: Reader, input: Any, dtype: Any, fp_downcast_rounding: Any = None, bitcast: bool = False) -> Any:
    return t.method(input if not is_number(input) else constant(input), "to", [dtype], {"bitcast": bitcast})


@operation()
def _next_power_of_2(t: Reader, n: Any) -> Any:
    if not isinstance(n, int):
        raise Mistake("the next power of two of a size that is not known now", "pass it as a tl.constexpr parameter")
    return 1 << max(0, n - 1).bit_length()


# -- shapes


@operation("broadcast_to")
def _broadcast_to(t: Reader, x: Any, *shape: Any) -> Expr:
    extents = dims(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else dims(shape)
    return broadcast(t.expr(x), extents)


@operation()
def _broadcast(t: Reader, x: Any, y: Any) -> Tuple[Expr, Expr]:
    left, right = t.expr(x), t.expr(y)
    shape = broadcast_shape(left.shape, right.shape)
    return broadcast(left, shape), broadcast(right, shape)


@operation()
def _expand_dims(t: Reader, x: Any, axis: Any) -> Expr:
    value = t.expr(x)
    for k in sorted(axis if isinstance(axis, (tuple, list)) else [axis]):
        at = k if k >= 0 else len(value.shape) + 1 + k
        value = t.expanded(value, [slice(None)] * at + [None] + [slice(None)] * (len(value.shape) - at))
    return value


@operation("reshape", "view")
def _reshape(t: Reader, x: Any, *shape: Any, can_reorder: bool = False) -> Expr:
    extents = dims(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else dims(shape)
    return t.reshaped(t.expr(x), extents)


@operation()
def _ravel(t: Reader, x: Any) -> Expr:
    value = t.expr(x)
    total: Any = 1
    for n in value.shape:
        total = total * n
    return t.reshaped(value, (as_dim(total),))


@operation()
def _gather(t: Reader, src: Any, index: Any, axis: Any) -> Expr:
    source, picked = t.tile(src), index_of(t.operand(index))
    k = _axis(axis, len(source.shape))
    if len(picked.shape) != len(source.shape):
        raise Mistake("an index of shape %s for a gather from shape %s" % (shape_text(picked.shape), shape_text(source.shape)), "both have as many axes")
    parts: List[Any] = [Expr("index", None, picked.shape, STATIC, Poly.of("$%d" % n)) for n in range(len(source.shape))]
    parts[k] = picked
    return t.element(source, parts)


# -- loops and hints


def _loop_range(args: Tuple[Any, ...]) -> Tuple[Any, Any, Any]:
    if not 1 <= len(args) <= 3:
        raise Mistake("a range takes 1 to 3 numbers")
    return (0, args[0], 1) if len(args) == 1 else (args[0], args[1], args[2] if len(args) == 3 else 1)


@operation("python.range")
def _python_range(t: Reader, *args: Any) -> Range:
    return Range(*_loop_range(args))


@operation("range")
def _range(t: Reader, *args: Any, num_stages: Any = None, loop_unroll_factor: Any = None, **_: Any) -> Range:
    return Range(*_loop_range(args), kind="pipelined" if num_stages else "serial", stages=min(num_stages, 2) if num_stages else None)


@operation()
def _pipelined(t: Reader, *args: Any, stages: Any = None, **_: Any) -> Range:
    return Range(*_loop_range(args), kind="pipelined", stages=stages)


@operation()
def _static_range(t: Reader, *args: Any) -> Range:
    return Range(*_loop_range(args), kind="now")


@operation("multiple_of", "max_contiguous", "max_constancy")
def _promise(t: Reader, x: Any, values: Any) -> Any:
    return x  # what is promised is proved where it matters


@operation("assume", "debug_barrier", "static_print")
def _ignored(t: Reader, *_: Any, **__: Any) -> None:
    return None


@operation()
def _static_assert(t: Reader, cond: Any, msg: Any = "") -> None:
    if isinstance(cond, Expr):
        if cond.level != STATIC:
            raise Mistake("a static assertion on values of the running kernel")
        t.builder.constraints.append(truth(cond).text)  # type: ignore[union-attr]
    elif not cond:
        raise Mistake(str(msg) or "the static assertion does not hold")


# -- Python's own functions


@operation("python.max")
def _python_max(t: Reader, *args: Any) -> Any:
    return _folded(t, "max", args)


@operation("python.min")
def _python_min(t: Reader, *args: Any) -> Any:
    return _folded(t, "min", args)


def _folded(t: Reader, op: str, args: Tuple[Any, ...]) -> Any:
    values = list(args[0]) if len(args) == 1 and isinstance(args[0], (tuple, list)) else list(args)
    result = t.operand(values[0])
    for value in values[1:]:
        result = binary(op, result, t.operand(value))
    return result


@operation("python.abs")
def _python_abs(t: Reader, x: Any) -> Any:
    return _abs(t, x)


@operation("python.len")
def _python_len(t: Reader, x: Any) -> int:
    if not isinstance(x, (tuple, list, str, dict)):
        raise Mistake("len of %s" % describe(x), "x.shape[0]")
    return len(x)


@operation("python.int")
def _python_int(t: Reader, x: Any) -> Any:
    return int(x) if is_number(x) or isinstance(x, str) else index_of(t.operand(x))


@operation("python.float")
def _python_float(t: Reader, x: Any) -> Any:
    return float(x) if is_number(x) or isinstance(x, str) else cast(t.operand(x), "f32")
