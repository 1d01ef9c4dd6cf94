"""Kernels in TileLang's style: products, elementwise, softmax, norms, reductions; tilelang_test.py runs them."""

from kiln import tilelang
import kiln.tilelang.language as T


@tilelang.jit(out_idx=[-1])
def gemm(m, n, k, transposed=False, dtype="float16", accum="float", rows=64, cols=64, depth=32, stages=2):
    b_shape = (n, k) if transposed else (k, n)
    b_tile = (cols, depth) if transposed else (depth, cols)

    @T.prim_func
    def kernel(A: T.Tensor((m, k), dtype), B: T.Tensor(b_shape, dtype), C: T.Tensor((m, n), dtype)):
        with T.Kernel(T.ceildiv(n, cols), T.ceildiv(m, rows), threads=128) as (bx, by):
            a = T.alloc_shared((rows, depth), dtype)
            b = T.alloc_shared(b_tile, dtype)
            acc = T.alloc_fragment((rows, cols), accum)
            out = T.alloc_shared((rows, cols), dtype)

            T.use_swizzle(panel_size=8)
            T.annotate_layout({b: tilelang.layout.make_swizzled_layout(b)})
            T.clear(acc)
            for step in T.Pipelined(T.ceildiv(k, depth), num_stages=stages):
                T.copy(A[by * rows, step * depth], a)
                if transposed:
                    T.copy(B[bx * cols, step * depth], b)
                else:
                    T.copy(B[step * depth, bx * cols], b)
                T.gemm(a, b, acc, transpose_B=transposed, policy=T.GemmWarpPolicy.FullRow)
            T.copy(acc, out)
            T.copy(out, C[by * rows, bx * cols])

    return kernel


