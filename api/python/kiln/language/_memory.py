"""Reading and writing memory: slices, pointers, masks, and the statements that move tiles."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

from . import _views
from ._arithmetic import Mistake, broadcast, broadcast_shape, cast, constant, index_of, is_number, same_shape, shape_text, truth, where
from ._expr import ELEMENT, STATIC, UNIFORM, Dim, Expr, Param, Pointer, Poly, Region, Tile, Transposed, dim, index_expr
from ._tiles import INDEX_NAMES, MapScope, Shape, Tiles, describe, placed

__all__ = ["INDEX_NAMES", "MapScope", "Memory", "describe", "from_end", "placed"]


def from_end(index: Expr, extent: Dim) -> Expr:
    """An index as a place along an axis of ``extent``: a number below 0 counts from the end."""
    value = index.poly.constant if index.poly is not None else None
    return index if value is None or value >= 0 else index_expr(Poly.of(extent) + Poly.of(value), STATIC)


class Memory(Tiles):
    """The part of the tracer that moves elements between parameters and tiles."""

    grid_uses: Dict[int, List[Tuple[Poly, Poly, Any, str]]]
    views: _views.Views

    # -- regions

    def whole(self, param: Param) -> Region:
        self.use_axes(param)
        zero = [index_expr(0, STATIC) for _ in param.shape]
        return Region(param, zero, [True] * len(param.shape), param.shape)

    def use_axes(self, param: Param) -> None:
        if param.mode == "flat":
            raise Mistake("%s is used as a pointer and with axes" % param.name, "use one of the two throughout: pointer + offsets, or slices")
        param.mode = "axes"

    def use_flat(self, param: Param) -> None:
        if param.mode == "axes":
            raise Mistake("%s is used with axes and as a pointer" % param.name, "use one of the two throughout: pointer + offsets, or slices")
        param.mode = "flat"

    def region(self, of: Union[Param, Tile], items: List[Any]) -> Region:
        """A slice: an index, or a slice object with values as its ends, an axis each; missing axes are whole."""
        if isinstance(of, Param):
            self.use_axes(of)
        items = _spread(items, len(of.shape), of.name)
        start: List[Expr] = []
        ranged: List[bool] = []
        shape: List[Dim] = []
        for axis, item in enumerate(items):
            extent = of.shape[axis]
            if not isinstance(item, slice):
                start.append(from_end(self._fixed(index_of(self.operand(item))), extent))
                ranged.append(False)
                continue
            if item.step not in (None, 1):
                raise Mistake("a slice with a step", "tl.load(pointer + offsets) takes any pattern of addresses")
            low = from_end(index_of(self.operand(0 if item.start is None else item.start)), extent)
            high = index_expr(Poly.of(extent), STATIC) if item.stop is None else from_end(index_of(self.operand(item.stop)), extent)
            assert low.poly is not None and high.poly is not None
            size = dim(high.poly - low.poly)
            if isinstance(size, Poly) and not self.builder.is_static(size):
                raise Mistake("the extent of this slice, %s, is not known when the kernel is compiled" % size,
                              "write both ends as start and start + constant: x[i * b : (i + 1) * b]")
            if isinstance(size, int) and size <= 0:
                raise Mistake("an empty slice: from %s to %s" % (low.text, high.text),
                              "a slice has an element at least: x[i : i + n] with n from 1 on")
            start.append(self._fixed(low))
            ranged.append(True)
            shape.append(size)
        region = Region(of, start, ranged, tuple(shape))
        if isinstance(of, Param):
            self._note_grid(of, region)
        return region

    def _fixed(self, index: Expr) -> Expr:
        """An index that is loaded, by a name of its own: where a region begins no element can stand."""
        loaded = index.reads and not index.shape and index.level == UNIFORM and self.scope is None
        return self.let(index, "at") if loaded and not self._written(index) else index

    def _note_grid(self, param: Param, region: Region) -> None:
        for axis, start in enumerate(region.start):
            self.note_grid_use(start.poly, Poly.of(param.shape[axis]), "%s, axis %d" % (param.name, axis))

    def note_grid_use(self, position: Optional[Poly], extent: Poly, what: str) -> None:
        """``position``, which names program ids, runs below ``extent``."""
        if position is None:
            return
        for number, atom in enumerate(("bid.x", "bid.y", "bid.z")):
            parts = position.linear(atom)
            if parts is not None and parts[0].terms:
                self.grid_uses.setdefault(number, []).append((extent, parts[0], self.builder.place, what))

    def copy_region(self, region: Region, tile: Tile, fill: Optional[str] = None) -> None:
        self._same_shape(region.shape, tile.shape)
        if tile.dtype is None:
            self.builder.set_dtype(tile, self.type_of(region))
        self._mark(region.of, read=True)
        statement: Dict[str, Any] = {"op": "copy", "from": region.text(), "to": tile.name}
        fill = region.fill if fill is None else fill
        if fill is not None:
            statement["fill"] = fill
        self._limit(statement, region)
        self.builder.emit(statement)

    def _limit(self, statement: Dict[str, Any], region: Region) -> None:
        if region.limit is not None and any(x is not None for x in region.limit):
            statement["limit"] = [None if x is None else x.text for x, r in zip(region.limit, region.ranged) if r]

    def store_region(self, region: Region, value: Any) -> None:
        """What is written outside the tensor is dropped; elements convert."""
        if isinstance(value, Param):
            value = self.whole(value)
        if not any(region.ranged):
            return self.set_element(region, value)
        shape = region.shape
        if isinstance(value, Transposed) or is_number(value) or isinstance(value, Expr):
            expr = broadcast(self.expr(value), shape)
            if isinstance(region.of, Tile):
                return self._map_region(region, expr)
            value = self.tile(expr, "out")
        elif not isinstance(value, Tile) or not same_shape(value.shape, shape):
            value = self.tile(value, "out") if not isinstance(value, Tile) else value
            if not same_shape(value.shape, shape):
                expr = broadcast(value.read(), shape) if len(value.shape) <= len(shape) else value.read()
                self._same_shape(expr.shape, shape)
                value = self.tile(expr, "out")
        self._mark(region.of, written=True)
        if isinstance(region.of, Tile) and region.of.dtype is None:
            self.builder.set_dtype(region.of, self.type_of(value))
        statement: Dict[str, Any] = {"op": "copy", "from": value.name, "to": region.text()}
        self._limit(statement, region)
        self.builder.emit(statement)
        return None

    def load_region(self, region: Region, mask: Any, other: Any, hint: str) -> Any:
        """A slice; what lies outside the parameter, or is masked out, is ``other`` (0 without one)."""
        fill = self.operand(0 if other is None else other)
        if isinstance(region.of, Param) and region.dtype is not None and other is not None:
            value = constant(fill) if is_number(fill) else cast(fill, region.dtype)
            if value.shape or value.level == ELEMENT or value.reads:
                raise Mistake("other= of a slice is one number, the same for the whole block", "tl.where(mask, x, other) chooses elementwise")
            region.fill = value.text
        condition = None if mask is None else truth(self.operand(mask))
        if condition is None or condition is True:
            return region
        return self.tile(where(condition, self.expr(region), fill), hint)

    def store_region_where(self, region: Region, value: Any, mask: Any) -> None:
        """The elements of a slice where ``mask`` holds."""
        condition = truth(self.operand(mask))
        if isinstance(condition, bool):
            return self.store_region(region, value) if condition else None
        self._mark(region.of, written=True)
        expr = broadcast(self.expr(value) if not is_number(value) else constant(value), region.shape)
        if region.of.dtype is None:
            self.builder.set_dtype(region.of, self.type_of(expr))
        self.map(region.shape, region.element(), cast(expr, str(region.of.dtype)), broadcast(condition, region.shape))
        return None

    def _map_region(self, region: Region, expr: Expr) -> None:
        """Part of a tile, elementwise."""
        tile = region.of
        assert isinstance(tile, Tile)
        if tile.dtype is None:
            self.builder.set_dtype(tile, self.type_of(expr))
        assert tile.dtype is not None
        region.start = [self.place_before(start, tile) for start in region.start]
        self.map(region.shape, region.element(), cast(expr, tile.dtype))

    def place_before(self, index: Expr, of: Union[Param, Tile]) -> Expr:
        """A place in memory that the memory itself tells, as it is before that is written."""
        return index_of(self.tile(cast(index, "i64"), "at").read()) if of.name in index.reads else index

    def atomic_region(self, region: Region, value: Any, kind: str, mask: Any = None) -> None:
        """``value`` into each element of a slice of a parameter where ``mask`` holds, atomically."""
        param = region.of
        if not isinstance(param, Param):
            raise Mistake("an atomic on a tile", "atomics are on parameters; a tile belongs to its block: x += …")
        param.written, param.atomic = True, True
        expr = broadcast(cast(self.operand(value), param.dtype), region.shape)
        condition: Any = None if mask is None else truth(self.operand(mask))
        if condition is False:
            return
        where = broadcast(condition, region.shape) if isinstance(condition, Expr) else None
        self.map(region.shape, region.element(), expr, where, atomic=kind)

    def _mark(self, of: Union[Param, Tile], read: bool = False, written: bool = False) -> None:
        if isinstance(of, Param):
            of.read, of.written = of.read or read, of.written or written

    # -- elements

    def element(self, of: Union[Param, Tile], indices: Sequence[Any]) -> Expr:
        """One element, or, where an index is a tile, a gather."""
        if isinstance(of, Param):
            self.use_axes(of)
            self._mark(of, read=True)
        elif of.dtype is None:
            raise Mistake("%s is read before it is written" % of.name,
                          "fill it first: a copy, tl.zeros or an assignment")
        parts = [from_end(index_of(self.operand(i)), n) for i, n in zip(indices, of.shape)]
        shape: Shape = ()
        for part in parts:
            shape = broadcast_shape(shape, part.shape)
        parts = [broadcast(p, shape) for p in parts]
        reads = frozenset((of.name,)).union(*[p.reads for p in parts])
        text = "%s[%s]" % (of.name, ", ".join(p.text for p in parts))
        assert of.dtype is not None
        level = ELEMENT if isinstance(of, Tile) or shape else max([UNIFORM] + [p.level for p in parts])
        if isinstance(of, Param) and self.scope is None:
            for axis, part in enumerate(parts):
                self.note_grid_use(part.poly, Poly.of(of.shape[axis]), "%s, axis %d" % (of.name, axis))
        return Expr(of.dtype, text, shape, level, None, reads)

    def set_element(self, region: Region, value: Any, atomic: Optional[str] = None) -> None:
        """``A[i, j] = v``: an item of the elementwise loop around it, or a map of one iteration."""
        of = region.of
        self._mark(of, written=True)
        if isinstance(of, Tile) and of.dtype is None:
            self.builder.set_dtype(of, self.type_of(value) if not is_number(value) else "f32")
        assert of.dtype is not None
        target = "%s[%s]" % (of.name, ", ".join(s.text for s in region.start))
        expr = cast(self.operand(value), of.dtype)
        if expr.shape:
            raise Mistake("a tile of shape %s does not fit one element" % shape_text(expr.shape),
                          "a slice takes a tile: A[i : i + n] = x")
        if self.scope is None:
            more = {"atomic": atomic} if atomic else {}
            return self.map((), target, expr, None, **more)
        item: Dict[str, Any] = {"atomic": atomic, "to": target} if atomic else {"set": target}
        item["value"] = expr.text
        if self.scope.conditions:
            condition: Any = self.scope.conditions[0]
            for more_condition in self.scope.conditions[1:]:
                condition = Expr("bool", "%s && %s" % (condition.grouped, more_condition.grouped), (), ELEMENT)
            if isinstance(of, Tile) and not atomic:
                item["value"] = "%s if %s else %s" % (expr.grouped, condition.grouped, target)
            else:
                item["where"] = condition.text
        item["_at"] = self.builder.place
        self.scope.items.append(item)
        return None

    # -- pointers

    def load_pointer(self, pointer: Pointer, mask: Any, other: Any, hint: str) -> Any:
        """``tl.load(pointer, mask, other)``: a tile; one element that is the same for the whole block is an expression."""
        param, offset = pointer.param, pointer.offset
        self.use_flat(param)
        param.read = True
        condition = None if mask is None else truth(self.operand(mask))
        if condition is True:
            condition = None
        shape = offset.shape if condition is None or isinstance(condition, bool) else broadcast_shape(offset.shape, condition.shape)
        offset = broadcast(offset, shape)
        if isinstance(condition, Expr):
            condition = broadcast(condition, shape)
            self._note_bounds(condition)
        if not shape and offset.level < ELEMENT and condition is None:
            self.views.saw(_views.Access(param, offset, None, shape, False))
            read = Expr(param.dtype, "%s[%s]" % (param.name, offset.text), (), UNIFORM, None, offset.reads | {param.name})
            if self.scope is not None:
                return read
            return self.tile(read, hint) if self._written(read) else self.let(read, hint)
        fill = cast(self.operand(0 if other is None else other), param.dtype)
        space = "shared" if hint in self.product_names else "fragment"
        access = _views.Access(param, offset, condition, shape, not fill.shape and fill.level < ELEMENT and not fill.reads)
        if self.views.of(param) is not None:
            return _views.load(self, access, None if condition is None or other is None else fill.text, hint, space)
        self.views.saw(access)
        made = self.builder.alloc(hint, space, param.dtype, shape, True)
        region = self._contiguous(param, offset, condition, shape)
        if region is not None and not fill.shape and fill.level < ELEMENT and not fill.reads:
            self.copy_region(region, made, None if condition is None or other is None else fill.text)
            return made
        value = Expr(param.dtype, "%s[%s]" % (param.name, offset.text), shape, ELEMENT, None, offset.reads | {param.name})
        if condition is not None:
            chosen = condition if isinstance(condition, Expr) else constant(condition)
            fill = broadcast(fill, shape)
            value = Expr(param.dtype, "%s if %s else %s" % (value.grouped, chosen.grouped, fill.grouped), shape, ELEMENT, None,
                         value.reads | chosen.reads | fill.reads)
        self.map(shape, made.element(["$%d" % k for k in range(len(shape))]), value)
        return made

    def store_pointer(self, pointer: Pointer, value: Any, mask: Any, atomic: Optional[str] = None, **more: str) -> None:
        param = pointer.param
        self.use_flat(param)
        param.written, param.atomic = True, param.atomic or bool(atomic)
        condition = None if mask is None else truth(self.operand(mask))
        if condition is True:
            condition = None
        if condition is False:
            return
        expr = cast(self.operand(value), param.dtype)
        shape = broadcast_shape(pointer.offset.shape, expr.shape) if pointer.offset.shape else pointer.offset.shape
        if isinstance(condition, Expr) and condition.shape:
            shape = broadcast_shape(shape, condition.shape)
        if len(expr.shape) > len(shape):
            raise Mistake("a tile of shape %s is stored at a pointer of shape %s"
                          % (shape_text(expr.shape), shape_text(pointer.offset.shape)),
                          "a tile of pointers, one for each element: pointer + offsets")
        offset, expr = broadcast(pointer.offset, shape), broadcast(expr, shape)
        if isinstance(condition, Expr):
            condition = broadcast(condition, shape)
            self._note_bounds(condition)
        access = _views.Access(param, offset, condition, shape, not atomic)
        if self.views.of(param) is not None:
            return _views.store(self, access, value, expr)
        self.views.saw(access)
        region = None if atomic else self._contiguous(param, offset, condition, shape)
        if region is not None:
            self.store_region_flat(region, value, expr)
            return None
        if atomic:
            more["atomic"] = atomic
        self.map(shape, "%s[%s]" % (param.name, offset.text), expr, condition, **more)

    def store_region_flat(self, region: Region, value: Any, expr: Expr) -> Dict[str, Any]:
        tile = value if isinstance(value, Tile) and same_shape(value.shape, region.shape) else self.tile(expr, "out")
        statement: Dict[str, Any] = {"op": "copy", "from": tile.name, "to": region.text()}
        self._limit(statement, region)
        return self.builder.emit(statement)

    def _note_bounds(self, condition: Expr) -> None:
        for low, high in condition.bounds or []:
            self.note_grid_use(low, high, "the mask")

    def _contiguous(self, param: Param, offset: Expr, condition: Any, shape: Shape) -> Optional[Region]:
        """A tile of neighbours as a region, with the mask as its limit; None where that is not what it is."""
        if len(shape) != 1 or offset.poly is None or offset.level == ELEMENT or offset.reads:
            return None
        parts = offset.poly.linear("$0")
        if parts is None or parts[0] != 1 or any("$" in a for k in parts[1].terms for a in k):
            return None
        start = index_expr(parts[1], offset.level)
        if condition is None:
            return Region(param, [start], [True], shape)
        if not isinstance(condition, Expr) or condition.bounds is None or condition.reads:
            return None
        limits: List[Poly] = []
        for low, high in condition.bounds:
            a, b = low.linear("$0"), high.linear("$0")
            if a is None or b is None or a[0] != 1 or b[0].terms or any("$" in x for p in (a[1], b[1]) for k in p.terms for x in k):
                return None
            limits.append(parts[1] + b[1] - a[1])
        text = limits[0] if len(limits) == 1 else Poly.of("min(%s)" % ", ".join(map(str, limits)))
        return Region(param, [start], [True], shape, [index_expr(text)])


def _spread(items: List[Any], rank: int, name: str) -> List[Any]:
    """One item an axis: ``...`` and missing axes are whole."""
    if any(x is Ellipsis for x in items):
        at = [x is Ellipsis for x in items].index(True)
        items = items[:at] + [slice(None)] * (rank - len(items) + 1) + items[at + 1:]
    if len(items) > rank:
        raise Mistake("%d indices for %s, which has %d ax%s" % (len(items), name, rank, "is" if rank == 1 else "es"),
                      "an index or a range for each axis; those that are left out, or ..., are whole")
    return items + [slice(None)] * (rank - len(items))
