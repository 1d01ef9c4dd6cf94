"""Operations of ``kiln.language`` on the shapes of tiles: axes exchanged, added and joined, elements picked."""

from __future__ import annotations

from typing import Any, List, Tuple

from ._access import Reader
from ._arithmetic import Mistake, as_dim, binary, broadcast, broadcast_shape, index_of, same_shape, shape_text, where
from ._expr import STATIC, Expr, Param, Poly, Region, Tile, Transposed
from ._operations import OPERATIONS, axis_of, dims, operation


@operation("trans", "transpose", "permute")
def _trans(t: Reader, x: Any, *order: Any) -> Any:
    flat = tuple(order[0]) if len(order) == 1 and isinstance(order[0], (tuple, list)) else order
    rank = len(x.shape)
    if rank < 2:
        raise Mistake("a transpose of shape %s" % shape_text(x.shape),
                      "a tile of two axes or more; x[:, None] adds one")
    if not flat:
        flat = tuple(range(rank - 2)) + (rank - 1, rank - 2)
    elif len(flat) == 2 and rank > 2:  # torch's: two axes exchanged
        swapped = list(range(rank))
        swapped[flat[0]], swapped[flat[1]] = swapped[flat[1]], swapped[flat[0]]
        flat = tuple(swapped)
    if sorted(flat) != list(range(rank)):
        raise Mistake("%r is no order of %d axes" % (flat, rank), "each axis once: tl.permute(x, (1, 0))")
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
    k = axis_of(axis, source.shape)
    if len(picked.shape) != len(source.shape):
        raise Mistake("an index of shape %s for a gather from shape %s"
                      % (shape_text(picked.shape), shape_text(source.shape)), "both have as many axes")
    parts: List[Any] = [Expr("index", None, picked.shape, STATIC, Poly.of("$%d" % n)) for n in range(len(source.shape))]
    parts[k] = picked
    return t.element(source, parts)


@operation("flip")
def _flip(t: Reader, x: Any, dim: Any = None) -> Expr:
    value = t.expr(x)
    if not value.shape:
        raise Mistake("a number has no axis to flip", "a tile; a number stays what it is")
    k = axis_of(-1 if dim is None else dim, value.shape)
    axes = {n: "$%d" % n for n in range(len(value.shape))}
    axes[k] = "(%s - $%d)" % (Poly.of(value.shape[k]) - Poly.of(1), k)
    return value.moved(axes, value.shape)


def _pair(t: Reader, a: Any, b: Any) -> Tuple[Expr, Expr]:
    left, right = t.expr(a), t.expr(b)
    shape = broadcast_shape(left.shape, right.shape)
    return broadcast(left, shape), broadcast(right, shape)


@operation("join")
def _join(t: Reader, a: Any, b: Any) -> Expr:
    left, right = _pair(t, a, b)
    last = len(left.shape)
    shape = left.shape + (2,)
    axes = {k: "$%d" % k for k in range(last)}
    second = Expr("index", None, shape, STATIC, Poly.of("$%d" % last))
    return t.expr(where(binary("==", second, 0), left.moved(axes, shape), right.moved(axes, shape)))


@operation("split")
def _split(t: Reader, a: Any) -> Tuple[Expr, Expr]:
    value = t.expr(a)
    if not value.shape or value.shape[-1] != 2:
        raise Mistake("a split of shape %s" % shape_text(value.shape),
                      "the last axis has extent 2: reshape to [..., 2] first")
    axes = {k: "$%d" % k for k in range(len(value.shape) - 1)}
    return tuple(value.moved({**axes, len(value.shape) - 1: str(n)}, value.shape[:-1])
                 for n in (0, 1))  # type: ignore[return-value]


@operation("interleave")
def _interleave(t: Reader, a: Any, b: Any) -> Expr:
    joined = t.tile(_join(t, a, b), t.hint)
    shape = joined.shape[:-2] + (as_dim(binary("*", t.operand(_size(joined.shape[-2])), 2)),)
    return t.reshaped(joined.read(), shape)


def _size(n: Any) -> Any:
    return Expr("index", None, (), STATIC, n) if isinstance(n, Poly) else n


@operation("cat")
def _cat(t: Reader, input: Any, other: Any, can_reorder: bool = False, dim: Any = 0) -> Expr:
    left, right = t.expr(input), t.expr(other)
    if len(left.shape) != len(right.shape) or not left.shape:
        raise Mistake("a concatenation of shapes %s and %s" % (shape_text(left.shape), shape_text(right.shape)),
                      "tiles of as many axes; tl.join puts both along a new one")
    k = axis_of(dim, left.shape)
    rest = [s[:k] + s[k + 1:] for s in (left.shape, right.shape)]
    if not same_shape(rest[0], rest[1]):
        raise Mistake("a concatenation of shapes %s and %s along axis %d" %
                      (shape_text(left.shape), shape_text(right.shape), k), "the other axes have equal extents")
    size = Poly.of(left.shape[k])
    extent = as_dim(binary("+", _size(left.shape[k]), _size(right.shape[k])))
    shape = left.shape[:k] + (extent,) + left.shape[k + 1:]
    axes = {n: "$%d" % n for n in range(len(shape))}
    first = Expr("index", None, shape, STATIC, Poly.of("$%d" % k))
    inside = "min($%d, %s)" % (k, size - Poly.of(1)), "max($%d - %s, 0)" % (k, _grouped(size))
    parts = [value.moved({**axes, k: at}, shape) for value, at in zip((left, right), inside)]
    return t.expr(where(binary("<", first, Expr("index", None, (), STATIC, size)), parts[0], parts[1]))


def _grouped(poly: Poly) -> str:
    text = str(poly)
    return text if text.isidentifier() or text.isdigit() else "(%s)" % text


@operation("squeeze")
def _squeeze(t: Reader, x: Any, dim: Any) -> Expr:
    value = t.expr(x)
    k = axis_of(dim, value.shape)
    if value.shape[k] != 1:
        raise Mistake("axis %d of shape %s has not extent 1" % (k, shape_text(value.shape)),
                      "x[i] picks an element of an axis, tl.reshape joins axes")
    return t.reshaped(value, value.shape[:k] + value.shape[k + 1:])


@operation("unsqueeze")
def _unsqueeze(t: Reader, x: Any, dim: Any) -> Expr:
    return OPERATIONS["expand_dims"](t, x, dim)


@operation("swizzle2d")
def _swizzle2d(t: Reader, i: Any, j: Any, size_i: Any, size_j: Any, size_g: Any) -> Tuple[Any, Any]:
    row, column, rows, columns, group = (t.operand(x) for x in (i, j, size_i, size_j, size_g))
    position = binary("+", binary("*", row, columns), column)
    in_group = binary("*", group, columns)
    first = binary("*", binary("//", position, in_group), group)
    height = binary("min", binary("-", rows, first), group)
    within = binary("%", position, in_group)
    return binary("+", first, binary("%", within, height)), binary("//", within, height)