@tilelang.jit
def gemm_bias_relu(A, B, bias, rows: int, cols: int, depth: int, dtype=T.float16):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), dtype)
    B: T.Tensor((K, N), dtype)
    bias: T.Tensor((N,), dtype)
    C = T.empty((M, N), dtype)

    with T.Kernel(T.ceildiv(N, cols), T.ceildiv(M, rows), threads=128) as (bx, by):
        a = T.alloc_shared((rows, depth), dtype)
        b = T.alloc_shared((depth, cols), dtype)
        acc = T.alloc_fragment((rows, cols), T.float32)
        for step in T.Pipelined(K // depth + (K % depth != 0), num_stages=3):
            T.copy(A[by * rows, step * depth], a)
            T.copy(B[step * depth, bx * cols], b)
            T.gemm(a, b, acc, clear_accum=(step == 0))
        for i, j in T.Parallel(rows, cols):
            acc[i, j] = T.max(acc[i, j] + T.Cast(T.float32, bias[bx * cols + j]), 0)
        T.copy(acc, C[by * rows : (by + 1) * rows, bx * cols : (bx + 1) * cols])
    return C


@tilelang.jit(out_idx=-1)
def add(m, n, rows, cols, dtype):
    @T.prim_func
    def kernel(X: T.Tensor[(m, n), dtype], Y: T.Tensor[(m, n), dtype], Z: T.Tensor[(m, n), dtype]):
        with T.Kernel(T.ceildiv(m, rows), T.ceildiv(n, cols), threads=(32, 4)) as (i, j):
            x = T.alloc_shared((rows, cols), dtype)
            y = T.alloc_shared((rows, cols), dtype)
            z = T.alloc_fragment((rows, cols), dtype)
            T.copy(X[i * rows, j * cols], x)
            T.copy(Y[i * rows, j * cols], y)
            for r, c in T.Parallel(rows, cols):
                z[r, c] = x[r, c] + y[r, c]
            T.copy(z, Z[i * rows, j * cols])

    return kernel


@tilelang.jit
def softmax_online(X, rows: int = 2, cols: int = 64):
    M, N = T.const("M, N")
    X: T.Tensor((M, N), T.float16)
    Y = T.empty((M, N), T.float16)
    to_base_2 = 1.4426950408889634

    with T.Kernel(T.ceildiv(M, rows), threads=128) as block:
        x = T.alloc_fragment((rows, cols), T.float16)
        raised = T.alloc_fragment((rows, cols), T.float32)
        top = T.alloc_fragment((rows,), T.float32)
        before = T.alloc_fragment((rows,), T.float32)
        part = T.alloc_fragment((rows,), T.float32)
        total = T.alloc_fragment((rows,), T.float32)
        T.fill(top, -T.infinity(T.float32))
        T.clear(total)
        for k in T.serial(T.ceildiv(N, cols)):
            T.copy(X[block * rows, k * cols], x)
            T.copy(top, before)
            for i, j in T.Parallel(rows, cols):
                raised[i, j] = T.if_then_else(
                    k * cols + j < N, T.Cast("float", x[i, j]) * to_base_2, -T.infinity("float")
                )
            T.reduce_max(raised, top, dim=1, clear=False)
            for i, j in T.Parallel(rows, cols):
                raised[i, j] = T.exp2(raised[i, j] - top[i])
            T.reduce_sum(raised, part, dim=1)
            for i in T.Parallel(rows):
                total[i] = total[i] * T.exp2(before[i] - top[i]) + part[i]
        for k in T.serial(T.ceildiv(N, cols)):
            T.copy(X[block * rows, k * cols], x)
            for i, j in T.Parallel(rows, cols):
                x[i, j] = T.exp2(x[i, j].astype(T.float32) * to_base_2 - top[i]) / total[i]
            T.copy(x, Y[block * rows, k * cols])
    return Y


@tilelang.jit(out_idx=[-1])
def rms_norm(m, n, rows=4, eps=1e-6):
    @T.prim_func
    def kernel(X: T.Tensor((m, n), "float32"), W: T.Tensor((n,), "float32"), Y: T.Tensor((m, n), "float32")):
        with T.Kernel(T.ceildiv(m, rows), threads=128) as bx:
            x = T.alloc_fragment((rows, n), "float32")
            w = T.alloc_fragment((n,), "float32")
            squares = T.alloc_fragment((rows, n), "float32")
            scale = T.alloc_fragment((rows,), "float32")
            T.copy(X[bx * rows : (bx + 1) * rows, :], x)
            T.copy(W, w)
            for i, j in T.Parallel(rows, n):
                squares[i, j] = x[i, j] * x[i, j]
            T.reduce_sum(squares, scale, dim=-1)
            for i in T.Parallel(rows):
                scale[i] = T.rsqrt(scale[i] / n + eps)
            for i, j in T.Parallel(rows, n):
                x[i, j] *= scale[i] * w[j]
            T.copy(x, Y[bx * rows : (bx + 1) * rows, :])

    return kernel


@tilelang.jit(out_idx=[3, 4])
def layer_norm(m, n, eps=1e-5):
    @T.prim_func
    def kernel(
        X: T.Tensor((m, n), "float32"),
        W: T.Tensor((n,), "float32"),
        B: T.Tensor((n,), "float32"),
        Y: T.Tensor((m, n), "float32"),
        Mean: T.Tensor((m,), "float32"),
    ):
        with T.Kernel(m, threads=64) as row:
            x = T.alloc_shared((1, n), "float32")
            centred = T.alloc_fragment((1, n), "float32")
            mean = T.alloc_fragment((1,), "float32")
            variance = T.alloc_fragment((1,), "float32")
            T.copy(X[row, 0], x)
            T.reduce_sum(x, mean, dim=1)
            mean[0] = mean[0] / T.Cast("float32", n)
            for i, j in T.Parallel(1, n):
                d = x[i, j] - mean[0]
                centred[i, j] = d * d
            T.reduce_sum(centred, variance, dim=1)
            inverse = 1.0 / n
            for i, j in T.Parallel(1, n):
                x[i, j] = (x[i, j] - mean[i]) * T.rsqrt(variance[i] * inverse + eps) * W[j] + B[j]
            T.copy(x, Y[row, 0])
            Mean[row] = mean[0]

    return kernel


@tilelang.jit
def reductions(X, rows: int):
    M, N = T.const("M, N")
    X: T.Tensor((M, N), T.float32)
    largest = T.empty((M,), T.float32)
    smallest = T.empty((M,), T.float32)
    magnitude = T.empty((M,), T.float32)
    magnitudes = T.empty((N,), T.float32)
    total = T.empty((M, 1), T.float32)
    with T.Kernel(T.ceildiv(M, rows), threads=128) as b:
        x = T.alloc_fragment((rows, N), T.float32)
        line = T.alloc_fragment((rows,), T.float32)
        column = T.alloc_fragment((N,), T.float32)
        kept = T.alloc_fragment((rows, 1), T.float32)
        T.copy(X[b * rows, 0], x)
        T.reduce_max(x, line, dim=1)
        T.copy(line, largest[b * rows])
        T.reduce_min(x, line, dim=1, clear=True)
        T.copy(line, smallest[b * rows : (b + 1) * rows])
        T.reduce_absmax(x, line)
        T.copy(line, magnitude[b * rows])
        T.reduce_abssum(x, column, dim=0)
        T.copy(column, magnitudes)
        T.fill(kept, 1)
        T.reduce_sum(x, kept, dim=1, clear=False)
        T.copy(kept, total[b * rows, 0])
    return largest, smallest, magnitude, magnitudes, total


@tilelang.jit(out_idx=[-1])
def transpose(m, n, block=32):
    @T.prim_func
    def kernel(X: T.Tensor((m, n), T.float32), Y: T.Tensor((n, m), T.float32)):
        with T.Kernel(T.ceildiv(m, block), T.ceildiv(n, block), threads=128) as (i, j):
            x = T.alloc_shared((block, block), T.float32)
            y = T.alloc_fragment((block, block), T.float32)
            T.annotate_layout({x: T.Layout((block, block), lambda r, c: r * (block + 1) + c)})
            T.copy(X[i * block, j * block], x)
            for r, c in T.Parallel(block, block):
                y[c, r] = x[r, c]
            T.copy(y, Y[j * block, i * block])

    return kernel
