"""Loops: what a name means in an iteration, and behind the last one."""

from __future__ import annotations

import ast
from typing import Any, Callable, Dict, List, Optional, Tuple

from . import _scan
from ._arithmetic import Mistake, as_dim, binary, ceildiv, constant, index_of, is_number
from ._branches import Branches
from ._expr import ELEMENT, BlockPointer, Expr, Param, Pointer, Tile, Transposed, index_expr, mentions
from ._memory import MapScope, describe
from ._predication import declared
from ._turns import Turns


class Range:
    """What a ``for`` runs over: ``range`` and its kin.

    Attributes:
        kind: ``serial``, ``pipelined``, ``unrolled``, or ``now`` for loops that are run while the kernel is read.
        stages: of a pipelined loop, None for lowering's choice.
        turns: when the statements of its body have their turn, None for lowering's choice.
    """

    def __init__(self, start: Any, stop: Any, step: Any, kind: str = "serial", stages: Optional[int] = None,
                 turns: Optional[Turns] = None) -> None:
        self.start, self.stop, self.step, self.kind, self.stages, self.turns = start, stop, step, kind, stages, turns


class Parallel:
    """An elementwise loop over an index space: ``T.Parallel(64, 32)``."""

    def __init__(self, extents: Tuple[Any, ...]) -> None:
        self.extents = extents


_TRIPS_MAX = 4096  # iterations of a loop that is run while the kernel is read


