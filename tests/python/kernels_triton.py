"""Kernels in the idioms of Triton's authors: pointers and masks, row-wise normalisation, products."""

from kiln import triton
import kiln.triton.language as tl


@triton.jit
def vector_add(a_ptr, b_ptr, sum_ptr, count, BLOCK: tl.constexpr):
    block = tl.program_id(axis=0)
    at = block * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    a = tl.load(a_ptr + at, mask=inside)
    b = tl.load(b_ptr + at, mask=inside)
    tl.store(sum_ptr + at, a + b, mask=inside)


@triton.jit
def softmax_rows(out_ptr, in_ptr, in_pitch, out_pitch, rows, columns, BLOCK: tl.constexpr, num_stages: tl.constexpr):
    """A block takes every num_programs-th row."""
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=num_stages):
        at = tl.arange(0, BLOCK)
        inside = at < columns
        x = tl.load(in_ptr + row * in_pitch + at, mask=inside, other=-float("inf"))
        raised = tl.exp(x - tl.max(x, axis=0))
        tl.store(out_ptr + row * out_pitch + at, raised / tl.sum(raised, axis=0), mask=inside)


@triton.jit
def leaky(x, slope=0.01):
    return tl.where(x >= 0, x, slope * x)


@triton.jit
def place_in_group(tile, tiles_m, tiles_n, GROUP: tl.constexpr):
    """Tiles in groups of GROUP rows, column-major inside a group."""
    per_group = GROUP * tiles_n
    first = (tile // per_group) * GROUP
    height = min(tiles_m - first, GROUP)
    return first + ((tile % per_group) % height), (tile % per_group) // height


@triton.autotune(configs=[
    triton.Config({"BM": 64, "BN": 64, "BK": 32, "GROUP": 4}, num_stages=3, num_warps=4),
    triton.Config({"BM": 32, "BN": 64, "BK": 32, "GROUP": 8}, num_stages=4, num_warps=2)],
                 key=["M", "N", "K"])
@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
           BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr, ACTIVATION: tl.constexpr):
    pid_m, pid_n = place_in_group(tl.program_id(axis=0), tl.cdiv(M, BM), tl.cdiv(N, BN), GROUP)
    tl.assume(pid_m >= 0)
    rows_a = (pid_m * BM + tl.arange(0, BM)) % M  # rows behind the last are read again, and dropped when stored
    columns_b = (pid_n * BN + tl.arange(0, BN)) % N
    ks = tl.arange(0, BK)
    a_ptrs = a_ptr + (rows_a[:, None] * stride_am + ks[None, :] * stride_ak)
    b_ptrs = b_ptr + (ks[:, None] * stride_bk + columns_b[None, :] * stride_bn)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        a = tl.load(a_ptrs, mask=ks[None, :] < K - k * BK, other=0.0)
        b = tl.load(b_ptrs, mask=ks[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BK * stride_ak
        b_ptrs += BK * stride_bk
    if ACTIVATION == "leaky":
        acc = leaky(acc)
    c = acc.to(c_ptr.dtype.element_ty)
    rows = pid_m * BM + tl.arange(0, BM)
    columns = pid_n * BN + tl.arange(0, BN)
    tl.store(c_ptr + stride_cm * rows[:, None] + stride_cn * columns[None, :],
             c,
             mask=(rows[:, None] < M) & (columns[None, :] < N))


@triton.jit
def matmul_persistent(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
                      BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
                      PROGRAMS: tl.constexpr):
    """As many blocks as cores; each takes every PROGRAMS-th tile of the result."""
    tiles_m, tiles_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tiles_m * tiles_n, PROGRAMS, flatten=True):
        pid_m, pid_n = place_in_group(tile, tiles_m, tiles_n, GROUP)
        rows = pid_m * BM + tl.arange(0, BM)
        columns = pid_n * BN + tl.arange(0, BN)
        safe_rows = tl.max_contiguous(tl.multiple_of(tl.where(rows < M, rows, 0), BM), BM)
        safe_columns = tl.max_contiguous(tl.multiple_of(tl.where(columns < N, columns, 0), BN), BN)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for step in range(tl.cdiv(K, BK)):
            ks = step * BK + tl.arange(0, BK)
            a = tl.load(a_ptr + (safe_rows[:, None] * stride_am + ks[None, :] * stride_ak),
                        mask=ks[None, :] < K,
                        other=0.0)
            b = tl.load(b_ptr + (ks[:, None] * stride_bk + safe_columns[None, :] * stride_bn),
                        mask=ks[:, None] < K,
                        other=0.0)
            acc = tl.dot(a, b, acc)
        c_ptrs = c_ptr + stride_cm * rows[:, None] + stride_cn * columns[None, :]
        tl.store(c_ptrs, acc.to(tl.float16), mask=(rows[:, None] < M) & (columns[None, :] < N))


@triton.jit
def matmul_descriptors(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """b lies transposed, [N, K]."""
    a_tiles = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    b_tiles = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    c_tiles = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in tl.range(tl.cdiv(K, BK), warp_specialize=False):
        a = a_tiles.load([row, k * BK])
        b = tl.load_tensor_descriptor(b_tiles, [column, k * BK])
        acc = tl.dot(a, b.T, acc)
    c_tiles.store([row, column], acc.to(tl.float16))


@triton.jit
def grouped_matmul(a_ptr, b_ptr, c_ptr, sizes_ptr, begins_ptr, LARGEST: tl.constexpr, GROUPS: tl.constexpr,
                   PROGRAMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Products of several sizes in one launch: operands stand one after the other, ``begins`` says where each begins.
    LARGEST bounds the sizes, which are data, so that addresses are known to fit."""
    for g in range(GROUPS):
        m = min(tl.load(sizes_ptr + g * 3), LARGEST)
        n = min(tl.load(sizes_ptr + g * 3 + 1), LARGEST)
        k = min(tl.load(sizes_ptr + g * 3 + 2), LARGEST)
        a_base = a_ptr + tl.load(begins_ptr + g * 3)
        b_base = b_ptr + tl.load(begins_ptr + g * 3 + 1)
        c_base = c_ptr + tl.load(begins_ptr + g * 3 + 2)
        across = tl.cdiv(n, BN)
        for tile in range(tl.program_id(0), tl.cdiv(m, BM) * across, PROGRAMS):
            rows = (tile // across) * BM + tl.arange(0, BM)
            columns = (tile % across) * BN + tl.arange(0, BN)
            acc = tl.zeros((BM, BN), dtype=tl.float32)
            for start in range(0, k, BK):
                ks = start + tl.arange(0, BK)
                a = tl.load(a_base + rows[:, None] * k + ks[None, :],
                            mask=(rows[:, None] < m) & (ks[None, :] < k),
                            other=0.0)
                b = tl.load(b_base + ks[:, None] * n + columns[None, :],
                            mask=(ks[:, None] < k) & (columns[None, :] < n),
                            other=0.0)
                acc += tl.dot(a, b)
            tl.store(c_base + rows[:, None] * n + columns[None, :],
                     acc.to(tl.float16),
                     mask=(rows[:, None] < m) & (columns[None, :] < n))


@triton.jit
def dropout(x_ptr, keep_ptr, out_ptr, count, p, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    x = tl.load(x_ptr + at, mask=inside)
    keep = tl.load(keep_ptr + at, mask=inside)
    tl.store(out_ptr + at, tl.where(keep, x / (1 - p), 0.0), mask=inside)


@triton.jit(do_not_specialize=["seed"])
def seeded_dropout(x_ptr, out_ptr, count, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    x = tl.load(x_ptr + at, mask=inside)
    keep = tl.rand(seed, at) > p
    tl.store(out_ptr + at, tl.where(keep, x / (1 - p), 0.0), mask=inside)


@triton.jit
def random_words(out_ptr, seed, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    w0, w1, w2, w3 = tl.randint4x(seed, at)
    tl.store(out_ptr + at, w0, mask=at < count)
    tl.store(out_ptr + count + at, w1, mask=at < count)
    tl.store(out_ptr + 2 * count + at, w2, mask=at < count)
    tl.store(out_ptr + 3 * count + at, w3, mask=at < count)


@triton.jit
def random_normals(out_ptr, seed, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.randn(seed, at), mask=at < count)


@triton.jit
def layer_norm(x_ptr, y_ptr, w_ptr, b_ptr, mean_ptr, rstd_ptr, pitch, N, eps, BLOCK: tl.constexpr):
    """A row a block, in pieces of BLOCK: mean, variance, then the result."""
    row = tl.program_id(0)
    y_ptr += row * pitch
    x_ptr += row * pitch
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + at, mask=at < N, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / N
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < N, other=0.0).to(tl.float32)
        x = tl.where(at < N, x - mean, 0.0)
        squares += x * x
    rstd = 1 / tl.sqrt(tl.sum(squares, axis=0) / N + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < N
        w = tl.load(w_ptr + at, mask=inside)
        b = tl.load(b_ptr + at, mask=inside)
        x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
        tl.store(y_ptr + at, (x - mean) * rstd * w + b, mask=inside)


@triton.jit
def layer_norm_backward_rows(dx_ptr, dy_ptr, dw_ptr, db_ptr, x_ptr, w_ptr, mean_ptr, rstd_ptr, pitch, M, N,
                             GROUPS: tl.constexpr, BLOCK: tl.constexpr):
    """dx, and a row of partial sums of dw and db a block: blocks share no row, so that none has to wait for another."""
    group = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < N
    w = tl.load(w_ptr + at, mask=inside, other=0.0).to(tl.float32)
    partial_dw = tl.zeros([BLOCK], dtype=tl.float32)
    partial_db = tl.zeros([BLOCK], dtype=tl.float32)
    for row in range(group, M, GROUPS):
        x = tl.load(x_ptr + row * pitch + at, mask=inside, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + row * pitch + at, mask=inside, other=0.0).to(tl.float32)
        mean = tl.load(mean_ptr + row)
        rstd = tl.load(rstd_ptr + row)
        x_hat = tl.where(inside, (x - mean) * rstd, 0.0)
        w_dy = tl.where(inside, w * dy, 0.0)
        c1 = tl.sum(x_hat * w_dy, axis=0) / N
        c2 = tl.sum(w_dy, axis=0) / N
        tl.store(dx_ptr + row * pitch + at, (w_dy - (x_hat * c1 + c2)) * rstd, mask=inside)
        partial_dw += dy * x_hat
        partial_db += dy
    tl.store(dw_ptr + group * N + at, partial_dw, mask=inside)
    tl.store(db_ptr + group * N + at, partial_db, mask=inside)


@triton.jit
def layer_norm_backward_columns(dw_ptr, db_ptr, final_dw_ptr, final_db_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    """The partial sums added up, BN columns a block."""
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    dw = tl.zeros((BM, BN), dtype=tl.float32)
    db = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, M, BM):
        rows = start + tl.arange(0, BM)
        inside = (rows[:, None] < M) & (columns[None, :] < N)
        at = rows[:, None] * N + columns[None, :]
        dw += tl.load(dw_ptr + at, mask=inside, other=0.0)
        db += tl.load(db_ptr + at, mask=inside, other=0.0)
    tl.store(final_dw_ptr + columns, tl.sum(dw, axis=0), mask=columns < N)
    tl.store(final_db_ptr + columns, tl.sum(db, axis=0), mask=columns < N)
