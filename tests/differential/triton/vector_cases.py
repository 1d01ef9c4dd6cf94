"""What works on rows, lanes and words: arithmetic, reductions, scans, sorting, conversions, atomics."""

import math

import numpy as np

from case import Case, blocks, equal, near
from number_formats import FP8, bf16_codes, bf16_values, fp8_rounded


def add_runs(target, random):
    for n in (1, 1000, 4096 + 17):
        a, b = random.standard_normal((2, n), np.float32)
        yield (blocks(n, 1024),), [a, b, np.zeros(n, np.float32), n], lambda out, a=a, b=b: equal(out[2], a + b)


def softmax_runs(kind):
    def runs(target, random):
        for rows, columns in ((1, 1), (5, 100), (3, 512), (2, 1000)):
            x = random.standard_normal((rows, columns)).astype(kind) * 4
            wide = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
            want = wide / wide.sum(1, keepdims=True)
            tolerance = 2e-3 if kind == np.float16 else 1e-5
            yield (rows,), [x, np.zeros_like(x), columns], lambda out, want=want: near(out[1], want, tolerance)
    return runs


def layernorm_runs(target, random):
    for rows, columns in ((3, 700), (2, 64), (1, 1031)):
        x = random.standard_normal((rows, columns)).astype(np.float16)
        weight, bias = random.standard_normal((2, columns), np.float32)
        wide = x.astype(np.float64)
        mean = wide.mean(1)
        want = (wide - mean[:, None]) / np.sqrt(wide.var(1) + 1e-5)[:, None] * weight + bias

        def check(out, want=want, mean=mean):
            near(out[3], want, 5e-3)
            near(out[4], mean, 1e-5)
        yield (rows,), [x, weight, bias, np.zeros_like(x), np.zeros(rows, np.float32), columns], check


def histogram_runs(target, random):
    for n in (1, 3000):
        x = random.integers(0, 32, n).astype(np.int32)
        want = np.bincount(x, minlength=32)
        yield (blocks(n, 512),), [x, np.zeros(32, np.int32), n], lambda out, want=want: equal(out[1], want)


def scatter_runs(kind):
    def runs(target, random):
        for n in (5, 1500):
            index = random.integers(0, 40, n).astype(np.int32)
            whole = random.integers(-3, 4, n)     # exact in any order
            want = np.zeros(40)
            np.add.at(want, index, whole)
            as_codes = bf16_codes if kind == "bf16" else lambda x: np.asarray(x).astype(kind)
            as_values = bf16_values if kind == "bf16" else lambda x: x
            yield ((blocks(n, 256),), [as_codes(whole), index, as_codes(np.zeros(40)), n],
                   lambda out, want=want: equal(as_values(out[2]), want))
    return runs


def atomics_runs(kind):
    def runs(target, random):
        for n in (7, 1000):
            # None is negative: Triton 3.9 joins a wave's minima and maxima for one word as unsigned numbers.
            x = random.integers(0, 1000, n).astype(kind)
            y = np.concatenate([np.array([5, -2000, 2000, 1, -1, 77, 0, 0], kind), np.zeros(n, kind)])
            wants = [5 + x.sum(dtype=kind), x.max(), x.min(), 1 | np.bitwise_or.reduce(x), np.bitwise_and.reduce(x),
                     77 ^ np.bitwise_xor.reduce(x)]

            def check(out, x=x, wants=wants):
                equal(out[1][:6], np.array(wants, kind))
                equal(out[1][8:], x)
                # What each addition found is the sum of those before it, in some order: the differences are the
                # addends.
                found = np.append(out[2], out[1][0])
                chains = {}
                for before, value in zip(out[2], x):
                    chains.setdefault(int(before), []).append(int(before + value))
                assert 5 in chains and set(map(int, found)) >= {after for many in chains.values() for after in many}
            yield (blocks(n, 256),), [x, y, np.zeros(n, kind), n], check
    return runs


def extremes_runs(kind):
    def runs(target, random):
        x = random.standard_normal(700).astype(kind)
        y = np.array([-100, 100], kind)
        yield (3,), [x, y, 700], lambda out: equal(out[1], np.array([x.max(), x.min()], kind))
    return runs


