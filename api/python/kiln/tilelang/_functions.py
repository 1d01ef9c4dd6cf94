"""How a T.* name is marked: what it is called, how it evaluates its arguments, what it does outside kernels."""

from __future__ import annotations

from typing import Any, Callable, Optional

from ..language._types import Builtin


class Operation(Builtin):
    """An operation of TileLang's style.

    Attributes:
        places: its arguments may be pieces of tiles and tensors: ``A[i, j]`` is where, not what.
        outside: what it does on numbers outside kernels, in the Python code around one; None: nothing.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        name: str,
        places: bool = False,
        outside: Optional[Callable[..., Any]] = None,
    ) -> None:
        super().__init__(function, name)
        self.places, self.outside = places, outside

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.outside is None:
            return super().__call__(*args, **kwargs)
        return self.outside(*args, **kwargs)

    @classmethod
    def mark(
        cls, places: bool = False, outside: Optional[Callable[..., Any]] = None
    ) -> Callable[[Callable[..., Any]], "Operation"]:
        """A decorator: the function's name, with ``T.`` before it, is the operation's."""

        def marked(function: Callable[..., Any]) -> "Operation":
            return cls(function, "T." + function.__name__.rstrip("_"), places, outside)

        return marked
