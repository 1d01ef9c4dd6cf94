"""Copies between pieces of tiles and tensors: what corresponds to what, and the statement that moves it."""

from __future__ import annotations

from typing import Any, List, Optional, Tuple, Union

from ..language._arithmetic import Mistake, binary, cast, index_of, same_shape, shape_text
from ..language._expr import ELEMENT, STATIC, UNIFORM, Dim, Expr, Param, Poly, Region, Tile, dim, index_expr
from ..language._memory import describe, from_end
from ..language._operations import dims, dtype_name, operation
from ..language._tilelang import Access

Reader = Any


class View:
    """The elements of a tile or tensor, in row-major order, under another shape."""

    def __init__(self, of: Union[Param, Tile], shape: Tuple[Dim, ...]) -> None:
        self.of, self.shape = of, shape

    @property
    def name(self) -> str:
        return self.of.name

    @property
    def dtype(self) -> Optional[str]:
        return self.of.dtype

    def indices(self, given: List[Expr]) -> List[Expr]:
        """The indices into what is seen, for indices into the view."""
        seen, own = list(self.of.shape), list(self.shape)
        tail: List[Expr] = []
        while seen and own and seen[-1] == own[-1]:
            tail.insert(0, given[len(own) - 1])
            seen.pop()
            own.pop()
        number: Any = 0
        for index, extent in zip(given, own):
            number = binary("+", binary("*", number, _value(extent)), index)
        found: List[Any] = []
        for extent in reversed(seen[1:]):
            found.insert(0, binary("%", number, _value(extent)))
            number = binary("//", number, _value(extent))
        if seen:
            found.insert(0, number)
        return [index_of(x) for x in found + tail]


def _value(extent: Dim) -> Any:
    return index_expr(extent, STATIC) if isinstance(extent, Poly) else extent


class Axis:
    """Of an area: where it begins; how far it goes, None where the other side decides; the end that it must not
    pass.
    """

    __slots__ = ("start", "extent", "indexed", "limit")

    def __init__(self, start: Expr, extent: Optional[Dim], indexed: bool, limit: Optional[Expr] = None) -> None:
        self.start, self.extent, self.indexed, self.limit = start, extent, indexed, limit


class Area:
    """A rectangle of a tile or tensor, an axis each; ``follows`` when it is a start only and extents are the other
    side's.
    """

    def __init__(self, of: Union[Param, Tile, View], axes: List[Axis], follows: bool = False) -> None:
        self.of, self.axes, self.follows = of, axes, follows

    @property
    def shape(self) -> Tuple[Any, ...]:
        return tuple(axis.extent for axis in self.axes if not axis.indexed)

    @property
    def whole(self) -> bool:
        """Whether it is all of a tile."""
        return isinstance(self.of, Tile) and all(
            not a.indexed and a.start.poly is not None and a.start.poly == 0 and a.extent == n
            for a, n in zip(self.axes, self.of.shape)
        )

    def follow(self, shape: Tuple[Dim, ...]) -> None:
        """Takes the other side's extents, along the last axes."""
        while len(shape) > len(self.axes) and shape[0] == 1:
            shape = shape[1:]
        if len(shape) > len(self.axes):
            raise Mistake(
                "%s has %d axes, and the other side shape %s" % (self.of.name, len(self.axes), shape_text(shape))
            )
        for axis, extent in zip(self.axes[len(self.axes) - len(shape) :], shape):
            axis.extent, axis.indexed = extent, False
        self.follows = False


def area_of(t: Reader, value: Any) -> Area:
    """The area that an argument means."""
    if isinstance(value, (Tile, Param, View)):
        _use(t, value)
        return Area(value, [Axis(index_expr(0, STATIC), n, False) for n in value.shape])
    if isinstance(value, Region):
        extents = iter(value.shape)
        return Area(value.of, [Axis(s, next(extents) if r else 1, not r) for s, r in zip(value.start, value.ranged)])
    if not isinstance(value, Access):
        raise Mistake("%s is no tile, tensor or piece of one" % describe(value))
    items = t.spread(value.items, len(value.of.shape), value.of.name)
    _use(t, value.of)
    axes = [_axis(t, item, extent) for item, extent in zip(items, value.of.shape)]
    return Area(value.of, axes, value.start_only)


