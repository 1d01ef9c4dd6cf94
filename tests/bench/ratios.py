"""Samples of one run, their medians and quartiles, ratios between two of them, and the table that shows them."""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
from typing import Any, Dict, List, Optional, Sequence


class Samples:
    """Milliseconds by name, one value a round; equal indexes mean the same round."""

    def __init__(self) -> None:
        self.values: Dict[str, List[float]] = {}

    def add(self, name: str, ms: float) -> None:
        self.values.setdefault(name, []).append(ms)

    def quartiles(self, name: str) -> List[float]:
        return quartiles(self.values[name])

    def ratio(self, over: str, under: str) -> Dict[str, float]:
        """``over / under``: of the medians, and the quartiles of the rounds' own ratios."""
        a, b = self.values[over], self.values[under]
        low, middle, high = quartiles([x / y for x, y in zip(a, b)])
        return {"of_medians": statistics.median(a) / statistics.median(b), "q1": low, "median": middle, "q3": high,
                "rounds": min(len(a), len(b))}


def quartiles(values: Sequence[float]) -> List[float]:
    return statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else [values[0]] * 3


def judged(name: str, ratio: Dict[str, float], at_most: Optional[float] = None,
           at_least: Optional[float] = None) -> Dict[str, Any]:
    """A ratio with its target. It passes when the ratio of medians and the worse quartile of the rounds' ratios both
    do: the upper quartile of a cost, the lower one of a gain."""
    row: Dict[str, Any] = {"ratio": name, **ratio}
    if at_most is not None:
        row.update(target="<= %g" % at_most, passed=max(ratio["q3"], ratio["of_medians"]) <= at_most)
    if at_least is not None:
        row.update(target=">= %g" % at_least, passed=min(ratio["q1"], ratio["of_medians"]) >= at_least)
    return row


def machine() -> Dict[str, Any]:
    """What the figures came from: processor, cores, load at this moment."""
    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            model = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), model)
    except OSError:
        pass
    return {"cpu": model, "cores": len(os.sched_getaffinity(0)), "load before": round(os.getloadavg()[0], 2)}


def print_table(rows: Sequence[Sequence[str]], file: Any) -> None:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        print("  ".join(cells).rstrip(), file=file)
    print(file=file)


def report(document: Dict[str, Any], samples: Samples, to: Optional[str]) -> None:
    """Prints ``document`` (title, facts, ratios, notes) with the samples as a table. ``to``: where JSON goes: None, a
    file's path, or ``-`` for standard output, with the table on standard error."""
    out = sys.stderr if to == "-" else sys.stdout
    facts = {**document["facts"], "load after": round(os.getloadavg()[0], 2)}
    print("%s\n%s" % (document["title"], ", ".join("%s %s" % item for item in facts.items())), file=out)
    print(file=out)
    print_table([["ms", "q1", "median", "q3", "rounds"]] +
                [[name, *("%.2f" % q for q in quartiles(v)), str(len(v))] for name, v in samples.values.items()], out)
    print_table([["ratio", "of medians", "q1", "q3", "target", "passed"]] +
                [[r["ratio"], *("%.3f" % r[name] for name in ("of_medians", "q1", "q3")), r.get("target", ""),
                  {True: "yes", False: "no"}.get(r.get("passed"), "")] for r in document["ratios"]], out)
    for note in document["notes"]:
        print("- " + note, file=out)
    if to is None:
        return
    times = {name: dict(zip(("q1", "median", "q3"), quartiles(v)), values=v) for name, v in samples.values.items()}
    document = {**document, "facts": facts, "ms": times}
    if to == "-":
        json.dump(document, sys.stdout, indent=1)
        print()
    else:
        with open(to, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=1)