class Loops(Branches):
    """The part of the tracer for ``for``."""

    bind: Callable[[ast.AST, Any], None]
    eval: Callable[[ast.AST], Any]
    moved_pointer: Callable[[Any, Any], Pointer]
    set_carried: Callable[[str, Any, Any], None]

    def loop(self, node: ast.For, over: Any) -> None:
        """One loop of any kind. What stands behind it in its own body is no end of the function."""
        frame = self.frame
        ends, frame.ends = frame.ends, False
        self._loop(node, over)
        frame.ends = ends

    def _loop(self, node: ast.For, over: Any) -> None:
        if node.orelse:
            self.fail("for … else is not supported in a kernel", node.orelse[0], "write the else part behind the loop")
        if isinstance(over, Parallel):
            return self.parallel_loop(node, over)
        if isinstance(over, Range) and over.kind != "now":
            return self.range_loop(node, over)
        if isinstance(over, Range):
            values = self._values_now(over)
            last = max(abs(values.start), abs(values.stop))
            if last >= 2 ** 62:
                raise Mistake("a loop to %d is written out" % last, "use range, with bounds of 64 bits")
        elif isinstance(over, (list, tuple, range)):
            values = list(over)
        else:
            raise Mistake("a loop over %s" % describe(over), "loops run over range, tl.range, tl.static_range, tl.pipelined or a tuple")
        if len(values) > _TRIPS_MAX:
            raise Mistake("%d iterations are too many to write out" % len(values), "use range")
        for value in values:
            if self.frame.returned:
                break
            self.bind(node.target, value)
            self.block(node.body)
        return None

    def _values_now(self, over: Range) -> range:
        ends = [over.start, over.stop, over.step]
        if not all(isinstance(x, int) for x in ends):
            raise Mistake("the bounds of a loop that is written out are numbers known now", "use range for %s" % describe(over.stop))
        if over.step == 0:
            raise Mistake("a step of 0")
        return range(*ends)

    def range_loop(self, node: ast.For, over: Range) -> None:
        """A loop of the program: reads its body once, with what it carries in tiles and closed forms."""
        if not isinstance(node.target, ast.Name):
            self.fail("a loop has one variable", node.target)
        assert isinstance(node.target, ast.Name)
        low, high, step = (index_of(self.operand(x)) for x in (over.start, over.stop, over.step))
        size = step.poly.constant if step.poly is not None else None
        if size is not None and size <= 0:
            raise Mistake("a step of %d" % size, "count upwards and compute the index: n - 1 - i")
        if max(low.level, high.level) == ELEMENT:
            raise Mistake("a bound that depends on a tile's element", "a bound is the same for the whole block; tl.load of one element with a uniform index is")
        variable = self.builder.claim(node.target.id)
        index = index_expr(variable)
        self.views.ranges.loop(variable, low, high, step)
        before = self._enter(node, low, index, step)
        statement: Dict[str, Any] = {"op": "for", "var": variable, "from": low.text, "to": high.text, "step": step.text, "kind": over.kind}
        if over.stages is not None:
            statement["stages"] = str(over.stages)
        body: List[Dict[str, Any]] = []
        statement["body"] = body
        self.builder.emit(statement)
        self.builder.open(body)
        origins: List[int] = []  # of the body's statements: which of the source's each comes from

        def in_parts() -> None:
            for number, part in enumerate(node.body):
                self.block([part])
                origins.extend([number] * (len(body) - len(origins)))

        self._body(node, [(node.target, index)], in_parts if over.turns is not None else None)
        self.builder.close()
        if over.kind == "serial" and any(s["op"] == "gemm" for s in body):
            statement["kind"] = "pipelined"  # changes no meaning, and lets lowering fetch ahead
        if over.turns is not None and body:
            statement.update(over.turns.schedule(origins))
        self._leave(node, before, lambda: binary("max", ceildiv(binary("-", high, low), step), 0), body, variable)
        if not body:
            body.append({"op": "sync"})

    def _body(self, node: ast.For, indices: List[Tuple[ast.AST, Expr]], read: Optional[Callable[[], None]] = None) -> None:
        """Reads an iteration that is one of many: nothing leaves it."""
        frame = self.frame
        stays, frame.stays = frame.stays, True
        for target, index in indices:
            self.bind(target, index)
        if read is None:
            self.block(node.body)
        else:
            read()
        frame.stays = stays

    def _enter(self, node: ast.For, low: Expr, index: Expr, step: Expr) -> Dict[str, Any]:
        """Prepares the names that the body changes; gives what is needed to leave again."""
        frame = self.frame
        before: Dict[str, Any] = {"carried": dict(frame.carried), "loose": set(frame.loose), "steps": {}, "first": {}}
        for name in _scan.assigned(node.body):
            if name not in frame.names:
                continue
            value = frame.names[name]
            if not (_scan.read_before_assigned(node.body, name) or _scan.read_outside(frame.source.tree, node, name)):
                frame.carried.pop(name, None)
                continue
            if name in frame.carried:
                if value is not frame.carried[name]:
                    self.set_carried(name, frame.carried[name], value)
                frame.loose.discard(name)
                continue
            if isinstance(value, Param) and value.mode != "axes" and _scan.step_of(node.body, name) is not None:
                value = frame.names[name] = self.moved_pointer(value, 0)
            advance = self._advance(node, name, value)
            if advance is not None:
                before["steps"][name], before["first"][name] = advance, value
                frame.names[name] = self.advanced(value, advance, lambda amount: self._grown(amount, index, low, step))
            elif isinstance(value, Tile):
                if value.by_value:
                    frame.carried[name] = self.separate(name, value)
            elif is_number(value) or isinstance(value, Expr):
                frame.names[name] = frame.carried[name] = self._carrier(node, name, value)
            elif isinstance(value, Transposed):
                frame.names[name] = frame.carried[name] = self._made(self.expr(value), name)
            elif isinstance(value, (Pointer, BlockPointer)):
                self.fail("the pointer %s changes in this loop in a way that is not followed" % name, node,
                          "advance it once an iteration by the same amount: %s += step" % name)
            elif isinstance(value, (tuple, list)):
                frame.names[name] = frame.carried[name] = self._carriers(node, name, value)
            elif _scan.read_before_assigned(node.body, name):
                self.fail("%s changes in this loop, and is %s" % (name, describe(value)), node, "a loop changes numbers, tiles and pointers")
        return before

    def _carriers(self, node: ast.For, name: str, values: Any) -> Any:
        """Tiles for the parts of a tuple that the loop changes."""
        found = []
        for value in values:
            if isinstance(value, (tuple, list)):
                found.append(self._carriers(node, name, value))
            elif is_number(value) or isinstance(value, (Expr, Transposed, Tile)) and getattr(value, "by_value", True):
                found.append(self._made(self.expr(value), name))
            else:
                self.fail("%s changes in this loop, and a part of it is %s" % (name, describe(value)), node,
                          "give each part a name of its own")
        return type(values)(found)

    def _carrier(self, node: ast.For, name: str, value: Any) -> Tile:
        """A tile for a number that the loop changes."""
        expr = self.expr(value)
        if expr.dtype == "index" and is_number(value) and self._becomes_float(node.body, name):
            expr = constant(float(value))
        return self._made(expr, name)

    def _made(self, value: Expr, name: str) -> Tile:
        """A tile that this name alone means: another name that takes the value copies it."""
        made = self.tile(value, name)
        made.fresh = False
        return made

    def _becomes_float(self, body: List[ast.stmt], name: str) -> bool:
        """Whether an integer's later values are floats, as far as syntax tells: a float literal, a division, a function."""
        for statement in body:
            for node in ast.walk(statement):
                if isinstance(node, (ast.Assign, ast.AugAssign)) and name in _scan.assigned(node):
                    kinds = [n for n in ast.walk(node.value) if isinstance(n, ast.Call) or (isinstance(n, ast.Constant) and isinstance(n.value, float))
                             or (isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div))]
                    if kinds:
                        return True
        return False

    def _advance(self, node: ast.For, name: str, value: Any) -> Any:
        """The amount by which a number or pointer grows an iteration, if it is the same for all."""
        if not (isinstance(value, (int, Pointer, BlockPointer))
                or (isinstance(value, Expr) and value.dtype in ("index", "i32", "u32") and not value.reads)):
            return None
        if isinstance(value, bool):
            return None
        step = _scan.step_of(node.body, name)
        changing = set(_scan.assigned(node.body)) | {getattr(node.target, "id", "")}
        if step is None or _scan.read(step) & changing:
            return None
        amount = self._read_ahead(step)
        if amount is None or isinstance(value, BlockPointer):
            return amount
        if is_number(amount):
            return amount if isinstance(amount, int) else None
        expr = self.expr(amount)
        if isinstance(value, Expr) and value.dtype != "index" and expr.dtype not in ("index", value.dtype):
            return None  # the sum has another type
        return expr if expr.dtype not in ("f16", "bf16", "f32", "f64", "bool") and not expr.reads else None

    def _read_ahead(self, step: ast.expr) -> Any:
        """A step's value in front of the loop, which reads it again; None where it does more than compute and load."""
        body: List[Dict[str, Any]] = []
        launch, tiles = self.builder.launch, len(self.builder.tiles)
        allocs = len(launch.allocs)
        self.builder.open(body)
        amount = self.eval(step)
        self.builder.close()
        if len(self.builder.tiles) > tiles or any(statement["op"] != "let" for statement in body):
            del self.builder.tiles[tiles:], launch.allocs[allocs:]
            return None
        self.builder.append(body)
        return amount

    def _grown(self, amount: Any, index: Expr, low: Expr, step: Expr) -> Any:
        """What steps of ``amount`` add up to when a loop from ``low`` by ``step`` is at ``index``."""
        gone = binary("-", index, low)
        by = index_of(amount)
        assert by.poly is not None and step.poly is not None
        exact = by.poly.divided(step.poly)
        if exact is not None and not by.shape:
            return binary("*", Expr("index", None, (), max(by.level, step.level), exact, by.reads), gone)
        return binary("*", by, binary("//", gone, step))

    def advanced(self, value: Any, amount: Any, grown: Callable[[Any], Any]) -> Any:
        """``value`` after steps of ``amount``, which ``grown`` adds up."""
        if isinstance(value, BlockPointer):
            offsets = [self.expr(binary("+", o, grown(a if is_number(a) else self.expr(a)))) for o, a in zip(value.offsets, amount)]
            return BlockPointer(value.param, value.shape, value.strides, offsets, value.block, value.base)
        if isinstance(value, Pointer):
            return Pointer(value.param, self.expr(binary("+", value.offset, index_of(grown(amount)))))
        return self.increased(value, grown(amount), is_number(amount) or amount.dtype != "index")

    def _leave(self, node: ast.For, before: Dict[str, Any], trips: Any, body: List[Dict[str, Any]], variable: str) -> None:
        frame = self.frame
        frame.carried, frame.loose = before["carried"], before["loose"]
        local = declared(body)
        for name, value in list(frame.names.items()):
            if name in before["steps"]:
                first, amount = before["first"][name], before["steps"][name]
                frame.names[name] = self.advanced(first, amount, lambda amount: binary("*", amount, trips()))
            elif self._names_variable(value, variable):
                del frame.names[name]
                frame.gone[name] = "%s is known only inside the loop that sets it" % name
            elif any(self._names_variable(value, word) for word in local):
                self._last(node, name, value, body)

    def _last(self, node: ast.For, name: str, value: Any, body: List[Dict[str, Any]]) -> None:
        """Behind the loop a name has what the last iteration gave it."""
        frame = self.frame
        if isinstance(value, Expr) and _scan.read_outside(frame.source.tree, node, name):
            self.builder.open(body)
            frame.names[name] = self._made(value, name)
            self.builder.close()
        else:
            del frame.names[name]
            frame.gone[name] = "%s is known only inside the loop that sets it" % name

    def _names_variable(self, value: Any, variable: str) -> bool:
        if isinstance(value, (tuple, list)):
            return any(self._names_variable(part, variable) for part in value)
        parts = [value.offset] if isinstance(value, Pointer) else value.offsets + [value.base] if isinstance(value, BlockPointer) else [value]
        for part in parts:
            if isinstance(part, Expr) and (part.poly.mentions(variable) if part.poly is not None else mentions(part.text, variable)):
                return True
        return False

    def parallel_loop(self, node: ast.For, over: Parallel) -> None:
        """``for i, j in T.Parallel(m, n)``: a map."""
        targets = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
        if len(targets) != len(over.extents):
            raise Mistake("%d loop variables for %d extents" % (len(targets), len(over.extents)))
        if self.scope is not None:
            self.fail("an elementwise loop inside an elementwise loop", node, "name all indices in one: for i, j in T.Parallel(m, n)")

        names = [self.builder.claim(getattr(t, "id", "i")) for t in targets]
        extents = tuple(as_dim(e) for e in over.extents)
        before = dict(self.frame.names)
        self.scope = MapScope(names, extents)
        try:
            self._body(node, [(target, index_expr(name, ELEMENT)) for target, name in zip(targets, names)])
            items = self.scope.items
        finally:
            self.scope = None
        for name in list(self.frame.names):
            if self.frame.names[name] is not before.get(name):
                if name in before:
                    self.frame.names[name] = before[name]
                else:
                    del self.frame.names[name]
                    self.frame.gone[name] = "%s is known only inside the elementwise loop that sets it" % name
        if items:
            self.builder.emit({"op": "map", "index": names, "extent": [str(e) for e in extents], "body": items})
