"""The language of Kiln's kernels: ``import kiln.language as tl``.

A kernel is a Python function that is read, never run: it says what one block of threads does with tiles of its operands.

    import numpy, kiln.language as tl

    @tl.kernel
    def add(x, y, out):
        i = tl.program_id(0)
        out[i * 256 : (i + 1) * 256] = x[i * 256 : (i + 1) * 256] + y[i * 256 : (i + 1) * 256]

    x = numpy.ones(1000, "float32"); out = numpy.empty_like(x)
    add(x, x, out)                        # on this machine's cores; device="emu:gfx942" on the emulated card

Shapes and types below are those of the tile that an operation gives; ``[…]`` are extents known when the kernel is compiled.
"""

# What their operations do is registered.
from . import _atomics, _descriptors, _messages, _operations_more, _random  # noqa: F401
from ._autotune import Config, autotune
from ._errors import KernelError, Place
from ._functions import *  # noqa: F401,F403
from ._functions import __all__ as _functions
from ._functions_more import *  # noqa: F401,F403
from ._functions_more import __all__ as _functions_more
from ._kernel import CompiledKernel, Kernel, client, compile, kernel, use_client
from ._types import DTYPES, BlockLayout, Buffer, DType, Swizzle, Symbol, constexpr

program = kernel
float64, float32, float16, bfloat16 = DTYPES["f64"], DTYPES["f32"], DTYPES["f16"], DTYPES["bf16"]
int64, int32, int16, int8 = DTYPES["i64"], DTYPES["i32"], DTYPES["i16"], DTYPES["i8"]
uint64, uint32, uint16, uint8 = DTYPES["u64"], DTYPES["u32"], DTYPES["u16"], DTYPES["u8"]
int1 = bool_ = DTYPES["bool"]
dtype = DType


def symbol(name: str, multiple_of: int = 1, min: int = 0, max: "int | None" = None) -> Symbol:  # noqa: A002 - the format's words
    """A size that is bound when the kernel is compiled: one code object a value."""
    return Symbol(name, False, multiple_of, min, max)


def dynamic(name: str, multiple_of: int = 1, min: int = 0, max: "int | None" = None) -> Symbol:  # noqa: A002
    """A size that is a kernel argument: one code object for all values that keep the promises."""
    return Symbol(name, True, multiple_of, min, max)


def jit(function=None, **options):  # type: ignore[no-untyped-def]
    """Marks a function as a kernel, or as one that kernels call: ``@tl.jit``."""
    return kernel(function, **{k: v for k, v in options.items() if k in ("grid", "threads", "num_warps", "name")})


__all__ = ["BlockLayout", "Buffer", "CompiledKernel", "Config", "DType", "Kernel", "KernelError", "Place", "Swizzle", "Symbol", "autotune", "bfloat16", "bool_", "client", "compile",
           "constexpr", "dtype", "dynamic", "float16", "float32", "float64", "int1", "int16", "int32", "int64", "int8", "jit", "kernel", "program",
           "symbol", "uint16", "uint32", "uint64", "uint8", "use_client", *_functions, *_functions_more]
