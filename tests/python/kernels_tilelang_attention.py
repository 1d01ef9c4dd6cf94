"""Attention in TileLang's style: forward with heads in groups, sequences of several lengths, decoding in parts that are
combined.
"""

from kiln import tilelang
import kiln.tilelang.language as T

TO_BASE_2 = 1.4426950408889634


@T.macro
def rescale(scores, top, before, factor, part, total, out, weights, block_q, block_k, dim, scale):
    """One step of the running softmax: scores become weights, and what is summed so far is rescaled."""
    T.copy(top, before)
    T.reduce_max(scores, top, dim=1, clear=False)
    for i in T.Parallel(block_q):
        factor[i] = T.if_then_else(top[i] == -T.infinity("float32"), 1.0, T.exp2((before[i] - top[i]) * scale))
    for i, j in T.Parallel(block_q, block_k):
        scores[i, j] = T.if_then_else(top[i] == -T.infinity("float32"), 0.0, T.exp2((scores[i, j] - top[i]) * scale))
    T.reduce_sum(scores, part, dim=1)
    for i in T.Parallel(block_q):
        total[i] = total[i] * factor[i] + part[i]
    for i, j in T.Parallel(block_q, dim):
        out[i, j] *= factor[i]
    T.copy(scores, weights)


@tilelang.autotune(configs=[dict(block_q=64, block_k=64), dict(block_q=32, block_k=64)])
@tilelang.jit(out_idx=[3], pass_configs={tilelang.PassConfigKey.TL_ENABLE_FAST_MATH: True})
def attention(batch, heads, groups, q_length, k_length, dim, causal, block_q=64, block_k=64, stages=2):
    scale = dim**-0.5 * TO_BASE_2
    q_shape, kv_shape = [batch, q_length, heads, dim], [batch, k_length, heads // groups, dim]
    dtype, accum = T.float16, T.float32

    @T.prim_func
    def kernel(
        Q: T.Tensor(q_shape, dtype),
        K: T.Tensor(kv_shape, dtype),
        V: T.Tensor(kv_shape, dtype),
        O: T.Tensor(q_shape, dtype),
    ):
        with T.Kernel(T.ceildiv(q_length, block_q), heads, batch, threads=128) as (bx, by, bz):
            q, k, v = (
                T.alloc_shared([block_q, dim], dtype),
                T.alloc_shared([block_k, dim], dtype),
                T.alloc_shared([block_k, dim], dtype),
            )
            scores = T.alloc_fragment([block_q, block_k], accum)
            weights = T.alloc_fragment([block_q, block_k], dtype)
            out = T.alloc_fragment([block_q, dim], accum)
            top = T.alloc_fragment([block_q], accum)
            before = T.alloc_fragment([block_q], accum)
            factor = T.alloc_fragment([block_q], accum)
            part = T.alloc_fragment([block_q], accum)
            total = T.alloc_fragment([block_q], accum)
            T.copy(Q[bz, bx * block_q : (bx + 1) * block_q, by, :], q)
            T.clear(out)
            T.clear(total)
            T.fill(top, -T.infinity(accum))
            past = k_length - q_length
            steps = (
                T.min(T.ceildiv(k_length, block_k), T.ceildiv((bx + 1) * block_q + past, block_k))
                if causal
                else T.ceildiv(k_length, block_k)
            )
            for s in T.Pipelined(steps, num_stages=stages):
                T.copy(K[bz, s * block_k : (s + 1) * block_k, by // groups, :], k)
                for i, j in T.Parallel(block_q, block_k):
                    hidden = s * block_k + j >= k_length or (causal and bx * block_q + i + past < s * block_k + j)
                    scores[i, j] = T.if_then_else(hidden, -T.infinity(accum), 0)
                T.gemm(q, k, scores, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                rescale(scores, top, before, factor, part, total, out, weights, block_q, block_k, dim, scale)
                T.copy(V[bz, s * block_k : (s + 1) * block_k, by // groups, :], v)
                T.gemm(weights, v, out, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(block_q, dim):
                out[i, j] /= total[i]
            T.copy(out, O[bz, bx * block_q : (bx + 1) * block_q, by, :])

    return kernel


@tilelang.jit(out_idx=[-1])
def attention_of_lengths(batch, heads, tokens, dim, causal, block_q=64, block_k=64):
    """Sequences one behind the other; ``starts`` says where each begins."""
    scale = dim**-0.5 * TO_BASE_2
    shape = [tokens, heads, dim]

    @T.prim_func
    def kernel(
        Q: T.Tensor(shape, "float16"),
        K: T.Tensor(shape, "float16"),
        V: T.Tensor(shape, "float16"),
        starts: T.Tensor([batch + 1], "int32"),
        longest: T.int32,
        O: T.Tensor(shape, "float16"),
    ):
        with T.Kernel(T.ceildiv(longest, block_q), heads, batch, threads=128) as (bx, head, which):
            q = T.alloc_shared([block_q, dim], "float16")
            k = T.alloc_shared([block_k, dim], "float16")
            v = T.alloc_shared([block_k, dim], "float16")
            scores = T.alloc_fragment([block_q, block_k], "float32")
            weights = T.alloc_fragment([block_q, block_k], "float16")
            out = T.alloc_fragment([block_q, dim], "float32")
            top = T.alloc_fragment([block_q], "float32")
            before = T.alloc_fragment([block_q], "float32")
            factor = T.alloc_fragment([block_q], "float32")
            part = T.alloc_fragment([block_q], "float32")
            total = T.alloc_fragment([block_q], "float32")
            first = starts[which]
            length = starts[which + 1] - first
            T.copy(Q[first + bx * block_q : first + (bx + 1) * block_q, head, :], q)
            T.clear(out)
            T.clear(total)
            T.fill(top, -T.infinity("float32"))
            steps = (
                T.min(T.ceildiv(length, block_k), T.ceildiv((bx + 1) * block_q, block_k))
                if causal
                else T.ceildiv(length, block_k)
            )
            for s in T.Pipelined(steps, num_stages=1):
                T.copy(K[first + s * block_k : first + (s + 1) * block_k, head, :], k)
                for i, j in T.Parallel(block_q, block_k):
                    seen = (s * block_k + j < length) & ((bx * block_q + i >= s * block_k + j) if causal else True)
                    scores[i, j] = T.if_then_else(seen, 0, -T.infinity("float32"))
                T.gemm(q, k, scores, transpose_B=True)
                rescale(scores, top, before, factor, part, total, out, weights, block_q, block_k, dim, scale)
                T.copy(V[first + s * block_k : first + (s + 1) * block_k, head, :], v)
                T.gemm(weights, v, out)
            for i, d in T.Parallel(block_q, dim):
                if bx * block_q + i < length:
                    O[first + bx * block_q + i, head, d] = out[i, d] / total[i]

    return kernel


@tilelang.jit(out_idx=[-1])
def decode(batch, heads, k_length, dim, parts, block_h=16, block_k=64):
    """One query a head over a long history: parts of it in parallel, then combined."""
    scale = dim**-0.5 * TO_BASE_2
    per_part = k_length // parts
    assert k_length % parts == 0 and per_part % block_k == 0, "parts are whole numbers of blocks"

    @T.prim_func
    def kernel(
        Q: T.Tensor([batch, heads, dim], "float16"),
        K: T.Tensor([batch, k_length, dim], "float16"),
        V: T.Tensor([batch, k_length, dim], "float16"),
        O: T.Tensor([batch, heads, dim], "float16"),
    ):
        sums = T.alloc_global([batch, heads, parts], "float32")
        partial = T.alloc_global([batch, parts, heads, dim], "float32")
        with T.Kernel(batch, T.ceildiv(heads, block_h), parts, threads=128) as (b, h, p):
            q = T.alloc_shared([block_h, dim], "float16")
            k = T.alloc_shared([block_k, dim], "float16")
            v = T.alloc_shared([block_k, dim], "float16")
            scores = T.alloc_fragment([block_h, block_k], "float32")
            weights = T.alloc_fragment([block_h, block_k], "float16")
            out = T.alloc_fragment([block_h, dim], "float32")
            top = T.alloc_fragment([block_h], "float32")
            before = T.alloc_fragment([block_h], "float32")
            factor = T.alloc_fragment([block_h], "float32")
            part = T.alloc_fragment([block_h], "float32")
            total = T.alloc_fragment([block_h], "float32")
            T.copy(Q[b, h * block_h, 0], q)
            T.clear(out)
            T.clear(total)
            T.fill(top, -T.infinity("float32"))
            for s in T.Pipelined(per_part // block_k, num_stages=2):
                T.copy(K[b, p * per_part + s * block_k, 0], k)
                T.clear(scores)
                T.gemm(q, k, scores, transpose_B=True)
                rescale(scores, top, before, factor, part, total, out, weights, block_h, block_k, dim, scale)
                T.copy(V[b, p * per_part + s * block_k, 0], v)
                T.gemm(weights, v, out)
            for i, d in T.Parallel(block_h, dim):
                out[i, d] /= total[i]
            for i in T.Parallel(block_h):
                if h * block_h + i < heads:
                    sums[b, h * block_h + i, p] = T.log2(total[i]) + top[i] * scale
            T.copy(out, partial[b, p, h * block_h, 0])

        with T.Kernel(heads, batch, threads=64) as (h, b):
            each = T.alloc_fragment([parts], "float32")
            most = T.alloc_fragment([1], "float32")
            total = T.alloc_fragment([1], "float32")
            out = T.alloc_fragment([dim], "float32")
            T.copy(sums[b, h, :], each)
            T.reduce_max(each, most, dim=0)
            for p in T.Parallel(parts):
                each[p] = T.exp2(each[p] - most[0])
            T.reduce_sum(each, total, dim=0)
            T.clear(out)
            for p in T.serial(parts):
                for d in T.Parallel(dim):
                    out[d] += partial[b, p, h, d] * each[p]
            for d in T.Parallel(dim):
                O[b, h, d] = out[d] / total[0]

    return kernel
