"""Two-axis views: a parameter whose pointers all are base + rows * pitch + columns * stride is declared as a matrix.

Pointer tiles then become regions: ``copy`` with ``limit``, which lowering vectorizes and fetches ahead, where a map
would compute every element's address. A kernel is read once to see how its parameters are used, then again with the
views that were decided.

A view is taken only where it means the same at the sizes at hand, for every element that a mask lets through: the
buffer is a whole number of rows, and no column lies outside its row. What that was concluded from, sizes included,
becomes a constraint of the program, so that other sizes have the kernel read anew.
"""

from __future__ import annotations

import ast
import re
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

from ._arithmetic import Mistake
from ._builder import Builder
from ._dropped import Extra, Flow, Stores
from ._expr import ELEMENT, Expr, Param, Poly, Region, Transposed, index_expr
from ._ranges import Ranges

Bound = Tuple[Poly, Poly]


class Access:
    """A load or store by pointer: the offsets of a tile's elements in a parameter, the mask, and the tile's extents."""

    __slots__ = ("param", "offset", "condition", "shape", "plain")

    def __init__(self, param: Param, offset: Expr, condition: Any, shape: Tuple[Any, ...], plain: bool) -> None:
        self.param, self.offset, self.condition, self.shape, self.plain = param, offset, condition, shape, plain


class View:
    """A parameter as a matrix.

    Attributes:
        pitch, stride: between rows and between columns, in elements.
        rows, columns: extents, as texts of the program format.
        values: of ``pitch``, ``stride``, the columns and the rows at the sizes at hand.
    """

    __slots__ = ("pitch", "stride", "rows", "columns", "values")

    def __init__(self, pitch: Poly, stride: Poly, rows: str, columns: str, values: Tuple[int, int, int, int]) -> None:
        self.pitch, self.stride, self.rows, self.columns, self.values = pitch, stride, rows, columns, values


class Placed:
    """Where an access lies in a view: starts and limits along rows and columns; ``swapped`` if the tile's first axis
    runs along columns; ``wrapped`` the rows (axis of the tile) that are taken modulo an extent: (axis, start, extent).
    """

    __slots__ = ("start", "limit", "swapped", "wrapped")

    def __init__(self, start: List[Poly], limit: List[Optional[Poly]], swapped: bool,
                 wrapped: List[Tuple[int, Poly, Poly]]) -> None:
        self.start, self.limit, self.swapped, self.wrapped = start, limit, swapped, wrapped


