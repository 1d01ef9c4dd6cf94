"""Products, reductions, running sums and atomics of TileLang's style."""

from __future__ import annotations

from typing import Any, Dict

from ..language._arithmetic import Mistake, call, cast, same_shape, shape_text, truth
from ..language._expr import Expr, Param, Tile
from ..language._memory import describe
from ..language._operations import OPERATIONS, axis_of, operation
from ..language._tilelang import Access
from ._types import GemmWarpPolicy
from ._places import area_of, move, tile_of

Reader = Any


# -- products


@operation("T.gemm")
def _gemm(
    t: Reader,
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
    a, b = tile_of(t, A, "a", "shared"), tile_of(t, B, "b", "shared")
    c = tile_of(t, C, "c")
    a, b = _matrix(t, a), _matrix(t, b)
    cleared = t.uniform(t.operand(clear_accum), "cleared")
    if isinstance(cleared, Expr):  # decided while it runs
        t.builder.emit(
            {"op": "if", "condition": truth(cleared), "then": [{"op": "fill", "tile": c.name, "value": "0"}]}
        )
        cleared = False
    dot = OPERATIONS["dot"](t, a, b, None, trans_a=_known(transpose_A), trans_b=_known(transpose_B))
    if len(c.shape) != 2 or not same_shape(dot.shape, c.shape):
        raise Mistake(
            "a product of shape %s does not fit C, of shape %s" % (shape_text(dot.shape), shape_text(c.shape)),
            "A is [m, k], with transpose_A [k, m]; B is [k, n], with transpose_B [n, k]",
        )
    if not cleared:
        dot.added = c
    dot.schedule = _gemm_schedule(t, policy, k_pack, dot.shape)
    t.multiply(c, dot)
    if c is not C:
        move(t, area_of(t, c), area_of(t, C))


def _gemm_schedule(t: Reader, policy: Any, k_pack: Any, shape: Any) -> Any:
    """What ``policy`` and ``k_pack`` ask for, as hints; what they say by default is lowering's choice."""
    schedule: Dict[str, Any] = {}
    if policy in (GemmWarpPolicy.FullRow, GemmWarpPolicy.FullCol):
        # all waves along one axis, where each of them has 16 rows or columns there
        axis = 0 if policy == GemmWarpPolicy.FullRow else 1
        waves = ["0", "0"]
        waves[1 - axis] = "1 if (%s) // 16 >= %d // target.wave else 0" % (shape[axis], t.launch_threads)
        schedule["waves"] = waves
    if isinstance(k_pack, int) and 1 < k_pack <= 64 and k_pack & (k_pack - 1) == 0:
        schedule["k_pack"] = str(k_pack)
    if schedule:
        schedule["hint"] = True
    return schedule


def _known(value: Any) -> bool:
    if not isinstance(value, (bool, int)):
        raise Mistake("whether an operand is transposed must be known when the kernel is read")
    return bool(value)


def _matrix(t: Reader, tile: Tile) -> Tile:
    """A tile with two axes; leading ones of extent 1 are taken off."""
    if len(tile.shape) == 2 or any(n != 1 for n in tile.shape[:-2]):
        return tile
    made = t.builder.alloc("matrix", "shared", tile.dtype, tile.shape[-2:], True)
    move(t, area_of(t, tile), area_of(t, made))
    return made


# -- reductions


def reduce(t: Reader, kind: str, buffer: Any, out: Any, dim: Any, clear: Any) -> None:
    source = tile_of(t, buffer, "source")
    axis = axis_of(dim, source.shape)
    if not isinstance(clear, bool):
        raise Mistake("whether the result is cleared must be known when the kernel is read")
    if t.scope is not None:
        raise Mistake("a reduction inside an elementwise loop", "move it behind the loop")
    target = area_of(t, out)
    dtype = target.of.dtype
    assert dtype is not None and source.dtype is not None
    if kind == "abssum":
        source, kind = t.tile(cast(call("abs", source.read()), dtype), "magnitudes", "fragment"), "sum"
    elif source.dtype != dtype:
        source = t.tile(cast(source.read(), dtype), "converted", "fragment")
    shape = source.shape[:axis] + source.shape[axis + 1 :] or (1,)
    direct = target.whole and same_shape(target.of.shape, shape)
    into = target.of if direct else t.builder.alloc("reduced", "fragment", dtype, shape, True)
    if target.follows:
        target.follow(shape)
    if not direct and not clear:
        move(t, target, area_of(t, into))
    statement = {"op": "reduce", "kind": kind, "from": source.name, "to": into.name, "axis": axis}
    if not clear:
        statement["accumulate"] = True
    t.builder.emit(statement)
    if not direct:
        move(t, area_of(t, into), target)


def _reduction(name: str, kind: str) -> None:
    @operation("T." + name)
    def run(t: Reader, buffer: Any, out: Any, dim: Any = -1, clear: Any = True, **hints: Any) -> None:
        reduce(t, kind, buffer, out, dim, clear)


for _name in ("max", "min", "sum", "abssum", "absmax"):
    _reduction("reduce_" + _name, _name)


@operation("T.reduce")
def _reduce(t: Reader, buffer: Any, out: Any, reduce_type: str, dim: Any, clear: Any = True, **hints: Any) -> None:
    if reduce_type not in ("sum", "max", "min", "abssum", "absmax"):
        raise Mistake("a reduction of kind %r" % (reduce_type,), "there are sum, max, min, abssum, absmax")
    reduce(t, reduce_type, buffer, out, dim, clear)


def _running(name: str, kind: str) -> None:
    @operation("T." + name)
    def run(t: Reader, src: Any, dst: Any = None, dim: Any = 0, reverse: Any = False) -> None:
        source = tile_of(t, src, "source")
        target = area_of(t, src if dst is None else dst)
        assert source.dtype is not None
        direct = target.whole and target.of is not source and target.of.dtype == source.dtype
        into = target.of if direct else t.builder.alloc("running", "fragment", source.dtype, source.shape, True)
        statement = {"op": "scan", "kind": kind, "from": source.name, "to": into.name, "axis": axis_of(dim, source.shape)}
        if _known(reverse):
            statement["reverse"] = True
        t.builder.emit(statement)
        if not direct:
            if target.follows:
                target.follow(source.shape)
            move(t, area_of(t, into), target)


_running("cumsum", "sum")
_running("cummax", "max")


# -- atomics


def _atomic(name: str, kind: str) -> None:
    @operation("T." + name)
    def run(
        t: Reader,
        dst: Any,
        value: Any,
        memory_order: Any = None,
        return_prev: Any = False,
        use_tma: Any = False,
        annotations: Any = None,
    ) -> None:
        atomic(t, kind, dst, value, return_prev)


def atomic(t: Reader, kind: str, dst: Any, value: Any, return_prev: Any = False) -> None:
    of = dst.of if isinstance(dst, Access) else dst
    if not isinstance(of, Param):
        raise Mistake(
            "an atomic operation on %s" % describe(of),
            "atomics are on tensors; a tile belongs to one block: T.reduce_sum, or +=",
        )
    if return_prev:
        raise Mistake("the old value of an atomic operation", "leave return_prev out")
    of.atomic = True
    if (
        isinstance(dst, Access)
        and dst.start_only
        and not isinstance(value, (Tile, Param))
        and not (isinstance(value, Access) and not value.start_only)
    ):
        given = t.item(value.of, value.items) if isinstance(value, Access) else value
        return t.set_element(t.region(of, dst.items), given, kind)
    _atomic_tile(t, kind, dst, value)
    return None


def _atomic_tile(t: Reader, kind: str, dst: Any, value: Any) -> None:
    if t.scope is not None:
        raise Mistake("a tile inside an elementwise loop", "name its element: v[i, j]")
    source, target = tile_of(t, value, "value"), area_of(t, dst)
    if target.follows:
        target.follow(source.shape)
    wide = [a for a in target.axes if a.extent != 1]
    expr = t.reshaped(source.read(), tuple(n for n in source.shape if n != 1))
    if not same_shape(tuple(a.extent for a in wide), expr.shape):  # type: ignore[arg-type]
        raise Mistake(
            "a value of shape %s does not fit shape %s" % (shape_text(source.shape), shape_text(target.shape))
        )
    indices, number = [], 0
    for axis in target.axes:
        if axis.extent != 1:
            indices.append("%s + $%d" % (axis.start.grouped, number))
            number += 1
        else:
            indices.append(axis.start.text)
    target.of.written = True  # type: ignore[union-attr]
    assert target.of.dtype is not None
    t.map(expr.shape, "%s[%s]" % (target.of.name, ", ".join(indices)), cast(expr, target.of.dtype), None, atomic=kind)


for _name, _kind in (("atomic_add", "add"), ("atomic_max", "max"), ("atomic_min", "min"), ("atomic_or", "or")):
    _atomic(_name, _kind)


def _atomic_neighbours(count: int) -> None:
    @operation("T.atomic_addx%d" % count)
    def run(t: Reader, dst: Any, value: Any, return_prev: Any = False) -> None:
        if not (isinstance(dst, Access) and dst.start_only and isinstance(value, Access) and value.start_only):
            raise Mistake(
                "T.atomic_addx%d takes the first of %d neighbours on both sides" % (count, count),
                "T.atomic_addx%d(C[i, j], v[i, j])" % count,
            )
        for k in range(count):
            near = [Access(side.of, side.items[:-1] + [t.operate("+", side.items[-1], k)]) for side in (dst, value)]
            atomic(t, "add", near[0], near[1], return_prev)


_atomic_neighbours(2)
_atomic_neighbours(4)
