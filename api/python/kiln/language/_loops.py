"""Loops and branches: what a name means when control flow meets."""

from __future__ import annotations

import ast
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

from . import _scan
from ._arithmetic import Mistake, as_dim, binary, cast, ceildiv, constant, index_of, is_number, truth, where
from ._expr import ELEMENT, STATIC, UNIFORM, BlockPointer, Expr, Param, Pointer, Poly, Tile, Transposed, index_expr, mentions
from ._memory import MapScope, Memory, describe
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


class Frame:
    """The names of one function that is being read."""

    def __init__(self, source: Any) -> None:
        self.source = source
        self.names: Dict[str, Any] = {}
        self.carried: Dict[str, Tile] = {}   # names whose values live in a tile of their own for the length of a loop
        self.gone: Dict[str, str] = {}       # names that meant something inside a loop or branch, and why they no longer do
        self.borrowed: Set[str] = set()      # parameters whose tiles are the caller's: copied before they are changed
        self.result: Any = None
        self.returned = False


_TRIPS_MAX = 4096  # iterations of a loop that is run while the kernel is read


class Loops(Memory):
    """The part of the tracer for ``for`` and ``if``."""

    frame: Frame

    # -- for

    def loop(self, node: ast.For, over: Any) -> None:
        if node.orelse:
            self.fail("for … else is not supported in a kernel", node.orelse[0], "write the else part behind the loop")
        if isinstance(over, Parallel):
            return self.parallel_loop(node, over)
        if isinstance(over, Range) and over.kind != "now":
            return self.range_loop(node, over)
        if isinstance(over, Range):
            values = self._values_now(over)
        elif isinstance(over, (list, tuple, range)):
            values = list(over)
        else:
            raise Mistake("a loop over %s" % describe(over), "loops run over range, tl.range, tl.static_range, tl.pipelined or a tuple")
        if len(values) > _TRIPS_MAX:
            raise Mistake("%d iterations are too many to write out" % len(values), "use range")
        for value in values:
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
        self.bind(node.target, index)
        origins: List[int] = []  # of the body's statements: which of the source's each comes from
        if over.turns is None:
            self.block(node.body)
        else:
            for number, part in enumerate(node.body):
                self.block([part])
                origins += [number] * (len(body) - len(origins))
        self.builder.close()
        if over.kind == "serial" and any(s["op"] == "gemm" for s in body):
            statement["kind"] = "pipelined"  # changes no meaning, and lets lowering fetch ahead
        if over.turns is not None and body:
            statement.update(over.turns.schedule(origins))
        if not statement["body"]:
            statement["body"] = [{"op": "sync"}]
        self._leave(node, before, low, high, step, variable)

    def _enter(self, node: ast.For, low: Expr, index: Expr, step: Expr) -> Dict[str, Any]:
        """Prepares the names that the body changes; gives what is needed to leave again."""
        frame = self.frame
        before: Dict[str, Any] = {"names": dict(frame.names), "carried": dict(frame.carried), "steps": {}}
        for name in _scan.assigned(node.body):
            if name not in frame.names:
                continue
            value = frame.names[name]
            if not (_scan.read_before_assigned(node.body, name) or _scan.read_outside(frame.source.tree, node, name)):
                frame.carried.pop(name, None)
                continue
            if name in frame.carried:
                continue
            advance = self._advance(node, name, value)
            if advance is not None:
                before["steps"][name] = advance
                frame.names[name] = self.advanced(value, advance, lambda amount: self._grown(amount, index, low, step))
            elif isinstance(value, Tile):
                if value.by_value:
                    frame.carried[name] = self._own(name, value)
            elif is_number(value) or isinstance(value, Expr):
                frame.names[name] = frame.carried[name] = self._carrier(node, name, value)
            elif isinstance(value, Transposed):
                frame.names[name] = frame.carried[name] = self.tile(self.expr(value), name)
            elif isinstance(value, (Pointer, BlockPointer)):
                self.fail("the pointer %s changes in this loop in a way that is not followed" % name, node,
                          "advance it once an iteration by the same amount: %s += step" % name)
            elif _scan.read_before_assigned(node.body, name):
                self.fail("%s changes in this loop, and is %s" % (name, describe(value)), node, "a loop changes numbers, tiles and pointers")
        return before

    def _own(self, name: str, value: Tile) -> Tile:
        """The tile of a name that is about to be changed: its own, not the caller's."""
        if name in self.frame.borrowed or value.aliased:
            self.frame.borrowed.discard(name)
            value = self.frame.names[name] = self.tile(value.read(), name)
            value.fresh = False
        return value

    def _carrier(self, node: ast.For, name: str, value: Any) -> Tile:
        """A tile for a number that the loop changes."""
        expr = self.expr(value)
        if expr.dtype == "index" and is_number(value) and self._becomes_float(node.body, name):
            expr = constant(float(value))
        return self.tile(expr, name)

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
        if not (isinstance(value, (int, Pointer, BlockPointer)) or (isinstance(value, Expr) and value.dtype == "index" and not value.reads)):
            return None
        if isinstance(value, bool):
            return None
        step = _scan.step_of(node.body, name)
        changing = set(_scan.assigned(node.body)) | {getattr(node.target, "id", "")}
        if step is None or _scan.read(step) & changing:
            return None
        amount = self.eval(step)
        if isinstance(value, BlockPointer):
            return amount
        if is_number(amount):
            return amount if isinstance(amount, int) else None
        expr = self.expr(amount)
        return expr if expr.dtype not in ("f16", "bf16", "f32", "f64", "bool") and not expr.reads else None

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
        return binary("+", value, grown(amount))

    def _leave(self, node: ast.For, before: Dict[str, Any], low: Expr, high: Expr, step: Expr, variable: str) -> None:
        frame = self.frame
        frame.carried = before["carried"]
        for name, value in list(frame.names.items()):
            if name in before["steps"]:
                trips = binary("max", ceildiv(binary("-", high, low), step), 0)
                frame.names[name] = self.advanced(before["names"][name], before["steps"][name], lambda amount, n=trips: binary("*", amount, n))
            elif self._names_variable(value, variable):
                del frame.names[name]
                frame.gone[name] = "%s is known only inside the loop that sets it" % name

    def _names_variable(self, value: Any, variable: str) -> bool:
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
            for target, name in zip(targets, names):
                self.bind(target, index_expr(name, ELEMENT))
            self.block(node.body)
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

    # -- if

    def branch(self, node: ast.If, condition: Expr) -> None:
        """An ``if`` that is decided when the kernel is compiled or runs, the same for the whole block."""
        if self.scope is not None:
            return self._guarded(node, condition)
        if condition.shape or condition.level == ELEMENT:
            raise Mistake("an if on the elements of a tile", "tl.where(condition, a, b) chooses elementwise")
        if condition.level == STATIC:
            chosen = self.builder.tunable("choice", "1 if %s else 0" % condition.text)
            condition = Expr("bool", "%s == 1" % chosen, (), STATIC)
        frame = self.frame
        start, carried = dict(frame.names), dict(frame.carried)
        for name, value in start.items():
            if isinstance(value, Tile) and value.by_value and name in _scan.assigned(node.body + node.orelse):
                frame.carried.setdefault(name, self._own(name, value))
                start[name] = frame.names[name]
        then = self._side(node.body, condition.text, condition.level == STATIC)
        first, frame.names = frame.names, dict(start)
        for name, value in first.items():
            if isinstance(value, Tile) and value.by_value and start.get(name) is not value:
                frame.carried[name] = value
                if name in start and (is_number(start[name]) or isinstance(start[name], Expr)):
                    frame.names[name] = start[name]
        otherwise = self._side(node.orelse, "!(%s)" % condition.text, condition.level == STATIC, first, start)
        second, frame.carried = frame.names, carried
        statement: Dict[str, Any] = {"op": "if", "condition": condition.text, "then": then}
        if otherwise:
            statement["else"] = otherwise
        if then or otherwise:
            if not then:
                statement["then"] = [{"op": "sync"}]
            self.builder.emit(statement)
        frame.names = {name: self._merged(name, condition, first, second) for name in list(first) + [n for n in second if n not in first]}
        frame.names = {name: value for name, value in frame.names.items() if value is not _GONE}
        for name in set(first) | set(second):
            if name not in frame.names:
                frame.gone[name] = "%s is set in one branch of an if only, or differently in both" % name

    def _side(self, body: List[ast.stmt], condition: str, static: bool, first: Optional[Dict[str, Any]] = None,
              start: Optional[Dict[str, Any]] = None) -> List[Dict[str, Any]]:
        statements: List[Dict[str, Any]] = []
        self.builder.open(statements)
        if static:
            self.builder.push_condition(condition)
        assigned = _scan.assigned(body)
        for name, value in (first or {}).items():
            initial = (start or {}).get(name)
            if isinstance(value, Tile) and value.by_value and name not in assigned and value is not initial \
                    and (is_number(initial) or isinstance(initial, Expr)):
                self.write(value, initial)
                self.frame.names[name] = value
        self.block(body)
        if static:
            self.builder.pop_condition()
        self.builder.close()
        return statements

    def _merged(self, name: str, condition: Expr, first: Dict[str, Any], second: Dict[str, Any]) -> Any:
        """What a name means behind an if."""
        a, b = first.get(name, _GONE), second.get(name, _GONE)
        if a is b or b is _GONE or a is _GONE:
            return a if a is b or b is _GONE and isinstance(a, Tile) else b if a is _GONE and isinstance(b, Tile) else _GONE
        plain = [is_number(x) or (isinstance(x, Expr) and not x.reads) for x in (a, b)]
        if not all(plain):
            try:
                return a if a == b else _GONE
            except Exception:  # noqa: BLE001 - values of any type, with any notion of equality
                return _GONE
        if is_number(a) and is_number(b) and a == b and type(a) is type(b):
            return a
        merged = where(condition, a, b)
        if condition.level == STATIC and isinstance(merged, Expr) and merged.dtype == "index" and not merged.shape and merged.level == STATIC:
            return index_expr(self.builder.tunable(name, merged.text), STATIC)
        return merged

    def _guarded(self, node: ast.If, condition: Expr) -> None:
        """Inside an elementwise loop: assignments under a condition."""
        assert self.scope is not None
        for side, test in ((node.body, condition), (node.orelse, cast(Expr("bool", "!(%s)" % condition.text, (), ELEMENT), "bool"))):
            self.scope.conditions.append(test)
            self.block(side)
            self.scope.conditions.pop()


class _Gone:
    pass


_GONE: Any = _Gone()
