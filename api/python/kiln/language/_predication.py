"""Statements under a condition that only the elements of tiles tell.

The format's ``if`` takes conditions that are the same for the whole block and follow from numbers, not from tiles. On
a number that the block has computed both sides are done, and what a side writes to memory that others see is written
where its condition holds.
"""

from __future__ import annotations

import re
from typing import Any, Dict, List, Set

from ._arithmetic import Mistake
from ._builder import Builder
from ._expr import Dim, Poly, Tile
from ._memory import INDEX_NAMES

Statements = List[Dict[str, Any]]

_TARGETS = ("to", "tile", "c")  # the fields of statements that name what is written


def declared(statements: Statements) -> Set[str]:
    """Names that are known in these statements only: lets and loop variables."""
    found: Set[str] = set()
    for statement in statements:
        found |= {statement[field] for op, field in (("let", "name"), ("for", "var")) if statement["op"] == op}
        for field in ("body", "then", "else"):
            if statement["op"] != "map":
                found |= declared(statement.get(field, []))
    return found


def changed(statements: Statements, made: Set[str]) -> Set[str]:
    """Memory that statements write, other than the tiles ``made`` in them."""
    found: Set[str] = set()
    for statement in statements:
        if statement["op"] == "map":
            items = [item for item in statement["body"] if "let" not in item]
            found |= {str(item.get("set", item.get("to"))).partition("[")[0] for item in items}
            continue
        if statement["op"] != "for":  # whose "to" is a bound
            found |= {str(statement[field]).partition("[")[0] for field in _TARGETS if field in statement}
        for field in ("body", "then", "else"):
            found |= changed(statement.get(field, []), made)
    return found - made


class Predication:
    """Puts statements under a condition.

    Args:
        condition: an expression that the statements do not change. made: tiles that they alone write and read.
    """

    def __init__(self, builder: Builder, views: Any, condition: str, made: Set[str]) -> None:
        self.builder, self.views, self.condition, self.made = builder, views, condition, made
        self.tiles = {tile.name: tile for tile in builder.tiles}
        self.params = {entry["name"]: entry["param"] for entry in builder.params if "param" in entry}

    def under(self, statements: Statements) -> Statements:
        found: Statements = []
        for statement in statements:
            found += self._statement(statement)
        return found

    def _statement(self, statement: Dict[str, Any]) -> Statements:
        op = statement["op"]
        if op == "map":
            for item in statement["body"]:
                self._item(item)
            return [statement]
        if op in ("for", "if"):
            for field in ("body", "then", "else"):
                if field in statement:
                    statement[field] = self.under(statement[field])
            return [statement]
        target = next((str(statement[field]) for field in _TARGETS if field in statement), "")
        if not target or target in self.made:
            return [statement]  # let, sync
        if target in self.tiles:
            return self._beside(statement, self.tiles[target])
        if op == "copy" and statement["from"] in self.tiles:
            return [self._region(statement, self.tiles[statement["from"]])]
        raise Mistake("this statement under a condition on a computed number is not supported",
                      "compute it always, and choose with tl.where")

    def _item(self, item: Dict[str, Any]) -> None:
        target = str(item.get("set", item.get("to", "")))
        name = target.partition("[")[0]
        if not target:
            return
        if name not in self.made:
            item["where"] = self._and(item.get("where"))
        elif "where" not in item and set(re.findall(r"[A-Za-z_]\w*", item["value"])) & set(self.params):
            dtype = self.tiles[name].dtype  # what is read may lie outside of its tensor
            nothing = "false" if dtype == "bool" else "cast(0, %s)" % dtype
            item["value"] = "(%s) if %s else %s" % (item["value"], self.condition, nothing)

    def _and(self, where: Any) -> str:
        return self.condition if where is None else "%s && (%s)" % (self.condition, where)

    def _beside(self, statement: Dict[str, Any], tile: Tile) -> Statements:
        """A statement that writes a tile of before: into another one, and from there where the condition holds."""
        assert tile.dtype is not None
        made = self.builder.alloc(tile.name, "fragment", tile.dtype, tile.shape, True)
        field = next(f for f in _TARGETS if f in statement)
        place = statement.get("_at")
        before: Statements = []
        if statement["op"] == "gemm" and "clear" not in statement or "accumulate" in statement:
            before.append({"op": "copy", "from": tile.name, "to": made.name, "_at": place})
        statement[field] = made.name
        names = list(INDEX_NAMES[: max(1, len(tile.shape))])
        item = {"set": tile.element(names), "value": made.element(names), "where": self.condition}
        return before + [statement, _map(names, tile.shape, item, place)]

    def _region(self, statement: Dict[str, Any], source: Tile) -> Dict[str, Any]:
        """``copy`` to a rectangle, element by element; what lies outside is dropped there too."""
        name, _, rest = str(statement["to"]).partition("[")
        limits = list(statement.get("limit", []))
        param = self.params.get(name)
        extents = self._extents(param) if param is not None else [None] * rest.count(",")
        names, indices, inside = list(INDEX_NAMES[: max(1, len(source.shape))]), [], []
        axis = 0
        for k, part in enumerate(_parts(rest[:-1])):
            if not part.endswith(":"):
                indices.append(part)
                continue
            index = "%s + %s" % (part[:-1], names[axis])
            ends = (limits[axis] if axis < len(limits) else None, extents[k] if k < len(extents) else None)
            axis += 1
            indices.append(index)
            inside += ["%s < %s" % (index, end) for end in ends if end is not None]
            if param is not None:
                inside.append("%s >= 0" % index)
        dtype = param.dtype if param is not None else self.tiles[name].dtype
        value = source.element(names)
        item = {"set": "%s[%s]" % (name, ", ".join(indices)),
                "value": value if dtype == source.dtype else "cast(%s, %s)" % (value, dtype),
                "where": self._and(" && ".join(inside) if inside else None)}
        return _map(names, source.shape, item, statement.get("_at"))

    def _extents(self, param: Any) -> List[str]:
        view = self.views.of(param)
        if view is not None:
            return [view.rows, view.columns]
        return [str(param.elements)] if param.mode == "flat" else [str(Poly.of(n)) for n in param.shape]


def _map(names: List[str], shape: Any, item: Dict[str, Any], place: Any) -> Dict[str, Any]:
    extent: List[Dim] = list(shape) or [1]
    return {"op": "map", "index": names, "extent": [str(n) for n in extent], "body": [item], "_at": place}


def _parts(text: str) -> List[str]:
    """Indices, separated by commas that are in no bracket."""
    parts, depth = [""], 0
    for c in text:
        depth += (c in "([") - (c in ")]")
        if c == "," and not depth:
            parts.append("")
        else:
            parts[-1] += c
    return [part.strip() for part in parts]
