"""What a kernel is and what it did: as a mapping, as text on a terminal, as tables and pictures in a notebook."""

from __future__ import annotations

from collections.abc import Mapping as MappingType
from html import escape
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

from ._lds_map import maps

Row = Sequence[Any]
_SHOWN = ("vgprs", "agprs", "sgprs", "vgpr_spills", "sgpr_spills", "lds_bytes", "scratch_bytes", "matrix_instructions", "instructions", "waves_per_simd",
          "lds_conflict_cycles")


def text_table(head: Row, rows: Sequence[Row]) -> str:
    """Columns aligned, numbers to the right."""
    cells = [[_cell(c) for c in row] for row in [head, *rows]]
    widths = [max(len(row[k]) for row in cells) for k in range(len(head))]
    numeric = [all(isinstance(row[k], (int, float)) or row[k] is None for row in rows) for k in range(len(head))]
    lines = ["  ".join(c.rjust(w) if right else c.ljust(w) for c, w, right in zip(row, widths, numeric)).rstrip() for row in cells]
    return "\n".join("  " + line for line in lines)


def html_table(head: Row, rows: Sequence[Row], title: str = "") -> str:
    parts = ["<table>"] + (["<caption style='text-align:left'><b>%s</b></caption>" % escape(title)] if title else [])
    parts.append("<tr>%s</tr>" % "".join("<th>%s</th>" % escape(_cell(c)) for c in head))
    for row in rows:
        parts.append("<tr>%s</tr>" % "".join("<td style='text-align:%s'>%s</td>" % (
            "right" if isinstance(c, (int, float)) else "left", escape(_cell(c))) for c in row))
    return "".join(parts) + "</table>"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return "%.4g" % value
    return ", ".join(map(_cell, value)) if isinstance(value, (list, tuple)) else str(value)


Section = Tuple[str, Row, Sequence[Row]]


class _Shown:
    """Sections of rows, shown alike on a terminal and in a notebook."""

    def sections(self) -> List[Section]:
        """(title, head, rows) in the order in which they are shown."""
        raise NotImplementedError

    def _pictures(self) -> str:
        return ""

    def __str__(self) -> str:
        return "\n\n".join("%s\n%s" % (title, text_table(head, rows)) for title, head, rows in self.sections() if rows)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        tables = [html_table(head, rows, title) for title, head, rows in self.sections() if rows]
        return "".join(tables) + self._pictures()