def turns_runs(target, random):
    order = random.integers(0, 100, 8 * 64).astype(np.int32)
    yield ((8,), [order, np.zeros(2, np.int32), np.zeros(8 * 64, np.int32)],
           lambda out: (equal(out[1], [8, 8]), equal(out[2], order + 1)))


def reductions_of(x, width):
    rows, columns = x.shape
    out = np.zeros((9, width))
    out[0, :columns], out[1, :rows], out[2, :rows], out[3, :columns] = x.sum(0), x.sum(1), x.max(1), x.min(0)
    out[4, :rows], out[5, :columns], out[6, :rows], out[7, 0] = x.argmax(1), x.argmin(0), x.max(1), x.sum()
    out[8, :rows] = np.bitwise_xor.reduce(x.astype(np.int32), 1)
    return out


def reductions_runs(target, random):
    x = random.integers(-500, 500, (32, 128)).astype(np.float32)
    yield (1,), [x, np.zeros((9, 128), np.float32)], lambda out: equal(out[1], reductions_of(x, 128))


def scans_runs(target, random):
    x = random.integers(-20, 20, (16, 64)).astype(np.float32)
    line = np.zeros_like(x)
    line[0] = x[0]
    for row in range(1, 16):
        line[row] = line[row - 1] * (x[row] * np.float32(0.25)) + x[row]

    def check(out):
        equal(out[1][0], np.cumsum(x, 1))
        equal(out[1][1], np.cumsum(x[::-1], 0)[::-1])
        equal(out[1][2], np.maximum.accumulate(x, 1))
        np.testing.assert_allclose(out[1][3], line, rtol=1e-3, atol=1e-2 * max(1.0, float(np.abs(line).max()) * 1e-3))
        np.testing.assert_allclose(out[1][4], np.cumprod(1 + x.astype(np.float64) / 64, 1), rtol=1e-4)
    yield (1,), [x, np.zeros((5, 16, 64), np.float32)], check


def sorting_runs(kind):
    def runs(target, random):
        x = random.integers(-300, 300, (8, 128)).astype(kind)
        up = np.sort(x, 1)
        yield (1,), [x, np.zeros((3, 8, 128), kind)], lambda out: equal(out[1], np.stack([up, up[:, ::-1], x[:, ::-1]]))
    return runs


