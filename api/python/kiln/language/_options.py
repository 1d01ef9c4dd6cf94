"""What is set when a kernel is compiled: element types and switches, and parameters that a switch brings."""

from __future__ import annotations

from typing import Any, List, Optional, Sequence, Union

from ._types import DType, as_dtype


class Option:
    """A switch of a kernel that is set when it is compiled, part of its key: ``causal = tl.option("causal", False)``.

    Attributes:
        name: by which it is set, as a size is. default: True or False.
    """

    def __init__(self, name: str, default: bool) -> None:
        self.name, self.default = name, default

    def entry(self) -> Any:
        """As the program format has it."""
        return {"type": "boolean", "default": "true" if self.default else "false"}

    def __repr__(self) -> str:
        return "tl.option(%r, %r)" % (self.name, self.default)


class OptionType(DType):
    """An element type that is chosen when a kernel is compiled. Its elements are converted by copies into tiles of a known type."""

    __slots__ = ("default", "choices")

    def __init__(self, name: str, default: DType, choices: Sequence[DType]) -> None:
        super().__init__(name, default.bytes, name)
        self.default, self.choices = default, list(choices)

    def entry(self) -> Any:
        """As the program format has it."""
        return {"type": "dtype", "default": self.default.name, "choices": [c.name for c in self.choices]}

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return "tl.option(%r, %r, choices=%r)" % (self.name, self.default, self.choices)


class When:
    """The annotation of a parameter that is there only where an option is set: ``eps: tl.when(custom_eps, tl.float32)``."""

    def __init__(self, option: Option, annotation: Any) -> None:
        if not isinstance(option, Option):
            raise TypeError("tl.when(option, annotation) takes a switch made by tl.option, not %r" % (option,))
        self.option, self.annotation = option, annotation


def option(name: str, default: Any, choices: Optional[Sequence[Any]] = None) -> Union[Option, OptionType]:
    """What is set when a kernel is compiled, by name, and is part of its key.

    Args:
        name: an identifier. default: a bool makes a switch, an element type a type among ``choices``.

    Raises:
        TypeError: ``default`` is neither. ValueError: it is none of the choices, or the name is no identifier.
    """
    if not name.isidentifier():
        raise ValueError("an option's name is an identifier, not %r" % name)
    if isinstance(default, bool):
        return Option(name, default)
    found = as_dtype(default)
    if found is None:
        raise TypeError("an option is a switch (True, False) or an element type, not %r" % (default,))
    types: List[DType] = []
    for word in choices if choices is not None else [found]:
        known = as_dtype(word)
        if known is None:
            raise TypeError("%r is no element type" % (word,))
        types.append(known)
    if found not in types:
        raise ValueError("the default %r is none of the choices %r" % (found, types))
    return OptionType(name, found, types)


def when(option: Any, annotation: Any) -> When:  # noqa: A002 - the word of the format
    """The annotation of a parameter that is there only where ``option`` is set."""
    return When(option, annotation)


__all__ = ["Option", "OptionType", "When", "option", "when"]
