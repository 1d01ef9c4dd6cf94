"""What the prints and asserts of a launch have left, as lines."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Sequence


class Milliseconds(float):
    """What a launch took on its device.

    Attributes:
        printed: the records of the program's prints: dicts with ``at`` (a pointer into the program), ``text``,
            ``block``, ``index``, ``values``, sorted by block, statement and index.
        printed_dropped: how many more there were than a launch keeps.
    """

    printed: "List[Dict[str, Any]]" = []
    printed_dropped: int = 0

    @classmethod
    def of(cls, answer: "Dict[str, Any]") -> "Milliseconds":
        made = cls(answer["duration_ms"])
        if "printed" in answer:
            made.printed, made.printed_dropped = answer["printed"], int(answer["printed_dropped"])
        return made


def _tuple(numbers: "Sequence[Any]") -> str:
    return "(%s)" % ", ".join(str(n) for n in numbers)


def _value(value: "Any") -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def lines(printed: "Sequence[Dict[str, Any]]", dropped: int = 0) -> "List[str]":
    """As Triton's device_print shows them: ``pid (0, 0, 0) idx (3) x is: 1.5``."""
    shown = []
    for record in printed:
        line = "pid " + _tuple(record["block"])
        if record["index"]:
            line += " idx " + _tuple(record["index"])
        text, values = record["text"], ", ".join(_value(v) for v in record["values"])
        line += " " + text if text else ""
        if values:
            line += " " + values if not text or text.endswith(":") else ": " + values
        shown.append(line)
    if dropped:
        shown.append("(%d more were not kept)" % dropped)
    return shown


def show(told: "Any") -> None:
    """What a kernel printed, of a launch's Milliseconds or its AssertionFailed, on standard output."""
    for line in lines(getattr(told, "printed", ()), getattr(told, "printed_dropped", 0)):
        print(line)
