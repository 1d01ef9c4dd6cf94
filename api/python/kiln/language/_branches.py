"""Branches: what a name means where two ways meet, and how a function returns."""

from __future__ import annotations

import ast
import re
from typing import Any, Callable, Dict, List, Optional, Sequence, Set

from . import _scan
from ._arithmetic import Mistake, is_number, where
from ._expr import ELEMENT, STATIC, UNIFORM, BlockPointer, Expr, Pointer, Poly, Tile, Transposed
from ._meeting import Meeting, Side, Unlike
from ._memory import Memory, describe
from ._predication import Predication

Statements = List[Dict[str, Any]]

RESULT = "return"  # what the function gives, among the names of its frame: no name of the author's can be this word

_RETURN = "return inside a loop or branch"
_RETURN_HINT = "put the rest under the opposite if; a loop runs to its end: mask what is over"


class Frame:
    """The names of one function that is being read.

    Attributes:
        carried: names whose values live in a tile of their own for the length of a loop or branch.
        loose: those of them that a branch alone carries: they may become something else in it.
        gone: names that meant something inside a loop or branch, and why they no longer do.
        hints: what to do about it, where that is special.
        borrowed: parameters whose tiles are the caller's: copied before they are changed.
        ends: nothing of the function follows the block that is being read.
        stays: a return here would leave a loop or branch behind which something follows.
        ways: how many branches that are decided later stand around what is being read.
    """

    def __init__(self, source: Any) -> None:
        self.source = source
        self.names: Dict[str, Any] = {}
        self.carried: Dict[str, Tile] = {}
        self.loose: Set[str] = set()
        self.gone: Dict[str, str] = {}
        self.hints: Dict[str, str] = {}
        self.borrowed: Set[str] = set()
        self.result: Any = None
        self.returned = False
        self.ends, self.stays, self.ways = True, False, 0


