"""Triton kernels of Kiln's own, and their compilation for AMD targets; needs no card.

    PYTHON kernels.py FOLDER TARGET…     # PYTHON: one with Triton (python3 -m venv DIR && DIR/bin/pip install triton)

Compiles every case of cases.py for each target, or those that KILN_TRITON_CASES names. Writes FOLDER/CASE-TARGET.hsaco
and FOLDER/objects.json: for each case and target {file, name, threads, lds_bytes, scratch_bytes}, or {error} where
Triton refuses the case.
"""

import json
import os
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.language.extra import libdevice

import cases


@triton.jit
def add(a, b, c, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(c + at, tl.load(a + at, mask=inside) + tl.load(b + at, mask=inside), mask=inside)


@triton.jit
def softmax(x, y, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, mask=at < columns, other=float("-inf")).to(tl.float32)
    shifted = tl.exp(values - tl.max(values, 0))
    tl.store(y + row * columns + at, (shifted / tl.sum(shifted, 0)).to(y.dtype.element_ty), mask=at < columns)


@triton.jit
def layernorm(x, weight, bias, y, mean_out, columns, BLOCK: tl.constexpr):
    """Rows longer than a block, in three passes."""
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, columns, BLOCK):
        at = first + tl.arange(0, BLOCK)
        total += tl.load(x + row * columns + at, mask=at < columns, other=0.0).to(tl.float32)
    mean = tl.sum(total, 0) / columns
    squares = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, columns, BLOCK):
        at = first + tl.arange(0, BLOCK)
        off = tl.load(x + row * columns + at, mask=at < columns, other=0.0).to(tl.float32) - mean
        squares += tl.where(at < columns, off * off, 0.0)
    scale = 1 / tl.sqrt(tl.sum(squares, 0) / columns + 1e-5)
    tl.store(mean_out + row, mean)
    for first in range(0, columns, BLOCK):
        at = first + tl.arange(0, BLOCK)
        inside = at < columns
        value = (tl.load(x + row * columns + at, mask=inside).to(tl.float32) - mean) * scale
        value = value * tl.load(weight + at, mask=inside) + tl.load(bias + at, mask=inside)
        tl.store(y + row * columns + at, value.to(y.dtype.element_ty), mask=inside)


@triton.jit
def matmul(a, b, c, M, N, K, stride_a, stride_b, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
           TRANSPOSED: tl.constexpr, TOTAL: tl.constexpr, PRECISION: tl.constexpr):
    """C = A B, or A B^T where b holds rows of columns; edges masked in M and N, and in K."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    total = tl.zeros((BM, BN), TOTAL)
    for k in range(0, K, BK):
        deep = k + depth
        inside = (rows[:, None] < M) & (deep[None, :] < K)
        x = tl.load(a + rows[:, None] * stride_a + deep[None, :], mask=inside, other=0.0)
        inside = (deep[:, None] < K) & (columns[None, :] < N)
        if TRANSPOSED:
            y = tl.load(b + columns[None, :] * stride_b + deep[:, None], mask=inside, other=0.0)
        else:
            y = tl.load(b + deep[:, None] * stride_b + columns[None, :], mask=inside, other=0.0)
        total = tl.dot(x, y, total, out_dtype=TOTAL, input_precision=PRECISION)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c + rows[:, None] * N + columns[None, :], total.to(c.dtype.element_ty), mask=inside)


@triton.jit
def matmul_scaled(a, a_scale, b, b_scale, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
                  A_FORMAT: tl.constexpr, B_FORMAT: tl.constexpr):
    """Microscaled operands: e2m1 two a byte or e4m3, a power of two for every 32; M, N, K whole blocks."""
    A_PACK: tl.constexpr = 2 if A_FORMAT == "e2m1" else 1
    B_PACK: tl.constexpr = 2 if B_FORMAT == "e2m1" else 1
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    a_depth, b_depth, s_depth = tl.arange(0, BK // A_PACK), tl.arange(0, BK // B_PACK), tl.arange(0, BK // 32)
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rows[:, None] * (K // A_PACK) + (k // A_PACK + a_depth)[None, :])
        y = tl.load(b + columns[None, :] * (K // B_PACK) + (k // B_PACK + b_depth)[:, None])
        x_scale = tl.load(a_scale + rows[:, None] * (K // 32) + (k // 32 + s_depth)[None, :])
        y_scale = tl.load(b_scale + columns[:, None] * (K // 32) + (k // 32 + s_depth)[None, :])
        total = tl.dot_scaled(x, x_scale, A_FORMAT, y, y_scale, B_FORMAT, total)
    tl.store(c + rows[:, None] * N + columns[None, :], total)


@triton.jit
def matmul_split(a, b, c, locks, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """The depth shared out among blocks that add to C in turn, under a lock for each tile."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.program_id(2) * BK + tl.arange(0, BK)
    inside = (rows[:, None] < M) & (depth[None, :] < K)
    x = tl.load(a + rows[:, None] * K + depth[None, :], mask=inside, other=0.0)
    inside = (depth[:, None] < K) & (columns[None, :] < N)
    y = tl.load(b + depth[:, None] * N + columns[None, :], mask=inside, other=0.0)
    part = tl.dot(x, y, input_precision="ieee")
    lock = locks + tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)
    at = c + rows[:, None] * N + columns[None, :]
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(at, tl.load(at, mask=inside, volatile=True) + part, mask=inside)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def attention(q, k, v, out, S, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr):
    """Forward, [heads, S, D], softmax over blocks of keys as they come."""
    base = tl.program_id(1) * S * D
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    width = tl.arange(0, D)
    query = tl.load(q + base + rows[:, None] * D + width[None, :], mask=rows[:, None] < S, other=0.0)
    most = tl.full((BM,), -1e30, tl.float32)
    weight = tl.zeros((BM,), tl.float32)
    total = tl.zeros((BM, D), tl.float32)
    end = tl.minimum(S, (tl.program_id(0) + 1) * BM) if CAUSAL else S
    for first in range(0, end, BN):
        at = first + tl.arange(0, BN)
        key = tl.load(k + base + at[None, :] * D + width[:, None], mask=at[None, :] < S, other=0.0)
        value = tl.load(v + base + at[:, None] * D + width[None, :], mask=at[:, None] < S, other=0.0)
        score = tl.dot(query, key) * (scale * 1.4426950408889634)
        seen = at[None, :] < S
        if CAUSAL:
            seen = seen & (at[None, :] <= rows[:, None])
        score = tl.where(seen, score, -1e30)
        next_most = tl.maximum(most, tl.max(score, 1))
        share = tl.exp2(score - next_most[:, None])
        fade = tl.exp2(most - next_most)
        weight = weight * fade + tl.sum(share, 1)
        total = tl.dot(share.to(value.dtype), value, total * fade[:, None])
        most = next_most
    total = total / weight[:, None]
    tl.store(out + base + rows[:, None] * D + width[None, :], total.to(out.dtype.element_ty), mask=rows[:, None] < S)


