"""The order of blocks, which a kernel may ask of lowering. It changes no result."""

from __future__ import annotations

from typing import Any

from ._arithmetic import Mistake
from ._expr import STATIC, Expr
from ._operations import operation
from ._types import Builtin


def block_order(panel, along="x"):  # type: ignore[no-untyped-def]
    """The order in which blocks start: panels of ``panel`` rows of the grid (program id 1), each walked along program
    id 0, so that blocks that run together share what they read. With ``along="y"`` panels of columns, walked along id
    1. ``panel`` is a number known when the kernel is compiled, 0 for lowering's choice. It changes no result.
    """
    raise NotImplementedError


block_order = Builtin(block_order, "block_order")  # type: ignore[assignment]


@operation("block_order")
def _block_order(t: Any, panel: Any, along: Any = "x") -> None:
    set_block_order(t, panel, along)


def set_block_order(t: Any, panel: Any, along: Any, hint: bool = False) -> None:
    """Of the launch that is being read."""
    if along not in ("x", "y"):
        raise Mistake("blocks are walked along 'x' or 'y', not %r" % (along,))
    value = t.operand(panel)
    known = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    if not known and not (isinstance(value, Expr) and value.level == STATIC and value.dtype == "index"):
        raise Mistake(
            "%r is no number of rows or columns of blocks" % (panel,),
            "a whole number that is known when the kernel is compiled",
        )
    schedule = t.builder.launch.schedule
    schedule["block_order"] = {"panel": value.text if isinstance(value, Expr) else str(value), "along": along}
    if hint:
        schedule["hint"] = True
