"""Matrix products and attention."""

import numpy as np

from case import Case, blocks, equal, near
from number_formats import FP4, FP8, bf16_codes, bf16_values


def operand(kind, shape, random):
    """What goes in, and what it means."""
    if kind == "bf16":
        codes = bf16_codes(random.standard_normal(shape))
        return codes, bf16_values(codes)
    if kind in FP8:
        codes = random.integers(0, 256, shape).astype(np.uint8)
        values = FP8[kind][codes]
        codes = np.where(np.abs(values) <= 8, codes, 0x31).astype(np.uint8)  # no NaN, no infinity, sums that fit
        return codes, FP8[kind][codes]
    if kind == "i8":
        values = random.integers(-128, 128, shape).astype(np.int8)
        return values, values.astype(np.int64)
    values = random.standard_normal(shape).astype({"fp16": np.float16, "fp32": np.float32, "fp64": np.float64}[kind])
    return values, values


def fp8_on(target, name):
    """The 8-bit formats of a target's matrix instructions; where it has none, those that Triton widens."""
    on_gfx942 = {"fp8": "fp8e4b8", "bf8": "fp8e5b16"}
    return on_gfx942[name] if target == "gfx942" else {"fp8": "fp8e4nv", "bf8": "fp8e5"}[name]


def kind_on(target, kind):
    return fp8_on(target, kind) if kind in ("fp8", "bf8") else kind


MATMUL_SIZES = ((128, 128, 128), (70, 96, 200), (33, 17, 40))


def matmul_runs(kind_a, kind_b, tolerance, transposed=False, result=np.float32, sizes=MATMUL_SIZES, tile=(64, 64)):
    def runs(target, random):
        for m, n, k in sizes:
            a, a_values = operand(kind_on(target, kind_a), (m, k), random)
            b, b_values = operand(kind_on(target, kind_b), (n, k) if transposed else (k, n), random)
            wide = np.int64 if kind_a == "i8" else np.float64
            want = a_values.astype(wide) @ (b_values.T if transposed else b_values).astype(wide)
            arguments = [a, b, np.zeros((m, n), result), m, n, k, k, k if transposed else n]

            def check(out, want=want, k=k):
                if kind_a == "i8":
                    equal(out[2], want)
                else:
                    near(out[2] / np.sqrt(k), want / np.sqrt(k), tolerance)
            yield (blocks(m, tile[0]), blocks(n, tile[1])), arguments, check
    return runs


def matmul(name, kind_a, kind_b, tolerance, result="fp32", transposed=False, tile=(64, 64, 32),
           sizes=MATMUL_SIZES, precision="ieee", **more):
    def types(target):
        return [f"*{kind_on(target, kind_a)}", f"*{kind_on(target, kind_b)}", "*" + result] + ["i32"] * 5
    kept = {"fp32": np.float32, "i32": np.int32, "fp64": np.float64, "fp16": np.float16}[result]
    total = {"i32": "tl.int32", "fp64": "tl.float64"}.get(result, "tl.float32")
    constants = {"BM": tile[0], "BN": tile[1], "BK": tile[2], "TRANSPOSED": transposed, "TOTAL": total,
                 "PRECISION": precision}
    runs = matmul_runs(kind_a, kind_b, tolerance, transposed, kept, sizes, tile)
    return Case(name, "matmul", types, constants, runs, **more)


