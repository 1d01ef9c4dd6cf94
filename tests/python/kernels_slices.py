"""Kernels in the style of slices, as authors write them; language_test.py runs them."""

import kiln.language as tl

M, N, K = 96, 80, 64
b = 32


@tl.kernel
def matmul(A: tl.Buffer[M, K], B: tl.Buffer[K, N], C: tl.Buffer[M, N]):
    i = tl.program_id(0)
    j = tl.program_id(1)
    x = tl.alloc_shared([b, b])
    y = tl.alloc_shared([b, b])
    acc = tl.zeros([b, b], dtype=tl.float32)
    for k in range(0, K, b):
        x[:, :] = A[i * b:(i + 1) * b, k:k + b]
        y[:, :] = B[k:k + b, j * b:(j + 1) * b]
        tl.sync_threads()
        acc += tl.dot(x, y)
    C[i * b:(i + 1) * b, j * b:(j + 1) * b] = acc


@tl.program
def softmax(X, Y):
    i = tl.program_id(0)
    x = tl.load(X[i * 4:(i + 1) * 4, :]).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=1)[:, None])
    Y[i * 4:(i + 1) * 4, :] = e / tl.sum(e, axis=1)[:, None]


@tl.kernel(threads=128)
def transpose(X: tl.Buffer["M", "N"], Y: tl.Buffer["N", "M"]):
    i, j = tl.program_id(0), tl.program_id(1)
    layout = tl.make_block_layout(shape=(32, 33), order=(1, 0), origin=(0, 0))
    tile = tl.alloc_shared([32, 32], layout=layout)
    tile[:, :] = X[i * 32:(i + 1) * 32, j * 32:(j + 1) * 32]
    Y[j * 32:(j + 1) * 32, i * 32:(i + 1) * 32] = tl.transpose(tile)


@tl.kernel
def attention(Q, K, V, O):
    if tl.sequence_length <= 128:
        block_m, block_n = 32, 32
    else:
        block_m, block_n = 64, 64
    if tl.get_wavefront_size() == 32:
        block_n = 32
    D = Q.shape[1]
    q = tl.load(Q, block_shape=[block_m, D])
    acc = tl.zeros([block_m, D], dtype=tl.float32)
    top = tl.full([block_m], float("-inf"))
    total = tl.zeros([block_m])
    for n in tl.pipelined(0, tl.sequence_length, block_n, stages=2):
        k = tl.load(K[n:n + block_n, :])
        v = tl.load(V[n:n + block_n, :])
        s = tl.dot(q, tl.transpose(k)) * (0.125 * 1.4426950408889634)
        s = tl.where((n + tl.arange(0, block_n) < tl.sequence_length)[None, :], s, float("-inf"))
        new_top = tl.maximum(top, tl.max(s, axis=1))
        p = tl.exp2(s - new_top[:, None])
        rescale = tl.exp2(top - new_top)
        total = total * rescale + tl.sum(p, axis=1)
        acc = acc * rescale[:, None] + tl.dot(p.to(Q.dtype), v)
        top = new_top
    tl.store(O, acc / total[:, None])


@tl.kernel
def rmsnorm(X, weight, Y, eps: tl.float32 = 1e-6):
    row = tl.program_id(0)
    x = tl.load(X[row, :]).to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x) / X.shape[1] + eps)
    Y[row, :] = x * scale * weight[:]


@tl.kernel
def reused_tile(A: tl.Buffer["M", "K"], R: tl.Buffer["M"]):
    """A loop that reuses one shared tile, with one barrier of the author's: safe all the same."""
    i = tl.program_id(0)
    tile = tl.alloc_shared([32, 32], dtype=tl.float32)
    turned = tl.alloc_shared([32, 32], dtype=tl.float32)
    total = tl.zeros([32])
    for k in range(0, A.shape[1], 32):
        tile[:, :] = A[i * 32:(i + 1) * 32, k:k + 32]
        turned[:, :] = tl.transpose(tile)
        tl.sync_threads()
        total += tl.sum(turned, axis=0)
    R[i * 32:(i + 1) * 32] = total


@tl.kernel
def conditional(X, Y, flag: tl.int32, twice: tl.constexpr = False):
    """Branches that are decided while reading, when compiled, and while running."""
    i = tl.program_id(0)
    x = tl.load(X[i * 64:(i + 1) * 64])
    factor = 1.0
    if twice:
        factor = 2.0
    if flag > 0:
        y = x * factor
        shift = 3
    else:
        y = x - factor
        shift = 5
    if X.shape[0] > 100:
        y = y + 1.0
    Y[i * 64:(i + 1) * 64] = y + shift


@tl.kernel
def layout_offsets(Y: tl.Buffer[32, 32, tl.int32]):
    layout = tl.make_block_layout(shape=(32, 33), order=(1, 0), origin=(0, 0))
    i, j = tl.arange(0, 32)[:, None], tl.arange(0, 32)[None, :]
    Y[:, :] = layout(i, j) + layout(1, 2)
