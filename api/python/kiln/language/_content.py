"""What a value is, as a key: two values with one key mean the same in a kernel."""

from __future__ import annotations

import dataclasses
import hashlib
from typing import Any, List, Tuple

from ._types import plain

_DEPTH_MAX = 8  # of objects in objects; what lies deeper is told apart by identity


class Same:
    """Equal where it is the same object, which it keeps alive."""

    __slots__ = ("what",)

    def __init__(self, what: Any) -> None:
        self.what = what

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.what is self.what

    def __hash__(self) -> int:
        return id(self.what)


def content(value: Any, depth: int = _DEPTH_MAX) -> Any:
    """A key of a value: numbers and texts by themselves, containers and arrays by all that they hold, data classes by
    their type and fields, other objects by identity and what they hold now.
    """
    value = plain(value)
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return type(value), repr(value)
    if isinstance(value, type) or callable(value) or not depth:
        return Same(value)
    if isinstance(value, (tuple, list)):
        return type(value), tuple(content(part, depth - 1) for part in value)
    if isinstance(value, (set, frozenset)):
        return type(value), frozenset(content(part, depth - 1) for part in value)
    if isinstance(value, dict):
        return type(value), tuple((content(k, depth - 1), content(v, depth - 1)) for k, v in value.items())
    if hasattr(value, "tobytes") and hasattr(value, "dtype") and hasattr(value, "shape"):
        if getattr(value.dtype, "hasobject", False):
            return str(value.dtype), value.shape, content(value.tolist(), depth - 1)
        return str(value.dtype), value.shape, hashlib.blake2b(value.tobytes()).digest()
    by_fields = dataclasses.is_dataclass(value) or type(value).__module__.partition(".")[0] == "kiln"
    held = tuple((name, content(part, depth - 1)) for name, part in _held(value))
    return Same(type(value) if by_fields else value), held, getattr(value, "_version", None)


def _held(value: Any) -> List[Tuple[str, Any]]:
    """Attributes of an object itself, also those in slots."""
    slots: List[str] = []
    for kind in type(value).__mro__:
        named = kind.__dict__.get("__slots__", ())
        slots += [named] if isinstance(named, str) else list(named)
    hidden = ("__weakref__", "__dict__")
    found = [(name, getattr(value, name)) for name in slots if name not in hidden and hasattr(value, name)]
    return found + sorted(getattr(value, "__dict__", {}).items())
