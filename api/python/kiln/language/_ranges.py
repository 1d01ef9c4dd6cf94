"""What values an index takes over all blocks and iterations, at the sizes at hand."""

from __future__ import annotations

import ast
import itertools
import re
from typing import Any, Dict, Optional, Sequence, Set, Tuple

from ._builder import Builder
from ._expr import Expr, Poly

_WORD = re.compile(r"[A-Za-z_][\w.]*")
_POINTS_MAX = 1 << 16   # evaluated for one index
_PROGRAMS_MAX = 2 ** 31 - 1
_CALLS = {
    "ceildiv": lambda a, b: -(-a // b)
    if b else 0, "min": min, "max": max, "cast": lambda x, _: x, "true": True, "false": False}
_TYPES = ("index", "i64", "i32", "u32", "u64")


class Ranges:
    """Ranges of program ids and loop variables.

    Args:
        grid: the launch's extents; None where they are inferred later.

    Attributes:
        used: symbols whose values answers depend on.
    """

    def __init__(self, builder: Builder, grid: Optional[Sequence[Any]]) -> None:
        self._builder = builder
        self._counted = grid is not None and all(isinstance(count, int) for count in grid)
        self._boxes: Dict[str, Tuple[int, int, int]] = {}   # variable -> least, largest value, step
        self.used: Set[str] = set()
        self._words: Dict[str, Set[str]] = {}   # variable -> symbols that its box depends on
        self._found: Dict[str, Tuple[Optional[Tuple[int, int]], Set[str]]] = {}
        self._upwards: Set[str] = set()         # loop variables that begin at no negative number
        for axis, word in enumerate(("bid.x", "bid.y", "bid.z")):
            count = grid[axis] if grid is not None and axis < len(grid) else 1 if grid is not None else None
            value = builder.value_of(count.poly) if isinstance(count, Expr) and count.poly is not None else count
            self._boxes[word] = (0, max(value - 1, 0) if isinstance(value, int) else _PROGRAMS_MAX, 1)

    def loop(self, variable: str, low: Expr, high: Expr, step: Expr) -> None:
        """Notes what a loop runs over, before its body is read."""
        if low.poly is not None and self._signed(low.poly):
            self._upwards.add(variable)
        (first, of_first), (last, of_last) = self._of(low), self._of(high)
        self._words[variable] = of_first | of_last
        size = self._builder.value_of(step.poly) if step.poly is not None else None
        if first is None or last is None or size is None or size < 1:
            return
        if first[0] == first[1]:
            top = first[0] + max(last[1] - 1 - first[0], 0) // size * size
            self._boxes[variable] = (first[0], top, size)
        else:
            self._boxes[variable] = (first[0], max(last[1] - 1, first[0]), 1)

    def _of(self, value: Expr) -> Tuple[Optional[Tuple[int, int]], Set[str]]:
        return self._extremes(value.poly) if value.poly is not None and not value.reads else (None, set())

    # -- signs

    def never_negative(self, poly: Poly) -> bool:
        """Whether an index is surely not negative: by its form, for all sizes; else by its range at the sizes at hand,
        which are used from then on. Sizes that are arguments of the launch decide nothing."""
        if self._signed(poly):
            return True
        over = {key: factor for key, factor in poly.terms.items() if any("$" in atom for atom in key)}  # a tile's axes
        if over:
            return all(factor > 0 and all(self._atom(atom) or "$" not in atom and self.never_negative(Poly.of(atom))
                                          for atom in key)
                       for key, factor in over.items()) \
                and self.never_negative(Poly({key: factor for key, factor in poly.terms.items() if key not in over}))
        found, words = self._extremes(poly)
        if found is None or found[0] < 0 or any(self._builder.symbols.get(w, {}).get("dynamic") for w in words):
            return False
        self.used |= words
        return True

    def _signed(self, poly: Poly) -> bool:
        return all(factor > 0 and all(self._atom(atom) for atom in key) for key, factor in poly.terms.items())

    def _atom(self, text: str) -> bool:
        """Whether an atom is never negative."""
        if re.fullmatch(r"\$\d", text):
            return True
        plain = text.replace("$", "axis__").replace("bid.", "bid_").replace("target.", "target_")
        plain = plain.replace("&&", " and ").replace("||", " or ")
        try:
            return self._node(ast.parse(re.sub(r"!(?!=)", " not ", plain).strip(), mode="eval").body)
        except SyntaxError:
            return False

    def _node(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Constant):
            return isinstance(node.value, int) and node.value >= 0
        if isinstance(node, ast.Name):
            word = node.id
            return word.startswith(("axis__", "bid_", "target_")) or word in self._upwards \
                or word in self._builder.symbols or word in self._builder.tunables
        if isinstance(node, ast.BinOp):
            if isinstance(node.op, ast.Mod):
                return self._node(node.right)
            grows = isinstance(node.op, (ast.Add, ast.Mult, ast.FloorDiv))
            return grows and self._node(node.left) and self._node(node.right)
        if isinstance(node, ast.IfExp):
            return self._node(node.body) and self._node(node.orelse)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("min", "max", "ceildiv"):
            known = [self._node(a) for a in node.args]
            return any(known) if node.func.id == "max" else all(known)
        return False

    # -- ranges

    def extremes(self, poly: Optional[Poly]) -> Optional[Tuple[int, int]]:
        """A range that holds all values of an index, None where none is known: exact but for dependences between
        variables. The symbols that it depends on are used from now on.
        """
        if poly is None:
            return None
        found, words = self._extremes(poly)
        self.used |= words
        return found

    def fixed(self, poly: Poly) -> Optional[Tuple[int, int]]:
        """As ``extremes``; None where it depends on a symbol or on a grid that is not numbers."""
        if not self._counted and poly.mentions("bid.x") | poly.mentions("bid.y") | poly.mentions("bid.z"):
            return None
        found, words = self._extremes(poly)
        return None if words else found

    def _extremes(self, poly: Poly) -> Tuple[Optional[Tuple[int, int]], Set[str]]:
        """The range, and the symbols that it depends on."""
        if poly.constant is not None:
            return (poly.constant, poly.constant), set()
        text = str(poly)
        if text not in self._found:  # a variable's range never changes: names are claimed once
            words: Set[str] = set()
            self._found[text] = self._evaluated(poly, words), words
        return self._found[text]

    def _evaluated(self, poly: Poly, words: Set[str]) -> Optional[Tuple[int, int]]:
        choices = self._choices(poly, words)
        if choices is None:
            return None
        names = list(choices)
        text = str(poly).replace("bid.", "bid_").replace("target.", "target_")
        if "&&" in text or "||" in text or "!" in text or "$" in text:
            return None
        known = {k.replace(".", "_"): v for k, v in self._builder.known.items() if isinstance(v, int)}
        known.update(_CALLS)
        known.update({t: None for t in _TYPES})
        code = compile(text, "<index>", "eval")
        low = high = None
        for point in itertools.product(*choices.values()):
            known.update(zip(names, point))
            try:
                value = eval(code, {"__builtins__": {}}, known)  # noqa: S307 - text of our own making
            except (NameError, ZeroDivisionError, TypeError):
                return None
            low, high = value if low is None else min(low, value), value if high is None else max(high, value)
        return None if low is None else (low, high)

    def _choices(self, poly: Poly, words: Set[str]) -> Optional[Dict[str, Sequence[int]]]:
        """The values to try of each variable: its ends where the index is linear in it, else all. Adds the symbols that
        they depend on to ``words``."""
        ends: Set[str] = set()
        inner: Set[str] = set()
        for key in poly.terms:
            for atom in key:
                named = set(_WORD.findall(atom))
                if named == {atom} and key.count(atom) == 1:
                    ends.add(atom)
                else:
                    inner |= named
        choices: Dict[str, Sequence[int]] = {}
        count = 1
        for word in ends | inner:
            if word in self._boxes:
                low, high, step = self._boxes[word]
                values: Sequence[int] = range(low, high + 1, step) if word in inner else (low, high)
                count *= len(values)
                if count > _POINTS_MAX:
                    return None
                choices[word.replace(".", "_")] = values
                words |= self._words.get(word, set())
            elif word in self._builder.known:
                words.add(word)
            elif word not in _CALLS and word not in _TYPES:
                return None
        return choices
