"""Loops and branches of TileLang's style."""

from __future__ import annotations

import ast
from typing import Any, Dict, List, Optional

from ..language import _scan
from ..language._access import Reader
from ..language._arithmetic import Mistake, truth
from ..language._expr import ELEMENT, STATIC, Expr, Tile
from ..language._loops import Parallel, Range
from ..language._tilelang import Decoded

_WRITTEN_OUT_MAX = 512  # iterations of a loop inside an elementwise loop


class Control(Reader):
    """The part of the reader for ``for``, ``while`` and ``if``.

    Attributes:
        variables: element types of names made by ``T.alloc_var``, by function and name.
        outer_names: names known when the elementwise loop that is being read began.
        uniform, mirrored: the reader's.
    """

    uniform: Any
    mirrored: Any

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.variables: Dict[Any, str] = {}
        self.outer_names: Optional[Any] = None

    def read_While(self, node: ast.While) -> None:
        """``while x < n: …; x += step`` is the loop over range(x, n, step)."""
        test, last = node.test, node.body[-1]
        counts = (
            isinstance(test, ast.Compare)
            and len(test.ops) == 1
            and isinstance(test.ops[0], (ast.Lt, ast.LtE))
            and isinstance(test.left, ast.Name)
            and not node.orelse
        )
        name = test.left.id if counts else ""  # type: ignore[union-attr]
        step = _step_of(node.body, name) if counts else None
        changing = set(_scan.assigned(node.body))
        follows = step is not None and name in _scan.assigned(last)
        if (
            not follows or changing & _scan.read(test.comparators[0]) or changing & _scan.read(step)
        ):  # type: ignore[union-attr,arg-type]
            self.fail(
                "this while loop is not supported in a kernel",
                node,
                "write for i in T.serial(n); while x < n: … with x += step "
                "as its last line is one, where n and step do not change",
            )
        start = self.eval(ast.copy_location(ast.Name(name, ast.Load()), node))
        bound = self.eval(test.comparators[0])  # type: ignore[union-attr]
        if isinstance(test.ops[0], ast.LtE):  # type: ignore[union-attr]
            bound = self.operate("+", bound, 1)
        if isinstance(start, Tile):
            self.fail(
                "%s changes in a way that is not followed before this loop" % name,
                node,
                "give it a value known from sizes and the block's position",
            )
        self.variables.pop((id(self.frame), name), None)
        loop = ast.copy_location(
            ast.For(
                ast.copy_location(ast.Name(name, ast.Store()), node),
                node.test,
                node.body[:-1] or [ast.copy_location(ast.Pass(), node)],
                [],
            ),
            node,
        )
        self.frame.names.pop(name, None)
        super().loop(loop, Range(self.uniform(start), self.uniform(bound), self.eval(step)))
        self.frame.names.pop(name, None)
        self.frame.gone[name] = "%s is known only inside the loop that counts it" % name

    def loop(self, node: ast.For, over: Any) -> None:
        if isinstance(over, Decoded):
            return self._decoded_loop(node, over)
        if isinstance(over, Parallel) and self.scope is not None and len(over.extents) == 1:
            over = Range(0, over.extents[0], 1)
        if isinstance(over, Parallel):
            if len(over.extents) > 4:
                raise Mistake(
                    "an elementwise loop of %d indices" % len(over.extents), "at most 4: join two of them, and divide"
                )
            self.outer_names = set(self.frame.names)
            try:
                return super().loop(node, over)
            finally:
                self.outer_names = None
        if isinstance(over, Range) and over.kind != "now":
            over = Range(
                *[self.uniform(end) for end in (over.start, over.stop, over.step)], kind=over.kind, stages=over.stages,
                turns=over.turns,
            )
            trips = self._trips(over)
            if self.scope is not None and (trips is None or trips > _WRITTEN_OUT_MAX):
                raise Mistake(
                    "a loop of %s iterations inside an elementwise loop"
                    % ("an unknown number of" if trips is None else trips),
                    "it is written out, up to %d; make its index one of T.Parallel's, and sum with T.reduce_sum"
                    % _WRITTEN_OUT_MAX,
                )
            if self.scope is not None or (trips is not None and trips <= _WRITTEN_OUT_MAX and _only_numbers(node.body)):
                over.kind = "now"
        return super().loop(node, over)

    def _trips(self, over: Range) -> Optional[int]:
        ends = []
        for end in (over.start, over.stop, over.step):
            known = (
                end
                if isinstance(end, int)
                else end.poly.constant if isinstance(end, Expr) and end.poly is not None else None
            )
            if known is None:
                return None
            ends.append(known)
        over.start, over.stop, over.step = ends
        return len(range(*ends)) if ends[2] else None

    def _decoded_loop(self, node: ast.For, over: Decoded) -> None:
        """A loop over positions that are computed from one number."""
        position = self.builder.claim("position")
        self.frame.names[position] = over
        variable = ast.copy_location(ast.Name(position + "_at", ast.Store()), node)
        call = ast.copy_location(
            ast.Subscript(
                ast.copy_location(ast.Name(position, ast.Load()), node),
                ast.copy_location(ast.Name(variable.id, ast.Load()), node),
                ast.Load(),
            ),
            node,
        )
        first = ast.copy_location(ast.Assign([node.target], call), node)
        loop = ast.copy_location(ast.For(variable, node.iter, [first] + node.body, []), node)
        super().loop(loop, Range(self.uniform(over.start), over.total, over.step))

    def branch(self, node: ast.If, condition: Expr) -> None:
        if self.scope is None and condition.reads:
            if (
                self.mirrored(condition).level == ELEMENT
                and condition.shape in ((), (1,))
                and all(map(_can_be_elementwise, node.body + node.orelse))
            ):
                return self._elementwise_branch(node, condition)
            made = self.uniform(condition, "holds")
            condition = truth(made) if isinstance(made, Expr) else condition  # type: ignore[assignment]
        super().branch(node, condition)

    def _elementwise_branch(self, node: ast.If, condition: Expr) -> None:
        """A condition on an element of a tile around elementwise loops and numbers: each is written where it holds."""
        name = self.builder.claim("holds")
        self.frame.names[name] = self.owned(condition, name)
        for side, opposite in ((node.body, False), (node.orelse, True)):
            for statement in side:
                test: ast.expr = ast.copy_location(ast.Name(name, ast.Load()), node.test)
                if opposite:
                    test = ast.copy_location(ast.UnaryOp(ast.Not(), test), node.test)
                self.block([_under(statement, test)])
        del self.frame.names[name]

    def parallel_loop(self, node: ast.For, over: Parallel) -> None:
        static = [e if isinstance(e, int) else self.expr(e) for e in over.extents]
        for extent in static:
            if isinstance(extent, Expr) and (extent.level != STATIC or extent.poly is None):
                raise Mistake(
                    "the extent %s of an elementwise loop is not known when the kernel is compiled" % extent.text,
                    "loop over the tile's extent, and put what depends on the size under an if",
                )
        if all(extent == 1 for extent in over.extents) and self.scope is None:
            return self._once(node, over)
        super().parallel_loop(node, over)

    def _once(self, node: ast.For, over: Parallel) -> None:
        """A loop of one iteration: its indices are 0."""
        zeros = ast.copy_location(ast.Constant(0 if len(over.extents) == 1 else (0,) * len(over.extents)), node)
        first: ast.stmt = ast.copy_location(ast.Assign([node.target], zeros), node)
        variable = ast.copy_location(ast.Name(self.builder.claim("once"), ast.Store()), node)
        super().parallel_loop(
            ast.copy_location(ast.For(variable, node.iter, [first] + node.body, []), node), Parallel((1,))
        )