class _Report(_Shown, MappingType):
    """A mapping with sections."""

    _data: Dict[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self._data[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)


class Check(_Shown, dict):  # type: ignore[type-arg]
    """What a comparison of results found: ``passed``, and ``tensors``, a row each; a dict that is shown as a table."""

    def sections(self) -> List[Section]:
        head = ("tensor", "elements", "largest error", "tolerance there", "wrong")
        rows = [[t["name"], t["elements"], t["error_max"], t.get("tolerance_at_max"), t["wrong"]]
                for t in self["tensors"]]
        return [("equal within the tolerance" if self["passed"] else "DIFFERENT", head, rows)]


class Measured(_Shown, dict):  # type: ignore[type-arg]
    """What the daemon says of configurations that it compared, as ``kernel.tune`` answers it; a dict that is shown as a
    table."""

    def sections(self) -> List[Section]:
        timed = self.get("ranked_by") == "time"
        figure = "ms (median)" if timed else "counted cycles"
        head = ("configuration", figure, "ratio to %s" % self.get("baseline"), "verdict")
        rows = [[c["name"], c.get("time_ms", {}).get("median") if timed else c.get("cycles"), c.get("ratio"),
                 ": ".join(filter(None, (c["verdict"], c.get("reason", ""))))] for c in self.get("candidates", [])]
        known = ", known already" if self.get("found") else ""
        return [("%s on %s, ranked by %s%s: best %s" % (
            self.get("program"), self.get("device"), self.get("ranked_by"), known, self.get("winner")), head, rows)]


class LdsMaps(list):  # type: ignore[type-arg]
    """The banks of a kernel's shared tiles: text on a terminal, pictures in a notebook; where there are none, that."""

    def __init__(self, drawn: Sequence[Any], target: str) -> None:
        super().__init__(drawn)
        self._none = "no shared tiles of two axes or more: nothing of this kernel lies in LDS by rows"
        if not target.startswith("gfx"):
            self._none = "%s has no LDS: compile for a card, target=\"gfx942\"" % (target or "this target")

    def __str__(self) -> str:
        return "\n\n".join(m.text() for m in self) if self else self._none

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return "".join("<div>%s</div>" % m.svg() for m in self) if self else "<div>%s</div>" % escape(self._none)


class Explanation(_Report):
    """A kernel's report: a mapping as ``kernel.explain`` answers it, and besides

    - ``grid``: for each axis the ``extent`` and what it comes ``from``
    - ``barriers``: for each barrier the statements ``after`` and ``before`` which it stands, ``loop`` those inside loops
    - ``bindings``: the values of symbols
    """

    def __init__(self, report: Dict[str, Any], program: Any, bindings: Dict[str, Any]) -> None:
        self._data = dict(report)
        origins = program.grid_from or ["given"] * len(program.grid)
        self._data["grid"] = [{"axis": "xyz"[k], "extent": e, "from": f} for k, (e, f) in enumerate(zip(program.grid, origins))]
        self._data["bindings"] = dict(bindings)
        self._data["barriers"] = barriers(str(report.get("kernel_program", "")))

    def sections(self) -> List[Section]:
        d = self._data
        resources = d.get("resources", {})
        named = [(k, resources[k]) for k in _SHOWN if k in resources]
        columns = [k for k, _ in named]
        tiles = [[t["tile"], t["dtype"], t["shape"], t["layout"], t["lds_bytes"], t["stages"], "%s/%s" % (t["write_cost"], t["write_ideal"]),
                  "%s/%s" % (t["read_cost"], t["read_ideal"]), t["conflict_cycles"]] for t in d.get("shared_tiles", [])]
        lds = [[r["tile"], r["instruction"], r["cost"], r["active_phases"], r["conflict_cycles"]] for r in d.get("lds_instructions", [])]
        return [
            ("%s for %s" % (d.get("program", ""), d.get("target", "")), ("axis", "blocks", "from"), [[g["axis"], g["extent"], g["from"]] for g in d["grid"]]),
            ("sizes", ("symbol", "value"), [[k, v] for k, v in d["bindings"].items()]),
            ("resources", columns, [[v for _, v in named]] if named else []),
            ("shared tiles (cost/ideal in LDS cycles of one wave)", ("tile", "dtype", "shape", "layout", "bytes", "stages", "writes", "reads", "conflicts"), tiles),
            ("LDS instructions", ("tile", "instruction", "cost", "ideal", "conflicts"), lds),
            ("barriers", ("after", "before", "in a loop"), [[b["after"], b["before"], b["loop"]] for b in d["barriers"]]),
            ("bounds checks that remain", ("where",), [[b] for b in d.get("bounds_left", [])]),
            ("decisions", ("decision",), [[x] for x in d.get("decisions", [])])]

    def lds_maps(self) -> LdsMaps:
        """The shared tiles' banks, by row, with conflicts."""
        return LdsMaps(maps(self._data), str(self._data.get("target", "")).split(":")[0])

    def _pictures(self) -> str:
        drawn = self.lds_maps()
        return drawn._repr_html_() if drawn else ""


class Profile(_Report):
    """Counters of a launch by rocprof's names, as a mapping; ``report`` has all that was counted, by statement and instruction.

    On a device that counts nothing (the host) it is empty, and ``duration_ms`` all there is.
    """

    def __init__(self, report: Dict[str, Any], program: Any) -> None:
        self.report = report
        self._data = dict(report.get("counters", {}))
        self._places = program.places
        for statement in report.get("statements", []):
            place = self._place(statement.get("pointer", ""))
            if place is not None:
                statement["line"], statement["source"] = place.line, place.text.strip()

    def _place(self, pointer: str) -> Any:
        while pointer and pointer not in self._places:
            pointer = pointer.rpartition("/")[0]
        return self._places.get(pointer)

    @property
    def duration_ms(self) -> float:
        """Of the launch on its device; of an emulated card this machine's own time, which says nothing about a card."""
        return float(self.report.get("duration_ms", 0))

    def sections(self) -> List[Section]:
        r = self.report
        modelled = set(r.get("modelled", []))
        counters = [[k, v, "model" if k in modelled else ""] for k, v in self._data.items() if v]
        lines = [[s.get("line"), s.get("source") or s.get("text", ""), 100 * s["share"], s["valu"], s["mfma"], s["lds"], s["memory"], s["lds_conflicts"], s["bytes"]]
                 for s in r.get("statements", [])]
        occupancy, roofline = r.get("occupancy", {}), r.get("roofline", {})
        facts = [["occupancy", "%s of %s waves a SIMD, limited by %s" % (occupancy.get("waves_per_simd"), occupancy.get("waves_max"), occupancy.get("limit"))]] \
            if occupancy else []
        if roofline:
            facts.append(["roofline", "%.3g operations a byte on %s, ridge %.3g: bound by %s" % (
                roofline.get("intensity") or 0, roofline.get("card"), roofline.get("ridge") or 0, roofline.get("bound"))])
        facts += [["advice", a["text"]] for a in r.get("advice", [])]
        return [("%s on %s" % (r.get("program", ""), r.get("device", "")), ("counter", "count", ""), counters),
                ("by line", ("line", "source", "% of instructions", "VALU", "MFMA", "LDS", "memory", "conflicts", "bytes"), lines),
                ("bounds", ("what", "value"), facts)]


def barriers(kernel_program: str) -> List[Dict[str, Any]]:
    """Where barriers stand in a printed kernel program."""
    lines = [line for line in kernel_program.splitlines() if line.strip()]
    found = []
    for k, line in enumerate(lines):
        if line.split("#")[0].strip() != "barrier":
            continue
        indent = len(line) - len(line.lstrip())
        loop: Optional[str] = None
        for before in reversed(lines[:k]):
            if len(before) - len(before.lstrip()) < indent:
                loop = before.strip().rstrip(":") if before.strip().startswith("for ") else None
                break
        after = lines[k - 1].split("#")[0].strip() if k else ""
        following = lines[k + 1].split("#")[0].strip() if k + 1 < len(lines) else "the end"
        found.append({"after": "the loop begins or repeats" if loop is not None and after == (loop + ":") else after, "before": following, "loop": loop})
    return found