def _use(t: Reader, of: Any) -> None:
    of = of.of if isinstance(of, View) else of
    if isinstance(of, Param):
        t.use_axes(of)


def _axis(t: Reader, item: Any, extent: Dim) -> Axis:
    if not isinstance(item, slice):
        return Axis(index_of(t.uniform(item, "at")), 1, True)
    if item.step not in (None, 1):
        raise Mistake("a range with a step", "T.Parallel over the elements: dst[i] = src[i * step]")
    low = index_of(t.uniform(0 if item.start is None else item.start, "at"))
    high = index_expr(Poly.of(extent), STATIC) if item.stop is None else index_of(t.uniform(item.stop, "end"))
    low, high = (from_end(x, extent) for x in (low, high))
    assert low.poly is not None and high.poly is not None
    size = dim(high.poly - low.poly)
    if isinstance(size, Poly) and not t.builder.is_static(size):
        return Axis(low, None, False, high)
    if isinstance(size, int) and size <= 0:
        raise Mistake("an empty range: from %s to %s" % (low.text, high.text))
    return Axis(low, size, False)


# -- copies


@operation("T.copy", "T.async_copy")
def _copy(t: Reader, src: Any, dst: Any, *hints: Any, **more: Any) -> None:
    if isinstance(src, Access) and isinstance(dst, Access) and src.start_only and dst.start_only:
        return t.store_item(dst.of, dst.items, t.item(src.of, src.items))
    if isinstance(src, Expr):
        if isinstance(dst, Access) and dst.start_only:
            return t.store_item(dst.of, dst.items, src)
        raise Mistake("T.copy of %s" % describe(src), "T.fill sets all elements to one value")
    if t.scope is not None:
        raise Mistake(
            "a copy of tiles inside an elementwise loop",
            "copy element by element: dst[i] = src[i]; or move it in front of the loop",
        )
    source, target = area_of(t, src), area_of(t, dst)
    if isinstance(source.of, Tile) and source.of is target.of:
        raise Mistake("a copy of a tile into itself", "T.Parallel over the elements")
    _agree(source, target)
    move(t, source, target)
    return None


def _agree(source: Area, target: Area) -> None:
    """Fills in extents that the other side decides."""
    if source.follows and target.follows:
        raise Mistake("neither side of the copy says how much", "give one a range: A[i:i + 16, :]")
    if source.follows:
        source.follow(target.shape)
    elif target.follows:
        target.follow(source.shape)
    for one, other in ((source, target), (target, source)):
        open_axes = [a for a in one.axes if not a.indexed and a.extent is None]
        if not open_axes:
            continue
        if len(one.shape) != len(other.shape):
            raise Mistake(
                "the extent of a range of %s is known only when it runs, and the other side has other axes"
                % one.of.name
            )
        for axis, extent in zip([a for a in one.axes if not a.indexed], other.shape):
            if axis.extent is None:
                if extent is None:
                    raise Mistake(
                        "the extents of both sides are known only when it runs", "copy to a tile whose shape is known"
                    )
                axis.extent = extent


