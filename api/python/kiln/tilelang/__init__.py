"""TileLang's style: kernels written for TileLang run here with their imports changed.

    from kiln import tilelang
    import kiln.tilelang.language as T

    @tilelang.jit(out_idx=[-1])
    def matmul(M, N, K, block_M=64, block_N=64, block_K=32):
        @T.prim_func
        def main(A: T.Tensor((M, K), T.float16), B: T.Tensor((K, N), T.float16), C: T.Tensor((M, N), T.float16)):
            with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
                A_shared = T.alloc_shared((block_M, block_K), T.float16)
                B_shared = T.alloc_shared((block_K, block_N), T.float16)
                C_local = T.alloc_fragment((block_M, block_N), T.float32)
                T.clear(C_local)
                for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=2):
                    T.copy(A[by * block_M, k * block_K], A_shared)
                    T.copy(B[k * block_K, bx * block_N], B_shared)
                    T.gemm(A_shared, B_shared, C_local)
                T.copy(C_local, C[by * block_M, bx * block_N])
        return main

    c = matmul(1024, 1024, 1024)(a, b)            # NumPy arrays; device="emu:gfx942" for the emulated card

README.md beside this file says which of TileLang's examples run, and what its names are here.
"""

from . import _elementwise, _places, _products  # noqa: F401 - they register what operations do
from . import autotuner, language, layout, math, profiler, tir, tvm
from ._jit import JITFunction, JITKernel, compile, jit, lazy_jit  # noqa: A004 - TileLang's name
from ._profiler import Profiler
from ._tune import autotune, set_autotune_inputs
from ._types import PassConfigs as PassConfigKey
from ._types import TensorSupplyType
from ._types import dtype as DataType
from .math import cdiv, next_power_of_2
from .language import *  # noqa: F401,F403
from .language import __all__ as _language


def disable_cache() -> None:
    """Nothing: the cache is shared by all processes and always right."""


def set_log_level(level: object) -> None:
    """Nothing: what is to be said stands in errors and in ``explain``."""


enable_cache = disable_cache

__all__ = [
    "DataType",
    "JITFunction",
    "JITKernel",
    "PassConfigKey",
    "Profiler",
    "TensorSupplyType",
    "autotune",
    "autotuner",
    "cdiv",
    "compile",
    "disable_cache",
    "enable_cache",
    "jit",
    "language",
    "layout",
    "lazy_jit",
    "math",
    "next_power_of_2",
    "profiler",
    "set_autotune_inputs",
    "set_log_level",
    "tir",
    "tvm",
    *_language,
]
