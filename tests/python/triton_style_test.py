"""Kernels in Triton's style on the host and the emulated card, against NumPy; what is refused, and where."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from nightly import by_day
from service import Service

import numpy

import kernels_triton as kernels
import kernels_triton_attention as attention
import kiln.language
from kiln import triton

DEVICES = ("host", "emu:gfx942")
TARGETS = by_day(("gfx1100",), ("gfx90a", "gfx942", "gfx950", "gfx1100", "host"))
LOG2E = 1.4426950408889634
PRODUCT_SIZES = ((128, 128, 64), (100, 72, 70), (64, 200, 33))


def philox_words(seed, count):
    """Philox 4x32-10 of the counters 0 to count - 1, as in the article's reference: four arrays of u32."""
    low = numpy.uint64(0xFFFFFFFF)
    c = [numpy.arange(count, dtype="u8")] + [numpy.zeros(count, "u8")] * 3
    k = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        a, b = c[0] * numpy.uint64(0xD2511F53), c[2] * numpy.uint64(0xCD9E8D57)
        c = [(b >> numpy.uint64(32)) ^ c[1] ^ numpy.uint64(k[0]), b & low,
             (a >> numpy.uint64(32)) ^ c[3] ^ numpy.uint64(k[1]), a & low]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return [w.astype("u4") for w in c]


def uniform(words):
    signed = words.view("i4")
    return numpy.where(signed < 0, -signed - 1, signed).astype("f4") * numpy.float32(4.6566127342e-10)


