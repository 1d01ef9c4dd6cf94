"""Layer norm along the rows of a matrix, times a weight and plus a bias a column. The variance is taken around the
mean, in a pass of its own."""

import kiln.language as tl

dtype = tl.option("dtype", tl.float32, choices=[tl.float32, tl.float16, tl.bfloat16])
bias = tl.option("bias", True)
custom_eps = tl.option("custom_eps", False)


@tl.kernel
def layernorm(X: tl.Buffer["M", "N", dtype], Weight: tl.Buffer["N", dtype], Bias: tl.when(bias, tl.Buffer["N", dtype]),
              eps: tl.when(custom_eps, tl.float32), Y: tl.Buffer["M", "N", dtype]):
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
    per_column = tl.alloc_fragment([BN], tl.float32)
    mean = tl.alloc_fragment([BM], tl.float32)
    factor = tl.alloc_fragment([BM], tl.float32)
    columns = tl.arange(0, BN)
    mean[:] = 0.0
    for n in range(0, N, BN):
        x[:, :] = X[i * BM : (i + 1) * BM, n : n + BN]
        mean += tl.sum(x, axis=1)
    mean[:] = mean / N
    factor[:] = 0.0
    for n in range(0, N, BN):
        if N > BN:
            x[:, :] = X[i * BM : (i + 1) * BM, n : n + BN]
        square[:, :] = tl.where(n + columns[None, :] < N, (x - mean[:, None]) * (x - mean[:, None]), 0.0)
        factor += tl.sum(square, axis=1)
    factor[:] = tl.rsqrt(factor / N + (eps if custom_eps else 1e-5))
    for n in range(0, N, BN):
        if N > BN:
            x[:, :] = X[i * BM : (i + 1) * BM, n : n + BN]
        per_column[:] = Weight[n : n + BN]
        x[:, :] = (x - mean[:, None]) * factor[:, None] * per_column[None, :]
        if bias:
            per_column[:] = Bias[n : n + BN]
            x += per_column[None, :]
        Y[i * BM : (i + 1) * BM, n : n + BN] = x
