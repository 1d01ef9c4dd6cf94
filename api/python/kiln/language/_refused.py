"""Operations that have no counterpart in ``kiln.language``, or none yet: errors that say what to do instead."""

from __future__ import annotations

from typing import Any

from ._access import Reader
from ._arithmetic import Mistake
from ._operations import operation


def _refused(names: str, message: str, hint: str) -> None:
    @operation(*names.split())
    def run(t: Reader, *_: Any, **__: Any) -> None:
        raise Mistake(message, hint)


_refused("dot_scaled", "products of blocks with scales (f8, f6, f4) are not there yet",
         "convert the operands and multiply with the scales first: tl.dot((x.to(tl.float32) * s).to(tl.float16), y)")
_refused("inline_asm_elementwise", "inline assembly",
         "a kernel is compiled for every target: write it with tl.* and bit operations")
_refused("pointer_type", "pointers that lie in memory",
         "pass one buffer that holds all operands one after the other, and where each begins as offsets")
_refused("async_task", "waves specialized by hand",
         "tl.range(…, num_stages=n): lowering decides which waves load ahead")
_refused("sort topk", "sorting inside a kernel is not there yet",
         "tl.max(x, axis, return_indices=True) takes one at a time: repeat it k times, with the taken "
         "element replaced by -inf")
