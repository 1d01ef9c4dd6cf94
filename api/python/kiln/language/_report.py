"""What a kernel is and what it did: as a mapping, as text on a terminal, as tables in a notebook."""

from __future__ import annotations

from collections.abc import Mapping as MappingType
from typing import Any, Dict, Iterator, List, Optional


class Explanation(MappingType):
    """The engine's report on a kernel as a mapping, with the grid's origin and the barriers' lines."""

    def __init__(self, report: Dict[str, Any], program: Any, bindings: Dict[str, Any]) -> None:
        self._report = dict(report)
        self._report["grid"] = [{"extent": e, "from": f} for e, f in zip(program.grid, program.grid_from or ["given"] * len(program.grid))]
        self._report["bindings"] = dict(bindings)

    def __getitem__(self, name: str) -> Any:
        return self._report[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._report)

    def __len__(self) -> int:
        return len(self._report)

    def __str__(self) -> str:
        lines = ["grid"]
        lines += ["  %s: %s (%s)" % ("xyz"[k], g["extent"], g["from"]) for k, g in enumerate(self._report["grid"])]
        lines.append("resources")
        lines += ["  %s: %s" % (k, v) for k, v in self._report.get("resources", {}).items() if not isinstance(v, (dict, list))]
        for title in ("shared_tiles", "lds_instructions", "bounds_left", "decisions"):
            rows = self._report.get(title) or []
            if rows:
                lines.append(title.replace("_", " "))
                lines += ["  " + (", ".join("%s %s" % (k, v) for k, v in row.items()) if isinstance(row, dict) else str(row)) for row in rows]
        return "\n".join(lines)


class Profile(MappingType):
    """Counters of a launch by rocprof's names; ``report`` has everything else that was counted."""

    def __init__(self, report: Dict[str, Any], program: Any) -> None:
        self.report = report

    def __getitem__(self, name: str) -> Any:
        return self.report.get("counters", {})[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.report.get("counters", {}))

    def __len__(self) -> int:
        return len(self.report.get("counters", {}))

    def __str__(self) -> str:
        return "\n".join("%-28s %s" % (k, v) for k, v in self.items())
