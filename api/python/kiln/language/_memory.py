"""Reading and writing memory: slices, pointers, masks, and the statements that move tiles."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

from . import _views
from ._arithmetic import Mistake, broadcast, broadcast_shape, cast, constant, index_of, is_number, same_shape, shape_text, truth
from ._builder import Builder
from ._expr import ELEMENT, STATIC, UNIFORM, BlockPointer, Dim, Dot, Expr, Param, Pointer, Poly, Region, Tile, Transposed, dim, index_expr

Shape = Tuple[Dim, ...]
INDEX_NAMES = ("i0", "i1", "i2", "i3")


class MapScope:
    """The body of an elementwise loop that is being read (``T.Parallel``): assignments become its items."""

    def __init__(self, names: List[str], extents: Shape) -> None:
        self.names, self.extents = names, extents
        self.items: List[Dict[str, Any]] = []
        self.conditions: List[Expr] = []


class Memory:
    """The part of the tracer that moves elements. Needs ``builder``, ``scope`` (a MapScope or None) and ``product_names``."""

    builder: Builder
    scope: Optional[MapScope]
    product_names: Any
    grid_uses: Dict[int, List[Tuple[Poly, Poly, Any, str]]]
    views: _views.Views

    # -- as an expression, as a tile

    def expr(self, value: Any) -> Expr:
        """An elementwise expression of a value; regions and products are put into tiles first."""
        if isinstance(value, Expr):
            return value
        if is_number(value):
            return constant(value)
        if isinstance(value, Tile):
            if value.dtype is None:
                raise Mistake("%s has not been written" % value.name)
            return value.read()
        if isinstance(value, (Region, Dot)):
            return self.tile(value).read()
        if isinstance(value, Transposed):
            source = self.expr(value.of)
            last = len(source.shape) - 1
            axes = {k: "$%d" % (k if k < last - 1 else 2 * last - 1 - k) for k in range(last + 1)}
            return source.moved(axes, value.shape)
        if isinstance(value, Pointer):
            raise Mistake("%s is a pointer, not a value" % value.param.name, "tl.load(pointer) reads what it points to")
        if isinstance(value, Param):
            if value.mode != "flat" and value.shape:
                return self.expr(self.whole(value))
            raise Mistake("%s is a pointer, not a value" % value.name, "tl.load(%s + offsets) reads what it points to" % value.name)
        raise Mistake("expected a number or a tile, found %s" % describe(value))

    def operand(self, value: Any) -> Any:
        """For operators: numbers as they are, everything else as an expression."""
        return value if is_number(value) else self.expr(value)

    def tile(self, value: Any, hint: str = "t", space: Optional[str] = None) -> Tile:
        """A tile that holds the value: itself, or a new one."""
        if isinstance(value, Tile):
            return value
        if space is None:
            space = "shared" if hint in self.product_names else "fragment"
        if isinstance(value, Param):
            value = self.whole(value)
        if isinstance(value, Region):
            assert value.dtype is not None
            made = self.builder.alloc(hint, space, value.dtype, value.shape, True)
            self.copy_region(value, made)
            return made
        if isinstance(value, Dot):
            made = self.builder.alloc(hint, "fragment", value.dtype, value.shape, True)
            self.write(made, value)
            return made
        expr = self.expr(value)
        dtype = "i32" if expr.dtype == "index" else expr.dtype
        made = self.builder.alloc(hint, space, dtype, expr.shape, True)
        self.write(made, expr)
        return made

    # -- writing tiles

    def write(self, tile: Tile, value: Any) -> None:
        """All of a tile."""
        if isinstance(value, Dot):
            return self.multiply(tile, value)
        if isinstance(value, Param):
            value = self.whole(value)
        if tile.dtype is None:
            self.builder.set_dtype(tile, self.type_of(value))
        if isinstance(value, Region):
            return self.copy_region(value, tile)
        if isinstance(value, Tile):
            if value is not tile:
                self._same_shape(value.shape, tile.shape)
                self.builder.emit({"op": "copy", "from": value.name, "to": tile.name})
            return None
        assert tile.dtype is not None
        expr = broadcast(cast(self.operand(value), tile.dtype), tile.shape)
        own = tile.element(["$%d" % k for k in range(len(tile.shape))])
        if tile.name in expr.reads and re.sub(re.escape(own), "", expr.text).find(tile.name + "[") >= 0:
            return self.write(tile, self.tile(expr, tile.name))  # it reads elements that the map itself may have set
        if "$" not in expr.text and not expr.reads and expr.level < ELEMENT:
            self.builder.emit({"op": "fill", "tile": tile.name, "value": expr.text})
            return None
        self.map(tile.shape, own, expr)
        return None

    def type_of(self, value: Any) -> str:
        """The element type that a tile without one takes from what is first written."""
        if is_number(value):
            raise Mistake("the element type of this tile is not known yet", "give it with dtype=, or write a tile or a slice first")
        found = value.dtype if isinstance(value, (Region, Dot, Tile, Expr, Transposed)) else self.expr(value).dtype
        if found is None:
            raise Mistake("a tile is read before it is written")
        return "i32" if found == "index" else found

    def map(self, shape: Shape, target: str, value: Expr, where: Optional[Expr] = None, **more: Any) -> None:
        """A map over ``shape`` that sets ``target`` (text with ``$k``) to ``value``."""
        names = {k: INDEX_NAMES[k] for k in range(len(shape))}

        def put(text: str) -> str:
            return re.sub(r"\$(\d)", lambda m: names[int(m.group(1))], text)

        if len(shape) > 4:
            raise Mistake("a tile has at most 4 axes, this one %d" % len(shape))
        item: Dict[str, Any] = {"set": put(target), "value": put(value.text)}
        item.update({k: put(v) for k, v in more.items()})
        if "atomic" in more:
            item["to"] = item.pop("set")
        if where is not None:
            item["where"] = put(where.text)
        extent = [str(n) for n in shape] or ["1"]
        self.builder.emit({"op": "map", "index": list(INDEX_NAMES[: max(1, len(shape))]), "extent": extent, "body": [item]})

    def multiply(self, tile: Tile, dot: Dot) -> None:
        """``tile`` = what the product is added to + the product."""
        self._same_shape(dot.shape, tile.shape)
        if tile.dtype is None:
            self.builder.set_dtype(tile, dot.dtype)
        if tile.dtype != dot.dtype or tile.space == "shared":
            made = self.builder.alloc(tile.name, "fragment", dot.dtype, dot.shape, True)
            self.multiply(
                made,
                Dot(dot.a, dot.b, dot.transpose_a, dot.transpose_b, dot.shape, dot.dtype, dot.added, dot.schedule))
            return self.write(tile, made.read())
        if dot.added is not None and dot.added is not tile:
            self.write(tile, dot.added)
        statement: Dict[str, Any] = {"op": "gemm", "a": dot.a.name, "b": dot.b.name, "c": tile.name}
        for name in ("transpose_a", "transpose_b"):
            if getattr(dot, name):
                statement[name] = "true"
        if dot.added is None:
            statement["clear"] = "true"
        if dot.schedule:
            statement["schedule"] = dot.schedule
        self.builder.emit(statement)
        return None

    def _same_shape(self, given: Shape, wanted: Shape) -> None:
        if not same_shape(given, wanted):
            raise Mistake("a value of shape %s does not fit shape %s" % (shape_text(given), shape_text(wanted)))

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
                start.append(self._from_end(index_of(self.operand(item)), extent))
                ranged.append(False)
                continue
            if item.step not in (None, 1):
                raise Mistake("a slice with a step", "tl.load(pointer + offsets) takes any pattern of addresses")
            low = self._from_end(index_of(self.operand(0 if item.start is None else item.start)), extent)
            high = index_expr(Poly.of(extent), STATIC) if item.stop is None else self._from_end(index_of(self.operand(item.stop)), extent)
            assert low.poly is not None and high.poly is not None
            size = dim(high.poly - low.poly)
            if isinstance(size, Poly) and not self.builder.is_static(size):
                raise Mistake("the extent of this slice, %s, is not known when the kernel is compiled" % size,
                              "write both ends as start and start + constant: x[i * b : (i + 1) * b]")
            if isinstance(size, int) and size <= 0:
                raise Mistake("an empty slice: from %s to %s" % (low.text, high.text))
            start.append(low)
            ranged.append(True)
            shape.append(size)
        region = Region(of, start, ranged, tuple(shape))
        if isinstance(of, Param):
            self._note_grid(of, region)
        return region

    def _from_end(self, index: Expr, extent: Dim) -> Expr:
        value = index.poly.constant if index.poly is not None else None
        return index if value is None or value >= 0 else index_expr(Poly.of(extent) + Poly.of(value), STATIC)

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

    def _map_region(self, region: Region, expr: Expr) -> None:
        """Part of a tile, elementwise."""
        tile = region.of
        assert isinstance(tile, Tile)
        if tile.dtype is None:
            self.builder.set_dtype(tile, self.type_of(expr))
        assert tile.dtype is not None
        self.map(region.shape, region.element(), cast(expr, tile.dtype))

    def atomic_region(self, region: Region, value: Any, kind: str) -> None:
        """``value`` into each element of a slice of a parameter, atomically."""
        param = region.of
        if not isinstance(param, Param):
            raise Mistake("an atomic on a tile", "atomics are on parameters; a tile belongs to its block: x += …")
        param.written, param.atomic = True, True
        expr = broadcast(cast(self.operand(value), param.dtype), region.shape)
        self.map(region.shape, region.element(), expr, None, atomic=kind)

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
            raise Mistake("%s is read before it is written" % of.name)
        parts = [self._from_end(index_of(self.operand(i)), n) for i, n in zip(indices, of.shape)]
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
            raise Mistake("a tile of shape %s does not fit one element" % shape_text(expr.shape))
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
            if param.dtype in ("i32", "u32", "i16", "u16", "i8", "u8"):
                read = cast(read, "index")  # sizes, counts and places
            return read if self.scope is not None or self._written(read) else self.let(read, hint)
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
            raise Mistake("a tile of shape %s is stored at a pointer of shape %s" % (shape_text(expr.shape), shape_text(pointer.offset.shape)))
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
        raise Mistake("%d indices for %s, which has %d ax%s" % (len(items), name, rank, "is" if rank == 1 else "es"))
    return items + [slice(None)] * (rank - len(items))


def describe(value: Any) -> str:
    """What a value is, for error messages."""
    if isinstance(value, Tile):
        return "a tile of shape %s" % shape_text(value.shape)
    if isinstance(value, Expr):
        return "an expression of type %s" % value.dtype if not value.shape else "a tile of shape %s" % shape_text(value.shape)
    names = {Region: "a slice", Pointer: "a pointer", Param: "a tensor parameter", Dot: "a product"}
    if isinstance(value, BlockPointer):
        return "a block pointer or descriptor"
    return names.get(type(value), "%s %r" % (type(value).__name__, value) if not callable(value) else repr(value))
