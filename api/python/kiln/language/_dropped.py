"""Rows that a kernel reads twice and drops: ``(first + tl.arange(0, n)) % M``.

Authors take the rows behind the last one modulo their number so that every address is good, and drop what comes of them
when they store. Reading such a tile as a region gives 0 for those rows instead of a repetition. That is the same
program only if nothing that is stored depends on them, which is shown here by following them through the statements,
from tile to tile along one axis each.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, List, Optional, Tuple

from ._expr import Poly

Extra = Tuple[Poly, Poly]  # (start, end): position p of the axis is one too many where start + p >= end
_REFERENCE = re.compile(r"([A-Za-z_]\w*)\[([^\[\]]*)\]")


class Kept(Exception):
    """Something that is kept depends on a row that is one too many."""


class Stores:
    """Which stores drop what: (statement, the tile's axis, its first coordinate, where dropping begins)."""

    def __init__(self) -> None:
        self._rows: List[Tuple[Dict[str, Any], int, Poly, Poly]] = []

    def add(self, statement: Dict[str, Any], axis: int, start: Poly, end: Poly) -> None:
        self._rows.append((statement, axis, start, end))

    def slack(self, statement: Dict[str, Any], axis: int, extra: Extra) -> Optional[Poly]:
        """How many positions in front of the extra ones are dropped too; not negative where all extra ones are."""
        for other, along, start, end in self._rows:
            if other is statement and along == axis:
                return (extra[1] - extra[0]) - (end - start)
        return None


class Flow:
    """Follows extra rows through a launch's statements.

    Args:
        least: a lower bound of an index over all blocks, None where none is known.
    """

    def __init__(self, stores: Stores, least: Callable[[Poly], Optional[int]]) -> None:
        self._stores, self._least = stores, least
        self._extra: Dict[str, Dict[int, Extra]] = {}
        self._changed = False

    def all_dropped(self, begin: List[Tuple[str, int, Extra]], body: List[Dict[str, Any]]) -> bool:
        """Whether extra rows of the tiles ``begin`` (name, axis, which) reach no store that keeps them."""
        try:
            for tile, axis, extra in begin:
                self._mark(tile, axis, extra)
            while self._changed:
                self._changed = False
                self._block(body)
        except Kept:
            return False
        return True

    def _mark(self, tile: str, axis: int, extra: Extra) -> None:
        known = self._extra.setdefault(tile, {})
        if axis not in known:
            known[axis] = extra
            self._changed = True
        elif known[axis] != extra:
            raise Kept

    def _of(self, name: str) -> Dict[int, Extra]:
        return dict(self._extra.get(name, {}))

    def _untouched(self, *texts: Any) -> None:
        """No text names a tile that has extra rows."""
        for text in texts:
            if any(self._extra.get(w) for w in re.findall(r"[A-Za-z_]\w*", str(getattr(text, "text", text)))):
                raise Kept

    def _block(self, body: List[Dict[str, Any]]) -> None:
        for statement in body:
            getattr(self, "_" + statement["op"], self._other)(statement)

    def _other(self, statement: Dict[str, Any]) -> None:
        self._untouched(*[v for k, v in statement.items() if not k.startswith("_")])

    def _sync(self, statement: Dict[str, Any]) -> None:
        pass

    def _fill(self, statement: Dict[str, Any]) -> None:
        self._untouched(statement["value"])

    def _for(self, statement: Dict[str, Any]) -> None:
        self._untouched(statement["from"], statement["to"], statement.get("step", ""))
        self._block(statement["body"])

    def _if(self, statement: Dict[str, Any]) -> None:
        self._untouched(statement["condition"])
        self._block(statement["then"])
        self._block(statement.get("else", []))

    def _copy(self, statement: Dict[str, Any]) -> None:
        source, target = statement["from"], statement["to"]
        self._untouched(*statement.get("limit", []), source if "[" in source else "", target.partition("[")[2])
        for axis, extra in self._of(source).items():
            if "[" not in target:
                self._mark(target, axis, extra)
                continue
            slack = self._stores.slack(statement, axis, extra)
            low = None if slack is None else self._least(slack)
            if low is None or low < 0:
                raise Kept

    def _gemm(self, statement: Dict[str, Any]) -> None:
        for name, outer, result in (("a", 1 if statement.get("transpose_a") else 0, 0),
                                    ("b", 0 if statement.get("transpose_b") else 1, 1)):
            for axis, extra in self._of(statement[name]).items():
                if axis != outer:
                    raise Kept  # summed over
                self._mark(statement["c"], result, extra)

    def _reduce(self, statement: Dict[str, Any]) -> None:
        along = int(statement["axis"])
        for axis, extra in self._of(statement["from"]).items():
            if axis == along:
                raise Kept
            self._mark(statement["to"], axis - (axis > along), extra)

    def _scan(self, statement: Dict[str, Any]) -> None:
        for axis, extra in self._of(statement["from"]).items():
            if axis == int(statement["axis"]):
                raise Kept
            self._mark(statement["to"], axis, extra)

    def _map(self, statement: Dict[str, Any]) -> None:
        lets: Dict[str, Dict[str, Extra]] = {}
        for item in statement["body"]:
            if "value" not in item:  # a print or an assert: shown, whatever it is
                self._untouched(*[v for k, v in item.items() if k in ("assert", "values", "where")])
                continue
            found = self._indices(item["value"], lets)
            self._untouched(item.get("where", ""))
            if "let" in item:
                lets[item["let"]] = found
                continue
            target = _REFERENCE.fullmatch(item.get("set", ""))
            if found and target is None:
                raise Kept
            if target is None:
                continue
            axes = [part.strip() for part in target.group(2).split(",")]
            for index, extra in found.items():
                if axes.count(index) != 1:
                    raise Kept
                self._mark(target.group(1), axes.index(index), extra)

    def _indices(self, text: str, lets: Dict[str, Dict[str, Extra]]) -> Dict[str, Extra]:
        """Which of the map's indices run over extra rows of what a text reads."""
        found: Dict[str, Extra] = {}

        def add(index: str, extra: Extra) -> None:
            if found.setdefault(index, extra) != extra:
                raise Kept

        for name, parts in _REFERENCE.findall(text):
            axes = [part.strip() for part in parts.split(",")]
            for axis, extra in self._of(name).items():
                if not axes[axis].isidentifier():
                    raise Kept
                add(axes[axis], extra)
        rest = _REFERENCE.sub(" ", text)
        self._untouched(rest)
        for word in re.findall(r"[A-Za-z_]\w*", text):
            for index, extra in lets.get(word, {}).items():
                add(index, extra)
        return found
