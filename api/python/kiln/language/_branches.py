"""Branches: what a name means where two ways meet, and how a function returns."""

from __future__ import annotations

import ast
import re
from typing import Any, Callable, Dict, List, Optional, Sequence, Set, Tuple

from . import _scan
from ._arithmetic import FLOATS, Mistake, cast, index_of, is_number, promoted, same_shape, shape_text, where
from ._expr import ELEMENT, STATIC, BlockPointer, Expr, Param, Pointer, Tile, Transposed, index_expr
from ._memory import Memory, describe
from ._predication import Predication, declared
from ._types import DTYPES

Statements = List[Dict[str, Any]]

RESULT = "return"  # what the function gives, among the names of its frame: no name of the author's can be this word

_RETURN = "return inside a loop or branch"
_RETURN_HINT = "put the rest under the opposite if; a loop runs to its end: mask what is over"


class Frame:
    """The names of one function that is being read.

    Attributes:
        carried: names whose values live in a tile of their own for the length of a loop or branch.
        loose: those of them that a branch alone carries: they may become something else in it.
        gone: names that meant something inside a loop or branch, and why they no longer do; hints: what to do about it, where that is special.
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


class Side:
    """One way of a branch: its statements, the names at its end, and the tiles that were made in it."""

    def __init__(self, names: Dict[str, Any], statements: Statements, made: Set[str]) -> None:
        self.names, self.statements, self.made = names, statements, made


class _Unlike(Exception):
    """Why a name's values on two ways have no common one."""

    def __init__(self, told: str, hint: str = "give it values of one shape and element type on both ways") -> None:
        super().__init__(told)
        self.hint = hint