def move(t: Reader, source: Area, target: Area) -> None:
    """One area to another of the same elements; axes of extent 1 may differ."""
    if isinstance(memory_of(source), Param) and isinstance(memory_of(target), Param):
        assert source.of.dtype is not None
        between = t.builder.alloc("between", "fragment", source.of.dtype, source.shape, True)
        move(t, source, area_of(t, between))
        return move(t, area_of(t, between), target)
    _mark(source, target)
    for one, other in ((source, target), (target, source)):
        region = _region_for(one, other) if other.whole else None
        if region is not None:
            texts = [region.text() if side is one else other.of.name for side in (source, target)]
            if one.whole and region.shape == one.of.shape:
                texts = [source.of.name, target.of.name]
            statement = {"op": "copy", "from": texts[0], "to": texts[1]}
            if region.limit is not None and any(x is not None for x in region.limit):
                statement["limit"] = [
                    None if x is None else x.text for x, r in zip(region.limit, region.ranged) if r
                ]  # type: ignore[assignment]
            t.builder.emit(statement)
            if one is source:
                _note_mirror(t, region, target)
            return None
    return _move_elements(t, source, target)


def _note_mirror(t: Reader, region: Region, target: Area) -> None:
    """A tile that is a copy of a piece of a tensor: its elements may then decide places and branches."""
    of, tile = region.of, target.of
    if not isinstance(of, Param) or of.written or region.limit is not None or not isinstance(tile, Tile):
        return
    indices, number = [], 0
    for start, ranged in zip(region.start, region.ranged):
        indices.append("%s + $%d" % (start.grouped, number) if ranged else start.text)
        number += ranged
    assert of.dtype is not None and tile.dtype is not None
    value = Expr(of.dtype, "%s[%s]" % (of.name, ", ".join(indices)), (), UNIFORM, None, frozenset((of.name,)))
    t.builder.note_mirror(tile.name, None, cast(value, tile.dtype))


def memory_of(area: Area) -> Union[Param, Tile]:
    return area.of.of if isinstance(area.of, View) else area.of


def _mark(source: Area, target: Area) -> None:
    first, second = memory_of(source), memory_of(target)
    if isinstance(first, Param):
        first.read = True
    if isinstance(second, Param):
        second.written = True


def _region_for(one: Area, other: Area) -> Optional[Region]:
    """``one`` as a region whose ranges are exactly the axes of the tile ``other``; None where elements must be moved
    one by one.
    """
    if isinstance(one.of, View):
        return None
    if isinstance(one.of, Tile) and any(a.start.poly is None or a.start.poly.constant is None for a in one.axes):
        return None
    wanted, ranged, at = list(other.of.shape), [], 0
    for position, axis in enumerate(one.axes):
        extent = axis.extent
        if at < len(wanted) and (extent == wanted[at] or (extent != 1 and same_shape((extent,), (wanted[at],)))):
            left = [a.extent for a in one.axes[position + 1 :]]
            if extent != 1 or wanted[at] == 1 and not (axis.indexed and _fits(left, wanted[at:])):
                ranged.append(True)
                at += 1
                continue
        if extent != 1:
            return None
        ranged.append(False)
    if at != len(wanted):
        return None
    limit = [a.limit for a in one.axes]
    return Region(
        one.of, [a.start for a in one.axes], ranged, tuple(wanted), limit if any(x is not None for x in limit) else None
    )


def _fits(extents: List[Any], wanted: List[Any]) -> bool:
    """Whether the axes that follow have room for all of ``wanted``."""
    return len(extents) >= len(wanted) and [n for n in extents if n != 1] == [n for n in wanted if n != 1]


def _move_elements(t: Reader, source: Area, target: Area) -> None:
    places = ([], [])  # type: ignore[var-annotated]
    wide = [[a for a in side.axes if a.extent != 1] for side in (source, target)]
    extents = [tuple(a.extent for a in axes) for axes in wide]
    if not same_shape(*extents):
        raise Mistake(
            "a copy from shape %s to shape %s" % (shape_text(source.shape), shape_text(target.shape)),
            "both sides have the same extents but for axes of 1; a start, A[i, j], takes the other side's, and a range, "
            "A[i:i + 16, :], gives its own",
        )
    shape = list(extents[0])
    for side, places_of in zip((source, target), places):
        number = 0
        for axis in side.axes:
            assert axis.start.poly is not None
            moved = axis.start.poly + Poly.of("$%d" % number) if axis.extent != 1 else axis.start.poly
            places_of.append(index_expr(moved))
            number += axis.extent != 1
    texts = [element_text(side.of, p) for side, p in zip((source, target), places)]
    first, second = memory_of(source), memory_of(target)
    assert first.dtype is not None and second.dtype is not None
    value = cast(Expr(first.dtype, texts[0], tuple(shape), ELEMENT, None, frozenset((first.name,))), second.dtype)
    condition = _within(source, target)
    t.map(tuple(shape), texts[1], value, condition)


