"""Attention with online softmax: grouped heads, causal or not, any lengths; key and value rows beyond the sequence are not seen."""

import kiln.language as tl

LOG2_E = 1.4426950408889634

dtype = tl.option("dtype", tl.float16, choices=[tl.float32, tl.float16, tl.bfloat16])
causal = tl.option("causal", False)
custom_scale = tl.option("custom_scale", False)
H, HKV, D = tl.symbol("H", min=1), tl.symbol("HKV", min=1), tl.symbol("D", min=1, max=512)


@tl.kernel
def flash_attention(Q: tl.Buffer["B", H, "S", D, dtype], K: tl.Buffer["B", HKV, "SK", D, dtype], V: tl.Buffer["B", HKV, "SK", D, dtype],
                    scale: tl.when(custom_scale, tl.float32), O: tl.Buffer["B", H, "S", D, dtype]):
    S, SK = Q.shape[2], K.shape[2]
    DP = tl.tunable(tl.cdiv(D, 16) * 16)
    wide = S < 1024 or tl.get_wavefront_size() == 32 or DP > 64 or dtype == tl.float32
    BM = tl.tunable((32 if S <= 32 else 64) if tl.on_host() else 32 if S <= 32 or DP > 128 else 64 if wide else 128,
                    candidates=[16, 32, 64, 128])
    narrow = SK <= 32 or tl.get_wavefront_size() == 32 or DP > 64 or dtype == tl.float32
    BN = tl.tunable((32 if SK <= 32 else 128) if tl.on_host() else 32 if narrow else 64, candidates=[16, 32, 64, 128])
    THREADS = tl.tunable(1 if tl.on_host() else 128 if BM <= 32 else 256, candidates=[64, 128, 256])
    tl.threads(THREADS)
    tl.static_assert(H % HKV == 0)
    tl.static_assert(DP >= D)

    i, head, batch = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    kv_head = head // (H // HKV)
    scale2 = (scale if custom_scale else tl.rsqrt(tl.cast(D, tl.float32))) * LOG2_E
    Qs = tl.alloc_shared([BM, DP], dtype)
    Ks = tl.alloc_shared([BN, DP], dtype)
    Vs = tl.alloc_shared([BN, DP], dtype)
    s = tl.alloc_fragment([BM, BN], tl.float32)
    p = tl.alloc_fragment([BM, BN], dtype)
    o = tl.alloc_fragment([BM, DP], tl.float32)
    row_max = tl.full([BM], float("-inf"), tl.float32)
    row_sum = tl.zeros([BM], tl.float32)
    o[:, :] = 0.0
    Qs[:, :] = Q[batch, head, i * BM : (i + 1) * BM, 0:DP]
    rows, columns = i * BM + tl.arange(0, BM), tl.arange(0, BN)
    for n in tl.pipelined(0, min(SK, (i + 1) * BM + SK - S) if causal else SK, BN):
        Ks[:, :] = K[batch, kv_head, n : n + BN, 0:DP]
        Vs[:, :] = V[batch, kv_head, n : n + BN, 0:DP]
        s[:, :] = tl.dot(Qs, tl.trans(Ks))
        seen = n + columns[None, :] < SK and (not causal or n + columns[None, :] <= rows[:, None] + SK - S)
        s[:, :] = tl.where(seen, s * scale2, float("-inf"))
        before = row_max
        row_max = tl.maximum(row_max, tl.max(s, axis=1))
        row_base = tl.where(row_max == float("-inf"), 0.0, row_max)
        rescale = tl.exp2(before - row_base)
        row_sum *= rescale
        s[:, :] = tl.exp2(s - row_base[:, None])
        row_sum += tl.sum(s, axis=1)
        o *= rescale[:, None]
        p[:, :] = s
        o += tl.dot(p, Vs)
    o[:, :] = tl.where(row_sum[:, None] == 0, 0.0, o / row_sum[:, None])
    O[batch, head, i * BM : (i + 1) * BM, 0:DP] = o
