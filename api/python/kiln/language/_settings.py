"""Operations that say what may be chosen when a kernel is compiled: tunables, threads, by the kind of target."""

from __future__ import annotations

from typing import Any, Sequence

from ._access import Reader
from ._arithmetic import Mistake, is_number
from ._expr import STATIC, Expr, Poly, index_expr
from ._operations import operation
from ._types import Builtin, Tensor

__all__ = ["on_host", "threads", "tunable"]


def _language(function):  # type: ignore[no-untyped-def]
    return Builtin(function, function.__name__)


@_language
def tunable(default: Any, candidates: Sequence[int] = ()) -> Tensor:
    """A number that tuning may choose: ``BM = tl.tunable(64, candidates=[32, 64, 128])``. Its name is the one that it is assigned
    to; ``default`` may depend on sizes, options and the target.
    """
    raise NotImplementedError


@_language
def threads(count: Any) -> None:
    """Threads of a block: a number is of cards (on the host a block has one thread), an expression is taken as it is."""
    raise NotImplementedError


@_language
def on_host() -> Tensor:
    """Whether the target is the host: a condition that is decided when the kernel is compiled."""
    raise NotImplementedError


@operation("tunable")
def _tunable(t: Reader, default: Any, candidates: Any = ()) -> Expr:
    known = default if is_number(default) and not isinstance(default, bool) else getattr(default, "poly", None)
    if known is None or isinstance(known, float) or isinstance(known, Poly) and not t.builder.is_static(known):
        raise Mistake("the default of a tunable is a whole number that is known when the kernel is compiled", "of sizes, options and the target")
    if not isinstance(candidates, (list, tuple)) or any(isinstance(c, bool) or not isinstance(c, int) or c < 0 for c in candidates):
        raise Mistake("candidates of a tunable are a list of whole numbers", "tl.tunable(64, candidates=[32, 64, 128])")
    if t.builder.depth > 1:
        raise Mistake("a tunable inside a loop or branch", "declare it at the top of the kernel")
    return index_expr(t.builder.tunable(t.hint, str(known), list(candidates)), STATIC)


@operation("threads")
def _threads(t: Reader, count: Any) -> None:
    if isinstance(count, bool) or not (isinstance(count, int) or isinstance(count, Expr) and count.level == STATIC and count.poly is not None):
        raise Mistake("the threads of a block are a whole number that is known when the kernel is compiled")
    t.builder.launch.threads = "1 if target.is_host else %d" % count if isinstance(count, int) else count.text


@operation("on_host")
def _on_host(t: Reader) -> Expr:
    return Expr("bool", "target.is_host", (), STATIC)