def element_text(of: Union[Param, Tile, View], indices: List[Expr]) -> str:
    if isinstance(of, View):
        return element_text(of.of, of.indices(indices))
    return "%s[%s]" % (of.name, ", ".join(i.text for i in indices))


def _within(source: Area, target: Area) -> Optional[Expr]:
    """The condition that ranges whose ends are known only when it runs are not passed."""
    condition: Any = None
    for side in (source, target):
        number = 0
        for axis in side.axes:
            if axis.limit is not None:
                assert axis.start.poly is not None
                test = binary(
                    "<", Expr("index", None, (), ELEMENT, axis.start.poly + Poly.of("$%d" % number)), axis.limit
                )
                condition = test if condition is None else binary("&", condition, test)
            number += axis.extent != 1
    return condition


@operation("T.transpose")
def _transpose(t: Reader, src: Any, dst: Any) -> None:
    source, target = area_of(t, src), area_of(t, dst)
    flipped = tile_of(t, src, "source")
    if len(flipped.shape) != 2:
        raise Mistake("a transpose of shape %s" % shape_text(flipped.shape), "T.transpose takes two axes")
    made = t.tile(t.operations["trans"](t, t.expr(flipped), 1, 0), "transposed", "fragment")
    if target.follows:
        target.follow(made.shape)
    del source
    move(t, area_of(t, made), target)


# -- pieces as tiles


def tile_of(t: Reader, value: Any, hint: str, space: str = "fragment") -> Tile:
    """A tile that holds a place's elements: the tile itself, or a copy of a piece."""
    if isinstance(value, Tile):
        return value
    piece = area_of(t, value)
    if piece.whole:
        return piece.of
    if piece.follows or any(a.extent is None for a in piece.axes):
        raise Mistake("it is not known how large this piece of %s is" % piece.of.name, "give ranges: A[i:i + 16, :]")
    assert piece.of.dtype is not None
    made = t.builder.alloc(hint, space, piece.of.dtype, piece.shape or (1,), True)
    move(t, piece, area_of(t, made))
    return made


@operation("T.view", "T.reshape")
def _view(t: Reader, src: Any, shape: Any = None, dtype: Any = None) -> Any:
    if isinstance(src, View):
        src, shape = src.of, src.shape if shape is None else shape
    if not isinstance(src, (Tile, Param)):
        raise Mistake("a view of %s" % describe(src), "views are of whole tiles and tensors")
    if dtype is not None and dtype_name(dtype) != src.dtype:
        raise Mistake(
            "a view of %s whose elements are %s" % (src.dtype, dtype_name(dtype)),
            "T.reinterpret(x[i], dtype) in T.Parallel, element by element",
        )
    extents = src.shape if shape is None else dims(shape)
    return view_of(t, src, extents)


def view_of(t: Reader, of: Union[Tile, Param], shape: Tuple[Dim, ...]) -> View:
    """``of`` under another shape.

    Raises:
        Mistake: another number of elements.
    """
    counts = []
    for extents in (of.shape, shape):
        total = Poly.of(1)
        for n in extents:
            total = total * Poly.of(n)
        counts.append(dim(total))
    if not same_shape((counts[0],), (counts[1],)):
        raise Mistake("%s elements cannot have shape %s" % (counts[0], shape_text(shape)))
    _use(t, of)
    return View(of, shape)
