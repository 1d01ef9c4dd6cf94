"""Exceptions, one for each error code of the protocol (PROTOCOL.md, "Errors"). All derive from :class:`KilnError`."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Type


class KilnError(Exception):
    """A request that failed.

    Attributes:
        code: the code's name on the wire, such as ``"program_invalid"``.
        context: further lines, such as a compiler's log.
        diagnostics: located mistakes: dicts with ``pointer``, ``message``, ``expected``, ``found``, ``hint``, ``offset``.
        retryable: the same request may succeed later.
    """

    code = "internal"

    def __init__(self, message: str, context: Optional[List[str]] = None, diagnostics: Optional[List[Dict[str, Any]]] = None,
                 retryable: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.context = context or []
        self.diagnostics = diagnostics or []
        self.retryable = retryable

    def __str__(self) -> str:
        lines = [self.message]
        for d in self.diagnostics:
            place = d.get("pointer", "") + (":%d" % d["offset"] if "offset" in d else "")
            text = "%s: %s" % (place, d.get("message", "")) if place else d.get("message", "")
            if d.get("expected"):
                text += "; expected " + d["expected"]
            if d.get("found"):
                text += ", found " + d["found"]
            if d.get("hint"):
                text += " (%s)" % d["hint"]
            lines.append(text)
        return "\n  ".join(lines + self.context)


class InvalidArgument(KilnError, ValueError):
    code = "invalid_argument"


class ParseError(KilnError, ValueError):
    code = "parse_error"


class ProgramInvalid(KilnError, ValueError):
    code = "program_invalid"


class NotFound(KilnError, LookupError):
    code = "not_found"


class Unsupported(KilnError, NotImplementedError):
    code = "unsupported"


class UnknownTarget(KilnError, ValueError):
    code = "unknown_target"


class ResourceLimit(KilnError):
    code = "resource_limit"


class OutOfMemory(KilnError, MemoryError):
    code = "out_of_memory"


class IoError(KilnError, OSError):
    code = "io_error"

    def __str__(self) -> str:  # OSError has its own
        return KilnError.__str__(self)


class DiskFull(IoError):
    code = "disk_full"


class PermissionDenied(IoError):
    code = "permission_denied"


class Corrupt(KilnError):
    code = "corrupt"


class DeadlineExceeded(KilnError, TimeoutError):
    code = "deadline_exceeded"

    def __str__(self) -> str:
        return KilnError.__str__(self)


class Cancelled(KilnError):
    code = "cancelled"


class WorkerDied(KilnError):
    code = "worker_died"


class CompileFailed(KilnError):
    code = "compile_failed"


class NoCompiler(KilnError):
    code = "no_compiler"


class DeviceLost(KilnError):
    code = "device_lost"


class LaunchFailed(KilnError):
    code = "launch_failed"


class AssertionFailed(KilnError, AssertionError):
    """An assert of a program did not hold. ``failed`` says where: dicts with ``at``, ``text``, ``block``, ``index``,
    ``values``; ``printed`` what the launch had printed.
    """

    code = "assertion_failed"
    failed: List[Dict[str, Any]] = []
    printed: List[Dict[str, Any]] = []
    printed_dropped: int = 0

    def __str__(self) -> str:
        return KilnError.__str__(self)


class MustHit(KilnError):
    code = "must_hit"


class Busy(KilnError):
    code = "busy"


class ProtocolError(KilnError):
    code = "protocol_error"


class MethodNotFound(KilnError):
    code = "method_not_found"


class NotRunning(KilnError, ConnectionError):
    code = "not_running"

    def __str__(self) -> str:
        return KilnError.__str__(self)


class InternalError(KilnError):
    code = "internal"


def _all_classes(base: Type[KilnError]) -> List[Type[KilnError]]:
    found = [base]
    for sub in base.__subclasses__():
        found += _all_classes(sub)
    return found


#: The exception of each code on the wire.
BY_CODE: Dict[str, Type[KilnError]] = {c.code: c for c in _all_classes(KilnError) if c is not KilnError}


def from_wire(error: Any) -> KilnError:
    """The exception for a reply's ``error`` object."""
    data = error.get("data") if isinstance(error, dict) else None
    if not isinstance(data, dict):
        message = error.get("message", "unreadable error") if isinstance(error, dict) else "unreadable error"
        return ProtocolError(message)
    kind = BY_CODE.get(data.get("code", ""), KilnError)
    made = kind(error.get("message", ""), data.get("context"), data.get("diagnostics"), bool(data.get("retryable")))
    if isinstance(made, AssertionFailed):
        made.failed, made.printed = data.get("failed", []), data.get("printed", [])
        made.printed_dropped = int(data.get("printed_dropped", 0))
    return made