class Views:
    """What one reading of a kernel sees and uses: accesses on the first one, decided views on the second."""

    def __init__(self, builder: Builder, grid: Optional[Sequence[Any]],
                 decided: Optional[Dict[str, View]] = None) -> None:
        self.builder, self.decided = builder, decided or {}
        self.stores = Stores()
        # Of loads whose rows the author took modulo their number: parameter, tile, axis, which rows are extra.
        self._extra: List[Tuple[str, str, int, Extra]] = []
        self.wrapping: Set[str] = set()   # parameters that are stored to modulo an extent: a rectangle would drop elements
        self.ranges = Ranges(builder, grid)
        self.accesses: Dict[str, List[Access]] = {}

    def saw(self, access: Access) -> None:
        self.accesses.setdefault(access.param.name, []).append(access)

    def of(self, param: Param) -> Optional[View]:
        return self.decided.get(param.name)

    # -- deciding

    def decide(self) -> Dict[str, View]:
        """Views for the parameters all of whose accesses have one."""
        found = {}
        for name, accesses in self.accesses.items():
            if accesses[0].param.atomic or not all(a.plain and len(a.shape) == 2 for a in accesses):
                continue
            view = self._candidate(accesses)
            placed = [] if view is None else [self.place(view, a.offset, a.condition, a.shape) for a in accesses]
            if view is not None and all(p is not None for p in placed):
                found[name] = view
        return found

    def revised(self) -> Optional[Dict[str, View]]:
        """The views without those that repeat rows which are kept; None where all are right."""
        if self.wrapping:
            return {name: view for name, view in self.decided.items() if name not in self.wrapping}
        if not self._extra:
            return None
        flow = Flow(self.stores, self._least)
        if flow.all_dropped([e[1:] for e in self._extra], self.builder.launches[0].body):
            return None
        return {name: view for name, view in self.decided.items() if all(e[0] != name for e in self._extra)}

    def _least(self, poly: Poly) -> Optional[int]:
        found = self.ranges.extremes(poly)
        return None if found is None else found[0]

    def repeats(self, param: Param, tile: str, placed: "Placed") -> None:
        """Notes a load some of whose rows the author took modulo their number."""
        for axis, start, end in placed.wrapped:
            self._extra.append((param.name, tile, 1 - axis if placed.swapped else axis, (start, end)))

    def stored(self, statement: Dict[str, Any], view: View, placed: "Placed") -> None:
        """Notes where a store begins to drop."""
        for which, extent in enumerate((view.values[3], view.values[2])):
            limit = placed.limit[which]
            self.stores.add(statement, which, placed.start[which], Poly.of(extent) if limit is None else limit)

    def _candidate(self, accesses: List[Access]) -> Optional[View]:
        """The matrix that the first access runs over, if all have its pitch and stride."""
        total = accesses[0].param.elements
        count = self.builder.value_of(total)
        slopes = [self._slopes(a.offset) for a in accesses]
        first = slopes[0]
        if first is None or count is None or not count or self._dynamic([total]):
            return None
        pitch, stride = first if self._value(first[0]) > self._value(first[1]) else first[::-1]
        wide, narrow = self._value(pitch), self._value(stride)
        if narrow < 1 or wide <= narrow or count % wide or self._dynamic([pitch, stride]):
            return None
        if any(s is None or {self._value(s[0]), self._value(s[1])} != {wide, narrow} for s in slopes):
            return None
        columns = -(-wide // narrow)
        return View(pitch, stride, "%s // %s" % (_grouped(total), _grouped(pitch)),
                    str(pitch) if narrow == 1 and stride == 1 else "ceildiv(%s, %s)" % (pitch, stride),
                    (wide, narrow, columns, count // wide))

    def _value(self, poly: Poly) -> int:
        found = self.builder.value_of(poly)
        return -1 if found is None else found

    def _dynamic(self, polys: Sequence[Poly]) -> bool:
        return any(
            entry.get("dynamic") and p.mentions(name) for name, entry in self.builder.symbols.items() for p in polys)

    def _slopes(self, offset: Expr) -> Optional[Tuple[Poly, Poly]]:
        parts = self._linear(offset)
        if parts is None or not all(self.builder.is_static(p) and p.terms for p in parts[:2]):
            return None
        return parts[0], parts[1]

    def _linear(self, offset: Expr) -> Optional[Tuple[Poly, Poly, Poly, List[Tuple[int, Poly, Poly]]]]:
        """offset = a * $0 + b * $1 + rest; with what was taken modulo an extent, taken off."""
        if offset.poly is None or offset.level == ELEMENT or offset.reads:
            return None
        wrapped: List[Tuple[int, Poly, Poly]] = []
        poly = self._unwrapped(offset.poly, wrapped)
        first = poly.linear("$0") if poly is not None else None
        second = first[1].linear("$1") if first is not None else None
        if first is None or second is None or any("$" in a for p in (first[0], second[0], second[1]) for k in p.terms
                                                  for a in k):
            return None
        return first[0], second[0], second[1], wrapped

    def _unwrapped(self, poly: Poly, wrapped: List[Tuple[int, Poly, Poly]]) -> Optional[Poly]:
        """With ``(x % n)`` and ``(x if x < n else c)`` over a tile's axis as x: the same where x stays below n."""
        bad = False

        def atom(text: str) -> Poly:
            nonlocal bad
            if "$" not in text or re.fullmatch(r"\$\d", text):
                return Poly.of(text)
            parts = _modulo(text)
            axes = set(re.findall(r"\$(\d)", text))
            if parts is None or len(axes) != 1:
                bad = True
                return Poly.of(text)
            axis = int(axes.pop())
            inner = parts[0].linear("$%d" % axis)
            if inner is None or inner[0] != 1:
                bad = True
                return Poly.of(text)
            entry = (axis, inner[1], parts[1])
            if entry not in wrapped:
                wrapped.append(entry)
            return parts[0]

        result = poly.mapped(atom)
        return None if bad else result

    # -- placing

    def place(self, view: View, offset: Expr, condition: Any, shape: Tuple[Any, ...]) -> Optional[Placed]:
        """Where the elements lie in the view; None where that cannot be shown."""
        parts = self._linear(offset)
        if parts is None or condition is False:
            return None
        swapped = self._value(parts[0]) == view.values[1]
        starts = self._split(view, parts[2])
        if starts is None:
            return None
        along = (1, 0) if swapped else (0, 1)  # the tile's axis of rows, of columns
        wrapped = []
        for axis, start, extent in parts[3]:
            top = self.ranges.extremes(start)
            size, end = self.builder.value_of(shape[axis]), self.builder.value_of(extent)
            if size is None or end is None or top is None or top[0] < 0:
                return None
            if top[1] + size > end:
                wrapped.append((axis, start, extent))
        limits = self._limits(condition, along, starts)
        if limits is None:
            return None
        for axis, start, extent in wrapped:
            which = along.index(axis)
            if limits[which] is not None:
                return None
            limits[which] = starts[which] - start + extent
        if not self._columns_inside(view, starts[1], limits[1], shape[along[1]]):
            return None
        return Placed(starts, self._needed(view, limits), swapped, wrapped)

    def _split(self, view: View, rest: Poly) -> Optional[List[Poly]]:
        """The start along rows and along columns: each term's factor tells whether it is whole rows."""
        row, column = Poly(), Poly()
        pitch, stride = view.values[:2]
        for key, coefficient in rest.terms.items():
            term = Poly({key: coefficient})
            still = [a for a in key if self.builder.is_static(Poly.of(a)) and self.builder.value_of(a) is not None]
            factor = coefficient
            for a in still:
                factor *= self.builder.value_of(a) or 0
            moving = Poly({tuple(a for a in key if a not in still): 1})
            if factor % pitch == 0:
                exact = term.divided(view.pitch)
                row = row + (exact if exact is not None else moving * Poly.of(factor // pitch))
            elif factor % stride == 0:
                exact = term.divided(view.stride)
                column = column + (exact if exact is not None else moving * Poly.of(factor // stride))
            else:
                return None
        return [row, column]

    def _limits(self, condition: Any, along: Tuple[int, int], starts: List[Poly]) -> Optional[List[Optional[Poly]]]:
        """The mask as a limit along rows and along columns; None where it is something else."""
        limits: List[Optional[Poly]] = [None, None]
        if condition is None or condition is True:
            return limits
        if not isinstance(condition, Expr) or condition.bounds is None or condition.reads:
            return None
        for low, high in condition.bounds:
            for which, axis in enumerate(along):
                a, b = low.linear("$%d" % axis), high.linear("$%d" % axis)
                if a is None or b is None:
                    return None
                if a[0] == 1 and not b[0].terms and not _over_tile(a[1], b[1]):
                    new = starts[which] + b[1] - a[1]
                    old = limits[which]
                    limits[which] = new if old is None or old == new else Poly.of("min(%s, %s)" % (old, new))
                    break
                if b[0] == 1 and not a[0].terms and not _over_tile(
                        a[1], b[1]) and starts[which] - b[1] + Poly.of(1) + a[1] == 0:
                    break  # 0 <= the coordinate: what lies before the tensor is outside anyway
            else:
                return None
        return limits

    def _columns_inside(self, view: View, start: Poly, limit: Optional[Poly], extent: Any) -> bool:
        """Whether the columns that the mask lets through lie in their row."""
        first, size = self.ranges.extremes(start), self.builder.value_of(extent)
        if first is None or size is None or first[0] < 0:
            return False
        if first[1] + size <= view.values[2]:
            return True
        most = self.ranges.extremes(limit) if limit is not None else None
        return most is not None and most[1] <= view.values[2]

    def _needed(self, view: View, limits: List[Optional[Poly]]) -> List[Optional[Poly]]:
        """Without limits that are the view's own extents."""
        extents = (view.values[3], view.values[2])
        return [None if n is not None and self.builder.is_static(n) and self.builder.value_of(n) == extent else n
                for n, extent in zip(limits, extents)]

    # -- the program

    def declare(self, param: Param, entry: Dict[str, Any]) -> bool:
        """A viewed parameter's shape and strides; False where it has no view."""
        view = self.of(param)
        if view is None:
            return False
        entry["shape"] = [view.rows, view.columns]
        entry["strides"] = [str(view.pitch), str(view.stride)]
        return True

    def constraints(self) -> List[str]:
        """The sizes that views were decided by."""
        words: Set[str] = set()
        for name in self.decided:
            view = self.decided[name]
            words |= set(
                re.findall(r"[A-Za-z_]\w*", " ".join([str(view.pitch),
                                                      str(view.stride), view.rows, view.columns])))
        words |= self.ranges.used
        return [
            "%s == %d" % (w, self.builder.known[w]) for w in sorted(words)
            if w in self.builder.symbols and isinstance(self.builder.known.get(w), int)]


# -- statements


def load(memory: Any, access: Access, fill: Optional[str], hint: str, space: str) -> Any:
    """A viewed parameter's elements as a tile; transposed where the tile's first axis runs along the columns."""
    region, placed = _region(memory, access)
    made = memory.builder.alloc(hint, space, access.param.dtype, region.shape, True)
    memory.copy_region(region, made, fill)
    memory.views.repeats(access.param, made.name, placed)
    return Transposed(made) if placed.swapped else made


def store(memory: Any, access: Access, value: Any, expr: Expr) -> None:
    region, placed = _region(memory, access)
    if placed.swapped:
        expr = expr.moved({0: "$1", 1: "$0"}, (expr.shape[1], expr.shape[0]))
        value = None
    view = memory.views.of(access.param)
    if placed.wrapped:
        memory.views.wrapping.add(access.param.name)
    memory.views.stored(memory.store_region_flat(region, value, expr), view, placed)


def _region(memory: Any, access: Access) -> Tuple[Region, Placed]:
    view = memory.views.of(access.param)
    placed = memory.views.place(view, access.offset, access.condition, access.shape)
    if placed is None:
        raise Mistake("this access of %s is not the one that was read before" % access.param.name,
                      "a kernel is read more than once: what it asks of Python must give the same each time")
    shape = access.shape[::-1] if placed.swapped else access.shape
    limit = [None if n is None else index_expr(n) for n in placed.limit]
    return Region(access.param, [index_expr(s) for s in placed.start], [True, True], shape, limit), placed


def _grouped(poly: Poly) -> str:
    text = str(poly)
    return text if re.fullmatch(r"\w+", text) else "(%s)" % text


def _over_tile(*polys: Poly) -> bool:
    return any("$" in atom for p in polys for key in p.terms for atom in key)


# -- (x % n) and (x if x < n else c), from their texts


def _modulo(text: str) -> Optional[Tuple[Poly, Poly]]:
    """(x, n) of an atom that is x modulo n, or x where it is below n."""
    source = text.replace("$", "axis__")
    try:
        tree = ast.parse(source, mode="eval").body
    except SyntaxError:
        return None
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Mod):
        return _poly(tree.left, source), _poly(tree.right, source)
    if isinstance(tree, ast.IfExp) and isinstance(tree.test, ast.Compare) and len(tree.test.ops) == 1 and isinstance(
            tree.test.ops[0], ast.Lt):
        chosen, tested = _poly(tree.body, source), _poly(tree.test.left, source)
        if chosen == tested and not _over_tile(_poly(tree.orelse, source)):
            return chosen, _poly(tree.test.comparators[0], source)
    return None


def _poly(node: ast.expr, source: str) -> Poly:
    """A syntax tree of our own text as a polynomial; what is no sum or product is an atom."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return Poly.of(node.value)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult)):
        left, right = _poly(node.left, source), _poly(node.right, source)
        return left + right if isinstance(node.op,
                                          ast.Add) else left - right if isinstance(node.op, ast.Sub) else left * right
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_poly(node.operand, source)
    told = (ast.get_source_segment(source, node) or "").replace("axis__", "$")
    return Poly.of(told if isinstance(node, (ast.Name, ast.Call, ast.Attribute)) else "(%s)" % told)
