"""Products whose blocks are chosen by tuning, in the styles of Triton and TileLang. Run as a script it prints what was
chosen and whether it was measured: STYLE SHAPE… as M N K."""

import json
import sys

import numpy

from kiln import tilelang, triton
import kiln.tilelang.language as T
import kiln.triton.language as tl

BLOCKS = [(128, 32, 32), (16, 128, 64), (16, 256, 128)]  # the first of them is no good for 8 rows


@triton.autotune(configs=[triton.Config({"BM": m, "BN": n, "BK": k}) for m, n, k in BLOCKS], key=["M", "N", "K"])
@triton.jit
def triton_product(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    ks = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        at = k + ks
        x = tl.load(a + rows[:, None] * K + at[None, :], mask=(rows[:, None] < M) & (at[None, :] < K), other=0.0)
        y = tl.load(b + at[:, None] * N + columns[None, :], mask=(at[:, None] < K) & (columns[None, :] < N), other=0.0)
        acc = tl.dot(x, y, acc)
    tl.store(c + rows[:, None] * N + columns[None, :], acc, mask=(rows[:, None] < M) & (columns[None, :] < N))


@tilelang.autotune(configs=lambda M, N, K, **_: [dict(BM=m, BN=n, BK=k) for m, n, k in BLOCKS])
@tilelang.jit(out_idx=[-1])
def returned_product(M, N, K, BM=None, BN=None, BK=None):
    @T.prim_func
    def product(A: T.Tensor((M, K), T.float32), B: T.Tensor((K, N), T.float32), C: T.Tensor((M, N), T.float32)):
        with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=128) as (bx, by):
            a, b = T.alloc_shared((BM, BK), T.float32), T.alloc_shared((BK, BN), T.float32)
            c = T.alloc_fragment((BM, BN), T.float32)
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(K, BK), num_stages=2):
                T.copy(A[by * BM, k * BK], a)
                T.copy(B[k * BK, bx * BN], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * BM, bx * BN])

    return product


@tilelang.autotune(configs=[dict(BM=m, BN=n, BK=k) for m, n, k in BLOCKS])
@tilelang.jit
def own_product(A, B, C, BM=None, BN=None, BK=None):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), T.float32)
    B: T.Tensor((K, N), T.float32)
    C: T.Tensor((M, N), T.float32)
    with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=128) as (bx, by):
        a, b = T.alloc_shared((BM, BK), T.float32), T.alloc_shared((BK, BN), T.float32)
        c = T.alloc_fragment((BM, BN), T.float32)
        T.clear(c)
        for k in T.Pipelined(T.ceildiv(K, BK), num_stages=2):
            T.copy(A[by * BM, k * BK], a)
            T.copy(B[k * BK, bx * BN], b)
            T.gemm(a, b, c)
        T.copy(c, C[by * BM, bx * BN])


def _launch_triton(a, b, c, device):
    m, n, k = a.shape[0], b.shape[1], a.shape[1]
    grid = lambda meta: (triton.cdiv(m, meta["BM"]), triton.cdiv(n, meta["BN"]))
    triton_product[grid](a, b, c, m, n, k, device=device)
    return triton_product.tuning


def _launch_returned(a, b, c, device):
    kernel = returned_product(a.shape[0], b.shape[1], a.shape[1], device=device)
    c[...] = kernel(a, b)
    return returned_product.tuning


def _launch_own(a, b, c, device):
    own_product(a, b, c, device=device)
    return own_product.tuning


STYLES = {"triton": _launch_triton, "returned": _launch_returned, "own": _launch_own}


def run(style, m, n, k, device="host"):
    random = numpy.random.default_rng(0)
    a, b = random.standard_normal((m, k), dtype="float32"), random.standard_normal((k, n), dtype="float32")
    c = numpy.zeros((m, n), "float32")
    answer = STYLES[style](a, b, c, device).last
    numpy.testing.assert_allclose(c, a @ b, rtol=1e-3, atol=1e-3)
    return {"first": answer["candidates"][0]["name"],
            **{name: answer.get(name) for name in ("winner", "found", "ratio", "ranked_by", "record")}}


if __name__ == "__main__":
    sizes = [int(x) for x in sys.argv[2:]]
    print(json.dumps([run(sys.argv[1], *sizes[i:i + 3]) for i in range(0, len(sizes), 3)]))