@triton.jit
def histogram(x, bins, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + at, mask=at < n, other=0.0)
    counts = tl.histogram(values, BINS, mask=at < n)
    tl.atomic_add(bins + tl.arange(0, BINS), counts)


@triton.jit
def scatter_add(x, index, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.atomic_add(y + tl.load(index + at, mask=inside, other=0), tl.load(x + at, mask=inside), mask=inside)


@triton.jit
def atomics(x, y, old, n, BLOCK: tl.constexpr):
    """Every operation on one word each; `old` keeps what the addition found."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    value = tl.load(x + at, mask=inside, other=0.0)
    zero = at * 0
    tl.store(old + at, tl.atomic_add(y + zero, value, mask=inside), mask=inside)
    tl.atomic_max(y + 1 + zero, value, mask=inside)
    tl.atomic_min(y + 2 + zero, value, mask=inside)
    tl.atomic_or(y + 3 + zero, value, mask=inside)
    tl.atomic_and(y + 4 + zero, value, mask=inside)
    tl.atomic_xor(y + 5 + zero, value, mask=inside)
    tl.atomic_xchg(y + 8 + at, value, mask=inside)


@triton.jit
def atomic_extremes(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0)
    tl.atomic_max(y + at * 0, value, mask=at < n)
    tl.atomic_min(y + 1 + at * 0, value, mask=at < n)


@triton.jit
def turns(order, turn, out, BLOCK: tl.constexpr):
    """Each block takes its turn by compare and swap, and writes what it drew."""
    drawn = tl.atomic_add(turn, 1, sem="acq_rel")
    while tl.atomic_cas(turn + 1, drawn, drawn + 1) != drawn:
        pass
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(order + at) + 1)


@triton.jit
def _larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def _affine(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2


@triton.jit
def reductions(x, sums, R: tl.constexpr, C: tl.constexpr):
    """A block of R rows and C columns; rows of `sums`: see vector_cases.reductions_of."""
    value = tl.load(x + tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :])
    rows, columns = tl.arange(0, R), tl.arange(0, C)
    W: tl.constexpr = R if R > C else C
    tl.store(sums + columns, tl.sum(value, 0))
    tl.store(sums + W + rows, tl.sum(value, 1))
    tl.store(sums + 2 * W + rows, tl.max(value, 1))
    tl.store(sums + 3 * W + columns, tl.min(value, 0))
    tl.store(sums + 4 * W + rows, tl.argmax(value, 1).to(tl.float32))
    tl.store(sums + 5 * W + columns, tl.argmin(value, 0).to(tl.float32))
    tl.store(sums + 6 * W + rows, tl.reduce(value, 1, _larger))
    tl.store(sums + 7 * W, tl.sum(tl.sum(value, 1), 0))
    tl.store(sums + 8 * W + rows, tl.xor_sum(value.to(tl.int32), 1).to(tl.float32))


@triton.jit
def scans(x, y, R: tl.constexpr, C: tl.constexpr):
    at = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    value = tl.load(x + at)
    tl.store(y + at, tl.cumsum(value, 1))
    tl.store(y + R * C + at, tl.cumsum(value, 0, reverse=True))
    tl.store(y + 2 * R * C + at, tl.associative_scan(value, 1, _larger))
    _, line = tl.associative_scan((value * 0.25, value), 0, _affine)
    tl.store(y + 3 * R * C + at, line)
    tl.store(y + 4 * R * C + at, tl.cumprod(1 + value / 64, 1))


@triton.jit
def sorting(x, y, R: tl.constexpr, C: tl.constexpr):
    at = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    value = tl.load(x + at)
    tl.store(y + at, tl.sort(value, 1))
    tl.store(y + R * C + at, tl.sort(value, 1, descending=True))
    tl.store(y + 2 * R * C + at, tl.flip(value, 1))


@triton.jit
def integers(x, y, out, n, BLOCK: tl.constexpr):
    """Rows of `out`: see vector_cases.integers_of."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    a = tl.load(x + at, mask=inside, other=1)
    b = tl.load(y + at, mask=inside, other=1)
    odd = b | 1
    tl.store(out + at, a // odd, mask=inside)
    tl.store(out + n + at, a % odd, mask=inside)
    tl.store(out + 2 * n + at, a * b, mask=inside)
    tl.store(out + 3 * n + at, (a << (b & 31)) ^ (a >> (b & 15)), mask=inside)
    high = tl.umulhi(a.to(tl.uint32, bitcast=True), b.to(tl.uint32, bitcast=True))
    tl.store(out + 4 * n + at, high.to(tl.int32, bitcast=True), mask=inside)
    wide = a.to(tl.int64) * b.to(tl.int64)
    tl.store(out + 5 * n + at, (wide // (odd.to(tl.int64) * 3 + 1)).to(tl.int32), mask=inside)
    tl.store(out + 6 * n + at, (wide >> 17).to(tl.int32), mask=inside)
    tl.store(out + 7 * n + at, a.to(tl.int8).to(tl.int32) + b.to(tl.uint8).to(tl.int32) * b.to(tl.int16).to(tl.int32),
             mask=inside)
    tl.store(out + 8 * n + at, tl.clamp(a.to(tl.float32), -1000.0, 1000.0).to(tl.int32) + tl.abs(b >> 8), mask=inside)
    tl.store(out + 9 * n + at, libdevice.popc(a) + libdevice.clz(b) * 64, mask=inside)
    tl.store(out + 10 * n + at, (~a & b) | tl.where(a > b, a, -b) + tl.cdiv(a & 0xffff, 7), mask=inside)


@triton.jit
def elementary(x, out, n, BLOCK: tl.constexpr):
    """Rows of `out`: see vector_cases.elementary_of. x > 0."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    a = tl.load(x + at, mask=inside, other=1.0)
    tl.store(out + at, tl.exp(-a), mask=inside)
    tl.store(out + n + at, tl.log(a), mask=inside)
    tl.store(out + 2 * n + at, tl.sin(a), mask=inside)
    tl.store(out + 3 * n + at, tl.cos(a * 100), mask=inside)
    tl.store(out + 4 * n + at, tl.sqrt_rn(a) + tl.rsqrt(a), mask=inside)
    tl.store(out + 5 * n + at, tl.erf(a - 2), mask=inside)
    tl.store(out + 6 * n + at, tl.div_rn(a, a + 3), mask=inside)
    tl.store(out + 7 * n + at, tl.floor(a) - tl.ceil(a * 1.5), mask=inside)
    tl.store(out + 8 * n + at, libdevice.tanh(a - 2), mask=inside)
    tl.store(out + 9 * n + at, libdevice.pow(a, 1.7), mask=inside)
    tl.store(out + 10 * n + at, tl.fma(a, a, -a) + libdevice.rint(a * 3) + libdevice.trunc(a * 7), mask=inside)
    tl.store(out + 11 * n + at, libdevice.atan2(a, a - 2) + libdevice.log1p(a) + libdevice.expm1(-a), mask=inside)
    tl.store(out + 12 * n + at, libdevice.fmod(a * 9, 1.25) + libdevice.ldexp(a, 3) + libdevice.ilogb(a), mask=inside)
    tl.store(out + 13 * n + at, tl.log2(a) + tl.exp2(a), mask=inside)
    tl.store(out + 14 * n + at, libdevice.acos(a / 16) + libdevice.hypot(a, 3.0) + libdevice.lgamma(a), mask=inside)


@triton.jit
def random_numbers(out, floats, seed, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    first, second, third, fourth = tl.randint4x(seed, at)
    tl.store(out + 4 * at, first, mask=inside)
    tl.store(out + 4 * at + 1, second, mask=inside)
    tl.store(out + 4 * at + 2, third, mask=inside)
    tl.store(out + 4 * at + 3, fourth, mask=inside)
    tl.store(floats + at, tl.rand(seed, at), mask=inside)


@triton.jit
def rearrange(x, index, y, R: tl.constexpr, C: tl.constexpr):
    """Gather along both axes, transposition, interleaving, splitting; rows of y: see vector_cases.rearranged."""
    at = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    value = tl.load(x + at)
    chosen = tl.load(index + at)
    tl.store(y + at, tl.gather(value, chosen % C, 1))
    tl.store(y + R * C + at, tl.gather(value, chosen % R, 0))
    tl.store(y + 2 * R * C + tl.arange(0, C)[:, None] * R + tl.arange(0, R)[None, :], tl.trans(value))
    double = tl.interleave(value, value * 2)
    tl.store(y + 3 * R * C + tl.arange(0, R)[:, None] * (2 * C) + tl.arange(0, 2 * C)[None, :], double)
    even, odd = tl.split(tl.reshape(value, (R, C // 2, 2)))
    half = tl.arange(0, R)[:, None] * (C // 2) + tl.arange(0, C // 2)[None, :]
    tl.store(y + 5 * R * C + half, tl.where(even > odd, even, odd) * 3)
    tl.store(y + 5 * R * C + R * C // 2 + half, tl.broadcast_to(tl.sum(even, 1)[:, None], (R, C // 2)))


@triton.jit
def convert(x, out, n, KEPT: tl.constexpr, BLOCK: tl.constexpr):
    """f32 through another type and back."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(out + at, value.to(KEPT).to(tl.float32), mask=at < n)


@triton.jit
def batched(a, b, c, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """A three-dimensional dot of one block, through tensor descriptors."""
    x = tl.make_tensor_descriptor(a, (B, M, K), (M * K, K, 1), (B, M, K)).load([0, 0, 0])
    y = tl.make_tensor_descriptor(b, (B, K, N), (K * N, N, 1), (B, K, N)).load([0, 0, 0])
    tl.make_tensor_descriptor(c, (B, M, N), (M * N, N, 1), (B, M, N)).store([0, 0, 0], tl.dot(x, y))


def compiled(case, target):
    wave = 32 if target.startswith("gfx1") else 64
    signature, constants, attributes = {}, {}, {}
    types = case.types_on(target)
    for i, name in enumerate(globals()[case.kernel].arg_names):
        if name in case.constants:
            signature[name] = "constexpr"
            value = case.constants_on(target)[name]
            constants[(i,)] = getattr(tl, value[3:]) if isinstance(value, str) and value.startswith("tl.") else value
        else:
            signature[name] = types[len(signature)]
            if case.aligned and (signature[name].startswith("*") or name in case.whole):
                attributes[(i,)] = [["tt.divisibility", 16]]
                if signature[name].startswith("*"):
                    attributes[(i,)].append(["tt.pointer_range", 32])
    source = ASTSource(fn=globals()[case.kernel], signature=signature, constexprs=constants, attrs=attributes)
    kernel = triton.compile(source, target=GPUTarget("hip", target, wave), options=case.options)
    return kernel, wave


def main():
    folder, targets = sys.argv[1], sys.argv[2:]
    wanted = os.environ.get("KILN_TRITON_CASES", "").split()
    objects = []
    for case in cases.CASES:
        if wanted and case.name not in wanted:
            continue
        for target in targets:
            record = {"case": case.name, "target": target}
            objects.append(record)
            try:
                kernel, wave = compiled(case, target)
            except Exception as error:  # what Triton cannot do for a target, it says in many classes
                record["error"] = f"{type(error).__name__}: {error}"[:2000]
                continue
            data = kernel.metadata
            record.update(file=f"{case.name}-{target}.hsaco", name=data.name, threads=data.num_warps * wave,
                          lds_bytes=data.shared, scratch_bytes=data.global_scratch_size)
            with open(os.path.join(folder, record["file"]), "wb") as file:
                file.write(kernel.asm["hsaco"])
    with open(os.path.join(folder, "objects.json"), "w", encoding="utf-8") as file:
        json.dump({"triton": triton.__version__, "objects": objects}, file, indent=1)


if __name__ == "__main__":
    main()
