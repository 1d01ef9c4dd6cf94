"""Softmax along the rows of a matrix, of any length: the exponents are taken from the running maximum of a row's blocks."""

import kiln.language as tl

LOG2_E = 1.4426950408889634

dtype = tl.option("dtype", tl.float32, choices=[tl.float32, tl.float16, tl.bfloat16])


@tl.kernel
def softmax(X: tl.Buffer["M", "N", dtype], Y: tl.Buffer["M", "N", dtype]):
    N = X.shape[1]
    BM = tl.tunable(4, candidates=[1, 2, 4, 8, 16])
    whole_row = tl.on_host() and N <= 8192
    BN = tl.tunable(tl.cdiv(max(N, 1), 16) * 16 if whole_row else 64 if N <= 64 else 256 if N <= 256 else 1024,
                    candidates=[64, 128, 256, 512, 1024, 2048])
    THREADS = tl.tunable(1 if tl.on_host() else 256, candidates=[64, 128, 256])
    tl.threads(THREADS)

    i = tl.program_id(0)
    x = tl.alloc_fragment([BM, BN], tl.float32)
    row_max = tl.full([BM], float("-inf"), tl.float32)
    row_base = tl.zeros([BM], tl.float32)
    row_sum = tl.zeros([BM], tl.float32)
    for n in range(0, N, BN):
        x[:, :] = tl.load(X[i * BM : (i + 1) * BM, n : n + BN], other=float("-inf"))
        row_max = tl.maximum(row_max, tl.max(x, axis=1))
        base = tl.where(row_max == float("-inf"), 0.0, row_max)
        row_sum = tl.where(row_sum != 0, row_sum * tl.exp2((row_base - base) * LOG2_E), 0.0)
        row_base = base
        x[:, :] = tl.exp2((x - row_base[:, None]) * LOG2_E)
        row_sum += tl.sum(x, axis=1)
    if N <= BN:
        x[:, :] = x / row_sum[:, None]
        Y[i * BM : (i + 1) * BM, 0:BN] = x
    else:
        for n in range(0, N, BN):
            x[:, :] = X[i * BM : (i + 1) * BM, n : n + BN]
            x[:, :] = tl.exp2((x - row_base[:, None]) * LOG2_E) / row_sum[:, None]
            Y[i * BM : (i + 1) * BM, n : n + BN] = x
