"""Root mean square norm along the rows of a matrix, times a weight a column."""

import kiln.language as tl

dtype = tl.option("dtype", tl.float32, choices=[tl.float32, tl.float16, tl.bfloat16])
custom_eps = tl.option("custom_eps", False)


@tl.kernel
def rmsnorm(X: tl.Buffer["M", "N", dtype], Weight: tl.Buffer["N", dtype], eps: tl.when(custom_eps, tl.float32),
            Y: tl.Buffer["M", "N", dtype]):
    N = X.shape[1]
    BM = tl.tunable(4, candidates=[1, 2, 4, 8, 16])
    whole_row = tl.on_host() and N <= 8192
    BN = tl.tunable(tl.cdiv(max(N, 1), 16) * 16 if whole_row else 64 if N <= 64 else 256 if N <= 256 else 1024,
                    candidates=[64, 128, 256, 512, 1024, 2048])
    THREADS = tl.tunable(1 if tl.on_host() else 256, candidates=[64, 128, 256])
    tl.threads(THREADS)

    i = tl.program_id(0)
    x = tl.alloc_fragment([BM, BN], tl.float32)
    square = tl.alloc_fragment([BM, BN], tl.float32)
    w = tl.alloc_fragment([BN], tl.float32)
    row_sum = tl.alloc_fragment([BM], tl.float32)
    row_sum[:] = 0.0
    for n in range(0, N, BN):
        x[:, :] = X[i * BM : (i + 1) * BM, n : n + BN]
        square[:, :] = x * x
        row_sum += tl.sum(square, axis=1)
    row_sum[:] = tl.rsqrt(row_sum / N + (eps if custom_eps else 1e-5))
    for n in range(0, N, BN):
        if N > BN:
            x[:, :] = X[i * BM : (i + 1) * BM, n : n + BN]
        w[:] = Weight[n : n + BN]
        x[:, :] = x * row_sum[:, None] * w[None, :]
        Y[i * BM : (i + 1) * BM, n : n + BN] = x