def integers_of(a, b):
    def quotient(x, y):  # truncated, as C's
        return np.sign(x) * np.sign(y) * (np.abs(x) // np.abs(y))
    x, y = a.astype(np.int64), b.astype(np.int64)
    odd = y | 1
    ua, ub = a.view(np.uint32), b.view(np.uint32)
    product = x * y
    divisor = odd * 3 + 1
    ones = np.array([bin(v).count("1") for v in ua])
    zeros = np.array([32 - int(v).bit_length() for v in ub])
    cdiv = ((x & 0xffff) + 6) // 7
    rows = [quotient(x, odd), x - quotient(x, odd) * odd, product, (ua << (ub & 31)) ^ (a >> (b & 15)).view(np.uint32),
            ua.astype(np.uint64) * ub.astype(np.uint64) >> 32, quotient(product, divisor), product >> 17,
            a.astype(np.int8) + b.astype(np.uint8).astype(np.int64) * b.astype(np.int16),
            np.clip(a.astype(np.float32), -1000, 1000).astype(np.int64) + np.abs(y >> 8), ones + zeros * 64,
            (~x & y) | (np.where(x > y, x, -y) + cdiv)]
    return np.stack([np.asarray(row).astype(np.uint64 if row.dtype == np.uint64 else np.int64).astype(np.uint32)
                     for row in rows]).view(np.int32)


def integers_runs(target, random):
    for n in (3, 777):
        a, b = random.integers(-2**31, 2**31, (2, n)).astype(np.int32)
        b[::3] >>= 20
        yield ((blocks(n, 256),), [a, b, np.zeros((11, n), np.int32), n],
               lambda out, a=a, b=b: equal(out[2], integers_of(a, b)))


def elementary_of(x):
    erf, lgamma = np.vectorize(math.erf), np.vectorize(math.lgamma)
    return np.stack([
        np.exp(-x), np.log(x), np.sin(x), np.cos(x * 100), np.sqrt(x) + 1 / np.sqrt(x), erf(x - 2), x / (x + 3),
        np.floor(x) - np.ceil(x * 1.5), np.tanh(x - 2), x ** 1.7, x * x - x + np.rint(x * 3) + np.trunc(x * 7),
        np.arctan2(x, x - 2) + np.log1p(x) + np.expm1(-x),
        np.fmod(x * 9, 1.25) + x * 8 + np.floor(np.log2(x)), np.log2(x) + 2 ** x,
        np.arccos(x / 16) + np.hypot(x, 3.0) + lgamma(x)])


def elementary_runs(target, random):
    # Multiples of 1/64: the products of the rounding functions are exact.
    for n in (2, 600):
        x = (random.integers(1, 1000, n) / 64).astype(np.float32)
        yield ((blocks(n, 256),), [x, np.zeros((15, n), np.float32), n],
               lambda out, x=x: near(out[1], elementary_of(x.astype(np.float64)), 5e-5))


def philox(seed, counter):
    """Philox 4x32 with ten rounds, counter in the first word (Salmon et al., "Parallel random numbers", 2011)."""
    words = [counter.astype(np.uint32)] + [np.zeros(len(counter), np.uint32)] * 3
    key = [seed & 0xffffffff, seed >> 32]
    for _ in range(10):
        first, second = words[0].astype(np.uint64) * 0xd2511f53, words[2].astype(np.uint64) * 0xcd9e8d57
        high = [(product >> 32).astype(np.uint32) for product in (first, second)]
        low = [product.astype(np.uint32) for product in (first, second)]
        words = [high[1] ^ words[1] ^ np.uint32(key[0]), low[1], high[0] ^ words[3] ^ np.uint32(key[1]), low[0]]
        key = [(key[0] + 0x9e3779b9) & 0xffffffff, (key[1] + 0xbb67ae85) & 0xffffffff]
    return np.stack(words, 1)


def random_runs(target, random):
    for n in (10, 500):
        seed = int(random.integers(0, 2**31))
        want = philox(seed, np.arange(n))
        # 31 bits of the first word, its complement where it is negative.
        first = np.ascontiguousarray(want[:, 0]).view(np.int32)
        positive = np.where(first < 0, -first.astype(np.int64) - 1, first)
        uniform = positive.astype(np.float32) * np.float32(4.6566127342e-10)

        def check(out, want=want, uniform=uniform):
            equal(out[0].view(np.uint32), want)
            equal(out[1], uniform)
        yield (blocks(n, 256),), [np.zeros((n, 4), np.int32), np.zeros(n, np.float32), seed, n], check


def rearranged(x, index):
    rows, columns = x.shape
    even, odd = x[:, 0::2], x[:, 1::2]
    double = np.stack([x, x * 2], 2)
    parts = [np.take_along_axis(x, index % columns, 1), np.take_along_axis(x, index % rows, 0), x.T, double,
             np.maximum(even, odd) * 3, np.broadcast_to(even.sum(1, keepdims=True), even.shape)]
    return np.concatenate([np.ascontiguousarray(part).reshape(-1) for part in parts])


def rearrange_runs(target, random):
    x = random.integers(-99, 99, (32, 64)).astype(np.float32)
    index = random.integers(0, 1000, (32, 64)).astype(np.int32)
    yield (1,), [x, index, np.zeros(6 * 32 * 64, np.float32)], lambda out: equal(out[2], rearranged(x, index))


def convert_runs(kind):
    def rounded(x):
        if kind == "tl.bfloat16":
            return bf16_values(bf16_codes(x))
        if kind == "tl.float16":
            return x.astype(np.float16).astype(np.float32)
        return fp8_rounded(x, {"tl.float8e4nv": "fp8e4nv", "tl.float8e5": "fp8e5", "tl.float8e4b8": "fp8e4b8",
                               "tl.float8e5b16": "fp8e5b16"}[kind])

    def runs(target, random):
        x = (random.standard_normal(900) * 2.0 ** random.integers(-12, 6, 900)).astype(np.float32)
        yield (2,), [x, np.zeros_like(x), 900], lambda out: equal(out[1], rounded(x))
    return runs


def conversion(kind, **more):
    return Case("convert_" + kind[3:], "convert", ["*fp32", "*fp32", "i32"], {"KEPT": kind, "BLOCK": 512},
                convert_runs(kind), **more)


def floats(name, kernel, count, runs, columns, **more):
    return Case(name, kernel, ["*fp32"] * count + ["i32"], {"BLOCK": columns}, runs, **more)


CASES = [
    floats("add", "add", 3, add_runs, 1024),
    floats("add_unaligned", "add", 3, add_runs, 1024, aligned=False),
    Case("softmax_f16", "softmax", ["*fp16", "*fp16", "i32"], {"BLOCK": 1024}, softmax_runs(np.float16)),
    Case("softmax_f32", "softmax", ["*fp32", "*fp32", "i32"], {"BLOCK": 1024}, softmax_runs(np.float32),
         options={"num_warps": 8}),
    Case("layernorm", "layernorm", ["*fp16", "*fp32", "*fp32", "*fp16", "*fp32", "i32"], {"BLOCK": 256},
         layernorm_runs),
    Case("histogram", "histogram", ["*i32", "*i32", "i32"], {"BLOCK": 512, "BINS": 32}, histogram_runs),
    Case("scatter_f32", "scatter_add", ["*fp32", "*i32", "*fp32", "i32"], {"BLOCK": 256}, scatter_runs(np.float32)),
    Case("scatter_f16", "scatter_add", ["*fp16", "*i32", "*fp16", "i32"], {"BLOCK": 256}, scatter_runs(np.float16)),
    Case("scatter_bf16", "scatter_add", ["*bf16", "*i32", "*bf16", "i32"], {"BLOCK": 256}, scatter_runs("bf16")),
    Case("scatter_f64", "scatter_add", ["*fp64", "*i32", "*fp64", "i32"], {"BLOCK": 256}, scatter_runs(np.float64)),
    Case("atomics_i32", "atomics", ["*i32", "*i32", "*i32", "i32"], {"BLOCK": 256}, atomics_runs(np.int32)),
    Case("atomics_i64", "atomics", ["*i64", "*i64", "*i64", "i32"], {"BLOCK": 256}, atomics_runs(np.int64)),
    Case("extremes_f32", "atomic_extremes", ["*fp32", "*fp32", "i32"], {"BLOCK": 256}, extremes_runs(np.float32)),
    Case("turns", "turns", ["*i32", "*i32", "*i32"], {"BLOCK": 64}, turns_runs),
    Case("reductions", "reductions", ["*fp32", "*fp32"], {"R": 32, "C": 128}, reductions_runs),
    Case("scans", "scans", ["*fp32", "*fp32"], {"R": 16, "C": 64}, scans_runs),
    Case("sort_f32", "sorting", ["*fp32", "*fp32"], {"R": 8, "C": 128}, sorting_runs(np.float32)),
    Case("sort_i16", "sorting", ["*i16", "*i16"], {"R": 8, "C": 128}, sorting_runs(np.int16)),
    Case("integers", "integers", ["*i32", "*i32", "*i32", "i32"], {"BLOCK": 256}, integers_runs),
    floats("elementary", "elementary", 2, elementary_runs, 256),
    Case("random_numbers", "random_numbers", ["*i32", "*fp32", "i32", "i32"], {"BLOCK": 256}, random_runs),
    Case("rearrange", "rearrange", ["*fp32", "*i32", "*fp32"], {"R": 32, "C": 64}, rearrange_runs),
    conversion("tl.float16"),
    conversion("tl.bfloat16"),
    conversion("tl.float8e5"),
    conversion("tl.float8e4nv"),
    conversion("tl.float8e4b8"),
    conversion("tl.float8e5b16"),
]
