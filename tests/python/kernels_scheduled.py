"""Kernels that ask lowering for something; schedule_test.py runs them."""

import kiln.language as tl
import kiln.tilelang.language as T
from kiln import tilelang


@tl.kernel
def double(X, Y, panel: tl.constexpr, along: tl.constexpr):
    tl.block_order(panel=panel, along=along)
    i, j = tl.program_id(0), tl.program_id(1)
    Y[i * 16 : (i + 1) * 16, j * 16 : (j + 1) * 16] = X[i * 16 : (i + 1) * 16, j * 16 : (j + 1) * 16] * 2


@tilelang.jit(out_idx=[-1])
def gemm(m, n, k, panel=0, blocks="row", order=None, stage=None, group=None, policy="Square", pack=1):
    @T.prim_func
    def kernel(A: T.Tensor((m, k), "float16"), B: T.Tensor((k, n), "float16"), C: T.Tensor((m, n), "float32")):
        with T.Kernel(T.ceildiv(n, 64), T.ceildiv(m, 64), threads=256) as (bx, by):
            a = T.alloc_shared((64, 32), "float16")
            b = T.alloc_shared((32, 64), "float16")
            acc = T.alloc_fragment((64, 64), "float32")
            T.use_swizzle(panel, order=blocks, enable=panel > 0)
            T.clear(acc)
            for step in T.Pipelined(T.ceildiv(k, 32), num_stages=2, order=order, stage=stage, group=group):
                T.copy(A[by * 64, step * 32], a)
                T.copy(B[step * 32, bx * 64], b)
                T.gemm(a, b, acc, policy=getattr(T.GemmWarpPolicy, policy), k_pack=pack)
            T.copy(acc, C[by * 64, bx * 64])

    return kernel


@tilelang.jit(out_idx=[-1])
def scaled_gemm(m, n, k, order, stage):
    @T.macro
    def soften(tile):
        for i, j in T.Parallel(64, 32):
            tile[i, j] = tile[i, j] * T.float16(0.5)
        for i, j in T.Parallel(64, 32):
            tile[i, j] = tile[i, j] + T.float16(1)

    @T.prim_func
    def kernel(A: T.Tensor((m, k), "float16"), B: T.Tensor((k, n), "float16"), C: T.Tensor((m, n), "float32")):
        with T.Kernel(T.ceildiv(n, 64), T.ceildiv(m, 64), threads=256) as (bx, by):
            a = T.alloc_shared((64, 32), "float16")
            b = T.alloc_shared((32, 64), "float16")
            acc = T.alloc_fragment((64, 64), "float32")
            T.clear(acc)
            for step in T.Pipelined(T.ceildiv(k, 32), num_stages=2, order=order, stage=stage):
                T.copy(A[by * 64, step * 32], a)
                T.copy(B[step * 32, bx * 64], b)
                soften(a)
                T.gemm(a, b, acc)
            T.copy(acc, C[by * 64, bx * 64])

    return kernel
