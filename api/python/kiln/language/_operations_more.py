"""What more operations of ``kiln.language`` do while a kernel is read: those of _functions_more.py."""

from __future__ import annotations

from typing import Any

from ._access import Reader
from ._arithmetic import Mistake, constant, is_number
from ._expr import BlockPointer, Dot, Expr, Param, Pointer, Region, Tile, Transposed
from ._functions_more import tensor, tensor_descriptor
from ._operations import operation
from ._types import DType, constexpr

@operation("gdc_wait", "gdc_launch_dependents")
def _in_order(t: Reader) -> None:
    return None


@operation("map_elementwise")
def _map_elementwise(t: Reader, scalar_fn: Any, *args: Any, pack: int = 1) -> Any:
    if pack != 1:
        raise Mistake("map_elementwise with pack=%r is not there yet" % (pack,), "pack=1")
    return t.call(scalar_fn, [t.operand(x) for x in args], {})


# -- numbers


@operation("to_tensor")
def _to_tensor(t: Reader, x: Any) -> Any:
    return constant(x, None if not isinstance(x, bool) else "bool") if is_number(x) else x


@operation("python.isinstance")
def _isinstance(t: Reader, x: Any, kinds: Any) -> bool:
    """Of a kernel's values: ``tl.tensor``, ``tl.tensor_descriptor``, ``tl.constexpr`` (what is known now), or Python's
    types.
    """
    for kind in kinds if isinstance(kinds, tuple) else (kinds,):
        if kind is tensor_descriptor:
            found = isinstance(x, BlockPointer)
        elif kind is tensor:
            found = isinstance(x, (Expr, Tile, Param, Pointer, Region, Dot, Transposed))
        elif kind is constexpr:
            found = x is None or isinstance(x, (int, float, str, DType))
        else:
            found = isinstance(kind, type) and isinstance(x, kind)
        if found:
            return True
    return False


# -- what has no counterpart, or none yet


def _refused(names: str, message: str, hint: str) -> None:
    @operation(*names.split())
    def run(t: Reader, *_: Any, **__: Any) -> None:
        raise Mistake(message, hint)


_refused("device_print", "printing from a running kernel is not there yet",
         "store the values into a parameter and look at the array; compiled.check() compares with the interpreter")
_refused("device_assert", "assertions in a running kernel are not there yet",
         "tl.static_assert for what is known when compiled; compiled.check() compares with the interpreter")
_refused("dot_scaled", "products of blocks with scales (f8, f6, f4) are not there yet",
         "convert the operands and multiply with the scales first: tl.dot((x.to(tl.float32) * s).to(tl.float16), y)")
_refused("inline_asm_elementwise", "inline assembly",
         "a kernel is compiled for every target: write it with tl.* and bit operations")
_refused("pointer_type", "pointers that lie in memory",
         "pass one buffer that holds all operands one after the other, and where each begins as offsets")
_refused("async_task", "waves specialized by hand",
         "tl.range(…, num_stages=n): lowering decides which waves load ahead")
