"""Triton's cache, the peer of warm_start_bench.py: started by it with the Python of an environment that has Triton.

argv: the number of kernels. Compiles (or finds in TRITON_CACHE_DIR) GEMM kernels for gfx942 of the sizes that
warm_start_bench.py asks Kiln for; needs no card. Prints JSON: milliseconds for the import, for all the kernels,
for the first of them.
"""

import json
import sys
import time

begin = time.perf_counter()
import triton  # noqa: E402
import triton.language as tl  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402

imported = time.perf_counter()


@triton.jit
def gemm(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
         BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(1) * BM + tl.arange(0, BM)
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        inside_a = (rows[:, None] < M) & ((k + depth)[None, :] < K)
        inside_b = ((k + depth)[:, None] < K) & (columns[None, :] < N)
        x = tl.load(a + rows[:, None] * K + (k + depth)[None, :], mask=inside_a, other=0.0)
        y = tl.load(b + (k + depth)[:, None] * N + columns[None, :], mask=inside_b, other=0.0)
        total = tl.dot(x, y, total)
    inside_c = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c + rows[:, None] * N + columns[None, :], total.to(tl.float16), mask=inside_c)


def main():
    target = GPUTarget("hip", "gfx942", 64)
    constants = ("M", "N", "K", "BM", "BN", "BK")
    signature = {"a": "*fp16", "b": "*fp16", "c": "*fp16", **{name: "constexpr" for name in constants}}
    times = []
    for i in range(int(sys.argv[1])):
        start = time.perf_counter()
        values = dict(zip(constants, (1024 + 128 * i, 1024, 1024, 128, 128, 64)))
        source = ASTSource(fn=gemm, signature=signature, constexprs=values)
        kernel = triton.compile(source, target=target, options={"num_warps": 4})
        if not kernel.asm["hsaco"]:
            sys.exit("Triton gave no code object")
        times.append((time.perf_counter() - start) * 1e3)
    print(json.dumps({"import_ms": (imported - begin) * 1e3, "hits_ms": sum(times), "first_ms": times[0],
                      "version": triton.__version__}))


main()
