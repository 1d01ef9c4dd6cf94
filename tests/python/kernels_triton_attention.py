"""Attention in the idioms of Triton's authors: block pointers, tensor descriptors, and a backward pass by pointers."""

from kiln import triton
import kiln.triton.language as tl

LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
def online_softmax(acc, total, top, q, k_block, v_block, first_row, scale, BM: tl.constexpr, BN: tl.constexpr,
                   PART: tl.constexpr, rows, columns, N_CTX: tl.constexpr):
    """One pass over keys: PART 1 those before the diagonal, 2 those on it, 3 all."""
    if PART == 1:
        low, high = 0, first_row * BM
    elif PART == 2:
        low, high = first_row * BM, (first_row + 1) * BM
        low = tl.multiple_of(low, BM)
    else:
        low, high = 0, N_CTX
    k_block = tl.advance(k_block, (0, low))
    v_block = tl.advance(v_block, (low, 0))
    for start in range(low, high, BN):
        start = tl.multiple_of(start, BN)
        k = tl.load(k_block)
        scores = tl.dot(q, k)
        if PART == 2:
            visible = rows[:, None] >= (start + columns[None, :])
            scores = scores * scale + tl.where(visible, 0, -1.0e6)
            new_top = tl.maximum(top, tl.max(scores, 1))
            scores -= new_top[:, None]
        else:
            new_top = tl.maximum(top, tl.max(scores, 1) * scale)
            scores = scores * scale - new_top[:, None]
        p = tl.math.exp2(scores)
        row_total = tl.sum(p, 1)
        alpha = tl.math.exp2(top - new_top)
        total = total * alpha + row_total
        acc = acc * alpha[:, None]
        v = tl.load(v_block)
        p = p.to(tl.float16)
        acc = tl.dot(p, v, acc)
        top = new_top
        v_block = tl.advance(v_block, (BN, 0))
        k_block = tl.advance(k_block, (0, BN))
    return acc, total, top