class Branches(Memory):
    """The part of the tracer for ``if`` and ``return``."""

    frame: Frame
    block: Callable[[List[ast.stmt]], None]
    owned: Callable[[Any, str], Any]
    let: Callable[[Expr, str], Expr]
    fail: Callable[..., None]

    # -- return

    def leaving(self, node: ast.If, condition: Any, rest: List[ast.stmt]) -> None:
        """An ``if`` with a return, at the end of a function: what follows stands on each way that comes there."""
        then, otherwise = _until_return(node.body, rest), _until_return(node.orelse, rest)
        if isinstance(condition, bool):
            return self.block(then if condition else otherwise)
        nothing: List[ast.stmt] = [ast.copy_location(ast.Pass(), node)]
        self.branch(ast.copy_location(ast.If(node.test, then or nothing, otherwise), node), condition)
        return None

    def returns(self, node: ast.Return, value: Any) -> None:
        """The function ends here, with a value or None."""
        frame = self.frame
        if frame.stays:
            self.fail(_RETURN, node, _RETURN_HINT)
        if frame.ways:
            frame.names[RESULT] = self.owned(value, "result")
        else:
            frame.result = value
        frame.returned = True

    # -- if

    def branch(self, node: ast.If, condition: Expr) -> None:
        """An ``if`` that is decided when the kernel is compiled or runs, the same for the whole block."""
        if self.scope is not None:
            return self._guarded(node, condition)
        if condition.shape:
            raise Mistake("an if on the elements of a tile", "tl.where(condition, a, b) chooses elementwise")
        decided = self._decided(condition)
        if decided is not None:
            return self.block(node.body if decided else node.orelse)
        computed = condition.level == ELEMENT or self._written(condition)
        if condition.level == STATIC and not self.builder.is_bound(condition.text):
            chosen = self.builder.tunable("choice", "1 if %s else 0" % condition.text)
            condition = Expr("bool", "%s == 1" % chosen, (), STATIC)
        elif computed and condition.reads:
            made = self.tile(condition, "holds", "fragment")
            made.fresh = False
            condition = made.read()
        elif condition.reads:
            condition = self.let(condition, "holds")
        frame = self.frame
        carried, loose = dict(frame.carried), set(frame.loose)
        self._carry_tiles(_scan.assigned(node.body + node.orelse))
        start = dict(frame.names)
        static = condition.level == STATIC
        then = self._way(node, node.body, condition.text if static else None)
        frame.names = dict(start)
        if not static:
            self._carry_new(node, then, start)
        otherwise = self._way(node, node.orelse, "!(%s)" % condition.text if static else None)
        frame.carried, frame.loose = carried, loose
        self._meet(node, Meeting(self, condition, (then, otherwise)))
        if computed:
            return self._predicated(condition, then, otherwise)
        self._emit_if(condition, then.statements, otherwise.statements)
        return None

    def _decided(self, condition: Expr) -> Optional[bool]:
        """Whether a comparison holds, or not, for all blocks of a grid of numbers and all iterations around it.

        What the engine knows never to run writes no tile, and a tile that nothing writes is a mistake.
        """
        if condition.reads or condition.level != UNIFORM or "cast(" in condition.text:  # a cast may wrap
            return None
        equal = re.fullmatch(r"([^=!<>&|]+) ([=!])= ([^=!<>&|]+)", condition.text)
        if equal:
            found = self.views.ranges.fixed(Poly.of("(%s)" % equal[1]) - Poly.of("(%s)" % equal[3]))
            return None if found is None or found[0] <= 0 <= found[1] else equal[2] == "!"
        if not condition.bounds:
            return None
        ranges = [self.views.ranges.fixed(low - high) for low, high in condition.bounds]
        if any(found is not None and found[0] >= 0 for found in ranges):
            return False
        return True if all(found is not None and found[1] < 0 for found in ranges) else None

    def _carry_tiles(self, assigned: Sequence[str]) -> None:
        """Names of tiles are changed in place, so that both ways end with the same tile."""
        frame = self.frame
        for name in assigned:
            value = frame.names.get(name)
            if isinstance(value, Tile) and value.by_value and name not in frame.carried:
                frame.carried[name] = self.separate(name, value)
                frame.loose.add(name)

    def _carry_new(self, node: ast.If, then: Side, start: Dict[str, Any]) -> None:
        """What the first way made, the second one writes too."""
        frame = self.frame
        for name, value in then.names.items():
            new = name not in start and isinstance(value, Tile) and value.by_value and name not in frame.carried
            if new and self.read_behind(node, name):
                frame.carried[name] = value
                frame.loose.add(name)

    def _way(self, node: ast.If, body: List[ast.stmt], condition: Optional[str]) -> Side:
        """Reads one side of an ``if``."""
        frame, statements = self.frame, []  # type: ignore[var-annotated]
        before = {tile.name for tile in self.builder.tiles}
        stays, frame.stays = frame.stays, frame.stays or not frame.ends
        frame.ways += 1
        self.builder.open(statements)
        if condition is not None:
            self.builder.push_condition(condition)
        self.block(body)
        if condition is not None:
            self.builder.pop_condition()
        self.builder.close()
        frame.ways -= 1
        frame.stays = stays
        if frame.ends and _scan.returns(node) and not frame.returned:
            frame.names.setdefault(RESULT, None)
        frame.returned = False
        return Side(frame.names, statements, {tile.name for tile in self.builder.tiles} - before)

    def _emit_if(self, condition: Expr, then: Statements, otherwise: Statements) -> None:
        if not then and not otherwise:
            return
        statement: Dict[str, Any] = {"op": "if", "condition": condition.text, "then": then or [{"op": "sync"}]}
        if otherwise:
            statement["else"] = otherwise
        self.builder.emit(statement)

    def _predicated(self, condition: Expr, then: Side, otherwise: Side) -> None:
        """A condition that only elements of tiles tell: both ways are gone; what each writes is kept where it holds."""
        if not condition.reads and (then.statements or otherwise.statements):
            raise Mistake("an if around statements, on a value that a function of two values is given",
                          "tl.where(condition, a, b)")
        for side, text in ((then, condition.text), (otherwise, "!%s" % condition.grouped)):
            self.builder.append(Predication(self.builder, self.views, text, side.made).under(side.statements))

    # -- where two ways meet

    def read_behind(self, node: ast.stmt, name: str) -> bool:
        return name == RESULT or _scan.read_outside(self.frame.source.tree, node, name)

    def _meet(self, node: ast.If, meeting: Meeting) -> None:
        """The names behind an ``if``."""
        frame = self.frame
        first, second = (side.names for side in meeting.sides)
        frame.names = {}
        for name in list(first) + [n for n in second if n not in first]:
            if name in first and name in second:
                a, b = first[name], second[name]
                if a is b:
                    frame.names[name] = a
                elif self.read_behind(node, name):
                    self._join(name, meeting, a, b)
                else:
                    frame.gone[name] = "%s is set differently in the branches of an if" % name
                continue
            only = first.get(name, second.get(name))
            if isinstance(only, Tile):
                frame.names[name] = only
            else:
                frame.gone[name] = "%s is set in one branch of an if only" % name

    def _join(self, name: str, meeting: Meeting, a: Any, b: Any) -> None:
        frame = self.frame
        try:
            frame.names[name] = meeting.joined("result" if name == RESULT else name, a, b)
        except Unlike as why:
            if name == RESULT:
                raise Mistake("this function returns %s" % why, "return values of one kind on every way") from None
            frame.gone[name], frame.hints[name] = "%s is %s" % (name, why), why.hint

    # -- tiles that other names are computed from

    def dependents(self, tile: Tile) -> List[str]:
        """Names that are not put into memory and mean elements of this tile: its transpose, pointers that it counts."""
        return [name for name, value in self.frame.names.items() if value is not tile and _depends(value, tile)]

    def separate(self, name: str, value: Tile) -> Tile:
        """The tile of a name that is about to be changed: its own, not the caller's, and no other name's."""
        if name in self.frame.borrowed or value.aliased or self.dependents(value):
            self.frame.borrowed.discard(name)
            value = self.frame.names[name] = self.tile(value.read(), name)
            value.fresh = False
        return value

    # -- inside elementwise loops

    def _guarded(self, node: ast.If, condition: Expr) -> None:
        """Inside an elementwise loop: assignments under a condition."""
        assert self.scope is not None
        frame = self.frame
        if condition.reads:
            condition = self.owned(condition, "holds")  # as it is now: the first way may change what it reads
        results, stays, leaves = [], frame.stays, frame.ends and _scan.returns(node)
        frame.stays = frame.stays or not frame.ends
        frame.ways += 1
        opposite = Expr("bool", "!(%s)" % condition.text, (), ELEMENT, None, condition.reads)
        for side, test in ((node.body, condition), (node.orelse, opposite)):
            self.scope.conditions.append(test)
            self.block(side)
            self.scope.conditions.pop()
            results.append(frame.names.pop(RESULT, None))
            frame.returned = False
        frame.ways -= 1
        frame.stays = stays
        if leaves:
            frame.names[RESULT] = self._either(condition, results[0], results[1])

    def _either(self, condition: Expr, a: Any, b: Any) -> Any:
        """What a function returns in an elementwise loop, on two ways."""
        if a is b:
            return a
        if isinstance(a, (tuple, list)) and type(a) is type(b) and len(a) == len(b):
            return type(a)(self._either(condition, x, y) for x, y in zip(a, b))
        if not all(is_number(x) or isinstance(x, Expr) for x in (a, b)):
            raise Mistake("this function returns %s on one way and %s on another" % (describe(a), describe(b)),
                          "return values of one kind on every way")
        return where(condition, a, b)


def _until_return(side: List[ast.stmt], rest: List[ast.stmt]) -> List[ast.stmt]:
    """The side and what follows it, as far as it comes: a return without a value is the end itself."""
    for position, statement in enumerate(side):
        if isinstance(statement, ast.Return):
            value = statement.value
            bare = value is None or isinstance(value, ast.Constant) and value.value is None
            return side[:position] + ([] if bare else [statement])
    return side + rest


def _depends(value: Any, tile: Tile) -> bool:
    if isinstance(value, Transposed):
        return value.of is tile or getattr(value.of, "of", None) is tile
    if isinstance(value, Pointer):
        return tile.name in value.offset.reads
    if isinstance(value, BlockPointer):
        return any(tile.name in e.reads for e in list(value.offsets) + [value.base])
    return isinstance(value, (tuple, list)) and any(_depends(v, tile) for v in value)