def _step_of(body: List[ast.stmt], name: str) -> Optional[ast.expr]:
    """By how much the body's only assignment to ``name`` changes it; ``name`` may have been given another name
    before.
    """
    step = _scan.step_of(body, name)
    last = body[-1]
    if step is not None or not (
        isinstance(last, ast.Assign) and isinstance(last.value, ast.BinOp) and isinstance(last.value.op, ast.Add)
    ):
        return step
    alias = last.value.left
    same = [
        s
        for s in body
        if isinstance(s, ast.Assign)
        and isinstance(s.value, ast.Name)
        and s.value.id == name
        and isinstance(alias, ast.Name)
        and [getattr(t, "id", "") for t in s.targets] == [alias.id]
    ]
    once = (
        isinstance(alias, ast.Name)
        and sum(alias.id in _scan.assigned(s) for s in body) == 1
        and sum(name in _scan.assigned(s) for s in body) == 1
    )
    return last.value.right if same and once else None


def _can_be_elementwise(node: ast.stmt) -> bool:
    """Whether a statement may stand under a condition that is known for each element only: a T.Parallel loop, or a
    number's assignment.
    """
    if isinstance(node, ast.For):
        return isinstance(node.iter, ast.Call) and getattr(node.iter.func, "attr", "") in ("Parallel", "parallel")
    target = (
        node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else getattr(node, "target", None)
    )
    return isinstance(node, (ast.Assign, ast.AugAssign)) and isinstance(target, ast.Name)


def _under(node: ast.stmt, test: ast.expr) -> ast.stmt:
    """A statement of that kind, done where ``test`` holds."""
    if isinstance(node, ast.For):
        inner = ast.copy_location(ast.If(test, node.body, []), node.body[0])
        return ast.copy_location(ast.For(node.target, node.iter, [inner], node.orelse), node)
    target = node.targets[0] if isinstance(node, ast.Assign) else node.target  # type: ignore[attr-defined]
    before = ast.copy_location(ast.Name(target.id, ast.Load()), node)
    value = (
        node.value if isinstance(node, ast.Assign) else ast.copy_location(ast.BinOp(before, node.op, node.value), node)
    )  # type: ignore[attr-defined]
    chosen = ast.copy_location(ast.IfExp(test, value, before), node)
    return ast.copy_location(ast.Assign([target], chosen), node)


def _only_numbers(body: List[ast.stmt]) -> bool:
    """Whether statements do nothing but compute numbers: such a loop is done while the kernel is read."""
    for statement in body:
        if isinstance(statement, (ast.Assign, ast.AugAssign)):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            if not all(isinstance(target, ast.Name) for target in targets):
                return False
        elif isinstance(statement, ast.If):
            if not (_only_numbers(statement.body) and _only_numbers(statement.orelse)):
                return False
        elif not isinstance(statement, ast.Pass):
            return False
    return bool(_scan.assigned(body))