@triton.jit
def attention_blocks(Q, K, V, sm_scale, L, Out, stride_qz, stride_qh, stride_qm, stride_qk, stride_kz, stride_kh,
                     stride_kn, stride_kk, stride_vz, stride_vh, stride_vn, stride_vk, stride_oz, stride_oh, stride_om,
                     stride_ok, Z, H, N_CTX, HEAD: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
                     STAGE: tl.constexpr):
    tl.static_assert(BN <= HEAD)
    first_row = tl.program_id(0)
    head = tl.program_id(1)
    begin = (head // H).to(tl.int64) * stride_qz + (head % H).to(tl.int64) * stride_qh
    q_block = tl.make_block_ptr(base=Q + begin,
                                shape=(N_CTX, HEAD),
                                strides=(stride_qm, stride_qk),
                                offsets=(first_row * BM, 0),
                                block_shape=(BM, HEAD),
                                order=(1, 0))
    v_order: tl.constexpr = (0, 1) if V.dtype.element_ty == tl.float8e5 else (1, 0)
    v_block = tl.make_block_ptr(base=V + begin, shape=(N_CTX, HEAD), strides=(stride_vn, stride_vk), offsets=(0, 0),
                                block_shape=(BN, HEAD), order=v_order)
    k_block = tl.make_block_ptr(base=K + begin, shape=(HEAD, N_CTX), strides=(stride_kk, stride_kn), offsets=(0, 0),
                                block_shape=(HEAD, BN), order=(0, 1))
    o_block = tl.make_block_ptr(base=Out + begin,
                                shape=(N_CTX, HEAD),
                                strides=(stride_om, stride_ok),
                                offsets=(first_row * BM, 0),
                                block_shape=(BM, HEAD),
                                order=(1, 0))
    rows = first_row * BM + tl.arange(0, BM)
    columns = tl.arange(0, BN)
    top = tl.zeros([BM], dtype=tl.float32) - float("inf")
    total = tl.zeros([BM], dtype=tl.float32) + 1.0
    acc = tl.zeros([BM, HEAD], dtype=tl.float32)
    scale = sm_scale
    scale *= LOG2E
    q = tl.load(q_block)
    if STAGE & 1:
        acc, total, top = online_softmax(acc, total, top, q, k_block, v_block, first_row, scale, BM, BN, 4 - STAGE,
                                         rows, columns, N_CTX)
    if STAGE & 2:
        acc, total, top = online_softmax(acc, total, top, q, k_block, v_block, first_row, scale, BM, BN, 2, rows,
                                         columns, N_CTX)
    top += tl.math.log2(total)
    acc = acc / total[:, None]
    tl.store(L + head * N_CTX + rows, top)
    tl.store(o_block, acc.to(Out.type.element_ty))


@triton.jit
def make_or_keep(base, shape, strides, block_shape):
    """A descriptor of a pointer; what already is one stays."""
    if isinstance(base, tl.tensor_descriptor):
        return base
    return tl.make_tensor_descriptor(base, shape, strides, block_shape)


@triton.jit
def attention_descriptors(Q, K, V, Out, sm_scale, Z, H, N_CTX, HEAD: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
                          CAUSAL: tl.constexpr):
    """All heads of all batches as rows of one matrix."""
    all_rows = Z * H * N_CTX
    q_tiles = make_or_keep(Q, [all_rows, HEAD], [HEAD, 1], [BM, HEAD])
    k_tiles = make_or_keep(K, [all_rows, HEAD], [HEAD, 1], [BN, HEAD])
    v_tiles = make_or_keep(V, [all_rows, HEAD], [HEAD, 1], [BN, HEAD])
    o_tiles = make_or_keep(Out, [all_rows, HEAD], [HEAD, 1], [BM, HEAD])
    first = tl.program_id(0) * BM
    begin = tl.program_id(1) * N_CTX
    rows = first + tl.arange(0, BM)
    top = tl.full([BM], float("-inf"), dtype=tl.float32)
    total = tl.zeros([BM], dtype=tl.float32)
    acc = tl.zeros([BM, HEAD], dtype=tl.float32)
    q = q_tiles.load([begin + first, 0])
    high = first + BM if CAUSAL else N_CTX
    for start in tl.range(0, high, BN):
        k = k_tiles.load([begin + start, 0]).T
        scores = tl.dot(q, k) * (sm_scale * LOG2E)
        if CAUSAL:
            scores = tl.where(rows[:, None] >= start + tl.arange(0, BN)[None, :], scores, -1.0e6)
        new_top = tl.maximum(top, tl.max(scores, 1))
        p = tl.math.exp2(scores - new_top[:, None])
        alpha = tl.math.exp2(top - new_top)
        total = total * alpha + tl.sum(p, 1)
        v = v_tiles.load([begin + start, 0])
        acc = tl.dot(p.to(tl.float16), v, acc * alpha[:, None])
        top = new_top
    o_tiles.store([begin + first, 0], (acc / total[:, None]).to(tl.float16))


@triton.jit
def attention_backward_delta(o_ptr, do_ptr, delta_ptr, N_CTX, BM: tl.constexpr, HEAD: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    head = tl.program_id(1)
    ds = tl.arange(0, HEAD)
    o = tl.load(o_ptr + head * HEAD * N_CTX + rows[:, None] * HEAD + ds[None, :])
    do = tl.load(do_ptr + head * HEAD * N_CTX + rows[:, None] * HEAD + ds[None, :]).to(tl.float32)
    tl.store(delta_ptr + head * N_CTX + rows, tl.sum(o * do, axis=1))


@triton.jit
def keys_gradients(dk, dv, Q, k, v, DO, L, D, stride_token, stride_d, BM: tl.constexpr, BN: tl.constexpr,
                   HEAD: tl.constexpr, first_n, first_m, steps, MASK: tl.constexpr):
    """Gradients of a block of keys and values over ``steps`` blocks of queries from ``first_m`` on."""
    rows_m = first_m + tl.arange(0, BM)
    rows_n = first_n + tl.arange(0, BN)
    ds = tl.arange(0, HEAD)
    qt_ptrs = Q + rows_m[None, :] * stride_token + ds[:, None] * stride_d
    do_ptrs = DO + rows_m[:, None] * stride_token + ds[None, :] * stride_d
    at_m = first_m
    for _ in range(steps):
        qt = tl.load(qt_ptrs)
        rows_m = at_m + tl.arange(0, BM)
        m = tl.load(L + rows_m)
        st = tl.dot(k, qt)
        pt = tl.math.exp2(st - m[None, :])
        if MASK:
            pt = tl.where(rows_m[None, :] >= rows_n[:, None], pt, 0.0)
        do = tl.load(do_ptrs)
        dv += tl.dot(pt.to(tl.float16), do)
        delta = tl.load(D + rows_m)
        dpt = tl.dot(v, tl.trans(do)).to(tl.float32)
        dst = (pt * (dpt - delta[None, :])).to(tl.float16)
        dk += tl.dot(dst, tl.trans(qt))
        at_m += BM
        qt_ptrs += BM * stride_token
        do_ptrs += BM * stride_token
    return dk, dv


@triton.jit
def attention_backward_keys(Q, K, V, sm_scale, DO, DK, DV, L, D, stride_z, stride_h, stride_token, stride_d, H, N_CTX,
                            BM: tl.constexpr, BN: tl.constexpr, SLICES: tl.constexpr, HEAD: tl.constexpr):
    """Causal: dk and dv of a block of BN keys; K was scaled by sm_scale / ln(2)."""
    head = tl.program_id(2)
    rows_begin = (head * N_CTX).to(tl.int64)
    begin = (stride_h * (head % H) + stride_z * (head // H)).to(tl.int64)
    Q += begin
    K += begin
    V += begin
    DO += begin
    DK += begin
    DV += begin
    L += rows_begin
    D += rows_begin
    ds = tl.arange(0, HEAD)
    first_n = tl.program_id(0) * BN
    first_m = first_n
    NARROW: tl.constexpr = BM // SLICES
    rows_n = first_n + tl.arange(0, BN)
    dv = tl.zeros([BN, HEAD], dtype=tl.float32)
    dk = tl.zeros([BN, HEAD], dtype=tl.float32)
    k = tl.load(K + rows_n[:, None] * stride_token + ds[None, :] * stride_d)
    v = tl.load(V + rows_n[:, None] * stride_token + ds[None, :] * stride_d)
    steps = BN // NARROW
    dk, dv = keys_gradients(dk,
                            dv,
                            Q,
                            k,
                            v,
                            DO,
                            L,
                            D,
                            stride_token,
                            stride_d,
                            NARROW,
                            BN,
                            HEAD,
                            first_n,
                            first_m,
                            steps,
                            MASK=True)
    first_m += steps * NARROW
    steps = (N_CTX - first_m) // BM
    dk, dv = keys_gradients(dk,
                            dv,
                            Q,
                            k,
                            v,
                            DO,
                            L,
                            D,
                            stride_token,
                            stride_d,
                            BM,
                            BN,
                            HEAD,
                            first_n,
                            first_m,
                            steps,
                            MASK=False)
    tl.store(DV + rows_n[:, None] * stride_token + ds[None, :] * stride_d, dv)
    dk *= sm_scale
    tl.store(DK + rows_n[:, None] * stride_token + ds[None, :] * stride_d, dk)
