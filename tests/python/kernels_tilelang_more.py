"""Kernels in TileLang's style: packed operands, split products, loops of other kinds, data that decides, convolution,
several launches.
"""

from kiln import tilelang
import kiln.tilelang.language as T
from kiln.tilelang import tir


def low_nibble_signed(packed, position):
    """A signed number of 4 bits out of a byte."""
    nibble = (packed >> (position.astype(T.uint8) * tir.const(4, T.uint8))) & tir.const(15, T.uint8)
    return tir.reinterpret(T.int8, nibble << tir.const(4, T.uint8)) >> tir.const(4, T.int8)


@tilelang.jit(out_idx=[-1])
def gemm_int4(m, n, k, rows=32, cols=32, depth=64):
    """A[m, k] times B[n, k] transposed, B packed, two numbers a byte."""

    @T.prim_func
    def kernel(A: T.Tensor((m, k), "int8"), B: T.Tensor((n, k // 2), "uint8"), C: T.Tensor((m, n), "int32")):
        with T.Kernel(T.ceildiv(n, cols), T.ceildiv(m, rows), threads=128) as (bx, by):
            a = T.alloc_shared((rows, depth), "int8")
            packed = T.alloc_shared((cols, depth // 2), "uint8")
            b = T.alloc_shared((cols, depth), "int8")
            acc = T.alloc_fragment((rows, cols), "int32")
            T.clear(acc)
            for s in T.Pipelined(0, T.ceildiv(k, depth), num_stages=1):
                T.copy(A[by * rows, s * depth], a)
                T.copy(B[bx * cols, s * depth // 2], packed)
                for i, j in T.Parallel(cols, depth):
                    b[i, j] = low_nibble_signed(packed[i, j // 2], j % 2)
                T.gemm(a, b, acc, transpose_B=True)
            T.copy(acc, C[by * rows, bx * cols])

    return kernel


@tilelang.jit(out_idx=[-1])
def gemm_int4_scaled(m, n, k, group, rows=32, cols=32, depth=32):
    """The same in f16, with a scale for each ``group`` numbers of a row of B."""

    @T.prim_func
    def kernel(
        A: T.Tensor((m, k), "float16"),
        B: T.Tensor((n, k // 2), T.uint8),
        S: T.Tensor((n, k // group), "float16"),
        C: T.Tensor((m, n), "float16"),
    ):
        with T.Kernel(T.ceildiv(n, cols), T.ceildiv(m, rows), threads=128) as (bx, by):
            a = T.alloc_shared((rows, depth), "float16")
            packed = T.alloc_fragment((cols, depth // 2), T.uint8)
            b = T.alloc_shared((cols, depth), "float16")
            acc = T.alloc_fragment((rows, cols), "float32")
            T.clear(acc)
            for s in T.Pipelined(k // depth):
                T.copy(A[by * rows, s * depth], a)
                T.copy(B[bx * cols, s * (depth // 2)], packed)
                for i, j in T.Parallel(cols, depth):
                    number = T.bitwise_and(T.shift_right(packed[i, j // 2], T.Cast(T.uint8, (j % 2) * 4)), 15)
                    b[i, j] = (number.astype("float16") - 8) * S[bx * cols + i, (s * depth + j) // group]
                T.gemm(a, b, acc, transpose_B=True)
            T.copy(acc, C[by * rows, bx * cols])

    return kernel


@tilelang.jit
def gemm_split(A, B, C, rows, cols, depth, parts, by_tile):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), T.float16)
    B: T.Tensor((K, N), T.float16)
    C: T.Tensor((M, N), T.float32)
    per_part = K // parts
    with T.Kernel(T.ceildiv(N, cols), T.ceildiv(M, rows), parts, threads=128) as (bx, by, bz):
        a = T.alloc_shared((rows, depth), T.float16)
        b = T.alloc_shared((depth, cols), T.float16)
        acc = T.alloc_fragment((rows, cols), T.float32)
        T.clear(acc)
        for s in T.Pipelined(T.ceildiv(per_part, depth), num_stages=2):
            T.copy(A[by * rows, bz * per_part + s * depth], a)
            T.copy(B[bz * per_part + s * depth, bx * cols], b)
            T.gemm(a, b, acc)
        if by_tile:
            T.atomic_add(C[by * rows, bx * cols], acc)
        else:
            for i, j in T.Parallel(rows, cols // 2):
                T.atomic_addx2(C[by * rows + i, bx * cols + j * 2], acc[i, j * 2])


@tilelang.jit
def gemm_persistent(A, B, blocks, rows, cols, depth, by_hand):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), T.float16)
    B: T.Tensor((K, N), T.float16)
    C = T.empty((M, N), T.float16)
    across = T.ceildiv(N, cols)
    total = T.ceildiv(M, rows) * across
    with T.Kernel(blocks, threads=128) as block:
        a = T.alloc_shared((rows, depth), T.float16)
        b = T.alloc_shared((depth, cols), T.float16)
        acc = T.alloc_fragment((rows, cols), T.float32)
        if by_hand:
            tile = T.alloc_var(T.int32)
            tile = block
            while tile < total:
                now = tile
                i, j = now // across, now % across
                T.clear(acc)
                for s in T.Pipelined(T.ceildiv(K, depth), num_stages=2):
                    T.copy(A[i * rows, s * depth], a)
                    T.copy(B[s * depth, j * cols], b)
                    T.gemm(a, b, acc)
                T.copy(acc, C[i * rows, j * cols])
                tile = now + blocks
        else:
            for i, j in T.Persistent([T.ceildiv(M, rows), across], blocks, block):
                T.clear(acc)
                for s in T.Pipelined(T.ceildiv(K, depth), num_stages=2):
                    T.copy(A[i * rows, s * depth], a)
                    T.copy(B[s * depth, j * cols], b)
                    T.gemm(a, b, acc)
                T.copy(acc, C[i * rows, j * cols])
    return C


@tilelang.jit
def gemm_of_any_size(A, B, rows=32, cols=32, depth=32):
    M, N, K = T.dynamic("m"), T.dynamic("n"), T.dynamic("k")
    A: T.Tensor((M, K), "float16")
    B: T.Tensor((K, N), "float16")
    C = T.empty((M, N), "float16")
    with T.Kernel(T.ceildiv(N, cols), T.ceildiv(M, rows), threads=128) as (bx, by):
        a = T.alloc_shared((rows, depth), "float16")
        b = T.alloc_shared((depth, cols), "float16")
        acc = T.alloc_fragment((rows, cols), "float32")
        T.clear(acc)
        for s in T.Pipelined(T.ceildiv(K, depth), num_stages=2):
            T.copy(A[by * rows, s * depth], a)
            T.copy(B[s * depth, bx * cols], b)
            T.gemm(a, b, acc)
        T.copy(acc, C[by * rows, bx * cols])
    return C


@tilelang.jit(out_idx=[-1])
def gemm_block_sparse(m, n, k, block=32):
    """A row's blocks of A count where the mask is set."""

    @T.prim_func
    def kernel(
        A: T.Tensor((m, k), "float16"),
        B: T.Tensor((k, n), "float16"),
        Mask: T.Tensor((m // block, k // block), "int8"),
        C: T.Tensor((m, n), "float32"),
    ):
        with T.Kernel(n // block, m // block, threads=64) as (bx, by):
            a = T.alloc_shared((block, block), "float16")
            b = T.alloc_shared((block, block), "float16")
            acc = T.alloc_fragment((block, block), "float32")
            mask = T.alloc_local((k // block,), "int8")
            for s in T.serial(k // block):
                mask[s] = Mask[by, s]
            T.clear(acc)
            for s in T.Pipelined(k // block):
                if mask[s] != 0:
                    T.copy(A[by * block, s * block], a)
                    T.copy(B[s * block, bx * block], b)
                    T.gemm(a, b, acc)
            T.copy(acc, C[by * block, bx * block])

    return kernel


@tilelang.jit
def convolution(X, W, stride, dilation, pad, rows, cols, depth):
    N, H, V, C, F, K = T.const("N, H, V, C, F, K")
    KH, KW = K, K
    OH = (H + 2 * pad - dilation * (K - 1) - 1) // stride + 1
    OW = (V + 2 * pad - dilation * (K - 1) - 1) // stride + 1
    X: T.Tensor((N, H, V, C), T.float16)
    W: T.Tensor((KH, KW, C, F), T.float16)
    Y = T.empty((N, OH, OW, F), T.float16)
    with T.Kernel(T.ceildiv(F, cols), T.ceildiv(N * OH * OW, rows), threads=128) as (bx, by):
        x = T.alloc_shared((rows, depth), T.float16)
        w = T.alloc_shared((depth, cols), T.float16)
        acc = T.alloc_fragment((rows, cols), T.float32)
        flat_w = T.Tensor((KH * KW * C, F), T.float16, W.data)
        flat_y = T.view(Y, (N * OH * OW, F))
        T.clear(acc)
        for s in T.Pipelined(T.ceildiv(KH * KW * C, depth), num_stages=2):
            T.im2col(X, x, by, s, K, stride, dilation, pad)
            T.copy(flat_w[s * depth, bx * cols], w)
            T.gemm(x, w, acc)
        T.copy(acc, flat_y[by * rows, bx * cols])
    return Y


@tilelang.jit
def numbers(X, N: int):
    """Numbers that change: in loops, under conditions on data, in views of tiles."""
    M = T.const("M")
    X: T.Tensor((M, N), T.float32)
    Y = T.empty((M, 4), T.float32)
    with T.Kernel(M, threads=64) as row:
        x = T.alloc_shared((N,), T.float32)
        square = T.alloc_fragment((N,), T.float32)
        total = T.alloc_fragment((1,), T.float32)
        first = T.alloc_var(T.float32)
        above = T.alloc_var(T.int32, 0)
        last = T.alloc_var(T.int32)
        T.copy(X[row, :], x)
        by_two = T.view(x, (N // 2, 2))
        for i, j in T.Parallel(N // 2, 2):
            square[i * 2 + j] = by_two[i, j] * by_two[i, j]
        T.reduce_sum(square, total, dim=0)
        first = x[0]
        for i in T.serial(N):
            if x[i] > 0.5:
                above += 1
        for i in T.serial(N):
            last = last + i
        Y[row, 0] = total[0]
        Y[row, 1] = T.if_then_else(first > 0, first, -first)
        Y[row, 2] = above
        Y[row, 3] = last
    return Y


@tilelang.jit
def running_sums(X, reverse=False):
    M, N = T.const("M, N")
    X: T.Tensor((M, N), T.float32)
    Y = T.empty((M, N), T.float32)
    with T.Kernel(1, threads=64):
        x = T.alloc_shared((M, N), T.float32)
        y = T.alloc_fragment((M, N), T.float32)
        T.copy(X, x)
        T.cumsum(x, y, dim=1, reverse=reverse)
        T.copy(y, Y)
    return Y


@tilelang.jit(out_idx=[-1])
def rows_by_index(count, rows, width, block=8):
    @T.prim_func
    def kernel(
        Table: T.Tensor((rows, width), "float32"),
        Index: T.Tensor((count,), "int32"),
        Y: T.Tensor((count, width), "float32"),
    ):
        with T.Kernel(T.ceildiv(count, block), threads=64) as b:
            y = T.alloc_fragment((block, width), "float32")
            for i, j in T.Parallel(block, width):
                y[i, j] = T.if_then_else(b * block + i < count, Table[Index[b * block + i], j], 0)
            T.copy(y, Y[b * block, 0])

    return kernel


@tilelang.jit
def add_strided(m, n, pitch):
    """Adds the transpose of X, which lies column by column, to Y, whose rows lie ``pitch`` apart."""

    @T.prim_func
    def kernel(X: T.StridedTensor((m, n), (1, m), "float32"), Y: T.StridedTensor((m, n), (pitch, 1), "float32")):
        with T.Kernel(T.ceildiv(m, 16), threads=64) as b:
            x = T.alloc_fragment((16, n), "float32")
            y = T.alloc_fragment((16, n), "float32")
            T.copy(X[b * 16, 0], x)
            T.copy(Y[b * 16, 0], y)
            for i, j in T.Parallel(16, n):
                y[i, j] += x[i, j]
            T.copy(y, Y[b * 16, 0])

    return kernel


@tilelang.jit(out_idx=[-1])
def twice_as_tall(cols):
    m, n = T.dynamic("m, n")
    half = m // 2

    @T.prim_func
    def kernel(X: T.Tensor((m, n), "float32"), Y: T.Tensor((m * 2, n), "float32")):
        with T.Kernel(T.ceildiv(n, cols), m, threads=64) as (j, i):
            for c in T.Parallel(cols):
                if j * cols + c < n:
                    Y[2 * i, j * cols + c] = X[i, j * cols + c]
                    Y[2 * i + 1, j * cols + c] = T.if_then_else(i < half, X[i, j * cols + c] * 2, 0)

    return kernel


@tilelang.jit
def grouped_scale(X, S, starts, padded, lengths, block=8):
    """Rows in groups, each times its group's number; blocks belong to one group."""
    N = T.const("N")
    groups, total = len(lengths), sum(lengths)
    blocks = sum((n + block - 1) // block for n in lengths)
    X: T.Tensor((total, N), T.float32)
    S: T.Tensor((groups,), T.float32)
    starts: T.Tensor((groups + 1,), T.int32)
    padded: T.Tensor((groups,), T.int32)
    Y = T.empty((total, N), T.float32)
    with T.Kernel(blocks, threads=64) as b:
        group = T.alloc_var(T.int32)
        group = 0
        for g in range(groups):
            group = T.if_then_else(b * block >= padded[g], g, group)
        first = b * block - padded[group] + starts[group]
        x = T.alloc_shared((block, N), T.float32)
        T.copy(X[first : first + block, :], x)
        for i, j in T.Parallel(block, N):
            if first + i < starts[group + 1]:
                Y[first + i, j] = x[i, j] * S[group]
    return Y


@tilelang.jit(out_idx=[-1])
def one_element(m):
    @T.prim_func
    def kernel(X: T.Tensor((m,), "float32"), Y: T.Tensor((m,), "float32")):
        with T.Kernel(m, threads=64) as b:
            x = T.alloc_shared((1,), "float32")
            y = T.alloc_shared((1, 1), "float32")
            for i in T.Parallel(1):
                x[i] = X[b + i]
            for i, j in T.Parallel(1, 1):
                y[i, j] = x[i + j] * 2
            T.copy(y[0, :], Y[b])

    return kernel