class Branches(Memory):
    """The part of the tracer for ``if`` and ``return``."""

    frame: Frame
    block: Callable[[List[ast.stmt]], None]
    owned: Callable[[Any, str], Any]
    let: Callable[[Expr, str], Expr]
    fail: Callable[..., None]

    # -- return

    def leaving(self, node: ast.If, condition: Any, rest: List[ast.stmt]) -> None:
        """An ``if`` with a return inside, at the end of a function: what follows stands on each way that comes there."""
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
        self._meet(node, condition, then, otherwise, computed)
        if computed:
            return self._predicated(condition, then, otherwise)
        self._emit_if(condition, then.statements, otherwise.statements)
        return None

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
            if name not in start and isinstance(value, Tile) and value.by_value and name not in frame.carried and self._read_behind(node, name):
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
        """A condition that only elements of tiles tell: both ways are gone, and each keeps what it writes where it holds."""
        if not condition.reads and (then.statements or otherwise.statements):
            raise Mistake("an if around statements, on a value that a function of two values is given", "tl.where(condition, a, b)")
        for side, text in ((then, condition.text), (otherwise, "!%s" % condition.grouped)):
            self.builder.append(Predication(self.builder, self.views, text, side.made).under(side.statements))

    # -- where two ways meet

    def _read_behind(self, node: ast.stmt, name: str) -> bool:
        return name == RESULT or _scan.read_outside(self.frame.source.tree, node, name)

    def _meet(self, node: ast.If, condition: Expr, then: Side, otherwise: Side, computed: bool) -> None:
        """The names behind an ``if``."""
        frame = self.frame
        first, second = then.names, otherwise.names
        frame.names = {}
        for name in list(first) + [n for n in second if n not in first]:
            if name in first and name in second:
                a, b = first[name], second[name]
                if a is b:
                    frame.names[name] = a
                    continue
                if not self._read_behind(node, name):
                    frame.gone[name] = "%s is set differently in the branches of an if" % name
                    continue
                try:
                    frame.names[name] = self._joined("result" if name == RESULT else name, condition, a, b, (then, otherwise), computed)
                except _Unlike as why:
                    if name == RESULT:
                        raise Mistake("this function returns %s" % why, "return values of one kind on every way") from None
                    frame.gone[name], frame.hints[name] = "%s is %s" % (name, why), why.hint
                continue
            only = first.get(name, second.get(name))
            if isinstance(only, Tile):
                frame.names[name] = only
            else:
                frame.gone[name] = "%s is set in one branch of an if only" % name

    def _joined(self, name: str, condition: Expr, a: Any, b: Any, sides: Tuple[Side, Side], computed: bool, wide: bool = False) -> Any:
        """One value for two: a number, an expression that chooses, or a tile that both ways write.

        Args:
            wide: whole numbers are places of memory, of 64 bits.
        Raises:
            _Unlike: there is none; the text says what the two are.
        """
        if a is b or is_number(a) and type(a) is type(b) and (a == b or a != a and b != b):
            return a
        if isinstance(a, (tuple, list)) and type(a) is type(b) and len(a) == len(b):
            return type(a)(self._joined(name, condition, x, y, sides, computed, wide) for x, y in zip(a, b))
        if isinstance(a, (Pointer, Param)) and isinstance(b, (Pointer, Param)):
            return self._joined_pointers(name, condition, a, b, sides, computed)
        if isinstance(a, BlockPointer) and isinstance(b, BlockPointer):
            return self._joined_blocks(name, condition, a, b, sides, computed)
        values = (Expr, Transposed)
        if not all(is_number(x) or isinstance(x, values) or isinstance(x, Tile) and x.by_value for x in (a, b)):
            try:
                if bool(a == b):
                    return a
            except Exception:  # noqa: BLE001 - values of any type, with any notion of equality
                pass
            raise _Unlike("%s in one branch of an if and %s in the other" % (describe(a), describe(b)))
        local = [declared(side.statements) for side in sides]
        if all(is_number(x) or isinstance(x, Expr) and not x.reads and not _words(x) & names for x, names in zip((a, b), local)) \
                and not (computed and condition.reads):
            if not same_shape(getattr(a, "shape", ()), getattr(b, "shape", ())):
                raise _Unlike("of shape %s in one branch of an if and of shape %s in the other" % (_shape(a), _shape(b)))
            return self._chosen(name, condition, a, b)
        return self._joined_tile(name, a, b, sides, condition.level == STATIC, wide)

    def _chosen(self, name: str, condition: Expr, a: Any, b: Any) -> Any:
        merged = where(condition, a, b)
        if condition.level == STATIC and isinstance(merged, Expr) and merged.dtype == "index" and not merged.shape and merged.level == STATIC:
            return index_expr(self.builder.tunable(name, merged.text), STATIC)
        return merged

    def _joined_tile(self, name: str, a: Any, b: Any, sides: Tuple[Side, Side], static: bool, wide: bool) -> Any:
        """A tile that each way writes at its end."""
        shape, other = getattr(a, "shape", ()), getattr(b, "shape", ())
        if not same_shape(shape, other):
            raise _Unlike("of shape %s in one branch of an if and of shape %s in the other" % (_shape(a), _shape(b)))
        dtype = _common_type(a, b)
        if dtype == "index":
            dtype = "i64" if wide else "i32"
        reused = isinstance(a, Tile) and a.name in sides[0].made and a.dtype == dtype and not static and not self.dependents(a)
        made = a if reused else self.builder.alloc(name, "shared" if name in self.product_names else "fragment", dtype, shape, True)
        made.fresh = False
        for side, value in zip(sides, (a, b)):
            if value is not made:
                self.builder.open(side.statements)
                self.write(made, value if isinstance(value, Tile) else cast(self.expr(value), dtype))
                self.builder.close()
        return made

    def _joined_pointers(self, name: str, condition: Expr, a: Any, b: Any, sides: Tuple[Side, Side], computed: bool) -> Any:
        one, other = (x if isinstance(x, Pointer) else Pointer(x, index_expr(0, STATIC)) for x in (a, b))
        if one.param is not other.param or isinstance(a, Param) and a.mode == "axes" or isinstance(b, Param) and b.mode == "axes":
            raise _Unlike("a pointer to %s in one branch of an if and to %s in the other" % (one.param.name, other.param.name),
                          "load in each branch, and use behind it what was loaded")
        self.use_flat(one.param)
        return Pointer(one.param, self._joined_place(name + "_at", condition, one.offset, other.offset, sides, computed))

    def _joined_blocks(self, name: str, condition: Expr, a: BlockPointer, b: BlockPointer, sides: Tuple[Side, Side], computed: bool) -> Any:
        told = [[x.param, x.block] + [e.text for e in list(x.shape) + list(x.strides)] for x in (a, b)]
        if told[0] != told[1]:
            raise _Unlike("a block pointer to %s in one branch of an if and to %s in the other, or of another shape" % (a.param.name, b.param.name))
        places = [self._joined_place(name + "_at", condition, x, y, sides, computed)
                  for x, y in zip(list(a.offsets) + [a.base], list(b.offsets) + [b.base])]
        return BlockPointer(a.param, a.shape, a.strides, places[:-1], a.block, places[-1])

    def _joined_place(self, name: str, condition: Expr, a: Expr, b: Expr, sides: Tuple[Side, Side], computed: bool) -> Expr:
        if a.text == b.text and same_shape(a.shape, b.shape) and not a.reads | b.reads and not _words(a) & declared(sides[0].statements):
            return a
        return index_of(self.operand(self._joined(name, condition, a, b, sides, computed, True)))

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
        for side, test in ((node.body, condition), (node.orelse, Expr("bool", "!(%s)" % condition.text, (), ELEMENT, None, condition.reads))):
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
            raise Mistake("this function returns %s on one way and %s on another" % (describe(a), describe(b)), "return values of one kind on every way")
        return where(condition, a, b)