def strides(array):
    return [n // array.itemsize for n in array.strides]


class TritonCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = Service()
        cls.client = cls.service.client()
        kiln.language.use_client(cls.client)
        cls.random = numpy.random.default_rng(11)
        cls.compiled = set()

    @classmethod
    def tearDownClass(cls):
        kiln.language.use_client(None)
        cls.client.close()
        cls.service.__exit__()

    def normals(self, *shape, dtype="float32"):
        return self.random.standard_normal(shape).astype(dtype)

    def run_everywhere(self, kernel, grid, arguments, **constants):
        """Runs it on both devices on fresh copies, and compiles it once for all targets; the arguments after each run.
        """
        after = []
        for device in DEVICES:
            own = [a.copy() if isinstance(a, numpy.ndarray) else a for a in arguments]
            kernel[grid](*own, device=device, **constants)
            after.append(own)
        for target in TARGETS if kernel.kernel_function not in self.compiled else ():
            self.assertEqual(len(kernel.warmup(*arguments, grid=grid, target=target, **constants).key), 64)
        self.compiled.add(kernel.kernel_function)
        return after


class Elementwise(TritonCase):
    def test_vector_add(self):
        for count in (1, 1000, 4096, 98432):
            a, b = self.normals(count), self.normals(count)
            for own in self.run_everywhere(kernels.vector_add,
                                           lambda meta: (triton.cdiv(count, meta["BLOCK"]), ), (a, b, a * 0, count),
                                           BLOCK=1024):
                numpy.testing.assert_array_equal(own[2], a + b)

    def test_dropout(self):
        x, keep = self.normals(1000), (self.random.random(1000) > 0.5).astype("int32")
        for own in self.run_everywhere(kernels.dropout, (4,), (x, keep, x * 0, 1000, 0.25), BLOCK=256):
            numpy.testing.assert_allclose(own[2], numpy.where(keep, x / numpy.float32(0.75), 0), rtol=1e-6)

    def test_seeded_dropout_keeps_what_philox_says(self):
        for seed in (123, 512):
            x = self.normals(1000)
            for own in self.run_everywhere(kernels.seeded_dropout, (4,), (x, x * 0, 1000, 0.5, seed), BLOCK=256):
                numpy.testing.assert_array_equal(own[1] != 0, uniform(philox_words(seed, 1000)[0]) > 0.5)

    def test_seeds_that_are_not_specialized_share_one_kernel(self):
        x = self.normals(1000)
        keys = {
            kernels.seeded_dropout.warmup(x, x, 1000, 0.5, seed, grid=(4, ), BLOCK=256, device="host").key
            for seed in (1, 2, 3)}
        self.assertEqual(len(keys), 1)

    def test_random_words(self):
        for seed in (0, 123, 2 ** 31 - 1):
            for own in self.run_everywhere(kernels.random_words, (4, ), (numpy.zeros(4 * 1000, "u4"), seed, 1000),
                                           BLOCK=256):
                numpy.testing.assert_array_equal(own[0].reshape(4, 1000), philox_words(seed, 1000))

    def test_random_normals(self):
        first, second = (uniform(w) for w in philox_words(5, 1000)[:2])
        wanted = numpy.sqrt(-2 * numpy.log(numpy.maximum(first, 1e-7))) * numpy.cos(6.283185307179586 * second)
        for own in self.run_everywhere(kernels.random_normals, (4,), (numpy.zeros(1000, "f4"), 5, 1000), BLOCK=256):
            numpy.testing.assert_allclose(own[0], wanted, rtol=1e-4, atol=1e-5)


class Rows(TritonCase):
    def test_softmax(self):
        for rows, columns in ((37, 201), (5, 256), (3, 1)):
            x = self.normals(rows, columns)
            e = numpy.exp(x - x.max(1, keepdims=True))
            block = triton.next_power_of_2(columns)
            for own in self.run_everywhere(kernels.softmax_rows, (2, 1, 1), (x * 0, x, columns, columns, rows, columns),
                                           BLOCK=block,
                                           num_stages=2):
                numpy.testing.assert_allclose(own[0], e / e.sum(1, keepdims=True), rtol=1e-5, atol=1e-6)

    def test_layer_norm(self):
        rows, columns = 19, 300
        x = self.normals(rows, columns, dtype="float16")
        w, b = (self.random.random(columns).astype("float16") for _ in range(2))
        mean, variance = x.astype("f8").mean(1, keepdims=True), x.astype("f8").var(1, keepdims=True)
        row = numpy.zeros(rows, "f4")
        for own in self.run_everywhere(kernels.layer_norm, (rows, ),
                                       (x, x * 0, w, b, row, row.copy(), columns, columns, 1e-5),
                                       BLOCK=128):
            numpy.testing.assert_allclose(own[1], (x - mean) / numpy.sqrt(variance + 1e-5) * w + b,
                                          rtol=2e-3,
                                          atol=2e-3)
            numpy.testing.assert_allclose(own[4], mean[:, 0], atol=1e-6)
            numpy.testing.assert_allclose(own[5], 1 / numpy.sqrt(variance[:, 0] + 1e-5), rtol=1e-5)

    def test_layer_norm_backward(self):
        rows, columns, groups = 19, 300, 4
        x, dy, w = self.normals(rows, columns), self.normals(rows, columns), self.random.random(columns).astype("f4")
        mean, rstd = x.mean(1, keepdims=True), 1 / numpy.sqrt(x.var(1, keepdims=True) + numpy.float32(1e-5))
        hat, w_dy = (x - mean) * rstd, w * dy
        wanted = (w_dy - hat * (w_dy * hat).mean(1, keepdims=True) - w_dy.mean(1, keepdims=True)) * rstd
        partial, total = numpy.zeros((groups, columns), "f4"), numpy.zeros(columns, "f4")
        arguments = (x * 0, dy, partial, partial.copy(), x, w, mean[:,
                                                                    0].copy(), rstd[:,
                                                                                    0].copy(), columns, rows, columns)
        for own in self.run_everywhere(kernels.layer_norm_backward_rows, (groups, ),
                                       arguments,
                                       GROUPS=groups,
                                       BLOCK=512):
            numpy.testing.assert_allclose(own[0], wanted, rtol=1e-4, atol=1e-4)
            for done in self.run_everywhere(kernels.layer_norm_backward_columns,
                                            lambda meta: [triton.cdiv(columns, meta["BN"])],
                                            (own[2], own[3], total, total.copy(), groups, columns),
                                            BM=8,
                                            BN=128):
                numpy.testing.assert_allclose(done[2], (dy * hat).sum(0), rtol=1e-4, atol=1e-4)
                numpy.testing.assert_allclose(done[3], dy.sum(0), rtol=1e-4, atol=1e-4)


class Products(TritonCase):
    def operands(self, m, n, k, dtype="float16"):
        a, b = self.normals(m, k, dtype=dtype), self.normals(k, n, dtype=dtype)
        return a, b, a.astype("f4") @ b.astype("f4")

    def close(self, found, wanted):
        numpy.testing.assert_allclose(found, wanted, rtol=2e-3, atol=2e-2)

    def test_matmul(self):
        for m, n, k in PRODUCT_SIZES:
            a, b, product = self.operands(m, n, k)
            arguments = (a, b, numpy.zeros((m, n), "f2"), m, n, k, k, 1, n, 1, n, 1)
            grid = lambda meta: (triton.cdiv(m, meta["BM"]) * triton.cdiv(n, meta["BN"]),)
            for activation, wanted in (("", product), ("leaky", numpy.where(product >= 0, product, product * 0.01))):
                for own in self.run_everywhere(kernels.matmul, grid, arguments, ACTIVATION=activation):
                    self.close(own[2], wanted)

    def test_matmul_of_transposed_operands(self):
        m, n, k = 100, 72, 70
        a, b, product = self.operands(m, n, k)
        arguments = (numpy.ascontiguousarray(a.T), numpy.ascontiguousarray(b.T), numpy.zeros(
            (n, m), "f2"), m, n, k, 1, m, 1, k, 1, m)
        for own in self.run_everywhere(kernels.matmul, (4,), arguments, ACTIVATION=""):
            self.close(own[2].T, product)

    def test_persistent_matmul(self):
        for m, n, k in PRODUCT_SIZES:
            a, b, product = self.operands(m, n, k)
            arguments = (a, b, numpy.zeros((m, n), "f2"), m, n, k, k, 1, n, 1, n, 1)
            for own in self.run_everywhere(kernels.matmul_persistent, (3, ),
                                           arguments,
                                           BM=32,
                                           BN=32,
                                           BK=32,
                                           GROUP=2,
                                           PROGRAMS=3):
                self.close(own[2], product)

    def test_matmul_through_descriptors(self):
        for m, n, k in PRODUCT_SIZES:
            a, b, product = self.operands(m, n, k)
            grid = (triton.cdiv(m, 32), triton.cdiv(n, 32))
            for own in self.run_everywhere(kernels.matmul_descriptors,
                                           grid, (a, numpy.ascontiguousarray(b.T), numpy.zeros((m, n), "f2"), m, n, k),
                                           BM=32,
                                           BN=32,
                                           BK=32):
                self.close(own[2], product)

    def test_grouped_matmul(self):
        sizes = ((64, 48, 40), (30, 70, 33), (96, 32, 64))
        operands = [self.operands(*size) for size in sizes]
        a, b = (numpy.concatenate([o[which].ravel() for o in operands]) for which in (0, 1))
        begins = numpy.cumsum([[0, 0, 0]] + [[m * k, k * n, m * n] for m, n, k in sizes], axis=0)
        arguments = (a, b, numpy.zeros(begins[-1][2], "f2"), numpy.array(sizes, "i4"), begins[:-1].astype("i4"))
        for own in self.run_everywhere(kernels.grouped_matmul, (2, ),
                                       arguments,
                                       LARGEST=4096,
                                       GROUPS=3,
                                       PROGRAMS=2,
                                       BM=32,
                                       BN=32,
                                       BK=32):
            self.close(own[2], numpy.concatenate([o[2].ravel() for o in operands]))


class Attention(TritonCase):
    def operands(self, batches=1, heads=2, length=128, width=64):
        return [(self.normals(batches, heads, length, width) * 0.5).astype("float16") for _ in range(3)]

    def definition(self, q, k, v, scale, causal):
        """Output, log2 of the sums, probabilities."""
        scores = numpy.einsum("zhmd,zhnd->zhmn", q.astype("f8"), k.astype("f8")) * scale
        if causal:
            scores = numpy.where(numpy.tril(numpy.ones(scores.shape[-2:], bool)), scores, -numpy.inf)
        top = scores.max(-1, keepdims=True)
        raised = numpy.exp(scores - top)
        total = raised.sum(-1, keepdims=True)
        return numpy.einsum("zhmn,zhnd->zhmd", raised / total,
                            v.astype("f8")), (numpy.log2(total) + top * LOG2E)[..., 0], raised / total

    def test_block_pointers(self):
        q, k, v = self.operands()
        arguments = [q, k, v, 0.5, numpy.zeros(q.shape[:3], "f4"), q * 0] + 4 * strides(q) + [1, 2, 128]
        for causal in (True, False):
            out, logs, _ = self.definition(q, k, v, 0.5, causal)
            for own in self.run_everywhere(attention.attention_blocks, (2, 2, 1),
                                           arguments,
                                           HEAD=64,
                                           BM=64,
                                           BN=32,
                                           STAGE=3 if causal else 1):
                numpy.testing.assert_allclose(own[5], out, rtol=5e-3, atol=5e-3)
                numpy.testing.assert_allclose(own[4], logs, rtol=1e-4, atol=1e-4)

    def test_tensor_descriptors(self):
        q, k, v = self.operands(batches=2)
        for causal in (True, False):
            out, _, _ = self.definition(q, k, v, 0.5, causal)
            for own in self.run_everywhere(attention.attention_descriptors, (2, 4), (q, k, v, q * 0, 0.5, 2, 2, 128),
                                           HEAD=64,
                                           BM=64,
                                           BN=32,
                                           CAUSAL=causal):
                numpy.testing.assert_allclose(own[3], out, rtol=5e-3, atol=5e-3)

    def test_backward_of_keys(self):
        q, k, v = self.operands()
        do = self.normals(*q.shape, dtype="float16")
        out, logs, p = self.definition(q, k, v, 0.5, True)
        delta = numpy.zeros(logs.shape, "f4")
        wanted = (out * do).sum(-1)
        for own in self.run_everywhere(attention.attention_backward_delta, (2, 2), (out.astype("f2"), do, delta, 128),
                                       BM=64,
                                       HEAD=64):
            numpy.testing.assert_allclose(own[2], wanted, rtol=1e-2, atol=1e-2)
        scaled = (k.astype("f8") * 0.5 * LOG2E).astype("f2")
        arguments = [q, scaled, v, 0.5, do, k * 0, v * 0,
                     logs.astype("f4"), wanted.astype("f4")] + strides(q) + [2, 128]
        ds = p * (numpy.einsum("zhmd,zhnd->zhmn", do.astype("f8"), v.astype("f8")) - wanted[..., None]) * 0.5
        for own in self.run_everywhere(attention.attention_backward_keys, (2, 1, 2),
                                       arguments,
                                       BM=32,
                                       BN=64,
                                       SLICES=2,
                                       HEAD=64):
            numpy.testing.assert_allclose(own[6],
                                          numpy.einsum("zhmn,zhmd->zhnd", p, do.astype("f8")),
                                          rtol=1e-2,
                                          atol=1e-2)
            numpy.testing.assert_allclose(own[5],
                                          numpy.einsum("zhmn,zhmd->zhnd", ds, q.astype("f8")),
                                          rtol=1e-2,
                                          atol=1e-2)


if __name__ == "__main__":
    unittest.main()
