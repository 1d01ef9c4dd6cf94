"""Triton's interface over Kiln: ``from kiln import triton`` and ``import kiln.triton.language as tl``.

    @triton.jit
    def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = offsets < n
        tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask),
        mask=mask)

    add[(triton.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024)           # NumPy arrays; device="emu:gfx942" on the emulated
    card

README.md beside this file says which of Triton's tutorials run, and what Triton's names are here.
"""

from typing import Any

from ..errors import KilnError as TritonError
from ..language._errors import KernelError as CompilationError
from . import language, runtime, testing, tools
from ._autotune import Autotuner, Config, autotune, heuristics
from ._jit import JITFunction, compile, jit


def cdiv(x: int, y: int) -> int:
    """``x / y`` rounded up, of numbers that are not negative; in kernels, where ``//`` truncates, and outside of them."""
    return (x + y - 1) // y


def next_power_of_2(n: int) -> int:
    """The least power of two that is at least ``n``."""
    return 1 << max(0, n - 1).bit_length()


def set_allocator(allocator: Any) -> None:
    """Nothing: descriptors take no memory here."""


def constexpr_function(function: Any) -> Any:
    """A function that is computed when a kernel is read; any function of numbers known then is."""
    return function


__all__ = [
    "Autotuner", "CompilationError", "Config", "JITFunction", "TritonError", "autotune", "cdiv", "compile",
    "constexpr_function", "heuristics", "jit", "language", "next_power_of_2", "runtime", "set_allocator", "testing",
    "tools"]
