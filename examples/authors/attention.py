"""Attention whose tiles depend on the sequence length and the wavefront: two code objects for all lengths.

    kiln compare examples/authors/attention.py:fixed examples/authors/attention.py:attention --over seq=512,2048 --also gfx90a
"""
import kiln.language as tl

D = 64
ARGS = {name: "f16[2, seq, 64]" for name in "QKVO"}


@tl.jit
def rows(Q, K, V, O, block_m, block_n):
    head = tl.program_id(1)
    q = tl.load(Q, block_shape=[block_m, D])
    acc = tl.zeros([block_m, D], dtype=tl.float32)
    top = tl.full([block_m], float("-inf"))
    total = tl.zeros([block_m])
    for n in tl.pipelined(0, tl.sequence_length, block_n, stages=2):
        k = tl.load(K[head, n:n + block_n, :])
        v = tl.load(V[head, n:n + block_n, :])
        s = tl.dot(q, tl.transpose(k)) * (D ** -0.5 * 1.4426950408889634)
        seen = n + tl.arange(0, block_n) < tl.sequence_length
        s = tl.where(seen[None, :], s, float("-inf"))
        new_top = tl.maximum(top, tl.max(s, axis=1))
        p = tl.exp2(s - new_top[:, None])
        rescale = tl.exp2(top - new_top)
        total = total * rescale + tl.sum(p, axis=1)
        acc = acc * rescale[:, None] + tl.dot(p.to(Q.dtype), v)
        top = new_top
    tl.store(O, acc / total[:, None])


@tl.kernel(args=ARGS)
def fixed(Q, K, V, O):
    rows(Q, K, V, O, 32, 32)


@tl.kernel(args=ARGS)
def attention(Q, K, V, O):
    if tl.sequence_length <= 1024:
        block_m, block_n = 32, 32
    else:
        block_m, block_n = 64, 64
    if tl.get_wavefront_size() == 32:
        block_n = 32
    rows(Q, K, V, O, block_m, block_n)
