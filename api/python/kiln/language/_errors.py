"""Mistakes in a kernel's source, shown where they stand."""

from __future__ import annotations

import functools
import os
import types
from typing import Any, Callable, Dict, List, Optional

from ..errors import InvalidArgument, KilnError, ProgramInvalid

#: The environment variable that keeps the frames of this package in the tracebacks of authors' mistakes.
SWITCH = "KILN_TRACEBACK"

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_on_command_line = False


def speak_of_commands() -> None:
    """From now on hints say what to write on a command line: this process reads a file for ``kiln``."""
    global _on_command_line
    _on_command_line = True


def how(python: str, command: str) -> str:
    """A hint: what to write in Python, or on the command line."""
    return command if _on_command_line else python


class Place:
    """A piece of a Python source: file, line (from 1), columns (from 1, the second one behind the last character)."""

    __slots__ = ("file", "line", "column", "end_column", "text", "function")

    def __init__(self, file: str, line: int, column: int, end_column: int, text: str, function: str) -> None:
        self.file, self.line, self.column, self.end_column = file, line, column, end_column
        self.text, self.function = text, function

    def __str__(self) -> str:
        return "%s:%d:%d" % (self.file, self.line, self.column)

    def render(self) -> List[str]:
        """The source line and a second one that underlines the piece."""
        if not self.text.strip():
            return []
        width = max(1, min(self.end_column, len(self.text) + 1) - self.column)
        blank = "".join("\t" if c == "\t" else " " for c in self.text[: self.column - 1])
        return ["    " + self.text, "    " + blank + "^" + "~" * (width - 1)]


class KernelError(ProgramInvalid):
    """A kernel that cannot be turned into a tile program, or that the engine refuses; ``str()`` shows the source line.

    Attributes:
        place: where, None where no line is to blame.
        hint: what to write instead, or "".
        file, line, column: of ``place``.
    """

    def __init__(self, message: str, place: Optional[Place] = None, hint: str = "",
                 diagnostics: Optional[List[Dict[str, Any]]] = None) -> None:
        super().__init__(message, diagnostics=diagnostics)
        self.place, self.hint = place, hint
        self.calls: List[Place] = []           # where the functions around the mistake were called, the innermost first
        self.file = place.file if place else None
        self.line = place.line if place else None
        self.column = place.column if place else None

    def __str__(self) -> str:
        head = "%s: error: %s" % (self.place, self.message) if self.place else "error: " + self.message
        lines = [head] + (self.place.render() if self.place else [])
        if self.hint:
            lines.append("  hint: " + self.hint)
        lines += ["  called at %s: %s" % (call, call.text.strip()) for call in self.calls]
        return "\n".join(lines)

    def _render_traceback_(self) -> List[str]:
        """What a notebook shows: the place in the kernel; the frames of its reader say nothing about it."""
        return ["KernelError: " + str(self)]


class CallError(KernelError, TypeError):
    """A call that does not fit the kernel; ``place`` is the kernel's definition."""


KernelError.__module__ = CallError.__module__ = "kiln.language"  # where authors find it


def at_call(function: Callable[..., Any]) -> Any:
    """Marks what authors call: their mistakes are raised from their own lines, without the frames of this package,
    which say nothing about a kernel. ``KILN_TRACEBACK=1`` keeps them."""

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except (KernelError, InvalidArgument) as error:
            if os.environ.get(SWITCH, "") not in ("", "0"):
                raise
            mistake: KilnError = error.with_traceback(_of_authors(error.__traceback__))
        raise mistake from None  # KILN_TRACEBACK=1 shows what led here

    return called


def _of_authors(trace: Optional[types.TracebackType]) -> Optional[types.TracebackType]:
    """The frames that are not this package's: functions of the author's that it has called."""
    kept: List[types.TracebackType] = []
    while trace is not None:
        if not os.path.abspath(trace.tb_frame.f_code.co_filename).startswith(_PACKAGE + os.sep):
            kept.append(trace)
        trace = trace.tb_next
    found: Optional[types.TracebackType] = None
    for one in reversed(kept):
        found = types.TracebackType(found, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return found


def nearest(word: str, words: Any) -> str:
    """`` (did you mean 'x'?)`` where one of ``words`` is close to ``word``, else ""."""
    import difflib

    close = difflib.get_close_matches(word, [w for w in words if not w.startswith("_")], 1, 0.6)
    return "did you mean '%s'?" % close[0] if close else ""