def scaled_runs(a_format, b_format):
    def packed(form, shape, random):
        if form == "e4m3":
            return operand("fp8e4nv", shape, random)
        codes = random.integers(0, 16, shape).astype(np.uint8)
        return codes[:, 0::2] | codes[:, 1::2] << 4, FP4[codes]

    def runs(target, random):
        m, n, k = 128, 64, 256
        a, a_values = packed(a_format, (m, k), random)
        b, b_values = packed(b_format, (n, k), random)
        a_scale, b_scale = (random.integers(122, 132, (rows, k // 32)).astype(np.uint8) for rows in (m, n))
        x = a_values * np.repeat(2.0 ** (a_scale.astype(np.float64) - 127), 32, 1)
        y = b_values * np.repeat(2.0 ** (b_scale.astype(np.float64) - 127), 32, 1)
        want = x @ y.T
        c = np.zeros((m, n), np.float32)
        arguments = [a, a_scale, b, b_scale, c, m, n, k]
        yield (m // 64, n // 64), arguments, lambda out: near(out[4] / 1024, want / 1024, 1e-4)
    return runs


def split_runs(target, random):
    for m, n, k in ((64, 64, 256), (50, 40, 100)):
        a, b = random.standard_normal((m, k), np.float32), random.standard_normal((k, n), np.float32)
        locks = np.zeros(4, np.int32)
        want = a.astype(np.float64) @ b
        yield ((blocks(m, 32), blocks(n, 32), blocks(k, 32)), [a, b, np.zeros((m, n), np.float32), locks, m, n, k],
               lambda out, want=want: near(out[2], want, 1e-3))


def attention_runs(kind, causal, d):
    def runs(target, random):
        for heads, s in ((2, 128), (1, 75)):
            (q, qv), (k, kv), (v, vv) = (operand(kind, (heads, s, d), random) for _ in range(3))
            scale = 1 / np.sqrt(d)
            score = np.einsum("hqd,hkd->hqk", qv.astype(np.float64), kv) * scale
            if causal:
                score = np.where(np.tril(np.ones((s, s), bool)), score, -np.inf)
            share = np.exp(score - score.max(2, keepdims=True))
            want = np.einsum("hqk,hkd->hqd", share / share.sum(2, keepdims=True), vv)
            out = np.zeros((heads, s, d), np.float32)
            yield ((blocks(s, 64), heads), [q, k, v, out, s, float(scale)],
                   lambda got, want=want: near(got[3], want, 2e-2 if kind == "bf16" else 3e-3))
    return runs


def attention(kind, d, causal, **more):
    types = [f"*{kind}"] * 3 + ["*fp32", "i32", "fp32"]
    constants = {"D": d, "BM": 64, "BN": 32, "CAUSAL": causal}
    name = f"attention_{kind}_{d}" + ("_causal" if causal else "")
    return Case(name, "attention", types, constants, attention_runs(kind, causal, d), **more)


def scaled(a_format, b_format):
    a_type, b_type = ("*u8" if one == "e2m1" else "*fp8e4nv" for one in (a_format, b_format))
    types = [a_type, "*u8", b_type, "*u8", "*fp32", "i32", "i32", "i32"]
    constants = {"BM": 64, "BN": 64, "BK": 128, "A_FORMAT": a_format, "B_FORMAT": b_format}
    return Case(f"scaled_{a_format}_{b_format}", "matmul_scaled", types, constants, scaled_runs(a_format, b_format),
                whole=("M", "N", "K"))


def batched_runs(target, random):
    a, b = (random.standard_normal(shape).astype(np.float16) for shape in ((4, 32, 64), (4, 64, 16)))
    want = a.astype(np.float64) @ b
    yield (1,), [a, b, np.zeros((4, 32, 16), np.float32)], lambda out: near(out[2], want, 1e-3)


STAGES = {"num_stages": 2}
WHOLE = {"whole": ("M", "N", "K", "stride_a", "stride_b"), "sizes": ((128, 128, 128), (64, 192, 96))}
CASES = [
    matmul("matmul_f16", "fp16", "fp16", 1e-3, options=STAGES),
    matmul("matmul_f16_whole", "fp16", "fp16", 1e-3, options=STAGES, **WHOLE),
    matmul("matmul_f16_transposed", "fp16", "fp16", 1e-3, transposed=True, options=STAGES, **WHOLE),
    matmul("matmul_f16_three_stages", "fp16", "fp16", 1e-3, options={"num_stages": 3, "kpack": 2}, **WHOLE),
    matmul("matmul_f16_32x32", "fp16", "fp16", 1e-3, options={"matrix_instr_nonkdim": 32, "num_stages": 2}, **WHOLE),
    matmul("matmul_f16_8_waves", "fp16", "fp16", 1e-3, tile=(128, 128, 64), options={"num_warps": 8, "num_stages": 2},
           whole=WHOLE["whole"], sizes=((256, 128, 192),)),
    matmul("matmul_f16_unaligned", "fp16", "fp16", 1e-3, aligned=False),
    matmul("matmul_f16_to_f16", "fp16", "fp16", 2e-3, result="fp16", tile=(32, 16, 16)),
    matmul("matmul_bf16", "bf16", "bf16", 1e-3, options=STAGES),
    matmul("matmul_bf16_transposed", "bf16", "bf16", 1e-3, transposed=True, options=STAGES, **WHOLE),
    matmul("matmul_f32", "fp32", "fp32", 1e-5, options=STAGES),
    matmul("matmul_tf32", "fp32", "fp32", 3e-3, precision="tf32", options=STAGES,
           targets=("gfx942",)),
    matmul("matmul_f64", "fp64", "fp64", 1e-12, result="fp64", tile=(32, 32, 16)),
    matmul("matmul_i8", "i8", "i8", 0, result="i32", options=STAGES),
    matmul("matmul_i8_transposed", "i8", "i8", 0, result="i32", transposed=True, options=STAGES, **WHOLE),
    matmul("matmul_fp8", "fp8", "fp8", 1e-4, transposed=True, options=STAGES),
    matmul("matmul_fp8_whole", "fp8", "fp8", 1e-4, tile=(64, 64, 128), options=STAGES,
           whole=WHOLE["whole"], sizes=((128, 64, 256),)),
    matmul("matmul_bf8", "bf8", "bf8", 1e-4, options=STAGES),
    matmul("matmul_fp8_bf8", "fp8", "bf8", 1e-4, options=STAGES),
    scaled("e4m3", "e4m3"),
    scaled("e2m1", "e2m1"),
    scaled("e2m1", "e4m3"),
    Case("matmul_split", "matmul_split", ["*fp32"] * 3 + ["*i32"] + ["i32"] * 3, {"BM": 32, "BN": 32, "BK": 32},
         split_runs),
    attention("fp16", 64, False),
    attention("fp16", 64, True, options=STAGES),
    attention("fp16", 128, True, options={"num_stages": 2, "num_warps": 4, "waves_per_eu": 2}),
    attention("bf16", 64, True, options=STAGES),
    Case("batched", "batched", ["*fp16", "*fp16", "*fp32"], {"B": 4, "M": 32, "N": 16, "K": 64}, batched_runs),
]