def _until_return(side: List[ast.stmt], rest: List[ast.stmt]) -> List[ast.stmt]:
    """The side and what follows it, as far as it comes: a return without a value is the end itself."""
    for position, statement in enumerate(side):
        if isinstance(statement, ast.Return):
            bare = statement.value is None or isinstance(statement.value, ast.Constant) and statement.value.value is None
            return side[:position] + ([] if bare else [statement])
    return side + rest


def _words(value: Expr) -> Set[str]:
    return set(re.findall(r"[A-Za-z_]\w*", value.text))


def _shape(value: Any) -> str:
    return shape_text(getattr(value, "shape", ()))


def _common_type(a: Any, b: Any) -> str:
    """The element type of a tile that takes either value."""
    one, other = _type_beside(a, b), _type_beside(b, a)
    if one == other:
        return one
    kinds = ["i32" if kind == "bool" else kind for kind in (one, other)]
    if "index" in kinds:
        element = kinds[kinds[0] == "index"]
        return element if element in FLOATS + ("i32", "u32", "i64", "u64") else "index"
    return promoted(*kinds)


def _type_beside(value: Any, other: Any) -> str:
    """A value's element type; a number takes that of the other value, if it fits."""
    if not is_number(value):
        return "i32" if value.dtype is None else str(value.dtype)
    if isinstance(value, bool):
        return "bool"
    kind = "bool" if is_number(other) else str(other.dtype)
    if isinstance(value, float):
        return kind if kind in FLOATS else "f32"
    if kind in FLOATS:
        return kind
    bits = 0 if kind in ("bool", "index") else 8 * DTYPES[kind].bytes
    low, high = (0, 2 ** bits) if kind.startswith("u") else (-(2 ** bits // 2), 2 ** bits // 2)
    return kind if low <= value < high else "index"


def _depends(value: Any, tile: Tile) -> bool:
    if isinstance(value, Transposed):
        return value.of is tile or getattr(value.of, "of", None) is tile
    if isinstance(value, Pointer):
        return tile.name in value.offset.reads
    if isinstance(value, BlockPointer):
        return any(tile.name in e.reads for e in list(value.offsets) + [value.base])
    return isinstance(value, (tuple, list)) and any(_depends(v, tile) for v in value)
